//! Packet counts at which real chips pause and drop in sonic-mgmt's tests, by simulation of the packets that the tests send.
//!
//! The tests (`tests/qos/files/qos_params.*.yaml`, `docs/testplan/mmu_threshold_probe`) block an egress, send packets of 64 bytes, which take a
//! cell each, and list the number of the packet at the first pause and that of the first ingress drop. The lists leave out packets that leave
//! before the block takes effect. Here, the link to a host is so slow that a long packet occupies it during the whole run. Other hosts
//! then send datagrams of 64 bytes to this host at 100 Gb/s. Each constant belongs to a chip; sizes and alpha are those of
//! sonic-buildimage's buffer profiles. `crates/switch/tests/ingress.rs` has the same rows for the ingress book alone.

use shallows_core::Duration;
use shallows_sim::Report;

use crate::common::{parse, run};

#[derive(Clone, Copy)]
struct Chip {
    cell: u64,
    /// Number of slices: parts of the memory that share no cells. A test fills one slice.
    slices: u64,
    /// Value of `switch.lossless.compares`.
    compares: &'static str,
    /// Reserved cells of a lossless group.
    reserved: u64,
    /// Whether the list contains the number of the first dropped packet. Otherwise it contains the number of the last admitted packet.
    lists_dropped: bool,
}

const fn chip(cell: u64, slices: u64, compares: &'static str, reserved: u64, lists_dropped: bool) -> Chip {
    Chip { cell, slices, compares, reserved, lists_dropped }
}

const TRIDENT2: Chip = chip(208, 1, "before", 6, true);
const TOMAHAWK: Chip = chip(208, 4, "before", 6, true);
const TOMAHAWK2: Chip = chip(208, 4, "before", 6, true);
const TRIDENT3: Chip = chip(256, 1, "with", 18, false);
const TOMAHAWK3: Chip = chip(254, 2, "with", 10, false);
const TOMAHAWK5: Chip = chip(254, 2, "with", 74, true);

impl Chip {
    /// Returns the part of a pool that belongs to one slice, in cells. `pool` is the size of the pool in bytes.
    fn cells(self, pool: u64) -> u64 {
        pool / self.cell / self.slices
    }

    /// Returns a profile with `shared` cells and this alpha. Each group has `headroom` cells of its own.
    fn with(self, alpha: f64, shared: u64, headroom: u64) -> Profile {
        Profile { chip: self, alpha, shared, headroom, pool_of_headroom: None }
    }
}

/// Returns the shared cells of a Tomahawk 5 slice: without headroom, `more` cells, and 2 groups of 74 and 10 queues of 7 cells per port.
fn shared_of_tomahawk5(pool: u64, headroom: u64, ports: u64, more: u64) -> u64 {
    TOMAHAWK5.cells(pool) - TOMAHAWK5.cells(headroom) - ports * (2 * 74 + 10 * 7) - more
}

/// Buffer profile of a chip; `shared`, `headroom` and the pool of headroom are numbers of cells.
#[derive(Clone, Copy)]
struct Profile {
    chip: Chip,
    alpha: f64,
    shared: u64,
    headroom: u64,
    pool_of_headroom: Option<u64>,
}

/// Time of a packet of 64 bytes on a link at 100 Gb/s; 25 of them take 128 ns.
const PACKET: Duration = Duration(5_120);

/// Propagation delay of a link.
const DELAY: Duration = Duration(10_000);

/// Time at which the first host sends; the long packet is on the blocked link.
const START: Duration = Duration(1_000_000);

/// Returns the hosts and links of a test. The last host receives. The one before it sends a packet of 9,000 bytes first, which occupies the
/// link to the receiver for 72 ms.
fn network(end: Duration, hosts: u64) -> String {
    let (blocker, receiver) = (hosts - 2, hosts - 1);
    format!(
        "stop.at = '{}ns'\nhost = {{ jitter = 'off', nic = {{ limit = '1GB', backpressure = 'off' }} }}\ntcp = {{}}\n\
         [topology]\nkind = 'star'\nhosts = {hosts}\nrate = '100Gbps'\nlink_delay = '10ns'\nmtu = 9000\n\
         links = [{{ between = ['host{receiver}', 'switch0'], rate = '1Mbps' }}]\n\
         [[workload]]\nkind = 'udp'\nsenders = {blocker}\nreceivers = {receiver}\nstop = '1us'\noverload = true\n\
         pattern = {{ kind = 'constant', rate = '1Mbps' }}\n",
        end.0 / 1_000
    )
}

