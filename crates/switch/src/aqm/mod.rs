//! Active queue management: what marks packets, or drops them early.
//!
//! A port has a list of markers and asks every one, since its state must advance; the port carries out the
//! verdict and counts it. To add one: a file here, a variant of [`Marker`] and of [`Config`], a row in
//! `docs/models.md`.

mod codel;
mod ein;
mod ein_released;
mod floyd_jacobson;
mod gauge;
mod mq_ecn;
mod red;
mod tcn;
mod threshold;

pub use codel::{Codel, Config as CodelConfig};
pub use ein::{Average as EinAverage, Config as EinConfig, Ein, Sampled};
pub use ein_released::{Config as EinReleasedConfig, EinReleased, PacketTime};
pub use floyd_jacobson::{
    Above, Config as FloydJacobsonConfig, EmptyQueue, FloydJacobson, Forced, Idle, Spacing as RedSpacing,
    Thresholds, Weighing,
};
pub use gauge::{Averaging, Gauge, Level, Point, Scope, Unit};
pub use mq_ecn::{Config as MqEcnConfig, IdleSince, MqEcn, Standard};
pub use red::{Curve, Red, Spacing};
use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
pub use tcn::Tcn;
pub use threshold::Threshold;

use crate::buffer::{Pool, SharedBuffer};
use crate::discipline::{QueueState, Reading, Share};

/// What a marker decides about one packet; bits, so that the verdicts of several markers add up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict(u8);

impl Verdict {
    /// Leave it alone.
    pub const PASS: Self = Self(0);
    /// Set CE if it is ECN-capable; otherwise drop it (RFC 3168 §5).
    pub const MARK: Self = Self(1);
    /// Set the explicit incast notification (Pulser §III-A).
    pub const INCAST: Self = Self(2);
    /// Drop it, ECN-capable or not.
    pub const DROP: Self = Self(4);

    /// Whether the packet is to be marked.
    pub fn marks(self) -> bool {
        self.0 & Self::MARK.0 != 0
    }

    /// Whether the packet is to carry the explicit incast notification.
    pub fn notifies_incast(self) -> bool {
        self.0 & Self::INCAST.0 != 0
    }

    /// Whether the packet is to be dropped.
    pub fn drops(self) -> bool {
        self.0 & Self::DROP.0 != 0
    }

    /// This verdict and `other` together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn mark_if(condition: bool) -> Self {
        if condition { Self::MARK } else { Self::PASS }
    }
}

/// One egress port as its markers see it.
///
/// A backlog is the bytes that wait: neither the packet on the wire nor the arriving or departing one is in it.
#[derive(Clone, Copy, Debug)]
pub struct PortView<'a> {
    /// Rate of the link.
    pub rate: Rate,
    /// The queue of the packet.
    pub queue: usize,
    /// All queues of the port.
    pub queues: &'a [QueueState],
    /// Bytes waiting at the port.
    pub port_backlog: Bytes,
    /// The memory of the switch, and the number in it of the packet's queue: only those who ask pay for the look-up.
    pub buffer: &'a SharedBuffer,
    /// That number.
    pub account: usize,
    /// When the link is free: in the past if the port idles.
    pub busy_until: Instant,
    /// How long the departing packet has waited; zero for one that arrives.
    pub sojourn: Duration,
}

impl PortView<'_> {
    /// Bytes waiting in the queue of the packet.
    #[inline]
    pub fn queue_backlog(&self) -> Bytes {
        self.queues[self.queue].backlog
    }

    /// The pool that the queue shares.
    #[inline]
    pub fn pool(&self) -> &Pool {
        self.buffer.pool_of(self.account)
    }
}

/// Marks packets, or drops them early. Reads no clock and never touches the packet.
pub trait Aqm {
    /// What it must hear of.
    fn hears(&self) -> Hears;

    /// A packet has arrived, also one that the buffer is about to refuse.
    fn on_arrival(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) {}

