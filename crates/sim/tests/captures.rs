//! Tests of captures: packets, times and interfaces in their files, and determinism.

use std::io::{self, Write};
use std::time::Duration;

use crate::common;
use crate::common::kept::Files;
use pcap_file::pcapng::{Block, PcapNgReader};
use shallows_measure::Problem;
use shallows_sim::Simulation;

/// Two senders and a receiver, with links of 10 Gb/s and 10 us. One segment has 1,000 bytes on the wire, which take 800 ns.
const SCENARIO: &str = r#"
name = "two \"hosts\""
seed = 7
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
link_delay = "10us"
mtu = "1000B"
framing = "0B"

[switch]
buffer = { kind = "static-partition", per_port = "100p" }

[host]
jitter = "off"

[tcp]
congestion = "reno"
delayed_ack = { segments = 1 }
timestamps = false

[[workload]]
kind = "incast"
senders = "0"
receivers = 2
size = "960B"
start = "5us"
"#;

/// Returns the files that a run writes, by name, and the problems that the run reports.
fn captured(text: &str, captures: &str) -> (Vec<(String, Vec<u8>)>, Vec<Problem>) {
    captured_with(text, &[("measure.captures", captures)])
}

/// Returns files and problems of a run with the keys in `sets` changed.
fn captured_with(text: &str, sets: &[(&str, &str)]) -> (Vec<(String, Vec<u8>)>, Vec<Problem>) {
    let experiment = common::parse(text, sets);
    let mut files = Files::default();
    let mut simulation =
        Simulation::capturing(experiment, 1, |name| files.open(name)).expect("memory takes it");
    simulation.advance(u64::MAX);
    simulation.flush_captures().expect("memory takes it");
    let problems = simulation.finish().problems();
    (files.contents(), problems)
}

/// Returns the names of the interfaces, and for each packet its interface, time in ns and length.
fn read(bytes: &[u8]) -> (Vec<String>, Vec<(u32, u128, u32)>) {
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    let mut reader = PcapNgReader::new(bytes).expect("a section header");
    while let Some(block) = reader.next_block() {
        match block.expect("a sound block") {
            Block::InterfaceDescription(block) => {
                // Name, kind, 10 Gb/s, nanoseconds.
                names.push(format!("{:?}", block.options));
            }
            Block::EnhancedPacket(packet) => {
                let nanoseconds = Duration::as_nanos(&packet.timestamp);
                packets.push((packet.interface_id, nanoseconds, packet.original_len));
            }
            other => panic!("unexpected {other:?}"),
        }
    }
    (names, packets)
}

#[test]
fn a_packet_is_captured_when_its_first_bit_leaves_each_port() {
    let (files, problems) = captured(SCENARIO, "[{ ports = ['*'], name = 'all' }]");
    assert_eq!(files[0].0, "all");
    let (interfaces, packets) = read(&files[0].1);
    assert_eq!(interfaces.len(), 6);
    assert_eq!(
        interfaces[0],
        "[IfName(\"host0->switch0\"), IfDescription(\"nic\"), IfSpeed(10000000000), IfTsResol(9)]"
    );
    // 1000 bytes leave the host at 5 us, and the switch 800 ns and 10 us later. Another 10.8 us later they arrive and their
    // acknowledgement of 40 bytes leaves, which takes 32 ns and 10 us. Ethernet adds 14 to each length.
    // Host ports are the first interfaces; the switch's follow in the order of hosts.
    assert_eq!(packets, [(0, 5_000, 1_014), (5, 15_800, 1_014), (2, 26_600, 54), (3, 36_632, 54)]);
    assert_eq!(problems, []);
}

#[test]
fn hosts_are_captured_at_both_ends_of_their_cable_and_files_are_apart() {
    let captures = "[{ hosts = 0, name = 'a' }, { hosts = 'host2', name = 'b' }, { hosts = 1, name = 'c' }]";
    let (files, problems) = captured(SCENARIO, captures);
    let of = |file: usize| read(&files[file].1).1;
    // In the file of each host, its outgoing packets have interface 0 and its incoming ones interface 1.
    assert_eq!(of(0), [(0, 5_000, 1_014), (1, 36_632, 54)]);
    assert_eq!(of(1), [(1, 15_800, 1_014), (0, 26_600, 54)]);
    assert_eq!(of(2), []);
    let [Problem { code: "empty-capture", text }] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!(text, "no packet passed the ports of the capture \"c\"");
}

