//! Generators of packets: arriving flows, and hosts that send datagrams and echo requests.

use shallows_core::event::EventQueue;
use shallows_scenario::Experiment;

use crate::hosts::Hosts;
use crate::network::event::{Class, Event, Ranks};
use crate::traffic::announced::Announced;
use crate::traffic::datagram::Datagrams;
use crate::traffic::probe::Probes;
use crate::traffic::warm_up::WarmUps;
use crate::traffic::{Newcomer, Traffic};

/// All that is offered to the network.
#[derive(Debug)]
pub(crate) struct Generators {
    pub(crate) arrivals: Arrivals,
    pub(crate) warm_ups: WarmUps,
    pub(crate) datagrams: Datagrams,
    pub(crate) probes: Probes,
}

/// Where the flows of a world come from.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// From workloads of this world: all, or those that react, at its hosts.
    pub(crate) traffic: Traffic,
    /// From the others, drawn ahead for all partitions of the network.
    pub(crate) announced: Announced,
    /// Flows for other partitions.
    pub(crate) leaving: Leaving,
}

/// Flows that go from this partition of the network to others, which have to know of them before their packets come.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// By host: its partition; empty of a network that is one.
    partition_of: Vec<u32>,
    flows: Vec<(u32, Newcomer)>,
}

impl Leaving {
    /// None so far; `partition_of` by host.
    pub(crate) fn new(partition_of: Vec<u32>) -> Self {
        Self { partition_of, flows: Vec::new() }
    }

    /// A flow starts here for a host of another partition.
    #[cold]
    pub(crate) fn add(&mut self, newcomer: Newcomer) {
        self.flows.push((self.partition_of[newcomer.flow.destination.0 as usize], newcomer));
    }

    /// Hand over those since the last time, with the partitions that they are for.
    pub(crate) fn collect(&mut self) -> impl Iterator<Item = (u32, Newcomer)> + '_ {
        self.flows.drain(..)
    }
}

impl Generators {
    /// Schedule the first of everything that the `hosts` send.
    pub(crate) fn start(
        &mut self,
        experiment: &Experiment,
        hosts: &mut Hosts,
        ranks: Ranks,
        queue: &mut EventQueue<Event>,
    ) {
        self.warm_ups.start(experiment, hosts, queue);
        self.arrivals.traffic.start(queue);
        for ((index, start), source) in self.datagrams.starts().enumerate().zip(&experiment.datagram_sources)
        {
            if hosts.has(source.source) {
                queue.schedule(start, Event::new(Class::Datagram, index as u64, ranks));
            }
        }
        for (index, probe) in experiment.probes.iter().enumerate() {
            if hosts.has(probe.source) {
                queue.schedule(probe.start, Event::new(Class::Probe, index as u64, ranks));
            }
        }
    }
}

impl Arrivals {
    /// A workload is to be asked, or its next flow arrives.
    pub(crate) fn next(&mut self, workload: usize, queue: &mut EventQueue<Event>) -> Option<Newcomer> {
        if self.traffic.has(workload) {
            self.traffic.arrive(workload, queue)
        } else {
            self.announced.arrive(workload, queue)
        }
    }
}
