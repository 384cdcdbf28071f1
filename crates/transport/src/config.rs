//! What the connections of a run have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Ecn;
use shallows_core::{Bytes, Duration};

use crate::congestion::{self, Avoidance, EcnMode, LossBase, Start};
use crate::receive_window::Control;
use crate::recovery::interface::Method;
use crate::recovery::rack::interface::Config as RackConfig;
use crate::rtt::RtoConfig;

/// The parameters of every connection of a run. [`Config::new`] is what the RFCs prescribe.
///
/// The caller guarantees what the fields demand; a scenario is checked before it runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Payload of a full segment, 1 to 65,535 bytes (SMSS).
    pub mss: Bytes,
    /// cwnd of a new connection (IW), and the most that is left of it after idleness (RW); at least one segment.
    pub initial_window: Bytes,
    /// cwnd never grows beyond this; at least `initial_window`.
    pub max_window: Bytes,
    /// An ECN reduction leaves cwnd no smaller than this; at least one segment (RFC 3168 §6.1.2), two in Linux.
    pub minimum_window: Bytes,
    /// The window a receiver advertises; at least one segment and below 4 GiB.
    pub receive_window: Bytes,
    /// What controls the windows of receivers. Unless it is fixed, `receive_window` is what a connection begins with.
    pub receive_control: Control,
    /// In slow start an acknowledgement adds at most this many segments to cwnd: 1 in RFC 5681 Eq. 2, 2 in
    /// RFC 3465 §2.2.
    pub slow_start_limit: u32,
    /// How cwnd grows in congestion avoidance.
    pub avoidance: Avoidance,
    /// How the window gets to where an ECN echo sends it.
    pub ece_reaction: EceReaction,
    /// Of what a loss leaves one half.
    pub loss_base: LossBase,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// What a lost SYN does.
    pub lost_syn: LostSyn,
    /// How losses are repaired.
    pub recovery: Method,
    /// Details of RACK-TLP; of no meaning with other methods.
    pub rack: RackConfig,
    /// Whether a timeout that turns out to be spurious is undone (F-RTO, RFC 5682); of no meaning but with SACK and RACK.
    pub frto: bool,
    /// Whether a receiver reports what comes again (RFC 2883), and a sender heeds such reports; of no meaning but with SACK and
    /// RACK.
    pub dsack: bool,
    /// Whether a window grows that the application does not use.
    pub app_limited: AppLimited,
    /// What becomes of cwnd when NewReno has repaired everything; of no meaning with other methods.
    pub full_ack: FullAck,
    /// How many duplicate acknowledgements, or segments above a hole, mean a loss (RFC 6675 DupThresh).
    pub duplicate_threshold: u32,
    /// Whether duplicate acknowledgements clock out new data before a loss is detected (RFC 3042, RFC 6675 §5
    /// step 3).
    pub limited_transmit: bool,
    /// Whether that also goes on with sending again what a timeout found outstanding, as ns-2's `singledup_` does; RFC 3042
    /// speaks of new data. Of no meaning with SACK.
    pub limited_transmit_repairs: bool,
    /// Whether what was selectively acknowledged is believed after a timeout; of no meaning without SACK.
    pub sack_after_timeout: SackAfterTimeout,
    /// What data written after an idle RTO finds of the window.
    pub restart_after_idle: RestartAfterIdle,
    /// Whether a connection opens with SYN and SYN-ACK, which negotiate ECN (RFC 3168 §6.1.1), or is open from the start.
    pub handshake: bool,
    /// Whether senders close connections with a FIN when the application asks for it.
    pub fin: bool,
    /// Whether every acknowledgement of new data gives an RTT sample (RFC 7323); otherwise one timed segment at
    /// a time does (RFC 6298 §3).
    pub timestamps: bool,
    /// When a receiver acknowledges.
    pub delayed_ack: DelayedAck,
    /// Which packets of an ECN-capable connection say so.
    pub ect: EctPolicy,
    /// How signals of congestion become a window.
    pub congestion: congestion::Config,
}

/// When a receiver acknowledges data that arrives in order (RFC 5681 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// Of a connection, so many segments are acknowledged at once before any delay (Linux, `tcp_enter_quickack_mode`).
    pub quick: u32,
    /// Whether a segment that tells of a smaller window (CWR) is acknowledged at once: it may be all that comes (Linux,
    /// `tcp_ecn_accept_cwr`).
    pub cwr_at_once: bool,
    /// At the latest with this many segments (DCTCP's *m*); 1 acknowledges every segment at once.
    pub segments: u32,
    /// What counts as a segment.
    pub counts: AckCounts,
    /// At the latest after this time.
    pub timeout: Duration,
}

