//! Tests of ingress accounting against the packet counts at which real chips pause and drop in sonic-mgmt's tests.
//!
//! The tests (`tests/qos/files/qos_params.*.yaml`, `docs/testplan/mmu_threshold_probe`) block the egress of a priority group, send packets
//! of 64 bytes, which take a cell each, and list the number of the packet at the first pause and that of the first ingress drop. The
//! lists leave out packets that leave before the block takes effect. Sizes of pools and headroom are those of
//! sonic-buildimage's buffer profiles. Each constant describes a chip; alpha and sizes come from a buffer profile.

use shallows_core::packet::{Ecn, Header};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_switch::buffer::{self, Cell, DtCounts, DynamicThreshold, Policy, ReservedRule, SharedBuffer};
use shallows_switch::discipline::{self, ComposedConfig, Limits, SchedulerConfig};
use shallows_switch::ingress::{
    ClassMaps, Compares, Config, Counted, GroupConfig, GroupId, GroupLimit, IngressBook, IngressRefusal,
    Lossless, PoolConfig, Signal, TwoBooks,
};
use shallows_switch::port::{self, Arrival, Departure, Ingress};
use shallows_switch::{Effects, Node, Port};

/// DSCP of lossless packets, which join group 3 and queue 3.
const LOSSLESS: u8 = 3;

#[derive(Clone, Copy)]
struct Chip {
    cell: u64,
    /// Number of slices: parts of the memory that share no cells. A test fills one slice.
    slices: u64,
    compares: Compares,
    /// Reserved cells of a lossless group.
    reserved: u64,
    /// Whether the list contains the number of the first dropped packet. Otherwise it contains the number of the last admitted packet.
    lists_dropped: bool,
}

const fn chip(cell: u64, slices: u64, compares: Compares, reserved: u64, lists_dropped: bool) -> Chip {
    Chip { cell, slices, compares, reserved, lists_dropped }
}

const TRIDENT2: Chip = chip(208, 1, Compares::Before, 6, true);
const TOMAHAWK: Chip = chip(208, 4, Compares::Before, 6, true);
const TOMAHAWK2: Chip = chip(208, 4, Compares::Before, 6, true);
const TRIDENT3: Chip = chip(256, 1, Compares::With, 18, false);
const TOMAHAWK3: Chip = chip(254, 2, Compares::With, 10, false);
const TOMAHAWK5: Chip = chip(254, 2, Compares::With, 74, true);

impl Chip {
    /// Returns the part of a pool that belongs to one slice, in cells. `pool` is the size of the pool in bytes.
    fn cells(self, pool: u64) -> u64 {
        pool / self.cell / self.slices
    }

    /// Returns a switch with this chip whose groups may take 2 to the power of `exponent` times the free part of `shared` cells.
    fn with(self, exponent: i8, shared: u64, headroom: u64) -> Setup {
        let xon = Bytes(2_288);
        Setup { chip: self, exponent, shared, headroom, pool_of_headroom: None, xon, xon_offset: xon }
    }
}

/// A profile of a chip; `shared`, `headroom` and the pool of headroom are numbers of cells.
#[derive(Clone, Copy)]
struct Setup {
    chip: Chip,
    exponent: i8,
    shared: u64,
    headroom: u64,
    pool_of_headroom: Option<u64>,
    xon: Bytes,
    xon_offset: Bytes,
}

impl Setup {
    /// Returns a switch with one blocked egress port and `ports` other ports.
    fn build(self, ports: u32) -> Blocked {
        let bytes = |cells: u64| Bytes(cells * self.chip.cell);
        let mut book = IngressBook::new(&Config {
            cell: Cell::new(Bytes(self.chip.cell)),
            compares: self.chip.compares,
            pools: vec![PoolConfig { size: bytes(self.shared), headroom: self.pool_of_headroom.map(bytes) }],
        });
        let limit = GroupLimit::Dynamic { exponent: self.exponent };
        let lossless =
            Lossless { headroom: bytes(self.headroom), xon: self.xon, xon_offset: self.xon_offset };
        let group = |number: u8| GroupConfig {
            pool: 0,
            reserved: bytes(self.chip.reserved),
            limit,
            lossless: (number == 3 || number == 4).then_some(lossless),
        };
        let groups: Vec<_> = (0..8).map(group).collect();
        let ingress = (0..ports).map(|_| book.add_port(&groups)).collect();
        let mut memory = egress_memory(Cell::new(Bytes(self.chip.cell)), Bytes(1 << 40));
        let mut egress = [Wired(egress_port(Rate::from_gbps(100), &mut memory))];
        egress[0].0.pause(usize::from(LOSSLESS));
        egress[0].0.pause(4);
        Blocked { book, memory, egress, ingress, maps: ClassMaps::default(), sent: vec![0; ports as usize] }
    }
}

