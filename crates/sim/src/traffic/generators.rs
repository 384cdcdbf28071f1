//! Generators of packets: flows, warm-up bytes of connections, datagrams and echo requests.

use shallows_core::event::EventQueue;
use shallows_scenario::Experiment;

use crate::hosts::Hosts;
use crate::network::event::{Class, Event, Ranks};
use crate::traffic::announced::Announced;
use crate::traffic::datagram::Datagrams;
use crate::traffic::probe::Probes;
use crate::traffic::warm_up::WarmUps;
use crate::traffic::{Newcomer, Traffic};

/// All sources of packets in a world.
#[derive(Debug)]
pub(crate) struct Generators {
    pub(crate) arrivals: Arrivals,
    pub(crate) warm_ups: WarmUps,
    pub(crate) datagrams: Datagrams,
    pub(crate) probes: Probes,
}

/// Sources of the flows of a world.
#[derive(Debug)]
pub(crate) struct Arrivals {
    /// Workloads that generate flows in this world. In an undivided network, these are all workloads. In a partition, these are the
    /// workloads that react to flows.
    pub(crate) traffic: Traffic,
    /// Flows of the workloads that are not in `traffic`. They are drawn in advance for all partitions together.
    pub(crate) announced: Announced,
    /// Flows to hosts of other partitions.
    pub(crate) leaving: Leaving,
}

/// Flows from this partition to hosts of other partitions. Each flow must be announced to the other partition before its packets arrive
/// there.
#[derive(Debug)]
pub(crate) struct Leaving {
    /// Partition of each host; empty if the network is not divided.
    partition_of: Vec<u32>,
    flows: Vec<(u32, Newcomer)>,
}

impl Leaving {
    /// Returns an empty list. `partition_of` contains the partition of each host.
    pub(crate) fn new(partition_of: Vec<u32>) -> Self {
        Self { partition_of, flows: Vec::new() }
    }

    /// Adds a flow whose receiver is a host of another partition.
    #[cold]
    pub(crate) fn add(&mut self, newcomer: Newcomer) {
        self.flows.push((self.partition_of[newcomer.flow.destination.0 as usize], newcomer));
    }

    /// Removes and returns all flows, each with the partition of its receiver.
    pub(crate) fn collect(&mut self) -> impl Iterator<Item = (u32, Newcomer)> + '_ {
        self.flows.drain(..)
    }
}

impl Generators {
    /// Schedules the first event of each source of packets at these `hosts`.
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
    /// Handles an arrival event of a workload. Returns the flow that arrives now; `None` if the workload has no flow at this time.
    pub(crate) fn next(&mut self, workload: usize, queue: &mut EventQueue<Event>) -> Option<Newcomer> {
        if self.traffic.has(workload) {
            self.traffic.arrive(workload, queue)
        } else {
            self.announced.arrive(workload, queue)
        }
    }
}
