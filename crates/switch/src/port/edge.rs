//! The path of a packet through a port: all steps outside the queues.

use shallows_core::packet::{Ecn, Header, PacketKind};
use shallows_core::{Bytes, Duration, Instant, Rate};

use super::interface::{Departure, EgressDrop};
use super::waiting::{Elaborate, Known, Waiting};
use crate::aqm::{Aqm, Hears, Installed, Marker, PortView, Verdict};
use crate::buffer::{Memory, Refusal, SharedBuffer};
use crate::counters::Books;
use crate::discipline::with_discipline;
use crate::queue::{DropReason, Held, Item, Left, QueueState};

/// The parts of a port around its queues: the link, the accounts in the buffer, the markers and the counters.
///
/// The alignment lets a link with one queue use few cache lines.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Edge {
    pub(super) rate: Rate,
    /// Transmission time of a byte in picoseconds, if this is a whole number; otherwise zero. The field saves a division per packet.
    pub(super) ps_per_byte: u64,
    pub(super) busy_until: Instant,
    /// State of all queues together; with one queue, the state of that queue. Its counters include the largest backlog of the port and the
    /// packets that the discipline rejected, and all other packets if the discipline has no counters
    /// ([`crate::discipline::Discipline::counting_queues`]).
    pub(super) total: QueueState,
    /// Number of the port's first queue in the buffer of the switch. The numbers of its other queues follow.
    pub(super) account: usize,
    pub(super) egress_drop: EgressDrop,
    /// Whether no waiting packet may be sent until a queue is resumed.
    pub(super) halted: bool,
    /// Whether the link is down, so that arriving packets are dropped.
    pub(super) is_down: bool,
    /// Events that the markers handle. While the link is down, [`Hears::ARRIVALS`] is also set, because only the code for arrivals checks
    /// `is_down`.
    pub(super) hears: Hears,
    pub(super) markers: Box<[Installed]>,
}

/// Outcome for an arriving packet. A packet that is sent at once is always the arriving one, because no other packet waits before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fate {
    /// The packet is on the wire until `busy_until`.
    Sent,
    Queued,
    Dropped,
}

/// Decision on whether a packet joins a queue.
#[derive(Clone, Copy)]
enum Admission {
    /// The packet joins, and its bytes are stored in this memory.
    Join(Memory),
    Drop(DropReason),
}

/// Returns the transmission time of a byte at this rate in picoseconds, if this is a whole number; otherwise zero.
///
/// # Panics
///
/// Panics if the rate is zero.
pub(super) fn ps_per_byte(rate: Rate) -> u64 {
    assert!(rate.0 > 0, "a link needs a rate");
    if 8_000_000_000_000 % rate.0 == 0 { rate.transmission_time(Bytes(1)).0 } else { 0 }
}

/// Returns the events that at least one of these markers needs.
pub(super) fn heard_by(markers: &[Installed]) -> Hears {
    markers.iter().fold(Hears::default(), |hears, marker| hears.and(marker.marker().hears()))
}

/// Returns the combined verdict of all `markers` on an arriving packet.
#[inline(never)]
fn enqueue_verdict(markers: &mut [Installed], now: Instant, header: &Header, view: &PortView<'_>) -> Verdict {
    markers
        .iter_mut()
        .fold(Verdict::PASS, |verdict, marker| verdict.and(marker.on_enqueue(now, header, view)))
}

impl Edge {
    /// Handles an arriving packet of a port with several queues or a shaper. The function is compiled out of line, so that the code for
    /// other ports needs fewer registers.
    #[inline(never)]
    pub(super) fn receive_elaborate<T: Copy + Default>(
        &mut self,
        Elaborate { shaper, discipline }: &mut Elaborate<T>,
        now: Instant,
        item: &mut Item<T>,
        found: Option<Memory>,
        buffer: &mut SharedBuffer,
        dropped: &mut impl Extend<T>,
    ) -> Fate {
        with_discipline!(discipline, discipline => {
            self.receive(&mut Known { shaper, discipline }, now, item, found, buffer, dropped)
        })
    }

