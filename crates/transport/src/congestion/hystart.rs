//! End of slow start before a loss: HyStart++ (RFC 9406), and HyStart of Linux's CUBIC.
//!
//! Both algorithms need a round-trip time with each acknowledgement, which timestamps or RACK supply. The limit of growth per
//! acknowledgement, *L* in RFC 9406, is the same as in slow start without HyStart.

use shallows_core::{Bytes, Duration, Instant};

use super::interface::Ack;
use super::window::Window;

/// Rule that ends slow start, in addition to losses and marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Config {
    /// No rule: only losses, marks and timeouts end slow start.
    #[default]
    Off,
    /// Rising round-trip times, confirmed by a phase of slower growth (RFC 9406).
    PlusPlus,
    /// Trains of acknowledgements as long as half the round-trip time, or rising round-trip times (Linux,
    /// tcp_cubic.c).
    Linux {
        /// `HYSTART_DELAY_MIN`. All other times of Linux's HyStart are multiples of this time.
        delay: Duration,
    },
}

impl Config {
    /// HyStart with the values of Linux.
    pub const LINUX: Self = Self::Linux { delay: MIN_RTT_THRESH };

    /// Returns the smallest rise of the round-trip time that ends slow start: RFC 9406 §4.3 *MIN_RTT_THRESH*; Linux: `HYSTART_DELAY_MIN`.
    fn delay(self) -> Duration {
        match self {
            Self::Linux { delay } => delay,
            Self::Off | Self::PlusPlus => MIN_RTT_THRESH,
        }
    }
}

/// Smallest rise of the round-trip time that ends slow start (RFC 9406 §4.3; also 4 ms in Linux).
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// Ratio of the largest to the smallest threshold (16 ms to 4 ms) for the rise of the round-trip time that ends slow start: RFC 9406 §4.3
/// *MAX_RTT_THRESH*; Linux: `HYSTART_DELAY_MAX`.
const MAX_OVER_MIN: u64 = 4;
/// Ratio of `HYSTART_DELAY_MIN` (4 ms) to the longest gap within a train of acknowledgements (2 ms, `hystart_ack_delta_us`).
/// `MIN_OVER_ACK_DELAY` is the ratio of `HYSTART_DELAY_MIN` to the limit of `hystart_ack_delay` (1 ms).
const MIN_OVER_ACK_DELTA: u64 = 2;
const MIN_OVER_ACK_DELAY: u64 = 4;
/// Divisor of the round-trip time in the threshold: RFC 9406 §4.3 *MIN_RTT_DIVISOR*; Linux: `delay_min >> 3`.
const MIN_RTT_DIVISOR: u64 = 8;
/// Number of samples in a round before the rule applies: RFC 9406 §4.3 *N_RTT_SAMPLE*; Linux: `HYSTART_MIN_SAMPLES`.
const RTT_SAMPLES: u32 = 8;
/// Divisor of the growth in conservative slow start; `CSS_ROUNDS` is the number of rounds of conservative slow start (RFC 9406 §4.3).
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// Smallest cwnd in segments at which Linux's HyStart applies (tcp_cubic.c, `hystart_low_window`).
const LOW_WINDOW: u64 = 16;
/// Bytes of four bursts of the largest size (tcp_cubic.c, `hystart_ack_delay`).
const BURSTS: u128 = 4 * 65_536;

/// HyStart's state of one connection.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    config: Config,
    /// Sequence number whose acknowledgement ends the round.
    round_end: u64,
    round_start: Instant,
    last_ack: Instant,
    samples: u32,
    /// Smallest round-trip time of this round; `reference` is the smallest one of the previous round (in Linux: of all rounds).
    current: Duration,
    reference: Duration,
    css: Option<Css>,
    /// Whether slow start has ended.
    done: bool,
}

/// Conservative slow start (RFC 9406 §4.2).
#[derive(Clone, Copy, Debug)]
struct Css {
    /// Round-trip time that later rounds are compared with (*cssBaselineMinRtt*).
    baseline: Duration,
    rounds: u32,
}

