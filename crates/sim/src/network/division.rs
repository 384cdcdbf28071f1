//! Division of a network into partitions that run in parallel.
//!
//! Only links between switches connect partitions. An event in one partition therefore takes at least the shortest delay of these links to
//! affect another partition. Partitions run independently for that time, a *time window*. Windows can be longer if partitions exchange
//! packets within a window ([`crate::network::stages`]).

use std::fmt;

use shallows_core::Duration;
use shallows_scenario::{Experiment, FlowChoice, Link, Network};

/// Assignment of each node to a partition, and of each partition to a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    /// Partition of each node, indexed by the node's number.
    partition_of: Vec<u32>,
    /// Number of partitions that each thread runs. The partitions of one thread have consecutive numbers.
    shares: Vec<usize>,
    /// Number of directed links of each partition.
    links: Vec<u32>,
    window: Duration,
}

/// Number of directed links above which a network has more partitions than threads. With one partition per thread, a partition of a larger
/// network would not fit the caches of a core.
pub(crate) const LARGE: usize = 2_048;

/// Maximum number of directed links in a partition of a large network. A partition with a single switch may have more.
const PIECE: u32 = 1_024;

/// Reason why a scenario runs as one partition, whatever the number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undivided {
    /// No link joins two switches.
    OneSwitch,
    /// A link between switches has no delay.
    NoDelay,
    /// An event at one host can start a flow at another host at once, without a packet.
    CrossesHosts,
    /// A flow trace selects flows by arrival number, and at least one workload starts flows in response to other flows, so that arrival
    /// numbers are known only when the flows arrive.
    CountsFlows,
}

impl fmt::Display for Undivided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneSwitch => "no link joins two switches",
            Self::NoDelay => "a link between switches has no delay",
            Self::CrossesHosts => {
                "flows start at one host when something happens at another, without a packet (lists that wait for other hosts, \
                 servers that nobody asks)"
            }
            Self::CountsFlows => {
                "a flow trace chooses by the order of arrival among flows that wait for others (choose a workload instead)"
            }
        })
    }
}

/// Returns the length of a short time window: the shortest delay of a link between switches.
///
/// # Errors
///
/// The reason why the network cannot be divided.
pub fn partition_window(experiment: &Experiment) -> Result<Duration, Undivided> {
    let network = &experiment.network;
    let window = shortest_between_switches(network).ok_or(Undivided::OneSwitch)?;
    if window == Duration::ZERO {
        return Err(Undivided::NoDelay);
    }
    if experiment.crosses_hosts() {
        return Err(Undivided::CrossesHosts);
    }
    if counts_flows(experiment) {
        return Err(Undivided::CountsFlows);
    }
    Ok(window)
}

/// Returns the shortest delay of a link between switches; `None` if there is no such link.
pub(crate) fn shortest_between_switches(network: &Network) -> Option<Duration> {
    let between = network.links.iter().filter(|link| link.from.0.min(link.to.0) >= network.hosts);
    between.map(|link| link.delay).min()
}

/// Returns how long switches can run one by one, independently of each other and of hosts: the shortest delay of a link. `None` if a
/// link has no delay.
pub(crate) fn window(experiment: &Experiment) -> Option<Duration> {
    let shortest = experiment.network.links.iter().map(|link| link.delay).min();
    shortest.filter(|&delay| delay > Duration::ZERO)
}

/// Returns the longest time for which a packet is in flight on one of these links: the largest sum of serialisation time and delay, plus the
/// largest jitter of a host.
pub(crate) fn longest_flight<'a>(experiment: &Experiment, links: impl Iterator<Item = &'a Link>) -> Duration {
    let packet = experiment.network.mtu + experiment.network.framing;
    let flight = |link: &Link| link.delay + link.rate.transmission_time(packet);
    let jitter = experiment.hosts.groups.iter().map(|group| group.jitter).max();
    links.map(flight).max().unwrap_or_default() + jitter.unwrap_or_default()
}

