//! Contents of a pause frame, and its unit of time.

use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Duration, Rate};

/// Number of priorities of a link.
pub const PRIORITIES: usize = 8;

/// Size of a PFC frame on the wire: 64 bytes, preamble and gap.
pub const FRAME_SIZE: Bytes = Bytes(84);

/// Contents of a PFC frame: the pause time of each enabled priority, in quanta of 512 bit times. A pause time of zero resumes the
/// priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Pause time of each priority; `None` if the frame does not enable the priority.
    pub quanta: [Option<u16>; PRIORITIES],
}

impl Frame {
    /// Returns the header of the frame's packet in a simulation. The first port number holds the enabled and the paused priorities as bits,
    /// and the second holds the quanta, which must be equal for all paused priorities.
    pub fn header(&self) -> Header {
        let (mut enabled, mut paused, mut most) = (0, 0, 0);
        for (priority, quanta) in self.quanta.iter().enumerate() {
            let Some(quanta) = *quanta else { continue };
            enabled |= 1 << priority;
            if quanta > 0 {
                paused |= 1 << priority;
                most = quanta;
            }
        }
        Header::new(HostId(0), HostId::NEXT_NODE)
            .with_ports(enabled << 8 | paused, most)
            .with_size(FRAME_SIZE.0 as u16)
    }

    /// Returns the frame with this header.
    pub fn of(header: &Header) -> Self {
        let (priorities, most) = header.ports();
        let (enabled, paused) = (priorities >> 8, priorities & 0xff);
        let quanta = |priority: usize| {
            let is_in = |mask: u16| mask >> priority & 1 == 1;
            is_in(enabled).then_some(if is_in(paused) { most } else { 0 })
        };
        Self { quanta: std::array::from_fn(quanta) }
    }
}

/// Returns the time that `quanta` quanta of 512 bits take on a link of this `rate`.
pub fn pause_time(rate: Rate, quanta: u16) -> Duration {
    rate.transmission_time(Bytes(64) * u64::from(quanta))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_holds_the_whole_frame() {
        for (quanta, most) in [([None; 8], 0), ([Some(7), None, Some(0), None, None, None, None, Some(7)], 7)]
        {
            let frame = Frame { quanta };
            let header = frame.header();
            assert_eq!(Frame::of(&header), frame);
            assert_eq!((header.ports().1, header.size()), (most, FRAME_SIZE));
        }
    }
}
