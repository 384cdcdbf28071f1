//! Congestion control of a queue pair: algorithms that turn congestion signals into a rate and a window.
//!
//! A new algorithm needs a file here, a line in `algorithms!`, and a variant of [`Config`] with its match arms.

pub mod connectx;
pub mod dcqcn;
pub mod dctcp;
pub mod hpcc;
pub mod hpcc_pint;
mod interface;
pub mod pint;
pub mod powertcp;
pub mod swift;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
pub mod timely;

use interface::CongestionControl;
pub use interface::{Ack, Digest, Loss, Pace, Telemetry, Window};
use shallows_core::{Bytes, Instant, Rate};

/// Parameters of a congestion control.
#[derive(Clone, Debug, PartialEq)]
pub enum Config {
    /// No congestion control: the requester sends at line rate.
    None,
    /// DCQCN (SIGCOMM '15).
    Dcqcn(dcqcn::Config),
    /// DCQCN as ConnectX NICs run it.
    ConnectX(connectx::Config),
    /// TIMELY (SIGCOMM '15) and patched TIMELY (CoNEXT '16).
    Timely(timely::Config),
    /// Swift (SIGCOMM '20).
    Swift(swift::Config),
    /// HPCC (SIGCOMM '19).
    Hpcc(hpcc::Config),
    /// HPCC with PINT (SIGCOMM '20).
    HpccPint(hpcc_pint::Config),
    /// PowerTCP and θ-PowerTCP (NSDI '22).
    PowerTcp(powertcp::Config),
    /// DCTCP over RDMA, as HPCC's authors run it.
    RdmaDctcp(dctcp::Config),
}

impl Config {
    /// Creates the congestion control of a queue pair. `line_rate` is the rate of the NIC's link.
    pub fn build(&self, line_rate: Rate) -> Algorithm {
        match self {
            Self::None => Algorithm::None(line_rate),
            Self::Dcqcn(config) => Algorithm::Dcqcn(Box::new(dcqcn::Dcqcn::new(config, line_rate))),
            Self::ConnectX(config) => {
                Algorithm::ConnectX(Box::new(connectx::ConnectX::new(config, line_rate)))
            }
            Self::Timely(config) => Algorithm::Timely(Box::new(timely::Timely::new(config, line_rate))),
            Self::Swift(config) => Algorithm::Swift(Box::new(swift::Swift::new(config, line_rate))),
            Self::Hpcc(config) => Algorithm::Hpcc(Box::new(hpcc::Hpcc::new(config, line_rate))),
            Self::HpccPint(config) => {
                Algorithm::HpccPint(Box::new(hpcc_pint::HpccPint::new(config, line_rate)))
            }
            Self::PowerTcp(config) => {
                Algorithm::PowerTcp(Box::new(powertcp::PowerTcp::new(config, line_rate)))
            }
            Self::RdmaDctcp(config) => Algorithm::RdmaDctcp(Box::new(dctcp::Dctcp::new(config, line_rate))),
        }
    }

    /// Returns the name of the control in scenarios.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Dcqcn(_) => "dcqcn",
            Self::ConnectX(_) => "dcqcn-connectx",
            Self::Timely(config) => match config.rule {
                timely::Rule::Gradient => "timely",
                timely::Rule::Patched => "timely-patched",
            },
            Self::Swift(_) => "swift",
            Self::Hpcc(_) => "hpcc",
            Self::HpccPint(_) => "hpcc-pint",
            Self::PowerTcp(config) => match config.signal {
                powertcp::Signal::Telemetry => "powertcp",
                powertcp::Signal::Delay => "theta-powertcp",
            },
            Self::RdmaDctcp(_) => "dctcp",
        }
    }

    /// Returns whether the control reacts to congestion notification packets. If so, the responder must send them.
    pub fn uses_cnps(&self) -> bool {
        matches!(self, Self::Dcqcn(_) | Self::ConnectX(_))
    }

    /// Returns whether the control reacts to marks. If so, acknowledgements must echo them.
    pub fn uses_ack_marks(&self) -> bool {
        matches!(self, Self::RdmaDctcp(_))
    }

    /// Returns whether the control reacts to in-band telemetry. If so, switches must add it and acknowledgements must carry it.
    pub fn uses_telemetry(&self) -> bool {
        match self {
            Self::Hpcc(_) => true,
            Self::PowerTcp(config) => config.signal == powertcp::Signal::Telemetry,
            _ => false,
        }
    }

    /// Returns the parameters with which switches measure utilisation for PINT; `None` if the control does not use PINT.
    pub fn pint(&self) -> Option<pint::Config> {
        if let Self::HpccPint(config) = self { Some(config.of_switches()) } else { None }
    }

    /// Returns whether the control reacts to the RTT of acknowledgements.
    pub fn uses_rtt(&self) -> bool {
        match self {
            Self::Timely(_) | Self::Swift(_) => true,
            Self::PowerTcp(config) => config.signal == powertcp::Signal::Delay,
            _ => false,
        }
    }
}

