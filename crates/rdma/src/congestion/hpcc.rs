//! HPCC (Li et al., SIGCOMM '19): a window from in-band telemetry, which measures the utilisation of each hop.

use shallows_core::{Bytes, Duration, Rate};

use super::interface::{Ack, CongestionControl, Digest, Pace, Telemetry, follows, rate};

/// Parameters of HPCC.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Target utilisation η, above 0 and at most 1.
    pub target: f64,
    /// Number of consecutive additive increases (maxStage) after which an update divides the window by U/η even if the utilisation U is
    /// below the target η.
    pub max_stage: u32,
    /// Bytes that an update adds to the window (W_AI).
    pub additive_increase: Bytes,
    /// Round-trip time T without queues; the same for all queue pairs.
    pub base_rtt: Duration,
    /// Smallest rate.
    pub min_rate: Rate,
    /// Whether each hop has its own utilisation, reference and stage; if so, the smallest window applies (`MULTI_RATE` of HPCC's
    /// repository).
    pub per_hop: bool,
    /// Whether to ignore hops without a queue in acknowledgements that do not update the reference window (`SAMPLE_FEEDBACK`).
    pub skip_empty: bool,
}

impl Config {
    /// Returns the parameters of the paper's simulations for a round-trip time. The additive increase W_AI leaves room for 100 flows:
    /// W_init·(1 − η)/100 (SIGCOMM '19, section 3.3).
    pub fn sigcomm19(line_rate: Rate, base_rtt: Duration) -> Self {
        let target = 0.95;
        Self {
            target,
            // The authors' project page calls the 5 in the paper a typo.
            max_stage: 0,
            additive_increase: line_rate.bytes_in(base_rtt).scale((1.0 - target) / 100.0),
            base_rtt,
            min_rate: Rate(100_000_000),
            per_hop: false,
            skip_empty: false,
        }
    }
}

/// Utilisation, reference window and stage of one hop, or of the hop with the highest utilisation.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Utilisation U.
    utilisation: f64,
    /// Reference window W_c, in bytes: the window at the last update of the reference.
    reference: f64,
    /// Number of additive increases in a row (incStage).
    stage: u32,
}

/// HPCC's state of one queue pair.
#[derive(Clone, Debug)]
pub struct Hpcc {
    /// Base round-trip time T, in seconds.
    base_rtt: f64,
    /// Window W_init of a new queue pair, in bytes.
    first: f64,
    /// Window W, in bytes.
    window: f64,
    /// Measurements of each hop, or only those of the hop with the highest utilisation.
    measured: Vec<Measured>,
    /// Number of acknowledged bytes beyond which the reference is updated (lastUpdateSeq).
    update_at: u64,
    /// Telemetry L of each hop in the last acknowledgement that did not ignore the hop.
    last: Vec<Telemetry>,
    digest: Digest,
}

impl Hpcc {
    /// Creates the state of a new queue pair, which sends at line rate with a window of W_init = B_nic·T.
    pub fn new(config: &Config, line_rate: Rate) -> Self {
        let base_rtt = config.base_rtt.as_secs_f64();
        let first = line_rate.0 as f64 / 8.0 * base_rtt;
        Self {
            base_rtt,
            first,
            window: first,
            measured: vec![Measured { utilisation: 1.0, reference: first, stage: 0 }],
            update_at: 0,
            last: Vec::new(),
            digest: Digest::default(),
        }
    }

    /// Returns the utilisation u_j of a hop, and the time over which it was measured, in seconds.
    fn utilisation(&self, hop: &Telemetry, last: &Telemetry) -> (f64, f64) {
        let bytes_per_second = hop.rate.0 as f64 / 8.0;
        let passed = (hop.at - last.at).as_secs_f64();
        let backlog = hop.backlog.min(last.backlog).0 as f64;
        let sent = (hop.sent - last.sent) as f64 / passed;
        // u_j = min(qlen, previous qlen)/(B·T) + txRate/B.
        (backlog / (bytes_per_second * self.base_rtt) + sent / bytes_per_second, passed)
    }

    /// Updates the average U with the utilisation u, which was measured over τ = `passed` seconds: U ← (1 − τ/T)·U + τ/T·u.
    fn average(&mut self, index: usize, (utilisation, passed): (f64, f64)) {
        let weight = passed.min(self.base_rtt) / self.base_rtt;
        let before = &mut self.measured[index].utilisation;
        *before = (1.0 - weight) * *before + weight * utilisation;
    }

