//! What makes packets: flows that arrive, and hosts that send datagrams and echo requests.

use shallows_core::event::EventQueue;
use shallows_scenario::Experiment;

use crate::datagram::Datagrams;
use crate::event::{Class, Event, Ranks};
use crate::hosts::Hosts;
use crate::probe::Probes;
use crate::traffic::Traffic;

/// All that is offered to the network.
#[derive(Debug)]
pub(crate) struct Generators {
    pub(crate) traffic: Traffic,
    pub(crate) datagrams: Datagrams,
    pub(crate) probes: Probes,
}

impl Generators {
    /// Schedule the first of everything.
    pub(crate) fn start(
        &mut self,
        experiment: &Experiment,
        hosts: &mut Hosts,
        ranks: Ranks,
        queue: &mut EventQueue<Event>,
    ) {
        self.traffic.start(experiment, hosts, queue);
        for (source, start) in self.datagrams.starts().enumerate() {
            queue.schedule(start, Event::new(Class::Datagram, source as u64, ranks));
        }
        for (index, start) in self.probes.starts().enumerate() {
            queue.schedule(start, Event::new(Class::Probe, index as u64, ranks));
        }
    }
}
