//! Test of a NIC's agent that sends packets at its own times, like a receiver that grants credits. Only this test uses the agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use shallows_core::event::EventQueue;
use shallows_core::packet::{AckSegment, Header, HostId, PacketKind};
use shallows_core::{Bytes, Duration, Instant};
use shallows_measure::Captures;

use super::World;
use super::pace::Execution;
use crate::hosts::names::Name;
use crate::hosts::nic::Nic;
use crate::hosts::nic::agent::HostAgent;
use crate::hosts::nic::inbox::Inboxes;
use crate::hosts::packet::{AckPacket, Packet};
use crate::network::site::Site;
use crate::network::testing::star;
use crate::run::simulation::nowhere;

/// Agent that sends `left` packets to host 1, one every [`INTERVAL`]. The first packet is sent when the agent's host first receives data.
#[derive(Debug)]
struct Credits {
    left: u32,
    next: Option<Instant>,
    seen: Arc<AtomicU64>,
}

const INTERVAL: Duration = Duration::from_micros(10);

impl HostAgent for Credits {
    fn on_packet(&mut self, _: Instant, _: Bytes) {
        self.seen.fetch_add(1, Ordering::Relaxed);
    }

    fn on_data(&mut self, now: Instant, _: u32, _: Bytes, _: Instant) -> Option<Bytes> {
        self.next.get_or_insert(now);
        None
    }

    fn on_close(&mut self, _: u32) {}

    fn deadline(&self) -> Option<Instant> {
        self.next.filter(|_| self.left > 0)
    }

    fn poll(&mut self, now: Instant) -> Option<(Header, Packet)> {
        self.deadline().filter(|&next| next <= now)?;
        (self.left, self.next) = (self.left - 1, Some(now + INTERVAL));
        let header = Header::new(HostId(0), HostId(1)).with_size(84).with_kind(PacketKind::PureAck);
        // No connection has this name, so the receiver counts the packet as stale.
        let name = Name { slot: 0, generation: u32::MAX };
        Some((header, Packet::Ack(AckPacket { segment: AckSegment::default(), name })))
    }
}

const SCENARIO: &str = r#"
    [tcp]

    [[workload]]
    kind = "incast"
    senders = "1"
    receivers = 0
    size = "100KB"
"#;

#[test]
fn an_agent_sees_every_packet_of_its_host_and_sends_at_its_own_times() {
    let experiment = star(SCENARIO);
    let site = Site::all(&experiment, None).remove(0);
    let captures = Captures::simulated(&experiment, nowhere).expect("nowhere takes everything");
    let mut world = World::new(&experiment, None, None, site, &captures, Execution::Adaptive);
    let seen = Arc::new(AtomicU64::new(0));
    let agent = Credits { left: 5, next: None, seen: Arc::clone(&seen) };
    world.hosts.install(HostId(0), Nic::new(false, Inboxes::new(None, 0), Some(Box::new(agent))));
    let mut queue = EventQueue::new(Duration::from_micros(10));
    world.start(&experiment, &mut queue);
    world.run(&mut queue, Instant(u64::MAX - 1), u64::MAX);
    assert!(world.outside.finished);
    let tally = world.tally();
    assert_eq!(tally.packets_stale, 5);
    // Every packet sent arrived at one of the two hosts; host 1 received acknowledgements and the five packets.
    assert_eq!(tally.packets_sent, tally.packets_arrived);
    assert_eq!(seen.load(Ordering::Relaxed), tally.data_sent);
}
