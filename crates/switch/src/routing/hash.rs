//! Hashes for the choice of a path.

use shallows_core::packet::{Header, PacketKind};

/// Returns one of `next_hops`, each with the same probability if the high bits of `hash` are uniform (multiply-shift).
#[inline]
pub(super) fn spread(hash: u64, next_hops: &[u32]) -> u32 {
    next_hops[(((hash >> 32) * next_hops.len() as u64) >> 32) as usize]
}

/// Returns a hash of the five-tuple that is the same for both directions.
pub(super) fn symmetric_hash(header: &Header, seed: u64) -> u64 {
    let (from, to) = header.ports();
    if (header.source(), from) <= (header.destination(), to) {
        return header.five_tuple_hash(seed);
    }
    let reverse = Header::new(header.destination(), header.source()).with_ports(to, from);
    reverse.with_kind(header.kind()).five_tuple_hash(seed)
}

/// Returns the sender and the receiver of a connection's data, and the sender's port number. The packet may be data or an
/// acknowledgement.
pub(super) fn data_direction(header: &Header) -> (u32, u32, u16) {
    let (source, destination) = (header.source().0, header.destination().0);
    let ports = header.ports();
    match header.kind() {
        PacketKind::PureAck => (destination, source, ports.1),
        _ => (source, destination, ports.0),
    }
}