    /// A packet that the buffer admits is about to join its queue.
    fn on_enqueue(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) -> Verdict {
        Verdict::PASS
    }

    /// A packet has left its queue and is about to go on the link.
    fn on_dequeue(&mut self, _now: Instant, _header: &Header, _port: &PortView<'_>) -> Verdict {
        Verdict::PASS
    }

    /// The turn of `port.queue` in a round is over: its quantum is used up, or it is empty. Its last packet is on the
    /// wire until `port.busy_until`.
    fn on_turn(&mut self, _now: Instant, _port: &PortView<'_>) {}

    /// Tell what traces should show.
    fn observe(&self, _port: &PortView<'_>, _tell: &mut dyn FnMut(Reading)) {}
}

/// A marker at its port, with what it has done there.
#[derive(Clone, Debug)]
pub struct Installed {
    marker: Marker,
    /// Bit *q*: whether it looks at packets of queue *q*.
    queues: u64,
    /// What it is called in scenarios.
    name: &'static str,
    counts: MarkerCounts,
}

/// Packets by what one marker wanted of them, whether or not another wanted the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkerCounts {
    /// To be given CE, or dropped for want of ECN.
    pub marked: u64,
    /// To be given the incast notification.
    pub incast: u64,
    /// To be dropped.
    pub dropped: u64,
}

impl Installed {
    /// The marker of `config` at a port whose queues have these `shares`; it draws from `stream`.
    pub fn new(config: &Placed, shares: &[Share], stream: Stream) -> Self {
        Self {
            marker: config.marker.build(shares, stream),
            queues: config.queues,
            name: config.name,
            counts: MarkerCounts::default(),
        }
    }

    /// What it is called in scenarios.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What it has done so far.
    pub fn counts(&self) -> MarkerCounts {
        self.counts
    }

    /// The marker itself.
    pub fn marker(&self) -> &Marker {
        &self.marker
    }

    /// Put a question to the marker, if the packet's queue is one that it looks at, and count the answer.
    #[inline(always)]
    pub(crate) fn ask(
        &mut self,
        port: &PortView<'_>,
        question: impl FnOnce(&mut Marker) -> Verdict,
    ) -> Verdict {
        if self.queues >> port.queue & 1 == 0 {
            return Verdict::PASS;
        }
        let verdict = question(&mut self.marker);
        if verdict != Verdict::PASS {
            self.counts.marked += u64::from(verdict.marks());
            self.counts.incast += u64::from(verdict.notifies_incast());
            self.counts.dropped += u64::from(verdict.drops());
        }
        verdict
    }

    /// Tell the marker of something that is not for it to decide.
    #[inline]
    pub(crate) fn tell(&mut self, port: &PortView<'_>, news: impl FnOnce(&mut Marker)) {
        if self.queues >> port.queue & 1 != 0 {
            news(&mut self.marker);
        }
    }
}

/// A marker before it is placed at a port, and the queues that it looks at.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The marker.
    pub marker: Config,
    /// Bit *q*: whether it looks at packets of queue *q*.
    pub queues: u64,
    /// What it is called in results.
    pub name: &'static str,
}

impl Placed {
    /// A marker that looks at every queue.
    pub fn everywhere(marker: Config) -> Self {
        let name = marker.name();
        Self { marker, queues: u64::MAX, name }
    }
}

/// What a marker does to a packet that it has chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// CE if it is ECN-capable, else a drop.
    #[default]
    Mark,
    /// A drop.
    Drop,
}

impl Action {
    fn verdict(self) -> Verdict {
        match self {
            Self::Mark => Verdict::MARK,
            Self::Drop => Verdict::DROP,
        }
    }
}

