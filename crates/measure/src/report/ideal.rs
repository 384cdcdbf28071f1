//! Ideal completion time of a flow: the time that its bytes would need on the same path without other traffic and without slow start. The
//! slowdown of a flow is its completion time divided by its ideal completion time.

use shallows_core::packet::Ecn;
use shallows_core::{Bytes, Duration};
use shallows_scenario::{Agreement, Link, Network, Segments};

use crate::flow::End;
use shallows_core::Address;

/// Returns the ideal completion time of a flow of `size` bytes. `address` and `agreement` are the address and the parameters of the flow's
/// connection; `end` is the event that completes the flow.
pub(super) fn completion(
    network: &Network,
    agreement: &Agreement,
    address: &Address,
    size: Bytes,
    end: End,
) -> Duration {
    let segments = agreement.segments();
    let [data, reply] = agreement.packet_kinds();
    let forward = network.path(&address.forward(0, Ecn::Ect, data));
    if let Some(request) = agreement.read_request() {
        // The data of a READ follows a request. The arrival of the data completes the flow, whichever `end` is set.
        let back = network.path(&address.backward(0, Ecn::Ect).with_kind(reply));
        return crossing(&forward, request) + store_and_forward(&back, size, segments);
    }
    let received = store_and_forward(&forward, size, segments);
    match end {
        End::Received => received,
        End::Acked => {
            let back = network.path(&address.backward(0, Ecn::Ect).with_kind(reply));
            received + crossing(&back, segments.overhead)
        }
    }
}

/// Returns the time in which one packet of `size` bytes crosses a path of store-and-forward links.
fn crossing(path: &[&Link], size: Bytes) -> Duration {
    path.iter().map(|link| link.delay + link.rate.transmission_time(size)).sum()
}

/// Returns the time that a train of full segments and one last segment takes to cross a path of store-and-forward links.
///
/// The result is the sum of all propagation delays, plus a sum of transmission times that is maximised over all pairs of links *i* ≤ *j*.
/// In the second sum, the first segment, which has additional headers, crosses the links up to *i*, and the other full segments cross link
/// *i*. The last full segment then crosses the links after *i* up to *j*, and the last segment crosses link *j* and all later links.
fn store_and_forward(path: &[&Link], size: Bytes, segments: Segments) -> Duration {
    let Segments { data, overhead, once, at_end } = segments;
    let full = size.0.div_ceil(data.0).max(1) - 1;
    let last = size - data * full + overhead;
    if full == 0 {
        return crossing(path, last + once);
    }
    let last = last + at_end;
    let propagation: Duration = path.iter().map(|link| link.delay).sum();
    let times = |size: Bytes| path.iter().map(move |link| link.rate.transmission_time(size));
    let (mut of_first, mut of_full, mut longest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for (place, (first, time)) in times(data + overhead + once).zip(times(data + overhead)).enumerate() {
        of_first += first;
        of_full = (of_full + time).max(of_first + time * (full - 1));
        let after: Duration = times(last).skip(place).sum();
        longest = longest.max(of_full + after);
    }
    propagation + longest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shallows_core::Rate;
    use shallows_scenario::{NodeId, PortKind};

    use super::*;

    const SEGMENTS: Segments =
        Segments { data: Bytes(1_460), overhead: Bytes(40), once: Bytes(0), at_end: Bytes(0) };

    fn link(gbps: u64, delay: Duration) -> Link {
        Link {
            from: NodeId(0),
            to: NodeId(0),
            rate: Rate::from_gbps(gbps),
            delay,
            kind: PortKind::Up,
            port: 0,
            pool: 0,
            reserved: Bytes(0),
            reverse: 0,
            name: String::new(),
        }
    }

    #[test]
    fn a_short_last_segment_waits_for_the_full_one_before_it() {
        // 9 and 10 Gb/s, 9 and 10 ns; two full segments and one byte: 1,500, 1,500 and 41 bytes on the wire. The second segment leaves the
        // slower link after 2 · 1,333.3 ns, and the faster link 1,200 ns later. The last segment waits at the faster link for the second,
        // and its transmission takes 32.8 ns.
        let links = [link(9, Duration::from_nanos(9)), link(10, Duration::from_nanos(10))];
        let found = store_and_forward(&[&links[0], &links[1]], Bytes(2_921), SEGMENTS);
        let expected = 2_666_667 + 9_000 + 1_200_000 + 32_800 + 10_000;
        assert!(found.0.abs_diff(expected) <= 3, "{found}, times are rounded to picoseconds");
    }

    proptest! {
        /// Compares the result with the recursion for queues in tandem: a link begins to transmit a packet when the packet has arrived and
        /// the previous packet has been transmitted.
        #[test]
        fn the_bound_agrees_with_a_tandem_of_queues(
            gbps in prop::collection::vec(1u64..100, 1..5),
            size in 1u64..40_000,
            once in 0u64..40,
            at_end in 0u64..40,
        ) {
            let links: Vec<Link> = gbps.iter().map(|&gbps| link(gbps, Duration::from_nanos(gbps))).collect();
            let path: Vec<&Link> = links.iter().collect();
            let segments = Segments { once: Bytes(once), at_end: Bytes(at_end), ..SEGMENTS };
            let Segments { data, overhead, .. } = segments;
            let mut extended = segments.once;
            let mut free = vec![0; links.len()];
            let mut left = size;
            let mut arrived = 0;
            while left > 0 {
                let payload = left.min(data.0);
                left -= payload;
                if left == 0 && size > data.0 {
                    extended = segments.at_end;
                }
                arrived = 0;
                for (link, free) in links.iter().zip(&mut free) {
                    *free = arrived.max(*free) + link.rate.transmission_time(Bytes(payload) + overhead + extended).0;
                    arrived = *free + link.delay.0;
                }
                extended = Bytes(0);
            }
            prop_assert_eq!(store_and_forward(&path, Bytes(size), segments), Duration(arrived));
        }
    }
}
