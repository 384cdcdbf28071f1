//! Connections: a sender at one host and a receiver at another, each with its current flow. A connection with data both ways consists of
//! two such connections between the same ports. The sender and the receiver at the same host are twins: segments of the sender carry the
//! acknowledgements of the receiver.
//!
//! The two sides communicate only through packets. The sender opens a connection. The receiver is created when the first packet arrives,
//! and removed after it has acknowledged all data.

use shallows_core::packet::HostId;
use shallows_core::{Address, Instant};

use crate::hosts::endpoint::{Endpoint, Repairs, Sink};
use crate::hosts::gap::Gap;
use crate::hosts::names::{FlowNumber, Name};
use crate::hosts::nic::account::Account;
use crate::hosts::packet::{FlowFraming, Framing};

/// Place of one side of a connection: a host, and a slot among its senders or receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) host: HostId,
    pub(crate) slot: u32,
}

const SLOT_BITS: u32 = 32;

impl Place {
    /// Packs the host and the slot into the index of an event.
    #[inline]
    pub(crate) fn index(self) -> u64 {
        u64::from(self.host.0) << SLOT_BITS | u64::from(self.slot)
    }

    #[inline]
    pub(crate) fn from_index(index: u64) -> Self {
        Self { host: HostId((index >> SLOT_BITS) as u32), slot: index as u32 }
    }
}

/// Value of `twin` in a sender or receiver without a twin.
pub(crate) const NO_TWIN: u32 = u32::MAX;

/// Sending side of a connection.
#[derive(Debug)]
pub(crate) struct SenderSide {
    pub(crate) endpoint: Endpoint,
    pub(crate) address: Address,
    pub(crate) generation: u32,
    /// Number of the current flow; `None` if the sender has no flow. On a queue pair, the current flow is the oldest message that is not
    /// complete.
    pub(crate) flow: Option<u32>,
    /// Sequence number of the first byte of the current flow; `flow_end` is the sequence number after the last byte.
    pub(crate) flow_start: u64,
    pub(crate) flow_end: u64,
    /// Time at which the current flow was passed to the connection.
    pub(crate) started: Instant,
    /// Time of the earliest pending timer event; `Instant::MAX` for none.
    pub(crate) timer_at: Instant,
    /// Number of timeouts before the current flow became current, and number of retransmissions of data outside the current flow.
    /// [`Self::repairs`] subtracts both numbers from the sender's totals.
    pub(crate) before: (u32, u32),
    /// Longest time without an acknowledgement of new data since the start of the current flow.
    pub(crate) gap: Gap,
    /// Whether the connection outlives its flow.
    pub(crate) persistent: bool,
    /// Whether the connection is closed and sends nothing more, although its FIN may be unacknowledged.
    pub(crate) is_closed: bool,
    /// Whether the sender waits for an answer on its connection.
    pub(crate) asks: bool,
    /// Receiver of the data in the opposite direction, at the same host; [`NO_TWIN`] for none.
    pub(crate) twin: u32,
    /// Place of a persistent connection in its pool.
    pub(crate) place_in_pool: u32,
    /// Workload for which the connection was opened; 0 for the direction of answers.
    pub(crate) workload: u16,
    /// Whether every change of the sender is recorded during the current flow.
    pub(crate) traced: bool,
    /// The NIC's account of the sender: the sender's bytes in the NIC's queue, and the progress of its burst.
    pub(crate) account: Account,
    /// Number of the sender's transport.
    pub(crate) transport: u16,
}

impl SenderSide {
    /// Returns the framing of data that the sender sends now. `timeouts` is the number of the sender's timeouts so far.
    #[inline(always)]
    pub(crate) fn framing(&self, timeouts: u32) -> Framing {
        match self.flow {
            Some(flow) => Framing::Flow(FlowFraming {
                flow: FlowNumber::new(flow),
                timeouts: timeouts - self.before.0,
                start: self.flow_start,
                started: self.started,
            }),
            None => Framing::BeforeFlows { workload: self.workload },
        }
    }

    /// Returns the numbers of timeouts and retransmissions of the current flow.
    pub(crate) fn repairs(&self) -> Repairs {
        let Repairs { timeouts, retransmits } = self.endpoint.repairs();
        Repairs { timeouts: timeouts - self.before.0, retransmits: retransmits - self.before.1 }
    }
}

/// Receiving side of a connection.
#[derive(Debug)]
pub(crate) struct ReceiverSide {
    pub(crate) receiver: Sink,
    pub(crate) address: Address,
    pub(crate) name: Name,
    /// Newest flow from which data has arrived.
    pub(crate) newest: Option<FlowNumber>,
    /// Number of the newest flow; `None` once the flow is complete.
    pub(crate) flow: Option<u32>,
    /// Sequence number of the newest flow's first byte, from the framing of its data; `flow_end` is the sequence number after the last
    /// byte.
    pub(crate) flow_start: u64,
    pub(crate) flow_end: u64,
    /// Number of the sender's timeouts during the newest flow: the largest number in the framing of its data that has arrived so far.
    pub(crate) timeouts: u32,
    pub(crate) timer_at: Instant,
    /// Longest time without an arrival of data from the newest flow, since the flow started at its sender. Data that arrives out of order
    /// also counts as an arrival.
    pub(crate) gap: Gap,
    /// Whether no more data will arrive; the receiver is then removed after its last acknowledgement.
    pub(crate) is_done: bool,
    /// Sender of the other direction at the same host; [`NO_TWIN`] for none.
    pub(crate) twin: u32,
    pub(crate) transport: u16,
}
