//! Hashed Credits Fair: flows that were not served recently go first, without a queue or counter per flow.
//!
//! Source: HCF (Shpiner, Keslassy et al., "A Switch-Based Approach to Throughput Collapse and Starvation in Data
//! Centers"; short version IWQoS '10). Every step takes O(1) time and touches at most one bin per hash.

mod config;
mod credits;

pub use config::{Config, Division, Footnote, InitialCredits, Period, Rekey, Sizes, Swap};
use credits::Credits;
use shallows_core::packet::{Header, mix};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant};

use super::flow_hash::spread;
use super::interface::Discipline;
use super::periodic::Periodic;
use crate::buffer::Limit;
use crate::queue::{DropReason, Item, Left, QueueState, Reading};
use crate::ring::Ring;

/// Two queues of high and low priority (HP, LP) that swap roles, and credits for each bin. The port treats both as one queue.
#[derive(Clone, Debug)]
pub struct Hcf<T> {
    queues: [HashedQueue<T>; 2],
    /// Index of HP, the queue of high priority.
    high: usize,
    /// Contents of both queues together, because the port treats them as one queue.
    total: [QueueState; 1],
    capacity: u64,
    /// Whether capacity and sizes are in bytes instead of packets.
    in_bytes: bool,
    credits: Credits,
    /// Whether credits are in bytes instead of packets.
    credits_in_bytes: bool,
    seed: u64,
    hashes: u32,
    /// Clock of the fixed period; `None` if the period is dynamic.
    clock: Option<Periodic>,
    rekey: Rekey,
    footnote: Footnote,
    swap: Swap,
    sizes_swap: bool,
    pushes_out: bool,
    swaps: u64,
    stream: Stream,
    /// Distinct bins of the last packet passed to [`Self::find_bins`].
    bins: Vec<usize>,
    /// Queue that the last call of `place` chose.
    placed: usize,
}

#[derive(Clone, Debug)]
struct HashedQueue<T> {
    ring: Ring<Item<T>>,
    backlog: Bytes,
    /// Bytes or packets in the queue, in the unit of the capacity.
    used: u64,
    size: u64,
}

impl<T: Copy + Default> HashedQueue<T> {
    fn new(size: u64) -> Self {
        Self { ring: Ring::new(), backlog: Bytes(0), used: 0, size }
    }
}

/// Returns the bytes of the simulator's memory that a port needs for its bins and for a list of the bins that one packet uses.
pub(super) fn footprint(config: &Config) -> u64 {
    credits::footprint(config.bins) + u64::from(config.hashes) * size_of::<usize>() as u64
}

impl<T: Copy + Default> Hcf<T> {
    /// Creates empty queues at the start of a period, with hashes drawn from `stream`.
    ///
    /// # Panics
    ///
    /// Panics if the number of bins, the number of hashes, the credits, or the size of HP or LP is zero.
    pub fn new(config: &Config, stream: Stream) -> Self {
        config.check();
        let (initial, credits_in_bytes) = match config.credits {
            InitialCredits::Packets(packets) => (u64::from(packets), false),
            InitialCredits::Bytes(bytes) => (bytes.0, true),
        };
        let mut hcf = Self {
            queues: config.sizes().map(HashedQueue::new),
            high: 0,
            total: [QueueState::default()],
            capacity: config.capacity(),
            in_bytes: matches!(config.limit, Limit::Bytes(_)),
            credits: Credits::new(config.bins as usize, initial),
            credits_in_bytes,
            seed: 0,
            hashes: config.hashes,
            clock: match config.period {
                Period::Dynamic => None,
                Period::Fixed(period) => Some(Periodic::new(period)),
            },
            rekey: config.rekey,
            footnote: config.footnote,
            swap: config.swap,
            sizes_swap: config.sizes_swap(),
            pushes_out: config.division == Division::Dynamic,
            swaps: 0,
            stream,
            bins: Vec::with_capacity(config.hashes as usize),
            placed: 0,
        };
        hcf.rehash(Instant::ZERO);
        hcf
    }

    /// Begins a new period at `start` (Algorithm 1, init()).
    fn begin_period(&mut self, start: Instant) {
        self.credits.renew();
        self.rehash(start);
    }

    fn rehash(&mut self, start: Instant) {
        self.seed = match self.rekey {
            Rekey::Drawn => self.stream.next_u64(),
            Rekey::PeriodStart => start.0,
        };
    }

    /// Begins a new period if a multiple of the fixed period has passed (§4.3).
    #[inline(always)]
    fn follow_clock(&mut self, now: Instant) {
        if let Some(start) = self.clock.as_mut().and_then(|clock| clock.due(now)) {
            self.begin_period(start);
        }
    }

    /// Stores the bins of a packet in `bins` (Algorithm 1, f). A bin that two hashes share is stored once, because §4.1 counts the bins
    /// of a packet and not its hashes.
    #[inline(always)]
    fn find_bins(&mut self, header: &Header) {
        self.bins.clear();
        let mut hash = header.five_tuple_hash(self.seed);
        for _ in 0..self.hashes {
            let bin = spread(hash, self.credits.len());
            if !self.bins.contains(&bin) {
                self.bins.push(bin);
            }
            hash = mix(hash);
        }
    }

    #[inline(always)]
    fn low(&self) -> usize {
        1 - self.high
    }

    /// Returns the part of the capacity that a packet of `size` takes.
    #[inline(always)]
    fn measure(&self, size: Bytes) -> u64 {
        if self.in_bytes { size.0 } else { 1 }
    }

