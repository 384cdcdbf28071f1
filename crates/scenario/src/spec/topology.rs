//! `[topology]`: which hosts and switches there are, and the links between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration, Rate};

use crate::quantity::{PacketSize, Speed, Time};
use crate::tagged::tagged;

tagged! {
    /// Which hosts and switches there are, and the links between them.
    Topology, "topology" {
        /// One switch with every host on it.
        "star" => Star(Star),
        /// Two switches with hosts on each and one link between them.
        "dumbbell" => Dumbbell(Dumbbell),
        /// Leaves with hosts on them, each with one link to every spine.
        "leaf-spine" => LeafSpine(LeafSpine),
        /// Pods of edge and aggregation switches below a core, with equally many ports each.
        "fat-tree" => FatTree(FatTree),
        /// Any hosts, switches and links.
        "graph" => Graph(Graph),
    }
}

/// One switch with every host on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Star {
    /// How many hosts.
    pub(crate) hosts: u32,
    /// Rate of each host's link.
    pub(crate) rate: Speed,
    /// Propagation delay of each link, one way. Default `"1us"`.
    #[serde(default = "link_delay")]
    pub(crate) link_delay: Time,
    /// Time that each packet spends in the host that sends it, and again in the host that receives it. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Largest IP packet. In bytes; default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Framing: bytes of each packet on a link beyond the IP packet, 38 for Ethernet with preamble and gap. Default
    /// 0, as in the papers' simulators.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// Links that differ from the rest.
    #[serde(default)]
    pub(crate) links: Vec<LinkOverride>,
}

/// Two switches with hosts on each and one link between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dumbbell {
    /// How many hosts on the left; they are numbered first.
    pub(crate) left: u32,
    /// How many hosts on the right.
    pub(crate) right: u32,
    /// Rate of each host's link.
    pub(crate) rate: Speed,
    /// Rate of the link between the switches. Default: `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bottleneck_rate: Option<Speed>,
    /// Propagation delay of each host's link, one way. Default `"1us"`.
    #[serde(default = "link_delay")]
    pub(crate) link_delay: Time,
    /// Propagation delay of the link between the switches. Default: `link_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bottleneck_delay: Option<Time>,
    /// Time that each packet spends in the host that sends it, and again in the host that receives it. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Largest IP packet. In bytes; default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Framing: bytes of each packet on a link beyond the IP packet. Default 0.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// Links that differ from the rest.
    #[serde(default)]
    pub(crate) links: Vec<LinkOverride>,
}

/// Leaves with hosts on them, each with one link to every spine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeafSpine {
    /// How many leaf switches.
    pub(crate) leaves: u32,
    /// How many spine switches.
    pub(crate) spines: u32,
    /// How many hosts on each leaf.
    pub(crate) hosts_per_leaf: u32,
    /// Rate of each host's link.
    pub(crate) rate: Speed,
    /// Rate of each link between leaf and spine. Default: `rate`. The oversubscription is
    /// hosts_per_leaf · rate : spines · uplink_rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uplink_rate: Option<Speed>,
    /// Propagation delay of each host's link, one way. Default `"1us"`.
    #[serde(default = "link_delay")]
    pub(crate) link_delay: Time,
    /// Propagation delay of each link between leaf and spine. Default: `link_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uplink_delay: Option<Time>,
    /// Time that each packet spends in the host that sends it, and again in the host that receives it. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Largest IP packet. In bytes; default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Framing: bytes of each packet on a link beyond the IP packet. Default 0.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// Links that differ from the rest.
    #[serde(default)]
    pub(crate) links: Vec<LinkOverride>,
}

/// A fat tree of switches with `k` ports (Al-Fares, Loukissas and Vahdat, SIGCOMM '08): `k` pods, each of k/2 edge and k/2
/// aggregation switches with a link between any two of them, and (k/2)² core switches with one link to every pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FatTree {
    /// How many ports a switch has: an even number.
    pub(crate) k: u32,
    /// How many times k/2 hosts each edge switch has, for its k/2 uplinks. Default 1.
    #[serde(default = "one")]
    pub(crate) oversubscription: f64,
    /// Rate of each host's link.
    pub(crate) rate: Speed,
    /// Rate of each link between edge and aggregation. Default: `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aggregation_rate: Option<Speed>,
    /// Rate of each link between aggregation and core. Default: `aggregation_rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) core_rate: Option<Speed>,
    /// Propagation delay of each host's link, one way. Default `"1us"`.
    #[serde(default = "link_delay")]
    pub(crate) link_delay: Time,
    /// Propagation delay of each link between edge and aggregation. Default: `link_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) aggregation_delay: Option<Time>,
    /// Propagation delay of each link between aggregation and core. Default: `aggregation_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) core_delay: Option<Time>,
    /// Time that each packet spends in the host that sends it, and again in the host that receives it. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Largest IP packet. In bytes; default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Framing: bytes of each packet on a link beyond the IP packet. Default 0.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// Links that differ from the rest.
    #[serde(default)]
    pub(crate) links: Vec<LinkOverride>,
}