/// Returns the workload of a host that sends this number of packets of 64 bytes from the time `start` on.
fn small_packets(host: u64, receiver: u64, start: Duration, count: u64) -> String {
    format!(
        "[[workload]]\nkind = 'udp'\nsenders = {host}\nreceivers = {receiver}\npayload = '36B'\noverload = true\n\
         start = '{}ns'\nstop = '{}ns'\npattern = {{ kind = 'constant', rate = '100Gbps' }}\n",
        start.0 / 1_000,
        (start + PACKET * (count - 1)).0.div_ceil(1_000)
    )
}

/// Test that fills groups, each by packets from a host of its own.
#[derive(Clone, Copy)]
struct Test {
    groups: u64,
    /// Whether all hosts send at the same time, or one after another.
    in_step: bool,
    /// Number of packets that a host sends after a pause has arrived; a multiple of 25.
    response: u64,
}

/// Counts of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Counts {
    /// Number of the packet after which the switch sent a pause.
    paused: u64,
    /// Number of the first packet that is dropped.
    dropped: Option<u64>,
    /// Largest number of headroom cells in use.
    headroom: u64,
}

impl Profile {
    /// Returns the number of packets that host number `host` offers: more than its group takes, because each group takes the part
    /// α/(1 + α) of the shared cells that the groups before it have left.
    fn offered(self, test: Test, host: u64) -> u64 {
        let left = (0..host).fold(self.shared as f64, |left, _| left / (1.0 + self.alpha));
        let most = if test.in_step { self.shared / test.groups } else { left as u64 };
        (most + self.chip.reserved + test.response + 500).next_multiple_of(25)
    }

    /// Returns the time at which host number `host` begins to send; for the number of hosts, the end of the last one.
    fn start(self, test: Test, host: u64) -> Duration {
        let before = if test.in_step { 0 } else { host };
        START
            + (0..before)
                .map(|host| PACKET * self.offered(test, host))
                .fold(Duration::ZERO, |sum, each| sum + each)
    }

    /// Returns the end of the run, by which the last pause has taken effect.
    fn end(self, test: Test) -> Duration {
        let last = test.groups - 1;
        self.start(test, last) + PACKET * (self.offered(test, last) + test.response)
    }

    /// Returns the scenario of a test.
    fn scenario(self, test: Test) -> String {
        let Self { chip: Chip { cell, compares, reserved, .. }, alpha, shared, headroom, .. } = self;
        let groups = test.groups;
        let ports = groups + 2;
        let taken = self.pool_of_headroom.unwrap_or(ports * headroom) + ports * reserved;
        let pool = self
            .pool_of_headroom
            .map_or(String::new(), |cells| format!(", headroom_pool = '{}B'", cells * cell));
        let switch = format!(
            "[switch]\nbuffer = {{ kind = 'complete-sharing', pool = '{}B', cell = '{cell}B' }}\n\
             lossless = {{ classes = [0], alpha = {alpha}, compares = '{compares}', reserved = '{}B', headroom = '{}B', \
             response = '{}ns'{pool} }}\n",
            (shared + taken) * cell,
            reserved * cell,
            headroom * cell,
            (PACKET * test.response).0 / 1_000,
        );
        let senders = (0..groups)
            .map(|host| small_packets(host, groups + 1, self.start(test, host), self.offered(test, host)));
        network(self.end(test), ports) + &switch + &senders.collect::<String>()
    }

