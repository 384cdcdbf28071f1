//! Connections: a sender at one host, a receiver at another, and the flow that each of them knows of. One that carries data both
//! ways is two of them, between the same ports, whose sides at one host are twins: what one sends carries what the other has to
//! acknowledge.
//!
//! The two sides meet only through packets. A connection is opened by its sender; its receiver is there from the first
//! packet that reaches it until it has acknowledged what there is to receive.

use shallows_core::packet::HostId;
use shallows_core::{Address, Instant};
use shallows_transport::Receiver;

use crate::hosts::endpoint::Endpoint;
use crate::hosts::gap::Gap;
use crate::hosts::names::{FlowNumber, Name};
use crate::hosts::nic::account::Account;

/// Where one side of a connection is: a host, and a slot among its senders, or among its receivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) host: HostId,
    pub(crate) slot: u32,
}

const SLOT_BITS: u32 = 32;

impl Place {
    /// As an index of an event.
    #[inline]
    pub(crate) fn index(self) -> u64 {
        u64::from(self.host.0) << SLOT_BITS | u64::from(self.slot)
    }

    #[inline]
    pub(crate) fn from_index(index: u64) -> Self {
        Self { host: HostId((index >> SLOT_BITS) as u32), slot: index as u32 }
    }
}

/// No side has this slot.
pub(crate) const NO_TWIN: u32 = u32::MAX;

/// The sending side.
#[derive(Debug)]
pub(crate) struct SenderSide {
    pub(crate) endpoint: Endpoint,
    pub(crate) address: Address,
    pub(crate) generation: u32,
    /// The flow being carried, by number of its record.
    pub(crate) flow: Option<u32>,
    /// Sequence numbers of the first byte of that flow and after its last.
    pub(crate) flow_start: u64,
    pub(crate) flow_end: u64,
    /// When that flow was handed over.
    pub(crate) started: Instant,
    /// The earliest pending timer event; `Instant::MAX` for none.
    pub(crate) timer_at: Instant,
    /// Timeouts and retransmissions before that flow.
    pub(crate) before: (u32, u32),
    /// Between acknowledgements of new data.
    pub(crate) gap: Gap,
    /// Whether the connection outlives its flow.
    pub(crate) persistent: bool,
    /// Whether it is over, though its FIN may not be acknowledged: nothing is sent any more.
    pub(crate) is_closed: bool,
    /// Whether its request is not answered yet, on the same connection.
    pub(crate) asks: bool,
    /// The receiver of the other direction of its connection, at the same host; [`NO_TWIN`] for none.
    pub(crate) twin: u32,
    /// Where it is among the persistent connections of its workload and pair, if it is one of those.
    pub(crate) place_in_pool: u32,
    /// That workload.
    pub(crate) workload_of_pool: u16,
    /// Whether every change of the sender is recorded while its flow lasts.
    pub(crate) traced: bool,
    /// Account of its NIC.
    pub(crate) account: Account,
    /// How it behaves, by number of its transport.
    pub(crate) transport: u16,
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct ReceiverSide {
    pub(crate) receiver: Receiver,
    pub(crate) address: Address,
    pub(crate) name: Name,
    /// The newest flow that data has told of.
    pub(crate) newest: Option<FlowNumber>,
    /// That flow as long as it is not complete.
    pub(crate) flow: Option<u32>,
    /// Sequence numbers of the first byte of the newest flow and after its last, which the application knows from its framing.
    pub(crate) flow_start: u64,
    pub(crate) flow_end: u64,
    /// Timeouts of the sender during that flow, of which data has told.
    pub(crate) timeouts: u32,
    pub(crate) timer_at: Instant,
    /// Between arrivals of data, in order or not.
    pub(crate) gap: Gap,
    /// Nothing more will come: it closes once it has acknowledged everything.
    pub(crate) is_done: bool,
    /// The sender of the other direction of its connection, at the same host; [`NO_TWIN`] for none.
    pub(crate) twin: u32,
    pub(crate) transport: u16,
}
