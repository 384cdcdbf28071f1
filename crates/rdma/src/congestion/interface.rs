//! Interface between a requester and its congestion control.

use std::num::NonZeroU16;

use shallows_core::{Bytes, Duration, Instant, Rate};

/// Rate and window that limit a requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Rate at which packets leave; it counts all bytes on the wire.
    pub rate: Rate,
    /// Limit of outstanding bytes; `None` for no limit. If nothing is outstanding, one packet may leave even if it exceeds the limit.
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
    /// Code of the highest utilisation on the path of the acknowledged packet; `None` without PINT.
    pub utilisation: Option<NonZeroU16>,
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

/// Counts of the signals that a congestion control received and of its actions. They reveal a control that never acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// Congestion notification packets.
    pub cnps: u32,
    /// Reductions of rate or window.
    pub cuts: u32,
    /// Increases of rate or window.
    pub increases: u32,
    /// Acknowledgements with in-band telemetry.
    pub telemetry: u32,
}

impl Digest {
    /// Counts a change of a rate or window as an increase or a cut.
    pub(super) fn record(&mut self, before: f64, after: f64) {
        self.cuts += u32::from(after < before);
        self.increases += u32::from(after > before);
    }
}

/// Returns whether `hops` can be compared with the telemetry of an earlier packet. The number of hops must be the same. Each hop must have
/// a later time, and a count of sent bytes that is not smaller. Another path of the same length can also satisfy these conditions.
pub(super) fn follows(hops: &[Telemetry], earlier: &[Telemetry]) -> bool {
    let later = |(hop, last): (&Telemetry, &Telemetry)| hop.at > last.at && hop.sent >= last.sent;
    hops.len() == earlier.len() && hops.iter().zip(earlier).all(later)
}

/// Source of the window if the congestion control computes only a rate (HPCC, SIGCOMM '19, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// No window.
    None,
    /// Bytes that a sender at line rate sends in this round-trip time.
    Fixed(Duration),
    /// Bytes that a sender at the current rate sends in this round-trip time.
    Variable(Duration),
}

impl Window {
    /// Returns the rate and the window of a control whose current rate is `current`, in bits per second.
    pub(super) fn pace(self, line_rate: f64, current: f64) -> Pace {
        // A window of at least one byte lets a packet leave if nothing is outstanding.
        let bytes = |bps: f64, rtt: Duration| Some(Bytes(((bps * rtt.as_secs_f64() / 8.0) as u64).max(1)));
        let window = match self {
            Self::None => None,
            Self::Fixed(rtt) => bytes(line_rate, rtt),
            Self::Variable(rtt) => bytes(current, rtt),
        };
        Pace { rate: rate(current), window }
    }
}

/// State of a congestion control. Each method expects the parameters with which the state was created.
pub(super) trait CongestionControl {
    /// Parameters of the control.
    type Config;

    /// Returns the rate and the window.
    fn pace(&self) -> Pace;

    /// Records that a packet of `size` bytes on the wire was sent. Returns whether the rate or the window may have changed.
    fn on_send(&mut self, _config: &Self::Config, _size: Bytes) -> bool {
        false
    }

    /// Handles an acknowledgement that acknowledges new data.
    fn on_ack(&mut self, _config: &Self::Config, _ack: &Ack<'_>) {}

    /// Handles a congestion notification packet.
    fn on_cnp(&mut self, _config: &Self::Config, _now: Instant) {}

    /// Handles a loss.
    fn on_loss(&mut self, _config: &Self::Config, _now: Instant, _loss: Loss) {}

    /// Returns the time at which [`Self::on_timer`] must be called, if any.
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles the expiry of the deadline, and moves or clears the deadline. A call after the deadline is permitted.
    fn on_timer(&mut self, _config: &Self::Config, _now: Instant) {}

    /// Returns α, the estimated share of marked data, at the given time; `None` if the control has no α.
    fn alpha(&self, _config: &Self::Config, _now: Instant) -> Option<f64> {
        None
    }

    /// Returns the counts of the control's actions.
    fn digest(&self) -> Digest;
}

/// Converts a rate in bits per second, rounded to a whole number of at least 1.
pub(super) fn rate(bps: f64) -> Rate {
    Rate((bps.round() as u64).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_count() {
        let mut digest = Digest::default();
        for (before, after) in [(2.0, 1.0), (1.0, 1.0), (1.0, 3.0), (3.0, 4.0)] {
            digest.record(before, after);
        }
        assert_eq!(digest, Digest { cuts: 1, increases: 2, ..Digest::default() });
    }

    #[test]
    fn telemetry_follows_that_of_an_earlier_packet_on_the_same_path() {
        let hop = |at, sent| Telemetry { at: Instant(at), sent, ..Telemetry::default() };
        let earlier = [hop(10, 100), hop(20, 100)];
        assert!(follows(&[hop(11, 100), hop(21, 200)], &earlier));
        assert!(!follows(&[hop(11, 200)], &earlier), "another path");
        assert!(!follows(&[hop(11, 200), hop(20, 200)], &earlier), "left at the same time");
        assert!(!follows(&[hop(9, 200), hop(21, 200)], &earlier), "left before");
        assert!(!follows(&[hop(11, 99), hop(21, 200)], &earlier), "another port");
    }

    #[test]
    fn windows_are_those_of_the_line_rate_or_of_the_current_rate() {
        let rtt = Duration::from_micros(8);
        let window = |window: Window, current| window.pace(100e9, current).window;
        assert_eq!(window(Window::None, 50e9), None);
        assert_eq!(window(Window::Fixed(rtt), 50e9), Some(Bytes(100_000)));
        assert_eq!(window(Window::Variable(rtt), 50e9), Some(Bytes(50_000)));
        assert_eq!(window(Window::Variable(rtt), 100.0), Some(Bytes(1)), "never closed");
        assert_eq!([rate(0.2), rate(1.6)], [Rate(1), Rate(2)]);
    }
}
