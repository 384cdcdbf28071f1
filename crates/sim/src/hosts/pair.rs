//! Tests of hosts on a plain wire, without a network or an event queue. They show what a [`Driver`] must provide.

use std::collections::BTreeMap;
use std::ops::Range;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_measure::Tally;
use shallows_scenario::Flow;

use crate::hosts::connection::Place;
use crate::hosts::flow::Flows;
use crate::hosts::packet::{PacketRef, Packets, Queued};
use crate::hosts::{Driver, HostEvent, Hosts, Timer};
use crate::network::places::Places;
use crate::network::testing::star;

mod queue_pairs;

/// Wire of unlimited rate between all hosts, which loses some packets.
struct TestWire {
    now: Instant,
    /// Future events by time, and at equal times in the order in which they were added.
    due: BTreeMap<(Instant, u64), Due>,
    asked: u64,
    packets: Packets,
    tally: Tally,
    /// Returns the delay of the n-th packet sent, counted from 1; `None` if the packet is lost.
    network: Box<dyn FnMut(u64) -> Option<Duration>>,
    /// Returns the delay of a second copy of a packet with data of a queue pair; `None` without a second copy.
    copies: Box<dyn FnMut() -> Option<Duration>>,
    dropped: Vec<(HostId, Queued)>,
    /// Packets that wait in NICs; `None` if each packet leaves at once.
    waiting: Option<Vec<(Header, PacketRef)>>,
    /// Flows whose changes are reported.
    traced: Vec<u32>,
    /// Flows that have begun, with the sequence numbers of their bytes.
    begun: Vec<(u32, Range<u64>)>,
    told: Vec<(Instant, Told)>,
}

enum Due {
    Arrival(Header, PacketRef),
    Timer(Timer),
    /// Arrival of the flow with this number.
    Flow(u32, Flow),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// The receiver has all data of a flow that arrived at its sender at this time.
    Received(Instant),
    Acked(u32),
    Failed(u32),
    /// Report of a change of this flow, with the number of its acknowledged bytes.
    Changed(u32, u64),
}

/// Bytes of data in the largest packet: 1,500 bytes minus 40 bytes of IP and TCP headers and 12 bytes of timestamps (RFC 7323 §3.2).
const SEGMENT: u64 = 1_448;

/// Delay from one host to another.
const DELAY: Duration = Duration::from_micros(10);

impl TestWire {
    /// Creates a wire with the delay [`DELAY`] that loses the packets in `lost`.
    fn new(lost: &[u64]) -> Self {
        let lost = lost.to_vec();
        Self {
            now: Instant::ZERO,
            due: BTreeMap::new(),
            asked: 0,
            packets: Packets::default(),
            tally: Tally::default(),
            network: Box::new(move |number| (!lost.contains(&number)).then_some(DELAY)),
            copies: Box::new(|| None),
            dropped: Vec::new(),
            waiting: None,
            traced: Vec::new(),
            begun: Vec::new(),
            told: Vec::new(),
        }
    }

    /// Runs until no event is left.
    fn run(&mut self, hosts: &mut Hosts) {
        while let Some(((now, _), due)) = self.due.pop_first() {
            self.now = now;
            match due {
                Due::Arrival(header, packet) => hosts.receive(header, packet, self),
                Due::Timer(timer) => hosts.on_timer(timer, self),
                Due::Flow(number, flow) => hosts.start(number, &flow, self),
            }
        }
        assert_eq!(self.packets.len(), 0, "every packet has been received or lost");
    }

    /// Loses a packet in the NIC of its source.
    fn lose(&mut self, header: Header, packet: PacketRef) {
        self.dropped.extend(self.packets.queued(packet).map(|queued| (header.source(), queued)));
        self.packets.discard(packet);
    }

    fn later(&mut self, at: Instant, due: Due) {
        self.asked += 1;
        self.due.insert((at, self.asked), due);
    }
}

impl Driver for TestWire {
    fn now(&self) -> Instant {
        self.now
    }

    fn packets(&mut self) -> &mut Packets {
        &mut self.packets
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn send(&mut self, header: Header, packet: PacketRef) -> bool {
        if let Some(waiting) = &mut self.waiting {
            waiting.push((header, packet));
            return false;
        }
        let Some(delay) = (self.network)(self.tally.packets_sent) else {
            self.lose(header, packet);
            return false;
        };
        if let Some(&data) = self.packets.rdma_data(packet)
            && let Some(delay) = (self.copies)()
        {
            let copy = self.packets.insert_rdma_data(data);
            self.later(self.now + delay, Due::Arrival(header, copy));
        }
        self.later(self.now + delay, Due::Arrival(header, packet));
        true
    }

    fn dropped(&mut self) -> Option<(HostId, Queued)> {
        self.dropped.pop()
    }

    fn timer_at(&mut self, at: Instant, timer: Timer) {
        self.later(at, Due::Timer(timer));
    }

    fn answer(&mut self, _: &Header, _: PacketRef) -> Option<(Header, PacketRef)> {
        unreachable!("all packets are of connections")
    }

    fn traces(&mut self, flow: u32, _: Place, bytes: Range<u64>) -> bool {
        self.begun.push((flow, bytes));
        self.traced.contains(&flow)
    }

    fn traces_responder(&mut self, _: u32, _: Place) -> bool {
        false
    }

    fn on_event(&mut self, event: HostEvent<'_>) {
        let told = match event {
            HostEvent::Received(record) => Told::Received(record.arrival),
            HostEvent::Acked { flow, .. } => Told::Acked(flow),
            HostEvent::Failed { flow } => Told::Failed(flow),
            HostEvent::ResponderChanged { .. } => unreachable!("no responder is traced"),
            HostEvent::Changed { flow, endpoint } => Told::Changed(flow, endpoint.tcp().acked()),
        };
        self.told.push((self.now, told));
    }
}

const SCENARIO: &str = r#"
    [tcp]
    delayed_ack = { segments = 1 }
    rto = { min = "1ms", initial = "3ms" }

