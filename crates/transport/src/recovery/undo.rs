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
