//! Tests of memory in cells against the packet counts in sonic-mgmt's tests of real chips.
//!
//! The tests (`tests/qos/files/qos_params.*.yaml`) block a lossy queue, send packets of 64 bytes to it, which take a cell each, and
//! read the number of the first packet that the switch drops. The listed numbers leave out packets that leave before the
//! block takes effect. Sizes of pools are those of sonic-buildimage's buffer profiles. Each constant describes a chip.

use shallows_core::packet::{Ecn, Header};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant, Rate};
use shallows_switch::aqm::{self, Gauge, Placed, Point, Spacing, Unit};
use shallows_switch::buffer::{
    self, Cell, DtCounts, DynamicThreshold, Policy, Refusal, ReservedRule, SharedBuffer,
};
use shallows_switch::port::{Arrival, Config, Ingress};
use shallows_switch::{Node, Port};

/// Properties of a chip that affect lossy queues.
#[derive(Clone, Copy)]
struct Chip {
    cell: u64,
    /// Number of slices: parts of the memory that share no cells. The test fills one slice.
    slices: u64,
    alpha: f64,
    /// Reserved cells of a queue.
    reserved: u64,
    /// Whether the list contains the number of the first dropped packet. Otherwise it contains the number of the last admitted packet.
    lists_dropped: bool,
}

const TRIDENT3: Chip = Chip { cell: 256, slices: 1, alpha: 8.0, reserved: 7, lists_dropped: false };
const TOMAHAWK3: Chip = Chip { cell: 254, slices: 2, alpha: 2.0, reserved: 7, lists_dropped: false };
const TOMAHAWK5: Chip = Chip { cell: 254, slices: 2, alpha: 1.0, reserved: 7, lists_dropped: true };

impl Chip {
    fn memory(self, pool: Bytes) -> SharedBuffer {
        SharedBuffer::new(&buffer::Config {
            policy: Policy::DynamicThreshold(DynamicThreshold {
                alpha: self.alpha,
                counts: DtCounts::Shared,
            }),
            pools: vec![pool],
            reserved_rule: ReservedRule::Exact,
            cell: Some(Cell::new(Bytes(self.cell))),
        })
    }

    /// Returns the part of a profile's pool that belongs to one slice.
    fn slice(self, pool: u64) -> Bytes {
        Bytes(pool / self.slices)
    }

    /// Returns the size of a Tomahawk 5 slice's shared part. The headroom pool, `more` cells and the reserved cells of all `ports` are
    /// subtracted: each port has two lossless priority groups of 74 cells and ten queues of 7 cells.
    fn tomahawk5_slice(pool: u64, headroom: u64, ports: u64, more: u64) -> Bytes {
        let cells = |size: u64| size / TOMAHAWK5.cell / TOMAHAWK5.slices;
        Bytes((cells(pool) - cells(headroom) - ports * (2 * 74 + 10 * 7) - more) * TOMAHAWK5.cell)
    }

    /// Sends packets of 64 bytes to a blocked queue until one is dropped. Returns the number that must be in the list.
    fn count(self, slice: Bytes) -> u64 {
        let mut memory = self.memory(slice);
        let account = memory.add_queue(0, Bytes(self.reserved * self.cell));
        let stream = |purpose, place| Stream::new(1, purpose, place as u64);
        let mut ports = [Wired(Port::new(Rate::from_gbps(100), account, &Config::default(), stream))];
        ports[0].0.pause(0);
        let mut node = Node { all: &mut ports, ports: 0..1, memory: &mut memory };
        let header = Header::default().with_size(64);
        let mut dropped: Vec<u64> = vec![];
        for number in 1.. {
            let arrival = node.receive(Instant::ZERO, 0, Ingress(1), header, number, &mut dropped);
            if matches!(arrival, Arrival::Dropped) {
                break;
            }
        }
        ports[0].0.audit(&memory);
        memory.audit();
        let first = dropped[0];
        if self.lists_dropped { first } else { first - 1 }
    }
}

struct Wired(Port<u64>);

impl AsMut<Port<u64>> for Wired {
    fn as_mut(&mut self) -> &mut Port<u64> {
        &mut self.0
    }
}

