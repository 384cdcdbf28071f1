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
    /// Number of connections that have ended with an error. They stay busy.
    ended: usize,
}

impl Pool {
    /// Returns the number of connections.
    pub fn size(&self) -> usize {
        self.slots.len()
    }

    /// Returns whether all connections have ended with an error.
    pub fn is_dead(&self) -> bool {
        self.ended > 0 && self.ended == self.size()
    }

    /// Records that a busy connection has ended with an error. Returns the flows that wait in vain: all, if it was the last connection.
    pub fn end(&mut self) -> VecDeque<u32> {
        self.ended += 1;
        if self.is_dead() { std::mem::take(&mut self.waiting) } else { VecDeque::new() }
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

    #[test]
    fn flows_wait_until_the_last_connection_has_ended() {
        let mut pool = Pool::default();
        pool.add(0);
        pool.add(1);
        assert_eq!((pool.take(), pool.take(), pool.is_dead()), (Some(0), Some(1), false));
        pool.queue(7);
        pool.queue(8);
        assert_eq!((pool.end().len(), pool.free(1), pool.is_dead()), (0, Some(7), false));
        assert_eq!((pool.end(), pool.is_dead()), (VecDeque::from([8]), true));
    }
}
