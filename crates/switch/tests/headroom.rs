//! Tests of the headroom formulas against worked tables and the values of shipped configurations.

use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::headroom::generic::{self, Link};
use shallows_switch::headroom::largest_response;
use shallows_switch::headroom::sonic_spectrum::{Chip, Headroom, Port, Version};

/// Returns the headroom of a symmetric link. Light takes 5 ns per metre.
fn generic(gbps: u64, metres: u64, mtu: u64) -> generic::Headroom {
    let rate = Rate::from_gbps(gbps);
    generic::Headroom::of(&Link {
        rate,
        reverse_rate: rate,
        propagation: Duration::from_nanos(5 * metres),
        packet: Bytes(mtu + 38),
        response: largest_response(rate).expect("it has a clause"),
    })
}

#[test]
fn the_generic_headroom_is_the_sum_of_its_terms() {
    // Rate, metres, MTU; own packet and PFC frame, cable, response, packet of the sender, sum. Worked by hand with 38 bytes of framing.
    for (gbps, metres, mtu, [own, cable, response, peer, sum]) in [
        (40, 100, 1_500, [1_622, 5_000, 7_552, 1_538, 15_712]),
        (100, 5, 1_500, [1_622, 625, 25_216, 1_538, 29_001]),
        (100, 100, 1_500, [1_622, 12_500, 25_216, 1_538, 40_876]),
        (100, 100, 9_216, [9_338, 12_500, 25_216, 9_254, 56_308]),
        (100, 300, 4_200, [4_322, 37_500, 25_216, 4_238, 71_276]),
        (400, 5, 4_200, [4_322, 2_500, 57_920, 4_238, 68_980]),
        (400, 100, 4_200, [4_322, 50_000, 57_920, 4_238, 116_480]),
        (400, 2_000, 4_200, [4_322, 1_000_000, 57_920, 4_238, 1_066_480]),
    ] {
        let found = generic(gbps, metres, mtu);
        let terms = [found.own, found.cable, found.response, found.peer, found.total()].map(|term| term.0);
        assert_eq!(terms, [own, cable, response, peer, sum], "{gbps} Gb/s, {metres} m, {mtu} B");
    }
}

#[test]
fn a_slower_reverse_direction_delays_the_pause() {
    let (rate, reverse_rate) = (Rate::from_gbps(100), Rate::from_gbps(40));
    let link =
        Link { rate, reverse_rate, propagation: Duration::ZERO, packet: Bytes(1_538), response: Bytes(0) };
    // 1,622 bytes at 40 Gb/s take as long as 4,055 at 100 Gb/s.
    assert_eq!(generic::Headroom::of(&link).own, Bytes(4_055));
    assert_eq!(generic::Headroom::of(&Link { packet: Bytes(1_539), ..link }).own, Bytes(4_058), "rounded up");
}

#[test]
fn the_generic_headroom_is_printed_with_each_term() {
    assert_eq!(
        generic(100, 100, 1_500).to_string(),
        "40.876KB = 1.622KB (own packet, PFC frame) + 12.5KB (cable, both directions) + 25.216KB (response) + 1.538KB \
         (packet that the sender has begun)"
    );
}

#[test]
fn a_response_takes_the_quanta_of_the_standard() {
    for (gbps, bytes) in [
        (10, 4_288),
        (25, 5_120),
        (40, 7_552),
        (50, 9_408),
        (100, 25_216),
        (200, 28_992),
        (400, 57_920),
        (800, 57_920),
    ] {
        assert_eq!(largest_response(Rate::from_gbps(gbps)), Some(Bytes(bytes)), "{gbps} Gb/s");
    }
    assert_eq!(largest_response(Rate(1_000_000_000)), Some(Bytes(128)));
    assert_eq!(largest_response(Rate::from_gbps(30)), None);
}

fn port(gbps: u64, metres: u32) -> Port {
    let rate = Rate::from_gbps(gbps);
    Port {
        rate,
        metres,
        lanes: 4,
        mtu: Bytes(9_100),
        gearbox_delay: 0.0,
        response: largest_response(rate).expect("it has a clause"),
        lossless_mtu: Bytes(1_024),
        small_packets: 50,
        shared_headroom: false,
    }
}