    /// Runs a test and returns the counts of each group.
    fn counts(self, test: Test) -> Vec<Counts> {
        let text = self.scenario(test);
        let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
        let row = |name: String| {
            let link = experiment.network.links.iter().position(|link| link.name == name).expect("a port");
            *report.pauses().iter().find(|row| row.link == link as u32).expect("a row")
        };
        let counts = |host: u64| {
            let nic = row(format!("host{host}->switch0"));
            let port = row(format!("switch0->host{host}"));
            assert_eq!((nic.received, port.sent, port.resumed), (1, 1, 0), "host {host}");
            // A pause takes effect after its frame of 84 bytes, the delay of the link and the response time.
            let frame = Duration(84 * 80);
            let sent = self.end(test) - nic.paused - (frame + DELAY + PACKET * test.response);
            // Packet k of a host arrives when k packets have been sent, and the delay of the link later.
            let filled = sent - DELAY - self.start(test, host);
            assert_eq!(filled.0 % PACKET.0, 0, "a pause is sent when a packet arrives");
            Counts {
                paused: filled.0 / PACKET.0,
                dropped: (port.dropped > 0).then_some(port.admitted + 1),
                headroom: port.max_headroom.0 / self.chip.cell,
            }
        };
        (0..test.groups).map(counts).collect()
    }

    /// Fills one group until packets are dropped. Returns the two packet numbers of the list.
    fn alone(self) -> (u64, u64) {
        let counts = self.counts(Test { groups: 1, in_step: false, response: 2_000 })[0];
        let dropped = counts.dropped.expect("2,000 packets overflow the headroom");
        (counts.paused, if self.chip.lists_dropped { dropped } else { dropped - 1 })
    }

    /// Fills groups until each is paused, one after another. Returns the number of the packet at each pause.
    fn one_after_another(self, groups: usize) -> Vec<u64> {
        let counts = self.counts(Test { groups: groups as u64, in_step: false, response: 100 });
        assert!(counts.iter().all(|counts| counts.dropped.is_none()), "{counts:?}");
        counts.iter().map(|counts| counts.paused).collect()
    }
}

#[test]
fn trident_2_and_tomahawk_pause_and_drop_at_the_packets_that_their_tests_list() {
    // 7060: links of 40 and 50 Gb/s, and of 100 Gb/s with 300 m.
    let shared = TOMAHAWK.cells(10_875_072);
    for (headroom, dropped) in [(520, 7_063), (682, 7_225), (1_292, 7_835)] {
        assert_eq!(TOMAHAWK.with(1.0, shared, headroom).alone(), (6_542, dropped));
    }
    // 7260CX3, with alpha 1 and 1/8. The list has 4,490 for the last profile.
    let shared = TOMAHAWK2.cells(33_329_088);
    assert_eq!(TOMAHAWK2.with(1.0, shared, 486).alone(), (20_036, 20_523));
    assert_eq!(TOMAHAWK2.with(0.125, shared, 486).alone().0, 4_457);
    let (t1, _) = TOMAHAWK2.with(0.125, TOMAHAWK2.cells(33_582_016), 486).alone();
    assert!(t1.abs_diff(4_490) <= 1, "{t1}");
    // Trident 2: 61,376 cells without the headroom of all groups, and nine more.
    let memory = TRIDENT2.cells(12_766_208);
    for (groups, headroom, paused, dropped) in
        [(64, 265, 4_898, 5_164), (62, 302, 4_703, 5_006), (24, 302, 6_004, 6_307)]
    {
        let shared = memory - groups * (headroom + TRIDENT2.reserved) - 9;
        assert_eq!(TRIDENT2.with(0.125, shared, headroom).alone(), (paused, dropped), "{groups} groups");
    }
}