/// A marker and its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// Mark all above one threshold: DCTCP's setting, Kmin = Kmax.
    Threshold {
        /// What it measures.
        gauge: Gauge,
        /// *K*.
        threshold: Level,
        /// How the queues of a port divide it.
        split: Split,
    },
    /// Mark with a probability that grows from Kmin to Kmax.
    Red {
        /// What it measures.
        gauge: Gauge,
        /// Up to here nothing is marked.
        kmin: Level,
        /// From here on everything is.
        kmax: Level,
        /// Probability just below Kmax.
        pmax: f64,
        /// How marks follow one another.
        spacing: Spacing,
    },
    /// Mark by what each queue can get of the link.
    MqEcn(MqEcnConfig),
    /// RED as Floyd and Jacobson wrote it.
    FloydJacobson(FloydJacobsonConfig),
    /// Notify of incast where the backlog grows fast.
    Ein(EinConfig),
    /// Likewise, as the switch of Pulser's testbed does it: by CE.
    EinReleased(EinReleasedConfig),
    /// Mark what has waited longer than a threshold, as it leaves (TCN).
    Tcn {
        /// *T*: the standard threshold over the rate of the link.
        threshold: Duration,
    },
    /// Mark or drop where the shortest wait stays too long.
    Codel(CodelConfig),
}

/// How the queues of a port divide a threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Each has all of it: the "standard" threshold of MQ-ECN §2.
    #[default]
    Standard,
    /// Each has its share by quantum or weight: the "minimum" threshold. Queues of strict priority have all of it.
    Minimum,
}

impl Split {
    /// The part of `whole` that each queue with these shares has.
    pub fn divide(self, whole: Level, shares: &[Share]) -> Box<[Level]> {
        let claim = |share: &Share| match *share {
            Share::Strict => 0,
            Share::Round { quantum } => quantum.0,
            Share::Weight(weight) => u64::from(weight),
        };
        let sum: u64 = shares.iter().map(claim).sum();
        let part = |share: &Share| match (self, claim(share)) {
            (Self::Standard, _) | (Self::Minimum, 0) => whole,
            (Self::Minimum, claim) => {
                Level((u128::from(whole.0) * u128::from(claim) / u128::from(sum)) as u64)
            }
        };
        shares.iter().map(part).collect()
    }
}

impl Config {
    /// The marker of one port, whose queues have these `shares`; it draws from `stream`.
    pub fn build(&self, shares: &[Share], stream: Stream) -> Marker {
        match *self {
            Self::MqEcn(ref config) => MqEcn::new(config, shares, stream).into(),
            Self::FloydJacobson(ref config) => FloydJacobson::new(config, shares.len(), stream).into(),
            Self::Ein(ref config) => Ein::new(config).into(),
            Self::EinReleased(ref config) => EinReleased::new(config).into(),
            Self::Tcn { threshold } => Tcn::new(threshold).into(),
            Self::Codel(ref config) => Codel::new(config, shares.len()).into(),
            Self::Threshold { gauge, threshold, split } => {
                Marker::Threshold(Threshold::new(gauge, split.divide(threshold, shares)))
            }
            Self::Red { gauge, kmin, kmax, pmax, spacing } => {
                Marker::Red(Red::new(gauge, shares.len(), red::curve(kmin, kmax, pmax), spacing, stream))
            }
        }
    }

    /// What it is called in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Threshold { .. } => "threshold",
            Self::Red { .. } => "red",
            Self::MqEcn(_) => "mq-ecn",
            Self::FloydJacobson(_) => "red-classic",
            Self::Ein(_) => "ein",
            Self::EinReleased(_) => "ein-as-released",
            Self::Tcn { .. } => "tcn",
            Self::Codel(_) => "codel",
        }
    }
}

