//! Persistent connections of a pair of hosts: idle connections, and flows that wait for one. No operation iterates over all connections.

use std::collections::{BTreeSet, VecDeque};

/// Persistent connections of a workload from one host to another.
#[derive(Debug, Default)]
pub struct Pool {
    /// Slots of all connections, in the order in which they were opened.
    slots: Vec<u32>,
    /// Indices in `slots` of the idle connections.
    idle: BTreeSet<u32>,
    /// Flows that wait because all connections are busy.
    waiting: VecDeque<u32>,
}

impl Pool {
    /// Returns the number of connections.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// Adds a flow that waits until a connection is free.
    pub fn queue(&mut self, flow: u32) {
        self.waiting.push_back(flow);
    }

    /// Adds an idle connection in this slot; returns its place.
    ///
    /// # Panics
    ///
    /// With 2^32 connections, for which no machine has memory.
    pub fn add(&mut self, slot: u32) -> u32 {
        let place = u32::try_from(self.slots.len()).expect("fewer than 2^32 connections of a host");
        self.slots.push(slot);
        self.idle.insert(place);
        place
    }

    /// Returns the slot of the idle connection that was opened first, and marks it as busy.
    pub fn take(&mut self) -> Option<u32> {
        self.idle.pop_first().map(|place| self.slots[place as usize])
    }

    /// Releases the connection at this place. Returns the flow that uses it next; if no flow waits, the connection becomes idle.
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
        // A waiting flow takes the next free connection, which then does not become idle.
        pool.queue(11);
        assert_eq!((pool.free(1), pool.take(), pool.take(), pool.size()), (Some(11), Some(5), None, 3));
    }
}
