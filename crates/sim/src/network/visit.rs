//! Execution by time windows: in each window, one group of ports after the other processes arriving packets, and sends all packets that are
//! due. Usually, a group has all ports of a switch.
//! NICs send in the same way while their hosts run, unless hosts react to departures.
//!
//! No events are scheduled, but results are the same as with events. Events at a switch are ordered by time. At equal times, departures
//! precede arrivals, and both are ordered by the rank of their link. Before a packet joins a port, and when the window ends, the port sends
//! all packets that are due. All ports of the group send their due packets if their backlog may decide whether the joining packet is
//! dropped or marked ([`crate::network::group::Order`]).

use std::cmp::Reverse;
use std::ops::Range;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Duration, Instant, prefetch, prefetch_lines};
use shallows_measure::Tally;
use shallows_switch::port::{Arrival, Departure, Entry, Ingress, Room};

use crate::network::calendar::{Arriving, Calendar};
use crate::network::event::{Class, Event};
use crate::network::group::{Busy, Group, Order, Turn};
use crate::network::link::{Leaves, Link, NONE};
use crate::network::sorter::Timed;
use crate::network::turns::Step;
use crate::network::{Driver, Network};

impl<T: Copy + Default> Network<T> {
    /// Sets whether the network's state is probably not in the cache when a time window begins. Affects only the speed of a run.
    pub(crate) fn set_cold(&mut self, is_cold: bool) {
        self.is_cold = is_cold;
    }

    /// Returns a time before which no packet arrives at, or leaves, a node that runs in time windows; `Instant::MAX` if all nodes run event
    /// by event.
    pub(crate) fn not_before(&self) -> Instant {
        if !self.by_window {
            return Instant::MAX;
        }
        // Arrivals and departures up to `visited` have been processed.
        let after = Instant(self.visited.0 + 1);
        let departure = self.busy.iter().fold(Instant::MAX, |first, busy| first.min(busy.next));
        self.calendar.not_before().max(after).min(departure)
    }

    /// Returns whether switches run in time windows instead of event by event.
    #[inline]
    pub(crate) fn goes_by_window(&self) -> bool {
        self.by_window
    }

    /// Returns the total number of packet arrivals and departures at nodes that run in time windows.
    #[inline]
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of visits to nodes that run in time windows. Each turn of a group with arriving packets counts once; all hosts
    /// together count once per window.
    pub(crate) fn visits(&self) -> u64 {
        self.visits
    }

    /// Returns the length of a time window.
    pub(crate) fn window(&self) -> Duration {
        self.calendar.window()
    }

    /// Returns the time of the last event at nodes that run in time windows.
    pub(crate) fn last(&self) -> Instant {
        self.last
    }

    /// Changes the length of time windows. All packets that arrive before `now` must have been processed.
    pub(crate) fn set_window(&mut self, window: Duration, now: Instant) {
        self.calendar.set_window(window, now);
    }

    /// Opens the time window that contains `now`. Returns the last instant of this window, or the time of the next epoch if that is
    /// earlier.
    pub(crate) fn open_window(&mut self, now: Instant) -> Instant {
        let end = self.calendar.open(now);
        self.epochs.get(self.epochs_over).map_or(end, |epoch| epoch.at.min(end))
    }

    /// Removes and returns packets to hosts from the bucket of the open time window. The second list refers to the packets that arrive by
    /// `until`, in order of arrival. The other returned packets arrive later, and have been put back into the calendar.
    pub(crate) fn take_for_hosts(&mut self, until: Instant) -> (Vec<Arriving<T>>, Vec<Timed>) {
        let due = self.calendar.take_due(Turn::HOSTS);
        if due.is_empty() {
            return (Vec::new(), Vec::new());
        }
        self.calendar.recycle_due(due);
        let (packets, start) = (self.calendar.take(self.all_hosts()), self.calendar.start());
        for (place, packet) in packets.iter().enumerate() {
            if packet.at <= until {
                self.sorter.add(packet.at - start, place);
            } else {
                self.calendar.place(self.all_hosts(), *packet);
            }
        }
        let rank = |place: usize| self.wires[packets[place].wire as usize].rank;
        let sorted = self.sorter.take_sorted(self.calendar.span_until(until), rank);
        (packets, sorted)
    }

