//! Connections that carry data both ways, at one host.

use std::collections::BTreeMap;

use shallows_core::Address;
use shallows_core::packet::{Header, HostId};
use shallows_scenario::Leg;

/// Such connections of one host.
#[derive(Debug, Default)]
pub(crate) struct Duplex {
    /// Slots of their senders, by the other host and the ports of both sides, the other one's first, as packets that arrive have
    /// them.
    senders: BTreeMap<(HostId, (u16, u16)), u32>,
    /// Slots of receivers that have a request whose answer is to come, by workload and request.
    asked: BTreeMap<(u16, Request), u32>,
}

/// Query, member and iteration.
type Request = (u32, u32, u16);

fn request(leg: Leg) -> Request {
    (leg.query, leg.member, leg.iteration)
}

fn key(address: &Address) -> (HostId, (u16, u16)) {
    (address.destination, (address.destination_port, address.source_port))
}

impl Duplex {
    /// Gives packets from the far end of this connection to the sender in `slot`, too.
    pub(crate) fn open(&mut self, address: &Address, slot: u32) {
        let other = self.senders.insert(key(address), slot);
        debug_assert!(other.is_none(), "one connection between two ports");
    }

    pub(crate) fn close(&mut self, address: &Address) {
        self.senders.remove(&key(address));
    }

    /// Whether there is one between these ports.
    pub(crate) fn has(&self, other: HostId, ports: (u16, u16)) -> bool {
        self.senders.contains_key(&(other, ports))
    }

    /// The sender on the connection of data that arrives.
    pub(crate) fn sender(&self, header: &Header) -> Option<u32> {
        self.senders.get(&(header.source, header.ports())).copied()
    }

    /// A request has come to the receiver in this slot.
    pub(crate) fn ask(&mut self, workload: u16, leg: Leg, receiver: u32) {
        self.asked.insert((workload, request(leg)), receiver);
    }

    /// The receiver that has the request of this answer.
    pub(crate) fn answer(&mut self, workload: u16, leg: Leg) -> u32 {
        self.asked.remove(&(workload, request(leg))).expect("an answer follows its request")
    }
}
