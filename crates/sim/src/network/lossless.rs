//! Lossless classes: ingress accounting at switches, and PFC frames between the ends of a link. Networks without lossless classes never run
//! this code.
//!
//! A switch counts each waiting packet in the memory of its queue and at its ingress port. When the count of a class at a port reaches its
//! limit, the port sends a PFC frame ahead of its packets. The port at the other end stops sending the class after its response time, until
//! another frame resumes the class or the pause time is over.

use std::collections::BTreeMap;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Duration, Instant};
use shallows_measure::{Lost, PauseCounts, PauseInterval};
use shallows_scenario::Network as NetworkConfig;
use shallows_switch::Ingress;
use shallows_switch::buffer::Memory;
use shallows_switch::ingress::{IngressBook, Signal};
use shallows_switch::pfc::{
    Change, FRAME_SIZE, Frame, PauseTimers, Pauser, PauserConfig, ReceiveBuffer, WatchdogAction,
};
use shallows_switch::port::{Entry, Held};

use crate::network::deadlock::{Group, Pauses};
use crate::network::fair_order::FairOrder;
use crate::network::link::{Flying, NONE, SwitchArrival, Watch, Way};
use crate::network::pauses::{Lossless, PausePort, Waiting};
use crate::network::{Driver, Fate, LinkAt, Network, Owned, announce};

impl<T: Copy + Default> Network<T> {
    /// Adds the lossless classes of the network, if it has any.
    pub(super) fn build_lossless(&mut self, network: &NetworkConfig, seed: u64) {
        let Some(config) = &network.lossless else { return };
        let order = FairOrder::new(seed, network.links.len());
        for wire in &mut self.wires {
            wire.rank = order.next(wire.rank, Instant::ZERO);
        }
        let book =
            |node: u32| node.checked_sub(network.hosts).map(|s| IngressBook::new(&config.books[s as usize]));
        let mut books: Vec<Option<IngressBook>> = self.node_numbers.numbers().map(book).collect();
        let refresh = (!config.are_flags).then_some(config.quanta / 2);
        let pauses = PauserConfig { quanta: config.quanta, refresh };
        let (mut ports, mut receivers) = (Vec::with_capacity(self.links.len()), BTreeMap::new());
        for (port, link) in (0..).zip(&mut self.links) {
            let (number, place) = (link.number as usize, link.node as usize);
            let of_port = &config.ports[number];
            if let Some(book) = &mut books[place] {
                book.add_port(&of_port.groups);
                link.watch.set(Watch::COUNTED, true);
            }
            receivers.extend(of_port.receive.map(|config| (port, ReceiveBuffer::new(config))));
            let peer = &network.links[network.links[number].reverse as usize];
            let watchdog = if books[place].is_some() { config.watchdog } else { of_port.nic_watchdog };
            let can_drop = watchdog.is_some_and(|watchdog| watchdog.action == WatchdogAction::Drop);
            link.watch.set(Watch::DROPS, can_drop);
            let timers = PauseTimers::new(link.port.rate(), of_port.response);
            ports.push(PausePort {
                pauser: Pauser::new(pauses, peer.rate),
                timers: if config.are_flags { timers.as_flags() } else { timers },
                queues: of_port.queues,
                is_host: books[place].is_none(),
                watchdog,
                watchdogs: Default::default(),
                poll_at: watchdog.map_or(Instant::MAX, |watchdog| Instant::ZERO + watchdog.poll),
                storm: of_port.storm.clone(),
                sender: network.links[number].reverse,
                event: Instant::MAX,
                counts: Default::default(),
            });
        }
        let each = config.groups.len() as u32 + 1;
        let waiting = |node: &Owned| {
            let ports = node.ports.len() as u32;
            Waiting::new(ports, ports * each)
        };
        let lossless = Lossless {
            waiting: if config.cyclic { self.nodes.iter().map(waiting).collect() } else { Vec::new() },
            cyclic: config.cyclic,
            ttl: config.ttl,
            expired: BTreeMap::new(),
            classes: config.classes.clone(),
            order,
            groups: config.groups.clone(),
            group_of_dscp: std::array::from_fn(|dscp| config.maps.group(dscp as u8)),
            lossless_dscps: (0..64)
                .filter(|&dscp| usize::from(config.maps.group(dscp)) < config.groups.len())
                .fold(0, |bits, dscp| bits | 1 << dscp),
            maps: config.maps.clone(),
            books,
            ports,
            receivers,
            sent: 0,
            received: 0,
            intervals: Vec::new(),
            changes: Vec::new(),
        };
        self.lossless = Some(Box::new(lossless));
    }

