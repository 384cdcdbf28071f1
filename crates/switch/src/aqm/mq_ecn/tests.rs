//! Tests of MQ-ECN against traces worked by hand from Eq. 5 and 6.

use super::super::testing::Seen;
use super::*;
use crate::discipline::QueueState;

/// 10 Gbit/s, as in MQ-ECN §5.2: 1,500 B take 1.2 µs.
const RATE: Rate = Rate::from_gbps(10);
const MTU_TIME: Duration = Duration(1_200_000);
/// 65 packets of 1,500 B (§5.2).
const K: u64 = 97_500;

/// A port with its marker. The port serves its busy queues in rounds; each queue has one turn per round.
struct Driver {
    seen: Seen,
    marker: MqEcn,
    now: Instant,
}

impl Driver {
    fn new(config: &Config, shares: &[Share]) -> Self {
        let mut seen = Seen::queue(0);
        seen.rate = RATE;
        seen.queues = vec![QueueState::default(); shares.len()];
        Self {
            seen,
            marker: MqEcn::new(&Arc::new(config.clone()), shares, Stream::new(1, "mq-ecn", 0)),
            now: Instant(5_000_000_000),
        }
    }

    fn rounds(quanta: &[u64]) -> Self {
        let shares: Vec<_> = quanta.iter().map(|&quantum| Share::Round { quantum: Bytes(quantum) }).collect();
        Self::new(&Config::paper(Bytes(K)), &shares)
    }

    fn arrive(&mut self, queue: usize, size: u16) -> Verdict {
        self.seen.queue = queue;
        let header = Header::default().with_size(size);
        let verdict = self.marker.on_enqueue(self.now, &header, &self.seen.view());
        self.seen.queues[queue].backlog += header.size();
        self.seen.queues[queue].packets += 1;
        self.seen.port_backlog += header.size();
        verdict
    }

    /// Sends one packet of `queue`. If `ends`, the queue's turn ends with this packet.
    fn send(&mut self, queue: usize, size: u16, ends: bool) -> Verdict {
        self.now = self.now.max(self.seen.busy_until);
        self.seen.queue = queue;
        let header = Header::default().with_size(size);
        self.seen.queues[queue].backlog -= header.size();
        self.seen.queues[queue].packets -= 1;
        self.seen.port_backlog -= header.size();
        let verdict = self.marker.on_dequeue(self.now, &header, &self.seen.view());
        self.seen.busy_until = self.now + RATE.transmission_time(header.size());
        if ends {
            self.marker.on_turn(self.now, &self.seen.view());
        }
        self.now = self.seen.busy_until;
        verdict
    }

    /// Runs one round: each queue in `busy` sends `packets[queue]` packets. A packet arrives at the queue before each of them leaves.
    fn round(&mut self, busy: &[usize], packets: &[usize]) {
        for &queue in busy {
            for packet in 1..=packets[queue] {
                self.arrive(queue, 1_500);
                self.send(queue, 1_500, packet == packets[queue]);
            }
        }
    }

    fn fill(&mut self, busy: &[usize]) {
        for &queue in busy {
            self.arrive(queue, 1_500);
        }
    }

    fn threshold(&self, queue: usize) -> f64 {
        let mut value = None;
        self.marker.observe(&self.seen.view(), &mut |reading| {
            if reading.quantity == "threshold_bytes" && reading.queue == Some(queue) {
                value = Some(reading.value);
            }
        });
        value.unwrap()
    }

    fn told(&self, quantity: &str) -> Option<f64> {
        let mut value = None;
        self.marker.observe(&self.seen.view(), &mut |reading| {
            if reading.quantity == quantity {
                value = Some(reading.value);
            }
        });
        value
    }
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-6 * expected.abs().max(1.0), "{value}, expected {expected}");
}