/// Returns the egress book: a pool for lossy queues, and a pool for lossless queues that never refuses a packet, as on these chips.
fn egress_memory(cell: Cell, lossy: Bytes) -> SharedBuffer {
    SharedBuffer::new(&buffer::Config {
        policy: Policy::DynamicThreshold(DynamicThreshold { alpha: 1.0, counts: DtCounts::Shared }),
        pools: vec![lossy, Bytes(1 << 40)],
        reserved_rule: ReservedRule::Exact,
        cell: Some(cell),
    })
}

/// Returns a port with eight queues of strict priority. Queues 3 and 4 are lossless.
fn egress_port(rate: Rate, memory: &mut SharedBuffer) -> Port<Counted<u64>> {
    let account = memory.add_queue(0, Bytes(0));
    for queue in 1..8 {
        memory.add_sibling(usize::from(queue == 3 || queue == 4), Bytes(0));
    }
    let discipline = discipline::Config::Composed(ComposedConfig {
        scheduler: SchedulerConfig::StrictPriority { queues: 8 },
        queue_of_class: ClassMaps::default().queues(&[0, 1, 2, 3, 4, 5, 6, 7]).into(),
        limits: Limits::default(),
    });
    let config = port::Config { discipline, ..port::Config::default() };
    Port::new(rate, account, &config, |purpose, place| Stream::new(1, purpose, place as u64))
}

struct Wired(Port<Counted<u64>>);

impl AsMut<Port<Counted<u64>>> for Wired {
    fn as_mut(&mut self) -> &mut Port<Counted<u64>> {
        &mut self.0
    }
}

/// Departures and drops of packets, in order.
#[derive(Default)]
struct Log {
    departed: Vec<(Instant, u64)>,
    dropped: Vec<u64>,
}

impl Effects<u64> for Log {
    fn departs(&mut self, _port: u32, departure: Departure<u64>) {
        self.departed.push((departure.finish, departure.payload));
    }

    fn drops(&mut self, _port: u32, payload: u64) {
        self.dropped.push(payload);
    }
}

/// Switch with a blocked egress port.
struct Blocked {
    book: IngressBook,
    memory: SharedBuffer,
    egress: [Wired; 1],
    ingress: Vec<Ingress>,
    maps: ClassMaps,
    /// Number of packets sent to the lossless group of each port.
    sent: Vec<u64>,
}

impl Blocked {
    fn group(&self, port: usize) -> GroupId {
        self.book.group(self.ingress[port], LOSSLESS)
    }

    /// Sends a packet of 64 bytes to the lossless group of a port. Returns whether the switch takes it.
    fn send(&mut self, port: usize) -> bool {
        let Self { book, memory, egress, ingress, maps, sent } = self;
        let node = Node { all: egress, ports: 0..1, memory };
        let mut switch = TwoBooks { node, ingress: book, maps };
        let header = Header::default().with_size(64).with_class(LOSSLESS);
        sent[port] += 1;
        let mut log = Log::default();
        let arrival = switch.receive(Instant::ZERO, 0, ingress[port], header, sent[port], &mut log);
        let is_dropped = matches!(arrival, Arrival::Dropped);
        assert_eq!(log.dropped.len(), usize::from(is_dropped));
        !is_dropped
    }

    /// Sends packets to the lossless group of a port until the group is paused. Returns how many packets were sent.
    fn until_paused(&mut self, port: usize) -> u64 {
        while !self.book.is_paused(self.group(port)) {
            assert!(self.send(port), "a lossless group drops nothing before its pause");
        }
        assert_eq!(self.book.next_signal(), Some(Signal::Pause(self.group(port))));
        self.sent[port]
    }

