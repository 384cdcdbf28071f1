//! Headers of RoCEv2 after the UDP header: the base transport header (BTH), and the extended headers RETH and AETH. Also the invariant CRC
//! (ICRC) at the end of a packet (InfiniBand specification, volume 1, section 9; annex A17).

/// UDP destination port of RoCEv2.
pub const PORT: u16 = 4_791;
/// Length of the BTH in bytes.
pub const LEN: usize = 12;
/// Length of the RETH in bytes.
pub const RETH_LEN: usize = 16;
/// Length of the AETH in bytes.
pub const AETH_LEN: usize = 4;
/// Length of the ICRC in bytes.
pub const ICRC_LEN: usize = 4;
/// Default partition key.
const PARTITION: u16 = 0xffff;

/// Kind of a packet of a reliable connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Opcode {
    /// First of several packets of a SEND.
    SendFirst = 0x00,
    /// Packet of a SEND that is neither its first nor its last.
    SendMiddle = 0x01,
    /// Last of several packets of a SEND.
    SendLast = 0x02,
    /// Only packet of a SEND.
    SendOnly = 0x04,
    /// First of several packets of an RDMA WRITE.
    WriteFirst = 0x06,
    /// Packet of an RDMA WRITE that is neither its first nor its last.
    WriteMiddle = 0x07,
    /// Last of several packets of an RDMA WRITE.
    WriteLast = 0x08,
    /// Only packet of an RDMA WRITE.
    WriteOnly = 0x0a,
    /// Request of an RDMA READ.
    ReadRequest = 0x0c,
    /// First of several responses to an RDMA READ.
    ReadResponseFirst = 0x0d,
    /// Response to an RDMA READ that is neither the first nor the last.
    ReadResponseMiddle = 0x0e,
    /// Last of several responses to an RDMA READ.
    ReadResponseLast = 0x0f,
    /// Only response to an RDMA READ.
    ReadResponseOnly = 0x10,
    /// Acknowledgement or negative acknowledgement.
    Acknowledge = 0x11,
    /// Congestion notification packet.
    Cnp = 0x81,
}

const OPCODES: [Opcode; 15] = [
    Opcode::SendFirst,
    Opcode::SendMiddle,
    Opcode::SendLast,
    Opcode::SendOnly,
    Opcode::WriteFirst,
    Opcode::WriteMiddle,
    Opcode::WriteLast,
    Opcode::WriteOnly,
    Opcode::ReadRequest,
    Opcode::ReadResponseFirst,
    Opcode::ReadResponseMiddle,
    Opcode::ReadResponseLast,
    Opcode::ReadResponseOnly,
    Opcode::Acknowledge,
    Opcode::Cnp,
];

/// Base transport header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Kind of the packet.
    pub opcode: Opcode,
    /// Whether the packet requests an acknowledgement.
    pub ack_request: bool,
    /// Number of the queue pair at the receiver, 24 bits.
    pub queue_pair: u32,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Repr {
    /// Parses a packet. Returns its BTH and the rest of `bytes`, or `None` if `bytes` does not begin with the BTH of a known opcode.
    pub fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[opcode, _, _, _, _, a, b, c, request, d, e, f], rest) = bytes.split_first_chunk::<LEN>()?;
        let repr = Self {
            opcode: OPCODES.into_iter().find(|known| *known as u8 == opcode)?,
            ack_request: request & 0x80 != 0,
            queue_pair: u32::from_be_bytes([0, a, b, c]),
            psn: u32::from_be_bytes([0, d, e, f]),
        };
        Some((repr, rest))
    }

    /// Writes the header to the first [`LEN`] bytes.
    ///
    /// # Panics
    ///
    /// If `bytes` is shorter than [`LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        let header = &mut bytes[..LEN];
        header[0] = self.opcode as u8;
        header[1] = 0;
        header[2..4].copy_from_slice(&PARTITION.to_be_bytes());
        header[4..8].copy_from_slice(&(self.queue_pair & 0xff_ffff).to_be_bytes());
        header[8..12].copy_from_slice(&(self.psn & 0xff_ffff).to_be_bytes());
        header[8] = u8::from(self.ack_request) << 7;
    }
}