#[test]
fn trident_3_and_tomahawk_3_and_5_pause_and_drop_at_the_packets_that_their_tests_list() {
    // 7050CX3: 160,000 bytes of headroom are 625 cells.
    let shared = TRIDENT3.cells(32_732_160) - TRIDENT3.cells(1_622_016) - 64 * 18;
    assert_eq!(TRIDENT3.with(1.0, shared, 625).alone(), (60_204, 60_829));
    // Z9332F, profiles O32 and O16C64.
    for (pool, headroom, paused, dropped) in
        [(38_462_204, 1_472, 15_152, 16_624), (55_921_148, 462, 22_026, 22_488)]
    {
        assert_eq!(TOMAHAWK3.with(0.25, TOMAHAWK3.cells(pool), headroom).alone(), (paused, dropped));
    }
    // 7060X6, profiles O128, 256×200G and O128S2-B with two lengths of cable. The list has 121,302 for 256×200G, one less.
    let shared = shared_of_tomahawk5;
    for (shared, headroom, paused, dropped) in [
        (shared(164_505_640, 22_010_624, 64, 0), 1_755, 133_349, 135_105),
        (shared(165_660_324, 29_520_896, 128, 0), 1_185, 120_117, 121_302 + 1),
        (shared(164_110_924, 20_181_824, 64, 70), 1_548, 134_725, 136_274),
        (shared(164_110_924, 20_181_824, 64, 70), 1_755, 134_725, 136_481),
    ] {
        assert_eq!(TOMAHAWK5.with(1.0, shared, headroom).alone(), (paused, dropped));
    }
}

#[test]
fn groups_that_fill_one_after_another_take_half_of_what_is_left() {
    // The threshold probes of sonic-mgmt: 7260CX3, and 7060X6 with the profiles O128 and 256×200G.
    let tomahawk2 = TOMAHAWK2.with(1.0, TOMAHAWK2.cells(33_329_088), 486);
    let counts = [20036, 10021, 5013, 2510, 1258, 632, 319, 162, 84, 45, 26, 16, 11, 8, 7, 7, 6];
    assert_eq!(tomahawk2.one_after_another(17), counts);
    let first = TOMAHAWK5.with(1.0, shared_of_tomahawk5(164_505_640, 22_010_624, 64, 0), 1_755);
    let counts = [
        133_349, 66_711, 33_393, 16_733, 8_404, 4_239, 2_156, 1_115, 595, 334, 204, 139, 107, 90, 82, 78, 76,
        75, 75, 74, 74,
    ];
    assert_eq!(first.one_after_another(21), counts);
    let second = TOMAHAWK5.with(1.0, shared_of_tomahawk5(165_660_324, 29_520_896, 128, 0), 1_185);
    let counts = [
        120_117, 60_096, 30_085, 15_079, 7_577, 3_825, 1_950, 1_012, 543, 308, 191, 133, 103, 89, 81, 78, 76,
        75, 74, 74, 74,
    ];
    assert_eq!(second.one_after_another(21), counts);
}

#[test]
fn groups_that_fill_in_step_are_paused_within_a_packet_of_the_lists() {
    // The lists round αS/(1 + nα) down or up.
    let tomahawk = TOMAHAWK.with(1.0, TOMAHAWK.cells(10_875_072), 520);
    let tomahawk2 = TOMAHAWK2.with(0.125, TOMAHAWK2.cells(33_329_088), 486);
    let tomahawk3 = TOMAHAWK3.with(0.25, TOMAHAWK3.cells(38_462_204), 1_472);
    for (profile, groups, listed) in [
        (tomahawk, 10, 1_194),
        (tomahawk, 8, 1_458),
        (tomahawk, 4, 2_620),
        (tomahawk2, 14, 1_826),
        (tomahawk2, 19, 1_490),
        (tomahawk3, 37, 1_856),
    ] {
        let counts = profile.counts(Test { groups, in_step: true, response: 100 });
        for (group, counts) in counts.iter().enumerate() {
            assert!(counts.paused.abs_diff(listed) <= 1, "group {group} of {groups}: {counts:?}, {listed}");
        }
    }
}