    /// Returns whether the buffer has room for a packet.
    #[inline(always)]
    fn has_room(&self, size: Bytes) -> bool {
        self.queues[0].used + self.queues[1].used + self.measure(size) <= self.capacity
    }

    /// Returns whether a packet fits in `queue` without exceeding the queue's size.
    #[inline(always)]
    fn fits(&self, queue: usize, size: Bytes) -> bool {
        let HashedQueue { used, size: limit, .. } = self.queues[queue];
        used + self.measure(size) <= limit
    }

    /// Returns the queue for the packet whose bins [`Self::find_bins`] has stored, or the reason for refusing it (Algorithm 1,
    /// arrive(p)).
    #[inline(always)]
    fn choose(&self, size: Bytes) -> Result<usize, DropReason> {
        if !self.has_room(size) {
            return Err(DropReason::PortLimit);
        }
        if self.fits(self.high, size) && self.credits.any(&self.bins) {
            Ok(self.high)
        } else if self.fits(self.low(), size) {
            Ok(self.low())
        } else {
            Err(DropReason::QueueLimit)
        }
    }

    /// Charges a packet of `size` to its bins, which [`Self::find_bins`] has stored. The packet joins the queue `placed`.
    #[inline(always)]
    fn charge(&mut self, size: Bytes) {
        if self.placed == self.high {
            let cost = if self.credits_in_bytes { size.0 } else { 1 };
            self.credits.spend(&self.bins, cost);
        } else if self.footnote == Footnote::Applied {
            self.credits.forfeit(&self.bins);
        }
    }

    /// Subtracts `item`, which has left `queue`, from the accounts.
    #[inline(always)]
    fn account_left(&mut self, queue: usize, item: Item<T>) -> Left<T> {
        let size = item.header.size();
        self.queues[queue].used -= self.measure(size);
        self.queues[queue].backlog -= size;
        self.total[0].packets -= 1;
        self.total[0].backlog -= size;
        Left { item, queue: 0, ends_turn: false }
    }

    /// Handles a departure that leaves HP empty: swaps the queues, begins a new period, or both, as configured (Algorithm 1, transmit()).
    fn high_became_empty(&mut self, now: Instant) {
        if self.swap == Swap::WhenEmpty {
            self.swaps += 1;
            self.high = self.low();
            if !self.sizes_swap {
                let [first, second] = &mut self.queues;
                std::mem::swap(&mut first.size, &mut second.size);
            }
        }
        if self.clock.is_none() {
            self.begin_period(now);
        }
    }
}

impl<T: Copy + Default> Discipline<T> for Hcf<T> {
    /// Removes a packet from the tail of LP for a packet that belongs in HP (§4.4, dynamic division). With sizes in bytes, repeated calls
    /// remove as many packets as necessary. A call removes a packet only if the arriving packet would fit once LP is empty.
    #[inline(always)]
    fn push_out(&mut self, now: Instant, arriving: &Header) -> Option<Left<T>> {
        if !self.pushes_out || self.has_room(arriving.size()) || !self.fits(self.high, arriving.size()) {
            return None;
        }
        self.follow_clock(now);
        self.find_bins(arriving);
        if !self.credits.any(&self.bins) {
            return None;
        }
        let low = self.low();
        let item = self.queues[low].ring.pop_back()?;
        Some(self.account_left(low, item))
    }

    #[inline(always)]
    fn place(&mut self, now: Instant, header: &Header) -> Result<usize, DropReason> {
        self.follow_clock(now);
        self.find_bins(header);
        self.placed = self.choose(header.size())?;
        Ok(0)
    }

    #[inline(always)]
    fn enqueue(&mut self, _queue: usize, item: Item<T>) {
        let size = item.header.size();
        self.charge(size);
        let measure = self.measure(size);
        let queue = &mut self.queues[self.placed];
        queue.used += measure;
        queue.backlog += size;
        queue.ring.push(item);
        self.total[0].packets += 1;
        self.total[0].backlog += size;
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant) -> Option<Left<T>> {
        let high = self.high;
        if let Some(item) = self.queues[high].ring.pop() {
            let left = self.account_left(high, item);
            if self.queues[high].ring.is_empty() {
                self.high_became_empty(now);
            }
            return Some(left);
        }
        // Neither a swap nor a new period: Algorithm 1 starts those only after HP has sent.
        let low = self.low();
        let item = self.queues[low].ring.pop()?;
        Some(self.account_left(low, item))
    }

    #[inline(always)]
    fn pass(&mut self, now: Instant, _queue: usize, size: Bytes) -> Option<bool> {
        self.charge(size);
        if self.placed == self.high {
            self.high_became_empty(now);
        }
        Some(false)
    }

    fn peek(&mut self, _now: Instant) -> Option<Bytes> {
        let next = self.queues[self.high].ring.front().or(self.queues[self.low()].ring.front());
        next.map(|item| item.header.size())
    }

    #[inline(always)]
    fn queues(&self) -> &[QueueState] {
        &self.total
    }

    fn observe(&self, tell: &mut dyn FnMut(Reading)) {
        let [high, low] = [self.high, self.low()].map(|queue| &self.queues[queue]);
        for (quantity, value) in [
            ("high_priority_bytes", high.backlog.0),
            ("high_priority_packets", high.ring.len() as u64),
            ("low_priority_bytes", low.backlog.0),
            ("low_priority_packets", low.ring.len() as u64),
            ("credits_left", self.credits.total()),
            ("queue_swaps", self.swaps),
            ("priority_periods", self.credits.period()),
        ] {
            tell(Reading { quantity, queue: None, value: value as f64 });
        }
    }
}

#[cfg(test)]
mod tests;
