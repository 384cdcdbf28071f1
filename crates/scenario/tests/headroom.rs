//! Headroom of lossless classes before the run: its terms, and warnings.

use shallows_core::Bytes;
use shallows_scenario::{Experiment, PortHeadroom, PortKind};

use crate::common::parse;

const STAR: &str = "topology = { kind = 'star', hosts = 3, rate = '100Gbps', link_delay = '500ns', framing = '38B' }\n\
                    host.jitter = 'off'\nhost.nic = { limit = '1MB' }\nstop.at = '1us'\n\
                    [switch]\nbuffer = { kind = 'complete-sharing', pool = '2MB' }\nlossless = { classes = [0] }\n\
                    [[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\n";

fn star(sets: &[(&str, &str)]) -> Experiment {
    parse(STAR, sets).unwrap_or_else(|error| panic!("{error}"))
}

fn terms(row: &PortHeadroom) -> [u64; 7] {
    let found = &row.headroom;
    [
        found.own_bytes,
        found.cable_bytes,
        found.response_bytes,
        found.peer_bytes,
        found.above_limit_bytes,
        found.needed_bytes,
        found.headroom_bytes,
    ]
}

#[test]
fn headroom_has_its_terms_for_each_kind_of_port() {
    // A packet of 1,538 bytes and a PFC frame of 84; 500 ns in both directions; 394 quanta of 64 bytes; two packets and one byte.
    let rows = star(&[]).headrooms();
    let [row] = &rows[..] else { panic!("{rows:?}") };
    assert_eq!((row.port, row.ports, row.rate_bps), (PortKind::ToHost, 3, 100_000_000_000));
    assert_eq!(terms(row), [1_622, 12_500, 25_216, 1_538, 1_539, 42_415, 42_415]);
    // Packets of 78 bytes fill whole cells of 254 bytes: 543.8 cells.
    let cells = &star(&[("switch.buffer.cell", "254B")]).headrooms()[0];
    assert_eq!(terms(cells), [1_622, 12_500, 25_216, 1_538, 1_539, 544 * 254, 544 * 254]);
    assert!((cells.headroom.occupancy - 254.0 / 78.0).abs() < 1e-12);
    // A response of 1 us is 12,500 bytes.
    assert_eq!(star(&[("switch.lossless.response", "1us")]).headrooms()[0].headroom.response_bytes, 12_500);
    let lossy = parse(&STAR.replace("lossless = { classes = [0] }", ""), &[]).expect("a scenario");
    assert!(lossy.headrooms().is_empty());
}

#[test]
fn the_worst_packet_for_cells_is_the_smallest_or_the_next_that_begins_a_cell() {
    let occupancy = |cell: &str, workloads: &str| {
        let text = format!("{STAR}{workloads}");
        let experiment =
            parse(&text, &[("switch.buffer.cell", cell)]).unwrap_or_else(|error| panic!("{error}"));
        experiment.headrooms()[0].headroom.occupancy
    };
    let is = |found: f64, cells: u32, size: u32| (found - f64::from(cells) / f64::from(size)).abs() < 1e-12;
    // Acknowledgements of 78 bytes fill one cell of 78 bytes, so packets of 79 bytes need the most.
    assert!(is(occupancy("78B", ""), 2 * 78, 79));
    // They fill two cells of 40 bytes; packets of 81 bytes need three.
    assert!(is(occupancy("40B", ""), 3 * 40, 81));
    // A datagram of one byte has 67 bytes, and an echo without data 66.
    let udp = "[[workload]]\nkind = 'udp'\nsenders = 0\nreceivers = 1\npayload = '1B'\n\
               pattern = { kind = 'constant', rate = '1Mbps' }\n";
    let ping = "[[workload]]\nkind = 'ping'\nsenders = 0\nreceivers = 1\ninterval = '1us'\npayload = '0B'\n";
    assert!(is(occupancy("254B", udp), 254, 67));
    assert!(is(occupancy("254B", &format!("{udp}{ping}")), 254, 66));
    assert!(is(occupancy("1B", ping), 1, 1));
}

#[test]
fn headroom_below_the_bytes_that_can_arrive_is_warned_about() {
    let warnings = star(&[("switch.lossless.headroom", "40KB")]).warnings();
    let expected = "the headroom of lossless classes at to-host ports (switch0->host0) is 40KB, but 42.415KB can arrive after a pause: up to \
                    2.415KB can be lost; use switch.lossless.headroom = \"auto\"";
    assert!(warnings.iter().any(|warning| warning == expected), "{warnings:?}");
    for enough in ["auto", "42415B", "50KB"] {
        let warnings = star(&[("switch.lossless.headroom", enough)]).warnings();
        assert!(!warnings.iter().any(|warning| warning.contains("headroom")), "{warnings:?}");
    }
    let given = star(&[("switch.lossless.headroom", "40KB")]).headrooms()[0].headroom;
    assert_eq!((given.needed_bytes, Bytes(given.headroom_bytes)), (42_415, Bytes(40_000)));
}

