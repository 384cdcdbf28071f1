//! Tolerance for late segments before they count as lost (RFC 8985 §6.2 step 4).

use shallows_core::Duration;

/// Number of recoveries without a report of duplicates after which the reordering window is reset.
const PERSIST: u8 = 16;

/// Growth of the reordering window after reports of duplicates (RFC 2883).
#[derive(Debug)]
pub(super) struct Reordering {
    /// Factor by which the reordering window has grown (*RACK.reo_wnd_mult*).
    multiple: u8,
    /// Number of recoveries without a report of duplicates until the reordering window is reset (*RACK.reo_wnd_persist*).
    persist: u8,
    /// *RACK.dsack_round*: SND.NXT when the window last grew; `None` once all data below it is acknowledged.
    round: Option<u64>,
}

impl Reordering {
    pub(super) fn new() -> Self {
        Self { multiple: 1, persist: 0, round: None }
    }

    /// Processes an acknowledgement of all data below `una` while SND.NXT is `next`. `reported` states whether it reports
    /// duplicates; `ended` states whether it ends a recovery.
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

    /// Returns the length of the reordering window (*RACK.reo_wnd*) if reordering is tolerated.
    pub(super) fn window(&self, min_rtt: Duration, srtt: Duration) -> Duration {
        Duration((min_rtt.0 / 4).saturating_mul(u64::from(self.multiple))).min(srtt)
    }
}
