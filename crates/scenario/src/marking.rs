//! The effective marking curve of each kind of port: in bytes, packets, time and bandwidth-delay products, and against
//! what the buffer lets a queue hold. A marker whose threshold lies beyond that never fires.

use std::collections::BTreeMap;

use serde::Serialize;
use shallows_core::{Bytes, Duration, Rate};
use shallows_switch::aqm::{self, Gauge, Point, Scope};
use shallows_switch::buffer::{Config, DtCounts, Limit, Policy, PrivateRule};
use shallows_transport::congestion::EcnMode;

use crate::experiment::Experiment;
use crate::spec::{self, Buffer};
use crate::topology::{Link, Network, PortKind};

/// What one marker does at ports of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkingCurve {
    /// Where the ports stand.
    pub port: PortKind,
    /// One of them.
    pub example: String,
    /// How many there are.
    pub ports: usize,
    /// Rate of their links, in bit/s.
    pub rate_bps: u64,
    /// Which of the port's markers, from zero.
    pub marker: usize,
    /// `threshold` or `red`.
    pub kind: &'static str,
    /// `queue`, `port` or `pool`.
    pub scope: &'static str,
    /// `enqueue` or `dequeue`.
    pub at: &'static str,
    /// Up to here nothing is marked; the threshold itself where there is one.
    pub kmin: Level,
    /// From here on everything is.
    pub kmax: Level,
    /// Probability just below `kmax`.
    pub pmax: f64,
    /// Round-trip time of the longest path without any queue: propagation and host delays, in microseconds.
    pub base_rtt_us: f64,
    /// How far what the marker measures can grow, for numbers of busy ports that its pool has.
    pub limits: Vec<BusyLimit>,
    /// Whether it can mark at all.
    pub can_fire: bool,
    /// Why not, if so.
    pub reason: Option<String>,
}

/// A backlog in several units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Level {
    /// In bytes.
    pub bytes: u64,
    /// In full packets.
    pub packets: f64,
    /// The time that the port takes to send it, in microseconds.
    pub us: f64,
    /// In bandwidth-delay products of the port's rate and the base round-trip time.
    pub bdp: f64,
}

/// How far what a marker measures can grow while some ports of the pool are busy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BusyLimit {
    /// How many ports of the pool have a standing queue.
    pub busy_ports: usize,
    /// The most that is measured, in bytes.
    pub limit_bytes: u64,
    /// Whether the marker's lower threshold lies below that.
    pub can_fire: bool,
}

/// How many ports are busy in the columns of the table, as far as the pool has them.
const BUSY: [usize; 3] = [1, 4, 8];

impl Experiment {
    /// The effective marking curve of every marker at every kind of port.
    pub fn marking_curves(&self) -> Vec<MarkingCurve> {
        let packet = self.network.mtu + self.network.framing;
        let base_rtt = self.network.base_rtt();
        let mut sharing = BTreeMap::new();
        for link in &self.network.links {
            *sharing.entry((link.from, link.pool)).or_insert(0) += 1;
        }
        let mut groups: Vec<Group<'_>> = Vec::new();
        for link in &self.network.links {
            let node = &self.network.nodes[link.from.0 as usize];
            let pool_ports = sharing[&(link.from, link.pool)];
            match groups.iter_mut().find(|group| group.covers(link, &node.buffer, pool_ports)) {
                Some(group) => group.ports += 1,
                None => groups.push(Group {
                    link,
                    buffer: &node.buffer,
                    markers: &node.markers,
                    ports: 1,
                    pool_ports,
                }),
            }
        }
        let curves = groups.iter().flat_map(|group| {
            group
                .markers
                .iter()
                .enumerate()
                .map(move |(index, marker)| group.curve(index, marker, packet, base_rtt))
        });
        curves.collect()
    }

