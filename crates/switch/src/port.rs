//! An egress port: the path of a packet from its arrival to the link, through the buffer, the markers and the queues.
//!
//! For an arriving packet, the discipline chooses a queue, the buffer checks for room, the enqueue markers return verdicts, and the bytes
//! are accounted. For a departing packet, the bytes are freed before the dequeue markers return verdicts. The driver calls
//! [`Port::transmit_next`] at the time that [`Port::wake_at`] returns.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate, prefetch, prefetch_all};

use self::edge::{Edge, Fate};
use self::waiting::Elaborate;
use crate::aqm::Installed;
use crate::buffer::{Memory, SharedBuffer};
use crate::discipline::{self, AnyDiscipline, Discipline, with_discipline};
use crate::queue::{Item, QueueState};
use crate::ring::Ring;
use crate::shaper::TokenBucket;

mod edge;
mod fault;
mod inspection;
mod interface;
mod waiting;

pub use self::interface::{Arrival, Config, Departure, EgressDrop, Entry, Room};
pub use crate::counters::Counters;
pub use crate::queue::{DropReason, Held, Ingress};

/// An egress port.
#[derive(Clone, Debug)]
pub struct Port<T> {
    edge: Edge,
    queues: Queues<T>,
}

/// Queues of a port. Most ports have one queue and no shaper; a separate variant saves them the cost of a discipline.
#[derive(Clone, Debug)]
enum Queues<T> {
    One(Ring<Item<T>>),
    Elaborate(Box<Elaborate<T>>),
}

impl<T: Copy + Default> Queues<T> {
    /// Returns the state of each queue; `None` for a port with one queue and no discipline.
    fn states(&self) -> Option<&[QueueState]> {
        match self {
            Self::One(_) => None,
            Self::Elaborate(queues) => Some(with_discipline!(&queues.discipline, own => own.queues())),
        }
    }
}