    /// Sends packets to the paused group of a port until one is dropped. Returns the number of the dropped packet.
    fn until_dropped(&mut self, port: usize) -> u64 {
        while self.send(port) {}
        self.audit();
        self.sent[port]
    }

    /// Returns the two packet numbers that must be in the list: at the first pause, and at the first drop.
    fn counts(&mut self, chip: Chip) -> (u64, u64) {
        let paused = self.until_paused(0);
        let dropped = self.until_dropped(0);
        (paused, if chip.lists_dropped { dropped } else { dropped - 1 })
    }

    /// Frees packets of the lossless group of port 0 until the group is resumed. Returns how many packets were freed.
    fn until_resumed(&mut self) -> u64 {
        let group = self.group(0);
        for number in 1.. {
            self.book.release(group, Bytes(64));
            if !self.book.is_paused(group) {
                assert_eq!(self.book.next_signal(), Some(Signal::Resume(group)));
                return number;
            }
        }
        unreachable!("an empty group is resumed")
    }

    fn audit(&self) {
        self.book.audit();
        self.memory.audit();
        self.egress[0].0.audit(&self.memory);
    }
}

#[test]
fn trident_2_and_tomahawk_pause_and_drop_at_the_packets_that_their_tests_list() {
    // 7060: links of 40 and 50 Gb/s, and of 100 Gb/s with 300 m.
    let shared = TOMAHAWK.cells(10_875_072);
    for (headroom, dropped) in [(520, 7_063), (682, 7_225), (1_292, 7_835)] {
        assert_eq!(TOMAHAWK.with(0, shared, headroom).build(1).counts(TOMAHAWK), (6_542, dropped));
    }
    // 7260CX3, with alpha 1 and 1/8. The list has 4,490 for the last profile.
    let shared = TOMAHAWK2.cells(33_329_088);
    assert_eq!(TOMAHAWK2.with(0, shared, 486).build(1).counts(TOMAHAWK2), (20_036, 20_523));
    assert_eq!(TOMAHAWK2.with(-3, shared, 486).build(1).until_paused(0), 4_457);
    let t1 = TOMAHAWK2.with(-3, TOMAHAWK2.cells(33_582_016), 486).build(1).until_paused(0);
    assert!(t1.abs_diff(4_490) <= 1, "{t1}");
    // Trident 2: 61,376 cells without the headroom of all groups, and nine more.
    let memory = TRIDENT2.cells(12_766_208);
    for (groups, headroom, paused, dropped) in
        [(64, 265, 4_898, 5_164), (62, 302, 4_703, 5_006), (24, 302, 6_004, 6_307)]
    {
        let shared = memory - groups * (headroom + TRIDENT2.reserved) - 9;
        assert_eq!(
            TRIDENT2.with(-3, shared, headroom).build(1).counts(TRIDENT2),
            (paused, dropped),
            "{groups} groups"
        );
    }
}

/// Returns the shared cells of a Tomahawk 5 slice: without headroom, `more` cells, and 2 groups of 74 and 10 queues of 7 cells per port.
fn shared_of_tomahawk5(pool: u64, headroom: u64, ports: u64, more: u64) -> u64 {
    TOMAHAWK5.cells(pool) - TOMAHAWK5.cells(headroom) - ports * (2 * 74 + 10 * 7) - more
}

