//! Marking curve of each kind of port: the thresholds of its markers in bytes, packets, time and bandwidth-delay products. Each threshold
//! is compared with the largest backlog that the buffer allows; a marker whose threshold is not below that backlog never marks.

use std::collections::BTreeMap;

use serde::Serialize;
use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::aqm::{self, Gauge, Placed, Point, Range, Scope, Unit};
use shallows_switch::buffer::Config;
use shallows_switch::port;

use crate::experiment::Experiment;
use crate::topology::{Link, PortKind};

/// Marking curve of one marker at all ports with the same configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkingCurve {
    /// Kind of the ports that have this curve.
    pub port: PortKind,
    /// Name of one of the ports that have this curve.
    pub example: String,
    /// Number of ports that have this curve.
    pub ports: usize,
    /// Rate of the links that leave the ports, in bit/s.
    pub rate_bps: u64,
    /// Index of the marker among the markers of its port.
    pub marker: usize,
    /// Kind of the marker: `threshold`, `red` and so on.
    pub kind: &'static str,
    /// Backlog that the marker compares with its thresholds: that of the queue, the port or the pool.
    pub scope: Scope,
    /// Point at which the marker acts: enqueue or dequeue.
    pub at: Point,
    /// Backlog up to which nothing is marked. For a marker with a single threshold, it equals `kmax`.
    pub kmin: CurveLevel,
    /// Backlog at or above which every packet is marked.
    pub kmax: CurveLevel,
    /// Marking probability at a backlog just below `kmax`.
    pub pmax: f64,
    /// Round-trip time in microseconds on the longest path while all queues are empty: propagation and host delays.
    pub base_rtt_us: f64,
    /// Largest backlog that the marker can measure, for several numbers of ports that are busy at once.
    pub limits: Vec<BusyLimit>,
    /// Whether the marker can mark at all.
    pub can_fire: bool,
    /// Reason why the marker cannot mark; `None` if it can.
    pub reason: Option<String>,
}

/// One backlog in several units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurveLevel {
    /// Backlog in bytes.
    pub bytes: u64,
    /// Backlog in full packets.
    pub packets: f64,
    /// Time that the port takes to send the backlog, in microseconds.
    pub us: f64,
    /// Backlog as a multiple of the bandwidth-delay product: the port's rate times the base round-trip time.
    pub bdp: f64,
}

/// Largest backlog that a marker can measure while a given number of the pool's ports are busy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BusyLimit {
    /// Number of the pool's ports that have a standing queue.
    pub busy_ports: usize,
    /// Largest backlog that the marker can measure, in bytes.
    pub limit_bytes: u64,
    /// Whether the marker's lower threshold is below `limit_bytes`, so that the marker can mark.
    pub can_fire: bool,
}

/// Numbers of busy ports for which limits are computed. Numbers above the number of ports in the pool are skipped.
const BUSY: [usize; 3] = [1, 4, 8];

/// Backlog from which a port marks packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marks {
    /// The port marks no packets.
    Never,
    /// The port marks above this backlog.
    Above(Bytes),
    /// The backlog is unknown: the markers of the port do not compare a backlog with a threshold.
    Unknown,
}

impl Experiment {
    /// Returns the lowest backlog from which the port of `link` marks.
    pub(crate) fn lowest_mark(&self, link: &Link) -> Marks {
        let config = self.network.port(link);
        let buffer = &self.network.buffers[link.from.0 as usize];
        let port = AlikePorts { link, buffer, config, ports: 1, pool_ports: 1 };
        let packet = self.network.mtu + self.network.framing;
        let markers =
            config.markers.iter().enumerate().filter(|(_, placed)| placed.marker.verdicts().marks());
        let lowest = markers.map(|(index, placed)| {
            port.curve(index, placed, packet, Duration::ZERO).map(|curve| Bytes(curve.kmin.bytes))
        });
        // A marker without a threshold is `None`, which is less than any threshold.
        match lowest.min() {
            None => Marks::Never,
            Some(None) => Marks::Unknown,
            Some(Some(backlog)) => Marks::Above(backlog),
        }
    }

    /// Returns the effective marking curve of every marker at every kind of port.
    pub fn marking_curves(&self) -> Vec<MarkingCurve> {
        let packet = self.network.mtu + self.network.framing;
        let base_rtt = self.network.base_rtt();
        let mut sharing = BTreeMap::new();
        for link in &self.network.links {
            *sharing.entry((link.from, link.pool)).or_insert(0) += 1;
        }
        let mut groups: Vec<AlikePorts<'_>> = Vec::new();
        for link in &self.network.links {
            let buffer = &self.network.buffers[link.from.0 as usize];
            let pool_ports = sharing[&(link.from, link.pool)];
            match groups.iter_mut().find(|group| group.covers(link, buffer, pool_ports)) {
                Some(group) => group.ports += 1,
                None => groups.push(AlikePorts {
                    link,
                    buffer,
                    config: self.network.port(link),
                    ports: 1,
                    pool_ports,
                }),
            }
        }
        let curves = groups.iter().flat_map(|group| {
            let markers = group.config.markers.iter().enumerate();
            markers.filter_map(move |(index, placed)| group.curve(index, placed, packet, base_rtt))
        });
        curves.collect()
    }
}

