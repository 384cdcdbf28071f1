//! `[tcp]`: how every connection behaves. What is left out is what the RFCs prescribe.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Duration;

use super::counting::Counting;
use crate::quantity::{Time, Window};
use crate::tagged::tagged;

/// How every TCP connection behaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Tcp {
    /// Keys that are set at once, as hosts have them: `"linux-6"`, `"windows-2022"`, `"rfc"` (the defaults), or `"ns-2"`, as the
    /// scripts of the papers. Keys beside it override. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<Preset>,
    /// What the preset has set, in words.
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
    /// What controls the windows that receivers advertise. Default `"fixed"`.
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
    /// Of what a loss leaves one half. Default `"flight-size"`.
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
    /// Whether a window grows that the application does not use. Default `"grows"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) app_limited: AppLimited,
    /// What NewReno's window is when everything is repaired. Needs `recovery = "newreno"`. Default `"limited"`.
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
    /// What becomes of selective acknowledgements when the timer fires. Needs `recovery = "sack"`. Default `"kept"`.
    #[serde(default)]
    pub(crate) sack_after_timeout: SackAfterTimeout,
    /// What becomes of the window when nothing was sent for an RTO. Default `"reduce"` (RFC 5681 §4.1).
    #[serde(default)]
    pub(crate) restart_after_idle: RestartAfterIdle,
    /// Whether a connection opens with SYN and SYN-ACK, which negotiate ECN. Default false, as in the papers' simulators.
    #[serde(default)]
    pub(crate) handshake: bool,
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
    pub(crate) ect: Option<Ect>,
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
    /// What the RFCs prescribe.
    #[serde(rename = "rfc")]
    Rfc,
    /// ns-2, as the scripts of BCC (INFOCOM '20) have it.
    #[serde(rename = "ns-2")]
    Ns2,
}

tagged! {
    /// How signals of congestion become a window.
    Congestion, "congestion control" {
        /// Additive increase, halving (RFC 5681).
        "reno" => Reno(Reno),
        /// The papers' regular TCP with ECN: `reno` with `ecn`, and by default `ect = "all"`.
        "ecn-star" => EcnStar(EcnStar),
        /// A cut in proportion to the fraction of marked bytes (RFC 8257).
        "dctcp" => Dctcp(Dctcp),
        /// A cubic function of the time since the last reduction (RFC 9438).
        "cubic" => Cubic(Cubic),
        /// DCTCP with a brake for incast (Pulser, ANCS '19).
        "pulser" => Pulser(Pulser),
    }
}

tagged! {
    /// What controls the windows that receivers advertise.
    Receiver, "receiver" {
        /// Nothing: it is `receive_window`.
        "fixed" => Fixed(FixedWindow),
        /// The bandwidth that is left at the host's link (ICTCP, CoNEXT '10). Needs `timestamps`.
        "ictcp" => Ictcp(Ictcp),
    }
}

/// A window that stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FixedWindow {}

/// Windows that share what a host's link carries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Ictcp {
    /// Share of the link's rate that may be used, above 0 and at most 1. Default 0.9.
    #[serde(default = "nine_tenths")]
    pub(crate) share: f64,
    /// A window of which at most this share was unused may grow. Default 0.1.
    #[serde(default = "tenth")]
    pub(crate) gamma1: f64,
    /// One of which more than this share was unused shrinks. Default 0.5.
    #[serde(default = "half")]
    pub(crate) gamma2: f64,
    /// Weight of earlier measurements of throughput, 0 to 1. Default 0.2, as in the module of the SING group.
    #[serde(default = "fifth")]
    pub(crate) beta: f64,
    /// A window shrinks after so many round trips in a row. Default 3; 1 in the module of the SING group.
    #[serde(default = "three")]
    pub(crate) decrease_after: u32,
    /// Windows above the average shrink while less than this share of the link's rate is available. Default 0.2.
    #[serde(default = "fifth")]
    pub(crate) fairness: f64,
    /// A connection with a longer round-trip time is not controlled. Default `"2ms"`.
    #[serde(default = "two_milliseconds")]
    pub(crate) rtt_limit: Time,
    /// The window of a new connection, and the least. Default 2 segments.
    #[serde(default = "two_segments")]
    pub(crate) minimum: Window,
}

