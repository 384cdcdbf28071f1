//! Experiment: a scenario as plain data, in which everything is checked and every default is filled in.
//!
//! The simulator and the testbed read these types; only [`crate::parse()`] creates them.

use std::ops::Deref;
use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant, Rate};

use crate::agreement::Agreement;
use crate::check::InputFile;
use crate::groups::HostGroup;
use crate::resolved::Resolved;
use crate::roce::QueuePairs;
use crate::spec::FctEnd;
use crate::spec::workload::WhenBusy;
use crate::topology::{Epoch, Network};
use crate::workload::{Arrivals, Classed, Classes, Generator, LocalHosts, Workload};

/// Checked scenario with a seed.
///
/// Other crates can only read an experiment: its parts are the fields of [`Setup`], and only [`crate::parse()`] creates it.
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

/// Parts of an [`Experiment`].
#[derive(Clone, Debug)]
pub struct Setup {
    /// Name of the scenario.
    pub name: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Hosts, switches and links.
    pub network: Network,
    /// Configurations of hosts and of the connections between them.
    pub hosts: HostConfigs,
    /// Choice between new and persistent connections for each workload, in the order of [`Experiment::workloads`].
    pub connections: Vec<Connections>,
    /// Classes of service of each workload, in the order of [`Experiment::workloads`].
    pub classes: Vec<Classes>,
    /// Host pairs of each workload, in the order of [`Experiment::workloads`]. Most workloads send flows between the hosts of these pairs;
    /// workloads of queries may open persistent connections between them.
    pub pairs: Vec<Pairs>,
    /// Sources of unresponsive datagrams.
    pub datagram_sources: Vec<DatagramSource>,
    /// Host pairs that measure round-trip times with echo requests.
    pub probes: Vec<Probe>,
    /// Conditions that end the run.
    pub stop: Stop,
    /// Event that completes a flow: arrival at the receiver, or acknowledgement at the sender.
    pub fct: FctEnd,
    /// Upper edges of the flow-size bins, inclusive. Flows above the last edge have a bin of their own.
    pub bins: Vec<Bytes>,
    /// End of the warm-up. Flows that arrive earlier are simulated but not counted.
    pub warm_up: Duration,
    /// Time between two samples of queue lengths; `None` if they are not sampled.
    pub sample_queues: Option<Duration>,
    /// Port traces: ports whose state is recorded.
    pub port_traces: Vec<PortTrace>,
    /// Flow traces: flows whose senders are recorded. A flow belongs to the first trace that chooses it.
    pub flow_traces: Vec<FlowTrace>,
    /// Captures: packets that are written to files.
    pub captures: Vec<Capture>,
    /// Notes on values that were computed for this scenario, with formulas and inputs.
    pub notes: Vec<String>,
}

/// Configuration of the hosts of each group, and of the connections between groups.
#[derive(Clone, Debug)]
pub struct HostConfigs {
    /// Settings of each host group, by group number. Group 0 consists of the hosts that are in no other group.
    pub groups: Vec<HostGroup>,
    /// Parameters of connections, ordered by kind of connection, then sender's group, then receiver's group. Kind 0 has the hosts' own
    /// settings. The next kinds have the distinct `tcp` tables of workloads. The last kinds are those of queue pairs.
    pub(crate) agreements: Vec<Agreement>,
    /// For each workload that sends flows, the kind of its connections in `agreements`. Kind 0 has the hosts' own settings.
    pub(crate) kinds: Vec<u16>,
}

impl HostConfigs {
    /// Returns the parameters of connections with the hosts' own settings, from hosts of group `from` to hosts of group `to`. Connections
    /// of a workload with its own `tcp` table have the same packet sizes, timestamps, selective acknowledgements and receive window as
    /// these connections, but other parameters may differ.
    pub fn agreement(&self, from: usize, to: usize) -> &Agreement {
        &self.agreements[from * self.groups.len() + to]
    }

    /// Returns the parameters of a workload's connections from hosts of group `from` to hosts of group `to`. `workload` is the workload's
    /// number among the workloads that send flows.
    pub fn agreement_of(&self, workload: u16, from: usize, to: usize) -> &Agreement {
        let (kind, groups) = (usize::from(self.kinds[usize::from(workload)]), self.groups.len());
        &self.agreements[(kind * groups + from) * groups + to]
    }

