//! What a sender tells its congestion control, and what that answers.

use shallows_core::packet::Flags;
use shallows_core::{Bytes, Duration, Instant, Rate};

use super::window::Window;

/// How a connection uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// Not at all.
    Off,
    /// The receiver echoes until the sender says CWR (RFC 3168 §6.1).
    Classic,
    /// The receiver echoes exactly what it sees (RFC 8257 §3.2).
    Accurate,
}

/// One acceptable acknowledgement, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The acknowledgement number.
    pub number: u64,
    /// Bytes that it newly acknowledges; none if it is a duplicate.
    pub acked: Bytes,
    /// Sequence number after the last byte sent.
    pub next: u64,
    /// Whether it carries ECE, and the connection uses it.
    pub ece: bool,
    /// Its flags.
    pub flags: Flags,
    /// Bytes that cwnd may grow for: what is newly acknowledged, outside of loss recovery, unless this acknowledgement
    /// cuts cwnd.
    pub growth: Bytes,
    /// When it arrived.
    pub now: Instant,
    /// The smoothed round-trip time; `Duration::MAX` before the first sample.
    pub srtt: Duration,
    /// The round-trip time that it measures; `Duration::MAX` if it measures none.
    pub rtt: Duration,
}

/// A signal of congestion; the sender passes on at most one per window of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// An acknowledgement with ECE.
    Ecn,
    /// A loss that duplicate acknowledgements revealed.
    Loss,
    /// The retransmission timer fired.
    Timeout,
    /// It fired again for the same segment.
    RepeatedTimeout,
}

/// How much a connection may send, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The most bytes that may be outstanding: cwnd.
    pub window: Bytes,
    /// The rate at which data leaves. None leaves it to the host, which may pace by window and round-trip time.
    pub rate: Option<Rate>,
}

/// Turns signals of congestion into a window, and into a rate where [`Config::sets_rate`](super::Config::sets_rate) says so.
pub trait CongestionControl {
    /// An acceptable acknowledgement arrived. Called once for each, before [`Self::on_congestion`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Congestion was signalled while `flight_size` bytes were sent but not acknowledged.
    fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes);

    /// Data is about to be sent after an idle RTO (RFC 5681 §4.1).
    fn on_restart(&mut self, window: &mut Window, restart_window: Bytes) {
        window.restart(restart_window);
    }

    /// Nothing was sent for `idle`, and now data is about to be.
    fn on_idle(&mut self, _idle: Duration) {}

    /// How much may be sent, and how fast. Called for each segment.
    #[inline]
    fn pace(&self, window: &Window) -> Pace {
        Pace { window: window.cwnd(), rate: None }
    }

    /// When [`Self::on_timer`] is to be called, if at all. A control with nothing outstanding that sets a deadline keeps the
    /// run going.
    #[inline]
    fn deadline(&self) -> Option<Instant> {
        None
    }

    /// The deadline has come. The control moves it, or has none afterwards.
    fn on_timer(&mut self, _window: &mut Window, _now: Instant) {}

    /// DCTCP's estimate of the fraction of marked bytes, where there is one.
    fn alpha(&self) -> Option<f64> {
        None
    }

    /// Whether it holds the window down until the network says that an incast is over.
    fn is_braking(&self) -> bool {
        false
    }
}
