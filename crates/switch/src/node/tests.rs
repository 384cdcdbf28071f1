//! Tests of nodes with a few ports that share a memory, with hand-made and random arrivals.

use proptest::prelude::*;
use shallows_core::packet::{Ecn, HostId};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Rate};

use super::*;
use crate::buffer::{Config as BufferConfig, Policy, ReservedRule};
use crate::port::{Config, Ingress};

/// Rate of each link: a packet of 1,000 bytes takes 80 ns.
const RATE: Rate = Rate::from_gbps(100);
const SLOT: u64 = 80_000;

impl<T> AsMut<Self> for Port<T> {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}

/// Effects recorded in order.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    departed: Vec<(u32, u32, Instant, Ingress)>,
    dropped: Vec<(u32, u32)>,
}

impl Effects<u32> for Seen {
    fn departs(&mut self, port: u32, departure: Departure<u32>) {
        let Departure { payload, finish, held, .. } = departure;
        self.departed.push((port, payload, finish, held.ingress()));
    }

    fn drops(&mut self, port: u32, payload: u32) {
        self.dropped.push((port, payload));
    }
}

struct Switch {
    all: Vec<Port<u32>>,
    memory: SharedBuffer,
}

/// Indices of the node's ports in the array of all nodes' ports.
const PORTS: Range<u32> = 2..5;

impl Switch {
    /// Creates a node with three ports that share `pool` bytes. In the array of all ports, two ports of another node precede them.
    fn new(pool: u64) -> Self {
        let mut memory = SharedBuffer::new(&BufferConfig {
            policy: Policy::CompleteSharing,
            pools: vec![Bytes(pool)],
            reserved_rule: ReservedRule::Exact,
            cell: None,
        });
        let port = |account| {
            let stream = |purpose, place| Stream::new(1, purpose, place as u64);
            Port::new(RATE, account, &Config::default(), stream)
        };
        let all =
            (0..PORTS.end).map(|at| port(if at < PORTS.start { 0 } else { memory.add_queue(0, Bytes(0)) }));
        Self { all: all.collect(), memory }
    }

    fn node(&mut self) -> Node<'_, Port<u32>> {
        Node { all: &mut self.all, ports: PORTS, memory: &mut self.memory }
    }

    /// Receives a packet of 1,000 bytes for `host`. The time is `slots` multiplied by the transmission time of such a packet.
    fn arrive(&mut self, slots: u64, host: u32, payload: u32, seen: &mut Seen) {
        let header = Header::new(HostId(9), HostId(host)).with_size(1_000).with_ecn(Ecn::Ect);
        let (now, port) = (Instant(slots * SLOT), PORTS.start + host);
        let mut dropped = Vec::new();
        let arrival = self.node().receive(now, port, Ingress(host + 7), header, payload, &mut dropped);
        if let Arrival::Sent(departure) = arrival {
            seen.departs(port, departure);
        }
        dropped.into_iter().for_each(|payload| seen.drops(port, payload));
    }

    /// Sends the next packet of `port`.
    fn transmit(&mut self, now: Instant, port: u32, seen: &mut Seen) {
        let departure = self.node().transmit(now, port, &mut Vec::new());
        departure.into_iter().for_each(|departure| seen.departs(port, departure));
    }
}

#[test]
fn a_departure_names_the_link_by_which_the_packet_came() {
    let (mut switch, mut seen) = (Switch::new(10_000), Seen::default());
    switch.arrive(0, 1, 1, &mut seen);
    switch.arrive(0, 1, 2, &mut seen);
    assert_eq!(switch.node().wake_at(3), Some(Instant(SLOT)));
    assert_eq!(switch.node().wake_at(2), None, "nothing waits there");
    switch.transmit(Instant(SLOT), 3, &mut seen);
    let at = |slots: u64| Instant(slots * SLOT);
    let expected = vec![(3, 1, at(1), Ingress(8)), (3, 2, at(2), Ingress(8))];
    assert_eq!(seen, Seen { departed: expected, dropped: vec![] });
    assert_eq!(switch.node().wake_at(3), None);
}

#[test]
fn what_one_port_sends_gives_room_to_another() {
    // The memory holds two packets. Ports 2 and 3 each send one packet at once and store one. A packet that must wait at port 4 finds no
    // room until one of the stored packets leaves at the end of the first slot.
    let (mut switch, mut seen) = (Switch::new(2_000), Seen::default());
    for (host, payload) in [(0, 1), (1, 2), (2, 3), (0, 4), (1, 5), (2, 6)] {
        switch.arrive(0, host, payload, &mut seen);
    }
    assert_eq!(seen.dropped, [(4, 6)]);
    switch.node().advance(Instant(SLOT - 1), &mut seen);
    assert_eq!(seen.departed.len(), 3, "no port is free before");
    switch.node().advance(Instant(SLOT), &mut seen);
    let departed: Vec<(u32, u32)> =
        seen.departed.iter().map(|&(port, payload, ..)| (port, payload)).collect();
    assert_eq!(departed, [(2, 1), (3, 2), (4, 3), (2, 4), (3, 5)]);
    switch.arrive(1, 2, 7, &mut seen);
    assert_eq!((seen.departed.len(), seen.dropped.len()), (6, 1));
}

proptest! {
    /// Advancing a node to each arrival and then to the end has the same effects as waking each port when it is due.
    #[test]
    fn to_advance_is_to_wake_each_port_when_it_is_due(
        arrivals in prop::collection::vec((0u64..3, 0u32..3), 1..60),
    ) {
        let [mut lazy, mut woken] = [Switch::new(5_000), Switch::new(5_000)];
        let [mut seen, mut expected] = [Seen::default(), Seen::default()];
        let mut at = 0;
        let wake = |woken: &mut Switch, until: u64, expected: &mut Seen| {
            // At each time, every port that is due sends, in order of ports.
            for now in 0..=until * SLOT / (SLOT / 2) {
                let now = Instant(now * SLOT / 2);
                for port in PORTS {
                    if now.0 <= until * SLOT && woken.node().wake_at(port) == Some(now) {
                        woken.transmit(now, port, expected);
                    }
                }
            }
        };
        for (payload, (wait, host)) in (0..).zip(arrivals) {
            at += wait;
            lazy.node().advance(Instant(at * SLOT), &mut seen);
            wake(&mut woken, at, &mut expected);
            lazy.arrive(at, host, payload, &mut seen);
            woken.arrive(at, host, payload, &mut expected);
        }
        lazy.node().advance(Instant((at + 60) * SLOT), &mut seen);
        wake(&mut woken, at + 60, &mut expected);
        prop_assert_eq!(seen, expected);
        lazy.memory.audit();
        prop_assert_eq!(lazy.memory.pools()[0].used, Bytes(0));
    }
}
