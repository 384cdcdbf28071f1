//! Headroom of lossless classes, computed before the run: the bytes that can still arrive after the decision to pause, for each kind of
//! port.

use serde::Serialize;
use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration};
use shallows_switch::buffer::Cell;
use shallows_switch::headroom::{generic, largest_response, sonic_spectrum};

use crate::check::Checker;
use crate::experiment::Experiment;
use crate::quantity::Automatic;
use crate::resolved::Resolved;
use crate::spec::{self, Workload};
use crate::topology::{Headroom, Link, Network, PortKind};

/// Size of the smallest TCP packet, not counting framing: a pure acknowledgement without options.
const SMALLEST_TCP: Bytes = Bytes(40);
/// Size of the headers of datagrams and of echoes, not counting framing.
const DATAGRAM_HEADERS: Bytes = Bytes(28);

/// Headroom of all ports of the same kind that have the same rate and the same [`Headroom`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PortHeadroom {
    /// Kind of the ports that have this headroom.
    pub port: PortKind,
    /// Name of one of the ports that have this headroom.
    pub example: String,
    /// Number of ports that have this headroom.
    pub ports: usize,
    /// Rate at which packets arrive, in bit/s.
    pub rate_bps: u64,
    /// Headroom and the bytes that it must hold.
    #[serde(flatten)]
    pub headroom: Headroom,
}

impl Headroom {
    /// Returns the headroom of the port that `link` leaves, and the bytes that this headroom must hold. The headroom is for packets that
    /// arrive on the opposite link, each with at least `smallest` and at most `packet` bytes.
    pub(crate) fn of(
        wanted: &spec::Lossless,
        link: &Link,
        jitter: Duration,
        (network, [smallest, packet], cell): (&Network, [Bytes; 2], Cell),
    ) -> Self {
        let peer = &network.links[link.reverse as usize];
        let terms = generic::Headroom::of(&generic::Link {
            rate: peer.rate,
            reverse_rate: link.rate,
            propagation: peer.delay + jitter,
            packet,
            response: response(wanted, peer),
        });
        let above_limit = packet + Bytes(1);
        let occupied = |size: Bytes| cell.occupied(size).0 as f64 / size.0 as f64;
        // Among packets that need more cells than the smallest packet, the shortest needs the most memory per byte.
        let occupancy = occupied(smallest).max(occupied(cell.occupied(smallest) + Bytes(1)));
        let arriving = terms.total() + above_limit;
        let needed = cell.occupied(Bytes((arriving.0 as f64 * occupancy).ceil() as u64));
        Self {
            own_bytes: terms.own.0,
            cable_bytes: terms.cable.0,
            response_bytes: terms.response.0,
            peer_bytes: terms.peer.0,
            above_limit_bytes: above_limit.0,
            occupancy,
            needed_bytes: needed.0,
            headroom_bytes: needed.0,
        }
    }
}

/// Returns the size, on a link, of the smallest packet that the scenario can send.
pub(crate) fn smallest_packet(spec: &Resolved) -> Bytes {
    let payload = |workload: &Workload| match workload {
        Workload::Udp(udp) => udp.payload.map(|payload| payload.0),
        Workload::Ping(ping) => Some(ping.payload.0),
        _ => None,
    };
    let datagrams = spec.workload.iter().filter_map(payload).map(|payload| DATAGRAM_HEADERS + payload);
    datagrams.fold(SMALLEST_TCP, Bytes::min) + spec.topology.common().framing
}

/// Returns the largest random delay of packets that arrive at the port of `link`.
pub(crate) fn jitter(spec: &Resolved, network: &Network, link: &Link, packet: Bytes) -> Duration {
    if link.to.0 >= network.hosts {
        return Duration::ZERO;
    }
    let group = network.groups.of(HostId(link.to.0)).checked_sub(1).map(|index| &spec.host.group[index]);
    group.and_then(|group| group.jitter).unwrap_or(spec.host.jitter).time(link.rate, packet)
}