    /// Handles a PFC frame that arrives at a port of the node with this index.
    #[cold]
    pub(super) fn receive_frame(
        &mut self,
        node: usize,
        ingress: Ingress,
        header: Header,
        driver: &mut impl Driver<T>,
    ) {
        let back = self.nodes[node].ports.start + ingress.0;
        let lossless =
            self.lossless.as_deref_mut().expect("only networks with lossless classes have PFC frames");
        lossless.received += 1;
        let (frame, port) = (Frame::of(&header), &mut lossless.ports[back as usize]);
        port.timers.receive(driver.now(), &frame);
        for (counts, quanta) in port.counts.iter_mut().zip(frame.quanta) {
            counts.pause_frames += u64::from(quanta.is_some_and(|quanta| quanta > 0));
        }
        self.pause(back, driver);
    }

    /// Handles the arrival of the first packet or PFC frame in flight on a link, at a switch of a network with lossless classes. `switch`
    /// is the number of the switch among all switches, `node` its place among the nodes.
    #[inline(never)]
    pub(super) fn receive_at_switch(
        &mut self,
        place: u32,
        switch: u32,
        node: usize,
        driver: &mut impl Driver<T>,
    ) {
        let wire = &mut self.wires[place as usize];
        let (Flying { header, payload, .. }, next) = wire.land(&mut self.in_flight);
        let lossless =
            self.lossless.as_deref().expect("only networks with lossless classes have such targets");
        wire.rank = lossless.order.next(wire.rank, driver.now());
        announce(place, wire, next, driver);
        let ingress = wire.ingress;
        if header.destination() == HostId::NEXT_NODE {
            return self.receive_frame(node, ingress, header, driver);
        }
        let mut lossless = self.lossless.take().expect("it was there");
        let arrival = SwitchArrival { wire: place, ingress, switch, node };
        let has_signals = self.admit(&mut lossless, arrival, header, payload, driver);
        self.lossless = Some(lossless);
        if has_signals {
            self.signal(node, driver);
        }
    }

    /// Passes a packet that arrives at a switch to an egress port. If the packet waits there, counts it in the ingress accounting. Returns
    /// whether senders must be paused or resumed.
    #[inline(always)]
    fn admit(
        &mut self,
        lossless: &mut Lossless<T>,
        SwitchArrival { wire, ingress, switch, node }: SwitchArrival,
        mut header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) -> bool {
        if let Some(ttl) = lossless.ttl {
            let crossed = header.hops() + 1;
            if crossed == ttl {
                let port = self.nodes[node].ports.start + ingress.0;
                *lossless.expired.entry((port, lossless.maps.class(header.class()))).or_default() += 1;
                self.lose_at(wire, false, payload, driver);
                return false;
            }
            header = header.with_hops(crossed);
        }
        let book = lossless.books[node].as_mut().expect("switches have books");
        let (group, size) = (lossless.group_of_dscp[usize::from(header.class() % 64)], header.size());
        let is_lossless = lossless.lossless_dscps >> (header.class() % 64) & 1 != 0;
        let group = book.group(ingress, group);
        let Ok(room) = book.room(group, size) else {
            book.refuse(group);
            let port = self.nodes[node].ports.start + ingress.0;
            lossless.refuse(port, &header);
            self.lose_at(wire, false, payload, driver);
            return false;
        };
        let port = self.places.at(self.routing.next_hop(switch, &header)) as u32;
        let link = &self.links[port as usize];
        if link.watch.has(Watch::DROPS)
            && lossless.ports[port as usize].drops(lossless.maps.class(header.class()))
        {
            self.lose(link.number, false, payload, driver);
            return false;
        }
        // The memory at ingress has room, so a lossless packet needs no room in its queue.
        let entry = Entry { ingress, found: is_lossless.then_some(Memory::Shared) };
        let fate = self.enqueue(driver.now(), port, entry, header, payload, driver);
        // A packet that leaves at once is counted only with the rules of other simulators (`Compares`).
        if fate == Fate::Dropped || fate == Fate::Leaves && !book.counts_passing() {
            return false;
        }
        let has_signals = book.store(group, room);
        if fate == Fate::Leaves {
            return book.release(group, size);
        }
        if lossless.cyclic {
            *lossless.waiting[node].at(group, port - self.nodes[node].ports.start) += 1;
        }
        has_signals
    }

    /// Frees the ingress memory of a packet that has left its queue.
    #[inline(never)]
    pub(super) fn release(&mut self, place: u32, held: Held, header: Header, driver: &mut impl Driver<T>) {
        let Some(lossless) = self.lossless.as_deref_mut() else { return };
        let node = self.links[place as usize].node as usize;
        let Some(book) = &mut lossless.books[node] else { return };
        let group = book.group(held.ingress(), lossless.group_of_dscp[usize::from(header.class() % 64)]);
        if lossless.cyclic {
            *lossless.waiting[node].at(group, place - self.nodes[node].ports.start) -= 1;
        }
        if book.release(group, header.size()) {
            self.signal(node, driver);
        }
    }

