//! Choice of a flow's connection: a new connection, a connection of a pool, or the connection of the flow's request.

use shallows_core::Address;
use shallows_core::packet::HostId;
use shallows_scenario::{Connections as Policy, Flow, SERVICE_PORT, WhenBusy};

use crate::hosts::Hosts;
use crate::hosts::connection::Place;
use crate::hosts::pool::Pool;

impl Hosts {
    /// Returns the connection for a flow that arrives; `None` if the flow must wait for an idle connection.
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
        let pool = self.host(flow.source).pools.entry((flow.workload, flow.destination)).or_default();
        if let Some(slot) = pool.take() {
            return Some(Place { host: flow.source, slot });
        }
        if pool.size() >= per_pair as usize && when_busy == WhenBusy::Queue {
            return None;
        }
        let place = self.open_persistent(flow.workload, flow.source, flow.destination, flow.class);
        // No other connection is idle, so the flow takes the one just opened.
        let pool = self.host(flow.source).pools.get_mut(&(flow.workload, flow.destination));
        let taken = pool.and_then(Pool::take);
        debug_assert_eq!(taken, Some(place.slot));
        Some(place)
    }

    /// Opens a persistent connection between two hosts and adds it to the workload's pool as idle.
    pub(crate) fn open_persistent(
        &mut self,
        workload: u16,
        source: HostId,
        destination: HostId,
        class: u8,
    ) -> Place {
        let place = self.open(workload, source, destination, SERVICE_PORT, class, true);
        let host = self.host(source);
        let side = &mut host.senders[place.slot as usize];
        side.workload_of_pool = workload;
        side.place_in_pool = host.pools.entry((workload, destination)).or_default().add(place.slot);
        if self.flows.shares(workload) {
            self.share(place);
        }
        place
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
        Place { host: source, slot: host.open(of, transport, address, persistent) }
    }
}
