//! Counts of a network, or of a partition of it.

use std::ops::AddAssign;

/// Counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets put on links.
    pub packet_hops: u64,
    /// Packets created at hosts.
    pub packets_sent: u64,
    /// Packets that reached their host.
    pub packets_arrived: u64,
    /// Packets dropped anywhere, or lost on a link that went down.
    pub packets_dropped: u64,
    /// Packets that arrived for a connection that had closed.
    pub packets_stale: u64,
    /// TCP segments with data among those sent.
    pub data_sent: u64,
    /// Flows of which the sender has every acknowledgement.
    pub flows_completed: u64,
    /// Events of no node: those of observers, and those that prime connections.
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
        self.events_of_no_node += other.events_of_no_node;
    }
}

/// Packets that were in flight on a link when it went down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// All of them.
    pub packets: u64,
    /// TCP segments with data among them.
    pub data: u64,
}

impl AddAssign for Lost {
    fn add_assign(&mut self, other: Self) {
        self.packets += other.packets;
        self.data += other.data;
    }
}

impl Tally {
    /// Packets that were sent and have neither arrived nor been dropped; of a partition of the network modulo 2^64, for packets arrive in others.
    #[inline]
    pub fn under_way(&self) -> u64 {
        self.packets_sent.wrapping_sub(self.packets_arrived).wrapping_sub(self.packets_dropped)
    }

    /// Check the law of a whole network in which so many packets are under way.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub fn audit(&self, under_way: u64) {
        assert_eq!(
            self.packets_sent,
            self.packets_arrived + self.packets_dropped + under_way,
            "sent = arrived + dropped + under way"
        );
    }
}
