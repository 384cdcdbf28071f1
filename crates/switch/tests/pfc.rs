//! Tests of priority-based flow control in closed form: times of pauses, and headroom of links.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_switch::Port;
use shallows_switch::buffer::{self, Cell, Policy, ReservedRule, SharedBuffer};
use shallows_switch::discipline::{self, ComposedConfig, Limits, SchedulerConfig};
use shallows_switch::headroom::{generic, largest_response};
use shallows_switch::ingress::{
    ClassMaps, Compares, Config, GroupConfig, GroupLimit, IngressBook, Lossless, PoolConfig, Signal,
};
use shallows_switch::pfc::{Change, Frame, PRIORITIES, PauseTimers, Pauser, PauserConfig, pause_time};
use shallows_switch::port::{self, Ingress};

const PRIORITY: u8 = 3;

fn frame(priority: u8, quanta: u16) -> Frame {
    let mut frame = Frame::default();
    frame.quanta[usize::from(priority)] = Some(quanta);
    frame
}

fn changes(timers: &mut PauseTimers, now: Instant) -> Vec<Change> {
    let mut changes = vec![];
    timers.advance(now, &mut changes);
    changes
}

#[test]
fn a_quantum_is_512_bit_times() {
    // Gb/s; picoseconds of a quantum; microseconds of the longest pause, rounded.
    for (gbps, quantum, longest) in [
        (10, 51_200, 3_355.4),
        (25, 20_480, 1_342.2),
        (40, 12_800, 838.8),
        (50, 10_240, 671.1),
        (100, 5_120, 335.5),
        (200, 2_560, 167.8),
        (400, 1_280, 83.9),
        (800, 640, 41.9),
    ] {
        let rate = Rate::from_gbps(gbps);
        assert_eq!(pause_time(rate, 1), Duration(quantum), "{gbps} Gb/s");
        let us = pause_time(rate, u16::MAX).as_micros_f64();
        assert!((us - longest).abs() < 0.05, "{gbps} Gb/s: {us}");
    }
    // 394 quanta are 2.02 us at 100 Gb/s.
    assert_eq!(pause_time(Rate::from_gbps(100), 394), Duration(2_017_280));
    assert_eq!(PRIORITIES, 8);
}

#[test]
fn an_unrefreshed_pause_lapses_after_its_time() {
    let rate = Rate::from_gbps(100);
    let response = pause_time(rate, 394);
    let mut timers = PauseTimers::new(rate, response);
    timers.receive(Instant(1_000), &frame(PRIORITY, u16::MAX));
    let stop = Instant(1_000) + response;
    assert_eq!(timers.wake_at(), Some(stop));
    assert_eq!(changes(&mut timers, Instant(stop.0 - 1)), []);
    assert!(!timers.is_paused(PRIORITY));
    assert_eq!(changes(&mut timers, stop), [Change::Stop(PRIORITY)]);
    assert!(timers.is_paused(PRIORITY) && !timers.is_paused(4));
    // 65,535 quanta after the frame: 335.5 us.
    let lapse = Instant(1_000 + 65_535 * 5_120);
    assert_eq!(timers.wake_at(), Some(lapse));
    assert_eq!(changes(&mut timers, Instant(lapse.0 - 1)), []);
    assert_eq!(changes(&mut timers, lapse), [Change::Go(PRIORITY)]);
    assert_eq!(timers.wake_at(), None);
}

