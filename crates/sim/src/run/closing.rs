//! What the worlds of a run have measured, as one report.

use shallows_scenario::Experiment;

use crate::hosts::flow::Flows;
use crate::hosts::packet::PacketRef;
use crate::network::Network;
use crate::network::link::Link;
use crate::report::{Measured, Report};
use crate::run::world::World;
use crate::traffic::generators::Arrivals;

/// Of a run in which so many `flows` arrived, from the worlds of its parts, and what was `measured` of it as a whole.
pub(crate) fn report(
    experiment: Experiment,
    mut worlds: Vec<World>,
    flows: usize,
    mut measured: Measured,
) -> Report {
    measured.queries = match &worlds[0].generators.arrivals {
        Arrivals::Drawn(traffic) => {
            traffic.sources.iter().map(|source| source.workload.queries().to_vec()).collect()
        }
        // Those that ask queries are not announced.
        Arrivals::Announced(_) => vec![Vec::new(); experiment.connections.len()],
    };
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
    measured.flows = Flows::merged(parts, flows);
    for (&link, &lost) in networks.iter().flat_map(Network::lost) {
        *measured.lost.entry(link).or_default() += lost;
    }
    let mut links: Vec<&Link<PacketRef>> = networks.iter().flat_map(|network| network.links()).collect();
    links.sort_by_key(|link| link.number);
    Report::of(experiment, links.into_iter(), measured)
}
