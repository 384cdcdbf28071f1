//! Pause thresholds, computed before the run: the memory that a priority group occupies when it pauses its sender, and whether queues mark
//! packets before the pause.

use std::collections::BTreeSet;

use serde::Serialize;
use shallows_core::{Bytes, Rate};
use shallows_switch::ingress::{self, GroupConfig, GroupLimit};

use crate::experiment::Experiment;
use crate::lossless::power_of_two;
use crate::marking::Marks;
use crate::topology::{Link, Network, PortKind};

/// Thresholds of the priority groups of all switch ports with the same kind, rate and memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PauseThreshold {
    /// Kind of the ports that have these thresholds.
    pub port: PortKind,
    /// Name of one of the ports that have these thresholds.
    pub example: String,
    /// Number of ports that have these thresholds.
    pub ports: usize,
    /// Rate at which packets arrive, in bit/s.
    pub rate_bps: u64,
    /// Shared memory of the switch, in bytes.
    pub shared_bytes: u64,
    /// Thresholds for several numbers of congested groups.
    pub levels: Vec<PauseLevel>,
    /// Bound on marking thresholds. If the marking threshold of every queue is below this bound, queues mark packets before groups pause
    /// their senders, for any traffic between the ports. The bound is valid only if all traffic is in lossless classes, because it ignores
    /// shared memory that lossy packets occupy.
    pub mark_below_bytes: u64,
}

/// Threshold of a priority group while a given number of groups with equal settings is congested.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PauseLevel {
    /// Number of congested groups, each at a separate port.
    pub groups: usize,
    /// Memory that each group occupies when it pauses its sender.
    pub group_bytes: u64,
    /// Backlog of the output queue when the groups pause their senders. The packets of all groups wait in this queue.
    pub queue_bytes: u64,
    /// Time in microseconds until the first pause, if each port receives packets at its full rate and all these packets leave by one output
    /// port of the same rate. `None` for a single congested group, because its packets leave as fast as they arrive.
    pub after_us: Option<f64>,
    /// Kinds of the ports at which the pause comes before the first mark.
    pub pause_first: Vec<PortKind>,
    /// Kinds of the ports at which the first mark comes before the pause.
    pub mark_first: Vec<PortKind>,
}

/// Numbers of congested groups for which thresholds are computed. Each group is at a separate input port, and every port but the output
/// port is an input port. Numbers below the number of input ports are used, and one more case has a congested group at every input port.
const CONGESTED: [usize; 4] = [1, 4, 8, 32];

/// Switch with lossless classes.
struct Switch<'a> {
    network: &'a Network,
    book: &'a ingress::Config,
    ports: usize,
    /// Number of lossless classes (`classes`), and the largest number of them that share a priority group (`share`).
    classes: usize,
    share: usize,
    /// Size of a full packet.
    packet: Bytes,
    /// Kinds of the switch's ports, with the backlog from which they mark.
    marks: Vec<(PortKind, Marks)>,
}

impl Experiment {
    /// Returns the thresholds of the priority groups at each kind of switch port; empty without lossless classes.
    pub fn pause_thresholds(&self) -> Vec<PauseThreshold> {
        let network = &self.network;
        let Some(lossless) = &network.lossless else { return Vec::new() };
        let mut rows: Vec<PauseThreshold> = Vec::new();
        for (node, book) in (network.hosts..).zip(&lossless.books) {
            let links = || network.links.iter().zip(&lossless.ports).filter(|(link, _)| link.from.0 == node);
            let mut marks = Vec::new();
            for (link, _) in links() {
                let mark = (link.kind, self.lowest_mark(link));
                if !marks.contains(&mark) {
                    marks.push(mark);
                }
            }
            let (ports, classes) = (links().count(), lossless.classes.len());
            let share = lossless.groups.iter().map(Vec::len).max().unwrap_or(1);
            let packet = network.mtu + network.framing;
            let switch = Switch { network, book, ports, classes, share, packet, marks };
            for (link, port) in links() {
                let row = switch.thresholds(link, &port.groups[0]);
                match rows.iter_mut().find(|known| known.is_like(&row)) {
                    Some(known) => known.ports += 1,
                    None => rows.push(row),
                }
            }
        }
        rows
    }
}

impl PauseThreshold {
    /// Returns whether `other` differs from `self` only in the example and the number of ports.
    fn is_like(&self, other: &Self) -> bool {
        let key = |row: &Self| (row.port, row.rate_bps, row.shared_bytes, row.mark_below_bytes);
        key(self) == key(other) && self.levels == other.levels
    }
}

