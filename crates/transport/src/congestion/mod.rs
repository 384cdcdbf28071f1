//! Congestion control: algorithms that turn congestion signals into a window.
//!
//! The sender handles sequence numbers, loss detection, the inflation of the window during fast recovery and the rule of
//! one reduction per window. An algorithm changes cwnd and ssthresh through a [`Window`]. A new algorithm needs a file
//! here, a line in `algorithms!`, and a variant of [`Config`] with its arms.

pub mod cubic;
pub mod dctcp;
pub mod hystart;
mod interface;
pub mod pulser;
pub mod reno;
#[cfg(test)]
mod testing;
mod window;

pub use cubic::Cubic;
pub use dctcp::Dctcp;
pub use interface::{Ack, Congestion, CongestionControl, EcnMode, Pace};
pub use pulser::Pulser;
pub use reno::Reno;
use shallows_core::packet::Flags;
use shallows_core::{Bytes, Duration, Instant};
#[cfg(test)]
use testing::Timed;
pub(crate) use window::Start;
pub use window::{Avoidance, LossBase, Window};

/// An algorithm and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Config {
    /// Additive increase, halving (RFC 5681).
    Reno(reno::Config),
    /// A cut in proportion to the fraction of marked bytes (RFC 8257).
    Dctcp(dctcp::Config),
    /// A cubic function of the time since the last reduction (RFC 9438).
    Cubic(cubic::Config),
    /// DCTCP with a brake for incast (Pulser, ANCS '19).
    Pulser(pulser::Config),
    /// A congestion control for tests, with a rate and a deadline.
    #[cfg(test)]
    Timed(testing::Config),
}

impl Config {
    /// Returns the use of ECN by connections with this algorithm.
    #[inline]
    pub fn ecn_mode(&self) -> EcnMode {
        match self {
            Self::Reno(reno::Config { ecn }) | Self::Cubic(cubic::Config { ecn, .. }) if *ecn => {
                EcnMode::Classic
            }
            Self::Reno(_) | Self::Cubic(_) => EcnMode::Off,
            Self::Dctcp(_) | Self::Pulser(_) => EcnMode::Accurate,
            #[cfg(test)]
            Self::Timed(_) => EcnMode::Off,
        }
    }

    /// Returns the algorithm without ECN. Algorithms that depend on marks become Reno, as in Linux (`dctcp_init`).
    #[must_use]
    pub fn without_ecn(self) -> Self {
        match self {
            Self::Cubic(cubic) => Self::Cubic(cubic::Config { ecn: false, ..cubic }),
            Self::Reno(_) | Self::Dctcp(_) | Self::Pulser(_) => Self::Reno(reno::Config { ecn: false }),
            #[cfg(test)]
            Self::Timed(_) => self,
        }
    }

    /// Returns whether the algorithm sets a rate. If it does, its connections are paced even if the host does not pace other connections.
    pub fn sets_rate(&self) -> bool {
        match self {
            Self::Reno(_) | Self::Dctcp(_) | Self::Cubic(_) | Self::Pulser(_) => false,
            #[cfg(test)]
            Self::Timed(_) => true,
        }
    }

    /// Returns whether the algorithm reacts to explicit incast notifications.
    pub fn hears_incast(&self) -> bool {
        matches!(self, Self::Pulser(pulser) if pulser.signal == pulser::Signal::Incast)
    }

    /// Returns whether the algorithm reduces its window after ECE.
    pub fn answers_ece(&self) -> bool {
        match self {
            Self::Pulser(pulser) => pulser.signal != pulser::Signal::Ece,
            _ => self.ecn_mode() != EcnMode::Off,
        }
    }

    /// Returns whether the algorithm needs a round-trip time with each acknowledgement.
    pub fn needs_rtt_of_each_ack(&self) -> bool {
        matches!(self, Self::Cubic(cubic) if cubic.hystart != hystart::Config::Off)
    }

    /// Returns whether the algorithm has its own growth in congestion avoidance, so that [`Avoidance`] does not apply.
    pub fn has_own_avoidance(&self) -> bool {
        matches!(self, Self::Cubic(_))
    }

    /// Returns the flags that a receiver echoes.
    pub(crate) fn echoes(&self) -> Flags {
        match self {
            _ if self.hears_incast() => Flags::ECE.with(Flags::INCAST_ECHO),
            _ if self.ecn_mode() == EcnMode::Off => Flags(0),
            _ => Flags::ECE,
        }
    }

    /// Creates the state of a new connection.
    pub(crate) fn build(&self) -> Algorithm {
        match self {
            Self::Reno(_) => Algorithm::Reno(Reno),
            Self::Dctcp(config) => Algorithm::Dctcp(Dctcp::new(config)),
            Self::Cubic(config) => Algorithm::Cubic(Box::new(Cubic::new(config))),
            Self::Pulser(config) => Algorithm::Pulser(Box::new(Pulser::new(config))),
            #[cfg(test)]
            Self::Timed(config) => Algorithm::Timed(Box::new(Timed::new(config))),
        }
    }
}

/// Defines [`Algorithm`] and dispatches each call to the current variant.
macro_rules! algorithms {
    ($($(#[$attribute:meta])* $name:ident($state:ty)),*) => {
        /// Any algorithm; large states are boxed.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $(
                $(#[$attribute])*
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($state),
            )*
        }

        impl CongestionControl for Algorithm {
            #[inline]
            fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
                match self { $($(#[$attribute])* Self::$name(algorithm) => algorithm.on_ack(window, ack),)* }
            }

            fn on_congestion(&mut self, window: &mut Window, congestion: Congestion, flight_size: Bytes) {
                match self {
                    $(
                        $(#[$attribute])*
                        Self::$name(algorithm) => algorithm.on_congestion(window, congestion, flight_size),
                    )*
                }
            }

            fn on_restart(&mut self, window: &mut Window, restart_window: Bytes) {
                match self { $($(#[$attribute])* Self::$name(algorithm) => algorithm.on_restart(window, restart_window),)* }
            }

            fn on_idle(&mut self, idle: Duration) {
                match self { $($(#[$attribute])* Self::$name(algorithm) => algorithm.on_idle(idle),)* }
            }

            #[inline]
            fn pace(&self, window: &Window) -> Pace {
                match self { $($(#[$attribute])* Self::$name(algorithm) => algorithm.pace(window),)* }
            }

            #[inline]
            fn deadline(&self) -> Option<Instant> {
                match self { $($(#[$attribute])* Self::$name(algorithm) => algorithm.deadline(),)* }
            }

            fn on_timer(&mut self, window: &mut Window, now: Instant) {
                match self { $($(#[$attribute])* Self::$name(algorithm) => algorithm.on_timer(window, now),)* }
            }

            fn alpha(&self) -> Option<f64> {
                match self { $($(#[$attribute])* Self::$name(algorithm) => algorithm.alpha(),)* }
            }

            fn is_braking(&self) -> bool {
                match self { $($(#[$attribute])* Self::$name(algorithm) => algorithm.is_braking(),)* }
            }
        }
    };
}

algorithms!(
    Reno(Reno),
    Dctcp(Dctcp),
    Cubic(Box<Cubic>),
    Pulser(Box<Pulser>),
    #[cfg(test)]
    Timed(Box<Timed>)
);

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
