//! MQ-ECN (Bai, Chen, Chen, Kim, Wu; NSDI '16): marks above a threshold that is proportional to the rate that the queue can get.
//!
//! A queue served in rounds gets the rate *quantum/T_round*. Its threshold is the standard threshold times that rate divided by the rate of
//! the link, and at most the standard threshold. WFQ has no rounds: there, the standard threshold is multiplied by the weight of the queue
//! and divided by the sum of the weights of the backlogged queues. Queues of strict priority keep the standard threshold. The scheduler
//! reports the end of each turn.
//!
//! The marker must handle every queue of its port.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};

use super::gauge::{Gauge, Level, Point, Range};
use super::interface::{Aqm, Hears, PortView, Verdict};
use super::red::Curve;
use super::split::Split;
use crate::queue::{Reading, Share};

/// Shortest round time that lowers thresholds (MQ-ECN's released simulator, dwrr.cc).
const SHORTEST_ROUND_PS: f64 = 1_000.0;

/// Largest standard threshold in bytes. Larger ones are lowered to this one, which no backlog reaches, because [`float`] converts no larger
/// number.
const NEVER_REACHED: u64 = u64::MAX >> 1;

/// Parameters of MQ-ECN.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Marking rule for a queue that has the link to itself.
    pub standard: Standard,
    /// Point in a packet's passage through the port at which the marker compares the backlog with its threshold.
    pub point: Point,
    /// Whether the queue length includes the arriving or departing packet, as in MQ-ECN's released simulator.
    pub counts_packet: bool,
    /// *β*: weight of the old round time.
    pub beta: f64,
    /// Size of the largest packet; its transmission time is the unit of time.
    pub mtu: Bytes,
    /// *T_idle*: the marker counts one empty round per *T_idle* while the port is idle. `None` means the transmission time of `mtu`.
    pub idle_time: Option<Duration>,
    /// Event after which the port counts as idle.
    pub idle_since: IdleSince,
}

impl Config {
    /// Returns the parameters of the MQ-ECN paper (§5, §3.3.1) for this standard threshold *C · RTT · λ*.
    pub fn paper(threshold: Bytes) -> Self {
        Self {
            standard: Standard::Threshold(threshold),
            point: Point::Enqueue,
            counts_packet: true,
            beta: 0.75,
            mtu: Bytes(1_500),
            idle_time: None,
            idle_since: IdleSince::LinkFree,
        }
    }

    /// Returns the quantity that the marker compares.
    pub(super) fn gauge(&self) -> Gauge {
        Gauge { point: self.point, counts_packet: self.counts_packet, ..Gauge::default() }
    }

    /// Returns the backlog range in which the marker acts. It begins at the smallest threshold that any queue has while all queues are
    /// busy, and ends at the standard threshold.
    pub(super) fn range(&self, shares: &[Share]) -> Range {
        let (kmin, kmax, pmax) = match self.standard {
            Standard::Threshold(k) => (k.into(), k.into(), 1.0),
            Standard::Probabilistic { kmin, kmax, pmax } => (kmin, kmax, pmax),
        };
        Range { gauge: self.gauge(), kmin: Split::Minimum.least(kmin, shares), kmax, pmax }
    }
}

/// Marking rule for a queue that has the link to itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standard {
    /// Marks every packet at a backlog strictly above *K* (§3.2, Eq. 5).
    Threshold(Bytes),
    /// Marks with a probability that grows between two thresholds (§3.4, "Probabilistic Marking").
    Probabilistic {
        /// *Kmin*: backlog up to which no packet is marked.
        kmin: Level,
        /// *Kmax*: backlog at and above which every packet is marked.
        kmax: Level,
        /// *Pmax*: marking probability just below *Kmax*, the same for every queue.
        pmax: f64,
    },
}

impl Standard {
    fn curve(self) -> Curve {
        match self {
            Self::Threshold(k) => Curve::new(k.0, k.0, 1.0),
            Self::Probabilistic { kmin, kmax, pmax } => Curve::new(kmin.0, kmax.0, pmax),
        }
    }
}

/// Event after which a port counts as idle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IdleSince {
    /// The last packet has left the link (§3.3.1, "when the switch port is idle").
    #[default]
    LinkFree,
    /// The transmission of the last packet began, as in MQ-ECN's released simulator.
    AsReleased,
}

/// MQ-ECN marker of one port. The fields that most packets need come first, in one cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct MqEcn {
    /// *T_round*: smoothed round time, in picoseconds.
    round_time: f64,
    /// Smoothed sum of the weights of backlogged queues.
    weight_sum: f64,
    /// Time up to which idle time has been counted.
    counted_until: Instant,
    queues: Box<[QueueShare]>,
    /// Configuration, shared by all ports.
    config: Arc<Config>,
    /// Last rate of the link, and the transmission time of the largest packet at this rate. This saves a division when a packet arrives at
    /// an empty port.
    mtu_time: (Rate, Duration),
    /// Start of the last transmission that left the port empty.
    emptied_at: Instant,
    /// Time at which the sum of weights was last sampled.
    sampled_at: Option<Instant>,
    stream: Stream,
}