#[test]
fn a_file_says_what_it_is_of_and_is_the_same_each_time() {
    let files = || captured(SCENARIO, "[{ ports = ['to-host'] }]").0;
    let (name, bytes) = files().remove(0);
    assert_eq!(name, "capture");
    assert_eq!(files()[0].1, bytes);
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("scenario \"two \\\"hosts\\\"\", seed 7; window scale 14"), "{text}");
    // The magic number of a little-endian section, on every machine.
    assert_eq!(bytes[8..12], [0x4d, 0x3c, 0x2b, 0x1a]);
}

#[test]
fn capturing_changes_nothing_of_the_run() {
    let summary = |sets: &[(&str, &str)]| common::run(SCENARIO, sets).summary();
    assert_eq!(summary(&[("measure.captures", "[{ ports = ['*'] }]")]), summary(&[]));
}

/// Sink that returns an error when its space is used up, like a full disk.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_told_again_and_again() {
    let experiment = || common::parse(SCENARIO, &[("measure.captures", "[{ ports = ['*'] }]")]);
    for room in [0, 500] {
        let mut simulation = Simulation::capturing(experiment(), 1, |_| Ok(Box::new(Full(room)))).unwrap();
        simulation.advance(u64::MAX);
        for _ in 0..2 {
            let told = simulation.flush_captures().map_err(|error| error.kind());
            assert_eq!(told, Err(io::ErrorKind::StorageFull));
        }
    }
    let closed = |_: &str| Err(io::ErrorKind::PermissionDenied.into());
    let refused = Simulation::capturing(experiment(), 1, closed).map(|_| ());
    assert_eq!(refused.map_err(|error| error.kind()), Err(io::ErrorKind::PermissionDenied));
}

#[test]
fn what_leaves_at_the_same_time_is_in_the_order_of_ports_and_written_as_the_run_goes() {
    // Two hosts begin at once; for some seed they are far from each other in the order of events.
    let text = SCENARIO
        .replace("senders = \"0\"", "senders = \"0..2\"")
        .replace("start = \"5us\"", "spread = \"0s\"");
    for seed in ["1", "2", "3", "4", "5", "6", "7", "8"] {
        let text = text.replace("seed = 7", &format!("seed = {seed}"));
        let packets = read(&captured(&text, "[{ ports = ['nic'] }]").0[0].1).1;
        assert_eq!(packets[..2], [(0, 0, 1_014), (1, 0, 1_014)], "seed {seed}");
        // In steps of one event, each packet is in the file once no later event can precede it.
        let experiment = common::parse(&text, &[("measure.captures", "[{ ports = ['nic'] }]")]);
        let mut files = Files::default();
        let mut simulation = Simulation::capturing(experiment, 1, |name| files.open(name)).unwrap();
        let mut early = Vec::new();
        while !simulation.advance(1).done {
            simulation.flush_captures().expect("memory takes it");
            early.push(read(&files.contents()[0].1).1.len());
        }
        simulation.finish();
        assert_eq!(read(&files.contents()[0].1).1, packets);
        assert!(early.contains(&2) && early.is_sorted() && early[0] == 0, "{early:?}");
    }
}

#[test]
fn echoes_are_numbered_by_the_pair_that_asks_and_replies_repeat_it() {
    let pings = "[[workload]]\nkind = 'ping'\nsenders = '0..2'\nreceivers = 2\ninterval = '100us'\n";
    let text =
        format!("stop.at = '250us'\n{}{pings}", SCENARIO.split("[[workload]]").next().expect("a network"));
    let (files, _) = captured(&text, "[{ hosts = 0 }]");
    let mut reader = PcapNgReader::new(&files[0].1[..]).expect("a section header");
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a sound block") {
            // After 14 bytes of Ethernet and 20 of IP: type (RFC 792: 8 for requests, 0 for replies), code, checksum, identifier, number.
            let icmp = &packet.data[34..];
            found.push((icmp[0], icmp[7]));
        }
    }
    assert_eq!(found, [(8, 0), (0, 0), (8, 1), (0, 1), (8, 2), (0, 2)]);
}

