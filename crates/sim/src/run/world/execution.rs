//! Takes a world through time: by events, or switches by window.

use shallows_core::Instant;
use shallows_core::event::{self, EventQueue};

use crate::network::event::Event;
use crate::run::world::World;

/// Packets that reach hosts before one whose connection the processor begins to load: as long as memory takes to answer.
const AHEAD: usize = 4;

/// Packets that reach hosts before one whose entry in the table of connections the processor begins to load.
const AHEAD_OF_NAME: usize = 2 * AHEAD;

impl World {
    /// Run until `until`, until the run is finished, or until `budget` events have fired, and some more. Returns whether the budget
    /// ended it.
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

    /// Run windows until `until`, until the run is finished, or until `enough` events have fired in all. Returns whether there were
    /// enough.
    fn run_windows(&mut self, queue: &mut EventQueue<Event>, until: Instant, enough: u64) -> bool {
        while self.events(queue) < enough {
            let first = self.not_before(queue);
            if first > until {
                return false;
            }
            let end = self.outside.network.open_window(first).min(until);
            // Hosts live through the window first. Nothing reaches them or another switch in it that leaves a switch now.
            self.run_hosts(queue, end);
            if self.outside.finished {
                return false;
            }
            self.visit_switches(end, queue);
        }
        true
    }

    /// Let hosts live through the open window until `end`, or until the run is finished: packets that arrive and events, in the order in
    /// which all of them would fire.
    fn run_hosts(&mut self, queue: &mut EventQueue<Event>, end: Instant) {
        let mut order = std::mem::take(&mut self.order);
        let packets = self.outside.network.take_for_hosts(end, &mut order);
        let mut read = 0;
        for &place in &order {
            let packet = &packets[place];
            self.hosts.prefetch_host(packet.header.destination);
            self.outside.ends.packets.prefetch(packet.payload);
        }
        for (number, &place) in order.iter().enumerate() {
            if let Some(&later) = order.get(number + AHEAD_OF_NAME) {
                let packet = &packets[later];
                self.hosts.prefetch_name(&packet.header, packet.payload, &self.outside.ends.packets);
            }
            if let Some(&later) = order.get(number + AHEAD) {
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

    /// From time to time see how switches go on.
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

    /// A time before which nothing happens here.
    pub(crate) fn not_before(&self, queue: &EventQueue<Event>) -> Instant {
        queue.not_before().min(self.outside.network.not_before())
    }

    /// When the next event fires, or a time before which nothing happens at switches that run by window.
    pub(crate) fn next_at(&self, queue: &mut EventQueue<Event>) -> Instant {
        queue.next_at().unwrap_or(Instant::MAX).min(self.outside.network.not_before())
    }

    /// How many events have fired here, those of switches that run by window too.
    pub(crate) fn events(&self, queue: &EventQueue<Event>) -> u64 {
        queue.handled() + self.outside.network.events()
    }

    /// When something last happened here.
    pub(crate) fn last(&self, queue: &EventQueue<Event>) -> Instant {
        queue.now().max(self.outside.network.last())
    }

    /// What happens at switches that run by window has happened until `until`.
    pub(super) fn visit_switches(&mut self, until: Instant, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        network.visit_switches(until, &mut around);
    }
}
