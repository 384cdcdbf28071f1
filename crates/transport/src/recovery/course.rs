//! Parts of a recovery that do not depend on how losses are detected: its start and end, its first retransmission, and its limit on
//! transmissions.

use shallows_core::packet::AckSegment;

use super::interface::{Outstanding, Phase};
use super::prr::{Bound, Delivery, Prr};
use super::undo::Undo;
use crate::config::Config;
use crate::scoreboard::Range;

/// State of a connection's loss recovery.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) phase: Phase,
    /// Sequence number whose acknowledgement ends recovery (*RecoveryPoint*).
    pub(super) point: u64,
    /// Whether the first retransmission of the recovery is due. No window limits this retransmission.
    pub(super) first_due: bool,
    /// Bound of proportional rate reduction; `None` if it is disabled.
    bound: Option<Bound>,
    prr: Option<Prr>,
    /// Delivered bytes that acknowledgements have reported during recovery, and that `prr` has not processed yet.
    delivered: Option<Delivery>,
    pub(super) undo: Undo,
}

impl Course {
    pub(super) fn new(bound: Option<Bound>) -> Self {
        Self { bound, ..Self::default() }
    }

    /// Begins fast recovery after a detected loss (RFC 6675 §5 step 4).
    pub(super) fn begin(&mut self, data: Outstanding) {
        self.undo.begin(data.una);
        self.phase = Phase::Recovery;
        self.point = data.next;
        self.first_due = true;
        self.prr = self.bound.map(|bound| Prr::new(bound, data.next - data.una));
        self.delivered = None;
    }

    /// Begins recovery after an expiry of the retransmission timer.
    pub(super) fn time_out(&mut self, data: Outstanding) {
        if self.phase == Phase::Open {
            self.undo.begin(data.una);
        }
        self.phase = Phase::Timeout;
        self.point = data.next;
    }

    /// Processes an acknowledgement's report of duplicate data (RFC 2883). Returns the reported range, and whether all data that the
    /// recovery retransmitted has now been reported as duplicate.
    pub(super) fn hear(&mut self, config: &Config, next: u64, segment: &AckSegment) -> (Option<Range>, bool) {
        if !config.dsack {
            return (None, false);
        }
        let reported = segment.duplicate().map(|(start, end)| Range { start, end });
        let reported = reported.filter(|range| range.end <= next);
        (reported, reported.is_some_and(|range| self.undo.on_report(range)))
    }

    /// Ends recovery if all data outstanding at its start is acknowledged (RFC 6675 §5 step A), or if the recovery was spurious. Returns
    /// whether it ends.
    pub(super) fn end(&mut self, una: u64, spurious: bool) -> bool {
        let ends = self.phase != Phase::Open && (una >= self.point || spurious);
        if ends {
            self.phase = Phase::Open;
            self.first_due = false;
        }
        ends
    }

    /// Records that an acknowledgement reports the delivery of `bytes` bytes (RFC 6937 §2 DeliveredData). `safe` states whether the
    /// acknowledgement covers new data and reports no further loss (RFC 9937).
    pub(super) fn deliver(&mut self, bytes: u64, safe: bool) {
        if self.phase == Phase::Recovery && self.bound.is_some() {
            let before = self.delivered.map_or(0, |before| before.bytes);
            self.delivered = Some(Delivery { bytes: before + bytes, safe });
        }
    }

    /// Processes the recorded deliveries. Call this before sending.
    pub(super) fn take_in(&mut self, pipe: u64, cwnd: u64, mss: u64) {
        if let (Some(prr), Some(delivery)) = (&mut self.prr, self.delivered.take()) {
            prr.on_ack(delivery, pipe, cwnd, mss);
        }
    }

    /// Returns the number of bytes that may be sent while `pipe` bytes are in flight.
    pub(super) fn room(&self, cwnd: u64, pipe: u64) -> u64 {
        match &self.prr {
            Some(prr) if self.phase == Phase::Recovery => prr.allowed(),
            _ => cwnd.saturating_sub(pipe),
        }
    }

    /// Records that `range` is sent while SND.NXT is at `next`.
    pub(super) fn on_send(&mut self, config: &Config, range: Range, next: u64) {
        if config.dsack && range.start < next {
            self.undo.on_retransmission(range);
        }
        if let Some(prr) = &mut self.prr {
            prr.on_send(range.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: Outstanding = Outstanding { una: 1_000, next: 11_000, cut_at: 0, cut_for: None };

    #[test]
    fn after_a_timeout_the_window_is_the_limit_whatever_a_fast_recovery_before_it_allowed() {
        let mut course = Course::new(Some(Bound::SafeAck));
        course.begin(DATA);
        assert_eq!(course.room(5_000, 1_000), 0, "nothing was delivered yet");
        course.time_out(DATA);
        assert_eq!(course.room(5_000, 1_000), 4_000);
    }

    #[test]
    fn a_timeout_without_a_recovery_begins_to_count_anew_what_is_retransmitted() {
        let again = Range { start: 0, end: 1_000 };
        let mut course = Course::new(None);
        course.undo.on_retransmission(again);
        course.time_out(DATA);
        assert!(!course.undo.on_report(again), "it was acknowledged before");
        // A timeout within a recovery continues it (Linux, `tcp_enter_loss`).
        let mut course = Course::new(None);
        course.begin(DATA);
        course.undo.on_retransmission(again);
        course.time_out(DATA);
        assert!(course.undo.on_report(again));
    }
}
