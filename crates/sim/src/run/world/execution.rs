//! Advances a world in time, event by event or in time windows.

use std::ops::Range;

use shallows_core::event::{self, EventQueue};
use shallows_core::{Duration, Instant};

use crate::network::event::Event;
use crate::run::world::World;

/// Number of packets between the second prefetch for a packet and its processing. Processing these packets takes about as long as a memory
/// access.
const AHEAD: usize = 4;

/// Number of packets processed between the first prefetch for a packet and the processing of the packet.
const AHEAD_OF_FIRST: usize = 2 * AHEAD;

impl World {
    /// Runs until the time `until`, until the run is finished, or until `budget` events have fired. A time window may exceed the budget.
    /// Returns whether the call ended because of the budget.
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

    /// Runs time windows until the time `until`, until the run is finished, or until the total number of events is at least `enough`.
    /// Returns whether the call ended because of `enough`.
    fn run_windows(&mut self, queue: &mut EventQueue<Event>, until: Instant, enough: u64) -> bool {
        while self.events(queue) < enough {
            let first = self.not_before(queue);
            if first > until {
                return false;
            }
            let end = self.outside.network.open_window(first).min(until);
            // Hosts run first: packets that leave a switch in this window do not reach a host in the same window.
            self.run_hosts(queue, end);
            if self.outside.finished {
                let (network, mut around) = self.driving(queue);
                network.note_departures_of_hosts(&mut around);
                return false;
            }
            self.visit_switches(end, queue);
        }
        true
    }

    /// Changes the length of time windows. All events before `now` must have fired.
    pub(crate) fn set_window(&mut self, window: Duration, now: Instant, queue: &EventQueue<Event>) {
        self.outside.network.set_window(window, now);
        self.pace.note(self.events(queue), self.outside.network.visits(), queue.now());
    }

    /// Starts to run switches in time windows, unless they already do. All events before `now` must have fired.
    pub(crate) fn run_by_window(&mut self, now: Instant, queue: &mut EventQueue<Event>) {
        if !self.outside.network.goes_by_window() {
            let (network, mut around) = self.driving(queue);
            network.run_by_window(now, &mut around);
        }
    }

    /// Opens the time window that contains `until`, unless it is already open.
    pub(crate) fn open_window(&mut self, until: Instant) {
        self.outside.network.open_window(until);
    }

    /// Runs a stage of the open window up to `until`. The stage consists of these steps of the window.
    pub(crate) fn run_stage(&mut self, steps: Range<usize>, until: Instant, queue: &mut EventQueue<Event>) {
        if steps.start == 0 {
            self.run_hosts(queue, until);
        }
        let (network, mut around) = self.driving(queue);
        network.run_steps(steps, until, &mut around);
    }

    /// Runs the hosts up to the time `end` in the current time window, or until the run is finished. Arriving packets are processed without
    /// events, but in the order in which events would fire.
    fn run_hosts(&mut self, queue: &mut EventQueue<Event>, end: Instant) {
        let (packets, sorted) = self.outside.network.take_for_hosts(end);
        let mut read = 0;
        // Packets whose hosts and connections are prefetched.
        let ahead = if self.hosts.stay_in_cache() { &[][..] } else { &sorted[..] };
        for packet in ahead {
            let packet = &packets[packet.place()];
            self.hosts.prefetch_host(packet.header.destination());
            self.outside.network.prefetch_nic(packet.header.destination());
            self.outside.ends.packets.prefetch(packet.payload);
        }
        for (number, packet) in sorted.iter().enumerate() {
            if let Some(later) = ahead.get(number + AHEAD_OF_FIRST) {
                let packet = &packets[later.place()];
                self.hosts.prefetch_first(&packet.header, packet.payload, &self.outside.ends.packets);
            }
            if let Some(later) = ahead.get(number + AHEAD) {
                let packet = &packets[later.place()];
                self.hosts.prefetch_second(&packet.header, packet.payload, &self.outside.ends.packets);
            }
            let packet = &packets[packet.place()];
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
        self.outside.network.give_back(packets, sorted, read);
        if !self.outside.finished {
            event::run(self, queue, end, u64::MAX);
        }
    }

    /// Chooses, if a check is due (`Pace::next`), whether switches run event by event or in time windows.
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
            self.run_by_window(now, queue);
        }
        self.pace.note(events, visits, now);
    }

    /// Returns a lower bound on the time of the next event in this world.
    pub(crate) fn not_before(&self, queue: &EventQueue<Event>) -> Instant {
        queue.not_before().min(self.outside.network.not_before())
    }

    /// Returns the time of the next event. If switches run in time windows, returns a lower bound on this time.
    pub(crate) fn next_at(&self, queue: &mut EventQueue<Event>) -> Instant {
        queue.next_at().unwrap_or(Instant::MAX).min(self.outside.network.not_before())
    }

    /// Returns the number of fired events, including arrivals and departures at nodes that run in time windows.
    pub(crate) fn events(&self, queue: &EventQueue<Event>) -> u64 {
        queue.handled() + self.outside.network.events()
    }

    /// Returns the time of the last event.
    pub(crate) fn last(&self, queue: &EventQueue<Event>) -> Instant {
        queue.now().max(self.outside.network.last())
    }

    /// Advances switches up to the time `until` if they run in time windows.
    pub(super) fn visit_switches(&mut self, until: Instant, queue: &mut EventQueue<Event>) {
        let (network, mut around) = self.driving(queue);
        network.visit_switches(until, &mut around);
    }
}

