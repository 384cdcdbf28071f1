//! Moves the bodies of packets from one store to another.
//!
//! Packets of different kinds alternate at random, and a processor cannot predict random branches. Bodies are therefore moved kind by kind.

use crate::hosts::packet::{
    ACK, AckPacket, DATA, DataPacket, Line, PROBE, PacketRef, Packets, ProbePacket, RDMA_DATA, RDMA_REPLY,
    READ_REQUEST, RdmaPacket, ReadRequestPacket, ReplyPacket, TOLD_DATA, TOLD_REPLY, Told,
};
use crate::network::Arriving;

/// Bodies of a list of packets on their way to another store, by kind of body. Bodies of one kind are in the order of their packets.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    /// Indices of the packets in the list, by kind of body.
    indices: Vec<u32>,
    /// Number of packets of each kind.
    counts: [u32; KINDS],
    data: Vec<DataPacket>,
    acks: Vec<AckPacket>,
    probes: Vec<ProbePacket>,
    rdma_data: Vec<RdmaPacket>,
    rdma_replies: Vec<ReplyPacket>,
    told_data: Vec<Told<RdmaPacket>>,
    told_replies: Vec<Told<ReplyPacket>>,
    read_requests: Vec<ReadRequestPacket>,
}

/// Number of values of [`PacketRef::kind`]. Packets without a body have the last value.
const KINDS: usize = 16;

impl Bodies {
    /// Sorts the indices of `packets` by kind of body, without branches on the kind.
    fn sort(&mut self, packets: &[Arriving<PacketRef>]) {
        let kind = |packet: &Arriving<PacketRef>| packet.payload.kind() as usize;
        self.counts = [0; KINDS];
        packets.iter().for_each(|packet| self.counts[kind(packet)] += 1);
        let mut places = [0; KINDS];
        for kind in 1..KINDS {
            places[kind] = places[kind - 1] + self.counts[kind - 1];
        }
        self.indices.resize(packets.len(), 0);
        for (index, packet) in (0..).zip(packets) {
            let place = &mut places[kind(packet)];
            self.indices[*place as usize] = index;
            *place += 1;
        }
    }
}

impl Packets {
    /// Moves the bodies of `packets` from this store to `bodies`, which must be empty.
    pub(crate) fn load(&mut self, packets: &[Arriving<PacketRef>], bodies: &mut Bodies) {
        bodies.sort(packets);
        let Bodies { indices, counts, data, acks, probes, .. } = bodies;
        let Bodies { rdma_data, rdma_replies, told_data, told_replies, read_requests, .. } = bodies;
        for (kind, indices) in by_kind(indices, counts) {
            let of_kind = indices.iter().map(|&index| packets[index as usize].payload);
            let slots = of_kind.clone().map(PacketRef::slot);
            of_kind.clone().for_each(|packet| self.prefetch(packet));
            match kind {
                DATA => data.extend(slots.map(|slot| self.data.remove(slot).0)),
                ACK => acks.extend(slots.map(|slot| self.acks.remove(slot).0)),
                PROBE => probes.extend(slots.map(|slot| self.probes.remove(slot).0)),
                RDMA_DATA => rdma_data.extend(slots.map(|slot| self.rdma_data.remove(slot).0)),
                RDMA_REPLY => rdma_replies.extend(slots.map(|slot| self.rdma_replies.remove(slot).0)),
                TOLD_DATA => told_data.extend(slots.map(|slot| *self.told_data.remove(slot))),
                TOLD_REPLY => told_replies.extend(slots.map(|slot| *self.told_replies.remove(slot))),
                READ_REQUEST => read_requests.extend(slots.map(|slot| self.read_requests.remove(slot).0)),
                _ => {}
            }
        }
    }

    /// Moves the bodies of `packets` from `bodies` to this store, and changes the references of the packets. `packets` must be the list that was
    /// passed to [`Self::load`], in the same order.
    pub(crate) fn unload(&mut self, packets: &mut [Arriving<PacketRef>], bodies: &mut Bodies) {
        let Bodies { indices, counts, data, acks, probes, .. } = bodies;
        let Bodies { rdma_data, rdma_replies, told_data, told_replies, read_requests, .. } = bodies;
        for (kind, indices) in by_kind(indices, counts) {
            match kind {
                DATA => insert_all(packets, indices, kind, data, |body| self.data.insert(Line(body))),
                ACK => insert_all(packets, indices, kind, acks, |body| self.acks.insert(Line(body))),
                PROBE => insert_all(packets, indices, kind, probes, |body| self.probes.insert(Line(body))),
                RDMA_DATA => {
                    insert_all(packets, indices, kind, rdma_data, |body| self.rdma_data.insert(Line(body)));
                }
                RDMA_REPLY => insert_all(packets, indices, kind, rdma_replies, |body| {
                    self.rdma_replies.insert(Line(body))
                }),
                TOLD_DATA => {
                    insert_all(packets, indices, kind, told_data, |body| self.told_data.insert(body))
                }
                TOLD_REPLY => {
                    insert_all(packets, indices, kind, told_replies, |body| self.told_replies.insert(body));
                }
                READ_REQUEST => insert_all(packets, indices, kind, read_requests, |body| {
                    self.read_requests.insert(Line(body))
                }),
                _ => {}
            }
        }
    }
}