#[test]
fn sonics_formula_gives_the_24_values_of_the_sn5600() {
    // sonic-buildimage, device/mellanox/x86_64-nvidia_sn5600-r0/ACS-SN5600/pg_profile_lookup.ini: xoff by metres and Gb/s. The table was made
    // with 100 % of small packets, and with MTU and MAC delay such that mtu + 3 · delay is from 3,808 to 3,867: here 1,500 and 770.
    let rates = [10, 25, 40, 50, 100, 200, 400, 800];
    for (metres, row) in [
        (5, [45_056, 48_128, 57_344, 63_488, 113_664, 131_072, 231_424, 257_024]),
        (40, [46_080, 52_224, 62_464, 69_632, 126_976, 157_696, 283_648, 362_496]),
        (300, [56_320, 76_800, 101_376, 118_784, 225_280, 355_328, 677_888, 1_150_976]),
    ] {
        for (gbps, xoff) in rates.into_iter().zip(row) {
            let chip = Chip { mac_phy: 770.0, ..Chip::spectrum(5) };
            let port = Port { lossless_mtu: Bytes(1_500), small_packets: 100, ..port(gbps, metres) };
            for version in [Version::BySmallPackets, Version::Compensated] {
                assert_eq!(Headroom::of(version, &chip, &port).xoff, Bytes(xoff), "{gbps} Gb/s, {metres} m");
            }
        }
    }
}

#[test]
fn sonics_formula_gives_the_vectors_of_its_change_to_shares_of_bytes() {
    // sonic-swss#3235: generation, Gb/s, metres, lanes; xon, xoff, size.
    for (generation, gbps, metres, lanes, expected) in [
        (3, 400, 300, 8, [38_912, 272_384, 320_512]),
        (3, 100, 40, 4, [19_456, 51_200, 70_656]),
        (4, 800, 300, 8, [38_912, 474_112, 522_240]),
        (4, 200, 40, 4, [19_456, 65_536, 84_992]),
    ] {
        let chip = Chip::spectrum(generation);
        let found = Headroom::of(Version::BySmallPackets, &chip, &Port { lanes, ..port(gbps, metres) });
        assert_eq!([found.xon, found.xoff, found.size].map(|size| size.0), expected);
        let shared = Port { lanes, shared_headroom: true, ..port(gbps, metres) };
        let found = Headroom::of(Version::BySmallPackets, &chip, &shared);
        assert_eq!((found.xoff.0, found.size), (expected[1], found.xon), "the pool has the headroom");
    }
}

#[test]
fn a_reduced_share_of_small_packets_is_compensated_if_it_stays_far_below_the_worst_case() {
    // sonic-swss#4757. Spectrum-3, 100 Gb/s, 40 m: 50 KiB, and 119 KiB if all packets are small: 2 KiB more. With a shared pool: none.
    let spectrum3 = Chip::spectrum(3);
    let found = Headroom::of(Version::Compensated, &spectrum3, &port(100, 40));
    assert_eq!((found.xoff, found.compensation), (Bytes(52 * 1_024), Bytes(2_048)));
    assert_eq!(found.size, Bytes((52 + 19) * 1_024));
    let shared = Port { shared_headroom: true, ..port(100, 40) };
    assert_eq!(Headroom::of(Version::Compensated, &spectrum3, &shared).xoff, Bytes(50 * 1_024));
    // Spectrum, 10 Gb/s, 5 m, 99 %: 9,100 + 63.1 + 819.2 + 4,288 = 14,270.3 bytes, times 1.8696 and with 1,024: 27.05, so 28 KiB. In the
    // worst case, times 2: 28.87, so 29 KiB, less than 2 KiB above.
    let near = Port { small_packets: 99, ..port(10, 5) };
    let found = Headroom::of(Version::Compensated, &Chip::spectrum(1), &near);
    assert_eq!((found.xoff, found.compensation), (Bytes(28 * 1_024), Bytes(0)));
}