    /// Returns the parameters of every kind of connection ([`Self::kinds`]), for every ordered pair of groups. With `n` groups, connections
    /// of kind `k` from group `i` to group `j` are at index `(k * n + i) * n + j`.
    pub fn agreements(&self) -> &[Agreement] {
        &self.agreements
    }

    /// Returns the connection kind of each workload that sends flows. Kind 0 has the hosts' own settings.
    pub fn kinds(&self) -> &[u16] {
        &self.kinds
    }
}

impl Experiment {
    /// Returns the sender's configuration for connections between two hosts that are in no group: the settings of `[tcp]`.
    pub fn tcp(&self) -> &shallows_transport::Config {
        &self.hosts.agreement(0, 0).sender
    }

    /// Returns the experiment for a run of unknown duration, without datagrams, echo requests, port traces and samples of queue lengths.
    /// Captures remain if `captures` is true.
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

    /// Returns the experiment with the changes of links and routes in `epochs`.
    ///
    /// # Errors
    ///
    /// Returns a message if times do not ascend, a link does not exist, a link would get an invalid state, or routes change although
    /// packets carry in-band telemetry.
    pub fn with_epochs(mut self, epochs: Vec<Epoch>) -> Result<Self, String> {
        if self.uses_telemetry()
            && epochs.iter().any(|epoch| !Arc::ptr_eq(&epoch.routing, &self.network.routing))
        {
            return Err(
                "routes must not change with in-band telemetry, whose header has room for few switches"
                    .to_owned(),
            );
        }
        self.setup.network.set_epochs(epochs)?;
        Ok(self)
    }

    /// Returns the settings of the group to which a host belongs.
    pub fn group(&self, host: HostId) -> &HostGroup {
        &self.hosts.groups[self.network.groups.of(host)]
    }

    /// Returns the negotiated parameters of connections with the hosts' own settings, from one host to another.
    pub fn agreement(&self, from: HostId, to: HostId) -> &Agreement {
        let groups = &self.network.groups;
        self.hosts.agreement(groups.of(from), groups.of(to))
    }

    /// Returns the settings of all queue pairs.
    fn queue_pairs(&self) -> impl Iterator<Item = &QueuePairs> {
        self.hosts.agreements.iter().filter_map(|agreement| agreement.queue_pairs.as_ref())
    }

    /// Returns whether some workload sends its flows on queue pairs.
    pub fn has_queue_pairs(&self) -> bool {
        self.queue_pairs().next().is_some()
    }

    /// Returns whether any queue pair has a congestion control.
    pub fn controls_queue_pairs(&self) -> bool {
        let none = shallows_rdma::congestion::Config::None;
        self.queue_pairs().any(|pairs| pairs.config.congestion != none)
    }

    /// Returns the congestion control that hosts of a group apply to data on a workload's queue pairs. `workload` is the workload's number
    /// among the workloads that send flows. The workload must have queue pairs.
    pub fn congestion_of(&self, workload: u16, group: u16) -> &shallows_rdma::congestion::Config {
        let agreement = self.hosts.agreement_of(workload, group.into(), group.into());
        let pairs = agreement.queue_pairs.as_ref().expect("the workload has queue pairs");
        &pairs.config.congestion
    }

    /// Returns whether switches add in-band telemetry to the packets of queue pairs.
    pub fn uses_telemetry(&self) -> bool {
        self.queue_pairs().any(|pairs| pairs.config.congestion.uses_telemetry())
    }

    /// Returns the parameters of PINT, the same for all queue pairs; `None` if no queue pair uses PINT.
    pub fn pint(&self) -> Option<shallows_rdma::congestion::pint::Config> {
        self.queue_pairs().find_map(|pairs| pairs.config.congestion.pint())
    }

    /// Returns the negotiated parameters of a workload's connections from one host to another. `workload` is the workload's number among
    /// the workloads that send flows.
    pub fn agreement_of(&self, workload: u16, from: HostId, to: HostId) -> &Agreement {
        let groups = &self.network.groups;
        self.hosts.agreement_of(workload, groups.of(from), groups.of(to))
    }

