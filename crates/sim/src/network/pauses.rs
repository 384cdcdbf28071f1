//! State of the lossless classes of a network: ingress accounting of its switches, and pauses of its ports.

use std::collections::BTreeMap;

use shallows_core::packet::Header;
use shallows_core::{Duration, Instant};
use shallows_measure::PauseInterval;
use shallows_scenario::Storm;
use shallows_switch::ingress::{ClassMaps, GroupId, IngressBook};
use shallows_switch::pfc::{
    Change, PRIORITIES, PauseTimers, Pauser, ReceiveBuffer, Watchdog, WatchdogConfig,
};

use crate::network::fair_order::FairOrder;

/// State of the lossless classes of a network or of one partition of it.
#[derive(Debug)]
pub(super) struct Lossless<T> {
    pub(super) classes: Vec<u8>,
    pub(super) order: FairOrder,
    /// Lossless classes of each priority group.
    pub(super) groups: Vec<Vec<u8>>,
    pub(super) maps: ClassMaps,
    /// Priority group of each DSCP, as defined by `maps`.
    pub(super) group_of_dscp: [u8; 64],
    /// DSCPs of lossless groups, as bits.
    pub(super) lossless_dscps: u64,
    /// Ingress accounting of each node, by index of the node in this partition; `None` for hosts.
    pub(super) books: Vec<Option<IngressBook>>,
    pub(super) ports: Vec<PausePort>,
    /// Receive buffers of hosts that read at a limited rate, by index of the port in this partition.
    pub(super) receivers: BTreeMap<u32, ReceiveBuffer<T>>,
    /// Whether the routes allow a deadlock.
    pub(super) cyclic: bool,
    /// Waiting packets of each node, by index of the node in this partition; empty unless `cyclic`.
    pub(super) waiting: Vec<Waiting>,
    /// Number of links after which a packet is dropped; `None` if packets have no TTL.
    pub(super) ttl: Option<u8>,
    /// Number of packets dropped because their TTL had expired. The key consists of the index of their ingress port in this partition and
    /// their class.
    pub(super) expired: BTreeMap<(u32, u8), u64>,
    /// Number of PFC frames sent; `received` is the number of PFC frames received.
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Pauses that have ended.
    pub(super) intervals: Vec<PauseInterval>,
    /// Scratch space, kept to avoid allocations.
    pub(super) changes: Vec<Change>,
}

/// Pauses at one port, in both directions.
#[derive(Debug)]
pub(super) struct PausePort {
    /// State of the pauses that this port imposes on the sender at the other end.
    pub(super) pauser: Pauser,
    /// Pauses that the other end has imposed on this port.
    pub(super) timers: PauseTimers,
    /// For each lossless priority, the queue that its pause stops; `None` for other priorities.
    pub(super) queues: [Option<u8>; PRIORITIES],
    /// Configuration of the port's watchdogs; `watchdogs` contains one watchdog for each priority. A switch's watchdogs monitor pauses by
    /// the other end; a host's watchdogs monitor the host's own pauses. `poll_at` is the time of the next poll; `Instant::MAX` without
    /// watchdogs.
    pub(super) watchdog: Option<WatchdogConfig>,
    pub(super) watchdogs: [Watchdog; PRIORITIES],
    pub(super) poll_at: Instant,
    /// Whether this is the port of a host.
    pub(super) is_host: bool,
    /// PFC storm of the host that has this port.
    pub(super) storm: Option<Storm>,
    /// Number of the link of the sender at the other end.
    pub(super) sender: u32,
    /// Time of the next scheduled event.
    pub(super) event: Instant,
    pub(super) counts: [PriorityCounts; PRIORITIES],
}

impl PausePort {
    /// Returns the lossless classes that share the queue of this lossless class, including this class, as bits.
    pub(super) fn beside(&self, class: u8) -> u8 {
        let own = self.queues[usize::from(class)];
        (0..PRIORITIES).filter(|&other| self.queues[other] == own).map(|other| 1 << other).sum()
    }
}

