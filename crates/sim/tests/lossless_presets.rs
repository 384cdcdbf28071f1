//! The presets of `switch.lossless`: switches of HPCC's simulator and of ns3-datacenter, with their defects.

use shallows_core::{Bytes, Duration};
use shallows_switch::ingress::GroupLimit;

use crate::common::{parse, run};
use crate::lossless::{at, of_class, refusal};
use crate::storms::chain;

/// Hosts 0 to 2 of a star, whose links have 18,750 bytes of headroom in HPCC's formula, send classes 1 and 2 one after the other to host 3. Its
/// link is paused during the whole run.
const BLOCKED: &str = r#"
stop.at = "60us"
host.jitter = "off"
host.nic = { limit = "1GB", backpressure = "off", port = { kind = "strict-priority", queues = 3 } }
tcp = {}

[[host.group]]
name = "storm"
members = 3
nic = { limit = "1GB", backpressure = "off", port = { kind = "strict-priority", queues = 3 }, pfc_storm = {} }

[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
link_delay = "500ns"

[switch]
buffer = { kind = "complete-sharing", pool = "100KB" }
port = { kind = "strict-priority", queues = 3 }
lossless = { preset = "hpcc-repo", classes = [1, 2] }

[[workload]]
kind = "udp"
senders = "0..3"
receivers = 3
class = 1
overload = true
start = "2us"
pattern = { kind = "constant", rate = "100Gbps" }

[[workload]]
kind = "udp"
senders = "0..3"
receivers = 3
class = 2
overload = true
start = "20us"
pattern = { kind = "constant", rate = "100Gbps" }
"#;

#[test]
fn the_preset_sets_the_constants_of_third_cc() {
    let text = "topology = { kind = 'leaf-spine', leaves = 2, spines = 1, hosts_per_leaf = 2, rate = '100Gbps', uplink_rate = '400Gbps', \
                link_delay = '1us' }\n\
                stop.at = '1us'\ntcp = {}\n\
                switch = { buffer = { kind = 'complete-sharing', pool = '32MiB' }, lossless = { preset = 'hpcc-repo', classes = [3] } }\n\
                [[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\n";
    let experiment = parse(text, &[]);
    let lossless = experiment.network.lossless.as_ref().expect("lossless classes");
    // ConfigHdrm: 3 · rate · delay, 37,500 and 150,000 bytes. pfc_a_shift: 3 at 100 Gb/s, and two less at 400 Gb/s.
    for (name, exponent, headroom) in [("leaf0->host0", -3, 37_500), ("leaf0->spine0", -1, 150_000)] {
        let link = experiment.network.links.iter().position(|link| link.name == name).expect("a port");
        let group = lossless.ports[link].groups[0];
        assert_eq!(group.limit, GroupLimit::Dynamic { exponent }, "{name}");
        let own = group.lossless.expect("a lossless group");
        assert_eq!((group.reserved, own.headroom), (Bytes(4_096), Bytes(headroom)), "{name}");
        assert_eq!(
            (own.xon, own.xon_offset, lossless.ports[link].response),
            (Bytes(0), Bytes(3_072), Duration::ZERO)
        );
    }
    // Two ports to hosts and one to the spine.
    let shared = 32 * 1_024 * 1_024 - 2 * 37_500 - 150_000 - 3 * 4_096;
    assert_eq!(lossless.books[0].pools[0].size, Bytes(shared));
    let note = "switch.lossless.preset \"hpcc-repo\" sets compares = \"hpcc-repo\", headroom = \"hpcc-repo\", reserved = \"4KiB\", \
                response = \"0s\", xon_offset = \"3KiB\", alpha = 1/8 at 100Gbps, alpha = 1/2 at 400Gbps; the headroom and reserved memory \
                of all classes are counted once per port; pauses last until they are ended";
    assert!(experiment.notes.iter().any(|text| text == note), "{:?}", experiment.notes);
    // Other keys override the preset, and the resolved scenario describes the same experiment.
    let own = parse(text, &[("switch.lossless.alpha", "0.25"), ("switch.lossless.headroom", "64KB")]);
    let group = own.network.lossless.as_ref().expect("lossless classes").ports[4].groups[0];
    assert_eq!(group.limit, GroupLimit::Dynamic { exponent: -2 });
    assert_eq!(group.lossless.map(|own| own.headroom), Some(Bytes(64_000)));
    assert!(
        own.notes
            .iter()
            .any(|text| !text.contains("alpha") && text.contains("preset \"hpcc-repo\" sets compares"))
    );
    for (key, value) in [("watchdog", "{}"), ("headroom_pool", "1MB")] {
        let text = refusal(text, &[(&format!("switch.lossless.{key}"), value)]);
        assert!(text.contains("because the switches of this simulator have none"), "{text}");
    }
}

#[test]
fn the_preset_adds_headroom_to_the_memory_of_ns3_datacenter() {
    let text = "topology = { kind = 'star', hosts = 4, rate = '100Gbps', link_delay = '1us' }\nstop.at = '1us'\ntcp = {}\n\
                switch = { buffer = { kind = 'complete-sharing', pool = '4MiB' }, lossless = { preset = 'ns3-datacenter', classes = [3] } }\n\
                [[workload]]\nkind = 'incast'\nsenders = 0\nreceivers = 1\nsize = '1KB'\n";
    let experiment = parse(text, &[]);
    let lossless = experiment.network.lossless.as_ref().expect("lossless classes");
    // SetIngressPool: all 4 MiB are shared. SetHeadroom: 3 · 12,500 bytes for each of the four ports.
    let shared = Bytes(4 * 1_024 * 1_024);
    assert_eq!(lossless.books[0].pools[0].size, shared);
    assert_eq!(experiment.network.buffers[4].pools[0], shared + Bytes(4 * 37_500));
    let link = experiment.network.links.iter().position(|link| link.from.0 == 4).expect("a port");
    let group = lossless.ports[link].groups[0];
    let own = group.lossless.expect("a lossless group");
    assert_eq!((group.limit, group.reserved), (GroupLimit::Dynamic { exponent: -3 }, Bytes(0)));
    assert_eq!((own.headroom, own.xon, own.xon_offset), (Bytes(37_500), Bytes(1_247), Bytes(2_496)));
    let note = "switch.lossless.preset \"ns3-datacenter\" sets alpha = 0.125, compares = \"ns3-datacenter\", headroom = \"hpcc-repo\", \
                response = \"0s\", xon = \"1247B\", xon_offset = \"2496B\"; headroom and reserved memory are added to the memory of a \
                switch; pauses last until they are ended";
    assert!(experiment.notes.iter().any(|text| text == note), "{:?}", experiment.notes);
    // A fixed limit replaces alpha.
    let own = parse(text, &[("switch.lossless.limit", "100KB")]);
    let group = own.network.lossless.as_ref().expect("lossless classes").ports[link].groups[0];
    assert_eq!(group.limit, GroupLimit::Static(Bytes(100_000)));
}

#[test]
fn more_headroom_is_promised_than_there_is() {
    // Both classes of a port share 18,750 + 4,096 bytes in the count of ConfigNPort, but each may use as much. Here they fill one after the
    // other, and the switch holds more than its memory without dropping a packet.
    let report = run(BLOCKED, &[]);
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    let held = report.port("switch0->host3").expect("a port").max_backlog;
    assert!(held > Bytes(100_000), "{held}");
    // By the rules of a chip, this memory is too small for the headroom that both classes are promised: 8 · (18,750 + 4,096).
    let text = BLOCKED
        .replace("preset = \"hpcc-repo\"", "reserved = \"4KiB\", headroom = \"18750B\", response = \"0s\"");
    let text = refusal(&text, &[]);
    assert!(text.contains("32KiB + 150KB, and one packet of 1.5KB: at least 184.268KB, got 100KB"), "{text}");
}

#[test]
fn short_links_have_too_little_headroom_and_lose_packets() {
    // 3 · rate · delay of 5 m at 100 Gb/s is 936 bytes, less than a packet.
    let short = [("topology.link_delay", "25ns")];
    let experiment = parse(BLOCKED, &short);
    assert!(
        experiment.warnings().iter().any(|text| text.contains("is 936B, but")),
        "{:?}",
        experiment.warnings()
    );
    let report = run(BLOCKED, &short);
    assert!(of_class(1, &report, &experiment, "switch0->host0").dropped > 0);
    assert!(report.problems().iter().any(|problem| problem.code == "lossless-drop"));
}

#[test]
fn a_pause_lasts_until_it_is_ended_and_is_not_repeated() {
    let storm = |lossless: &str| {
        let text = chain(2, "3ms", "pfc_storm = { start = '1ms', stop = '2ms' }")
            .replace("lossless = { classes = [0], limit = '90KB' }", lossless);
        let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
        (at(&report, &experiment, "b->s1").frames, at(&report, &experiment, "s1->b").paused)
    };
    // The frames take 6.72 ns and 500 ns in both cases.
    assert_eq!(
        storm("lossless = { preset = 'hpcc-repo', classes = [0], limit = '90KB' }"),
        (2, Duration::from_micros(1_000))
    );
    // A pause of 65,535 quanta is repeated every 167.767 us: 1 + 5 + 1 frames.
    assert_eq!(
        storm("lossless = { classes = [0], limit = '90KB', response = '0s' }"),
        (7, Duration::from_micros(1_000))
    );
}
