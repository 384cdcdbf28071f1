//! Packet memory and pools of hosts and switches, built from the scenario.

use std::fmt;

use shallows_core::Bytes;
use shallows_core::packet::HostId;
use shallows_switch::buffer::{AbmConfig, Cell, Config, DynamicThreshold, Limit, Policy, ReservedRule};

use crate::check::Checker;
use crate::membership::Groups;
use crate::quantity::{Amount, Backpressure};
use crate::resolved::Resolved;
use crate::spec::{Buffer, Nic};
use crate::topology::Link;

/// Packet memory of hosts and switches.
pub(crate) struct Memory {
    /// Memory of a host's NIC, by the number of the host's group.
    nics: Vec<Config>,
    switch: Config,
    /// Number of pools of each switch.
    pools: Vec<usize>,
}

impl Memory {
    /// Builds the memory of all nodes, and assigns every link its pool and reserved bytes. The scenario must have passed [`check`].
    pub(crate) fn build(spec: &Resolved, links: &mut [Link], hosts: u32, switches: u32) -> Self {
        let packet = full_packet(spec);
        let ports = place(&spec.switch.buffer, links, hosts, switches);
        let per_pool = ports_per_pool(&spec.switch.buffer);
        Self {
            nics: (0..=spec.host.group.len())
                .map(|group| partition(spec.host.nic_of(group).0.limit(), packet, None))
                .collect(),
            switch: switch_config(&spec.switch.buffer, packet),
            pools: ports.iter().map(|count| count.div_ceil(per_pool.min(*count).max(1))).collect(),
        }
    }

    /// Returns the memory of every node: hosts first, then switches. `hosts` is the number of hosts.
    pub(crate) fn of_nodes(&self, groups: &Groups, hosts: u32) -> Vec<Config> {
        let size = self.switch.pools[0];
        let switch = |&pools: &usize| Config { pools: vec![size; pools], ..self.switch.clone() };
        let nic = |host| self.nics[groups.of(HostId(host))].clone();
        (0..hosts).map(nic).chain(self.pools.iter().map(switch)).collect()
    }
}

/// Checks `[switch.buffer]` and the limits of NICs. Returns whether they are valid.
pub(crate) fn check(spec: &Resolved, checker: &mut Checker<'_>) -> bool {
    let packet = full_packet(spec);
    let before = checker.problems.len();
    check_buffer(&spec.switch.buffer, packet, checker);
    for group in 0..=spec.host.group.len() {
        let (nic, key) = spec.host.nic_of(group);
        check_nic(nic, &key, packet, checker);
    }
    checker.problems.len() == before
}

fn check_nic(nic: &Nic, key: &str, packet: Bytes, checker: &mut Checker<'_>) {
    check_limit(&format!("{key}.limit"), nic.limit(), packet, checker);
    let held_back = nic.backpressure != Backpressure::Off;
    checker.require(held_back || nic.buffer_overhead.is_none(), &format!("{key}.buffer_overhead"), || {
        "has an effect only with backpressure; leave buffer_overhead out, or set backpressure to a size"
            .to_owned()
    });
    if let Backpressure::Upto(most) = nic.backpressure {
        // Linux requires at least two packets, so that one can wait while the other is sent.
        checker.require(most >= packet * 2, &format!("{key}.backpressure"), || {
            format!("must be at least two packets of {packet} or \"off\", got {most}")
        });
    }
}

/// Returns the size of a full packet on a link.
pub(crate) fn full_packet(spec: &Resolved) -> Bytes {
    let common = spec.topology.common();
    common.mtu + common.framing
}

/// Returns an amount in bytes. A number of packets counts as full packets of size `packet`.
pub(crate) fn in_bytes(amount: Amount, packet: Bytes) -> Bytes {
    match amount {
        Amount::Bytes(size) => size,
        Amount::Packets(count) => packet * u64::from(count),
    }
}

/// Converts an amount to a limit in the same unit, bytes or packets.
pub(crate) fn limit_of(amount: Amount) -> Limit {
    match amount {
        Amount::Bytes(size) => Limit::Bytes(size),
        Amount::Packets(count) => Limit::Packets(count),
    }
}

/// Assigns every switch port its pool and reserved bytes. Each pool gets the next ports in order. Returns the number of ports of each
/// switch.
fn place(buffer: &Buffer, links: &mut [Link], hosts: u32, switches: u32) -> Vec<usize> {
    let per_pool = ports_per_pool(buffer);
    let reserved = reserved(buffer);
    let mut ports = vec![0; switches as usize];
    for link in links {
        if let Some(switch) = link.from.0.checked_sub(hosts) {
            let count = &mut ports[switch as usize];
            link.pool = *count / per_pool;
            link.reserved = reserved;
            *count += 1;
        }
    }
    ports
}

