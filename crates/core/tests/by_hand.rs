//! Hand-worked tests of time, amounts, segments and the event queue.

use shallows_core::event::{Event, EventQueue, World, run};
use shallows_core::mrg32k3a::Mrg32k3a;
use shallows_core::packet::{
    AckSegment, DataSegment, Flags, Header, HostId, MAX_SACK_BLOCKS, PacketKind, SackBlock, mix,
};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Number(u64);

impl Event for Number {
    fn key(self) -> u64 {
        self.0
    }
    fn from_key(key: u64) -> Self {
        Self(key)
    }
}

/// Record of fired events with their times; finished after `enough` events.
#[derive(Default)]
struct Seen {
    fired: Vec<(u64, u64)>,
    enough: Option<usize>,
}

impl World for Seen {
    type Event = Number;

    fn handle(&mut self, event: Number, queue: &mut EventQueue<Number>) {
        self.fired.push((queue.now().0, event.0));
    }

    fn is_finished(&self) -> bool {
        self.enough == Some(self.fired.len())
    }
}

/// Creates a queue with 4,096 buckets of one picosecond, so events further ahead wait in its heap.
fn queue(times: &[u64]) -> EventQueue<Number> {
    let mut queue = EventQueue::new(Duration(4_095));
    for &at in times {
        queue.schedule(Instant(at), Number(at));
    }
    queue
}

#[test]
fn a_queue_tells_when_its_next_event_fires_and_how_many_have() {
    for times in [[7, 9], [100_007, 100_009]] {
        let mut queue = queue(&times);
        assert_eq!((queue.next_at(), queue.handled()), (Some(Instant(times[0])), 0));
        let mut seen = Seen::default();
        // Run one event, then all of them.
        assert!(run(&mut seen, &mut queue, Instant::MAX, 1));
        assert_eq!(
            (queue.next_at(), queue.now(), queue.handled()),
            (Some(Instant(times[1])), Instant(times[0]), 1)
        );
        assert!(!run(&mut seen, &mut queue, Instant::MAX, u64::MAX));
        assert_eq!((queue.next_at(), queue.now(), queue.handled()), (None, Instant(times[1]), 2));
        assert_eq!(seen.fired, times.map(|at| (at, at)));
    }
    assert_eq!(EventQueue::<Number>::new(Duration(1)).next_at(), None);
}

#[test]
fn nothing_fires_before_a_queue_says_so() {
    // With buckets of one picosecond the time is exact, as it is in the heap; with nothing pending it is `Instant::MAX`.
    assert_eq!(queue(&[]).not_before(), Instant::MAX);
    for times in [[7, 9], [100_009, 100_007], [7, 100_009]] {
        assert_eq!(queue(&times).not_before(), Instant(*times.iter().min().expect("two")));
    }
    // With buckets of 4,096 ps, the bucket of 10,000 starts at 8,192. `next_at` opens the bucket, and then the time is exact.
    let mut wide = EventQueue::new(Duration(4_095 * 4_096));
    wide.schedule(Instant(10_000), Number(1));
    assert_eq!(wide.not_before(), Instant(8_192));
    assert_eq!((wide.next_at(), wide.not_before()), (Some(Instant(10_000)), Instant(10_000)));
}

#[test]
fn a_run_fires_what_is_at_its_end_and_stops_when_all_is_done() {
    for times in [[5, 6, 7], [100_005, 100_006, 100_007]] {
        let (mut queue, mut seen) = (queue(&times), Seen::default());
        assert!(!run(&mut seen, &mut queue, Instant(times[1]), u64::MAX));
        assert_eq!(seen.fired.len(), 2);
        let mut seen = Seen { enough: Some(1), ..Seen::default() };
        assert!(!run(&mut seen, &mut queue, Instant::MAX, 1), "it is finished with its budget");
    }
}

#[test]
fn what_lies_a_whole_turn_ahead_comes_after_what_is_near() {
    // At 4,096 the wheel has turned once and reaches the bucket of time 0 again.
    let mut queue = queue(&[4_096]);
    assert_eq!(queue.next_at(), Some(Instant(4_096)));
    queue.schedule(Instant(10), Number(10));
    let mut seen = Seen::default();
    run(&mut seen, &mut queue, Instant::MAX, u64::MAX);
    assert_eq!(seen.fired, [(10, 10), (4_096, 4_096)]);
}

