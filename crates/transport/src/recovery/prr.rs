//! Proportional rate reduction: during fast recovery, transmissions are proportional to deliveries (RFC 6937).
//!
//! An acknowledgement that reports no delivery allows no transmission; the RFC's reduction bound would allow a segment.

/// Limit on transmissions while at most ssthresh bytes are in flight (RFC 6937 §3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// As many bytes as were delivered, plus one segment, as in slow start (PRR-SSRB, which the RFC recommends).
    SlowStart,
    /// As many bytes as were delivered (PRR-CRB).
    Conservative,
    /// As many bytes as were delivered, plus one segment after an acknowledgement of new data that reports no further
    /// loss (RFC 9937 *SafeACK*, Linux).
    SafeAck,
}

/// Data whose delivery an acknowledgement reports during recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Delivery {
    /// Newly acknowledged bytes, selectively or not.
    pub(crate) bytes: u64,
    /// Whether the acknowledgement covers new data and reports no further loss (RFC 9937 *SafeACK*).
    pub(crate) safe: bool,
}

/// Variables of RFC 6937 §3 for one fast recovery, or for one reduction after an ECN echo.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    bound: Bound,
    delivered: u64,
    out: u64,
    recover_fs: u64,
    /// *sndcnt*: bytes that may be sent for the last acknowledgement.
    allowed: u64,
}

impl Prr {
    /// Creates the variables for a recovery that begins with `flight_size` bytes outstanding.
    pub(crate) fn new(bound: Bound, flight_size: u64) -> Self {
        Self { bound, delivered: 0, out: 0, recover_fs: flight_size.max(1), allowed: 0 }
    }

    /// Processes an acknowledgement during recovery.
    pub(crate) fn on_ack(&mut self, delivery: Delivery, pipe: u64, ssthresh: u64, mss: u64) {
        let Delivery { bytes: delivered, safe } = delivery;
        self.delivered += delivered;
        self.allowed = if delivered == 0 {
            0
        } else if pipe > ssthresh {
            // RFC 6937 §3: proportional rate reduction, rounded up.
            let share =
                (u128::from(self.delivered) * u128::from(ssthresh)).div_ceil(u128::from(self.recover_fs));
            u64::try_from(share).unwrap_or(u64::MAX).saturating_sub(self.out)
        } else {
            let unsent = self.delivered.saturating_sub(self.out);
            let limit = match self.bound {
                Bound::SlowStart => unsent.max(delivered) + mss,
                Bound::Conservative => unsent,
                // RFC 9937 §6.2; Linux, `tcp_cwnd_reduction`.
                Bound::SafeAck => unsent.max(delivered) + if safe { mss } else { 0 },
            };
            (ssthresh - pipe).min(limit)
        };
    }

    pub(crate) fn on_send(&mut self, len: u64) {
        self.out += len;
        self.allowed = self.allowed.saturating_sub(len);
    }

    pub(crate) fn allowed(&self) -> u64 {
        self.allowed
    }
}
