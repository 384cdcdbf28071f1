//! Checks the `[[workload]]` tables and builds generators, datagram sources and probes from them.

mod classes;
mod datagrams;
mod queries;

use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};

use super::distribution::Sizes;
use super::flow_list::FlowList;
use super::load::Matrix;
use super::schedule::{IncastConfig, LongLived};
use super::{Chain, Classes, Generator, Incast, Pairwise, Poisson, Schedule, flow_list, poisson};
use crate::check::Checker;
use crate::experiment::{Connections, DatagramSource, HostConfigs, Pairs, Probe, WarmUp};
use crate::groups::HostGroup;
use crate::hosts::HostSet;
use crate::own_roce::{OwnRoce, OwnRoces};
use crate::resolved::Resolved;
use crate::spec::{self, LoadOf, Workload};
use crate::topology::Network;

/// Traffic of an experiment.
#[derive(Debug, Default)]
pub(crate) struct CheckedTraffic {
    pub(crate) generators: Vec<Generator>,
    pub(crate) connections: Vec<Connections>,
    pub(crate) pairs: Vec<Pairs>,
    pub(crate) classes: Vec<Classes>,
    pub(crate) datagram_sources: Vec<DatagramSource>,
    pub(crate) probes: Vec<Probe>,
    /// Default payload of datagrams: pairs of a workload's index in the scenario and the bytes of data in each of its datagrams.
    pub(crate) payloads: Vec<(usize, Bytes)>,
    /// Whether at least one workload has no end.
    pub(crate) unbounded: bool,
}

/// Maximum number of connections, and maximum number of simultaneous flows. More would not fit into memory.
const MAX_OPEN: u64 = 1 << 22;
/// Maximum number of flows of a workload, because flow numbers have 32 bits.
const MAX_FLOWS: u64 = u32::MAX as u64;
/// Maximum duration of the traffic of a workload: 100 days, in picoseconds. Simulated time can represent 213 days.
const LONGEST_RUN_PS: f64 = 100.0 * 86_400e12;
/// State while the workloads are checked and built.
struct Builder<'a, 'c, 'd> {
    network: &'a Network,
    hosts: &'a HostConfigs,
    seed: u64,
    end: Option<Instant>,
    checker: &'c mut Checker<'d>,
    traffic: CheckedTraffic,
    /// Load of each link from the Poisson and UDP workloads that are already built, as a share of the link's rate.
    offered: Vec<f64>,
}

/// Builds the traffic of `spec`. Problems are recorded in `checker`.
pub(crate) fn build(
    spec: &Resolved,
    own_roce: &OwnRoces,
    network: &Network,
    hosts: &HostConfigs,
    checker: &mut Checker<'_>,
) -> CheckedTraffic {
    let end = spec.stop.at.map(|at| Instant(at.0.0));
    let offered = vec![0.0; network.links.len()];
    let traffic = CheckedTraffic::default();
    let mut builder = Builder { network, hosts, seed: spec.seed, end, checker, traffic, offered };
    for (index, workload) in spec.workload.iter().enumerate() {
        let key = format!("workload[{index}]");
        match workload {
            Workload::Poisson(w) => builder.poisson(w, &key),
            Workload::LongLived(w) => builder.long_lived(w, &key),
            Workload::Incast(w) => builder.incast(w, &key),
            Workload::PartitionAggregate(w) => builder.partition_aggregate(w, &key),
            Workload::BlockTransfer(w) => builder.block_transfer(w, &key),
            Workload::FlowList(w) => builder.flow_list(w, &key),
            Workload::Udp(w) => builder.udp(w, index, &key),
            Workload::Ping(w) => builder.ping(w, &key),
        };
    }
    for (group, HostGroup { ack_class, .. }) in hosts.groups.iter().enumerate() {
        if let Some(class) = *ack_class {
            let key = group.checked_sub(1).map_or_else(String::new, |index| format!("host.group[{index}]."));
            builder.class_of_replies(class, &format!("{key}tcp.ack_class"));
        }
    }
    for OwnRoce { key, roce } in &own_roce.all {
        for (name, class) in [("ack_class", roce.ack_class), ("cnp.class", roce.cnp.class)] {
            if let Some(class) = class {
                builder.class_of_replies(class, &format!("{key}.{name}"));
            }
        }
    }
    builder.traffic
}

