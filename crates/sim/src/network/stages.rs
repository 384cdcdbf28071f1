//! Time windows of partitions that are longer than the shortest delay between partitions.
//!
//! In such a *long window*, ports run in the order in which packets pass through them ([`crate::network::turns`]). After ports that send to
//! other partitions have run, partitions exchange packets. A *stage* is the part of a long window between two exchanges: the hosts or the
//! ports of some turns run through the whole window.

use std::ops::Range;

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

use crate::network::division::Division;
use crate::network::group::Turn;
use crate::network::turns::{Turns, intervals};

/// Stages of the long windows of a divided network.
#[derive(Debug)]
pub(crate) struct Stages {
    pub(crate) turns: Turns,
    /// For each stage, the range of indices in `turns.steps`. Hosts run in the first stage, before the ports of switches.
    ranges: Vec<Range<usize>>,
    /// Intervals at which switches are sampled and traced.
    intervals: Vec<Duration>,
    /// Times at which the network changes. Ascending.
    changes: Vec<Instant>,
}

/// Returns the mean simulated time between two exchanges of packets by partitions, if many packets are in the network.
pub fn time_between_exchanges(experiment: &Experiment, division: &Division) -> Duration {
    Stages::new(experiment, division).map_or(division.window(), |stages| stages.mean_length())
}

impl Stages {
    /// Returns the stages of the long windows of a network with this division. `None` in each of these cases:
    ///
    /// - The network is not divided.
    /// - Long windows would not reduce the number of exchanges of packets per simulated time.
    /// - The network is large ([`Turns::along_paths`]).
    /// - The run ends when all flows have ended, and queue pairs can end flows without a packet from the receiver.
    pub(crate) fn new(experiment: &Experiment, division: &Division) -> Option<Self> {
        let fails = experiment.stop.on_completion && experiment.has_queue_pairs();
        (division.partitions() > 1 && !fails).then_some(())?;
        let network = &experiment.network;
        let turns = Turns::along_paths(experiment)?;
        let mut sends = vec![false; turns.steps.len()];
        for (link, turn) in network.links.iter().zip(&turns.of_links) {
            if division.partition_of(link.from.0) != division.partition_of(link.to.0) {
                // Only links between switches leave a partition, and every turn of switches has one step.
                sends[turn.index() - Turn::FIRST.index()] = true;
            }
        }
        let (mut ranges, mut start) = (Vec::new(), 0);
        for (step, sends) in sends.into_iter().enumerate() {
            if sends || step + 1 == turns.steps.len() {
                ranges.push(start..step + 1);
                start = step + 1;
            }
        }
        let changes = network.epochs().iter().map(|epoch| epoch.at).collect();
        let stages = Self { turns, ranges, intervals: intervals(experiment).collect(), changes };
        (stages.mean_length() > division.window()).then_some(stages)
    }

    /// Returns the number of stages of a long window.
    pub(crate) fn count(&self) -> usize {
        self.ranges.len()
    }

    /// Returns the range of steps of a stage. If a window has only one stage, the number of this stage is [`Self::count`].
    pub(crate) fn steps(&self, stage: usize) -> Range<usize> {
        self.ranges.get(stage).cloned().unwrap_or(0..self.turns.steps.len())
    }

    /// Returns the mean simulated time between two exchanges of packets. Each sample or record at an interval splits a long window in two, with
    /// a short window between them.
    pub(crate) fn mean_length(&self) -> Duration {
        let (window, count) = (self.turns.window.0 as f64, self.count() as f64);
        let records: f64 = self.intervals.iter().map(|every| window / every.0 as f64).sum();
        Duration((window / (count + records * (count + 1.0))) as u64)
    }

    /// Returns the first time, `first` or later, at which switches are sampled or traced; `Instant::MAX` if there is none. At this time, the
    /// switches of all partitions must have run to this time. A long window ends before.
    pub(crate) fn next_record(&self, first: Instant) -> Instant {
        let multiple = |every: &Duration| Instant(first.0.div_ceil(every.0).saturating_mul(every.0));
        self.intervals.iter().map(multiple).min().unwrap_or(Instant::MAX)
    }

