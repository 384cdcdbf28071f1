//! Weighted fair queueing: packets leave in the order in which an ideal fluid server would finish them.
//!
//! This is the WFQ of Demers, Keshav and Shenker (SIGCOMM '89), which MQ-ECN cites, with weights: PGPS of Parekh and Gallager (ToN '93)
//! [PG]. Its virtual time is that of GPS. [`super::SelfClocked`] implements definitions of virtual time that are cheaper to compute.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Instant, Rate};

use super::interface::{May, Scheduler};
use crate::queue::QueueState;
use crate::ring::Ring;

/// Definition of the virtual time by which `wfq` orders packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VirtualTime {
    /// Virtual time of GPS with the same arrivals, as in the original WFQ. A packet finishes later than under GPS by at most the
    /// transmission time of one packet.
    #[default]
    Gps,
    /// Tag of the packet on the wire, as in SCFQ (Golestani, INFOCOM '94). Compared with GPS, a packet may be delayed by one packet from
    /// every other queue.
    SelfClocked,
    /// Largest tag assigned so far, as in MQ-ECN's development code. A queue that becomes busy waits behind the heads of all other
    /// queues.
    AsReleased,
}

/// Work of sending one byte: 8 bit · 10¹² ps/s. Work is measured as rate (bit/s) times time (ps), so that it is an integer.
const BYTE: u64 = 8_000_000_000_000;

/// Returns the work of a packet. Sums need 128 bits, which are enough for 10²⁵ bytes; the work of one packet fits in 64 bits.
#[inline(always)]
fn work(size: Bytes) -> u64 {
    size.0.checked_mul(BYTE).expect("a packet is smaller than 2 MB")
}

/// Returns the virtual time that a packet takes: its work divided by the weight of its queue.
#[inline(always)]
pub(super) fn span(size: Bytes, weight: u32) -> u128 {
    u128::from(work(size) / u64::from(weight))
}

/// Returns the queue in `among` whose head has the smallest finish tag; in a tie, the first of them. Empty queues have the tag
/// [`NO_TAG`].
#[inline(always)]
pub(super) fn earliest(tags: &[u128], among: impl Iterator<Item = usize>) -> Option<usize> {
    let (mut queue, mut earliest) = (None, NO_TAG);
    for other in among {
        if tags[other] < earliest {
            (queue, earliest) = (Some(other), tags[other]);
        }
    }
    queue
}

/// Returns the numbers of the bits that are set, in ascending order.
#[inline(always)]
fn ones(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(first)
    })
}

/// Tag that stands for the missing head of an empty queue.
pub(super) const NO_TAG: u128 = u128::MAX;

/// Weighted fair queueing with the virtual time of GPS. Its cost is one pass over the waiting queues per packet.
#[derive(Clone, Debug)]
pub struct Wfq {
    /// Bit *q* is set if a packet waits in queue *q*.
    waiting: u64,
    /// Finish tag of the packet at the head of each queue in `waiting`.
    heads: Box<[u128]>,
    /// Finish tags of the packets behind the head of each queue.
    behind: Box<[Ring<u128>]>,
    gps: Gps,
}

impl Wfq {
    /// Creates a scheduler with one empty queue per weight, for a link of the given rate.
    ///
    /// # Panics
    ///
    /// Panics if a weight is zero, or if there are more than 64 queues.
    pub fn new(weights: &[u32], rate: Rate) -> Self {
        assert!(weights.len() <= 64, "the busy queues are the bits of one word");
        assert!(weights.iter().all(|&weight| weight > 0), "a queue without weight would never send");
        Self {
            waiting: 0,
            heads: vec![0; weights.len()].into(),
            behind: weights.iter().map(|_| Ring::new()).collect(),
            gps: Gps {
                rate,
                virtual_time: 0,
                queues: weights.iter().map(|&weight| (weight, 0)).collect(),
                latest: 0,
                busy: 0,
                weights: 0,
                next: NO_TAG,
                rest: 0,
                on_wire: Sending::default(),
            },
        }
    }
}

impl Scheduler for Wfq {
    #[inline(always)]
    fn on_enqueue(&mut self, now: Instant, queue: usize, size: Bytes, queues: &[QueueState]) {
        let tag = self.gps.arrival(now, queue, size);
        if queues[queue].packets == 1 {
            self.waiting |= 1 << queue;
            self.heads[queue] = tag;
        } else {
            self.behind[queue].push(tag);
        }
    }

    #[inline(always)]
    fn select(&mut self, _now: Instant, _queues: &[QueueState], may: impl May) -> Option<usize> {
        earliest(&self.heads, ones(self.waiting & may.bits()))
    }

    #[inline(always)]
    fn on_dequeue(&mut self, now: Instant, queue: usize, size: Bytes, _queues: &[QueueState]) -> bool {
        self.gps.departure(now, size);
        match self.behind[queue].pop() {
            Some(tag) => self.heads[queue] = tag,
            None => self.waiting &= !(1 << queue),
        }
        // WFQ has no rounds. MQ-ECN's rule for WFQ (§3.4) reads the weights of the busy queues instead.
        false
    }

    #[inline(always)]
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) -> Option<bool> {
        self.gps.pass(now, queue, size);
        Some(false)
    }

    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.gps.set_rate(now, rate);
    }
}

/// Virtual time of GPS. It advances with the work done and not with the clock, so it is also valid below strict priority or a shaper.
#[derive(Clone, Debug)]
struct Gps {
    rate: Rate,
    virtual_time: u128,
    /// Weight of each queue, and the virtual time at which GPS has sent all packets of the queue that have arrived so far.
    queues: Box<[(u32, u128)]>,
    /// Largest finish tag so far.
    latest: u128,
    /// Bit *q* is set if GPS still serves queue *q*.
    busy: u64,
    /// Sum of the weights of the queues in `busy`.
    weights: u64,
    /// Lower bound on the virtual time at which GPS next empties a queue in `busy`. An arrival can delay that time, but the bound is
    /// recomputed only once virtual time reaches the bound.
    next: u128,
    /// Work of the link that virtual time does not include yet, because it is less than `weights`.
    rest: u64,
    on_wire: Sending,
}

