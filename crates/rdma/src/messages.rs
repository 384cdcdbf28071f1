//! Messages that a requester has posted, and the position of each packet in their bytes.

use std::collections::VecDeque;

use shallows_core::Bytes;

/// Queue of messages, oldest first. A message occupies the same memory whatever its number of packets.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    queue: VecDeque<Message>,
    /// Number of packets in all messages that were posted.
    packets: u64,
    /// Number of bytes in all messages that were posted.
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Message {
    /// PSN of the first packet.
    psn: u64,
    /// Number of bytes posted before this message.
    offset: u64,
    bytes: u64,
}

/// Position of a packet in the data of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Number of bytes in the packets before this packet.
    pub(crate) offset: u64,
    pub(crate) len: u16,
    /// Whether this packet is the first of its message.
    pub(crate) first: bool,
    /// Whether this packet is the last of its message.
    pub(crate) last: bool,
}

impl Messages {
    /// Adds a message, which begins with a new packet.
    pub(crate) fn push(&mut self, mtu: Bytes, bytes: u64) {
        assert!(bytes > 0, "a message has at least one byte");
        self.queue.push_back(Message { psn: self.packets, offset: self.bytes, bytes });
        self.packets += bytes.div_ceil(mtu.0);
        self.bytes += bytes;
    }

    /// Returns the number of packets in all messages that were posted, which is also the first PSN of the next message.
    pub(crate) fn packets(&self) -> u64 {
        self.packets
    }

    /// Returns the number of bytes in all messages that were posted.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the packet with this PSN, which must belong to a message that was posted and not released.
    pub(crate) fn segment(&self, mtu: Bytes, psn: u64) -> Segment {
        debug_assert!(psn < self.packets);
        let message = self.queue[self.place(psn)];
        let start = (psn - message.psn) * mtu.0;
        let len = (message.bytes - start).min(mtu.0);
        Segment {
            offset: message.offset + start,
            len: len as u16,
            first: start == 0,
            last: start + len == message.bytes,
        }
    }

    /// Returns the number of bytes in the packets before `psn`. This PSN must not belong to a released message.
    pub(crate) fn offset(&self, mtu: Bytes, psn: u64) -> u64 {
        if psn == self.packets { self.bytes } else { self.segment(mtu, psn).offset }
    }

    /// Returns the PSN after the last packet of the message that contains `psn`, and the number of the message's bytes from `psn` on. The
    /// message must be posted and not released.
    pub(crate) fn rest(&self, mtu: Bytes, psn: u64) -> (u64, u64) {
        let place = self.place(psn);
        let message = self.queue[place];
        let end = self.queue.get(place + 1).map_or(self.packets, |next| next.psn);
        (end, message.bytes - (psn - message.psn) * mtu.0)
    }

    /// Returns the index in the queue of the message that contains this PSN.
    fn place(&self, psn: u64) -> usize {
        // Most packets and acknowledgements belong to the oldest message.
        if self.queue.get(1).is_none_or(|second| psn < second.psn) {
            return 0;
        }
        self.queue.partition_point(|message| message.psn <= psn) - 1
    }

    /// Returns the number of messages that begin before this PSN and are not released.
    pub(crate) fn begun(&self, psn: u64) -> usize {
        self.queue.partition_point(|message| message.psn < psn)
    }

    /// Releases the messages whose packets all precede this PSN.
    pub(crate) fn release(&mut self, psn: u64) {
        while self.queue.get(1).map_or(self.packets, |next| next.psn) <= psn {
            if self.queue.pop_front().is_none() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: Bytes = Bytes(1_000);

    fn messages() -> Messages {
        // 2,500 bytes are packets 0, 1 and 2; 1,000 bytes are packet 3; 1 byte is packet 4.
        let mut messages = Messages::default();
        for bytes in [2_500, 1_000, 1] {
            messages.push(MTU, bytes);
        }
        messages
    }

    #[test]
    fn each_message_begins_with_a_new_packet() {
        let messages = messages();
        let expected = [
            (0, 1_000, true, false),
            (1_000, 1_000, false, false),
            (2_000, 500, false, true),
            (2_500, 1_000, true, true),
            (3_500, 1, true, true),
        ];
        for (psn, (offset, len, first, last)) in (0..).zip(expected) {
            assert_eq!(messages.segment(MTU, psn), Segment { offset, len, first, last });
            assert_eq!(messages.offset(MTU, psn), offset);
        }
        assert_eq!((messages.packets(), messages.bytes()), (5, 3_501));
        assert_eq!(messages.offset(MTU, 5), 3_501);
    }

    #[test]
    fn the_rest_of_a_message_ends_with_its_last_packet() {
        let mut messages = messages();
        let rests = [0, 1, 2, 3, 4].map(|psn| messages.rest(MTU, psn));
        assert_eq!(rests, [(3, 2_500), (3, 1_500), (3, 500), (4, 1_000), (5, 1)]);
        assert_eq!([0, 1, 3, 4, 5].map(|psn| messages.begun(psn)), [0, 1, 1, 2, 3]);
        messages.release(3);
        assert_eq!([4, 5].map(|psn| messages.begun(psn)), [1, 2]);
    }

    #[test]
    fn a_message_is_released_when_its_last_packet_is() {
        let mut messages = messages();
        for (psn, left) in [(0, 3), (2, 3), (3, 2), (4, 1), (5, 0), (5, 0)] {
            messages.release(psn);
            assert_eq!(messages.queue.len(), left, "before PSN {psn}");
        }
        messages.push(MTU, 10);
        assert_eq!(messages.segment(MTU, 5), Segment { offset: 3_501, len: 10, first: true, last: true });
    }

    #[test]
    #[should_panic(expected = "a message has at least one byte")]
    fn a_message_without_data_is_rejected() {
        messages().push(MTU, 0);
    }

    #[test]
    fn a_message_of_a_tebibyte_needs_no_memory_per_packet() {
        let mut messages = Messages::default();
        messages.push(Bytes(4_096), 1 << 40);
        // 2^40 / 2^12 = 2^28 packets.
        assert_eq!((messages.packets(), messages.queue.len()), (1 << 28, 1));
        let last = Segment { offset: (1 << 40) - 4_096, len: 4_096, first: false, last: true };
        assert_eq!(messages.segment(Bytes(4_096), (1 << 28) - 1), last);
    }
}
