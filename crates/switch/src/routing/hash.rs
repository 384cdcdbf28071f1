//! What a path is chosen by.

use shallows_core::packet::{Header, PacketKind};

/// Multiply-shift maps the high bits of the hash evenly on any number of choices.
#[inline]
pub(super) fn spread(hash: u64, next_hops: &[u32]) -> u32 {
    next_hops[(((hash >> 32) * next_hops.len() as u64) >> 32) as usize]
}

/// A hash of the five-tuple that does not know which end sends.
pub(super) fn symmetric_hash(header: &Header, seed: u64) -> u64 {
    let (from, to) = header.ports();
    if (header.source, from) <= (header.destination, to) {
        return header.five_tuple_hash(seed);
    }
    let reverse = Header::new(header.destination, header.source).with_ports(to, from);
    reverse.with_kind(header.kind()).five_tuple_hash(seed)
}

/// Sender and receiver of the data of a connection, and the port number of the sender.
pub(super) fn data_direction(header: &Header) -> (u32, u32, u16) {
    let (source, destination) = (header.source.0, header.destination.0);
    let ports = header.ports();
    match header.kind() {
        PacketKind::PureAck => (destination, source, ports.1),
        _ => (source, destination, ports.0),
    }
}