    /// Takes back the lists from [`Self::take_for_hosts`] after use. Only the first `read` packets in order of arrival were processed. The
    /// others are put back into the calendar.
    pub(crate) fn give_back(&mut self, packets: Vec<Arriving<T>>, sorted: Vec<Timed>, read: usize) {
        self.events += read as u64;
        self.visits += 1;
        for unread in &sorted[read..] {
            self.calendar.place(self.all_hosts(), packets[unread.place()]);
        }
        self.calendar.recycle(packets);
        self.sorter.recycle(sorted);
    }

    /// Returns the index of the group of all hosts. It is the last index, and is also the number of the hosts' bucket in the calendar.
    #[inline]
    fn all_hosts(&self) -> u32 {
        self.groups.len() as u32 - 1
    }

    /// Returns the number of groups that send without events while switches run in time windows: all groups, or all but the last, that of the
    /// hosts.
    pub(super) fn groups_by_window(&self) -> u32 {
        self.groups.len() as u32 - u32::from(!self.nics_by_window)
    }

    /// Prefetches the link and memory of a host's NIC, because the host will probably answer a packet.
    #[inline(always)]
    pub(crate) fn prefetch_nic(&self, host: HostId) {
        let link = &self.links[self.places.at(host.0)];
        prefetch_lines(link);
        prefetch_lines(&self.nodes[self.node_numbers.at(host.0)].memory);
    }

    /// Returns the arrival event of a packet at a host.
    #[inline]
    pub(crate) fn arrival_of(&self, packet: &Arriving<T>) -> Event {
        Event::of_link(Class::Deliver, self.wires[packet.wire as usize].rank, packet.wire)
    }

    /// Processes all arrivals at switches in the open time window up to `until`, and sends all packets that are due by `until`.
    pub(crate) fn visit_switches(&mut self, until: Instant, driver: &mut impl Driver<T>) {
        if self.by_window {
            self.run_steps(0..self.steps.len(), until, driver);
        }
    }

    /// Runs these steps of the open time window up to `until`, like [`Self::visit_switches`].
    pub(crate) fn run_steps(&mut self, steps: Range<usize>, until: Instant, driver: &mut impl Driver<T>) {
        let hosts = self.all_hosts();
        if steps.start == 0 && !self.groups[hosts as usize].ports.is_empty() {
            self.finish(hosts, until, driver);
            self.busy[Turn::HOSTS.index()].next = self.groups[hosts as usize].next;
        }
        for step in steps.clone() {
            let Step { turn, part } = self.steps[step];
            let end = part.map_or(until, |part| until.min(Instant((self.calendar.start() + part).0 - 1)));
            self.take_turn(turn, end, driver);
        }
        if steps.end == self.steps.len() {
            self.visited = self.visited.max(until);
        }
    }

    /// Computes when the next packet leaves a NIC. Called if the run stops between the turn of hosts and the turns of switches. All packets that
    /// were due by the end of the last window have left.
    pub(crate) fn note_departures_of_hosts(&mut self, driver: &mut impl Driver<T>) {
        self.finish(self.all_hosts(), self.visited, driver);
    }

    /// Runs the groups of ports with this turn up to `until`, one after the other. Does nothing if none of their packets arrives or leaves by
    /// `until`.
    fn take_turn(&mut self, turn: Turn, until: Instant, driver: &mut impl Driver<T>) {
        let due = self.calendar.take_due(turn);
        if due.is_empty() && self.busy[turn.index()].next > until {
            return;
        }
        for &group in &due {
            self.take_arrivals(group, until, driver);
            self.finish(group, until, driver);
        }
        self.calendar.recycle_due(due);
        let mut entries = std::mem::take(&mut self.busy[turn.index()].entries);
        let mut next = Instant::MAX;
        entries.retain(|&group| {
            if self.groups[group as usize].next <= until {
                self.finish(group, until, driver);
            }
            let own = &mut self.groups[group as usize];
            next = next.min(own.next);
            own.listed = own.next < Instant::MAX;
            own.listed
        });
        self.busy[turn.index()] = Busy { entries, next };
    }

