//! cwnd and ssthresh, and the ways RFC 5681 moves them; algorithms choose among these.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

/// How cwnd grows in congestion avoidance, by about one segment per round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Avoidance {
    /// One segment once a whole cwnd was acknowledged: what RFC 5681 §3.1 recommends.
    #[default]
    ByteCounting,
    /// SMSS²/cwnd for each acknowledgement of new data (RFC 5681 Eq. 3; ns-2): half as fast with delayed ones.
    PerAck,
    /// One segment once as many acknowledgements of new data came as cwnd has segments (ns-2's `windowOption_ 0`). Every
    /// reduction and restart starts the count anew, and so does every segment: nothing is carried over.
    Counted,
}

/// Of what a loss leaves one half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossBase {
    /// FlightSize: what is sent but not acknowledged (RFC 5681 Eq. 4).
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
    /// Bytes acknowledged, or acknowledgements, since congestion avoidance last added a segment.
    counted: u64,
    maximum: u64,
    mss: u32,
    minimum: u32,
    slow_start_limit: u32,
    avoidance: Avoidance,
    loss_base: LossBase,
}

/// What the window of a new connection follows from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) cwnd: Bytes,
    pub(crate) maximum: Bytes,
    pub(crate) minimum: Bytes,
    pub(crate) mss: Bytes,
    /// In segments.
    pub(crate) slow_start_limit: u32,
    pub(crate) avoidance: Avoidance,
    pub(crate) loss_base: LossBase,
}

impl Window {
    /// The window of a new connection.
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

    /// The congestion window.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    /// The slow start threshold.
    pub fn ssthresh(&self) -> Bytes {
        Bytes(self.ssthresh)
    }

    /// Whether cwnd is below ssthresh.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// A full segment.
    #[inline]
    pub fn mss(&self) -> Bytes {
        Bytes(u64::from(self.mss))
    }

    /// Grow for an acknowledgement of `acked` new bytes.
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

    /// What slow start grows by for an acknowledgement of `acked` new bytes.
    pub(crate) fn slow_start_growth(&self, acked: Bytes) -> Bytes {
        acked.min(Bytes(u64::from(self.slow_start_limit)))
    }

    /// ns-2's tcp.cc, `opencwnd` with `windowOption_ 0`.
    fn count(&mut self) {
        let mss = u64::from(self.mss);
        self.counted += 1;
        if self.counted * mss >= self.cwnd {
            self.counted = 0;
            self.cwnd += mss;
        }
    }

    /// The acknowledgement that has just reduced cwnd counts for what comes, where acknowledgements are counted.
    pub(crate) fn count_reducing_ack(&mut self) {
        if self.avoidance == Avoidance::Counted {
            self.grow(self.mss());
        }
    }

    /// Reduce to `cwnd` because of ECN, but not below the least window.
    pub(crate) fn reduce(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(u64::from(self.minimum));
        self.set_ssthresh(cwnd);
    }

    /// Reduce to `ssthresh` because a loss was detected.
    pub(crate) fn lose(&mut self, ssthresh: u64) {
        self.set_ssthresh(ssthresh);
        // RFC 6675 §5 step 4.2.
        self.cwnd = self.ssthresh.min(self.maximum);
    }

    /// Reduce because `flight_size` bytes lost one of theirs.
    pub(crate) fn halve(&mut self, flight_size: Bytes) {
        self.lose(self.loss_base(flight_size) / 2);
    }

    /// Start over because the retransmission timer fired; without `ssthresh` it stays.
    pub(crate) fn start_over(&mut self, ssthresh: Option<u64>) {
        if let Some(ssthresh) = ssthresh {
            self.set_ssthresh(ssthresh);
        }
        // RFC 5681 §3.1: the loss window.
        self.cwnd = u64::from(self.mss);
    }

    /// Start over, in slow start up to half of what was lost.
    pub(crate) fn collapse(&mut self, flight_size: Bytes, repeated: bool) {
        // RFC 5681 §3.1: ssthresh is held while the same segment times out again.
        self.start_over((!repeated).then(|| self.loss_base(flight_size) / 2));
    }

    /// Set cwnd, within its maximum, and leave ssthresh alone.
    pub(crate) fn set_cwnd(&mut self, cwnd: u64) {
        self.cwnd = cwnd.min(self.maximum);
    }

    /// Start from `restart_window` again, in slow start unless ssthresh says otherwise (RFC 5681 §4.1).
    pub(crate) fn restart(&mut self, restart_window: Bytes) {
        self.cwnd = restart_window.0;
        if self.avoidance == Avoidance::Counted {
            self.counted = 0;
        }
    }

    /// Go back to what a timeout has changed, unless this is more.
    pub(crate) fn undo(&mut self, cwnd: u64, ssthresh: u64) {
        self.cwnd = self.cwnd.max(cwnd);
        self.set_ssthresh(self.ssthresh.max(ssthresh));
    }

    /// Of what a loss leaves a part.
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