#[test]
fn trident_3_and_tomahawk_3_and_5_pause_and_drop_at_the_packets_that_their_tests_list() {
    // 7050CX3: 160,000 bytes of headroom are 625 cells.
    let shared = TRIDENT3.cells(32_732_160) - TRIDENT3.cells(1_622_016) - 64 * 18;
    assert_eq!(TRIDENT3.with(0, shared, 625).build(1).counts(TRIDENT3), (60_204, 60_829));
    // Z9332F, profiles O32 and O16C64.
    for (pool, headroom, paused, dropped) in
        [(38_462_204, 1_472, 15_152, 16_624), (55_921_148, 462, 22_026, 22_488)]
    {
        let mut switch = TOMAHAWK3.with(-2, TOMAHAWK3.cells(pool), headroom).build(1);
        assert_eq!(switch.counts(TOMAHAWK3), (paused, dropped));
    }
    // 7060X6, profiles O128, 256×200G and O128S2-B with two lengths of cable. The list has 121,302 for 256×200G, one less.
    let shared = shared_of_tomahawk5;
    for (shared, headroom, paused, dropped) in [
        (shared(164_505_640, 22_010_624, 64, 0), 1_755, 133_349, 135_105),
        (shared(165_660_324, 29_520_896, 128, 0), 1_185, 120_117, 121_302 + 1),
        (shared(164_110_924, 20_181_824, 64, 70), 1_548, 134_725, 136_274),
        (shared(164_110_924, 20_181_824, 64, 70), 1_755, 134_725, 136_481),
    ] {
        let mut switch = TOMAHAWK5.with(0, shared, headroom).build(1);
        assert_eq!(switch.counts(TOMAHAWK5), (paused, dropped));
    }
}

#[test]
fn groups_that_fill_one_after_another_take_half_of_what_is_left() {
    // The threshold probes of sonic-mgmt: 7260CX3, and 7060X6 with the profiles O128 and 256×200G.
    let tomahawk2 = TOMAHAWK2.with(0, TOMAHAWK2.cells(33_329_088), 486);
    let counts = [20036, 10021, 5013, 2510, 1258, 632, 319, 162, 84, 45, 26, 16, 11, 8, 7, 7, 6];
    let first = TOMAHAWK5.with(0, shared_of_tomahawk5(164_505_640, 22_010_624, 64, 0), 1_755);
    let of_first = [
        133_349, 66_711, 33_393, 16_733, 8_404, 4_239, 2_156, 1_115, 595, 334, 204, 139, 107, 90, 82, 78, 76,
        75, 75, 74, 74,
    ];
    let second = TOMAHAWK5.with(0, shared_of_tomahawk5(165_660_324, 29_520_896, 128, 0), 1_185);
    let of_second = [
        120_117, 60_096, 30_085, 15_079, 7_577, 3_825, 1_950, 1_012, 543, 308, 191, 133, 103, 89, 81, 78, 76,
        75, 74, 74, 74,
    ];
    for (setup, counts) in [(tomahawk2, &counts[..]), (first, &of_first[..]), (second, &of_second[..])] {
        let mut switch = setup.build(counts.len() as u32);
        let found: Vec<u64> = (0..counts.len()).map(|port| switch.until_paused(port)).collect();
        assert_eq!(found, counts);
        switch.audit();
    }
}

#[test]
fn the_second_group_of_a_probe_drops_at_its_own_headroom() {
    // 7260CX3, profile D108C10: group 1 is paused at 20,036 and drops 20,523; group 2 is paused at 10,021 and drops 10,508.
    let mut switch = TOMAHAWK2.with(0, TOMAHAWK2.cells(33_329_088), 486).build(2);
    assert_eq!((switch.until_paused(0), switch.until_dropped(0)), (20_036, 20_523));
    assert_eq!((switch.until_paused(1), switch.until_dropped(1)), (10_021, 10_508));
}

#[test]
fn groups_that_fill_in_step_are_paused_within_a_packet_of_the_lists() {
    // The lists round αS/(1 + nα) down or up. The test of headroom pools sends the listed number to each group, and then at most ten
    // more packets until the group is paused.
    let tomahawk = TOMAHAWK.with(0, TOMAHAWK.cells(10_875_072), 520);
    let tomahawk2 = TOMAHAWK2.with(-3, TOMAHAWK2.cells(33_329_088), 486);
    let tomahawk3 = TOMAHAWK3.with(-2, TOMAHAWK3.cells(38_462_204), 1_472);
    for (setup, groups, listed) in [
        (tomahawk, 10, 1_194),
        (tomahawk, 8, 1_458),
        (tomahawk, 4, 2_620),
        (tomahawk2, 14, 1_826),
        (tomahawk2, 19, 1_490),
        (tomahawk3, 37, 1_856),
    ] {
        let mut switch = setup.build(groups);
        'rounds: loop {
            for port in 0..groups as usize {
                switch.send(port);
                if switch.book.next_signal().is_some() {
                    assert!(switch.sent[port].abs_diff(listed) <= 1, "{groups}: {}", switch.sent[port]);
                    break 'rounds;
                }
            }
        }
        let mut switch = setup.build(groups);
        for port in 0..groups as usize {
            (0..listed).for_each(|_| assert!(switch.send(port)));
        }
        for port in 0..groups as usize {
            while !switch.book.is_paused(switch.group(port)) {
                assert!(switch.send(port));
            }
            assert!(switch.sent[port] <= listed + 10, "group {port} of {groups}");
        }
        switch.audit();
    }
}

