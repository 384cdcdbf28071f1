//! Configuration that the connections of a run share.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Ecn;
use shallows_core::{Bytes, Duration};

use crate::congestion::{self, Avoidance, EcnMode, LossBase, Start};
use crate::receive_window::Control;
use crate::recovery::interface::Method;
use crate::recovery::rack::interface::Config as RackConfig;
use crate::rtt::RtoConfig;

/// Parameters of every connection of a run. [`Config::new`] follows the RFCs.
///
/// The caller guarantees the ranges stated at the fields: scenarios are checked before they run.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Payload of a full segment, 1 to 65,535 bytes (SMSS).
    pub mss: Bytes,
    /// cwnd of a new connection (IW), and upper bound of cwnd after idleness (RW); at least one segment.
    pub initial_window: Bytes,
    /// Upper bound of cwnd; at least `initial_window`.
    pub max_window: Bytes,
    /// Lower bound of cwnd after an ECN reduction; at least one segment (RFC 3168 §6.1.2), two in Linux.
    pub minimum_window: Bytes,
    /// Window that a receiver advertises; at least one segment and below 4 GiB.
    pub receive_window: Bytes,
    /// Control of receive windows. Unless it is [`Control::Fixed`], `receive_window` is only the initial value.
    pub receive_control: Control,
    /// Largest number of segments that an acknowledgement adds to cwnd in slow start: 1 in RFC 5681 Eq. 2, 2 in RFC 3465 §2.2.
    pub slow_start_limit: u32,
    /// Growth of cwnd in congestion avoidance.
    pub avoidance: Avoidance,
    /// Speed of a reduction after an ECN echo: at once or over a round trip.
    pub ece_reaction: EceReaction,
    /// Base of the reduction after a loss: FlightSize or cwnd.
    pub loss_base: LossBase,
    /// Bounds of the retransmission timeout.
    pub rto: RtoConfig,
    /// Reaction to a lost SYN.
    pub lost_syn: LostSyn,
    /// Loss recovery.
    pub recovery: Method,
    /// Details of RACK-TLP; ignored by other methods.
    pub rack: RackConfig,
    /// Whether to undo a timeout that turns out to be spurious (F-RTO, RFC 5682). Needs SACK or RACK.
    pub frto: bool,
    /// Whether a receiver reports duplicate data (RFC 2883) and a sender uses the reports. Needs SACK or RACK.
    pub dsack: bool,
    /// Whether cwnd grows while the application sends too little to fill it.
    pub app_limited: AppLimited,
    /// cwnd after NewReno has repaired all losses; ignored by other methods.
    pub full_ack: FullAck,
    /// Number of duplicate acknowledgements, or of segments above a hole, that indicate a loss (RFC 6675 DupThresh).
    pub duplicate_threshold: u32,
    /// Whether duplicate acknowledgements let the sender send new data before a loss is detected (RFC 3042, RFC 6675 §5 step 3).
    pub limited_transmit: bool,
    /// Whether limited transmit also continues the retransmissions after a timeout, as ns-2's `singledup_` does; RFC
    /// 3042 covers only new data. Ignored with SACK.
    pub limited_transmit_repairs: bool,
    /// Whether SACK information survives a timeout. Needs SACK.
    pub sack_after_timeout: SackAfterTimeout,
    /// cwnd for data that is written after the connection was idle for an RTO.
    pub restart_after_idle: RestartAfterIdle,
    /// Whether a connection opens with SYN and SYN-ACK, which negotiate ECN (RFC 3168 §6.1.1). Otherwise it is open
    /// from the start.
    pub handshake: bool,
    /// Whether senders close connections with a FIN after the application has closed them.
    pub fin: bool,
    /// Whether every acknowledgement of new data gives an RTT sample (RFC 7323). Otherwise one segment at a time is
    /// timed (RFC 6298 §3).
    pub timestamps: bool,
    /// Rule for delayed acknowledgements.
    pub delayed_ack: DelayedAck,
    /// Packets that carry ECT on an ECN-capable connection.
    pub ect: EctPolicy,
    /// Congestion control.
    pub congestion: congestion::Config,
}

