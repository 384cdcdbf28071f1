//! Pauses of a port, and the PFC watchdog that ends their effect. Only networks with lossless classes run this code.

use shallows_core::Instant;
use shallows_core::packet::Header;
use shallows_measure::PauseInterval;
use shallows_switch::pfc::{PRIORITIES, Poll, Verdict, WatchdogConfig};

use crate::network::link::Link;
use crate::network::pauses::PausePort;
use crate::network::{Driver, Network};

impl<T: Copy + Default> Network<T> {
    /// Drops a packet that would leave a port, if the port's watchdog has detected a storm of the packet's class. Called only if this
    /// watchdog drops packets. Returns whether the packet was dropped.
    #[inline]
    pub(super) fn drop_stormed(
        &mut self,
        place: u32,
        header: &Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) -> bool {
        // `None` only while a packet is admitted, and the watchdog was tested before its admission.
        let Some(lossless) = self.lossless.as_deref_mut() else { return false };
        let class = lossless.maps.class(header.class());
        let is_dropped = lossless.ports[place as usize].drops(class);
        if is_dropped {
            self.lose(self.links[place as usize].number, false, payload, driver);
        }
        is_dropped
    }
}

impl PausePort {
    /// Returns whether the watchdog has detected a storm of a class and therefore drops a packet. If so, counts the dropped packet.
    pub(super) fn drops(&mut self, class: u8) -> bool {
        let class = usize::from(class);
        let is_stormed = self.watchdogs.get(class).is_some_and(|watchdog| watchdog.is_stormed());
        if is_stormed {
            self.counts[class].dropped_by_watchdog += 1;
        }
        is_stormed
    }

    /// Pauses the queue of a priority, if the priority is lossless.
    pub(super) fn stop<T: Copy + Default>(&mut self, now: Instant, priority: u8, link: &mut Link<T>) {
        // A switch never pauses a class that is not lossless.
        let Some(queue) = self.queues[usize::from(priority)] else { return };
        let counts = &mut self.counts[usize::from(priority)];
        counts.since = Some(now);
        link.port.pause(queue.into());
    }

    /// Ends the pause of a priority and adds this pause to `intervals`. Resumes the queue, unless the pause of another priority stops it.
    pub(super) fn go<T: Copy + Default>(
        &mut self,
        now: Instant,
        priority: u8,
        link: &mut Link<T>,
        intervals: &mut Vec<PauseInterval>,
    ) {
        let Some(queue) = self.queues[usize::from(priority)] else { return };
        let counts = &mut self.counts[usize::from(priority)];
        if let Some(since) = counts.since.take() {
            counts.paused += now - since;
            intervals.push(PauseInterval { since, link: link.number, class: priority, until: Some(now) });
        }
        let shares = |other: usize| self.queues[other] == Some(queue) && self.counts[other].since.is_some();
        if !(0..PRIORITIES).any(shares) {
            link.port.resume(now, queue.into());
        }
    }

    /// Returns the configuration of the watchdogs if they must be polled now, and schedules the next poll.
    pub(super) fn due_poll(&mut self, now: Instant) -> Option<WatchdogConfig> {
        let config = self.watchdog.filter(|_| self.poll_at <= now)?;
        self.poll_at = now + config.poll;
        Some(config)
    }

    /// Polls the watchdogs of a switch's port if they are due.
    pub(super) fn poll_queues<T: Copy + Default>(
        &mut self,
        now: Instant,
        classes: &[u8],
        link: &mut Link<T>,
        intervals: &mut Vec<PauseInterval>,
    ) {
        if self.is_host {
            return;
        }
        let Some(config) = self.due_poll(now) else { return };
        for &class in classes {
            let counts = &mut self.counts[usize::from(class)];
            let is_paused = self.timers.is_paused(class);
            let poll = Poll { is_paused, frames: counts.pause_frames, resumes: counts.ends };
            match self.watchdogs[usize::from(class)].on_poll(poll, &config) {
                Some(Verdict::Storm) => {
                    counts.storms += 1;
                    self.go(now, class, link, intervals);
                }
                Some(Verdict::Restore) if is_paused => self.stop(now, class, link),
                Some(Verdict::Restore) | None => {}
            }
        }
    }
}
