//! PowerTCP and θ-PowerTCP (Addanki et al., NSDI '22): a window from the power of the bottleneck, the product of current and voltage.

use shallows_core::{Bytes, Duration, Instant, Rate};

use super::interface::{Ack, CongestionControl, Digest, Pace, Telemetry, follows, rate};

/// Parameters of PowerTCP.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Signal from which the power is measured.
    pub signal: Signal,
    /// Weight γ of the newest window, above 0 and at most 1.
    pub weight: f64,
    /// Bytes that each flow keeps in the queue in equilibrium (β).
    pub additive_increase: Bytes,
    /// Round-trip time τ without queues; the same for all queue pairs.
    pub base_rtt: Duration,
    /// Smallest rate.
    pub min_rate: Rate,
}

/// Signal from which the power is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// In-band telemetry (PowerTCP, algorithm 1).
    Telemetry,
    /// Round-trip times (θ-PowerTCP, algorithm 2).
    Delay,
}

impl Config {
    /// Returns the parameters of the paper for a round-trip time and an expected number N of flows at a host (`flows`). In the paper, γ is
    /// 0.9, and β is HostBw·τ/N.
    pub fn nsdi22(signal: Signal, line_rate: Rate, base_rtt: Duration, flows: u32) -> Self {
        Self {
            signal,
            weight: 0.9,
            additive_increase: Bytes(line_rate.bytes_in(base_rtt).0 / u64::from(flows)),
            base_rtt,
            min_rate: Rate(100_000_000),
        }
    }
}

/// Smallest normalised current of θ-PowerTCP. While the queue drains, the measured current can be negative. The authors' code has the same
/// limit.
const MIN_CURRENT: f64 = 0.5;

/// PowerTCP's state of one queue pair.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    line_rate: f64,
    /// τ, in seconds.
    base_rtt: f64,
    /// Window in bytes.
    window: f64,
    /// Window at the last update of the reference, in bytes.
    reference: f64,
    /// Smoothed normalised power.
    power: f64,
    /// Number of acknowledged bytes beyond which the reference is updated.
    update_at: u64,
    /// Telemetry of the last acknowledgement.
    last_hops: Vec<Telemetry>,
    /// Arrival and round-trip time of the last acknowledgement.
    last: Option<(Instant, Duration)>,
    digest: Digest,
}

impl PowerTcp {
    /// Creates the state of a new queue pair, which sends at line rate with a window of HostBw·τ.
    pub fn new(config: &Config, line_rate: Rate) -> Self {
        let base_rtt = config.base_rtt.as_secs_f64();
        let first = line_rate.0 as f64 / 8.0 * base_rtt;
        Self {
            line_rate: line_rate.0 as f64,
            base_rtt,
            window: first,
            reference: first,
            power: 1.0,
            update_at: 0,
            last_hops: Vec::new(),
            last: None,
            digest: Digest::default(),
        }
    }

    /// Returns the normalised power of the hop with the most power, and the time over which it was measured (NSDI '22, algorithm 1).
    /// Returns `None` if [`follows`] rejects a comparison with the previous acknowledgement's telemetry.
    fn power_of_hops(&self, hops: &[Telemetry]) -> Option<(f64, f64)> {
        if !follows(hops, &self.last_hops) {
            return None;
        }
        let power = |(hop, last): (&Telemetry, &Telemetry)| {
            let bandwidth = hop.rate.0 as f64 / 8.0;
            let passed = (hop.at - last.at).as_secs_f64();
            // Current λ = q̇ + txRate, voltage ν = q + B·τ; f = λ·ν/(B²·τ).
            let growth = hop.backlog.0 as f64 - last.backlog.0 as f64;
            let current = ((growth + (hop.sent - last.sent) as f64) / passed).max(0.0);
            let voltage = hop.backlog.0 as f64 + bandwidth * self.base_rtt;
            (current * voltage / (bandwidth * bandwidth * self.base_rtt), passed)
        };
        hops.iter().zip(&self.last_hops).map(power).max_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// Returns the normalised power and the time over which it was measured (NSDI '22, algorithm 2); `None` without an earlier
    /// acknowledgement.
    fn power_of_delay(&self, ack: &Ack<'_>) -> Option<(f64, f64)> {
        let (at, rtt) = self.last.filter(|&(at, _)| at < ack.now)?;
        let passed = (ack.now - at).as_secs_f64();
        // f = (θ̇ + 1)·θ/τ.
        let delay = ack.rtt.as_secs_f64();
        let current = ((delay - rtt.as_secs_f64()) / passed + 1.0).max(MIN_CURRENT);
        Some((current * delay / self.base_rtt, passed))
    }

    /// Returns the newest power, and stores the acknowledgement's data for the next acknowledgement.
    fn measured(&mut self, config: &Config, ack: &Ack<'_>) -> Option<(f64, f64)> {
        match config.signal {
            Signal::Telemetry => {
                let found = self.power_of_hops(ack.telemetry);
                self.last_hops.clear();
                self.last_hops.extend_from_slice(ack.telemetry);
                found
            }
            Signal::Delay => {
                let found = self.power_of_delay(ack);
                self.last = Some((ack.now, ack.rtt));
                found
            }
        }
    }
}

impl CongestionControl for PowerTcp {
    type Config = Config;