    /// Processes the packets that arrive in the open time window up to `until` and leave by a port of this group, in order of time and rank.
    /// Passes packets that leave by another port of the switch to the port's group, which has a later turn.
    fn take_arrivals(&mut self, group: u32, until: Instant, driver: &mut impl Driver<T>) {
        self.visits += 1;
        let Self { calendar, sorter, egress, routing, places, links, wires, groups, group_of, .. } = self;
        let (packets, start) = (calendar.take(group), calendar.start());
        let Group { order, switch, node, is_part, .. } = groups[group as usize];
        egress.resize(packets.len(), 0);
        for (place, (packet, egress)) in packets.iter().zip(egress).enumerate() {
            debug_assert!(packet.at >= start, "packets arrive in the open window or later");
            if packet.at > until {
                calendar.place(group, *packet);
                continue;
            }
            let port = places.at(routing.next_hop(switch, &packet.header)) as u32;
            if is_part && group_of[port as usize] != group {
                let other = group_of[port as usize];
                debug_assert!(groups[other as usize].turn > groups[group as usize].turn, "its turn is over");
                calendar.place(other, *packet);
                continue;
            }
            prefetch(&links[port as usize]);
            *egress = port;
            sorter.add(packet.at - start, place);
        }
        let rank = |place: usize| wires[packets[place].wire as usize].rank;
        let sorted = sorter.take_sorted(calendar.span_until(until), rank);
        if self.is_cold {
            self.prefetch_ports(sorted.iter().map(|packet| self.egress[packet.place()]));
        }
        for packet in &sorted {
            let place = packet.place();
            self.take_one(group, node, order, &packets[place], self.egress[place], driver);
        }
        if let Some(last) = sorted.last() {
            self.events += sorted.len() as u64;
            self.last = self.last.max(packets[last.place()].at);
        }
        self.sorter.recycle(sorted);
        self.calendar.recycle(packets);
    }

    /// Prefetches these ports and the data that they point to.
    #[inline(never)]
    fn prefetch_ports(&self, places: impl Iterator<Item = u32> + Clone) {
        places.clone().for_each(|place| prefetch_lines(&self.links[place as usize]));
        places.for_each(|place| self.links[place as usize].port.prefetch());
    }

    /// Processes one arrival at a port of a group.
    #[inline(always)]
    fn take_one(
        &mut self,
        group: u32,
        node: u32,
        order: Order,
        packet: &Arriving<T>,
        port: u32,
        driver: &mut impl Driver<T>,
    ) {
        let now = packet.at;
        if order == Order::OfTime {
            self.send_due(group, now, driver);
        } else if self.links[port as usize].port.is_due(now) {
            self.catch_up(port, now, driver);
        }
        self.join(group, node, order, port, packet, driver);
    }

    /// Sends a packet from a host that runs in time windows. `place` is the index of the host's link. Returns whether the transmission
    /// starts at once.
    #[inline(always)]
    pub(super) fn send_by_window(
        &mut self,
        place: u32,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) -> bool {
        let at = driver.now();
        let link = &self.links[place as usize];
        let node = link.node;
        if link.port.is_due(at) {
            self.catch_up(place, at, driver);
        }
        let packet = Arriving { at, header, payload, wire: place };
        self.join(self.all_hosts(), node, Order::Apart, place, &packet, driver)
    }

    /// Passes an arriving packet to a port that has already sent all packets due before this arrival. With the order
    /// [`Order::ApartWhileRoom`], the other ports of the group send first if the packet may find no room. Returns whether the transmission
    /// of the packet starts at once.
    #[inline(always)]
    fn join(
        &mut self,
        group: u32,
        node: u32,
        order: Order,
        place: u32,
        packet: &Arriving<T>,
        driver: &mut impl Driver<T>,
    ) -> bool {
        let &Arriving { at: now, header, payload, .. } = packet;
        let Self { links, nodes, dropped, calendar, tally, groups, .. } = self;
        let link = &mut links[place as usize];
        let memory = &mut nodes[node as usize].memory;
        let mut found = None;
        if order == Order::ApartWhileRoom {
            match link.port.room(memory, header.size()) {
                Room::Found(part) => found = Some(part),
                Room::Certain => {}
                Room::Uncertain => return self.join_after_all(group, node, place, packet, driver),
            }
        }
        // Networks with lossless classes, which alone count packets by ingress, never run in time windows.
        let entry = Entry { ingress: Ingress::NONE, found };
        let sent = match link.port.receive(now, entry, header, payload, memory, dropped) {
            Arrival::Sent(departure) => {
                if let Some(leaves) = leave(link, place, departure, calendar, tally, driver) {
                    self.depart_watched(now, place, leaves, departure.header, departure.payload, driver);
                }
                true
            }
            other @ (Arrival::Queued | Arrival::Dropped) => {
                if let Arrival::Queued = other {
                    wait(link, place, &mut groups[group as usize]);
                }
                if link.watch.is_observed() {
                    self.observe(now, place, None, driver);
                }
                false
            }
        };
        if !self.dropped.is_empty() {
            self.reclaim(place, driver);
        }
        sent
    }

