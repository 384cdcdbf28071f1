//! TIMELY (Mittal et al., SIGCOMM '15) and patched TIMELY (Zhu et al., "ECN or Delay", CoNEXT '16): rates from the gradient of the RTT.

use shallows_core::{Bytes, Duration, Instant, Rate};

use super::interface::{Ack, CongestionControl, Digest, Pace, Window};

/// Parameters of TIMELY.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Rule for RTTs between the two thresholds.
    pub rule: Rule,
    /// Acknowledgements that update the rate.
    pub update: Update,
    /// Weight α of the newest difference between two RTTs, above 0 and at most 1.
    pub weight: f64,
    /// Factor β of decreases, above 0 and at most 1.
    pub decrease: f64,
    /// RTT below which the rate always increases (T_low).
    pub low: Duration,
    /// RTT above which the rate always decreases (T_high).
    pub high: Duration,
    /// RTT that normalises the gradient.
    pub min_rtt: Duration,
    /// Rate δ that an increase adds.
    pub increase: Rate,
    /// The increases that count towards the hyperactive increase.
    pub counted: Counted,
    /// Smallest rate.
    pub min_rate: Rate,
    /// Rate of a new queue pair; `None` for line rate.
    pub first_rate: Option<Rate>,
    /// Limit of outstanding bytes, in addition to the rate.
    pub window: Window,
}

/// Rule for RTTs between the two thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The sign of the gradient decides between an increase and a decrease (TIMELY, algorithm 1).
    Gradient,
    /// Increase and decrease are weighted by the gradient, and the decrease depends on the RTT (patched TIMELY, CoNEXT '16).
    Patched,
}

/// Acknowledgements that update the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// The first acknowledgement of a packet that was sent after the last update, as in HPCC's repository.
    EachRtt,
    /// The acknowledgement that completes a segment of this size, at least `min_rtt` after the last update (TIMELY; "ECN or Delay",
    /// equation for τ*).
    EachSegment(Bytes),
}

/// The increases that count towards TIMELY's hyperactive increase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Only increases that the gradient causes (SIGCOMM '15, section 4.3).
    OfGradient,
    /// All increases, also those at RTTs below T_low (HPCC's `rdma-hw.cc`: `m_incStage`).
    All,
}

impl Config {
    /// Returns the paper's parameters for 10 Gb/s, but with δ in proportion to `line_rate`, as in HPCC's repository.
    pub fn timely(line_rate: Rate) -> Self {
        Self {
            rule: Rule::Gradient,
            update: Update::EachSegment(Bytes(64_000)),
            weight: 0.875,
            decrease: 0.8,
            low: Duration::from_micros(50),
            high: Duration::from_micros(500),
            min_rtt: Duration::from_micros(20),
            increase: Rate(line_rate.0 / 1_000),
            counted: Counted::OfGradient,
            min_rate: Rate(10_000_000),
            first_rate: None,
            window: Window::None,
        }
    }

    /// Returns the parameters that HPCC's repository gives to TIMELY (`run.py`, `timely`) for NICs of rate `line_rate`.
    pub fn hpcc_repo(line_rate: Rate) -> Self {
        Self {
            update: Update::EachRtt,
            min_rate: Rate(1_000_000_000),
            counted: Counted::All,
            ..Self::timely(line_rate)
        }
    }

    /// Returns the parameters of patched TIMELY. The parameter `low` determines the RTT at the fixed point of patched TIMELY.
    pub fn patched(line_rate: Rate) -> Self {
        Self { rule: Rule::Patched, decrease: 0.008, ..Self::timely(line_rate) }
    }
}

/// Number of increases in a row after which TIMELY adds more, and the multiple of δ that it then adds (hyperactive increase, SIGCOMM '15,
/// section 4.3).
const HYPERACTIVE: (u32, f64) = (5, 5.0);

/// State of one queue pair.
#[derive(Clone, Debug)]
pub struct Timely {
    line_rate: f64,
    /// Current rate, in bits per second.
    current: f64,
    /// Last RTT, and the time at which it was measured; `None` before the first acknowledgement.
    last: Option<(Duration, Instant)>,
    /// Smoothed difference between two RTTs, in seconds.
    difference: f64,
    /// Number of counted increases in a row.
    stage: u32,
    /// Number of acknowledged bytes from which on the next update may occur.
    update_at: u64,
    window: Window,
    digest: Digest,
}

impl Timely {
    /// Creates the state of a new queue pair.
    pub fn new(config: &Config, line_rate: Rate) -> Self {
        Self {
            line_rate: line_rate.0 as f64,
            current: config.first_rate.map_or(line_rate, |rate| rate.min(line_rate)).0 as f64,
            last: None,
            difference: 0.0,
            stage: 0,
            update_at: 0,
            window: config.window,
            digest: Digest::default(),
        }
    }