    /// Returns the parameters of each kind of connection that some workload uses, for each ordered pair of groups that have hosts. If no
    /// workload sends flows, every kind counts as used.
    pub(crate) fn agreements(&self) -> impl Iterator<Item = &Agreement> {
        let HostConfigs { groups, agreements, kinds } = &self.hosts;
        let count = groups.len();
        let there = move |group| self.network.groups.has_members(group);
        let is_used = move |kind: usize| kinds.contains(&(kind as u16)) || kinds.is_empty();
        let kinds = agreements.chunks(count * count).enumerate().filter(move |&(kind, _)| is_used(kind));
        let pairs = kinds.flat_map(|(_, pairs)| pairs.iter().enumerate());
        pairs.filter(move |(pair, _)| there(pair / count) && there(pair % count)).map(|(_, found)| found)
    }

    /// Creates the workloads that send flows, in the order of the scenario. They run at all hosts and have not started any flow.
    pub fn workloads(&self) -> Vec<Box<dyn Workload>> {
        self.workloads_at(&LocalHosts::all())
    }

    /// Creates the same workloads as [`Self::workloads`]. Workloads that react to their flows ([`Self::reacts`]) run only at `hosts`; all
    /// others return the flows of all hosts.
    pub fn workloads_at(&self, hosts: &LocalHosts) -> Vec<Box<dyn Workload>> {
        let classed = |(index, (generator, classes)): (usize, (&Generator, &Classes))| {
            let workload = Classed::new(generator.start(hosts), classes.clone(), self.seed, index as u64);
            Box::new(workload) as Box<dyn Workload>
        };
        self.generators.iter().zip(&self.classes).enumerate().map(classed).collect()
    }

    /// Returns the latest stop time among the sources of datagrams and echo requests; `None` if no source has a stop time.
    pub fn sources_stop(&self) -> Option<Instant> {
        let datagrams = self.datagram_sources.iter().filter_map(|source| source.stop);
        datagrams.chain(self.probes.iter().filter_map(|probe| probe.stop)).max()
    }

    /// Returns the total number of flows; `None` if it is unknown or if some flows may start after the end of the run.
    pub fn expected_flows(&self) -> Option<u64> {
        self.generators.iter().map(Generator::expected_flows).sum()
    }

    /// Returns the expected number of flows of each workload by the end of the run. Flows whose start depends on events during the run are
    /// not counted.
    pub fn arrivals(&self) -> Vec<Arrivals> {
        self.generators.iter().map(|generator| generator.arrivals(self.stop.at)).collect()
    }

    /// Returns one value for each workload that sends flows: whether it reacts to the progress of its flows.
    pub fn reacts(&self) -> Vec<bool> {
        self.generators.iter().map(Generator::reacts).collect()
    }

    /// Returns whether an event at one host can start flows at another host at once, without a packet between them. This occurs in flow
    /// lists in which a flow waits for an event at a host other than its sender, in queries without requests, and in closed-loop queries
    /// that draw their client.
    pub fn crosses_hosts(&self) -> bool {
        self.generators.iter().any(Generator::crosses_hosts)
    }

    /// Returns one value for each workload that sends flows: whether its responses use the connections of their requests.
    pub fn shares(&self) -> Vec<bool> {
        self.generators.iter().map(Generator::shares).collect()
    }

    /// Returns one value for each workload that sends flows: whether it sends queries.
    pub fn asks(&self) -> Vec<bool> {
        self.generators.iter().map(Generator::asks).collect()
    }

    /// Returns the scenario with all defaults filled in. It contains everything that affects a run except the contents of input files.
    ///
    /// The result, written as TOML, is a scenario that describes the same experiment.
    ///
    /// # Panics
    ///
    /// Panics if the scenario cannot be written as JSON, which is a defect of this program.
    pub fn resolved(&self) -> serde_json::Value {
        serde_json::to_value(&self.resolved).expect("a checked scenario has finite numbers and text keys")
    }

    /// Returns the input files that the scenario names.
    pub fn inputs(&self) -> &[InputFile] {
        &self.inputs
    }
}

/// Conditions that end a run. The run ends as soon as one of them is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Time at which the run ends; `None` for no limit.
    pub at: Option<Instant>,
    /// Whether the run ends as soon as every flow is complete, every source of datagrams or echo requests has stopped, and no packet of
    /// such a source is in flight. False if a workload has no end. Also false if the run has both a stop time (`at`) and such a source.
    pub on_completion: bool,
}

/// Request to record the state of ports during the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortTrace {
    /// Numbers of the links that leave the recorded ports.
    pub links: Vec<u32>,
    /// Time between two records; `None` to record every change.
    pub every: Option<Duration>,
}

