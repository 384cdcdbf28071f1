//! Packets on their way, by the window in which they arrive: those to each switch by themselves, those to hosts together.
//!
//! Within a window no switch can reach another, because a window is no longer than the shortest delay of a link. So a switch takes
//! all packets that arrive in a window at once ([`crate::network::visit`]).

use shallows_core::packet::Header;
use shallows_core::{Duration, Instant};

use crate::network::sorter::Sorter;

/// Windows that have places of their own. A packet that arrives after them waits in the last one and is placed again.
const SLOTS: u64 = 16;

/// The longest window: sixteen times its square is below 2^64.
const LONGEST: Duration = Duration(1 << 29);

const _: () = assert!(LONGEST.0 <= Sorter::LONGEST.0);

/// A packet on its way to a switch or a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving<T> {
    pub(crate) at: Instant,
    pub(crate) header: Header,
    pub(crate) payload: T,
    /// Place of the link that carries it, among the far ends.
    pub(crate) wire: u32,
}

/// The packets, and the window that is open.
#[derive(Debug)]
pub(crate) struct Calendar<T> {
    window: Duration,
    /// 2^64 over the length of a window, rounded up: a product with it is a division.
    reciprocal: u64,
    /// Windows since time zero before the one that is open.
    number: u64,
    start: Instant,
    /// How long after its start packets wait in a window of their own.
    reach: u64,
    /// In each slot.
    count: usize,
    /// By slot and number.
    buckets: Vec<Vec<Arriving<T>>>,
    /// By slot: the buckets that hold something.
    due: Vec<Vec<u32>>,
    /// Bit *s*: whether slot *s* has any.
    occupied: u64,
    /// Empty buckets with room: the one that was used last is used next, while it is warm.
    spare: Vec<Vec<Arriving<T>>>,
}

impl<T: Copy> Calendar<T> {
    /// An empty one with so many `buckets`, for a network in which the shortest delay of a link is `shortest`.
    ///
    /// # Panics
    ///
    /// If that is zero.
    pub(crate) fn new(shortest: Duration, buckets: u32) -> Self {
        let window = shortest.min(LONGEST);
        assert!(window > Duration::ZERO, "a window has a length");
        Self {
            window,
            reciprocal: u64::try_from((1_u128 << 64).div_ceil(u128::from(window.0))).unwrap_or(u64::MAX),
            number: 0,
            start: Instant::ZERO,
            reach: (SLOTS - 1) * window.0,
            count: buckets as usize,
            buckets: (0..SLOTS as usize * buckets as usize).map(|_| Vec::new()).collect(),
            due: vec![Vec::new(); SLOTS as usize],
            occupied: 0,
            spare: Vec::new(),
        }
    }

    /// How long a window is.
    pub(crate) fn window(&self) -> Duration {
        self.window
    }

    /// When the window that is open began.
    #[inline]
    pub(crate) fn start(&self) -> Instant {
        self.start
    }

    /// Open the window that contains `now`, unless a later one is open; returns its last instant. No packet may arrive before it.
    #[inline]
    pub(crate) fn open(&mut self, now: Instant) -> Instant {
        let next = self.start + self.window;
        if now >= next {
            self.number = now.0 / self.window.0;
            self.start = Instant(self.number * self.window.0);
        }
        Instant(self.start.0 + self.window.0 - 1)
    }

    /// How many windows after the open one `at` lies, at most the last one that has a place.
    #[inline(always)]
    fn ahead(&self, at: Instant) -> u64 {
        let distance = at.0 - self.start.0;
        if distance >= self.reach {
            return SLOTS - 1;
        }
        // Exact: the distance times the error of the reciprocal, which is below the length of a window, is below 2^64.
        ((u128::from(distance) * u128::from(self.reciprocal)) >> 64) as u64
    }

    /// A packet is on its way, and does not arrive before the open window.
    #[inline(always)]
    pub(crate) fn place(&mut self, number: u32, packet: Arriving<T>) {
        let slot = (self.number + self.ahead(packet.at)) % SLOTS;
        let bucket = &mut self.buckets[slot as usize * self.count + number as usize];
        if bucket.is_empty() {
            *bucket = self.spare.pop().unwrap_or_default();
            self.due[slot as usize].push(number);
            self.occupied |= 1 << slot;
        }
        bucket.push(packet);
    }

    fn slot(&self) -> usize {
        (self.number % SLOTS) as usize
    }

    /// The buckets that hold something for the open window. They are to be taken, or kept.
    pub(crate) fn take_due(&mut self) -> Vec<u32> {
        let slot = self.slot();
        self.occupied &= !(1 << slot);
        std::mem::take(&mut self.due[slot])
    }

    /// Take the packets of a bucket that arrive in the open window, and some that arrive later.
    #[inline]
    pub(crate) fn take(&mut self, number: u32) -> Vec<Arriving<T>> {
        let slot = self.slot();
        std::mem::take(&mut self.buckets[slot * self.count + number as usize])
    }

    /// A bucket is not taken yet.
    pub(crate) fn keep(&mut self, number: u32) {
        let slot = self.slot();
        if !self.buckets[slot * self.count + number as usize].is_empty() {
            self.due[slot].push(number);
            self.occupied |= 1 << slot;
        }
    }

    /// Packets that have been taken are on their way no longer.
    #[inline]
    pub(crate) fn recycle(&mut self, mut packets: Vec<Arriving<T>>) {
        packets.clear();
        self.spare.push(packets);
    }

    /// The buckets of [`Self::take_due`] have been taken or kept.
    pub(crate) fn recycle_due(&mut self, mut due: Vec<u32>) {
        due.clear();
        let slot = self.slot();
        if self.due[slot].is_empty() {
            self.due[slot] = due;
        }
    }

    /// A time before which no packet arrives; `Instant::MAX` if none is on its way.
    pub(crate) fn not_before(&self) -> Instant {
        if self.occupied == 0 {
            return Instant::MAX;
        }
        let slot = self.slot() as u64;
        let turned = self.occupied >> slot | (self.occupied & ((1 << slot) - 1)) << (SLOTS - slot);
        Instant(self.start.0 + u64::from(turned.trailing_zeros()) * self.window.0)
    }

    /// Take out the packets of one link, which are lost.
    pub(crate) fn take_of_wire(&mut self, wire: u32) -> Vec<Arriving<T>> {
        let mut lost = Vec::new();
        for bucket in &mut self.buckets {
            lost.extend(bucket.iter().filter(|packet| packet.wire == wire));
            bucket.retain(|packet| packet.wire != wire);
        }
        lost
    }

    /// Take out all packets, those of each link in the order in which they arrive.
    pub(crate) fn take_all(&mut self) -> Vec<Arriving<T>> {
        let mut packets: Vec<Arriving<T>> = self.buckets.iter_mut().flat_map(std::mem::take).collect();
        self.due.iter_mut().for_each(Vec::clear);
        self.occupied = 0;
        packets.sort_by_key(|packet| packet.at);
        packets
    }

    /// How many packets are on their way.
    pub(crate) fn len(&self) -> usize {
        self.buckets.iter().map(Vec::len).sum()
    }
}