    /// What is allowed and yet probably not meant.
    pub fn warnings(&self) -> Vec<String> {
        let curves = self.marking_curves();
        let silent = curves.iter().filter_map(|curve| {
            let reason = curve.reason.as_ref()?;
            Some(format!(
                "the {} marker of {} ports ({}) cannot fire: {reason}",
                curve.kind,
                curve.port.name(),
                curve.example
            ))
        });
        let mut warnings: Vec<String> = silent.collect();
        let zero = |curve: &&MarkingCurve| curve.kmin.bytes == 0 && curve.kind == "threshold";
        if let Some(curve) = curves.iter().find(zero) {
            warnings.push(format!(
                "{} ports ({}) mark every packet that meets any other: K = 0B",
                curve.port.name(),
                curve.example
            ));
        }
        let at_switches = curves.iter().any(|curve| curve.port != PortKind::Nic);
        let ecn = self.tcp.congestion.ecn_mode() != EcnMode::Off;
        if ecn && !at_switches && !self.generators.is_empty() {
            warnings
                .push("connections use ECN, but no switch marks: only drops will slow them down".to_owned());
        }
        if !ecn && !curves.is_empty() && !self.generators.is_empty() {
            warnings.push(
                "connections do not use ECN: markers drop their packets instead of marking them".to_owned(),
            );
        }
        if ecn && !curves.is_empty() && self.tcp.ack_ecn() == shallows_core::packet::Ecn::NotEct {
            warnings.push(
                "pure acknowledgements are not ECN-capable: markers drop them (tcp.ect = \"all\" prevents it)".to_owned(),
            );
        }
        warnings.extend(self.late_acknowledgements());
        warnings.extend(self.idle_private_rule());
        warnings
    }

    /// A rule for private bytes where there are none.
    fn idle_private_rule(&self) -> Option<String> {
        let (private, rule) = match &self.spec.switch.buffer {
            Buffer::DynamicThreshold(b) => (b.private, b.private_rule),
            Buffer::CompleteSharing(b) => (b.private, b.private_rule),
            Buffer::StaticPartition(_) => return None,
        };
        (rule == spec::PrivateRule::AsReleased && private.0 == Bytes(0)).then(|| {
            "switch.buffer.private_rule = \"as-released\" changes nothing: no port has private bytes \
             (switch.buffer.private)"
                .to_owned()
        })
    }

    /// A delayed acknowledgement that the sender's timer does not wait for.
    fn late_acknowledgements(&self) -> Option<String> {
        let (ack, rto) = (self.tcp.delayed_ack, self.tcp.rto.minimum);
        (ack.segments > 1 && ack.timeout >= rto && !self.generators.is_empty()).then(|| {
            format!(
                "an acknowledgement may be delayed for {}, and the retransmission timer fires after {rto}: a last odd \
                 segment times out without a loss (a shorter tcp.delayed_ack.timeout, or segments = 1, prevents it)",
                ack.timeout
            )
        })
    }
}

/// Ports that are alike.
struct Group<'a> {
    link: &'a Link,
    buffer: &'a Config,
    markers: &'a [aqm::Config],
    ports: usize,
    /// How many ports share the pool of each.
    pool_ports: usize,
}

