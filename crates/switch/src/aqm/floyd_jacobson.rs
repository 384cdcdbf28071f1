//! RED as Floyd and Jacobson published it (ToN '93), marking or dropping; its name in scenarios is `red-classic`.
//!
//! Every arrival updates the average, even if the buffer refuses the packet. The average accounts for the port's idle time. The probability
//! grows with the number of admitted packets since the last mark, which makes the distances between marks more even. (ns-2 restarts this
//! number when the queue overflows.) Where ns-2's rules (red.cc) differ from the paper's, a parameter selects the rule.
//! [`Thresholds::Automatic`] is ns-2's automatic configuration. `red` implements RED as switches do, by default without an average.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};

use super::gauge::{Gauge, Level, Meter, Range, Scope, Unit, average_name};
use super::interface::{Action, Aqm, Hears, PortView, Verdict};
use crate::queue::Reading;

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Backlog that is averaged: of the queue, the port or the pool.
    pub scope: Scope,
    /// Unit of the backlog.
    pub unit: Unit,
    /// Thresholds for the average backlog, and the weight of a new sample.
    pub thresholds: Thresholds,
    /// *max_p*: marking probability just below the maximum threshold.
    pub max_p: f64,
    /// Rule for averages above the maximum threshold.
    pub above: Above,
    /// Action on a chosen packet.
    pub action: Action,
    /// Action on packets while the average is so high that every packet is chosen.
    pub forced: Forced,
    /// Spacing between marks.
    pub spacing: Spacing,
    /// Whether larger packets are more likely to be chosen.
    pub weighing: Weighing,
    /// Effect of the port's idle time on the average.
    pub idle: Idle,
    /// Whether a packet that arrives at an empty queue can be chosen.
    pub empty_queue: EmptyQueue,
    /// Typical packet size. Its transmission time is the unit of idle time. With [`Weighing::Bytes`] and with [`Thresholds::Automatic`],
    /// it is also the mean packet size.
    pub typical_packet: Bytes,
}

impl Default for Config {
    /// Returns the rules of Floyd and Jacobson with the numbers of ns-2.
    fn default() -> Self {
        Self {
            scope: Scope::Queue,
            unit: Unit::Packets,
            thresholds: Thresholds::Automatic { target_delay: Duration::from_millis(5) },
            max_p: 0.1,
            above: Above::Certain,
            action: Action::Mark,
            forced: Forced::AsBelow,
            spacing: Spacing::Uniform,
            weighing: Weighing::Packets,
            idle: Idle::Paper,
            empty_queue: EmptyQueue::Judged,
            typical_packet: Bytes(500),
        }
    }
}

impl Config {
    /// Returns ns-2's default choices (ns-default.tcl): RED drops packets, counts in bytes, and uses `gentle_` and `wait_`.
    pub fn as_released() -> Self {
        Self {
            unit: Unit::Bytes,
            above: Above::Gentle,
            action: Action::Drop,
            forced: Forced::Drop,
            spacing: Spacing::Wait,
            weighing: Weighing::Bytes,
            idle: Idle::AsReleased,
            empty_queue: EmptyQueue::Spared,
            ..Self::default()
        }
    }

    /// Returns the range of averages in which RED marks at random; `None` if the range depends on the rate of the link.
    pub(super) fn range(&self) -> Option<Range> {
        let Thresholds::Explicit { min, max, .. } = self.thresholds else { return None };
        let gauge = Gauge { scope: self.scope, unit: self.unit, ..Gauge::default() };
        Some(Range { gauge, kmin: min, kmax: max, pmax: self.max_p })
    }
}

/// Thresholds of RED.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Thresholds {
    /// Thresholds and a weight that the configuration states.
    Explicit {
        /// *min_th*: average below which no packet is chosen.
        min: Level,
        /// *max_th*: average at which the marking probability reaches *max_p*.
        max: Level,
        /// *w_q*: weight of a new sample in the average.
        weight: f64,
    },
    /// Thresholds that ns-2 derives from the rate of the link (red.cc, `initialize_params`).
    Automatic {
        /// Twice the queueing delay at the minimum threshold.
        target_delay: Duration,
    },
}

