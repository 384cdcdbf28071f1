//! Header fields that define a flow, and the hash that spreads flows over bins and buckets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::{Header, mix};

/// Header fields from which the hash of a packet is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowHash {
    /// Addresses, ports and protocol, hashed with a seed.
    #[default]
    FiveTuple,
    /// Both addresses, hashed with a seed: a conversation in the sense of SFQ (McKenney, INFOCOM '90).
    AddressPair,
    /// The source address alone, hashed with the arithmetic of ns-2's drr.cc with its default `mask_`. The hash has no seed; neighbouring
    /// addresses almost never collide.
    SourceOnly,
    /// The sum of both addresses, hashed with the arithmetic of ns-2's sfq.cc. The hash has no seed; both directions share a bucket.
    AddressSum,
}

impl FlowHash {
    /// Returns whether the hash depends on the seed.
    pub fn is_seeded(self) -> bool {
        matches!(self, Self::FiveTuple | Self::AddressPair)
    }

    /// Returns the packet's bucket, in `0..buckets`.
    #[inline]
    pub(super) fn bucket(self, header: &Header, seed: u64, buckets: usize) -> usize {
        let (source, destination) = (u64::from(header.source().0), u64::from(header.destination().0));
        match self {
            Self::FiveTuple => spread(header.five_tuple_hash(seed), buckets),
            Self::AddressPair => spread(mix((source << 32 | destination) ^ seed), buckets),
            // ns-2.35 drr.cc, hash(): modulo 2²⁴ − 1, then one more.
            Self::SourceOnly => wrap(fold(source) % ((1 << 24) - 1) + 1, buckets),
            // ns-2.35 sfq.cc, hash(): modulo 2²⁰ − 1.
            Self::AddressSum => wrap(fold(source + destination) % ((1 << 20) - 1), buckets),
        }
    }
}

/// Maps a hash that is uniform over 64 bits to `0..count`.
#[inline]
pub(super) fn spread(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// Applies ns-2's arithmetic to an address: k + ⌊k/2⁸⌋ − ⌊k/2⁴⌋ − 1.
fn fold(address: u64) -> i64 {
    let address = address as i64;
    address + (address >> 8) - (address >> 4) - 1
}

fn wrap(value: i64, buckets: usize) -> usize {
    value.rem_euclid(buckets as i64) as usize
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::HostId;

    use super::*;

    fn between(source: u32, destination: u32) -> Header {
        Header::new(HostId(source), HostId(destination))
    }

    #[test]
    fn each_reading_tells_apart_what_it_should_and_no_more() {
        let many = 1 << 40;
        let base = between(1, 2);
        for (hash, ports, other_destination, seeds) in [
            (FlowHash::FiveTuple, true, true, true),
            (FlowHash::AddressPair, false, true, true),
            (FlowHash::SourceOnly, false, false, false),
            (FlowHash::AddressSum, false, true, false),
        ] {
            let bucket = |header: Header, seed| hash.bucket(&header, seed, many);
            assert_eq!(bucket(base, 7) != bucket(base.with_ports(3, 4), 7), ports, "{hash:?}");
            assert_eq!(bucket(base, 7) != bucket(between(1, 9), 7), other_destination, "{hash:?}");
            assert_ne!(bucket(base, 7), bucket(between(5, 2), 7), "{hash:?}");
            assert_eq!(bucket(base, 7) != bucket(base, 8), seeds, "{hash:?}");
            assert_eq!(hash.is_seeded(), seeds, "{hash:?}");
        }
        let there_and_back =
            |hash: FlowHash| [between(1, 2), between(2, 1)].map(|h| hash.bucket(&h, 7, many));
        let [there, back] = there_and_back(FlowHash::AddressPair);
        assert_ne!(there, back);
        let [there, back] = there_and_back(FlowHash::AddressSum);
        assert_eq!(there, back, "ns-2 adds the addresses");
    }

    #[test]
    fn the_hashes_of_ns_2_give_what_its_arithmetic_gives() {
        // drr.cc: (i + (i >> 8) + ~(i >> 4)) % (2^24 - 1) + 1 modulo 1,000, by hand:
        // 0: -1 + 1 = 0; 15: 14 + 1 = 15; 16: 16 - 2 + 1 = 15, the first collision; 300: 300 + 1 - 19 + 1 = 283;
        // 2^24: 16,777,216 + 65,536 - 1,048,577 + 1 = 15,794,176, below the modulus; 2^25: 31,588,351 - 16,777,215 + 1.
        for (source, bucket) in [(0, 0), (15, 15), (16, 15), (300, 283), (1 << 24, 176), (1 << 25, 137)] {
            assert_eq!(FlowHash::SourceOnly.bucket(&between(source, 9), 1, 1_000), bucket, "{source}");
        }
        // sfq.cc: (k + (k >> 8) + ~(k >> 4)) % (2^20 - 1) with k = i + j: 16 - 2 = 14; 300 + 1 - 19 = 282;
        // 2^21: 2,097,152 + 8,192 - 131,073 = 1,974,271, less 1,048,575 is 925,696.
        for (source, destination, bucket) in [(7, 9, 14), (100, 200, 282), (1 << 20, 1 << 20, 696)] {
            let header = between(source, destination);
            assert_eq!(FlowHash::AddressSum.bucket(&header, 1, 1_000), bucket, "{header:?}");
        }
    }

    #[test]
    fn seeded_hashes_spread_flows_evenly() {
        // 8,000 flows over 8 buckets: binomial with mean 1,000, standard deviation 29.6; five of them are 148.
        for hash in [FlowHash::FiveTuple, FlowHash::AddressPair] {
            let mut counts = [0u32; 8];
            for source in 0..8_000 {
                counts[hash.bucket(&between(source, 77), 5, 8)] += 1;
            }
            assert!(counts.iter().all(|count| count.abs_diff(1_000) < 148), "{hash:?}: {counts:?}");
        }
    }

    #[test]
    fn spreading_reaches_the_first_and_the_last() {
        assert_eq!([0, u64::MAX / 2, u64::MAX].map(|hash| spread(hash, 10)), [0, 4, 9]);
    }
}