/// Packet whose transmission began last. It may still be on the wire.
#[derive(Clone, Copy, Debug, Default)]
struct Sending {
    since: Instant,
    work: u64,
    /// Part of `work` that virtual time already includes.
    counted: u64,
}

impl Gps {
    /// Returns the finish tag of an arriving packet, PG §III: F = max(F of its predecessor, V(now)) + L/w.
    #[inline(always)]
    fn arrival(&mut self, now: Instant, queue: usize, size: Bytes) -> u128 {
        self.count(self.done(now));
        let (weight, finish) = self.queues[queue];
        let tag = self.virtual_time.max(finish) + span(size, weight);
        self.queues[queue].1 = tag;
        self.latest = self.latest.max(tag);
        if finish <= self.virtual_time {
            self.busy |= 1 << queue;
            self.weights += u64::from(weight);
            self.next = self.next.min(tag);
        }
        tag
    }

    /// Has the effects of [`Self::arrival`] and [`Self::departure`] of one packet, when no other packet waits.
    #[inline(always)]
    fn pass(&mut self, now: Instant, queue: usize, size: Bytes) {
        if self.done(now) < self.on_wire.work {
            self.arrival(now, queue, size);
            self.departure(now, size);
            return;
        }
        // The link has done all its work, and so has GPS, which does the same work in the same time. Virtual time is then the largest tag.
        self.virtual_time = self.latest;
        let (weight, finish) = &mut self.queues[queue];
        *finish = self.latest + span(size, *weight);
        (self.busy, self.weights, self.rest) = (1 << queue, u64::from(*weight), 0);
        (self.latest, self.next) = (*finish, *finish);
        self.on_wire = Sending { since: now, work: work(size), counted: 0 };
    }

    /// Returns the work of the link on the packet on the wire by the time `now`.
    #[inline(always)]
    fn done(&self, now: Instant) -> u64 {
        let since = now.saturating_since(self.on_wire.since);
        let done = u128::from(since.0) * u128::from(self.rate.0);
        u64::try_from(done).unwrap_or(u64::MAX).min(self.on_wire.work)
    }

    /// Changes the rate. The transmission of the packet on the wire continues at the old rate, but virtual time advances at once by the
    /// work of the rest of the packet.
    fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.count(self.on_wire.work);
        self.on_wire = Sending { since: now, ..Sending::default() };
        self.rate = rate;
    }

    #[inline(always)]
    fn departure(&mut self, now: Instant, size: Bytes) {
        // The previous packet has left the wire, or was dropped before it entered the wire.
        self.count(self.on_wire.work);
        self.on_wire = Sending { since: now, work: work(size), counted: 0 };
    }

    /// Advances virtual time by the work of the link since the last call, because GPS does the same amount of work in the same time.
    /// `done` is the total work on the current packet so far.
    #[inline(always)]
    fn count(&mut self, done: u64) {
        let mut work = done - self.on_wire.counted + std::mem::take(&mut self.rest);
        self.on_wire.counted = done;
        // Tags are rounded down, so GPS may finish early by less than 10⁻¹² B per packet and unit of weight.
        while work > 0 && self.weights > 0 {
            // PG §III: V grows with work over the weights of the busy queues, until one of them finishes.
            let until_next = (self.next - self.virtual_time) * u128::from(self.weights);
            match u64::try_from(until_next) {
                Ok(until_next) if until_next <= work => {
                    self.virtual_time = self.next;
                    work -= until_next;
                    self.find_next();
                }
                _ => {
                    self.virtual_time += u128::from(work / self.weights);
                    self.rest = work % self.weights;
                    work = 0;
                }
            }
        }
    }

    /// Updates the set of queues that GPS still serves, and the next finish time.
    fn find_next(&mut self) {
        (self.weights, self.next) = (0, NO_TAG);
        for queue in ones(self.busy) {
            let (weight, finish) = self.queues[queue];
            if finish > self.virtual_time {
                self.weights += u64::from(weight);
                self.next = self.next.min(finish);
            } else {
                self.busy &= !(1 << queue);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Duration;

    use super::*;

    #[test]
    fn gps_is_idle_when_the_link_is() {
        let rate = Rate::from_gbps(100);
        let mut gps = Wfq::new(&[1; 4], rate).gps;
        (0..3).for_each(|queue| _ = gps.arrival(Instant::ZERO, queue, Bytes(1_000)));
        gps.departure(Instant::ZERO, Bytes(1_000));
        // In 1 ns, the link does 10¹⁴ of work, which three queues cannot share equally.
        gps.arrival(Instant(1_000), 3, Bytes(1_000));
        for packet in 1..4 {
            gps.departure(Instant::ZERO + Duration::from_nanos(80) * packet, Bytes(1_000));
        }
        assert_eq!((gps.weights, gps.busy.count_ones()), (4, 4));
        assert!(gps.rest > 0);
        let [mut passes, mut joins] = [gps.clone(), gps.clone()];
        let idle = Instant::ZERO + Duration::from_nanos(80) * 4;
        passes.pass(idle, 1, Bytes(500));
        joins.arrival(idle, 1, Bytes(500));
        joins.departure(idle, Bytes(500));
        assert_eq!(format!("{passes:?}"), format!("{joins:?}"));
        gps.count(gps.on_wire.work);
        assert_eq!((gps.weights, gps.virtual_time), (0, gps.latest));
    }
}
