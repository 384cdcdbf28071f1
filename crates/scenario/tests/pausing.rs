//! Thresholds of pauses before the run, and whether ECN or PFC comes first.

use shallows_core::Bytes;
use shallows_scenario::{Experiment, PauseThreshold, PortKind};
use shallows_switch::ingress::{GroupId, IngressBook};

use crate::common::parse;

/// Nine hosts at one switch. Packets have 1,000 bytes on the wire.
const STAR: &str = "topology = { kind = 'star', hosts = 9, rate = '100Gbps', link_delay = '500ns', mtu = '1000B', framing = '0B' }\n\
                    host.jitter = 'off'\nhost.nic = { limit = '1MB' }\nstop.at = '1us'\n\
                    [switch]\nbuffer = { kind = 'complete-sharing', pool = '9450KB' }\n\
                    lossless = { classes = [0], alpha = 0.125, headroom = '50KB' }\n\
                    [[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\n";

fn star(sets: &[(&str, &str)]) -> Experiment {
    parse(STAR, sets).unwrap_or_else(|error| panic!("{error}"))
}

fn only(sets: &[(&str, &str)]) -> PauseThreshold {
    let rows = star(sets).pause_thresholds();
    let [row] = &rows[..] else { panic!("{rows:?}") };
    row.clone()
}

#[test]
fn groups_pause_at_their_share_of_the_free_memory() {
    let row = only(&[]);
    assert_eq!((row.port, row.ports, row.rate_bps), (PortKind::ToHost, 9, 100_000_000_000));
    // 9,450 KB less nine times 50 KB of headroom. T = B/8/(1 + n/8), and an incast of n pauses after n · T/((n - 1) · C).
    assert_eq!(row.shared_bytes, 9_000_000);
    let found: Vec<_> =
        row.levels.iter().map(|level| (level.groups, level.group_bytes, level.queue_bytes)).collect();
    assert_eq!(found, [(1, 1_000_000, 1_000_000), (4, 750_000, 3_000_000), (8, 562_500, 4_500_000)]);
    let after: Vec<_> = row.levels.iter().map(|level| level.after_us.map(|us| us.round())).collect();
    assert_eq!(after, [None, Some(80.0), Some(51.0)]);
    // Reserved memory is used first: 9 · 10 KB are not shared.
    let reserved = only(&[("switch.lossless.reserved", "10KB")]);
    assert_eq!((reserved.shared_bytes, reserved.levels[0].group_bytes), (8_910_000, 10_000 + 990_000));
    // A fixed limit, and no more than an equal part of the memory.
    let fixed = ("switch.lossless", "{ classes = [0], limit = '2MB', headroom = '50KB' }");
    let fixed: Vec<u64> = only(&[fixed]).levels.iter().map(|level| level.group_bytes).collect();
    assert_eq!(fixed, [2_000_000, 2_000_000, 1_125_000]);
}

#[test]
fn the_ingress_book_pauses_at_these_thresholds() {
    // The size of a packet in memory: bytes, or four cells of 254 bytes.
    for (sets, packet) in [
        (vec![("switch.lossless.reserved", "10KB")], 1_000),
        (vec![("switch.lossless.alpha", "4.0"), ("switch.buffer.cell", "254B")], 1_016),
        (vec![("switch.lossless", "{ classes = [0], limit = '900KB', headroom = '50KB' }")], 1_000),
    ] {
        let experiment = star(&sets);
        let lossless = experiment.network.lossless.as_ref().expect("lossless classes");
        for level in &only(&sets).levels {
            let mut book = IngressBook::new(&lossless.books[0]);
            let mut group = |_| {
                let port = book.add_port(&lossless.ports.last().expect("ports").groups);
                book.group(port, 0)
            };
            let groups: Vec<GroupId> = (0..level.groups).map(&mut group).collect();
            while book.next_signal().is_none() {
                groups
                    .iter()
                    .for_each(|&group| book.admit(group, Bytes(1_000)).expect("room before the pause"));
            }
            // All groups of the last round hold one more packet, and the last packet may exceed the threshold.
            let found = book.occupancy(groups[0]).0;
            assert!(found.abs_diff(level.group_bytes) <= 2 * packet, "{found} {level:?}");
        }
    }
}