#[test]
fn the_threshold_follows_the_hand_worked_trace_for_one_to_eight_busy_queues() {
    // Equal quanta of one packet. All queues become active together at t0. In the first round the turn of queue i ends i + 1 slots after
    // t0; each further turn of queue i ends `busy` slots after its previous one. The samples are 1, 2 … busy, busy … T_round ← 3/4 ·
    // T_round + 1/4 · sample; K = K_std · min(slot/T_round, 1).
    for busy in 1..=8usize {
        let mut driver = Driver::rounds(&[1_500; 8]);
        let queues: Vec<_> = (0..busy).collect();
        driver.fill(&queues);
        let mut slots = 0.0;
        for round in 0..60 {
            for &queue in &queues {
                driver.arrive(queue, 1_500);
                driver.send(queue, 1_500, true);
                let sample = if round == 0 { queue + 1 } else { busy };
                slots = 0.75 * slots + 0.25 * sample as f64;
                close(driver.told("round_time_us").unwrap(), slots * 1.2);
                for queue in 0..8 {
                    close(driver.threshold(queue), K as f64 * (1.0 / slots).min(1.0));
                }
            }
        }
        // With all queues busy, K is K_std · quantum/Σquanta over the busy queues; with one busy queue, it is K_std.
        close(driver.threshold(0), K as f64 / busy as f64);
    }
}

#[test]
fn busy_queues_of_unequal_quanta_share_the_standard_threshold() {
    // Quanta of 1, 2 and 5 packets: rounds of 8 slots. The thresholds are 1/8, 2/8 and 5/8 of K_std and add up to K_std.
    let mut driver = Driver::rounds(&[1_500, 3_000, 7_500]);
    driver.fill(&[0, 1, 2]);
    for _ in 0..60 {
        driver.round(&[0, 1, 2], &[1, 2, 5]);
    }
    for (queue, share) in [(0, 1.0), (1, 2.0), (2, 5.0)] {
        close(driver.threshold(queue), K as f64 * share / 8.0);
    }
}

#[test]
fn it_heals_from_a_wrong_round_time() {
    // After n samples, β^n of the initial error remains, whether the initial value is too high or too low.
    for wrong in [0.0, 1e9] {
        let mut driver = Driver::rounds(&[1_500; 4]);
        driver.fill(&[0, 1]);
        driver.round(&[0, 1], &[1; 4]);
        driver.marker.round_time = wrong;
        let right = 2.0 * MTU_TIME.0 as f64;
        for n in 1..=40 {
            driver.round(&[(n + 1) % 2], &[1; 4]);
            close(driver.marker.round_time, right + (wrong - right) * libm::pow(0.75, n as f64));
        }
        assert!((driver.threshold(0) - K as f64 / 2.0).abs() < K as f64 * 0.01);
    }
}

#[test]
fn a_round_below_a_nanosecond_counts_as_none() {
    let mut driver = Driver::rounds(&[1]);
    // A quantum of one byte takes 800 ps. At a round time of 999 ps the threshold is the whole K_std, at 1,000 ps 0.8 of it.
    driver.marker.round_time = 999.0;
    close(driver.threshold(0), K as f64);
    driver.marker.round_time = 1_000.0;
    close(driver.threshold(0), 0.8 * K as f64);
    // With a round shorter than the quantum, the threshold is K_std, because the rate is at most C.
    let mut driver = Driver::rounds(&[1_500]);
    driver.marker.round_time = 600_000.0;
    close(driver.threshold(0), K as f64);
}

#[test]
fn an_idle_port_forgets_by_whole_slots() {
    // T_idle is 1.2 µs: after 1, 2 or 2.99 idle slots, 0.75, 0.75² or 0.75² of the round time remains; within a slot nothing decays.
    for (idle, slots) in [(1_199_999, 0), (1_200_000, 1), (2_400_000, 2), (3_588_000, 2), (12_000_000, 10)] {
        for (idle_time, scale) in [(None, 1), (Some(Duration(2_400_000)), 2)] {
            let config = Config { idle_time, ..Config::paper(Bytes(K)) };
            let mut driver = Driver::new(&config, &[Share::Round { quantum: Bytes(1_500) }]);
            driver.arrive(0, 1_500);
            driver.send(0, 1_500, true);
            driver.marker.round_time = 8e6;
            driver.now = driver.seen.busy_until + Duration(idle * scale);
            driver.arrive(0, 1_500);
            close(driver.marker.round_time, 8e6 * libm::pow(0.75, f64::from(slots)));
        }
    }
}