/// Rule for acknowledging data that arrives in order (RFC 5681 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Number of a connection's first segments that are acknowledged at once (Linux, `tcp_enter_quickack_mode`).
    pub quick: u32,
    /// Whether to acknowledge a segment with CWR at once (Linux, `tcp_ecn_accept_cwr`). After a reduction, the sender's cwnd may be a
    /// single segment, so that a delayed acknowledgement would stop the sender.
    pub cwr_at_once: bool,
    /// Segments after which an acknowledgement is due (DCTCP's *m*); 1 acknowledges every segment at once.
    pub segments: u32,
    /// Unit in which `segments` is counted.
    pub counts: AckCounts,
    /// Longest delay of an acknowledgement.
    pub timeout: Duration,
}

/// Whether cwnd grows while the application sends too little to fill it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppLimited {
    /// cwnd grows (RFC 5681, ns-2).
    #[default]
    Grows,
    /// cwnd grows if it limited the sender. In slow start, cwnd also grows if it did not limit the sender, but only up to twice the
    /// outstanding data (Linux, `tcp_is_cwnd_limited`).
    Linux,
}

/// Unit that counts as a segment for delayed acknowledgements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckCounts {
    /// An arriving segment of any size.
    #[default]
    Arrivals,
    /// As many bytes as a full segment has. The acknowledgement of a short last segment waits for the timer, even with `segments = 1`.
    /// After a change of marks, only the data before the change is acknowledged at once (ns-2's FullTcp).
    Bytes,
}

/// Packets that carry ECT on an ECN-capable connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Ect")]
pub enum EctPolicy {
    /// All packets, as in deployments of DCTCP, because switches drop packets that they cannot mark.
    All,
    /// Only new data carries ECT; pure acknowledgements (RFC 3168 §6.1.4), retransmissions (§6.1.5), window probes (§6.1.6) and SYNs
    /// (§6.1.1) do not.
    Rfc3168,
}

/// Speed of a reduction of cwnd after an ECN echo.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EceReaction {
    /// The window is cut at once (RFC 3168 §6.1.2, RFC 8257 §3.3).
    #[default]
    AtOnce,
    /// The window falls over a round trip by proportional rate reduction and does not grow meanwhile (Linux, ns-3;
    /// formulas of RFC 6937).
    Prr,
}

/// Reaction of an opening connection to a lost SYN or SYN-ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostSyn {
    /// Timeouts double. Once the connection is open, cwnd is one segment (RFC 5681 §3.1) and the timer is at least 3 s (RFC 6298 §5.7).
    #[default]
    Careful,
    /// Linux: the first four timeouts are equal (`tcp_syn_linear_timeouts`, since 6.5), the timestamp of the SYN-ACK gives
    /// an RTT sample, and cwnd is one segment only after a second loss (`tcp_init_transfer`).
    Linux,
}

/// Treatment of SACK information when the retransmission timer fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackAfterTimeout {
    /// SACK information is kept, and only holes are retransmitted (RFC 6675 §5.1).
    #[default]
    Kept,
    /// SACK information is discarded, so that all outstanding data is retransmitted (RFC 2018 §8; ns-2's `clear_on_timeout_`).
    Forgotten,
}

/// cwnd after NewReno has repaired all losses (RFC 6582 §3.2 step 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FullAck {
    /// ssthresh, limited to one segment more than the data in flight, which avoids a burst.
    #[default]
    Limited,
    /// ssthresh (ns-2).
    Ssthresh,
}

/// Effect on cwnd when a connection has sent nothing for at least one RTO (RFC 5681 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestartAfterIdle {
    /// cwnd does not change.
    Off,
    /// cwnd becomes the initial window if cwnd was larger.
    #[default]
    Reduce,
    /// cwnd becomes the initial window even if cwnd was smaller. A pause of SRTT + 4 RTTVAR suffices, even if the RTO has a larger minimum
    /// (ns-2's `slow_start_restart_`).
    Reset,
}

