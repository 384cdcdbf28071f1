//! Swift (Kumar et al., SIGCOMM '20): a window that keeps the delay near a target, which depends on the window.
//!
//! Swift has one window for the fabric and one for the endpoint. This module implements the window for the fabric; simulated hosts have no
//! endpoint delay.

use shallows_core::{Bytes, Duration, Instant, Rate};

use super::interface::{Ack, CongestionControl, Digest, Loss, Pace, rate};

/// Parameters of Swift. Windows are in packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Data of a full packet.
    pub mtu: Bytes,
    /// Target delay of a path without hops, for a large window.
    pub base_target: Duration,
    /// Target delay that a hop adds (ħ).
    pub hop_target: Duration,
    /// Number of hops of the path.
    pub hops: u32,
    /// Largest target delay that flow scaling adds; zero for no flow scaling.
    pub scaling_range: Duration,
    /// Largest window at which flow scaling adds the whole range; above 0.
    pub scaling_min: f64,
    /// Smallest window at which flow scaling adds nothing; above `scaling_min`.
    pub scaling_max: f64,
    /// Packets that the window gains in a round-trip time (ai).
    pub additive_increase: f64,
    /// Factor β of decreases, above 0 and at most 1.
    pub decrease: f64,
    /// Largest fraction of the window that a decrease removes (max_mdf).
    pub max_decrease: f64,
    /// Window of a new queue pair.
    pub first_window: f64,
    /// Smallest window, above 0.
    pub min_window: f64,
    /// Largest window.
    pub max_window: f64,
    /// Number of timeouts in a row after which the window falls to the smallest one.
    pub reset_after: u32,
}

impl Config {
    /// Returns the parameters of htsim for packets with `mtu` bytes of data. The authors of htsim call these parameters guesses. Two values
    /// are choices of this project: the first window, and the number of hops (zero).
    pub fn htsim(mtu: Bytes) -> Self {
        let base_target = Duration::from_micros(20);
        Self {
            mtu,
            base_target,
            hop_target: Duration::from_secs_f64(base_target.as_secs_f64() / 6.55),
            hops: 0,
            scaling_range: base_target * 5,
            scaling_min: 0.1,
            scaling_max: 100.0,
            additive_increase: 1.0,
            decrease: 0.8,
            max_decrease: 0.5,
            first_window: 10.0,
            // 10 bytes.
            min_window: 10.0 / mtu.0 as f64,
            max_window: 1_000.0,
            reset_after: 5,
        }
    }

    /// Returns the target delay of a window, in seconds (SIGCOMM '20, section 3.5).
    fn target(&self, window: f64) -> f64 {
        let range = self.scaling_range.as_secs_f64();
        let of = |window: f64| 1.0 / window.sqrt();
        let alpha = range / (of(self.scaling_min) - of(self.scaling_max));
        let beta = -alpha * of(self.scaling_max);
        let scaling = (alpha * of(window) + beta).clamp(0.0, range);
        self.base_target.as_secs_f64() + f64::from(self.hops) * self.hop_target.as_secs_f64() + scaling
    }
}

/// Swift's state of one queue pair.
#[derive(Clone, Debug)]
pub struct Swift {
    line_rate: Rate,
    /// Window in packets.
    window: f64,
    mtu: f64,
    /// Size on the wire of the largest packet sent.
    packet: Bytes,
    /// Last round-trip time.
    rtt: Duration,
    /// Time of the last decrease; `None` before the first.
    decreased: Option<Instant>,
    /// Number of timeouts since the last acknowledgement.
    timeouts: u32,
    digest: Digest,
}

impl Swift {
    /// Creates the state of a new queue pair.
    pub fn new(config: &Config, line_rate: Rate) -> Self {
        Self {
            line_rate,
            window: config.first_window.clamp(config.min_window, config.max_window),
            mtu: config.mtu.0 as f64,
            packet: config.mtu,
            rtt: Duration::ZERO,
            decreased: None,
            timeouts: 0,
            digest: Digest::default(),
        }
    }

    /// Sets the window. After a decrease, Swift does not decrease the window again for one round-trip time.
    fn set(&mut self, config: &Config, now: Instant, window: f64) {
        let window = window.clamp(config.min_window, config.max_window);
        if window < self.window {
            self.decreased = Some(now);
        }
        self.digest.record(self.window, window);
        self.window = window;
    }

    fn may_decrease(&self, now: Instant) -> bool {
        self.decreased.is_none_or(|at| now.saturating_since(at) >= self.rtt)
    }
}

impl CongestionControl for Swift {
    type Config = Config;

    fn pace(&self) -> Pace {
        let window = Some(Bytes(((self.window * self.mtu) as u64).max(self.mtu as u64)));
        if self.window >= 1.0 || self.rtt == Duration::ZERO {
            return Pace { rate: self.line_rate, window };
        }
        // Algorithm 1: below one packet, packets leave at distances of rtt/cwnd.
        let paced = self.packet.0 as f64 * 8.0 * self.window / self.rtt.as_secs_f64();
        Pace { rate: rate(paced).min(self.line_rate), window }
    }

    fn on_send(&mut self, _config: &Config, size: Bytes) -> bool {
        let is_longest = size > self.packet;
        self.packet = self.packet.max(size);
        is_longest
    }

