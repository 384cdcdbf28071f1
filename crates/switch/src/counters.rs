//! Counters of a port and of its queues, and the reasons for dropping packets.

use shallows_core::Bytes;

/// Reason for dropping a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum DropReason {
    /// The queue is at its limit.
    QueueLimit,
    /// The queues of the port together are at their limit.
    PortLimit,
    /// The pool has no room.
    PoolFull,
    /// The discipline pushed the packet out to make room for another one.
    PushedOut,
    /// A marker dropped the packet, ECN-capable or not.
    Early,
    /// A marker chose to mark a packet that was not ECN-capable.
    NotEct,
    /// A marker chose to mark a pure acknowledgement that was not ECN-capable.
    NotEctAck,
    /// The link of the port was down when the packet arrived, or went down while the packet waited.
    LinkDown,
}

impl DropReason {
    /// All reasons, in the order of `Counters::dropped`.
    pub const ALL: [Self; 8] = [
        Self::QueueLimit,
        Self::PortLimit,
        Self::PoolFull,
        Self::PushedOut,
        Self::Early,
        Self::NotEct,
        Self::NotEctAck,
        Self::LinkDown,
    ];

    /// Returns the name by which results identify the reason.
    pub fn name(self) -> &'static str {
        match self {
            Self::QueueLimit => "queue_limit",
            Self::PortLimit => "port_limit",
            Self::PoolFull => "pool_full",
            Self::PushedOut => "pushed_out",
            Self::Early => "early",
            Self::NotEct => "not_ect",
            Self::NotEctAck => "not_ect_ack",
            Self::LinkDown => "link_down",
        }
    }
}

/// Numbers of packets by outcome. At any time, received = sent + dropped + queued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived at the port.
    pub received: u64,
    /// Packets that this port marked with CE.
    pub marked: u64,
    /// Packets in which this port set the explicit incast notification.
    pub incast: u64,
    /// Packets put on the link.
    pub sent: u64,
    /// Bytes put on the link.
    pub sent_bytes: Bytes,
    /// Number of dropped packets for each [`DropReason`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets that were dropped after they had waited: a marker dropped them at departure, or the link went down.
    pub dropped_at_dequeue: u64,
    /// Largest number of bytes that have waited at the same time.
    pub max_backlog: Bytes,
}

impl Counters {
    /// Returns the number of packets dropped for any reason.
    pub fn dropped_total(&self) -> u64 {
        self.dropped.iter().sum()
    }

    /// Returns the number of packets that joined a queue, including packets that passed through an empty port.
    pub fn enqueued(&self) -> u64 {
        self.received + self.dropped_from_queue() - self.dropped_total()
    }

    /// Returns the number of packets that left a queue.
    pub fn dequeued(&self) -> u64 {
        self.sent + self.dropped_from_queue()
    }

    /// Returns the number of packets that were dropped after they had joined a queue.
    fn dropped_from_queue(&self) -> u64 {
        self.dropped_at_dequeue + self.dropped[DropReason::PushedOut as usize]
    }
}

/// Counters of a port or of one of its queues. The counters that nearly every packet changes are inline; the others are allocated when
/// first needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Books {
    pub(crate) received: u64,
    pub(crate) sent: u64,
    pub(crate) sent_bytes: Bytes,
    pub(crate) max_backlog: Bytes,
    rare: Option<Box<Rare>>,
}

/// Counters of rare outcomes. Each field has the meaning of its namesake in [`Counters`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rare {
    pub(crate) marked: u64,
    pub(crate) incast: u64,
    pub(crate) dropped: [u64; DropReason::ALL.len()],
    pub(crate) dropped_at_dequeue: u64,
}

impl Books {
    /// Returns the counters of rare outcomes; allocates them if necessary.
    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    pub(crate) fn counters(&self) -> Counters {
        let none = Rare::default();
        let Rare { marked, incast, dropped, dropped_at_dequeue } = *self.rare.as_deref().unwrap_or(&none);
        let &Self { received, sent, sent_bytes, max_backlog, .. } = self;
        Counters { received, marked, incast, sent, sent_bytes, dropped, dropped_at_dequeue, max_backlog }
    }

    /// Adds the counters of one of the port's queues. Excludes `max_backlog`: the queues reach their largest backlogs at different times,
    /// so the sum would be too large.
    pub(crate) fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.sent += other.sent;
        self.sent_bytes += other.sent_bytes;
        let Some(other) = &other.rare else { return };
        let rare = self.rare();
        rare.marked += other.marked;
        rare.incast += other.incast;
        rare.dropped_at_dequeue += other.dropped_at_dequeue;
        for (sum, more) in rare.dropped.iter_mut().zip(other.dropped) {
            *sum += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_named_in_results_as_in_the_code() {
        for reason in DropReason::ALL {
            // `QueueLimit` becomes `queue_limit`: lower case, with an underscore before each capital but the first.
            let mut name = String::new();
            for letter in format!("{reason:?}").chars() {
                if letter.is_uppercase() && !name.is_empty() {
                    name.push('_');
                }
                name.extend(letter.to_lowercase());
            }
            assert_eq!(reason.name(), name);
        }
    }

    #[test]
    fn counters_add_up_but_for_the_most_that_waited() {
        let counters = |scale: u64| Counters {
            received: 2 * scale,
            marked: 3 * scale,
            incast: 5 * scale,
            sent: 7 * scale,
            sent_bytes: Bytes(11 * scale),
            dropped: [13, 17, 19, 23, 29, 31, 37, 47].map(|count| count * scale),
            dropped_at_dequeue: 41 * scale,
            max_backlog: Bytes(43),
        };
        let books = |scale: u64| {
            let Counters {
                received,
                marked,
                incast,
                sent,
                sent_bytes,
                dropped,
                dropped_at_dequeue,
                max_backlog,
            } = counters(scale);
            let mut books = Books::default();
            (books.received, books.sent) = (received, sent);
            (books.sent_bytes, books.max_backlog) = (sent_bytes, max_backlog);
            *books.rare() = Rare { marked, incast, dropped, dropped_at_dequeue };
            books
        };
        // Adding counters scaled by 100 to the unscaled counters gives counters scaled by 101.
        let mut sum = books(1);
        sum.add(&books(100));
        assert_eq!(sum.counters(), counters(101));
        // Only one of the two operands has counters of rare outcomes.
        let common = Books { received: 1, ..Books::default() };
        assert_eq!(common.counters(), Counters { received: 1, ..Counters::default() });
        let mut sum = common.clone();
        sum.add(&books(1));
        assert_eq!(sum.counters(), Counters { received: 3, max_backlog: Bytes(0), ..counters(1) });
        sum.add(&common);
        assert_eq!(sum.counters().received, 4);
    }
}
