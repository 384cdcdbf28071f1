//! Ends of slow start before a loss: HyStart++ (RFC 9406), and HyStart as in Linux' CUBIC.
//!
//! Both want a round-trip time with each acknowledgement, which timestamps or RACK give. The limit of growth for one
//! acknowledgement, *L* in RFC 9406, is that of slow start in general.

use shallows_core::{Bytes, Duration, Instant};

use super::interface::Ack;
use super::window::Window;

/// What ends slow start, beside losses and marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Config {
    /// Nothing.
    #[default]
    Off,
    /// Round-trip times that grow, after which a slower growth makes sure (RFC 9406).
    PlusPlus,
    /// Trains of acknowledgements as long as half the round-trip time, or round-trip times that grow (Linux, tcp_cubic.c).
    Linux {
        /// `HYSTART_DELAY_MIN`. All other times of Linux' are in proportion: it is a unit of time.
        delay: Duration,
    },
}

impl Config {
    /// As Linux has it.
    pub const LINUX: Self = Self::Linux { delay: MIN_RTT_THRESH };

    /// RFC 9406 §4.3 *MIN_RTT_THRESH*; `HYSTART_DELAY_MIN` of Linux.
    fn delay(self) -> Duration {
        match self {
            Self::Linux { delay } => delay,
            Self::Off | Self::PlusPlus => MIN_RTT_THRESH,
        }
    }
}

/// RFC 9406 §4.3, and 4 ms in Linux, too.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
/// 16 ms over that: RFC 9406 §4.3 *MAX_RTT_THRESH*; `HYSTART_DELAY_MAX` of Linux.
const MAX_OVER_MIN: u64 = 4;
/// 4 ms over what ends a train, `hystart_ack_delta_us`; and over the most that bursts may take (`hystart_ack_delay`).
const MIN_OVER_ACK_DELTA: u64 = 2;
const MIN_OVER_ACK_DELAY: u64 = 4;
/// RFC 9406 §4.3 *MIN_RTT_DIVISOR*; Linux: `delay_min >> 3`.
const MIN_RTT_DIVISOR: u64 = 8;
/// RFC 9406 §4.3 *N_RTT_SAMPLE*; Linux: `HYSTART_MIN_SAMPLES`.
const RTT_SAMPLES: u32 = 8;
/// RFC 9406 §4.3.
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// tcp_cubic.c: `hystart_low_window`, in segments.
const LOW_WINDOW: u64 = 16;
/// tcp_cubic.c, `hystart_ack_delay`: four of the largest bursts at the pacing rate.
const BURSTS: u128 = 4 * 65_536;

/// The state of one connection.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    config: Config,
    /// The round ends when this is acknowledged.
    round_end: u64,
    round_start: Instant,
    last_ack: Instant,
    samples: u32,
    /// The least round-trip times of this round and of the one before; Linux has that of all rounds in the place of the latter.
    current: Duration,
    reference: Duration,
    css: Option<Css>,
    /// It has ended slow start.
    done: bool,
}

/// Conservative slow start (RFC 9406 §4.2).
#[derive(Clone, Copy, Debug)]
struct Css {
    /// *cssBaselineMinRtt*.
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

    /// A loss, a mark or a timeout ends slow start. RFC 9406 §4.3: what comes later is as usual; Linux begins anew after a timeout.
    pub(super) fn on_congestion(&mut self, timeout: bool) {
        self.css = None;
        self.done = !(timeout && matches!(self.config, Config::Linux { .. }));
        (self.round_end, self.samples, self.current) = (0, 0, Duration::MAX);
    }

    /// An acknowledgement grows the window in slow start. Says by how many bytes of it; ends slow start if it is time.
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
        // The acknowledgement of the end is the last of its round.
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
            // RFC 9406 §4.2: the round-trip time has come down again; slow start goes on.
            Some(css) if self.current < css.baseline => self.css = None,
            None if self.current >= self.reference + self.threshold() => {
                self.css = Some(Css { baseline: self.current, rounds: 1 });
            }
            _ => {}
        }
    }

    /// `hystart_update` and `cubictcp_acked` of tcp_cubic.c.
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

    /// RFC 9406 §4.2 *RttThresh*; `HYSTART_DELAY_THRESH` of Linux.
    fn threshold(&self) -> Duration {
        let least = self.config.delay();
        (self.reference / MIN_RTT_DIVISOR).clamp(least, least * MAX_OVER_MIN)
    }

    /// The pacing rate in slow start is twice cwnd in every SRTT (`tcp_update_pacing_rate`).
    fn ack_delay(&self, window: &Window, ack: &Ack) -> Duration {
        if ack.srtt == Duration::MAX {
            return Duration::ZERO;
        }
        let delay = BURSTS * u128::from(ack.srtt.0) / (2 * u128::from(window.cwnd().0));
        u64::try_from(delay).map_or(Duration::MAX, Duration).min(self.config.delay() / MIN_OVER_ACK_DELAY)
    }

    /// RFC 9406 §4.2: congestion avoidance begins.
    fn end(&mut self, window: &mut Window) {
        self.css = None;
        self.done = true;
        window.set_ssthresh(window.cwnd().0);
    }
}