#[test]
fn lossy_queues_drop_at_the_packet_that_the_tests_of_the_chips_list() {
    // 7050CX3, both profiles; Z9332F, profiles O32 and O16C64.
    assert_eq!(TRIDENT3.count(TRIDENT3.slice(32_599_040)), 113_198);
    assert_eq!(TRIDENT3.count(TRIDENT3.slice(32_340_992)), 112_302);
    assert_eq!(TOMAHAWK3.count(TOMAHAWK3.slice(38_462_204)), 50_482);
    assert_eq!(TOMAHAWK3.count(TOMAHAWK3.slice(55_921_148)), 73_394);
    // 7060X6, profiles O128, 256×200G and O128S2-B: 266,550, 240,087 and 269,303 cells.
    let slice = Chip::tomahawk5_slice;
    assert_eq!(TOMAHAWK5.count(slice(164_505_640, 22_010_624, 64, 0)), 133_283);
    assert_eq!(TOMAHAWK5.count(slice(165_660_324, 29_520_896, 128, 0)), 120_051);
    assert_eq!(TOMAHAWK5.count(slice(164_110_924, 20_181_824, 64, 70)), 134_659);
}

#[test]
fn queues_that_fill_in_step_meet_the_fixed_point_to_the_cell() {
    // n queues hold αS/(1 + nα) cells each, of 75,713. In each round every queue grows by a cell, so the queues differ by at most one.
    let memory = TOMAHAWK3.memory(TOMAHAWK3.slice(38_462_204));
    for n in [1, 2, 10, 37] {
        let mut memory = memory.clone();
        for _ in 0..n {
            memory.add_queue(0, Bytes(0));
        }
        while (0..n).filter(|&queue| memory.admit(queue, Bytes(64)).is_ok()).count() > 0 {}
        let fixed_point = 2.0 * 75_713.0 / (1.0 + 2.0 * n as f64);
        for queue in 0..n {
            let cells = memory.queue(queue).shared.0 as f64 / 254.0;
            assert!((cells - fixed_point).abs() <= 1.0, "{n} queues: {cells} cells, {fixed_point}");
        }
        memory.audit();
    }
}

#[test]
fn a_packet_one_byte_longer_than_a_cell_halves_the_number_that_fits() {
    // Ten cells of 254 bytes hold ten packets of up to 254 bytes, or five of up to 508.
    for (size, fits) in [(64, 10), (254, 10), (255, 5), (508, 5), (509, 3)] {
        let mut memory = SharedBuffer::new(&buffer::Config {
            policy: Policy::CompleteSharing,
            pools: vec![Bytes(2_540 + 253)],
            reserved_rule: ReservedRule::Exact,
            cell: Some(Cell::new(Bytes(254))),
        });
        memory.add_queue(0, Bytes(0));
        for _ in 0..fits {
            memory.admit(0, Bytes(size)).expect("it fits");
        }
        assert_eq!(memory.admit(0, Bytes(size)), Err(Refusal::PoolFull), "{size}");
        assert_eq!(memory.pools()[0].size, Bytes(2_540), "a part of a cell holds nothing");
    }
}

/// WRED profile of a queue, in bytes of cells, and the packets that a test sends.
struct Burst {
    cell: u64,
    kmin: u64,
    kmax: u64,
    pmax: f64,
    count: usize,
    size: u16,
}

