//! DCQCN as ConnectX NICs run it: a reaction point with three periodic timers. Sources: NVIDIA's parameters, and the description by HPCC's
//! authors.
//!
//! Differences from the DCQCN paper: a CNP only sets flags, and the next update of α and the next check for a decrease read these flags.
//! There is no byte counter.

use shallows_core::{Duration, Instant, Rate};

use super::interface::{CongestionControl, Digest, Pace, Window};

/// Parameters of the reaction point. The comments on the fields give NVIDIA's names in brackets.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Weight g of the newest observation in α, above 0 and at most 1 (1 − `DCE_TCP_G`/1024).
    pub gain: f64,
    /// Period of the updates of α (`DCE_TCP_RTT`).
    pub alpha_period: Duration,
    /// Period of the checks for a decrease (`RATE_REDUCE_MONITOR_PERIOD`).
    pub decrease_period: Duration,
    /// Smallest factor by which a decrease multiplies the rate (`RPG_MIN_DEC_FAC`). A value up to 1/2 has no effect, because the DCQCN
    /// factor 1 − α/2 is at least 1/2.
    pub min_decrease_factor: f64,
    /// Period of the increases (`RPG_TIME_RESET`).
    pub increase_period: Duration,
    /// Number F of increases in fast recovery (`RPG_THRESHOLD`).
    pub fast_recovery: u32,
    /// Rate that the first increase after fast recovery adds to the target rate (`RPG_AI_RATE`).
    pub additive_increase: Rate,
    /// Rate that later increases add to the target rate (`RPG_HAI_RATE`).
    pub hyper_increase: Rate,
    /// Smallest rate (`RPG_MIN_RATE`).
    pub min_rate: Rate,
    /// Rate after the first CNP (`RATE_TO_SET_ON_FIRST_CNP`); `None` to keep the rate.
    pub first_rate: Option<Rate>,
    /// The decreases that also set the target rate to the current rate.
    pub clamp: Clamp,
    /// Limit of outstanding bytes, in addition to the rate.
    pub window: Window,
}

/// The decreases that also set the target rate to the current rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clamp {
    /// All decreases (`CLAMP_TGT_RATE`).
    Always,
    /// The first decrease after an increase (`CLAMP_TGT_RATE_AFTER_TIME_INC`).
    AfterIncrease,
}

impl Config {
    /// Returns the parameters that dumps of ConnectX NICs show. The NIC's byte counter, whose unit is unclear, is left out.
    pub fn connectx() -> Self {
        Self {
            gain: 5.0 / 1_024.0,
            alpha_period: Duration::from_micros(1),
            decrease_period: Duration::from_micros(4),
            min_decrease_factor: 0.5,
            increase_period: Duration::from_micros(300),
            fast_recovery: 1,
            additive_increase: Rate(5_000_000),
            hyper_increase: Rate(50_000_000),
            min_rate: Rate(1_000_000),
            first_rate: None,
            clamp: Clamp::AfterIncrease,
            window: Window::None,
        }
    }

    /// Returns the parameters that HPCC's repository gives to DCQCN (`run.py`, `dcqcn`) for NICs of rate `line_rate`.
    pub fn hpcc_repo(line_rate: Rate) -> Self {
        Self {
            gain: 1.0 / 256.0,
            // 5 and 50 Mb/s at 25 Gb/s.
            additive_increase: Rate(line_rate.0 / 5_000),
            hyper_increase: Rate(line_rate.0 / 500),
            min_rate: Rate(1_000_000_000),
            ..Self::connectx()
        }
    }
}

/// State of one queue pair.
#[derive(Clone, Debug)]
pub struct ConnectX {
    line_rate: f64,
    /// Current rate R_C, in bits per second.
    current: f64,
    /// Target rate R_T, in bits per second.
    target: f64,
    /// α after the update at `alpha_at`.
    alpha: f64,
    /// Time of the last update that `alpha` includes.
    alpha_at: Instant,
    /// Whether a CNP has arrived since `alpha_at`.
    alpha_notified: bool,
    /// Time of the first CNP, which starts the timers.
    armed: Option<Instant>,
    /// Time of the next check for a decrease; `None` if no CNP has arrived since the last check.
    decrease_at: Option<Instant>,
    /// Time of the next increase; `None` at line rate, where an increase changes nothing.
    increase_at: Option<Instant>,
    /// Number of increases since the last decrease.
    stage: u32,
    window: Window,
    digest: Digest,
}

impl ConnectX {
    /// Creates the state of a new queue pair, which sends at line rate without a rate limiter.
    pub fn new(config: &Config, line_rate: Rate) -> Self {
        let line_rate = line_rate.0 as f64;
        Self {
            line_rate,
            current: line_rate,
            target: line_rate,
            alpha: 1.0,
            alpha_at: Instant::ZERO,
            alpha_notified: false,
            armed: None,
            decrease_at: None,
            increase_at: None,
            stage: 0,
            window: config.window,
            digest: Digest::default(),
        }
    }

