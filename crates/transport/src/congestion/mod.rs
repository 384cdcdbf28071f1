//! Congestion control: what turns signals of congestion into a window.
//!
//! The sender owns sequencing, loss detection, the inflation of the window during fast recovery and the rule of one
//! reduction per window; an algorithm moves cwnd and ssthresh, which it is handed as one [`Window`]. To add one: a file here, a line in `algorithms!`, a
//! variant of [`Config`] with its arms.

pub mod cubic;
pub mod dctcp;
pub mod hystart;
mod interface;
pub mod pulser;
pub mod reno;
mod window;

pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use interface::{Ack, Congestion, CongestionControl, EcnMode};
pub use pulser::Pulser;
pub use reno::Reno;
use shallows_core::packet::Flags;
use shallows_core::{Bytes, Duration};
pub(crate) use window::Start;
pub use window::{Avoidance, LossBase, Window};

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

    /// Whether it reacts to explicit incast notifications.
    pub fn hears_incast(&self) -> bool {
        matches!(self, Self::Pulser(pulser) if pulser.signal == pulser::Signal::Incast)
    }

    /// Whether it answers ECE by a smaller window.
    pub fn answers_ece(&self) -> bool {
        match self {
            Self::Pulser(pulser) => pulser.signal != pulser::Signal::Ece,
            _ => self.ecn_mode() != EcnMode::Off,
        }
    }

    /// Whether it needs a round-trip time with each acknowledgement.
    pub fn needs_rtt_of_each_ack(&self) -> bool {
        matches!(self, Self::Cubic(cubic) if cubic.hystart != hystart::Config::Off)
    }

    /// Whether its window grows in congestion avoidance in a way of its own, so that no [`Avoidance`] applies.
    pub fn has_own_avoidance(&self) -> bool {
        matches!(self, Self::Cubic(_))
    }

    /// The same without ECN. An algorithm that lives on marks is Reno then, as in Linux (`dctcp_init`).
    #[must_use]
    pub fn without_ecn(self) -> Self {
        match self {
            Self::Cubic(cubic) => Self::Cubic(cubic::Config { ecn: false, ..cubic }),
            Self::Reno(_) | Self::Dctcp(_) | Self::Pulser(_) => Self::Reno(reno::Config { ecn: false }),
        }
    }

    /// What a receiver echoes of what switches wrote on packets.
    pub(crate) fn echoes(&self) -> Flags {
        match self {
            _ if self.hears_incast() => Flags::ECE.with(Flags::INCAST_ECHO),
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