fn ports_per_pool(buffer: &Buffer) -> usize {
    let stated = match buffer {
        Buffer::DynamicThreshold(b) => b.ports_per_pool,
        Buffer::CompleteSharing(b) => b.ports_per_pool,
        Buffer::Abm(b) => b.ports_per_pool,
        // Each port has a pool of its own, which its queues share.
        Buffer::StaticPartition(_) => Some(1),
    };
    stated.map_or(usize::MAX, |count| count as usize)
}

pub(crate) fn reserved(buffer: &Buffer) -> Bytes {
    match buffer {
        Buffer::DynamicThreshold(b) => b.reserved.0,
        Buffer::CompleteSharing(b) => b.reserved.0,
        Buffer::Abm(b) => b.reserved.0,
        Buffer::StaticPartition(_) => Bytes(0),
    }
}

/// Returns the cell of the switches' memory, or `None` if packets do not occupy whole cells.
fn cell(buffer: &Buffer) -> Option<Cell> {
    let size = match buffer {
        Buffer::DynamicThreshold(b) => b.cell,
        Buffer::CompleteSharing(b) => b.cell,
        Buffer::Abm(b) => b.cell,
        Buffer::StaticPartition(b) => b.cell,
    };
    size.map(|size| Cell::new(size.0.max(Bytes(1))))
}

/// Returns a note on how many cells packets and pools take; `None` if the memory has no cells.
pub(crate) fn cell_note(spec: &Resolved) -> Option<String> {
    let packet = full_packet(spec);
    let config = switch_config(&spec.switch.buffer, packet);
    let cell = config.cell?;
    let cells = |size: Bytes| size.0 / cell.size().0;
    let occupied = cell.occupied(packet);
    let per = if matches!(spec.switch.buffer, Buffer::StaticPartition(_)) { "port" } else { "pool" };
    Some(format!(
        "switch memory is counted in cells of {}: a full packet of {packet} takes {} cells ({occupied}), and a {per} has {} cells",
        cell.size(),
        cells(occupied),
        cells(config.pools[0])
    ))
}

/// Returns the configuration of a switch memory with one pool.
fn switch_config(buffer: &Buffer, packet: Bytes) -> Config {
    let cell = cell(buffer);
    match buffer {
        Buffer::DynamicThreshold(b) => Config {
            policy: Policy::DynamicThreshold(DynamicThreshold { alpha: b.alpha, counts: b.counts }),
            pools: vec![b.pool.0],
            reserved_rule: b.reserved_rule,
            cell,
        },
        Buffer::CompleteSharing(b) => Config {
            policy: Policy::CompleteSharing,
            pools: vec![b.pool.0],
            reserved_rule: b.reserved_rule,
            cell,
        },
        Buffer::Abm(b) => Config {
            policy: Policy::Abm(AbmConfig {
                alpha: b.alpha.values().to_vec(),
                congested: b.congested,
                window: b.window.0,
            }),
            pools: vec![b.pool.0],
            reserved_rule: b.reserved_rule,
            cell,
        },
        Buffer::StaticPartition(b) => partition(b.per_port, packet, cell),
    }
}

/// Returns the configuration of a memory that holds at most `limit`.
fn partition(limit: Amount, packet: Bytes, cell: Option<Cell>) -> Config {
    let occupied = cell.map_or(packet, |cell| cell.occupied(packet));
    let pool = Bytes(in_bytes(limit, occupied).0.min(1 << 62));
    Config {
        policy: Policy::StaticPartition { limit: limit_of(limit) },
        pools: vec![pool],
        reserved_rule: ReservedRule::Exact,
        cell,
    }
}

/// Checks the memory of switches. `size` is the size of a full packet.
fn check_buffer(buffer: &Buffer, size: Bytes, checker: &mut Checker<'_>) {
    let packet = Packet { size, cell: check_cell(buffer, checker) };
    let (pool, per_pool) = match buffer {
        Buffer::StaticPartition(b) => {
            let held = in_bytes(b.per_port, packet.occupied());
            checker.require(held >= packet.occupied(), "switch.buffer.per_port", || {
                format!("must be at least {packet}, got {}", b.per_port)
            });
            return;
        }
        Buffer::CompleteSharing(b) => (b.pool.0, b.ports_per_pool),
        Buffer::Abm(b) => {
            checker.require(!b.alpha.values().is_empty(), "switch.buffer.alpha", || {
                "must have at least one value, got an empty list".to_owned()
            });
            checker.require(b.congested > 0.0 && b.congested <= 1.0, "switch.buffer.congested", || {
                format!("must be above 0 and at most 1, got {}", b.congested)
            });
            checker.require(b.window.0 >= size, "switch.buffer.window", || {
                format!("must be at least one packet of {size}, got {}", b.window)
            });
            (b.pool.0, b.ports_per_pool)
        }
        Buffer::DynamicThreshold(b) => (b.pool.0, b.ports_per_pool),
    };
    checker.require(per_pool != Some(0), "switch.buffer.ports_per_pool", || {
        "must be at least 1, got 0".to_owned()
    });
    checker.require(pool >= packet.occupied(), "switch.buffer.pool", || {
        format!("must be at least {packet}, got {pool}")
    });
    let reserved = reserved(buffer);
    checker.require(reserved <= pool, "switch.buffer.reserved", || {
        format!("must be at most the size of the pool, {pool}, got {reserved} for each port")
    });
    for &alpha in alphas(buffer) {
        check_alpha(alpha, pool, reserved, packet, checker);
    }
}