impl Group<'_> {
    fn covers(&self, link: &Link, buffer: &Config, pool_ports: usize) -> bool {
        let own = self.link;
        (own.kind, own.rate, own.private) == (link.kind, link.rate, link.private)
            && self.pool_ports == pool_ports
            && self.buffer.pools[own.pool] == buffer.pools[link.pool]
    }

    fn curve(&self, index: usize, marker: &aqm::Config, packet: Bytes, base_rtt: Duration) -> MarkingCurve {
        let link = self.link;
        let (kind, gauge, kmin, kmax, pmax) = match *marker {
            aqm::Config::Threshold { gauge, threshold } => ("threshold", gauge, threshold, threshold, 1.0),
            aqm::Config::Red { gauge, kmin, kmax, pmax } => ("red", gauge, kmin, kmax, pmax),
        };
        let limits = self.columns(gauge.scope).map(|busy_ports| {
            let limit = self.limit(&gauge, busy_ports, packet);
            BusyLimit { busy_ports, limit_bytes: limit.0, can_fire: kmin < limit }
        });
        // A queue grows longest alone, a pool with all of its ports.
        let busiest = if gauge.scope == Scope::Pool { self.pool_ports } else { 1 };
        let most = self.limit(&gauge, busiest, packet);
        let can_fire = kmin < most;
        let reason =
            (!can_fire).then(|| format!("its threshold, {kmin}, is not below the {most} that can ever wait"));
        MarkingCurve {
            port: link.kind,
            example: link.name.clone(),
            ports: self.ports,
            rate_bps: link.rate.0,
            marker: index,
            kind,
            scope: scope_name(gauge.scope),
            at: point_name(gauge.point),
            kmin: level(kmin, packet, link.rate, base_rtt),
            kmax: level(kmax, packet, link.rate, base_rtt),
            pmax,
            base_rtt_us: base_rtt.as_micros_f64(),
            limits: limits.collect(),
            can_fire,
            reason,
        }
    }

    /// Numbers of busy ports worth showing; all of them where that decides whether the marker can fire.
    fn columns(&self, scope: Scope) -> impl Iterator<Item = usize> {
        let ports = self.pool_ports;
        let all = (scope == Scope::Pool && !BUSY.contains(&ports)).then_some(ports);
        let few = BUSY.into_iter().filter(move |&busy| busy <= ports);
        few.chain(all)
    }

    /// The most that `gauge` can read in the steady state with `busy` ports of the pool holding all they may.
    fn limit(&self, gauge: &Gauge, busy: usize, packet: Bytes) -> Bytes {
        let pool = self.buffer.pools[self.link.pool];
        let ports = busy as f64;
        let private = match self.buffer.private_rule {
            PrivateRule::Exact => self.link.private,
            // The counter leaks until only a packet that meets an empty queue is admitted.
            PrivateRule::AsReleased => self.link.private.min(packet),
        };
        let shared = match &self.buffer.policy {
            Policy::DynamicThreshold(threshold) => {
                // Choudhury and Hahne (ToN '98): M equal queues hold αB/(1 + αM) each. Where the threshold bounds the
                // private bytes p too, q = α(B − M(q − p)) instead, so that q − p = (αB − p)/(1 + αM).
                let bounded = match threshold.counts {
                    DtCounts::Shared => 0.0,
                    DtCounts::Total => private.0 as f64,
                };
                let share = (threshold.alpha * pool.0 as f64 - bounded) / (1.0 + threshold.alpha * ports);
                Bytes(share.max(0.0) as u64)
            }
            Policy::StaticPartition { limit: Limit::Bytes(limit) } => *limit,
            Policy::StaticPartition { limit: Limit::Packets(count) } => packet * u64::from(*count),
            Policy::CompleteSharing => Bytes(pool.0 / busy as u64),
        };
        match gauge.scope {
            Scope::Queue | Scope::Port => shared + private,
            Scope::Pool if matches!(self.buffer.policy, Policy::CompleteSharing) => pool,
            Scope::Pool => pool.min(Bytes(shared.0.saturating_mul(busy as u64))),
        }
    }
}

impl Network {
    /// Round-trip time of the longest path without any queue: propagation and host delays, there and back.
    pub fn base_rtt(&self) -> Duration {
        // A path has at most one link of each kind; both directions of a cable have one delay.
        let slowest = |kind| self.links.iter().filter(|link| link.kind == kind).map(|link| link.delay).max();
        let kinds = [PortKind::Nic, PortKind::ToHost, PortKind::Up, PortKind::Down, PortKind::Bottleneck];
        let one_way: u64 = kinds.into_iter().filter_map(slowest).map(|delay| delay.0).sum();
        Duration(2 * one_way)
    }
}

impl PortKind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nic => "nic",
            Self::ToHost => "to-host",
            Self::Up => "up",
            Self::Down => "down",
            Self::Bottleneck => "bottleneck",
        }
    }
}

fn level(backlog: Bytes, packet: Bytes, rate: Rate, base_rtt: Duration) -> Level {
    let seconds = backlog.0 as f64 * 8.0 / rate.0 as f64;
    // Without any delay there is no product to compare with.
    let bdp = if base_rtt == Duration::ZERO { 0.0 } else { seconds / base_rtt.as_secs_f64() };
    Level { bytes: backlog.0, packets: backlog.0 as f64 / packet.0 as f64, us: seconds * 1e6, bdp }
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Queue => "queue",
        Scope::Port => "port",
        Scope::Pool => "pool",
    }
}

fn point_name(point: Point) -> &'static str {
    match point {
        Point::Enqueue => "enqueue",
        Point::Dequeue => "dequeue",
    }
}
