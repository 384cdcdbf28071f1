//! Properties for arbitrary arrivals: work conservation, order of packets, and the distance of each scheduler from GPS.

use super::gps::finish_times;
use super::*;

/// Floating-point error of the GPS reference, in picoseconds.
const ROUNDING: f64 = 1.0;

/// Service of a queue in one turn.
#[derive(Clone, Copy, Debug)]
struct Turn {
    queue: usize,
    bytes: u64,
    packets: u64,
    /// Whether the queue still held packets at the end of the turn.
    backlogged: bool,
}

/// Groups the packets of a run into turns. Panics if the last turn never ends.
fn turns(sent: &[Sent], arrivals: &[Arrival], config: &Config) -> Vec<Turn> {
    let mut waiting = vec![0u64; config.shares().len()];
    let mut last_start = Instant::ZERO;
    let mut pending = arrivals.iter().peekable();
    let mut open: Option<Turn> = None;
    let mut turns = vec![];
    for packet in sent {
        let start = Instant(packet.finish.0 - RATE.transmission_time(Bytes(packet.size)).0);
        assert!(start >= last_start);
        last_start = start;
        while let Some(arrival) = pending.next_if(|arrival| arrival.at <= start) {
            waiting[arrival.queue] += 1;
        }
        waiting[packet.queue] -= 1;
        let turn = open.get_or_insert(Turn { queue: packet.queue, bytes: 0, packets: 0, backlogged: true });
        assert_eq!(turn.queue, packet.queue, "a turn ends before another begins");
        turn.bytes += packet.size;
        turn.packets += 1;
        turn.backlogged = waiting[packet.queue] > 0;
        assert!(packet.ends_turn || turn.backlogged, "a queue that empties ends its turn");
        if packet.ends_turn {
            turns.extend(open.take());
        }
    }
    assert!(open.is_none(), "in the end all queues are empty, and all turns over");
    turns
}

/// Returns the bytes sent and the number of turns for each sequence of consecutive turns of `queue` in which the queue stayed backlogged.
/// Parts of longer sequences are included.
fn backlogged_rounds(turns: &[Turn], queue: usize) -> Vec<(u64, u64)> {
    let own: Vec<&Turn> = turns.iter().filter(|turn| turn.queue == queue).collect();
    let mut rounds = vec![];
    for first in 0..own.len() {
        let mut bytes = 0;
        for (turn, number) in own[first..].iter().take_while(|turn| turn.backlogged).zip(1..) {
            bytes += turn.bytes;
            rounds.push((bytes, number));
        }
    }
    rounds
}

/// Generates quanta that are at least as large as the largest packet, and arrivals for their queues.
fn round_robins() -> impl Strategy<Value = (Vec<u64>, Vec<Arrival>)> {
    prop::collection::vec(MTU..3 * MTU, 1..6)
        .prop_flat_map(|quanta| (Just(quanta.clone()), arrivals(quanta.len())))
}

/// Generates the quantum and the packet sizes of each queue. A quantum may be smaller than a packet.
fn saturated() -> impl Strategy<Value = Vec<(u64, Vec<u64>)>> {
    prop::collection::vec((1..3 * MTU, prop::collection::vec(64..=MTU, 20..60)), 1..6)
}

/// Serves the queues until one of them holds at most one packet. Returns the packets sent.
fn serve_while_all_wait(config: &Config, queues: &[(u64, Vec<u64>)]) -> Vec<Sent> {
    let mut link = Link::new(config);
    for (queue, (_, sizes)) in queues.iter().enumerate() {
        sizes.iter().for_each(|&size| link.arrive(queue, size));
    }
    let mut sent = vec![];
    while link.queues.iter().all(|queue| queue.packets > 1) {
        sent.extend(link.serve());
    }
    sent
}