    /// Handles an arriving packet. Sets in `item` the marks that the markers choose, and the memory of the packet. `found` is the memory of
    /// the packet if it is already known ([`super::Entry`]).
    #[inline(always)]
    pub(super) fn receive<T: Copy, W: Waiting<T>>(
        &mut self,
        waiting: &mut W,
        now: Instant,
        item: &mut Item<T>,
        found: Option<Memory>,
        buffer: &mut SharedBuffer,
        dropped: &mut impl Extend<T>,
    ) -> Fate {
        // Push out packets until the arriving one has room.
        while let Some(Left { item: left, queue, .. }) = waiting.push_out(now, &item.header) {
            self.free(queue, left.header.size(), left.held.memory(), buffer);
            self.count(waiting, queue).rare().dropped[DropReason::PushedOut as usize] += 1;
            dropped.extend([left.payload]);
        }
        let queue = match waiting.place(now, &item.header) {
            Ok(queue) => queue,
            Err(reason) => {
                self.total.books.received += 1;
                self.total.books.rare().dropped[reason as usize] += 1;
                dropped.extend([item.payload]);
                return Fate::Dropped;
            }
        };
        let memory = match self.admit(waiting, now, queue, &mut item.header, found, buffer) {
            Admission::Join(memory) => memory,
            Admission::Drop(reason) => {
                self.count(waiting, queue).rare().dropped[reason as usize] += 1;
                dropped.extend([item.payload]);
                return Fate::Dropped;
            }
        };
        item.held = Held::new(item.held.ingress(), memory);
        let size = item.header.size();
        let idle = self.is_idle(now);
        if idle && let Some(ends_turn) = waiting.pass(now, queue, size) {
            // The packet passes through the port without joining its queue, because it would free its memory at once.
            let departs = self.depart(waiting, now, queue, item, buffer);
            if ends_turn && self.hears.includes(Hears::TURNS) {
                self.tell(waiting, queue, buffer, |marker, port| marker.on_turn(now, port));
            }
            if !departs {
                dropped.extend([item.payload]);
                return Fate::Dropped;
            }
            return Fate::Sent;
        }
        self.hold(queue, size, memory, buffer);
        waiting.enqueue(queue, *item);
        if !idle {
            if self.halted && waiting.may_send(queue) {
                self.go_on(now);
            }
            return Fate::Queued;
        }
        match self.transmit_out_of_line(waiting, now, buffer, dropped) {
            Some(Departure { header, .. }) => {
                item.header = header;
                Fate::Sent
            }
            None if self.total.backlog.0 > 0 => Fate::Queued,
            None => Fate::Dropped,
        }
    }

    /// Sends the next waiting packet of a port with several queues or a shaper; the link must be free. The function is compiled out of
    /// line.
    #[inline(never)]
    pub(super) fn transmit_elaborate<T: Copy + Default>(
        &mut self,
        Elaborate { shaper, discipline }: &mut Elaborate<T>,
        now: Instant,
        buffer: &mut SharedBuffer,
        dropped: &mut impl Extend<T>,
    ) -> Option<Departure<T>> {
        with_discipline!(discipline, discipline => {
            self.transmit_out_of_line(&mut Known { shaper, discipline }, now, buffer, dropped)
        })
    }

    /// Calls [`Self::transmit`]. The function is compiled out of line, once for each discipline: [`Self::receive`] and
    /// [`Self::transmit_elaborate`] share this code.
    #[inline(never)]
    fn transmit_out_of_line<T: Copy, W: Waiting<T>>(
        &mut self,
        waiting: &mut W,
        now: Instant,
        buffer: &mut SharedBuffer,
        dropped: &mut impl Extend<T>,
    ) -> Option<Departure<T>> {
        self.transmit(waiting, now, buffer, dropped)
    }

    /// Sends the next waiting packet; the link must be free.
    #[inline(always)]
    pub(super) fn transmit<T: Copy, W: Waiting<T>>(
        &mut self,
        waiting: &mut W,
        now: Instant,
        buffer: &mut SharedBuffer,
        dropped: &mut impl Extend<T>,
    ) -> Option<Departure<T>> {
        while !self.halted {
            if let Some(ready) = waiting.held_until(now) {
                self.busy_until = ready;
                return None;
            }
            let Some(Left { mut item, queue, ends_turn }) = waiting.dequeue(now) else {
                // Any packet that still waits is in a paused queue.
                self.halted = self.total.backlog.0 > 0;
                break;
            };
            let size = item.header.size();
            self.free(queue, size, item.held.memory(), buffer);
            let departs = self.depart(waiting, now, queue, &mut item, buffer);
            let slot_used = departs || self.egress_drop == EgressDrop::Slot;
            if slot_used {
                waiting.spend(now, size);
            }
            if ends_turn && self.hears.includes(Hears::TURNS) {
                self.tell(waiting, queue, buffer, |marker, port| marker.on_turn(now, port));
            }
            if departs {
                return Some(Departure::of(&item, self.busy_until));
            }
            dropped.extend([item.payload]);
            if slot_used {
                break;
            }
        }
        None
    }