#[cfg(test)]
mod tests {
    use shallows_measure::Captures;
    use shallows_scenario::Experiment;

    use super::*;
    use crate::network::site::Site;
    use crate::network::testing::{parse, star};
    use crate::run::simulation::nowhere;
    use crate::run::world::pace::Execution;

    /// Returns a world whose first events are scheduled, and its queue.
    fn started(experiment: &Experiment, execution: Execution) -> (World, EventQueue<Event>) {
        let site = Site::all(experiment, None).remove(0);
        let captures = Captures::simulated(experiment, nowhere).expect("nowhere takes everything");
        let mut world = World::new(experiment, None, None, site, &captures, execution);
        let mut queue = EventQueue::new(Duration::from_micros(10));
        world.start(experiment, &mut queue);
        (world, queue)
    }

    /// Instant after all events of a run.
    const AFTER_ALL: Instant = Instant(u64::MAX - 1);

    #[test]
    fn a_world_in_whose_windows_little_happens_returns_to_events() {
        // With one segment per round trip, a window has about one event. The run has more events than the 256 before the first check of
        // `Pace`.
        let experiment = star(
            "[tcp]\ninitial_window = 1\nmax_window = 1\n[[workload]]\nkind = 'incast'\nsenders = '1'\nreceivers = 0\nsize = '300KB'\n",
        );
        let (mut world, mut queue) = started(&experiment, Execution::Adaptive);
        let (network, mut around) = world.driving(&mut queue);
        network.run_by_window(Instant::ZERO, &mut around);
        assert!(world.outside.network.goes_by_window());
        world.run(&mut queue, AFTER_ALL, u64::MAX);
        assert!(world.outside.finished);
        assert!(!world.outside.network.goes_by_window());
    }

    /// Two hosts that send 100 segments each to a third host.
    const INCAST: &str =
        "[tcp]\n[[workload]]\nkind = 'incast'\nsenders = '1..3'\nreceivers = 0\nsize = '146KB'\n";

    /// Three leaves with one host each, and one spine. Windows are 4 us long, and the spine has two turns of 2 us in each window. A full
    /// packet takes 1 us on a link of a host and 12 us on a link between switches. Many packets therefore wait at the leaves.
    const TWO_TURNS: &str = "host.jitter = 'off'\n[topology]\nkind = 'leaf-spine'\nleaves = 3\nspines = 1\nhosts_per_leaf = 1\n\
                             rate = '12Gbps'\nuplink_rate = '1Gbps'\nlink_delay = '2us'\nhost_delay = '7us'\n\
                             [switch]\nbuffer = { kind = 'complete-sharing', pool = '1MB' }\n";

    /// Two leaves with two hosts each, and two spines. Each port has its own memory, so the ports of leaves and spines have three turns in
    /// windows of 9 us. Host 0 receives from a host at its leaf and from a host at the other leaf. The port to host 0 drops packets.
    const ALONG_PATHS: &str = "host.jitter = 'off'\n[topology]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n\
                          rate = '12Gbps'\nlink_delay = '200ns'\nhost_delay = '8800ns'\n\
                          [switch]\nbuffer = { kind = 'static-partition', per_port = '12KB' }\n";

    /// Returns the incast on this network, with this backpressure of NICs.
    fn incast(network: &str, backpressure: &str) -> Experiment {
        parse(&[network, INCAST].concat(), &[("host.nic.backpressure", backpressure)])
    }

    #[test]
    fn windows_and_events_have_the_same_events_up_to_any_time() {
        let networks = [TWO_TURNS, ALONG_PATHS].map(|network| incast(network, "1MiB"));
        let window = |experiment| started(experiment, Execution::Windows).0.outside.network.window();
        let windows = networks.each_ref().map(window);
        assert_eq!(
            windows,
            [4, 9].map(Duration::from_micros),
            "twice the delay between switches, and that of hosts"
        );
        let mut dropped = 0;
        for experiment in networks.into_iter().chain([star(INCAST)]) {
            let [mut by_events, mut by_windows] =
                [Execution::Events, Execution::Windows].map(|execution| started(&experiment, execution));
            while !by_events.0.outside.finished {
                let until = by_events.0.next_at(&mut by_events.1);
                let counts = [&mut by_events, &mut by_windows].map(|(world, queue)| {
                    world.run(queue, until, u64::MAX);
                    (world.events(queue), world.last(queue))
                });
                assert_eq!(counts[0], counts[1], "until {until:?}");
            }
            dropped += by_windows.0.tally().packets_dropped;
        }
        assert!(dropped > 0, "a port of `ALONG_PATHS` drops packets");
    }