#[test]
fn a_pool_of_headroom_serves_groups_in_order_until_it_is_empty() {
    let tomahawk = TOMAHAWK.cells(10_875_072);
    let tomahawk2 = TOMAHAWK2.cells(33_329_088);
    let (o32, o16) = (TOMAHAWK3.cells(38_462_204), TOMAHAWK3.cells(55_921_148));
    // Chip, exponent of alpha, shared cells, bytes of the pool of headroom, headroom of a group, groups that get all of it, rest.
    let rows = [
        (TOMAHAWK, 0, tomahawk, 4_194_112, 520, 9, 361),
        (TOMAHAWK, 0, tomahawk, 4_194_112, 682, 7, 267),
        (TOMAHAWK, 0, tomahawk, 4_194_112, 1_292, 3, 1_165),
        (TOMAHAWK2, -3, tomahawk2, 7_827_456, 682, 13, 542),
        (TOMAHAWK2, 0, tomahawk2, 7_827_456, 486, 19, 174),
        (TRIDENT3, 0, 120_372, 1_622_016, 362, 17, 182),
        (TOMAHAWK3, -2, o32, 27_200_352, 1_472, 36, 552),
        (TOMAHAWK3, -2, o16, 8_644_128, 462, 36, 384),
        (TOMAHAWK5, 0, shared_of_tomahawk5(164_505_640, 22_010_624, 64, 0), 22_010_624, 1_755, 24, 1_208),
        (TOMAHAWK5, 0, shared_of_tomahawk5(165_660_324, 29_520_896, 128, 0), 29_520_896, 1_185, 49, 47),
        (TOMAHAWK5, 0, shared_of_tomahawk5(164_110_924, 20_181_824, 64, 70), 20_181_824, 1_548, 25, 1_028),
    ];
    for (chip, exponent, shared, pool, headroom, full, rest) in rows {
        let pool_of_headroom = Some(chip.cells(pool));
        let mut switch =
            Setup { pool_of_headroom, ..chip.with(exponent, shared, headroom) }.build(full as u32 + 2);
        let filled: Vec<u64> = (0..full + 2)
            .map(|port| {
                let paused = switch.until_paused(port);
                // The dropped packet is not among those that took headroom.
                switch.until_dropped(port) - paused - 1
            })
            .collect();
        let mut expected = vec![headroom; full];
        expected.extend([rest, 0]);
        assert_eq!(filled, expected, "{headroom} cells of a pool of {pool} bytes");
    }
}

#[test]
fn a_group_is_resumed_below_its_limit_by_the_offset() {
    // The test of the resume on Tomahawk frees 12 cells, one more than the offset of 2,288 bytes, and finds the group resumed. The limit
    // rises as the group falls: c − d <= S − (c − d) − 11 holds from d = 6 on.
    let mut switch = TOMAHAWK.with(0, TOMAHAWK.cells(10_875_072), 520).build(1);
    switch.until_paused(0);
    assert_eq!(switch.until_resumed(), 6);
    // With 100 packets in the headroom, these must leave first.
    let mut switch = TOMAHAWK.with(0, TOMAHAWK.cells(10_875_072), 520).build(1);
    switch.until_paused(0);
    (0..100).for_each(|_| assert!(switch.send(0)));
    assert_eq!(switch.book.headroom(switch.group(0)), Bytes(100 * 208));
    assert_eq!(switch.until_resumed(), 106);
    let counters = switch.book.counters(switch.group(0));
    assert_eq!((counters.pauses, counters.resumes, counters.max_headroom_cells), (1, 1, 100));
    switch.book.audit();
    // Below `xon` the group is resumed even if its limit, an eighth of the rest, is 1 cell above it: 2,288 bytes are 11 cells.
    let mut switch = TOMAHAWK.with(-3, 100, 50).build(1);
    assert_eq!(switch.until_paused(0), 6 + 12);
    assert_eq!(switch.until_resumed(), 1);
}

