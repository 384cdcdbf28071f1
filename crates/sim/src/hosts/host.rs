//! A host: its NIC, its connections and its ports.

use std::collections::BTreeMap;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Address, Instant, Numbered, Rate};
use shallows_scenario::{FIRST_PORT, SERVICE_PORT};

use crate::hosts::connection::{NO_TWIN, ReceiverSide, SenderSide};
use crate::hosts::duplex::Duplex;
use crate::hosts::endpoint::{Endpoint, Sink};
use crate::hosts::gap::Gap;
use crate::hosts::names::Name;
use crate::hosts::nic::Nic;
use crate::hosts::nic::account::Account;
use crate::hosts::pool::Pool;
use crate::hosts::transports::Transport;

/// State of one host. Slots of closed connections are reused, beginning with the slot freed last, which is still in the cache.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) nic: Nic,
    line_rate: Rate,
    pub(crate) senders: Vec<SenderSide>,
    free_senders: Vec<u32>,
    pub(crate) receivers: Vec<ReceiverSide>,
    free_receivers: Vec<u32>,
    /// Slots of this host's receivers. The key consists of the sender's host and the sender's slot there.
    names: Numbered<Named>,
    /// Persistent connections of the host, by workload and receiver.
    pub(crate) pools: BTreeMap<(u16, HostId), Pool>,
    /// Next local port number for a new connection.
    next_port: u16,
    /// Destination port for new connections to the default service, by destination host. A host without an entry has the default port. Once
    /// every local port has a connection to this destination port, the port number increases by one.
    services: BTreeMap<HostId, u16>,
    /// Connections of the host that carry data both ways.
    pub(crate) duplex: Duplex,
}

/// Slot of a receiver, and generation of its connection. The generation is the number of earlier connections that used the same slot at
/// the sender.
#[derive(Clone, Copy, Debug, Default)]
struct Named {
    slot: u32,
    generation: u32,
}

/// Number of senders, and of receivers, for which a host reserves memory when it needs the first one. A vector by itself reserves memory for
/// four; hosts with many short flows need more.
const FIRST_SIDES: usize = 8;

#[inline]
fn key(sender: HostId, name: Name) -> u64 {
    u64::from(sender.0) << 32 | u64::from(name.slot)
}

/// Result of the search for the receiver of arriving data.
pub(crate) enum Found {
    /// The receiver in this slot.
    Slot(u32),
    /// The data belongs to a closed connection; the sender's host uses the slot of that connection for a newer connection.
    Stale,
    Nothing,
}

impl Host {
    /// Creates a host without connections; `line_rate` is the rate of its link.
    pub(crate) fn new(nic: Nic, line_rate: Rate) -> Self {
        Self {
            nic,
            line_rate,
            senders: Vec::new(),
            free_senders: Vec::new(),
            receivers: Vec::new(),
            free_receivers: Vec::new(),
            names: Numbered::default(),
            pools: BTreeMap::new(),
            next_port: FIRST_PORT,
            services: BTreeMap::new(),
            duplex: Duplex::default(),
        }
    }

    /// Returns the local and the remote port of a new connection to the service at port `service` of host `to`. Once all local ports are in
    /// use with the default service port, connections go to the next port number of host `to` instead.
    pub(crate) fn take_ports(&mut self, to: HostId, service: u16) -> (u16, u16) {
        loop {
            let there = match service {
                SERVICE_PORT => *self.services.get(&to).unwrap_or(&service),
                _ => service,
            };
            for _ in FIRST_PORT..=u16::MAX {
                let here = self.next_port;
                self.next_port = here.checked_add(1).unwrap_or(FIRST_PORT);
                if service != SERVICE_PORT || !self.duplex.has(to, (there, here)) {
                    return (here, there);
                }
            }
            self.services.insert(to, there.checked_add(1).unwrap_or(FIRST_PORT));
        }
    }

    /// Opens a connection from this host. `of` is the transport of the connection; `transport` is the number of this transport. Returns the
    /// slot of the sender.
    pub(crate) fn open(&mut self, of: &Transport, transport: u16, address: Address, persistent: bool) -> u32 {
        if let Some(slot) = self.free_senders.pop() {
            let side = &mut self.senders[slot as usize];
            // A timer of the previous connection may still be pending. `timer_at` keeps the time of that timer, so that no second event is
            // scheduled.
            side.endpoint = Endpoint::new(of, self.line_rate);
            side.address = address;
            (side.persistent, side.is_closed) = (persistent, false);
            (side.asks, side.twin) = (false, NO_TWIN);
            (side.place_in_pool, side.workload) = (0, 0);
            side.account = Account::default();
            side.transport = transport;
            return slot;
        }
        reserve_first(&mut self.senders);
        self.senders.push(SenderSide {
            endpoint: Endpoint::new(of, self.line_rate),
            address,
            generation: 0,
            flow: None,
            flow_start: 0,
            flow_end: 0,
            started: Instant::ZERO,
            timer_at: Instant::MAX,
            before: (0, 0),
            gap: Gap::default(),
            persistent,
            is_closed: false,
            asks: false,
            twin: NO_TWIN,
            place_in_pool: 0,
            workload: 0,
            traced: false,
            account: Account::default(),
            transport,
        });
        slot_of_last(&self.senders)
    }