impl HyStart {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            round_end: 0,
            round_start: Instant::ZERO,
            last_ack: Instant::ZERO,
            samples: 0,
            current: Duration::MAX,
            reference: Duration::MAX,
            css: None,
            done: config == Config::Off,
        }
    }

    /// Handles a loss, a mark or a timeout, which end slow start. RFC 9406 §4.3: later slow starts are standard ones;
    /// Linux restarts HyStart after a timeout.
    pub(super) fn on_congestion(&mut self, timeout: bool) {
        self.css = None;
        self.done = !(timeout && matches!(self.config, Config::Linux { .. }));
        (self.round_end, self.samples, self.current) = (0, 0, Duration::MAX);
    }

    /// Handles an acknowledgement in slow start. Returns the bytes by which the window grows; ends slow start if a rule
    /// applies.
    pub(super) fn growth(&mut self, window: &mut Window, ack: &Ack) -> Bytes {
        if !self.done {
            match self.config {
                Config::Off => {}
                Config::PlusPlus => self.plus_plus(window, ack),
                Config::Linux { .. } => self.linux(window, ack),
            }
        }
        match self.css {
            Some(_) => Bytes(window.slow_start_growth(ack.growth).0 / CSS_GROWTH_DIVISOR),
            None => ack.growth,
        }
    }

    fn plus_plus(&mut self, window: &mut Window, ack: &Ack) {
        // The acknowledgement of the round's end is the last of its round.
        if ack.number > self.round_end {
            self.reference = self.current;
            self.begin_round(ack);
            if let Some(css) = &mut self.css {
                css.rounds += 1;
                if css.rounds > CSS_ROUNDS {
                    self.end(window);
                    return;
                }
            }
        }
        if ack.rtt == Duration::MAX {
            return;
        }
        self.current = self.current.min(ack.rtt);
        self.samples += 1;
        if self.samples < RTT_SAMPLES || self.reference == Duration::MAX {
            return;
        }
        match self.css {
            // RFC 9406 §4.2: the round-trip time has fallen again, so slow start continues.
            Some(css) if self.current < css.baseline => self.css = None,
            None if self.current >= self.reference + self.threshold() => {
                self.css = Some(Css { baseline: self.current, rounds: 1 });
            }
            _ => {}
        }
    }

    /// Applies `hystart_update` and `cubictcp_acked` of tcp_cubic.c.
    fn linux(&mut self, window: &mut Window, ack: &Ack) {
        if ack.rtt == Duration::MAX {
            return;
        }
        self.reference = self.reference.min(ack.rtt);
        if window.cwnd().0 < LOW_WINDOW * window.mss().0 {
            return;
        }
        if ack.number > self.round_end {
            self.begin_round(ack);
        }
        if ack.now.saturating_since(self.last_ack) <= self.config.delay() / MIN_OVER_ACK_DELTA {
            self.last_ack = ack.now;
            let train = ack.now.saturating_since(self.round_start);
            if train > (self.reference + self.ack_delay(window, ack)) / 2 {
                self.end(window);
            }
        }
        self.current = self.current.min(ack.rtt);
        if self.samples < RTT_SAMPLES {
            self.samples += 1;
        } else if self.current > self.reference + self.threshold() {
            self.end(window);
        }
    }

    fn begin_round(&mut self, ack: &Ack) {
        self.round_end = ack.next;
        (self.round_start, self.last_ack) = (ack.now, ack.now);
        (self.samples, self.current) = (0, Duration::MAX);
    }

    /// Returns the rise of the round-trip time that ends slow start: RFC 9406 §4.2 *RttThresh*; `HYSTART_DELAY_THRESH` of Linux.
    fn threshold(&self) -> Duration {
        let least = self.config.delay();
        (self.reference / MIN_RTT_DIVISOR).clamp(least, least * MAX_OVER_MIN)
    }

    /// Returns the time by which bursts may lengthen a train of acknowledgements: the time to send [`BURSTS`] at the pacing rate, but at
    /// most `HYSTART_DELAY_MIN` divided by [`MIN_OVER_ACK_DELAY`]. The pacing rate in slow start is twice cwnd per SRTT
    /// (`tcp_update_pacing_rate`).
    fn ack_delay(&self, window: &Window, ack: &Ack) -> Duration {
        if ack.srtt == Duration::MAX {
            return Duration::ZERO;
        }
        let delay = BURSTS * u128::from(ack.srtt.0) / (2 * u128::from(window.cwnd().0));
        u64::try_from(delay).map_or(Duration::MAX, Duration).min(self.config.delay() / MIN_OVER_ACK_DELAY)
    }

    /// Ends slow start; congestion avoidance follows (RFC 9406 §4.2).
    fn end(&mut self, window: &mut Window) {
        self.css = None;
        self.done = true;
        window.set_ssthresh(window.cwnd().0);
    }
}