#[test]
fn a_frame_replaces_the_time_of_its_priorities_only() {
    let rate = Rate::from_gbps(100);
    let mut timers = PauseTimers::new(rate, Duration::ZERO);
    let both = Frame { quanta: std::array::from_fn(|priority| (priority < 2).then_some(1_000)) };
    timers.receive(Instant::ZERO, &both);
    assert_eq!(changes(&mut timers, Instant::ZERO), [Change::Stop(0), Change::Stop(1)]);
    // A shorter time ends the pause of priority 1 sooner, a time of zero at once.
    timers.receive(Instant(5_120), &frame(1, 10));
    assert_eq!(changes(&mut timers, Instant(11 * 5_120)), [Change::Go(1)]);
    timers.receive(Instant(20 * 5_120), &frame(0, 0));
    assert_eq!(changes(&mut timers, Instant(20 * 5_120)), [Change::Go(0)]);
    // A longer one extends it, also if it takes effect when the earlier one ends.
    timers.receive(Instant::ZERO, &frame(2, 10));
    timers.receive(Instant(10 * 5_120), &frame(2, 10));
    assert_eq!(changes(&mut timers, Instant(19 * 5_120)), [Change::Stop(2)]);
    assert_eq!(changes(&mut timers, Instant(20 * 5_120)), [Change::Go(2)]);
}

#[test]
fn a_pause_shorter_than_the_response_time_never_takes_effect() {
    let rate = Rate::from_gbps(100);
    let mut timers = PauseTimers::new(rate, pause_time(rate, 394));
    timers.receive(Instant::ZERO, &frame(PRIORITY, 394));
    assert_eq!(changes(&mut timers, Instant::MAX), []);
    timers.receive(Instant::ZERO, &frame(PRIORITY, 395));
    assert_eq!(changes(&mut timers, Instant::MAX), [Change::Stop(PRIORITY), Change::Go(PRIORITY)]);
}

#[test]
fn a_refreshed_pause_never_lapses() {
    let rate = Rate::from_gbps(100);
    let mut pauser = Pauser::new(PauserConfig::default(), rate);
    let mut timers = PauseTimers::new(rate, pause_time(rate, 394));
    pauser.set(PRIORITY, true);
    let (mut now, mut seen, mut frames) = (Instant::ZERO, vec![], 0);
    // Ten times the longest pause.
    while now < Instant(10 * 65_535 * 5_120) {
        if let Some(frame) = pauser.poll_frame(now) {
            timers.receive(now, &frame);
            frames += 1;
        }
        timers.advance(now, &mut seen);
        now = pauser.wake_at().into_iter().chain(timers.wake_at()).min().expect("it stays paused");
    }
    // Half of 65,535 quanta is 32,767: the 21st frame is due after 655,340 of 655,350 quanta.
    assert_eq!((seen, frames), (vec![Change::Stop(PRIORITY)], 21));
}