#[test]
fn spectrum_6_gets_18_kib_before_the_test_of_the_worst_case() {
    // sonic-swss#4797. 100 Gb/s, 40 m: 9,100 + 5,050.5 + 819.2 + 25,216 = 40,185.7 bytes, times 1 + 3 · 6,400/54,400 = 1.35294 and with
    // 1,024: 54.09, so 55 KiB; 73 with the addition. In the worst case, times 4: 157.97, so 158 KiB, and 75 is below it.
    let found = Headroom::of(Version::Compensated, &Chip::spectrum(6), &port(100, 40));
    assert_eq!((found.xoff, found.compensation), (Bytes(75 * 1_024), Bytes(20 * 1_024)));
    assert_eq!((found.xon, found.size), (Bytes(42 * 1_024), Bytes((75 + 42) * 1_024)));
    let before = Headroom::of(Version::BySmallPackets, &Chip::spectrum(6), &port(100, 40));
    assert_eq!((before.xoff, before.compensation), (Bytes(55 * 1_024), Bytes(0)));
    let shared = Port { shared_headroom: true, ..port(100, 40) };
    assert_eq!(Headroom::of(Version::Compensated, &Chip::spectrum(6), &shared).xoff, Bytes(73 * 1_024));
}

#[test]
fn packets_of_64_bytes_occupy_whole_cells() {
    // All packets are small, so that the occupancy is the worst one. A chip without cells stores each byte as it is.
    for (cell, occupancy) in [(1, 1.0), (64, 2.0), (96, 2.0), (128, 2.0), (129, 3.0), (192, 3.0), (256, 4.0)]
    {
        let chip = Chip { cell: Bytes(cell), ..Chip::spectrum(1) };
        let small = Port { small_packets: 100, ..port(100, 40) };
        let found = Headroom::of(Version::BySmallPackets, &chip, &small);
        assert_eq!(found.occupancy, occupancy, "{cell} B");
    }
}

#[test]
fn a_compensation_that_reaches_the_worst_case_is_left_out() {
    // Spectrum, 25 Gb/s, 5 m, 99 %: 29 KiB, and 31 KiB in the worst case, which 2 KiB more would reach.
    let at_99 = Port { small_packets: 99, ..port(25, 5) };
    let found = Headroom::of(Version::Compensated, &Chip::spectrum(1), &at_99);
    assert_eq!((found.xoff, found.compensation), (Bytes(29 * 1_024), Bytes(0)));
    // Spectrum-6, 10 Gb/s, 5 m, 97 %: 44 KiB, and 57 KiB in the worst case, which the 18 KiB of this chip exceed.
    let at_97 = Port { small_packets: 97, ..port(10, 5) };
    let found = Headroom::of(Version::Compensated, &Chip::spectrum(6), &at_97);
    assert_eq!((found.xoff, found.compensation), (Bytes(62 * 1_024), Bytes(18 * 1_024)));
}

#[test]
fn a_gearbox_delays_both_directions() {
    // 100,000 Mb/s times 40 over 8 · 1,024 is 488.3 bytes a direction.
    let with = Port { gearbox_delay: 40.0, ..port(100, 40) };
    let found = Headroom::of(Version::BySmallPackets, &Chip::spectrum(3), &with);
    assert!((found.gearbox - 976.56).abs() < 0.01, "{}", found.gearbox);
    let without = Headroom::of(Version::BySmallPackets, &Chip::spectrum(3), &port(100, 40));
    assert!((found.propagation() - without.propagation() - found.gearbox).abs() < 1e-9);
}

#[test]
fn sonics_headroom_is_printed_with_each_term() {
    let found = Headroom::of(Version::Compensated, &Chip::spectrum(4), &port(200, 40));
    assert_eq!(
        found.to_string(),
        "xoff = 66KiB = 1KiB (lossless MTU) + 1.2353 · (9.1KB (port MTU) + 10101B (cable) + 0B (gearboxes) + 819B (MAC, \
         PHY) + 28.992KB (response) + 3000B (tiles)), in whole KiB, + 2KiB (compensation); xon = 19KiB, size = 85KiB"
    );
}