/// Returns whether some flow trace selects flows by arrival number, and can select flows from workloads that react to other flows.
fn counts_flows(experiment: &Experiment) -> bool {
    let reacts = experiment.reacts();
    let any = reacts.contains(&true);
    experiment.flow_traces.iter().any(|trace| match trace.choice {
        FlowChoice::Workload(_) => false,
        FlowChoice::Sample { workload: Some(workload), .. } => reacts[usize::from(workload)],
        FlowChoice::Numbers(_) | FlowChoice::Sample { workload: None, .. } => any,
    })
}

impl Division {
    /// Divides the network of `experiment` among at most `threads` threads, as evenly as possible. A switch and its hosts stay in one
    /// partition.
    ///
    /// # Errors
    ///
    /// The reason why the network cannot be divided.
    pub fn new(experiment: &Experiment, threads: u32) -> Result<Self, Undivided> {
        if experiment.network.links.len() > LARGE {
            return Self::in_pieces(experiment, threads, PIECE);
        }
        Ok(Self::in_pieces(experiment, threads, 0)?.merged())
    }

    /// Returns this division with the partitions of each thread merged into one.
    pub(crate) fn merged(&self) -> Self {
        let threads = self.shares.iter().enumerate();
        let thread_of: Vec<u32> =
            threads.flat_map(|(thread, &share)| std::iter::repeat_n(thread as u32, share)).collect();
        Self {
            partition_of: self.partition_of.iter().map(|&partition| thread_of[partition as usize]).collect(),
            shares: vec![1; self.shares.len()],
            links: self.links_of_threads(),
            window: self.window,
        }
    }

    /// Divides the network into partitions of at most `links` directed links each. A partition with a single switch may have more.
    ///
    /// # Errors
    ///
    /// The reason why the network cannot be divided.
    pub fn in_pieces(experiment: &Experiment, threads: u32, links: u32) -> Result<Self, Undivided> {
        let window = partition_window(experiment)?;
        let network = &experiment.network;
        let hosts = network.hosts;
        // A host is in the partition of its switch, at the far end of the link with the host's number.
        let switch_of = |node: u32| if node < hosts { network.links[node as usize].to.0 } else { node };
        let mut ports = vec![0_u32; network.buffers.len()];
        for link in &network.links {
            ports[switch_of(link.from.0) as usize] += 1;
        }
        let mut pieces = pieces(experiment, links, &ports);
        pieces.sort_by_key(|piece| std::cmp::Reverse(piece.links));
        let threads = threads.clamp(1, pieces.len() as u32);
        let mut shares: Vec<Vec<Piece>> = vec![Vec::new(); threads as usize];
        let thread_of = deal(pieces.iter().map(|piece| piece.links), threads);
        pieces.into_iter().zip(thread_of).for_each(|(piece, thread)| shares[thread as usize].push(piece));
        let mut partition_of = vec![0; network.buffers.len()];
        for (partition, piece) in shares.iter().flatten().enumerate() {
            for &switch in &piece.switches {
                partition_of[switch as usize] = partition as u32;
            }
        }
        for host in 0..hosts {
            partition_of[host as usize] = partition_of[switch_of(host) as usize];
        }
        let links = shares.iter().flatten().map(|piece| piece.links).collect();
        Ok(Self { partition_of, shares: shares.iter().map(Vec::len).collect(), links, window })
    }