const _: () = assert!(std::mem::offset_of!(MqEcn, emptied_at) == 64, "one cache line precedes it");

/// State of one queue.
#[derive(Clone, Copy, Debug)]
struct QueueShare {
    /// End of the queue's last turn, or the time at which the queue became active if that is later.
    start: Instant,
    link_share: LinkShare,
}

/// Rule for the share of the link that a queue may use.
#[derive(Clone, Copy, Debug)]
enum LinkShare {
    /// The whole link, for a queue of strict priority.
    Strict,
    /// The share of a queue that sends one quantum per round. The value is the time to send the quantum on a link of 1 bit/s, in
    /// picoseconds.
    Round(f64),
    /// The share of a WFQ queue: this weight, divided by the sum of the weights of all backlogged queues.
    Weight(u32),
}

impl MqEcn {
    /// Creates a marker for queues with these `shares`. `stream` supplies the random numbers.
    ///
    /// # Panics
    ///
    /// Panics if *β* is not in \[0, 1), if the MTU or *T_idle* is zero, or if the thresholds or *Pmax* of [`Config::standard`] are invalid.
    pub fn new(config: &Arc<Config>, shares: &[Share], stream: Stream) -> Self {
        assert!((0.0..1.0).contains(&config.beta), "not the weight of the old round time: {}", config.beta);
        assert!(
            config.mtu.0 > 0 && config.idle_time != Some(Duration::ZERO),
            "idle time is counted in slots"
        );
        // Panics now, and not at the first packet, if the curve is invalid.
        config.standard.curve();
        let link_share = |share: &Share| match *share {
            Share::Strict => LinkShare::Strict,
            Share::Round { quantum } => LinkShare::Round(quantum.0 as f64 * 8e12),
            Share::Weight(weight) => LinkShare::Weight(weight),
        };
        let queues =
            shares.iter().map(|share| QueueShare { start: Instant::ZERO, link_share: link_share(share) });
        Self {
            round_time: 0.0,
            weight_sum: 0.0,
            counted_until: Instant::ZERO,
            emptied_at: Instant::ZERO,
            queues: queues.collect(),
            config: Arc::clone(config),
            mtu_time: (Rate(0), Duration::ZERO),
            sampled_at: None,
            stream,
        }
    }

    /// Returns the share of the link that `queue` may use, at most 1 (Eq. 5: *min(quantum/T_round, C)/C*).
    #[inline(always)]
    fn link_share(&self, queue: usize, rate: Rate) -> f64 {
        match self.queues[queue].link_share {
            // §3.4: "we statically set their marking thresholds to the standard marking threshold".
            LinkShare::Strict => 1.0,
            LinkShare::Round(_) if self.round_time < SHORTEST_ROUND_PS => 1.0,
            LinkShare::Round(quantum) => (quantum / float(rate.0) / self.round_time).min(1.0),
            // §3.4: w_i/w_sum.
            LinkShare::Weight(weight) if self.weight_sum <= f64::from(weight) => 1.0,
            LinkShare::Weight(weight) => f64::from(weight) / self.weight_sum,
        }
    }

    #[inline(always)]
    fn decide(&mut self, point: Point, header: &Header, port: &PortView<'_>) -> Verdict {
        if self.config.point != point {
            return Verdict::PASS;
        }
        let own = if self.config.counts_packet { header.size() } else { Bytes(0) };
        let length = float((port.queue_backlog() + own).0);
        let link_share = || self.link_share(port.queue, port.rate);
        match self.config.standard {
            // An empty queue is never above its threshold, so its share need not be computed.
            Standard::Threshold(k) => {
                Verdict::mark_if(length > 0.0 && length > float(k.0.min(NEVER_REACHED)) * link_share())
            }
            Standard::Probabilistic { .. } => {
                let curve = self.config.standard.curve().scaled(link_share());
                let probability = curve.probability(length);
                let certain = probability >= 1.0;
                Verdict::mark_if(certain || probability > 0.0 && self.stream.uniform() < probability)
            }
        }
    }

    /// Counts the idle time before an arrival at an empty port: each whole *T_idle* counts "as if we get a T_sample of 0" (§3.3.1).
    #[inline(always)]
    fn count_idle_time(&mut self, now: Instant, port: &PortView<'_>) {
        let since = match self.config.idle_since {
            IdleSince::LinkFree => port.busy_until,
            IdleSince::AsReleased => self.emptied_at,
        };
        let idle = now.saturating_since(since.max(self.counted_until));
        let slot = self.config.idle_time.unwrap_or_else(|| self.mtu_time(port.rate));
        if idle >= slot {
            let decay = power(self.config.beta, idle.0 / slot.0);
            self.round_time *= decay;
            self.weight_sum *= decay;
            self.counted_until = now;
        }
    }

