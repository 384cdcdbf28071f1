//! Which of several equal-cost next hops a packet takes.

use shallows_core::packet::{Header, PacketKind};

/// Equal-cost multipath by hash: all packets of a connection take one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecmp {
    /// Of the five-tuple, evenly.
    FiveTuple {
        /// That of one switch; different seeds decorrelate the choices of successive switches.
        seed: u64,
    },
    /// As in MQ-ECN's ns-2 simulations.
    Ns2(Ns2),
}

impl Ecmp {
    /// One of `next_hops` for the packet with this `header`.
    ///
    /// # Panics
    ///
    /// If there is no next hop.
    #[inline]
    pub fn select(&self, header: &Header, next_hops: &[u32]) -> u32 {
        if let [only] = next_hops {
            return *only;
        }
        match self {
            // Multiply-shift maps the high bits of the hash evenly on any number of choices.
            Self::FiveTuple { seed } => {
                let hash = header.five_tuple_hash(*seed) >> 32;
                next_hops[((hash * next_hops.len() as u64) >> 32) as usize]
            }
            Self::Ns2(ns2) => next_hops[ns2.hash(header) as usize % next_hops.len()],
        }
    }
}

/// The hash of ns-2's multipath classifier as patched for DCTCP, which MQ-ECN's simulations use: of the numbers of node,
/// source, destination and flow, by Tcl's hash of strings. It is far from even: of the twelve uplinks of a leaf some get
/// 1.4 times their part.
///
/// Flows are numbered as in MQ-ECN's script, by receiver, then by sender, one for each pair; connections that are opened
/// later than these all have the number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ns2 {
    /// Number of the switch among all nodes, of which the hosts come first.
    pub node: u32,
    /// How many hosts there are.
    pub hosts: u32,
    /// The port number of a host's first connection; the next ones follow, one for each other host.
    pub first_port: u16,
}

impl Ns2 {
    #[cold]
    #[inline(never)]
    fn hash(&self, header: &Header) -> u32 {
        let (source, destination) = (header.source.0, header.destination.0);
        let ports = header.ports();
        let (from, to, port) = match header.kind() {
            PacketKind::PureAck => (destination, source, ports.1),
            _ => (source, destination, ports.0),
        };
        let others = self.hosts - 1;
        let opened_first = u32::from(port.wrapping_sub(self.first_port)) < others;
        let flow = if opened_first { to * others + from - u32::from(from > to) } else { 0 };
        let bytes = [self.node, source, destination, flow].map(u32::to_le_bytes);
        // Characters have a sign.
        bytes
            .as_flattened()
            .iter()
            .fold(0, |hash: u32, &byte| hash.wrapping_mul(9).wrapping_add_signed(i32::from(byte as i8)))
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::HostId;

    use super::*;

    fn five_tuple(seed: u64) -> Ecmp {
        Ecmp::FiveTuple { seed }
    }

    #[test]
    fn a_connection_keeps_its_path_and_connections_spread_evenly() {
        let ecmp = five_tuple(5);
        let mut counts = [0u32; 3];
        for port in 0..9_000 {
            let header = Header::new(HostId(1), HostId(2)).with_ports(port, 0);
            let choice = ecmp.select(&header, &[0, 1, 2]);
            assert_eq!(choice, ecmp.select(&header.with_size(40), &[0, 1, 2]));
            counts[choice as usize] += 1;
        }
        // Binomial with mean 3,000 and standard deviation 44.7; five of them.
        assert!(counts.iter().all(|&count| count.abs_diff(3_000) < 224), "{counts:?}");
    }

    #[test]
    fn switches_with_different_seeds_choose_independently() {
        let headers = (0..4_000).map(|port| Header::default().with_ports(port, 0));
        let same =
            headers.filter(|h| five_tuple(1).select(h, &[0, 1]) == five_tuple(2).select(h, &[0, 1])).count();
        // Binomial with mean 2,000 and standard deviation 31.6; five of them.
        assert!(same.abs_diff(2_000) < 158, "{same}");
    }

    #[test]
    fn ns2s_hash_is_nine_times_the_last_one_plus_a_signed_byte() {
        // Node 2, host 1 to host 0 of 2: flow 0 · 1 + 1 − 1 = 0. Bytes 2 0 0 0, 1 0 0 0, twelve and eight zeros behind them:
        // 2 · 9^15 + 9^11 modulo 2³²; the node 200 counts −56.
        let data = Header::new(HostId(1), HostId(0)).with_ports(1_024, 5_001);
        let hash = |node| Ns2 { node, hosts: 2, first_port: 1_024 }.hash(&data);
        let power = |exponent| 9u32.wrapping_pow(exponent);
        assert_eq!(hash(2), power(15).wrapping_mul(2).wrapping_add(power(11)));
        assert_eq!(hash(200), power(15).wrapping_mul(56).wrapping_neg().wrapping_add(power(11)));
    }

    #[test]
    fn ns2_knows_the_flow_of_an_acknowledgement_and_forgets_connections_opened_later() {
        // Host 2 to host 1 of 4: flow 1 · 3 + 2 − 1 = 4, in the first byte of the last word: 4 · 9^3.
        let ecmp = Ns2 { node: 0, hosts: 4, first_port: 1_024 };
        let data = Header::new(HostId(2), HostId(1)).with_ports(1_026, 5_001);
        let ack = Header::new(HostId(1), HostId(2)).with_ports(5_001, 1_026).with_kind(PacketKind::PureAck);
        let power = |exponent| 9u32.wrapping_pow(exponent);
        let addresses = |source: u32, destination: u32| {
            power(11).wrapping_mul(source).wrapping_add(power(7).wrapping_mul(destination))
        };
        assert_eq!(ecmp.hash(&data), addresses(2, 1).wrapping_add(4 * power(3)));
        assert_eq!(ecmp.hash(&ack), addresses(1, 2).wrapping_add(4 * power(3)));
        assert_eq!(ecmp.hash(&data.with_ports(1_027, 5_001)), addresses(2, 1));
    }

    #[test]
    fn ns2s_hash_is_uneven_over_the_uplinks_of_mq_ecns_leaves() {
        // All pairs of the 144 hosts: how many of 1584 pairs each uplink of the eleventh leaf gets, for 132, as a
        // calculation apart from this program has it.
        let ecmp = Ecmp::Ns2(Ns2 { node: 144 + 10, hosts: 144, first_port: 1_024 });
        let mut pairs = [0; 12];
        let hops: Vec<u32> = (0..12).collect();
        for source in 120..132 {
            for destination in (0..144).filter(|host| !(120..132).contains(host)) {
                let header = Header::new(HostId(source), HostId(destination)).with_ports(1_024, 5_001);
                pairs[ecmp.select(&header, &hops) as usize] += 1;
            }
        }
        assert_eq!(pairs, [183, 101, 120, 181, 100, 111, 180, 97, 109, 188, 94, 120]);
    }
}
