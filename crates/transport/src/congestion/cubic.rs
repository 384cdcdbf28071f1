//! CUBIC: the window follows a cubic function of the time since its last reduction (RFC 9438).
//!
//! Formulas use segments and seconds, as in the RFC. `hystart.rs` ends slow start (§4.10).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration, Instant};

use super::hystart::{self, HyStart};
use super::interface::{Ack, Congestion, CongestionControl};
use super::window::Window;

/// Parameters of [`Cubic`]; the default is RFC 9438's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Whether connections use classic ECN.
    pub ecn: bool,
    /// *C*: scaling of the window's growth, in segments/s³; above 0.
    pub c: f64,
    /// *β*: share of the window that a reduction leaves; above 0, below 1.
    pub beta: f64,
    /// Whether a flow that is reduced before it has regained its old window aims for a smaller window, so that new flows get bandwidth (RFC
    /// 9438 §4.7).
    pub fast_convergence: bool,
    /// Early end of slow start.
    pub hystart: hystart::Config,
    /// Unit of the window.
    pub counting: Counting,
    /// Times at which the growth is computed; used only if `counting` is in whole segments.
    pub clock: Clock,
}

/// Times at which Linux computes the growth (tcp_cubic.c, `bictcp_update`). If both fields are zero, the growth is computed at every
/// acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Step of time (a jiffy); the cubic function is evaluated once per step.
    pub tick: Duration,
    /// Time for which a computed growth stays valid while cwnd does not change (`HZ / 32`).
    pub hold: Duration,
}

impl Clock {
    /// Returns the start of the tick that contains `now`.
    fn now(self, now: Instant) -> Instant {
        now.0.checked_rem(self.tick.0).map_or(now, |into| Instant(now.0 - into))
    }

    /// Returns `time` in whole ticks, rounded up.
    fn whole(self, time: Duration) -> Duration {
        time.0.checked_next_multiple_of(self.tick.0).map_or(time, Duration)
    }
}

/// Unit of CUBIC's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Fractions of segments: the window follows the formulas (RFC 9438).
    #[default]
    Exact,
    /// Whole segments, as in Linux (tcp_cubic.c): the formulas give the number of acknowledged segments after which cwnd grows by one
    /// segment. In the RFC, the estimate of Reno's window grows faster once cwnd has its old value again; in Linux, it does not.
    Segments,
}

impl Default for Config {
    fn default() -> Self {
        // RFC 9438 §5 (C), §4.6 (beta), §4.7.
        Self {
            ecn: false,
            c: 0.4,
            beta: 0.7,
            fast_convergence: true,
            hystart: hystart::Config::Off,
            counting: Counting::Exact,
            clock: Clock::default(),
        }
    }
}

/// CUBIC's state of one connection.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: Config,
    /// W_max of the next epoch; zero if no reduction has set it.
    w_max: f64,
    /// cwnd before the last reduction; zero before the first reduction.
    cwnd_prior: f64,
    /// Current stage of congestion avoidance, from its first acknowledgement on.
    epoch: Option<Epoch>,
    /// Fraction of a byte by which cwnd has grown beyond its integer value.
    credit: f64,
    /// Acknowledged segments for which cwnd has not grown yet, if CUBIC counts whole segments (`snd_cwnd_cnt`).
    pending: u64,
    /// Number of acknowledged segments after which cwnd grows by one segment (`cnt`).
    each: u64,
    /// Time and cwnd of the last computation (`last_time`, `last_cwnd`).
    computed: Option<(Instant, u64)>,
    hystart: HyStart,
}

#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Instant,
    /// Time from the start of the epoch to the plateau, in seconds.
    k: f64,
    w_max: f64,
    /// Window that Reno would have (§4.3).
    w_est: f64,
    /// Acknowledged segments for which `w_est` has not grown yet, if CUBIC counts whole segments (`ack_cnt`).
    pending: u64,
}

