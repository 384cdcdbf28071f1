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
mod interface;
mod mq_ecn;
mod red;
mod split;
mod tcn;
mod threshold;

use std::sync::Arc;

pub use codel::{Codel, Config as CodelConfig};
pub use ein::{Average as EinAverage, Config as EinConfig, Ein, Sampled};
pub use ein_released::{Config as EinReleasedConfig, EinReleased, PacketTime};
pub use floyd_jacobson::{
    Above, Config as FloydJacobsonConfig, EmptyQueue, FloydJacobson, Forced, Idle, Spacing as RedSpacing,
    Thresholds, Weighing,
};
pub use gauge::{Averaging, Gauge, Level, Point, Range, Scope, Unit};
pub use interface::{Action, Aqm, Hears, PortView, Verdict};
pub use mq_ecn::{Config as MqEcnConfig, IdleSince, MqEcn, Standard};
pub use red::{Curve, Red, Spacing};
use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Duration, Instant, Rate};
pub use split::Split;
pub use tcn::Tcn;
pub use threshold::Threshold;

use crate::queue::{Reading, Share};

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
    MqEcn(Arc<MqEcnConfig>),
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

    /// Between which backlogs it acts at a port of this `rate` whose queues have these `shares`; none if it does not compare a backlog.
    pub fn thresholds(&self, shares: &[Share], rate: Rate) -> Option<Range> {
        match *self {
            Self::Threshold { gauge, threshold, split } => {
                let most = split.divide(threshold, shares).iter().copied().max();
                let (kmin, kmax) = (split.least(threshold, shares), most.unwrap_or(threshold));
                Some(Range { gauge, kmin, kmax, pmax: 1.0 })
            }
            Self::Red { gauge, kmin, kmax, pmax, .. } => Some(Range { gauge, kmin, kmax, pmax }),
            Self::MqEcn(ref config) => Some(config.range(shares)),
            Self::FloydJacobson(ref config) => config.range(),
            Self::Tcn { threshold } => {
                let k = rate.bytes_in(threshold).into();
                let gauge = Gauge { point: Point::Dequeue, ..Gauge::default() };
                Some(Range { gauge, kmin: k, kmax: k, pmax: 1.0 })
            }
            Self::Ein(_) | Self::EinReleased(_) | Self::Codel(_) => None,
        }
    }

    /// The single threshold *K* above which it marks every packet, what it compares with it, and how the queues divide it for good.
    pub fn single_threshold(&self) -> Option<(Gauge, Level, Split)> {
        match *self {
            Self::Threshold { gauge, threshold, split } => Some((gauge, threshold, split)),
            Self::MqEcn(ref config) => match config.standard {
                Standard::Threshold(k) => Some((config.gauge(), k.into(), Split::Standard)),
                Standard::Probabilistic { .. } => None,
            },
            _ => None,
        }
    }

    /// All that it may ever do to a packet.
    pub fn verdicts(&self) -> Verdict {
        match self {
            Self::Ein(_) => Verdict::INCAST,
            Self::Codel(codel) if codel.ce_threshold.is_some() => codel.action.verdict().and(Verdict::MARK),
            Self::Codel(codel) => codel.action.verdict(),
            Self::FloydJacobson(red) => red.action.verdict().and(red.forced.verdict()),
            Self::Threshold { .. }
            | Self::Red { .. }
            | Self::MqEcn(_)
            | Self::EinReleased(_)
            | Self::Tcn { .. } => Verdict::MARK,
        }
    }

    /// Whether it compares what a pool holds, so that it depends on other ports.
    pub fn reads_pool(&self) -> bool {
        match self {
            Self::Threshold { gauge, .. } | Self::Red { gauge, .. } => gauge.scope == Scope::Pool,
            Self::FloydJacobson(config) => config.scope == Scope::Pool,
            Self::MqEcn(_) | Self::Ein(_) | Self::EinReleased(_) | Self::Tcn { .. } | Self::Codel(_) => false,
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

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