/// Returns the headroom by SONiC's formula for packets that arrive on the link `peer`.
pub(crate) fn by_sonic(
    wanted: &spec::Lossless,
    peer: &Link,
    cell: Cell,
    checker: &mut Checker<'_>,
) -> Option<sonic_spectrum::Headroom> {
    let generation = match cell.size().0 {
        96 => Some(1),
        144 => Some(3),
        192 => Some(5),
        256 => Some(6),
        _ => None,
    };
    checker.require(generation.is_some(), "switch.lossless.headroom", || {
        format!(
            "\"sonic-spectrum\" needs switch.buffer.cell = \"96B\" (Spectrum), \"144B\" (Spectrum-2 and -3), \"192B\" (Spectrum-4 and \
             -5) or \"256B\" (Spectrum-6), got {}",
            cell.size()
        )
    });
    let inputs = wanted.sonic.clone().unwrap_or_default();
    let (least, most) = (Bytes(64), Bytes(65_536));
    checker.require(
        least <= inputs.lossless_mtu.0 && inputs.lossless_mtu.0 <= inputs.mtu.0 && inputs.mtu.0 <= most,
        "switch.lossless.sonic.lossless_mtu",
        || {
            format!(
                "must be from {least} to switch.lossless.sonic.mtu, got {} with an mtu of {}; the mtu must be at most {most}",
                inputs.lossless_mtu.0, inputs.mtu.0
            )
        },
    );
    checker.require(inputs.small_packets <= 100, "switch.lossless.sonic.small_packets", || {
        format!("must be a percentage from 0 to 100, got {}", inputs.small_packets)
    });
    let mut chip = sonic_spectrum::Chip::spectrum(generation?);
    if let Some(bytes) = inputs.mac_phy {
        chip.mac_phy = bytes.0.0 as f64;
    }
    let port = sonic_spectrum::Port {
        rate: peer.rate,
        metres: (peer.delay.as_secs_f64() * sonic_spectrum::SPEED_OF_LIGHT).round() as u32,
        // The lanes have no effect on the headroom.
        lanes: 4,
        mtu: inputs.mtu.0,
        gearbox_delay: 0.0,
        response: response(wanted, peer),
        lossless_mtu: inputs.lossless_mtu.0,
        small_packets: inputs.small_packets,
        shared_headroom: wanted.headroom_pool.is_some(),
    };
    Some(sonic_spectrum::Headroom::of(sonic_spectrum::Version::Compensated, &chip, &port))
}