impl Epoch {
    fn new(now: Instant, cwnd: f64, w_max: f64, c: f64) -> Self {
        // RFC 9438 §4.2 Eq. 2; §4.8 and §4.10: K = 0 and W_max = cwnd after a timeout or without an earlier loss.
        let k = if cwnd < w_max { libm::cbrt((w_max - cwnd) / c) } else { 0.0 };
        Self { start: now, k, w_max: w_max.max(cwnd), w_est: cwnd, pending: 0 }
    }

    /// Returns the cubic function at `t` seconds (RFC 9438 §4.2 Eq. 1).
    fn w_cubic(&self, t: f64, c: f64) -> f64 {
        let distance = t - self.k;
        c * distance * distance * distance + self.w_max
    }
}

impl Cubic {
    /// Creates the state of a new connection.
    pub fn new(config: &Config) -> Self {
        let hystart = HyStart::new(config.hystart);
        Self {
            config: *config,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            credit: 0.0,
            pending: 0,
            each: 0,
            computed: None,
            hystart,
        }
    }

    /// Grows the window in congestion avoidance.
    fn avoid(&mut self, window: &mut Window, ack: &Ack) {
        let Config { c, beta, .. } = self.config;
        let mss = window.mss().0 as f64;
        let (cwnd, acked) = (window.cwnd().0 as f64 / mss, ack.growth.0 as f64 / mss);
        let w_max = self.w_max;
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(ack.now, cwnd, w_max, c));
        let t = ack.now.saturating_since(epoch.start).as_secs_f64();
        // RFC 9438 §4.3 Eq. 4: `w_est` grows as fast as Reno after the cut by beta, and by one segment per round trip after the old window
        // is regained.
        let alpha = if epoch.w_est < self.cwnd_prior { 3.0 * (1.0 - beta) / (1.0 + beta) } else { 1.0 };
        epoch.w_est += alpha * acked / cwnd;
        let grown = if epoch.w_cubic(t, c) < epoch.w_est {
            epoch.w_est
        } else {
            // RFC 9438 §4.2, §4.4 and §4.5: cwnd grows towards the function's value one round trip later, by at most one half. An
            // acknowledgement of several segments counts once for each, as in Linux.
            let rtt = if ack.srtt == Duration::MAX { Duration::ZERO } else { ack.srtt };
            let target = epoch.w_cubic(t + rtt.as_secs_f64(), c).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) / cwnd * acked
        };
        let more = (grown - cwnd).max(0.0) * mss + self.credit;
        let whole = more as u64;
        self.credit = more - whole as f64;
        window.set_cwnd(window.cwnd().0 + whole);
    }

    /// Grows the window in congestion avoidance by whole segments: Linux, `bictcp_update` and `tcp_cong_avoid_ai`.
    fn avoid_in_segments(&mut self, window: &mut Window, ack: &Ack) {
        let mss = window.mss().0;
        let (cwnd, acked) = (window.cwnd().0 / mss, ack.growth.0.div_ceil(mss));
        if let Some(epoch) = &mut self.epoch {
            epoch.pending += acked;
        }
        let now = self.config.clock.now(ack.now);
        let stands =
            |(then, of): (Instant, u64)| of == cwnd && now.saturating_since(then) <= self.config.clock.hold;
        if self.config.clock.hold == Duration::ZERO || !self.computed.is_some_and(stands) {
            self.compute(now, cwnd, acked, ack.srtt);
        }
        let overdue = u64::from(self.pending >= self.each);
        self.pending = if overdue == 1 { acked } else { self.pending + acked };
        let more = overdue + self.pending / self.each;
        self.pending %= self.each;
        window.set_cwnd((cwnd + more) * mss);
    }

    /// Computes the number of acknowledged segments after which cwnd grows by one segment.
    fn compute(&mut self, now: Instant, cwnd: u64, acked: u64, srtt: Duration) {
        let Config { c, beta, clock, .. } = self.config;
        let w_max = self.w_max.floor();
        let this_tick = clock.tick > Duration::ZERO && self.computed.is_some_and(|(then, _)| then == now);
        let begun = self.epoch.is_some();
        let begin = || Epoch { pending: acked, ..Epoch::new(now, cwnd as f64, w_max, c) };
        let epoch = self.epoch.get_or_insert_with(begin);
        let ahead = |target: f64| (target as u64).saturating_sub(cwnd);
        if !(begun && this_tick) {
            self.computed = Some((now, cwnd));
            let rtt = if srtt == Duration::MAX { Duration::ZERO } else { clock.whole(srtt) };
            let t = (now.saturating_since(epoch.start) + rtt).as_secs_f64();
            let target = epoch.w_max + (epoch.w_cubic(t, c) - epoch.w_max).trunc();
            self.each = cwnd.checked_div(ahead(target)).unwrap_or(100 * cwnd);
            if w_max == 0.0 {
                self.each = self.each.min(20);
            }
        }
        // "TCP friendliness": 3 (1 - beta) / (1 + beta) segments in a round trip, computed in eighths.
        let round = (cwnd * (8.0 * (1.0 + beta) / 3.0 / (1.0 - beta)) as u64) >> 3;
        let friendly = epoch.pending.saturating_sub(1) / round.max(1);
        epoch.pending -= friendly * round;
        epoch.w_est += friendly as f64;
        self.each = self.each.min(cwnd.checked_div(ahead(epoch.w_est)).unwrap_or(u64::MAX)).max(2);
    }

    /// Records the window before a reduction, and ends the epoch (RFC 9438 §4.6 and §4.7).
    fn note(&mut self, window: &Window) {
        let cwnd = window.cwnd().0 as f64 / window.mss().0 as f64;
        self.cwnd_prior = cwnd;
        let releases = self.config.fast_convergence && cwnd < self.w_max;
        self.w_max = if releases { cwnd * (1.0 + self.config.beta) / 2.0 } else { cwnd };
        self.epoch = None;
        self.credit = 0.0;
        self.pending = 0;
    }

    /// Returns the share β of `base`, in whole segments with [`Counting::Segments`].
    fn reduced(&self, window: &Window, base: Bytes) -> u64 {
        let left = base.scale(self.config.beta).0;
        match self.config.counting {
            Counting::Exact => left,
            Counting::Segments => left - left % window.mss().0,
        }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // RFC 3168 §6.1.2: an acknowledgement with ECE does not increase cwnd.
        if ack.growth.0 == 0 || ack.ece {
            return;
        }
        let growth = if window.in_slow_start() { self.hystart.growth(window, ack) } else { ack.growth };
        // HyStart may just have ended slow start.
        if window.in_slow_start() {
            window.grow(growth);
        } else if self.config.counting == Counting::Segments {
            self.avoid_in_segments(window, ack);
        } else {
            self.avoid(window, ack);
        }
    }

    fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes) {
        let base = Bytes(window.loss_base(flight_size));
        self.hystart.on_congestion(matches!(congestion, Congestion::Timeout | Congestion::RepeatedTimeout));
        match congestion {
            Congestion::Ecn => {
                self.note(window);
                window.reduce(self.reduced(window, window.cwnd()));
            }
            Congestion::Loss => {
                self.note(window);
                window.lose(self.reduced(window, base));
            }
            // RFC 9438 §4.8: ssthresh by beta; the next congestion avoidance starts at its plateau.
            Congestion::Timeout => {
                self.note(window);
                self.w_max = 0.0;
                self.computed = None;
                window.start_over(Some(self.reduced(window, base)));
            }
            Congestion::RepeatedTimeout => window.start_over(None),
        }
    }

    fn on_idle(&mut self, idle: Duration) {
        // RFC 9438 §4.2: idle time, in which the window cannot grow, does not count.
        if let Some(epoch) = &mut self.epoch {
            epoch.start = epoch.start + idle;
        }
    }
}
