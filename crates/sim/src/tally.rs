//! Counts of the whole network.

/// Counts of the whole network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets put on links.
    pub packet_hops: u64,
    /// Packets created at hosts.
    pub packets_sent: u64,
    /// Packets that reached their host.
    pub packets_arrived: u64,
    /// Packets dropped anywhere.
    pub packets_dropped: u64,
    /// Packets that arrived for a connection that had closed.
    pub packets_stale: u64,
    /// TCP segments with data among those sent.
    pub data_sent: u64,
}
