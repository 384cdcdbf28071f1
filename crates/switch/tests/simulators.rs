//! The ingress book with the rules of HPCC's simulator (`switch-mmu.cc` of alibaba-edu/High-Precision-Congestion-Control) and of
//! ns3-datacenter (`switch-mmu.cc` of inet-tub/ns3-datacenter).
//!
//! The tests of HPCC's simulator use a switch of three ports with 100,000 bytes. The headroom of a link of 100 Gb/s and 500 ns is 3 · 6,250
//! = 18,750 bytes, and each port reserves 4,096 bytes. `ConfigNPort` leaves 100,000 − 3 · (18,750 + 4,096) = 31,462 bytes to share, and
//! `GetPfcThreshold` is an eighth of their free part, rounded down.

use shallows_core::Bytes;
use shallows_switch::buffer::Cell;
use shallows_switch::ingress::{
    Compares, Config, GroupConfig, GroupId, GroupLimit, IngressBook, IngressRefusal, Lossless, PoolConfig,
    Signal,
};

const SHARED: Bytes = Bytes(31_462);

/// Returns a book with this shared memory, and one group at each of its ports. Groups have the thresholds of `compares`' simulator.
fn book(compares: Compares, shared: Bytes, ports: u32) -> (IngressBook, Vec<GroupId>) {
    let pools = vec![PoolConfig { size: shared, headroom: None }];
    let mut book = IngressBook::new(&Config { cell: Cell::default(), compares, pools });
    let (reserved, xon, xon_offset) = match compares {
        Compares::Ns3Datacenter => (0, 1_247, 2_496),
        _ => (4_096, 0, 3_072),
    };
    let group = GroupConfig {
        pool: 0,
        reserved: Bytes(reserved),
        limit: GroupLimit::Dynamic { exponent: -3 },
        lossless: Some(Lossless { headroom: Bytes(18_750), xon: Bytes(xon), xon_offset: Bytes(xon_offset) }),
    };
    let groups = (0..ports)
        .map(|_| {
            let ingress = book.add_port(&[group]);
            book.group(ingress, 0)
        })
        .collect();
    (book, groups)
}

/// Admits packets of `size` to `group` until it pauses its sender. Returns the number of packets.
fn until_paused(book: &mut IngressBook, group: GroupId, size: u64) -> u64 {
    for packet in 1.. {
        book.admit(group, Bytes(size)).expect("there is room");
        book.audit();
        if book.is_paused(group) {
            assert_eq!(book.next_signal(), Some(Signal::Pause(group)));
            return packet;
        }
    }
    unreachable!("the memory is finite")
}

#[test]
fn a_group_pauses_and_drops_at_the_packets_of_the_formula() {
    let (mut book, groups) = book(Compares::HpccRepo, SHARED, 3);
    let group = groups[0];
    // Four packets of 1,000 bytes fit in the reserved 4,096. The fifth to seventh take 904, 1,904 and 2,904 shared bytes. The eighth would take
    // 3,904, but an eighth of 31,462 − 2,904 is 3,569: it goes to the headroom, which pauses the sender.
    assert_eq!(until_paused(&mut book, group, 1_000), 8);
    assert_eq!((book.occupancy(group), book.headroom(group)), (Bytes(8_000), Bytes(1_000)));
    // 18 packets fit in 18,750 bytes of headroom.
    for _ in 9..=25 {
        book.admit(group, Bytes(1_000)).expect("there is headroom");
    }
    assert_eq!(book.admit(group, Bytes(1_000)), Err(IngressRefusal::HeadroomFull));
    assert_eq!(book.counters(group).dropped, 1);
    book.audit();
}