    fn on_ack(&mut self, config: &Config, ack: &Ack<'_>) {
        (self.rtt, self.timeouts) = (ack.rtt, 0);
        let (delay, target) = (ack.rtt.as_secs_f64(), config.target(self.window));
        // SIGCOMM '20, algorithm 1.
        if delay < target {
            let gain = config.additive_increase * ack.acked.0 as f64 / self.mtu;
            self.set(config, ack.now, self.window + gain / self.window.max(1.0));
        } else if self.may_decrease(ack.now) {
            let factor = (1.0 - config.decrease * (delay - target) / delay).max(1.0 - config.max_decrease);
            self.set(config, ack.now, self.window * factor);
        }
    }

    fn on_loss(&mut self, config: &Config, now: Instant, loss: Loss) {
        if loss == Loss::Timeout {
            self.timeouts += 1;
            if self.timeouts >= config.reset_after {
                return self.set(config, now, config.min_window);
            }
        }
        if self.may_decrease(now) {
            self.set(config, now, self.window * (1.0 - config.max_decrease));
        }
    }

    fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(time: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(time)
    }

    fn ack(flow: &mut Swift, config: &Config, now: u64, rtt: u64) {
        let (now, rtt, acked) = (us(now), Duration::from_micros(rtt), config.mtu);
        flow.on_ack(
            config,
            &Ack { now, number: 0, acked, next: 0, rtt, marked: false, telemetry: &[], utilisation: None },
        );
    }

    #[test]
    fn small_windows_have_larger_targets() {
        let config = Config::htsim(Bytes(4_096));
        // fs_α = 100/(√10 − 0.1) = 32.6554, fs_β = −3.2655 µs: at 1, 20 + 29.3899; at 10, 20 + 7.0610; at 0.1 and below, the whole range.
        for (window, expected) in
            [(0.01, 120.0), (0.1, 120.0), (1.0, 49.3899), (10.0, 27.0610), (100.0, 20.0)]
        {
            let found = config.target(window) * 1e6;
            assert!((found - expected).abs() < 1e-4, "{window}: {found}, expected {expected}");
        }
        assert_eq!(config.target(1e4), 20e-6);
        // 20/6.55 = 3.0534 µs for each hop.
        let hops = Config { hops: 4, ..config };
        assert!((hops.target(100.0) * 1e6 - 32.2137).abs() < 1e-4);
    }

    #[test]
    fn windows_follow_a_trace_worked_by_hand() {
        let config = Config { first_window: 100.0, ..Config::htsim(Bytes(1_000)) };
        let mut flow = Swift::new(&config, Rate::from_gbps(100));
        assert_eq!(flow.pace(), Pace { rate: Rate::from_gbps(100), window: Some(Bytes(100_000)) });
        // Below the target of 20 µs: + 1/100.
        ack(&mut flow, &config, 0, 19);
        assert_eq!(flow.window, 100.01);
        // 25 µs, target 20: factor 1 − 0.8·5/25 = 0.84; not again within one RTT of 25 µs.
        ack(&mut flow, &config, 100, 25);
        assert!((flow.window - 84.0084).abs() < 1e-9, "{}", flow.window);
        ack(&mut flow, &config, 124, 25);
        assert!((flow.window - 84.0084).abs() < 1e-9, "{}", flow.window);
        // A delay of 1 ms would remove 0.8·0.98; the largest decrease is one half.
        ack(&mut flow, &config, 1_200, 1_000);
        assert!((flow.window - 42.0042).abs() < 1e-9, "{}", flow.window);
        // A loss is a decrease by half, and a loss within the same RTT changes nothing.
        flow.on_loss(&config, us(2_300), Loss::Nak);
        flow.on_loss(&config, us(2_400), Loss::Nak);
        assert!((flow.window - 21.0021).abs() < 1e-9, "{}", flow.window);
        assert_eq!(flow.digest(), Digest { cuts: 3, increases: 1, ..Digest::default() });
    }

    #[test]
    fn windows_below_one_packet_are_paced() {
        let config = Config { first_window: 0.5, ..Config::htsim(Bytes(1_000)) };
        let mut flow = Swift::new(&config, Rate::from_gbps(100));
        assert!(flow.on_send(&config, Bytes(1_106)));
        assert!(!flow.on_send(&config, Bytes(1_106)), "packets of the same size need no other rate");
        // 0.25 after a halving at an RTT of 200 µs: a packet every 800 µs, which is 1,106·8 bits in 800 µs.
        ack(&mut flow, &config, 200, 1_000);
        flow.rtt = Duration::from_micros(200);
        assert_eq!(flow.window, 0.25);
        assert_eq!(flow.pace(), Pace { rate: Rate(11_060_000), window: Some(Bytes(1_000)) });
        // An acknowledgement below the target adds ai, not ai/cwnd.
        ack(&mut flow, &config, 2_000, 50);
        assert_eq!(flow.window, 1.25);
    }

    #[test]
    fn timeouts_in_a_row_reset_the_window() {
        let config = Config { first_window: 64.0, ..Config::htsim(Bytes(1_000)) };
        let mut flow = Swift::new(&config, Rate::from_gbps(100));
        let mut windows = Vec::new();
        for timeout in 0..5 {
            flow.on_loss(&config, us(10_000 * timeout), Loss::Timeout);
            windows.push(flow.window);
        }
        assert_eq!(windows, [32.0, 16.0, 8.0, 4.0, 0.01]);
        ack(&mut flow, &config, 60_000, 10);
        flow.on_loss(&config, us(70_000), Loss::Timeout);
        assert_eq!(flow.window, 0.505);
    }
}