/// Writes an RETH to the first [`RETH_LEN`] bytes: the address at the receiver, a zero key, and the number of bytes to write or read.
///
/// # Panics
///
/// If `bytes` is shorter than [`RETH_LEN`].
pub fn emit_reth(address: u64, length: u32, bytes: &mut [u8]) {
    bytes[..8].copy_from_slice(&address.to_be_bytes());
    bytes[8..12].fill(0);
    bytes[12..RETH_LEN].copy_from_slice(&length.to_be_bytes());
}

/// Syndrome of an AETH.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syndrome {
    /// Acknowledgement that sets no limit of credits.
    Ack,
    /// NAK of a responder that has no receive work request (RNR). The value is the code of the RNR timer, from 0 to 31.
    RnrNak(u8),
    /// NAK for a PSN sequence error.
    SequenceError,
}

/// Writes an AETH with a zero message sequence number to the first [`AETH_LEN`] bytes.
///
/// # Panics
///
/// If `bytes` is shorter than [`AETH_LEN`].
pub fn emit_aeth(syndrome: Syndrome, bytes: &mut [u8]) {
    let syndrome = match syndrome {
        Syndrome::Ack => 0x1f,
        Syndrome::RnrNak(timer) => 0x20 | timer,
        Syndrome::SequenceError => 0x60,
    };
    bytes[..AETH_LEN].copy_from_slice(&[syndrome, 0, 0, 0]);
}

/// Returns the ICRC of an IPv4 packet that consists of `headers` (with an IPv4 header of 20 bytes, UDP and BTH) and of `zeros` zero bytes.
/// The CRC treats all bits of the fields that routers change as ones (annex A17.3).
///
/// # Panics
///
/// If `headers` is shorter than the three headers.
pub fn icrc(headers: &[u8], zeros: usize) -> [u8; ICRC_LEN] {
    // Type of service, TTL and checksum of IP; checksum of UDP; the reserved byte of the BTH with FECN and BECN.
    const CHANGING: [usize; 7] = [1, 8, 10, 11, 26, 27, 32];
    let masked =
        headers.iter().enumerate().map(|(place, &byte)| if CHANGING.contains(&place) { 0xff } else { byte });
    let bytes = [0xff; 8].into_iter().chain(masked).chain(std::iter::repeat_n(0, zeros));
    let crc = bytes.fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    });
    assert!(headers.len() >= 40, "IPv4, UDP and BTH");
    (!crc).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_icrc_is_the_crc_32_of_a_packet_whose_changing_fields_are_ones() {
        // Python: zlib.crc32(bytes([0xff] * 8 + masked + [0] * 3)).to_bytes(4, "little"), where masked are the numbers 0 to 39, with 0xff
        // at the indices 1, 8, 10, 11, 26, 27 and 32.
        let mut headers: Vec<u8> = (0..40).collect();
        assert_eq!(icrc(&headers, 3), [0xcc, 0xd7, 0x85, 0x6b]);
        headers[8] = 0x77;
        assert_eq!(icrc(&headers, 3), [0xcc, 0xd7, 0x85, 0x6b], "the TTL does not count");
    }

    #[test]
    fn extended_headers_have_their_fields_in_network_order() {
        let mut bytes = [0xee; RETH_LEN];
        emit_reth(0x0102_0304_0506_0708, 0x090a_0b0c, &mut bytes);
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 9, 10, 11, 12]);
        let syndromes =
            [(Syndrome::SequenceError, 0x60), (Syndrome::Ack, 0x1f), (Syndrome::RnrNak(12), 0x2c)];
        for (syndrome, expected) in syndromes {
            emit_aeth(syndrome, &mut bytes);
            assert_eq!(bytes[..AETH_LEN], [expected, 0, 0, 0]);
        }
    }

    proptest! {
        #[test]
        fn a_header_that_was_emitted_is_parsed_as_it_was(
            opcode in 0..OPCODES.len(),
            ack_request: bool,
            queue_pair in 0u32..1 << 24,
            psn in 0u32..1 << 24,
        ) {
            let repr = Repr { opcode: OPCODES[opcode], ack_request, queue_pair, psn };
            let mut bytes = [0xee; LEN + 2];
            repr.emit(&mut bytes);
            prop_assert_eq!(Repr::parse(&bytes), Some((repr, &[0xee; 2][..])));
            prop_assert_eq!(Repr::parse(&bytes[..LEN - 1]), None);
        }
    }
}
