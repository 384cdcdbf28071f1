//! Checks and builds lossless classes: the priority groups of every port and their headroom.

use std::collections::BTreeSet;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration};
use shallows_switch::aqm::{Aqm, Hears, Installed};
use shallows_switch::buffer::{Cell, Policy};
use shallows_switch::headroom::largest_response;
use shallows_switch::ingress::{self, GroupConfig, GroupLimit, PoolConfig};
use shallows_switch::pfc::{FRAME_SIZE, WatchdogAction, WatchdogConfig, pause_time};

use crate::check::Checker;
use crate::class_maps::Classes;
use crate::headroom::{by_sonic, jitter, smallest_packet};
use crate::lossless_preset;
use crate::memory::full_packet;
use crate::nic_pauses;
use crate::quantity::{Automatic, HeadroomSize, Size};
use crate::resolved::Resolved;
use crate::spec::{self, CyclicRoutes, LosslessPreset, PauseKind, RoutingLoop, StormAction, Transport};
use crate::topology::{Headroom, Link, Lossless, LosslessPort, Network, PortKind};

/// Largest TTL, in links. The header of a simulated packet counts up to 15 crossed links in four bits, and the switch after one more link
/// drops the packet.
const LONGEST_TTL: u8 = 16;

/// Builds the lossless classes of `network`. Problems are recorded in `checker`.
pub(crate) fn build(
    wanted: &spec::Lossless,
    spec: &Resolved,
    (network, classes): (&Network, Classes),
    checker: &mut Checker<'_>,
) -> Option<Lossless> {
    let before = checker.problems.len();
    check_keys(wanted, checker);
    lossless_preset::check(wanted, checker);
    nic_pauses::check_ends(spec, checker);
    check_ports(spec, network, checker);
    classes.check_queues(wanted, network, checker);
    let limit = limit(wanted, checker);
    let (smallest, packet) = (smallest_packet(spec), full_packet(spec));
    let buffer = &network.buffers[network.hosts as usize];
    let one_pool =
        buffer.pools.len() == 1 && !matches!(buffer.policy, Policy::StaticPartition { .. } | Policy::Abm(_));
    checker.require(one_pool && crate::memory::reserved(&spec.switch.buffer) == Bytes(0), "switch.buffer", || {
        "must be \"dynamic-threshold\" or \"complete-sharing\" with one pool and without `reserved`, because lossless classes \
         divide the memory of a switch by switch.lossless"
            .to_owned()
    });
    let cell = buffer.cell.unwrap_or_default();
    let mut ports = Vec::new();
    for link in &network.links {
        let jitter = jitter(spec, network, link, packet);
        let limit = if wanted.preset == Some(LosslessPreset::HpccRepo)
            && wanted.alpha.is_none()
            && wanted.limit.is_none()
        {
            GroupLimit::Dynamic { exponent: lossless_preset::exponent(network, link) }
        } else {
            limit
        };
        let mut port =
            port(wanted, link, (network, [smallest, packet], cell, limit), (&classes, jitter), checker)?;
        port.queues = classes.queues(&network.port(link).discipline);
        if link.kind == PortKind::Nic {
            // Packets that the host sends delay the PFC frames that it sends.
            let jitter = self::jitter(spec, network, &network.links[link.reverse as usize], packet);
            let headroom = Headroom::of(wanted, link, jitter, (network, [smallest, packet], Cell::default()));
            let own = spec.host.nic_of(network.groups.of(HostId(link.from.0)));
            let needed = (Bytes(headroom.needed_bytes), packet);
            nic_pauses::build(&mut port, own, needed, &classes.lossless, checker)?;
        }
        ports.push(port);
    }
    if wanted.preset.is_none() {
        check_quanta(wanted, spec, (network, &ports), checker);
    }
    let cyclic = check_cycles(wanted.cyclic_routes, network, checker);
    let books: Vec<ingress::Config> = (0..network.switches)
        .filter_map(|switch| book(wanted, (network, switch), (cell, packet), &ports, checker))
        .collect();
    let watchdog = wanted.watchdog.as_ref().map(|wanted| watchdog(wanted, checker));
    (checker.problems.len() == before).then_some(())?;
    // Give the lossy group a limit that it cannot reach, so that only egress queues limit lossy packets.
    for port in &mut ports {
        if let Some(lossy) = port.groups.last_mut() {
            lossy.limit = GroupLimit::Static(Bytes(1 << 60));
        }
    }
    Some(Lossless {
        classes: classes.lossless,
        groups: classes.groups,
        maps: classes.maps,
        books,
        ports,
        quanta: wanted.quanta,
        are_flags: wanted.preset.is_some(),
        pooled: wanted.headroom_pool.is_some(),
        watchdog,
        cyclic,
        ttl: (!wanted.routing_loops.is_empty()).then(|| wanted.ttl.unwrap_or(LONGEST_TTL)),
    })
}

