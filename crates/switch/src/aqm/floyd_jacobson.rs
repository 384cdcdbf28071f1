//! RED as Floyd and Jacobson wrote it (ToN '93), marking or dropping; `red-classic` in scenarios.
//!
//! The average moves with every arrival, also of packets that the buffer refuses, and makes up for the time that the
//! port idles; marks are spaced by a count. Where ns-2's RED (red.cc) does otherwise, a parameter says so; its automatic
//! configuration is [`Thresholds::Automatic`]. The curve of switches on the instantaneous backlog is `red`.
//!
//! The count sees packets that the buffer admits; ns-2 lets an overflow start it anew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};

use super::gauge::{Gauge, Level, Meter, Scope, Unit, average_name};
use super::interface::{Action, Aqm, Hears, PortView, Verdict};
use crate::queue::Reading;

/// Parameters of RED.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Whose backlog is averaged.
    pub scope: Scope,
    /// In what.
    pub unit: Unit,
    /// Between which averages it acts, and how fast they move.
    pub thresholds: Thresholds,
    /// *max_p*: probability just below the maximum threshold.
    pub max_p: f64,
    /// What happens above the maximum threshold.
    pub above: Above,
    /// What is done to a packet.
    pub action: Action,
    /// What is done to one that the average alone condemns.
    pub forced: Forced,
    /// How marks follow one another.
    pub spacing: Spacing,
    /// Whether large packets are likelier victims.
    pub weighing: Weighing,
    /// What idle time does to the average.
    pub idle: Idle,
    /// Whether a packet that finds an empty queue may be a victim.
    pub empty_queue: EmptyQueue,
    /// The packet in whose transmission times idle time is counted; with [`Weighing::Bytes`] and in automatic
    /// configuration also the mean packet.
    pub typical_packet: Bytes,
}

impl Default for Config {
    /// The paper's rules with ns-2's numbers.
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
    /// Every choice as ns-2's defaults make it (ns-default.tcl): RED in bytes, gentle, dropping, with `wait_`.
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
}

/// Between which averages RED acts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Thresholds {
    /// As given.
    Explicit {
        /// *min_th*.
        min: Level,
        /// *max_th*.
        max: Level,
        /// *w_q*: weight of the new value in the average.
        weight: f64,
    },
    /// As ns-2 derives them from the rate of the link (red.cc, `initialize_params`).
    Automatic {
        /// Twice the queueing delay at the minimum threshold.
        target_delay: Duration,
    },
}

/// What happens above the maximum threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Above {
    /// Every packet is a victim (the paper).
    #[default]
    Certain,
    /// The probability grows on, from *max_p* to one at twice the threshold (ns-2's `gentle_`).
    Gentle,
}

/// What is done to a packet that the average alone condemns, with no draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forced {
    /// What is done to any packet that is chosen (the paper, Fig. 1: "mark the arriving packet").
    #[default]
    AsBelow,
    /// It is dropped, ECN-capable or not (RFC 3168 §7; ns-2).
    Drop,
}

/// How marks follow one another at a steady probability *p*.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "RedSpacing")]
pub enum Spacing {
    /// Uniformly, 1 to 1/p packets apart: §7, Method 2, where the count leaves out the packet itself.
    #[default]
    Uniform,
    /// Uniformly, 1 to 1/p − 1 apart: Fig. 2's count includes the packet, except for the first above the minimum
    /// threshold; so does ns-2's without `wait_`.
    Counted,
    /// Uniformly, 1/p to 2/p − 1 apart: ns-2's `wait_`.
    Wait,
    /// Every packet on its own: §7, Method 1.
    Geometric,
}

/// What counts for the count and the probability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weighing {
    /// Packets.
    #[default]
    Packets,
    /// Bytes, in typical packets: the count in whole ones, and the final probability in proportion to the packet's size
    /// (ns-2's `bytes_`; the paper's §4 has the latter before the count).
    Bytes,
}

/// What idle time does to the average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Idle {
    /// *avg ← (1 − w)^m · avg*, where *m* is the idle time in typical packets, in place of a sample (§4).
    #[default]
    Paper,
    /// Likewise with *m* rounded down, and then the sample of the empty queue (ns-2).
    AsReleased,
}

/// Whether a packet that finds an empty queue may be a victim, the average being what it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EmptyQueue {
    /// It may (the paper).
    #[default]
    Judged,
    /// It may not, and the count starts anew (ns-2: its queue must hold more than one packet or byte).
    Spared,
}

/// Marks or drops by the average backlog.
#[derive(Clone, Debug)]
pub struct FloydJacobson {
    config: Config,
    meter: Meter,
    /// By queue, or one for the port.
    averages: Box<[Average]>,
    line: Option<Line>,
    /// Time that the port has idled.
    idle: Duration,
    /// Up to when that is known.
    idle_until: Instant,
    stream: Stream,
}

/// An average, and the count that goes with it.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    value: f64,
    /// Idle time of the port that it has made up for.
    idle: Duration,
    /// Packets or bytes since the last mark.
    count: u64,
    /// Whether the last packet was judged.
    judged: bool,
}

/// The numbers that depend on the rate of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    min: f64,
    max: f64,
    weight: f64,
    /// Transmission time of the typical packet.
    packet_time: Duration,
}

/// What the average says of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Judgement {
    Below,
    Chance(f64),
    Forced,
}

impl FloydJacobson {
    /// A marker at a port of so many `queues` that draws from `stream`.
    ///
    /// # Panics
    ///
    /// If the thresholds, the weight or *max_p* are not RED's, or the typical packet has no size.
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

    /// Whether `average` condemns a packet, or with what probability.
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

    /// Raise the probability *p* by the count (§7, Method 2; ns-2's `modify_p`), and count the packet.
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

    /// The time that the port has idled since it was last asked.
    fn count_idle_time(&mut self, now: Instant, port: &PortView<'_>) {
        if port.port_backlog.0 == 0 && now > port.busy_until {
            self.idle += now.saturating_since(port.busy_until.max(self.idle_until));
            self.idle_until = now;
        }
    }
}

/// *p/rest*, or certainty where the count has used up *1/p*.
fn raise(p: f64, rest: f64) -> f64 {
    if rest > 0.0 { (p / rest).min(1.0) } else { 1.0 }
}

impl Line {
    fn new(config: &Config, rate: Rate) -> Self {
        let packet = config.typical_packet;
        let packet_time = rate.transmission_time(packet);
        match config.thresholds {
            Thresholds::Explicit { min, max, weight } => {
                Self { min: min.0 as f64, max: max.0 as f64, weight, packet_time }
            }
            Thresholds::Automatic { target_delay } => {
                // ns-2, initialize_params: ptc packets a second; min_th = max(5, targetdelay·ptc/2), max_th = 3 min_th,
                // q_w = 1 − exp(−1/ptc) as long as the round-trip time is below 100 ms.
                let per_second = rate.0 as f64 / (8.0 * packet.0 as f64);
                let packets = (target_delay.as_secs_f64() * per_second / 2.0).max(5.0);
                let min = if config.unit == Unit::Bytes { packets * packet.0 as f64 } else { packets };
                Self { min, max: 3.0 * min, weight: -libm::expm1(-1.0 / per_second), packet_time }
            }
        }
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
            // §4: m packets that might have come while the queue was empty.
            let whole = missed.floor();
            average.value *= match rule {
                Idle::Paper => libm::pow(kept, missed),
                Idle::AsReleased => libm::pow(kept, whole + 1.0),
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
                // Certain outcomes draw no number.
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
