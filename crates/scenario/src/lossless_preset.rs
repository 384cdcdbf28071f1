//! `switch.lossless.preset`: rules that depend on the links of the network, for switches as in HPCC's simulator
//! (alibaba-edu/High-Precision-Congestion-Control) and in ns3-datacenter (inet-tub/ns3-datacenter).

use shallows_core::{Bytes, Rate};
use shallows_switch::ingress::{self, GroupConfig};

use crate::check::Checker;
use crate::spec::{self, LosslessPreset};
use crate::topology::{Link, Lossless, Network};

/// Negated exponent of α at a port with the rate of the hosts' links: α is 2⁻³ = 1/8 (third.cc: `shift`).
const SHIFT: i8 = 3;

/// Rejects keys that have no counterpart in the simulators of the presets.
pub(crate) fn check(wanted: &spec::Lossless, checker: &mut Checker<'_>) {
    for (key, is_given) in
        [("watchdog", wanted.watchdog.is_some()), ("headroom_pool", wanted.headroom_pool.is_some())]
    {
        checker.require(wanted.preset.is_none() || !is_given, &format!("switch.lossless.{key}"), || {
            "must be left out with a preset, because the switches of this simulator have none".to_owned()
        });
    }
}

/// Returns the exponent of α on a link: -3 at the rate of the first host's link, and one more for each doubling of the rate, up to 0
/// (third.cc: `pfc_a_shift`).
pub(crate) fn exponent(network: &Network, link: &Link) -> i8 {
    let (mut shift, mut rate) = (SHIFT, link.rate);
    let nic = network.links.iter().find(|link| link.from.0 == 0).map_or(Rate(u64::MAX), |link| link.rate);
    while rate > nic && shift > 0 {
        (shift, rate) = (shift - 1, Rate(rate.0 / 2));
    }
    -shift
}

/// Returns the headroom of each group for packets that arrive on the link `peer` (third.cc: `rate * delay / 8 / 1000000000 * 3`, with the
/// delay in nanoseconds).
pub(crate) fn headroom(peer: &Link) -> Bytes {
    let bits_per_second_ns = u128::from(peer.rate.0) * u128::from(peer.delay.0 / 1_000);
    Bytes((bits_per_second_ns / 8 / 1_000_000_000) as u64 * 3)
}

/// Returns the reserved memory and the headroom that are taken from the memory of a switch. Without a preset, all lossless groups of its
/// ports are included. In HPCC's simulator, one group of each port is included (switch-mmu.cc: `ConfigNPort`). In ns3-datacenter, no group
/// is included, because headroom is additional memory (powertcp-evaluation-burst.cc: `SetBufferPool`, `SetIngressPool`).
pub(crate) fn taken<'a>(
    preset: Option<LosslessPreset>,
    cell: shallows_switch::buffer::Cell,
    ports: impl Iterator<Item = &'a [GroupConfig]>,
) -> (Bytes, Bytes) {
    let (mut reserved, mut headroom) = (Bytes(0), Bytes(0));
    let of_port = match preset {
        None => usize::MAX,
        Some(LosslessPreset::HpccRepo) => 1,
        Some(LosslessPreset::Ns3Datacenter) => 0,
    };
    for groups in ports {
        let own = groups.iter().filter_map(|group| {
            group.lossless.map(|lossless| (cell.whole(group.reserved), cell.whole(lossless.headroom)))
        });
        for (of_group, room) in own.take(of_port) {
            reserved += of_group;
            headroom += room;
        }
    }
    (reserved, headroom)
}

/// Enlarges the memory of each switch by reserved memory and headroom: the bytes of the groups that [`taken`] leaves out because of the
/// preset. Lossless packets then always fit at egress. The simulators also accept all of them there (switch-mmu.cc:
/// `CheckEgressAdmission`).
pub(crate) fn overbook(wanted: &spec::Lossless, network: &mut Network) {
    let Some(lossless) = network.lossless.as_ref().filter(|_| wanted.preset.is_some()) else { return };
    let of_switch = |(node, book): (u32, &ingress::Config)| {
        let ports = || groups_of(network, lossless, node);
        let [of_preset, all] = [wanted.preset, None].map(|preset| {
            let (reserved, headroom) = taken(preset, book.cell, ports());
            reserved + headroom
        });
        all.saturating_sub(of_preset)
    };
    let more: Vec<Bytes> = (network.hosts..).zip(&lossless.books).map(of_switch).collect();
    for (buffer, more) in network.buffers[network.hosts as usize..].iter_mut().zip(more) {
        buffer.pools[0] += more;
    }
}

/// Returns the groups of each port of a switch.
fn groups_of<'a>(
    network: &'a Network,
    lossless: &'a Lossless,
    node: u32,
) -> impl Iterator<Item = &'a [GroupConfig]> {
    let of_node = move |(link, _): &(&Link, _)| link.from.0 == node;
    network.links.iter().zip(&lossless.ports).filter(of_node).map(|(_, port)| &port.groups[..])
}

/// Returns a note that lists what the preset sets.
pub(crate) fn note(wanted: &spec::Lossless, network: &Network) -> Option<String> {
    let preset = wanted.preset?;
    let mut keys = wanted.preset_keys.clone();
    if preset == LosslessPreset::HpccRepo && wanted.alpha.is_none() && wanted.limit.is_none() {
        let mut rates: Vec<(Rate, i8)> = Vec::new();
        for link in network.links.iter().filter(|link| link.from.0 >= network.hosts) {
            let alpha = (link.rate, exponent(network, link));
            if !rates.contains(&alpha) {
                rates.push(alpha);
            }
        }
        rates.sort_unstable();
        keys.extend(
            rates
                .iter()
                .map(|(rate, exponent)| format!("alpha = 1/{} at {rate}", 1 << exponent.unsigned_abs())),
        );
    }
    let (name, memory) = match preset {
        LosslessPreset::HpccRepo => {
            ("hpcc-repo", "the headroom and reserved memory of all classes are counted once per port")
        }
        LosslessPreset::Ns3Datacenter => {
            ("ns3-datacenter", "headroom and reserved memory are added to the memory of a switch")
        }
    };
    let keys = keys.join(", ");
    Some(format!("switch.lossless.preset \"{name}\" sets {keys}; {memory}; pauses last until they are ended"))
}
