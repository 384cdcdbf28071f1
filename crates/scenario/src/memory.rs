//! Packet memory, markers and pools of hosts and switches, from what the scenario says of them.

use shallows_core::Bytes;
use shallows_switch::EgressDrop;
use shallows_switch::aqm::{self, Gauge};
use shallows_switch::buffer::{self, Config, DtCounts, DynamicThreshold, Limit, Policy, PrivateRule};

use crate::check::Checker;
use crate::quantity::Amount;
use crate::spec::{self, Buffer, Marker, Spec};
use crate::topology::{Link, Node, Routes};

/// What hosts and switches are made of, apart from routes.
pub(crate) struct Parts {
    nic: Config,
    nic_markers: Vec<aqm::Config>,
    switch: Config,
    /// How many pools each switch has.
    pools: Vec<usize>,
    switch_markers: Vec<aqm::Config>,
    egress_drop: EgressDrop,
}

impl Parts {
    /// Give every link its place in the memory it leaves from; the scenario has passed [`check`].
    pub(crate) fn build(spec: &Spec, links: &mut [Link], hosts: u32, switches: u32) -> Self {
        let packet = full_packet(spec);
        let ports = place(&spec.switch.buffer, links, hosts, switches);
        let per_pool = ports_per_pool(&spec.switch.buffer);
        let most_ports = ports.iter().copied().max().unwrap_or(1);
        let egress_drop = match spec.switch.egress_drop {
            spec::EgressDrop::Slot => EgressDrop::Slot,
            spec::EgressDrop::Free => EgressDrop::Free,
        };
        Self {
            nic: partition(spec.host.nic.limit, packet, 1),
            nic_markers: markers(&spec.host.nic.markers, packet),
            switch: switch_config(&spec.switch.buffer, packet, most_ports),
            pools: ports.iter().map(|count| count.div_ceil(per_pool.min(*count).max(1))).collect(),
            switch_markers: markers(&spec.switch.markers, packet),
            egress_drop,
        }
    }

    /// A host without routes.
    pub(crate) fn host_node(&self) -> Node {
        Node {
            buffer: self.nic.clone(),
            markers: self.nic_markers.clone(),
            egress_drop: self.egress_drop,
            routes: Routes::default(),
            ecmp_seed: 0,
        }
    }

    /// A switch, by its number among switches, without routes.
    pub(crate) fn switch_node(&self, switch: usize) -> Node {
        let size = self.switch.pools[0];
        Node {
            buffer: Config { pools: vec![size; self.pools[switch]], ..self.switch.clone() },
            markers: self.switch_markers.clone(),
            egress_drop: self.egress_drop,
            routes: Routes::default(),
            ecmp_seed: 0,
        }
    }
}

/// Check `[switch]` and `[host.nic]`; says whether they are sound.
pub(crate) fn check(spec: &Spec, checker: &mut Checker<'_>) -> bool {
    let packet = full_packet(spec);
    let before = checker.problems.len();
    check_buffer(&spec.switch.buffer, packet, checker);
    check_limit("host.nic.limit", spec.host.nic.limit, packet, checker);
    check_markers("switch.markers", &spec.switch.markers, packet, checker);
    check_markers("host.nic.markers", &spec.host.nic.markers, packet, checker);
    checker.problems.len() == before
}

/// Size of a full packet on a link.
pub(crate) fn full_packet(spec: &Spec) -> Bytes {
    let common = spec.topology.common();
    common.mtu + common.framing
}

/// An amount in bytes; packets are full ones.
pub(crate) fn in_bytes(amount: Amount, packet: Bytes) -> Bytes {
    match amount {
        Amount::Bytes(size) => size,
        Amount::Packets(count) => packet * u64::from(count),
    }
}

/// Give every port of a switch its pool and private bytes, in the order of ports; returns how many ports each has.
fn place(buffer: &Buffer, links: &mut [Link], hosts: u32, switches: u32) -> Vec<usize> {
    let per_pool = ports_per_pool(buffer);
    let private = private(buffer);
    let mut ports = vec![0; switches as usize];
    for link in links {
        if let Some(switch) = link.from.0.checked_sub(hosts) {
            let count = &mut ports[switch as usize];
            link.pool = *count / per_pool;
            link.private = private;
            *count += 1;
        }
    }
    ports
}

fn ports_per_pool(buffer: &Buffer) -> usize {
    let stated = match buffer {
        Buffer::DynamicThreshold(b) => b.ports_per_pool,
        Buffer::CompleteSharing(b) => b.ports_per_pool,
        Buffer::StaticPartition(_) => None,
    };
    stated.map_or(usize::MAX, |count| count as usize)
}

fn private(buffer: &Buffer) -> Bytes {
    match buffer {
        Buffer::DynamicThreshold(b) => b.private.0,
        Buffer::CompleteSharing(b) => b.private.0,
        Buffer::StaticPartition(_) => Bytes(0),
    }
}

