//! Path choice of two published ns-2 simulations.

use shallows_core::mrg32k3a::Mrg32k3a;
use shallows_core::packet::Header;

use super::hash::{data_direction, spread, symmetric_hash};

/// Hash of ns-2's multipath classifier as patched for DCTCP and used in MQ-ECN's simulations. It is Tcl's string hash over the numbers of
/// node, source, destination and flow. The hash is uneven: some of a leaf's twelve uplinks get 1.4 times their share.
///
/// Flows are numbered as in MQ-ECN's script: by receiver and then by sender, with one flow per pair. All further connections have the
/// number 0.
#[derive(Clone, Debug)]
pub(super) struct Ns2 {
    pub(super) hosts: u32,
    pub(super) first_port: u16,
}

impl Ns2 {
    #[cold]
    #[inline(never)]
    pub(super) fn hash(&self, switch: u32, header: &Header) -> u32 {
        // Hosts come first among the nodes.
        let node = self.hosts + switch;
        let (source, destination) = (header.source().0, header.destination().0);
        let (from, to, port) = data_direction(header);
        let others = self.hosts - 1;
        let opened_first = u32::from(port.wrapping_sub(self.first_port)) < others;
        let flow = if opened_first { to * others + from - u32::from(from > to) } else { 0 };
        let bytes = [node, source, destination, flow].map(u32::to_le_bytes);
        // Tcl's characters are signed.
        bytes
            .as_flattened()
            .iter()
            .fold(0, |hash: u32, &byte| hash.wrapping_mul(9).wrapping_add_signed(i32::from(byte as i8)))
    }
}

/// ns-2's multipath classifier as used in BCC's simulations. The classifier shifts the number of a connection right by one for each link
/// that the packet has passed, and takes the result modulo the number of next hops. Both directions of a connection have the same number,
/// so acknowledgements take the path of their data.
///
/// Numbers are drawn as in BCC's script, from a separate generator: by receiver, then by sender, starting with the host after the receiver,
/// several per pair. The number of a connection that opens later would depend on all earlier numbers; such connections use the hash of
/// [`super::Config::Symmetric`] instead.
#[derive(Clone, Debug)]
pub(super) struct Numbered {
    /// Random number of each connection that is open from the start.
    numbers: Box<[u32]>,
    /// For each switch, the number of links that an upward packet has passed when it reaches that switch.
    links_behind: Box<[u32]>,
    hosts: u32,
    per_pair: u32,
    first_port: u16,
}

impl Numbered {
    pub(super) fn new(tiers: &[u32], hosts: u32, per_pair: u32, first_port: u16) -> Self {
        let links_behind = tiers.iter().map(|tier| tier + 1).collect();
        Self { numbers: Self::draw(hosts, per_pair), links_behind, hosts, per_pair, first_port }
    }

    /// Draws a random number for each of the `per_pair` connections from each of `hosts` hosts to every other host.
    fn draw(hosts: u32, per_pair: u32) -> Box<[u32]> {
        const SEED: u32 = 2_199;
        const LEAST: f64 = 1e6;
        const MOST: f64 = 9_999_999.0;
        let mut generator = Mrg32k3a::new(SEED);
        let count = u64::from(hosts) * u64::from(hosts.saturating_sub(1)) * u64::from(per_pair);
        // ns-2's `uniform` is written in Tcl and uses a 31-bit integer; the attribute that stores the result takes its integer part.
        let mut draw = || {
            let integer = (generator.uniform() * 2_147_483_648.0).floor();
            (LEAST + (MOST - LEAST) * (integer / 2_147_483_647.0)) as u32
        };
        (0..count).map(|_| draw()).collect()
    }

    #[cold]
    #[inline(never)]
    pub(super) fn select(&self, switch: u32, header: &Header, next_hops: &[u32]) -> u32 {
        match self.number(header) {
            Some(number) => {
                let halved = number.checked_shr(self.links_behind[switch as usize]).unwrap_or(0);
                next_hops[halved as usize % next_hops.len()]
            }
            None => spread(symmetric_hash(header, 0), next_hops),
        }
    }

