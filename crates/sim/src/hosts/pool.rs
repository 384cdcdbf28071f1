//! Persistent connections of a pair of hosts: which of them is idle, and which flows wait for one. No operation visits all of them.

use std::collections::{BTreeSet, VecDeque};

/// The persistent connections of a workload from one host to another.
#[derive(Debug, Default)]
pub struct Pool {
    /// Slots of all of them, in the order in which they were opened.
    slots: Vec<u32>,
    /// Places in that order of those that are idle.
    idle: BTreeSet<u32>,
    /// Flows that wait because all are busy.
    waiting: VecDeque<u32>,
}

impl Pool {
    /// How many connections it has.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// A flow waits until a connection is free.
    pub fn queue(&mut self, flow: u32) {
        self.waiting.push_back(flow);
    }

    /// One more connection, in this slot and idle; returns its place.
    ///
    /// # Panics
    ///
    /// With 2^32 connections, for which no machine has room.
    pub fn add(&mut self, slot: u32) -> u32 {
        let place = u32::try_from(self.slots.len()).expect("fewer than 2^32 connections of a host");
        self.slots.push(slot);
        self.idle.insert(place);
        place
    }

    /// The slot of the idle connection that was opened first, which is busy from now on.
    pub fn take(&mut self) -> Option<u32> {
        self.idle.pop_first().map(|place| self.slots[place as usize])
    }

    /// The connection at this place is free: returns the flow that has waited for it, or it is idle.
    pub fn free(&mut self, place: u32) -> Option<u32> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.idle.insert(place);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_takes_the_idle_connection_that_was_opened_first() {
        let mut pool = Pool::default();
        let places = [7, 3, 5].map(|slot| pool.add(slot));
        assert_eq!(places, [0, 1, 2]);
        assert_eq!([pool.take(), pool.take(), pool.take(), pool.take()], [Some(7), Some(3), Some(5), None]);
        assert_eq!((pool.free(2), pool.free(0)), (None, None));
        assert_eq!(pool.take(), Some(7));
        // A flow that waits takes the next connection that is free, which is not idle then.
        pool.queue(11);
        assert_eq!((pool.free(1), pool.take(), pool.take(), pool.size()), (Some(11), Some(5), None, 3));
    }
}
