//! `[tcp]`: behaviour of every connection. Omitted keys have the values that the RFCs prescribe.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Duration;
use shallows_transport::congestion::{Avoidance, LossBase};
use shallows_transport::{
    AppLimited, EceReaction, EctPolicy, FullAck, LostSyn, RestartAfterIdle, SackAfterTimeout,
};

use super::congestion::Congestion;
use super::omitted::is_default;
use super::receiver::{DelayedAck, Receiver};
use super::recovery::{Prr, Rack, Recovery};
use crate::quantity::{Time, Window};

/// Behaviour of every TCP connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcp {
    /// Preset: sets several keys at once to the values of an implementation: `"linux-6"`, `"windows-2022"`, `"rfc"` (the defaults), or
    /// `"ns-2"`, as in BCC's scripts. Other keys of this table override the preset. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<Preset>,
    /// Note on the keys that the preset has set.
    #[serde(skip)]
    pub(crate) preset_note: Option<String>,
    /// Congestion control algorithm. Default `"dctcp"`.
    #[serde(default)]
    pub(crate) congestion: Congestion,
    /// Initial window of a connection, and the largest window after an idle period. Default: 10 segments, but at most 14,600 bytes (RFC
    /// 6928 §2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) initial_window: Option<Window>,
    /// Upper limit of the congestion window. Default 1 GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_window: Option<Window>,
    /// Smallest window to which an ECN reduction can lead. Default 1 segment (RFC 3168 §6.1.2); Linux has 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) minimum_window: Option<Window>,
    /// Rule for the windows that receivers advertise. Default `"fixed"`.
    #[serde(default)]
    pub(crate) receiver: Receiver,
    /// Window that a receiver advertises; with `receiver = "ictcp"`, the largest window. Default 1 GiB (RFC 7323 §2.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) receive_window: Option<Window>,
    /// Maximum number of segments that one acknowledgement adds to the window in slow start: 1 in RFC 5681 (default), 2 in RFC 3465.
    #[serde(default = "one")]
    pub(crate) slow_start_limit: u32,
    /// Rule for the growth of the window in congestion avoidance. Default `"byte-counting"`.
    #[serde(default)]
    pub(crate) avoidance: Avoidance,
    /// Whether an ECN echo reduces the window at once or gradually. `"prr"` (gradually) requires a `congestion` that reduces the window on
    /// ECE. Default `"at-once"`.
    #[serde(default)]
    pub(crate) ece_reaction: EceReaction,
    /// Quantity from which the new window is computed after a loss. Default `"flight-size"`.
    #[serde(default)]
    pub(crate) loss_base: LossBase,
    /// Retransmission timer.
    #[serde(default)]
    pub(crate) rto: Rto,
    /// Method of loss recovery. Default `"sack"`.
    #[serde(default)]
    pub(crate) recovery: Recovery,
    /// Whether the sender detects a spurious timeout and undoes its effect on the window (F-RTO, RFC 5682), as Linux does. Requires
    /// `recovery = "sack"` or `"rack"`. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) frto: bool,
    /// Whether receivers report duplicate data (DSACK, RFC 2883), and senders undo a reduction if all retransmissions since the reduction
    /// were reported as duplicates. Requires `recovery = "sack"` or `"rack"`. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) dsack: bool,
    /// Whether the window grows while the application does not use all of it. Default `"grows"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) app_limited: AppLimited,
    /// Window at the end of recovery with NewReno. Requires `recovery = "newreno"`. Default `"limited"`.
    #[serde(default)]
    pub(crate) full_ack: FullAck,
    /// Parameters of RACK-TLP. Requires `recovery = "rack"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rack: Option<Rack>,
    /// Proportional rate reduction (PRR, RFC 6937): during fast recovery, a sender sends in proportion to the data that arrives at the
    /// receiver. Requires `recovery = "sack"` or `"rack"`. Default `"off"`.
    #[serde(default)]
    pub(crate) prr: Prr,
    /// Number of duplicate acknowledgements that indicate a loss. Default 3 (RFC 5681, RFC 6675).
    #[serde(default = "three")]
    pub(crate) duplicate_threshold: u32,
    /// Limited transmit: whether duplicate acknowledgements trigger new data before a loss is detected (RFC 3042). Default true.
    #[serde(default = "yes")]
    pub(crate) limited_transmit: bool,
    /// Whether limited transmit also retransmits data that was outstanding at a timeout, as in ns-2. RFC 3042 allows only new data.
    /// Requires `limited_transmit`, and `recovery` other than `"sack"`. Default false.
    #[serde(default)]
    pub(crate) limited_transmit_repairs: bool,
    /// Whether a sender keeps earlier selective acknowledgements after a timeout. Requires `recovery = "sack"`. Default `"kept"`.
    #[serde(default)]
    pub(crate) sack_after_timeout: SackAfterTimeout,
    /// Change of the window after a connection has sent nothing for an RTO. Default `"reduce"` (RFC 5681 §4.1).
    #[serde(default)]
    pub(crate) restart_after_idle: RestartAfterIdle,
    /// Whether a connection opens with SYN and SYN-ACK, which negotiate ECN. Default false, as in the simulators of the reproduced
    /// papers.
    #[serde(default)]
    pub(crate) handshake: bool,
    /// Effect of a lost SYN or SYN-ACK on the connection. Requires `handshake`. Default `"careful"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) lost_syn: LostSyn,
    /// Whether the last segment of a connection carries a FIN, which the receiver acknowledges at once. Default false, as in the simulators
    /// of the reproduced papers.
    #[serde(default)]
    pub(crate) fin: bool,
    /// Whether packets carry timestamps (RFC 7323), which take 12 bytes and give one RTT sample for each acknowledgement. Without
    /// timestamps, one segment per round trip is timed. Default true.
    #[serde(default = "yes")]
    pub(crate) timestamps: bool,
    /// Rules by which receivers delay acknowledgements.
    #[serde(default)]
    pub(crate) delayed_ack: DelayedAck,
    /// Packets that are ECN-capable: all, or, as in RFC 3168, all except pure acknowledgements and retransmissions. Default `"all"` with
    /// `dctcp`, `pulser` and `ecn-star`, otherwise `"rfc3168"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ect: Option<EctPolicy>,
    /// Class of service (DSCP) of acknowledgements and SYN-ACKs, from 0 to 63. Default: the class of the packet that is acknowledged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ack_class: Option<u8>,
}