    /// Returns the transmission time of the largest packet.
    #[inline(always)]
    fn mtu_time(&mut self, rate: Rate) -> Duration {
        if self.mtu_time.0 != rate {
            self.mtu_time = (rate, rate.transmission_time(self.config.mtu));
        }
        self.mtu_time.1
    }

    /// Returns the next value of the exponential filter (Eq. 6); *β* is the weight of the old value.
    fn smooth(&self, old: f64, sample: f64) -> f64 {
        self.config.beta * old + (1.0 - self.config.beta) * sample
    }

    /// Samples the sum of weights for WFQ, at most once per MTU time. A sample adds the weights of the queues that hold packets and of
    /// the queue that has just sent.
    fn sample_weights(&mut self, now: Instant, port: &PortView<'_>) {
        let slot = self.mtu_time(port.rate);
        if self.sampled_at.is_some_and(|last| now.saturating_since(last) < slot) {
            return;
        }
        self.sampled_at = Some(now);
        let weight = |(queue, own): (usize, &QueueShare)| match own.link_share {
            LinkShare::Weight(weight) if queue == port.queue || port.queues[queue].packets > 0 => {
                u64::from(weight)
            }
            _ => 0,
        };
        let sum: u64 = self.queues.iter().enumerate().map(weight).sum();
        self.weight_sum = self.smooth(self.weight_sum, sum as f64);
    }
}

impl Aqm for MqEcn {
    fn hears(&self) -> Hears {
        let weights = self.queues.iter().any(|queue| matches!(queue.link_share, LinkShare::Weight(_)));
        let since_start = self.config.idle_since == IdleSince::AsReleased;
        let dequeues = self.config.point == Point::Dequeue || weights || since_start;
        let hears = Hears::ENQUEUES.and(Hears::TURNS);
        if dequeues { hears.and(Hears::DEQUEUES) } else { hears }
    }

    #[inline(always)]
    fn on_enqueue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        if port.port_backlog.0 == 0 {
            self.count_idle_time(now, port);
        }
        if port.queues[port.queue].packets == 0 {
            // MQ-ECN's released simulator: the turn of a newly active queue starts now, or at the end of its last turn if that is later.
            let start = &mut self.queues[port.queue].start;
            *start = now.max(*start);
        }
        self.decide(Point::Enqueue, header, port)
    }

    fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        if port.port_backlog.0 == 0 {
            self.emptied_at = now;
        }
        if let LinkShare::Weight(_) = self.queues[port.queue].link_share {
            self.sample_weights(now, port);
        }
        self.decide(Point::Dequeue, header, port)
    }

    #[inline(always)]
    fn on_turn(&mut self, now: Instant, port: &PortView<'_>) {
        let QueueShare { start, link_share: LinkShare::Round(_) } = self.queues[port.queue] else { return };
        // §3.3.1: T_sample = T_now − T_pre, then T_pre = T_now. T_now is the time at which the last bit of the turn has left.
        let finish = port.busy_until.max(now);
        let sample = finish.saturating_since(start);
        self.queues[port.queue].start = finish;
        self.round_time = self.smooth(self.round_time, float(sample.0));
    }

    fn observe(&self, port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
        if self.queues.iter().any(|queue| matches!(queue.link_share, LinkShare::Round(_))) {
            tell(Reading { quantity: "round_time_us", queue: None, value: self.round_time / 1e6 });
        }
        if self.queues.iter().any(|queue| matches!(queue.link_share, LinkShare::Weight(_))) {
            tell(Reading { quantity: "weight_sum", queue: None, value: self.weight_sum });
        }
        for queue in 0..self.queues.len() {
            let value = self.config.standard.curve().kmax() * self.link_share(queue, port.rate);
            tell(Reading { quantity: "threshold_bytes", queue: Some(queue), value });
        }
    }
}

/// Converts a backlog, a rate or a time. The conversion of a signed integer takes one instruction, that of an unsigned integer several.
#[inline(always)]
fn float(below_2_to_63: u64) -> f64 {
    below_2_to_63 as i64 as f64
}

/// Raises `base` to `exponent` by repeated squaring. A port that is often idle computes a power for nearly every packet. With `libm::pow`,
/// these powers took 3 % of a run's time.
fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut found = 1.0;
    while exponent > 0 {
        if exponent % 2 == 1 {
            found *= base;
        }
        base *= base;
        exponent /= 2;
    }
    found
}

#[cfg(test)]
mod tests;
