//! Moves the bodies of packets from one store to another.
//!
//! Packets of different kinds alternate at random, and a processor cannot predict random branches. Bodies are therefore moved kind by kind.

use crate::hosts::packet::{
    ACK, AckPacket, DATA, DataPacket, PROBE, PacketRef, Packets, ProbePacket, RDMA_DATA, RDMA_REPLY,
    READ_REQUEST, RdmaPacket, ReadRequestPacket, ReplyPacket, TOLD_DATA, TOLD_REPLY, Told,
};
use crate::network::Arriving;

/// Bodies of a list of packets on their way to another store, by kind of body. Bodies of one kind are in the order of their packets.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    /// Indices of the packets in the list, by kind of body. `counts` contains the number of packets of each kind.
    numbers: Vec<u32>,
    counts: [usize; KINDS],
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
        self.numbers.resize(packets.len(), 0);
        for (number, packet) in (0..).zip(packets) {
            let place = &mut places[kind(packet)];
            self.numbers[*place] = number;
            *place += 1;
        }
    }
}

impl Packets {
    /// Moves the bodies of `packets` from this store to `bodies`, which must be empty.
    pub(crate) fn load(&mut self, packets: &[Arriving<PacketRef>], bodies: &mut Bodies) {
        bodies.sort(packets);
        let Bodies { numbers, counts, .. } = bodies;
        let mut rest = &numbers[..];
        for (kind, &count) in (0..).zip(&*counts) {
            let (numbers, later) = rest.split_at(count);
            rest = later;
            let of_kind = numbers.iter().map(|&number| packets[number as usize].payload);
            let slots = of_kind.clone().map(PacketRef::slot);
            match kind {
                DATA => {
                    of_kind.clone().for_each(|packet| self.prefetch(packet));
                    bodies.data.extend(of_kind.map(|packet| self.remove_data(packet)));
                }
                ACK => {
                    of_kind.clone().for_each(|packet| self.prefetch(packet));
                    bodies.acks.extend(of_kind.map(|packet| self.remove_ack(packet)));
                }
                PROBE => bodies.probes.extend(of_kind.map(|packet| self.remove_probe(packet))),
                RDMA_DATA => bodies.rdma_data.extend(of_kind.map(|packet| self.remove_rdma_data(packet).0)),
                RDMA_REPLY => {
                    bodies.rdma_replies.extend(of_kind.map(|packet| self.remove_rdma_reply(packet).0));
                }
                TOLD_DATA => bodies.told_data.extend(slots.map(|slot| self.told_data.remove(slot))),
                TOLD_REPLY => bodies.told_replies.extend(slots.map(|slot| self.told_replies.remove(slot))),
                READ_REQUEST => {
                    bodies
                        .read_requests
                        .extend(of_kind.filter_map(|packet| self.remove_read_request(packet)));
                }
                _ => {}
            }
        }
    }

    /// Moves the bodies of `packets` from `bodies` to this store. The packets then refer to this store.
    pub(crate) fn unload(&mut self, packets: &mut [Arriving<PacketRef>], bodies: &mut Bodies) {
        let Bodies { numbers, counts, .. } = bodies;
        let mut rest = &numbers[..];
        for (kind, &count) in (0..).zip(&*counts) {
            let (numbers, later) = rest.split_at(count);
            rest = later;
            match kind {
                DATA => refer(packets, numbers, &mut bodies.data, |body| self.insert_data(body)),
                ACK => refer(packets, numbers, &mut bodies.acks, |body| self.insert_ack(body)),
                PROBE => refer(packets, numbers, &mut bodies.probes, |body| self.insert_probe(body)),
                RDMA_DATA => {
                    refer(packets, numbers, &mut bodies.rdma_data, |body| self.insert_rdma_data(body))
                }
                RDMA_REPLY => {
                    refer(packets, numbers, &mut bodies.rdma_replies, |body| self.insert_rdma_reply(body));
                }
                TOLD_DATA => refer(packets, numbers, &mut bodies.told_data, |body| {
                    PacketRef::new(TOLD_DATA, self.told_data.insert(body))
                }),
                TOLD_REPLY => refer(packets, numbers, &mut bodies.told_replies, |body| {
                    PacketRef::new(TOLD_REPLY, self.told_replies.insert(body))
                }),
                READ_REQUEST => {
                    refer(packets, numbers, &mut bodies.read_requests, |body| self.insert_read_request(body));
                }
                _ => {}
            }
        }
    }
}

/// Inserts all `bodies` into a store, and lets the packets with these `numbers` refer to them.
fn refer<B>(
    packets: &mut [Arriving<PacketRef>],
    numbers: &[u32],
    bodies: &mut Vec<B>,
    mut insert: impl FnMut(B) -> PacketRef,
) {
    assert_eq!(numbers.len(), bodies.len(), "each packet brings its body");
    for (&number, body) in numbers.iter().zip(bodies.drain(..)) {
        packets[number as usize].payload = insert(body);
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
        store.add_telemetry(told, Telemetry::default());
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
                    let told = store.told_data.get(packet.payload.slot()).map(|told| told.hops);
                    (
                        packet.payload.kind(),
                        store.body(packet.payload),
                        told.filter(|_| packet.payload.kind() == TOLD_DATA),
                    )
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