/// Rejects pauses of a whole link (IEEE 802.3x), and inputs of SONiC's formula if another rule determines the headroom.
fn check_keys(wanted: &spec::Lossless, checker: &mut Checker<'_>) {
    checker.require(wanted.pause == PauseKind::Pfc, "switch.lossless.pause", || {
        "must be \"pfc\", got \"802.3x\": pauses of a whole link (IEEE 802.3x) are not modelled; with switch.port = \"fifo\", \
         a PFC pause of one class stops all packets of a port"
            .to_owned()
    });
    checker.require(
        wanted.sonic.is_none() || wanted.headroom == HeadroomSize::SonicSpectrum,
        "switch.lossless.sonic",
        || {
            format!(
                "must be left out, or headroom must be \"sonic-spectrum\", because only SONiC's formula has these inputs; headroom is \
                 \"{}\"",
                wanted.headroom
            )
        },
    );
}

/// Returns the configuration of the watchdogs of switches.
fn watchdog(wanted: &spec::Watchdog, checker: &mut Checker<'_>) -> WatchdogConfig {
    let action = match wanted.action {
        StormAction::Drop => WatchdogAction::Drop,
        StormAction::Forward => WatchdogAction::Forward,
    };
    let times = [wanted.detection, wanted.restoration, wanted.poll];
    nic_pauses::watchdog(times, action, "switch.lossless.watchdog", checker)
}

/// Adds the routing loops to the routes of `network`. Problems are recorded in `checker`.
pub(crate) fn add_loops(wanted: &spec::Lossless, network: &mut Network, checker: &mut Checker<'_>) {
    if let Some(ttl) = wanted.ttl {
        checker.require((2..=LONGEST_TTL).contains(&ttl), "switch.lossless.ttl", || {
            format!("must be a number of links from 2 to {LONGEST_TTL}, got {ttl}")
        });
        checker.require(!wanted.routing_loops.is_empty(), "switch.lossless.ttl", || {
            "needs a routing loop: add switch.lossless.routing_loops, or remove ttl".to_owned()
        });
    }
    for (index, RoutingLoop { to, through }) in wanted.routing_loops.iter().enumerate() {
        let key = format!("switch.lossless.routing_loops[{index}]");
        let added = network.add_loop(to, through);
        checker.accept(&key, added);
    }
}

/// Returns the limit on the shared memory that a priority group uses.
fn limit(wanted: &spec::Lossless, checker: &mut Checker<'_>) -> GroupLimit {
    if let (Some(alpha), Some(limit)) = (wanted.alpha, wanted.limit) {
        checker.refuse(
            "switch.lossless.alpha",
            format!(
                "must be left out, got {alpha}: limit = {limit} sets a fixed limit, which does not use alpha"
            ),
        );
    }
    if let Some(limit) = wanted.limit {
        return GroupLimit::Static(limit.0);
    }
    let alpha = wanted.alpha.unwrap_or(1.0);
    let exponent = (-7..=3).find(|&exponent| power_of_two(exponent) == alpha);
    checker.require(exponent.is_some(), "switch.lossless.alpha", || {
        format!("must be a power of two from 1/128 to 8, got {alpha}")
    });
    GroupLimit::Dynamic { exponent: exponent.unwrap_or(0) }
}

/// Returns 2 to the power of `exponent`, which must be from -31 to 31.
pub(crate) fn power_of_two(exponent: i8) -> f64 {
    let power = f64::from(1_u32 << exponent.unsigned_abs());
    if exponent < 0 { 1.0 / power } else { power }
}

/// Rejects pause times so short that a pause can end before the next PFC frame, sent after half of the time, takes effect.
fn check_quanta(
    wanted: &spec::Lossless,
    spec: &Resolved,
    (network, ports): (&Network, &[LosslessPort]),
    checker: &mut Checker<'_>,
) {
    let packet = full_packet(spec);
    for (link, port) in network.links.iter().zip(ports) {
        let half = pause_time(link.rate, wanted.quanta / 2);
        let mut least = port.response + link.rate.transmission_time(packet + FRAME_SIZE);
        if nic_pauses::may_pause(spec, network, link) {
            least += jitter(spec, network, link, packet);
        }
        checker.require(half >= least, "switch.lossless.quanta", || {
            format!(
                "half of the pause time must be at least {least}, got {half}; use more quanta. A pause is repeated after half of its \
                 time. {least} is the sum of the response time, one packet, and the jitter of a host that pauses its switch"
            )
        });
    }
}

