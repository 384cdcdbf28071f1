//! Interface between a sender and its congestion control.

use shallows_core::packet::Flags;
use shallows_core::{Bytes, Duration, Instant, Rate};

use super::window::Window;

/// Use of ECN by a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// No ECN.
    Off,
    /// The receiver echoes ECE until the sender sends CWR (RFC 3168 §6.1).
    Classic,
    /// The receiver echoes each packet's CE exactly (RFC 8257 §3.2).
    Accurate,
}

/// One acceptable acknowledgement, with the data that a congestion control needs.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The acknowledgement number.
    pub number: u64,
    /// Newly acknowledged bytes; zero for a duplicate.
    pub acked: Bytes,
    /// Sequence number after the last byte sent.
    pub next: u64,
    /// Whether the acknowledgement carries ECE and the connection uses ECN.
    pub ece: bool,
    /// Flags of the acknowledgement.
    pub flags: Flags,
    /// Bytes by which cwnd may grow: newly acknowledged bytes outside loss recovery; zero if this acknowledgement cuts
    /// cwnd.
    pub growth: Bytes,
    /// Time of arrival.
    pub now: Instant,
    /// Smoothed round-trip time; `Duration::MAX` before the first sample.
    pub srtt: Duration,
    /// Round-trip time that the acknowledgement measures; `Duration::MAX` without a sample.
    pub rtt: Duration,
}

/// A congestion signal; the sender passes at most one per window of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// An acknowledgement with ECE.
    Ecn,
    /// A loss detected by duplicate acknowledgements.
    Loss,
    /// An expiry of the retransmission timer.
    Timeout,
    /// A further expiry of the retransmission timer for the same segment.
    RepeatedTimeout,
}

/// Window and rate of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Limit of outstanding bytes: cwnd.
    pub window: Bytes,
    /// Rate at which data leaves; `None` if the algorithm sets no rate. The host may then pace at a rate computed from the window and the
    /// round-trip time.
    pub rate: Option<Rate>,
}

/// An algorithm that turns congestion signals into a window, and into a rate if
/// [`Config::sets_rate`](super::Config::sets_rate) is true.
pub trait CongestionControl {
    /// Handles an acceptable acknowledgement. The sender calls this method once per acknowledgement, before [`Self::on_congestion`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Handles a congestion signal while `flight_size` bytes are outstanding.
    fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes);

    /// Handles a restart: data is about to be sent after the connection was idle for an RTO (RFC 5681 §4.1).
    fn on_restart(&mut self, window: &mut Window, restart_window: Bytes) {
        window.restart(restart_window);
    }

    /// Handles a pause of `idle` without transmissions; data is about to be sent.
    fn on_idle(&mut self, _idle: Duration) {}

    /// Returns the window and the rate. The sender calls this for each segment.
    #[inline]
    fn pace(&self, window: &Window) -> Pace {
        Pace { window: window.cwnd(), rate: None }
    }

    /// Returns the time at which the sender must call [`Self::on_timer`], if any. A deadline keeps the run going even if no
    /// data is outstanding.
    #[inline]
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// Handles the expiry of the deadline. The implementation must then move or clear the deadline.
    fn on_timer(&mut self, _window: &mut Window, _now: Instant) {}

    /// Returns DCTCP's estimate of the fraction of marked bytes, if the algorithm has one.
    fn alpha(&self) -> Option<f64> {
        None
    }

    /// Returns whether the algorithm keeps the window small until the end of an incast.
    fn is_braking(&self) -> bool {
        false
    }
}
