//! Helpers that call a discipline directly, for tests.

use proptest::prelude::*;
use shallows_core::packet::{Header, HostId};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant};

use super::interface::Discipline;
use crate::queue::{DropReason, Item};

/// Returns a packet of 1,000 bytes of this flow; flows differ in sender and ports.
pub(crate) fn packet(flow: u32) -> Header {
    Header::new(HostId(flow), HostId(1_000)).with_ports(flow as u16, 80).with_size(1_000)
}

/// Returns a stream of random numbers.
pub(crate) fn stream(seed: u64) -> Stream {
    Stream::new(seed, "discipline", 0)
}

/// Offers a packet to `discipline`, as a port with an unlimited buffer does. The payloads of waiting packets that are pushed out are
/// added to `pushed`.
pub(crate) fn offer<T: Copy + Default>(
    discipline: &mut impl Discipline<T>,
    now: Instant,
    header: Header,
    payload: T,
    pushed: &mut Vec<T>,
) -> Result<(), DropReason> {
    while let Some(left) = discipline.push_out(now, &header) {
        pushed.push(left.item.payload);
    }
    let queue = discipline.place(now, &header)?;
    discipline.enqueue(queue, Item { header, payload, enqueued_at: now, ..Item::default() });
    Ok(())
}

/// Offers a packet at time zero. Panics if a waiting packet is pushed out.
pub(crate) fn join<T: Copy + Default + PartialEq + std::fmt::Debug>(
    discipline: &mut impl Discipline<T>,
    header: Header,
    payload: T,
) -> Result<(), DropReason> {
    join_at(discipline, Instant::ZERO, header, payload)
}

/// Offers a packet at time `now`. Panics if a waiting packet is pushed out.
pub(crate) fn join_at<T: Copy + Default + PartialEq + std::fmt::Debug>(
    discipline: &mut impl Discipline<T>,
    now: Instant,
    header: Header,
    payload: T,
) -> Result<(), DropReason> {
    let mut pushed = vec![];
    let joined = offer(discipline, now, header, payload, &mut pushed);
    assert_eq!(pushed, []);
    joined
}

/// Removes the next packet for the link, and returns its payload.
pub(crate) fn send<T>(discipline: &mut impl Discipline<T>) -> Option<T> {
    discipline.dequeue(Instant::ZERO).map(|left| left.item.payload)
}

/// Removes all waiting packets, and returns their payloads in the order in which the packets are sent.
pub(crate) fn drain<T>(discipline: &mut impl Discipline<T>) -> Vec<T> {
    std::iter::from_fn(|| send(discipline)).collect()
}

/// Returns the value of `quantity` that the discipline reports.
pub(crate) fn reading<T>(discipline: &impl Discipline<T>, quantity: &str) -> f64 {
    let mut value = None;
    discipline.observe(&mut |reading| {
        if reading.quantity == quantity {
            value = Some(reading.value);
        }
    });
    value.unwrap_or_else(|| panic!("nothing told of {quantity}"))
}

/// Returns the numbers of bytes and packets that wait in a discipline with a single account.
pub(crate) fn held<T>(discipline: &impl Discipline<T>) -> (Bytes, u32) {
    let [state] = discipline.queues() else { panic!("one account") };
    (state.backlog, state.packets)
}

/// An arrival or a departure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) flow: u32,
    pub(crate) size: u16,
    pub(crate) arrives: bool,
    /// Time since the previous step.
    pub(crate) wait: u64,
}

/// Generates random steps of this many flows, with slightly more arrivals than departures.
pub(crate) fn steps(flows: u32, count: usize) -> impl Strategy<Value = Vec<Step>> {
    let step = (0..flows, prop_oneof![Just(1_500u16), 64..1_500u16], 0..9, 0..40u64)
        .prop_map(|(flow, size, arrives, wait)| Step { flow, size, arrives: arrives < 5, wait });
    prop::collection::vec(step, 1..count)
}
