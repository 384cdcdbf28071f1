//! Active Buffer Management (Addanki, Apostolaki, Ghobadi, Schmid, Vanbever; SIGCOMM '22): thresholds that also depend on the number of
//! congested queues and on the drain rate of each queue.
//!
//! The threshold of a queue of priority *p* is *T = α_p · 1/n_p · (B − Q) · μ/b*. *B* is the size of the pool, *Q* its occupancy, *n_p* the
//! number of congested queues of that priority in the pool, and *μ/b* the queue's drain rate as a share of the link's rate. A queue that
//! drains at half the link's rate may hold half as much as a queue that drains at the full rate, so that both drain in the same time.
//!
//! Deviations: the buffer has no clock, so *μ/b* is measured as the queue's share of the bytes that its port sent in the last window. This
//! share equals *μ/b* while the port is busy. The first packets of a flow get no higher *α*. The priority of a queue is its index at its
//! port.

use shallows_core::Bytes;

use super::pool::{Account, Pool};

/// Parameters of ABM.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// *α_p* of each priority; the last value also applies to all later priorities.
    pub alpha: Vec<f64>,
    /// Share of its threshold at which a queue becomes congested and counts in *n_p*. The check takes place when a packet joins or leaves
    /// the queue.
    pub congested: f64,
    /// Bytes that a port sends between two measurements of drain rates: about as many as in one round-trip time.
    pub window: Bytes,
}

impl Default for Config {
    fn default() -> Self {
        Self { alpha: vec![0.5], congested: 0.9, window: Bytes(75_000) }
    }
}

impl Config {
    /// Returns the largest steady backlog of each of `busy` queues that share a pool of the size `pool`.
    ///
    /// Eq. 1 for M congested queues of one priority, each the only queue of its port: q = α/M · (B − M·q), so q = αB/(M·(1 + α)).
    pub(super) fn limit(&self, pool: Bytes, busy: usize) -> Bytes {
        let alpha = self.alpha.iter().copied().fold(0.0, f64::max);
        Bytes((alpha * pool.0 as f64 / (busy as f64 * (1.0 + alpha))) as u64)
    }
}

/// State of ABM for all queues and ports of a buffer.
#[derive(Clone, Debug)]
pub(super) struct Abm {
    config: Config,
    queues: Vec<Member>,
    ports: Vec<Port>,
    /// Number of congested queues for each pool and priority.
    congested: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    port: usize,
    priority: usize,
    /// Whether the queue is counted in *n_p*.
    congested: bool,
    /// Bytes that the queue has sent in the current window.
    sent: Bytes,
    /// Whether the queue holds packets.
    occupied: bool,
    /// Whether the queue has held packets throughout the current window.
    backlogged: bool,
    /// *μ/b*, measured in the last complete window.
    drain_rate: f64,
}

#[derive(Clone, Copy, Debug)]
struct Port {
    first: usize,
    queues: usize,
    /// Bytes that the port has sent in the current window.
    sent: Bytes,
}

impl Abm {
    /// Creates the state of a buffer without queues.
    ///
    /// # Panics
    ///
    /// Panics if there is no *α* or the window is zero.
    pub(super) fn new(config: &Config) -> Self {
        assert!(!config.alpha.is_empty(), "every priority needs an alpha");
        assert!(config.window.0 > 0, "a drain rate is measured over some bytes");
        Self { config: config.clone(), queues: Vec::new(), ports: Vec::new(), congested: Vec::new() }
    }

