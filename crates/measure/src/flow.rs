//! Record of a flow: the counts of its sender and its receiver up to the end of the run.

use shallows_core::packet::HostId;
use shallows_core::{Address, Bytes, Duration, Instant};
use shallows_scenario::{Flow, Leg};

/// Record of a flow that has arrived.
#[derive(Clone, Copy, Debug)]
pub struct FlowRecord {
    /// Time at which the application passed the flow to the transport.
    pub arrival: Instant,
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Application bytes; `None` for a flow that lasts as long as the run.
    pub size: Option<Bytes>,
    /// Index of the flow's workload among the workloads that send flows.
    pub workload: u16,
    /// Class of service (DSCP).
    pub class: u8,
    /// Role of the flow in its query; `None` for a flow outside queries.
    pub leg: Option<Leg>,
    /// Index of the flow in its workload's list of flows with dependencies; `None` for flows of other workloads.
    pub listed: Option<u32>,
    /// Counts at the flow's sender; `None` until the flow has a connection.
    pub sent: Option<Sent>,
    /// Counts at the flow's receiver, set when the flow is complete or the run ends; `None` if the flow never had a connection.
    pub received: Option<Received>,
}

/// Counts of a flow at its sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Address of the flow's connection.
    pub address: Address,
    /// Time at which the queue pair of the flow passed the flow's first packet to its NIC; `None` before that time, and for TCP.
    pub first_sent: Option<Instant>,
    /// Time at which every byte was acknowledged; `None` if some bytes are unacknowledged.
    pub acked_at: Option<Instant>,
    /// Number of times that the retransmission timer expired.
    pub timeouts: u32,
    /// Number of retransmitted segments.
    pub retransmits: u32,
    /// Longest gap between two acknowledgements of new data (HCF's Fig. 4); `None` if unknown. The first gap begins when the transport gets
    /// the flow; the last gap may end with the run.
    pub longest_gap: Option<Duration>,
}

/// Counts of a flow at its receiver, when the flow is complete or the run ends.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Arrival time of the last byte; `None` if the flow is unfinished.
    pub at: Option<Instant>,
    /// Bytes that arrived in order.
    pub delivered: Bytes,
    /// Number of the flow's timeouts before the sender sent the newest data that reached the receiver. Later timeouts did not delay the
    /// receiver.
    pub timeouts_felt: u32,
    /// Longest gap between two arrivals of data (HCF's Fig. 7 to 9). The first gap begins when the transport gets the flow; the last gap
    /// may end with the run.
    pub longest_gap: Option<Duration>,
}

/// Event that completes a flow: the receiver has every byte, or the sender has every acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Received,
    Acked,
}

impl Sent {
    /// Creates the sender's counts for a flow that begins on the connection with this address.
    pub fn on(address: Address) -> Self {
        Self { address, first_sent: None, acked_at: None, timeouts: 0, retransmits: 0, longest_gap: None }
    }
}

impl FlowRecord {
    /// Creates the record of a flow that arrives.
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

    /// Merges the sender's and the receiver's record of a flow. Takes the receiver's counts from the receiver's record, or from the
    /// sender's record if the receiver's record has none.
    pub fn joined(self, other: Self) -> Self {
        let (near, far) = if self.sent.is_some() { (self, other) } else { (other, self) };
        Self { received: far.received.or(near.received), ..near }
    }

    /// Returns the time at which the last byte reached the receiver.
    pub fn received_at(&self) -> Option<Instant> {
        self.received.and_then(|received| received.at)
    }

    /// Returns the time at which the sender received the acknowledgement of the last byte.
    pub fn acked_at(&self) -> Option<Instant> {
        self.sent.and_then(|sent| sent.acked_at)
    }

    /// Returns the time for which the flow waited until its queue pair passed the flow's first packet to the NIC; `None` for TCP.
    pub fn queued(&self) -> Option<Duration> {
        let first_sent = self.sent.and_then(|sent| sent.first_sent);
        first_sent.map(|at| at - self.arrival)
    }

    /// Returns the bytes that reached the receiver in order.
    pub fn delivered(&self) -> Bytes {
        self.received.map_or(Bytes(0), |received| received.delivered)
    }

    /// Returns the number of timeouts of the sender.
    pub fn timeouts(&self) -> u32 {
        self.sent.map_or(0, |sent| sent.timeouts)
    }

    /// Returns the number of retransmitted segments.
    pub fn retransmits(&self) -> u32 {
        self.sent.map_or(0, |sent| sent.retransmits)
    }

    /// Returns the completion time, if the flow is complete.
    pub fn completion_time(&self, end: End) -> Option<Duration> {
        let ended = match end {
            End::Received => self.received_at(),
            End::Acked => self.acked_at(),
        };
        ended.map(|at| at - self.arrival)
    }
}
