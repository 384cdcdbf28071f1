//! Congestion control of a queue pair.

use shallows_core::{Bytes, Duration, Instant, Rate};

/// Limits on what a requester sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Rate at which packets leave, in bytes on the wire.
    pub rate: Rate,
    /// Limit of outstanding bytes; `None` for no limit.
    pub window: Option<Bytes>,
}

/// One acknowledgement, with the data that a congestion control needs.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Time of arrival.
    pub now: Instant,
    /// Number of bytes acknowledged in total.
    pub number: u64,
    /// Number of newly acknowledged bytes.
    pub acked: Bytes,
    /// Number of bytes sent in total, retransmissions not counted.
    pub next: u64,
    /// Time from the sending of the acknowledged packet to the arrival of the acknowledgement.
    pub rtt: Duration,
    /// Whether the acknowledged packet was marked.
    pub marked: bool,
    /// In-band telemetry of the acknowledged packet, one entry per hop; empty without telemetry.
    pub telemetry: &'a [Telemetry],
}

/// In-band telemetry that one hop adds to a packet (HPCC, SIGCOMM '19, figure 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Telemetry {
    /// Time at which the packet left the port.
    pub at: Instant,
    /// Bytes that the port has sent in total.
    pub sent: u64,
    /// Backlog of the port's queue after the packet left.
    pub backlog: Bytes,
    /// Rate of the link.
    pub rate: Rate,
}

/// Loss that a requester detects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// A negative acknowledgement.
    Nak,
    /// An expiry of the retransmission timer.
    Timeout,
}

/// Counts of a congestion control's actions, so that a control that never acts is visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Congestion notification packets.
    pub cnps: u32,
    /// Reductions of rate or window.
    pub cuts: u32,
    /// Increases of rate or window.
    pub increases: u32,
}

/// Parameters of a congestion control.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// No congestion control: the requester sends at line rate.
    None,
}

impl Config {
    /// Returns whether the control reacts to congestion notification packets.
    pub fn uses_cnps(&self) -> bool {
        match self {
            Self::None => false,
        }
    }

    /// Creates the congestion control of a queue pair. `line_rate` is the rate of the NIC's link.
    pub fn build(&self, line_rate: Rate) -> Algorithm {
        match self {
            Self::None => Algorithm::None(line_rate),
        }
    }
}

/// State of a congestion control. The methods take the configuration that built it.
#[derive(Clone, Debug)]
pub enum Algorithm {
    /// No congestion control: this is the rate of the NIC's link.
    None(Rate),
}

impl Algorithm {
    /// Returns the rate and the window.
    pub fn pace(&self) -> Pace {
        match self {
            Self::None(rate) => Pace { rate: *rate, window: None },
        }
    }

    /// Records that a packet of `size` bytes on the wire was sent.
    pub fn on_send(&mut self, _config: &Config, _now: Instant, _size: Bytes) {}

    /// Handles an acknowledgement that acknowledges new data.
    pub fn on_ack(&mut self, _config: &Config, _ack: &Ack<'_>) {}

    /// Handles a congestion notification packet.
    pub fn on_cnp(&mut self, _config: &Config, _now: Instant) {}

    /// Handles a loss.
    pub fn on_loss(&mut self, _config: &Config, _now: Instant, _loss: Loss) {}

    /// Returns the time at which [`Self::on_timer`] must be called, if any. Only a queue pair with unacknowledged or unsent data needs it.
    pub fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles the expiry of the deadline, which moves or clears it.
    pub fn on_timer(&mut self, _config: &Config, _now: Instant) {}

    /// Returns the counts of the control's actions.
    pub fn digest(&self) -> Digest {
        Digest::default()
    }
}