#[test]
fn a_slot_follows_the_rate_of_the_link() {
    let mut driver = Driver::rounds(&[1_500]);
    driver.seen.busy_until = driver.now;
    // At 1 Gbit/s, 1,500 B take 12 µs. The rate changes after the marker has seen idle time at 10 Gbit/s.
    for (rate, slot) in [(10, 1_200_000), (1, 12_000_000), (10, 1_200_000)] {
        driver.seen.rate = Rate::from_gbps(rate);
        driver.marker.round_time = 8e6;
        driver.now = driver.seen.busy_until + Duration(3 * slot);
        driver.arrive(0, 1_500);
        close(driver.marker.round_time, 8e6 * libm::pow(0.75, 3.0));
        driver.send(0, 1_500, false);
    }
}

#[test]
fn a_threshold_that_no_backlog_reaches_marks_nothing() {
    let shares = [Share::Round { quantum: Bytes(1_500) }];
    let mut driver = Driver::new(&Config::paper(Bytes(u64::MAX)), &shares);
    for _ in 0..1_000 {
        assert_eq!(driver.arrive(0, 1_500), Verdict::PASS);
    }
}

#[test]
fn idle_time_is_counted_once_and_only_while_the_port_is_empty() {
    let mut driver = Driver::rounds(&[1_500; 2]);
    driver.fill(&[0, 1]);
    driver.send(0, 1_500, true);
    driver.marker.round_time = 8e6;
    // Queue 1 still holds a packet, so an arrival much later finds a port that is not empty.
    driver.now = driver.seen.busy_until + MTU_TIME * 10;
    driver.arrive(0, 1_500);
    assert_eq!(driver.marker.round_time, 8e6);
    driver.send(0, 1_500, false);
    driver.send(1, 1_500, false);
    let empty = driver.seen.clone();
    driver.now = driver.seen.busy_until + MTU_TIME * 2;
    // The buffer drops the first packet; the second arrives half a slot later. No idle time is counted twice.
    for later in [0, 600_000] {
        driver.now = driver.now + Duration(later);
        driver.arrive(0, 1_500);
        driver.seen = empty.clone();
        close(driver.marker.round_time, 8e6 * 0.5625);
    }
}

#[test]
fn parts_of_a_slot_add_up_over_packets_that_someone_else_drops() {
    // Packets arrive half a slot, one slot and a slot and a half after the link is free. Only the second arrival counts an idle slot.
    let mut driver = Driver::rounds(&[1_500]);
    driver.arrive(0, 1_500);
    driver.send(0, 1_500, true);
    driver.marker.round_time = 8e6;
    let empty = driver.seen.clone();
    for (idle, slots) in [(600_000, 0), (1_200_000, 1), (1_800_000, 1)] {
        driver.seen = empty.clone();
        driver.now = driver.seen.busy_until + Duration(idle);
        driver.arrive(0, 1_500);
        close(driver.marker.round_time, 8e6 * libm::pow(0.75, f64::from(slots)));
    }
}

#[test]
fn the_link_must_be_free_for_the_port_to_idle_unless_as_released() {
    // A packet of 9,000 B is on the wire for six slots. An arrival after the fifth slot finds the port empty but the link busy. In the
    // paper the port is not idle then; the released simulator counts idle time from the start of that transmission.
    for (idle_since, slots) in [(IdleSince::LinkFree, 0), (IdleSince::AsReleased, 5)] {
        let config = Config { idle_since, ..Config::paper(Bytes(K)) };
        let mut driver = Driver::new(&config, &[Share::Round { quantum: Bytes(9_000) }; 2]);
        driver.fill(&[1]);
        driver.arrive(0, 9_000);
        driver.send(1, 1_500, true);
        let start = driver.now;
        driver.send(0, 9_000, true);
        driver.marker.round_time = 8e6;
        driver.now = start + MTU_TIME * 5;
        driver.arrive(0, 1_500);
        close(driver.marker.round_time, 8e6 * libm::pow(0.75, f64::from(slots)));
    }
}

