//! Pauses that hosts impose on their switch because of full receive buffers or PFC storms, and watchdogs of NICs. Only networks with
//! lossless classes have such pauses.

use shallows_core::Instant;
use shallows_core::packet::{Header, HostId};
use shallows_switch::pfc::{Poll, Verdict};

use crate::network::pauses::PausePort;
use crate::network::{Driver, LinkAt, Network};

impl<T: Copy + Default> Network<T> {
    /// Schedules the start of each PFC storm, and the first poll of each watchdog. Called once, before the first packet.
    pub(super) fn start_pauses(&mut self, driver: &mut impl Driver<T>) {
        let Some(lossless) = self.lossless.as_deref_mut() else { return };
        for (place, (port, link)) in lossless.ports.iter_mut().zip(&self.links).enumerate() {
            let storm = port.storm.as_ref().map(|storm| storm.start);
            let poll = port.watchdog.map(|_| port.poll_at);
            if let Some(at) = [storm, poll].into_iter().flatten().min() {
                port.event = at;
                driver.pause_at(at, LinkAt { place: place as u32, rank: link.rank });
            }
        }
    }

    /// Handles a packet or PFC frame that arrives at a host of a network with lossless classes. Stores a packet in the host's receive
    /// buffer. If the host has no such buffer, because it reads packets at once, returns the packet instead.
    #[inline]
    pub(super) fn receive_at_host(
        &mut self,
        wire: u32,
        host: u32,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) -> Option<(Header, T)> {
        let lossless = self.lossless.as_deref_mut()?;
        let is_frame = header.destination() == HostId::NEXT_NODE;
        if !is_frame && lossless.receivers.is_empty() {
            return Some((header, payload));
        }
        let node = self.node_numbers.at(host);
        if is_frame {
            self.receive_frame(node, self.wires[wire as usize].ingress, header, driver);
            return None;
        }
        let place = self.nodes[node].ports.start;
        let Some(buffer) = lossless.receivers.get_mut(&place) else { return Some((header, payload)) };
        if let Some(payload) = buffer.receive(driver.now(), header, payload) {
            lossless.refuse(place, &header);
            self.lose_at(wire, true, payload, driver);
            return None;
        }
        self.pause(place, driver);
        None
    }

    /// Removes and returns a packet that the host with this port has read by `now`. The caller must then call [`Self::pause`].
    pub(crate) fn take_received(&mut self, place: u32, now: Instant) -> Option<(Header, T)> {
        self.lossless.as_deref_mut()?.receivers.get_mut(&place)?.take(now)
    }
}

impl PausePort {
    /// Polls the watchdogs of a host's NIC if they are due. A pause is a storm if it has lasted without a break for the detection time. The
    /// host may pause its switch again after a restoration time in which no poll found a reason for a pause.
    pub(super) fn poll_nic(&mut self, now: Instant, classes: &[u8], is_congested: bool) {
        if !self.is_host {
            return;
        }
        let Some(config) = self.due_poll(now) else { return };
        for &class in classes {
            let has_reason = is_congested || self.storms(now, class);
            let counts = &mut self.counts[usize::from(class)];
            counts.congested_polls += u64::from(has_reason);
            let poll = Poll {
                is_paused: counts.sent > counts.resumed,
                frames: counts.congested_polls,
                resumes: counts.resumed,
            };
            if self.watchdogs[usize::from(class)].on_poll(poll, &config) == Some(Verdict::Storm) {
                counts.storms += 1;
            }
        }
    }

    /// Pauses the switch of a host while the host's receive buffer `is_congested` or the host has a PFC storm. Resumes the switch
    /// otherwise, and also if the host's watchdog has ended the host's pauses. Has no effect at ports of switches.
    pub(super) fn pause_switch(&mut self, now: Instant, classes: &[u8], is_congested: bool) {
        // At a port of a switch, the priority groups of the switch decide about pauses.
        let own = if self.is_host { classes } else { &[] };
        for &class in own {
            let has_reason = is_congested || self.storms(now, class);
            let pauses = has_reason && !self.watchdogs[usize::from(class)].is_stormed();
            if self.pauser.set(class, pauses) {
                let counts = &mut self.counts[usize::from(class)];
                *if pauses { &mut counts.sent } else { &mut counts.resumed } += 1;
            }
        }
    }

    /// Returns whether the host has a PFC storm in this class at the time `now`.
    fn storms(&self, now: Instant, class: u8) -> bool {
        self.storm.as_ref().is_some_and(|storm| {
            storm.start <= now && storm.stop.is_none_or(|stop| now < stop) && storm.classes.contains(&class)
        })
    }

    /// Returns the time after `now` at which the next PFC storm of the host begins or ends; `None` without such a time.
    pub(super) fn storm_change(&self, now: Instant) -> Option<Instant> {
        let storm = self.storm.as_ref()?;
        [Some(storm.start), storm.stop].into_iter().flatten().find(|&at| at > now)
    }

    /// Returns whether the host has begun a PFC storm in this class that never ends.
    pub(super) fn is_endless(&self, class: u8) -> bool {
        self.storm.as_ref().is_some_and(|storm| storm.stop.is_none())
            && self.counts[usize::from(class)].sent > self.counts[usize::from(class)].resumed
            && self.storms(Instant::MAX, class)
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::{Duration, Rate};
    use shallows_scenario::Storm;
    use shallows_switch::pfc::{PRIORITIES, PauseTimers, Pauser, PauserConfig, Watchdog};

    use super::*;
    use crate::network::pauses::PriorityCounts;

    /// Returns the port of a host with a PFC storm in class 0 from 10 ns on, after a call of `pause_switch` at the time `now`.
    fn stormed(stop: Option<Instant>, now: Instant, is_congested: bool) -> PausePort {
        let config = PauserConfig { quanta: 1_000, refresh: Some(500) };
        let mut port = PausePort {
            pauser: Pauser::new(config, Rate::from_gbps(100)),
            timers: PauseTimers::new(Rate::from_gbps(100), Duration::ZERO),
            queues: [Some(0); PRIORITIES],
            watchdog: None,
            watchdogs: [Watchdog::default(); PRIORITIES],
            poll_at: Instant::MAX,
            is_host: true,
            storm: Some(Storm { start: Instant(10_000), stop, classes: vec![0] }),
            sender: 0,
            event: Instant::MAX,
            counts: [PriorityCounts::default(); PRIORITIES],
        };
        port.pause_switch(now, &[0, 1], is_congested);
        port
    }

    #[test]
    fn a_pause_is_endless_if_its_storm_has_begun_and_has_no_stop() {
        let (before, during) = (Instant(9_999), Instant(10_000));
        let endless = |port: &PausePort| [0, 1].map(|class| port.is_endless(class));
        assert_eq!(endless(&stormed(None, during, false)), [true, false]);
        assert_eq!(endless(&stormed(None, before, false)), [false, false]);
        assert_eq!(endless(&stormed(Some(Instant(20_000)), during, false)), [false, false]);
        // A full receive buffer pauses all classes, but has room again after a while.
        let congested = stormed(None, during, true);
        assert_eq!([0, 1].map(|class| congested.counts[class].sent), [1, 1]);
        assert_eq!(endless(&congested), [true, false]);
    }
}
