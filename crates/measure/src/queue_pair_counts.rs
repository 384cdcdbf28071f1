//! Counts of queue pairs: their losses, and the actions of their congestion control.

use std::collections::BTreeMap;
use std::iter::Sum;
use std::ops::AddAssign;

/// Hosts of one group that send the data of queue pairs in one workload. All these queue pairs have the same congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Senders {
    /// Index of the workload among the workloads that send flows.
    pub workload: u16,
    /// Number of the hosts' group.
    pub group: u16,
}

/// Counts of queue pairs for each group of senders ([`Senders`]).
pub type QueuePairs = BTreeMap<Senders, QueuePairCounts>;

/// Counts of several queue pairs: sums over their requesters, and over the responders of READs, which send the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueuePairCounts {
    /// Queue pairs.
    pub queue_pairs: u64,
    /// Queue pairs that ended with an error, because their retransmissions were not acknowledged.
    pub retries_exhausted: u64,
    /// Flows that never began, because they waited for queue pairs that ended with an error.
    pub abandoned: u64,
    /// Queue pairs that ended with an error, because their responders had no receive work requests.
    pub rnr_retries_exhausted: u64,
    /// Negative acknowledgements that requesters received, except RNR NAKs. Gaps in the responses to READs also count (implied NAKs).
    pub naks: u64,
    /// RNR NAKs that requesters received: the responder had no receive work request.
    pub rnr_naks: u64,
    /// Expiries of retransmission timers.
    pub timeouts: u64,
    /// Retransmitted packets: data, and requests of READs.
    pub retransmits: u64,
    /// Congestion notification packets that senders of data received.
    pub cnps: u64,
    /// Acknowledgements whose in-band telemetry the congestion control read.
    pub telemetry: u64,
    /// Reductions of rates or windows.
    pub cuts: u64,
    /// Increases of rates or windows.
    pub increases: u64,
}

impl AddAssign for QueuePairCounts {
    fn add_assign(&mut self, other: Self) {
        self.queue_pairs += other.queue_pairs;
        self.retries_exhausted += other.retries_exhausted;
        self.abandoned += other.abandoned;
        self.rnr_retries_exhausted += other.rnr_retries_exhausted;
        self.naks += other.naks;
        self.rnr_naks += other.rnr_naks;
        self.timeouts += other.timeouts;
        self.retransmits += other.retransmits;
        self.cnps += other.cnps;
        self.telemetry += other.telemetry;
        self.cuts += other.cuts;
        self.increases += other.increases;
    }
}

impl Sum for QueuePairCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}
