//! Who watches a run: nothing that they do changes it.

use shallows_core::Instant;

use crate::capture::Tap;
use crate::connection::Place;
use crate::flow_tracer::FlowTracer;
use crate::hosts::Hosts;
use crate::network::Change;
use crate::packet::{PacketRef, Packets};
use crate::port_tracer::PortTracer;
use crate::sampler::Sampler;

/// Traces, samples and what is captured.
#[derive(Debug)]
pub(crate) struct Observers {
    pub(crate) ports: PortTracer,
    pub(crate) flows: FlowTracer,
    pub(crate) queues: Sampler,
    pub(crate) tap: Tap,
}

impl Observers {
    /// The port of a link has changed.
    pub(crate) fn port_changed(
        &mut self,
        now: Instant,
        mut change: Change<'_, PacketRef>,
        packets: &Packets,
    ) {
        change.trace(now, &mut self.ports);
        if let Some((link, header, packet)) = change.captured() {
            self.tap.record(now, link, &header, packets.get(packet).map(|packet| &packet.segment));
        }
    }

    /// A sender whose changes are recorded may have changed.
    #[cold]
    pub(crate) fn sender_changed(&mut self, now: Instant, hosts: &Hosts, place: Place) {
        let side = hosts.sender(place);
        if let Some(flow) = side.flow {
            self.flows.record(now, flow, &side.sender);
        }
    }
}
