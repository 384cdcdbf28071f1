//! Determines the end of each time window, draws the flows that arrive in the window, and ends the run.

use shallows_core::event::{EventQueue, World, run};
use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

use crate::network::division::Division;
use crate::network::event::{Event, Ranks};
use crate::network::stages::Stages;
use crate::run::end::{Ending, step_end};
use crate::run::partition::Mail;
use crate::traffic::{Here, Names, Newcomer, Traffic};

/// Decisions that are made between two time windows for all partitions together.
#[derive(Debug)]
pub(crate) struct Schedule {
    division: Division,
    drawing: Drawing,
    /// Scheduled arrivals of the workloads in `drawing`.
    arrivals: EventQueue<Event>,
    /// Latest instant at which the run ends.
    limit: Instant,
    ends_on_completion: bool,
    ending: Ending,
    /// Last instant of the windows so far; `None` before the first window.
    opened: Option<Instant>,
    /// Whether the run is over because all its traffic has ended.
    finished: bool,
}

/// Decision made between two time windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The run continues with the time window that ends at this instant.
    Window(Instant),
    /// The run continues with a window that ends at this instant and has only one stage, although other windows are long.
    OneStage(Instant),
    /// A search for deadlocks is due.
    Search,
    /// The run is over.
    End,
}

/// Workloads that do not react to flows. Their flows are drawn in advance, one time window at a time.
#[derive(Debug)]
struct Drawing {
    traffic: Traffic,
    ranks: Ranks,
    drawn: Vec<Newcomer>,
}

impl World for Drawing {
    type Event = Event;

    fn handle(&mut self, event: Event, queue: &mut EventQueue<Event>) {
        self.drawn.extend(self.traffic.arrive(event.index(self.ranks) as usize, queue));
    }
}

/// Sums of the counts of all partitions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunCounts {
    /// Number of finite flows that were started inside partitions, by workloads whose next flow depends on earlier flows.
    pub(crate) flows_started: u64,
    pub(crate) flows_completed: u64,
    /// Number of flows whose last byte has reached the receiver.
    pub(crate) flows_received: u64,
    /// Number of the partitions' workloads that will generate further flows without first being notified of a flow's progress.
    pub(crate) busy: u64,
    pub(crate) under_way: u64,
}

impl Schedule {
    pub(crate) fn new(
        experiment: &Experiment,
        division: Division,
        limit: Instant,
        horizon: Duration,
    ) -> Self {
        let ranks = Ranks::new(experiment.seed);
        let mut arrivals = EventQueue::new(horizon);
        let step = Names::step(experiment, division.partitions());
        let mut traffic = Traffic::new(experiment, &Here::Drawn, Names { first: 0, step }, ranks);
        traffic.start(&mut arrivals);
        Self {
            division,
            drawing: Drawing { traffic, ranks, drawn: Vec::new() },
            arrivals,
            limit,
            ends_on_completion: experiment.stop.on_completion,
            ending: Ending::new(experiment),
            opened: None,
            finished: false,
        }
    }

    pub(crate) fn division(&self) -> &Division {
        &self.division
    }