    /// Returns the first time, `first` or later, at which the network changes; `Instant::MAX` if there is none. A long window ends before this
    /// time, and a window with one stage ends no later, because packets to hosts are taken from their links when a window begins.
    pub(crate) fn next_change(&self, first: Instant) -> Instant {
        let after = self.changes.partition_point(|&change| change < first);
        self.changes.get(after).copied().unwrap_or(Instant::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::testing::parse;

    const LEAF_SPINE: &str = "kind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\nrate = '10Gbps'\nlink_delay = '2us'";

    const DUMBBELL: &str =
        "kind = 'dumbbell'\nleft = 2\nright = 2\nrate = '10Gbps'\nbottleneck_delay = '2us'";

    const INCAST: &str = "[tcp]\n[[workload]]\nkind = 'incast'\nsenders = [0]\nreceivers = 3\nsize = '1KB'\n";

    /// Returns a network whose ports share no memory, with this delay of hosts.
    fn network(topology: &str, delay: &str, rest: &str) -> Experiment {
        let buffer = "kind = 'static-partition', per_port = '100KB'";
        let switch = format!("[switch]\nbuffer = {{ {buffer} }}\n");
        parse(&format!("[topology]\n{topology}\nhost_delay = '{delay}'\n{switch}{rest}"), &[])
    }

    /// Returns the stages of a network that is divided into at most this number of partitions.
    fn stages(experiment: &Experiment, partitions: u32) -> Option<Stages> {
        Stages::new(experiment, &Division::new(experiment, partitions).expect("switches are connected"))
    }

    #[test]
    fn each_turn_of_ports_that_send_to_another_partition_ends_a_stage() {
        let experiment = network(LEAF_SPINE, "9us", INCAST);
        // Each of two partitions has a leaf and a spine. Ports of leaves to spines have the first turn, ports of spines the second, and
        // ports to hosts the third.
        let of_fabric = stages(&experiment, 2).expect("windows of 11 us");
        assert_eq!(of_fabric.ranges, [0..1, 1..2, 2..3]);
        assert_eq!(of_fabric.turns.window, Duration::from_micros(11));
        let of_steps = [0, 1, 2, 3].map(|stage| of_fabric.steps(stage));
        assert_eq!(
            (of_fabric.mean_length(), of_fabric.count(), of_steps),
            (Duration(3_666_666), 3, [0..1, 1..2, 2..3, 0..3])
        );
        // One turn leads to the other switch, and one to hosts.
        let experiment = network(DUMBBELL, "9us", INCAST);
        assert_eq!(stages(&experiment, 2).expect("windows of 9 us and more").ranges, [0..1, 1..2]);
    }

    #[test]
    fn turns_without_an_exchange_of_packets_are_part_of_the_next_stage() {
        // Switches w, x, y and z are in a row. Hosts are at w and z.
        let row = "kind = 'graph'\nhosts = ['a', 'b', 'c', 'd']\nswitches = ['w', 'x', 'y', 'z']\nrate = '10Gbps'\nlink_delay = '2us'\n\
                   links = [{ between = ['a', 'w'] }, { between = ['b', 'w'] }, { between = ['c', 'z'] }, { between = ['d', 'z'] }, \
                   { between = ['w', 'x'] }, { between = ['x', 'y'] }, { between = ['y', 'z'] }]";
        let experiment = network(row, "9us", INCAST);
        let division = Division::new(&experiment, 2).expect("switches are connected");
        assert_eq!([4, 5, 6, 7].map(|node| division.partition_of(node)), [0, 0, 1, 1]);
        // Only ports with the second turn send to the other partition: that of x to y, and that of y to x.
        assert_eq!(stages(&experiment, 2).expect("windows of 11 us").ranges, [0..2, 2..4]);
        let four = Division::in_pieces(&experiment, 1, 0).expect("switches are connected");
        assert_eq!(
            Stages::new(&experiment, &four).expect("windows of 11 us").ranges,
            [0..1, 1..2, 2..3, 3..4]
        );
    }

    #[test]
    fn windows_are_long_only_if_that_saves_exchanges_of_packets_and_no_flow_can_end_without_a_packet() {
        let of = |delay, partitions| stages(&network(LEAF_SPINE, delay, INCAST), partitions).is_some();
        assert!(of("9us", 2));
        assert!(!of("9us", 1), "a network with one partition exchanges no packets");
        // Delays of hosts are 6 us, and 6.000003 us.
        assert!(!of("4us", 2), "three exchanges in 6 us are one exchange in 2 us");
        assert!(of("4000003ps", 2));
        let queue_pairs = format!("[roce]\n{INCAST}transport = 'roce'\n");
        assert!(stages(&network(LEAF_SPINE, "9us", &queue_pairs), 2).is_none());
        let unbounded =
            "[[workload]]\nkind = 'long-lived'\nsenders = [1]\nreceivers = 2\n[stop]\nat = '1ms'\n";
        assert!(stages(&network(LEAF_SPINE, "9us", &[&queue_pairs, unbounded].concat()), 2).is_some());
    }

    #[test]
    fn samples_records_of_ports_and_changes_are_found_from_any_time() {
        let rest = format!(
            "[measure]\nsample_queues = '200us'\ntraces = [{{ ports = ['leaf0->*'], every = '700us' }}]\n{INCAST}"
        );
        let experiment = network(LEAF_SPINE, "9us", &rest);
        let mut stages = stages(&experiment, 2).expect("windows of 11 us");
        // Per window of 11 us, three exchanges, and four more for each of the 0.055 and 0.0157 records.
        assert_eq!(stages.mean_length(), Duration(3_350_739));
        stages.changes = vec![Instant(1_300), Instant(1_301)];
        let micros = |us: u64| us * 1_000_000;
        for (first, record, change) in [
            (0, 0, 1_300),
            (1, micros(200), 1_300),
            (1_300, micros(200), 1_300),
            (1_301, micros(200), 1_301),
            (micros(200), micros(200), u64::MAX),
            (micros(600) + 1, micros(700), u64::MAX),
        ] {
            let found = (stages.next_record(Instant(first)), stages.next_change(Instant(first)));
            assert_eq!(found, (Instant(record), Instant(change)), "from {first}");
        }
        stages.intervals.clear();
        assert_eq!(stages.next_record(Instant(1)), Instant::MAX);
    }
}
