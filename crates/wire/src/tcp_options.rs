//! The options of a TCP header: maximum segment size, window scale, selective acknowledgement, timestamps.

/// Maximum length of the options in bytes, because a header has at most fifteen words (RFC 9293 §3.1).
pub const MAX_LEN: usize = 40;

/// Maximum number of SACK blocks that fit into [`MAX_LEN`] bytes (RFC 2018 §3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// Timestamps option (RFC 7323 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval: the time at which the segment was sent.
    pub value: u32,
    /// TSecr: the newest TSval received from the other side.
    pub echo: u32,
}

/// SACK blocks of a segment, most recent first (RFC 2018 §3). A block is a pair: its first sequence number, and the sequence number after
/// its last byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); MAX_SACK_BLOCKS],
    count: usize,
}

impl SackBlocks {
    /// Returns the blocks as a slice.
    pub fn as_slice(&self) -> &[(u32, u32)] {
        &self.blocks[..self.count]
    }
}

impl FromIterator<(u32, u32)> for SackBlocks {
    /// Collects the first [`MAX_SACK_BLOCKS`] blocks and ignores all others.
    fn from_iter<T: IntoIterator<Item = (u32, u32)>>(from: T) -> Self {
        let mut all = Self::default();
        for (place, block) in all.blocks.iter_mut().zip(from) {
            *place = block;
            all.count += 1;
        }
        all
    }
}

/// TCP options that hosts in simulations and in the testbed use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size (RFC 9293 §3.7.1). Occurs only on a SYN.
    pub max_segment_size: Option<u16>,
    /// Window scale: the number of bits by which windows are shifted (RFC 7323 §2). Occurs only on a SYN.
    pub window_scale: Option<u8>,
    /// Whether SACK is permitted (RFC 2018 §2). Occurs only on a SYN.
    pub sack_permitted: bool,
    /// Timestamps of the segment, if it has them.
    pub timestamps: Option<Timestamps>,
    /// SACK blocks of the segment; empty if it has none.
    pub sack: SackBlocks,
}

// Option kinds assigned by IANA.
const END: u8 = 0;
const NOP: u8 = 1;
const MAX_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Bytes of the SACK option before its blocks, including two bytes of padding.
const SACK_HEAD: usize = 4;
/// Bytes of one SACK block.
const SACK_BLOCK: usize = 8;

impl Options {
    /// Parses options. As in Linux (`tcp_parse_options`), an option that is unknown or has a wrong length is skipped, and parsing stops at
    /// an option that extends past the end.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut options = Self::default();
        let mut rest = bytes;
        while let Some((&kind, after)) = rest.split_first() {
            match kind {
                END => break,
                NOP => rest = after,
                _ => {
                    let Some(body) =
                        after.first().and_then(|&len| after.get(1..usize::from(len).checked_sub(1)?))
                    else {
                        break;
                    };
                    options.take(kind, body);
                    rest = &after[1 + body.len()..];
                }
            }
        }
        options
    }

    fn take(&mut self, kind: u8, body: &[u8]) {
        match (kind, body) {
            (MAX_SEGMENT_SIZE, &[a, b]) => self.max_segment_size = Some(u16::from_be_bytes([a, b])),
            (WINDOW_SCALE, &[shift]) => self.window_scale = Some(shift),
            (SACK_PERMITTED, []) => self.sack_permitted = true,
            (TIMESTAMPS, &[a, b, c, d, e, f, g, h]) => {
                let (value, echo) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
                self.timestamps = Some(Timestamps { value, echo });
            }
            (SACK, blocks) if blocks.len().is_multiple_of(SACK_BLOCK) => {
                let block = |&[a, b, c, d, e, f, g, h]: &[u8; SACK_BLOCK]| {
                    (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]))
                };
                self.sack = blocks.as_chunks().0.iter().map(block).collect();
            }
            _ => {}
        }
    }

    /// Returns the length of the options in bytes, a multiple of four.
    pub fn buffer_len(&self) -> usize {
        let fixed = self.len_without_sack();
        match self.sack_that_fits() {
            0 => fixed,
            blocks => fixed + SACK_HEAD + SACK_BLOCK * blocks,
        }
    }

    fn len_without_sack(&self) -> usize {
        let timestamps = self.timestamps.is_some();
        4 * usize::from(self.max_segment_size.is_some())
            + 4 * usize::from(self.sack_permitted || timestamps)
            + 8 * usize::from(timestamps)
            + 4 * usize::from(self.window_scale.is_some())
    }

    /// Returns how many of the SACK blocks fit beside the other options (RFC 2018 §3).
    fn sack_that_fits(&self) -> usize {
        let room = (MAX_LEN - SACK_HEAD).saturating_sub(self.len_without_sack());
        self.sack.count.min(room / SACK_BLOCK)
    }

    /// Writes the options to the first [`Self::buffer_len`] bytes, in the same order as Linux. Each option begins at a multiple of four
    /// bytes.
    ///
    /// # Panics
    ///
    /// If `bytes` is shorter than [`Self::buffer_len`].
    pub fn emit(&self, bytes: &mut [u8]) {
        let mut out = Writer { bytes, at: 0 };
        if let Some(size) = self.max_segment_size {
            out.put([MAX_SEGMENT_SIZE, 4]);
            out.put(size.to_be_bytes());
        }
        if self.sack_permitted {
            out.put([SACK_PERMITTED, 2]);
        }
        // Timestamps take ten bytes and SACK-permitted two. If exactly one of the two is present, two bytes of padding are needed.
        if self.sack_permitted != self.timestamps.is_some() {
            out.put([NOP, NOP]);
        }
        if let Some(Timestamps { value, echo }) = self.timestamps {
            out.put([TIMESTAMPS, 10]);
            out.put(value.to_be_bytes());
            out.put(echo.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            out.put([NOP, WINDOW_SCALE, 3, shift]);
        }
        let blocks = &self.sack.as_slice()[..self.sack_that_fits()];
        if !blocks.is_empty() {
            out.put([NOP, NOP, SACK, (2 + SACK_BLOCK * blocks.len()) as u8]);
        }
        for (start, end) in blocks {
            out.put(start.to_be_bytes());
            out.put(end.to_be_bytes());
        }
    }
}

