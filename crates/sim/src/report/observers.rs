//! Who watches a run: nothing that they do changes it.

use shallows_core::Instant;

use crate::hosts::Hosts;
use crate::hosts::connection::Place;
use crate::hosts::packet::{PacketRef, Packets};
use crate::network::Change;
use crate::network::capture::Tap;
use crate::network::port_tracer::PortTracer;
use crate::network::sampler::Sampler;
use crate::report::flow_tracer::FlowTracer;

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
            self.tap.record(now, link, &header, packets.body(packet).as_ref());
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
