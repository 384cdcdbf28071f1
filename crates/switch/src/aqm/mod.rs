//! Active queue management: markers, which mark packets or drop them early.
//!
//! A port calls every marker in its list, because each must update its state. The port applies the verdict and counts it. A new marker
//! needs a file in this folder, a variant of [`Marker`] and of [`Config`], and a row in `docs/models.md` and in `evidence/models.md`.

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

/// A marker at its port, with the counts of its verdicts. The fields that each packet needs come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Installed {
    /// Bit *q* is set if the marker handles the packets of queue *q*.
    queues: u64,
    marker: Marker,
    /// Name of the marker in scenarios.
    name: &'static str,
    counts: MarkerCounts,
}

/// Numbers of packets for each verdict of one marker, regardless of the verdicts of other markers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MarkerCounts {
    /// Packets that the marker chose for a CE mark, including those dropped because they are not ECN-capable.
    pub marked: u64,
    /// Packets that the marker chose for the incast notification.
    pub incast: u64,
    /// Packets that the marker chose to drop.
    pub dropped: u64,
}

impl Installed {
    /// Builds the marker of `config` for a port whose queues have these `shares`. `stream` supplies the random numbers.
    pub fn new(config: &Placed, shares: &[Share], stream: Stream) -> Self {
        Self {
            marker: config.marker.build(shares, stream),
            queues: config.queues,
            name: config.name,
            counts: MarkerCounts::default(),
        }
    }

    /// Returns the name of the marker in scenarios.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the counts of the marker's verdicts since the start.
    pub fn counts(&self) -> MarkerCounts {
        self.counts
    }

    /// Returns the marker.
    pub fn marker(&self) -> &Marker {
        &self.marker
    }

    /// Returns and counts the verdict on an arriving packet. Returns [`Verdict::PASS`] for queues that the marker does not handle.
    #[inline(always)]
    pub(crate) fn on_enqueue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        if !self.handles(port.queue) {
            return Verdict::PASS;
        }
        let verdict = self.marker.on_enqueue(now, header, port);
        self.count(verdict)
    }

    /// Returns and counts the verdict on a departing packet. Returns [`Verdict::PASS`] for queues that the marker does not handle.
    #[inline(always)]
    pub(crate) fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        if !self.handles(port.queue) {
            return Verdict::PASS;
        }
        let verdict = self.marker.on_dequeue(now, header, port);
        self.count(verdict)
    }

    #[inline(always)]
    fn handles(&self, queue: usize) -> bool {
        self.queues >> queue & 1 != 0
    }

    /// Counts a verdict and returns it.
    #[inline(always)]
    fn count(&mut self, verdict: Verdict) -> Verdict {
        if verdict != Verdict::PASS {
            self.counts.marked += u64::from(verdict.marks());
            self.counts.incast += u64::from(verdict.notifies_incast());
            self.counts.dropped += u64::from(verdict.drops());
        }
        verdict
    }

    /// Calls `news`, which passes an event to the marker, if the marker handles the queue `port.queue`. The event needs no verdict.
    #[inline(always)]
    pub(crate) fn tell(&mut self, port: &PortView<'_>, news: impl FnOnce(&mut Marker)) {
        if self.handles(port.queue) {
            news(&mut self.marker);
        }
    }
}

/// Configuration of a marker at a port, and the queues that the marker handles.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// Kind and parameters of the marker.
    pub marker: Config,
    /// Bit *q* is set if the marker handles the packets of queue *q*.
    pub queues: u64,
    /// Name of the marker in results.
    pub name: &'static str,
}

impl Placed {
    /// Returns the configuration of a marker that handles every queue.
    pub fn everywhere(marker: Config) -> Self {
        let name = marker.name();
        Self { marker, queues: u64::MAX, name }
    }
}

/// Kind and parameters of a marker.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// Marks all packets above one threshold: DCTCP's setting, Kmin = Kmax.
    Threshold {
        /// Quantity that the marker compares.
        gauge: Gauge,
        /// *K*: backlog above which every packet is marked.
        threshold: Level,
        /// Division of the threshold among the queues of a port.
        split: Split,
    },
    /// Marks with a probability that grows from Kmin to Kmax.
    Red {
        /// Quantity that the marker compares.
        gauge: Gauge,
        /// Backlog up to which no packet is marked.
        kmin: Level,
        /// Backlog at and above which every packet is marked.
        kmax: Level,
        /// Marking probability just below Kmax.
        pmax: f64,
        /// Spacing between marks.
        spacing: Spacing,
    },
    /// Scales the threshold of each queue with the rate that the queue can get on the link (MQ-ECN).
    MqEcn(Arc<MqEcnConfig>),
    /// RED as Floyd and Jacobson published it.
    FloydJacobson(FloydJacobsonConfig),
    /// Sets the incast notification in departing packets while the backlog grows fast (EIN).
    Ein(EinConfig),
    /// The incast detector of Pulser's testbed switch, which sets CE.
    EinReleased(EinReleasedConfig),
    /// Marks departing packets that have waited longer than a threshold (TCN).
    Tcn {
        /// *T*: the standard threshold in bytes, divided by the rate of the link.
        threshold: Duration,
    },
    /// Drops or marks while the shortest waiting time stays above a target (CoDel).
    Codel(CodelConfig),
}