/// Rule for averages above the maximum threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Above {
    /// Every packet is chosen (Floyd and Jacobson).
    #[default]
    Certain,
    /// The probability grows from *max_p* at the maximum threshold to one at twice that threshold (ns-2's `gentle_`).
    Gentle,
}

/// Action on packets while the average is so high that every packet is chosen, without a random draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forced {
    /// The same action as on any chosen packet (Floyd and Jacobson, Fig. 1: "mark the arriving packet").
    #[default]
    AsBelow,
    /// The packet is dropped, ECN-capable or not (RFC 3168 §7; ns-2).
    Drop,
}

impl Forced {
    /// Returns the verdict that this rule adds to the verdict of [`Config::action`].
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Self::AsBelow => Verdict::PASS,
            Self::Drop => Verdict::DROP,
        }
    }
}

/// Spacing between marks at a steady probability *p*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RedSpacing")]
pub enum Spacing {
    /// Marks are 1 to 1/p packets apart, uniformly distributed (Floyd and Jacobson §7, Method 2, where the count excludes the packet
    /// itself).
    #[default]
    Uniform,
    /// Marks are 1 to 1/p − 1 packets apart, uniformly distributed. In Floyd and Jacobson's Fig. 2, the count includes the packet itself,
    /// unless it is the first packet above the minimum threshold. ns-2 counts in the same way without `wait_`.
    Counted,
    /// Marks are 1/p to 2/p − 1 packets apart, uniformly distributed: ns-2's `wait_`.
    Wait,
    /// Each packet is decided independently (Floyd and Jacobson §7, Method 1).
    Geometric,
}

/// Unit of the marking probability and of the count since the last mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighing {
    /// Each packet counts as one, whatever its size.
    #[default]
    Packets,
    /// Bytes, in units of typical packets. The count is rounded down to whole typical packets, and the final probability is proportional
    /// to the size of the packet (ns-2's `bytes_`). In §4 of the paper, the probability is first scaled by the size of the packet and then
    /// adjusted for the count.
    Bytes,
}

/// Effect of idle time on the average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// *avg ← (1 − w)^m · avg*, where *m* is the idle time divided by the transmission time of a typical packet. The empty
    /// queue itself is not sampled (§4).
    #[default]
    Paper,
    /// *avg ← (1 − w)^⌊m⌋ · avg*, followed by a sample of the empty queue (ns-2). *m* is as in [`Self::Paper`].
    AsReleased,
}

/// Treatment of a packet that arrives at an empty queue, regardless of the average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyQueue {
    /// The packet may be chosen (Floyd and Jacobson).
    #[default]
    Judged,
    /// The packet is not chosen, and the count restarts. This is ns-2's rule: it chooses a packet only if the backlog is above 1 packet or
    /// 1 byte, depending on the unit of RED.
    Spared,
}

/// RED marker of one port: marks or drops packets, depending on the average backlog.
#[derive(Clone, Debug)]
pub struct FloydJacobson {
    config: Config,
    meter: Meter,
    /// Average backlog of each queue, or of the whole port.
    averages: Box<[Average]>,
    line: Option<Line>,
    /// Total idle time of the port so far.
    idle: Duration,
    /// Time up to which idle time has been counted.
    idle_until: Instant,
    stream: Stream,
}

/// Average backlog, and the count of packets or bytes since the last mark.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    value: f64,
    /// Part of the port's idle time that the average already includes.
    idle: Duration,
    /// Packets or bytes since the last mark.
    count: u64,
    /// Whether the average was at or above the minimum threshold when the last packet arrived.
    judged: bool,
}

/// Parameters that depend on the rate of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    min: f64,
    max: f64,
    weight: f64,
    /// *log₂(1 − w)*. A power of two is computed faster than a power of *1 − w*.
    log_kept: f64,
    /// Transmission time of the typical packet.
    packet_time: Duration,
}