    /// Calls [`Self::join`] after all ports of the group have sent the packets that are due before this arrival.
    #[inline(never)]
    fn join_after_all(
        &mut self,
        group: u32,
        node: u32,
        place: u32,
        packet: &Arriving<T>,
        driver: &mut impl Driver<T>,
    ) -> bool {
        self.catch_all_up(group, packet.at, driver);
        // All ports have now sent the packets that are due, so the port itself can check whether there is room.
        self.join(group, node, Order::Apart, place, packet, driver)
    }

    /// Calls [`Self::depart`] for a link with an observer or a watchdog. Not inlined, because such links are few.
    #[inline(never)]
    fn depart_watched(
        &mut self,
        now: Instant,
        place: u32,
        leaves: Leaves,
        header: Header,
        payload: T,
        driver: &mut impl Driver<T>,
    ) {
        self.depart(now, place, leaves, header, payload, driver);
    }

    /// Sends all packets of a group that are due by `now`, one port after the other.
    #[inline(never)]
    fn catch_all_up(&mut self, group: u32, now: Instant, driver: &mut impl Driver<T>) {
        for number in 0..self.groups[group as usize].ports.len() {
            let (next, place) = self.groups[group as usize].ports[number];
            if next <= now && self.links[place as usize].port.is_due(now) {
                self.catch_up(place, now, driver);
            }
        }
    }

    /// Sends all packets of a port that are due by `until`.
    #[inline(never)]
    fn catch_up(&mut self, place: u32, until: Instant, driver: &mut impl Driver<T>) {
        while let Some((now, unusual)) = self.send_until(place, until, driver) {
            self.after_unusual(now, place, unusual, driver);
        }
    }

    /// Sends packets of a port that are due by `until`. Stops at the first unusual departure, and returns this departure and its time.
    /// Returns `None` when all due packets have been sent.
    #[inline(always)]
    fn send_until(
        &mut self,
        place: u32,
        until: Instant,
        driver: &mut impl Driver<T>,
    ) -> Option<(Instant, Unusual<T>)> {
        let Self { links, nodes, dropped, calendar, tally, .. } = self;
        let link = &mut links[place as usize];
        let memory = &mut nodes[link.node as usize].memory;
        while let Some(now) = link.port.wake_at()
            && now <= until
        {
            self.events += 1;
            self.last = self.last.max(now);
            let Some(departure) = link.port.transmit_next(now, memory, dropped) else {
                return Some((now, Unusual::Nothing));
            };
            let Departure { header, payload, .. } = departure;
            if let Some(leaves) = leave(link, place, departure, calendar, tally, driver) {
                return Some((now, Unusual::Watched(leaves, header, payload)));
            }
            if !dropped.is_empty() {
                return Some((now, Unusual::Drops));
            }
        }
        None
    }

    #[inline(never)]
    fn after_unusual(&mut self, now: Instant, place: u32, unusual: Unusual<T>, driver: &mut impl Driver<T>) {
        match unusual {
            Unusual::Watched(leaves, header, payload) => {
                self.depart(now, place, leaves, header, payload, driver)
            }
            Unusual::Nothing => self.observe_change(now, place, driver),
            Unusual::Drops => {}
        }
        if !self.dropped.is_empty() {
            self.reclaim(place, driver);
        }
    }

    /// Sends all packets of a group that are due by `until`, in order of time over all ports.
    fn send_due(&mut self, group: u32, until: Instant, driver: &mut impl Driver<T>) {
        while let Some(&Reverse((at, _, place))) = self.groups[group as usize].departures.peek()
            && at <= until
        {
            self.groups[group as usize].departures.pop();
            self.links[place as usize].waking = false;
            self.catch_up(place, at, driver);
            wait(&mut self.links[place as usize], place, &mut self.groups[group as usize]);
        }
    }

