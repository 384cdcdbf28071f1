//! ICTCP: a host's receivers limit their advertised windows so that their connections together fill the host's link and no more (Wu, Feng,
//! Guo and Zhang, CoNEXT '10).
//!
//! One [`Ictcp`] controls one NIC. It needs no timer: its clock advances with arrivals, because a window takes effect only in
//! acknowledgements of arriving data. As in the paper's implementation, the receiver measures the round-trip time with the timestamps
//! option in both directions: from an acknowledgement to the first data that echoes it.
//!
//! Rules where the paper is silent: a round lasts from an arrival to the first arrival at least a smoothed RTT later, and its throughput is
//! measured over that time. The clock starts with the first RTT sample. The fairness rule applies once per slot, when the available
//! bandwidth is known, among the connections that had data in this slot or the last. A connection that was silent for longer than
//! `rtt_limit` restarts in slow start with its current window, and the silence gives no RTT sample.

use std::collections::BTreeMap;

use shallows_core::{Bytes, Duration, Instant, Rate};

/// Parameters of [`Ictcp`]; Greek letters as in the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Share of the link's rate that may be used (α).
    pub share: f64,
    /// Largest unused share of the expected throughput at which a window grows (γ₁).
    pub gamma1: f64,
    /// Unused share of the expected throughput above which a window shrinks (γ₂).
    pub gamma2: f64,
    /// Weight of the previous value in each update of the measured throughput (β).
    pub beta: f64,
    /// Number of consecutive round trips with an unused share above `gamma2` that shrink a window; at least 1.
    pub decrease_after: u32,
    /// Share of the link's rate. While less bandwidth than this share is available, windows above the average shrink.
    pub fairness: f64,
    /// RTT at and above which a connection is not controlled.
    pub rtt_limit: Duration,
    /// Window of a new connection, and the smallest window; at least one segment.
    pub minimum: Bytes,
    /// Largest window, and the window of a connection that is not controlled.
    pub maximum: Bytes,
}

/// ICTCP's state for one NIC.
#[derive(Debug)]
pub struct Ictcp {
    config: Config,
    mss: u64,
    /// Rate of the link in bytes per second.
    capacity: f64,
    clock: Option<Clock>,
    connections: BTreeMap<u32, Connection>,
}

/// Clock of a NIC's slots. Each slot has two sub-slots of length *T*: in the first, traffic is measured; in the second, windows grow.
#[derive(Clone, Copy, Debug)]
struct Clock {
    sub_slot: SubSlot,
    /// Length of a sub-slot (*T* of the paper).
    length: Duration,
    /// End of the sub-slot.
    end: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum SubSlot {
    /// Bytes received so far in the sub-slot.
    Measuring { bytes: u64 },
    /// Throughput that growing windows may still add, in bytes per second.
    Growing { quota: f64 },
}

/// ICTCP's state of one connection.
#[derive(Clone, Debug)]
struct Connection {
    window: u64,
    slow_start: bool,
    srtt: Option<Duration>,
    /// Newest timestamp that data has echoed.
    echoed: Instant,
    last_arrival: Instant,
    last_increase: Option<Instant>,
    round: Option<Round>,
    /// *b_m* of the paper: measured throughput in bytes per second.
    measured: f64,
    /// Number of consecutive round trips with an unused share above `gamma2`.
    unused_rounds: u32,
    /// Bytes received in this slot; `in_last_slot` is the number for the previous slot.
    in_slot: u64,
    in_last_slot: u64,
}

/// Measurement of the current round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    start: Instant,
    bytes: u64,
}

impl Ictcp {
    /// Creates the control of a NIC whose link has this `rate`, with segments of at most `mss` bytes.
    pub fn new(config: &Config, mss: Bytes, rate: Rate) -> Self {
        let capacity = rate.0 as f64 / 8.0;
        Self { config: *config, mss: mss.0, capacity, clock: None, connections: BTreeMap::new() }
    }

    /// Records a packet of any kind with this size on the wire. Call this method before [`Self::on_data`] for the same packet.
    pub fn on_packet(&mut self, now: Instant, wire_size: Bytes) {
        self.advance(now);
        if let Some(Clock { sub_slot: SubSlot::Measuring { bytes }, .. }) = &mut self.clock {
            *bytes += wire_size.0;
        }
    }

