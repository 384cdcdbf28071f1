//! Connections of one host that carry data both ways.

use std::collections::BTreeMap;

use shallows_core::Address;
use shallows_core::packet::{Header, HostId};
use shallows_scenario::Leg;

/// Connections of one host that carry data both ways.
#[derive(Debug, Default)]
pub(crate) struct Duplex {
    /// Slots of this host's senders. The key consists of the other host, its port and this host's port.
    senders: BTreeMap<(HostId, (u16, u16)), u32>,
    /// Slots of receivers with an unanswered request, by workload and request.
    asked: BTreeMap<(u16, Request), u32>,
}

/// Request, identified by its query, its host among the members of the query, and its iteration.
type Request = (u32, u32, u16);

fn request(leg: Leg) -> Request {
    (leg.query, leg.member, leg.iteration)
}

fn key(address: &Address) -> (HostId, (u16, u16)) {
    (address.destination, (address.destination_port, address.source_port))
}

impl Duplex {
    /// Registers the sender in `slot` for packets from the far end of its connection.
    pub(crate) fn open(&mut self, address: &Address, slot: u32) {
        let other = self.senders.insert(key(address), slot);
        debug_assert!(other.is_none(), "one connection between two ports");
    }

    pub(crate) fn close(&mut self, address: &Address) {
        self.senders.remove(&key(address));
    }

    /// Returns whether this host has a connection with data both ways to host `other`. `ports` are the other host's port and this host's
    /// port.
    pub(crate) fn has(&self, other: HostId, ports: (u16, u16)) -> bool {
        self.senders.contains_key(&(other, ports))
    }

    /// Returns the slot of this host's own sender on the connection to which arriving data with this header belongs; `None` without such a
    /// sender.
    pub(crate) fn sender(&self, header: &Header) -> Option<u32> {
        self.senders.get(&(header.source(), header.ports())).copied()
    }

    /// Records that a request has arrived at the receiver in slot `receiver`.
    pub(crate) fn ask(&mut self, workload: u16, leg: Leg, receiver: u32) {
        self.asked.insert((workload, request(leg)), receiver);
    }

    /// Removes the request that this answer belongs to, and returns the slot of the receiver at which the request arrived.
    pub(crate) fn answer(&mut self, workload: u16, leg: Leg) -> u32 {
        self.asked.remove(&(workload, request(leg))).expect("an answer follows its request")
    }
}