/// Defines [`Marker`] and hands each call to the variant it holds. The plain ones come first: they are on the path of
/// nearly every packet, and that is worth a branch of its own. All others are out of line, in a box.
macro_rules! markers {
    ([$($plain:ident),*], [$($name:ident),*]) => {
        /// Any marker, dispatched without a pointer to code: ports hold them side by side. Large ones live in a box.
        #[derive(Clone, Debug)]
        pub enum Marker {
            $(
                #[doc = concat!("See [`", stringify!($plain), "`].")]
                $plain($plain),
            )*
            /// A larger one.
            Boxed(Box<Boxed>),
        }

        /// A marker that is larger, or does more for a packet than compare.
        #[derive(Clone, Debug)]
        pub enum Boxed {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name),
            )*
        }

        $(
            impl From<$name> for Marker {
                fn from(marker: $name) -> Self {
                    Self::Boxed(Box::new(Boxed::$name(marker)))
                }
            }
        )*

        // Copies are made here for whoever is out of line, so that for the plain ones all stays in registers.
        impl Aqm for Marker {
            fn hears(&self) -> Hears {
                match self {
                    $(Self::$plain(marker) => marker.hears(),)*
                    Self::Boxed(boxed) => boxed.hears(),
                }
            }

            #[inline]
            fn on_arrival(&mut self, now: Instant, header: &Header, port: &PortView<'_>) {
                if let Self::Boxed(boxed) = self {
                    boxed.on_arrival(now, &{ *header }, &{ *port });
                }
            }

            #[inline]
            fn on_enqueue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
                match self {
                    $(Self::$plain(marker) => marker.on_enqueue(now, header, port),)*
                    Self::Boxed(boxed) => boxed.on_enqueue(now, &{ *header }, &{ *port }),
                }
            }

            #[inline]
            fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
                match self {
                    $(Self::$plain(marker) => marker.on_dequeue(now, header, port),)*
                    Self::Boxed(boxed) => boxed.on_dequeue(now, &{ *header }, &{ *port }),
                }
            }

            #[inline]
            fn on_turn(&mut self, now: Instant, port: &PortView<'_>) {
                if let Self::Boxed(boxed) = self {
                    boxed.on_turn(now, &{ *port });
                }
            }

            fn observe(&self, port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
                match self {
                    $(Self::$plain(marker) => marker.observe(port, tell),)*
                    Self::Boxed(boxed) => boxed.observe(port, tell),
                }
            }
        }

        impl Aqm for Boxed {
            fn hears(&self) -> Hears {
                match self { $(Self::$name(marker) => marker.hears(),)* }
            }

            #[inline(never)]
            fn on_arrival(&mut self, now: Instant, header: &Header, port: &PortView<'_>) {
                match self { $(Self::$name(marker) => marker.on_arrival(now, header, port),)* }
            }

            #[inline(never)]
            fn on_enqueue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
                match self { $(Self::$name(marker) => marker.on_enqueue(now, header, port),)* }
            }

            #[inline(never)]
            fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
                match self { $(Self::$name(marker) => marker.on_dequeue(now, header, port),)* }
            }

            #[inline(never)]
            fn on_turn(&mut self, now: Instant, port: &PortView<'_>) {
                match self { $(Self::$name(marker) => marker.on_turn(now, port),)* }
            }

            fn observe(&self, port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
                match self { $(Self::$name(marker) => marker.observe(port, tell),)* }
            }
        }
    };
}

markers!([Threshold, Red], [MqEcn, FloydJacobson, Ein, EinReleased, Tcn, Codel]);

/// What a marker must hear of, or the markers of a port together; bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hears(u8);

impl Hears {
    /// [`Aqm::on_enqueue`].
    pub const ENQUEUES: Self = Self(1);
    /// [`Aqm::on_dequeue`].
    pub const DEQUEUES: Self = Self(2);
    /// [`Aqm::on_arrival`].
    pub const ARRIVALS: Self = Self(4);

    /// These and those of `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of `other` are among these.
    #[inline]
    pub fn includes(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl From<Point> for Hears {
    fn from(point: Point) -> Self {
        match point {
            Point::Enqueue => Self::ENQUEUES,
            Point::Dequeue => Self::DEQUEUES,
        }
    }
}

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