#[test]
fn other_groups_pause_and_resume_a_group_that_does_not_change() {
    // α = 1 and 1,000 cells. Group A holds 300 shared cells. Group B fills its limit of (1,000 − 300)/2 = 350, so 350 cells are free and
    // A is below its limit. A lossy group takes 6 reserved cells and 50 shared ones: A is paused.
    let mut switch = TOMAHAWK.with(0, 1_000, 10).build(2);
    let (a, b) = (switch.group(0), switch.group(1));
    (0..306).for_each(|_| assert!(switch.send(0)));
    assert_eq!(switch.until_paused(1), 356, "B");
    assert!(!switch.book.is_paused(a), "350 cells are free");
    let lossy = switch.book.group(switch.ingress[0], 0);
    for _ in 0..56 {
        switch.book.admit(lossy, Bytes(64)).expect("it is below its limit");
    }
    assert_eq!(switch.book.next_signal(), Some(Signal::Pause(a)), "300 cells are free");
    assert!(switch.book.is_paused(a) && switch.book.is_paused(b));
    // A goes on when 311 cells are free, 11 above its 300: after eleven cells of the lossy group.
    for _ in 0..10 {
        switch.book.release(lossy, Bytes(64));
    }
    assert_eq!(switch.book.next_signal(), None);
    switch.book.release(lossy, Bytes(64));
    assert_eq!(switch.book.next_signal(), Some(Signal::Resume(a)));
    switch.book.audit();
}

#[test]
fn a_pool_that_fills_and_empties_again_and_again_pauses_at_the_right_cells() {
    // The audit tests every group after every packet: the pool skips these tests while it is nearly empty.
    let mut stream = Stream::new(5, "book", 0);
    let cases =
        [-10, -3, 0, 3].into_iter().flat_map(|exponent| [(TOMAHAWK, exponent), (TOMAHAWK3, exponent)]);
    for (chip, exponent) in cases {
        // A paused group sends again only when it is nearly empty.
        let xon_offset = Bytes(900 * chip.cell);
        let mut switch = Setup { xon: Bytes(0), xon_offset, ..chip.with(exponent, 1_000, 40) }.build(3);
        let (groups, mut stored) = ([0, 1, 2].map(|port| switch.group(port)), Vec::new());
        for round in 0..40_u32 {
            let fills = round % 2 == 0;
            for _ in 0..stream.below(900) {
                // Three of four packets arrive while the pool fills, and one of four while it empties.
                if fills != (stream.below(4) == 0) {
                    let group = groups[stream.below(u64::from(round % 3) + 1) as usize];
                    let size = Bytes(64 + stream.below(1_400));
                    stored.extend(switch.book.admit(group, size).map(|()| (group, size)));
                } else if !stored.is_empty() {
                    let (group, size) = stored.swap_remove(stream.below(stored.len() as u64) as usize);
                    switch.book.release(group, size);
                }
                switch.book.audit();
            }
        }
        let pauses: u64 = groups.iter().map(|&group| switch.book.counters(group).pauses).sum();
        assert!(pauses > 10, "alpha = 2^{exponent}: {pauses}");
    }
}

#[test]
fn a_lossy_group_drops_at_its_limit_and_pauses_nobody() {
    let mut switch = TOMAHAWK.with(0, 1_000, 10).build(1);
    let lossy = switch.book.group(switch.ingress[0], 0);
    let admitted = (0..).take_while(|_| switch.book.admit(lossy, Bytes(64)).is_ok()).count();
    assert_eq!(admitted, 6 + 500);
    assert_eq!(switch.book.room(lossy, Bytes(64)), Err(IngressRefusal::GroupLimit));
    assert_eq!((switch.book.next_signal(), switch.book.is_paused(lossy)), (None, false));
    let counters = switch.book.counters(lossy);
    assert_eq!((counters.admitted, counters.dropped, counters.pauses), (506, 1, 0));
    assert_eq!(switch.book.occupancy(lossy), Bytes(506 * 208));
}

