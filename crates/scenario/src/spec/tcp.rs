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
    /// Several keys set at once, as in real hosts: `"linux-6"`, `"windows-2022"`, `"rfc"` (the defaults), or `"ns-2"`, as in the papers'
    /// scripts. Other keys override it. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<Preset>,
    /// Note on the keys that the preset has set.
    #[serde(skip)]
    pub(crate) preset_note: Option<String>,
    /// Congestion control. Default `"dctcp"`.
    #[serde(default)]
    pub(crate) congestion: Congestion,
    /// Window of a new connection, and the largest window after idleness. Default: the smaller of 10 segments and 14,600 bytes (RFC 6928
    /// §2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) initial_window: Option<Window>,
    /// Largest congestion window. Default 1 GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_window: Option<Window>,
    /// Smallest window after an ECN reduction. Default 1 segment (RFC 3168 §6.1.2); Linux has 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) minimum_window: Option<Window>,
    /// Control of the windows that receivers advertise. Default `"fixed"`.
    #[serde(default)]
    pub(crate) receiver: Receiver,
    /// Window that a receiver advertises; the largest one if it is controlled. Default 1 GiB (RFC 7323 §2.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) receive_window: Option<Window>,
    /// Number of segments that an acknowledgement adds to the window in slow start, at most: 1 in RFC 5681 (default), 2 in RFC 3465.
    #[serde(default = "one")]
    pub(crate) slow_start_limit: u32,
    /// Growth of the window in congestion avoidance. Default `"byte-counting"`.
    #[serde(default)]
    pub(crate) avoidance: Avoidance,
    /// Way of the window to its reduced value after an ECN echo. `"prr"` requires a `congestion` that reduces the window on ECE. Default
    /// `"at-once"`.
    #[serde(default)]
    pub(crate) ece_reaction: EceReaction,
    /// Quantity that is halved after a loss. Default `"flight-size"`.
    #[serde(default)]
    pub(crate) loss_base: LossBase,
    /// Retransmission timer.
    #[serde(default)]
    pub(crate) rto: Rto,
    /// Method of loss recovery. Default `"sack"`.
    #[serde(default)]
    pub(crate) recovery: Recovery,
    /// Whether a spurious timeout is undone (F-RTO, RFC 5682), as in Linux. Requires `recovery = "sack"` or `"rack"`. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) frto: bool,
    /// Whether a receiver reports duplicate data (DSACK, RFC 2883), and a sender undoes its reduction if all of its retransmissions were
    /// reported. Requires `recovery = "sack"` or `"rack"`. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) dsack: bool,
    /// Growth of a window that the application does not use. Default `"grows"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) app_limited: AppLimited,
    /// NewReno's window at the end of recovery. Requires `recovery = "newreno"`. Default `"limited"`.
    #[serde(default)]
    pub(crate) full_ack: FullAck,
    /// Details of `recovery = "rack"`, which is required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rack: Option<Rack>,
    /// Proportional rate reduction (RFC 6937): during fast recovery, data is sent in proportion to arrivals at the receiver. Requires
    /// `recovery = "sack"` or `"rack"`. Default `"off"`.
    #[serde(default)]
    pub(crate) prr: Prr,
    /// Number of duplicate acknowledgements that indicate a loss. Default 3 (RFC 5681, RFC 6675).
    #[serde(default = "three")]
    pub(crate) duplicate_threshold: u32,
    /// Whether duplicate acknowledgements trigger new data before a loss is detected (RFC 3042). Default true.
    #[serde(default = "yes")]
    pub(crate) limited_transmit: bool,
    /// Whether they also trigger retransmissions of data that was outstanding at a timeout (ns-2); RFC 3042 allows only new data. Requires
    /// `limited_transmit`, and `recovery` other than `"sack"`. Default false.
    #[serde(default)]
    pub(crate) limited_transmit_repairs: bool,
    /// Use of earlier selective acknowledgements after a timeout. Requires `recovery = "sack"`. Default `"kept"`.
    #[serde(default)]
    pub(crate) sack_after_timeout: SackAfterTimeout,
    /// Change of the window after nothing was sent for an RTO. Default `"reduce"` (RFC 5681 §4.1).
    #[serde(default)]
    pub(crate) restart_after_idle: RestartAfterIdle,
    /// Whether a connection opens with SYN and SYN-ACK, which negotiate ECN. Default false, as in the papers' simulators.
    #[serde(default)]
    pub(crate) handshake: bool,
    /// Effect of a lost SYN or SYN-ACK. Requires `handshake`. Default `"careful"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) lost_syn: LostSyn,
    /// Whether the last segment of a connection carries a FIN, which the receiver acknowledges at once. Default false, as in the papers'
    /// simulators.
    #[serde(default)]
    pub(crate) fin: bool,
    /// Whether packets carry timestamps (RFC 7323), 12 bytes each, which give an RTT sample for each acknowledgement. Without them there is
    /// one timed segment per round trip. Default true.
    #[serde(default = "yes")]
    pub(crate) timestamps: bool,
    /// Delayed acknowledgements of receivers.
    #[serde(default)]
    pub(crate) delayed_ack: DelayedAck,
    /// Packets that are ECN-capable: all of them, or according to RFC 3168 neither pure acknowledgements nor retransmissions. Default
    /// `"all"` with `dctcp`, `pulser` and `ecn-star`, otherwise `"rfc3168"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ect: Option<EctPolicy>,
    /// Class of service of acknowledgements and SYN-ACKs, from 0 to 63. Default: the class of the packets that they acknowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ack_class: Option<u8>,
}

/// Implementation of TCP whose settings a preset has.
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
    /// Timeout before the first RTT sample. Default `"1s"` (RFC 6298 §2.1).
    #[serde(default = "one_second")]
    pub(crate) initial: Time,
    /// Shortest timeout. Default `"1s"` (RFC 6298 §2.4); Linux has 200 ms, the papers 5 or 10 ms.
    #[serde(default = "one_second")]
    pub(crate) min: Time,
    /// Longest timeout, including backoff. Default `"60s"` (RFC 6298 §2.5).
    #[serde(default = "one_minute")]
    pub(crate) max: Time,
    /// Lower bound of four RTT deviations in the timeout. Default `"1ms"`.
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