impl Config {
    /// Builds the marker for a port whose queues have these `shares`. `stream` supplies the random numbers.
    pub fn build(&self, shares: &[Share], stream: Stream) -> Marker {
        match *self {
            Self::MqEcn(ref config) => Marker::MqEcn(Box::new(MqEcn::new(config, shares, stream))),
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

    /// Returns the backlog range in which the marker acts, at a port of this `rate` whose queues have these `shares`; `None` if the
    /// marker does not compare a backlog.
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

    /// Returns the threshold *K* above which the marker marks every packet, the quantity compared with *K*, and the division of *K* among
    /// queues; `None` if there is no single threshold.
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

    /// Returns all verdicts that a marker with this configuration can return.
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

    /// Returns whether the marker compares the occupancy of a pool, and thus depends on other ports.
    pub fn reads_pool(&self) -> bool {
        match self {
            Self::Threshold { gauge, .. } | Self::Red { gauge, .. } => gauge.scope == Scope::Pool,
            Self::FloydJacobson(config) => config.scope == Scope::Pool,
            // For any other marker, `true` is correct and only costs speed.
            other => !matches!(
                other,
                Self::MqEcn(_) | Self::Ein(_) | Self::EinReleased(_) | Self::Tcn { .. } | Self::Codel(_)
            ),
        }
    }

    /// Returns the name of the marker in scenarios.
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

/// Defines [`Marker`] and dispatches each call to the current variant. The code of the markers in the first list is compiled into the path
/// of a packet. The markers in the second list share one branch and are out of line.
macro_rules! markers {
    ([$($inlined:ident($type:ty)),*], [$($name:ident),*]) => {
        /// Any marker, dispatched without function pointers. Large markers are boxed, because each marker of a port takes the size of the largest
        /// variant.
        #[derive(Clone, Debug)]
        pub enum Marker {
            $(
                #[doc = concat!("See [`", stringify!($inlined), "`].")]
                $inlined($type),
            )*
            /// A marker out of line.
            Boxed(Box<Boxed>),
        }

        /// A marker whose code is out of line.
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

        // The copies for markers out of line let the compiler keep all values in registers for the other markers.
        impl Aqm for Marker {
            fn hears(&self) -> Hears {
                match self {
                    $(Self::$inlined(marker) => marker.hears(),)*
                    Self::Boxed(boxed) => boxed.hears(),
                }
            }

            #[inline]
            fn on_arrival(&mut self, now: Instant, header: &Header, port: &PortView<'_>) {
                match self {
                    $(Self::$inlined(marker) => marker.on_arrival(now, header, port),)*
                    Self::Boxed(boxed) => boxed.on_arrival(now, &{ *header }, &{ *port }),
                }
            }

            // Always inlined: a call would take the address of `port`, which then could not stay in registers.
            #[inline(always)]
            fn on_enqueue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
                match self {
                    $(Self::$inlined(marker) => marker.on_enqueue(now, header, port),)*
                    Self::Boxed(boxed) => boxed.on_enqueue(now, &{ *header }, &{ *port }),
                }
            }

            #[inline]
            fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
                match self {
                    $(Self::$inlined(marker) => marker.on_dequeue(now, header, port),)*
                    Self::Boxed(boxed) => boxed.on_dequeue(now, &{ *header }, &{ *port }),
                }
            }

            #[inline(always)]
            fn on_turn(&mut self, now: Instant, port: &PortView<'_>) {
                match self {
                    $(Self::$inlined(marker) => marker.on_turn(now, port),)*
                    Self::Boxed(boxed) => boxed.on_turn(now, &{ *port }),
                }
            }

            fn observe(&self, port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
                match self {
                    $(Self::$inlined(marker) => marker.observe(port, tell),)*
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

markers!([Threshold(Threshold), Red(Red), MqEcn(Box<MqEcn>)], [FloydJacobson, Ein, EinReleased, Tcn, Codel]);

#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
