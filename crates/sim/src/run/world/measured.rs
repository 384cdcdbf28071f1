//! Access to the measurements of a world, and to the counts of its records.

use shallows_core::Instant;
use shallows_measure::{Measured, Tally, Tap};

use crate::hosts::flow::Flows;
use crate::network::deadlock::Pauses;
use crate::run::world::World;
use crate::run::world::outside::Outside;
use crate::traffic::Traffic;

/// Number of records of each kind in a world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Held {
    pub(crate) flows: usize,
    pub(crate) queries: usize,
    pub(crate) echoes: usize,
    pub(crate) samples: usize,
    /// Number of recorded changes of traced ports. `flow_changes` is the number of recorded changes of traced flows.
    pub(crate) port_changes: usize,
    pub(crate) flow_changes: usize,
}

impl World {
    /// Returns the counts of packets and flows so far.
    #[inline]
    pub(crate) fn tally(&self) -> &Tally {
        &self.outside.network.tally
    }

    /// Returns the number of links that leave nodes of this world.
    #[inline]
    pub(crate) fn links(&self) -> usize {
        self.outside.network.links().len()
    }

    /// Returns the store of captured packets.
    pub(crate) fn tap(&mut self) -> &mut Tap {
        &mut self.outside.ends.observers.tap
    }

    /// Returns the workloads that generate flows in this world. In an undivided network, these are all workloads. In a partition, these are
    /// the workloads that react to flows.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.outside.generators.arrivals.traffic
    }

    /// Consumes the world at the `end` of the run. Returns its measurements and flows.
    pub(crate) fn into_measured(self, end: Instant) -> (Measured, Flows) {
        let Self { hosts, outside: Outside { network, ends, generators, .. }, .. } = self;
        let queries = generators.arrivals.traffic.queries().map(<[_]>::to_vec).collect();
        let observers = ends.observers;
        let measured = Measured {
            queries,
            ports: network.port_counts().collect(),
            samples: observers.queues.rows,
            trace: observers.ports.rows,
            lost: network.lost().clone(),
            pauses: network.pause_counts(end),
            pause_intervals: network.pause_intervals(),
            tally: network.tally,
            datagram_bytes: generators.datagrams.received_bytes,
            queue_pairs: hosts.queue_pairs(),
            echoes: generators.probes.echoes,
            flow_traces: observers.flows,
            end,
            ..Measured::default()
        };
        (measured, hosts.into_flows(end))
    }

    /// Adds the pauses of this world to `pauses`.
    pub(crate) fn add_pauses(&self, pauses: &mut Pauses) {
        self.outside.network.add_pauses(pauses);
    }

    /// Returns how many records of each kind this world holds.
    pub(crate) fn held(&self) -> Held {
        let Outside { ends, generators, .. } = &self.outside;
        let observers = &ends.observers;
        Held {
            flows: self.hosts.flows().len(),
            queries: self.traffic().queries().map(<[_]>::len).sum(),
            echoes: generators.probes.echoes.len(),
            samples: observers.queues.rows.len(),
            port_changes: observers.ports.rows.len(),
            flow_changes: observers.flows.changes(),
        }
    }
}