/// Implementation of TCP from which a preset takes its settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Preset {
    /// Linux 6.
    #[serde(rename = "linux-6")]
    Linux6,
    /// Windows Server 2022.
    #[serde(rename = "windows-2022")]
    Windows2022,
    /// Values that the RFCs prescribe.
    #[serde(rename = "rfc")]
    Rfc,
    /// ns-2 with the settings of BCC's scripts (INFOCOM '20).
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Retransmission timer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rto {
    /// Retransmission timeout before the first RTT sample. Default `"1s"` (RFC 6298 §2.1).
    #[serde(default = "one_second")]
    pub(crate) initial: Time,
    /// Shortest retransmission timeout. Default `"1s"` (RFC 6298 §2.4); Linux has 200 ms, the reproduced papers 5 or 10 ms.
    #[serde(default = "one_second")]
    pub(crate) min: Time,
    /// Longest retransmission timeout, including backoff. Default `"60s"` (RFC 6298 §2.5).
    #[serde(default = "one_minute")]
    pub(crate) max: Time,
    /// Smallest value of the term 4 · RTTVAR in the timeout (the clock granularity G of RFC 6298). Default `"1ms"`.
    #[serde(default = "one_millisecond")]
    pub(crate) granularity: Time,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            preset: None,
            preset_note: None,
            congestion: Congestion::default(),
            initial_window: None,
            max_window: None,
            minimum_window: None,
            receiver: Receiver::default(),
            receive_window: None,
            slow_start_limit: one(),
            avoidance: Avoidance::default(),
            ece_reaction: EceReaction::default(),
            loss_base: LossBase::default(),
            rto: Rto::default(),
            recovery: Recovery::default(),
            frto: false,
            dsack: false,
            app_limited: AppLimited::default(),
            full_ack: FullAck::default(),
            rack: None,
            prr: Prr::default(),
            duplicate_threshold: three(),
            limited_transmit: true,
            limited_transmit_repairs: false,
            sack_after_timeout: SackAfterTimeout::default(),
            restart_after_idle: RestartAfterIdle::default(),
            handshake: false,
            lost_syn: LostSyn::default(),
            fin: false,
            timestamps: true,
            delayed_ack: DelayedAck::default(),
            ect: None,
            ack_class: None,
        }
    }
}

impl Default for Rto {
    fn default() -> Self {
        Self { initial: one_second(), min: one_second(), max: one_minute(), granularity: one_millisecond() }
    }
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}

fn yes() -> bool {
    true
}

fn one_second() -> Time {
    Time(Duration::from_secs(1))
}

fn one_minute() -> Time {
    Time(Duration::from_secs(60))
}

fn one_millisecond() -> Time {
    Time(Duration::from_millis(1))
}
