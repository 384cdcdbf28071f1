//! How events reach switches: one by one, or by window.
//!
//! Where much happens in a window it costs less to let each switch live through it in turn ([`crate::network::visit`]); where little
//! does, events cost less. The results are the same, so a run changes from one to the other whenever that seems better.

use shallows_core::event::{self, EventQueue};
use shallows_core::{Duration, Instant};

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

/// How much has happened of late, and what follows from that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    execution: Execution,
    /// Whether there was a look.
    is_begun: bool,
    /// As of the last look.
    events: u64,
    visits: u64,
    at: Instant,
    /// Looks until windows are tried again, and how many there were after the last try.
    wait: u32,
    patience: u32,
}

/// Events between two looks.
const PERIOD: u64 = 1 << 14;

/// With more events in a window than this, windows are tried.
const WORTH_A_TRY: u64 = 20;

/// With fewer events at each visit of a switch than this, or of all hosts together, visits cost more than events.
const WORTH_A_VISIT: u64 = 8;

/// The most looks between two tries.
const MOST_PATIENCE: u32 = 1 << 10;

impl Pace {
    pub(super) fn new(execution: Execution, is_possible: bool) -> Self {
        let execution = if is_possible { execution } else { Execution::Events };
        Self { execution, is_begun: false, events: 0, visits: 0, at: Instant::ZERO, wait: 0, patience: 1 }
    }

    /// After how many events it is time to look again.
    fn next(&self) -> u64 {
        match self.execution {
            Execution::Adaptive => self.events + PERIOD,
            Execution::Events => u64::MAX,
            Execution::Windows if self.is_begun => u64::MAX,
            Execution::Windows => 0,
        }
    }

    /// So much has happened in all while switches went on by events. Whether they are to go on by window, whose length is this.
    fn tries_windows(&mut self, events: u64, now: Instant, window: Duration) -> bool {
        if self.execution == Execution::Windows {
            return true;
        }
        let windows = (now - self.at).0 / window.0 + 1;
        if events - self.events <= WORTH_A_TRY * windows || self.wait > 0 {
            self.wait = self.wait.saturating_sub(1);
            return false;
        }
        true
    }

    /// So much has happened in all while switches went on by window. Whether they are to go on by events.
    fn leaves_windows(&mut self, events: u64, visits: u64) -> bool {
        let leaves = events - self.events < WORTH_A_VISIT * (visits - self.visits);
        if leaves {
            (self.wait, self.patience) = (self.patience, (2 * self.patience).min(MOST_PATIENCE));
        } else {
            self.patience = 1;
        }
        leaves
    }
}

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
        self.pace = Pace { is_begun: true, events, visits, at: now, ..self.pace };
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

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration(1_000);

    #[test]
    fn windows_are_tried_where_much_happens_in_one_and_left_where_little_happens_at_a_visit() {
        let mut pace = Pace::new(Execution::Adaptive, true);
        assert_eq!(pace.next(), PERIOD);
        // 819 windows of twenty events each make a period.
        assert!(!pace.tries_windows(PERIOD, Instant(1_000_000), WINDOW));
        assert!(pace.tries_windows(PERIOD, Instant(700_000), WINDOW));
        assert!(!pace.leaves_windows(PERIOD, PERIOD / 8));
        assert!(pace.leaves_windows(PERIOD, PERIOD / 8 + 1));
    }

    #[test]
    fn each_try_in_vain_doubles_the_time_to_the_next() {
        let mut pace = Pace::new(Execution::Adaptive, true);
        let looks = |pace: &mut Pace| (1..).find(|_| pace.tries_windows(PERIOD, Instant(1), WINDOW)).unwrap();
        assert_eq!(looks(&mut pace), 1);
        for waits in [2, 3, 5, 9] {
            assert!(pace.leaves_windows(PERIOD, PERIOD));
            assert_eq!(looks(&mut pace), waits);
        }
        assert!(!pace.leaves_windows(PERIOD, 1) && pace.leaves_windows(PERIOD, PERIOD));
        assert_eq!(looks(&mut pace), 2, "a success restores it");
    }

    #[test]
    fn what_is_forced_stays_and_what_cannot_be_is_not_forced() {
        assert_eq!(Pace::new(Execution::Events, true).next(), u64::MAX);
        let mut windows = Pace::new(Execution::Windows, true);
        assert!(windows.next() == 0 && windows.tries_windows(0, Instant::ZERO, WINDOW));
        assert_eq!(Pace { is_begun: true, ..windows }.next(), u64::MAX);
        assert_eq!(Pace::new(Execution::Windows, false).next(), u64::MAX);
    }
}