/// Additive increase, halving.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reno {
    /// Whether connections use classic ECN (RFC 3168). Default false.
    #[serde(default)]
    pub(crate) ecn: bool,
}

/// Additive increase, halving on marks and on losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EcnStar {}

/// A cubic function of the time since the last reduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cubic {
    /// Whether connections use classic ECN (RFC 3168). Default false.
    #[serde(default)]
    pub(crate) ecn: bool,
    /// How aggressively the window grows, in segments/s³, above 0. Default 0.4 (RFC 9438 §5).
    #[serde(default = "two_fifths")]
    pub(crate) c: f64,
    /// What a reduction leaves, between 0 and 1. Default 0.7 (RFC 9438 §4.6).
    #[serde(default = "seven_tenths")]
    pub(crate) beta: f64,
    /// Whether a flow that is reduced before it regained its old window leaves room to new ones. Default true (RFC 9438 §4.7).
    #[serde(default = "yes")]
    pub(crate) fast_convergence: bool,
    /// What ends slow start before a loss. Default `"off"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) hystart: HyStart,
    /// In what it counts. Default `"exact"`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) counting: Counting,
}

/// What ends slow start before a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HyStart {
    /// Nothing.
    #[default]
    Off,
    /// Round-trip times that grow, after which a slower growth makes sure (RFC 9406).
    #[serde(rename = "hystart++")]
    PlusPlus,
    /// Trains of acknowledgements of half a round trip, or round-trip times that grow (Linux).
    Linux,
}

/// DCTCP with a brake for incast.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pulser {
    /// Window while the brake is on. Default 4 segments (§III-B).
    #[serde(default = "four_segments")]
    pub(crate) safe_window: Window,
    /// What lets the brake go. Default `"first-clean-ack"`.
    #[serde(default)]
    pub(crate) restore: Restore,
    /// Whether the brake is as in the authors' testbed: ECE pulls it, which then cuts the window in no other way, and it
    /// sets the slow start threshold to the safe window, too. Default false: an explicit incast notification pulls it.
    #[serde(default)]
    pub(crate) as_released: bool,
    /// The rest of it: keys as of the kind `dctcp`.
    #[serde(default)]
    pub(crate) dctcp: Dctcp,
}

/// What lets Pulser's brake go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Restore {
    /// The first acknowledgement without the signal (the authors' testbed).
    #[default]
    FirstCleanAck,
    /// A window of data, all of whose acknowledgements are without it.
    CleanWindow,
}

/// How losses are repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Recovery {
    /// With selective acknowledgements (RFC 2018, RFC 6675).
    #[default]
    Sack,
    /// With them and by the times at which segments were sent, and with tail loss probes (RACK-TLP, RFC 8985), as Linux.
    Rack,
    /// With them, as ns-2's `Agent/TCP/FullTcp/Sack`: what is lost counts as in the network until acknowledgements come in its
    /// place, after a timeout everything outstanding is sent again, and a second loss in one window waits for the timer.
    FullTcp,
    /// With them, as ns-2's `Agent/TCP/Sack1`, which differs in details.
    Sack1,
    /// Without them, until everything is repaired that was outstanding when the loss was found (RFC 6582).
    NewReno,
    /// Without them, until the first acknowledgement of new data (RFC 5681 §3.2).
    Reno,
}

/// What NewReno's window is when everything is repaired (RFC 6582 §3.2 step 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FullAck {
    /// The slow start threshold, but at most one segment more than is in flight.
    #[default]
    Limited,
    /// The slow start threshold (ns-2).
    Ssthresh,
}

/// Details of RACK-TLP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rack {
    /// How long a probe waits for the acknowledgement of a lone segment, beyond two round trips. Default
    /// `delayed_ack.timeout`; Linux has the least retransmission timeout, 200 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_ack_delay: Option<Time>,
    /// What the probe timer and the reordering timer wait beyond what RFC 8985 says: two ticks in Linux. Default `"0s"`.
    #[serde(default = "zero")]
    pub(crate) timer_slack: Time,
}

