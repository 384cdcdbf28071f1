//! Lower bound on the memory of a run that is not yet built, and current memory of the records of a run in progress.
//!
//! The lower bound contains only memory that the run certainly needs. It therefore contains neither waiting packets nor traces of changes,
//! and it assumes that each sample contains a single port with a backlog.

use std::sync::Arc;

use shallows_core::Instant;
use shallows_measure::{Echo, FlowRecord, FlowRow, PortRow, SampleRow};
use shallows_scenario::{Connections, Experiment, QueryRecord};

use crate::hosts::connection::{ReceiverSide, SenderSide};
use crate::hosts::packet::PacketRef;
use crate::run::simulation::Simulation;
use crate::run::world::World;
use crate::run::world::measured::Held;

/// Memory that a run needs for one kind of object.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Number and kind of the objects, such as "300 flows".
    pub what: String,
    /// Size of all objects of this kind, in bytes.
    pub bytes: f64,
    /// Change that reduces this memory need, such as "fewer switches".
    pub remedy: &'static str,
}

/// Returns the minimum memory of a run of `experiment` for each kind of object, largest first. The list has at least one entry, because
/// every experiment has a switch with a route.
pub fn footprint(experiment: &Experiment) -> Vec<Need> {
    let mut needs =
        vec![tables(experiment), samples(experiment), echoes(experiment), connections(experiment)];
    needs.extend(ports(experiment));
    needs.extend(arrivals(experiment));
    needs.retain(|need| need.bytes > 0.0);
    needs.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    needs
}

fn need<T>(count: f64, what: &str, remedy: &'static str) -> Need {
    Need { what: format!("{count:.0} {what}"), bytes: count * size_of::<T>() as f64, remedy }
}

/// Returns the memory of routing tables. A table has a route from every switch to every switch with hosts. Epochs (intervals between
/// network changes) with equal routes share a table.
fn tables(experiment: &Experiment) -> Need {
    let first = &experiment.network.routing;
    let mut tables: Vec<_> =
        experiment.network.epochs().iter().map(|epoch| &epoch.routing).chain([first]).collect();
    tables.sort_unstable_by_key(|table| Arc::as_ptr(table));
    tables.dedup_by(|one, other| Arc::ptr_eq(one, other));
    let routes = tables.iter().map(|table| table.routes()).sum::<usize>() as f64;
    need::<[u32; 2]>(routes, "routes of switches", "fewer switches")
}

/// Returns, for each kind of port, the memory of the buckets or bins of the ports' schedulers.
fn ports(experiment: &Experiment) -> impl Iterator<Item = Need> {
    let network = &experiment.network;
    network.ports.iter().enumerate().map(|(number, port)| {
        let count = network.links.iter().filter(|link| link.port == number).count();
        let each = port.discipline.footprint::<PacketRef>() as f64;
        let example = network.links.iter().find(|link| link.port == number).map_or("", |link| &link.name);
        Need {
            what: format!("the buckets or bins of {count} ports such as {example}"),
            bytes: each * count as f64,
            remedy: "fewer buckets or bins",
        }
    })
}

fn samples(experiment: &Experiment) -> Need {
    let count = match (experiment.sample_queues, experiment.stop.at) {
        (Some(every), Some(end)) => end.0 as f64 / every.0 as f64,
        _ => 0.0,
    };
    need::<SampleRow>(
        count,
        "samples of one port that is never empty (measure.sample_queues)",
        "a longer interval of measure.sample_queues, or an earlier stop.at",
    )
}

fn echoes(experiment: &Experiment) -> Need {
    let end = experiment.stop.at.unwrap_or(Instant::MAX);
    let count = |probe: &shallows_scenario::Probe| {
        let until = probe.stop.map_or(end, |stop| stop.min(end));
        (until.0.saturating_sub(probe.start.0) as f64 / probe.interval.0 as f64).ceil()
    };
    let count = experiment.probes.iter().map(count).sum();
    need::<Echo>(count, "echo requests", "a longer interval between pings, or fewer pairs")
}

/// Returns the memory of the connections that are opened at the start of the run.
fn connections(experiment: &Experiment) -> Need {
    let count = |(policy, pairs): (&Connections, &shallows_scenario::Pairs)| match policy {
        Connections::Persistent { per_pair, warm_up: Some(_), .. } => {
            pairs.iter().count() as f64 * f64::from(*per_pair)
        }
        _ => 0.0,
    };
    let count = experiment.connections.iter().zip(&experiment.pairs).map(count).sum();
    need::<(SenderSide, ReceiverSide)>(count, "persistent connections", "fewer connections per pair")
}

fn arrivals(experiment: &Experiment) -> [Need; 2] {
    let all = experiment.arrivals();
    let (flows, queries) =
        (all.iter().map(|each| each.flows).sum(), all.iter().map(|each| each.queries).sum());
    let remedy = "fewer of them: a lower number, a longer period, or an earlier stop.at";
    [need::<FlowRecord>(flows, "flows", remedy), need::<QueryRecord>(queries, "queries", remedy)]
}

impl Simulation {
    /// Returns the current memory of the run's records for each kind of record, largest first.
    pub fn held(&self) -> Vec<Need> {
        let held: Vec<Held> = self.worlds().map(World::held).collect();
        let sum = |count: fn(&Held) -> usize| held.iter().map(count).sum::<usize>() as f64;
        let fewer = "fewer flows, or an earlier stop.at";
        let mut held = vec![
            need::<FlowRecord>(sum(|held| held.flows), "flows", fewer),
            need::<QueryRecord>(sum(|held| held.queries), "queries", fewer),
            need::<Echo>(sum(|held| held.echoes), "echo requests", "a longer interval between pings"),
            need::<SampleRow>(
                sum(|held| held.samples),
                "samples",
                "a longer interval of measure.sample_queues, or an earlier stop.at",
            ),
            need::<PortRow>(
                sum(|held| held.port_changes),
                "changes of traced ports",
                "fewer ports in measure.traces, or an interval",
            ),
            need::<FlowRow>(
                sum(|held| held.flow_changes),
                "changes of traced flows",
                "fewer flows in measure.flow_traces, or an interval",
            ),
        ];
        held.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
        held
    }
}