    /// Starts the timers at the first CNP.
    fn arm(&mut self, config: &Config, now: Instant) {
        (self.armed, self.alpha_at, self.alpha) = (Some(now), now, 1.0);
        if let Some(rate) = config.first_rate {
            self.current = self.line_rate.min(rate.0 as f64);
            self.increase_at = Some(now + config.increase_period);
        }
        self.target = self.current;
    }

    /// Returns the number of updates of α that are due, and the value of α after them. α has no effect between decreases, so it is computed
    /// only when it is needed.
    fn alpha_after(&self, config: &Config, now: Instant) -> (u64, f64) {
        let periods = now.saturating_since(self.alpha_at).0 / config.alpha_period.0;
        if self.armed.is_none() || periods == 0 {
            return (0, self.alpha);
        }
        // α ← (1 − g)α + g in a period with a CNP, else α ← (1 − g)α.
        let kept = 1.0 - config.gain;
        let first = kept * self.alpha + if self.alpha_notified { config.gain } else { 0.0 };
        (periods, first * libm::pow(kept, (periods - 1) as f64))
    }

    /// Updates α for each period that has ended.
    fn update_alpha(&mut self, config: &Config, now: Instant) {
        let (periods, alpha) = self.alpha_after(config, now);
        if periods > 0 {
            (self.alpha, self.alpha_at) = (alpha, self.alpha_at + config.alpha_period * periods);
            self.alpha_notified = false;
        }
    }

    fn decrease(&mut self, config: &Config, now: Instant) {
        self.update_alpha(config, now);
        let clamps = match config.clamp {
            Clamp::Always => true,
            Clamp::AfterIncrease => self.stage > 0,
        };
        if clamps {
            self.target = self.current;
        }
        let factor = (1.0 - self.alpha / 2.0).max(config.min_decrease_factor);
        self.current = (self.current * factor).max(config.min_rate.0 as f64).min(self.line_rate);
        self.stage = 0;
        (self.decrease_at, self.increase_at) = (None, Some(now + config.increase_period));
        self.digest.cuts += 1;
    }

    fn increase(&mut self, config: &Config, now: Instant) {
        let step = match self.stage.cmp(&config.fast_recovery) {
            std::cmp::Ordering::Less => Rate(0),
            std::cmp::Ordering::Equal => config.additive_increase,
            std::cmp::Ordering::Greater => config.hyper_increase,
        };
        self.target = (self.target + step.0 as f64).min(self.line_rate);
        self.current = f64::midpoint(self.target, self.current);
        self.stage += 1;
        self.increase_at = Some(now + config.increase_period);
        self.digest.increases += 1;
        if self.current.round() >= self.line_rate {
            (self.current, self.target, self.increase_at) = (self.line_rate, self.line_rate, None);
        }
    }
}

impl CongestionControl for ConnectX {
    type Config = Config;

    fn pace(&self) -> Pace {
        self.window.pace(self.line_rate, self.current)
    }

    fn on_cnp(&mut self, config: &Config, now: Instant) {
        self.on_timer(config, now);
        self.digest.cnps += 1;
        if let Some(armed) = self.armed {
            self.update_alpha(config, now);
            self.alpha_notified = true;
            let checks = now.saturating_since(armed).0 / config.decrease_period.0;
            self.decrease_at.get_or_insert(armed + config.decrease_period * (checks + 1));
        } else {
            self.arm(config, now);
            self.decrease_at = Some(now + config.decrease_period);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.decrease_at.into_iter().chain(self.increase_at).min()
    }

    fn on_timer(&mut self, config: &Config, now: Instant) {
        while let Some(at) = self.deadline().filter(|&at| at <= now) {
            // If both are due at the same time, the increase comes first. HPCC's repository has the same order, because the event of the
            // increase is older.
            if self.increase_at == Some(at) {
                self.increase(config, at);
            } else {
                self.decrease(config, at);
            }
        }
    }

    fn alpha(&self, config: &Config, now: Instant) -> Option<f64> {
        Some(self.alpha_after(config, now).1)
    }

    fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(time: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(time)
    }

    fn assert_near(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-12, "{found}, expected {expected}");
    }

