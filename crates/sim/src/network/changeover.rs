//! Changes of a network between execution event by event and execution in time windows ([`crate::network::visit`]).

use shallows_core::Instant;

use crate::network::calendar::Arriving;
use crate::network::group::{Busy, Group};
use crate::network::link::Flying;
use crate::network::visit::wait;
use crate::network::{Driver, LinkAt, Network};

impl<T: Copy + Default> Network<T> {
    /// Starts to run the network's switches in time windows instead of event by event. All events before `now` must have fired.
    pub(crate) fn run_by_window(&mut self, now: Instant, driver: &mut impl Driver<T>) {
        debug_assert!(!self.by_window && self.groups.iter().all(Group::is_empty));
        self.by_window = true;
        self.visited = Instant(now.0.saturating_sub(1));
        self.calendar.open(now);
        for place in 0..self.wires.len() as u32 {
            let wire = &mut self.wires[place as usize];
            let Some(first) = wire.first(&self.in_flight) else { continue };
            driver.cancel_deliver(first.arrival, LinkAt { place, rank: wire.rank });
            while wire.first(&self.in_flight).is_some() {
                let (Flying { arrival: at, header, payload, .. }, _) = wire.land(&mut self.in_flight);
                self.calendar.place(wire.bucket, Arriving { at, header, payload, wire: place });
            }
        }
        let groups = self.groups_by_window();
        for (place, (link, &group)) in self.links.iter_mut().zip(&self.group_of).enumerate() {
            if group < groups && std::mem::take(&mut link.waking) {
                let place = place as u32;
                driver.cancel_transmit(link.port.busy_until(), LinkAt { place, rank: link.rank });
                wait(link, place, &mut self.groups[group as usize]);
            }
        }
        for group in 0..groups {
            // No packet is due yet. This call only computes the next departure.
            self.finish(group, self.visited, driver);
        }
    }

    /// Starts to run the network's switches event by event instead of in time windows. Must be called at the end of a window.
    pub(crate) fn run_by_events(&mut self, driver: &mut impl Driver<T>) {
        debug_assert!(self.by_window);
        self.by_window = false;
        for Arriving { at, header, payload, wire } in self.calendar.take_all() {
            self.fly(wire, at, header, payload, driver);
        }
        self.busy.fill_with(Busy::default);
        for own in &mut self.groups {
            // `run_by_window` computes `next` anew.
            own.listed = false;
            own.departures.clear();
            own.ports.clear();
        }
        let groups = self.groups_by_window();
        for (place, (link, &group)) in self.links.iter_mut().zip(&self.group_of).enumerate() {
            if group < groups
                && std::mem::take(&mut link.waking)
                && let Some(at) = link.schedule()
            {
                driver.transmit_at(at, LinkAt { place: place as u32, rank: link.rank });
            }
        }
    }

    /// Sets whether NICs also send without events while switches run in time windows. `do_so` must be false if any host reacts to
    /// departures.
    pub(crate) fn run_nics_by_window(&mut self, do_so: bool) {
        debug_assert!(!self.by_window);
        self.nics_by_window = do_so;
    }
}