#[test]
fn a_pool_of_headroom_serves_groups_in_order_until_it_is_empty() {
    let tomahawk = TOMAHAWK.cells(10_875_072);
    let tomahawk2 = TOMAHAWK2.cells(33_329_088);
    let (o32, o16) = (TOMAHAWK3.cells(38_462_204), TOMAHAWK3.cells(55_921_148));
    // Chip, alpha, shared cells, bytes of the pool of headroom, headroom of a group, groups that get all of it, rest.
    let rows = [
        (TOMAHAWK, 1.0, tomahawk, 4_194_112, 520, 9, 361),
        (TOMAHAWK, 1.0, tomahawk, 4_194_112, 682, 7, 267),
        (TOMAHAWK, 1.0, tomahawk, 4_194_112, 1_292, 3, 1_165),
        (TOMAHAWK2, 0.125, tomahawk2, 7_827_456, 682, 13, 542),
        (TOMAHAWK2, 1.0, tomahawk2, 7_827_456, 486, 19, 174),
        (TRIDENT3, 1.0, 120_372, 1_622_016, 362, 17, 182),
        (TOMAHAWK3, 0.25, o32, 27_200_352, 1_472, 36, 552),
        (TOMAHAWK3, 0.25, o16, 8_644_128, 462, 36, 384),
        (TOMAHAWK5, 1.0, shared_of_tomahawk5(164_505_640, 22_010_624, 64, 0), 22_010_624, 1_755, 24, 1_208),
        (TOMAHAWK5, 1.0, shared_of_tomahawk5(165_660_324, 29_520_896, 128, 0), 29_520_896, 1_185, 49, 47),
        (TOMAHAWK5, 1.0, shared_of_tomahawk5(164_110_924, 20_181_824, 64, 70), 20_181_824, 1_548, 25, 1_028),
    ];
    for (chip, alpha, shared, pool, headroom, full, rest) in rows {
        let profile =
            Profile { pool_of_headroom: Some(chip.cells(pool)), ..chip.with(alpha, shared, headroom) };
        let test = Test { groups: full + 2, in_step: false, response: 2_000 };
        let filled: Vec<u64> = profile.counts(test).iter().map(|counts| counts.headroom).collect();
        let mut expected = vec![headroom; full as usize];
        expected.extend([rest, 0]);
        assert_eq!(filled, expected, "{headroom} cells of a pool of {pool} bytes");
    }
}

#[test]
fn lossy_queues_drop_at_the_packet_that_the_tests_of_the_chips_list() {
    // A chip, its alpha, the cells that the pool has and the reserved cells of a queue: the number in the list.
    let count = |chip: Chip, alpha: f64, pool: u64| -> u64 {
        let (cell, end) = (chip.cell, Duration(1_000_000_000));
        let switch = format!(
            "[switch]\nbuffer = {{ kind = 'dynamic-threshold', alpha = {alpha}, pool = '{}B', reserved = '{}B', cell = '{cell}B' }}\n",
            pool * cell,
            7 * cell
        );
        let text = network(end, 3) + &switch + &small_packets(0, 2, START, 150_000);
        let report: Report = run(&text, &[]);
        let port = report.port("switch0->host2").expect("a port");
        let dropped: u64 = port.dropped.iter().sum();
        assert!(dropped > 0);
        // The long packet leaves at once.
        let admitted = port.received - dropped - 1;
        if chip.lists_dropped { admitted + 1 } else { admitted }
    };
    // 7050CX3, both profiles; Z9332F, profiles O32 and O16C64.
    assert_eq!(count(TRIDENT3, 8.0, TRIDENT3.cells(32_599_040)), 113_198);
    assert_eq!(count(TRIDENT3, 8.0, TRIDENT3.cells(32_340_992)), 112_302);
    assert_eq!(count(TOMAHAWK3, 2.0, TOMAHAWK3.cells(38_462_204)), 50_482);
    assert_eq!(count(TOMAHAWK3, 2.0, TOMAHAWK3.cells(55_921_148)), 73_394);
    // 7060X6, profiles O128, 256×200G and O128S2-B.
    let shared = shared_of_tomahawk5;
    assert_eq!(count(TOMAHAWK5, 1.0, shared(164_505_640, 22_010_624, 64, 0)), 133_283);
    assert_eq!(count(TOMAHAWK5, 1.0, shared(165_660_324, 29_520_896, 128, 0)), 120_051);
    assert_eq!(count(TOMAHAWK5, 1.0, shared(164_110_924, 20_181_824, 64, 70)), 134_659);
}
