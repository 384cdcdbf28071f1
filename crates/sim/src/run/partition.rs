//! A partition of the network with its simulated state and event queue, and the mail between partitions (packets and announced flows).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shallows_core::event::EventQueue;
use shallows_core::{Duration, Instant};

use crate::network::event::Event;
use crate::run::crossing::Crossings;
use crate::run::thread_memory::ThreadMemory;
use crate::run::world::World;
use crate::traffic::Newcomer;

/// One partition of the network, or the whole network.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) world: World,
    pub(crate) queue: EventQueue<Event>,
    /// Memory that all partitions of a thread share. While a partition runs, this memory is in the partition's world instead.
    pub(super) memory: Arc<Mutex<ThreadMemory>>,
    /// Number of time windows, or stages of long windows, that the partition has run.
    pub(crate) visits: u64,
    /// Whether the partition's last time window or stage had at least as many events as the partition has links. If so, the next window probably
    /// needs most of the partition's state.
    is_busy: bool,
}

/// Packets and announced flows that partitions receive in one time window or stage. Other partitions sent them in the previous one. Each
/// partition has a letterbox.
#[derive(Debug, Default)]
pub(crate) struct Mail(Vec<Letterbox>);

/// Letterbox of one partition: packets and flows that the partition has not yet received.
#[derive(Debug)]
#[repr(align(128))]
struct Letterbox {
    letters: Mutex<Letters>,
    /// Time of the first event that the letterbox will cause; `Instant::MAX` if the letterbox is empty.
    first: AtomicU64,
}

#[derive(Debug, Default)]
struct Letters {
    /// Packets from other partitions: one entry for each partition that has sent packets.
    crossings: Vec<Crossings>,
    /// Empty entries for reuse by partitions of other threads.
    spare: Vec<Crossings>,
    flows: Vec<Newcomer>,
}

impl Partition {
    pub(crate) fn new(world: World, queue: EventQueue<Event>, memory: Arc<Mutex<ThreadMemory>>) -> Self {
        Self { world, queue, memory, visits: 0, is_busy: false }
    }

    /// Prefetches the partition's state if its last time window had many events. The state left the cache while other partitions of the
    /// thread ran.
    pub(crate) fn prefetch(&self) {
        if self.is_busy {
            self.queue.prefetch();
            self.world.prefetch();
        }
    }

    /// Changes the length of the network's time windows. All events before `now` must have fired.
    pub(crate) fn set_window(&mut self, window: Duration, now: Instant) {
        self.world.set_window(window, now, &self.queue);
    }

    /// Starts to run switches in time windows, unless they already do. All events before `now` must have fired.
    pub(crate) fn run_by_window(&mut self, now: Instant) {
        self.world.run_by_window(now, &mut self.queue);
    }

    /// Reads letterbox `number` of `mail`, runs until the time `until`, and puts the mail for other partitions into `next_mail`. `stage` is
    /// the range of steps to run; `None` in a short window.
    pub(crate) fn run(
        &mut self,
        until: Instant,
        stage: Option<Range<usize>>,
        mail: &Mail,
        next_mail: &Mail,
        number: usize,
    ) {
        self.visits += 1;
        let before = self.events();
        let memory = Arc::clone(&self.memory);
        let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        self.world.exchange(&mut memory);
        if stage.is_some() {
            self.world.open_window(until);
        }
        self.read_into(mail, number);
        match stage {
            Some(steps) => self.world.run_stage(steps, until, &mut self.queue),
            None => _ = self.world.run(&mut self.queue, until, u64::MAX),
        }
        self.is_busy = self.events() - before >= self.world.links() as u64;
        for (partition, newcomer) in self.world.collect_newcomers() {
            // The partition of the receiver reads the announcement in the next time window or stage, before packets of the flow arrive there.
            next_mail.announce(partition, newcomer, until + Duration(1));
        }
        self.world.collect_crossings(|partition, left| next_mail.send(partition, left));
        self.world.exchange(&mut memory);
    }

