//! Changes of the network: links go down, come up again, or get a different rate, and routes change accordingly. No function of this file
//! is called when a packet is processed.
//!
//! All partitions apply a change at the same simulated time. When a link between two partitions goes down, all packets in flight on it are
//! lost. The partition of the far end discards the packets that it has already received. The partition of the near end discards the packets
//! that it has not yet handed over ([`Driver::lose`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use shallows_core::{Duration, Instant, Rate};
use shallows_measure::Lost;
use shallows_scenario::{Epoch, LinkState};

use crate::network::group::Group;
use crate::network::link::NONE;
use crate::network::{Driver, LinkAt, Network};

impl<T: Copy + Default> Network<T> {
    /// Applies the changes of time zero, and schedules all later changes with the driver. Called once, before the first packet.
    pub fn start(&mut self, driver: &mut impl Driver<T>) {
        self.start_pauses(driver);
        for number in 0..self.epochs.len() {
            match self.epochs[number].at {
                Instant::ZERO => self.change(number as u32, driver),
                at => driver.change_at(at, number as u32),
            }
        }
    }

    /// Applies the changes that begin the epoch (interval between changes) with this number.
    #[inline(never)]
    pub fn change(&mut self, epoch: u32, driver: &mut impl Driver<T>) {
        let epochs = Arc::clone(&self.epochs);
        self.epochs_over = epoch as usize + 1;
        let Epoch { routing, links, .. } = &epochs[epoch as usize];
        self.routing = Arc::clone(routing);
        self.groups.iter_mut().for_each(Group::forget_departures);
        for &(number, state) in links {
            match state {
                LinkState::Down => self.link_down(number, driver),
                LinkState::Up { rate, delay } => self.link_up(number, rate, delay, driver),
            }
        }
    }

    /// Returns the counts of packets that links of this partition lost ([`Lost`]), indexed by link number.
    pub fn lost(&self) -> &BTreeMap<u32, Lost> {
        &self.lost
    }

    fn link_down(&mut self, number: u32, driver: &mut impl Driver<T>) {
        let mut lost = Lost::default();
        if self.places.has(number) {
            lost += self.near_end_down(self.places.at(number) as u32, driver);
        }
        if let Some(place) = self.far_end(number) {
            lost += self.far_end_down(place, driver);
        }
        self.tally.packets_dropped += lost.packets;
        if lost.packets > 0 {
            *self.lost.entry(number).or_default() += lost;
        }
    }

    /// Drops the packets that wait at the port of a link that has gone down, and cancels the port's next departure. Returns the counts of
    /// packets that are lost on their way to another partition.
    fn near_end_down(&mut self, place: u32, driver: &mut impl Driver<T>) -> Lost {
        // A node that runs window by window has no departure events: each visit checks which packets are due.
        let has_event = !self.by_window || (self.host_at(place).is_some() && !self.nics_by_window);
        let link = &mut self.links[place as usize];
        if has_event && std::mem::take(&mut link.waking) {
            driver.cancel_transmit(link.port.busy_until(), LinkAt { place, rank: link.rank });
        }
        let memory = &mut self.nodes[link.node as usize].memory;
        link.port.link_down(driver.now(), memory, &mut self.dropped);
        let exit = link.exit;
        self.reclaim(place, driver);
        self.observe_change(driver.now(), place, driver);
        if exit == NONE { Lost::default() } else { driver.lose(exit) }
    }

    /// Discards the packets in flight that are stored at the far end of a link that has gone down. Returns their counts.
    fn far_end_down(&mut self, place: u32, driver: &mut impl Driver<T>) -> Lost {
        let wire = &mut self.wires[place as usize];
        if let Some(first) = wire.first(&self.in_flight) {
            driver.cancel_deliver(first.arrival, LinkAt { place, rank: wire.rank });
        }
        let mut lost = Lost::default();
        for payload in self.take_arriving(place) {
            lost += Lost::one(driver.discard(None, payload));
        }
        let wire = &mut self.wires[place as usize];
        while wire.first(&self.in_flight).is_some() {
            let payload = wire.land(&mut self.in_flight).0.payload;
            lost += Lost::one(driver.discard(None, payload));
        }
        lost
    }

    fn link_up(&mut self, number: u32, rate: Rate, delay: Duration, driver: &mut impl Driver<T>) {
        if !self.places.has(number) {
            return;
        }
        let place = self.places.at(number);
        let link = &mut self.links[place];
        if link.port.is_down() {
            link.port.link_up(driver.now(), rate);
        } else {
            link.port.set_rate(driver.now(), rate);
        }
        link.set_delay(delay);
        self.observe_change(driver.now(), place as u32, driver);
    }

    /// Returns the index of a link's far end; `None` if the far end is in another partition. `number` is the link's number.
    fn far_end(&self, number: u32) -> Option<u32> {
        if self.places.has(number) {
            let place = self.places.at(number);
            return (self.links[place].exit == NONE).then_some(place as u32);
        }
        let entrance = self.entrances.binary_search(&number).ok()?;
        Some((self.links.len() + entrance) as u32)
    }
}
