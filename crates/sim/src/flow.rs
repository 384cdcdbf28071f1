//! What is remembered of each flow: one record, from its arrival to the end of the run.

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};

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
    /// When the last byte reached the receiver.
    pub(crate) received_at: Option<Instant>,
    /// When the sender had every acknowledgement.
    pub(crate) acked_at: Option<Instant>,
    /// Its connection's address, once it has one.
    pub(crate) address: Option<Address>,
    /// Bytes that reached the receiver in order; final when the flow or the run ends.
    pub(crate) delivered: Bytes,
    pub(crate) timeouts: u32,
    pub(crate) retransmits: u32,
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