    /// Records `payload` bytes of `connection` that echo an acknowledgement sent at `echo` (zero if none). Returns the
    /// window to advertise from now on.
    pub fn on_data(&mut self, now: Instant, connection: u32, payload: Bytes, echo: Instant) -> Bytes {
        self.advance(now);
        let state = self.connections.entry(connection).or_insert_with(|| Connection::new(&self.config, now));
        let rtt = state.take(now, payload, echo, self.config.rtt_limit);
        let Some(rtt) = rtt else { return Bytes(state.window) };
        if rtt >= self.config.rtt_limit {
            // CoNEXT '10: only flows with an RTT below 2 ms are controlled.
            state.round = None;
            state.window = self.config.maximum.0;
            return Bytes(state.window);
        }
        let clock = self.clock.get_or_insert(Clock {
            sub_slot: SubSlot::Measuring { bytes: 0 },
            length: rtt,
            end: now + rtt,
        });
        match &mut state.round {
            Some(round) if now < round.start + rtt => round.bytes += payload.0,
            ended => {
                let next = Round { start: now, bytes: payload.0 };
                if let Some(round) = ended.replace(next) {
                    let seconds = (now - round.start).as_secs_f64();
                    state.decide(now, round.bytes as f64 / seconds, &self.config, self.mss, clock);
                }
            }
        }
        Bytes(state.window)
    }

    /// Removes a closed connection.
    pub fn close(&mut self, connection: u32) {
        self.connections.remove(&connection);
    }

    /// Advances the clock to `now` (CoNEXT '10 §4.1).
    fn advance(&mut self, now: Instant) {
        while let Some(clock) = &mut self.clock
            && now >= clock.end
        {
            if now >= clock.end + clock.length * 4 {
                // No packet arrived for several sub-slots, so they are skipped.
                clock.end = now;
                clock.sub_slot = SubSlot::Growing { quota: 0.0 };
            }
            match clock.sub_slot {
                SubSlot::Measuring { bytes } => {
                    let incoming = bytes as f64 / clock.length.as_secs_f64();
                    // BW_A = max(0, α·C − BW_T).
                    let available = (self.config.share * self.capacity - incoming).max(0.0);
                    clock.sub_slot = SubSlot::Growing { quota: available };
                    clock.end = clock.end + clock.length;
                    if available < self.config.fairness * self.capacity {
                        self.even_out();
                    }
                }
                SubSlot::Growing { .. } => {
                    let end = clock.end;
                    let length = self.slot_length();
                    self.clock = length.map(|length| Clock {
                        sub_slot: SubSlot::Measuring { bytes: 0 },
                        length,
                        end: end + length,
                    });
                }
            }
        }
    }

    /// Ends a slot. Returns the length of the next sub-slots: T = Σ wᵢ·RTTᵢ, weighted with the traffic of each connection in the slot that
    /// ends; without traffic, the old length.
    fn slot_length(&mut self) -> Option<Duration> {
        let (mut sum, mut total) = (0u128, 0u128);
        for connection in self.connections.values_mut() {
            if let Some(rtt) = connection.srtt {
                sum += u128::from(rtt.0) * u128::from(connection.in_slot);
                total += u128::from(connection.in_slot);
            }
            connection.in_last_slot = std::mem::take(&mut connection.in_slot);
        }
        let length = self.clock.map(|clock| clock.length);
        sum.checked_div(total).map(|mean| Duration(mean as u64).max(Duration(1))).or(length)
    }

    /// Shrinks every window above the average by a segment (CoNEXT '10 §4.4).
    fn even_out(&mut self) {
        let live = |connection: &Connection| connection.in_slot + connection.in_last_slot > 0;
        let (sum, count) = self
            .connections
            .values()
            .filter(|connection| live(connection))
            .fold((0, 0), |(sum, count), connection| (sum + connection.window, count + 1));
        for connection in self.connections.values_mut().filter(|connection| live(connection)) {
            if connection.window * count > sum {
                connection.shrink(&self.config, self.mss);
            }
        }
    }
}

impl Connection {
    fn new(config: &Config, now: Instant) -> Self {
        Self {
            window: config.minimum.0,
            slow_start: true,
            srtt: None,
            echoed: Instant::ZERO,
            last_arrival: now,
            last_increase: None,
            round: None,
            measured: 0.0,
            unused_rounds: 0,
            in_slot: 0,
            in_last_slot: 0,
        }
    }

