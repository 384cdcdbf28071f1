//! Checked experiment: plain data in which every default is filled in, ready to run.
//!
//! Both ways to run a scenario read these types; only [`crate::parse`] makes them. Nothing here decides anything.

use std::ops::Deref;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant, Rate};

use crate::agreement::Agreement;
use crate::check::InputFile;
use crate::groups::HostGroup;
use crate::resolved::Resolved;
use crate::spec::FctEnd;
use crate::spec::workload::WhenBusy;
use crate::topology::{Epoch, Network};
use crate::workload::{Arrivals, Classed, Classes, Generator, LocalHosts, Workload};

/// A checked scenario under one seed.
///
/// Other crates only read it: its parts are the fields of [`Setup`], and [`crate::parse`] alone makes one.
///
/// ```compile_fail
/// fn edit(experiment: &mut shallows_scenario::Experiment) {
///     experiment.seed = 7;
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Experiment {
    pub(crate) setup: Setup,
    pub(crate) resolved: Resolved,
    pub(crate) inputs: Vec<InputFile>,
    pub(crate) generators: Vec<Generator>,
}

impl Deref for Experiment {
    type Target = Setup;

    fn deref(&self) -> &Setup {
        &self.setup
    }
}

/// The parts of an [`Experiment`].
#[derive(Clone, Debug)]
pub struct Setup {
    /// Name of the scenario.
    pub name: String,
    /// Root of every random stream.
    pub seed: u64,
    /// Hosts, switches and links.
    pub network: Network,
    /// Configuration of hosts and of their connections.
    pub hosts: HostConfigs,
    /// How the flows of each workload use connections; same order as [`Experiment::workloads`].
    pub connections: Vec<Connections>,
    /// The classes of service of each workload; same order.
    pub classes: Vec<Classes>,
    /// The pairs between which each workload may send, of workloads of queries those that may have persistent
    /// connections; same order.
    pub pairs: Vec<Pairs>,
    /// Sources of datagrams that do not react.
    pub datagram_sources: Vec<DatagramSource>,
    /// Pairs that measure round-trip times.
    pub probes: Vec<Probe>,
    /// When the run ends.
    pub stop: Stop,
    /// When a flow counts as complete.
    pub fct: FctEnd,
    /// Upper edges of the flow-size bins, inclusive; a last bin without edge follows.
    pub bins: Vec<Bytes>,
    /// Flows that arrive earlier are simulated and not counted.
    pub warm_up: Duration,
    /// How often queue lengths are recorded, if at all.
    pub sample_queues: Option<Duration>,
    /// Ports whose state is recorded.
    pub port_traces: Vec<PortTrace>,
    /// Flows whose senders are recorded; a flow belongs to the first that chooses it.
    pub flow_traces: Vec<FlowTrace>,
    /// Packets that are kept in files.
    pub captures: Vec<Capture>,
    /// Values computed for the scenario, with formulas and inputs.
    pub notes: Vec<String>,
}

/// Configuration of hosts by group, and of their connections.
#[derive(Clone, Debug)]
pub struct HostConfigs {
    /// By group, the hosts in no other first.
    pub groups: Vec<HostGroup>,
    /// By groups of the sender and the receiver; of connections as hosts have them, then of each other kind.
    pub(crate) agreements: Vec<Agreement>,
    /// By workload that sends flows: which kind its connections are of, 0 being as hosts have them.
    pub(crate) kinds: Vec<u16>,
}

impl HostConfigs {
    /// How connections behave from hosts of one group to those of another, unless their workload says otherwise. What packets look
    /// like it may not: their sizes, timestamps, selective acknowledgements and the receive window are these.
    pub fn agreement(&self, from: usize, to: usize) -> &Agreement {
        &self.agreements[from * self.groups.len() + to]
    }

    /// How those of each kind behave, by groups of the sender and the receiver.
    pub fn agreements(&self) -> &[Agreement] {
        &self.agreements
    }

    /// Kind of the connections of each workload that sends flows.
    pub fn kinds(&self) -> &[u16] {
        &self.kinds
    }
}

impl Experiment {
    /// Configuration of connections between hosts without a group: `[tcp]`.
    pub fn tcp(&self) -> &shallows_transport::Config {
        &self.hosts.agreement(0, 0).sender
    }