    /// Counts a packet that is refused at the far end of a link, by a host's receive buffer if `is_at_host` is true, otherwise by a switch.
    pub(super) fn lose_at(&mut self, wire: u32, is_at_host: bool, payload: T, driver: &mut impl Driver<T>) {
        let near = self.links.get(wire as usize).map(|link| link.number);
        let number = near.unwrap_or_else(|| self.entrances[wire as usize - self.links.len()]);
        self.lose(number, is_at_host, payload, driver);
    }

    /// Adds a packet that is dropped outside the queues of ports to the losses of the link with this number.
    pub(super) fn lose(&mut self, number: u32, is_at_host: bool, payload: T, driver: &mut impl Driver<T>) {
        self.tally.packets_dropped += 1;
        let mut lost = Lost::one(driver.discard(None, payload));
        if is_at_host {
            (lost.packets_in_nics, lost.data_in_nics) = (lost.packets, lost.data);
        }
        *self.lost.entry(number).or_default() += lost;
    }

    /// Passes the signals of a node's ingress accounting to the ports that must pause or resume their senders.
    fn signal(&mut self, node: usize, driver: &mut impl Driver<T>) {
        loop {
            let lossless = self.lossless.as_deref_mut().expect("a book has sent a signal");
            let Some(signal) = lossless.books[node].as_mut().and_then(IngressBook::next_signal) else {
                return;
            };
            let (Signal::Pause(group) | Signal::Resume(group)) = signal;
            let each = lossless.groups.len() as u32 + 1;
            let port = self.nodes[node].ports.start + group.0 / each;
            for &class in &lossless.groups[(group.0 % each) as usize] {
                lossless.ports[port as usize].pauser.set(class, matches!(signal, Signal::Pause(_)));
            }
            self.pause(port, driver);
        }
    }

    /// Applies the pauses of a port that take effect or end now, and sends a PFC frame if one is due and the link is free. Called at the
    /// time passed to [`Driver::pause_at`]; a call at another time is harmless.
    pub(crate) fn pause(&mut self, place: u32, driver: &mut impl Driver<T>) {
        let now = driver.now();
        let Some(lossless) = self.lossless.as_deref_mut() else { return };
        let port = &mut lossless.ports[place as usize];
        let link = &mut self.links[place as usize];
        if port.event <= now {
            port.event = Instant::MAX;
        }
        let receiver = lossless.receivers.get(&place);
        let is_congested = receiver.is_some_and(ReceiveBuffer::is_congested);
        port.poll_nic(now, &lossless.classes, is_congested);
        port.pause_switch(now, &lossless.classes, is_congested);
        port.timers.advance(now, &mut lossless.changes);
        for change in lossless.changes.drain(..) {
            match change {
                Change::Stop(priority) => {
                    port.counts[usize::from(priority)].received += 1;
                    if !port.watchdogs[usize::from(priority)].is_stormed() {
                        port.stop(now, priority, link);
                    }
                }
                Change::Go(priority) => {
                    port.counts[usize::from(priority)].ends += 1;
                    port.go(now, priority, link, &mut lossless.intervals);
                }
            }
        }
        port.poll_queues(now, &lossless.classes, link, &mut lossless.intervals);
        let mut frame = None;
        if port.pauser.wake_at().is_some_and(|at| at <= now) && link.port.busy_until() <= now {
            frame = port.pauser.poll_frame(now);
        }
        if let Some(frame) = &frame {
            if std::mem::take(&mut link.waking) {
                driver.cancel_transmit(link.port.busy_until(), LinkAt { place, rank: link.rank });
            }
            let Way { arrival, exit } = link.send_frame(now, FRAME_SIZE);
            for (counts, quanta) in port.counts.iter_mut().zip(frame.quanta) {
                counts.frames += u64::from(quanta.is_some());
            }
            lossless.sent += 1;
            let header = frame.header();
            let nothing = driver.nothing();
            if link.watch.has(Watch::CAPTURED) {
                self.observe(now, place, Some((header, nothing)), driver);
            }
            if exit == NONE {
                self.fly(place, arrival, header, nothing, driver);
            } else {
                driver.leave(exit, arrival, header, nothing);
            }
        }
        let link = &mut self.links[place as usize];
        if let Some(at) = link.schedule() {
            driver.transmit_at(at, LinkAt { place, rank: link.rank });
        }
        let lossless = self.lossless.as_deref_mut().expect("it was there");
        let port = &mut lossless.ports[place as usize];
        let frame = port.pauser.wake_at().map(|at| at.max(link.port.busy_until()));
        let read = lossless.receivers.get(&place).and_then(ReceiveBuffer::wake_at);
        let poll = Some(port.poll_at).filter(|&at| at < Instant::MAX);
        let times = [port.timers.wake_at(), frame, read, port.storm_change(now), poll];
        if let Some(at) = times.into_iter().flatten().min()
            && at < port.event
        {
            port.event = at;
            driver.pause_at(at, LinkAt { place, rank: link.rank });
        }
    }

