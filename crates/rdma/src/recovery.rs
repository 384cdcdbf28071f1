//! Selective retransmission: the packets that a requester considers lost (IRN, SIGCOMM '18, section 3.1).

use crate::ranges::Ranges;

/// Scoreboard of one recovery. It exists from the first loss until all packets up to the recovery point are acknowledged.
#[derive(Debug)]
pub(crate) struct Scoreboard {
    /// Packets above the first missing packet that have arrived.
    arrived: Ranges<()>,
    /// Recovery point: the PSN after the last packet that was sent before the recovery began.
    point: u64,
    /// PSN before which all missing packets were retransmitted since the recovery began, or since the last timeout.
    examined: u64,
    /// PSN before which missing packets count as lost.
    lost_before: u64,
}

impl Scoreboard {
    /// Begins a recovery. `una` is the first PSN that is not acknowledged; `sent` is the PSN after the last packet sent.
    pub(crate) fn new(una: u64, sent: u64) -> Self {
        Self { arrived: Ranges::default(), point: sent, examined: una, lost_before: una }
    }

    /// Handles a NACK for a packet that arrived out of order. All missing packets before that packet are lost: "any subsequent packet is
    /// considered lost only if another packet with a higher sequence number has been selectively acked" (section 3.1).
    pub(crate) fn on_arrived(&mut self, psn: u64) {
        self.arrived.insert(psn, ());
        self.lost_before = self.lost_before.max(psn);
    }

    /// Handles a timeout: retransmits from `una` on. Missing packets before `lost_before` count as lost.
    pub(crate) fn on_timeout(&mut self, una: u64, sent: u64, lost_before: u64) {
        self.point = sent;
        self.examined = una;
        self.lost_before = self.lost_before.max(lost_before);
    }

    /// Handles an acknowledgement of all packets before `una`. Returns whether the recovery goes on.
    ///
    /// In the paper, a recovery ends at the recovery point. In this code, a recovery goes on while packets after the recovery point are
    /// known to be missing. A new recovery would have no record of their retransmissions, and would retransmit these packets twice.
    pub(crate) fn advance(&mut self, una: u64) -> bool {
        self.arrived.remove_before(una);
        self.examined = self.examined.max(una);
        una < self.point || !self.arrived.is_empty()
    }

    /// Returns the next packet to retransmit; `None` if no packet is known to be lost.
    pub(crate) fn lost(&self) -> Option<u64> {
        let psn = self.arrived.missing_from(self.examined);
        (psn < self.lost_before).then_some(psn)
    }

    /// Records that the packet from [`Self::lost`] was retransmitted.
    pub(crate) fn on_retransmit(&mut self, psn: u64) {
        self.examined = psn + 1;
    }
}