/// Builds the settings of the port that `link` leaves. The port's priority groups count the packets that arrive on the opposite link.
fn port(
    wanted: &spec::Lossless,
    link: &Link,
    (network, [smallest, packet], cell, limit): (&Network, [Bytes; 2], Cell, GroupLimit),
    (classes, jitter): (&Classes, Duration),
    checker: &mut Checker<'_>,
) -> Option<LosslessPort> {
    let response = match wanted.response {
        Automatic::Is(time) => Some(time.0),
        Automatic::Auto => largest_response(link.rate).map(|bytes| link.rate.transmission_time(bytes)),
    };
    let Some(response) = response else {
        checker.refuse(
            "switch.lossless.response",
            format!("must be a time, because IEEE 802.3 has no response time for the rate {}", link.rate),
        );
        return None;
    };
    if link.kind == PortKind::Nic {
        return Some(LosslessPort { response, ..LosslessPort::default() });
    }
    let mut terms = Headroom::of(wanted, link, jitter, (network, [smallest, packet], cell));
    let mut sonic = None;
    match wanted.headroom {
        HeadroomSize::Auto => {}
        HeadroomSize::Is(size) => terms.headroom_bytes = size.0,
        HeadroomSize::HpccRepo => {
            terms.headroom_bytes = lossless_preset::headroom(&network.links[link.reverse as usize]).0;
        }
        HeadroomSize::SonicSpectrum => {
            let found = by_sonic(wanted, &network.links[link.reverse as usize], cell, checker)?;
            terms.headroom_bytes = found.xoff.0;
            sonic = Some(found);
        }
    }
    let headroom = Bytes(terms.headroom_bytes);
    checker.require(headroom >= cell.size(), "switch.lossless.headroom", || {
        format!("must be \"auto\" or at least {}, because a lossless class without headroom loses packets, got {headroom}", cell.size())
    });
    let xon_offset = wanted.xon_offset.or(Size(packet * 2)).0;
    let group = |_: &Vec<u8>| GroupConfig {
        pool: 0,
        reserved: wanted.reserved.0,
        limit,
        lossless: Some(ingress::Lossless { headroom, xon: wanted.xon.0, xon_offset }),
    };
    let lossy = GroupConfig { pool: 0, reserved: Bytes(0), limit, lossless: None };
    let groups = classes.groups.iter().map(group).chain([lossy]).collect();
    Some(LosslessPort { groups, response, headroom: Some(terms), sonic, ..LosslessPort::default() })
}

/// Returns the ingress accounting of a switch: reserved memory and headroom are taken from its memory, and the rest is the shared pool.
/// Returns `None` if the memory is too small.
fn book(
    wanted: &spec::Lossless,
    (network, switch): (&Network, u32),
    (cell, packet): (Cell, Bytes),
    ports: &[LosslessPort],
    checker: &mut Checker<'_>,
) -> Option<ingress::Config> {
    let node = network.hosts + switch;
    let memory = network.buffers[node as usize].pools[0];
    let own = || network.links.iter().zip(ports).filter(|(link, _)| link.from.0 == node);
    let name = own().next().map_or("", |(link, _)| link.from_name());
    let groups = own().map(|(_, port)| &port.groups[..]);
    let (reserved, headroom) = lossless_preset::taken(wanted.preset, cell, groups);
    let pool = wanted.headroom_pool.map(|size| cell.whole(size.0));
    let headroom = pool.unwrap_or(headroom);
    let taken = reserved + headroom;
    let least = cell.occupied(packet);
    let fits = checker.require(taken + least <= memory, "switch.buffer.pool", || {
        format!(
            "must hold the reserved memory and headroom of all lossless groups of {name}, {reserved} + {headroom}, and one \
             packet of {least}: at least {}, got {memory}",
            taken + least
        )
    });
    fits.then(|| ingress::Config {
        cell,
        compares: wanted.compares,
        pools: vec![PoolConfig { size: cell.whole(memory.saturating_sub(taken)), headroom: pool }],
    })
}

