//! Limits of a NIC on what its queue pairs send: packets per second, reads from the host's memory, and the delay of each message.
//!
//! A queue pair that may not send yet waits for its turn. The NIC serves waiting queue pairs first come, first served, one packet each.

use std::collections::VecDeque;

use shallows_core::{Bytes, Duration, Instant};
use shallows_scenario::SendLimits;

use crate::hosts::timer::arm;

/// State of the limits of one NIC.
#[derive(Debug)]
pub(crate) struct Limits {
    config: SendLimits,
    /// Time from which the next packet may leave.
    next: Instant,
    /// Slots of the queue pairs that wait for their turn.
    waiting: VecDeque<u32>,
    /// Whether the queue pair in a slot waits for its turn.
    waits: Vec<bool>,
    /// Slot of the queue pair that has begun its turn and has not yet sent.
    turn: Option<u32>,
    /// Messages that were posted, each with the time at which the NIC may send it, the slot of its queue pair, and its flow.
    posted: VecDeque<(Instant, u32, u32)>,
    /// Time of the earliest pending event; `Instant::MAX` for none.
    timer_at: Instant,
}

impl Limits {
    pub(crate) fn new(config: SendLimits) -> Self {
        Self {
            config,
            next: Instant::ZERO,
            waiting: VecDeque::new(),
            waits: Vec::new(),
            turn: None,
            posted: VecDeque::new(),
            timer_at: Instant::MAX,
        }
    }

    /// Returns whether the queue pair in this slot may send a packet now. Otherwise the queue pair waits for its turn.
    pub(crate) fn admits(&mut self, now: Instant, slot: u32) -> bool {
        if self.turn == Some(slot) {
            self.turn = None;
            return true;
        }
        if self.next <= now && self.waiting.is_empty() {
            return true;
        }
        let place = slot as usize;
        self.waits.resize(self.waits.len().max(place + 1), false);
        if !std::mem::replace(&mut self.waits[place], true) {
            self.waiting.push_back(slot);
        }
        false
    }

    /// Records that a packet with `data` bytes leaves now.
    pub(crate) fn on_send(&mut self, now: Instant, data: Bytes) {
        let read = self.config.dma_rate.map_or(Duration::ZERO, |rate| rate.transmission_time(data));
        self.next = now + read.max(self.config.packet_time);
    }

    /// Removes the first queue pair from the waiting queue pairs and begins its turn; returns its slot. Returns `None` if no packet may
    /// leave now or no queue pair waits.
    pub(crate) fn begin_turn(&mut self, now: Instant) -> Option<u32> {
        self.turn = None;
        if self.next > now {
            return None;
        }
        let slot = self.waiting.pop_front()?;
        self.waits[slot as usize] = false;
        self.turn = Some(slot);
        Some(slot)
    }

    /// Returns whether the message of `flow` must wait before the queue pair in this slot may send it.
    pub(crate) fn delays(&mut self, now: Instant, slot: u32, flow: u32) -> bool {
        let delay = self.config.message_delay;
        if delay > Duration::ZERO {
            self.posted.push_back((now + delay, slot, flow));
        }
        delay > Duration::ZERO
    }

    /// Returns the slot and the flow of the next message whose delay is over.
    pub(crate) fn take_posted(&mut self, now: Instant) -> Option<(u32, u32)> {
        self.posted.pop_front_if(|(at, ..)| *at <= now).map(|(_, slot, flow)| (slot, flow))
    }

    /// Returns the time at which an event must be scheduled, if a new event is needed.
    pub(crate) fn rest(&mut self) -> Option<Instant> {
        let turn = (!self.waiting.is_empty()).then_some(self.next);
        let posted = self.posted.front().map(|&(at, ..)| at);
        arm(turn.into_iter().chain(posted).min(), &mut self.timer_at)
    }

    /// Handles a timer event. Returns `false` if the event is stale, because an earlier event replaced it.
    pub(crate) fn on_timer(&mut self, now: Instant) -> bool {
        let is_due = self.timer_at == now;
        if is_due {
            self.timer_at = Instant::MAX;
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Rate;

    use super::*;

    fn limits(dma_rate: Option<Rate>, message_delay: Duration) -> Limits {
        Limits::new(SendLimits { packet_time: Duration::from_nanos(100), dma_rate, message_delay })
    }

    const fn ns(time: u64) -> Instant {
        Instant(time * 1_000)
    }

    #[test]
    fn queue_pairs_send_in_turns_one_packet_each() {
        let mut limits = limits(None, Duration::ZERO);
        assert!(limits.admits(ns(5), 3), "the first packet need not wait");
        limits.on_send(ns(5), Bytes(1_000));
        for slot in [3, 0, 3] {
            assert!(!limits.admits(ns(6), slot), "{slot}");
        }
        assert_eq!((limits.rest(), limits.rest()), (Some(ns(105)), None));
        assert_eq!((limits.on_timer(ns(50)), limits.begin_turn(ns(104))), (false, None));
        assert!(limits.on_timer(ns(105)));
        assert!(!limits.admits(ns(105), 7), "others are before it");
        assert_eq!(limits.begin_turn(ns(105)), Some(3));
        assert!(limits.admits(ns(105), 3));
        limits.on_send(ns(105), Bytes(1_000));
        assert_eq!((limits.begin_turn(ns(105)), limits.rest()), (None, Some(ns(205))));
        assert_eq!([205, 205, 205].map(|time| limits.begin_turn(ns(time))), [Some(0), Some(7), None]);
        assert!(limits.admits(ns(205), 3), "nobody waits");
    }

    #[test]
    fn a_packet_takes_the_time_of_its_read_if_that_is_longer() {
        let mut limits = limits(Some(Rate::from_gbps(40)), Duration::ZERO);
        // 1,000 bytes take 200 ns at 40 Gb/s; 400 bytes take 80 ns, less than the minimum time per packet.
        for (sent, data, next) in [(0, 1_000, 200), (200, 400, 300)] {
            limits.on_send(ns(sent), Bytes(data));
            assert!(!limits.admits(ns(next - 1), 0), "{data}");
            assert_eq!(limits.begin_turn(ns(next)), Some(0), "{data}");
            assert!(limits.admits(ns(next), 0), "{data}");
        }
    }

    #[test]
    fn messages_without_a_delay_are_not_posted_later() {
        let mut limits = limits(None, Duration::ZERO);
        assert!(!limits.delays(ns(0), 1, 10));
        assert_eq!((limits.take_posted(ns(1_000)), limits.rest()), (None, None));
    }

    #[test]
    fn messages_are_delayed_at_the_same_time() {
        let mut limits = limits(None, Duration::from_nanos(50));
        assert!(limits.delays(ns(0), 1, 10) && limits.delays(ns(20), 2, 11));
        assert_eq!((limits.rest(), limits.take_posted(ns(49))), (Some(ns(50)), None));
        assert_eq!((limits.take_posted(ns(50)), limits.take_posted(ns(50))), (Some((1, 10)), None));
        assert!(limits.on_timer(ns(50)) && limits.rest() == Some(ns(70)));
        assert_eq!(limits.take_posted(ns(70)), Some((2, 11)));
    }
}
