//! Tests of the network and of captures with drivers other than the simulation.

use crate::common;
use crate::common::kept::Files;
use pcap_file::pcapng::{Block, PcapNgReader};
use shallows_core::{Instant, Rate};
use shallows_measure::Captures;
use shallows_sim::Network;

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
links = [{ between = ["host2", "switch0"], rate = "1Gbps" }]

[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
port = { kind = "strict-priority", queues = 2 }

[measure]
captures = [{ name = "c", ports = ["host1->switch0", "switch0->host2"], snap = "94B" }]

[[workload]]
kind = "incast"
senders = 0
receivers = 1
size = "1KB"
"#;

#[test]
fn ports_are_those_of_the_links_and_memory_is_that_of_the_nodes() {
    let report = common::run(STAR, &[]);
    let network = Network::<u32>::new(&common::parse(STAR, &[]));
    assert_eq!(network.memories().count(), 3 + 1);
    // Three links from hosts and then three to hosts, in the order of the hosts.
    let rates: Vec<Rate> = (0..6).map(|link| network.rate(link)).collect();
    let slow = Rate::from_gbps(1);
    let fast = Rate::from_gbps(10);
    assert_eq!(rates, [fast, fast, slow, fast, fast, slow]);
    let pools: Vec<u64> = network.memories().map(|(_, memory)| memory.pools()[0].size.0).collect();
    assert_eq!(pools[3], 1_000_000);
    assert_eq!(report.queues("switch0->host2").len(), 2);
}

#[test]
fn a_real_frame_is_kept_as_it_is_at_the_port_that_it_leaves() {
    let experiment = common::parse(STAR, &[]);
    let mut files = Files::default();
    let mut captures =
        Captures::new(&experiment, "by hand", |name| files.open(name)).expect("memory takes it");
    let wanted: Vec<u32> = (0..6).filter(|&link| captures.want(link)).collect();
    assert_eq!(wanted, [1, 5]);
    let frame: Vec<u8> = (0..120).collect();
    captures.copy(Instant(7_000_000), 5, &frame);
    captures.copy(Instant(9_000_000), 1, &frame[..14]);
    captures.flush().expect("memory takes it");
    assert_eq!(captures.packets(), [2]);
    let bytes = &files.contents()[0].1;
    let mut reader = PcapNgReader::new(&bytes[..]).expect("a section header");
    let mut found = Vec::new();
    while let Some(block) = reader.next_block() {
        if let Block::EnhancedPacket(packet) = block.expect("a sound block") {
            found.push((
                packet.interface_id,
                packet.timestamp.as_nanos(),
                packet.original_len,
                packet.data.to_vec(),
            ));
        }
    }
    // Each frame is cut to the number of bytes to keep.
    assert_eq!(found, [(1, 7_000, 120, frame[..94].to_vec()), (0, 9_000, 14, frame[..14].to_vec())]);
}
