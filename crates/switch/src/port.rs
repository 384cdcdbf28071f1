//! An egress port: the queue between arrival and link, with the buffer and the markers around it.
//!
//! Order at a port: the buffer tests, the enqueue markers decide, the bytes are accounted; on the way out the
//! bytes are freed, then the dequeue markers decide. The port says when a transmission ends; the driver calls
//! [`Port::transmit_next`] then, but only while something waits.

use shallows_core::packet::{Ecn, Header, PacketKind};
use shallows_core::{Bytes, Duration, Instant, Rate};

use crate::aqm::{Aqm, Marker, PortView, Verdict};
use crate::buffer::{Refusal, SharedBuffer};
use crate::ring::Ring;

/// What a packet that a dequeue marker drops costs on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EgressDrop {
    /// Its slot stays empty, as in hardware (BCC, footnote 4).
    #[default]
    Slot,
    /// Nothing; the next packet goes at once, as in CoDel.
    Free,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// Its queue may grow no further.
    QueueLimit,
    /// The pool had no room.
    PoolFull,
    /// A marker chose it, and it was not ECN-capable.
    NotEct,
    /// Likewise, and it was a pure acknowledgement.
    NotEctAck,
}

impl DropReason {
    /// Every reason, in the order of [`Counters::dropped`].
    pub const ALL: [Self; 4] = [Self::QueueLimit, Self::PoolFull, Self::NotEct, Self::NotEctAck];

    /// The name under which results list it.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueueLimit => "queue_limit",
            Self::PoolFull => "pool_full",
            Self::NotEct => "not_ect",
            Self::NotEctAck => "not_ect_ack",
        }
    }
}

/// Packets by what became of them. Law: received = sent + dropped + queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Arrived at the port.
    pub received: u64,
    /// Given CE here.
    pub marked: u64,
    /// Put on the link.
    pub sent: u64,
    /// Bytes put on the link.
    pub sent_bytes: Bytes,
    /// Dropped, by [`DropReason`].
    pub dropped: [u64; 4],
    /// The part of those that was dropped on the way out.
    pub dropped_at_dequeue: u64,
    /// Most bytes that ever waited.
    pub max_backlog: Bytes,
}

impl Counters {
    /// Dropped for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Joined the queue, if only in passing.
    pub fn enqueued(&self) -> u64 {
        self.received - (self.dropped_total() - self.dropped_at_dequeue)
    }

    /// Left the queue.
    pub fn dequeued(&self) -> u64 {
        self.sent + self.dropped_at_dequeue
    }
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
    /// It is gone; the driver may reclaim `payload`.
    Dropped {
        /// What the driver gave with it.
        payload: T,
    },
}

/// An egress port with one queue.
#[derive(Clone, Debug)]
pub struct Port<T> {
    rate: Rate,
    /// Picoseconds per byte where that is whole, to spare a division per packet; else zero.
    ps_per_byte: u64,
    busy_until: Instant,
    backlog: Bytes,
    queue_id: usize,
    egress_drop: EgressDrop,
    queue: Ring<(Header, T)>,
    markers: Box<[Marker]>,
    counters: Counters,
}

impl<T: Copy + Default> Port<T> {
    /// A port of a link of this `rate`, whose queue is number `queue_id` of its switch's buffer.
    ///
    /// # Panics
    ///
    /// If the rate is zero.
    pub fn new(rate: Rate, queue_id: usize, markers: Vec<Marker>, egress_drop: EgressDrop) -> Self {
        assert!(rate.0 > 0, "a link needs a rate");
        let byte = rate.transmission_time(Bytes(1)).0;
        let ps_per_byte = if 8_000_000_000_000 % rate.0 == 0 { byte } else { 0 };
        Self {
            rate,
            ps_per_byte,
            busy_until: Instant::ZERO,
            backlog: Bytes(0),
            queue_id,
            egress_drop,
            queue: Ring::new(),
            markers: markers.into_boxed_slice(),
            counters: Counters::default(),
        }
    }

    /// A packet arrives. If it is dropped the caller gets `payload` back.
    #[inline]
    pub fn receive(
        &mut self,
        now: Instant,
        mut header: Header,
        payload: T,
        buffer: &mut SharedBuffer,
    ) -> Arrival<T> {
        self.counters.received += 1;
        match buffer.room(self.queue_id, header.size()) {
            Ok(memory) => header = header.with_memory(memory),
            Err(refusal) => return self.refuse(refusal, payload),
        }
        if !self.markers.is_empty() {
            let verdict = self.ask(buffer, |marker, port| marker.on_enqueue(now, &header, port));
            if !self.carry_out(verdict, &mut header) {
                return Arrival::Dropped { payload };
            }
        }
        if self.backlog.0 == 0 && self.busy_until <= now {
            // It joins its queue only in passing: what it would take it gives back at once.
            return match self.depart(now, header, payload, buffer) {
                Ok(departure) => Arrival::Sent(departure),
                Err(payload) => Arrival::Dropped { payload },
            };
        }
        buffer.take(self.queue_id, header.size(), header.memory());
        self.backlog += header.size();
        self.counters.max_backlog = self.counters.max_backlog.max(self.backlog);
        self.queue.push((header, payload));
        Arrival::Queued
    }