#[test]
fn what_is_pending_is_found_however_far_round_the_wheel_it_is() {
    // Words hold 64 buckets. The event lies before or after the cursor, in the same word or another one.
    for start in [0, 63, 64, 100, 4_032, 4_095] {
        for ahead in [1, 27, 28, 63, 64, 65, 2_000, 4_031, 4_032, 4_094] {
            let (mut queue, mut seen) = (queue(&[start]), Seen::default());
            assert!(run(&mut seen, &mut queue, Instant::MAX, 1));
            for at in [start + ahead, start + 4_094] {
                queue.schedule(Instant(at), Number(at));
            }
            assert_eq!(queue.not_before(), Instant(start + ahead), "{ahead} after {start}");
            run(&mut seen, &mut queue, Instant::MAX, u64::MAX);
            let times: Vec<u64> = seen.fired.iter().map(|fired| fired.0).collect();
            assert_eq!(times, [start, start + ahead, start + 4_094]);
        }
    }
}

#[test]
fn spans_are_in_the_unit_that_is_asked_for() {
    // A second has 10¹² ps, a microsecond 10⁶.
    assert_eq!(Duration::from_secs_f64(0.25), Duration(250_000_000_000));
    assert_eq!(Duration::from_secs_f64(1e-12), Duration(1));
    assert_eq!(
        (Duration(2_500_000_000_000).as_secs_f64(), Instant(2_500_000_000_000).as_secs_f64()),
        (2.5, 2.5)
    );
    assert_eq!(Duration(2_500_000).as_micros_f64(), 2.5);
    assert_eq!([Duration::from_nanos(3), Duration::from_micros(3)], [Duration(3_000), Duration(3_000_000)]);
    assert_eq!(Duration::from_millis(3), Duration(3_000_000_000));
    assert_eq!(Duration::from_secs(3), Duration(3_000_000_000_000));
}

#[test]
fn spans_and_amounts_are_added_and_taken_away() {
    let (five, three) = (Duration(5), Duration(3));
    assert_eq!([five + three, five - three, five * 3, five / 3], [8, 2, 15, 1].map(Duration));
    assert_eq!(
        [five.abs_diff(three), three.abs_diff(five), five.saturating_add(Duration::MAX)],
        [Duration(2), Duration(2), Duration::MAX]
    );
    assert_eq!([five.saturating_double(3), five.saturating_double(64)], [Duration(40), Duration::MAX]);
    assert_eq!([five, three].into_iter().sum::<Duration>(), Duration(8));
    assert_eq!((Instant(5) + three, Instant(5) - Instant(3)), (Instant(8), Duration(2)));
    assert_eq!(
        [3, 9].map(|earlier| Instant(5).saturating_since(Instant(earlier))),
        [Duration(2), Duration::ZERO]
    );
    let mut span = five;
    span += three;
    assert_eq!(span, Duration(8));
    let (seven, two) = (Bytes(7), Bytes(2));
    assert_eq!([seven + two, seven - two, seven * 2], [9, 5, 14].map(Bytes));
    assert_eq!([seven.saturating_sub(two), two.saturating_sub(seven)], [Bytes(5), Bytes(0)]);
    let mut amount = seven;
    amount += two;
    amount -= Bytes(4);
    assert_eq!(amount, Bytes(5));
    // Scaling rounds down.
    assert_eq!([seven.scale(0.5), seven.scale(2.0), seven.scale(0.0)], [3, 14, 0].map(Bytes));
    // Three bits per second are 3/8 of a byte per second.
    assert_eq!(
        (Rate(3).bytes_in(Duration::from_secs(9)), Rate::from_gbps(2)),
        (Bytes(3), Rate(2_000_000_000))
    );
}

#[test]
fn flags_are_bits_of_which_all_that_are_asked_for_must_be_set() {
    let both = Flags::ACK.with(Flags::ECE);
    assert_eq!((both.0, both.with(Flags::ACK)), (0x50, both));
    assert!(both.contains(Flags::ACK) && both.contains(both) && both.contains(Flags::default()));
    assert!(!both.contains(Flags::FIN) && !Flags::ACK.contains(both));
}

