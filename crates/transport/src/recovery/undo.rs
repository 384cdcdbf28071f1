//! Detection of spurious window reductions: the receiver reports that it already had all retransmitted data (RFC
//! 2883).
//!
//! Like RFC 3708 §3, this file compares segments one by one; Linux counts them (`tcp_check_dsack`, `tcp_try_undo_dsack`).

use super::interface::Prior;
use crate::scoreboard::Range;

/// Retransmissions since the start of a recovery.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// Retransmitted ranges that the receiver has not yet reported as duplicates, in order of sending. A range is listed once per retransmission.
    unreported: Vec<Range>,
    /// Window before the reduction; `None` if the reduction must not be undone.
    prior: Option<Prior>,
}

impl Undo {
    /// Handles the start of a recovery or a probe. Keeps only those earlier retransmissions that may still be in flight.
    pub(super) fn begin(&mut self, una: u64) {
        self.unreported.retain(|sent| sent.end > una);
        self.prior = None;
    }

    /// Saves the window that a recovery is about to reduce. A second reduction does not replace the saved window (Linux,
    /// `tcp_enter_loss`).
    pub(super) fn remember(&mut self, prior: Prior) {
        self.prior.get_or_insert(prior);
    }

    /// Forbids the undo, because the window was also reduced for another reason.
    pub(super) fn forbid(&mut self) {
        self.prior = None;
    }

    pub(super) fn take_prior(&mut self) -> Option<Prior> {
        self.prior.take()
    }

    pub(super) fn on_retransmission(&mut self, range: Range) {
        self.unreported.push(range);
    }

    /// Processes a report that these bytes arrived again, in one segment or in several merged ones. Returns whether all
    /// retransmissions have been reported. Duplicates of data that was never retransmitted are no evidence, because a network
    /// may duplicate packets.
    pub(super) fn on_report(&mut self, mut range: Range) -> bool {
        let before = self.unreported.len();
        self.unreported.retain(|sent| {
            let common = sent.common(range);
            // One report covers one copy.
            range.start = common.map_or(range.start, |part| part.end);
            common.is_none()
        });
        before > 0 && self.unreported.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Range = Range { start: 0, end: 1_000 };
    const SECOND: Range = Range { start: 1_000, end: 2_000 };

    #[test]
    fn what_is_acknowledged_when_a_recovery_begins_need_not_be_reported() {
        let mut undo = Undo::default();
        undo.on_retransmission(FIRST);
        undo.on_retransmission(SECOND);
        undo.remember(Prior { cwnd: 10_000, ssthresh: 20_000 });
        undo.begin(FIRST.end);
        assert!(undo.take_prior().is_none(), "the reduction was that of another recovery");
        assert!(undo.on_report(SECOND));
    }

    #[test]
    fn a_report_proves_nothing_where_nothing_was_retransmitted() {
        assert!(!Undo::default().on_report(FIRST));
    }
}