/// Result of comparing an average with the thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Judgement {
    Below,
    Chance(f64),
    Forced,
}

impl FloydJacobson {
    /// Creates a marker at a port with this many `queues`. `stream` supplies the random numbers.
    ///
    /// # Panics
    ///
    /// Panics if the thresholds, the weight or *max_p* are invalid, or if the typical packet has size zero.
    pub fn new(config: &Config, queues: usize, stream: Stream) -> Self {
        if let Thresholds::Explicit { min, max, weight } = config.thresholds {
            assert!(min <= max && weight > 0.0 && weight <= 1.0, "not RED's: {min:?}, {max:?}, {weight}");
        }
        assert!((0.0..=1.0).contains(&config.max_p), "no probability: {}", config.max_p);
        assert!(config.typical_packet.0 > 0, "a typical packet has a size");
        let gauge = Gauge { scope: config.scope, unit: config.unit, ..Gauge::default() };
        let averages = if config.scope == Scope::Port { 1 } else { queues };
        Self {
            config: config.clone(),
            meter: Meter::new(gauge, queues),
            averages: vec![Average::default(); averages].into(),
            line: None,
            idle: Duration::ZERO,
            idle_until: Instant::ZERO,
            stream,
        }
    }

    fn index(&self, port: &PortView<'_>) -> usize {
        if self.config.scope == Scope::Port { 0 } else { port.queue }
    }

    fn line(&mut self, rate: Rate) -> Line {
        *self.line.get_or_insert_with(|| Line::new(&self.config, rate))
    }

    /// Returns which packets RED chooses at this `average`: none, all, or each with a probability.
    fn judge(&self, line: &Line, average: f64) -> Judgement {
        let max_p = self.config.max_p;
        if average < line.min {
            Judgement::Below
        } else if average < line.max {
            // §4: p_b = max_p (avg − min_th)/(max_th − min_th).
            Judgement::Chance(max_p * (average - line.min) / (line.max - line.min))
        } else if self.config.above == Above::Gentle && average < 2.0 * line.max {
            // ns-2, gentle_: from max_p at max_th to 1 at twice that.
            Judgement::Chance(max_p + (1.0 - max_p) * (average - line.max) / line.max)
        } else {
            Judgement::Forced
        }
    }

    /// Counts the packet, and returns its marking probability: *p*, adjusted to the packets or bytes since the last mark (§7; ns-2's
    /// `modify_p`).
    fn space(&mut self, index: usize, p: f64, size: Bytes) -> f64 {
        let Config { spacing, weighing, typical_packet, .. } = self.config;
        let (own, unit) = match weighing {
            Weighing::Packets => (1, 1),
            Weighing::Bytes => (size.0, typical_packet.0),
        };
        let state = &mut self.averages[index];
        let first = !std::mem::replace(&mut state.judged, true);
        let before = state.count;
        if !(first && spacing == Spacing::Counted) {
            state.count += own;
        }
        let (before, with) = ((before / unit) as f64, (state.count / unit) as f64);
        let spaced = match spacing {
            Spacing::Geometric => p,
            Spacing::Uniform => raise(p, 1.0 - before * p),
            Spacing::Counted => raise(p, 1.0 - with * p),
            Spacing::Wait if with * p < 1.0 => 0.0,
            Spacing::Wait => raise(p, 2.0 - with * p),
        };
        match weighing {
            Weighing::Bytes if spaced < 1.0 => (spaced * (size.0 as f64 / unit as f64)).min(1.0),
            _ => spaced,
        }
    }

    /// Adds to `self.idle` the port's idle time since the last call.
    fn count_idle_time(&mut self, now: Instant, port: &PortView<'_>) {
        if port.port_backlog.0 == 0 && now > port.busy_until {
            self.idle += now.saturating_since(port.busy_until.max(self.idle_until));
            self.idle_until = now;
        }
    }
}

