//! The PFC frame (IEEE 802.1Q clause 36): the contents of a MAC control frame, which follow the Ethernet header.

/// Length in bytes of the frame's contents, between its Ethernet header and its check sequence. The contents are padded to the minimum
/// length of a frame.
pub const LEN: usize = 46;

/// EtherType of MAC control frames (IEEE 802.3 clause 31).
pub const MAC_CONTROL: u16 = 0x8808;

/// Destination address of PFC frames, which bridges do not forward.
pub const DESTINATION: [u8; 6] = [0x01, 0x80, 0xc2, 0x00, 0x00, 0x01];

/// Opcode of MAC control frames for PFC.
const OPCODE: u16 = 0x0101;

/// Contents of a PFC frame: its pause times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repr {
    /// Pause time of each priority, in quanta of 512 bit times; `None` if the frame does not enable the priority.
    pub quanta: [Option<u16>; 8],
}

impl Repr {
    /// Parses the contents of a frame. Returns `None` if `bytes` is too short or contains another MAC control frame.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let field = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        if field(0)? != OPCODE {
            return None;
        }
        let (enabled, mut quanta) = (field(2)?, [None; 8]);
        for (priority, time) in quanta.iter_mut().enumerate() {
            let stated = field(4 + 2 * priority)?;
            *time = (enabled >> priority & 1 != 0).then_some(stated);
        }
        Some(Self { quanta })
    }

    /// Writes the contents of the frame to the first [`LEN`] bytes, including padding.
    ///
    /// # Panics
    ///
    /// If `bytes` is shorter than [`LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        let frame = &mut bytes[..LEN];
        frame.fill(0);
        frame[0..2].copy_from_slice(&OPCODE.to_be_bytes());
        let mut enabled = 0_u16;
        for (priority, time) in self.quanta.iter().enumerate() {
            let Some(time) = time else { continue };
            enabled |= 1 << priority;
            frame[4 + 2 * priority..6 + 2 * priority].copy_from_slice(&time.to_be_bytes());
        }
        frame[2..4].copy_from_slice(&enabled.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ethernet;

    #[test]
    fn a_frame_has_the_bytes_of_the_standard() {
        // A frame that pauses priority 3 for 65,535 quanta and resumes priority 4. With its check sequence of 4 bytes it has 64 bytes.
        let mut frame = [0xee; ethernet::LEN + LEN];
        let source = [0x02, 0, 0, 0, 0, 0x07];
        ethernet::Repr { destination: DESTINATION, source, ether_type: MAC_CONTROL }.emit(&mut frame);
        let mut quanta = [None; 8];
        (quanta[3], quanta[4]) = (Some(0xffff), Some(0));
        Repr { quanta }.emit(&mut frame[ethernet::LEN..]);
        let start = "0180c2000001 020000000007 8808 0101 0018 0000 0000 0000 ffff 0000 0000 0000 0000";
        let hex: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, start.replace(' ', "") + &"00".repeat(26));
        let (header, rest) = ethernet::Repr::parse(&frame).expect("it has a header");
        assert_eq!((header.ether_type, Repr::parse(rest)), (MAC_CONTROL, Some(Repr { quanta })));
    }

    #[test]
    fn other_mac_control_frames_are_refused() {
        // Opcode 1 pauses the whole link.
        let mut bytes = [0; LEN];
        bytes[1] = 1;
        assert_eq!(Repr::parse(&bytes), None);
    }

    proptest! {
        #[test]
        fn a_frame_that_was_emitted_is_parsed_as_it_was(quanta: [Option<u16>; 8]) {
            let repr = Repr { quanta };
            let mut bytes = [0xee; LEN + 1];
            repr.emit(&mut bytes);
            prop_assert_eq!(bytes[LEN], 0xee, "the rest is not written");
            prop_assert_eq!(Repr::parse(&bytes), Some(repr));
            prop_assert_eq!(Repr::parse(&bytes[..20]), Some(repr), "padding is not needed");
            prop_assert_eq!(Repr::parse(&bytes[..19]), None);
        }
    }
}
