//! How a network is divided into parts that can run beside each other.
//!
//! Parts meet only on links between switches. What a part does reaches another no sooner than the shortest of their
//! delays, so that all may run that long without hearing of one another: a *cell* of simulated time.

use std::fmt;

use shallows_core::Duration;
use shallows_scenario::Experiment;

/// Which part each node is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    parts: u32,
    /// By node.
    part_of: Vec<u32>,
    /// Directed links of each part.
    links: Vec<u32>,
    cell: Duration,
}

/// Why a scenario runs as one part, whatever the number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Undivided {
    /// There is no link between two switches.
    OneSwitch,
    /// Some link between switches has no delay.
    NoDelay,
    /// Some workload decides by what becomes of its flows, at once and anywhere.
    Reacts,
    /// Packets of several ports go into one file, in order.
    Captures,
    /// Which flows are traced is drawn while they arrive.
    FlowTraces,
}

impl fmt::Display for Undivided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OneSwitch => "no link joins two switches",
            Self::NoDelay => "a link between switches has no delay",
            Self::Reacts => {
                "a workload decides at once by what becomes of its flows (queries, lists that wait)"
            }
            Self::Captures => "packets are captured",
            Self::FlowTraces => "flows are traced",
        })
    }
}

/// The shortest time in which one switch can tell another anything, which is how long parts run on their own.
///
/// # Errors
///
/// Why the network cannot be divided.
pub fn cell(experiment: &Experiment) -> Result<Duration, Undivided> {
    let network = &experiment.network;
    let between_switches = network.links.iter().filter(|link| link.from.0.min(link.to.0) >= network.hosts);
    let cell = between_switches.map(|link| link.delay).min().ok_or(Undivided::OneSwitch)?;
    if cell == Duration::ZERO {
        return Err(Undivided::NoDelay);
    }
    if experiment.reacts() {
        return Err(Undivided::Reacts);
    }
    if !experiment.captures.is_empty() {
        return Err(Undivided::Captures);
    }
    if !experiment.flow_traces.is_empty() {
        return Err(Undivided::FlowTraces);
    }
    Ok(cell)
}

impl Division {
    /// Divide the network of `experiment` into at most `parts`, as even as whole switches with their hosts allow.
    ///
    /// # Errors
    ///
    /// Why that cannot be.
    pub fn new(experiment: &Experiment, parts: u32) -> Result<Self, Undivided> {
        let cell = cell(experiment)?;
        let network = &experiment.network;
        let hosts = network.hosts as usize;
        // A host belongs to the switch at the far end of its link, which has the host's number.
        let switch_of =
            |node: u32| if (node as usize) < hosts { network.links[node as usize].to.0 } else { node };
        let mut ports = vec![0_u32; network.buffers.len()];
        for link in &network.links {
            ports[switch_of(link.from.0) as usize] += 1;
        }
        // The largest first, each to the part that has the least so far.
        let mut switches: Vec<u32> = (network.hosts..network.buffers.len() as u32).collect();
        switches.sort_by_key(|&switch| std::cmp::Reverse(ports[switch as usize]));
        let parts = parts.clamp(1, switches.len() as u32);
        let mut links = vec![0; parts as usize];
        let mut part_of = vec![0; network.buffers.len()];
        for switch in switches {
            let lightest = (0..parts).min_by_key(|&part| links[part as usize]).expect("there is a part");
            links[lightest as usize] += ports[switch as usize];
            part_of[switch as usize] = lightest;
        }
        for host in 0..hosts as u32 {
            part_of[host as usize] = part_of[switch_of(host) as usize];
        }
        Ok(Self { parts, part_of, links, cell })
    }

    /// How many parts there are.
    pub fn parts(&self) -> u32 {
        self.parts
    }

    /// The part of the node with this number.
    pub(crate) fn part_of(&self, node: u32) -> u32 {
        self.part_of[node as usize]
    }

    /// How long parts run on their own.
    pub fn cell(&self) -> Duration {
        self.cell
    }

    /// Links of all parts over those of as many parts like the largest: what threads gain at most, over their number.
    pub fn evenness(&self) -> f64 {
        let (all, most) = (self.links.iter().sum::<u32>(), self.links.iter().max().copied().unwrap_or(1));
        f64::from(all) / (f64::from(most) * f64::from(self.parts))
    }
}