#[test]
fn ecn_or_pfc_comes_first_by_the_backlog_of_an_incast() {
    let pause_first = |k: &str| {
        let marker = format!("[{{ kind = 'threshold', scope = 'queue', k = '{k}' }}]");
        let row = only(&[("switch.markers", &marker)]);
        let is_first = |pauses: &[PortKind], marks: &[PortKind]| match (pauses, marks) {
            ([PortKind::ToHost], []) => true,
            ([], [PortKind::ToHost]) => false,
            other => panic!("{other:?}"),
        };
        row.levels.iter().map(|level| is_first(&level.pause_first, &level.mark_first)).collect::<Vec<_>>()
    };
    // Queues hold 1, 3 and 4.5 MB when their senders are paused.
    assert_eq!(pause_first("999KB"), [false, false, false]);
    assert_eq!(pause_first("1MB"), [true, false, false]);
    assert_eq!(pause_first("4MB"), [true, true, false]);
    let unmarked = only(&[]);
    assert!(unmarked.levels.iter().all(|level| level.pause_first == [PortKind::ToHost]));
    assert!(unmarked.levels.iter().all(|level| level.mark_first.is_empty()));
}

#[test]
fn marks_come_first_below_the_threshold_of_dcqcn() {
    // Zhu et al., SIGCOMM 2015, §4: 12 MB, 32 ports of 40 Gb/s, 8 priorities, 22.4 KB of headroom; with β = 8, which is α = 1, ECN comes
    // first below 21.75 KB.
    let row = only(&[
        ("topology.hosts", "32"),
        ("topology.rate", "40Gbps"),
        ("switch.buffer.pool", "12MB"),
        ("switch.lossless", "{ classes = [0, 1, 2, 3, 4, 5, 6, 7], alpha = 1.0, headroom = '22400B' }"),
    ]);
    assert_eq!(row.mark_below_bytes, 21_755);
    // If all classes share a group, it is full of 8 · 32 queues with K bytes each when 256 K = 12 MB − 32 · 22.4 KB − 256 K.
    let row = only(&[
        ("topology.hosts", "32"),
        ("topology.rate", "40Gbps"),
        ("switch.buffer.pool", "12MB"),
        (
            "switch.lossless",
            "{ classes = [0, 1, 2, 3, 4, 5, 6, 7], alpha = 1.0, headroom = '22400B', \
             tc_to_priority_group = { 1 = 0, 2 = 0, 3 = 0, 4 = 0, 5 = 0, 6 = 0, 7 = 0 } }",
        ),
    ]);
    assert_eq!((row.shared_bytes, row.mark_below_bytes), (11_283_200, 22_037));
    // A fixed limit of 100 KB, filled from 32 queues.
    let row = only(&[
        ("topology.hosts", "32"),
        ("switch.lossless", "{ classes = [0], limit = '100KB', headroom = '50KB' }"),
    ]);
    assert_eq!(row.mark_below_bytes, 3_125);
}

#[test]
fn scenarios_without_lossless_classes_have_no_thresholds() {
    let text = STAR.replace("lossless = { classes = [0], alpha = 0.125, headroom = '50KB' }\n", "");
    assert!(parse(&text, &[]).expect("a scenario").pause_thresholds().is_empty());
}

#[test]
fn a_pool_of_headroom_for_some_of_the_groups_is_noted() {
    let noted = |pool: &str| {
        let notes = star(&[("switch.lossless.headroom_pool", pool)]).notes.clone();
        notes.into_iter().find(|note| note.contains("headroom pool"))
    };
    let expected = "the headroom pool of switch0 has 449KB for 9 lossless groups that need up to 50KB each: at most 8 of them may pause at \
                    once without loss";
    assert_eq!(noted("449KB").as_deref(), Some(expected));
    assert_eq!(noted("450KB"), None);
    assert!(noted("30KB").expect("a note").contains("at most 0 of them"));
}
