//! The bound that slowdown divides by: the same bytes on the same path, alone and without slow start.

use shallows_core::packet::{Ecn, Header, PacketKind};
use shallows_core::{Bytes, Duration};
use shallows_scenario::{Experiment, Link, Network};
use shallows_switch::routing::Ecmp;

use crate::connection::Address;
use crate::flow::End;
use crate::world::headers;

/// Completion time of `size` bytes of the connection with this address, up to `end`.
pub(super) fn completion(experiment: &Experiment, address: &Address, size: Bytes, end: End) -> Duration {
    let overhead = headers(&experiment.tcp) + experiment.network.framing;
    let forward = path(&experiment.network, &address.forward(0, Ecn::Ect, PacketKind::Data));
    let received = store_and_forward(&forward, size, experiment.tcp.mss, overhead);
    match end {
        End::Received => received,
        End::Acked => {
            let back = path(&experiment.network, &address.backward(0, Ecn::Ect));
            received + back.iter().map(|link| link.delay + link.rate.transmission_time(overhead)).sum()
        }
    }
}

/// The links that a packet with this header takes.
fn path<'a>(network: &'a Network, header: &Header) -> Vec<&'a Link> {
    // Link h is the one that leaves host h.
    let mut path = vec![&network.links[header.source.0 as usize]];
    loop {
        let reached = path[path.len() - 1].to;
        if reached.0 < network.hosts {
            return path;
        }
        let node = &network.nodes[reached.0 as usize];
        let next = Ecmp::new(node.ecmp_seed).select(header, node.routes.next_hops(header.destination));
        path.push(&network.links[next as usize]);
    }
}

/// When the last of a train of full segments and one last segment has crossed a path of store-and-forward links.
///
/// The longest way through the grid of packets and links: the first packet up to some link *j*, all packets through
/// *j*, the last packet from there on; the slowest *j* decides.
fn store_and_forward(path: &[&Link], size: Bytes, mss: Bytes, overhead: Bytes) -> Duration {
    let segments = size.0.div_ceil(mss.0).max(1);
    let last = size - mss * (segments - 1) + overhead;
    let first = if segments == 1 { last } else { mss + overhead };
    let times = |size: Bytes| path.iter().map(move |link| link.rate.transmission_time(size));
    let propagation: Duration = path.iter().map(|link| link.delay).sum();
    let mut slowest = Duration::ZERO;
    for (bottleneck, link) in path.iter().enumerate() {
        let before: Duration = times(first).take(bottleneck).sum();
        let at = link.rate.transmission_time(first) * (segments - 1);
        let after: Duration = times(last).skip(bottleneck).sum();
        slowest = slowest.max(before + at + after);
    }
    propagation + slowest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shallows_core::Rate;
    use shallows_scenario::{NodeId, PortKind};

    use super::*;

    fn link(gbps: u64, delay: Duration) -> Link {
        Link {
            from: NodeId(0),
            to: NodeId(0),
            rate: Rate::from_gbps(gbps),
            delay,
            kind: PortKind::Up,
            pool: 0,
            private: Bytes(0),
            name: String::new(),
        }
    }

    proptest! {
        /// Against the recursion of a tandem of queues: a packet leaves a link one transmission after it has arrived
        /// there and its predecessor has left.
        #[test]
        fn the_bound_agrees_with_a_tandem_of_queues(
            gbps in prop::collection::vec(1u64..100, 1..5),
            size in 1u64..40_000,
        ) {
            let links: Vec<Link> = gbps.iter().map(|&gbps| link(gbps, Duration::from_nanos(gbps))).collect();
            let path: Vec<&Link> = links.iter().collect();
            let (mss, overhead) = (Bytes(1_460), Bytes(40));
            let mut free = vec![0; links.len()];
            let mut left = size;
            let mut arrived = 0;
            while left > 0 {
                let payload = left.min(mss.0);
                left -= payload;
                arrived = 0;
                for (link, free) in links.iter().zip(&mut free) {
                    *free = arrived.max(*free) + link.rate.transmission_time(Bytes(payload) + overhead).0;
                    arrived = *free + link.delay.0;
                }
            }
            prop_assert_eq!(store_and_forward(&path, Bytes(size), mss, overhead), Duration(arrived));
        }
    }
}
