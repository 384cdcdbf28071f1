//! An egress port: the queues between arrival and link, with the buffer and the markers around them.
//!
//! Order at a port: the discipline names a queue, the buffer tests, the enqueue markers decide, the bytes are accounted;
//! on the way out the bytes are freed, then the dequeue markers decide. The port says when it can send again
//! ([`Port::busy_until`]); the driver calls [`Port::transmit_next`] then, but only while something waits.

use shallows_core::packet::{Ecn, Header, PacketKind};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};

use crate::aqm::{Aqm, Hears, Installed, Marker, Placed, PortView, Verdict};
use crate::buffer::{Refusal, SharedBuffer};
use crate::discipline::{self, AnyDiscipline, Discipline};
use crate::queue::{Item, Left, QueueState};
use crate::ring::Ring;
use crate::shaper::{self, TokenBucket};

mod counters;
mod inspection;

pub use counters::Counters;

pub use crate::queue::DropReason;

/// What a packet that a dequeue marker drops costs on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EgressDrop {
    /// Its slot stays empty, as in hardware (BCC, footnote 4).
    #[default]
    Slot,
    /// Nothing; the next packet goes at once, as in CoDel.
    Free,
}

/// A packet on its way from the port to the link.
#[derive(Clone, Copy, Debug)]
pub struct Departure<T> {
    /// Its header, marked if a marker said so.
    pub header: Header,
    /// What the driver gave with it.
    pub payload: T,
    /// When its last bit is on the wire.
    pub finish: Instant,
}

/// What became of an arriving packet.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<T> {
    /// The link was free: it is being sent.
    Sent(Departure<T>),
    /// It waits.
    Queued,
    /// It is gone.
    Dropped,
}

/// What a port is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Its queues, and which of them sends next.
    pub discipline: discipline::Config,
    /// What marks packets; every one is asked.
    pub markers: Vec<Placed>,
    /// What holds it below the rate of its link, if anything.
    pub shaper: Option<shaper::Config>,
    /// What a drop at dequeue costs.
    pub egress_drop: EgressDrop,
}

/// An egress port.
#[derive(Clone, Debug)]
pub struct Port<T> {
    rate: Rate,
    /// Picoseconds per byte where that is whole, to spare a division per packet; else zero.
    ps_per_byte: u64,
    busy_until: Instant,
    /// All of its queues together; the queue itself where there is one.
    total: QueueState,
    /// Number of its first queue in the buffer of its switch; the others follow.
    account: usize,
    egress_drop: EgressDrop,
    /// What its markers must hear of.
    hears: Hears,
    /// The queue, where there is one.
    fifo: Ring<Item<T>>,
    /// Anything else: most ports have one queue and no shaper, and pay nothing for the others.
    elaborate: Option<Box<Elaborate<T>>>,
    markers: Box<[Installed]>,
    counters: Counters,
}

/// What a port has beyond one queue.
#[derive(Clone, Debug)]
struct Elaborate<T> {
    discipline: AnyDiscipline<T>,
    shaper: Option<TokenBucket>,
    /// By queue, where there is more than one.
    counters: Box<[Counters]>,
}