    /// Completes a visit: sends all packets of a group that are due by `until`, and updates the time of the group's next departure.
    #[inline]
    pub(super) fn finish(&mut self, group: u32, until: Instant, driver: &mut impl Driver<T>) {
        let own = &mut self.groups[group as usize];
        if own.is_empty() {
            own.next = Instant::MAX;
        } else {
            self.finish_ports(group, until, driver);
        }
    }

    /// Completes a visit of a group that has ports with waiting packets.
    #[inline(never)]
    fn finish_ports(&mut self, group: u32, until: Instant, driver: &mut impl Driver<T>) {
        let next = if self.groups[group as usize].order == Order::OfTime {
            self.send_due(group, until, driver);
            let first = self.groups[group as usize].departures.peek();
            first.map_or(Instant::MAX, |&Reverse((at, ..))| at)
        } else {
            let mut ports = std::mem::take(&mut self.groups[group as usize].ports);
            let mut next = Instant::MAX;
            if self.is_cold {
                let due = |&(at, place): &(Instant, u32)| (at <= until).then_some(place);
                self.prefetch_ports(ports.iter().filter_map(due));
            }
            ports.retain_mut(|(at, place)| {
                if *at <= until {
                    if self.links[*place as usize].port.is_due(until) {
                        self.catch_up(*place, until, driver);
                    }
                    let link = &mut self.links[*place as usize];
                    *at = link.port.wake_at().unwrap_or(Instant::MAX);
                    link.waking = *at < Instant::MAX;
                }
                next = next.min(*at);
                *at < Instant::MAX
            });
            self.groups[group as usize].ports = ports;
            next
        };
        let own = &mut self.groups[group as usize];
        own.next = next;
        if next < Instant::MAX {
            let busy = &mut self.busy[own.turn.index()];
            busy.next = busy.next.min(next);
            if !own.listed {
                own.listed = true;
                busy.entries.push(group);
            }
        }
    }

    /// Removes from the calendar the packets in flight on a link that has gone down. Returns their payloads.
    pub(crate) fn take_arriving(&mut self, place: u32) -> Vec<T> {
        self.calendar.take_of_wire(place).into_iter().map(|packet| packet.payload).collect()
    }
}

/// Departure that [`leave`] does not complete.
enum Unusual<T> {
    /// A packet leaves on a link with an observer or a watchdog.
    Watched(Leaves, Header, T),
    /// No packet leaves, because the port drops the packet or the port's shaper has too few tokens.
    Nothing,
    /// A packet leaves, and the port has dropped other packets.
    Drops,
}

/// Adds a link's port to the list of ports with waiting packets, unless it is already listed.
#[inline(always)]
pub(super) fn wait<T: Copy + Default>(link: &mut Link<T>, place: u32, group: &mut Group) {
    if group.order == Order::OfTime {
        if let Some(at) = link.schedule() {
            group.departures.push(Reverse((at, link.rank, place)));
        }
    } else if !link.waking {
        link.waking = true;
        group.ports.push((link.port.busy_until(), place));
    }
}

/// Puts on `link` a packet that starts to leave the link's port, or passes it to [`Driver::leave`] if the link leads to another partition.
/// Returns `None`. If the link has an observer or a watchdog, does neither, and returns the packet's arrival and exit.
#[inline(always)]
fn leave<T: Copy + Default>(
    link: &mut Link<T>,
    place: u32,
    departure: Departure<T>,
    calendar: &mut Calendar<T>,
    tally: &mut Tally,
    driver: &mut impl Driver<T>,
) -> Option<Leaves> {
    let leaves = link.leaves(&departure);
    if leaves.watch.sees_departures() {
        return Some(leaves);
    }
    let Departure { header, payload, .. } = departure;
    let at = leaves.way.arrival;
    tally.packet_hops += 1;
    if leaves.way.exit == NONE {
        calendar.place(link.bucket, Arriving { at, header, payload, wire: place });
    } else {
        driver.leave(leaves.way.exit, at, header, payload);
    }
    None
}