impl Switch<'_> {
    fn thresholds(&self, link: &Link, group: &GroupConfig) -> PauseThreshold {
        let rate = self.network.links[link.reverse as usize].rate;
        let others = (self.ports - 1).max(1);
        let congested = CONGESTED.into_iter().filter(|&groups| groups < others).chain([others]);
        PauseThreshold {
            port: link.kind,
            example: link.name.clone(),
            ports: 1,
            rate_bps: rate.0,
            shared_bytes: self.shared().0,
            levels: congested.map(|groups| self.level(group, rate, groups)).collect(),
            mark_below_bytes: self.on_the_wire(self.marks_first_below(group)).0,
        }
    }

    fn level(&self, group: &GroupConfig, rate: Rate, groups: usize) -> PauseLevel {
        let memory = self.pauses_at(group, groups);
        let queue = self.on_the_wire(memory * groups as u64);
        let kinds = |is_wanted: &dyn Fn(Marks) -> bool| {
            let kinds: BTreeSet<PortKind> =
                self.marks.iter().filter(|(_, marks)| is_wanted(*marks)).map(|(kind, _)| *kind).collect();
            kinds.into_iter().collect()
        };
        // Packets of each group arrive at the full rate of a port and leave at an equal share of the rate of the queue.
        let growth = rate.0 as f64 * (1.0 - 1.0 / groups as f64);
        PauseLevel {
            groups,
            group_bytes: memory.0,
            queue_bytes: queue.0,
            after_us: (groups > 1).then(|| self.on_the_wire(memory).0 as f64 * 8e6 / growth),
            pause_first: kinds(&|marks| match marks {
                Marks::Never => true,
                Marks::Above(kmin) => kmin >= queue,
                Marks::Unknown => false,
            }),
            mark_first: kinds(&|marks| matches!(marks, Marks::Above(kmin) if kmin < queue)),
        }
    }

    fn shared(&self) -> Bytes {
        self.book.pools[0].size
    }

    /// Returns the memory that a group occupies when it pauses its sender, while `groups` groups with equal settings are congested. A group
    /// occupies its reserved memory and part of the B bytes of shared memory. With a dynamic limit, this part is α times the free shared
    /// memory, which is α · B/(1 + groups · α). With a fixed limit, this part is the limit, but at most B/groups.
    fn pauses_at(&self, group: &GroupConfig, groups: usize) -> Bytes {
        let cell = self.book.cell;
        let shared = self.shared().0 as f64;
        let used = match group.limit {
            GroupLimit::Dynamic { exponent } => {
                let alpha = power_of_two(exponent);
                alpha * shared / (1.0 + groups as f64 * alpha)
            }
            GroupLimit::Static(limit) => (limit.0 as f64).min(shared / groups as f64),
        };
        let cells = used as u64 / cell.size().0;
        cell.whole(group.reserved) + cell.size() * cells
    }

    /// Returns a safe amount of memory for each queue: no group pauses while every queue of the lossless classes holds at most this amount.
    /// Queues with a lower marking threshold therefore mark first (Zhu et al., SIGCOMM 2015, §4). A group has up to `share` classes and
    /// holds at most the packets of all `ports` queues of each of these classes. All queues of the switch together hold at most ports ·
    /// classes times this amount. The result is valid only if all traffic is in lossless classes, because it ignores queues of lossy
    /// classes, which share the pool.
    fn marks_first_below(&self, group: &GroupConfig) -> Bytes {
        let (ports, classes, share) = (self.ports as f64, self.classes as f64, self.share as f64);
        let shared = self.shared().0 as f64;
        let safe = match group.limit {
            GroupLimit::Dynamic { exponent } => {
                let alpha = power_of_two(exponent);
                alpha * shared / (ports * (share + alpha * classes))
            }
            GroupLimit::Static(limit) => (limit.0 as f64 / (ports * share)).min(shared / (ports * classes)),
        };
        Bytes(safe as u64)
    }

    /// Returns the size on the wire of the full packets that fill `memory`. This size is below `memory` if a packet leaves part of a cell
    /// empty.
    fn on_the_wire(&self, memory: Bytes) -> Bytes {
        let occupied = self.book.cell.occupied(self.packet);
        Bytes((u128::from(memory.0) * u128::from(self.packet.0) / u128::from(occupied.0)) as u64)
    }
}
