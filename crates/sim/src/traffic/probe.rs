//! Echo requests between hosts, and the round-trip times that they measure.

use shallows_core::Instant;
use shallows_core::packet::{EchoMessage, Ecn, Header, PacketKind};
use shallows_measure::Echo;
use shallows_scenario::Probe;

use crate::hosts::packet::ProbePacket;

/// Pairs of hosts that measure round-trip times with echo requests, and their measurements.
#[derive(Debug)]
pub(crate) struct Probes {
    sources: Vec<Probe>,
    /// Bytes of the IP and ICMP headers and of framing in each packet.
    overhead: u16,
    /// Number of requests that each pair has sent.
    asked: Vec<u64>,
    /// One entry for each request, in the order in which requests were sent.
    pub(crate) echoes: Vec<Echo>,
}

/// Returns the header of an echo request of pair `index`. Headers and framing add `overhead` bytes to the request's payload.
///
/// # Panics
///
/// If the payload of `probe` exceeds 65,535 bytes, which scenarios exclude.
pub fn echo_request(probe: &Probe, index: u32, overhead: u16) -> Header {
    let size = u16::try_from(probe.payload.0).expect("checked by the scenario") + overhead;
    // ICMP has no ports. The number of the pair serves as ping's identifier, so that hashes distinguish pairs of the same hosts.
    header(probe, Header::new(probe.source, probe.destination).with_ports(index as u16, 0), size)
}

/// Returns the header of the reply to an echo request of pair `index`.
pub fn echo_reply(probe: &Probe, index: u32, request: &Header) -> Header {
    let back = Header::new(request.destination(), request.source()).with_ports(0, index as u16);
    header(probe, back, request.size().0 as u16)
}

/// Sets the fields that requests and replies have in common.
fn header(probe: &Probe, between: Header, size: u16) -> Header {
    let ecn = if probe.ecn { Ecn::Ect } else { Ecn::NotEct };
    between.with_size(size).with_ecn(ecn).with_class(probe.class).with_kind(PacketKind::Probe)
}

impl Probes {
    pub(crate) fn new(sources: &[Probe], overhead: u16) -> Self {
        Self { sources: sources.to_vec(), overhead, asked: vec![0; sources.len()], echoes: Vec::new() }
    }

    /// Returns the header and body of the request that pair `index` sends now, and the time of the pair's next request. Returns `None` if
    /// the pair has stopped.
    pub(crate) fn ask(&mut self, index: u32, now: Instant) -> Option<(Header, ProbePacket, Instant)> {
        let probe = &self.sources[index as usize];
        if probe.stop.is_some_and(|stop| now >= stop) {
            return None;
        }
        let header = echo_request(probe, index, self.overhead);
        let asked = &mut self.asked[index as usize];
        // Each pair numbers its requests from 0, as ping does.
        let message = EchoMessage { sequence: *asked, is_reply: false };
        let packet = ProbePacket { message, pair: index, asked: self.echoes.len() as u64, sent_at: now };
        *asked += 1;
        self.echoes.push(Echo { probe: index, sent_at: now, rtt: None });
        Some((header, packet, now + probe.interval))
    }

    /// Handles a request or reply that has arrived at its destination. Returns the reply if the packet is a request; records the round-trip
    /// time if it is a reply.
    pub(crate) fn answer(
        &mut self,
        now: Instant,
        header: &Header,
        packet: &ProbePacket,
    ) -> Option<(Header, ProbePacket)> {
        if packet.message.is_reply {
            self.echoes[packet.asked as usize].rtt = Some(now - packet.sent_at);
            return None;
        }
        let reply = echo_reply(&self.sources[packet.pair as usize], packet.pair, header);
        let message = EchoMessage { is_reply: true, ..packet.message };
        Some((reply, ProbePacket { message, ..*packet }))
    }
}