    /// Includes the telemetry of an acknowledgement in U (SIGCOMM '19, algorithm 1, `MeasureInflight`). Leaves out hops for which `skips`
    /// is true. Returns the resulting window, with `per_hop` the smallest one of all hops; `None` if all hops were left out.
    fn measure(
        &mut self,
        config: &Config,
        hops: &[Telemetry],
        skips: impl Fn(&Telemetry) -> bool,
    ) -> Option<f64> {
        let mut highest: Option<(f64, f64)> = None;
        let mut window: Option<f64> = None;
        for (index, hop) in hops.iter().enumerate() {
            if skips(hop) {
                // RdmaHw::UpdateRateHp: a hop that is left out limits the window by its reference.
                let reference = self.measured.get(index).map(|measured| measured.reference);
                window = if config.per_hop { smaller(window, reference) } else { window };
                continue;
            }
            let found = self.utilisation(hop, &self.last[index]);
            self.last[index] = *hop;
            highest = highest.filter(|highest| highest.0 >= found.0).or(Some(found));
            if config.per_hop {
                self.average(index, found);
                window = smaller(window, Some(self.computed(config, &self.measured[index]).0));
            }
        }
        let highest = highest?;
        if !config.per_hop {
            self.average(0, highest);
            window = Some(self.computed(config, &self.measured[0]).0);
        }
        window
    }

    /// Handles an acknowledgement that carries the highest utilisation on the path, as measured by the switches.
    pub(super) fn on_utilisation(&mut self, config: &Config, ack: &Ack<'_>, utilisation: f64) {
        self.digest.telemetry += 1;
        // RdmaHw::UpdateRateHpPint: the first acknowledgement begins the second round trip.
        if self.update_at == 0 {
            self.update_at = ack.next;
            return;
        }
        self.measured[0].utilisation = utilisation;
        let (window, _) = self.computed(config, &self.measured[0]);
        self.adopt(config, ack, window);
    }

    /// Changes the window at each acknowledgement, and its reference once per round-trip time (section 3.2).
    fn adopt(&mut self, config: &Config, ack: &Ack<'_>, window: f64) {
        self.digest.record(self.window, window);
        self.window = window;
        if ack.number > self.update_at {
            self.update_at = ack.next;
            for index in 0..self.measured.len() {
                let (reference, stage) = self.computed(config, &self.measured[index]);
                self.measured[index] = Measured { reference, stage, ..self.measured[index] };
            }
        }
    }

    /// Returns the window and the stage that follow from U (SIGCOMM '19, algorithm 1, `ComputeWind`).
    fn computed(&self, config: &Config, measured: &Measured) -> (f64, u32) {
        let step = config.additive_increase.0 as f64;
        let Measured { utilisation, reference, stage } = *measured;
        let (window, stage) = if utilisation >= config.target || stage >= config.max_stage {
            // Equation (4): W = W_c/(U/η) + W_AI.
            (reference / (utilisation / config.target) + step, 0)
        } else {
            (reference + step, stage + 1)
        };
        let smallest = config.min_rate.0 as f64 / 8.0 * self.base_rtt;
        (window.max(smallest).min(self.first), stage)
    }
}

/// Returns the smaller of two windows.
fn smaller(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::min)
}

impl CongestionControl for Hpcc {
    type Config = Config;

    fn pace(&self) -> Pace {
        // R = W/T.
        Pace { rate: rate(self.window * 8.0 / self.base_rtt), window: Some(Bytes(self.window as u64)) }
    }

    fn on_ack(&mut self, config: &Config, ack: &Ack<'_>) {
        if ack.telemetry.is_empty() {
            return;
        }
        self.digest.telemetry += 1;
        let hops = ack.telemetry;
        // The telemetry must be comparable with the stored telemetry: as many hops, each with a later time and a count of sent bytes that
        // is not smaller.
        if !follows(hops, &self.last) {
            self.last.clear();
            self.last.extend_from_slice(hops);
            self.measured.resize(if config.per_hop { hops.len() } else { 1 }, self.measured[0]);
            self.update_at = self.update_at.max(ack.next);
            return;
        }
        let is_update = ack.number > self.update_at;
        let skips = |hop: &Telemetry| config.skip_empty && !is_update && hop.backlog == Bytes(0);
        let Some(window) = self.measure(config, hops, skips) else { return };
        self.adopt(config, ack, window);
    }

    fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Instant;

    use super::super::testing::{BDP, CAPACITY, T, run};
    use super::*;

    fn ack<'a>(number: u64, next: u64, telemetry: &'a [Telemetry]) -> Ack<'a> {
        let (now, acked, rtt) = (Instant::ZERO, Bytes(1_000), T);
        Ack { now, number, acked, next, rtt, marked: false, telemetry, utilisation: None }
    }

    fn hop(us: u64, sent: u64, backlog: u64) -> Telemetry {
        let at = Instant::ZERO + Duration::from_micros(us);
        Telemetry { at, sent, backlog: Bytes(backlog), rate: CAPACITY }
    }

    #[test]
    fn windows_follow_a_trace_worked_by_hand() {
        let config = Config {
            additive_increase: Bytes(80),
            max_stage: 1,
            base_rtt: Duration::from_micros(8),
            ..Config::sigcomm19(CAPACITY, T)
        };
        let mut flow = Hpcc::new(&config, CAPACITY);
        // 100 Gb/s for 8 µs.
        assert_eq!(flow.pace(), Pace { rate: CAPACITY, window: Some(Bytes(100_000)) });
        flow.on_ack(&config, &ack(1_000, 100_000, &[hop(0, 0, 60_000), hop(0, 0, 0)]));
        assert_eq!((flow.window, flow.update_at), (100_000.0, 100_000));
        // 4 µs later the first hop has sent 50,000 bytes (txRate 1) and the smaller backlog is 50,000 (0.5): u = 1.5; the second: 0.5.
        // U = (1 − 4/8)·1 + 4/8·1.5 = 1.25. W = 100,000/(1.25/0.95) + 80 = 76,080. The reference waits for the end of the RTT.
        flow.on_ack(&config, &ack(100_000, 150_000, &[hop(4, 50_000, 50_000), hop(4, 25_000, 0)]));
        assert_eq!((flow.measured[0].utilisation, flow.measured[0].reference), (1.25, 100_000.0));
        assert!((flow.window - 76_080.0).abs() < 1e-9, "{}", flow.window);
        // 16 µs count as 8: U = u = 0.5·2/2. Below η at stage 0 < 1: W = W_c + 80, capped at W_init; the reference is updated.
        flow.on_ack(&config, &ack(100_001, 170_000, &[hop(20, 150_000, 0), hop(20, 125_000, 0)]));
        assert_eq!(
            (flow.measured[0].utilisation, flow.window, flow.measured[0].reference),
            (0.5, 100_000.0, 100_000.0)
        );
        assert_eq!((flow.measured[0].stage, flow.update_at), (1, 170_000));
        // At stage 1, W follows U: U = 0.5·0.5 + 0.5·3 = 1.75.
        flow.on_ack(&config, &ack(170_001, 180_000, &[hop(24, 200_000, 200_000), hop(24, 275_000, 0)]));
        assert_eq!((flow.measured[0].utilisation, flow.measured[0].stage), (1.75, 0));
        assert!(
            (flow.measured[0].reference - (100_000.0 / (1.75 / 0.95) + 80.0)).abs() < 1e-9,
            "{}",
            flow.measured[0].reference
        );
        assert_eq!(flow.digest(), Digest { cnps: 0, cuts: 2, increases: 1, telemetry: 4 });
        // A different path, or a packet that left earlier, restarts the measurement.
        let before = flow.window;
        flow.on_ack(&config, &ack(190_000, 200_000, &[hop(28, 0, 900_000)]));
        flow.on_ack(&config, &ack(200_001, 300_000, &[hop(27, 0, 900_000)]));
        assert_eq!((flow.window, flow.measured[0].utilisation), (before, 1.75));
        // The smallest window is that of 100 Mb/s.
        for packet in 1..20 {
            let hops = [hop(27 + 8 * packet, 100_000 * packet, 10_000_000)];
            flow.on_ack(&config, &ack(300_000 + packet, 300_000 + packet, &hops));
        }
        assert_eq!(flow.pace(), Pace { rate: Rate(100_000_000), window: Some(Bytes(100)) });
    }

    #[test]
    fn each_hop_has_a_window_of_its_own_if_asked() {
        // RdmaHw::UpdateRateHp of HPCC's repository with MULTI_RATE 1: the first hop has u = 0.5 and the second u = 1.5, so that U is 0.75
        // and 1.25 after half of T. Windows: 100,000/(0.75/0.95), capped at W_init, and 100,000/(1.25/0.95). The smaller one counts.
        let config = Config {
            additive_increase: Bytes(80),
            base_rtt: Duration::from_micros(8),
            per_hop: true,
            ..Config::sigcomm19(CAPACITY, T)
        };
        let mut flow = Hpcc::new(&config, CAPACITY);
        flow.on_ack(&config, &ack(1_000, 100_000, &[hop(0, 0, 0), hop(0, 0, 50_000)]));
        flow.on_ack(&config, &ack(100_001, 150_000, &[hop(4, 25_000, 0), hop(4, 50_000, 50_000)]));
        let utilisations: Vec<f64> = flow.measured.iter().map(|measured| measured.utilisation).collect();
        assert_eq!(utilisations, [0.75, 1.25]);
        assert!((flow.window - 76_080.0).abs() < 1e-9, "{}", flow.window);
        let references: Vec<f64> = flow.measured.iter().map(|measured| measured.reference).collect();
        assert_eq!(references, [100_000.0, flow.window]);
        // The window of the second hop starts from its own reference: U = 0.5·1.25 + 0.5·1.5.
        flow.on_ack(&config, &ack(150_001, 200_000, &[hop(8, 50_000, 0), hop(8, 100_000, 50_000)]));
        assert!((flow.window - (76_080.0 / (1.375 / 0.95) + 80.0)).abs() < 1e-9, "{}", flow.window);
    }

    #[test]
    fn hops_without_a_queue_are_left_out_within_a_round_trip_time_if_asked() {
        // SAMPLE_FEEDBACK 1: within a round-trip time, a hop without a queue keeps its earlier telemetry. The next update then measures
        // over the whole 8 µs: 100,000 bytes, u = 1.
        for per_hop in [false, true] {
            let config = Config {
                base_rtt: Duration::from_micros(8),
                per_hop,
                skip_empty: true,
                ..Config::sigcomm19(CAPACITY, T)
            };
            let mut flow = Hpcc::new(&config, CAPACITY);
            flow.on_ack(&config, &ack(1_000, 100_000, &[hop(0, 0, 0)]));
            flow.on_ack(&config, &ack(2_000, 150_000, &[hop(4, 25_000, 0)]));
            assert_eq!((flow.measured[0].utilisation, flow.window), (1.0, 100_000.0));
            flow.on_ack(&config, &ack(100_001, 200_000, &[hop(8, 100_000, 0)]));
            assert_eq!((flow.measured[0].utilisation, flow.last[0].sent), (1.0, 100_000));
        }
    }

    #[test]
    fn the_fixed_point_is_that_of_the_closed_form() {
        // W = W·η/U + W_AI with N·W = U·BDP gives U* = η + N·W_AI/BDP, with a BDP of 162,500 bytes. The link passes min(1, U*), and the
        // queue is (U* − 1)·BDP if that is positive.
        let config = Config { additive_increase: Bytes(80), ..Config::sigcomm19(CAPACITY, T) };
        for (flows, expected) in [(1, 0.9505), (50, 0.9746), (100, 0.9992), (200, 1.0485), (320, 1.1075)] {
            let end = run(&config, Hpcc::new(&config, CAPACITY), flows, 1_000, f64::MAX);
            let utilisation = end.flow.measured[0].utilisation;
            assert!((utilisation / expected - 1.0).abs() < 1e-3, "{flows}: {utilisation}");
            assert!((end.used / f64::min(1.0, expected) - 1.0).abs() < 1e-3, "{flows}: {}", end.used);
            let queue = f64::max(0.0, 0.95 + flows as f64 * 80.0 / BDP - 1.0) * BDP;
            assert!((end.queue - queue).abs() <= 0.02 * queue, "{flows}: {}, expected {queue}", end.queue);
        }
    }
}