/// Returns *p/rest*, at most 1. If `rest` is zero or negative, the count has passed the largest distance between marks, and the result
/// is 1.
fn raise(p: f64, rest: f64) -> f64 {
    if rest > 0.0 { (p / rest).min(1.0) } else { 1.0 }
}

impl Line {
    fn new(config: &Config, rate: Rate) -> Self {
        let packet = config.typical_packet;
        let packet_time = rate.transmission_time(packet);
        match config.thresholds {
            Thresholds::Explicit { min, max, weight } => {
                Self::weighing(weight, min.0 as f64, max.0 as f64, packet_time)
            }
            Thresholds::Automatic { target_delay } => {
                // ns-2, initialize_params: ptc packets a second; min_th = max(5, targetdelay·ptc/2), max_th = 3 min_th,
                // q_w = 1 − exp(−1/ptc) as long as the round-trip time is below 100 ms.
                let per_second = rate.0 as f64 / (8.0 * packet.0 as f64);
                let packets = (target_delay.as_secs_f64() * per_second / 2.0).max(5.0);
                let min = if config.unit == Unit::Bytes { packets * packet.0 as f64 } else { packets };
                Self::weighing(-libm::expm1(-1.0 / per_second), min, 3.0 * min, packet_time)
            }
        }
    }

    fn weighing(weight: f64, min: f64, max: f64, packet_time: Duration) -> Self {
        Self { min, max, weight, log_kept: libm::log2(1.0 - weight), packet_time }
    }
}

impl Aqm for FloydJacobson {
    fn hears(&self) -> Hears {
        Hears::ARRIVALS.and(Hears::ENQUEUES)
    }

    fn on_arrival(&mut self, now: Instant, _header: &Header, port: &PortView<'_>) {
        let line = self.line(port.rate);
        self.count_idle_time(now, port);
        let backlog = self.meter.backlog(port) as f64;
        let (idle, rule) = (self.idle, self.config.idle);
        let index = self.index(port);
        let average = &mut self.averages[index];
        let missed = (idle - average.idle).0 as f64 / line.packet_time.0 as f64;
        average.idle = idle;
        let kept = 1.0 - line.weight;
        if missed > 0.0 && backlog == 0.0 {
            // §4: m packets that could have arrived while the queue was empty.
            let whole = missed.floor();
            average.value *= match rule {
                Idle::Paper => libm::exp2(line.log_kept * missed),
                Idle::AsReleased => libm::exp2(line.log_kept * (whole + 1.0)),
            };
        } else {
            average.value = kept * average.value + line.weight * backlog;
        }
    }

    fn on_enqueue(&mut self, _now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        let line = self.line(port.rate);
        let index = self.index(port);
        let spared = self.config.empty_queue == EmptyQueue::Spared && self.meter.backlog(port) <= 1;
        let judgement = if spared { Judgement::Below } else { self.judge(&line, self.averages[index].value) };
        match judgement {
            Judgement::Below => {
                (self.averages[index].count, self.averages[index].judged) = (0, false);
                Verdict::PASS
            }
            Judgement::Chance(p) => {
                let spaced = self.space(index, p, header.size());
                // If the outcome is certain, no random number is drawn.
                if spaced >= 1.0 || (spaced > 0.0 && self.stream.uniform() < spaced) {
                    self.averages[index].count = 0;
                    self.config.action.verdict()
                } else {
                    Verdict::PASS
                }
            }
            Judgement::Forced => {
                (self.averages[index].count, self.averages[index].judged) = (0, true);
                match self.config.forced {
                    Forced::AsBelow => self.config.action.verdict(),
                    Forced::Drop => Verdict::DROP,
                }
            }
        }
    }

    fn observe(&self, _port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
        let quantity = average_name(self.config.unit);
        for (queue, average) in self.averages.iter().enumerate() {
            let queue = (self.config.scope != Scope::Port).then_some(queue);
            tell(Reading { quantity, queue, value: average.value });
        }
    }
}

#[cfg(test)]
mod tests;
