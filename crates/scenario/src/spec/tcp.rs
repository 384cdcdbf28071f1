//! `[tcp]`: how every connection behaves. What is left out is what the RFCs prescribe.

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

/// How every TCP connection behaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcp {
    /// Keys that are set at once, as hosts have them: `"linux-6"`, `"windows-2022"`, `"rfc"` (the defaults), or `"ns-2"`, as the
    /// scripts of the papers. Keys beside it override. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<Preset>,
    /// Note on the keys that the preset sets.
    #[serde(skip)]
    pub(crate) preset_note: Option<String>,
    /// How signals of congestion become a window. Default `"dctcp"`.
    #[serde(default)]
    pub(crate) congestion: Congestion,
    /// Window of a new connection, and the most that is left of it after idleness. Default 10 segments or 14,600 bytes,
    /// whichever is less (RFC 6928 §2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) initial_window: Option<Window>,
    /// The window never grows beyond this. Default 1 GiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_window: Option<Window>,
    /// An ECN reduction leaves no smaller window than this. Default 1 segment (RFC 3168 §6.1.2); Linux has 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) minimum_window: Option<Window>,
    /// Control of the windows that receivers advertise. Default `"fixed"`.
    #[serde(default)]
    pub(crate) receiver: Receiver,
    /// The window that a receiver advertises, at most if something controls it. Default 1 GiB (RFC 7323 §2.3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) receive_window: Option<Window>,
    /// In slow start an acknowledgement adds at most this many segments: 1 in RFC 5681 (default), 2 in RFC 3465.
    #[serde(default = "one")]
    pub(crate) slow_start_limit: u32,
    /// How the window grows in congestion avoidance. Default `"byte-counting"`.
    #[serde(default)]
    pub(crate) avoidance: Avoidance,
    /// How the window gets to where an ECN echo sends it. `"prr"` needs a `congestion` that answers ECE by a smaller window.
    /// Default `"at-once"`.
    #[serde(default)]
    pub(crate) ece_reaction: EceReaction,
    /// Quantity that a loss halves. Default `"flight-size"`.
    #[serde(default)]
    pub(crate) loss_base: LossBase,
    /// The retransmission timer.
    #[serde(default)]
    pub(crate) rto: Rto,
    /// How losses are repaired. Default `"sack"`.
    #[serde(default)]
    pub(crate) recovery: Recovery,
    /// Whether a timeout that turns out to be spurious is undone (F-RTO, RFC 5682), as Linux does. Needs `recovery = "sack"` or
    /// `"rack"`. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) frto: bool,
    /// Whether a receiver reports data that comes again (DSACK, RFC 2883), and a sender takes back what it did to its window if
    /// all that it retransmitted was reported. Needs `recovery = "sack"` or `"rack"`. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) dsack: bool,
    /// Whether a window grows that the application does not use. Default `"grows"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) app_limited: AppLimited,
    /// NewReno's window after a recovery. Needs `recovery = "newreno"`. Default `"limited"`.
    #[serde(default)]
    pub(crate) full_ack: FullAck,
    /// Details of `recovery = "rack"`, which it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rack: Option<Rack>,
    /// Proportional rate reduction (RFC 6937): during fast recovery data goes out in proportion to what arrives. Needs
    /// `recovery = "sack"` or `"rack"`. Default `"off"`.
    #[serde(default)]
    pub(crate) prr: Prr,
    /// How many duplicate acknowledgements mean a loss. Default 3 (RFC 5681, RFC 6675).
    #[serde(default = "three")]
    pub(crate) duplicate_threshold: u32,
    /// Whether duplicate acknowledgements clock out new data before a loss is detected (RFC 3042). Default true.
    #[serde(default = "yes")]
    pub(crate) limited_transmit: bool,
    /// Whether they also clock out, again, what a timeout found outstanding (ns-2); RFC 3042 speaks of new data. Needs
    /// `limited_transmit`, and `recovery` other than `"sack"`. Default false.
    #[serde(default)]
    pub(crate) limited_transmit_repairs: bool,
    /// Use of selective acknowledgements after a timeout. Needs `recovery = "sack"`. Default `"kept"`.
    #[serde(default)]
    pub(crate) sack_after_timeout: SackAfterTimeout,
    /// Window after an RTO without sending. Default `"reduce"` (RFC 5681 §4.1).
    #[serde(default)]
    pub(crate) restart_after_idle: RestartAfterIdle,
    /// Whether a connection opens with SYN and SYN-ACK, which negotiate ECN. Default false, as in the papers' simulators.
    #[serde(default)]
    pub(crate) handshake: bool,
    /// Effect of a lost SYN or SYN-ACK. Needs `handshake`. Default `"careful"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) lost_syn: LostSyn,
    /// Whether the last segment of a connection carries a FIN, which a receiver acknowledges at once. Default false, as in
    /// the papers' simulators.
    #[serde(default)]
    pub(crate) fin: bool,
    /// Whether packets carry timestamps (RFC 7323), 12 bytes each, which give an RTT sample per acknowledgement; without
    /// them one timed segment per round trip does. Default true.
    #[serde(default = "yes")]
    pub(crate) timestamps: bool,
    /// When a receiver acknowledges.
    #[serde(default)]
    pub(crate) delayed_ack: DelayedAck,
    /// Which packets say that they are ECN-capable: all of them, or as RFC 3168 has it neither pure acknowledgements nor
    /// retransmissions. Default `"all"` with `dctcp`, `pulser` and `ecn-star`, else `"rfc3168"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ect: Option<EctPolicy>,
    /// The class of service of acknowledgements, SYN-ACKs among them, from 0 to 63. Default that of what they acknowledge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ack_class: Option<u8>,
}

/// Whose TCP it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum Preset {
    /// Linux 6.
    #[serde(rename = "linux-6")]
    Linux6,
    /// Windows Server 2022.
    #[serde(rename = "windows-2022")]
    Windows2022,
    /// Values of the RFCs.
    #[serde(rename = "rfc")]
    Rfc,
    /// ns-2, as the scripts of BCC (INFOCOM '20) have it.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// The retransmission timer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rto {
    /// Before the first RTT sample. Default `"1s"` (RFC 6298 §2.1).
    #[serde(default = "one_second")]
    pub(crate) initial: Time,
    /// At least this. Default `"1s"` (RFC 6298 §2.4); Linux has 200 ms, the papers 5 or 10 ms.
    #[serde(default = "one_second")]
    pub(crate) min: Time,
    /// At most this, backed off or not. Default `"60s"` (RFC 6298 §2.5).
    #[serde(default = "one_minute")]
    pub(crate) max: Time,
    /// The least that four deviations of the RTT count for. Default `"1ms"`.
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
