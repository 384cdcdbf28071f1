//! Builds the world of an experiment, or of one partition of its network.

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_measure::Captures;
use shallows_scenario::{Experiment, LocalHosts, PortKind};

use crate::hosts::Hosts;
use crate::hosts::flow::Flows;
use crate::hosts::packet::Packets;
use crate::network::Network;
use crate::network::division::{self, Division};
use crate::network::event::Ranks;
use crate::network::site::Site;
use crate::network::stages::Stages;
use crate::run::crossing::Exits;
use crate::run::observers::Observers;
use crate::run::world::World;
use crate::run::world::ends::Ends;
use crate::run::world::outside::Outside;
use crate::run::world::pace::{Execution, Pace};
use crate::traffic::announced::Announced;
use crate::traffic::datagram::Datagrams;
use crate::traffic::generators::{Arrivals, Generators, Leaving};
use crate::traffic::probe::Probes;
use crate::traffic::warm_up::WarmUps;
use crate::traffic::{Here, Names, Traffic};

impl World {
    /// Builds the world of one site. `stages` are the stages of long time windows, if such windows are possible. The ports of the site record
    /// the packets that `captures` requests.
    pub(crate) fn new(
        experiment: &Experiment,
        division: Option<&Division>,
        stages: Option<&Stages>,
        site: Site,
        captures: &Captures,
        execution: Execution,
    ) -> Self {
        let seed = experiment.seed;
        let ranks = Ranks::new(seed);
        let window = division::window(experiment);
        let mut network = Network::of(experiment, &site, ranks, window, stages);
        let mut exits = Exits::default();
        let here = division
            .map_or(0, |division| site.nodes.numbers().next().map_or(0, |node| division.partition_of(node)));
        for &(number, partition, wire) in &site.exits {
            let is_near =
                division.is_some_and(|division| division.share_of(here) == division.share_of(partition));
            network.at(number).exit = exits.add(partition, is_near, wire);
        }
        let mut hosts_here = 0;
        for host in site.nodes.numbers().take_while(|&node| node < experiment.network.hosts) {
            hosts_here += 1;
            let group = experiment.group(HostId(host));
            // The link from a host has the host's number.
            network.at(host).set_jitter(group.jitter, Stream::new(seed, "jitter", u64::from(host)));
        }
        let udp_overhead = u16::try_from(28 + experiment.network.framing.0).expect("headers are small");
        let observers = Observers::new(experiment);
        network.watch(&observers.ports, Some(captures));
        if experiment.uses_telemetry() || experiment.pint().is_some() {
            network.add_telemetry(|link| experiment.network.links[link as usize].kind != PortKind::Nic);
        }
        let is_whole = division.is_none_or(|division| division.partitions() == 1);
        let arrivals = arrivals(experiment, division, &site, ranks);
        // The link from a host has the host's number.
        let hosts = Hosts::new(
            experiment,
            &site.nodes,
            |host| network.rate(host.0),
            Flows::new(experiment, (!is_whole).then_some(hosts_here)),
        );
        network.set_cold(division.is_some_and(|division| division.partitions() > division.threads()));
        network.run_nics_by_window(!hosts.nics_act_on_departures());
        let outside = Outside {
            network,
            ends: Ends {
                packets: Packets::default(),
                observers,
                exits,
                tells_drops: hosts.nics_act_on_departures(),
                dropped: Vec::new(),
            },
            generators: Generators {
                arrivals,
                warm_ups: WarmUps::new(ranks),
                datagrams: Datagrams::new(&experiment.datagram_sources, udp_overhead, seed),
                probes: Probes::new(&experiment.probes, udp_overhead),
            },
            ranks,
            finished: false,
            ends_on_completion: experiment.stop.on_completion,
            is_whole,
        };
        Self {
            hosts,
            outside,
            pace: Pace::new(execution, window.is_some() && experiment.network.lossless.is_none()),
        }
    }
}

/// Builds the sources of flows for the hosts of a site.
fn arrivals(experiment: &Experiment, division: Option<&Division>, site: &Site, ranks: Ranks) -> Arrivals {
    let (here, names, partition_of) = match division.filter(|division| division.partitions() > 1) {
        None => (Here::All, Names::IN_ORDER, Vec::new()),
        Some(division) => {
            let hosts = 0..experiment.network.hosts;
            let local = LocalHosts::of(hosts.clone().map(|host| site.nodes.has(host)).collect());
            let partition = site.nodes.numbers().next().map_or(0, |node| division.partition_of(node));
            let names = Names { first: partition + 1, step: division.partitions() + 1 };
            (Here::Applications(local), names, hosts.map(|host| division.partition_of(host)).collect())
        }
    };
    Arrivals {
        traffic: Traffic::new(experiment, &here, names, ranks),
        announced: Announced::new(experiment.connections.len(), ranks),
        leaving: Leaving::new(partition_of),
    }
}