    /// Returns the workloads that do not react to flows. Their flow counts include the current time window.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.drawing.traffic
    }

    /// Returns the end of the windows so far; time zero before the first window.
    pub(crate) fn opened(&self) -> Instant {
        self.opened.map_or(Instant::ZERO, |last| last + Duration(1))
    }

    /// Returns whether the run is over because all its traffic has ended.
    pub(crate) fn finished(&self) -> bool {
        self.finished
    }

    /// Returns a lower bound on the time of the next flow that is drawn in advance.
    pub(crate) fn not_before(&self) -> Instant {
        self.arrivals.not_before()
    }

    /// Determines the next time window, and announces in `mail` the flows that arrive in that window. `earliest` is a lower bound on the
    /// next event of all partitions, and `search` is the time of the next search for deadlocks. `stages` are the stages of long windows;
    /// `None` if windows are short. `state` returns the counts of all partitions. It is called only if these counts can affect the result.
    pub(crate) fn next(
        &mut self,
        earliest: Instant,
        search: Instant,
        stages: Option<&Stages>,
        state: impl Fn() -> RunCounts,
        mail: &Mail,
    ) -> Next {
        let arrival = self.not_before();
        let first = earliest.min(arrival);
        if self.ends_on_completion && self.drawing.traffic.busy() == 0 && self.is_over(&state(), first) {
            self.finished = true;
            return Next::End;
        }
        if first > search && search <= self.limit {
            return Next::Search;
        }
        if first > self.limit {
            return Next::End;
        }
        let until = |window| step_end(first, window).min(self.limit);
        let short = until(self.division.window());
        let next = match stages {
            None => Next::Window(short),
            Some(stages) => {
                let (end, change) = (until(stages.turns.window), stages.next_change(first));
                let stop = stages.next_record(first).min(change);
                if stop == first || self.may_end_by(end, &state) {
                    Next::OneStage(short.min(end).min(change))
                } else {
                    Next::Window(end.min(Instant(stop.0 - 1)))
                }
            }
        };
        if let Next::Window(until) | Next::OneStage(until) = next {
            self.opened = self.opened.max(Some(until));
            if arrival <= until {
                self.draw(until, mail);
            }
        }
        next
    }

    /// Returns whether the run may end within a long window that lasts until `end`. It cannot end if a finite flow has yet to arrive, or if
    /// the last byte of a flow has not reached the receiver: before such a flow is complete, its sender must receive a packet that has not
    /// been sent yet. A packet that leaves a switch in a long window reaches no host in the same window. (A queue pair can also end a flow
    /// without a packet; [`Stages::new`] excludes such runs.)
    fn may_end_by(&self, end: Instant, state: impl Fn() -> RunCounts) -> bool {
        let traffic = &self.drawing.traffic;
        self.ends_on_completion && !traffic.expects_finite() && !self.ending.is_after(end) && {
            let state = state();
            let flows = traffic.finite + state.flows_started;
            debug_assert!(state.flows_received <= flows, "each flow is received once");
            flows <= state.flows_received
        }
    }

    /// Returns whether all flows are complete, no workload has further flows, and no other traffic continues. The next event is not before
    /// `first`.
    fn is_over(&self, state: &RunCounts, first: Instant) -> bool {
        let open = self.drawing.traffic.finite + state.flows_started - state.flows_completed;
        // A run ends at the end of a step (`Ending`). A long window may end within a step.
        let is_step_over =
            self.opened.is_none_or(|opened| first > self.ending.step_end(opened).min(self.limit));
        open + state.busy == 0 && is_step_over && self.ending.is_over(state.under_way, first)
    }

    /// Draws the flows that arrive by `until`, and announces each to the partitions of its sender and receiver.
    fn draw(&mut self, until: Instant, mail: &Mail) {
        run(&mut self.drawing, &mut self.arrivals, until, u64::MAX);
        for newcomer in self.drawing.drawn.drain(..) {
            let [source, destination] = [newcomer.flow.source, newcomer.flow.destination]
                .map(|host| self.division.partition_of(host.0));
            mail.announce(source, newcomer, newcomer.flow.at);
            if destination != source {
                mail.announce(destination, newcomer, newcomer.flow.at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use shallows_scenario::Epoch;

    use super::*;
    use crate::network::testing::{fabric, parse};

    #[test]
    fn a_run_may_end_if_all_flows_have_arrived_and_their_receivers_have_all_bytes() {
        let experiment = fabric(&[("workload.0.load", "0.8")]);
        let division = Division::new(&experiment, 2).expect("switches are connected");
        let (limit, horizon) = (Instant(u64::MAX / 2), Duration::from_micros(10));
        let mut schedule = Schedule::new(&experiment, division, limit, horizon);
        let counts = |flows_received| RunCounts {
            flows_started: 2,
            flows_completed: 0,
            flows_received,
            busy: 0,
            under_way: 0,
        };
        let end = Instant(1_000);
        assert!(!schedule.may_end_by(end, || counts(2)), "300 flows have yet to arrive");
        schedule.draw(limit, &Mail::new(2));
        assert!(!schedule.may_end_by(end, || counts(301)));
        assert!(schedule.may_end_by(end, || counts(302)));
        schedule.ends_on_completion = false;
        assert!(!schedule.may_end_by(end, || counts(302)), "it ends at a time");
    }

    #[test]
    fn a_long_window_ends_before_records_and_changes_and_is_short_if_the_run_may_end() {
        // A long window has 14 us, a short one 3 us. The network changes at 50 us and 58 us, and is sampled each 200 us.
        let text = "[topology]\nkind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = '10Gbps'\n\
                    link_delay = '3us'\nhost_delay = '11us'\n\
                    [switch]\nbuffer = { kind = 'static-partition', per_port = '100KB' }\n[measure]\nsample_queues = '200us'\n\
                    [tcp]\n[[workload]]\nkind = 'incast'\nsenders = [0]\nreceivers = 3\nsize = '1KB'\n";
        let experiment = parse(text, &[]);
        let routing = Arc::clone(&experiment.network.routing);
        let epoch =
            |us: u64| Epoch { at: Instant(us * 1_000_000), routing: Arc::clone(&routing), links: Vec::new() };
        let experiment = experiment.with_epochs(vec![epoch(50), epoch(58)]).expect("times ascend");
        let division = Division::new(&experiment, 2).expect("switches are connected");
        let stages = Stages::new(&experiment, &division).expect("long windows");
        let (limit, horizon) = (Instant(630_500_000), Duration::from_micros(10));
        let mut schedule = Schedule::new(&experiment, division, limit, horizon);
        let mail = Mail::new(2);
        schedule.draw(limit, &mail);
        let (window, one, end) = (Next::Window, Next::OneStage, Next::End);
        for (first, flows_received, expected) in [
            (1_000, 0, window(Instant(13_999_999))),
            (42_000_000, 0, window(Instant(49_999_999))),
            (50_000_000, 0, one(Instant(50_000_000))),
            (50_000_001, 0, window(Instant(55_999_999))),
            (56_000_000, 0, window(Instant(57_999_999))),
            (57_000_000, 1, one(Instant(58_000_000))),
            (58_000_001, 1, one(Instant(59_999_999))),
            // A short window ends at 84 us and at 141 us, and a long one at 84 us and at 140 us.
            (83_000_000, 1, one(Instant(83_999_999))),
            (139_000_000, 1, one(Instant(139_999_999))),
            (199_000_000, 0, window(Instant(199_999_999))),
            (200_000_000, 0, one(Instant(200_999_999))),
            (630_000_000, 0, window(limit)),
            (630_500_001, 0, end),
            // Bounds on the next event can be earlier than the last window.
            (1_000, 0, window(Instant(13_999_999))),
        ] {
            let state =
                || RunCounts { flows_started: 0, flows_completed: 0, flows_received, busy: 0, under_way: 0 };
            let next = schedule.next(Instant(first), Instant::MAX, Some(&stages), state, &mail);
            assert_eq!(next, expected, "{first}");
        }
        assert_eq!(schedule.opened(), limit + Duration(1));
    }

    #[test]
    fn a_run_is_over_only_at_the_end_of_a_step() {
        // A step is 50 us long.
        let experiment = fabric(&[("workload.0.load", "0.8")]);
        let division = Division::new(&experiment, 2).expect("switches are connected");
        let horizon = Duration::from_micros(10);
        let mut schedule = Schedule::new(&experiment, division, Instant(390_000_000), horizon);
        let complete =
            RunCounts { flows_started: 9, flows_completed: 9, flows_received: 9, busy: 0, under_way: 0 };
        let mut is_over = |opened: Option<u64>, first| {
            schedule.opened = opened.map(Instant);
            schedule.is_over(&complete, Instant(first))
        };
        assert!(is_over(None, 0), "no window has been opened");
        assert!(!is_over(Some(121_000_000), 149_999_999));
        assert!(is_over(Some(121_000_000), 150_000_000));
        assert!(is_over(Some(149_999_999), 150_000_000));
        assert!(!is_over(Some(371_000_000), 390_000_000));
        assert!(is_over(Some(371_000_000), 390_000_001), "the run ends before the end of the step");
    }
}