impl<T: Copy + Default> Port<T> {
    /// A port of a link of this `rate`, which draws from streams that `stream` names by purpose and place.
    ///
    /// `account` is the number of its first queue in the buffer of its switch, which has
    /// [`discipline::Config::queues`] in a row for it.
    ///
    /// # Panics
    ///
    /// If the rate is zero.
    pub fn new(
        rate: Rate,
        account: usize,
        config: &Config,
        mut stream: impl FnMut(&'static str, usize) -> Stream,
    ) -> Self {
        assert!(rate.0 > 0, "a link needs a rate");
        let byte = rate.transmission_time(Bytes(1)).0;
        let ps_per_byte = if 8_000_000_000_000 % rate.0 == 0 { byte } else { 0 };
        let shares = config.discipline.shares();
        let markers: Box<[Installed]> = config
            .markers
            .iter()
            .enumerate()
            .map(|(place, marker)| Installed::new(marker, &shares, stream("marker", place)))
            .collect();
        let elaborate =
            (config.discipline != discipline::Config::Fifo || config.shaper.is_some()).then(|| {
                let queues = if shares.len() > 1 { shares.len() } else { 0 };
                Box::new(Elaborate {
                    discipline: config.discipline.build(rate, stream("discipline", 0)),
                    shaper: config.shaper.map(TokenBucket::new),
                    counters: vec![Counters::default(); queues].into(),
                })
            });
        Self {
            rate,
            ps_per_byte,
            busy_until: Instant::ZERO,
            total: QueueState::default(),
            account,
            egress_drop: config.egress_drop,
            hears: markers.iter().fold(Hears::default(), |hears, marker| hears.and(marker.marker().hears())),
            fifo: Ring::new(),
            elaborate,
            markers,
            counters: Counters::default(),
        }
    }

    /// A packet arrives. What is dropped, it or another, goes to `dropped`.
    #[inline]
    pub fn receive(
        &mut self,
        now: Instant,
        mut header: Header,
        payload: T,
        buffer: &mut SharedBuffer,
        dropped: &mut Vec<T>,
    ) -> Arrival<T> {
        if self.elaborate.is_some() {
            return self.receive_elaborate(now, header, payload, buffer, dropped);
        }
        if !self.admit(now, 0, &mut header, buffer) {
            dropped.push(payload);
            return Arrival::Dropped;
        }
        if self.is_idle(now) {
            // It joins its queue only in passing: what it would take it gives back at once.
            return match self.depart(now, now, 0, header, buffer) {
                Some(header) => Arrival::Sent(Departure { header, payload, finish: self.busy_until }),
                None => {
                    dropped.push(payload);
                    Arrival::Dropped
                }
            };
        }
        self.hold(0, &header, buffer);
        self.fifo.push(Item { header, payload, enqueued_at: now });
        Arrival::Queued
    }

    /// The link is free: send the next packet that waits. Payloads of packets dropped on the way go to `dropped`.
    #[inline]
    pub fn transmit_next(
        &mut self,
        now: Instant,
        buffer: &mut SharedBuffer,
        dropped: &mut Vec<T>,
    ) -> Option<Departure<T>> {
        debug_assert!(self.busy_until <= now, "the previous packet is still being sent");
        if self.elaborate.is_some() {
            return self.transmit_elaborate(now, buffer, dropped);
        }
        while let Some(Item { header, payload, enqueued_at }) = self.fifo.pop() {
            self.free(0, &header, buffer);
            if let Some(header) = self.depart(now, enqueued_at, 0, header, buffer) {
                return Some(Departure { header, payload, finish: self.busy_until });
            }
            dropped.push(payload);
            if self.egress_drop == EgressDrop::Slot {
                return None;
            }
        }
        None
    }

    #[inline(never)]
    fn receive_elaborate(
        &mut self,
        now: Instant,
        mut header: Header,
        payload: T,
        buffer: &mut SharedBuffer,
        dropped: &mut Vec<T>,
    ) -> Arrival<T> {
        self.push_out(now, &header, buffer, dropped);
        let elaborate = self.elaborate.as_mut().expect("called only for an elaborate port");
        let queue = match elaborate.discipline.place(now, &header) {
            Ok(queue) => queue,
            Err(reason) => {
                self.counters.received += 1;
                self.counters.dropped[reason as usize] += 1;
                dropped.push(payload);
                return Arrival::Dropped;
            }
        };
        if !self.admit(now, queue, &mut header, buffer) {
            dropped.push(payload);
            return Arrival::Dropped;
        }
        let idle = self.is_idle(now);
        let elaborate = self.elaborate.as_mut().expect("called only for an elaborate port");
        if idle
            && elaborate.shaper.is_none()
            && let Some(ends_turn) = elaborate.discipline.pass(now, queue, header.size())
        {
            // As at a port with one queue: it joins its queue only in passing.
            let departs = self.depart(now, now, queue, header, buffer);
            if ends_turn {
                self.tell(queue, buffer, |marker, port| marker.on_turn(now, port));
            }
            return match departs {
                Some(header) => Arrival::Sent(Departure { header, payload, finish: self.busy_until }),
                None => {
                    dropped.push(payload);
                    Arrival::Dropped
                }
            };
        }
        self.hold(queue, &header, buffer);
        let elaborate = self.elaborate.as_mut().expect("called only for an elaborate port");
        elaborate.enqueue(queue, Item { header, payload, enqueued_at: now });
        if !idle {
            return Arrival::Queued;
        }
        match self.transmit_elaborate(now, buffer, dropped) {
            Some(departure) => Arrival::Sent(departure),
            None if self.has_backlog() => Arrival::Queued,
            None => Arrival::Dropped,
        }
    }

    /// Drop what has to go so that an arriving packet finds room.
    fn push_out(&mut self, now: Instant, arriving: &Header, buffer: &mut SharedBuffer, dropped: &mut Vec<T>) {
        while let Some(elaborate) = &mut self.elaborate
            && let Some(Left { item, queue, .. }) = elaborate.discipline.push_out(now, arriving)
        {
            self.free(queue, &item.header, buffer);
            self.count(queue).dropped[DropReason::PushedOut as usize] += 1;
            dropped.push(item.payload);
        }
    }

    #[inline(never)]
    fn transmit_elaborate(
        &mut self,
        now: Instant,
        buffer: &mut SharedBuffer,
        dropped: &mut Vec<T>,
    ) -> Option<Departure<T>> {
        loop {
            let elaborate = self.elaborate.as_mut().expect("called only for an elaborate port");
            if let Some(ready) = elaborate.held_until(now) {
                self.busy_until = ready;
                return None;
            }
            let Left { item, queue, ends_turn } = elaborate.discipline.dequeue(now)?;
            let Item { header, payload, enqueued_at } = item;
            self.free(queue, &header, buffer);
            let departs = self.depart(now, enqueued_at, queue, header, buffer);
            let slot_used = departs.is_some() || self.egress_drop == EgressDrop::Slot;
            if slot_used
                && let Some(elaborate) = &mut self.elaborate
                && let Some(shaper) = &mut elaborate.shaper
            {
                shaper.take(now, header.size());
            }
            if ends_turn {
                self.tell(queue, buffer, |marker, port| marker.on_turn(now, port));
            }
            if let Some(header) = departs {
                return Some(Departure { header, payload, finish: self.busy_until });
            }
            dropped.push(payload);
            if slot_used {
                return None;
            }
        }
    }

    /// Whether the buffer and the enqueue markers let a packet join `queue`; notes in its header what they decide.
    #[inline(always)]
    fn admit(&mut self, now: Instant, queue: usize, header: &mut Header, buffer: &SharedBuffer) -> bool {
        self.count(queue).received += 1;
        if self.hears.includes(Hears::ARRIVALS) {
            self.tell(queue, buffer, |marker, port| marker.on_arrival(now, header, port));
        }
        match buffer.room(self.account + queue, header.size()) {
            Ok(memory) => *header = header.with_memory(memory),
            Err(refusal) => {
                self.refuse(refusal, queue);
                return false;
            }
        }
        if !self.hears.includes(Hears::ENQUEUES) {
            return true;
        }
        let verdict =
            self.ask(queue, Duration::ZERO, buffer, |marker, port| marker.on_enqueue(now, header, port));
        self.carry_out(verdict, queue, header)
    }

    #[cold]
    fn refuse(&mut self, refusal: Refusal, queue: usize) {
        let reason = match refusal {
            Refusal::QueueLimit => DropReason::QueueLimit,
            Refusal::PoolFull => DropReason::PoolFull,
        };
        self.count(queue).dropped[reason as usize] += 1;
    }

    /// Whether nothing waits and the link is free.
    #[inline(always)]
    fn is_idle(&self, now: Instant) -> bool {
        self.total.backlog.0 == 0 && self.busy_until <= now
    }

    /// A packet takes its room in `queue`.
    #[inline(always)]
    fn hold(&mut self, queue: usize, header: &Header, buffer: &mut SharedBuffer) {
        buffer.take(self.account + queue, header.size(), header.memory());
        self.total.backlog += header.size();
        self.total.packets += 1;
        self.counters.max_backlog = self.counters.max_backlog.max(self.total.backlog);
    }

    /// A packet gives back its room in `queue`.
    #[inline(always)]
    fn free(&mut self, queue: usize, header: &Header, buffer: &mut SharedBuffer) {
        self.total.backlog -= header.size();
        self.total.packets -= 1;
        buffer.release(self.account + queue, header.size(), header.memory());
    }

    /// When the port can send again: the packet on the wire has left, and its shaper lets the next one pass.
    pub fn busy_until(&self) -> Instant {
        self.busy_until
    }

    /// Bytes waiting.
    pub fn backlog(&self) -> Bytes {
        self.total.backlog
    }

    /// Whether something waits.
    pub fn has_backlog(&self) -> bool {
        self.total.backlog.0 > 0
    }

    /// Rate of the link.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// What has passed so far.
    pub fn counters(&self) -> Counters {
        let mut total = self.counters;
        if let Some(elaborate) = &self.elaborate {
            elaborate.counters.iter().for_each(|own| total.add(own));
        }
        total
    }

    /// What has passed each queue so far; what the discipline refused had no queue yet.
    pub fn queue_counters(&self) -> &[Counters] {
        match &self.elaborate {
            Some(elaborate) if !elaborate.counters.is_empty() => &elaborate.counters,
            _ => std::slice::from_ref(&self.counters),
        }
    }

    /// Where to count what happens to packets of `queue`.
    #[inline(always)]
    fn count(&mut self, queue: usize) -> &mut Counters {
        match &mut self.elaborate {
            Some(elaborate) if !elaborate.counters.is_empty() => &mut elaborate.counters[queue],
            _ => &mut self.counters,
        }
    }

    /// Its markers, with what each has done.
    pub fn markers(&self) -> &[Installed] {
        &self.markers
    }

    /// Put a packet that has left its queue on the wire; nothing if a marker drops it.
    #[inline(always)]
    fn depart(
        &mut self,
        now: Instant,
        enqueued_at: Instant,
        queue: usize,
        mut header: Header,
        buffer: &SharedBuffer,
    ) -> Option<Header> {
        if self.hears.includes(Hears::DEQUEUES) {
            let sojourn = now - enqueued_at;
            let verdict =
                self.ask(queue, sojourn, buffer, |marker, port| marker.on_dequeue(now, &header, port));
            if !self.carry_out(verdict, queue, &mut header) {
                self.count(queue).dropped_at_dequeue += 1;
                if self.egress_drop == EgressDrop::Slot {
                    self.busy_until = now + self.transmission_time(header.size());
                }
                return None;
            }
        }
        self.busy_until = now + self.transmission_time(header.size());
        let counters = self.count(queue);
        counters.sent += 1;
        counters.sent_bytes += header.size();
        Some(header)
    }

    #[inline]
    fn transmission_time(&self, size: Bytes) -> Duration {
        if self.ps_per_byte == 0 {
            self.rate.transmission_time(size)
        } else {
            Duration(size.0 * self.ps_per_byte)
        }
    }

    /// The markers, and the port as they see it.
    #[inline(always)]
    fn markers_and_view<'a>(
        &'a mut self,
        queue: usize,
        sojourn: Duration,
        buffer: &'a SharedBuffer,
    ) -> (&'a mut [Installed], PortView<'a>) {
        let view = PortView {
            rate: self.rate,
            queue,
            queues: match &self.elaborate {
                None => std::slice::from_ref(&self.total),
                Some(elaborate) => elaborate.discipline.queues(),
            },
            port_backlog: self.total.backlog,
            buffer,
            account: self.account + queue,
            busy_until: self.busy_until,
            sojourn,
        };
        (&mut self.markers, view)
    }