#[test]
fn the_threshold_is_rounded_down() {
    // Packets of 100 bytes: 40 of them and 96 bytes of the next are reserved. After packet 76, 7,600 − 4,096 = 3,504 bytes are shared. An
    // eighth of the rest is 3,494.75 of 31,462, and 3,504.375 of 31,539, which also pauses: 3,504 >= 3,504.
    for (shared, packets) in [(31_462, 76), (31_539, 76), (31_544, 77)] {
        let (mut book, groups) = book(Compares::HpccRepo, Bytes(shared), 1);
        assert_eq!(until_paused(&mut book, groups[0], 100), packets, "{shared} bytes");
    }
}

#[test]
fn a_group_resumes_below_the_threshold_less_the_offset_or_without_shared_memory() {
    let (mut book, groups) = book(Compares::HpccRepo, SHARED, 1);
    until_paused(&mut book, groups[0], 1_000);
    // Departures free the headroom and then 1,000 shared bytes each. 2,904, 1,904 and 904 shared bytes plus 3,072 exceed an eighth of the
    // rest, 3,569, 3,694 and 3,819. Without shared memory, the group resumes.
    let mut departures = 0;
    while book.is_paused(groups[0]) {
        assert_eq!(book.next_signal(), None);
        book.release(groups[0], Bytes(1_000));
        book.audit();
        departures += 1;
    }
    assert_eq!((departures, book.next_signal()), (4, Some(Signal::Resume(groups[0]))));
    // With 80,000 bytes to share, the group resumes earlier. While it holds 2,904 shared bytes, the threshold is an eighth of the other 77,096
    // bytes: 9,637, which is more than 2,904 + 3,072.
    let (mut book, groups) = self::book(Compares::HpccRepo, Bytes(80_000), 1);
    until_paused(&mut book, groups[0], 1_000);
    let shared = |book: &IngressBook| book.occupancy(groups[0]).0 - book.headroom(groups[0]).0 - 4_096;
    while book.is_paused(groups[0]) {
        book.release(groups[0], Bytes(1_000));
    }
    let left = shared(&book);
    assert!(
        left + 3_072 <= (80_000 - left) >> 3 && left + 1_000 + 3_072 > (80_000 - left - 1_000) >> 3,
        "{left}"
    );
}

#[test]
fn a_threshold_that_falls_because_of_another_group_is_noticed_at_the_next_arrival() {
    // Four groups take packets of 1,000 bytes, up to 2,904 shared bytes each. When the third has them, an eighth of the rest is 2,843, so it
    // pauses. The fourth pauses with 1,904 shared bytes; the threshold is then an eighth of 20,846, 2,605. The first two groups use more than
    // that, but their senders are not paused until their next packet.
    let fill = |compares| {
        let (mut book, groups) = book(compares, SHARED, 4);
        for (&group, packets) in groups.iter().zip([7, 7, 7, 7]) {
            for _ in 0..packets {
                book.admit(group, Bytes(1_000)).expect("there is room");
            }
        }
        book.audit();
        let mut paused = Vec::new();
        while let Some(Signal::Pause(group)) = book.next_signal() {
            paused.push(group);
        }
        (book, groups, paused)
    };
    let (mut book, groups, paused) = fill(Compares::HpccRepo);
    assert_eq!(paused, [groups[2], groups[3]]);
    book.admit(groups[0], Bytes(1_000)).expect("there is headroom");
    assert_eq!(book.next_signal(), Some(Signal::Pause(groups[0])));
    assert!(!book.is_paused(groups[1]));
    // A chip pauses all four.
    let (_, _, mut paused) = fill(Compares::With);
    paused.sort_unstable();
    assert_eq!(paused, groups);
}

#[test]
fn a_threshold_that_rises_because_of_another_group_is_noticed_at_the_next_departure() {
    let (mut book, groups) = book(Compares::HpccRepo, SHARED, 2);
    until_paused(&mut book, groups[0], 1_000);
    until_paused(&mut book, groups[1], 1_000);
    // The second group leaves the memory, which raises the threshold of the first one.
    while book.occupancy(groups[1]) > Bytes(0) {
        book.release(groups[1], Bytes(1_000));
    }
    assert_eq!(book.next_signal(), Some(Signal::Resume(groups[1])));
    assert!(book.is_paused(groups[0]) && book.next_signal().is_none());
}