/// Rejects ports that delay PFC frames, limit their own backlog or cannot be paused, and ports whose markers drop packets at dequeue.
fn check_ports(spec: &Resolved, network: &Network, checker: &mut Checker<'_>) {
    // Markers drop packets that they cannot mark; all packets of queue pairs are ECN-capable.
    let can_mark = spec.workload.iter().all(|workload| workload.transport() == Transport::Roce);
    for link in &network.links {
        let (port, kind) = (network.port(link), link.kind.name());
        checker.require(port.discipline.can_pause(), "switch.port", || {
            format!(
                "ports of kind {kind} must have queues that can be paused, because the network has lossless classes; use the discipline \
                 \"fifo\", \"strict-priority\", \"wrr\", \"dwrr\" or \"wfq\""
            )
        });
        if link.kind == PortKind::Nic {
            continue;
        }
        checker.require(port.shaper.is_none(), "switch.shaper", || {
            "must be left out, because a shaper delays the PFC frames of lossless classes".to_owned()
        });
        checker.require(port.discipline.port_limit(Bytes(1)).is_none(), "switch.port", || {
            "must have no limit of its own, because it would drop packets of lossless classes".to_owned()
        });
        let shares = port.discipline.shares();
        for placed in &port.markers {
            let installed = Installed::new(placed, &shares, Stream::new(0, "marker", 0));
            let verdicts = placed.marker.verdicts();
            let at_dequeue = installed.marker().hears().includes(Hears::DEQUEUES);
            let drops = verdicts.drops() || (verdicts.marks() && !can_mark);
            checker.require(!at_dequeue || !drops, "switch.markers", || {
                format!(
                    "the markers of {kind} ports must act when packets join the queue, not when they leave it, because the \
                     network has lossless classes. Exception: if all workloads have transport = \"roce\", markers that never drop \
                     may act at dequeue"
                )
            });
        }
    }
}

/// Returns whether pauses can cause a deadlock, in which each link of a cycle stays paused because its packets wait for the next link.
/// Rejects a network with such a cycle unless `allowed` is `Allow`.
fn check_cycles(allowed: CyclicRoutes, network: &Network, checker: &mut Checker<'_>) -> bool {
    let count = network.links.len();
    let mut next: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); count];
    let mut is_seen = vec![u32::MAX; count];
    let mut reached = BTreeSet::new();
    // Packets to all hosts of one switch take the same links between switches.
    for host in (0..network.hosts).filter(|&host| reached.insert(network.links[host as usize].to)) {
        let mut open: Vec<u32> = (0..network.hosts).filter(|&from| from != host).collect();
        open.iter().for_each(|&link| is_seen[link as usize] = host);
        while let Some(link) = open.pop() {
            let Some(switch) = network.links[link as usize].to.0.checked_sub(network.hosts) else { continue };
            for &onward in network.routing.next_hops(switch, HostId(host)) {
                if network.links[onward as usize].to.0 >= network.hosts {
                    next[link as usize].insert(onward);
                }
                if std::mem::replace(&mut is_seen[onward as usize], host) != host {
                    open.push(onward);
                }
            }
        }
    }
    let cycle = cycle(&next);
    let is_cyclic = cycle.is_some();
    if let Some(cycle) = cycle.filter(|_| allowed == CyclicRoutes::Refuse) {
        let names: Vec<&str> = cycle.iter().map(|&link| network.links[link as usize].name.as_str()).collect();
        checker.refuse(
            "switch.lossless",
            format!(
                "pauses can wait for each other in a cycle (deadlock): {}, which waits for the first; use a topology without \
                 cycles of routes, such as \"leaf-spine\" or \"fat-tree\", or set switch.lossless.cyclic_routes = \"allow\"",
                names.join(" waits for ")
            ),
        );
    }
    is_cyclic
}

/// Returns a cycle of the graph, if there is one.
fn cycle(next: &[BTreeSet<u32>]) -> Option<Vec<u32>> {
    let mut waiting: Vec<usize> = vec![0; next.len()];
    next.iter().flatten().for_each(|&link| waiting[link as usize] += 1);
    let mut free: Vec<usize> = (0..next.len()).filter(|&link| waiting[link] == 0).collect();
    let mut is_free = vec![false; next.len()];
    while let Some(link) = free.pop() {
        is_free[link] = true;
        for &onward in &next[link] {
            waiting[onward as usize] -= 1;
            if waiting[onward as usize] == 0 {
                free.push(onward as usize);
            }
        }
    }
    // Every remaining link has another remaining link that waits for it, so a walk backwards ends in a cycle.
    let left: Vec<usize> = (0..next.len()).filter(|&link| !is_free[link]).collect();
    let before =
        |link: u32| left.iter().copied().find(|&from| next[from].contains(&link)).map(|from| from as u32);
    let mut walk = vec![*left.first()? as u32];
    loop {
        let from = before(*walk.last()?)?;
        if let Some(start) = walk.iter().position(|&known| known == from) {
            let mut found = walk.split_off(start);
            found.reverse();
            return Some(found);
        }
        walk.push(from);
    }
}