    /// The same network without anything that sends of its own, and without records that grow for as long as it stands. Captures stay
    /// if it `captures`.
    #[must_use]
    pub fn idle(mut self, captures: bool) -> Self {
        self.setup.sample_queues = None;
        self.setup.port_traces.clear();
        self.setup.datagram_sources.clear();
        self.setup.probes.clear();
        if !captures {
            self.setup.captures.clear();
        }
        self
    }

    /// The same, on a network that changes at these times.
    ///
    /// # Errors
    ///
    /// If times do not ascend, or a link does not exist or becomes what a link cannot be.
    pub fn with_epochs(mut self, epochs: Vec<Epoch>) -> Result<Self, String> {
        self.setup.network.set_epochs(epochs)?;
        Ok(self)
    }

    /// Configuration of a host.
    pub fn group(&self, host: HostId) -> &HostGroup {
        &self.hosts.groups[self.network.groups.of(host)]
    }

    /// How connections behave from one host to another, unless their workload says otherwise.
    pub fn agreement(&self, from: HostId, to: HostId) -> &Agreement {
        let groups = &self.network.groups;
        self.hosts.agreement(groups.of(from), groups.of(to))
    }

    /// How connections of each kind that there is behave between hosts that there are, each way once.
    pub(crate) fn agreements(&self) -> impl Iterator<Item = &Agreement> {
        let HostConfigs { groups, agreements, kinds } = &self.hosts;
        let count = groups.len();
        let there = move |group| self.network.groups.has_members(group);
        let is_used = move |kind: usize| kinds.contains(&(kind as u16)) || kinds.is_empty();
        let kinds = agreements.chunks(count * count).enumerate().filter(move |&(kind, _)| is_used(kind));
        let pairs = kinds.flat_map(|(_, pairs)| pairs.iter().enumerate());
        pairs.filter(move |(pair, _)| there(pair / count) && there(pair % count)).map(|(_, found)| found)
    }

    /// The workloads that send flows, fresh from the seed, in the order of the scenario. They run at all hosts.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        self.workloads_at(&LocalHosts::all())
    }

    /// The same; those that react ([`Self::reacts`]) run at these hosts alone.
    pub fn workloads_at(&self, hosts: &LocalHosts) -> Vec<Box<dyn Workload>> {
        let classed = |(index, (generator, classes)): (usize, (&Generator, &Classes))| {
            let workload = Classed::new(generator.start(hosts), classes.clone(), self.seed, index as u64);
            Box::new(workload) as Box<dyn Workload>
        };
        self.generators.iter().zip(&self.classes).enumerate().map(classed).collect()
    }

    /// When the last of the sources of datagrams and echo requests stops that stop at a time of their own.
    pub fn sources_stop(&self) -> Option<Instant> {
        let datagrams = self.datagram_sources.iter().filter_map(|source| source.stop);
        datagrams.chain(self.probes.iter().filter_map(|probe| probe.stop)).max()
    }

    /// How many flows will have arrived in the end, if that is known and the run does not end before.
    pub fn expected_flows(&self) -> Option<u64> {
        self.generators.iter().map(Generator::expected_flows).sum()
    }

    /// Average traffic of each workload until the end of the run, as far as it does not depend on events of the run.
    pub fn arrivals(&self) -> Vec<Arrivals> {
        self.generators.iter().map(|generator| generator.arrivals(self.stop.at)).collect()
    }

    /// By workload that sends flows: whether it decides by what becomes of its flows.
    pub fn reacts(&self) -> Vec<bool> {
        self.generators.iter().map(Generator::reacts).collect()
    }

    /// Whether something that happens at one host starts flows at another, at once and without a packet: lists whose flows wait for
    /// what happens at other hosts than their senders, and queries that go on without requests.
    pub fn crosses_hosts(&self) -> bool {
        self.generators.iter().any(Generator::crosses_hosts)
    }

    /// By workload that sends flows: whether its answers go on the connections of their requests.
    pub fn shares(&self) -> Vec<bool> {
        self.generators.iter().map(Generator::shares).collect()
    }

    /// By workload that sends flows: whether it asks queries.
    pub fn asks(&self) -> Vec<bool> {
        self.generators.iter().map(Generator::asks).collect()
    }

    /// The scenario with every default spelled out; what a run depends on, apart from its input files.
    ///
    /// Written as TOML it is a scenario again, of the same experiment.
    ///
    /// # Panics
    ///
    /// If it cannot be written as JSON, which is a defect of this program.
    pub fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.resolved).expect("a checked scenario has finite numbers and text keys")
    }

    /// The files that the scenario names, as they were read.
    pub fn inputs(&self) -> &[InputFile] {
        &self.inputs
    }
}

