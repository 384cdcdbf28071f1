//! Single rules of lossless classes: accounts of groups, reports of state, and drops at departure.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_switch::aqm::{self, Placed};
use shallows_switch::buffer::{self, Cell, Policy, ReservedRule, SharedBuffer};
use shallows_switch::ingress::{
    ClassMaps, Compares, Config, Counted, GroupConfig, GroupLimit, IngressBook, Lossless, PoolConfig, Signal,
    TwoBooks,
};
use shallows_switch::pfc::{
    Poll, ReceiveBuffer, ReceiveConfig, Verdict, Watchdog, WatchdogAction, WatchdogConfig,
};
use shallows_switch::port::{self, Arrival, Departure, Ingress};
use shallows_switch::{Effects, Node, Port};

fn book(compares: Compares, pool: PoolConfig) -> IngressBook {
    IngressBook::new(&Config { cell: Cell::new(Bytes(100)), compares, pools: vec![pool] })
}

/// Returns a lossless group with this limit, and reserved memory and headroom of these sizes.
fn lossless(limit: GroupLimit, reserved: u64, headroom: u64) -> GroupConfig {
    let lossless = Lossless { headroom: Bytes(headroom), xon: Bytes(0), xon_offset: Bytes(0) };
    GroupConfig { pool: 0, reserved: Bytes(reserved), limit, lossless: Some(lossless) }
}

#[test]
fn a_packet_longer_than_the_rest_of_the_reserve_takes_only_the_difference_from_headroom() {
    let mut book = book(Compares::With, PoolConfig { size: Bytes(10_000), headroom: Some(Bytes(200)) });
    let port = book.add_port(&[lossless(GroupLimit::Static(Bytes(0)), 300, 1_000)]);
    let group = book.group(port, 0);
    // Three of the five cells are reserved, and the other two fill the headroom pool.
    assert_eq!(book.admit(group, Bytes(500)), Ok(()));
    assert_eq!((book.occupancy(group), book.headroom(group)), (Bytes(500), Bytes(200)));
    book.audit();
    assert!(book.admit(group, Bytes(100)).is_err(), "the headroom pool is full");
    book.release(group, Bytes(500));
    assert_eq!((book.occupancy(group), book.headroom(group)), (Bytes(0), Bytes(0)));
    book.audit();
}

#[test]
fn a_group_that_holds_nothing_is_not_paused_when_others_fill_the_pool() {
    let mut book = book(Compares::Before, PoolConfig { size: Bytes(10_000), headroom: None });
    let port = book.add_port(&[
        lossless(GroupLimit::Static(Bytes(10_000)), 0, 0),
        lossless(GroupLimit::Dynamic { exponent: 0 }, 0, 1_000),
    ]);
    let [full, empty] = [0, 1].map(|number| book.group(port, number));
    assert_eq!(book.admit(full, Bytes(10_000)), Ok(()));
    assert_eq!([full, empty].map(|group| book.is_paused(group)), [true, false]);
    book.audit();
}

#[test]
fn a_book_reports_its_sizes_and_signals() {
    let mut book = book(Compares::With, PoolConfig { size: Bytes(10_000), headroom: None });
    let lossy = GroupConfig { lossless: None, ..lossless(GroupLimit::Static(Bytes(1_000)), 0, 0) };
    let port = book.add_port(&[lossless(GroupLimit::Static(Bytes(200)), 0, 1_550), lossy]);
    let [group, other] = [0, 1].map(|number| book.group(port, number));
    assert_eq!(book.cell(), Cell::new(Bytes(100)));
    // Headroom has whole cells.
    assert_eq!([group, other].map(|group| book.headroom_size(group)), [Bytes(1_500), Bytes(0)]);
    let room =
        |book: &IngressBook, size| book.room(group, Bytes(size)).expect("the group is below its limit");
    let half = room(&book, 100);
    assert!(!book.store(group, half));
    let rest = room(&book, 100);
    assert!(book.store(group, rest));
    assert_eq!((book.next_signal(), book.next_signal()), (Some(Signal::Pause(group)), None));
    assert!(book.release(group, Bytes(200)));
    assert_eq!((book.next_signal(), book.next_signal()), (Some(Signal::Resume(group)), None));
}