/// Returns an acknowledgement of 1,000 with these SACK blocks.
fn sacked(ranges: &[(u64, u64)]) -> AckSegment {
    let mut segment = AckSegment { ack: 1_000, flags: Flags::ACK, ..AckSegment::default() };
    for (place, &(start, end)) in ranges.iter().enumerate().take(MAX_SACK_BLOCKS) {
        segment.sack[place] = SackBlock::new(1_000, start, end).expect("offsets are small");
        segment.sack_count += 1;
    }
    segment
}

#[test]
fn blocks_are_the_ranges_that_they_were_made_of_above_the_acknowledgement_and_below() {
    for ranges in [&[(1_500, 2_000), (4_000, 4_001)][..], &[(0, 1_000)], &[(400, 600), (1_500, 2_000)], &[]] {
        assert!(sacked(ranges).sack_ranges().eq(ranges.iter().copied()), "{ranges:?}");
    }
    assert_eq!(SackBlock::new(1_000, 1_500, 1 << 40), None);
}

#[test]
fn data_that_came_again_is_the_first_block_if_that_is_below_or_within_the_second() {
    for (ranges, duplicate) in [
        // Below the acknowledgement (RFC 2883 §4.1), up to the acknowledgement itself.
        (&[(400, 600)][..], Some((400, 600))),
        (&[(400, 1_000)], Some((400, 1_000))),
        (&[(400, 600), (1_500, 2_000)], Some((400, 600))),
        // §4.2: within the second block, or equal to it.
        (&[(1_500, 1_600), (1_500, 2_000)], Some((1_500, 1_600))),
        (&[(1_900, 2_000), (1_500, 2_000)], Some((1_900, 2_000))),
        (&[(1_500, 2_000), (1_500, 2_000)], Some((1_500, 2_000))),
        // Not duplicates: above the acknowledgement and not within the second block.
        (&[(1_500, 2_000)], None),
        (&[(1_500, 2_000), (2_500, 3_000)], None),
        (&[(1_500, 2_001), (1_500, 2_000)], None),
        (&[(1_499, 2_000), (1_500, 2_000)], None),
        (&[], None),
    ] {
        assert_eq!(sacked(ranges).duplicate(), duplicate, "{ranges:?}");
    }
    // An empty block reports nothing.
    let nothing = AckSegment { sack_count: 1, ack: 1_000, ..AckSegment::default() };
    assert_eq!(nothing.duplicate(), None);
}

#[test]
fn a_segment_ends_with_its_last_byte() {
    let data = DataSegment { seq: 3_000, len: 100, ..DataSegment::default() };
    assert_eq!((data.end(), data.carried_ack), (3_100, None));
}

#[test]
fn data_carries_what_is_news_of_the_other_direction_and_nothing_else() {
    let said = Flags::ACK.with(Flags::ECE).with(Flags::INCAST_ECHO);
    let (tsval, tsecr) = (Instant(99), Instant(66));
    let ack = AckSegment { ack: 1_000, tsval, tsecr, flags: said, ..AckSegment::default() };
    let data = DataSegment {
        seq: 3_000,
        len: 100,
        tsval: Instant(5),
        tsecr: Instant(3),
        flags: Flags::PSH,
        ..DataSegment::default()
    };
    let carrying = data.carrying(&ack);
    assert!(carrying.carried_ack.is_some() && carrying.flags.contains(Flags::PSH.with(said)));
    // For a sender that has 999 bytes acknowledged: the number, the echoed TSval, the send time, and no flag of the data.
    let carried = carrying.carried(999, 4_321).expect("one byte is news");
    assert_eq!((carried.ack, carried.window, carried.flags), (1_000, 4_321, said));
    assert_eq!((carried.tsecr, carried.tsval), (Instant(66), Instant(5)));
    assert_eq!(carrying.carried(0, 1).map(|ack| ack.ack), Some(1_000));
    // An acknowledgement that is equal to or below the highest one so far is not returned.
    assert_eq!([1_000, 1_001].map(|has| carrying.carried(has, 1)), [None, None]);
    assert_eq!(data.carried(0, 1), None, "it carries none");
    // Modulo 2³²: 5 after two turns is 2 · 2³² + 5.
    let round = 1 << 32;
    let late = data.carrying(&AckSegment { ack: 2 * round + 5, ..ack });
    assert_eq!(late.carried(2 * round - 7, 1).map(|ack| ack.ack), Some(2 * round + 5));
    let at_a_multiple = data.carrying(&AckSegment { ack: round, ..ack });
    assert_eq!((at_a_multiple.carried_ack, at_a_multiple.carried(round - 1, 1)), (None, None));
}