/// Returns the values of `alpha`: a queue may grow to alpha times the free buffer. Empty if the policy has no alpha.
fn alphas(buffer: &Buffer) -> &[f64] {
    match buffer {
        Buffer::DynamicThreshold(b) => std::slice::from_ref(&b.alpha),
        Buffer::Abm(b) => b.alpha.values(),
        Buffer::CompleteSharing(_) | Buffer::StaticPartition(_) => &[],
    }
}

/// Rejects an `alpha` so small that a queue could not hold one packet even in an empty buffer.
fn check_alpha(alpha: f64, pool: Bytes, reserved: Bytes, packet: Packet, checker: &mut Checker<'_>) {
    let sound = checker.require(alpha > 0.0 && alpha <= 1024.0, "switch.buffer.alpha", || {
        format!("must be above 0 and at most 1024, got {alpha}")
    });
    let most = packet.free_beside(pool).0 as f64 * alpha;
    let holds = most >= packet.occupied().0 as f64 || reserved >= packet.occupied();
    checker.require(!sound || holds, "switch.buffer.alpha", || {
        format!(
            "alpha times the pool of {pool} must be at least {packet}, got alpha = {alpha}; use a \
                 larger alpha, or reserve at least one packet for each port (switch.buffer.reserved)"
        )
    });
}

/// Full packet, and the cell of the memory that stores it.
#[derive(Clone, Copy)]
struct Packet {
    size: Bytes,
    cell: Option<Cell>,
}

impl Packet {
    /// Returns the number of bytes that the packet occupies in the memory.
    fn occupied(self) -> Bytes {
        self.cell.map_or(self.size, |cell| cell.occupied(self.size))
    }

    /// Returns how many bytes of an empty pool of size `pool` count as free when this packet arrives. The threshold of a queue depends on
    /// these bytes. If the memory has cells, the packet already counts as stored, as in switch chips.
    fn free_beside(self, pool: Bytes) -> Bytes {
        self.cell.map_or(pool, |cell| cell.whole(pool).saturating_sub(self.occupied()))
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "one packet of {}", self.size)?;
        match self.cell {
            Some(cell) => write!(f, " ({} in cells of {})", self.occupied(), cell.size()),
            None => Ok(()),
        }
    }
}

/// Checks the cell size and the reserved bytes of a switch memory. Returns the cell, or `None` if there are no cells.
fn check_cell(buffer: &Buffer, checker: &mut Checker<'_>) -> Option<Cell> {
    let cell = cell(buffer)?;
    let (stated, reserved_rule) = match buffer {
        Buffer::DynamicThreshold(b) => (b.cell, b.reserved_rule),
        Buffer::CompleteSharing(b) => (b.cell, b.reserved_rule),
        Buffer::Abm(b) => (b.cell, b.reserved_rule),
        Buffer::StaticPartition(b) => (b.cell, ReservedRule::Exact),
    };
    let key = "switch.buffer.cell";
    checker.require(stated.is_none_or(|size| size.0 > Bytes(0)), key, || {
        "must be at least 1B, got 0B; leave the key out to count bytes".to_owned()
    });
    checker.require(reserved_rule == ReservedRule::Exact, "switch.buffer.reserved_rule", || {
        "\"as-released\" requires memory counted in bytes; leave out reserved_rule or cell".to_owned()
    });
    let reserved = reserved(buffer);
    let holds = reserved == Bytes(0) || reserved >= cell.size();
    checker.require(holds, "switch.buffer.reserved", || {
        format!("must be zero or at least one cell of {}, got {reserved}", cell.size())
    });
    Some(cell)
}

pub(crate) fn check_limit(key: &str, limit: Amount, packet: Bytes, checker: &mut Checker<'_>) {
    checker.require(in_bytes(limit, packet) >= packet, key, || {
        format!("must be at least one packet of {packet}, got {limit}")
    });
}