    /// Returns the numbers of events and of changes between events and windows at the end of a run, the time of its last event, and the
    /// counters of its ports. If `changes` is true, the run changes between events and windows after every few events.
    fn end_of_run(experiment: &Experiment, changes: bool) -> (u64, u64, Instant, String) {
        let (mut world, mut queue) = started(experiment, Execution::Events);
        let mut changed = 0;
        while !world.outside.finished {
            world.run(&mut queue, AFTER_ALL, 1 + changed % 7);
            if changes {
                changed += 1;
                let now = queue.now();
                let (network, mut around) = world.driving(&mut queue);
                if network.goes_by_window() {
                    network.run_by_events(&mut around);
                } else {
                    network.run_by_window(now, &mut around);
                }
            }
        }
        let counters: Vec<_> = world.outside.network.counters().collect();
        (world.events(&queue), changed, world.last(&queue), format!("{counters:?}"))
    }

    #[test]
    fn changes_between_events_and_windows_do_not_change_results() {
        // In `TWO_TURNS`, some windows have only departures. Without backpressure, NICs send in windows too.
        let fabrics = [TWO_TURNS, ALONG_PATHS]
            .into_iter()
            .flat_map(|network| ["1MiB", "off"].map(|limit| incast(network, limit)));
        // With ABM, all ports of a switch send in order of time.
        let abm = ("switch.buffer", "{ kind = 'abm', alpha = 0.5, pool = '40KB' }");
        let ordered = parse(&[TWO_TURNS, INCAST].concat(), &[("host.nic.backpressure", "1MiB"), abm]);
        for experiment in fabrics.chain([star(INCAST), ordered]) {
            let (events, _, last, counters) = end_of_run(&experiment, false);
            let (events_with, changed, last_with, counters_with) = end_of_run(&experiment, true);
            // Windows of `ALONG_PATHS` are longer than those of the other networks, so it changes less often.
            assert!(changed > 50, "{changed} changes");
            assert_eq!((events_with, last_with, counters_with), (events, last, counters));
        }
    }

    #[test]
    fn after_the_last_packet_no_window_is_due() {
        // Without backpressure, NICs send in windows too.
        for backpressure in ["off", "1MiB"] {
            let (mut world, mut queue) = started(&incast(TWO_TURNS, backpressure), Execution::Windows);
            world.run(&mut queue, AFTER_ALL, u64::MAX);
            assert_eq!(world.outside.network.not_before(), Instant::MAX);
        }
    }

    #[test]
    fn the_times_at_which_nics_send_can_be_noted_before_switches_run() {
        let (mut world, mut queue) = started(&incast(TWO_TURNS, "off"), Execution::Windows);
        world.choose(&mut queue);
        let end = world.outside.network.open_window(Instant::ZERO);
        world.run_hosts(&mut queue, end);
        // A NIC sends the first of ten packets at once, and the second after 1 us. The first packet arrives after 10 us, in the window that
        // begins at 8 us.
        assert_eq!(world.not_before(&queue), Instant(8_000_000));
        let (network, mut around) = world.driving(&mut queue);
        network.note_departures_of_hosts(&mut around);
        assert_eq!(world.not_before(&queue), Instant(1_000_000));
    }

    #[test]
    fn packets_to_hosts_that_are_given_back_unread_are_not_counted_as_events() {
        let experiment = star(INCAST);
        let (mut world, mut queue) = started(&experiment, Execution::Windows);
        let mut unread = 0;
        loop {
            world.run(&mut queue, AFTER_ALL, 1);
            if world.outside.finished {
                break;
            }
            let first = world.not_before(&queue);
            let network = &mut world.outside.network;
            let before = network.events();
            let end = network.open_window(first);
            let (packets, sorted) = network.take_for_hosts(end);
            unread += sorted.len();
            network.give_back(packets, sorted, 0);
            assert_eq!(network.events(), before);
        }
        assert!(unread > 0, "some windows have packets to hosts");
    }

    #[test]
    fn a_window_counts_a_visit_to_the_hosts_and_to_each_switch_with_arrivals() {
        // Each of 100 segments and 100 acknowledgements is alone in the network. It arrives at the switch in one window, and at a host in
        // another window. These 400 windows are followed by few others.
        let experiment = star(
            "[tcp]\ninitial_window = 1\nmax_window = 1\ndelayed_ack = { segments = 1 }\n\
             [[workload]]\nkind = 'incast'\nsenders = '1'\nreceivers = 0\nsize = '146KB'\n",
        );
        let (mut world, mut queue) = started(&experiment, Execution::Windows);
        world.run(&mut queue, AFTER_ALL, u64::MAX);
        let visits = world.outside.network.visits();
        assert!((600..650).contains(&visits), "{visits} visits");
    }

    #[test]
    fn no_window_runs_without_a_budget_for_events() {
        let experiment = star(INCAST);
        let (mut world, mut queue) = started(&experiment, Execution::Windows);
        for budget in [0, 1, 0] {
            let before = world.events(&queue);
            assert!(world.run(&mut queue, AFTER_ALL, budget), "the budget ends the run");
            assert_eq!(world.events(&queue) > before, budget > 0);
        }
    }
}
