//! Receive queues of a NIC, where packets wait until the host takes them together (interrupt coalescing).
//!
//! A NIC interrupts its host when the first packet has waited for a given time, or when a given number of packets wait (ethtool's
//! `rx-usecs` and `rx-frames`). The host then merges consecutive segments (GRO: Linux, net/core/gro.c and net/ipv4/tcp_offload.c) and
//! processes the results. A NIC has several independent queues, to which a hash of the five-tuple assigns connections (RSS). The host's
//! processor is not modelled; a busy processor would take more packets at a time.

use shallows_core::packet::{Flags, Header, HostId, PacketKind};
use shallows_core::{Bytes, Instant};
use shallows_scenario::{Coalescing, Wait};

use crate::hosts::names::FlowNumber;
use crate::hosts::nic::moderation::{Limits, Moderation};
use crate::hosts::packet::{DataPacket, Framing, PacketRef, Packets};

/// Receive queues of one NIC.
#[derive(Debug)]
pub(crate) struct Inboxes {
    rule: Option<Coalescing>,
    queues: Vec<Inbox>,
    seed: u64,
}

/// Receive queue, identified by the number of its host and its number at the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InboxAt {
    pub(crate) host: HostId,
    pub(crate) queue: u32,
}

/// Packets that wait in one queue.
#[derive(Debug)]
pub(crate) struct Inbox {
    waiting: Vec<Arrived>,
    wait: Waiting,
    /// Time of the next interrupt; `Instant::MAX` while no packet waits.
    due: Instant,
    /// Time of the earliest pending event; `Instant::MAX` for none.
    event_at: Instant,
}

/// Limits on the wait in a queue.
#[derive(Clone, Copy, Debug)]
enum Waiting {
    Fixed(Limits),
    Adaptive(Moderation),
}

/// One packet, or several merged ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) header: Header,
    pub(crate) packet: PacketRef,
    /// Number of packets that came over the wire: 1, or more if several were merged.
    pub(crate) packets: u32,
    /// Size on the wire of the packet, or of all merged packets, with all headers.
    pub(crate) bytes: Bytes,
}

/// Action on the waiting packets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    /// The packets keep waiting.
    Waits,
    /// The packets keep waiting, and an interrupt must be scheduled at this time.
    Until(Instant),
    /// The host takes the packets now.
    Now,
}

/// Largest IP packet in bytes (RFC 791 §3.1), as a limit on the data of a merged packet.
const LARGEST: u32 = 65_535;

impl Arrived {
    /// Creates the arrival of one packet that is not merged with others.
    #[inline]
    pub(crate) fn one(header: Header, packet: PacketRef) -> Self {
        Self { header, packet, packets: 1, bytes: header.size() }
    }
}

impl Inboxes {
    /// Builds the receive queues for `rule`; without a rule there are none. The seed determines which queue a connection is assigned to.
    pub(crate) fn new(rule: Option<Coalescing>, seed: u64) -> Self {
        let inbox = |rule: Coalescing| (0..rule.queues).map(move |_| Inbox::new(rule.wait));
        Self { rule, queues: rule.into_iter().flat_map(inbox).collect(), seed }
    }

    /// Returns the coalescing rule, if there is one.
    pub(crate) fn rule(&self) -> Option<Coalescing> {
        self.rule
    }

    /// Returns the number of the queue for packets with this header.
    pub(crate) fn of(&self, header: &Header) -> u32 {
        let queues = self.queues.len() as u64;
        if queues == 1 { 0 } else { (header.five_tuple_hash(self.seed) % queues) as u32 }
    }

    pub(crate) fn queue(&mut self, number: u32) -> &mut Inbox {
        &mut self.queues[number as usize]
    }

    /// Returns the number of waiting packets.
    pub(crate) fn len(&self) -> usize {
        self.queues.iter().map(|inbox| inbox.waiting.len()).sum()
    }
}

impl InboxAt {
    /// Packs the numbers of queue and host into the index of an event; the number of the host takes the lowest 24 bits.
    pub(crate) fn index(self) -> u64 {
        u64::from(self.queue) << 24 | u64::from(self.host.0)
    }

    pub(crate) fn from_index(index: u64) -> Self {
        Self { host: HostId(index as u32 & 0xff_ffff), queue: (index >> 24) as u32 }
    }
}

impl Inbox {
    fn new(wait: Wait) -> Self {
        let wait = match wait {
            Wait::Fixed { time, packets } => Waiting::Fixed(Limits { time, packets }),
            Wait::Adaptive => Waiting::Adaptive(Moderation::default()),
        };
        Self { waiting: Vec::new(), wait, due: Instant::MAX, event_at: Instant::MAX }
    }