    /// Records an arrival. Returns the smoothed round-trip time, if there is one.
    fn take(&mut self, now: Instant, payload: Bytes, echo: Instant, limit: Duration) -> Option<Duration> {
        let silent = now - self.last_arrival > limit;
        self.last_arrival = now;
        self.in_slot += payload.0;
        if silent {
            (self.slow_start, self.round, self.unused_rounds) = (true, None, 0);
        }
        if echo > self.echoed {
            self.echoed = echo;
            if !silent {
                let sample = now - echo;
                // RFC 6298 §2.3, as at the sender.
                self.srtt = Some(self.srtt.map_or(sample, |srtt| (srtt * 7 + sample) / 8));
            }
        }
        self.srtt
    }

    /// Changes the window at the end of a round trip with a throughput of `rate` (*b_s*, CoNEXT '10 §4.3).
    fn decide(&mut self, now: Instant, rate: f64, config: &Config, mss: u64, clock: &mut Clock) {
        let rtt = self.srtt.expect("a round is measured with it");
        self.measured = rate.max(config.beta * self.measured + (1.0 - config.beta) * rate);
        let expected = self.measured.max(self.window as f64 / rtt.as_secs_f64());
        let unused = (expected - self.measured) / expected;
        if unused <= config.gamma1 || unused <= mss as f64 / self.window as f64 {
            self.unused_rounds = 0;
            let rested = self.last_increase.is_none_or(|last| now >= last + rtt * 2);
            if let SubSlot::Growing { quota } = &mut clock.sub_slot
                && rested
            {
                self.grow(now, rtt, config, mss, quota);
            }
        } else if unused > config.gamma2 {
            self.unused_rounds += 1;
            if self.unused_rounds >= config.decrease_after {
                self.unused_rounds = 0;
                self.shrink(config, mss);
            }
        } else {
            self.unused_rounds = 0;
        }
    }

    /// Doubles the window in slow start and adds a segment afterwards, as far as the quota allows.
    fn grow(&mut self, now: Instant, rtt: Duration, config: &Config, mss: u64, quota: &mut f64) {
        let room = config.maximum.0 - self.window.min(config.maximum.0);
        let throughput = |step: u64| step as f64 / rtt.as_secs_f64();
        let mut step = if self.slow_start { self.window } else { mss };
        if throughput(step) > *quota {
            self.slow_start = false;
            step = mss;
        }
        step = step.min(room);
        if step == 0 || throughput(step) > *quota {
            return;
        }
        *quota -= throughput(step);
        self.window += step;
        self.last_increase = Some(now);
    }