    fn pace(&self) -> Pace {
        // Algorithm 1: the rate is cwnd/τ.
        let paced = (self.window * 8.0 / self.base_rtt).min(self.line_rate);
        Pace { rate: rate(paced), window: Some(Bytes(self.window as u64)) }
    }

    fn on_ack(&mut self, config: &Config, ack: &Ack<'_>) {
        self.digest.telemetry += u32::from(!ack.telemetry.is_empty());
        let Some((power, passed)) = self.measured(config, ack) else {
            self.update_at = self.update_at.max(ack.next);
            return;
        };
        // The power is smoothed over τ.
        let weight = passed.min(self.base_rtt) / self.base_rtt;
        self.power = (1.0 - weight) * self.power + weight * power;
        // cwnd ← γ·(cwnd_old/f + β) + (1 − γ)·cwnd. A lone flow needs HostBw·τ + β.
        let step = config.additive_increase.0 as f64;
        let newest = self.reference / self.power + step;
        let smallest = config.min_rate.0 as f64 / 8.0 * self.base_rtt;
        let largest = self.line_rate / 8.0 * self.base_rtt + step;
        let window =
            (config.weight * newest + (1.0 - config.weight) * self.window).max(smallest).min(largest);
        self.digest.record(self.window, window);
        self.window = window;
        // cwnd_old changes once per round-trip time.
        if ack.number > self.update_at {
            (self.reference, self.update_at) = (window, ack.next);
        }
    }

    fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{BDP, CAPACITY, T, run};
    use super::*;

    fn us(time: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(time)
    }

    fn hop(time: u64, sent: u64, backlog: u64) -> Telemetry {
        Telemetry { at: us(time), sent, backlog: Bytes(backlog), rate: CAPACITY }
    }