#[test]
fn a_static_limit_does_not_depend_on_the_pool() {
    for compares in [Compares::Before, Compares::With] {
        let mut book = IngressBook::new(&Config {
            cell: Cell::new(Bytes(208)),
            compares,
            pools: vec![PoolConfig { size: Bytes(208_000), headroom: None }],
        });
        let lossless = Lossless { headroom: Bytes(2_080), xon: Bytes(0), xon_offset: Bytes(2_080) };
        let group = GroupConfig {
            pool: 0,
            reserved: Bytes(0),
            limit: GroupLimit::Static(Bytes(20_800)),
            lossless: Some(lossless),
        };
        let ingress = book.add_port(&[group]);
        let group = book.group(ingress, 0);
        let sent = (1..).find(|_| {
            book.admit(group, Bytes(64)).expect("headroom is left");
            book.is_paused(group)
        });
        assert_eq!(sent, Some(100), "{compares:?}");
        (0..10).for_each(|_| book.admit(group, Bytes(64)).expect("10 cells of headroom"));
        assert_eq!(book.admit(group, Bytes(64)), Err(IngressRefusal::HeadroomFull));
        let freed = (1..).find(|_| {
            book.release(group, Bytes(64));
            !book.is_paused(group)
        });
        assert_eq!(freed, Some(20), "the headroom, and the offset of ten cells");
    }
}

#[test]
fn the_maps_of_sonic_send_dscp_3_and_4_to_groups_of_their_own() {
    let maps = ClassMaps::default();
    let of = |dscp| (maps.group(dscp), maps.class(dscp));
    assert_eq!([3, 4, 0, 8, 46, 48, 63].map(of), [(3, 3), (4, 4), (0, 1), (0, 0), (0, 5), (0, 6), (0, 1)]);
    // Classes 5 and 6 are beyond the end of the map from classes to queues.
    let queues = maps.queues(&[1, 0, 2, 4, 3]);
    assert_eq!(queues.len(), 64);
    assert_eq!([3, 4, 0, 8, 46].map(|dscp| queues[dscp]), [4, 3, 0, 1, 0]);
}

/// A switch with four ports at 100 Gbit/s between hosts that obey its pauses after a delay.
struct Fabric {
    book: IngressBook,
    memory: SharedBuffer,
    ports: Vec<Wired>,
    maps: ClassMaps,
    /// For each paused group, the time at which the pause reaches its sender. Until then, the sender may still send.
    stops: Vec<Option<Instant>>,
    log: Log,
}

const LAG: Duration = Duration(1_000_000);
const LONGEST: u64 = 1_538;

impl Fabric {
    fn new() -> Self {
        // 100 Gbit/s send 12,500 bytes in 1 us, in packets that occupy up to four times their size: 64 bytes a cell of 254.
        let headroom = Bytes(4 * (12_500 + LONGEST));
        let cell = Cell::new(Bytes(254));
        let mut book = IngressBook::new(&Config {
            cell,
            compares: Compares::With,
            pools: vec![PoolConfig { size: Bytes(400_000), headroom: None }],
        });
        let lossless = Lossless { headroom, xon: Bytes(0), xon_offset: Bytes(4_000) };
        let group = |number: u8| {
            let is_lossless = number == 3 || number == 4;
            let limit = GroupLimit::Dynamic { exponent: if is_lossless { -2 } else { 1 } };
            let lossless = is_lossless.then_some(lossless);
            GroupConfig { pool: 0, reserved: Bytes(2_540), limit, lossless }
        };
        let groups: Vec<_> = (0..8).map(group).collect();
        (0..4).for_each(|_| {
            book.add_port(&groups);
        });
        let mut memory = egress_memory(cell, Bytes(100_000));
        let ports = (0..4).map(|_| Wired(egress_port(Rate::from_gbps(100), &mut memory))).collect();
        let maps = ClassMaps::default();
        Self { book, memory, ports, maps, stops: vec![None; 32], log: Log::default() }
    }

