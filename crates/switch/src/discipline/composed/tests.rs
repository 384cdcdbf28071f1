//! Tests that call queues by class directly: the queue that a packet joins, and the limits of the queues and the port.

use super::super::testing::{drain, stream};
use super::*;
use crate::discipline::{self, Share, with_discipline};

const RATE: Rate = Rate::from_gbps(10);

/// Returns two queues, the first with priority: classes 0 and 2 join queue 0, class 1 joins queue 1.
fn composed(limits: Limits) -> Composed<u32> {
    let scheduler = scheduler::Config::StrictPriority { queues: 2 };
    let built = scheduler.build(RATE);
    Composed::new(&Config { scheduler, queue_of_class: [0, 1, 0].into(), limits }, built)
}

/// Offers a packet of this class and size. Returns the queue that it joins, or the reason for refusing it.
fn arrive(composed: &mut Composed<u32>, class: u8, size: u16, payload: u32) -> Result<usize, DropReason> {
    let header = Header::default().with_class(class).with_size(size);
    let queue = composed.place(Instant::ZERO, &header)?;
    composed.enqueue(queue, Item { header, payload, ..Item::default() });
    Ok(queue)
}

#[test]
fn packets_join_the_queue_of_their_class_and_unknown_classes_the_first() {
    let mut composed = composed(Limits::default());
    let queues: Vec<_> = (0..4).map(|class| arrive(&mut composed, class, 1_000, class.into())).collect();
    assert_eq!(queues, [Ok(0), Ok(1), Ok(0), Ok(0)]);
    assert_eq!(drain(&mut composed), [0, 2, 3, 1]);
}

#[test]
fn a_queue_grows_to_its_limit_in_bytes_or_packets_and_an_unlimited_one_further() {
    // A queue that is exactly full is within its limit. The other queue has no entry, so it has no limit.
    for limit in [Limit::Bytes(Bytes(2_000)), Limit::Packets(2)] {
        let mut composed = composed(Limits { queues: vec![limit], port: None });
        let joined = [(); 3].map(|()| arrive(&mut composed, 0, 1_000, 0));
        assert_eq!(joined, [Ok(0), Ok(0), Err(DropReason::QueueLimit)], "{limit:?}");
        assert_eq!([(); 3].map(|()| arrive(&mut composed, 1, 1_000, 0)), [Ok(1); 3], "{limit:?}");
        // After a departure there is room for one packet again.
        composed.dequeue(Instant::ZERO);
        assert_eq!(arrive(&mut composed, 0, 1_000, 0), Ok(0), "{limit:?}");
    }
    let mut composed = composed(Limits { queues: vec![Limit::Bytes(Bytes(2_000))], port: None });
    assert_eq!(arrive(&mut composed, 0, 1_001, 0), Ok(0));
    assert_eq!(arrive(&mut composed, 0, 1_000, 0), Err(DropReason::QueueLimit), "one byte too many");
}

#[test]
fn the_queues_of_a_port_share_its_limit_first_come_first_served() {
    for limit in [Limit::Bytes(Bytes(3_000)), Limit::Packets(3)] {
        let mut composed = composed(Limits { queues: vec![], port: Some(limit) });
        let joined = [1, 0, 1, 0].map(|class| arrive(&mut composed, class, 1_000, 0));
        assert_eq!(joined, [Ok(1), Ok(0), Ok(1), Err(DropReason::PortLimit)], "{limit:?}");
        // Each departure makes room for one arrival, repeatedly.
        for _ in 0..5 {
            composed.dequeue(Instant::ZERO);
            assert_eq!(arrive(&mut composed, 1, 1_000, 0), Ok(1), "{limit:?}");
            assert_eq!(arrive(&mut composed, 0, 1_000, 0), Err(DropReason::PortLimit), "{limit:?}");
        }
    }
}

#[test]
fn a_packet_that_no_limit_admits_is_refused_by_the_limit_of_the_port() {
    let mut composed = composed(Limits { queues: vec![Limit::Packets(1)], port: Some(Limit::Packets(1)) });
    let joined = [0, 0, 1].map(|class| arrive(&mut composed, class, 1_000, 0));
    assert_eq!(joined, [Ok(0), Err(DropReason::PortLimit), Err(DropReason::PortLimit)]);
}

#[test]
fn a_packet_leaves_its_queue_as_if_it_had_never_been_there() {
    let mut composed = composed(Limits::default());
    let empty = composed.queues().to_vec();
    arrive(&mut composed, 1, 1_000, 0).unwrap();
    arrive(&mut composed, 1, 700, 1).unwrap();
    let state = QueueState { backlog: Bytes(1_700), packets: 2, head: Bytes(1_000), ..QueueState::default() };
    assert_eq!(composed.queues(), [QueueState::default(), state]);
    assert_eq!(composed.dequeue(Instant::ZERO).map(|left| (left.item.payload, left.queue)), Some((0, 1)));
    let state = QueueState { backlog: Bytes(700), packets: 1, head: Bytes(700), ..QueueState::default() };
    assert_eq!(composed.queues(), [QueueState::default(), state]);
    assert_eq!(composed.peek(Instant::ZERO), Some(Bytes(700)));
    assert_eq!(drain(&mut composed), [1]);
    assert_eq!(composed.queues(), empty);
    assert_eq!(composed.peek(Instant::ZERO), None);
}

#[test]
fn a_port_of_queues_by_class_has_their_accounts_shares_and_readings() {
    let quanta = vec![Bytes(1_500), Bytes(3_000)];
    let scheduler = scheduler::Config::Dwrr { quanta: quanta.clone() };
    let config = Config { scheduler, queue_of_class: [0, 1].into(), limits: Limits::default() };
    let config = discipline::Config::Composed(config);
    assert_eq!(config.queues(), 2);
    assert_eq!(config.shares(), [0, 1].map(|queue| Share::Round { quantum: quanta[queue] }));
    let mut told = vec![];
    let mut tell = |reading: Reading| told.push((reading.quantity, reading.queue));
    with_discipline!(&config.build::<u32>(RATE, stream(1)), own => own.observe(&mut tell));
    assert_eq!(told, [("deficit_bytes", Some(0)), ("deficit_bytes", Some(1))]);
}

#[test]
#[should_panic(expected = "every class has a queue")]
fn a_class_without_a_queue_is_refused() {
    let scheduler = scheduler::Config::StrictPriority { queues: 2 };
    let config = Config { scheduler, queue_of_class: [2].into(), limits: Limits::default() };
    discipline::Config::Composed(config).build::<u32>(RATE, stream(1));
}