/// Returns a note with the terms of SONiC's formula, for each kind of port whose headroom comes from this formula.
pub(crate) fn sonic_notes(network: &Network) -> Vec<String> {
    let mut notes = Vec::new();
    let ports = network.lossless.iter().flat_map(|lossless| &lossless.ports);
    for (link, port) in network.links.iter().zip(ports) {
        let Some(found) = port.sonic else { continue };
        let rate = network.links[link.reverse as usize].rate;
        let note = format!(
            "headroom of {} ports that receive at {rate}, by SONiC's formula (sonic-swss, July 2026): {found}",
            link.kind.name()
        );
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

/// Returns a note for each kind of switch with a headroom pool that is smaller than the total headroom of its lossless priority groups.
pub(crate) fn pool_notes(network: &Network) -> Vec<String> {
    let Some(lossless) = &network.lossless else { return Vec::new() };
    let mut notes: Vec<(String, &str, usize)> = Vec::new();
    for (node, book) in (network.hosts..).zip(&lossless.books) {
        let Some(pool) = book.pools[0].headroom else { continue };
        let links = network.links.iter().zip(&lossless.ports).filter(|(link, _)| link.from.0 == node);
        let name = links.clone().next().map_or("", |(link, _)| link.from_name());
        let groups = links.flat_map(|(_, port)| &port.groups);
        let mut headroom: Vec<Bytes> =
            groups.filter_map(|group| group.lossless).map(|own| book.cell.whole(own.headroom)).collect();
        // Count groups with the largest headroom first, so that any choice of that many groups fits the pool.
        headroom.sort_unstable_by(|a, b| b.cmp(a));
        let mut left = pool;
        let most = headroom.iter().take_while(|&&own| {
            own <= left && {
                left = left.saturating_sub(own);
                true
            }
        });
        let (fitting, all) = (most.count(), headroom.len());
        if fitting == all {
            continue;
        }
        let note = format!(
            "has {pool} for {all} lossless groups that need up to {} each: at most {fitting} of them may pause at once without loss",
            headroom[0]
        );
        match notes.iter_mut().find(|(known, ..)| *known == note) {
            Some((_, _, switches)) => *switches += 1,
            None => notes.push((note, name, 1)),
        }
    }
    let text = |(note, name, switches): (String, &str, usize)| match switches {
        1 => format!("the headroom pool of {name} {note}"),
        _ => format!("the headroom pool of {name} (and of {} more switches) {note}", switches - 1),
    };
    notes.into_iter().map(text).collect()
}

/// Returns the bytes that the sender at the port of the link `peer` may still send before it responds to a PFC frame.
fn response(wanted: &spec::Lossless, peer: &Link) -> Bytes {
    match wanted.response {
        Automatic::Is(time) => peer.rate.bytes_in_up(time.0),
        Automatic::Auto => largest_response(peer.rate).unwrap_or_default(),
    }
}

impl Experiment {
    /// Returns the headroom of each kind of switch port; empty without lossless classes.
    pub fn headrooms(&self) -> Vec<PortHeadroom> {
        let network = &self.network;
        let mut rows: Vec<PortHeadroom> = Vec::new();
        let ports = network.lossless.iter().flat_map(|lossless| &lossless.ports);
        for (link, port) in network.links.iter().zip(ports) {
            let Some(headroom) = port.headroom else { continue };
            let rate_bps = network.links[link.reverse as usize].rate.0;
            let key = (link.kind, rate_bps, headroom);
            match rows.iter_mut().find(|row| (row.port, row.rate_bps, row.headroom) == key) {
                Some(row) => row.ports += 1,
                None => rows.push(PortHeadroom {
                    port: link.kind,
                    example: link.name.clone(),
                    ports: 1,
                    rate_bps,
                    headroom,
                }),
            }
        }
        rows
    }

    /// Warns about headroom that is smaller than the bytes that can arrive after the decision to pause.
    pub(crate) fn small_headroom(&self) -> Vec<String> {
        let warn = |row: &PortHeadroom| {
            let (has, needs) = (Bytes(row.headroom.headroom_bytes), Bytes(row.headroom.needed_bytes));
            (has < needs).then(|| {
                format!(
                    "the headroom of lossless classes at {} ports ({}) is {has}, but {needs} can arrive after a pause: up to {} \
                     can be lost; use switch.lossless.headroom = \"auto\"",
                    row.port.name(),
                    row.example,
                    Bytes(needs.0 - has.0)
                )
            })
        };
        self.headrooms().iter().filter_map(warn).collect()
    }

    /// Warns about receive buffers whose room above `xoff` is smaller than the bytes that can arrive after the decision to pause.
    pub(crate) fn small_receive_buffers(&self) -> Vec<String> {
        let mut found: Vec<(Bytes, Bytes, &Link, usize)> = Vec::new();
        let ports = self.network.lossless.iter().flat_map(|lossless| &lossless.ports);
        for (link, port) in self.network.links.iter().zip(ports) {
            let Some(buffer) = port.receive else { continue };
            let (has, needs) = (buffer.size.saturating_sub(buffer.xoff), port.receive_needed);
            if has >= needs {
                continue;
            }
            match found.iter_mut().find(|known| (known.0, known.1) == (has, needs)) {
                Some(known) => known.3 += 1,
                None => found.push((has, needs, link, 1)),
            }
        }
        let warn = |(has, needs, link, hosts): (Bytes, Bytes, &Link, usize)| {
            let more = if hosts == 1 { String::new() } else { format!(" (and of {} more hosts)", hosts - 1) };
            format!(
                "the receive buffer of {}{more} has room for {has} above xoff, but {needs} can arrive after a pause: up to {} can be lost; \
                 use host.nic.receive.xoff = \"auto\"",
                link.from_name(),
                needs.saturating_sub(has)
            )
        };
        found.into_iter().map(warn).collect()
    }
}
