//! How long a segment may be late before it counts as lost (RFC 8985 §6.2 step 4).

use shallows_core::Duration;

/// Recoveries without a report of something received again, after which the window is the first one.
const PERSIST: u8 = 16;

/// The reordering window's growth, by what the receiver reports to have come again (RFC 2883).
#[derive(Debug)]
pub(super) struct Reordering {
    /// *RACK.reo_wnd_mult*.
    multiple: u8,
    /// *RACK.reo_wnd_persist*.
    persist: u8,
    /// *RACK.dsack_round*: SND.NXT when it grew last, until that is acknowledged.
    round: Option<u64>,
}

impl Reordering {
    pub(super) fn new() -> Self {
        Self { multiple: 1, persist: 0, round: None }
    }

    /// An acknowledgement of everything below `una` while `next` is SND.NXT, which has `reported` something or not; with it a
    /// recovery may have `ended`.
    pub(super) fn on_ack(&mut self, (una, next): (u64, u64), reported: bool, ended: bool) {
        self.round = self.round.filter(|&round| una < round);
        if self.round.is_none() && reported {
            self.round = Some(next);
            self.multiple = self.multiple.saturating_add(1);
            self.persist = PERSIST;
        } else if ended {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.multiple = 1;
            }
        }
    }

    /// *RACK.reo_wnd* where reordering is allowed for.
    pub(super) fn window(&self, min_rtt: Duration, srtt: Duration) -> Duration {
        Duration((min_rtt.0 / 4).saturating_mul(u64::from(self.multiple))).min(srtt)
    }
}