    /// Adds a queue, either as the first of a new port or as the next one of the port added last.
    pub(super) fn add_queue(&mut self, pool: usize, place: Place) {
        if place == Place::NewPort || self.ports.is_empty() {
            self.ports.push(Port { first: self.queues.len(), queues: 0, sent: Bytes(0) });
        }
        let port = self.ports.len() - 1;
        let priority = self.ports[port].queues;
        self.ports[port].queues += 1;
        self.queues.push(Member {
            port,
            priority,
            congested: false,
            sent: Bytes(0),
            occupied: false,
            backlogged: false,
            drain_rate: 1.0,
        });
        if self.congested.len() <= pool {
            self.congested.resize(pool + 1, Vec::new());
        }
        let priorities = &mut self.congested[pool];
        priorities.resize(priorities.len().max(priority + 1), 0);
    }

    /// Returns the current limit of `queue`, whose number in the buffer is `index`.
    pub(super) fn threshold(&self, index: usize, queue: &Account, pool: &Pool) -> Bytes {
        let Member { priority, drain_rate, .. } = self.queues[index];
        let alpha = self.config.alpha[priority.min(self.config.alpha.len() - 1)];
        let congested = self.congested[queue.pool][priority].max(1);
        let remaining = pool.size.saturating_sub(pool.used);
        remaining.scale(alpha / f64::from(congested) * drain_rate)
    }

    pub(super) fn admits(&self, index: usize, queue: &Account, pool: &Pool, size: Bytes) -> bool {
        queue.shared + size <= self.threshold(index, queue, pool)
    }

    /// Records that a packet has joined `queue`.
    #[cold]
    pub(super) fn on_take(&mut self, index: usize, queue: &Account, pool: &Pool) {
        self.queues[index].occupied = true;
        self.count_congestion(index, queue, pool);
    }

    /// Records that a packet of `size` has left `queue`.
    #[cold]
    pub(super) fn on_release(&mut self, index: usize, queue: &Account, pool: &Pool, size: Bytes) {
        let member = &mut self.queues[index];
        member.sent += size;
        if queue.packets == 0 {
            // An empty queue has no drain rate. If zero were stored as its rate, the queue would never admit a packet again.
            (member.occupied, member.backlogged, member.drain_rate) = (false, false, 1.0);
        }
        let port = &mut self.ports[member.port];
        port.sent += size;
        if port.sent >= self.config.window {
            let port = *port;
            self.measure(self.queues[index].port, port);
        }
        self.count_congestion(index, queue, pool);
    }

    /// Ends the window of a port: each queue's share of the bytes that the port sent becomes the queue's drain rate.
    fn measure(&mut self, number: usize, port: Port) {
        for member in &mut self.queues[port.first..port.first + port.queues] {
            let share = member.sent.0 as f64 / port.sent.0 as f64;
            // The scheduler did not delay a queue that was empty during the window, so its rate is one.
            member.drain_rate = if member.backlogged { share } else { 1.0 };
            member.sent = Bytes(0);
            member.backlogged = member.occupied;
        }
        self.ports[number].sent = Bytes(0);
    }

    fn count_congestion(&mut self, index: usize, queue: &Account, pool: &Pool) {
        let near = self.threshold(index, queue, pool).scale(self.config.congested);
        let congested = queue.shared.0 > 0 && queue.shared >= near;
        let member = &mut self.queues[index];
        let count = &mut self.congested[queue.pool][member.priority];
        *count = *count + u32::from(congested) - u32::from(member.congested);
        member.congested = congested;
    }
}

/// Position of an added queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The queue begins a new port.
    NewPort,
    /// The queue is the next one of the port added last.
    SamePort,
}

#[cfg(test)]
mod tests {
    use super::super::{Config as BufferConfig, Memory, Policy, Refusal, ReservedRule, SharedBuffer};
    use super::*;

    /// Returns a buffer with a pool of 100,000 bytes shared by ports with the given numbers of queues.
    fn buffer(config: Config, ports: &[usize]) -> SharedBuffer {
        let mut buffer = SharedBuffer::new(&BufferConfig {
            policy: Policy::Abm(config),
            pools: vec![Bytes(100_000), Bytes(50_000)],
            reserved_rule: ReservedRule::Exact,
            cell: None,
        });
        for &queues in ports {
            buffer.add_queue(0, Bytes(0));
            for _ in 1..queues {
                buffer.add_sibling(0, Bytes(0));
            }
        }
        buffer
    }

