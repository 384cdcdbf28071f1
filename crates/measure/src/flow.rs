//! The record of a flow, as its sender and its receiver saw it until the end of the run.

use shallows_core::packet::HostId;
use shallows_core::{Address, Bytes, Duration, Instant};
use shallows_scenario::{Flow, Leg};

/// A flow that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct FlowRecord {
    /// When its application handed it over.
    pub arrival: Instant,
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Application bytes; `None` for a flow that lasts as long as the run.
    pub size: Option<Bytes>,
    /// Index of its workload among those that send flows.
    pub workload: u16,
    /// Class of service (DSCP).
    pub class: u8,
    /// Which part of a query it is.
    pub leg: Option<Leg>,
    /// Its place in a list of flows that wait for one another.
    pub listed: Option<u32>,
    /// Counts of its sender, once it has a connection.
    pub sent: Option<Sent>,
    /// Counts of its receiver, from the first data on.
    pub received: Option<Received>,
}

/// A flow as its sender sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its connection's.
    pub address: Address,
    /// When every byte was acknowledged.
    pub acked_at: Option<Instant>,
    /// Expiries of its retransmission timer.
    pub timeouts: u32,
    /// Retransmitted segments.
    pub retransmits: u32,
    /// Longest time between acknowledgements of new data, from when it had the flow on (HCF's Fig. 4), where that is known.
    /// What waits at the end of the run counts up to there, here and of the receiver.
    pub longest_gap: Option<Duration>,
}

/// A flow as its receiver sees it. Final when the flow or the run ends.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// When its last byte came.
    pub at: Option<Instant>,
    /// Bytes that came in order.
    pub delivered: Bytes,
    /// Timeouts of its sender of which its data told: the others held nobody up here.
    pub timeouts_felt: u32,
    /// Longest time between arrivals of data, likewise (HCF's Fig. 7 to 9).
    pub longest_gap: Option<Duration>,
}

/// Where a flow's completion time ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Received,
    Acked,
}

impl FlowRecord {
    /// A flow as it arrives.
    pub fn of(flow: &Flow) -> Self {
        Self {
            arrival: flow.at,
            source: flow.source,
            destination: flow.destination,
            size: flow.size,
            workload: flow.workload,
            class: flow.class,
            leg: flow.leg,
            listed: flow.listed,
            sent: None,
            received: None,
        }
    }

    /// Joint knowledge of both ends. A sender alone reports only that its receiver has received nothing.
    pub fn joined(self, other: Self) -> Self {
        let (near, far) = if self.sent.is_some() { (self, other) } else { (other, self) };
        Self { received: far.received.or(near.received), ..near }
    }

    /// When the last byte reached the receiver.
    pub fn received_at(&self) -> Option<Instant> {
        self.received.and_then(|received| received.at)
    }

    /// When the sender had every acknowledgement.
    pub fn acked_at(&self) -> Option<Instant> {
        self.sent.and_then(|sent| sent.acked_at)
    }

    /// Bytes that reached the receiver in order.
    pub fn delivered(&self) -> Bytes {
        self.received.map_or(Bytes(0), |received| received.delivered)
    }

    /// Timeouts of its sender.
    pub fn timeouts(&self) -> u32 {
        self.sent.map_or(0, |sent| sent.timeouts)
    }

    /// Retransmitted segments.
    pub fn retransmits(&self) -> u32 {
        self.sent.map_or(0, |sent| sent.retransmits)
    }

    /// Completion time, if the flow is complete.
    pub fn completion_time(&self, end: End) -> Option<Duration> {
        let ended = match end {
            End::Received => self.received_at(),
            End::Acked => self.acked_at(),
        };
        ended.map(|at| at - self.arrival)
    }
}