#[test]
fn a_handshake_shows_what_the_two_groups_of_its_ends_agree_on() {
    // Kinds of options in the SYN of host 0, from RFC 9293 §3.2 and RFC 7323: 4 permits SACK, 8 is a timestamp.
    let options = |receiver: &str| {
        let sets = [
            ("measure.captures", "[{ ports = ['host0->switch0'] }]"),
            ("tcp.handshake", "true"),
            ("tcp.timestamps", "true"),
            ("workload.0.receivers", receiver),
            (
                "host.group",
                "[{ name = 'plain', members = 2, tcp = { timestamps = false, recovery = 'newreno' } }]",
            ),
        ];
        let bytes = captured_with(SCENARIO, &sets).0.remove(0).1;
        let mut reader = PcapNgReader::new(&bytes[..]).expect("a section header");
        let syn = std::iter::from_fn(|| {
            reader.next_block().map(|block| block.expect("a sound block").into_owned())
        })
        .find_map(|block| {
            if let Block::EnhancedPacket(packet) = block { Some(packet.data.into_owned()) } else { None }
        })
        .expect("it was sent");
        // After Ethernet, IP, and the 20 bytes of TCP: kinds 0 and 1 are one byte long, the others contain their length.
        let mut rest = &syn[54..];
        let mut kinds = Vec::new();
        while let [kind, more @ ..] = rest {
            rest = if *kind < 2 { more } else { &rest[usize::from(more[0])..] };
            kinds.push(*kind);
        }
        kinds.retain(|kind| [4, 8].contains(kind));
        kinds
    };
    assert_eq!((options("1"), options("2")), (vec![4, 8], vec![]));
}

#[test]
fn a_port_may_be_captured_and_traced_at_once() {
    let sets = |port: &'static str| {
        [
            ("measure.captures", format!("[{{ ports = ['{port}'] }}]")),
            ("measure.traces", format!("[{{ ports = ['{port}'] }}]")),
        ]
    };
    // The segment leaves the switch for host 2, and its acknowledgement for host 0; host 0's NIC sends the segment.
    for (port, time, length) in
        [("switch0->host2", 15_800, 1_014), ("switch0->host0", 36_632, 54), ("host0->switch0", 5_000, 1_014)]
    {
        let sets = sets(port);
        let sets: Vec<(&str, &str)> = sets.iter().map(|(key, value)| (*key, value.as_str())).collect();
        let (files, problems) = captured_with(SCENARIO, &sets);
        assert_eq!(read(&files[0].1).1, [(0, time, length)]);
        assert_eq!(problems, [], "both have seen it");
    }
}

#[test]
fn pfc_frames_are_captured_at_the_ports_that_send_them() {
    let text = include_str!("../../../experiments/models/lossless.toml");
    let sets = &[
        ("stop.at", "300us"),
        ("measure.captures", "[{ ports = ['right->left', 'left->right'], snap = '96B' }]"),
    ];
    let experiment = common::parse(text, sets);
    let mut files = Files::default();
    let mut simulation =
        Simulation::capturing(experiment, 1, |name| files.open(name)).expect("memory takes it");
    simulation.advance(u64::MAX);
    let report = simulation.finish();
    let counted = |name: &str| {
        let links = &common::parse(text, sets).network.links;
        let sent = report.pauses().iter().filter(|row| links[row.link as usize].name == name);
        sent.map(|row| row.frames).sum::<u64>()
    };
    let bytes = files.contents().remove(0).1;
    let mut reader = PcapNgReader::new(&bytes[..]).expect("a section header");
    let mut frames = [0; 2];
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(packet) = block.expect("a sound block") else { continue };
        let bytes = &packet.data;
        // EtherType of MAC control frames.
        if bytes[12..14] != [0x88, 0x08] {
            continue;
        }
        frames[packet.interface_id as usize] += 1;
        // IEEE 802.1Q clause 36: the destination; opcode 0x0101, priority 0 alone, and its pause time: the longest, or 0 to resume.
        assert_eq!((&bytes[..6], packet.original_len), (&[0x01, 0x80, 0xc2, 0, 0, 1][..], 60));
        assert_eq!(bytes[14..18], [1, 1, 0, 1]);
        assert!(matches!(bytes[18..20], [0, 0] | [0xff, 0xff]), "{bytes:?}");
        assert!(bytes[20..].iter().all(|&byte| byte == 0), "{bytes:?}");
    }
    // Interfaces are in the order of links.
    let mut expected = [counted("left->right"), counted("right->left")];
    expected.sort_unstable();
    frames.sort_unstable();
    assert_eq!(frames, expected);
    assert!(expected[1] > 0, "the right switch pauses the left one");
}