#[test]
fn maps_keep_the_dscp_if_every_class_is_its_dscp() {
    let mut maps =
        ClassMaps { class_of_dscp: std::array::from_fn(|dscp| dscp as u8), ..ClassMaps::default() };
    assert!(maps.keep_dscp());
    maps.class_of_dscp[63] = 0;
    assert!(!maps.keep_dscp());
    assert!(!ClassMaps::default().keep_dscp());
}

#[test]
fn a_watchdog_reports_whether_its_queue_ignores_pauses() {
    let time = Duration::from_millis(100);
    let config =
        WatchdogConfig { detection: time, restoration: time, poll: time, action: WatchdogAction::Drop };
    let mut watchdog = Watchdog::default();
    for (frames, verdict, is_stormed) in
        [(1, None, false), (2, Some(Verdict::Storm), true), (2, Some(Verdict::Restore), false)]
    {
        let poll = Poll { is_paused: true, frames, resumes: 0 };
        assert_eq!((watchdog.on_poll(poll, &config), watchdog.is_stormed()), (verdict, is_stormed));
    }
}

#[test]
fn a_receive_buffer_counts_its_packets() {
    let [size, xoff, xon] = [4_000, 2_000, 1_000].map(Bytes);
    let (rate, packet_time) = (Some(Rate::from_gbps(8)), Duration::ZERO);
    let mut buffer = ReceiveBuffer::new(ReceiveConfig { rate, packet_time, size, xoff, xon });
    let counts = [(); 3].map(|()| {
        let before = buffer.packets();
        assert_eq!(buffer.receive(Instant::ZERO, Header::default().with_size(1_000), ()), None);
        before
    });
    assert_eq!(counts, [0, 1, 2]);
}

/// Packets that have left and packets that were dropped.
#[derive(Debug, Default, PartialEq)]
struct Log(Vec<u32>, Vec<u32>);

impl Effects<u32> for Log {
    fn departs(&mut self, _port: u32, departure: Departure<u32>) {
        self.0.push(departure.payload);
    }

    fn drops(&mut self, _port: u32, payload: u32) {
        self.1.push(payload);
    }
}

struct Wired(Port<Counted<u32>>);

impl AsMut<Port<Counted<u32>>> for Wired {
    fn as_mut(&mut self) -> &mut Port<Counted<u32>> {
        &mut self.0
    }
}

#[test]
fn a_packet_that_is_dropped_when_it_would_leave_is_reported_and_freed_at_ingress() {
    let mut ingress = book(Compares::With, PoolConfig { size: Bytes(10_000), headroom: None });
    let limit = GroupLimit::Static(Bytes(10_000));
    let arrives = ingress.add_port(&[GroupConfig { lossless: None, ..lossless(limit, 0, 0) }; 8]);
    let mut memory = SharedBuffer::new(&buffer::Config {
        policy: Policy::CompleteSharing,
        pools: vec![Bytes(10_000)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    let account = memory.add_queue(0, Bytes(0));
    // A marker drops packets that are not ECN-capable. The second packet waits for 80 ns.
    let marker = aqm::Config::Tcn { threshold: Duration::from_nanos(79) };
    let config = port::Config { markers: vec![Placed::everywhere(marker)], ..port::Config::default() };
    let stream = |purpose, place| Stream::new(1, purpose, place as u64);
    let mut ports = [Wired(Port::new(Rate::from_gbps(100), account, &config, stream))];
    let maps = ClassMaps::default();
    let node = Node { all: &mut ports, ports: 0..1, memory: &mut memory };
    let mut switch = TwoBooks { node, ingress: &mut ingress, maps: &maps };
    let (mut log, header) = (Log::default(), Header::default().with_size(1_000));
    let arrivals = [1, 2].map(|packet| switch.receive(Instant::ZERO, 0, arrives, header, packet, &mut log));
    assert!(matches!(arrivals, [Arrival::Sent(_), Arrival::Queued]), "{arrivals:?}");
    let group = switch.ingress.group(Ingress(0), maps.group(header.class()));
    assert_eq!(switch.ingress.occupancy(group), Bytes(1_000));
    switch.advance(Instant::MAX, &mut log);
    assert_eq!(log, Log(vec![], vec![2]));
    assert_eq!(switch.ingress.occupancy(group), Bytes(0));
}