    fn is_due(&self, config: &Config, ack: &Ack<'_>) -> bool {
        let Some((_, at)) = self.last else { return true };
        match config.update {
            Update::EachRtt => ack.number > self.update_at,
            Update::EachSegment(_) => {
                ack.number >= self.update_at && ack.now.saturating_since(at) >= config.min_rtt
            }
        }
    }

    /// Returns the new rate (SIGCOMM '15, algorithm 1; CoNEXT '16, algorithm 2).
    fn updated(&mut self, config: &Config, rtt: Duration) -> f64 {
        let increase = config.increase.0 as f64;
        let stage = std::mem::take(&mut self.stage);
        let hyperactive = if stage >= HYPERACTIVE.0 { HYPERACTIVE.1 * increase } else { increase };
        if rtt < config.low {
            if config.counted == Counted::OfGradient {
                return self.current + increase;
            }
            self.stage = stage + 1;
            return self.current + hyperactive;
        }
        let rtt = rtt.as_secs_f64();
        if rtt > config.high.as_secs_f64() {
            return self.current * (1.0 - config.decrease * (1.0 - config.high.as_secs_f64() / rtt));
        }
        let gradient = self.difference / config.min_rtt.as_secs_f64();
        match config.rule {
            Rule::Gradient if gradient <= 0.0 => {
                self.stage = stage + 1;
                self.current + hyperactive
            }
            Rule::Gradient => self.current * (1.0 - config.decrease * gradient),
            Rule::Patched => {
                let weight = (2.0 * gradient + 0.5).clamp(0.0, 1.0);
                let reference = config.low.as_secs_f64();
                let error = (rtt - reference) / reference;
                increase * (1.0 - weight) + self.current * (1.0 - weight * config.decrease * error)
            }
        }
    }
}

impl CongestionControl for Timely {
    type Config = Config;

    fn pace(&self) -> Pace {
        self.window.pace(self.line_rate, self.current)
    }

    fn on_ack(&mut self, config: &Config, ack: &Ack<'_>) {
        if !self.is_due(config, ack) {
            return;
        }
        self.update_at = match config.update {
            Update::EachRtt => ack.next,
            Update::EachSegment(size) => ack.number + size.0,
        };
        let Some((last, _)) = self.last.replace((ack.rtt, ack.now)) else { return };
        let newest = ack.rtt.as_secs_f64() - last.as_secs_f64();
        self.difference = (1.0 - config.weight) * self.difference + config.weight * newest;
        let updated = self.updated(config, ack.rtt).max(config.min_rate.0 as f64).min(self.line_rate);
        self.digest.record(self.current, updated);
        self.current = updated;
    }

    fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the mean rates of the flows and the mean queue in the second half of a run at 10 Gb/s. The RTT is the time in the queue.
    fn run(config: &Config, rates: &[u64], steps: u64) -> (Vec<f64>, f64) {
        const CAPACITY: f64 = 10e9;
        const STEP: Duration = Duration::from_micros(1);
        let mut flows: Vec<(Timely, f64)> = rates
            .iter()
            .map(|&bps| {
                let config = Config { first_rate: Some(Rate(bps)), ..config.clone() };
                (Timely::new(&config, Rate::from_gbps(10)), 0.0)
            })
            .collect();
        let mut queue = 62_500.0 * 2.0;
        let (mut means, mut mean_queue) = (vec![0.0; rates.len()], 0.0);
        for step in 1..=steps {
            let total: f64 = flows.iter().map(|(flow, _)| flow.current).sum();
            queue = f64::max(0.0, queue + (total - CAPACITY) / 8.0 * STEP.as_secs_f64());
            let rtt = Duration::from_secs_f64(queue * 8.0 / CAPACITY);
            for (index, (flow, sent)) in flows.iter_mut().enumerate() {
                *sent += flow.current / 8.0 * STEP.as_secs_f64();
                let next = (*sent + flow.current / 8.0 * rtt.as_secs_f64()) as u64;
                let now = Instant::ZERO + STEP * step;
                let (number, acked, marked, telemetry) = (*sent as u64, Bytes(1), false, &[][..]);
                flow.on_ack(
                    config,
                    &Ack { now, number, acked, next, rtt, marked, telemetry, utilisation: None },
                );
                if step > steps / 2 {
                    means[index] += flow.current / (steps / 2) as f64;
                }
            }
            if step > steps / 2 {
                mean_queue += queue / (steps / 2) as f64;
            }
        }
        (means, mean_queue)
    }

