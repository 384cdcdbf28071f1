//! cwnd and ssthresh, and RFC 5681's rules for changing them. Algorithms choose among these rules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

/// Growth of cwnd in congestion avoidance, by about one segment per round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Avoidance {
    /// One segment after a whole cwnd has been acknowledged, as RFC 5681 §3.1 recommends.
    #[default]
    ByteCounting,
    /// SMSS²/cwnd bytes for each acknowledgement of new data (RFC 5681 Eq. 3; ns-2). With delayed acknowledgements, growth is half as fast.
    PerAck,
    /// Adds a segment when the number of acknowledgements of new data reaches the number of segments in cwnd (ns-2's `windowOption_ 0`).
    /// Every reduction, restart and added segment resets this number to zero.
    Counted,
}

/// Base of the reduction after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossBase {
    /// FlightSize: data sent but not acknowledged (RFC 5681 Eq. 4).
    #[default]
    FlightSize,
    /// cwnd, whether it was used or not (ns-2, Linux).
    Cwnd,
}

/// cwnd and ssthresh of one connection, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    cwnd: u64,
    ssthresh: u64,
    /// Acknowledged bytes, or the number of acknowledgements, since congestion avoidance last added a segment.
    counted: u64,
    maximum: u64,
    mss: u32,
    minimum: u32,
    slow_start_limit: u32,
    avoidance: Avoidance,
    loss_base: LossBase,
}

/// Inputs for the window of a new connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) cwnd: Bytes,
    pub(crate) maximum: Bytes,
    pub(crate) minimum: Bytes,
    pub(crate) mss: Bytes,
    /// Largest growth in slow start for one acknowledgement, in segments.
    pub(crate) slow_start_limit: u32,
    pub(crate) avoidance: Avoidance,
    pub(crate) loss_base: LossBase,
}

impl Window {
    /// Creates the window of a new connection.
    pub(crate) fn new(start: Start) -> Self {
        let narrow = |bytes: Bytes| u32::try_from(bytes.0).expect("segments and least windows are small");
        Self {
            cwnd: start.cwnd.0,
            // RFC 5681 §3.1: arbitrarily high at first.
            ssthresh: u64::MAX,
            counted: 0,
            maximum: start.maximum.0,
            mss: narrow(start.mss),
            minimum: narrow(start.minimum),
            slow_start_limit: start.slow_start_limit.saturating_mul(narrow(start.mss)),
            avoidance: start.avoidance,
            loss_base: start.loss_base,
        }
    }

    /// Returns the congestion window.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    /// Returns the slow start threshold.
    pub fn ssthresh(&self) -> Bytes {
        Bytes(self.ssthresh)
    }

    /// Returns whether cwnd is below ssthresh.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Returns the size of a full segment.
    #[inline]
    pub fn mss(&self) -> Bytes {
        Bytes(u64::from(self.mss))
    }

    /// Grows the window for an acknowledgement of `acked` new bytes.
    #[inline]
    pub fn grow(&mut self, acked: Bytes) {
        let mss = u64::from(self.mss);
        if self.in_slow_start() {
            // RFC 5681 Eq. 2, with RFC 3465's limit in place of one segment.
            self.cwnd += acked.0.min(u64::from(self.slow_start_limit));
        } else {
            match self.avoidance {
                Avoidance::ByteCounting => {
                    self.counted += acked.0;
                    if self.counted >= self.cwnd {
                        self.counted -= self.cwnd;
                        self.cwnd += mss;
                    }
                }
                // RFC 5681 Eq. 3; at least one byte.
                Avoidance::PerAck => self.cwnd += (mss * mss / self.cwnd).max(1),
                Avoidance::Counted => self.count(),
            }
        }
        self.cwnd = self.cwnd.min(self.maximum);
    }

    /// Returns the growth in slow start for an acknowledgement of `acked` new bytes.
    pub(crate) fn slow_start_growth(&self, acked: Bytes) -> Bytes {
        acked.min(Bytes(u64::from(self.slow_start_limit)))
    }

    /// Counts an acknowledgement in congestion avoidance (ns-2's tcp.cc, `opencwnd` with `windowOption_ 0`).
    fn count(&mut self) {
        let mss = u64::from(self.mss);
        self.counted += 1;
        if self.counted * mss >= self.cwnd {
            self.counted = 0;
            self.cwnd += mss;
        }
    }

    /// Counts the acknowledgement that has just reduced cwnd, if congestion avoidance counts acknowledgements.
    pub(crate) fn count_reducing_ack(&mut self) {
        if self.avoidance == Avoidance::Counted {
            self.grow(self.mss());
        }
    }

    /// Reduces cwnd to `cwnd` because of ECN, but not below the minimum window.
    pub(crate) fn reduce(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(u64::from(self.minimum));
        self.set_ssthresh(cwnd);
    }

    /// Reduces cwnd to `ssthresh` after a detected loss.
    pub(crate) fn lose(&mut self, ssthresh: u64) {
        self.set_ssthresh(ssthresh);
        // RFC 6675 §5 step 4.2.
        self.cwnd = self.ssthresh.min(self.maximum);
    }

    /// Halves the window after a loss, while `flight_size` bytes are outstanding.
    pub(crate) fn halve(&mut self, flight_size: Bytes) {
        self.lose(self.loss_base(flight_size) / 2);
    }

    /// Restarts from one segment after a timeout, with this `ssthresh`; `None` leaves ssthresh unchanged.
    pub(crate) fn start_over(&mut self, ssthresh: Option<u64>) {
        if let Some(ssthresh) = ssthresh {
            self.set_ssthresh(ssthresh);
        }
        // RFC 5681 §3.1: the loss window.
        self.cwnd = u64::from(self.mss);
    }

    /// Restarts from one segment. ssthresh becomes half of [`Self::loss_base`], unless the timeout is `repeated`.
    pub(crate) fn collapse(&mut self, flight_size: Bytes, repeated: bool) {
        // RFC 5681 §3.1: ssthresh is held while the same segment times out again.
        self.start_over((!repeated).then(|| self.loss_base(flight_size) / 2));
    }

    /// Sets cwnd, within its maximum, without changing ssthresh.
    pub(crate) fn set_cwnd(&mut self, cwnd: u64) {
        self.cwnd = cwnd.min(self.maximum);
    }

    /// Restarts from `restart_window`, in slow start unless ssthresh is lower (RFC 5681 §4.1).
    pub(crate) fn restart(&mut self, restart_window: Bytes) {
        self.cwnd = restart_window.0;
        if self.avoidance == Avoidance::Counted {
            self.counted = 0;
        }
    }

    /// Undoes a reduction: raises cwnd and ssthresh to these values, unless they are already higher.
    pub(crate) fn undo(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = self.cwnd.max(cwnd);
        self.set_ssthresh(self.ssthresh.max(ssthresh));
    }

    /// Returns the quantity that a loss reduces: `flight_size` or cwnd.
    pub(crate) fn loss_base(&self, flight_size: Bytes) -> u64 {
        match self.loss_base {
            LossBase::FlightSize => flight_size.0,
            LossBase::Cwnd => self.cwnd,
        }
    }

    pub(crate) fn set_ssthresh(&mut self, ssthresh: u64) {
        // RFC 5681 Eq. 4: two segments at least.
        self.ssthresh = ssthresh.max(2 * u64::from(self.mss));
        self.counted = 0;
    }
}
