//! DCQCN as published (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM '15): the reaction point.
//!
//! DCQCN has two other parts: the congestion point is a switch's marker, and the notification point belongs to the responder.

use shallows_core::{Bytes, Duration, Instant, Rate};

use super::interface::{CongestionControl, Digest, Pace, Window};

/// Parameters of DCQCN's reaction point.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Weight g of the newest observation in α, above 0 and at most 1.
    pub gain: f64,
    /// Time without a CNP after which α decreases; must be longer than the shortest time between two CNPs.
    pub alpha_period: Duration,
    /// Period of the timer that increases the rate.
    pub increase_period: Duration,
    /// Number of bytes after which the byte counter increases the rate; `None` for no byte counter.
    pub increase_bytes: Option<Bytes>,
    /// Number F of expiries of the timer or of the byte counter after which fast recovery ends.
    pub fast_recovery: u32,
    /// Rate R_AI that an additive increase adds to the target rate.
    pub additive_increase: Rate,
    /// Rate R_HAI that a hyper increase adds to the target rate; `None` if there are only additive increases.
    pub hyper_increase: Option<Rate>,
    /// Smallest rate.
    pub min_rate: Rate,
    /// Limit of outstanding bytes, in addition to the rate.
    pub window: Window,
}

impl Config {
    /// Returns the parameters of the paper (SIGCOMM '15, table 14), which were chosen for 40 Gb/s. The table names no hyper increase.
    pub fn sigcomm15() -> Self {
        Self {
            gain: 1.0 / 256.0,
            alpha_period: Duration::from_micros(55),
            increase_period: Duration::from_micros(55),
            increase_bytes: Some(Bytes(10_000_000)),
            fast_recovery: 5,
            additive_increase: Rate(40_000_000),
            hyper_increase: None,
            min_rate: Rate(10_000_000),
            window: Window::None,
        }
    }
}

/// DCQCN's state of one queue pair.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    line_rate: f64,
    /// Current rate R_C, in bits per second.
    current: f64,
    /// Target rate R_T, in bits per second.
    target: f64,
    /// α after the last CNP.
    alpha: f64,
    /// Time of the last CNP, from which α decreases; `None` before the first CNP.
    notified: Option<Instant>,
    /// Next expiry of the timer; `None` at line rate, where a timer changes nothing.
    increase_at: Option<Instant>,
    /// Number of bytes sent since the last expiry of the byte counter.
    sent: u64,
    /// Expiries of the timer since the last CNP: the paper's T.
    timer_stage: u32,
    /// Expiries of the byte counter since the last CNP: the paper's BC.
    byte_stage: u32,
    window: Window,
    digest: Digest,
}

impl Dcqcn {
    /// Creates the state of a new queue pair, which sends at line rate without a rate limiter (SIGCOMM '15, section 3.1).
    pub fn new(config: &Config, line_rate: Rate) -> Self {
        let line_rate = line_rate.0 as f64;
        Self {
            line_rate,
            current: line_rate,
            target: line_rate,
            alpha: 1.0,
            notified: None,
            increase_at: None,
            sent: 0,
            timer_stage: 0,
            byte_stage: 0,
            window: config.window,
            digest: Digest::default(),
        }
    }

    /// Returns α at the given time. α has no effect between two CNPs, so it is computed only when it is needed.
    fn alpha_at(&self, config: &Config, now: Instant) -> f64 {
        let Some(notified) = self.notified else { return self.alpha };
        // SIGCOMM '15, equation (2): α ← (1 − g)α after each period without a CNP.
        let periods = now.saturating_since(notified).0 / config.alpha_period.0;
        self.alpha * libm::pow(1.0 - config.gain, periods as f64)
    }

    /// Increases the rate after an expiry of the timer or the byte counter (SIGCOMM '15, section 3.1 and figure 7). Fast recovery has F
    /// iterations, as in the paper's text and fluid model (section 5).
    fn increase(&mut self, config: &Config) {
        let (first, last) = (self.timer_stage.min(self.byte_stage), self.timer_stage.max(self.byte_stage));
        if last > config.fast_recovery {
            let step = match config.hyper_increase {
                Some(step) if first > config.fast_recovery => {
                    f64::from(first - config.fast_recovery) * step.0 as f64
                }
                _ => config.additive_increase.0 as f64,
            };
            // Equation (4): R_T ← R_T + R_AI.
            self.target = (self.target + step).min(self.line_rate);
        }
        // Equation (3): R_C ← (R_T + R_C)/2.
        self.current = f64::midpoint(self.target, self.current);
        self.digest.increases += 1;
        if self.current.round() >= self.line_rate {
            (self.current, self.target, self.increase_at) = (self.line_rate, self.line_rate, None);
        }
    }
}

impl CongestionControl for Dcqcn {
    type Config = Config;

    fn pace(&self) -> Pace {
        self.window.pace(self.line_rate, self.current)
    }

    fn on_send(&mut self, config: &Config, size: Bytes) -> bool {
        let Some(limit) = config.increase_bytes.filter(|_| self.increase_at.is_some()) else { return false };
        self.sent += size.0;
        if self.sent < limit.0 {
            return false;
        }
        self.sent -= limit.0;
        self.byte_stage += 1;
        self.increase(config);
        true
    }

    fn on_cnp(&mut self, config: &Config, now: Instant) {
        self.on_timer(config, now);
        let alpha = self.alpha_at(config, now);
        // SIGCOMM '15, equation (1).
        self.target = self.current;
        self.current = (self.current * (1.0 - alpha / 2.0)).max(config.min_rate.0 as f64).min(self.line_rate);
        self.alpha = (1.0 - config.gain) * alpha + config.gain;
        self.notified = Some(now);
        (self.timer_stage, self.byte_stage, self.sent) = (0, 0, 0);
        self.increase_at = Some(now + config.increase_period);
        self.digest.cnps += 1;
        self.digest.cuts += 1;
    }

    fn deadline(&self) -> Option<Instant> {
        self.increase_at
    }

    fn on_timer(&mut self, config: &Config, now: Instant) {
        while let Some(at) = self.increase_at.filter(|&at| at <= now) {
            self.increase_at = Some(at + config.increase_period);
            self.timer_stage += 1;
            self.increase(config);
        }
    }

    fn alpha(&self, config: &Config, now: Instant) -> Option<f64> {
        Some(self.alpha_at(config, now))
    }

    fn digest(&self) -> Digest {
        self.digest
    }
}

#[cfg(test)]
mod tests;