#[test]
fn a_newly_active_queue_begins_when_it_arrives_but_not_before_its_last_turn_ended() {
    let mut driver = Driver::rounds(&[1_500; 2]);
    driver.arrive(0, 1_500);
    let began = driver.now;
    driver.send(0, 1_500, true);
    assert_eq!(driver.marker.queues[0].start, began + MTU_TIME, "its turn ends with its last bit");
    // A packet arrives at the empty queue while the queue's last packet is still on the wire.
    driver.now = began + Duration(500_000);
    driver.arrive(0, 1_500);
    assert_eq!(driver.marker.queues[0].start, began + MTU_TIME);
    // A second arrival at a busy queue does not change `start`; an arrival at an empty queue does.
    driver.now = began + MTU_TIME * 3;
    driver.arrive(0, 1_500);
    assert_eq!(driver.marker.queues[0].start, began + MTU_TIME);
    driver.arrive(1, 1_500);
    assert_eq!(driver.marker.queues[1].start, began + MTU_TIME * 3);
    // A turn ends now if its last packet is dropped at no cost on the wire.
    driver.now = began + MTU_TIME * 4;
    driver.marker.on_turn(driver.now, &driver.seen.view());
    assert_eq!(driver.marker.queues[1].start, driver.now);
}

#[test]
fn it_marks_strictly_above_a_length_that_includes_the_packet() {
    let strict = [Share::Strict];
    for (counts_packet, point, waits, marks) in [
        (true, Point::Enqueue, K - 1_500, false),
        (true, Point::Enqueue, K - 1_499, true),
        (false, Point::Enqueue, K, false),
        (false, Point::Enqueue, K + 1, true),
        (true, Point::Dequeue, K - 1_500, false),
        (true, Point::Dequeue, K - 1_499, true),
        (false, Point::Dequeue, K, false),
        (false, Point::Dequeue, K + 1, true),
    ] {
        let config = Arc::new(Config { counts_packet, point, ..Config::paper(Bytes(K)) });
        let mut marker = MqEcn::new(&config, &strict, Stream::new(1, "mq-ecn", 0));
        let (seen, packet) = (Seen::queue(waits), Header::default().with_size(1_500));
        let at = |now: Point, marks: bool| Verdict::mark_if(marks && now == point);
        let enqueue = marker.on_enqueue(Instant::ZERO, &packet, &seen.view());
        let dequeue = marker.on_dequeue(Instant::ZERO, &packet, &seen.view());
        let expected = (at(Point::Enqueue, marks), at(Point::Dequeue, marks));
        assert_eq!((enqueue, dequeue), expected, "{config:?} at {waits}");
    }
}

#[test]
fn queues_of_strict_priority_keep_the_standard_threshold_and_take_no_samples() {
    let shares = [Share::Strict, Share::Round { quantum: Bytes(1_500) }];
    let mut driver = Driver::new(&Config::paper(Bytes(K)), &shares);
    driver.arrive(0, 1_500);
    driver.marker.round_time = 4.0 * MTU_TIME.0 as f64;
    driver.send(0, 1_500, true);
    close(driver.threshold(0), K as f64);
    close(driver.threshold(1), K as f64 / 4.0);
    assert_eq!(driver.told("weight_sum"), None);
}

#[test]
fn both_probabilistic_thresholds_scale_and_the_probability_does_not() {
    // With T_round of four slots, Kmin 40,000 and Kmax 80,000 become 10,000 and 20,000. In the middle the probability is Pmax/2 = 0.2.
    let standard = Standard::Probabilistic { kmin: Level(40_000), kmax: Level(80_000), pmax: 0.4 };
    let config = Config { standard, counts_packet: false, ..Config::paper(Bytes(K)) };
    let mut marker =
        MqEcn::new(&config.into(), &[Share::Round { quantum: Bytes(1_500) }], Stream::new(1, "mq-ecn", 0));
    marker.round_time = 4.0 * MTU_TIME.0 as f64;
    let n = 20_000;
    for (waits, expected) in [(10_000, 0.0), (15_000, 0.2), (19_999, 0.4), (20_000, 1.0)] {
        let mut seen = Seen::queue(waits);
        (seen.rate, seen.port_backlog, seen.queues[0].packets) = (RATE, Bytes(waits), 9);
        let mark = |_: &i32| marker.on_enqueue(Instant::ZERO, &Header::default(), &seen.view()).marks();
        let share = (0..n).filter(mark).count() as f64 / f64::from(n);
        let tolerance = 4.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt();
        assert!((share - expected).abs() <= tolerance + 1e-9, "{waits}: {share}");
    }
}