#[test]
fn in_ns3_datacenter_the_first_packet_in_headroom_pauses() {
    let (mut book, groups) = book(Compares::Ns3Datacenter, Bytes(100_000), 1);
    // Packet n fits if n · 1,000 <= (100,000 − n · 1,000)/8, up to n = 11.
    assert_eq!(until_paused(&mut book, groups[0], 1_000), 12);
    assert_eq!(book.headroom(groups[0]), Bytes(1_000));
    for _ in 13..=29 {
        book.admit(groups[0], Bytes(1_000)).expect("there is headroom");
    }
    assert_eq!(book.admit(groups[0], Bytes(1_000)), Err(IngressRefusal::HeadroomFull));
    // The pool has 9,000 bytes. The first packet leaves 8,000 of them free, and its size is exactly an eighth of these, so it is within the
    // limit. HPCC's switch would pause the sender.
    let (mut book, groups) = self::book(Compares::Ns3Datacenter, Bytes(9_000), 1);
    book.admit(groups[0], Bytes(1_000)).expect("there is room");
    assert!(!book.is_paused(groups[0]) && book.headroom(groups[0]) == Bytes(0));
    book.admit(groups[0], Bytes(1)).expect("there is headroom");
    assert!(book.is_paused(groups[0]));
}

#[test]
fn in_ns3_datacenter_a_group_leaves_headroom_before_it_shares_again() {
    let (mut book, groups) = book(Compares::Ns3Datacenter, Bytes(100_000), 2);
    for _ in 0..5 {
        book.admit(groups[1], Bytes(1_000)).expect("there is room");
    }
    // n · 1,000 <= (95,000 − n · 1,000)/8 up to n = 10.
    assert_eq!(until_paused(&mut book, groups[0], 1_000), 11);
    // Without the second group, an eighth of 89,000 bytes would hold 11,000. The group neither shares nor resumes.
    for _ in 0..5 {
        book.release(groups[1], Bytes(1_000));
    }
    book.admit(groups[0], Bytes(1_000)).expect("there is headroom");
    assert_eq!(book.headroom(groups[0]), Bytes(2_000));
    assert_eq!(book.next_signal(), None);
    // Two departures free the headroom. Then 10,000 and 9,000 bytes plus 2,496 exceed an eighth of the rest, 11,250 and 11,375; 8,000 plus
    // 2,496 do not exceed 11,500.
    let mut departures = 0;
    while book.is_paused(groups[0]) {
        book.release(groups[0], Bytes(1_000));
        book.audit();
        departures += 1;
    }
    assert_eq!((departures, book.next_signal()), (4, Some(Signal::Resume(groups[0]))));
}

#[test]
fn in_ns3_datacenter_a_group_below_xon_resumes() {
    // The pool has 8,000 bytes. Two packets of 400 bytes are within the limit (800 <= 7,200/8), and three exceed it (1,200 > 6,800/8). When
    // the third has left, the group has 800 bytes. They plus the offset, 3,296, exceed 7,200/8, but 800 are fewer than 1,248.
    let (mut book, groups) = book(Compares::Ns3Datacenter, Bytes(8_000), 1);
    assert_eq!(until_paused(&mut book, groups[0], 400), 3);
    book.release(groups[0], Bytes(400));
    assert_eq!(book.next_signal(), Some(Signal::Resume(groups[0])));
    // The pool has 12,000 bytes. One packet of 1,248 bytes is within the limit (1,248 <= 10,752/8), and two exceed it (2,496 > 9,504/8).
    let (mut book, groups) = self::book(Compares::Ns3Datacenter, Bytes(12_000), 1);
    assert_eq!(until_paused(&mut book, groups[0], 1_248), 2);
    book.release(groups[0], Bytes(1_248));
    assert!(book.is_paused(groups[0]), "1,248 bytes are not less than xon");
}