    /// Closes a connection from this host. Acknowledgements still under way are then stale, because the generation of the slot changes.
    pub(crate) fn close(&mut self, slot: u32) {
        let side = &mut self.senders[slot as usize];
        side.generation += 1;
        side.is_closed = true;
        self.free_senders.push(slot);
    }

    /// Finds the receiver of a data packet.
    #[inline]
    pub(crate) fn find(&self, header: &Header, name: Name) -> Found {
        self.find_of(header.source(), name)
    }

    /// Finds the receiving side of the connection that the host `sender` has opened with this name.
    #[inline]
    pub(crate) fn find_of(&self, sender: HostId, name: Name) -> Found {
        match self.names.get(key(sender, name)) {
            Some(Named { slot, generation }) if generation == name.generation => Found::Slot(slot),
            Some(Named { generation, .. }) if generation > name.generation => Found::Stale,
            _ => Found::Nothing,
        }
    }

    /// Prefetches the table entry that [`Self::find`] will read.
    #[inline(always)]
    pub(crate) fn prefetch_name(&self, header: &Header, name: Name) {
        self.names.prefetch(key(header.source(), name));
    }

    /// Creates the receiver of a new connection to this host. `of` is the transport of the connection; `transport` is the number of this
    /// transport. Returns the receiver's slot.
    #[cold]
    pub(crate) fn admit(&mut self, of: &Transport, transport: u16, header: &Header, name: Name) -> u32 {
        let key = key(header.source(), name);
        if let Some(Named { slot, .. }) = self.names.get(key) {
            // This receiver belongs to the slot's previous connection, which the sender has closed.
            self.dismiss(slot);
        }
        let mut side = ReceiverSide {
            receiver: Sink::new(of, self.line_rate),
            address: Address::of_data(header),
            name,
            newest: None,
            flow: None,
            flow_start: 0,
            flow_end: 0,
            timeouts: 0,
            timer_at: Instant::MAX,
            gap: Gap::default(),
            is_done: false,
            twin: NO_TWIN,
            transport,
        };
        let slot = if let Some(slot) = self.free_receivers.pop() {
            let place = &mut self.receivers[slot as usize];
            // A timer of the previous connection may still be pending.
            side.timer_at = place.timer_at;
            *place = side;
            slot
        } else {
            reserve_first(&mut self.receivers);
            self.receivers.push(side);
            slot_of_last(&self.receivers)
        };
        self.names.insert(key, Named { slot, generation: name.generation });
        slot
    }

    /// Returns the receiving side of the previous connection in the sender's slot, if there is one. [`Self::admit`] removes this receiving
    /// side when it admits the connection with this name.
    pub(crate) fn predecessor(&self, header: &Header, name: Name) -> Option<&ReceiverSide> {
        let named = self.names.get(key(header.source(), name))?;
        Some(&self.receivers[named.slot as usize])
    }

    /// Returns the receiving sides of all connections that are not removed.
    pub(crate) fn receiving(&self) -> impl Iterator<Item = &ReceiverSide> {
        let is_named = |slot, side: &ReceiverSide| matches!(self.find_of(side.address.source, side.name), Found::Slot(found) if found == slot);
        let sides = (0..).zip(&self.receivers).filter(move |&(slot, side)| is_named(slot, side));
        sides.map(|(_, side)| side)
    }

    /// Links a sender and a receiver that are the two directions of a connection.
    pub(crate) fn join(&mut self, sender: u32, receiver: u32) {
        self.senders[sender as usize].twin = receiver;
        self.receivers[receiver as usize].twin = sender;
    }

    /// Unlinks the two directions of a connection.
    pub(crate) fn detach(&mut self, sender: u32) {
        let twin = std::mem::replace(&mut self.senders[sender as usize].twin, NO_TWIN);
        if let Some(receiver) = self.receivers.get_mut(twin as usize) {
            receiver.twin = NO_TWIN;
        }
    }

    /// Removes the receiver in `slot`.
    pub(crate) fn dismiss(&mut self, slot: u32) {
        let twin = self.receivers[slot as usize].twin;
        if twin != NO_TWIN {
            self.detach(twin);
        }
        let side = &mut self.receivers[slot as usize];
        // The receiver's timer may still be pending; its event must not remove the receiver again.
        side.is_done = false;
        self.names.remove(key(side.address.source, side.name));
        self.nic.on_close(slot);
        self.free_receivers.push(slot);
    }
}

/// Reserves memory for [`FIRST_SIDES`] sides, if this is the first time that memory is needed.
fn reserve_first<T>(sides: &mut Vec<T>) {
    if sides.capacity() == 0 {
        sides.reserve_exact(FIRST_SIDES);
    }
}

fn slot_of_last<T>(sides: &[T]) -> u32 {
    u32::try_from(sides.len() - 1).expect("fewer than 2^32 connections of a host")
}