/// Numbers of packets that wait in a switch, by priority group and egress port.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Number of ports of the switch.
    ports: u32,
    counts: Box<[u32]>,
}

impl Waiting {
    /// Creates counts for a switch with `ports` ports, which have `groups` priority groups in total.
    pub(super) fn new(ports: u32, groups: u32) -> Self {
        Self { ports, counts: vec![0; (ports * groups) as usize].into() }
    }

    /// Returns the number of packets of `group` that wait at `port` of the switch.
    pub(super) fn at(&mut self, group: GroupId, port: u32) -> &mut u32 {
        &mut self.counts[(group.0 * self.ports + port) as usize]
    }

    /// Returns the ports at which packets of `group` wait.
    pub(super) fn ports(&self, group: GroupId) -> impl Iterator<Item = u32> + '_ {
        let row = &self.counts[(group.0 * self.ports) as usize..][..self.ports as usize];
        (0..).zip(row).filter(|(_, count)| **count > 0).map(|(port, _)| port)
    }

    /// Returns the number of packets of `group` that wait.
    pub(super) fn total(&self, group: GroupId) -> u64 {
        let row = &self.counts[(group.0 * self.ports) as usize..][..self.ports as usize];
        row.iter().map(|&count| u64::from(count)).sum()
    }
}

/// Counts of one priority at a port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PriorityCounts {
    pub(super) frames: u64,
    pub(super) received: u64,
    pub(super) paused: Duration,
    /// Number of frames from the other end that pause the priority. `ends` is the number of times that such a pause has ended.
    pub(super) pause_frames: u64,
    pub(super) ends: u64,
    /// Number of times that the watchdog let the priority ignore pauses.
    pub(super) storms: u64,
    /// Number of packets that the watchdog dropped.
    pub(super) dropped_by_watchdog: u64,
    /// Number of times that a host has paused its switch; `resumed` is the number of times that the host has resumed the switch.
    pub(super) sent: u64,
    pub(super) resumed: u64,
    /// Number of polls at which a host had a reason to pause its switch.
    pub(super) congested_polls: u64,
    /// Number of packets that arrived at the port and were dropped because the headroom or the host's receive buffer was full.
    pub(super) refused: u64,
    /// Start of the current pause.
    pub(super) since: Option<Instant>,
}

impl<T> Lossless<T> {
    /// Counts a packet of a lossless class that is dropped for lack of room after arriving at the port with the index `place`. If the
    /// watchdog of a host has ended the host's pauses, the packet counts as dropped by the watchdog.
    pub(super) fn refuse(&mut self, place: u32, header: &Header) {
        let class = usize::from(self.maps.class(header.class()));
        let port = &mut self.ports[place as usize];
        let Some(counts) = port.counts.get_mut(class) else { return };
        let by_watchdog = port.is_host && port.watchdogs[class].is_stormed();
        *if by_watchdog { &mut counts.dropped_by_watchdog } else { &mut counts.refused } += 1;
    }

    /// Checks the ingress accounting. Returns the number of PFC frames in flight, minus the number of packets in receive buffers, modulo
    /// 2^64. With several partitions, only the sum over all partitions is exact, because one partition counts a frame as sent and another
    /// as received.
    pub(super) fn audit(&self) -> u64 {
        self.books.iter().flatten().for_each(IngressBook::audit);
        let held: usize = self.receivers.values().map(ReceiveBuffer::packets).sum();
        self.sent.wrapping_sub(self.received).wrapping_sub(held as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_packets_are_counted_by_group_and_port() {
        let (mut waiting, group) = (Waiting::new(3, 4), GroupId(2));
        for (group, port) in
            [(group, 0), (group, 2), (group, 2), (GroupId(0), 1), (GroupId(1), 2), (GroupId(3), 0)]
        {
            *waiting.at(group, port) += 1;
        }
        assert_eq!(waiting.total(group), 3);
        assert_eq!(waiting.ports(group).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(waiting.total(GroupId(0)), 1);
    }
}
