//! Choice of a flow's connection: a new connection, a connection of a pool, or the connection of the flow's request.

use shallows_core::Address;
use shallows_core::packet::HostId;
use shallows_scenario::{Connections as Policy, Flow, SERVICE_PORT, WhenBusy};

use crate::hosts::Hosts;
use crate::hosts::connection::Place;
use crate::hosts::pool::Pool;

impl Hosts {
    /// Returns the connection for a flow that arrives; `None` if the flow must wait for a connection.
    pub(super) fn connect(&mut self, flow: &Flow, number: u32) -> Option<Place> {
        if self.flows.is_answer(number) {
            return Some(self.answer(flow, self.flows.is_persistent(number)));
        }
        let shares = self.flows.is_request(number);
        let Policy::Persistent { per_pair, when_busy, .. } = self.flows.policy(flow.workload) else {
            let port = flow.port.unwrap_or(SERVICE_PORT);
            let place = self.open(flow.workload, flow.source, flow.destination, port, flow.class, false);
            if shares {
                self.share(place);
            }
            return Some(place);
        };
        let pool = self.pool(flow.workload, flow.source, flow.destination);
        let is_full = pool.size() >= per_pair as usize;
        if (is_full || pool.has_idle())
            && let Some(slot) = pool.take()
        {
            return Some(Place { host: flow.source, slot });
        }
        if is_full && when_busy == WhenBusy::Queue {
            return None;
        }
        // No other connection is idle, so the flow takes the one opened now.
        Some(self.open_in_pool(flow.workload, flow.source, flow.destination, flow.class, Pool::add_busy))
    }

    /// Opens a persistent connection between two hosts and adds it to the workload's pool as idle.
    pub(crate) fn open_persistent(
        &mut self,
        workload: u16,
        source: HostId,
        destination: HostId,
        class: u8,
    ) -> Place {
        self.open_in_pool(workload, source, destination, class, Pool::add)
    }

    /// Opens a persistent connection between two hosts. `add` adds the connection to the pool, and returns its place there.
    fn open_in_pool(
        &mut self,
        workload: u16,
        source: HostId,
        destination: HostId,
        class: u8,
        add: impl FnOnce(&mut Pool, u32) -> u32,
    ) -> Place {
        let place = self.open(workload, source, destination, SERVICE_PORT, class, true);
        let place_in_pool = add(self.pool(workload, source, destination), place.slot);
        self.host(source).senders[place.slot as usize].place_in_pool = place_in_pool;
        if self.flows.shares(workload) {
            self.share(place);
        }
        place
    }

    /// Returns the pool of a workload's connections between two hosts.
    fn pool(&mut self, workload: u16, source: HostId, destination: HostId) -> &mut Pool {
        let depth = match self.flows.policy(workload) {
            Policy::Persistent { queue_depth, .. } => queue_depth,
            Policy::New => unreachable!("only workloads with persistent connections have pools"),
        };
        let pools = &mut self.host(source).pools;
        pools.entry((workload, destination)).or_insert_with(|| Pool::new(depth))
    }

    fn open(
        &mut self,
        workload: u16,
        source: HostId,
        destination: HostId,
        service: u16,
        class: u8,
        persistent: bool,
    ) -> Place {
        let host = &mut self.hosts[self.places.at(source.0)];
        let [transport, _] = self.transports.between(workload, source, destination);
        let of = self.transports.at(transport);
        let (source_port, destination_port) = host.take_ports(destination, service);
        let address = Address { source, destination, source_port, destination_port, class };
        let slot = host.open(of, transport, address, persistent);
        host.senders[slot as usize].workload = workload;
        Place { host: source, slot }
    }
}
