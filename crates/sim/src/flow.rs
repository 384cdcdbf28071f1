//! What is remembered of each flow: one record, from its arrival to the end of the run.

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::Leg;

use crate::connection::Address;

/// A flow that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRecord {
    pub(crate) arrival: Instant,
    pub(crate) source: HostId,
    pub(crate) destination: HostId,
    /// Application bytes; `None` for a flow that lasts as long as the run.
    pub(crate) size: Option<Bytes>,
    pub(crate) workload: u16,
    pub(crate) class: u8,
    /// Which part of a query it is.
    pub(crate) leg: Option<Leg>,
    /// Its place in a list of flows that wait for one another.
    pub(crate) listed: Option<u32>,
    /// When the last byte reached the receiver.
    pub(crate) received_at: Option<Instant>,
    /// When the sender had every acknowledgement.
    pub(crate) acked_at: Option<Instant>,
    /// Its connection's address, once it has one.
    pub(crate) address: Option<Address>,
    /// Bytes that reached the receiver in order; final when the flow or the run ends.
    pub(crate) delivered: Bytes,
    pub(crate) timeouts: u32,
    /// Of a part of a query: those that came before the receiver had all of it. One that follows, for a lost
    /// acknowledgement, holds nobody up.
    pub(crate) timeouts_felt: u32,
    pub(crate) retransmits: u32,
    /// None if it was never sent.
    pub(crate) starved: Option<Starved>,
}

/// How long a flow went without progress, from when it was handed to its connection on. What waits at the end of the run
/// counts up to there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Starved {
    /// Longest time between acknowledgements of new data at the sender (HCF's Fig. 4).
    pub(crate) ack: Duration,
    /// Longest time between arrivals of data at the receiver (HCF's Fig. 7 to 9).
    pub(crate) arrival: Duration,
}

/// Where a flow's completion time ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Received,
    Acked,
}

impl FlowRecord {
    /// Completion time, if the flow is complete.
    pub(crate) fn completion_time(&self, end: End) -> Option<Duration> {
        let ended = match end {
            End::Received => self.received_at,
            End::Acked => self.acked_at,
        };
        ended.map(|at| at - self.arrival)
    }
}