    /// Clears `halted`, because a queue with waiting packets may send again.
    #[cold]
    pub(super) fn go_on(&mut self, now: Instant) {
        self.halted = false;
        if self.total.backlog.0 > 0 {
            self.busy_until = self.busy_until.max(now);
        }
    }

    /// Returns whether the buffer and the enqueue markers admit a packet to `queue`, and sets in its header the marks that the markers
    /// choose. `found` is the memory of the packet if it is already known.
    #[inline(always)]
    fn admit<T: Copy, W: Waiting<T>>(
        &mut self,
        waiting: &mut W,
        now: Instant,
        queue: usize,
        header: &mut Header,
        found: Option<Memory>,
        buffer: &SharedBuffer,
    ) -> Admission {
        self.count(waiting, queue).received += 1;
        if self.hears.includes(Hears::ARRIVALS) {
            if self.is_down {
                return Admission::Drop(DropReason::LinkDown);
            }
            self.tell(waiting, queue, buffer, |marker, port| marker.on_arrival(now, header, port));
        }
        let room = match found {
            Some(memory) => Ok(memory),
            None => buffer.room(self.account + queue, header.size()),
        };
        let memory = match room {
            Ok(memory) => memory,
            Err(Refusal::QueueLimit) => return Admission::Drop(DropReason::QueueLimit),
            Err(Refusal::PoolFull) => return Admission::Drop(DropReason::PoolFull),
        };
        if !self.hears.includes(Hears::ENQUEUES) {
            return Admission::Join(memory);
        }
        let (markers, view) = self.markers_and_view(waiting.states(), queue, Duration::ZERO, buffer);
        let verdict = match markers {
            [marker] => marker.on_enqueue(now, header, &view),
            // The copies let the compiler keep all other values in registers.
            several => enqueue_verdict(several, now, &{ *header }, &{ view }),
        };
        match self.carry_out(waiting, verdict, queue, header) {
            None => Admission::Join(memory),
            Some(reason) => Admission::Drop(reason),
        }
    }

    /// Drops all waiting packets and frees their memory.
    pub(super) fn flush<T: Copy, W: Waiting<T>>(
        &mut self,
        waiting: &mut W,
        now: Instant,
        buffer: &mut SharedBuffer,
        dropped: &mut impl Extend<T>,
    ) {
        while let Some(Left { item, queue, .. }) = waiting.dequeue(now) {
            self.free(queue, item.header.size(), item.held.memory(), buffer);
            let rare = self.count(waiting, queue).rare();
            rare.dropped[DropReason::LinkDown as usize] += 1;
            rare.dropped_at_dequeue += 1;
            dropped.extend([item.payload]);
        }
        debug_assert_eq!((self.total.backlog, self.total.packets), (Bytes(0), 0), "no packet is left");
    }

    /// Returns whether no packet waits and the link is free.
    #[inline(always)]
    fn is_idle(&self, now: Instant) -> bool {
        self.total.backlog.0 == 0 && self.busy_until <= now && !self.halted
    }

    /// Updates the accounts when a packet joins `queue`.
    #[inline(always)]
    fn hold(&mut self, queue: usize, size: Bytes, memory: Memory, buffer: &mut SharedBuffer) {
        buffer.take(self.account + queue, size, memory);
        self.total.backlog += size;
        self.total.packets += 1;
        self.total.books.max_backlog = self.total.books.max_backlog.max(self.total.backlog);
    }

    /// Removes from the accounts a packet that leaves `queue`.
    #[inline(always)]
    fn free(&mut self, queue: usize, size: Bytes, memory: Memory, buffer: &mut SharedBuffer) {
        self.total.backlog -= size;
        self.total.packets -= 1;
        buffer.release(self.account + queue, size, memory);
    }

