//! A partition of the network: its own world, its own events, and what it hears from the others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shallows_core::event::EventQueue;
use shallows_core::{Duration, Instant};

use crate::hosts::packet::Packets;
use crate::network::event::Event;
use crate::run::crossing::Crossings;
use crate::run::world::World;
use crate::traffic::Newcomer;

/// A partition of the network, or all of it.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) world: World,
    pub(crate) queue: EventQueue<Event>,
    /// The bodies of packets under way, which it shares with the other partitions of its thread; in its world while it runs.
    store: Arc<Mutex<Packets>>,
    /// In how many windows it has lived.
    pub(crate) visits: u64,
    /// Whether as much happened in the last of them as it has links, so that most of it will be needed in the next.
    is_busy: bool,
}

/// Mail of one window: written in the one before by any partition, and read by each for itself.
#[derive(Debug, Default)]
pub(crate) struct Mail(Vec<Letterbox>);

/// The letters for one partition.
#[derive(Debug)]
struct Letterbox {
    letters: Mutex<Letters>,
    /// When the first thing happens that one of them tells of; `Instant::MAX` if there is none.
    first: AtomicU64,
}

#[derive(Debug, Default)]
struct Letters {
    /// Packets of each partition that has sent some.
    crossings: Vec<Crossings>,
    /// Empty ones, for those who send next.
    spare: Vec<Crossings>,
    flows: Vec<Newcomer>,
}

impl Partition {
    pub(crate) fn new(world: World, queue: EventQueue<Event>, store: Arc<Mutex<Packets>>) -> Self {
        Self { world, queue, store, visits: 0, is_busy: false }
    }

    /// Others have run since it did, so that its state has left the cache: have the processor load it.
    pub(crate) fn prefetch(&self) {
        if self.is_busy {
            self.queue.prefetch();
            self.world.prefetch();
        }
    }

    /// Read the mail, live until `until`, and write to the others.
    pub(crate) fn run(&mut self, until: Instant, mail: &Mail, next_mail: &Mail, number: usize) {
        self.visits += 1;
        let before = self.events();
        let store = Arc::clone(&self.store);
        let mut packets = store.lock().unwrap_or_else(PoisonError::into_inner);
        self.world.exchange_packets(&mut packets);
        self.read_into(mail, number);
        self.world.run(&mut self.queue, until, u64::MAX);
        self.is_busy = self.events() - before >= self.world.links() as u64;
        for (partition, newcomer) in self.world.collect_newcomers() {
            // It is read in the next window, before its packets come.
            next_mail.announce(partition, newcomer, until + Duration(1));
        }
        self.world.collect_crossings(|partition, left| next_mail.send(partition, left));
        self.world.exchange_packets(&mut packets);
    }

    /// Puts the packets that others have sent on their way to the nodes of this partition.
    pub(crate) fn read(&mut self, mail: &Mail, number: usize) {
        let store = Arc::clone(&self.store);
        let mut packets = store.lock().unwrap_or_else(PoisonError::into_inner);
        self.world.exchange_packets(&mut packets);
        self.read_into(mail, number);
        self.world.exchange_packets(&mut packets);
    }

    /// Puts them on their way while the store is in the world.
    fn read_into(&mut self, mail: &Mail, number: usize) {
        if mail.first(number) == Instant::MAX {
            return;
        }
        let Self { world, queue, .. } = self;
        let mut letters = mail.0[number].open();
        let Letters { crossings, spare, flows } = &mut *letters;
        for mut sent in crossings.drain(..) {
            world.enter(&mut sent, queue);
            spare.push(sent);
        }
        flows.drain(..).for_each(|newcomer| world.announce(newcomer, queue));
        mail.0[number].first.store(Instant::MAX.0, Ordering::Relaxed);
    }

    /// Whether both have the same packet store.
    pub(crate) fn shares_store_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.store, &other.store)
    }

    /// How many bodies of packets its store holds.
    pub(crate) fn stored(&self) -> usize {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Events that have fired at its nodes.
    pub(crate) fn events(&self) -> u64 {
        self.world.events(&self.queue) - self.world.tally().events_of_no_node
    }
}

impl Mail {
    /// None so far, for so many partitions.
    pub(crate) fn new(partitions: usize) -> Self {
        let empty = || Letterbox { letters: Mutex::default(), first: AtomicU64::new(Instant::MAX.0) };
        Self((0..partitions).map(|_| empty()).collect())
    }

    /// When the first thing happens that the partition with this number has not read of.
    pub(crate) fn first(&self, partition: usize) -> Instant {
        Instant(self.0[partition].first.load(Ordering::Relaxed))
    }

    /// A flow for the partition with this number, of which that hears no later than at `at`.
    pub(crate) fn announce(&self, partition: u32, newcomer: Newcomer, at: Instant) {
        let letters = &self.0[partition as usize];
        letters.tell_of(at);
        letters.open().flows.push(newcomer);
    }

    /// Packets for the partition with this number; there is one at least.
    fn send(&self, partition: u32, packets: &mut Crossings) {
        let letterbox = &self.0[partition as usize];
        letterbox.tell_of(packets.first());
        let mut letters = letterbox.open();
        let spare = letters.spare.pop().unwrap_or_default();
        letters.crossings.push(std::mem::replace(packets, spare));
    }
}

impl Letterbox {
    fn open(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_of(&self, at: Instant) {
        self.first.fetch_min(at.0, Ordering::Relaxed);
    }
}
