//! Congestion control: what turns signals of congestion into a window.
//!
//! The sender owns sequencing, loss detection, the inflation of the window during fast recovery and the rule of one
//! reduction per window; an algorithm moves cwnd and ssthresh, which it is handed as one [`Window`]. To add one: a file here, a line in `algorithms!`, a
//! variant of [`Config`] with its arms.

pub mod cubic;
pub mod dctcp;
pub mod pulser;
pub mod reno;
mod window;

pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use pulser::Pulser;
pub use reno::Reno;
use shallows_core::packet::Flags;
use shallows_core::{Bytes, Duration, Instant};
pub use window::{Avoidance, LossBase, Window};

/// How a connection uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMode {
    /// Not at all.
    Off,
    /// The receiver echoes until the sender says CWR (RFC 3168 §6.1).
    Classic,
    /// The receiver echoes exactly what it sees (RFC 8257 §3.2).
    Accurate,
}

/// One acceptable acknowledgement, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The acknowledgement number.
    pub number: u64,
    /// Bytes that it newly acknowledges; none if it is a duplicate.
    pub acked: Bytes,
    /// Sequence number after the last byte sent.
    pub next: u64,
    /// Whether it carries ECE, and the connection uses it.
    pub ece: bool,
    /// Its flags.
    pub flags: Flags,
    /// Bytes that cwnd may grow for: what is newly acknowledged, outside of loss recovery, unless this acknowledgement
    /// cuts cwnd.
    pub growth: Bytes,
    /// When it arrived.
    pub now: Instant,
    /// The smoothed round-trip time; `Duration::MAX` before the first sample.
    pub srtt: Duration,
}

/// A signal of congestion; the sender passes on at most one per window of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// An acknowledgement with ECE.
    Ecn,
    /// A loss that duplicate acknowledgements revealed.
    Loss,
    /// The retransmission timer fired.
    Timeout,
    /// It fired again for the same segment.
    RepeatedTimeout,
}

/// Turns signals of congestion into a window.
pub trait CongestionControl {
    /// An acceptable acknowledgement arrived. Called once for each, before [`Self::on_congestion`].
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// Congestion was signalled while `flight_size` bytes were sent but not acknowledged.
    fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes);

    /// Data is about to be sent after an idle RTO (RFC 5681 §4.1).
    fn on_restart(&mut self, window: &mut Window, restart_window: Bytes) {
        window.restart(restart_window);
    }

    /// Nothing was sent for `idle`, and now data is about to be.
    fn on_idle(&mut self, _idle: Duration) {}

    /// DCTCP's estimate of the fraction of marked bytes, where there is one.
    fn alpha(&self) -> Option<f64> {
        None
    }

    /// Whether it holds the window down until the network says that an incast is over.
    fn is_braking(&self) -> bool {
        false
    }
}

/// An algorithm and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Config {
    /// Additive increase, halving (RFC 5681).
    Reno(reno::Config),
    /// A cut in proportion to the fraction of marked bytes (RFC 8257).
    Dctcp(dctcp::Config),
    /// A cubic function of the time since the last reduction (RFC 9438).
    Cubic(cubic::Config),
    /// DCTCP with a brake for incast (Pulser, ANCS '19).
    Pulser(pulser::Config),
}

impl Config {
    /// How connections under this algorithm use ECN.
    #[inline]
    pub fn ecn_mode(&self) -> EcnMode {
        match self {
            Self::Reno(reno::Config { ecn }) | Self::Cubic(cubic::Config { ecn, .. }) if *ecn => {
                EcnMode::Classic
            }
            Self::Reno(_) | Self::Cubic(_) => EcnMode::Off,
            Self::Dctcp(_) | Self::Pulser(_) => EcnMode::Accurate,
        }
    }

    /// What a receiver echoes of what switches wrote on packets.
    pub(crate) fn echoes(&self) -> Flags {
        match self {
            Self::Pulser(pulser) if pulser.signal == pulser::Signal::Incast => {
                Flags::ECE.with(Flags::INCAST_ECHO)
            }
            _ if self.ecn_mode() == EcnMode::Off => Flags(0),
            _ => Flags::ECE,
        }
    }

    /// The state of a new connection.
    pub(crate) fn build(&self) -> Algorithm {
        match self {
            Self::Reno(_) => Algorithm::Reno(Reno),
            Self::Dctcp(config) => Algorithm::Dctcp(Dctcp::new(config)),
            Self::Cubic(config) => Algorithm::Cubic(Box::new(Cubic::new(config))),
            Self::Pulser(config) => Algorithm::Pulser(Box::new(Pulser::new(config))),
        }
    }
}

/// Defines [`Algorithm`] and hands each call to the variant it holds.
macro_rules! algorithms {
    ($($name:ident($state:ty)),*) => {
        /// Any algorithm; those with much state keep it elsewhere.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($state),
            )*
        }

        impl CongestionControl for Algorithm {
            #[inline]
            fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
                match self { $(Self::$name(algorithm) => algorithm.on_ack(window, ack),)* }
            }

            fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes) {
                match self {
                    $(Self::$name(algorithm) => algorithm.on_congestion(window, congestion, flight_size),)*
                }
            }

            fn on_restart(&mut self, window: &mut Window, restart_window: Bytes) {
                match self { $(Self::$name(algorithm) => algorithm.on_restart(window, restart_window),)* }
            }

            fn on_idle(&mut self, idle: Duration) {
                match self { $(Self::$name(algorithm) => algorithm.on_idle(idle),)* }
            }

            fn alpha(&self) -> Option<f64> {
                match self { $(Self::$name(algorithm) => algorithm.alpha(),)* }
            }

            fn is_braking(&self) -> bool {
                match self { $(Self::$name(algorithm) => algorithm.is_braking(),)* }
            }
        }
    };
}

algorithms!(Reno(Reno), Dctcp(Dctcp), Cubic(Box<Cubic>), Pulser(Box<Pulser>));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_keeps_no_alpha_and_has_no_brake_reports_none() {
        for config in [Config::Reno(reno::Config::default()), Config::Cubic(cubic::Config::default())] {
            let algorithm = config.build();
            assert_eq!((algorithm.alpha(), algorithm.is_braking()), (None, false), "{config:?}");
        }
    }
}