/// Request to write a file that contains the packets sent by some ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// Name of the file, without the ending `.pcapng`.
    pub name: String,
    /// Numbers of the links that leave the captured ports, ascending.
    pub links: Vec<u32>,
    /// Number of bytes that the file keeps of each packet.
    pub snap: u32,
}

/// Request to record the state of senders during the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowTrace {
    /// Flows that are recorded.
    pub choice: FlowChoice,
    /// Time between two records; `None` to record every change.
    pub every: Option<Duration>,
}

/// Choice of the flows to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// Flows with these numbers, ascending.
    Numbers(Vec<u32>),
    /// Flows of a workload, by its index in [`Experiment::workloads`].
    Workload(u16),
    /// Uniform random sample of the flows of one workload or of all.
    Sample {
        /// Number of flows in the sample.
        count: u32,
        /// Index of the workload in [`Experiment::workloads`]; `None` to sample from all workloads.
        workload: Option<u16>,
    },
}

/// Choice between new and persistent connections for the flows of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// A new connection for each flow, closed when every byte is acknowledged.
    New,
    /// A pool of connections for each pair of hosts. A connection keeps its congestion window, DCTCP's alpha and its round-trip time from
    /// flow to flow.
    Persistent {
        /// Number of connections of each pair at the start of the run.
        per_pair: u32,
        /// Largest number of flows on a connection at a time; more than 1 only for queue pairs, with [`WhenBusy::Queue`].
        queue_depth: u32,
        /// Rule for a flow that finds every connection of its host pair busy.
        when_busy: WhenBusy,
        /// Data that each connection sends before its first flow; `None` if it sends none.
        warm_up: Option<WarmUp>,
    },
}

/// Data that a persistent connection sends before its first flow, for example to measure its round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// Number of bytes of warm-up data.
    pub bytes: Bytes,
    /// Earliest time at which the warm-up data is sent. Each connection draws its own time uniformly between `from` and `to`.
    pub from: Instant,
    /// Latest time at which the warm-up data is sent.
    pub to: Instant,
}

/// Ordered pairs of distinct hosts.
#[derive(Clone, Debug)]
pub enum Pairs {
    /// Every sender paired with every receiver except itself.
    Product {
        /// Sending hosts.
        senders: Vec<HostId>,
        /// Receiving hosts.
        receivers: Vec<HostId>,
    },
    /// Explicit list of pairs.
    List(Vec<(HostId, HostId)>),
}

impl Pairs {
    /// Returns the pairs, each once, in a fixed order.
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

/// Source of datagrams from one host to another.
#[derive(Clone, Debug)]
pub struct DatagramSource {
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Time at which the first datagram leaves.
    pub start: Instant,
    /// Time after which no datagram is sent; `None` for no limit.
    pub stop: Option<Instant>,
    /// Bytes of data in each datagram, without headers.
    pub payload: Bytes,
    /// Rule for the times at which datagrams leave.
    pub pattern: DatagramPattern,
    /// Whether the datagrams are ECN-capable.
    pub ecn: bool,
    /// Class of service (DSCP).
    pub class: u8,
}

/// Source of echo requests from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Host that sends requests.
    pub source: HostId,
    /// Host that replies.
    pub destination: HostId,
    /// Time at which the first request leaves.
    pub start: Instant,
    /// Time after which no request is sent; `None` for no limit.
    pub stop: Option<Instant>,
    /// Time from one request to the next.
    pub interval: Duration,
    /// Bytes of data in each request, after the IP and ICMP headers.
    pub payload: Bytes,
    /// Whether requests and replies are ECN-capable.
    pub ecn: bool,
    /// Class of service (DSCP) of requests and replies.
    pub class: u8,
}

/// Rule for the times at which datagrams leave. Rates count every byte on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DatagramPattern {
    /// Equal intervals between datagrams.
    Constant {
        /// Rate, in bits per second on the wire.
        rate: Rate,
    },
    /// Exponentially distributed intervals between datagrams.
    Poisson {
        /// Average rate, in bits per second on the wire.
        rate: Rate,
    },
    /// Repeated bursts: datagrams at equal intervals for the time `on`, then a pause of `off`.
    OnOff {
        /// Rate during a burst, in bits per second on the wire.
        rate: Rate,
        /// Duration of a burst.
        on: Duration,
        /// Duration of the pause after a burst.
        off: Duration,
    },
}
