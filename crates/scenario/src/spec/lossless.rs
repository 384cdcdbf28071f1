//! `[switch.lossless]`: classes whose senders are paused before packets are dropped.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};
use shallows_switch::ingress::Compares;

use crate::quantity::{Automatic, HeadroomSize, NumberMap, Size, Time};

/// Lossless classes: priority flow control (PFC) pauses the sender of a link before a switch must drop a packet of the class. At every
/// port, the packets of one class that have arrived there form a priority group. A group takes reserved memory first, then the shared
/// memory of the switch up to the group's limit, then headroom. When a group reaches its limit, the switch pauses the other end of the
/// link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lossless {
    /// Lossless classes of service, from 0 to 7. A class has the PFC priority of the same number. All other classes are lossy.
    pub(crate) classes: Vec<u8>,
    /// Preset `"hpcc-repo"` or `"ns3-datacenter"`: sets several keys at once to reproduce the switches of that simulator, for comparisons.
    /// Other keys of this table override the preset. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preset: Option<LosslessPreset>,
    /// Keys that the preset has set, with their values.
    #[serde(skip)]
    pub(crate) preset_keys: Vec<String>,
    /// Class of each DSCP (SONiC: `DSCP_TO_TC_MAP`), such as `{ 26 = 3 }`. The key `classes`, here and at ports, refers to these classes,
    /// whose numbers are from 0 to 7. Default for each DSCP: the class of the same number.
    #[serde(default, skip_serializing_if = "NumberMap::is_empty")]
    pub(crate) dscp_to_tc: NumberMap,
    /// Priority group of each class (SONiC: `TC_TO_PRIORITY_GROUP_MAP`), such as `{ 4 = 3 }`. Lossless classes that share a group are paused
    /// together; a lossy class must not share their group. Default: a lossless class has the group of the same number, and a lossy class
    /// has group 0, or a group of its own if class 0 is lossless.
    #[serde(default, skip_serializing_if = "NumberMap::is_empty")]
    pub(crate) tc_to_priority_group: NumberMap,
    /// Queue that a PFC priority pauses at switches (SONiC: `MAP_PFC_PRIORITY_TO_QUEUE`), such as `{ 3 = 3 }`. The priority of a lossless
    /// class has the number of the class and must pause the queue of the class. Entries for other priorities have no effect. Default: the
    /// queue of the class.
    #[serde(default, skip_serializing_if = "NumberMap::is_empty")]
    pub(crate) pfc_priority_to_queue: NumberMap,
    /// Kind of the pauses that protect lossless classes. Default `"pfc"`.
    #[serde(default)]
    pub(crate) pause: PauseKind,
    /// Limit on the shared memory that a group uses: alpha times the free shared memory. A power of two from 1/128 to 8, as on chips
    /// (SONiC: `dynamic_th` is its exponent). Default 1, unless `limit` is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) alpha: Option<f64>,
    /// Fixed limit on the shared memory that a group uses (SONiC: `static_th`), instead of `alpha`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limit: Option<Size>,
    /// State that is compared with the limit of a group. `"with"` (default) includes the arriving packet, as on Trident 3, Tomahawk 3 and
    /// Tomahawk 5. `"before"` excludes the packet, as on Trident 2, Tomahawk and Tomahawk 2. `"hpcc-repo"` counts the packet in its group
    /// but not in the pool, and tests a group only when its own packets arrive or leave, as in HPCC's simulator. `"ns3-datacenter"` counts
    /// the packet in its group and in the pool, pauses only a group that uses headroom, and gives a group no shared memory until its
    /// headroom is empty.
    #[serde(default)]
    pub(crate) compares: Compares,
    /// Reserved memory of each lossless group (SONiC: `size`), used first. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) reserved: Size,
    /// Headroom of each lossless group (SONiC: `xoff`): memory for the packets that arrive after the pause. `"auto"` (default) computes it
    /// from the rate and delay of the link, the largest packet and the response time. `"sonic-spectrum"` is the value that SONiC computes
    /// for the Spectrum chip with cells of `switch.buffer.cell` (sonic-swss, July 2026). `"hpcc-repo"` is 3 · rate · delay, as in HPCC's simulator.
    #[serde(default)]
    pub(crate) headroom: HeadroomSize,
    /// Inputs of SONiC's formula; only with `headroom = "sonic-spectrum"`. Default: those that SONiC ships.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sonic: Option<Sonic>,
    /// Size of a pool of headroom that all groups of a switch share. With a pool, `headroom` is the most that one group may take from it,
    /// and loss is possible if too many groups pause at once. Default: every group has its own headroom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) headroom_pool: Option<Size>,
    /// Amount of shared memory at or below which a paused group may be resumed regardless of its limit. Default `"0B"`.
    #[serde(default = "nothing")]
    pub(crate) xon: Size,
    /// Distance below the limit at which a paused group is resumed. Default `"auto"`: two of the largest packets.
    #[serde(default)]
    pub(crate) xon_offset: Automatic<Size>,
    /// Time from the arrival of a PFC frame to its effect at hosts and switches. Default `"auto"`: the longest time that IEEE 802.3 allows
    /// at the rate of the link.
    #[serde(default)]
    pub(crate) response: Automatic<Time>,
    /// Pause time in a PFC frame, in quanta of 512 bit times, at least 2. A pause is repeated after half of its time. Default 65535.
    #[serde(default = "longest")]
    pub(crate) quanta: u16,
    /// PFC watchdog of the ports of switches: a queue that stays paused for too long ignores pauses. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) watchdog: Option<Watchdog>,
    /// Treatment of routes by which pauses can wait for each other in a cycle of links. Default `"refuse"`.
    #[serde(default)]
    pub(crate) cyclic_routes: CyclicRoutes,
    /// Routing loops. Packets to some hosts circulate until their TTL expires. Requires `cyclic_routes = "allow"`. Default: none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) routing_loops: Vec<RoutingLoop>,
    /// TTL of packets, from 2 to 16: a switch drops a packet that has crossed this number of links. Requires `routing_loops`. Default with
    /// `routing_loops`: 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ttl: Option<u8>,
}

