//! HPCC with PINT (Ben Basat et al., SIGCOMM '20, section 6.1; `CC_MODE` 10 of HPCC's repository): the window of HPCC, computed from the
//! highest utilisation on the path. Switches measure the utilisation.

use shallows_core::Rate;
use shallows_core::packet::mix;

use super::hpcc::{self, Hpcc};
use super::interface::{Ack, CongestionControl, Digest, Pace};
use super::pint;

/// Parameters of HPCC with PINT.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Parameters of HPCC; `per_hop` and `skip_empty` have no effect.
    pub hpcc: hpcc::Config,
    /// Base of the logarithms in PINT's codes, above 1.
    pub log_base: f64,
    /// Share of the acknowledgements that change the window, above 0 and at most 1 (`PINT_PROB`).
    pub sampled: f64,
}

impl Config {
    /// Returns the parameters `hpcc` with the PINT of HPCC's repository: each packet has one byte of PINT, and each acknowledgement changes
    /// the window.
    pub fn hpcc_repo(hpcc: hpcc::Config) -> Self {
        Self { hpcc, log_base: pint::LOG_BASE, sampled: 1.0 }
    }

    /// Returns the parameters that the switches need.
    pub fn of_switches(&self) -> pint::Config {
        pint::Config { log_base: self.log_base, base_rtt: self.hpcc.base_rtt }
    }
}

/// State of one queue pair.
#[derive(Clone, Debug)]
pub struct HpccPint(Hpcc);

impl HpccPint {
    /// Creates the state of a new queue pair, which sends at line rate.
    pub fn new(config: &Config, line_rate: Rate) -> Self {
        Self(Hpcc::new(&config.hpcc, line_rate))
    }
}

impl CongestionControl for HpccPint {
    type Config = Config;

    fn pace(&self) -> Pace {
        self.0.pace()
    }

    fn on_ack(&mut self, config: &Config, ack: &Ack<'_>) {
        let Some(code) = ack.utilisation else { return };
        // A hash selects the packets, as in PINT. The upper 53 bits of the hash give a number from 0 to 1.
        let drawn = (mix(ack.number ^ mix(ack.now.0)) >> 11) as f64 / (1u64 << 53) as f64;
        if drawn < config.sampled {
            self.0.on_utilisation(&config.hpcc, ack, config.of_switches().decode(code));
        }
    }

    fn digest(&self) -> Digest {
        self.0.digest()
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU16;

    use shallows_core::{Bytes, Duration, Instant};

    use super::super::testing::{BDP, CAPACITY, T, run};
    use super::*;

    fn config(base_rtt: Duration, sampled: f64) -> Config {
        let hpcc = hpcc::Config {
            additive_increase: Bytes(80),
            max_stage: 1,
            ..hpcc::Config::sigcomm19(CAPACITY, base_rtt)
        };
        Config { sampled, ..Config::hpcc_repo(hpcc) }
    }

    /// Returns an acknowledgement with the PINT code of this logarithm, or without a code if `logarithm` is `None`.
    fn ack(number: u64, next: u64, logarithm: Option<u16>) -> Ack<'static> {
        let utilisation = logarithm.map(|logarithm| NonZeroU16::MIN.saturating_add(logarithm));
        let (now, acked) = (Instant(number), Bytes(1_000));
        Ack { now, number, acked, next, rtt: T, marked: false, telemetry: &[], utilisation }
    }

    #[test]
    fn windows_follow_a_trace_worked_by_hand() {
        let config = config(Duration::from_micros(8), 1.0);
        let mut flow = HpccPint::new(&config, CAPACITY);
        let window = |flow: &HpccPint| flow.pace().window.expect("HPCC has a window").0;
        // 100 Gb/s for 8 µs. The first acknowledgement only marks the end of the first round trip.
        flow.on_ack(&config, &ack(1_000, 100_000, Some(140)));
        assert_eq!(window(&flow), 100_000);
        // 1.05^140 = 925.8 steps of 1/512 are U = 1.808. W = 100,000/(1.808/0.95) + 80 = 52,619. The reference stays at 100,000.
        flow.on_ack(&config, &ack(2_000, 100_000, Some(140)));
        assert!(window(&flow).abs_diff(52_619) < 30, "{}", window(&flow));
        // Within the same round trip, W = 100,000 + 80 is limited to W_init: U = 1.05^100/512 = 0.257.
        flow.on_ack(&config, &ack(3_000, 100_000, Some(100)));
        assert_eq!(window(&flow), 100_000);
        // A round trip later, the reference becomes the window of U = 1.808.
        flow.on_ack(&config, &ack(100_001, 160_000, Some(140)));
        let reference = window(&flow);
        // Below the target, maxStage = 1 allows one addition; then W = W_c/(U/η) + 80, with U = 1.05^120/512 = 0.6815.
        flow.on_ack(&config, &ack(160_001, 200_000, Some(120)));
        assert_eq!(window(&flow), reference + 80);
        flow.on_ack(&config, &ack(200_001, 250_000, Some(120)));
        let expected = (reference + 80) as f64 * 0.95 / 0.6815 + 80.0;
        assert!((window(&flow) as f64 / expected - 1.0).abs() < 1e-3, "{} {expected}", window(&flow));
        assert_eq!(flow.digest().telemetry, 6);
    }

    #[test]
    fn an_acknowledgement_without_a_code_changes_nothing() {
        let config = config(T, 1.0);
        let mut flow = HpccPint::new(&config, CAPACITY);
        for number in 1..10 {
            flow.on_ack(&config, &ack(number * 100_000, number * 100_000, None));
        }
        assert_eq!((flow.digest(), flow.pace().rate), (Digest::default(), CAPACITY));
    }

    #[test]
    fn the_utilisation_at_the_fixed_point_is_that_of_hpcc() {
        // W = W·η/U + W_AI gives U* = η + N·W_AI/BDP. A code is up to 5 % above or below U, at random.
        let config = config(T, 1.0);
        for (flows, expected) in [(1, 0.9505), (50, 0.9746)] {
            let end = run(&config, HpccPint::new(&config, CAPACITY), flows, 1_000, f64::MAX);
            assert!((end.used / expected - 1.0).abs() < 0.05, "{flows}: {}", end.used);
            assert!(end.queue < 0.05 * BDP, "{flows}: {}", end.queue);
        }
    }

    #[test]
    fn a_share_of_the_acknowledgements_counts() {
        let config = config(T, 0.25);
        let mut flow = HpccPint::new(&config, CAPACITY);
        for number in 1..=10_000 {
            flow.on_ack(&config, &ack(number * 1_000, number * 1_000, Some(100)));
        }
        // Binomial with a standard deviation of 43.
        assert!(flow.digest().telemetry.abs_diff(2_500) < 215, "{:?}", flow.digest());
    }

    #[test]
    fn acknowledgements_of_the_same_bytes_at_other_times_are_drawn_anew() {
        // Queue pairs with equal short messages end at the same number of bytes. The draw also depends on the time, whatever the bits of
        // this number.
        let config = config(T, 0.25);
        for number in [0, u64::MAX] {
            let mut flow = HpccPint::new(&config, CAPACITY);
            for now in 1..=10_000 {
                flow.on_ack(&config, &Ack { number, ..ack(now * 1_000, now * 1_000, Some(100)) });
            }
            assert!(flow.digest().telemetry.abs_diff(2_500) < 215, "{number}: {:?}", flow.digest());
        }
    }
}
