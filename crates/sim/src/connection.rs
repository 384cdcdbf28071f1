//! Connections: a sender at one host, a receiver at another, and the flow they carry.
//!
//! The two sides are kept apart because they sit on different hosts and meet only through packets; they share
//! a slot number, which is what packets name.

use shallows_core::packet::{Ecn, Header, HostId, PacketKind};
use shallows_core::{Bytes, Instant};
use shallows_transport::{Config, Receiver, Sender};

use crate::gap::Gap;

/// The sending side.
#[derive(Debug)]
pub(crate) struct SenderSide {
    pub(crate) sender: Sender,
    pub(crate) address: Address,
    pub(crate) generation: u32,
    /// The flow being carried, by number of its record.
    pub(crate) flow: Option<u32>,
    /// Sequence number after the last byte of that flow.
    pub(crate) flow_end: u64,
    /// The earliest pending timer event; `Instant::MAX` for none.
    pub(crate) timer_at: Instant,
    /// Timeouts and retransmissions before that flow.
    pub(crate) before: (u32, u32),
    /// Between acknowledgements of new data.
    pub(crate) gap: Gap,
    /// Whether the connection outlives its flow.
    pub(crate) persistent: bool,
    /// Whether every change of the sender is recorded while its flow lasts.
    pub(crate) traced: bool,
    /// Bytes of data packets that wait in its host's card; counted where that holds connections back.
    pub(crate) queued: Bytes,
}

/// The receiving side.
#[derive(Debug)]
pub(crate) struct ReceiverSide {
    pub(crate) receiver: Receiver,
    pub(crate) generation: u32,
    /// Sequence numbers of the first byte of the flow and after its last, which the application knows from its framing.
    pub(crate) flow_start: u64,
    pub(crate) flow_end: u64,
    /// The flow being received; `None` once it is complete.
    pub(crate) flow: Option<u32>,
    pub(crate) timer_at: Instant,
    /// Between arrivals of data, in order or not.
    pub(crate) gap: Gap,
}

/// Who talks to whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) source: HostId,
    pub(crate) destination: HostId,
    pub(crate) source_port: u16,
    pub(crate) destination_port: u16,
    pub(crate) class: u8,
}

impl Address {
    /// The header of a packet to the receiver.
    #[inline]
    pub(crate) fn forward(&self, wire_size: u16, ecn: Ecn, kind: PacketKind) -> Header {
        Header::new(self.source, self.destination)
            .with_ports(self.source_port, self.destination_port)
            .with_size(wire_size)
            .with_ecn(ecn)
            .with_class(self.class)
            .with_kind(kind)
    }

    /// The header of an acknowledgement to the sender.
    #[inline]
    pub(crate) fn backward(&self, wire_size: u16, ecn: Ecn) -> Header {
        Header::new(self.destination, self.source)
            .with_ports(self.destination_port, self.source_port)
            .with_size(wire_size)
            .with_ecn(ecn)
            .with_class(self.class)
            .with_kind(PacketKind::PureAck)
    }
}

/// All connections that are open, in slots that are used again.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    pub(crate) senders: Vec<SenderSide>,
    pub(crate) receivers: Vec<ReceiverSide>,
    free: Vec<u32>,
}

impl Connections {
    /// Open a connection; returns its slot.
    pub(crate) fn open(&mut self, config: &Config, address: Address, persistent: bool) -> u32 {
        if let Some(slot) = self.free.pop() {
            let side = &mut self.senders[slot as usize];
            // A timer of the predecessor may still be pending: `timer_at` stays, so that it is used, not doubled.
            side.sender = Sender::new(config);
            side.address = address;
            side.persistent = persistent;
            side.queued = Bytes(0);
            let generation = side.generation;
            let side = &mut self.receivers[slot as usize];
            side.receiver = Receiver::new(config);
            side.generation = generation;
            return slot;
        }
        self.senders.push(SenderSide {
            sender: Sender::new(config),
            address,
            generation: 0,
            flow: None,
            flow_end: 0,
            timer_at: Instant::MAX,
            before: (0, 0),
            gap: Gap::default(),
            persistent,
            traced: false,
            queued: Bytes(0),
        });
        self.receivers.push(ReceiverSide {
            receiver: Receiver::new(config),
            generation: 0,
            flow_start: 0,
            flow_end: 0,
            flow: None,
            timer_at: Instant::MAX,
            gap: Gap::default(),
        });
        u32::try_from(self.senders.len() - 1).expect("fewer than 2^32 connections")
    }

    /// Close a connection: packets of it that are still under way will find its slot changed.
    pub(crate) fn close(&mut self, slot: u32) {
        self.senders[slot as usize].generation += 1;
        self.receivers[slot as usize].generation += 1;
        self.free.push(slot);
    }
}