/// When the run ends: whichever of the two comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// At this time.
    pub at: Option<Instant>,
    /// As soon as every flow has arrived and is complete, every source of datagrams or echo requests has stopped, and nothing of theirs
    /// is under way. Off where something has no end of its own, and where a run with such sources has a time.
    pub on_completion: bool,
}

/// A record of the state of ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortTrace {
    /// Numbers of the links whose ports are recorded.
    pub links: Vec<u32>,
    /// How often; none is at every change.
    pub every: Option<Duration>,
}

/// A file of the packets that some ports send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Name of the file, without its ending.
    pub name: String,
    /// Numbers of the links whose ports are captured, ascending.
    pub links: Vec<u32>,
    /// How many bytes of each packet are kept.
    pub snap: u32,
}

/// A record of the state of senders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTrace {
    /// Choice of flows.
    pub choice: FlowChoice,
    /// How often; none is at every change.
    pub every: Option<Duration>,
}

/// A choice among flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// Flows with these numbers, ascending.
    Numbers(Vec<u32>),
    /// Flows of a workload, by its place in [`Experiment::workloads`].
    Workload(u16),
    /// So many, each as likely as any other, of a workload or of all.
    Sample {
        /// How many.
        count: u32,
        /// Workload to choose from; all if `None`.
        workload: Option<u16>,
    },
}

/// How the flows of a workload use connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// A new one for each flow, which closes when the sender has every acknowledgement.
    New,
    /// A pool for each pair, whose window, alpha and round-trip time survive from flow to flow.
    Persistent {
        /// Connections of each pair at the start of the run.
        per_pair: u32,
        /// Behaviour of a flow that finds all connections busy.
        when_busy: WhenBusy,
        /// Data that each connection sends before the first flow.
        warm_up: Option<WarmUp>,
    },
}

/// A few bytes that prime a persistent connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// How many.
    pub bytes: Bytes,
    /// Each connection draws its time uniformly from here …
    pub from: Instant,
    /// … to here.
    pub to: Instant,
}

/// Ordered pairs of distinct hosts.
#[derive(Clone, Debug)]
pub enum Pairs {
    /// Every sender with every receiver but itself.
    Product {
        /// Sending host.
        senders: Vec<HostId>,
        /// Receiving host.
        receivers: Vec<HostId>,
    },
    /// These.
    List(Vec<(HostId, HostId)>),
}

impl Pairs {
    /// The pairs, each once, in a fixed order.
    pub fn iter(&self) -> Box<dyn Iterator<Item = (HostId, HostId)> + '_> {
        match self {
            Self::List(pairs) => Box::new(pairs.iter().copied()),
            Self::Product { senders, receivers } => Box::new(
                senders
                    .iter()
                    .flat_map(move |&from| receivers.iter().map(move |&to| (from, to)))
                    .filter(|(from, to)| from != to),
            ),
        }
    }
}

/// A source of datagrams between two hosts.
#[derive(Clone, Debug)]
pub struct DatagramSource {
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// When the first one leaves.
    pub start: Instant,
    /// From here on nothing is sent.
    pub stop: Option<Instant>,
    /// Bytes of data in each, without headers.
    pub payload: Bytes,
    /// When they leave.
    pub pattern: DatagramPattern,
    /// Whether they are ECN-capable.
    pub ecn: bool,
    /// Class of service (DSCP).
    pub class: u8,
}

/// Echo requests from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Host that sends requests.
    pub source: HostId,
    /// Host that answers.
    pub destination: HostId,
    /// When the first request leaves.
    pub start: Instant,
    /// From here on nothing is asked.
    pub stop: Option<Instant>,
    /// From one request to the next.
    pub interval: Duration,
    /// Bytes of data beside IP and ICMP headers.
    pub payload: Bytes,
    /// Whether requests and replies are ECN-capable.
    pub ecn: bool,
    /// Class of service (DSCP) of both.
    pub class: u8,
}

/// When datagrams leave. Rates count every byte on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DatagramPattern {
    /// At equal intervals.
    Constant {
        /// Wire bits per second.
        rate: Rate,
    },
    /// At exponential intervals.
    Poisson {
        /// Wire bits per second, on average.
        rate: Rate,
    },
    /// At equal intervals for `on`, then nothing for `off`, and again.
    OnOff {
        /// Wire bits per second while it sends.
        rate: Rate,
        /// Length of a burst.
        on: Duration,
        /// Length of the silence after it.
        off: Duration,
    },
}