/// Returns each kind of body with the indices of its packets.
fn by_kind<'a>(mut indices: &'a [u32], counts: &'a [u32; KINDS]) -> impl Iterator<Item = (u32, &'a [u32])> {
    (0..).zip(counts).map(move |(kind, &count)| {
        let (of_kind, rest) = indices.split_at(count as usize);
        indices = rest;
        (kind, of_kind)
    })
}

/// Moves `bodies` of one kind into a store with `insert`, which returns the slot of a body. Sets the references of the packets with these `indices`.
fn insert_all<B>(
    packets: &mut [Arriving<PacketRef>],
    indices: &[u32],
    kind: u32,
    bodies: &mut Vec<B>,
    mut insert: impl FnMut(B) -> u32,
) {
    assert_eq!(indices.len(), bodies.len(), "each packet brings its body");
    for (&index, body) in indices.iter().zip(bodies.drain(..)) {
        packets[index as usize].payload = PacketRef::new(kind, insert(body));
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Instant;
    use shallows_core::packet::{AckSegment, DataSegment, EchoMessage, Header, HostId};
    use shallows_core::rdma::{RdmaData, RdmaReadRequest, RdmaReply};
    use shallows_rdma::congestion::Telemetry;

    use super::*;
    use crate::hosts::names::Name;
    use crate::hosts::packet::Framing;

    const NAME: Name = Name { slot: 1, generation: 2 };
    const FRAMING: Framing = Framing::BeforeFlows { workload: 7 };

    /// Stores a packet of each kind with the number `number`, and one without a body. Returns the references.
    fn of_each_kind(store: &mut Packets, number: u64) -> Vec<PacketRef> {
        let segment = DataSegment { seq: number, ..DataSegment::default() };
        let ack = AckSegment { ack: number, ..AckSegment::default() };
        let message = EchoMessage { sequence: number, is_reply: true };
        let data = RdmaPacket {
            data: RdmaData { psn: number, ..RdmaData::default() },
            framing: FRAMING,
            name: NAME,
        };
        let reply = ReplyPacket { reply: RdmaReply { psn: number, ..RdmaReply::default() }, name: NAME };
        let told = store.insert_told_data(data);
        store.add_telemetry(told, Telemetry { sent: number, ..Telemetry::default() });
        let request = RdmaReadRequest { psn: number, ..RdmaReadRequest::default() };
        let hops = *store.told_data.get(told.slot()).map(|told| &told.hops).expect("it was stored");
        vec![
            told,
            store.insert_data(DataPacket { segment, framing: FRAMING, name: NAME }),
            PacketRef::NONE,
            store.insert_rdma_reply(reply),
            store.insert_told_reply(reply, hops),
            store.insert_ack(AckPacket { segment: ack, name: NAME }),
            store.insert_read_request(ReadRequestPacket { request, framing: FRAMING, name: NAME }),
            store.insert_probe(ProbePacket { message, pair: 1, asked: 4, sent_at: Instant(8) }),
            store.insert_rdma_data(data),
        ]
    }

    #[test]
    fn bodies_of_each_kind_move_to_another_store_in_order() {
        let (mut here, mut there, mut bodies) = (Packets::default(), Packets::default(), Bodies::default());
        // The slots there differ from those here.
        of_each_kind(&mut there, 9);
        for round in 0..2 {
            let sent = [1, 2, 3].map(|number| of_each_kind(&mut here, 10 * round + number)).concat();
            let header = Header::new(HostId(0), HostId(1));
            let arriving = |&payload: &PacketRef| Arriving { at: Instant(0), header, payload, wire: 0 };
            let mut packets: Vec<_> = sent.iter().map(arriving).collect();
            let contents = |store: &Packets, packets: &[Arriving<PacketRef>]| -> Vec<_> {
                let content = |packet: &Arriving<PacketRef>| {
                    let (kind, slot) = (packet.payload.kind(), packet.payload.slot());
                    let hops = match kind {
                        TOLD_DATA => store.told_data.get(slot).map(|told| told.hops),
                        TOLD_REPLY => store.told_replies.get(slot).map(|told| told.hops),
                        _ => None,
                    };
                    (kind, store.body(packet.payload), hops)
                };
                packets.iter().map(content).collect()
            };
            let before = contents(&here, &packets);
            here.load(&packets, &mut bodies);
            assert_eq!(here.len(), 0);
            there.unload(&mut packets, &mut bodies);
            assert_eq!(contents(&there, &packets), before);
            assert_eq!(there.len(), 8 + 24 * (round as usize + 1));
        }
    }
}