    /// Returns the number of partitions.
    pub fn partitions(&self) -> u32 {
        self.shares.iter().sum::<usize>() as u32
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> u32 {
        self.shares.len() as u32
    }

    /// Returns the number of partitions that each thread runs if the run uses `threads` threads. If the division has more threads, each
    /// thread of the run takes the partitions of several neighbouring threads of the division.
    pub(crate) fn shares_of(&self, threads: u32) -> Vec<usize> {
        let (all, few) = (self.shares.len(), threads as usize);
        let share = |thread: usize| self.shares[thread * all / few..(thread + 1) * all / few].iter().sum();
        (0..few).map(share).collect()
    }

    /// Returns the index of the thread that runs this partition.
    pub(crate) fn share_of(&self, partition: u32) -> usize {
        let mut before = 0;
        let ends = self.shares.iter().map(|share| {
            before += share;
            before
        });
        ends.take_while(|&end| end <= partition as usize).count()
    }

    /// Returns the partition of the node with this number.
    pub(crate) fn partition_of(&self, node: u32) -> u32 {
        self.partition_of[node as usize]
    }

    /// Returns the length of a short time window.
    pub fn window(&self) -> Duration {
        self.window
    }

    /// Returns, for each partition, the core that would run it on a machine with `cores` cores.
    pub(crate) fn dealt_to(&self, cores: u32) -> Vec<u32> {
        deal(self.links.iter().copied(), cores)
    }

    /// Returns the number of directed links in the partitions of each thread.
    fn links_of_threads(&self) -> Vec<u32> {
        let mut links = &self.links[..];
        let share = |&share: &usize| links.split_off(..share).unwrap_or_default().iter().sum();
        self.shares.iter().map(share).collect()
    }

    /// Returns the mean number of links per thread, divided by the number of links of the thread with the most links. This ratio, from 0 to
    /// 1, bounds the share of the ideal speed-up that the division can reach.
    pub fn evenness(&self) -> f64 {
        let links = self.links_of_threads();
        let (all, most) = (links.iter().sum::<u32>(), links.iter().max().copied().unwrap_or(1));
        f64::from(all) / (f64::from(most) * f64::from(self.threads()))
    }
}

/// Assigns each piece (group of switches) to the thread with the fewest links so far, and returns the thread of each piece. `links`
/// contains the number of links of each piece, largest first.
fn deal(links: impl Iterator<Item = u32>, threads: u32) -> Vec<u32> {
    let mut has = vec![0; threads as usize];
    let mut next = |links: u32| {
        let least = (0..threads).min_by_key(|&thread| has[thread as usize]).expect("there is a thread");
        has[least as usize] += links;
        least
    };
    links.map(&mut next).collect()
}

/// Group of switches that stay in one partition together with their hosts.
#[derive(Clone, Debug, Default)]
struct Piece {
    switches: Vec<u32>,
    /// Number of directed links that leave the switches of the group and their hosts.
    links: u32,
}

/// Groups switches into pieces of at most `links` directed links each; a piece with a single switch may have more. Switches with hosts and
/// switches without hosts are in different pieces. `ports` contains, for each switch, the number of links that leave it or its hosts.
fn pieces(experiment: &Experiment, links: u32, ports: &[u32]) -> Vec<Piece> {
    let network = &experiment.network;
    let mut has_hosts = vec![false; ports.len()];
    for link in &network.links[..network.hosts as usize] {
        has_hosts[link.to.0 as usize] = true;
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for kind in [true, false] {
        let mut open = Piece::default();
        let switches = network.hosts..ports.len() as u32;
        for switch in switches.filter(|&switch| has_hosts[switch as usize] == kind) {
            if open.links > 0 && open.links + ports[switch as usize] > links {
                pieces.push(std::mem::take(&mut open));
            }
            open.switches.push(switch);
            open.links += ports[switch as usize];
        }
        pieces.extend((!open.switches.is_empty()).then_some(open));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::testing::fabric;

    #[test]
    fn the_longest_flight_is_the_longest_delay_with_serialisation_and_the_largest_jitter() {
        let experiment = fabric(&[("workload.0.load", "0.8"), ("host.jitter", "60us")]);
        let links = &experiment.network.links;
        // 50 us, 1.2 us for 1,500 bytes at 10 Gb/s, and the jitter.
        assert_eq!(longest_flight(&experiment, links.iter()), Duration::from_nanos(50_000 + 1_200 + 60_000));
        let to_hosts = links.iter().filter(|link| link.to.0 < experiment.network.hosts);
        assert!(longest_flight(&experiment, to_hosts) < Duration::from_nanos(50_000 + 60_000));
    }
}
