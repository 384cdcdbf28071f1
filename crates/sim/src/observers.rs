//! Who watches a run: nothing that they do changes it.

use shallows_core::Instant;
use shallows_core::packet::Header;
use shallows_switch::buffer::SharedBuffer;

use crate::capture::Tap;
use crate::connection::Place;
use crate::flow_tracer::FlowTracer;
use crate::hosts::Hosts;
use crate::link::Link;
use crate::packet::Packet;
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
    pub(crate) fn port_changed(&mut self, now: Instant, link: &mut Link, buffer: &SharedBuffer) {
        if link.watch.traced {
            self.ports.record(now, link.number, &mut link.port, buffer);
        }
    }

    /// A packet starts to leave the port of a link.
    pub(crate) fn port_sends(&mut self, now: Instant, link: &Link, header: &Header, packet: Option<&Packet>) {
        if link.watch.captured {
            self.tap.record(now, link.number, header, packet.map(|packet| &packet.segment));
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
