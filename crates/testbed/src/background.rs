//! Background traffic without congestion control: datagrams, and echo requests with their replies.
//!
//! The traffic bypasses the kernel. The fabric creates each packet at its exact time and consumes it on arrival, as the simulation does.
//! The packets therefore measure queues and links, not hosts.

use shallows_core::packet::{Body, EchoMessage, Header};
use shallows_core::{Bytes, Instant};
use shallows_measure::Echo;
use shallows_scenario::{Experiment, Probe};
use shallows_sim::{Datagrams, echo_reply, echo_request};
use shallows_wire::{icmp, ipv4, udp};

/// All sources of background traffic, and their measurements.
#[derive(Debug)]
pub struct Background {
    datagrams: Datagrams,
    /// Number of datagram sources. Datagram sources have the numbers below `count`; probes have the numbers from `count` on.
    count: u32,
    probes: Vec<Probe>,
    echoes: Vec<Echo>,
    /// Bytes of framing, of the IP header, and of the UDP or ICMP header.
    overhead: u16,
}

/// Bytes stored in place of a background packet: none for a datagram; sequence number and direction for an echo. Real frames are longer.
type Contents = Vec<u8>;

/// A packet that leaves a host: header and contents.
pub type Made = (Header, Contents);

/// Bytes of IP and UDP headers. The header of an echo is as long as that of a datagram.
const HEADERS: u16 = (ipv4::LEN + udp::LEN) as u16;
const _: () = assert!(icmp::LEN == udp::LEN);

impl Background {
    /// Builds the sources of `experiment`.
    pub fn new(experiment: &Experiment) -> Self {
        let framing = u16::try_from(experiment.network.framing.0).expect("framing is small");
        let sources = &experiment.datagram_sources;
        Self {
            datagrams: Datagrams::new(sources, HEADERS + framing, experiment.seed),
            count: sources.len() as u32,
            probes: experiment.probes.clone(),
            echoes: Vec::new(),
            overhead: HEADERS + framing,
        }
    }

    /// Returns the time of each source's first packet, in the order of the sources' numbers.
    pub fn starts(&mut self) -> Vec<Instant> {
        let probes = self.probes.iter().map(|probe| probe.start);
        self.datagrams.starts().chain(probes).collect()
    }

    /// Returns the packet that a source sends now, and the time of its next packet; `None` once the source has stopped.
    pub fn send(&mut self, number: u32, now: Instant) -> Option<(Made, Instant)> {
        let Some(index) = number.checked_sub(self.count) else {
            let (header, next) = self.datagrams.send(number, now);
            return Some(((header?, Contents::new()), next?));
        };
        let probe = &self.probes[index as usize];
        if probe.stop.is_some_and(|stop| now >= stop) {
            return None;
        }
        let header = echo_request(probe, index, self.overhead);
        let number = self.echoes.len() as u32;
        self.echoes.push(Echo { probe: index, sent_at: now, rtt: None });
        Some(((header, contents(number, false)), now + probe.interval))
    }

    /// Handles a background packet that has reached its host. Returns the reply, if there is one.
    pub fn arrive(&mut self, now: Instant, header: &Header, bytes: &[u8]) -> Option<Made> {
        let &[a, b, c, d, reply] = bytes else {
            self.datagrams.receive(header);
            return None;
        };
        let number = u32::from_be_bytes([a, b, c, d]);
        let echo = &mut self.echoes[number as usize];
        if reply != 0 {
            echo.rtt = Some(now - echo.sent_at);
            return None;
        }
        let answer = echo_reply(&self.probes[echo.probe as usize], echo.probe, header);
        Some((answer, contents(number, true)))
    }

    /// Returns the total size on the wire of the datagrams that arrived, and a record of each echo request.
    pub fn measured(self) -> (Bytes, Vec<Echo>) {
        (self.datagrams.received_bytes, self.echoes)
    }
}

/// Returns the payload that captures record for a packet with these contents; `None` for a datagram.
pub fn body(contents: &[u8]) -> Option<Body> {
    let &[a, b, c, d, reply] = contents else { return None };
    let sequence = u64::from(u32::from_be_bytes([a, b, c, d]));
    Some(Body::Echo(EchoMessage { sequence, is_reply: reply != 0 }))
}

fn contents(number: u32, reply: bool) -> Contents {
    let [a, b, c, d] = number.to_be_bytes();
    vec![a, b, c, d, u8::from(reply)]
}