impl FatTree {
    /// How many hosts an edge switch has, if that is a whole number above zero.
    pub(crate) fn hosts_per_edge(&self) -> Option<u32> {
        let hosts = f64::from(self.k) / 2.0 * self.oversubscription;
        let whole = hosts.round();
        // A factor such as 1.2 is not exact.
        ((hosts - whole).abs() < 1e-9 && (1.0..=f64::from(u32::MAX)).contains(&whole)).then_some(whole as u32)
    }
}

/// Any hosts, switches and links. Packets take the paths with the fewest links, spread over all of equal length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Graph {
    /// Names of the hosts, in the order of their numbers; `"s1-{0..10}"` stands for `s1-0` to `s1-9`.
    pub(crate) hosts: Vec<String>,
    /// Names of the switches, likewise.
    pub(crate) switches: Vec<String>,
    /// Rate of links that do not say theirs.
    pub(crate) rate: Speed,
    /// Propagation delay, one way, of links that do not say theirs. Default `"1us"`.
    #[serde(default = "link_delay")]
    pub(crate) link_delay: Time,
    /// Time that each packet spends in the host that sends it, and again in the host that receives it. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Largest IP packet. In bytes; default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Framing: bytes of each packet on a link beyond the IP packet. Default 0.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// All links, in both directions. Those that are listed several times run side by side.
    pub(crate) links: Vec<GraphLink>,
}

/// A link of a graph, or several alike.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphLink {
    /// Its two ends, such as `["s1-*", "tor1"]`: `*` stands for anything, and every node of one end is linked with every
    /// node of the other.
    pub(crate) between: [String; 2],
    /// Its rate. Default: `topology.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Speed>,
    /// Its propagation delay, one way. Default: `topology.link_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Time>,
}

/// A link that differs from the rest, in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkOverride {
    /// Its two ends, such as `["leaf0", "spine1"]`. Nodes are `host0`…, `switch0`, `left`, `right`, `leaf0`…, `spine0`…,
    /// `edge0`…, `agg0`…, `core0`….
    pub(crate) between: [String; 2],
    /// Its rate. Default: as the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Speed>,
    /// Its propagation delay, one way. Default: as the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Time>,
}

/// Keys of every kind of topology.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Common<'a> {
    pub(crate) rate: Rate,
    pub(crate) link_delay: Duration,
    pub(crate) host_delay: Duration,
    pub(crate) mtu: Bytes,
    pub(crate) framing: Bytes,
    pub(crate) links: &'a [LinkOverride],
}

impl Topology {
    /// Keys of every kind of topology.
    pub(crate) fn common(&self) -> Common<'_> {
        let (rate, link, host, mtu, framing, links): (_, _, _, _, _, &[LinkOverride]) = match self {
            Self::Star(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &t.links),
            Self::Dumbbell(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &t.links),
            Self::LeafSpine(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &t.links),
            Self::FatTree(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &t.links),
            // Its links are no exceptions from anything.
            Self::Graph(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &[]),
        };
        Common { rate: rate.0, link_delay: link.0, host_delay: host.0, mtu: mtu.0, framing: framing.0, links }
    }

    /// The same with the defaults that depend on other keys.
    pub(crate) fn resolved(&self) -> Self {
        let mut resolved = self.clone();
        match &mut resolved {
            Self::Star(_) | Self::Graph(_) => {}
            Self::Dumbbell(t) => {
                t.bottleneck_rate.get_or_insert(t.rate);
                t.bottleneck_delay.get_or_insert(t.link_delay);
            }
            Self::LeafSpine(t) => {
                t.uplink_rate.get_or_insert(t.rate);
                t.uplink_delay.get_or_insert(t.link_delay);
            }
            Self::FatTree(t) => {
                let rate = *t.aggregation_rate.get_or_insert(t.rate);
                t.core_rate.get_or_insert(rate);
                let delay = *t.aggregation_delay.get_or_insert(t.link_delay);
                t.core_delay.get_or_insert(delay);
            }
        }
        resolved
    }
}

fn one() -> f64 {
    1.0
}

fn link_delay() -> Time {
    Time(Duration::from_micros(1))
}

fn no_time() -> Time {
    Time(Duration::ZERO)
}

fn no_bytes() -> PacketSize {
    PacketSize(Bytes(0))
}

fn mtu() -> PacketSize {
    PacketSize(Bytes(1_500))
}