#[test]
fn below_a_bound_that_is_three_quarters_of_all_numbers_is_as_even() {
    // `below` keeps three of every four numbers; if it kept the fourth too, each third result would be twice as frequent.
    let mut stream = Stream::new(1, "test", 0);
    let mut counts = [0_u32; 3];
    for _ in 0..30_000 {
        counts[(stream.below(3 << 62) % 3) as usize] += 1;
    }
    // Binomial: mean 10,000, standard deviation 82; the bound is five standard deviations.
    assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 410), "{counts:?}");
}

#[test]
fn ns_2_s_exponential_times_are_logarithms_of_its_uniform_numbers() {
    // The first number of the stream 12345 is 0.127011122, and its −ln is 2.063480…
    let drawn = Mrg32k3a::new(12_345).exponential();
    assert!((drawn - 2.063_480_6).abs() < 1e-6, "{drawn}");
}

#[test]
fn exponential_times_are_as_uneven_as_they_should_be() {
    // The mean of squares is 2, of fourth powers 24: the mean of 100,000 squares has a standard deviation of √20/316 = 0.0141.
    let mut stream = Stream::new(1, "test", 0);
    let mut square = || {
        let time = stream.exponential();
        time * time
    };
    let squares = (0..100_000).map(|_| square()).sum::<f64>() / 1e5;
    assert!((squares - 2.0).abs() < 0.06, "{squares}");
}

#[test]
fn a_hash_of_five_numbers_differs_by_one_bit_of_each() {
    // On average, half of the 64 bits change; fewer than 10 change once in 10⁸.
    let base = Header::new(HostId(1), HostId(2)).with_ports(3, 4);
    let hash = |header: Header| header.five_tuple_hash(5);
    for other in [
        Header::new(HostId(3), HostId(2)).with_ports(3, 4),
        Header::new(HostId(1), HostId(3)).with_ports(3, 4),
        base.with_ports(2, 4),
        base.with_ports(3, 5),
        base.with_kind(PacketKind::Datagram),
    ] {
        assert!((hash(base) ^ hash(other)).count_ones() >= 10);
    }
    // The first output of SplitMix64 from state 0 is 0xe220a8397b1dcdaf, and `mix` is one step of it.
    assert_eq!(mix(0), 0xe220_a839_7b1d_cdaf);
    // The hash of an all-zero header is therefore mix(mix(seed)).
    let nothing = Header::new(HostId(0), HostId(0));
    assert_eq!(nothing.with_ports(0, 0).five_tuple_hash(0), mix(mix(0)));
    // Addresses and seed, as well as ports and protocol, are combined by XOR: 1 and 1 give 0.
    assert_eq!(Header::new(HostId(0), HostId(1)).with_ports(0, 0).five_tuple_hash(1), mix(mix(0)));
    // Datagrams are protocol number 1, at bit 32, and this bit is already set in mix(0).
    let datagram = nothing.with_ports(0, 0).with_kind(PacketKind::Datagram);
    assert_eq!(datagram.five_tuple_hash(0), mix(mix(0) ^ 1 << 32));
}

#[test]
fn moments_and_sizes_are_written_in_the_largest_unit_that_needs_three_decimals_at_most() {
    assert_eq!([Instant(1_500_000_000), Instant(80_000_000)].map(|at| at.to_string()), ["1.5ms", "80us"]);
    for (bytes, text) in [
        (1_500, "1.5KB"),
        (1 << 20, "1MiB"),
        (3 << 10, "3KiB"),
        // 1,000 times 1,024: decimal units are preferred if both kinds are whole.
        (1_024_000, "1.024MB"),
        (0, "0B"),
        (1_023, "1.023KB"),
    ] {
        assert_eq!(Bytes(bytes).to_string(), text);
        assert_eq!(text.parse(), Ok(Bytes(bytes)));
    }
}