#[test]
fn sonics_formula_gives_the_headroom_of_a_spectrum_chip() {
    let spectrum = |cell: &str, sets: &[(&str, &str)]| {
        let all =
            [&[("switch.buffer.cell", cell), ("switch.lossless.headroom", "sonic-spectrum")], sets].concat();
        let experiment = star(&all);
        (experiment.headrooms()[0].headroom.headroom_bytes, experiment.notes.join("; "))
    };
    // Spectrum-3, 100 Gb/s, 40 m (202 ns): 50 KiB (sonic-swss#3235), and 2 KiB more without a pool of headroom (#4757).
    let forty = ("topology.link_delay", "202ns");
    let (found, notes) = spectrum("144B", &[forty]);
    assert_eq!(found, 52 * 1_024);
    let note = "headroom of to-host ports that receive at 100Gbps, by SONiC's formula (sonic-swss, July 2026): xoff = 52KiB = 1KiB \
                (lossless MTU) + 1.2353 · (9.1KB (port MTU) + 5051B (cable) + 0B (gearboxes) + 819B (MAC, PHY) + 25.216KB \
                (response) + 0B (tiles)), in whole KiB, + 2KiB (compensation); xon = 19KiB, size = 71KiB";
    assert_eq!(notes.matches(note).count(), 1, "{notes}");
    assert_eq!(spectrum("144B", &[forty, ("switch.lossless.headroom_pool", "100KB")]).0, 50 * 1_024);
    // Spectrum-6 (#4797).
    assert_eq!(spectrum("256B", &[forty]).0, 75 * 1_024);
    // #3235: Spectrum-3, 400 Gb/s, 300 m; Spectrum-4, 800 Gb/s, 300 m, and 200 Gb/s, 40 m. Each has 2 KiB more without a pool.
    for (cell, rate, delay, xoff) in [
        ("144B", "400Gbps", "1515ns", 272_384),
        ("192B", "800Gbps", "1515ns", 474_112),
        ("192B", "200Gbps", "202ns", 65_536),
    ] {
        let sets = [("topology.rate", rate), ("topology.link_delay", delay), ("switch.buffer.pool", "8MB")];
        assert_eq!(spectrum(cell, &sets).0, xoff + 2_048, "{cell}, {rate}, {delay}");
    }
}

#[test]
fn sonics_formula_gives_the_24_values_of_the_sn5600_from_a_scenario() {
    // sonic-buildimage, device/mellanox/x86_64-nvidia_sn5600-r0/ACS-SN5600/pg_profile_lookup.ini: xoff by metres and Gb/s. SONiC made the
    // table with 100 % of small packets; crates/switch/tests/headroom.rs has the range of the MTU and of the delay of MAC and PHY.
    let rates = [10, 25, 40, 50, 100, 200, 400, 800];
    for (delay, row) in [
        ("25.25ns", [45_056, 48_128, 57_344, 63_488, 113_664, 131_072, 231_424, 257_024]),
        ("202.02ns", [46_080, 52_224, 62_464, 69_632, 126_976, 157_696, 283_648, 362_496]),
        ("1515.15ns", [56_320, 76_800, 101_376, 118_784, 225_280, 355_328, 677_888, 1_150_976]),
    ] {
        for (gbps, xoff) in rates.into_iter().zip(row) {
            let experiment = star(&[
                ("topology.rate", &format!("{gbps}Gbps")),
                ("topology.link_delay", delay),
                ("switch.buffer.pool", "8MB"),
                ("switch.buffer.cell", "192B"),
                ("switch.lossless.headroom", "sonic-spectrum"),
                (
                    "switch.lossless.sonic",
                    "{ lossless_mtu = '1500B', small_packets = 100, mac_phy = '770B' }",
                ),
            ]);
            let found = experiment.headrooms()[0].headroom.headroom_bytes;
            assert_eq!(found, xoff, "{gbps} Gb/s, {delay}");
        }
    }
}

#[test]
fn inputs_of_sonics_formula_that_do_not_fit_are_refused() {
    let refused = |sets: &[(&str, &str)]| parse(STAR, sets).expect_err("refused").to_string();
    let sonic = ("switch.lossless.headroom", "sonic-spectrum");
    let cell = ("switch.buffer.cell", "192B");
    for (sets, message) in [
        (
            vec![sonic],
            "\"sonic-spectrum\" needs switch.buffer.cell = \"96B\" (Spectrum), \"144B\" (Spectrum-2 and -3), \"192B\" \
             (Spectrum-4 and -5) or \"256B\" (Spectrum-6), got 1B",
        ),
        (
            vec![("switch.lossless.headroom", "sonic")],
            "\"auto\", \"sonic-spectrum\" and \"hpcc-repo\" are also allowed",
        ),
        (
            vec![("switch.lossless.sonic.small_packets", "50")],
            "must be left out, or headroom must be \"sonic-spectrum\", because only SONiC's formula has these inputs; headroom is \
             \"auto\"",
        ),
        (
            vec![sonic, cell, ("switch.lossless.sonic.small_packets", "101")],
            "must be a percentage from 0 to 100, got 101",
        ),
        (
            vec![sonic, cell, ("switch.lossless.sonic.lossless_mtu", "9200B")],
            "must be from 64B to switch.lossless.sonic.mtu, got 9.2KB with an mtu of 9.1KB; the mtu must be at most 64KiB",
        ),
    ] {
        let error = refused(&sets);
        assert!(error.contains(message), "{error}");
    }
}
