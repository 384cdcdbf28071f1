//! Packet counts of a network or of one of its partitions.

use std::ops::AddAssign;

/// Packet, flow and event counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets put on links.
    pub packet_hops: u64,
    /// Packets created at hosts.
    pub packets_sent: u64,
    /// Packets that reached their destination host.
    pub packets_arrived: u64,
    /// Packets dropped anywhere, or lost on a link.
    pub packets_dropped: u64,
    /// Packets that arrived for a closed connection.
    pub packets_stale: u64,
    /// TCP segments with data that hosts created, a part of `packets_sent`.
    pub data_sent: u64,
    /// Flows with every byte acknowledged at the sender.
    pub flows_completed: u64,
    /// Flows that will never complete, because their queue pairs ended with an error.
    pub flows_failed: u64,
    /// Number of events that belong to no node: queue samples, trace records, warm-ups of connections, and network changes.
    pub events_of_no_node: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.packet_hops += other.packet_hops;
        self.packets_sent += other.packets_sent;
        self.packets_arrived += other.packets_arrived;
        self.packets_dropped += other.packets_dropped;
        self.packets_stale += other.packets_stale;
        self.data_sent += other.data_sent;
        self.flows_completed += other.flows_completed;
        self.flows_failed += other.flows_failed;
        self.events_of_no_node += other.events_of_no_node;
    }
}

/// Packets that were lost on a link or refused at its far end; no queue dropped them. A packet is lost if the link goes down while the
/// packet is in flight, if its TTL expires, or if the PFC watchdog of the link's port drops it. A packet is refused if the ingress memory
/// of a switch or the receive buffer of a host has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// All lost packets.
    pub packets: u64,
    /// Lost TCP segments with data.
    pub data: u64,
    /// The part of `packets` for which the receive buffer of a host had no room.
    pub packets_in_nics: u64,
    /// The part of `data` for which the receive buffer of a host had no room.
    pub data_in_nics: u64,
}

impl Lost {
    /// Counts one packet, which is a TCP segment with data if `is_data`.
    pub fn one(is_data: bool) -> Self {
        Self { packets: 1, data: u64::from(is_data), ..Self::default() }
    }
}

impl AddAssign for Lost {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.data += other.data;
        self.packets_in_nics += other.packets_in_nics;
        self.data_in_nics += other.data_in_nics;
    }
}

impl Tally {
    /// Returns the number of flows that have completed or failed.
    #[inline]
    pub fn flows_ended(&self) -> u64 {
        self.flows_completed + self.flows_failed
    }

    /// Returns the number of packets that were sent and have neither arrived nor been dropped. For one partition, the number can be below
    /// zero (modulo 2^64), because packets from other partitions may arrive there.
    #[inline]
    pub fn under_way(&self) -> u64 {
        self.packets_sent.wrapping_sub(self.packets_arrived).wrapping_sub(self.packets_dropped)
    }

    /// Checks the conservation of packets in a whole network with this many packets under way.
    ///
    /// # Panics
    ///
    /// If the counts do not balance, which is a defect of this program.
    pub fn audit(&self, under_way: u64) {
        assert_eq!(
            self.packets_sent,
            self.packets_arrived + self.packets_dropped + under_way,
            "sent = arrived + dropped + under way"
        );
    }
}