#[test]
fn a_paused_queue_sends_again_when_its_pause_lapses() {
    let rate = Rate::from_gbps(100);
    let mut memory = SharedBuffer::new(&buffer::Config {
        policy: Policy::CompleteSharing,
        pools: vec![Bytes(1 << 20)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    let account = memory.add_queue(0, Bytes(0));
    (1..8).for_each(|_| {
        memory.add_sibling(0, Bytes(0));
    });
    let discipline = discipline::Config::Composed(ComposedConfig {
        scheduler: SchedulerConfig::StrictPriority { queues: 8 },
        queue_of_class: ClassMaps::default().queues(&[0, 1, 2, 3, 4, 5, 6, 7]).into(),
        limits: Limits::default(),
    });
    let config = port::Config { discipline, ..port::Config::default() };
    let mut port: Port<u32> =
        Port::new(rate, account, &config, |purpose, place| Stream::new(1, purpose, place as u64));
    let mut timers = PauseTimers::new(rate, Duration::ZERO);
    timers.receive(Instant::ZERO, &frame(PRIORITY, u16::MAX));
    let header = Header::default().with_size(1_538).with_class(3);
    let mut starts = vec![];
    let mut now = Instant::ZERO;
    loop {
        let mut due = vec![];
        timers.advance(now, &mut due);
        for change in due {
            match change {
                Change::Stop(priority) => port.pause(priority.into()),
                Change::Go(priority) => port.resume(now, priority.into()),
            }
        }
        if now == Instant::ZERO {
            port.receive(now, Ingress::NONE, header, 7, &mut memory, &mut vec![]);
        }
        if port.wake_at().is_some_and(|at| at <= now) {
            starts.extend(port.transmit_next(now, &mut memory, &mut vec![]).map(|_| now));
        }
        match timers.wake_at().into_iter().chain(port.wake_at()).min() {
            Some(next) => now = next.max(now),
            None => break,
        }
        if !starts.is_empty() {
            break;
        }
    }
    assert_eq!(starts, [Instant(65_535 * 5_120)]);
}

/// A switch that receives from a host at line rate, and whose own packet has just started in the other direction when it decides to pause.
struct WorstCase {
    rate: Rate,
    propagation: Duration,
    packet: Bytes,
    headroom: Bytes,
}

impl WorstCase {
    /// Sends packets until the pause takes effect. Returns the number of lost packets and the largest use of headroom.
    fn run(&self) -> (u64, Bytes) {
        let Self { rate, propagation, packet, headroom } = *self;
        let mut book = IngressBook::new(&Config {
            cell: Cell::new(Bytes(1)),
            compares: Compares::With,
            pools: vec![PoolConfig { size: Bytes(100 << 20), headroom: None }],
        });
        let lossless = Lossless { headroom, xon: Bytes(0), xon_offset: packet };
        let limit = GroupLimit::Static(packet * 10);
        let port =
            book.add_port(&[GroupConfig { pool: 0, reserved: Bytes(0), limit, lossless: Some(lossless) }]);
        let group = book.group(port, 0);
        let mut pauser = Pauser::new(PauserConfig::default(), rate);
        let response = largest_response(rate).expect("it has a clause");
        let mut timers = PauseTimers::new(rate, rate.transmission_time(response));
        let wire = rate.transmission_time(packet);
        let (mut sender, mut lost) = (Instant::ZERO, 0);
        let mut frames = vec![];
        loop {
            // The frame waits for the switch's own packet, and takes 84 bytes of the wire.
            while frames.first().is_some_and(|&(at, _)| at <= sender) {
                let (at, frame): (Instant, Frame) = frames.remove(0);
                timers.receive(at, &frame);
            }
            let mut changes = vec![];
            timers.advance(sender, &mut changes);
            if timers.is_paused(PRIORITY) {
                break;
            }
            let arrival = sender + wire + propagation;
            lost += u64::from(book.admit(group, packet).is_err());
            while let Some(signal) = book.next_signal() {
                pauser.set(PRIORITY, matches!(signal, Signal::Pause(_)));
            }
            if let Some(frame) = pauser.poll_frame(arrival) {
                frames.push((arrival + wire + rate.transmission_time(Bytes(84)) + propagation, frame));
            }
            sender = sender + wire;
        }
        book.audit();
        (lost, Bytes(book.counters(group).max_headroom_cells))
    }
}

#[test]
fn the_generic_headroom_loses_nothing_and_one_packet_less_loses() {
    // The switch's decisions are computed when a packet starts at its sender, which does not matter: nothing else happens at the switch.
    for (gbps, metres, mtu) in [
        (40, 100, 1_500),
        (100, 5, 1_500),
        (100, 100, 1_500),
        (100, 100, 9_216),
        (100, 300, 4_200),
        (400, 5, 4_200),
        (400, 100, 4_200),
        (400, 2_000, 4_200),
    ] {
        let rate = Rate::from_gbps(gbps);
        let (propagation, packet) = (Duration::from_nanos(5 * metres), Bytes(mtu + 38));
        let response = largest_response(rate).expect("it has a clause");
        let link = generic::Link { rate, reverse_rate: rate, propagation, packet, response };
        let headroom = generic::Headroom::of(&link).total();
        let enough = WorstCase { rate, propagation, packet, headroom }.run();
        assert_eq!(enough.0, 0, "{gbps} Gb/s, {metres} m, {mtu} B");
        assert!(
            headroom.saturating_sub(enough.1) < packet,
            "{headroom} is less than a packet above {}",
            enough.1
        );
        let less = WorstCase { rate, propagation, packet, headroom: headroom - packet }.run();
        assert_eq!(less.0, 1, "{gbps} Gb/s, {metres} m, {mtu} B: one packet");
    }
}
