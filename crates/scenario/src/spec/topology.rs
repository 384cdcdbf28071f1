//! `[topology]`: hosts, switches and the links between them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration, Rate};

use crate::quantity::{PacketSize, Speed, Time};
use crate::tagged::tagged;

tagged! {
    /// Hosts and switches of the network, and the links between them.
    Topology, "topology" {
        /// One switch with all hosts.
        "star" => Star(Star),
        /// Two switches, each with hosts, and one link between the switches.
        "dumbbell" => Dumbbell(Dumbbell),
        /// Leaf switches with hosts, and spine switches without hosts. Each leaf has one link to every spine.
        "leaf-spine" => LeafSpine(LeafSpine),
        /// Pods of edge and aggregation switches below a core. All switches have the same number of ports.
        "fat-tree" => FatTree(FatTree),
        /// Arbitrary hosts, switches and links.
        "graph" => Graph(Graph),
    }
}

/// One switch with all hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Star {
    /// Number of hosts.
    pub(crate) hosts: u32,
    /// Rate of each host's link.
    pub(crate) rate: Speed,
    /// Propagation delay of each link, one way. Default `"1us"`.
    #[serde(default = "link_delay")]
    pub(crate) link_delay: Time,
    /// Delay of each packet in the sending host, and again in the receiving host. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Size of the largest IP packet, in bytes. Default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Bytes that each packet occupies on a link in addition to its IP packet; Ethernet with preamble and gap has 38. Default 0, as in the
    /// simulators of the reproduced papers.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// Links whose rate or delay differs from that of other links of the same kind.
    #[serde(default)]
    pub(crate) links: Vec<LinkOverride>,
}

/// Two switches, each with hosts, and one link between the switches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Dumbbell {
    /// Number of hosts at the left switch. They have the lowest numbers.
    pub(crate) left: u32,
    /// Number of hosts at the right switch.
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
    /// Delay of each packet in the sending host, and again in the receiving host. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Size of the largest IP packet, in bytes. Default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Bytes that each packet occupies on a link in addition to its IP packet. Default 0.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// Links whose rate or delay differs from that of other links of the same kind.
    #[serde(default)]
    pub(crate) links: Vec<LinkOverride>,
}

/// Leaf switches with hosts, and spine switches without hosts. Each leaf has one link to every spine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeafSpine {
    /// Number of leaf switches.
    pub(crate) leaves: u32,
    /// Number of spine switches.
    pub(crate) spines: u32,
    /// Number of hosts on each leaf.
    pub(crate) hosts_per_leaf: u32,
    /// Rate of each host's link.
    pub(crate) rate: Speed,
    /// Rate of each link between leaf and spine. Default: `rate`. The ratio of hosts_per_leaf · rate to spines · uplink_rate is the
    /// oversubscription.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uplink_rate: Option<Speed>,
    /// Propagation delay of each host's link, one way. Default `"1us"`.
    #[serde(default = "link_delay")]
    pub(crate) link_delay: Time,
    /// Propagation delay of each link between leaf and spine. Default: `link_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) uplink_delay: Option<Time>,
    /// Delay of each packet in the sending host, and again in the receiving host. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Size of the largest IP packet, in bytes. Default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Bytes that each packet occupies on a link in addition to its IP packet. Default 0.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// Links whose rate or delay differs from that of other links of the same kind.
    #[serde(default)]
    pub(crate) links: Vec<LinkOverride>,
}

/// Fat tree of switches with `k` ports (Al-Fares, Loukissas and Vahdat, SIGCOMM '08). Each of its `k` pods has k/2 edge and k/2 aggregation
/// switches, with a link between every edge and every aggregation switch. Each of the (k/2)² core switches has one link to every pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FatTree {
    /// Number of ports of a switch, which must be even.
    pub(crate) k: u32,
    /// Oversubscription: the number of hosts of an edge switch divided by the number of its uplinks, k/2. Default 1.
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
    /// Delay of each packet in the sending host, and again in the receiving host. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Size of the largest IP packet, in bytes. Default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Bytes that each packet occupies on a link in addition to its IP packet. Default 0.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// Links whose rate or delay differs from that of other links of the same kind.
    #[serde(default)]
    pub(crate) links: Vec<LinkOverride>,
}