    fn number(&self, header: &Header) -> Option<u32> {
        let (from, to, port) = data_direction(header);
        let (others, offset) = (self.hosts - 1, u32::from(port.wrapping_sub(self.first_port)));
        if offset >= others * self.per_pair {
            return None;
        }
        let pair = to * others + (from + self.hosts - to - 1) % self.hosts;
        Some(self.numbers[(pair * self.per_pair + offset % self.per_pair) as usize])
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::{HostId, PacketKind};

    use super::super::{Config, Ecmp};
    use super::*;

    #[test]
    fn ns2s_hash_is_nine_times_the_last_one_plus_a_signed_byte() {
        // Node 2, host 1 to host 0 of 2: flow 0 · 1 + 1 − 1 = 0. Bytes 2 0 0 0, 1 0 0 0, followed by twelve and eight zeros:
        // 2 · 9^15 + 9^11 modulo 2³². The byte of node 200 counts as −56.
        let data = Header::new(HostId(1), HostId(0)).with_ports(1_024, 5_001);
        let hash = |node: u32| Ns2 { hosts: 2, first_port: 1_024 }.hash(node - 2, &data);
        let power = |exponent| 9u32.wrapping_pow(exponent);
        assert_eq!(hash(2), power(15).wrapping_mul(2).wrapping_add(power(11)));
        assert_eq!(hash(200), power(15).wrapping_mul(56).wrapping_neg().wrapping_add(power(11)));
    }

    #[test]
    fn ns2_knows_the_flow_of_an_acknowledgement_and_forgets_connections_opened_later() {
        // Node 4, the first switch. Host 2 to host 1 of 4: flow 1 · 3 + 2 − 1 = 4, in the first byte of the last word:
        // 4 · 9^3.
        let ecmp = Ns2 { hosts: 4, first_port: 1_024 };
        let data = Header::new(HostId(2), HostId(1)).with_ports(1_026, 5_001);
        let ack = Header::new(HostId(1), HostId(2)).with_ports(5_001, 1_026).with_kind(PacketKind::PureAck);
        let power = |exponent| 9u32.wrapping_pow(exponent);
        let addresses = |source: u32, destination: u32| {
            let node = power(15).wrapping_mul(4);
            node.wrapping_add(power(11).wrapping_mul(source)).wrapping_add(power(7).wrapping_mul(destination))
        };
        assert_eq!(ecmp.hash(0, &data), addresses(2, 1).wrapping_add(4 * power(3)));
        assert_eq!(ecmp.hash(0, &ack), addresses(1, 2).wrapping_add(4 * power(3)));
        assert_eq!(ecmp.hash(0, &data.with_ports(1_027, 5_001)), addresses(2, 1));
    }

    #[test]
    fn ns2s_hash_is_uneven_over_the_uplinks_of_mq_ecns_leaves() {
        // All pairs of the 144 hosts. A separate program computed the number of pairs on each uplink of the eleventh leaf, out of 1584
        // (132 on average).
        let ecmp = Ecmp::new(&Config::Ns2 { hosts: 144, first_port: 1_024 });
        let mut pairs = [0; 12];
        let hops: Vec<u32> = (0..12).collect();
        for source in 120..132 {
            for destination in (0..144).filter(|host| !(120..132).contains(host)) {
                let header = Header::new(HostId(source), HostId(destination)).with_ports(1_024, 5_001);
                pairs[ecmp.select(10, &header, &hops) as usize] += 1;
            }
        }
        assert_eq!(pairs, [183, 101, 120, 181, 100, 111, 180, 97, 109, 188, 94, 120]);
    }

    #[test]
    fn connections_have_the_numbers_that_ns2_draws_in_bccs_script() {
        // Output of stock ns-2.35 for `[new RNG]`, seed 2199, `uniform 1000000 9999999`, as stored in an agent's `fid_`.
        let numbers = Numbered::draw(128, 2);
        assert_eq!(numbers[..6], [7_616_277, 4_388_941, 3_048_566, 7_958_017, 2_160_198, 4_020_387]);
        assert_eq!(numbers.len(), 128 * 127 * 2);
        let mut spines = [0; 8];
        numbers.iter().for_each(|number| spines[(number >> 1) as usize % 8] += 1);
        assert_eq!(spines, [4_088, 4_086, 4_119, 3_995, 4_063, 4_065, 4_054, 4_042], "likewise");
    }

    #[test]
    fn numbers_go_by_receiver_then_by_sender_from_the_host_after_it_on() {
        // Four hosts, two connections per pair: host 0 receives from 1, 2, 3, host 1 from 2, 3, 0, and so on.
        let (numbers, links_behind) = ((0..24).collect(), Box::new([1, 2]));
        let numbered = Numbered { numbers, links_behind, hosts: 4, per_pair: 2, first_port: 1_024 };
        let number = |from: u32, to: u32, port| {
            numbered.number(&Header::new(HostId(from), HostId(to)).with_ports(port, 5_001))
        };
        assert_eq!(
            [number(1, 0, 1_024), number(1, 0, 1_025), number(3, 0, 1_024)],
            [Some(0), Some(1), Some(4)]
        );
        assert_eq!([number(2, 1, 1_026), number(0, 1, 1_025)], [Some(6), Some(11)]);
        // The first six ports of host 2 belong to its first connections.
        assert_eq!([number(2, 3, 1_029), number(2, 3, 1_030)], [Some(23), None]);
        let ack = Header::new(HostId(3), HostId(2)).with_ports(5_001, 1_029).with_kind(PacketKind::PureAck);
        assert_eq!(numbered.number(&ack), Some(23), "an acknowledgement has that of its data");
        let hops = [10, 11, 12];
        assert_eq!(numbered.select(0, &ack, &hops), 10 + 23 / 2 % 3);
        assert_eq!(numbered.select(1, &ack, &hops), 10 + 23 / 4 % 3, "at a switch without hosts");
        // A connection that opens later also keeps one path, which both directions share.
        let late = (0..60).map(|n| 1_030 + n).map(|port| {
            let data = Header::new(HostId(2), HostId(3)).with_ports(port, 5_001);
            let ack =
                Header::new(HostId(3), HostId(2)).with_ports(5_001, port).with_kind(PacketKind::PureAck);
            assert_eq!(numbered.select(0, &data, &hops), numbered.select(0, &ack, &hops));
            numbered.select(0, &data, &hops)
        });
        let taken: std::collections::BTreeSet<u32> = late.collect();
        assert_eq!(taken.len(), 3, "not all the same one");
    }
}