    fn take(buffer: &mut SharedBuffer, queue: usize, packets: usize) {
        for _ in 0..packets {
            assert_eq!(buffer.admit(queue, Bytes(1_000)), Ok(Memory::Shared));
        }
    }

    fn send(buffer: &mut SharedBuffer, queue: usize, packets: usize) {
        for _ in 0..packets {
            buffer.release(queue, Bytes(1_000), Memory::Shared);
        }
    }

    fn thresholds<const N: usize>(buffer: &SharedBuffer) -> [u64; N] {
        std::array::from_fn(|queue| buffer.threshold(queue).unwrap().0)
    }

    #[test]
    fn each_priority_has_its_alpha_of_what_is_free() {
        // T = α_p (B − Q) without congested queues; the last α applies to the third priority. Other pools have no effect.
        let mut buffer = buffer(Config { alpha: vec![2.0, 0.5], ..Config::default() }, &[3, 1]);
        let other = buffer.add_queue(1, Bytes(0));
        assert_eq!(thresholds(&buffer), [200_000, 50_000, 50_000, 200_000, 100_000]);
        take(&mut buffer, 2, 10);
        assert_eq!(thresholds(&buffer), [180_000, 45_000, 45_000, 180_000, 100_000]);
        buffer.release(2, Bytes(1_000), Memory::Shared);
        take(&mut buffer, other, 1);
        assert_eq!(thresholds(&buffer), [182_000, 45_500, 45_500, 182_000, 98_000]);
        buffer.audit();
    }

    #[test]
    fn a_queue_fills_to_its_threshold_and_no_further() {
        // The queue itself is the one congested queue: q = α(B − q) with α = 1 is half of B. The arriving packet counts.
        let config = Config { alpha: vec![1.0], ..Config::default() };
        let mut buffer = buffer(config, &[1]);
        take(&mut buffer, 0, 50);
        assert_eq!(buffer.threshold(0), Some(Bytes(50_000)));
        assert_eq!(buffer.admit(0, Bytes(1)), Err(Refusal::QueueLimit));
        send(&mut buffer, 0, 1);
        assert_eq!(buffer.admit(0, Bytes(1_000)), Ok(Memory::Shared));
    }

    #[test]
    fn congested_queues_of_a_priority_share_and_others_are_left_alone() {
        // α = 1. Queue 0 (port 0, priority 0) is full at 50 packets, its threshold: congested. Then queue 2 (port 1,
        // priority 0) fills: at q packets its threshold is 50 − q, and q reaches 0.9 of that at 24: n_0 = 2 halves both.
        let mut buffer = buffer(Config { alpha: vec![1.0], ..Config::default() }, &[2, 2]);
        take(&mut buffer, 0, 50);
        assert_eq!(thresholds(&buffer), [50_000; 4], "one congested queue shares with nobody");
        take(&mut buffer, 2, 23);
        assert_eq!(thresholds(&buffer), [27_000; 4], "23 is below 0.9 · 27 = 24.3");
        take(&mut buffer, 2, 1);
        assert_eq!(thresholds(&buffer), [13_000, 26_000, 13_000, 26_000], "24 is above 0.9 · 26 = 23.4");
        // Queue 2 drains until it is no longer congested: 0.9 · (50 − q)/2 exceeds q for q ≤ 15.
        send(&mut buffer, 2, 8);
        assert_eq!(thresholds(&buffer), [17_000, 34_000, 17_000, 34_000]);
        send(&mut buffer, 2, 1);
        assert_eq!(thresholds(&buffer), [35_000; 4]);
        // A queue without packets is not congested, even if its threshold is zero.
        send(&mut buffer, 2, 15);
        assert_eq!(thresholds(&buffer), [50_000; 4]);
    }

