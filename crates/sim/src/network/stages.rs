//! Time windows of partitions that are longer than the shortest delay between partitions.
//!
//! In such a *long window*, ports run in the order in which packets pass through them ([`crate::network::turns`]). After ports that send to
//! other partitions have run, partitions exchange packets. A *stage* is the part of a long window between two exchanges: the hosts or the
//! ports of some turns run through the whole window.

use std::ops::Range;

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

use crate::network::division::{Division, window};
use crate::network::turns::{Turns, intervals};

/// Stages of the long windows of a divided network.
#[derive(Debug)]
pub(crate) struct Stages {
    pub(crate) turns: Turns,
    /// Length of a short time window of the network: the shortest delay of a link.
    pub(crate) short: Duration,
    /// For each stage, the range of indices in `turns.steps`. Hosts run in the first stage, before the ports of switches.
    pub(crate) steps: Vec<Range<usize>>,
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
    /// - Long windows would have as many exchanges of packets per simulated time as the windows of the division.
    /// - The run ends when all flows have ended, and queue pairs can end flows without a packet from the receiver.
    pub(crate) fn new(experiment: &Experiment, division: &Division) -> Option<Self> {
        let fails = experiment.stop.on_completion && experiment.has_queue_pairs();
        (division.partitions() > 1 && !fails).then_some(())?;
        let network = &experiment.network;
        let (turns, short) = (Turns::along_paths(experiment)?, window(experiment)?);
        let mut sends = vec![false; turns.steps.len()];
        for (link, turn) in network.links.iter().zip(&turns.of_links) {
            if division.partition_of(link.from.0) != division.partition_of(link.to.0) {
                let step = turns.steps.iter().position(|step| step.turn == *turn);
                sends[step.expect("only links between switches leave a partition")] = true;
            }
        }
        let (mut steps, mut start) = (Vec::new(), 0);
        for (step, sends) in sends.into_iter().enumerate() {
            if sends || step + 1 == turns.steps.len() {
                steps.push(start..step + 1);
                start = step + 1;
            }
        }
        let changes = network.epochs().iter().map(|epoch| epoch.at).collect();
        let stages = Self { turns, short, steps, intervals: intervals(experiment).collect(), changes };
        (stages.mean_length() > division.window()).then_some(stages)
    }

    /// Returns the mean simulated time between two exchanges of packets.
    pub(crate) fn mean_length(&self) -> Duration {
        Duration(self.turns.window.0 / self.steps.len() as u64)
    }

    /// Returns the first time, `first` or later, at which switches are sampled or traced, or at which the network changes. At such a time,
    /// switches must have run to this time, so it cannot be within a long window. Returns `Instant::MAX` if there is no such time.
    pub(crate) fn next_stop(&self, first: Instant) -> Instant {
        let multiples = self.intervals.iter().map(|every| Instant(first.0.div_ceil(every.0) * every.0));
        let changes = self.changes.iter().copied().filter(|&change| change >= first);
        multiples.chain(changes).min().unwrap_or(Instant::MAX)
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
        assert_eq!(of_fabric.steps, [0..1, 1..2, 2..3]);
        assert_eq!(of_fabric.turns.window, Duration::from_micros(11));
        assert_eq!(
            (of_fabric.mean_length(), of_fabric.short),
            (Duration(3_666_666), Duration::from_micros(2))
        );
        // One turn leads to the other switch, and one to hosts.
        let experiment = network(DUMBBELL, "9us", INCAST);
        assert_eq!(stages(&experiment, 2).expect("windows of 9 us and more").steps, [0..1, 1..2]);
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
        assert_eq!(stages(&experiment, 2).expect("windows of 11 us").steps, [0..2, 2..4]);
        let four = Division::in_pieces(&experiment, 1, 0).expect("switches are connected");
        assert_eq!(
            Stages::new(&experiment, &four).expect("windows of 11 us").steps,
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
    fn no_long_window_contains_a_sample_a_record_of_a_port_or_a_change() {
        let rest = format!(
            "[measure]\nsample_queues = '20us'\ntraces = [{{ ports = ['leaf0->*'], every = '70us' }}]\n{INCAST}"
        );
        let experiment = network(LEAF_SPINE, "9us", &rest);
        let mut stages = stages(&experiment, 2).expect("windows of 11 us");
        stages.changes = vec![Instant(130_000_000), Instant(130_000_001)];
        for (first, stop) in [
            (0, 0),
            (1, 20_000_000),
            (20_000_000, 20_000_000),
            (60_000_001, 70_000_000),
            (120_000_001, 130_000_000),
            (130_000_001, 130_000_001),
            (130_000_002, 140_000_000),
        ] {
            assert_eq!(stages.next_stop(Instant(first)), Instant(stop), "from {first}");
        }
        stages.intervals.clear();
        assert_eq!(stages.next_stop(Instant(130_000_002)), Instant::MAX);
    }
}