    /// Adds the pauses of this partition to `pauses`.
    pub(crate) fn add_pauses(&self, pauses: &mut Pauses) {
        let Some(lossless) = self.lossless.as_deref().filter(|lossless| lossless.cyclic) else { return };
        for (place, (link, port)) in self.links.iter().zip(&lossless.ports).enumerate() {
            let Some(book) = &lossless.books[link.node as usize] else { continue };
            let first = self.nodes[link.node as usize].ports.start;
            let ingress = Ingress(place as u32 - first);
            for &class in &lossless.classes {
                let group = book.group(ingress, lossless.maps.group_of_class[usize::from(class)]);
                if book.is_paused(group) {
                    let waiting = &lossless.waiting[link.node as usize];
                    let left = book.counters(group).admitted - waiting.total(group);
                    let wait = |egress: u32| {
                        let egress = (first + egress) as usize;
                        (self.links[egress].number, lossless.ports[egress].beside(class))
                    };
                    let waits = waiting.ports(group).map(wait).collect();
                    pauses.groups.insert((port.sender, class), Group { left, waits });
                }
            }
        }
        for (link, port) in self.links.iter().zip(&lossless.ports) {
            let endless = lossless.classes.iter().filter(|&&class| port.is_endless(class));
            pauses.endless.extend(endless.map(|&class| (port.sender, class)));
            let paused =
                lossless.classes.iter().filter(|&&class| port.counts[usize::from(class)].since.is_some());
            pauses.paused.extend(paused.map(|&class| (link.number, class)));
        }
    }

    /// Returns the pauses of all ports over time, in no particular order.
    pub(crate) fn pause_intervals(&self) -> Vec<PauseInterval> {
        let Some(lossless) = &self.lossless else { return Vec::new() };
        let mut intervals = lossless.intervals.clone();
        for (link, port) in self.links.iter().zip(&lossless.ports) {
            for &class in &lossless.classes {
                let since = port.counts[usize::from(class)].since;
                let open = |since| PauseInterval { since, link: link.number, class, until: None };
                intervals.extend(since.map(open));
            }
        }
        intervals
    }

    /// Returns the counts of pauses by port and class, at the `end` of the run.
    pub(crate) fn pause_counts(&self, end: Instant) -> Vec<PauseCounts> {
        let Some(lossless) = &self.lossless else { return Vec::new() };
        let mut rows = Vec::new();
        for (link, port) in self.links.iter().zip(&lossless.ports) {
            for &class in &lossless.classes {
                let counts = port.counts[usize::from(class)];
                let place = self.places.at(link.number) as u32;
                let mut row = PauseCounts {
                    link: link.number,
                    class,
                    frames: counts.frames,
                    received: counts.received,
                    paused: counts.paused + counts.since.map_or(Duration::ZERO, |since| end - since),
                    sent: counts.sent,
                    resumed: counts.resumed,
                    dropped: counts.refused,
                    storms: counts.storms,
                    dropped_by_watchdog: counts.dropped_by_watchdog,
                    ..PauseCounts::default()
                };
                if let Some(receiver) = lossless.receivers.get(&place) {
                    let config = receiver.config();
                    row.headroom = config.size.saturating_sub(config.xoff);
                    row.max_headroom = receiver.max_backlog.saturating_sub(config.xoff);
                }
                if let Some(book) = &lossless.books[link.node as usize] {
                    let first = self.nodes[link.node as usize].ports.start;
                    let number = lossless.maps.group_of_class[usize::from(class)];
                    let group = book.group(Ingress(place - first), number);
                    let counters = book.counters(group);
                    row.sent = counters.pauses;
                    row.resumed = counters.resumes;
                    row.admitted = counters.admitted;
                    row.expired = lossless.expired.get(&(place, class)).copied().unwrap_or_default();
                    row.max_headroom = book.cell().size() * counters.max_headroom_cells;
                    row.headroom = book.headroom_size(group);
                }
                rows.push(row);
            }
        }
        rows
    }
}
