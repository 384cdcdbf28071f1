//! Which of several equal-cost next hops a packet takes.

use shallows_core::packet::Header;

/// Equal-cost multipath by hash of the five-tuple: all packets of a connection take one path.
#[derive(Clone, Copy, Debug)]
pub struct Ecmp {
    seed: u64,
}

impl Ecmp {
    /// The hash of one switch; different seeds decorrelate the choices of successive switches.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

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
        // Multiply-shift maps the high bits of the hash evenly on any number of choices.
        let hash = header.five_tuple_hash(self.seed) >> 32;
        next_hops[((hash * next_hops.len() as u64) >> 32) as usize]
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::HostId;

    use super::*;

    #[test]
    fn a_connection_keeps_its_path_and_connections_spread_evenly() {
        let ecmp = Ecmp::new(5);
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
            headers.filter(|h| Ecmp::new(1).select(h, &[0, 1]) == Ecmp::new(2).select(h, &[0, 1])).count();
        // Binomial with mean 2,000 and standard deviation 31.6; five of them.
        assert!(same.abs_diff(2_000) < 158, "{same}");
    }
}