/// Proportional rate reduction (RFC 6937, RFC 9937).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Prr {
    /// Not used: what is in the network follows the window (RFC 6675).
    #[default]
    Off,
    /// With the slow start reduction bound, which the RFC recommends.
    Ssrb,
    /// With the conservative reduction bound.
    Crb,
    /// With either, as acknowledgements of new data tell of further losses or not (RFC 9937, Linux).
    SafeAck,
}

/// A cut in proportion to the fraction of marked bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dctcp {
    /// Weight of the newest window in alpha, above 0 and at most 1. Default 1/16 (RFC 8257 §4.2).
    #[serde(default = "sixteenth")]
    pub(crate) g: f64,
    /// Alpha of a new connection, 0 to 1. Default 1 (RFC 8257 §3.3, Linux); the papers' simulators have 0.
    #[serde(default = "unity")]
    pub(crate) initial_alpha: f64,
    /// Which acknowledgement ends an observation window. Default `"passed"`.
    #[serde(default)]
    pub(crate) window_end: WindowEnd,
    /// Whether duplicate acknowledgements count in the fraction. Default `"ignored"`.
    #[serde(default)]
    pub(crate) duplicate_acks: DuplicateAcks,
    /// Which acknowledgements with ECE grow the window. Default `"all"`.
    #[serde(default)]
    pub(crate) ece_growth: EceGrowth,
    /// How alpha is computed. Default `"float"`.
    #[serde(default)]
    pub(crate) arithmetic: Arithmetic,
}

/// How alpha is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Arithmetic {
    /// As a fraction; zero below 2⁻³⁰ (ns-2, ns-3).
    #[default]
    Float,
    /// In whole 1,024ths, of which those vanish that are too few to decay (Linux). `g` is 1, 1/2, 1/4, … or 1/1024.
    Fixed,
}

/// Which acknowledgement ends an observation window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum WindowEnd {
    /// One beyond its end (RFC 8257 §3.3, ns-2).
    #[default]
    Passed,
    /// One that reaches its end (Linux, ns-3).
    Reached,
}

/// Whether duplicate acknowledgements count in the fraction of marked bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum DuplicateAcks {
    /// They acknowledge no bytes (RFC 8257 §3.3).
    #[default]
    Ignored,
    /// Each counts as one segment (ns-2).
    OneSegment,
}

/// Which acknowledgements with ECE grow the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EceGrowth {
    /// All but those that cut it (RFC 8257 §3.4).
    #[default]
    All,
    /// All but the first of a run of them (ns-2).
    NotFirst,
    /// None (RFC 3168 §6.1.2).
    None,
}

/// How the window grows in congestion avoidance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Avoidance {
    /// One segment once a whole window was acknowledged (RFC 5681 §3.1).
    #[default]
    ByteCounting,
    /// SMSS²/cwnd for each acknowledgement (RFC 5681 Eq. 3, ns-2's `windowOption_ 1`).
    PerAck,
    /// One segment once there were as many acknowledgements as the window has segments; cuts and restarts start the count
    /// anew (ns-2's `windowOption_ 0`).
    Counted,
}

/// How the window gets to where an ECN echo sends it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EceReaction {
    /// At once (RFC 3168 §6.1.2, RFC 8257 §3.3).
    #[default]
    AtOnce,
    /// Over a round trip, in proportion to what is delivered, with no growth meanwhile (Linux, ns-3; the formulas of RFC 6937).
    Prr,
}

/// Whether a window grows that the application does not use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AppLimited {
    /// It does (RFC 5681, ns-2).
    #[default]
    Grows,
    /// Only if it was what limited the sender, or in slow start up to twice what was outstanding (Linux).
    Linux,
}

/// Of what a loss leaves one half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LossBase {
    /// What is sent but not acknowledged (RFC 5681 Eq. 4).
    #[default]
    FlightSize,
    /// The window, whether used or not (ns-2, Linux).
    Cwnd,
}