    fn shrink(&mut self, config: &Config, mss: u64) {
        self.window = self.window.saturating_sub(mss).max(config.minimum.0);
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::random::Stream;

    use super::*;

    const MSS: u64 = 1_000;
    /// Size of a segment on the wire.
    const PACKET: Bytes = Bytes(1_052);
    const RTT_US: u64 = 100;

    fn config() -> Config {
        Config {
            share: 0.9,
            gamma1: 0.1,
            gamma2: 0.5,
            beta: 0.2,
            decrease_after: 3,
            fairness: 0.2,
            rtt_limit: Duration::from_millis(2),
            minimum: Bytes(2 * MSS),
            maximum: Bytes(100 * MSS),
        }
    }

    /// Returns ICTCP for a NIC with a link of 1 Gb/s, which is 125 MB/s. ICTCP may use at most 112.5 MB/s.
    fn nic(config: Config) -> Ictcp {
        Ictcp::new(&config, Bytes(MSS), Rate(1_000_000_000))
    }

    fn at(us: u64) -> Instant {
        Instant(us * 1_000_000)
    }

    /// Delivers `segments` segments of a connection at once. After the first round trip, they echo the acknowledgement sent one round trip
    /// before. Returns the advertised window, in segments.
    fn burst(nic: &mut Ictcp, us: u64, connection: u32, segments: u64) -> u64 {
        let mut window = 0;
        for _ in 0..segments {
            nic.on_packet(at(us), PACKET);
            let echo = if us > RTT_US { at(us - RTT_US) } else { Instant::ZERO };
            window = nic.on_data(at(us), connection, Bytes(MSS), echo).0;
        }
        window / MSS
    }

    /// Returns the windows, in segments, after each round trip of a connection that uses its whole window.
    fn greedy(nic: &mut Ictcp, rounds: u64) -> Vec<u64> {
        let mut window = burst(nic, 10, 1, 2);
        let mut windows = vec![window];
        for round in 1..=rounds {
            window = burst(nic, 10 + round * RTT_US, 1, window);
            windows.push(window);
        }
        windows
    }

    #[test]
    fn a_window_grows_as_worked_by_hand() {
        // The first RTT sample comes at 110 us and starts the clock: 100 us to measure, 100 us to grow, and so on. A round
        // ends with each burst; the growing sub-slots begin at 210, 410, 610 us …
        // 210 us: BW_T = 1 packet / 100 us (the first came before the clock) = 10.5 MB/s, BW_A = 102; d = 0, so the window
        //   doubles for 20 MB/s. 310: the burst was 2 of 4: d = 1/2, neither at most MSS/rwnd = 1/4 nor above γ₂.
        // 410: 4 packets, BW_A = 70.4, doubled for 40. 610: 8 packets, BW_A = 28.3, doubling would take 80: slow start ends,
        //   and one segment takes 10. 810: 9 packets, BW_A = 17.8: one more. 1010: 10 packets, BW_A = 7.3: no more.
        let windows = greedy(&mut nic(config()), 14);
        assert_eq!(windows, [2, 2, 4, 4, 8, 8, 9, 9, 10, 10, 10, 10, 10, 10, 10]);
    }

    #[test]
    fn an_unused_window_shrinks_after_three_round_trips_or_at_once() {
        // b_m = 100 MB/s at first, then each round 3 segments, 30 MB/s: b_m = 0.2·100 + 0.8·30 = 44, 32.8, 30.6, …, so that
        // d = 0.56, 0.67, 0.69 … of b_e = rwnd/RTT = 100: above γ₂ each time.
        let shrinking = |decrease_after: u32| {
            let mut nic = nic(Config { decrease_after, ..config() });
            assert_eq!(greedy(&mut nic, 10).last(), Some(&10));
            // The burst of 10 at 1,010 us is measured at 1,110, the bursts of 3 from 1,210 on.
            (11..18).map(|round| burst(&mut nic, 10 + round * RTT_US, 1, 3)).collect::<Vec<_>>()
        };
        assert_eq!(shrinking(3), [10, 10, 10, 9, 9, 9, 8]);
        // d = 0.56 of 10, (90 − 32.8)/90 = 0.64 of 9, 0.62 of 8, 0.57 of 7, (60 − 30)/60 = 0.5 of 6, which is not above.
        assert_eq!(shrinking(1), [10, 9, 8, 7, 6, 6, 6]);
    }

    #[test]
    fn no_window_shrinks_below_the_least() {
        let mut nic = nic(Config { decrease_after: 1, gamma1: 0.0, gamma2: 0.01, ..config() });
        greedy(&mut nic, 6);
        // At two segments, half unused is at most MSS/rwnd, which is the first case.
        let last = (7..40).map(|round| burst(&mut nic, 10 + round * RTT_US, 1, 1)).last();
        assert_eq!(last, Some(2));
    }

    #[test]
    fn connections_share_one_quota() {
        // Four connections would double in the first slot: 20 MB/s each of BW_A = 112.5 − 7 packets / 100 us = 38.9. One can, and
        // the next grows by one segment for 10 MB/s. The rest, 8.9, is less than a segment.
        let mut nic = nic(config());
        for us in [10, 110] {
            (0..4).for_each(|connection| assert_eq!(burst(&mut nic, us, connection, 2), 2));
        }
        let windows: Vec<u64> = (0..4).map(|connection| burst(&mut nic, 210, connection, 2)).collect();
        assert_eq!(windows, [4, 3, 2, 2]);
    }

    #[test]
    fn windows_above_the_average_give_way_when_the_link_is_full() {
        let mut nic = nic(config());
        assert_eq!(greedy(&mut nic, 10).last(), Some(&10));
        // A second connection joins: while less than 25 MB/s are available, the first loses a segment in each slot.
        let mut windows = Vec::new();
        for round in 11..21 {
            let us = 10 + round * RTT_US;
            let first = windows.last().map_or(10, |(first, _)| *first);
            windows.push((burst(&mut nic, us, 1, first), burst(&mut nic, us, 2, 2)));
        }
        let (first, second) = windows[windows.len() - 1];
        // With 8 + 2 packets 7.3 MB/s are left: no window grows, and the first continues to shrink.
        assert!(first < 8 && first > second, "{windows:?}");
        assert!(windows.is_sorted_by(|a, b| a.0 >= b.0), "{windows:?}");
    }

    #[test]
    fn long_round_trips_are_left_alone() {
        let mut nic = nic(Config { rtt_limit: Duration::from_micros(RTT_US), ..config() });
        assert_eq!(greedy(&mut nic, 2), [2, 100, 100]);
    }

    #[test]
    fn after_a_silence_the_window_is_kept_and_doubles_again() {
        let mut nic = nic(config());
        assert_eq!(greedy(&mut nic, 10).last(), Some(&10));
        // The quota has ended slow start.
        // 10 ms of silence give no sample: the RTT stays at 100 us. The clock restarts with a slot at 11,010 us, which
        // measures 5 packets: BW_A = 112.5 − 52.6 = 59.9 MB/s. Doubling a window of 5 takes 50.
        let state = nic.connections.get_mut(&1).expect("it is known");
        assert!(!state.slow_start);
        state.window = 5 * MSS;
        let windows = [11_010, 11_110, 11_210].map(|us| burst(&mut nic, us, 1, 5));
        assert_eq!(windows, [5, 10, 10]);
    }

    #[test]
    fn whatever_arrives_windows_stay_within_their_bounds() {
        for seed in 0..200 {
            let mut stream = Stream::new(seed, "ictcp", 0);
            let mut nic = nic(Config { decrease_after: 1 + (seed % 3) as u32, ..config() });
            let mut now = at(10);
            for _ in 0..2_000 {
                // Bursts, round trips and silences; echoes of any time up to now; connections that come and go.
                let unit = [1, 100_000, 100_000_000, 10_000_000_000][stream.below(4) as usize];
                now = now + Duration(stream.below(unit));
                let connection = stream.below(5) as u32;
                nic.on_packet(now, PACKET);
                let echo = Instant(stream.below(now.0 + 1));
                let window = nic.on_data(now, connection, Bytes(1 + stream.below(MSS)), echo);
                assert!((2 * MSS..=100 * MSS).contains(&window.0), "seed {seed}: {window}");
                if stream.below(50) == 0 {
                    nic.close(connection);
                }
            }
        }
    }

    /// Returns a connection with this window, in segments, and a smoothed RTT of 100 us.
    fn connection(window: u64) -> Connection {
        let srtt = Some(Duration::from_micros(RTT_US));
        Connection { window: window * MSS, srtt, slow_start: false, ..Connection::new(&config(), at(0)) }
    }

    fn growing(quota: f64) -> Clock {
        let length = Duration::from_micros(RTT_US);
        Clock { sub_slot: SubSlot::Growing { quota }, length, end: at(1_000) }
    }

    #[test]
    fn throughput_is_smoothed_on_its_way_down_only() {
        // §4.3: b_m = max(b_s, β·b_m + (1 − β)·b_s): 100, 0.2·100 + 0.8·30 = 44, then directly 60 MB/s.
        let mut state = connection(10);
        for (rate, measured) in [(100e6, 100e6), (30e6, 44e6), (60e6, 60e6)] {
            state.decide(at(500), rate, &config(), MSS, &mut growing(0.0));
            assert!((state.measured - measured).abs() < 1.0, "{} for {measured}", state.measured);
        }
    }

    #[test]
    fn a_window_that_is_used_but_for_gamma_1_or_a_segment_grows() {
        // §4.3: b_e = 50 segments / 100 us = 500 MB/s. At 475 d = 0.05 ≤ γ₁, though more than a segment is unused; at 400
        // d = 0.2, neither. With a window of 4, 40 MB/s, d = 0.25 is one segment.
        for (window, rate, grown) in [(50, 475e6, 51), (50, 400e6, 50), (4, 30e6, 5), (4, 29e6, 4)] {
            let mut state = connection(window);
            state.decide(at(500), rate, &config(), MSS, &mut growing(1e9));
            assert_eq!(state.window, grown * MSS, "{rate} B/s of {window} segments");
        }
    }

    #[test]
    fn a_window_grows_once_in_two_round_trips() {
        for (last_us, grown) in [(301, 10), (300, 11)] {
            let mut state = Connection { last_increase: Some(at(last_us)), ..connection(10) };
            state.decide(at(500), 100e6, &config(), MSS, &mut growing(1e9));
            assert_eq!(state.window, grown * MSS, "after {last_us} us");
        }
    }

    #[test]
    fn all_of_the_quota_may_be_used() {
        // Quotas of 8 segments and of one segment per 100 us, and of one byte less.
        let quota = |bytes: u64| bytes as f64 / Duration::from_micros(RTT_US).as_secs_f64();
        for (slow_start, bytes, grown) in
            [(true, 8_000, 16), (true, 7_999, 9), (false, 1_000, 9), (false, 999, 8)]
        {
            let mut state = Connection { slow_start, ..connection(8) };
            state.decide(at(500), 80e6, &config(), MSS, &mut growing(quota(bytes)));
            assert_eq!(state.window, grown * MSS, "{bytes} bytes");
        }
    }

    #[test]
    fn a_slot_is_the_mean_round_trip_weighted_by_traffic() {
        // §4.1: (3·100 + 1·200) / 4 = 125 us.
        let mut nic = nic(config());
        let slow = Connection { srtt: Some(Duration::from_micros(200)), in_slot: MSS, ..connection(2) };
        nic.connections.insert(1, Connection { in_slot: 3 * MSS, ..connection(2) });
        nic.connections.insert(2, slow);
        assert_eq!(nic.slot_length(), Some(Duration::from_micros(125)));
        // Without traffic since then the length does not change.
        nic.clock = Some(growing(0.0));
        assert_eq!(nic.slot_length(), Some(Duration::from_micros(RTT_US)));
    }

    #[test]
    fn the_average_is_over_connections_that_had_data_in_this_slot_or_the_last() {
        // The average of 10 and 4 is 7; with the silent connection it would be 38.
        let mut nic = nic(config());
        nic.connections.insert(1, Connection { in_slot: MSS, ..connection(10) });
        nic.connections.insert(2, Connection { in_last_slot: MSS, ..connection(4) });
        nic.connections.insert(3, connection(100));
        nic.even_out();
        let windows: Vec<_> = nic.connections.values().map(|connection| connection.window / MSS).collect();
        assert_eq!(windows, [9, 4, 100]);
    }

    #[test]
    fn windows_are_evened_out_only_while_the_link_is_full() {
        // 2 packets in a slot leave 91.5 MB/s, far above the 25 of `fairness`.
        let mut nic = nic(config());
        nic.connections.insert(1, Connection { in_slot: MSS, ..connection(10) });
        nic.connections.insert(2, Connection { in_slot: MSS, ..connection(4) });
        let sub_slot = SubSlot::Measuring { bytes: 2 * PACKET.0 };
        nic.clock = Some(Clock { sub_slot, ..growing(0.0) });
        nic.advance(at(1_000));
        assert!(nic.connections.values().map(|connection| connection.window / MSS).eq([10, 4]));
        // The available rate may be used for a sub-slot, or for the rest of it after the next packet arrives.
        let available = 112.5e6 - 2.0 * 10.52e6;
        nic.advance(at(1_080));
        let clock = nic.clock.expect("it runs");
        let SubSlot::Growing { quota } = clock.sub_slot else { panic!("{clock:?}") };
        assert!((quota - available).abs() < 1.0 && clock.end == at(1_100), "{clock:?}");
    }

    #[test]
    fn after_a_pause_of_less_than_two_slots_the_clock_goes_on_and_after_a_longer_one_it_begins_anew() {
        let began = |us: u64| {
            let mut nic = nic(config());
            nic.clock = Some(Clock { sub_slot: SubSlot::Measuring { bytes: 0 }, ..growing(0.0) });
            nic.advance(at(us));
            nic.clock.expect("it runs")
        };
        // Measuring ended at 1,000 us. Then come 100 us to grow and 100 to measure, and so on, for four sub-slots.
        assert_eq!(began(1_090).end, at(1_100));
        assert_eq!((began(1_150).end, began(1_399).end), (at(1_200), at(1_400)));
        assert_eq!((began(1_450).end, began(1_450).sub_slot), (at(1_550), SubSlot::Measuring { bytes: 0 }));
    }

    #[test]
    fn a_connection_that_closed_is_forgotten() {
        let mut nic = nic(config());
        assert_eq!(greedy(&mut nic, 10).last(), Some(&10));
        nic.close(1);
        assert_eq!(burst(&mut nic, 2_000, 1, 1), 2, "another with its number begins with the least window");
    }

    #[test]
    fn no_window_grows_beyond_the_largest() {
        let mut nic = nic(Config { maximum: Bytes(5 * MSS), ..config() });
        assert_eq!(greedy(&mut nic, 10), [2, 2, 4, 4, 5, 5, 5, 5, 5, 5, 5]);
    }
}
