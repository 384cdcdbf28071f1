//! Whether a reduction of the window was for nothing: everything that was sent again had arrived before, as the receiver reports
//! (RFC 2883).
//!
//! RFC 3708 §3 goes through segments one by one, as is done here; Linux counts them (`tcp_check_dsack`, `tcp_try_undo_dsack`).

use super::interface::Prior;
use crate::scoreboard::Range;

/// What became of what was sent again since a recovery began.
#[derive(Debug, Default)]
pub(super) struct Undo {
    /// What was sent again and not reported, in the order of sending; twice if it was sent again twice.
    unreported: Vec<Range>,
    /// The window before; none where a reduction is not to be taken back.
    prior: Option<Prior>,
}

impl Undo {
    /// A recovery begins, or a probe goes. What was sent again before matters only if it may be under way.
    pub(super) fn begin(&mut self, una: u64) {
        self.unreported.retain(|sent| sent.end > una);
        self.prior = None;
    }

    /// The window before the reduction with which a recovery began; a second one changes nothing (Linux, `tcp_enter_loss`).
    pub(super) fn remember(&mut self, prior: Prior) {
        self.prior.get_or_insert(prior);
    }

    /// The window was reduced for another reason, which stands.
    pub(super) fn forbid(&mut self) {
        self.prior = None;
    }

    pub(super) fn take_prior(&mut self) -> Option<Prior> {
        self.prior.take()
    }

    pub(super) fn on_send_again(&mut self, range: Range) {
        self.unreported.push(range);
    }

    /// These bytes have come again, of one segment or, merged, of several. Says whether now everything is reported that was sent
    /// again. What was not is no evidence: a network may double packets, too.
    pub(super) fn on_report(&mut self, mut range: Range) -> bool {
        let before = self.unreported.len();
        self.unreported.retain(|sent| {
            let common = sent.common(range);
            // One report is of one copy.
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
        undo.on_send_again(FIRST);
        undo.on_send_again(SECOND);
        undo.remember(Prior { cwnd: 10_000, ssthresh: 20_000 });
        undo.begin(FIRST.end);
        assert!(undo.take_prior().is_none(), "the reduction was that of another recovery");
        assert!(undo.on_report(SECOND));
    }

    #[test]
    fn a_report_proves_nothing_where_nothing_was_sent_again() {
        assert!(!Undo::default().on_report(FIRST));
    }
}