    #[inline(always)]
    fn ask(
        &mut self,
        queue: usize,
        sojourn: Duration,
        buffer: &SharedBuffer,
        mut question: impl FnMut(&mut Marker, &PortView<'_>) -> Verdict,
    ) -> Verdict {
        let (markers, view) = self.markers_and_view(queue, sojourn, buffer);
        let mut verdict = Verdict::PASS;
        for installed in markers {
            verdict = verdict.and(installed.ask(&view, |marker| question(marker, &view)));
        }
        verdict
    }

    #[inline]
    fn tell(
        &mut self,
        queue: usize,
        buffer: &SharedBuffer,
        mut news: impl FnMut(&mut Marker, &PortView<'_>),
    ) {
        let (markers, view) = self.markers_and_view(queue, Duration::ZERO, buffer);
        for installed in markers {
            installed.tell(&view, |marker| news(marker, &view));
        }
    }

    /// Mark the packet if the verdict says so; `false` if it must be dropped.
    #[inline(always)]
    fn carry_out(&mut self, verdict: Verdict, queue: usize, header: &mut Header) -> bool {
        if verdict == Verdict::PASS {
            return true;
        }
        let reason = match (verdict.drops(), verdict.marks(), header.ecn()) {
            (true, ..) => Some(DropReason::Early),
            (_, true, Ecn::NotEct) if header.kind() == PacketKind::PureAck => Some(DropReason::NotEctAck),
            (_, true, Ecn::NotEct) => Some(DropReason::NotEct),
            _ => None,
        };
        if let Some(reason) = reason {
            self.count(queue).dropped[reason as usize] += 1;
            return false;
        }
        if verdict.marks() && header.ecn() == Ecn::Ect {
            *header = header.with_ecn(Ecn::Ce);
            self.count(queue).marked += 1;
        }
        if verdict.notifies_incast() {
            *header = header.with_incast(true);
            self.count(queue).incast += 1;
        }
        true
    }
}

impl<T: Copy + Default> Elaborate<T> {
    fn enqueue(&mut self, queue: usize, item: Item<T>) {
        self.discipline.enqueue(queue, item);
        if let Some(counters) = self.counters.get_mut(queue) {
            counters.max_backlog = counters.max_backlog.max(self.discipline.queues()[queue].backlog);
        }
    }

    /// Until when the shaper holds the next packet back, if it does.
    fn held_until(&mut self, now: Instant) -> Option<Instant> {
        let shaper = self.shaper.as_ref()?;
        let size = self.discipline.peek(now)?;
        Some(shaper.ready_at(now, size)).filter(|&ready| ready > now)
    }
}

#[cfg(test)]
mod tests;