    #[test]
    fn rates_follow_a_trace_worked_by_hand() {
        let config = Config::connectx();
        let mut flow = ConnectX::new(&config, Rate::from_gbps(100));
        flow.on_cnp(&config, ns(100));
        // The first CNP cuts nothing by itself. The check 4 µs later follows four updates of α, for which no further CNP has come:
        // α = (1019/1024)⁴ = 0.9806113367.
        assert_eq!((flow.pace().rate, flow.deadline()), (Rate::from_gbps(100), Some(ns(4_100))));
        flow.on_timer(&config, ns(4_100));
        let kept: f64 = 1_019.0 / 1_024.0;
        let alpha = kept * kept * kept * kept;
        assert_near(flow.alpha, alpha);
        let cut = 100e9 * (1.0 - alpha / 2.0);
        assert_near(flow.current, cut);
        assert_eq!((flow.target, flow.deadline()), (100e9, Some(ns(304_100))));
        // CNPs at 5.5 and 5.6 µs, between the updates at 5.1 and 6.1 µs, count once. The check at 8.1 µs follows the updates at 7.1 and 8.1
        // µs.
        flow.on_cnp(&config, ns(5_500));
        flow.on_cnp(&config, ns(5_600));
        assert_eq!(flow.deadline(), Some(ns(8_100)));
        flow.on_timer(&config, ns(8_100));
        let alpha = (alpha * kept * kept + 5.0 / 1_024.0) * kept * kept;
        assert_near(flow.alpha, alpha);
        // No increase came between the two decreases, so the target rate stays.
        let cut = cut * (1.0 - alpha / 2.0);
        assert_near(flow.current, cut);
        assert_eq!((flow.target, flow.digest().cuts, flow.digest().cnps), (100e9, 2, 3));
        // Increases 300 µs apart: fast recovery, additive, hyper. The target rate is already the line rate.
        flow.on_timer(&config, ns(308_100));
        let recovered = f64::midpoint(cut, 100e9);
        assert_near(flow.current, recovered);
        // The first decrease after an increase also sets the target rate.
        flow.on_cnp(&config, ns(341_000));
        flow.on_timer(&config, ns(344_100));
        assert_near(flow.target, recovered);
        // The CNP at 341.0 µs counts in the update at 341.1 µs, the 333rd since the last check. Three more follow.
        let alpha = (alpha * libm::pow(kept, 333.0) + 5.0 / 1_024.0) * kept * kept * kept;
        assert_near(flow.current, recovered * (1.0 - alpha / 2.0));
        let cut = flow.current;
        flow.on_timer(&config, ns(344_100 + 300_000));
        assert_near(flow.current, f64::midpoint(cut, recovered));
        flow.on_timer(&config, ns(344_100 + 600_000));
        assert_near(flow.target, recovered + 5e6);
        flow.on_timer(&config, ns(344_100 + 1_200_000));
        assert_near(flow.target, recovered + 105e6);
        assert_eq!(flow.digest(), Digest { cnps: 4, cuts: 3, increases: 5, telemetry: 0 });
    }

    #[test]
    fn a_check_at_the_time_of_an_increase_comes_second() {
        let config = Config { increase_period: Duration::from_micros(8), ..Config::connectx() };
        let mut flow = ConnectX::new(&config, Rate::from_gbps(100));
        flow.on_cnp(&config, ns(0));
        flow.on_timer(&config, ns(4_000));
        let cut = flow.current;
        flow.on_cnp(&config, ns(11_000));
        assert_eq!(flow.deadline(), Some(ns(12_000)));
        flow.on_timer(&config, ns(12_000));
        // The increase of 12 µs precedes the decrease of 12 µs, which therefore clamps the target rate.
        assert_eq!((flow.target, flow.digest().increases), (f64::midpoint(cut, 100e9), 1));
        assert_eq!(flow.deadline(), Some(ns(20_000)));
    }

    #[test]
    fn presets_limits_and_first_rate_hold() {
        let repository = Config::hpcc_repo(Rate::from_gbps(100));
        assert_eq!(
            (repository.additive_increase, repository.hyper_increase, repository.min_rate, repository.gain),
            (Rate(20_000_000), Rate(200_000_000), Rate(1_000_000_000), 1.0 / 256.0)
        );
        let config = Config {
            clamp: Clamp::Always,
            first_rate: Some(Rate::from_gbps(10)),
            min_decrease_factor: 0.75,
            ..repository
        };
        let mut flow = ConnectX::new(&config, Rate::from_gbps(100));
        flow.on_cnp(&config, ns(0));
        assert_eq!((flow.current, flow.target), (10e9, 10e9));
        flow.on_timer(&config, ns(4_000));
        assert_eq!((flow.current, flow.target), (7.5e9, 10e9));
        flow.on_cnp(&config, ns(4_001));
        flow.on_timer(&config, ns(8_000));
        assert_eq!((flow.current, flow.target), (5.625e9, 7.5e9));
        for check in 2..10 {
            flow.on_cnp(&config, ns(4_000 * check + 1));
            flow.on_timer(&config, ns(4_000 * check + 4_000));
        }
        assert_eq!(flow.pace().rate, Rate(1_000_000_000));
        // Increases lead to line rate, where the timer stops.
        flow.on_timer(&config, ns(1_000_000_000));
        assert_eq!((flow.pace().rate, flow.deadline()), (Rate::from_gbps(100), None));
    }
}
