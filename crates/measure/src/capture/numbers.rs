//! Sequence and acknowledgement numbers in captured headers of connections that carry data both ways.
//!
//! A simulated segment can lack its sequence number or its acknowledgement number. The capture takes the missing number from the segments
//! that the same host has sent through the same port. A pure acknowledgement gets the sequence number of the next data. Data without a new
//! acknowledgement gets the last acknowledgement number.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use shallows_core::packet::{Body, Flags, Header, HostId};

/// Sequence and acknowledgement number as in TCP headers: modulo 2³², where the SYN has number 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbers {
    /// Sequence number after the last byte sent.
    pub(super) next: u32,
    /// Acknowledgement number: the next byte expected.
    pub(super) expected: u32,
}

/// Numbers of a host that has neither sent nor acknowledged data on a connection.
pub(super) const FIRST: Numbers = Numbers { next: 1, expected: 1 };

/// Direction of a connection at a port: the port's link, and the hosts and TCP port numbers of the connection.
type Way = (u32, HostId, HostId, (u16, u16));

/// Last sequence and acknowledgement numbers that each host has sent, by port and connection.
#[derive(Debug, Default)]
pub(super) struct Said(BTreeMap<Way, Numbers>);

impl Said {
    /// Returns the numbers for the header of a packet that starts to leave the port of `link`, and updates the stored numbers with this
    /// packet.
    pub(super) fn take(&mut self, link: u32, header: &Header, body: &Body) -> Numbers {
        let said =
            self.0.entry((link, header.source(), header.destination(), header.ports())).or_insert(FIRST);
        let (flags, acknowledged) = match body {
            Body::Data(data) => (data.flags, data.carried_ack.map(NonZeroU32::get)),
            Body::Ack(ack) => (ack.flags, Some(ack.ack as u32)),
            Body::Echo(_) | Body::RdmaData(_) | Body::RdmaReadRequest(_) | Body::RdmaReply(_) => {
                return FIRST;
            }
        };
        if flags.contains(Flags::SYN) {
            *said = FIRST;
            return FIRST;
        }
        if let Some(acknowledged) = acknowledged {
            raise(&mut said.expected, acknowledged.wrapping_add(1));
        }
        let before = *said;
        if let Body::Data(data) = body {
            let fin = u32::from(flags.contains(Flags::FIN));
            raise(&mut said.next, (data.end() as u32).wrapping_add(1 + fin));
        }
        before
    }
}

/// Raises `number` to `to` if `to` is later, modulo 2³².
fn raise(number: &mut u32, to: u32) {
    if to.wrapping_sub(*number) as i32 > 0 {
        *number = to;
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::{AckSegment, DataSegment};

    use super::*;

    fn way(from: u32, to: u32) -> Header {
        Header::new(HostId(from), HostId(to)).with_ports(from as u16, to as u16)
    }

    fn segment(seq: u64, len: u16) -> DataSegment {
        DataSegment { seq, len, flags: Flags::ACK, ..DataSegment::default() }
    }

    fn data(seq: u64, len: u16) -> Body {
        Body::Data(segment(seq, len))
    }

    fn alone(number: u64) -> AckSegment {
        AckSegment { ack: number, flags: Flags::ACK, ..AckSegment::default() }
    }

    fn ack(number: u64) -> Body {
        Body::Ack(alone(number))
    }

    fn numbers(next: u32, expected: u32) -> Numbers {
        Numbers { next, expected }
    }

    #[test]
    fn each_side_has_numbers_of_its_own_and_each_port_what_passed_it() {
        let mut said = Said::default();
        let there = way(1, 2);
        assert_eq!(said.take(0, &there, &data(0, 100)), FIRST);
        // 100 bytes were sent, 50 received.
        assert_eq!(said.take(0, &there, &ack(50)), numbers(101, 51));
        assert_eq!(said.take(0, &there, &data(0, 100)), numbers(101, 51), "once more");
        let carrying = Body::Data(segment(100, 10).carrying(&alone(60)));
        assert_eq!(said.take(0, &there, &carrying), numbers(101, 61));
        assert_eq!(said.take(0, &there, &ack(60)), numbers(111, 61));
        assert_eq!(said.take(9, &there, &ack(60)), numbers(1, 61), "another port");
        assert_eq!(said.take(0, &way(2, 1), &data(0, 50)), FIRST, "the other side");
    }

    #[test]
    fn a_fin_counts_a_syn_begins_anew_and_numbers_go_round() {
        let mut said = Said::default();
        let there = way(1, 2);
        let last = (1 << 32) - 2;
        for quarter in 1..4 {
            said.take(0, &there, &data(quarter << 30, 1));
        }
        said.take(0, &there, &Body::Data(DataSegment { flags: Flags::FIN, ..segment(last, 1) }));
        assert_eq!(said.take(0, &there, &ack(5)), numbers(1, 6));
        let syn = Body::Data(DataSegment { flags: Flags::SYN, ..DataSegment::default() });
        assert_eq!(said.take(0, &there, &syn), FIRST);
        assert_eq!(said.take(0, &there, &ack(0)), FIRST);
    }
}