/// Simulator whose switches a preset reproduces, defects included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) enum LosslessPreset {
    /// HPCC's simulator, an ns-3 fork: α grows in proportion to the link rate, from 1/8 (links of the hosts' rate) to 1. Headroom is 3 ·
    /// rate · delay. Headroom and reserved memory of all classes are counted once per port. Only a group's own packets cause tests of its
    /// thresholds. A pause lasts until its sender ends it.
    #[serde(rename = "hpcc-repo")]
    HpccRepo,
    /// ns3-datacenter (the simulator of PowerTCP, ABM and Reverie): α is 1/8. Headroom is 3 · rate · delay and is added to the memory. Only
    /// a group's own packets cause tests of its thresholds. A pause lasts until its sender ends it.
    #[serde(rename = "ns3-datacenter")]
    Ns3Datacenter,
}

/// Kind of the pauses that protect lossless classes. Default `"pfc"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PauseKind {
    /// Priority flow control (IEEE 802.1Q clause 36), which pauses single classes.
    #[default]
    Pfc,
    /// Pauses of a whole link (IEEE 802.3x), which are not modelled. A scenario with this kind is refused.
    #[serde(rename = "802.3x")]
    Link,
}

/// PFC watchdog: a queue that stays paused for the detection time ignores pauses until no PFC frame has come for the restoration time. The
/// defaults are those of SONiC for switches with up to 32 ports (`pfcwd start_default`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watchdog {
    /// Time for which a queue must stay paused, with new PFC frames between every two polls, before it ignores pauses. Default `"200ms"`.
    #[serde(default = "fifth")]
    pub(crate) detection: Time,
    /// Time without PFC frames after which a queue obeys pauses again. Default `"200ms"`.
    #[serde(default = "fifth")]
    pub(crate) restoration: Time,
    /// Time between two polls of the watchdog, no longer than `detection` and `restoration`. Default `"200ms"`.
    #[serde(default = "fifth")]
    pub(crate) poll: Time,
    /// Action on the packets of a queue that ignores pauses. Default `"drop"`.
    #[serde(default)]
    pub(crate) action: StormAction,
}

/// Action of a PFC watchdog on the packets of a queue that ignores pauses. Default `"drop"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StormAction {
    /// The waiting and arriving packets of a queue that ignores pauses are dropped.
    #[default]
    Drop,
    /// The packets of a queue that ignores pauses are sent.
    Forward,
}

/// Treatment of routes by which pauses can wait for each other in a cycle of links. Default `"refuse"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CyclicRoutes {
    /// A scenario in which pauses can wait for each other in a cycle is refused.
    #[default]
    Refuse,
    /// A scenario in which pauses can wait for each other in a cycle runs. A deadlock ends the run.
    Allow,
}

/// Routing loop: switches that forward the packets for some hosts in a circle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RoutingLoop {
    /// Name of the switch that connects the destination hosts. Packets for these hosts circulate in the loop.
    pub(crate) to: String,
    /// Names of the switches in the loop, at least two. Each passes the packets to the next one, and the last to the first. Other switches
    /// keep their routes.
    pub(crate) through: Vec<String>,
}

/// Inputs of SONiC's formula for the headroom of Spectrum chips.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sonic {
    /// MTU of the ports. Default `"9100B"`.
    #[serde(default = "port_mtu")]
    pub(crate) mtu: Size,
    /// MTU of lossless traffic (SONiC: `mtu` of `LOSSLESS_TRAFFIC_PATTERN`). Default `"1024B"`.
    #[serde(default = "lossless_mtu")]
    pub(crate) lossless_mtu: Size,
    /// Percentage of small packets, from 0 to 100 (SONiC: `small_packet_percentage`). Default 50.
    #[serde(default = "half")]
    pub(crate) small_packets: u8,
    /// Delay of MAC and PHY, as the number of bytes that arrive during this delay (SONiC: `mac_phy_delay`). Default: 0.8 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mac_phy: Option<Size>,
}

impl Default for Sonic {
    fn default() -> Self {
        Self { mtu: port_mtu(), lossless_mtu: lossless_mtu(), small_packets: half(), mac_phy: None }
    }
}

fn port_mtu() -> Size {
    Size(Bytes(9_100))
}

fn lossless_mtu() -> Size {
    Size(Bytes(1_024))
}

fn half() -> u8 {
    50
}

fn nothing() -> Size {
    Size(Bytes(0))
}

fn fifth() -> Time {
    Time(Duration::from_millis(200))
}

fn longest() -> u16 {
    u16::MAX
}