/// Senders and receivers of a workload. They contain at least one pair of distinct hosts.
type Sets = (Vec<HostId>, Vec<HostId>);

impl Builder<'_, '_, '_> {
    fn number(&self) -> u16 {
        // Scenarios with more workloads than 16 bits can number are rejected earlier.
        self.traffic.generators.len() as u16
    }

    fn add(&mut self, generator: Generator, connections: Connections, pairs: Pairs, classes: Classes) {
        self.traffic.classes.push(classes);
        self.traffic.generators.push(generator);
        self.traffic.connections.push(connections);
        self.traffic.pairs.push(pairs);
    }

    /// Returns the size of the largest packet that every host in `hosts` accepts.
    fn mtu(&self, hosts: [&[HostId]; 2]) -> Bytes {
        let of = |&host: &HostId| self.hosts.groups[self.network.groups.of(host)].mtu;
        hosts.into_iter().flatten().map(of).min().unwrap_or(self.network.mtu)
    }

    fn sets(&mut self, senders: &HostSet, receivers: &HostSet, key: &str) -> Option<Sets> {
        let network = self.network;
        let senders = self.checker.accept(&format!("{key}.senders"), senders.resolve(network));
        let receivers = self.checker.accept(&format!("{key}.receivers"), receivers.resolve(network));
        let (senders, receivers) = senders.zip(receivers)?;
        if senders == receivers && senders.len() == 1 {
            let message = format!("must include a host other than host {}, the only sender", senders[0].0);
            self.checker.refuse(&format!("{key}.receivers"), message);
            return None;
        }
        Some((senders, receivers))
    }

    fn poisson(&mut self, w: &spec::Poisson, key: &str) -> Option<()> {
        let sizes = Sizes::build(&w.sizes, |path| self.checker.read(&format!("{key}.sizes"), path));
        let sizes = self.checker.accept(&format!("{key}.sizes"), sizes).flatten();
        let sets = self.sets(&w.senders, &w.receivers, key);
        let flows = w.flows.unwrap_or(1);
        let counted = self.checker.require((1..=MAX_FLOWS).contains(&flows), &format!("{key}.flows"), || {
            format!("must be from 1 to {MAX_FLOWS}, got {flows}")
        });
        let ends = self.checker.require(w.flows.is_some() || self.end.is_some(), key, || {
            "the workload must have an end: set flows, or set stop.at for the run".to_owned()
        });
        let (sizes, (senders, receivers)) = sizes.zip(sets)?;
        let rate = self.flow_rate(w, &sizes, &senders, &receivers, key)?;
        let connections = self.connections(&w.connections, || count_pairs(&senders, &receivers), key)?;
        let mean_gap = 1e12 / rate;
        let fits =
            self.checker.require(mean_gap * flows as f64 <= LONGEST_RUN_PS, &format!("{key}.load"), || {
                format!(
                    "a load of {} is too low: {flows} flows take {:.0} days, and the maximum is 100; increase the \
                     load or use fewer flows",
                    w.load,
                    mean_gap * flows as f64 / 86_400e12
                )
            });
        let pairs = count_pairs(&senders, &receivers);
        let few = w.draws == spec::Draws::Own || pairs <= MAX_OPEN;
        self.checker.require(few, &format!("{key}.draws"), || {
            format!(
                "draws = \"ns-2\" needs at most {MAX_OPEN} pairs of hosts, got {pairs}; use fewer hosts, or draws = \
                 \"own\""
            )
        });
        if !(counted && ends && fits && few) {
            return None;
        }
        let config = poisson::Config {
            seed: self.seed,
            workload: self.number(),
            sizes: Arc::new(sizes),
            senders: senders.clone().into(),
            receivers: receivers.clone().into(),
            mean_gap,
            start: Instant(w.start.0.0),
            flows: w.flows,
            end: self.end.unwrap_or(Instant::MAX),
        };
        let generator = match w.draws {
            spec::Draws::Own => Generator::Poisson(Poisson::new(config)),
            spec::Draws::Ns2 => Generator::Pairwise(Pairwise::new(config)),
        };
        let pairs = Pairs::Product { senders, receivers };
        let classes = self.classes(&w.class, key)?;
        self.add(generator, connections, pairs, classes);
        Some(())
    }

    /// Returns the number of flows per second that gives the workload `w` its load. Returns `None` and records a problem if the load is
    /// invalid or a link is offered more than its capacity.
    fn flow_rate(
        &mut self,
        w: &spec::Poisson,
        sizes: &Sizes,
        senders: &[HostId],
        receivers: &[HostId],
        key: &str,
    ) -> Option<f64> {
        let at = format!("{key}.load");
        let matrix = Matrix::new(self.network, senders, receivers)?;
        let (capacity, crossing) = matrix.capacity(w.of);
        let (what, remedy) = match w.of {
            LoadOf::Receivers => ("links to the receivers", ""),
            LoadOf::Senders => ("links of the senders", ""),
            LoadOf::Uplinks => {
                ("uplinks", "; set of = \"receivers\" for a load of the links to the receivers")
            }
        };
        let crosses = self.checker.require(capacity > 0.0 && crossing > 0.0, &format!("{key}.of"), || {
            format!("at least one flow must cross the {what}{remedy}")
        });
        let load = w.load;
        let most = if w.overload { 1_000.0 } else { 1.0 };
        let sound = self.checker.require(load > 0.0 && load < most, &at, || match w.overload {
            true => format!("must be above 0 and below 1000, got {load}"),
            false => format!(
                "must be above 0 and below 1, got {load}; for a load of 1 or more, set overload = true"
            ),
        });
        if !(crosses && sound) {
            return None;
        }
        // Each entry is for one pair of groups: its flows, their share of all flows, and how they are divided into segments.
        let [from, to] = [senders, receivers].map(|hosts| self.by_group(hosts));
        let mut parts = Vec::new();
        for (a, b) in (0..from.len()).flat_map(|a| (0..to.len()).map(move |b| (a, b))) {
            if let Some(part) = Matrix::new(self.network, &from[a], &to[b]) {
                let share = part.pairs() / matrix.pairs();
                parts.push((part, share, self.hosts.agreement_of(self.number(), a, b).segments()));
            }
        }
        let counted = parts.iter().map(|(part, share, segments)| {
            share * segments.mean_bytes(sizes, w.counted) * part.capacity(w.of).1
        });
        let rate = load * capacity / (8.0 * counted.sum::<f64>());
        let (mut share, mut link) = (0.0, 0);
        for (part, of_all, segments) in &parts {
            let wire = 8.0 * segments.mean_bytes(sizes, spec::Counted::Wire);
            let (worst, at) = self.offer(part, rate * wire * of_all);
            if worst > share {
                (share, link) = (worst, at);
            }
        }
        let fits = self.checker.require(share < 1.0 || w.overload, &at, || {
            let link = &self.network.links[link];
            format!(
                "with a load of {load}, the link {} would carry {:.4} times its rate of {}, headers included; use a \
                 lower load, or set overload = true",
                link.name, share, link.rate
            )
        });
        fits.then_some(rate)
    }

    /// Returns the hosts of each group, by group number.
    fn by_group(&self, hosts: &[HostId]) -> Vec<Vec<HostId>> {
        let mut found = vec![Vec::new(); self.hosts.groups.len()];
        for &host in hosts {
            found[self.network.groups.of(host)].push(host);
        }
        found
    }

    /// Spreads `total` bits per second of traffic over the links that `matrix` uses, and adds each part to the load of its link. Returns
    /// the highest resulting load among the links that carry this traffic, as a share of the link's rate, and the index of that link.
    fn offer(&mut self, matrix: &Matrix<'_>, total: f64) -> (f64, usize) {
        let mut worst = (0.0, 0);
        for (number, (share, link)) in matrix.shares().into_iter().zip(&self.network.links).enumerate() {
            let more = share * total / link.rate.0 as f64;
            self.offered[number] += more;
            if more > 0.0 && self.offered[number] > worst.0 {
                worst = (self.offered[number], number);
            }
        }
        worst
    }

    fn connections(
        &mut self,
        c: &spec::Connections,
        pairs: impl Fn() -> u64,
        key: &str,
    ) -> Option<Connections> {
        let spec::Connections::Persistent(c) = c else {
            return Some(Connections::New);
        };
        let key = format!("{key}.connections");
        let count = pairs().saturating_mul(u64::from(c.per_pair));
        let fits = self.checker.require(count <= MAX_OPEN, &format!("{key}.per_pair"), || {
            format!(
                "the number of connections must be at most {MAX_OPEN}, got {} for each of {} pairs, {count} in total",
                c.per_pair,
                pairs()
            )
        });
        let warm_up = c.warm_up.as_ref().map(|warm_up| {
            self.checker.require(warm_up.from <= warm_up.to, &format!("{key}.warm_up.from"), || {
                format!("must be at most the value of `to` ({1}), got {0}", warm_up.from, warm_up.to)
            });
            self.checker.require(warm_up.bytes.0.0 > 0, &format!("{key}.warm_up.bytes"), || {
                "must be above 0B, got 0B".to_owned()
            });
            WarmUp { bytes: warm_up.bytes.0, from: Instant(warm_up.from.0.0), to: Instant(warm_up.to.0.0) }
        });
        fits.then_some(Connections::Persistent {
            per_pair: c.per_pair,
            queue_depth: c.queue_depth,
            when_busy: c.when_busy,
            warm_up,
        })
    }

    fn long_lived(&mut self, w: &spec::LongLived, key: &str) -> Option<()> {
        let (senders, receivers) = self.sets(&w.senders, &w.receivers, key)?;
        self.checker
            .require(w.per_pair > 0, &format!("{key}.per_pair"), || "must be at least 1, got 0".to_owned());
        let pairs = Pairs::Product { senders, receivers };
        self.bounded(pair_count(&pairs).saturating_mul(u64::from(w.per_pair)), key)?;
        self.unbounded(key, "set stop.at for the run");
        let config = LongLived {
            seed: self.seed,
            workload: self.number(),
            per_pair: w.per_pair,
            start: Instant(w.start.0.0),
            spread: w.spread.0,
        };
        let schedule = Schedule::long_lived(pairs.iter(), &config);
        let classes = self.classes(&w.class, key)?;
        self.add(Generator::Schedule(schedule), Connections::New, pairs, classes);
        Some(())
    }

    fn incast(&mut self, w: &spec::Incast, key: &str) -> Option<()> {
        let (senders, receivers) = self.sets(&w.senders, &w.receivers, key)?;
        let answering = senders.iter().filter(|&&host| receivers != [host]).count() as u64;
        let size = match (w.size, w.total) {
            (Some(size), None) => size.0,
            (None, Some(total)) => Bytes(total.0.0.div_ceil(answering)),
            (Some(_), Some(_)) => {
                return self.refuse(key, "must have either size or total, got both");
            }
            (None, None) => {
                return self.refuse(
                    key,
                    "must have either size (the bytes of each sender) or total (the bytes of all senders together), \
                     got neither",
                );
            }
        };
        if size.0 == 0 {
            return self.refuse(key, "size or total must be above 0B, got 0B");
        }
        let pairs = Pairs::Product { senders, receivers };
        self.bounded(pair_count(&pairs), key)?;
        let connections = self.connections(&w.connections, || pair_count(&pairs), key)?;
        if w.repeats == 0 {
            return self.refuse(&format!("{key}.repeats"), "must be at least 1, got 0");
        }
        if let Some(think_time) = w.think_time {
            return self.incast_in_turn(w, pairs, size, think_time.0, connections, key);
        }
        if w.repeats > 1 && w.period.is_none_or(|period| period <= w.spread || period.0 == Duration::ZERO) {
            let message = format!(
                "must be longer than spread = {1} with repeats = {0}; set period, or set think_time instead",
                w.repeats, w.spread
            );
            return self.refuse(&format!("{key}.period"), &message);
        }
        let period = w.period.map_or(Duration::ZERO, |period| period.0);
        if period.0 as f64 * f64::from(w.repeats) > LONGEST_RUN_PS {
            return self.refuse(
                &format!("{key}.repeats"),
                "all rounds together must take at most 100 days; use a lower repeats or a shorter period",
            );
        }
        let config = IncastConfig {
            seed: self.seed,
            workload: self.number(),
            pairs: pairs.iter().collect(),
            size,
            start: Instant(w.start.0.0),
            repeats: w.repeats,
            period,
            spread: w.spread.0,
        };
        let classes = self.classes(&w.class, key)?;
        self.add(Generator::Incast(Incast::new(config)), connections, pairs, classes);
        Some(())
    }

    fn flow_list(&mut self, w: &spec::FlowList, key: &str) -> Option<()> {
        let at = format!("{key}.path");
        let text = self.checker.read(&at, &w.path)?;
        let list = flow_list::parse(&text, self.network, self.number());
        let list = self.checker.accept(&at, list.map_err(|message| format!("{}, {message}", w.path)))?;
        let FlowList { flows, links, columns } = list;
        let persistent = matches!(w.connections, spec::Connections::Persistent(_));
        if persistent && columns.contains(&"port") {
            let message = format!("must be \"new\", because {} has a column \"port\"", w.path);
            return self.refuse(&format!("{key}.connections"), &message);
        }
        let depth =
            if let spec::Connections::Persistent(pools) = &w.connections { pools.queue_depth } else { 1 };
        if depth > 1 && columns.contains(&"class") {
            let message = format!(
                "must be 1 (the default), because {} has a column \"class\": messages of a queue pair with different \
                 classes would overtake each other, got {depth}",
                w.path
            );
            return self.refuse(&format!("{key}.connections.queue_depth"), &message);
        }
        if w.class != spec::Class::default() && columns.contains(&"class") {
            let message = format!(
                "must be left out, because {} has a column \"class\"; remove the key or the column",
                w.path
            );
            return self.refuse(&format!("{key}.class"), &message);
        }
        let mut pairs: Vec<_> = flows.iter().map(|flow| (flow.source, flow.destination)).collect();
        pairs.sort_unstable();
        pairs.dedup();
        let connections = self.connections(&w.connections, || pairs.len() as u64, key)?;
        let classes = match columns.contains(&"class") {
            true => Classes::Listed(flows.iter().map(|flow| flow.class).max().unwrap_or_default()),
            false => self.classes_of(&w.class, key)?,
        };
        self.check_classes(&classes, key)?;
        let reads = self.hosts.agreement_of(self.number(), 0, 0).read_request().is_some();
        if reads && links.wait_at_all() {
            return self.refuse(
                &format!("{key}.path"),
                "must have no flows that wait for others with READs: the data of a READ arrives at the sender of its flow",
            );
        }
        let generator = if links.wait_at_all() {
            Generator::Chain(Chain::new(flows, links))
        } else {
            Generator::Schedule(Schedule::new(flows))
        };
        self.add(generator, connections, Pairs::List(pairs), classes);
        Some(())
    }

    fn refuse<T>(&mut self, key: &str, message: &str) -> Option<T> {
        self.checker.refuse(key, message);
        None
    }

    /// Rejects more simultaneous flows than fit into memory.
    fn bounded(&mut self, count: u64, key: &str) -> Option<()> {
        self.checker
            .require(count <= MAX_OPEN, key, || {
                format!("simultaneous flows must be at most {MAX_OPEN}, got {count}")
            })
            .then_some(())
    }

    /// Rejects a workload of datagrams or echo requests if neither its sources nor the run has a stop time. Counts the
    /// workload as unbounded if the run has a stop time, so that the run lasts until that time.
    fn ends_by(&mut self, stop: Option<crate::quantity::Time>, key: &str) {
        if stop.is_none() || self.end.is_some() {
            self.unbounded(key, "set stop, or set stop.at for the run");
        }
    }

    /// Records that the workload has no end. Rejects the workload if the run has no stop time.
    fn unbounded(&mut self, key: &str, remedy: &str) {
        self.traffic.unbounded = true;
        let ends = self.end.is_some();
        self.checker.require(ends, key, || format!("the workload must have an end: {remedy}"));
    }
}

/// Returns the number of ordered pairs of distinct hosts.
fn count_pairs(senders: &[HostId], receivers: &[HostId]) -> u64 {
    // Both lists are sorted.
    let both = senders.iter().filter(|host| receivers.binary_search(host).is_ok()).count() as u64;
    (senders.len() as u64).saturating_mul(receivers.len() as u64) - both
}

fn pair_count(pairs: &Pairs) -> u64 {
    match pairs {
        Pairs::Product { senders, receivers } => count_pairs(senders, receivers),
        Pairs::List(pairs) => pairs.len() as u64,
    }
}