    /// Adds an arriving packet.
    pub(crate) fn take_in(&mut self, now: Instant, header: Header, packet: PacketRef) -> Taking {
        self.waiting.push(Arrived::one(header, packet));
        let limits = match &self.wait {
            Waiting::Fixed(limits) => *limits,
            Waiting::Adaptive(moderation) => moderation.limits(),
        };
        if self.waiting.len() as u64 >= u64::from(limits.packets) {
            return Taking::Now;
        }
        if self.due != Instant::MAX {
            return Taking::Waits;
        }
        self.due = now + limits.time;
        if self.event_at <= self.due {
            // The handler of the pending event reads the new deadline.
            return Taking::Waits;
        }
        self.event_at = self.due;
        Taking::Until(self.due)
    }

    /// Handles an event of this queue.
    pub(crate) fn on_event(&mut self, now: Instant) -> Taking {
        if self.event_at != now {
            return Taking::Waits; // an earlier event has replaced this event
        }
        self.event_at = Instant::MAX;
        match self.due {
            Instant::MAX => Taking::Waits,
            due if due <= now => Taking::Now,
            due => {
                self.event_at = due;
                Taking::Until(due)
            }
        }
    }

    /// Takes all waiting packets in order of arrival, merged if `gro` is set.
    pub(crate) fn empty(&mut self, now: Instant, gro: bool, packets: &mut Packets) -> Vec<Arrived> {
        self.due = Instant::MAX;
        let mut waiting = std::mem::take(&mut self.waiting);
        if let Waiting::Adaptive(moderation) = &mut self.wait {
            let bytes = waiting.iter().fold(Bytes(0), |sum, arrived| sum + arrived.header.size());
            moderation.on_interrupt(now, waiting.len() as u64, bytes);
        }
        if gro {
            merge(&mut waiting, packets);
        }
        waiting
    }

    /// Takes back the vector from [`Self::empty`], to reuse its memory.
    pub(crate) fn recycle(&mut self, mut taken: Vec<Arrived>) {
        taken.clear();
        self.waiting = taken;
    }
}

/// Merges consecutive segments of each connection; other packets may be between them.
fn merge(waiting: &mut Vec<Arrived>, packets: &mut Packets) {
    let mut kept = 0;
    for index in 0..waiting.len() {
        let next = waiting[index];
        let before = waiting[..kept].iter_mut().rev().find(|before| is_same_flow(before, &next, packets));
        if !before.is_some_and(|before| joins(before, &next, packets)) {
            waiting[kept] = next;
            kept += 1;
        }
    }
    waiting.truncate(kept);
}

/// Returns whether both packets are data of one connection.
fn is_same_flow(before: &Arrived, next: &Arrived, packets: &Packets) -> bool {
    let is_data = |arrived: &Arrived| arrived.header.kind() == PacketKind::Data;
    let sender = |arrived: &Arrived| arrived.header.source();
    let name = |arrived: &Arrived| packets.data(arrived.packet).map(|packet| packet.name);
    is_data(before) && is_data(next) && sender(before) == sender(next) && name(before) == name(next)
}

/// Appends a segment to the previous segment of its connection, if Linux would merge them. Returns whether they were merged.
fn joins(before: &mut Arrived, next: &Arrived, packets: &mut Packets) -> bool {
    let (Some(&first), Some(&second)) = (packets.data(before.packet), packets.data(next.packet)) else {
        return false;
    };
    if like(before.header) != like(next.header) || !follows(&first, &second, before.packets) {
        return false;
    }
    packets.remove_data(next.packet);
    let merged = packets.data_mut(before.packet);
    merged.segment.len += second.segment.len;
    // The merged segment has the flags PSH and FIN of its last segment.
    merged.segment.flags = first.segment.flags.with(second.segment.flags);
    // The framing of the last segment is the newest.
    merged.framing = second.framing;
    before.packets += next.packets;
    before.bytes += next.bytes;
    true
}

/// Returns `header` without its size. Two packets are merged only if they agree in all other fields: addresses, class and ECN bits
/// (`inet_gro_receive`).
fn like(header: Header) -> Header {
    header.with_size(0)
}