impl FatTree {
    /// Returns the number of hosts of an edge switch, or `None` if it is not a whole number above zero.
    pub(crate) fn hosts_per_edge(&self) -> Option<u32> {
        let hosts = f64::from(self.k) / 2.0 * self.oversubscription;
        let whole = hosts.round();
        // Floating-point products with factors such as 1.2 are not exact.
        ((hosts - whole).abs() < 1e-9 && (1.0..=f64::from(u32::MAX)).contains(&whole)).then_some(whole as u32)
    }
}

/// Arbitrary hosts, switches and links. Packets take the paths with the fewest links; if there are several, connections are spread over
/// them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Graph {
    /// Names of the hosts, in the order of their numbers; `"s1-{0..10}"` means `s1-0` to `s1-9`.
    pub(crate) hosts: Vec<String>,
    /// Names of the switches; ranges such as `"s1-{0..10}"` are written as in `hosts`.
    pub(crate) switches: Vec<String>,
    /// Rate of the links whose entry sets no rate.
    pub(crate) rate: Speed,
    /// Propagation delay, one way, of the links whose entry sets no delay. Default `"1us"`.
    #[serde(default = "link_delay")]
    pub(crate) link_delay: Time,
    /// Delay of each packet in the sending host, and again in the receiving host. Default `"0s"`.
    #[serde(default = "no_time")]
    pub(crate) host_delay: Time,
    /// Size of the largest IP packet, in bytes. Default 1500.
    #[serde(default = "mtu")]
    pub(crate) mtu: PacketSize,
    /// Bytes that each packet occupies on a link in addition to its IP packet. Default 0.
    #[serde(default = "no_bytes")]
    pub(crate) framing: PacketSize,
    /// All links; each carries packets in both directions. Several entries between the same two nodes give parallel links.
    pub(crate) links: Vec<GraphLink>,
}

/// Link of a graph, or several links with the same rate and delay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GraphLink {
    /// Names of the two ends, such as `["s1-*", "tor1"]`, where `*` matches any text. Every node that matches one name is linked with every
    /// node that matches the other.
    pub(crate) between: [String; 2],
    /// Rate of the link. Default: `topology.rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Speed>,
    /// Propagation delay of the link, one way. Default: `topology.link_delay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Time>,
}

/// Link whose rate or delay, in both directions, differs from that of other links of the same kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkOverride {
    /// Names of the two ends, such as `["leaf0", "spine1"]`. Nodes have the names `host0`…, `switch0`, `left`, `right`, `leaf0`…,
    /// `spine0`…, `edge0`…, `agg0`…, `core0`….
    pub(crate) between: [String; 2],
    /// Rate of the link. Default: the rate of other links of the same kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rate: Option<Speed>,
    /// Propagation delay of the link, one way. Default: the delay of other links of the same kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Time>,
}

/// Keys that every kind of topology has.
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
    /// Returns the values of the keys that every kind of topology has.
    pub(crate) fn common(&self) -> Common<'_> {
        let (rate, link, host, mtu, framing, links): (_, _, _, _, _, &[LinkOverride]) = match self {
            Self::Star(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &t.links),
            Self::Dumbbell(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &t.links),
            Self::LeafSpine(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &t.links),
            Self::FatTree(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &t.links),
            // A graph lists each link with its own rate and delay, so it has no overrides.
            Self::Graph(t) => (t.rate, t.link_delay, t.host_delay, t.mtu, t.framing, &[]),
        };
        Common { rate: rate.0, link_delay: link.0, host_delay: host.0, mtu: mtu.0, framing: framing.0, links }
    }

    /// Returns the topology after filling in the defaults that depend on other keys.
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