#[test]
fn certain_outcomes_draw_no_number() {
    // No packet is marked at Kmin, and every packet from Kmax on. Neither case advances the random stream.
    let standard = Standard::Probabilistic { kmin: Level(40_000), kmax: Level(80_000), pmax: 0.4 };
    let config = Config { standard, counts_packet: false, ..Config::paper(Bytes(K)) };
    let mut marker = MqEcn::new(&config.into(), &[Share::Strict], Stream::new(1, "mq-ecn", 0));
    let next = |marker: &MqEcn| marker.stream.clone().next_u64();
    let before = next(&marker);
    for (waits, draws) in [(40_000, false), (80_000, false), (40_001, true)] {
        marker.on_enqueue(Instant::ZERO, &Header::default(), &Seen::queue(waits).view());
        assert_eq!(next(&marker) != before, draws, "{waits}");
    }
}

#[test]
fn under_wfq_a_queue_has_its_weight_among_the_busy() {
    // Weights 1, 2 and 5. Samples when queue 0 sends: 3 while queue 1 waits, 1 while none waits, 8 while all wait.
    let mut driver =
        Driver::new(&Config::paper(Bytes(K)), &[Share::Weight(1), Share::Weight(2), Share::Weight(5)]);
    driver.fill(&[0, 0, 0, 1]);
    driver.send(0, 1_500, true);
    close(driver.told("weight_sum").unwrap(), 0.25 * 3.0);
    close(driver.threshold(0), K as f64);
    driver.arrive(2, 1_500);
    let mut sum = 0.75;
    for _ in 0..40 {
        driver.round(&[0], &[1, 1, 1]);
        sum = 0.75 * sum + 0.25 * 8.0;
        close(driver.told("weight_sum").unwrap(), sum);
    }
    for (queue, share) in [(0, 1.0), (1, 2.0), (2, 5.0)] {
        assert!((driver.threshold(queue) - K as f64 * share / 8.0).abs() < 1.0);
    }
    assert_eq!(driver.told("round_time_us"), None, "there are no rounds");
    // The sum is sampled at most once per MTU time, so small packets in between do not change it.
    let before = driver.marker.weight_sum;
    driver.arrive(1, 300);
    driver.arrive(1, 300);
    driver.send(1, 300, true);
    close(driver.marker.weight_sum, 0.75 * before + 2.0);
    let before = driver.marker.weight_sum;
    driver.send(1, 300, true);
    assert_eq!(driver.marker.weight_sum, before);
    // The sum of weights decays while the port idles.
    let mut driver = Driver::new(&Config::paper(Bytes(K)), &[Share::Weight(3)]);
    driver.marker.weight_sum = 8.0;
    driver.now = Instant(5_000_000_000);
    driver.seen.busy_until = Instant(5_000_000_000 - 2 * MTU_TIME.0);
    driver.arrive(0, 1_500);
    close(driver.marker.weight_sum, 8.0 * 0.5625);
    close(driver.threshold(0), K as f64 * 3.0 / 4.5);
}

#[test]
#[should_panic(expected = "not the weight of the old round time: 1")]
fn a_round_time_that_never_changes_is_refused() {
    let config = Config { beta: 1.0, ..Config::paper(Bytes(K)) };
    MqEcn::new(&config.into(), &[Share::Strict], Stream::new(1, "mq-ecn", 0));
}

#[test]
#[should_panic(expected = "idle time is counted in slots")]
fn slots_of_no_length_are_refused() {
    let config = Config { idle_time: Some(Duration::ZERO), ..Config::paper(Bytes(K)) };
    MqEcn::new(&config.into(), &[Share::Strict], Stream::new(1, "mq-ecn", 0));
}
