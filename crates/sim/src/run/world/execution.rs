//! How events reach switches: one by one, or by window.
//!
//! Where much happens in a window it costs less to let each switch live through it in turn ([`crate::network::visit`]); where little
//! does, events cost less. The results are the same, so a run changes from one to the other whenever that seems better.

use shallows_core::Instant;
use shallows_core::event::{self, EventQueue};

use crate::network::event::Event;
use crate::run::world::World;

/// How a run takes its switches through time. Nothing but its speed depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Execution {
    /// As the traffic of late suggests.
    #[default]
    Adaptive,
    /// Always by events.
    Events,
    /// Always by window, unless some link has no delay.
    Windows,
}

/// How much has happened of late.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    execution: Execution,
    /// As of the last look.
    events: u64,
    windows: u64,
    at: Instant,
}

/// Events between two looks.
const PERIOD: u64 = 1 << 14;

/// With fewer events in a window than the first, switches go on by events; with more than the second, by window.
const FEW: u64 = 12;
const MANY: u64 = 20;

impl Pace {
    pub(super) fn new(execution: Execution, is_possible: bool) -> Self {
        let execution = if is_possible { execution } else { Execution::Events };
        Self { execution, events: 0, windows: 0, at: Instant::ZERO }
    }
}

impl World {
    /// Run until `until`, until the run is finished, or until `budget` events have fired, and some more. Returns whether the budget
    /// ended it.
    pub(crate) fn run(&mut self, queue: &mut EventQueue<Event>, until: Instant, budget: u64) -> bool {
        let enough = self.events(queue).saturating_add(budget);
        loop {
            self.choose(queue);
            let next = enough.min(self.pace.events + PERIOD);
            let budget_ended = if self.network.visits_switches() {
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
            let end = self.network.open_window(first).min(until);
            // Hosts live through the window first. Nothing reaches them or another switch in it that leaves a switch now.
            self.run_hosts(queue, end);
            if self.finished {
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
        let packets = self.network.take_for_hosts(end, &mut order);
        let mut read = 0;
        for &place in &order {
            let packet = &packets[place];
            event::run_before(self, queue, packet.at, self.network.arrival_of(packet));
            if self.finished {
                break;
            }
            queue.move_to(packet.at);
            read += 1;
            self.arrive(packet.header, packet.payload, queue);
            if self.finished {
                break;
            }
        }
        self.network.give_back(packets, order.len(), &order[read..]);
        self.order = order;
        if !self.finished {
            event::run(self, queue, end, u64::MAX);
        }
    }

    /// From time to time see how switches go on.
    fn choose(&mut self, queue: &mut EventQueue<Event>) {
        let (events, by_window) = (self.events(queue), self.network.visits_switches());
        let late = events - self.pace.events;
        let change = match self.pace.execution {
            Execution::Events => false,
            Execution::Windows => !by_window,
            Execution::Adaptive if late < PERIOD => return,
            Execution::Adaptive if by_window => late < FEW * (self.network.windows() - self.pace.windows),
            Execution::Adaptive => {
                let windows = (queue.now() - self.pace.at).0 / self.network.window().0 + 1;
                late > MANY * windows
            }
        };
        if change {
            let (network, mut around) = self.driving(queue);
            if by_window {
                network.run_by_events(&mut around);
            } else {
                let now = around.queue.now();
                network.run_by_window(now, &mut around);
            }
        }
        self.pace = Pace { events, windows: self.network.windows(), at: queue.now(), ..self.pace };
    }

    /// A time before which nothing happens here.
    pub(crate) fn not_before(&self, queue: &EventQueue<Event>) -> Instant {
        queue.not_before().min(self.network.not_before())
    }

    /// When the next event fires, or a time before which nothing happens at switches that run by window.
    pub(crate) fn next_at(&self, queue: &mut EventQueue<Event>) -> Instant {
        queue.next_at().unwrap_or(Instant::MAX).min(self.network.not_before())
    }

    /// How many events have fired here, those of switches that run by window too.
    pub(crate) fn events(&self, queue: &EventQueue<Event>) -> u64 {
        queue.handled() + self.network.events()
    }

    /// When something last happened here.
    pub(crate) fn last(&self, queue: &EventQueue<Event>) -> Instant {
        queue.now().max(self.network.last())
    }

    /// What happens at switches that run by window has happened until `until`.
    pub(super) fn visit_switches(&mut self, until: Instant, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        network.visit_switches(until, &mut around);
    }
}