    #[test]
    fn a_queue_that_holds_only_reserved_bytes_is_not_congested() {
        // Two ports with two priorities. With α = 10⁹ queue 0 can fill the pool, so that every threshold is zero. Queue 3 then stores a
        // packet in its reserved buffer. It holds nothing in the pool, so it is not congested.
        let config = Config { alpha: vec![1e9, 1.0], window: Bytes(1 << 40), ..Config::default() };
        let mut buffer = buffer(config, &[2, 1]);
        assert_eq!(buffer.add_sibling(0, Bytes(1_000)), 3);
        take(&mut buffer, 0, 100);
        assert_eq!(buffer.admit(3, Bytes(1_000)), Ok(Memory::Reserved));
        // With 90,000 B free, queue 1 holds 43,000 of at most 47,000 B. It is the only congested queue of its priority: n = 1.
        send(&mut buffer, 0, 90);
        take(&mut buffer, 1, 43);
        assert_eq!(buffer.threshold(1), Some(Bytes(47_000)));
    }

    #[test]
    fn a_queue_may_hold_in_proportion_to_how_fast_it_drains() {
        // Three queues at a port, two of them backlogged: 8 and 2 of 10 packets sent make 0.8 and 0.2 of 70,000. The
        // third was empty and sent nothing. The other port is not measured.
        let config = Config { alpha: vec![1.0], window: Bytes(10_000), ..Config::default() };
        let mut buffer = buffer(config, &[3, 1]);
        take(&mut buffer, 0, 20);
        take(&mut buffer, 1, 20);
        take(&mut buffer, 3, 10);
        send(&mut buffer, 0, 8);
        send(&mut buffer, 1, 2);
        let free = 60_000;
        assert_eq!(
            thresholds(&buffer),
            [free; 4],
            "the first window: no queue was backlogged from its start"
        );
        send(&mut buffer, 0, 7);
        send(&mut buffer, 1, 2);
        assert_eq!(thresholds(&buffer), [69_000; 4], "the second is not over");
        send(&mut buffer, 0, 1);
        assert_eq!(thresholds(&buffer), [56_000, 14_000, 70_000, 70_000]);
        // Queue 0 becomes empty, so its rate is one again. Queue 1 keeps its old rate until the window ends.
        send(&mut buffer, 0, 4);
        assert_eq!(thresholds(&buffer), [74_000, 14_800, 74_000, 74_000]);
        take(&mut buffer, 0, 1);
        send(&mut buffer, 1, 6);
        // 79,000 bytes are free: queue 1 sent 6 of 10 packets, and queue 0 was empty during the window.
        assert_eq!(thresholds(&buffer), [79_000, 47_400, 79_000, 79_000]);
        buffer.audit();
    }

    #[test]
    fn a_starved_queue_holds_nothing_more_until_it_is_empty() {
        let config = Config { alpha: vec![1.0], window: Bytes(5_000), ..Config::default() };
        let mut buffer = buffer(config, &[2]);
        take(&mut buffer, 0, 20);
        take(&mut buffer, 1, 1);
        send(&mut buffer, 0, 10);
        assert_eq!(buffer.threshold(1), Some(Bytes(0)));
        assert_eq!(buffer.admit(1, Bytes(1)), Err(Refusal::QueueLimit));
        send(&mut buffer, 1, 1);
        assert_eq!(buffer.admit(1, Bytes(1_000)), Ok(Memory::Shared));
    }

    #[test]
    #[should_panic(expected = "every priority needs an alpha")]
    fn no_alpha_is_refused() {
        buffer(Config { alpha: vec![], ..Config::default() }, &[1]);
    }

    #[test]
    #[should_panic(expected = "a drain rate is measured over some bytes")]
    fn a_window_of_nothing_is_refused() {
        buffer(Config { window: Bytes(0), ..Config::default() }, &[1]);
    }
}