    /// Returns the counters for the packets of `queue`.
    #[inline(always)]
    fn count<'a, T: Copy, W: Waiting<T>>(&'a mut self, waiting: &'a mut W, queue: usize) -> &'a mut Books {
        waiting.books(queue, &mut self.total.books)
    }

    /// Puts on the wire a packet that has left its queue, and sets in `item` the marks that the markers choose. Returns `false` if a marker
    /// drops the packet instead.
    #[inline(always)]
    fn depart<T: Copy, W: Waiting<T>>(
        &mut self,
        waiting: &mut W,
        now: Instant,
        queue: usize,
        item: &mut Item<T>,
        buffer: &SharedBuffer,
    ) -> bool {
        if self.hears.includes(Hears::DEQUEUES) {
            let sojourn = now - item.enqueued_at;
            let (markers, view) = self.markers_and_view(waiting.states(), queue, sojourn, buffer);
            let mut verdict = Verdict::PASS;
            for marker in markers {
                verdict = verdict.and(marker.on_dequeue(now, &item.header, &view));
            }
            if let Some(reason) = self.carry_out(waiting, verdict, queue, &mut item.header) {
                let rare = self.count(waiting, queue).rare();
                rare.dropped[reason as usize] += 1;
                rare.dropped_at_dequeue += 1;
                if self.egress_drop == EgressDrop::Slot {
                    self.busy_until = now + self.transmission_time(item.header.size());
                }
                return false;
            }
        }
        let size = item.header.size();
        self.busy_until = now + self.transmission_time(size);
        let books = self.count(waiting, queue);
        books.sent += 1;
        books.sent_bytes += size;
        true
    }

    #[inline]
    pub(super) fn transmission_time(&self, size: Bytes) -> Duration {
        if self.ps_per_byte == 0 {
            self.rate.transmission_time(size)
        } else {
            Duration(size.0 * self.ps_per_byte)
        }
    }

    /// Returns the port's markers, and the view of the port that they receive. `queues` is the state of each queue; with `None`, the port
    /// has one queue.
    #[inline(always)]
    pub(super) fn markers_and_view<'a>(
        &'a mut self,
        queues: Option<&'a [QueueState]>,
        queue: usize,
        sojourn: Duration,
        buffer: &'a SharedBuffer,
    ) -> (&'a mut [Installed], PortView<'a>) {
        let view = PortView {
            rate: self.rate,
            queue,
            queues: queues.unwrap_or(std::slice::from_ref(&self.total)),
            port_backlog: self.total.backlog,
            buffer,
            account: self.account + queue,
            busy_until: self.busy_until,
            sojourn,
        };
        (&mut self.markers, view)
    }

    #[inline(always)]
    fn tell<T: Copy, W: Waiting<T>>(
        &mut self,
        waiting: &W,
        queue: usize,
        buffer: &SharedBuffer,
        mut news: impl FnMut(&mut Marker, &PortView<'_>),
    ) {
        let (markers, view) = self.markers_and_view(waiting.states(), queue, Duration::ZERO, buffer);
        for installed in markers {
            installed.tell(&view, |marker| news(marker, &view));
        }
    }

    /// Sets in `header` the marks that the verdict contains, or returns the reason for dropping the packet.
    #[inline(always)]
    fn carry_out<T: Copy, W: Waiting<T>>(
        &mut self,
        waiting: &mut W,
        verdict: Verdict,
        queue: usize,
        header: &mut Header,
    ) -> Option<DropReason> {
        if verdict == Verdict::PASS {
            return None;
        }
        let reason = match (verdict.drops(), verdict.marks(), header.ecn()) {
            (true, ..) => Some(DropReason::Early),
            (_, true, Ecn::NotEct) if header.kind() == PacketKind::PureAck => Some(DropReason::NotEctAck),
            (_, true, Ecn::NotEct) => Some(DropReason::NotEct),
            _ => None,
        };
        if reason.is_some() {
            return reason;
        }
        if verdict.marks() && header.ecn() == Ecn::Ect {
            *header = header.with_ecn(Ecn::Ce);
            self.count(waiting, queue).rare().marked += 1;
        }
        if verdict.notifies_incast() && !header.incast() {
            *header = header.with_incast(true);
            self.count(waiting, queue).rare().incast += 1;
        }
        None
    }
}