    fn switch(&mut self) -> (TwoBooks<'_, Wired>, &mut Log) {
        let Self { book, memory, ports, maps, log, .. } = self;
        (TwoBooks { node: Node { all: ports, ports: 0..4, memory }, ingress: book, maps }, log)
    }

    fn carry_signals(&mut self, now: Instant) {
        while let Some(signal) = self.book.next_signal() {
            match signal {
                Signal::Pause(group) => self.stops[group.0 as usize] = Some(now + LAG),
                Signal::Resume(group) => self.stops[group.0 as usize] = None,
            }
        }
    }

    /// Sends all packets that are due by `until`. Each departure is a separate event.
    fn advance(&mut self, until: Instant) {
        while let Some(at) = (0..4).filter_map(|port| self.ports[port].0.wake_at()).min()
            && at <= until
        {
            let (mut switch, log) = self.switch();
            switch.advance(at, log);
            self.carry_signals(at);
            self.audit();
        }
    }

    /// Checks the ingress book and the egress book, and that both count the same cells.
    fn audit(&self) {
        self.book.audit();
        self.memory.audit();
        self.ports.iter().for_each(|port| port.0.audit(&self.memory));
        let at_ingress: u64 = (0..32).map(|group| self.book.occupancy(GroupId(group)).0).sum();
        let at_egress: u64 = (0..32).map(|queue| self.memory.queue(queue).backlog().0).sum();
        assert_eq!(at_ingress, at_egress, "both books count each packet");
    }
}

#[test]
fn both_books_balance_after_each_event_and_lossless_packets_are_never_lost() {
    const PACKETS: u64 = 100_000;
    let (mut fabric, mut random) = (Fabric::new(), Stream::new(11, "ingress", 0));
    // Time at which each port has received its last packet.
    let mut heard = [Instant::ZERO; 4];
    let mut lossless = vec![false; PACKETS as usize];
    let mut sent = 0;
    while sent < PACKETS {
        // The port that is free first receives a packet, for an egress of few ports, so that queues build up and drain.
        let port = (0..4).min_by_key(|&port| heard[port]).expect("there are four");
        let burst = sent / 2_000 % 2 == 0;
        let size = 64 + random.next_u64() % (LONGEST - 63);
        let now = heard[port] + Rate::from_gbps(100).transmission_time(Bytes(size));
        heard[port] = now;
        let dscp = [3, 3, 4, 0, 46][(random.next_u64() % 5) as usize];
        let egress = (random.next_u64() % if burst { 2 } else { 4 }) as u32;
        if !burst && random.next_u64() % 3 == 0 {
            continue;
        }
        fabric.advance(now);
        let group = fabric.book.group(Ingress(port as u32), fabric.maps.group(dscp));
        if fabric.stops[group.0 as usize].is_some_and(|stop| stop < now) {
            continue;
        }
        let header = Header::default().with_size(size as u16).with_class(dscp).with_ecn(Ecn::Ect);
        lossless[sent as usize] = dscp == 3 || dscp == 4;
        let (mut switch, log) = fabric.switch();
        if let Arrival::Sent(departure) = switch.receive(now, egress, Ingress(port as u32), header, sent, log)
        {
            log.departs(egress, departure);
        }
        fabric.carry_signals(now);
        fabric.audit();
        sent += 1;
    }
    fabric.advance(Instant::MAX);
    assert!(fabric.memory.pools().iter().all(|pool| pool.used == Bytes(0)), "all memory is freed");
    let counters: Vec<_> = (0..32).map(|group| fabric.book.counters(GroupId(group))).collect();
    assert!(counters.iter().all(|group| group.pauses == group.resumes), "nobody stays paused");
    let pauses: u64 = counters.iter().map(|group| group.pauses).sum();
    let headroom = counters.iter().map(|group| group.max_headroom_cells).max();
    assert!(pauses > 100 && headroom > Some(30), "{pauses} pauses, {headroom:?} cells of headroom");
    let Log { departed, dropped } = &fabric.log;
    assert_eq!(departed.len() + dropped.len(), PACKETS as usize, "each packet leaves or is dropped");
    assert!(dropped.iter().all(|&packet| !lossless[packet as usize]), "no lossless packet is dropped");
    assert!(dropped.len() > 100, "lossy packets are: {}", dropped.len());
}
