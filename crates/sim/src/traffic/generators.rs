//! What makes packets: flows that arrive, and hosts that send datagrams and echo requests.

use shallows_core::event::EventQueue;
use shallows_measure::FlowRecord;
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
pub(crate) enum Arrivals {
    /// From workloads that hear what becomes of their flows.
    Drawn(Traffic),
    /// From workloads that need not, drawn ahead for all parts of the network.
    Announced(Announced),
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
        if let Arrivals::Drawn(traffic) = &mut self.arrivals {
            traffic.start(queue);
        }
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
        match self {
            Self::Drawn(traffic) => traffic.arrive(workload, queue),
            Self::Announced(announced) => announced.arrive(workload, queue),
        }
    }

    /// The last byte of a flow has reached its receiver.
    pub(crate) fn on_received(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        if let Self::Drawn(traffic) = self {
            traffic.on_received(flow, queue);
        }
    }

    /// The sender of a flow has every acknowledgement.
    pub(crate) fn on_acked(&mut self, flow: &FlowRecord, queue: &mut EventQueue<Event>) {
        if let Self::Drawn(traffic) = self {
            traffic.on_acked(flow, queue);
        }
    }

    /// Whether every flow that will ever arrive has arrived and, as `completed` of them have, completed; nobody knows that of
    /// flows that are announced.
    pub(crate) fn is_complete(&self, completed: u64) -> bool {
        matches!(self, Self::Drawn(traffic) if traffic.is_complete(completed))
    }
}