/// Whether a window grows that the application does not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppLimited {
    /// It does (RFC 5681, ns-2).
    #[default]
    Grows,
    /// Only if it was what limited the sender, or in slow start up to twice what was outstanding (Linux, `tcp_is_cwnd_limited`).
    Linux,
}

/// What counts as a segment before a receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckCounts {
    /// One that arrives, short or not.
    #[default]
    Arrivals,
    /// As many bytes as a full one has: a short last segment waits for the timer, also with `segments = 1`, and also after a
    /// change of marks, at which only what came before is acknowledged at once (ns-2's FullTcp).
    Bytes,
}

/// Which packets of an ECN-capable connection carry ECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "Ect")]
pub enum EctPolicy {
    /// All of them, as DCTCP is deployed: switches drop what cannot be marked.
    All,
    /// New data only; neither pure acknowledgements (RFC 3168 §6.1.4) nor retransmissions (§6.1.5), window probes (§6.1.6)
    /// and SYNs (§6.1.1).
    Rfc3168,
}

/// How the window gets to where an ECN echo sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EceReaction {
    /// At once (RFC 3168 §6.1.2, RFC 8257 §3.3).
    #[default]
    AtOnce,
    /// Over a round trip, by proportional rate reduction (Linux, ns-3; the formulas of RFC 6937), with no growth meanwhile.
    Prr,
}

/// What a lost SYN, or its lost answer, does to the connection that opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LostSyn {
    /// Each waits twice as long; then one segment (RFC 5681 §3.1) and a timer of 3 s at least (RFC 6298 §5.7).
    #[default]
    Careful,
    /// Linux: the first four wait equally long (`tcp_syn_linear_timeouts`, since 6.5), the timestamp of the answer is a sample, and
    /// one segment goes only after a second loss (`tcp_init_transfer`).
    Linux,
}

/// What becomes of selective acknowledgements when the retransmission timer fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackAfterTimeout {
    /// Kept, and used to fill the holes only (RFC 6675 §5.1).
    #[default]
    Kept,
    /// Forgotten, so that everything outstanding is sent again (RFC 2018 §8; ns-2's `clear_on_timeout_`).
    Forgotten,
}

/// What becomes of cwnd when NewReno has repaired everything (RFC 6582 §3.2 step 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FullAck {
    /// ssthresh, but at most one segment more than is in flight: no burst.
    #[default]
    Limited,
    /// ssthresh (ns-2).
    Ssthresh,
}

/// What becomes of cwnd when nothing was sent for an RTO (RFC 5681 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestartAfterIdle {
    /// It stays.
    Off,
    /// It becomes the initial window if it was larger.
    #[default]
    Reduce,
    /// As ns-2's `slow_start_restart_`: it becomes the initial window, even if it was smaller, after a timeout of
    /// SRTT + 4 RTTVAR that knows no minimum.
    Reset,
}

/// Bytes of IP and TCP headers on every packet, SACK blocks apart (RFC 791 §3.1, RFC 9293 §3.1), and the timestamps
/// option where it is used, padded (RFC 7323 appendix A).
pub fn header_bytes(timestamps: bool) -> Bytes {
    if timestamps { Bytes(52) } else { Bytes(40) }
}

impl Config {
    /// What the RFCs prescribe for segments of `mss` bytes under `congestion`.
    pub fn new(mss: Bytes, congestion: congestion::Config) -> Self {
        let ect = match congestion.ecn_mode() {
            // RFC 8257 §3.6 and the deployments of DCTCP: a packet that cannot be marked would be dropped.
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
            // RFC 5681 §4.2 demands less than 500 ms; 40 ms is Linux's least.
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

    /// The ECN codepoint of data on a connection that negotiated `mode`.
    #[inline]
    pub(crate) fn data_ecn(&self, mode: EcnMode, retransmission: bool) -> Ecn {
        // RFC 3168 §6.1.5.
        let spared = retransmission && self.ect == EctPolicy::Rfc3168;
        if mode == EcnMode::Off || spared { Ecn::NotEct } else { Ecn::Ect }
    }

    /// The ECN codepoint of a pure acknowledgement.
    #[inline]
    pub fn ack_ecn(&self) -> Ecn {
        match (self.congestion.ecn_mode(), self.ect) {
            (EcnMode::Classic | EcnMode::Accurate, EctPolicy::All) => Ecn::Ect,
            // RFC 3168 §6.1.4.
            _ => Ecn::NotEct,
        }
    }

    /// What the window of a new connection follows from.
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
