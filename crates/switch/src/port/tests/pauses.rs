//! Ports whose queues are paused for a while.

use super::elaborate::{REFILL, shaped, two_queues};
use super::*;

/// Receives a packet of this class. Its transmission takes one slot of 80 ns.
fn arrive(port: &mut Port<u32>, buffer: &mut SharedBuffer, at: Instant, class: u8) -> Arrival<u32> {
    let header = packet(Ecn::Ect).with_class(class);
    port.receive(at, Ingress::NONE, header, u32::from(class), buffer, &mut Vec::new())
}

/// Sends packets at the times that the port returns, until `end`. Returns the time and the payload of each.
fn wake(port: &mut Port<u32>, buffer: &mut SharedBuffer, end: Instant) -> Vec<(Instant, u32)> {
    let mut sent = Vec::new();
    while let Some(at) = port.wake_at().filter(|&at| at <= end) {
        let departure = port.transmit_next(at, buffer, &mut Vec::new());
        sent.extend(departure.map(|departure| (at, departure.payload)));
    }
    port.audit(buffer);
    buffer.audit();
    sent
}

fn at(ns: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(ns)
}

#[test]
fn a_port_of_one_queue_that_is_paused_ends_what_it_sends_and_no_more() {
    let (mut port, mut buffer) = (port(vec![], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(100_000))));
    assert!(matches!(arrive(&mut port, &mut buffer, at(0), 0), Arrival::Sent(_)));
    arrive(&mut port, &mut buffer, at(10), 0);
    port.pause(0);
    assert_eq!(port.wake_at(), None);
    // The driver may have scheduled this call before the queue was paused.
    assert!(port.transmit_next(at(80), &mut buffer, &mut Vec::new()).is_none());
    assert!(matches!(arrive(&mut port, &mut buffer, at(90), 0), Arrival::Queued));
    port.resume(at(200), 0);
    assert_eq!(wake(&mut port, &mut buffer, at(900)), [(at(200), 0), (at(280), 0)]);
    // A pause that ends while the port still sends delays no packet.
    arrive(&mut port, &mut buffer, at(1_000), 0);
    arrive(&mut port, &mut buffer, at(1_000), 0);
    port.pause(0);
    port.resume(at(1_050), 0);
    assert_eq!(wake(&mut port, &mut buffer, at(1_900)), [(at(1_080), 0)]);
}

#[test]
fn a_paused_port_that_is_empty_keeps_what_comes() {
    let (mut port, mut buffer) = (port(vec![], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(100_000))));
    port.pause(0);
    assert!(matches!(arrive(&mut port, &mut buffer, at(10), 0), Arrival::Queued));
    assert_eq!(port.wake_at(), None);
    port.resume(at(30), 0);
    assert_eq!(wake(&mut port, &mut buffer, at(900)), [(at(30), 0)]);
}

#[test]
fn the_other_queue_of_a_port_goes_on_and_wakes_it() {
    let (mut port, mut buffer) = two_queues(vec![], Policy::CompleteSharing);
    port.pause(0);
    // The port is empty and its link is free, but a packet of the paused class 0 must not pass through.
    assert!(matches!(arrive(&mut port, &mut buffer, at(0), 0), Arrival::Queued));
    assert_eq!(wake(&mut port, &mut buffer, at(50)), []);
    assert_eq!(port.wake_at(), None, "nothing that waits may be sent");
    assert!(matches!(arrive(&mut port, &mut buffer, at(100), 1), Arrival::Queued));
    arrive(&mut port, &mut buffer, at(100), 1);
    assert_eq!(wake(&mut port, &mut buffer, at(900)), [(at(100), 1), (at(180), 1)]);
    assert_eq!(port.wake_at(), None);
    port.resume(at(1_000), 0);
    assert_eq!(wake(&mut port, &mut buffer, at(1_900)), [(at(1_000), 0)]);
}

#[test]
fn a_shaper_lets_pass_what_a_pause_has_held_up() {
    // The bucket is full again long before the pause ends.
    let (mut port, mut buffer) = (shaped(vec![], EgressDrop::Slot), buffer(Limit::Bytes(Bytes(100_000))));
    assert!(matches!(arrive(&mut port, &mut buffer, at(0), 0), Arrival::Sent(_)));
    arrive(&mut port, &mut buffer, at(0), 0);
    arrive(&mut port, &mut buffer, at(0), 0);
    port.pause(0);
    let end = at(0) + REFILL * 3;
    port.resume(end, 0);
    assert_eq!(wake(&mut port, &mut buffer, end + REFILL * 9), [(end, 0), (end + REFILL, 0)]);
}

#[test]
#[should_panic(expected = "it has no queues that can be paused")]
fn a_discipline_that_chooses_by_hash_cannot_pause() {
    let discipline = discipline::Config::Sfq(discipline::sfq::Config::default());
    assert!(!discipline.can_pause());
    let config = crate::port::Config { discipline, ..crate::port::Config::default() };
    let mut port: Port<u32> =
        Port::new(GBPS_100, 0, &config, |purpose, place| Stream::new(1, purpose, place as u64));
    port.pause(0);
}
