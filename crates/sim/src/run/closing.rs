//! What the worlds of a run have measured, as one report.

use std::collections::BTreeMap;

use shallows_scenario::Experiment;

use crate::hosts::flow::Flows;
use crate::hosts::packet::PacketRef;
use crate::network::link::Link;
use crate::report::{Measured, Report};
use crate::run::world::World;

/// Of a run, from the worlds of its parts, and what was `measured` of it as a whole.
pub(crate) fn report(experiment: Experiment, mut worlds: Vec<World>, mut measured: Measured) -> Report {
    measured.queries = vec![Vec::new(); experiment.connections.len()];
    for world in &worlds {
        let queries = world.generators.arrivals.traffic.queries();
        measured.queries.iter_mut().zip(queries).for_each(|(all, own)| all.extend_from_slice(own));
    }
    let ranks = worlds[0].ranks;
    for World { generators, ends, .. } in &mut worlds {
        let observers = &mut ends.observers;
        measured.echoes.append(&mut generators.probes.echoes);
        measured.trace.append(&mut observers.ports.rows);
        measured.flow_traces.flows.append(&mut observers.flows.flows);
        measured.samples.append(&mut observers.queues.rows);
        measured.datagram_bytes += generators.datagrams.received_bytes;
    }
    // Each part has its own in the order of time.
    measured.echoes.sort_by_key(|echo| (echo.sent_at, ranks.of(echo.probe.into())));
    measured.trace.sort_by_key(|row| (row.at, row.link));
    measured.samples.sort_by_key(|row| (row.at, row.entity));
    let (networks, parts): (Vec<_>, Vec<_>) =
        worlds.into_iter().map(|world| (world.network, world.flows)).unzip();
    let names_are_places = !experiment.reacts().contains(&true);
    let (flows, names) = Flows::merged(parts, ranks, names_are_places);
    measured.flows = flows;
    let traced = &mut measured.flow_traces.flows;
    if !traced.is_empty() {
        let places: BTreeMap<u32, u32> = names.into_iter().zip(0..).collect();
        *traced = std::mem::take(traced).into_iter().map(|(name, flow)| (places[&name], flow)).collect();
    }
    let mut links: Vec<&Link<PacketRef>> = networks.iter().flat_map(|network| network.links()).collect();
    links.sort_by_key(|link| link.number);
    Report::of(experiment, links.into_iter(), measured)
}