impl<T: Copy + Default> Port<T> {
    /// Creates a port on a link of this `rate`. `stream` returns the stream of random numbers for a purpose and an index.
    ///
    /// `account` is the number of the port's first queue in the buffer of the switch, which must hold [`discipline::Config::queues`]
    /// consecutive queues for the port.
    ///
    /// # Panics
    ///
    /// Panics if the rate is zero, or if there are more than 256 queues.
    pub fn new(
        rate: Rate,
        account: usize,
        config: &Config,
        mut stream: impl FnMut(&'static str, usize) -> Stream,
    ) -> Self {
        let shares = config.discipline.shares();
        assert!(shares.len() <= 256, "at most 256 queues");
        let markers: Box<[Installed]> = config
            .markers
            .iter()
            .enumerate()
            .map(|(place, marker)| Installed::new(marker, &shares, stream("marker", place)))
            .collect();
        let is_plain = config.discipline == discipline::Config::Fifo && config.shaper.is_none();
        let queues = if is_plain {
            Queues::One(Ring::new())
        } else {
            Queues::Elaborate(Box::new(Elaborate {
                shaper: config.shaper.map(|shaper| Box::new(TokenBucket::new(shaper))),
                discipline: config.discipline.build(rate, stream("discipline", 0)),
            }))
        };
        let edge = Edge {
            rate,
            ps_per_byte: edge::ps_per_byte(rate),
            busy_until: Instant::ZERO,
            total: QueueState::default(),
            account,
            egress_drop: config.egress_drop,
            halted: false,
            is_down: false,
            hears: edge::heard_by(&markers),
            markers,
        };
        Self { edge, queues }
    }

    /// Returns the bytes put on the link since the start.
    pub fn sent_bytes(&self) -> Bytes {
        let queues = self.queues.states().unwrap_or_default();
        Bytes(
            self.edge.total.books.sent_bytes.0 + queues.iter().map(|own| own.books.sent_bytes.0).sum::<u64>(),
        )
    }

    /// Prefetches into the cache the data that the port points to: its markers, and the slot for the next packet.
    pub fn prefetch(&self) {
        prefetch_all(&self.edge.markers);
        match &self.queues {
            Queues::One(ring) => ring.prefetch(),
            Queues::Elaborate(queues) => prefetch(&**queues),
        }
    }

    /// Handles an arriving packet. `entry` contains the packet's ingress and, if it is known, the memory for the packet. The payloads of
    /// all dropped packets (the arriving one, or waiting ones) are added to `dropped`.
    #[inline(always)]
    pub fn receive(
        &mut self,
        now: Instant,
        entry: impl Into<Entry>,
        header: Header,
        payload: T,
        buffer: &mut SharedBuffer,
        dropped: &mut impl Extend<T>,
    ) -> Arrival<T> {
        let Self { edge, queues } = self;
        let Entry { ingress, found } = entry.into();
        // The port sets the memory when it is known.
        let held = Held::new(ingress, Memory::default());
        let mut item = Item { header, payload, enqueued_at: now, held };
        let fate = match queues {
            Queues::One(queue) => edge.receive(queue, now, &mut item, found, buffer, dropped),
            Queues::Elaborate(queues) => {
                // This branch uses a copy, so that the item of the other branch stays in registers.
                let mut own = item;
                let fate = edge.receive_elaborate(queues, now, &mut own, found, buffer, dropped);
                item = own;
                fate
            }
        };
        match fate {
            Fate::Sent => Arrival::Sent(Departure::of(&item, edge.busy_until)),
            Fate::Queued => Arrival::Queued,
            Fate::Dropped => Arrival::Dropped,
        }
    }

    /// Sends the next waiting packet; the link must be free. The payloads of packets that are dropped instead are added to `dropped`.
    #[inline]
    pub fn transmit_next(
        &mut self,
        now: Instant,
        buffer: &mut SharedBuffer,
        dropped: &mut impl Extend<T>,
    ) -> Option<Departure<T>> {
        let Self { edge, queues } = self;
        debug_assert!(edge.busy_until <= now, "the previous packet is still being sent");
        match queues {
            Queues::One(queue) => edge.transmit(queue, now, buffer, dropped),
            Queues::Elaborate(queues) => edge.transmit_elaborate(queues, now, buffer, dropped),
        }
    }

    /// Stops `queue` from sending until [`Self::resume`]. The transmission of a packet that is already on the wire is not interrupted.
    ///
    /// # Panics
    ///
    /// Panics if the discipline has no queues that can be paused ([`discipline::Config::can_pause`]).
    pub fn pause(&mut self, queue: usize) {
        match self.several() {
            // The next call of `transmit_next` finds whether another queue may send.
            Some(discipline) => with_discipline!(discipline, own => own.pause(queue, true)),
            None => self.edge.halted = true,
        }
    }

    /// Allows `queue` to send again. The driver must then read [`Self::wake_at`].
    ///
    /// # Panics
    ///
    /// Panics if the discipline has no queues that can be paused.
    pub fn resume(&mut self, now: Instant, queue: usize) {
        if let Some(discipline) = self.several() {
            with_discipline!(discipline, own => own.pause(queue, false));
        }
        self.edge.go_on(now);
    }

    /// Occupies the link, which must be free, with a frame of this `size` that no queue holds. Returns the time at which the frame's last
    /// bit is on the wire.
    pub fn occupy(&mut self, now: Instant, size: Bytes) -> Instant {
        debug_assert!(self.edge.busy_until <= now, "the previous packet is still being sent");
        self.edge.busy_until = now + self.edge.transmission_time(size);
        self.edge.busy_until
    }

    /// Returns the discipline if the port has several queues to pause; `None` for a port with a single queue.
    fn several(&mut self) -> Option<&mut AnyDiscipline<T>> {
        match &mut self.queues {
            Queues::Elaborate(queues) if !matches!(queues.discipline, AnyDiscipline::Fifo(_)) => {
                Some(&mut queues.discipline)
            }
            _ => None,
        }
    }

    /// Returns the earliest time at which the port can send again: the packet on the wire has left by then, and the shaper admits the next
    /// packet.
    pub fn busy_until(&self) -> Instant {
        self.edge.busy_until
    }

    /// Returns the time at which to call [`Self::transmit_next`]; `None` while no waiting packet may be sent.
    #[inline]
    pub fn wake_at(&self) -> Option<Instant> {
        (self.has_backlog() && !self.edge.halted).then_some(self.edge.busy_until)
    }

    /// Returns whether a packet of this `size` is certain to find room in `buffer`, both now and after other ports release memory.
    #[inline(always)]
    pub fn room(&self, buffer: &SharedBuffer, size: Bytes) -> Room {
        match &self.queues {
            Queues::One(_) => buffer.room(self.edge.account, size).map_or(Room::Uncertain, Room::Found),
            Queues::Elaborate(_) => {
                let &QueueState { backlog, packets, .. } = &self.edge.total;
                let certain = buffer.surely_has_room(self.edge.account, (backlog, packets), size);
                if certain { Room::Certain } else { Room::Uncertain }
            }
        }
    }

    /// Returns whether [`Self::transmit_next`] must be called by `now`.
    #[inline(always)]
    pub fn is_due(&self, now: Instant) -> bool {
        self.has_backlog() && self.edge.busy_until <= now && !self.edge.halted
    }

    /// Returns the waiting bytes.
    pub fn backlog(&self) -> Bytes {
        self.edge.total.backlog
    }

    /// Returns whether any packet waits.
    pub fn has_backlog(&self) -> bool {
        self.edge.total.backlog.0 > 0
    }

    /// Returns the rate of the link.
    pub fn rate(&self) -> Rate {
        self.edge.rate
    }

    /// Returns the transmission time of a packet of this `size`.
    #[inline]
    pub fn transmission_time(&self, size: Bytes) -> Duration {
        self.edge.transmission_time(size)
    }

    /// Returns the counters of the port since the start.
    pub fn counters(&self) -> Counters {
        let mut total = self.edge.total.books.clone();
        if let Some(queues) = self.queues.states() {
            queues.iter().for_each(|own| total.add(&own.books));
        }
        total.counters()
    }

    /// Returns the counters of each queue since the start. If there are several queues, they exclude packets that the discipline rejected,
    /// because these joined no queue.
    pub fn queue_counters(&self) -> Vec<Counters> {
        match self.queues.states() {
            Some(several) if several.len() > 1 => several.iter().map(|own| own.books.counters()).collect(),
            _ => vec![self.counters()],
        }
    }

    /// Returns the port's markers, with the counts of each.
    pub fn markers(&self) -> &[Installed] {
        &self.edge.markers
    }
}

#[cfg(test)]
mod tests;
