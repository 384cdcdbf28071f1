//! File in the format pcapng (draft-ietf-opsawg-pcapng): a section with one interface for each port, then one block for each packet.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption as Describes,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};
use shallows_core::{Instant, Rate};

/// Output to which a capture is written. `Sync`, because the threads that build a network share its captures.
pub type Sink = Box<dyn Write + Send + Sync>;

/// Port whose packets are captured.
pub(super) struct Interface<'a> {
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    pub(super) rate: Rate,
}

/// Pcapng file that is being written.
pub(super) struct File {
    writer: PcapNgWriter<BufWriter<Sink>>,
    snap: usize,
    packets: u64,
}

/// Resolution of timestamps, 10⁻⁹ s: the finest unit that all readers support.
const NANOSECONDS: u8 = 9;

impl File {
    /// Writes the file header with these interfaces, in this order. The file keeps `snap` bytes of each packet.
    pub(super) fn create<'a>(
        sink: Sink,
        comment: String,
        snap: u32,
        interfaces: impl Iterator<Item = Interface<'a>>,
    ) -> io::Result<Self> {
        let section = SectionHeaderBlock {
            // The byte order is fixed, so that the same run gives the same bytes on every machine.
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(comment.into()),
                SectionHeaderOption::UserApplication(concat!("Shallows ", env!("CARGO_PKG_VERSION")).into()),
            ],
            ..SectionHeaderBlock::default()
        };
        let writer = PcapNgWriter::with_section_header(BufWriter::with_capacity(1 << 16, sink), section);
        let mut file = Self { writer: writer.map_err(plain)?, snap: snap as usize, packets: 0 };
        for Interface { name, kind, rate } in interfaces {
            let block = InterfaceDescriptionBlock {
                linktype: DataLink::ETHERNET,
                snaplen: snap,
                options: vec![
                    Describes::IfName(name.into()),
                    Describes::IfDescription(kind.into()),
                    Describes::IfSpeed(rate.0),
                    Describes::IfTsResol(NANOSECONDS),
                ],
            };
            file.writer.write_pcapng_block(block).map_err(plain)?;
        }
        Ok(file)
    }

    /// Appends a packet of `len` bytes that was sent on this interface. `bytes` may be truncated.
    pub(super) fn write(&mut self, at: Instant, interface: u32, bytes: &[u8], len: usize) -> io::Result<()> {
        self.packets += 1;
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(at.0 / 1_000),
            original_len: len as u32,
            data: Cow::Borrowed(&bytes[..bytes.len().min(self.snap)]),
            options: Vec::new(),
        };
        self.writer.write_pcapng_block(block).map(|_| ()).map_err(plain)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.get_mut().flush()
    }

    /// Returns the number of packets written.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }
}

/// Converts an error of the pcapng writer into an I/O error. Blocks are always well-formed, so the writer fails only on I/O.
fn plain(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