    #[cold]
    fn refuse(&mut self, refusal: Refusal, payload: T) -> Arrival<T> {
        let reason = match refusal {
            Refusal::QueueLimit => DropReason::QueueLimit,
            Refusal::PoolFull => DropReason::PoolFull,
        };
        self.counters.dropped[reason as usize] += 1;
        Arrival::Dropped { payload }
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
        while let Some((header, payload)) = self.queue.pop() {
            self.backlog -= header.size();
            buffer.release(self.queue_id, header.size(), header.memory());
            match self.depart(now, header, payload, buffer) {
                Ok(departure) => return Some(departure),
                Err(payload) => dropped.push(payload),
            }
            if self.egress_drop == EgressDrop::Slot {
                return None;
            }
        }
        None
    }

    /// When the link is free again.
    pub fn busy_until(&self) -> Instant {
        self.busy_until
    }

    /// Bytes waiting.
    pub fn backlog(&self) -> Bytes {
        self.backlog
    }

    /// Whether something waits.
    pub fn has_backlog(&self) -> bool {
        self.backlog.0 > 0
    }

    /// Number of the queue in the buffer of its switch.
    pub fn queue_id(&self) -> usize {
        self.queue_id
    }

    /// Rate of the link.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// What has passed so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Put a packet that has left its queue on the wire, or hand back its payload if a marker drops it.
    #[inline(always)]
    fn depart(
        &mut self,
        now: Instant,
        mut header: Header,
        payload: T,
        buffer: &SharedBuffer,
    ) -> Result<Departure<T>, T> {
        if !self.markers.is_empty() {
            let verdict = self.ask(buffer, |marker, port| marker.on_dequeue(now, &header, port));
            if !self.carry_out(verdict, &mut header) {
                self.counters.dropped_at_dequeue += 1;
                if self.egress_drop == EgressDrop::Slot {
                    self.busy_until = now + self.transmission_time(header.size());
                }
                return Err(payload);
            }
        }
        self.busy_until = now + self.transmission_time(header.size());
        self.counters.sent += 1;
        self.counters.sent_bytes += header.size();
        Ok(Departure { header, payload, finish: self.busy_until })
    }

    #[inline]
    fn transmission_time(&self, size: Bytes) -> Duration {
        if self.ps_per_byte == 0 {
            self.rate.transmission_time(size)
        } else {
            Duration(size.0 * self.ps_per_byte)
        }
    }

    #[inline]
    fn ask(
        &mut self,
        buffer: &SharedBuffer,
        mut question: impl FnMut(&mut Marker, &PortView) -> Verdict,
    ) -> Verdict {
        let view = PortView {
            rate: self.rate,
            queue_backlog: self.backlog,
            port_backlog: self.backlog,
            pool_used: buffer.pool_of(self.queue_id).used,
        };
        self.markers.iter_mut().fold(Verdict::PASS, |verdict, marker| verdict.and(question(marker, &view)))
    }

    /// Mark the packet if the verdict says so; `false` if it must be dropped because it cannot be marked.
    #[inline]
    fn carry_out(&mut self, verdict: Verdict, header: &mut Header) -> bool {
        if !verdict.marks() {
            return true;
        }
        match header.ecn() {
            Ecn::NotEct => {
                let reason = if header.kind() == PacketKind::PureAck {
                    DropReason::NotEctAck
                } else {
                    DropReason::NotEct
                };
                self.counters.dropped[reason as usize] += 1;
                return false;
            }
            Ecn::Ect => {
                *header = header.with_ecn(Ecn::Ce);
                self.counters.marked += 1;
            }
            Ecn::Ce => {}
        }
        true
    }

    /// Check the laws of the counters.
    ///
    /// # Panics
    ///
    /// If the books do not balance, which is a defect of this program.
    pub fn audit(&self, buffer: &SharedBuffer) {
        let counters = &self.counters;
        let queued = self.queue.len() as u64;
        assert_eq!(
            counters.received,
            counters.sent + counters.dropped_total() + queued,
            "received = sent + dropped + queued"
        );
        assert_eq!(
            self.backlog,
            buffer.queue(self.queue_id).backlog(),
            "port and buffer count the same bytes"
        );
    }
}

#[cfg(test)]
mod tests;