impl Burst {
    /// Returns, for each packet in order, whether it is marked when the pause of the queue ends.
    fn marks(&self, seed: u64) -> Vec<bool> {
        let mut memory = SharedBuffer::new(&buffer::Config {
            policy: Policy::CompleteSharing,
            pools: vec![Bytes(64 << 20)],
            reserved_rule: ReservedRule::Exact,
            cell: Some(Cell::new(Bytes(self.cell))),
        });
        let account = memory.add_queue(0, Bytes(0));
        let marker = aqm::Config::Red {
            gauge: Gauge { point: Point::Dequeue, unit: Unit::Cells, ..Gauge::default() },
            kmin: Bytes(self.kmin).into(),
            kmax: Bytes(self.kmax).into(),
            pmax: self.pmax,
            spacing: Spacing::Independent,
        };
        let config = Config { markers: vec![Placed::everywhere(marker)], ..Config::default() };
        let stream = |purpose, place| Stream::new(seed, purpose, place as u64);
        let mut port: Port<usize> = Port::new(Rate::from_gbps(100), account, &config, stream);
        let header = Header::default().with_ecn(Ecn::Ect).with_size(self.size);
        let mut dropped = vec![];
        port.pause(0);
        for number in 0..self.count {
            port.receive(Instant::ZERO, Ingress::NONE, header, number, &mut memory, &mut dropped);
        }
        port.resume(Instant::ZERO, 0);
        let marks = (0..self.count).map(|_| {
            let now = port.busy_until();
            let departure = port.transmit_next(now, &mut memory, &mut dropped);
            departure.expect("every packet is admitted").header.ecn() == Ecn::Ce
        });
        let marks = marks.collect();
        memory.audit();
        marks
    }
}

#[test]
fn a_released_burst_is_marked_until_the_queue_behind_a_packet_is_below_the_profile() {
    // sonic-mgmt's test of marking at dequeue: 101 packets of 1,024 bytes, four cells of 256. Behind the 51st packet wait 50 packets of
    // 51,200 bytes, above kmax = 51,000; behind the 52nd 50,176, so its probability is 17.6 %; behind the 53rd 49,152.
    let burst = Burst { cell: 256, kmin: 50_000, kmax: 51_000, pmax: 1.0, count: 101, size: 1_024 };
    let runs: Vec<_> = (0..2_000).map(|seed| burst.marks(seed)).collect();
    for marks in &runs {
        assert!(marks[..51].iter().all(|&mark| mark) && !marks[52..].iter().any(|&mark| mark));
    }
    // 2,000 draws of 0.176: standard deviation 0.0085; four of them are 0.034.
    let share = runs.iter().filter(|marks| marks[51]).count() as f64 / 2_000.0;
    assert!((share - 0.176).abs() < 0.034, "{share}");
    // One byte more per packet takes a fifth cell. Behind the 62nd packet then wait 39 packets in 49,920 bytes of cells, and behind
    // the 61st 51,200.
    let longer = Burst { size: 1_025, ..burst };
    let marks = longer.marks(1);
    assert!(marks[..61].iter().all(|&mark| mark) && !marks[61..].iter().any(|&mark| mark), "{marks:?}");
}

#[test]
fn the_marks_of_a_long_burst_fall_linearly_with_the_queue() {
    // sonic-mgmt#2137: 2,010 packets of 1,000 bytes, 500 to 2,000 KB, 5 %: the first 10 are all marked, the next 1,500 fall linearly from
    // 5 % to 0, the last 500 are not marked. Four cells of 250 bytes, so that a packet takes its size; 200 repetitions, as in the test.
    let burst = Burst { cell: 250, kmin: 500_000, kmax: 2_000_000, pmax: 0.05, count: 2_010, size: 1_000 };
    let runs: Vec<_> = (0..200).map(|seed| burst.marks(seed)).collect();
    for marks in &runs {
        assert!(marks[..10].iter().all(|&mark| mark) && !marks[1_510..].iter().any(|&mark| mark));
    }
    // In each third of the fall: 500 · 200 draws; the mean probability is 5/6, 1/2 and 1/6 of 5 %. The largest standard deviation is
    // √(10⁵ · 0.0417 · 0.9583) = 63 marks; four of them are 252.
    for (third, mean) in [(0, 4_166.7), (1, 2_500.0), (2, 833.3)] {
        let range = 10 + third * 500..510 + third * 500;
        let marked: usize =
            runs.iter().map(|marks| marks[range.clone()].iter().filter(|&&mark| mark).count()).sum();
        assert!((marked as f64 - mean).abs() < 252.0, "third {third}: {marked}");
    }
}

#[test]
fn a_threshold_of_one_byte_works_as_one_cell() {
    // sonic-mgmt#24277, chips of the Tomahawk class: all packets with at least one cell behind them are marked.
    let burst = Burst { cell: 208, kmin: 1, kmax: 1, pmax: 1.0, count: 5, size: 64 };
    assert_eq!(burst.marks(1), [true, true, true, true, false]);
}