/// Returns the bytes of IP and TCP headers of every packet, without SACK blocks (RFC 791 §3.1, RFC 9293 §3.1), plus the
/// padded timestamps option if `timestamps` is set (RFC 7323 appendix A).
pub fn header_bytes(timestamps: bool) -> Bytes {
    if timestamps { Bytes(52) } else { Bytes(40) }
}

impl Config {
    /// Returns the RFCs' parameters for segments of `mss` bytes with this congestion control.
    pub fn new(mss: Bytes, congestion: congestion::Config) -> Self {
        let ect = match congestion.ecn_mode() {
            // RFC 8257 §3.6 and DCTCP's deployments: a switch would drop a packet that it cannot mark.
            EcnMode::Accurate => EctPolicy::All,
            EcnMode::Off | EcnMode::Classic => EctPolicy::Rfc3168,
        };
        Self {
            mss,
            // RFC 6928 §2.
            initial_window: Bytes((10 * mss.0).min(14_600.max(2 * mss.0))),
            max_window: Bytes(1 << 30),
            minimum_window: mss,
            // RFC 7323 §2.3: the largest window that can be advertised.
            receive_window: Bytes(1 << 30),
            receive_control: Control::default(),
            slow_start_limit: 1,
            avoidance: Avoidance::default(),
            ece_reaction: EceReaction::default(),
            loss_base: LossBase::default(),
            rto: RtoConfig::default(),
            lost_syn: LostSyn::default(),
            recovery: Method::Sack(None),
            rack: RackConfig { max_ack_delay: Duration::from_millis(40), timer_slack: Duration::ZERO },
            frto: false,
            dsack: false,
            app_limited: AppLimited::default(),
            full_ack: FullAck::default(),
            duplicate_threshold: 3,
            limited_transmit: true,
            limited_transmit_repairs: false,
            sack_after_timeout: SackAfterTimeout::default(),
            restart_after_idle: RestartAfterIdle::default(),
            handshake: false,
            fin: false,
            timestamps: true,
            // RFC 5681 §4.2 demands less than 500 ms; 40 ms is Linux's minimum.
            delayed_ack: DelayedAck {
                quick: 0,
                cwr_at_once: false,
                segments: 2,
                counts: AckCounts::default(),
                timeout: Duration::from_millis(40),
            },
            ect,
            congestion,
        }
    }

    /// Returns the ECN codepoint of data on a connection that negotiated `mode`.
    #[inline]
    pub(crate) fn data_ecn(&self, mode: EcnMode, retransmission: bool) -> Ecn {
        // RFC 3168 §6.1.5.
        let spared = retransmission && self.ect == EctPolicy::Rfc3168;
        if mode == EcnMode::Off || spared { Ecn::NotEct } else { Ecn::Ect }
    }

    /// Returns the ECN codepoint of a pure acknowledgement.
    #[inline]
    pub fn ack_ecn(&self) -> Ecn {
        match (self.congestion.ecn_mode(), self.ect) {
            (EcnMode::Classic | EcnMode::Accurate, EctPolicy::All) => Ecn::Ect,
            // RFC 3168 §6.1.4.
            _ => Ecn::NotEct,
        }
    }

    /// Returns the inputs for the window of a new connection.
    pub(crate) fn window(&self) -> Start {
        Start {
            cwnd: self.initial_window,
            maximum: self.max_window,
            minimum: self.minimum_window,
            mss: self.mss,
            slow_start_limit: self.slow_start_limit,
            avoidance: self.avoidance,
            loss_base: self.loss_base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_those_of_ip_and_tcp_and_ten_bytes_of_timestamps_padded_to_twelve() {
        assert_eq!(header_bytes(false), Bytes(20 + 20));
        assert_eq!(header_bytes(true), Bytes(20 + 20 + 12));
    }
}
