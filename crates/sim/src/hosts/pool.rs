//! Pools of persistent connections between two hosts, and the flows that wait for a connection. No operation iterates over all connections.

use std::collections::{BTreeSet, VecDeque};

/// Persistent connections of a workload from one host to another.
#[derive(Debug)]
pub struct Pool {
    /// Largest number of flows on a connection.
    depth: u32,
    /// All connections, in the order in which they were opened.
    connections: Vec<Pooled>,
    /// Connections that can take more flows, ordered by number of flows and then by place in the pool.
    free: BTreeSet<(u32, u32)>,
    /// Flows that wait because no connection takes more flows.
    waiting: VecDeque<u32>,
    /// Number of connections that have ended with an error.
    ended: usize,
}

/// Connection of a pool.
#[derive(Clone, Copy, Debug)]
struct Pooled {
    slot: u32,
    /// Number of flows on the connection.
    flows: u32,
}

impl Pool {
    /// Creates a pool without connections. Each connection takes up to `depth` flows at a time.
    pub fn new(depth: u32) -> Self {
        let (connections, free, waiting) = (Vec::new(), BTreeSet::new(), VecDeque::new());
        Self { depth, connections, free, waiting, ended: 0 }
    }

    /// Returns the number of connections.
    pub fn size(&self) -> usize {
        self.connections.len()
    }

    /// Returns whether a connection has no flow.
    pub fn has_idle(&self) -> bool {
        self.free.first().is_some_and(|&(flows, _)| flows == 0)
    }

    /// Returns whether all connections have ended with an error.
    pub fn is_dead(&self) -> bool {
        self.ended > 0 && self.ended == self.size()
    }

    /// Records that the connection at this place has ended with an error and takes no more flows. If no other connection is left, returns
    /// all waiting flows, which will never start.
    pub fn end(&mut self, place: u32) -> VecDeque<u32> {
        self.ended += 1;
        self.free.remove(&(self.connections[place as usize].flows, place));
        if self.is_dead() { std::mem::take(&mut self.waiting) } else { VecDeque::new() }
    }

    /// Adds a flow that waits until a connection takes it.
    pub fn queue(&mut self, flow: u32) {
        self.waiting.push_back(flow);
    }

    /// Adds an idle connection in this slot; returns its place in the pool.
    ///
    /// # Panics
    ///
    /// If the pool has 2^32 connections, for which no machine has memory.
    pub fn add(&mut self, slot: u32) -> u32 {
        self.insert(Pooled { slot, flows: 0 })
    }

    /// Adds the connection in this slot, which already has a flow; returns its place in the pool.
    ///
    /// # Panics
    ///
    /// If the pool has 2^32 connections, for which no machine has memory.
    pub fn add_busy(&mut self, slot: u32) -> u32 {
        self.insert(Pooled { slot, flows: 1 })
    }

    /// Adds a flow to the connection with the fewest flows. Among equals, chooses the connection that was opened first. Returns the slot of
    /// the connection; `None` if no connection takes another flow.
    pub fn take(&mut self) -> Option<u32> {
        let (flows, place) = self.free.pop_first()?;
        let connection = &mut self.connections[place as usize];
        connection.flows = flows + 1;
        let slot = connection.slot;
        self.offer(place);
        Some(slot)
    }

    /// Removes a complete flow from the connection at this place. Returns the waiting flow that replaces it, if there is one.
    pub fn free(&mut self, place: u32) -> Option<u32> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            let flows = &mut self.connections[place as usize].flows;
            if *flows < self.depth {
                self.free.remove(&(*flows, place));
            }
            *flows -= 1;
            self.free.insert((*flows, place));
        }
        next
    }

    fn insert(&mut self, connection: Pooled) -> u32 {
        let place = u32::try_from(self.size()).expect("fewer than 2^32 connections of a host");
        self.connections.push(connection);
        self.offer(place);
        place
    }

    /// Adds a connection to `free` if the connection has fewer flows than `depth`.
    fn offer(&mut self, place: u32) {
        let flows = self.connections[place as usize].flows;
        if flows < self.depth {
            self.free.insert((flows, place));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_takes_the_idle_connection_that_was_opened_first() {
        let mut pool = Pool::new(1);
        let places = [pool.add(7), pool.add(3), pool.add_busy(5)];
        assert_eq!(places, [0, 1, 2]);
        assert_eq!([pool.take(), pool.take(), pool.take()], [Some(7), Some(3), None]);
        assert_eq!((pool.free(2), pool.free(0)), (None, None));
        assert_eq!(pool.take(), Some(7));
        // A waiting flow takes the next free connection, which then does not become idle.
        pool.queue(11);
        assert_eq!((pool.free(1), pool.take(), pool.take(), pool.size()), (Some(11), Some(5), None, 3));
    }

    #[test]
    fn flows_wait_until_the_last_connection_has_ended() {
        let mut pool = Pool::new(1);
        pool.add(0);
        pool.add(1);
        assert_eq!((pool.take(), pool.take(), pool.is_dead()), (Some(0), Some(1), false));
        pool.queue(7);
        pool.queue(8);
        assert_eq!((pool.end(0).len(), pool.free(1), pool.is_dead()), (0, Some(7), false));
        assert_eq!((pool.end(1), pool.is_dead()), (VecDeque::from([8]), true));
    }

    #[test]
    fn a_flow_takes_the_connection_with_the_fewest_flows() {
        let mut pool = Pool::new(2);
        pool.add_busy(7);
        pool.add(3);
        assert_eq!([(); 4].map(|()| pool.take()), [Some(3), Some(7), Some(3), None]);
        // Each connection completes one flow, and the second connection then completes its last one.
        assert_eq!([pool.free(1), pool.free(0), pool.free(1)], [None; 3]);
        assert!(pool.has_idle());
        assert_eq!([(); 3].map(|()| pool.take()), [Some(3), Some(7), Some(3)]);
        // A waiting flow replaces the complete flow.
        pool.queue(11);
        assert_eq!((pool.free(0), pool.take(), pool.has_idle()), (Some(11), None, false));
    }

    #[test]
    fn a_connection_that_has_ended_takes_no_more_flows() {
        let mut pool = Pool::new(2);
        pool.add(0);
        pool.add(1);
        assert_eq!((pool.take(), pool.end(0).len()), (Some(0), 0));
        assert_eq!([(); 3].map(|()| pool.take()), [Some(1), Some(1), None]);
        pool.queue(5);
        pool.queue(6);
        assert_eq!((pool.end(1), pool.is_dead()), (VecDeque::from([5, 6]), true));
    }
}