/// Returns whether `second` may be appended to `first`, which already consists of `packets` packets (`tcp_gro_receive`, `skb_gro_receive`).
fn follows(first: &DataPacket, second: &DataPacket, packets: u32) -> bool {
    let (before, next) = (first.segment, second.segment);
    let full = u32::from(before.len) / packets;
    let ends = Flags::SYN.with(Flags::FIN).with(Flags::PSH);
    let starts = Flags::SYN.with(Flags::CWR);
    // Both segments must carry the same acknowledgement and the same echoes.
    let echoes = Flags::ECE.with(Flags::INCAST_ECHO);
    let alike = before.carried_ack == next.carried_ack && (before.flags.0 ^ next.flags.0) & echoes.0 == 0;
    let sizes = next.len > 0 && u32::from(next.len) <= full && u32::from(before.len) == full * packets;
    sizes
        && alike
        && u32::from(before.len) + u32::from(next.len) <= LARGEST
        && next.seq == before.end()
        && before.flags.0 & ends.0 == 0
        && next.flags.0 & starts.0 == 0
        && flow(first.framing) == flow(second.framing)
}

fn flow(framing: Framing) -> Option<FlowNumber> {
    match framing {
        Framing::Flow(framing) => Some(framing.flow),
        Framing::BeforeFlows { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Duration;
    use shallows_core::packet::{DataSegment, Ecn};

    use super::*;
    use crate::hosts::names::Name;
    use crate::hosts::packet::FlowFraming;

    const LEN: u16 = 1_460;
    const WAIT: Wait = Wait::Fixed { time: Duration::from_micros(8), packets: 3 };
    const RULE: Coalescing = Coalescing { wait: WAIT, gro: true, queues: 1 };

    /// Returns the n-th segment of a connection, with these flags.
    fn segment(packets: &mut Packets, slot: u32, nth: u64, flags: Flags) -> Arrived {
        let segment = DataSegment { seq: nth * u64::from(LEN), len: LEN, flags, ..DataSegment::default() };
        let flow = FlowNumber::new(slot);
        let framing = FlowFraming { flow, timeouts: nth as u32, start: 0, started: Instant::ZERO };
        let (framing, name) = (Framing::Flow(framing), Name { slot, generation: 0 });
        let packet = packets.insert_data(DataPacket { segment, framing, name });
        let header = Header::new(HostId(1), HostId(0)).with_size(1_500).with_kind(PacketKind::Data);
        Arrived::one(header, packet)
    }

    /// Returns the slot, the first byte, the number of bytes and the number of packets of each merged packet.
    fn merged(mut arrived: Vec<Arrived>, packets: &mut Packets) -> Vec<(u32, u64, u16, u32)> {
        merge(&mut arrived, packets);
        assert_eq!(packets.len(), arrived.len(), "nothing else is kept");
        let of = |arrived: &Arrived| {
            let packet = packets.data(arrived.packet).expect("a body");
            (packet.name.slot, packet.segment.seq, packet.segment.len, arrived.packets)
        };
        arrived.iter().map(of).collect()
    }

    #[test]
    fn segments_in_a_row_become_one_whoever_is_between_them() {
        let mut packets = Packets::default();
        let mut one = |slot, nth| segment(&mut packets, slot, nth, Flags::ACK);
        let arrived = vec![one(7, 0), one(8, 0), one(7, 1), one(8, 2), one(7, 2), one(8, 1)];
        let found = merged(arrived, &mut packets);
        // The segments of connection 8 came in the order 0, 2, 1, so no segment follows the segment that arrived before it.
        assert_eq!(found, [(7, 0, 3 * LEN, 3), (8, 0, LEN, 1), (8, 2 * 1_460, LEN, 1), (8, 1_460, LEN, 1)]);
    }

    #[test]
    fn merged_packets_keep_the_bytes_that_all_of_them_had_on_the_wire() {
        let mut packets = Packets::default();
        let mut arrived: Vec<_> = (0..44).map(|nth| segment(&mut packets, 7, nth, Flags::ACK)).collect();
        merge(&mut arrived, &mut packets);
        // 44 packets of 1,500 bytes, more than the 16-bit length of one IP packet holds.
        assert_eq!(arrived.iter().map(|arrived| arrived.bytes.0).collect::<Vec<_>>(), [66_000]);
    }

    #[test]
    fn what_it_tells_of_its_flow_is_the_newest() {
        let mut packets = Packets::default();
        let mut arrived: Vec<_> = (0..3).map(|nth| segment(&mut packets, 7, nth, Flags::ACK)).collect();
        merge(&mut arrived, &mut packets);
        let Framing::Flow(framing) = packets.data(arrived[0].packet).expect("a body").framing else {
            panic!("it belongs to a flow")
        };
        assert_eq!(framing.timeouts, 2);
    }

    #[test]
    fn marks_classes_and_reductions_begin_another_and_ends_end_one() {
        let mut packets = Packets::default();
        let mut with = |change: &dyn Fn(&mut Arrived), flags: [Flags; 3]| {
            let mut arrived: Vec<_> =
                (0..3).map(|nth| segment(&mut packets, 7, nth, flags[nth as usize])).collect();
            change(&mut arrived[1]);
            let found = merged(arrived.clone(), &mut packets);
            packets = Packets::default();
            found.iter().map(|&(_, _, _, count)| count).collect::<Vec<_>>()
        };
        let plain = [Flags::ACK; 3];
        assert_eq!(with(&|_| {}, plain), [3]);
        assert_eq!(with(&|middle| middle.header = middle.header.with_ecn(Ecn::Ce), plain), [1, 1, 1]);
        assert_eq!(with(&|middle| middle.header = middle.header.with_class(1), plain), [1, 1, 1]);
        // CWR occurs only on the first segment of a buffer.
        let cwr = Flags::ACK.with(Flags::CWR);
        assert_eq!(with(&|_| {}, [Flags::ACK, cwr, Flags::ACK]), [1, 2]);
        let push = Flags::ACK.with(Flags::PSH);
        assert_eq!(with(&|_| {}, [Flags::ACK, push, Flags::ACK]), [2, 1]);
    }

    #[test]
    fn a_short_segment_is_the_last_and_nothing_exceeds_64_kb() {
        let mut packets = Packets::default();
        let mut arrived: Vec<_> = (0..100).map(|nth| segment(&mut packets, 7, nth, Flags::ACK)).collect();
        let found = merged(arrived.clone(), &mut packets);
        // 65,535 / 1,460 = 44.9.
        assert_eq!(found.iter().map(|group| group.3).collect::<Vec<_>>(), [44, 44, 12]);

        let mut packets = Packets::default();
        arrived = (0..3).map(|nth| segment(&mut packets, 7, nth, Flags::ACK)).collect();
        packets.data_mut(arrived[1].packet).segment.len = 100;
        packets.data_mut(arrived[2].packet).segment.seq = 1_560;
        let found = merged(arrived, &mut packets);
        assert_eq!(found, [(7, 0, 1_560, 2), (7, 1_560, LEN, 1)]);
    }

    #[test]
    fn connections_are_spread_over_the_queues_and_each_keeps_its_own() {
        let at = InboxAt { host: HostId(0xff_fffe), queue: 255 };
        assert_eq!(InboxAt::from_index(at.index()), at);
        let inboxes = |seed| Inboxes::new(Some(Coalescing { queues: 8, ..RULE }), seed);
        let header = |port| Header::new(HostId(1), HostId(0)).with_ports(port, 5_001).with_ecn(Ecn::Ect);
        let queues = |seed| (0..800).map(|port| inboxes(seed).of(&header(port))).collect::<Vec<_>>();
        // Each queue gets 100 of 800 connections, plus or minus four standard deviations (9.4 each).
        for queue in 0..8 {
            let count = queues(1).iter().filter(|&&of| of == queue).count();
            assert!(count.abs_diff(100) < 38, "{count}");
        }
        assert_ne!(queues(1), queues(2));
        assert_eq!(inboxes(1).of(&header(7)), inboxes(1).of(&header(7).with_ecn(Ecn::Ce).with_size(40)));
    }

    #[test]
    fn the_first_that_waits_says_how_long_and_so_many_end_the_wait() {
        let mut packets = Packets::default();
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        let mut inbox = Inbox::new(WAIT);
        let mut arrives = |inbox: &mut Inbox, us| {
            let Arrived { header, packet, .. } = segment(&mut packets, 7, us, Flags::ACK);
            inbox.take_in(at(us), header, packet)
        };
        assert_eq!(arrives(&mut inbox, 1), Taking::Until(at(9)));
        assert_eq!(arrives(&mut inbox, 2), Taking::Waits);
        assert_eq!(arrives(&mut inbox, 3), Taking::Now);
        assert_eq!(inbox.empty(at(3), false, &mut Packets::default()).len(), 3);
        // The event is still pending: the next waiting packet uses it.
        assert_eq!(arrives(&mut inbox, 5), Taking::Waits);
        assert_eq!(inbox.on_event(at(9)), Taking::Until(at(13)));
        assert_eq!(inbox.on_event(at(12)), Taking::Waits, "that is another's");
        assert_eq!(inbox.on_event(at(13)), Taking::Now);
        assert_eq!(inbox.empty(at(3), false, &mut Packets::default()).len(), 1);
        assert_eq!(arrives(&mut inbox, 20), Taking::Until(at(28)));
    }
}
