//! Addresses of packets: the sending and the receiving host, and the port numbers of their connection.

use crate::packet::{Ecn, Header, HostId, PacketKind};

/// Address of a packet: host and port number of the source, host and port number of the destination, and class of service.
#[derive(Clone, Copy, Debug)]
pub struct Address {
    /// Sending host.
    pub source: HostId,
    /// Receiving host.
    pub destination: HostId,
    /// Port number of the sender.
    pub source_port: u16,
    /// Port number of the receiver.
    pub destination_port: u16,
    /// Class of service (DSCP).
    pub class: u8,
}

impl Address {
    /// Returns the address in the header of a data packet.
    #[inline]
    pub fn of_data(header: &Header) -> Self {
        let (source_port, destination_port) = header.ports();
        let (source, destination) = (header.source(), header.destination());
        Self { source, destination, source_port, destination_port, class: header.class() }
    }

    /// Returns the address of packets in the opposite direction of the same connection.
    #[inline]
    pub fn reversed(self) -> Self {
        Self {
            source: self.destination,
            destination: self.source,
            source_port: self.destination_port,
            destination_port: self.source_port,
            class: self.class,
        }
    }

    /// Returns the header of a packet from the source to the destination of this address.
    #[inline]
    pub fn forward(&self, wire_size: u16, ecn: Ecn, kind: PacketKind) -> Header {
        Header::new(self.source, self.destination)
            .with_ports(self.source_port, self.destination_port)
            .with_size(wire_size)
            .with_ecn(ecn)
            .with_class(self.class)
            .with_kind(kind)
    }

    /// Returns the header of a pure acknowledgement, which goes from the destination of this address back to its source.
    #[inline]
    pub fn backward(&self, wire_size: u16, ecn: Ecn) -> Header {
        Header::new(self.destination, self.source)
            .with_ports(self.destination_port, self.source_port)
            .with_size(wire_size)
            .with_ecn(ecn)
            .with_class(self.class)
            .with_kind(PacketKind::PureAck)
    }
}