/// Writer that appends parts to a byte slice.
struct Writer<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put<const N: usize>(&mut self, part: [u8; N]) {
        self.bytes[self.at..self.at + N].copy_from_slice(&part);
        self.at += N;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn emitted(options: &Options) -> Vec<u8> {
        let mut bytes = vec![0xee; options.buffer_len()];
        options.emit(&mut bytes);
        bytes
    }

    const STAMPS: Timestamps = Timestamps { value: 9, echo: 5 };

    #[test]
    fn options_are_where_linux_puts_them() {
        let syn = Options { max_segment_size: Some(1_460), window_scale: Some(14), ..Options::default() };
        assert_eq!(emitted(&syn), [2, 4, 5, 0xb4, 1, 3, 3, 14]);
        let with_sack = Options { sack_permitted: true, ..syn };
        assert_eq!(emitted(&with_sack), [2, 4, 5, 0xb4, 4, 2, 1, 1, 1, 3, 3, 14]);
        let with_stamps = Options { timestamps: Some(STAMPS), ..syn };
        let stamps = [8, 10, 0, 0, 0, 9, 0, 0, 0, 5];
        assert_eq!(emitted(&with_stamps), [&[2, 4, 5, 0xb4, 1, 1][..], &stamps, &[1, 3, 3, 14]].concat());
        let with_both = Options { sack_permitted: true, ..with_stamps };
        assert_eq!(emitted(&with_both), [&[2, 4, 5, 0xb4, 4, 2][..], &stamps, &[1, 3, 3, 14]].concat());
    }

    #[test]
    fn as_many_blocks_are_written_as_there_is_room_for() {
        // RFC 2018 §3: four blocks fit, or three beside timestamps. 12 + 4 + 3 · 8 are the 40 bytes that options may have.
        let sack = (1..=5).map(|number| (10 * number, 10 * number + 5)).collect();
        let alone = Options { sack, ..Options::default() };
        assert_eq!(alone.buffer_len(), 36);
        assert_eq!(
            Options::parse(&emitted(&alone)).sack.as_slice(),
            [(10, 15), (20, 25), (30, 35), (40, 45)]
        );
        let beside = Options { timestamps: Some(STAMPS), ..alone };
        assert_eq!(beside.buffer_len(), 40);
        assert_eq!(Options::parse(&emitted(&beside)).sack.as_slice(), [(10, 15), (20, 25), (30, 35)]);
    }

    #[test]
    fn what_is_damaged_or_unknown_hides_nothing_before_it() {
        let parsed = |after: &[u8]| Options::parse(&[&[2, 4, 5, 0xb4][..], after].concat());
        let before = Options { max_segment_size: Some(1_460), ..Options::default() };
        assert_eq!(parsed(&[0, 4, 2]), before, "the end comes first");
        assert_eq!(parsed(&[0, 2, 4, 2]), before, "the end has no length to skip");
        assert_eq!(parsed(&[4]), before, "no length");
        assert_eq!(parsed(&[4, 0, 4, 2]), before, "a length that would go round for ever");
        assert_eq!(parsed(&[4, 1, 4, 2]), before, "shorter than itself");
        assert_eq!(parsed(&[8, 10, 0, 0]), before, "cut off");
        assert_eq!(parsed(&[3, 4, 1, 1]), before, "a window scale of two bytes");
        assert_eq!(parsed(&[5, 6, 0, 0, 0, 1]), before, "half a block");
        assert!(parsed(&[254, 3, 7, 4, 2]).sack_permitted, "an experiment's (RFC 4727) is skipped");
    }

    /// Generates options with so few SACK blocks that all of them fit.
    fn options() -> impl Strategy<Value = Options> {
        let timestamps = prop::option::of(
            (any::<u32>(), any::<u32>()).prop_map(|(value, echo)| Timestamps { value, echo }),
        );
        let sack = prop::collection::vec(any::<(u32, u32)>(), 0..=MAX_SACK_BLOCKS);
        (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>(), timestamps, sack).prop_map(
            |(max_segment_size, window_scale, sack_permitted, timestamps, sack)| {
                let sack = sack.into_iter().collect();
                let mut options =
                    Options { max_segment_size, window_scale, sack_permitted, timestamps, sack };
                options.sack = sack.as_slice()[..options.sack_that_fits()].iter().copied().collect();
                options
            },
        )
    }

    proptest! {
        #[test]
        fn options_that_were_emitted_are_parsed_as_they_were(options in options()) {
            let bytes = emitted(&options);
            prop_assert!(bytes.len() <= MAX_LEN && bytes.len().is_multiple_of(4));
            prop_assert_eq!(Options::parse(&bytes), options);
        }
    }
}