/// The memory of a switch with one pool; `most_ports` is the number of ports of the largest.
fn switch_config(buffer: &Buffer, packet: Bytes, most_ports: usize) -> Config {
    let rule = |rule| match rule {
        spec::PrivateRule::Exact => PrivateRule::Exact,
        spec::PrivateRule::AsReleased => PrivateRule::AsReleased,
    };
    match buffer {
        Buffer::DynamicThreshold(b) => {
            let counts = match b.counts {
                spec::DtCounts::Shared => DtCounts::Shared,
                spec::DtCounts::Total => DtCounts::Total,
            };
            Config {
                policy: Policy::DynamicThreshold(DynamicThreshold { alpha: b.alpha, counts }),
                pools: vec![b.pool.0],
                private_rule: rule(b.private_rule),
            }
        }
        Buffer::CompleteSharing(b) => Config {
            policy: Policy::CompleteSharing,
            pools: vec![b.pool.0],
            private_rule: rule(b.private_rule),
        },
        Buffer::StaticPartition(b) => partition(b.per_port, packet, most_ports as u64),
    }
}

/// A limit for each of `ports`, in one pool that never binds.
fn partition(limit: Amount, packet: Bytes, ports: u64) -> Config {
    let pool = Bytes(in_bytes(limit, packet).0.saturating_mul(ports).min(1 << 62));
    let limit = match limit {
        Amount::Bytes(size) => Limit::Bytes(size),
        Amount::Packets(count) => Limit::Packets(count),
    };
    Config {
        policy: Policy::StaticPartition { limit },
        pools: vec![pool],
        private_rule: buffer::PrivateRule::Exact,
    }
}

fn check_buffer(buffer: &Buffer, packet: Bytes, checker: &mut Checker<'_>) {
    let (pool, per_pool) = match buffer {
        Buffer::StaticPartition(b) => {
            return check_limit("switch.buffer.per_port", b.per_port, packet, checker);
        }
        Buffer::CompleteSharing(b) => (b.pool.0, b.ports_per_pool),
        Buffer::DynamicThreshold(b) => {
            checker.require(b.alpha > 0.0 && b.alpha <= 1024.0, "switch.buffer.alpha", || {
                format!("{} is not above 0 and at most 1024", b.alpha)
            });
            (b.pool.0, b.ports_per_pool)
        }
    };
    checker.require(per_pool != Some(0), "switch.buffer.ports_per_pool", || "0 ports; at least 1".to_owned());
    checker.require(pool >= packet, "switch.buffer.pool", || {
        format!("{pool} does not hold one packet of {packet}")
    });
    let private = private(buffer);
    checker.require(private <= pool, "switch.buffer.private", || {
        format!("{private} for each port is more than the whole pool, {pool}")
    });
    if let Buffer::DynamicThreshold(b) = buffer {
        // A threshold that an empty buffer does not reach lets nothing pass, ever.
        let most = pool.0 as f64 * b.alpha;
        checker.require(most >= packet.0 as f64 || private >= packet, "switch.buffer.alpha", || {
            format!(
                "{} of a pool of {pool} does not hold one packet of {packet}, nor do private bytes",
                b.alpha
            )
        });
    }
}

fn check_limit(key: &str, limit: Amount, packet: Bytes, checker: &mut Checker<'_>) {
    checker.require(in_bytes(limit, packet) >= packet, key, || {
        format!("{limit} does not hold one packet of {packet}")
    });
}

fn check_markers(key: &str, markers: &[Marker], packet: Bytes, checker: &mut Checker<'_>) {
    for (index, marker) in markers.iter().enumerate() {
        let Marker::Red(red) = marker else { continue };
        let ordered = in_bytes(red.kmin, packet) <= in_bytes(red.kmax, packet);
        checker.require(ordered, &format!("{key}[{index}].kmin"), || {
            format!("{} is above kmax = {}", red.kmin, red.kmax)
        });
        checker.require(red.pmax > 0.0 && red.pmax <= 1.0, &format!("{key}[{index}].pmax"), || {
            format!("{} is not a probability above 0 and at most 1", red.pmax)
        });
    }
}

/// The markers of a port; `drop-tail` is none.
fn markers(markers: &[Marker], packet: Bytes) -> Vec<aqm::Config> {
    let build = |marker: &Marker| match marker {
        Marker::DropTail(_) => None,
        Marker::Threshold(m) => Some(aqm::Config::Threshold {
            gauge: gauge(m.scope, m.at, m.counts_packet),
            threshold: in_bytes(m.k, packet),
        }),
        Marker::Red(m) => Some(aqm::Config::Red {
            gauge: gauge(m.scope, m.at, m.counts_packet),
            kmin: in_bytes(m.kmin, packet),
            kmax: in_bytes(m.kmax, packet),
            pmax: m.pmax,
        }),
    };
    markers.iter().filter_map(build).collect()
}

fn gauge(scope: spec::Scope, at: spec::Point, counts_packet: bool) -> Gauge {
    let scope = match scope {
        spec::Scope::Queue => aqm::Scope::Queue,
        spec::Scope::Port => aqm::Scope::Port,
        spec::Scope::Pool => aqm::Scope::Pool,
    };
    let point = match at {
        spec::Point::Enqueue => aqm::Point::Enqueue,
        spec::Point::Dequeue => aqm::Point::Dequeue,
    };
    Gauge { scope, point, counts_packet }
}
