//! DCTCP as the authors of HPCC run it over RDMA (`CC_MODE` 8 of their repository): a rate that falls in proportion to the fraction of
//! marked data.
//!
//! A rate r takes the place of a window of r times the round-trip time.

use shallows_core::{Bytes, Duration, Instant, Rate};

use super::interface::{Ack, CongestionControl, Digest, Pace, Window};

/// Parameters of DCTCP over RDMA.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Weight g of the newest round-trip time in α, above 0 and at most 1.
    pub gain: f64,
    /// Rate added after each round-trip time without a cut.
    pub additive_increase: Rate,
    /// Smallest rate.
    pub min_rate: Rate,
    /// Limit of outstanding bytes, in addition to the rate.
    pub window: Window,
}

impl Config {
    /// Returns the parameters of HPCC's repository (`run.py`, `dctcp`) for the round-trip time `base_rtt` and packets with `mtu` bytes of
    /// data. The rate then grows like a window that gains one packet per round-trip time.
    pub fn hpcc_repo(mtu: Bytes, base_rtt: Duration) -> Self {
        Self {
            gain: 1.0 / 16.0,
            additive_increase: Rate((mtu.0 as f64 * 8.0 / base_rtt.as_secs_f64()) as u64),
            min_rate: Rate(1_000_000_000),
            window: Window::Variable(base_rtt),
        }
    }
}

/// DCTCP's state of one queue pair.
#[derive(Clone, Debug)]
pub struct Dctcp {
    line_rate: f64,
    /// Current rate, in bits per second.
    current: f64,
    alpha: f64,
    /// Bytes acknowledged in the current round-trip time. `marked` is the number of marked bytes among them.
    acked: u64,
    marked: u64,
    /// Number of acknowledged bytes beyond which the current round-trip time ends.
    end: u64,
    /// Number of acknowledged bytes up to which the rate stays constant after the last cut; `None` if no cut is that recent.
    cut_until: Option<u64>,
    window: Window,
    digest: Digest,
}

impl Dctcp {
    /// Creates the state of a new queue pair, which sends at line rate.
    pub fn new(config: &Config, line_rate: Rate) -> Self {
        let line_rate = line_rate.0 as f64;
        Self {
            line_rate,
            current: line_rate,
            alpha: 1.0,
            acked: 0,
            marked: 0,
            end: 0,
            cut_until: None,
            window: config.window,
            digest: Digest::default(),
        }
    }
}

impl CongestionControl for Dctcp {
    type Config = Config;

    fn pace(&self) -> Pace {
        self.window.pace(self.line_rate, self.current)
    }

    fn on_ack(&mut self, config: &Config, ack: &Ack<'_>) {
        self.acked += ack.acked.0;
        self.marked += if ack.marked { ack.acked.0 } else { 0 };
        let is_first = self.end == 0;
        let ends = ack.number > self.end;
        if ends {
            // α ← (1 − g)·α + g·F (DCTCP, SIGCOMM '10, equation 1). The first acknowledgement only begins a round-trip time. The repository
            // divides the number of marked acknowledgements by an estimate of the number of all acknowledgements; here, bytes are counted.
            if !is_first {
                let fraction = self.marked as f64 / self.acked.max(1) as f64;
                self.alpha = (1.0 - config.gain) * self.alpha + config.gain * fraction;
            }
            (self.acked, self.marked, self.end) = (0, 0, ack.next);
        }
        self.cut_until = self.cut_until.filter(|&until| ack.number <= until);
        if self.cut_until.is_some() {
            return;
        }
        if ack.marked {
            // Equation 2, for the rate instead of the window.
            self.current =
                (self.current * (1.0 - self.alpha / 2.0)).max(config.min_rate.0 as f64).min(self.line_rate);
            self.cut_until = Some(ack.next);
            self.digest.cuts += 1;
        } else if ends {
            self.current = (self.current + config.additive_increase.0 as f64).min(self.line_rate);
            self.digest.increases += 1;
        }
    }

    fn alpha(&self, _config: &Config, _now: Instant) -> Option<f64> {
        Some(self.alpha)
    }

    fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CAPACITY, T, run};
    use super::*;

    /// Acknowledges `acked` new bytes, `number` in total, after `next` bytes have been sent.
    fn ack(flow: &mut Dctcp, config: &Config, [number, acked, next]: [u64; 3], marked: bool) {
        let (now, acked, rtt) = (Instant::ZERO, Bytes(acked), T);
        flow.on_ack(
            config,
            &Ack { now, number, acked, next, rtt, marked, telemetry: &[], utilisation: None },
        );
    }

    #[test]
    fn rates_follow_a_trace_worked_by_hand() {
        let config = Config::hpcc_repo(Bytes(1_000), Duration::from_micros(8));
        // A packet per RTT: 8,000 bits in 8 µs.
        assert_eq!(config.additive_increase, Rate(1_000_000_000));
        let mut flow = Dctcp::new(&config, CAPACITY);
        // The first RTT begins: α stays 1, and the rate is already the line rate.
        ack(&mut flow, &config, [1_000, 1_000, 100_000], false);
        assert_eq!((flow.alpha, flow.current, flow.end), (1.0, 100e9, 100_000));
        // A mark within the RTT halves the rate at once; further marks on bytes sent before this cut do not.
        ack(&mut flow, &config, [76_000, 75_000, 150_000], true);
        ack(&mut flow, &config, [90_000, 14_000, 160_000], true);
        assert_eq!(flow.pace(), Pace { rate: Rate::from_gbps(50), window: Some(Bytes(50_000)) });
        // The RTT ends with 89,000 of 100,000 bytes marked: α = 15/16 + 0.89/16. No increase while the cut lasts.
        ack(&mut flow, &config, [101_000, 11_000, 170_000], false);
        assert!((flow.alpha - (0.9375 + 0.89 / 16.0)).abs() < 1e-12, "{}", flow.alpha);
        assert_eq!((flow.current, flow.end), (50e9, 170_000));
        // Beyond 150,000 the cut is over, but no RTT ends; beyond 170,000 the rate gains a packet per RTT.
        ack(&mut flow, &config, [150_001, 49_001, 180_000], false);
        assert_eq!(flow.current, 50e9);
        ack(&mut flow, &config, [170_001, 20_000, 190_000], false);
        assert_eq!(flow.current, 51e9);
        assert_eq!(flow.digest(), Digest { cuts: 1, increases: 2, ..Digest::default() });
        // 1 Gb/s is the smallest rate.
        for number in 1..20 {
            ack(&mut flow, &config, [190_000 * (number + 1), 190_000, 190_000 * (number + 1) + 1], true);
        }
        assert_eq!(flow.pace(), Pace { rate: Rate::from_gbps(1), window: Some(Bytes(1_000)) });
    }

    #[test]
    fn marks_in_one_of_sixteen_round_trip_times_yield_the_sawtooth_of_the_closed_form() {
        let config = Config { additive_increase: Rate(100_000_000), ..Config::hpcc_repo(Bytes(1_000), T) };
        let mut flow = Dctcp::new(&config, CAPACITY);
        let mut peak = 0.0;
        for rtt in 1..8_000 {
            peak = if rtt % 16 == 0 { flow.current } else { peak };
            ack(&mut flow, &config, [2_000 * rtt, 2_000, 2_000 * rtt + 1_000], rtt % 16 == 0);
        }
        // α at a cut: g/(1 − (1 − g)^16) = 0.097059. The cut removes what 15 RTTs add: R·α/2 = 15·R_AI.
        let alpha = 0.0625 / (1.0 - libm::pow(0.9375, 16.0));
        assert!((peak / (2.0 * 15.0 * 0.1e9 / alpha) - 1.0).abs() < 1e-6, "{peak}");
    }

    #[test]
    fn the_queue_stays_near_the_threshold() {
        for flows in [4, 10] {
            let config = Config::hpcc_repo(Bytes(1_000), T);
            let end = run(&config, Dctcp::new(&config, CAPACITY), flows, 1_000, 300_000.0);
            assert!((end.queue / 300_000.0 - 1.0).abs() < 0.1 && end.used == 1.0, "{flows}: {}", end.queue);
        }
    }
}
