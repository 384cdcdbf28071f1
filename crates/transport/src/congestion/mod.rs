//! Congestion control: what turns signals of congestion into a window.
//!
//! The sender owns sequencing, loss detection and the rule of one reduction per window; an algorithm owns cwnd
//! and ssthresh. To add one: a file here, a line in `algorithms!`, a variant of [`Config`] with its arms.

pub mod dctcp;
pub mod reno;
mod window;

pub use dctcp::Dctcp;
pub use reno::Reno;
use shallows_core::Bytes;
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
    /// Whether it carries ECE.
    pub ece: bool,
    /// Whether cwnd may grow: new data is acknowledged, outside of loss recovery, and nothing cuts it at once.
    pub may_grow: bool,
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
    fn on_ack(&mut self, ack: &Ack);

    /// Congestion was signalled while `flight_size` bytes were sent but not acknowledged.
    fn on_congestion(&mut self, congestion: Congestion, flight_size: Bytes);

    /// Data is about to be sent after an idle RTO (RFC 5681 §4.1).
    fn on_restart(&mut self, restart_window: Bytes) {
        self.window_mut().restart(restart_window);
    }

    /// cwnd and ssthresh.
    fn window(&self) -> &Window;

    /// cwnd and ssthresh, to be changed.
    fn window_mut(&mut self) -> &mut Window;

    /// DCTCP's estimate of the fraction of marked bytes, where there is one.
    fn alpha(&self) -> Option<f64> {
        None
    }
}

/// An algorithm and its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Config {
    /// Additive increase, halving (RFC 5681).
    Reno(reno::Config),
    /// A cut in proportion to the fraction of marked bytes (RFC 8257).
    Dctcp(dctcp::Config),
}

impl Config {
    /// How connections under this algorithm use ECN.
    #[inline]
    pub fn ecn_mode(&self) -> EcnMode {
        match self {
            Self::Reno(reno) if reno.ecn => EcnMode::Classic,
            Self::Reno(_) => EcnMode::Off,
            Self::Dctcp(_) => EcnMode::Accurate,
        }
    }

    /// The state of a new connection.
    pub(crate) fn build(&self, window: Window) -> Algorithm {
        match self {
            Self::Reno(_) => Algorithm::Reno(Reno::new(window)),
            Self::Dctcp(config) => Algorithm::Dctcp(Dctcp::new(config, window)),
        }
    }
}

/// Defines [`Algorithm`] and hands each call to the variant it holds.
macro_rules! algorithms {
    ($($name:ident),*) => {
        /// Any algorithm, dispatched without a pointer.
        #[derive(Clone, Debug)]
        pub enum Algorithm {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name),
            )*
        }

        impl CongestionControl for Algorithm {
            #[inline]
            fn on_ack(&mut self, ack: &Ack) {
                match self { $(Self::$name(algorithm) => algorithm.on_ack(ack),)* }
            }

            fn on_congestion(&mut self, congestion: Congestion, flight_size: Bytes) {
                match self { $(Self::$name(algorithm) => algorithm.on_congestion(congestion, flight_size),)* }
            }

            fn on_restart(&mut self, restart_window: Bytes) {
                match self { $(Self::$name(algorithm) => algorithm.on_restart(restart_window),)* }
            }

            #[inline]
            fn window(&self) -> &Window {
                match self { $(Self::$name(algorithm) => algorithm.window(),)* }
            }

            #[inline]
            fn window_mut(&mut self) -> &mut Window {
                match self { $(Self::$name(algorithm) => algorithm.window_mut(),)* }
            }

            fn alpha(&self) -> Option<f64> {
                match self { $(Self::$name(algorithm) => algorithm.alpha(),)* }
            }
        }
    };
}

algorithms!(Reno, Dctcp);