/// Defines [`Algorithm`], which passes each call to its variant.
macro_rules! algorithms {
    ($($name:ident($state:ty)),*) => {
        /// State of a congestion control. Each method expects the configuration with which the state was built.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            /// No congestion control; contains the rate of the NIC's link.
            None(Rate),
            $(
                #[doc = concat!("See [`Config::", stringify!($name), "`].")]
                $name(Box<$state>),
            )*
        }

        impl Algorithm {
            /// Returns the rate and the window.
            pub fn pace(&self) -> Pace {
                match self {
                    Self::None(rate) => Pace { rate: *rate, window: None },
                    $(Self::$name(state) => state.pace(),)*
                }
            }

            /// Records that a packet of `size` bytes on the wire was sent. Returns whether the rate or the window may have changed.
            pub fn on_send(&mut self, config: &Config, size: Bytes) -> bool {
                match (self, config) {
                    $((Self::$name(state), Config::$name(config)) => state.on_send(config, size),)*
                    (this, _) => {
                        this.assert_none(config);
                        false
                    }
                }
            }

            /// Handles an acknowledgement that acknowledges new data.
            pub fn on_ack(&mut self, config: &Config, ack: &Ack<'_>) {
                match (self, config) {
                    $((Self::$name(state), Config::$name(config)) => state.on_ack(config, ack),)*
                    (this, _) => this.assert_none(config),
                }
            }

            /// Handles a congestion notification packet.
            pub fn on_cnp(&mut self, config: &Config, now: Instant) {
                match (self, config) {
                    $((Self::$name(state), Config::$name(config)) => state.on_cnp(config, now),)*
                    (this, _) => this.assert_none(config),
                }
            }

            /// Handles a loss.
            pub fn on_loss(&mut self, config: &Config, now: Instant, loss: Loss) {
                match (self, config) {
                    $((Self::$name(state), Config::$name(config)) => state.on_loss(config, now, loss),)*
                    (this, _) => this.assert_none(config),
                }
            }

            /// Returns the time at which [`Self::on_timer`] must be called, if any. The call is needed only while the queue pair has
            /// unacknowledged or unsent data.
            pub fn deadline(&self) -> Option<Instant> {
                match self {
                    Self::None(_) => None,
                    $(Self::$name(state) => state.deadline(),)*
                }
            }

            /// Handles the expiry of the deadline, and moves or clears the deadline.
            pub fn on_timer(&mut self, config: &Config, now: Instant) {
                match (self, config) {
                    $((Self::$name(state), Config::$name(config)) => state.on_timer(config, now),)*
                    (this, _) => this.assert_none(config),
                }
            }

            /// Returns α, the estimated share of marked data, at the given time; `None` if the control has no α.
            pub fn alpha(&self, config: &Config, now: Instant) -> Option<f64> {
                match (self, config) {
                    $((Self::$name(state), Config::$name(config)) => state.alpha(config, now),)*
                    (this, _) => {
                        this.assert_none(config);
                        None
                    }
                }
            }

            /// Returns the counts of the control's actions.
            pub fn digest(&self) -> Digest {
                match self {
                    Self::None(_) => Digest::default(),
                    $(Self::$name(state) => state.digest(),)*
                }
            }
        }
    };
}

algorithms!(
    Dcqcn(dcqcn::Dcqcn),
    ConnectX(connectx::ConnectX),
    Timely(timely::Timely),
    Swift(swift::Swift),
    Hpcc(hpcc::Hpcc),
    HpccPint(hpcc_pint::HpccPint),
    PowerTcp(powertcp::PowerTcp),
    RdmaDctcp(dctcp::Dctcp)
);

impl Algorithm {
    /// Checks that both the state and the configuration are `None`.
    fn assert_none(&self, config: &Config) {
        assert!(
            matches!((self, config), (Self::None(_), Config::None)),
            "a congestion control is driven with the configuration that built it"
        );
    }
}
