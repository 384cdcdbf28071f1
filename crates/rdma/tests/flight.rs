//! A network that delays, loses, duplicates and marks packets, for queue pairs with READs and with other operations.

use std::collections::BTreeMap;

use shallows_core::rdma::RdmaData;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_rdma::extended_headers;

/// Rate of the NIC's link: one byte takes one nanosecond.
pub(crate) const RATE: Rate = Rate::from_gbps(8);
/// One-way delay of the network.
pub(crate) const DELAY: Duration = Duration::from_micros(5);
/// Size of a packet on the wire in addition to its data.
pub(crate) const OVERHEAD: Bytes = Bytes(100);

/// Fate of a packet in the network.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) lost: bool,
    pub(crate) marked: bool,
    /// Delay in addition to [`DELAY`].
    pub(crate) extra: Duration,
    /// Delay of a second copy in addition to [`DELAY`]; `None` without a second copy.
    pub(crate) copy: Option<Duration>,
}

/// Packets in the network by their time of arrival, and whether they are marked; equal times keep the order of sending.
#[derive(Debug)]
pub(crate) struct Flight<P> {
    packets: BTreeMap<(Instant, u64), (P, bool)>,
    count: u64,
}

impl<P: Copy> Flight<P> {
    /// Creates a network without packets.
    pub(crate) fn new() -> Self {
        Self { packets: BTreeMap::new(), count: 0 }
    }

    /// Sends a packet, which has this fate.
    pub(crate) fn send(&mut self, now: Instant, fate: Fate, packet: P) {
        let copies = [Some(fate.extra), fate.copy].into_iter().flatten().filter(|_| !fate.lost);
        for extra in copies {
            self.count += 1;
            self.packets.insert((now + DELAY + extra, self.count), (packet, fate.marked));
        }
    }

    /// Returns the time of the next arrival.
    pub(crate) fn next_arrival(&self) -> Option<Instant> {
        self.packets.first_key_value().map(|((at, _), _)| *at)
    }

    /// Returns the next packet that has arrived by `now`, and whether it is marked.
    pub(crate) fn land(&mut self, now: Instant) -> Option<(P, bool)> {
        let entry = self.packets.first_entry().filter(|entry| entry.key().0 <= now)?;
        Some(entry.remove())
    }
}

/// Returns the time of a packet with data on the wire at line rate.
pub(crate) fn time_on_wire(data: &RdmaData) -> Duration {
    RATE.transmission_time(Bytes(u64::from(data.len)) + OVERHEAD + extended_headers(data))
}

/// Checks that a packet with data follows the previous one by at least its time on the wire at line rate.
pub(crate) fn check_spacing(last: Option<&RdmaData>, data: &RdmaData) {
    let Some(last) = last else { return };
    assert!(data.sent_at >= last.sent_at + time_on_wire(last), "{data:?} follows too early");
}
