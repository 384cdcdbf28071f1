//! Cells: the units in which a chip's memory stores packets.

use shallows_core::Bytes;

/// Size of the cells of a chip's memory. A packet occupies whole cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cell(Bytes);

impl Default for Cell {
    /// Creates a cell of one byte, so that packets occupy exactly their size.
    fn default() -> Self {
        Self(Bytes(1))
    }
}

impl Cell {
    /// Creates a cell of this size.
    ///
    /// # Panics
    ///
    /// Panics if the size is zero.
    pub fn new(size: Bytes) -> Self {
        assert!(size.0 > 0, "a cell has at least one byte");
        Self(size)
    }

    /// Returns the size of the cell.
    pub fn size(self) -> Bytes {
        self.0
    }

    /// Returns the memory that a packet of `size` occupies: its size, rounded up to whole cells.
    #[inline]
    pub fn occupied(self, size: Bytes) -> Bytes {
        self.0 * size.0.div_ceil(self.0.0)
    }

    /// Returns `size` rounded down to whole cells.
    pub fn whole(self, size: Bytes) -> Bytes {
        self.0 * (size.0 / self.0.0)
    }

    /// Returns an upper bound on the memory that `packets` packets with a total of `size` bytes occupy.
    pub fn most(self, size: Bytes, packets: u32) -> Bytes {
        size + Bytes(self.0.0 - 1) * u64::from(packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_occupies_whole_cells() {
        // Cells of Tomahawk 3, 254 bytes: 64 bytes take one, 254 one, 255 two, and 1,538 (a full packet with its framing) seven.
        let cell = Cell::new(Bytes(254));
        let cells = [64, 254, 255, 1_538].map(|size| cell.occupied(Bytes(size)).0 / 254);
        assert_eq!(cells, [1, 1, 2, 7]);
        assert_eq!(cell.whole(Bytes(1_000)), Bytes(762));
        assert!(
            [(0, 0), (64, 1), (255, 1)]
                .iter()
                .all(|&(size, packets)| cell.most(Bytes(size), packets) >= cell.occupied(Bytes(size)))
        );
    }

    #[test]
    #[should_panic(expected = "a cell has at least one byte")]
    fn a_cell_of_nothing_is_refused() {
        Cell::new(Bytes(0));
    }
}
