//! Choice among next hops of equal cost.

mod hash;
mod ns2;

use ns2::{Ns2, Numbered};
use shallows_core::packet::Header;

use hash::{spread, symmetric_hash};

/// Rule by which the switches of a network choose among equal-cost paths. All packets of a connection in one direction take the same
/// path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Config {
    /// A uniform hash of the five-tuple. The paths of a connection's two directions are independent.
    FiveTuple {
        /// Seed of each switch. Different seeds make the choices of successive switches independent.
        seeds: Vec<u64>,
    },
    /// A uniform hash of the five-tuple after its two ends have been sorted. Both directions of a connection take the same path.
    Symmetric {
        /// Seed of each switch. All switches of a tier share one seed, so that the switches at both ends of a path choose in the same
        /// way.
        seeds: Vec<u64>,
    },
    /// The hash of MQ-ECN's ns-2 simulations, over the numbers of node, source, destination and flow.
    Ns2 {
        /// Number of hosts. The hosts are the first nodes of the network.
        hosts: u32,
        /// Port number of a host's first connection. A host has one connection to each other host, with consecutive port numbers.
        first_port: u16,
    },
    /// The rule of BCC's ns-2 simulations: each connection that is open from the start has a random number, which determines its path.
    Numbered {
        /// Tier of each switch: the number of switches between it and the nearest host.
        tiers: Vec<u32>,
        /// Number of hosts.
        hosts: u32,
        /// Number of connections that are open from the start for each pair of hosts.
        per_pair: u32,
        /// Port number of a host's first connection. The connections to one host have consecutive port numbers.
        first_port: u16,
    },
}

/// Path choice for all switches of a network.
#[derive(Clone, Debug)]
pub struct Ecmp(Kind);

#[derive(Clone, Debug)]
enum Kind {
    FiveTuple(Box<[u64]>),
    Symmetric(Box<[u64]>),
    Ns2(Ns2),
    Numbered(Numbered),
}

impl Ecmp {
    /// Creates the path choice for `config`, and draws all random numbers that it needs.
    pub fn new(config: &Config) -> Self {
        Self(match config {
            Config::FiveTuple { seeds } => Kind::FiveTuple(seeds.as_slice().into()),
            Config::Symmetric { seeds } => Kind::Symmetric(seeds.as_slice().into()),
            &Config::Ns2 { hosts, first_port } => Kind::Ns2(Ns2 { hosts, first_port }),
            Config::Numbered { tiers, hosts, per_pair, first_port } => {
                Kind::Numbered(Numbered::new(tiers, *hosts, *per_pair, *first_port))
            }
        })
    }

    /// Chooses one of `next_hops` for the packet with this `header` at the switch with number `switch`.
    ///
    /// # Panics
    ///
    /// Panics if `next_hops` is empty.
    #[inline]
    pub fn select(&self, switch: u32, header: &Header, next_hops: &[u32]) -> u32 {
        match &self.0 {
            Kind::FiveTuple(seeds) => spread(header.five_tuple_hash(seeds[switch as usize]), next_hops),
            Kind::Symmetric(seeds) => spread(symmetric_hash(header, seeds[switch as usize]), next_hops),
            Kind::Ns2(ns2) => next_hops[ns2.hash(switch, header) as usize % next_hops.len()],
            Kind::Numbered(numbered) => numbered.select(switch, header, next_hops),
        }
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::{HostId, PacketKind};

    use super::*;

    fn five_tuple(seeds: &[u64]) -> Ecmp {
        Ecmp::new(&Config::FiveTuple { seeds: seeds.to_vec() })
    }

    fn symmetric(seeds: &[u64]) -> Ecmp {
        Ecmp::new(&Config::Symmetric { seeds: seeds.to_vec() })
    }

    #[test]
    fn a_connection_keeps_its_path_and_connections_spread_evenly() {
        let ecmp = five_tuple(&[5]);
        let mut counts = [0u32; 3];
        for port in 0..9_000 {
            let header = Header::new(HostId(1), HostId(2)).with_ports(port, 0);
            let choice = ecmp.select(0, &header, &[0, 1, 2]);
            assert_eq!(choice, ecmp.select(0, &header.with_size(40), &[0, 1, 2]));
            counts[choice as usize] += 1;
        }
        // Binomial with mean 3,000 and standard deviation 44.7; five standard deviations are 224.
        assert!(counts.iter().all(|&count| count.abs_diff(3_000) < 224), "{counts:?}");
    }

    #[test]
    fn switches_with_different_seeds_choose_independently() {
        let headers = (0..4_000).map(|port| Header::default().with_ports(port, 0));
        let ecmp = five_tuple(&[1, 2]);
        let same = headers.filter(|h| ecmp.select(0, h, &[0, 1]) == ecmp.select(1, h, &[0, 1])).count();
        // Binomial with mean 2,000 and standard deviation 31.6; five standard deviations are 158.
        assert!(same.abs_diff(2_000) < 158, "{same}");
    }

    /// Returns the headers of a connection's data and of its acknowledgement.
    fn both_ways(source: u32, destination: u32, port: u16) -> (Header, Header) {
        let (source, destination) = (HostId(source), HostId(destination));
        let ack = Header::new(destination, source).with_ports(5_001, port).with_kind(PacketKind::PureAck);
        (Header::new(source, destination).with_ports(port, 5_001), ack)
    }

    #[test]
    fn both_directions_of_a_connection_share_their_path_if_that_is_asked_for() {
        let hops: Vec<u32> = (0..8).collect();
        let same = |ecmp: &Ecmp| {
            // In half of the connections the sender has the greater number, in the other half the receiver.
            let connections =
                (0..8_000).map(|n: u16| both_ways(n.into(), u32::from(n * 7 % 8_000), 1_024 + n));
            connections
                .filter(|(data, ack)| ecmp.select(0, data, &hops) == ecmp.select(0, ack, &hops))
                .count()
        };
        assert_eq!(same(&symmetric(&[3])), 8_000);
        // If choices are independent, one in eight agrees: binomial with mean 1,000 and standard deviation 29.6; five standard deviations
        // are 148.
        assert!(same(&five_tuple(&[3])).abs_diff(1_000) < 148);
    }

    #[test]
    fn shared_paths_are_spread_evenly_and_differ_from_tier_to_tier() {
        let headers = (0..8_000).map(|port| both_ways(2, 1, port).0);
        let [mut counts, mut agree] = [[0u32; 2], [0; 2]];
        let ecmp = symmetric(&[1, 2]);
        for header in headers {
            let [first, second] = [0, 1].map(|switch| ecmp.select(switch, &header, &[0, 1]));
            counts[first as usize] += 1;
            agree[usize::from(first == second)] += 1;
        }
        // Binomial with mean 4,000 and standard deviation 44.7; five standard deviations are 224.
        assert!(counts[0].abs_diff(4_000) < 224, "{counts:?}");
        assert!(agree[0].abs_diff(4_000) < 224, "{agree:?}");
    }
}