    [[workload]]
    kind = "incast"
    senders = 0
    receivers = 1
    size = "3KB"
"#;

/// Runs flow 7, of three segments, on a wire that loses the packets in `lost`, until no event is left.
fn run(lost: &[u64], traced: &[u32]) -> TestWire {
    let mut hosts = hosts_of(SCENARIO);
    let mut wire = TestWire { traced: traced.to_vec(), ..TestWire::new(lost) };
    hosts.start(7, &flow(), &mut wire);
    wire.run(&mut hosts);
    wire
}

/// Returns hosts that have 10 Gb/s links and the connections of a scenario.
fn hosts_of(scenario: &str) -> Hosts {
    let experiment = star(scenario);
    let everywhere = Places::of(experiment.network.hosts, 1, |_| 0).remove(0);
    Hosts::new(
        &experiment,
        &everywhere,
        |_| Rate::from_gbps(10),
        Flows::new(&experiment, Some(experiment.network.hosts)),
    )
}

fn flow() -> Flow {
    Flow {
        at: Instant::ZERO,
        source: HostId(0),
        destination: HostId(1),
        size: Some(Bytes(3 * SEGMENT)),
        workload: 0,
        class: 0,
        port: None,
        leg: None,
        listed: None,
    }
}

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

#[test]
fn hosts_bring_a_flow_over_any_driver_that_carries_their_packets() {
    // Three segments fit into the first window (RFC 6928: ten) and leave at once; the wire adds only its delay.
    let wire = run(&[], &[]);
    assert_eq!(wire.told, [(at(10), Told::Received(at(0))), (at(20), Told::Acked(7))]);
    let Tally { packets_sent, packets_arrived, data_sent, flows_completed, .. } = wire.tally;
    assert_eq!((packets_sent, packets_arrived, data_sent, flows_completed), (6, 6, 3, 1));
}

#[test]
fn a_driver_hears_of_every_change_of_a_sender_that_it_traces() {
    let wire = run(&[], &[7]);
    let changes: Vec<_> = wire.told.iter().filter(|(_, told)| matches!(told, Told::Changed(..))).collect();
    // Changes occur when the sender sends and with each acknowledgement; the last acknowledgement completes the flow.
    let changed = |micros, acked| (at(micros), Told::Changed(7, acked));
    assert_eq!(changes, [&changed(0, 0), &changed(20, SEGMENT), &changed(20, 2 * SEGMENT)]);
}

#[test]
fn hosts_find_by_their_timers_what_a_driver_has_lost() {
    // All three segments are lost. Only the first timeout, after 3 ms, detects the loss. The sender then retransmits one segment (RFC 5681
    // §3.1), and the other two when that segment is acknowledged. If the NIC still counted three segments as queued, it would not pull
    // another one.
    let wire = run(&[1, 2, 3], &[]);
    assert_eq!(wire.told, [(at(3_030), Told::Received(at(0))), (at(3_040), Told::Acked(7))]);
    assert_eq!((wire.tally.packets_sent, wire.tally.packets_arrived), (9, 6));
}

#[test]
fn a_connection_whose_waiting_packets_are_dropped_continues_in_one_event() {
    // The NIC holds the connection back when three segments wait, because two may wait.
    let mut hosts = hosts_of(&[SCENARIO, "[host]\nnic.backpressure = '3000B'\n"].concat());
    let mut wire = TestWire { waiting: Some(Vec::new()), ..TestWire::new(&[]) };
    hosts.start(7, &Flow { size: Some(Bytes(8 * SEGMENT)), ..flow() }, &mut wire);
    let waiting = wire.waiting.take().expect("packets wait");
    assert_eq!(waiting.len(), 3);
    waiting.into_iter().for_each(|(header, packet)| wire.lose(header, packet));
    wire.now = at(5);
    hosts.on_drops(&mut wire);
    let due: Vec<Instant> = wire.due.keys().map(|&(at, _)| at).collect();
    assert_eq!(due, [at(5), at(3_000)], "one event, and the timer as before");
    wire.run(&mut hosts);
    // Five more segments leave at 5 us. The third duplicate acknowledgement, at 25 us, reveals the loss of the first segment. The other two
    // losses follow from SACK.
    let end = wire.told.last().expect("the flow ends");
    assert_eq!(*end, (at(45), Told::Acked(7)));
}