/// Ports of one kind with equal rates, configurations, reserved bytes and pools.
struct AlikePorts<'a> {
    link: &'a Link,
    buffer: &'a Config,
    config: &'a port::Config,
    ports: usize,
    /// Number of ports that share a pool with one of these ports, including that port.
    pool_ports: usize,
}

impl AlikePorts<'_> {
    fn covers(&self, link: &Link, buffer: &Config, pool_ports: usize) -> bool {
        let own = self.link;
        (own.kind, own.rate, own.reserved, own.port) == (link.kind, link.rate, link.reserved, link.port)
            && self.pool_ports == pool_ports
            && self.buffer.pools[own.pool] == buffer.pools[link.pool]
    }

    fn curve(
        &self,
        index: usize,
        placed: &Placed,
        packet: Bytes,
        base_rtt: Duration,
    ) -> Option<MarkingCurve> {
        let link = self.link;
        let Range { gauge, kmin, kmax, pmax } =
            placed.marker.thresholds(&self.config.discipline.shares(), link.rate)?;
        let in_bytes = |level: aqm::Level| match (gauge.unit, gauge.scope) {
            // Size of as many full packets as the threshold counts. Smaller packets reach the threshold with fewer bytes.
            (Unit::Packets, _) => packet * level.0,
            (Unit::Cells, _) | (Unit::Bytes, Scope::Pool) => self.on_the_wire(Bytes(level.0), packet),
            (Unit::Bytes, _) => Bytes(level.0),
        };
        let (kmin, kmax) = (in_bytes(kmin), in_bytes(kmax));
        let kind = placed.name;
        let limits = self.columns(gauge.scope).map(|busy_ports| {
            let limit = self.limit(&gauge, busy_ports, packet);
            BusyLimit { busy_ports, limit_bytes: limit.0, can_fire: kmin < limit }
        });
        // A queue is longest if only its port is busy; a pool is fullest if all of its ports are busy.
        let busiest = if gauge.scope == Scope::Pool { self.pool_ports } else { 1 };
        let most = self.limit(&gauge, busiest, packet);
        let can_fire = kmin < most;
        let reason = (!can_fire)
            .then(|| format!("the threshold of {kmin} is not below the maximum backlog of {most}"));
        Some(MarkingCurve {
            port: link.kind,
            example: link.name.clone(),
            ports: self.ports,
            rate_bps: link.rate.0,
            marker: index,
            kind,
            scope: gauge.scope,
            at: gauge.point,
            kmin: level(kmin, packet, link.rate, base_rtt),
            kmax: level(kmax, packet, link.rate, base_rtt),
            pmax,
            base_rtt_us: base_rtt.as_micros_f64(),
            limits: limits.collect(),
            can_fire,
            reason,
        })
    }

    /// Returns the numbers of busy ports for which limits are computed. A marker that measures the backlog of the pool also has a limit for
    /// all ports of the pool, which decides whether the marker can mark.
    fn columns(&self, scope: Scope) -> impl Iterator<Item = usize> {
        let ports = self.pool_ports;
        let all = (scope == Scope::Pool && !BUSY.contains(&ports)).then_some(ports);
        let few = BUSY.into_iter().filter(move |&busy| busy <= ports);
        few.chain(all)
    }

    /// Returns the largest steady-state value of `gauge` while `busy` ports of the pool store as much as the buffer allows.
    fn limit(&self, gauge: &Gauge, busy: usize, packet: Bytes) -> Bytes {
        let (pool, reserved) = (self.buffer.pools[self.link.pool], self.link.reserved);
        let discipline = &self.config.discipline;
        let no_limit = Bytes(u64::MAX);
        match gauge.scope {
            Scope::Queue => discipline.queue_limit(packet).unwrap_or(no_limit),
            Scope::Port => discipline.port_limit(packet).unwrap_or(no_limit),
            Scope::Pool => {
                let ports = discipline.port_limit(packet).unwrap_or(no_limit).0.saturating_mul(busy as u64);
                let memory = self.buffer.pool_limit(pool, reserved, busy, packet);
                return self.on_the_wire(memory, packet).min(Bytes(ports));
            }
        }
        .min(self.on_the_wire(self.buffer.limit(pool, reserved, busy, packet), packet))
    }

    /// Returns the size on the wire of the full packets that fill `memory`. This size is below `memory` if a packet leaves part of a cell
    /// empty.
    fn on_the_wire(&self, memory: Bytes, packet: Bytes) -> Bytes {
        let occupied = self.buffer.occupied(packet);
        let size = u128::from(memory.0) * u128::from(packet.0) / u128::from(occupied.0);
        Bytes(size as u64)
    }
}

impl PortKind {
    /// Returns the name of this kind of port in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nic => "nic",
            Self::ToHost => "to-host",
            Self::Up => "up",
            Self::Down => "down",
            Self::CoreUp => "core-up",
            Self::CoreDown => "core-down",
            Self::Bottleneck => "bottleneck",
            Self::Trunk => "trunk",
        }
    }
}

fn level(backlog: Bytes, packet: Bytes, rate: Rate, base_rtt: Duration) -> CurveLevel {
    let seconds = backlog.0 as f64 * 8.0 / rate.0 as f64;
    // Without any delay the bandwidth-delay product is zero.
    let bdp = if base_rtt == Duration::ZERO { 0.0 } else { seconds / base_rtt.as_secs_f64() };
    CurveLevel { bytes: backlog.0, packets: backlog.0 as f64 / packet.0 as f64, us: seconds * 1e6, bdp }
}