    fn ack<'a>(time: u64, rtt: u64, number: u64, telemetry: &'a [Telemetry]) -> Ack<'a> {
        let (now, rtt, acked) = (us(time), Duration::from_micros(rtt), Bytes(1_000));
        Ack { now, number, acked, next: number + 100_000, rtt, marked: false, telemetry, utilisation: None }
    }

    /// Parameters for a BDP of 100,000 bytes, and β of 10,000 bytes.
    fn config(signal: Signal) -> Config {
        Config::nsdi22(signal, CAPACITY, Duration::from_micros(8), 10)
    }

    #[test]
    fn windows_follow_a_trace_of_telemetry_worked_by_hand() {
        let config = config(Signal::Telemetry);
        assert_eq!(config.additive_increase, Bytes(10_000));
        let mut flow = PowerTcp::new(&config, CAPACITY);
        flow.on_ack(&config, &ack(10, 9, 1_000, &[hop(0, 0, 0), hop(0, 0, 0)]));
        assert_eq!((flow.window, flow.update_at), (100_000.0, 101_000));
        // In 4 µs the first hop sent 50,000 bytes and its queue grew to 25,000: λ = 75,000/4 µs = 1.5·B, ν = 125,000 = 1.25·B·τ, f = 1.875.
        // Smoothed: 0.5·1 + 0.5·1.875 = 1.4375. cwnd = 0.9·(100,000/1.4375 + 10,000) + 0.1·100,000.
        // The last packet of the RTT does not update the reference.
        flow.on_ack(&config, &ack(14, 11, 101_000, &[hop(4, 50_000, 25_000), hop(4, 50_000, 0)]));
        assert_eq!((flow.power, flow.reference), (1.4375, 100_000.0));
        let first = 0.9 * (100_000.0 / 1.4375 + 10_000.0) + 10_000.0;
        assert!((flow.window - first).abs() < 1e-9, "{}", flow.window);
        // The queue drains to 5,000 in 8 µs, while 100,000 bytes leave: λ = 0.8·B, ν = 1.05·B·τ, f = 0.84. The second hop: 0.9. Its RTT
        // ends.
        flow.on_ack(&config, &ack(22, 9, 101_001, &[hop(12, 150_000, 5_000), hop(12, 140_000, 0)]));
        assert!((flow.power - 0.9).abs() < 1e-12, "{}", flow.power);
        // 0.9·(100,000/0.9 + 10,000) + 0.1·first exceeds HostBw·τ + β.
        assert_eq!((flow.window, flow.reference, flow.update_at), (110_000.0, 110_000.0, 201_001));
        assert_eq!(flow.pace(), Pace { rate: CAPACITY, window: Some(Bytes(110_000)) });
        assert_eq!(flow.digest(), Digest { cnps: 0, cuts: 1, increases: 1, telemetry: 3 });
        // A path with a different number of hops restarts the measurement.
        flow.on_ack(&config, &ack(30, 9, 300_000, &[hop(20, 0, 900_000)]));
        assert_eq!((flow.window, flow.update_at), (110_000.0, 400_000));
    }

    #[test]
    fn windows_follow_a_trace_of_delays_worked_by_hand() {
        let config = config(Signal::Delay);
        let mut flow = PowerTcp::new(&config, CAPACITY);
        flow.on_ack(&config, &ack(10, 8, 1_000, &[]));
        assert_eq!(flow.window, 100_000.0);
        // θ grows from 8 to 10 µs in 4 µs: f = 1.5·10/8 = 1.875, as with telemetry.
        flow.on_ack(&config, &ack(14, 10, 2_000, &[]));
        assert!((flow.power - 1.4375).abs() < 1e-12, "{}", flow.power);
        // θ falls by 6 µs in 4 µs: the current is 0.5, not −0.5. f = 0.5·4/8, smoothed 0.5·1.4375 + 0.5·0.25.
        flow.on_ack(&config, &ack(18, 4, 3_000, &[]));
        assert!((flow.power - 0.84375).abs() < 1e-12, "{}", flow.power);
        let power = flow.power;
        // A second acknowledgement at the same time measures nothing.
        flow.on_ack(&config, &ack(18, 9, 4_000, &[]));
        assert_eq!((flow.power, flow.digest().telemetry), (power, 0));
        // The smallest rate is 100 Mb/s. The smallest window that an update yields is β plus a reference of that rate.
        for update in 1..9 {
            flow.on_ack(&config, &ack(18 + 8_000 * update, 8_000 * update, 1_000_000 * update, &[]));
        }
        assert!((flow.window - 10_000.0).abs() < 100.0, "{}", flow.window);
    }

    #[test]
    fn the_equilibrium_is_that_of_the_paper() {
        for signal in [Signal::Telemetry, Signal::Delay] {
            for flows in [2, 10, 50] {
                // β = B·τ/100. Unique equilibrium: the windows sum to B·τ + Σβ, and the queue is Σβ. A lone flow queues in its NIC.
                let config = Config::nsdi22(signal, CAPACITY, T, 100);
                let end = run(&config, PowerTcp::new(&config, CAPACITY), flows, 400, f64::MAX);
                let queued = flows as f64 * BDP / 100.0;
                let windows = flows as f64 * end.flow.window;
                assert!((windows / (BDP + queued) - 1.0).abs() < 0.02, "{signal:?} {flows}: {windows}");
                assert!(
                    (end.queue / queued - 1.0).abs() < 0.02,
                    "{signal:?} {flows}: {}, not {queued}",
                    end.queue
                );
            }
        }
    }
}