    #[test]
    fn unequal_flows_stay_unequal_with_the_gradient_alone() {
        // Once the gradients vanish, every split of the link is a fixed point (CoNEXT '16, section 4). The faster flow completes segments
        // more often, so it increases and decreases more often.
        let config = Config::timely(Rate::from_gbps(10));
        let (rates, queue) = run(&config, &[7_000_000_000, 3_000_000_000], 200_000);
        assert!((rates[0] - 6.9e9).abs() < 0.2e9 && (rates[1] - 3.1e9).abs() < 0.2e9, "{rates:?}");
        assert!((62_500.0..625_000.0).contains(&queue), "{queue}");
        // Flows with equally many updates become equal: all gain δ, and each loses a share of its rate.
        let config = Config::hpcc_repo(Rate::from_gbps(10));
        let (rates, _) = run(&config, &[7_000_000_000, 3_000_000_000], 1_000_000);
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.03, "{rates:?}");
    }

    #[test]
    fn the_patched_fixed_point_is_fair_and_has_the_queue_of_the_closed_form() {
        let config = Config::patched(Rate::from_gbps(10));
        let (rates, _) = run(&config, &[7_000_000_000, 3_000_000_000], 1_000_000);
        assert!((rates[0] / rates[1] - 1.0).abs() < 0.02, "{rates:?}");
        let config = Config { update: Update::EachRtt, ..config };
        // q* = q'(1 + Nδ/(βC)) with q' = 62.5 KB, the bytes of T_low at 10 Gb/s.
        for (flows, expected) in [(2, 78_125.0), (4, 93_750.0), (10, 140_625.0), (32, 312_500.0)] {
            let (rates, queue) = run(&config, &vec![9_000_000_000 / flows; flows as usize], 200_000);
            assert!((queue / expected - 1.0).abs() < 0.02, "{flows}: {queue}, expected {expected}");
            let fair = 10e9 / flows as f64;
            assert!(rates.iter().all(|rate| (rate / fair - 1.0).abs() < 0.02), "{rates:?}");
        }
    }

    /// Passes the RTTs to a new flow, one per update. Returns the rate in Mb/s after each update.
    fn rates(config: &Config, rtts: &[u64]) -> Vec<f64> {
        let mut flow = Timely::new(config, Rate::from_gbps(10));
        let ack = |(index, &rtt)| {
            let (now, rtt) =
                (Instant::ZERO + Duration::from_millis(index as u64), Duration::from_micros(rtt));
            // The second acknowledgement is for a packet that was sent before the update, and changes nothing.
            for number in [2_000 * (index as u64 + 1), 2_000 * (index as u64 + 1) + 1_000] {
                let (acked, next) = (Bytes(1_000), 2_000 * (index as u64 + 1) + 1_000);
                flow.on_ack(
                    config,
                    &Ack { now, number, acked, next, rtt, marked: false, telemetry: &[], utilisation: None },
                );
            }
            flow.current / 1e6
        };
        rtts.iter().enumerate().map(ack).collect()
    }

    #[test]
    fn rates_follow_a_trace_worked_by_hand() {
        let first_rate = Some(Rate::from_gbps(5));
        let config = Config {
            update: Update::EachRtt,
            weight: 0.5,
            first_rate,
            ..Config::timely(Rate::from_gbps(10))
        };
        // No difference at first. 100 to 104: difference 2, gradient 0.1, factor 1 − 0.08. 600 µs: factor 1 − 0.8·(1 − 500/600) = 1 −
        // 0.4/3. 40 µs is below T_low: + δ.
        let found = rates(&config, &[100, 104, 600, 40]);
        let expected = [5_000.0, 4_600.0, 4_600.0 * (1.0 - 0.4 / 3.0), 4_600.0 * (1.0 - 0.4 / 3.0) + 10.0];
        assert!(
            found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6),
            "{found:?}"
        );
        // A constant RTT has gradient zero: five increases of δ, and then of 5δ.
        assert_eq!(
            rates(&config, &[100; 8]),
            [5_000.0, 5_010.0, 5_020.0, 5_030.0, 5_040.0, 5_050.0, 5_100.0, 5_150.0]
        );
        // Below T_low, 40 µs, only HPCC's simulator counts increases. The gradient of 100 µs, 1.5, then lets the rate fall to its minimum.
        let counting = Config { counted: Counted::All, ..config.clone() };
        let rtts = [40, 40, 40, 40, 40, 40, 40, 100, 40];
        let last = [5_050.0, 5_100.0, 10.0, 20.0];
        assert_eq!(rates(&counting, &rtts)[5..], last);
        assert_eq!(rates(&config, &rtts)[5..], [5_050.0, 5_060.0, 10.0, 20.0]);
        // T_high itself is between the thresholds.
        assert_eq!(rates(&config, &[500, 500]), [5_000.0, 5_010.0]);
        // A gradient of 100 would make the rate negative.
        let steep = Config { high: Duration::from_millis(9), ..config };
        assert_eq!(rates(&steep, &[100, 4_100]), [5_000.0, 10.0]);
        // Patched: gradient 0.1 gives weight 0.7; 104 µs is 54/50 above the reference: 0.3·10 + 5,000·(1 − 0.7·0.008·1.08).
        let patched = Config {
            update: Update::EachRtt,
            weight: 0.5,
            first_rate,
            ..Config::patched(Rate::from_gbps(10))
        };
        let found = rates(&patched, &[100, 104])[1];
        assert!((found - 4_972.76).abs() < 1e-6, "{found}");
    }
}
