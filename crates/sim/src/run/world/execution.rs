//! Advances a world in time, event by event or window by window.

use shallows_core::Instant;
use shallows_core::event::{self, EventQueue};

use crate::network::event::Event;
use crate::run::world::World;

/// Number of packets between prefetching a connection and using it. Processing these packets takes about as long as a memory access.
const AHEAD: usize = 4;

/// Number of packets between prefetching the table entry of a connection and using the connection.
const AHEAD_OF_NAME: usize = 2 * AHEAD;

impl World {
    /// Runs until the time `until`, until the run is finished, or until `budget` events have fired. A window may exceed the budget. Returns
    /// whether the call ended because of the budget.
    pub(crate) fn run(&mut self, queue: &mut EventQueue<Event>, until: Instant, budget: u64) -> bool {
        let enough = self.events(queue).saturating_add(budget);
        loop {
            self.choose(queue);
            let next = enough.min(self.pace.next());
            let budget_ended = if self.outside.network.goes_by_window() {
                self.run_windows(queue, until, next)
            } else {
                event::run(self, queue, until, next.saturating_sub(self.events(queue)))
            };
            if !budget_ended {
                return false;
            }
            if self.events(queue) >= enough {
                return true;
            }
        }
    }

    /// Runs windows until the time `until`, until the run is finished, or until the total number of events is at least `enough`. Returns
    /// whether the call ended because of `enough`.
    fn run_windows(&mut self, queue: &mut EventQueue<Event>, until: Instant, enough: u64) -> bool {
        while self.events(queue) < enough {
            let first = self.not_before(queue);
            if first > until {
                return false;
            }
            let end = self.outside.network.open_window(first).min(until);
            // Hosts run first: packets that leave a switch in this window reach neither a host nor another switch in the same window.
            self.run_hosts(queue, end);
            if self.outside.finished {
                return false;
            }
            self.visit_switches(end, queue);
        }
        true
    }

    /// Runs the hosts up to the time `end` in the open window, or until the run is finished. Arriving packets are not events, but are
    /// processed in the same order as if they were.
    fn run_hosts(&mut self, queue: &mut EventQueue<Event>, end: Instant) {
        let mut order = std::mem::take(&mut self.order);
        let packets = self.outside.network.take_for_hosts(end, &mut order);
        let mut read = 0;
        // Packets whose hosts and connections are prefetched.
        let ahead = if self.hosts.stay_in_cache() { &[][..] } else { &order[..] };
        for &place in ahead {
            let packet = &packets[place];
            self.hosts.prefetch_host(packet.header.destination);
            self.outside.network.prefetch_nic(packet.header.destination);
            self.outside.ends.packets.prefetch(packet.payload);
        }
        for (number, &place) in order.iter().enumerate() {
            if let Some(&later) = ahead.get(number + AHEAD_OF_NAME) {
                let packet = &packets[later];
                self.hosts.prefetch_name(&packet.header, packet.payload, &self.outside.ends.packets);
            }
            if let Some(&later) = ahead.get(number + AHEAD) {
                let packet = &packets[later];
                self.hosts.prefetch_connection(&packet.header, packet.payload, &self.outside.ends.packets);
            }
            let packet = &packets[place];
            event::run_before(self, queue, packet.at, self.outside.network.arrival_of(packet));
            if self.outside.finished {
                break;
            }
            queue.move_to(packet.at);
            read += 1;
            let (hosts, mut driver) = self.hosts(queue);
            hosts.receive(packet.header, packet.payload, &mut driver);
            if self.outside.finished {
                break;
            }
        }
        self.outside.network.give_back(packets, order.len(), &order[read..]);
        self.order = order;
        if !self.outside.finished {
            event::run(self, queue, end, u64::MAX);
        }
    }

    /// Chooses whether switches run event by event or window by window, if the next check is due (`Pace::next`).
    fn choose(&mut self, queue: &mut EventQueue<Event>) {
        let events = self.events(queue);
        if events < self.pace.next() {
            return;
        }
        let (now, visits, window) =
            (queue.now(), self.outside.network.visits(), self.outside.network.window());
        if self.outside.network.goes_by_window() {
            if self.pace.leaves_windows(events, visits) {
                let (network, mut around) = self.driving(queue);
                network.run_by_events(&mut around);
            }
        } else if self.pace.tries_windows(events, now, window) {
            let (network, mut around) = self.driving(queue);
            network.run_by_window(now, &mut around);
        }
        self.pace.note(events, visits, now);
    }

    /// Returns a lower bound on the time of the next event in this world.
    pub(crate) fn not_before(&self, queue: &EventQueue<Event>) -> Instant {
        queue.not_before().min(self.outside.network.not_before())
    }

    /// Returns the time of the next event. If switches run window by window, returns a lower bound on this time.
    pub(crate) fn next_at(&self, queue: &mut EventQueue<Event>) -> Instant {
        queue.next_at().unwrap_or(Instant::MAX).min(self.outside.network.not_before())
    }

    /// Returns the number of fired events, including arrivals and departures at nodes that run window by window.
    pub(crate) fn events(&self, queue: &EventQueue<Event>) -> u64 {
        queue.handled() + self.outside.network.events()
    }

    /// Returns the time of the last event.
    pub(crate) fn last(&self, queue: &EventQueue<Event>) -> Instant {
        queue.now().max(self.outside.network.last())
    }

    /// Advances switches up to the time `until` if they run window by window.
    pub(super) fn visit_switches(&mut self, until: Instant, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        network.visit_switches(until, &mut around);
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Duration;
    use shallows_measure::Captures;

    use super::*;
    use crate::network::site::Site;
    use crate::network::testing::star;
    use crate::run::simulation::nowhere;
    use crate::run::world::pace::Execution;

    #[test]
    fn a_world_in_whose_windows_little_happens_returns_to_events() {
        // With one segment per round trip, a window has about one event. The 5,000 segments cause more than the 16,384 events of a period
        // of `Pace`.
        let experiment = star(
            "[tcp]\ninitial_window = 1\nmax_window = 1\n[[workload]]\nkind = 'incast'\nsenders = '1'\nreceivers = 0\nsize = '7MB'\n",
        );
        let site = Site::all(&experiment, None).remove(0);
        let captures = Captures::simulated(&experiment, nowhere).expect("nowhere takes everything");
        let mut world = World::new(&experiment, None, site, &captures, Execution::Adaptive);
        let mut queue = EventQueue::new(Duration::from_micros(10));
        world.start(&experiment, &mut queue);
        let (network, mut around) = world.driving(&mut queue);
        network.run_by_window(Instant::ZERO, &mut around);
        assert!(world.outside.network.goes_by_window());
        world.run(&mut queue, Instant(u64::MAX - 1), u64::MAX);
        assert!(world.outside.finished);
        assert!(!world.outside.network.goes_by_window());
    }
}