proptest! {
    /// Checks the properties that [`run`] checks, and that the link sends its last bit when GPS does.
    #[test]
    fn every_scheduler_conserves_work_and_order((above, below, arrivals) in nested()) {
        let config = strict_above(above, below);
        let sent = run(&config, &arrivals, |_, _| ());
        let weights = vec![1; config.shares().len()];
        let gps = finish_times(RATE, &weights, &arrivals).into_iter().fold(0.0, f64::max);
        let end = sent.last().expect("some arrived").finish.0 as f64;
        prop_assert!((end - gps).abs() < ROUNDING, "ends at {} and not at {}", end, gps);
    }

    /// A packet that passes through an idle link leaves the state that it leaves if it joins its queue and is sent at once.
    #[test]
    fn packets_may_pass_through_an_idle_link((above, below, arrivals) in nested()) {
        let config = strict_above(above, below);
        let [mut passes, mut joins] = [Link::new(&config), Link::new(&config)];
        let mut pending = arrivals.iter().peekable();
        loop {
            while let Some(&Arrival { at, queue, size }) = pending.next_if(|arrival| arrival.at < joins.now) {
                passes.arrive_at(at, queue, size.0);
                joins.arrive_at(at, queue, size.0);
            }
            if joins.queues.iter().any(|queue| queue.packets > 0) {
                prop_assert_eq!(passes.serve(), joins.serve());
                continue;
            }
            let Some(&Arrival { at, queue, size }) = pending.next() else { break };
            joins.now = at;
            joins.arrive(queue, size.0);
            let sent = joins.serve().expect("a packet waits");
            prop_assert_eq!(passes.scheduler.pass(at, queue, size), Some(sent.ends_turn));
            (passes.now, passes.arrived) = (sent.finish, joins.arrived);
        }
    }

    #[test]
    fn strict_priority_never_serves_a_lower_queue_while_a_higher_one_waits((above, below, arrivals) in nested()) {
        let config = strict_above(above, below);
        let sent = run(&config, &arrivals, |queues, chosen| {
            let higher = &queues[..chosen.min(above)];
            assert!(higher.iter().all(|queue| queue.packets == 0), "{chosen} before a higher one");
        });
        for packet in sent.iter().filter(|packet| packet.queue < above) {
            prop_assert!(!packet.ends_turn, "strict priority has no turns");
        }
        let all = Config::StrictPriority { queues: config.shares().len() };
        run(&all, &arrivals, |queues, chosen| {
            assert_eq!(queues.iter().position(|queue| queue.packets > 0), Some(chosen));
        });
    }

    /// A scheduler below idle strict-priority queues behaves as it does alone. Two nested levels of strict priority behave like one level
    /// with the same number of queues.
    #[test]
    fn a_scheduler_below_strict_priority_is_the_same_scheduler((above, below, arrivals) in nested()) {
        let lower: Vec<Arrival> = arrivals.iter().copied().filter(|arrival| arrival.queue >= above).collect();
        let alone: Vec<Arrival> =
            lower.iter().map(|arrival| Arrival { queue: arrival.queue - above, ..*arrival }).collect();
        if !alone.is_empty() {
            let mut sent = run(&below, &alone, |_, _| ());
            sent.iter_mut().for_each(|packet| packet.queue += above);
            prop_assert_eq!(sent, run(&strict_above(above, below.clone()), &lower, |_, _| ()));
        }
        let one = strict_above(above + 1, below.clone());
        let two = strict_above(1, strict_above(above, below));
        let shifted: Vec<Arrival> =
            arrivals.iter().map(|arrival| Arrival { queue: arrival.queue + 1, ..*arrival }).collect();
        prop_assert_eq!(run(&one, &shifted, |_, _| ()), run(&two, &shifted, |_, _| ()));
    }

    /// MQ-ECN Eq. 7: over any M backlogged rounds a queue sends M quanta, plus or minus less than one packet.
    #[test]
    fn dwrr_sends_its_quanta_within_one_packet((quanta, arrivals) in round_robins()) {
        let config = dwrr(&quanta);
        let turns = turns(&run(&config, &arrivals, |_, _| ()), &arrivals, &config);
        for (queue, &quantum) in quanta.iter().enumerate() {
            for (bytes, rounds) in backlogged_rounds(&turns, queue) {
                prop_assert!(bytes.abs_diff(rounds * quantum) < MTU, "{bytes} B in {rounds} of {quantum}");
            }
        }
    }

    /// MQ-ECN §3.3.2: in each round a queue sends at most its quantum; the unused part is smaller than one packet.
    #[test]
    fn wrr_sends_at_most_its_quanta_and_wastes_less_than_a_packet_of_each((quanta, arrivals) in round_robins()) {
        for order in [Order::Cyclic, Order::Activation] {
            let config = wrr(&quanta, order);
            let turns = turns(&run(&config, &arrivals, |_, _| ()), &arrivals, &config);
            for (queue, &quantum) in quanta.iter().enumerate() {
                for (bytes, rounds) in backlogged_rounds(&turns, queue) {
                    prop_assert!(bytes <= rounds * quantum, "{bytes} B in {rounds} of {quantum}");
                    prop_assert!(bytes > rounds * (quantum - MTU), "{bytes} B in {rounds} of {quantum}");
                }
            }
        }
    }

    /// Shreedhar and Varghese, Theorem 4.4, without their scaling: while queues i and j with quanta Q hold packets, the bytes S that they
    /// send satisfy |Sᵢ/Qᵢ − Sⱼ/Qⱼ| ≤ 1 + Max/Qᵢ + Max/Qⱼ, even if quanta are smaller than a packet. Summed over j, with ΣS = W, this
    /// bounds the distance from the share under GPS: |Sᵢ·ΣQ − W·Qᵢ| ≤ Σ over j ≠ i of QᵢQⱼ + Max·(Qᵢ + Qⱼ).
    #[test]
    fn dwrr_is_as_far_from_gps_as_its_authors_say(queues in saturated()) {
        let quanta: Vec<u64> = queues.iter().map(|queue| queue.0).collect();
        let sent = serve_while_all_wait(&dwrr(&quanta), &queues);
        let sum: u64 = quanta.iter().sum();
        for first in 0..sent.len() {
            let mut bytes = vec![0u64; quanta.len()];
            let mut work = 0;
            for packet in &sent[first..] {
                bytes[packet.queue] += packet.size;
                work += packet.size;
                for (i, &own) in quanta.iter().enumerate() {
                    let mut far = 0;
                    for (j, &other) in quanta.iter().enumerate().filter(|&(j, _)| j != i) {
                        let bound = own * other + MTU * (own + other);
                        prop_assert!((bytes[i] * other).abs_diff(bytes[j] * own) <= bound, "{bytes:?} of {quanta:?}");
                        far += bound;
                    }
                    prop_assert!((bytes[i] * sum).abs_diff(work * own) <= far, "{bytes:?} of {quanta:?}");
                }
            }
        }
    }

    /// For any quanta, busy queues take turns in rotation, one turn each per round. A turn falls short of its quantum by less than one
    /// packet, so WRR's distance from the shares of GPS grows with the number of rounds.
    #[test]
    fn wrr_gives_each_busy_queue_one_turn_in_a_round(queues in saturated()) {
        let quanta: Vec<u64> = queues.iter().map(|queue| queue.0).collect();
        for order in [Order::Cyclic, Order::Activation] {
            let mut sent = serve_while_all_wait(&wrr(&quanta, order), &queues).into_iter().peekable();
            for turn in 0.. {
                let (queue, mut bytes, mut packets, mut ends) = (turn % quanta.len(), 0, 0, false);
                while let Some(packet) = sent.next_if(|packet| !ends && packet.queue == queue) {
                    bytes += packet.size;
                    packets += 1;
                    ends = packet.ends_turn;
                }
                if sent.peek().is_none() {
                    break;
                }
                prop_assert!(ends, "turn {turn} is that of queue {queue}, and it is said to end");
                prop_assert!(bytes <= quanta[queue] || packets == 1, "{bytes} B of {}", quanta[queue]);
                prop_assert!(bytes + MTU > quanta[queue], "{bytes} B of {}", quanta[queue]);
            }
        }
    }

    /// With quanta of at least the largest packet, a selection visits at most two queues: the one whose turn is over and the next one.
    /// With any quanta, a selection visits each queue at most twice.
    #[test]
    fn dwrr_takes_few_steps_for_a_packet(queues in saturated()) {
        let quanta: Vec<u64> = queues.iter().map(|queue| queue.0).collect();
        let large: Vec<u64> = quanta.iter().map(|quantum| quantum + MTU).collect();
        for (quanta, most) in [(large, 2), (quanta.clone(), 2 * quanta.len() as u64)] {
            let mut link = Link::new(&dwrr(&quanta));
            for (queue, (_, sizes)) in queues.iter().enumerate() {
                sizes.iter().for_each(|&size| link.arrive(queue, size));
            }
            loop {
                let before = link.visits();
                if link.serve().is_none() {
                    break;
                }
                prop_assert!(link.visits() - before <= most, "{} visits", link.visits() - before);
            }
        }
    }

    /// Parekh and Gallager, Theorem 1: a packet finishes later than under GPS by at most the transmission time of the largest packet.
    #[test]
    fn wfq_is_at_most_one_packet_behind_gps((weights, arrivals) in weights_and_arrivals()) {
        let largest = arrivals.iter().map(|arrival| arrival.size).max().expect("some arrive");
        let slack = RATE.transmission_time(largest).0 as f64 + ROUNDING;
        let gps = finish_times(RATE, &weights, &arrivals);
        for sent in run(&wfq(&weights, VirtualTime::Gps), &arrivals, |_, _| ()) {
            let (finish, ideal) = (sent.finish.0 as f64, gps[sent.packet]);
            prop_assert!(finish <= ideal + slack, "{finish} is late for {ideal} + {slack}");
            prop_assert!(!sent.ends_turn, "it has no turns");
        }
    }

    /// WFQ sends the waiting packet that GPS would finish first if no further packet arrived.
    #[test]
    fn wfq_sends_what_gps_would_finish_first((weights, arrivals) in weights_and_arrivals()) {
        let sent = run(&wfq(&weights, VirtualTime::Gps), &arrivals, |_, _| ());
        for (place, chosen) in sent.iter().enumerate() {
            let start = Instant(chosen.finish.0 - RATE.transmission_time(Bytes(chosen.size)).0);
            let known: Vec<Arrival> = arrivals.iter().copied().take_while(|arrival| arrival.at <= start).collect();
            let gps = finish_times(RATE, &weights, &known);
            for later in sent[place..].iter().filter(|later| later.packet < known.len()) {
                let (first, other) = (gps[chosen.packet], gps[later.packet]);
                prop_assert!(first <= other + ROUNDING, "{first} goes before {other}");
            }
        }
    }

    /// Golestani, Theorem 1: while two queues of weights w hold packets, the bytes S that they send satisfy
    /// |Sᵢ/wᵢ − Sⱼ/wⱼ| ≤ Max/wᵢ + Max/wⱼ.
    #[test]
    fn scfq_shares_within_one_packet_of_each_queue(queues in saturated()) {
        let weights: Vec<u32> = queues.iter().map(|queue| queue.0 as u32).collect();
        let sent = serve_while_all_wait(&wfq(&weights, VirtualTime::SelfClocked), &queues);
        for first in 0..sent.len() {
            let mut bytes = vec![0u64; weights.len()];
            for packet in &sent[first..] {
                bytes[packet.queue] += packet.size;
                for (i, own) in weights.iter().map(|&weight| u64::from(weight)).enumerate() {
                    for (j, other) in weights.iter().map(|&weight| u64::from(weight)).enumerate() {
                        let apart = (bytes[i] * other).abs_diff(bytes[j] * own);
                        prop_assert!(i == j || apart <= MTU * (own + other), "{bytes:?} of {weights:?}");
                    }
                }
            }
        }
    }

    /// Goyal, Lam and Vin (NOSSDAV '95): a packet finishes later than at its guaranteed rate by at most the time to send one packet of each
    /// other queue (SCFQ), or one packet of the largest size (WFQ).
    #[test]
    fn scfq_is_at_most_one_packet_of_each_other_queue_late((weights, arrivals) in weights_and_arrivals()) {
        let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
        let time = |bytes: u64| RATE.transmission_time(Bytes(bytes)).0;
        let mut guaranteed = vec![0u64; arrivals.len()];
        let mut clocks = vec![0u64; weights.len()];
        let mut largest = vec![0u64; weights.len()];
        for (packet, arrival) in arrivals.iter().enumerate() {
            let clock = &mut clocks[arrival.queue];
            let own = time(arrival.size.0) * sum / u64::from(weights[arrival.queue]);
            *clock = (*clock).max(arrival.at.0) + own;
            guaranteed[packet] = *clock;
            largest[arrival.queue] = largest[arrival.queue].max(arrival.size.0);
        }
        let of_all: u64 = largest.iter().sum();
        let rounding = arrivals.len() as u64;
        for sent in run(&wfq(&weights, VirtualTime::SelfClocked), &arrivals, |_, _| ()) {
            let late = guaranteed[sent.packet] + time(of_all - largest[sent.queue]) + rounding;
            prop_assert!(sent.finish.0 <= late, "{:?} is late for {late}", sent);
            prop_assert!(!sent.ends_turn, "it has no turns");
        }
        let most = largest.iter().copied().max().expect("some arrive");
        for sent in run(&wfq(&weights, VirtualTime::Gps), &arrivals, |_, _| ()) {
            let late = guaranteed[sent.packet] + time(most) + rounding;
            prop_assert!(sent.finish.0 <= late, "{:?} is late for {late}", sent);
        }
    }
}

fn weights_and_arrivals() -> impl Strategy<Value = (Vec<u32>, Vec<Arrival>)> {
    weights().prop_flat_map(|weights| (Just(weights.clone()), arrivals(weights.len())))
}