    /// Reads letterbox `number` of `mail`: puts the packets on their links, and announces the flows. Must be called between time windows.
    pub(crate) fn read(&mut self, mail: &Mail, number: usize) {
        let memory = Arc::clone(&self.memory);
        let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
        self.world.exchange(&mut memory);
        self.read_into(mail, number);
        self.world.exchange(&mut memory);
    }

    /// Reads a letterbox like [`Self::read`]. The memory of the thread must already be in the partition's world.
    fn read_into(&mut self, mail: &Mail, number: usize) {
        if mail.first(number) == Instant::MAX {
            return;
        }
        let Self { world, queue, .. } = self;
        let mut letters = mail.0[number].open();
        let Letters { crossings, spare, flows } = &mut *letters;
        for sent in crossings.drain(..) {
            spare.extend(world.enter(sent, queue));
        }
        flows.drain(..).for_each(|newcomer| world.announce(newcomer, queue));
        mail.0[number].first.store(Instant::MAX.0, Ordering::Relaxed);
    }

    /// Returns whether both partitions belong to the same thread of the division.
    pub(crate) fn shares_memory_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.memory, &other.memory)
    }

    /// Returns the number of packet bodies of the partition's thread.
    pub(crate) fn stored(&self) -> usize {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner).packets.len()
    }

    /// Returns the number of events that have fired in the partition.
    pub(crate) fn fired(&self) -> u64 {
        self.world.events(&self.queue)
    }

    /// Returns the number of events that have fired at the partition's hosts and switches.
    pub(crate) fn events(&self) -> u64 {
        self.fired() - self.world.tally().events_of_no_node
    }
}

impl Mail {
    /// Returns empty letterboxes for this number of partitions.
    pub(crate) fn new(partitions: usize) -> Self {
        let empty = || Letterbox { letters: Mutex::default(), first: AtomicU64::new(Instant::MAX.0) };
        Self((0..partitions).map(|_| empty()).collect())
    }

    /// Returns the time of the earliest event that this partition's mail will cause; `Instant::MAX` without mail.
    pub(crate) fn first(&self, partition: usize) -> Instant {
        Instant(self.0[partition].first.load(Ordering::Relaxed))
    }

    /// Announces a flow to this partition, which must read the announcement by the time `at`.
    pub(crate) fn announce(&self, partition: u32, newcomer: Newcomer, at: Instant) {
        let letters = &self.0[partition as usize];
        letters.tell_of(at);
        letters.open().flows.push(newcomer);
    }

    /// Moves packets, at least one, to the letterbox of this partition.
    fn send(&self, partition: u32, packets: &mut Crossings) {
        let letterbox = &self.0[partition as usize];
        letterbox.tell_of(packets.first());
        let mut letters = letterbox.open();
        // Lists to partitions of the same thread come from the memory of the thread.
        let spare = if packets.is_far { letters.spare.pop() } else { None };
        letters.crossings.push(std::mem::replace(packets, spare.unwrap_or_default()));
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

#[cfg(test)]
mod tests {
    use shallows_core::packet::{Header, HostId};

    use super::*;
    use crate::hosts::packet::PacketRef;
    use crate::network::Arriving;

    #[test]
    fn only_lists_to_other_threads_are_replaced_by_lists_that_came_from_there() {
        let mail = Mail::new(1);
        let list = |is_far, at| {
            let header = Header::new(HostId(0), HostId(1));
            let packet = Arriving { at: Instant(at), header, payload: PacketRef::NONE, wire: 0 };
            Crossings { packets: vec![packet], is_far, ..Crossings::default() }
        };
        mail.0[0].open().spare.push(Crossings { packets: Vec::with_capacity(90), ..Crossings::default() });
        let mut near = list(false, 7);
        mail.send(0, &mut near);
        assert_eq!((near.packets.capacity(), mail.first(0)), (0, Instant(7)));
        let mut far = list(true, 5);
        mail.send(0, &mut far);
        assert!(far.packets.is_empty() && far.packets.capacity() >= 90);
        let letters = mail.0[0].open();
        assert_eq!((letters.crossings.len(), letters.spare.len(), mail.first(0)), (2, 0, Instant(5)));
    }
}