/// What becomes of the window when nothing was sent for an RTO (RFC 5681 §4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RestartAfterIdle {
    /// It stays.
    Off,
    /// It becomes the initial window if it was larger.
    #[default]
    Reduce,
    /// As ns-2's `slow_start_restart_`: it becomes the initial window, even if it was smaller, after a timeout of
    /// SRTT + 4 RTTVAR that knows no minimum.
    Reset,
}

/// What becomes of selective acknowledgements when the retransmission timer fires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SackAfterTimeout {
    /// Kept (RFC 6675 §5.1).
    #[default]
    Kept,
    /// Forgotten (RFC 2018 §8, ns-2).
    Forgotten,
}

/// Which packets of an ECN-capable connection carry ECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ect {
    /// All of them.
    All,
    /// New data only (RFC 3168 §6.1.4, §6.1.5).
    Rfc3168,
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

/// When a receiver acknowledges data that arrives in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DelayedAck {
    /// At the latest with this many segments; 1 acknowledges each at once. Default 2 (RFC 5681 §4.2).
    #[serde(default = "two")]
    pub(crate) segments: u32,
    /// What counts as a segment. Default `"arrivals"`.
    #[serde(default)]
    pub(crate) counts: AckCounts,
    /// The first segments of a connection that are acknowledged at once. Default 0; 16 in Linux (`TCP_MAX_QUICKACKS`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) quick: u32,
    /// At the latest after this time. Default `"40ms"`, as Linux.
    #[serde(default = "forty_milliseconds")]
    pub(crate) timeout: Time,
}

/// What counts as a segment before a receiver acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum AckCounts {
    /// One that arrives, short or not.
    #[default]
    Arrivals,
    /// As many bytes as a full one has: a short last segment waits for the timer, also with `segments = 1`, and also after a
    /// change of marks, at which only what came before is acknowledged at once (ns-2's FullTcp).
    Bytes,
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
            fin: false,
            timestamps: true,
            delayed_ack: DelayedAck::default(),
            ect: None,
            ack_class: None,
        }
    }
}

impl Default for Receiver {
    fn default() -> Self {
        Self::Fixed(FixedWindow {})
    }
}

impl Default for Congestion {
    fn default() -> Self {
        Self::Dctcp(Dctcp::default())
    }
}

impl Default for Rack {
    fn default() -> Self {
        Self { max_ack_delay: None, timer_slack: zero() }
    }
}

impl Default for Dctcp {
    fn default() -> Self {
        Self {
            g: sixteenth(),
            initial_alpha: unity(),
            window_end: WindowEnd::default(),
            duplicate_acks: DuplicateAcks::default(),
            ece_growth: EceGrowth::default(),
            arithmetic: Arithmetic::default(),
        }
    }
}

impl Default for Rto {
    fn default() -> Self {
        Self { initial: one_second(), min: one_second(), max: one_minute(), granularity: one_millisecond() }
    }
}

impl Default for DelayedAck {
    fn default() -> Self {
        Self { segments: two(), counts: AckCounts::default(), quick: 0, timeout: forty_milliseconds() }
    }
}

/// What was not there before needs no mention where it is not used.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u32 {
    1
}

fn two() -> u32 {
    2
}

fn three() -> u32 {
    3
}

fn yes() -> bool {
    true
}

fn unity() -> f64 {
    1.0
}

fn sixteenth() -> f64 {
    1.0 / 16.0
}

fn nine_tenths() -> f64 {
    0.9
}

fn half() -> f64 {
    0.5
}

fn fifth() -> f64 {
    0.2
}

fn tenth() -> f64 {
    0.1
}

fn two_segments() -> Window {
    Window::Segments(2)
}

fn two_milliseconds() -> Time {
    Time(Duration::from_millis(2))
}

fn two_fifths() -> f64 {
    0.4
}

fn seven_tenths() -> f64 {
    0.7
}

fn four_segments() -> Window {
    Window::Segments(4)
}

fn zero() -> Time {
    Time(Duration::ZERO)
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

fn forty_milliseconds() -> Time {
    Time(Duration::from_millis(40))
}
