//! Sets of packets above a gap, stored as ranges of PSNs.

/// Set of PSNs as disjoint ranges in increasing order. Its memory grows with the number of gaps and not with the number of packets.
#[derive(Debug)]
pub(crate) struct Ranges<T> {
    ranges: Vec<Range<T>>,
}

#[derive(Debug)]
struct Range<T> {
    start: u64,
    end: u64,
    /// Value of the last packet in the range.
    value: T,
}

impl<T> Default for Ranges<T> {
    fn default() -> Self {
        Self { ranges: Vec::new() }
    }
}

impl<T> Ranges<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds a packet with a value. A packet that the set already contains keeps its value.
    pub(crate) fn insert(&mut self, psn: u64, value: T) {
        let at = self.ranges.partition_point(|range| range.end < psn);
        let (left, right) = self.ranges.split_at_mut(at);
        debug_assert!(left.last().is_none_or(|range| range.end < psn));
        match right {
            [range, ..] if range.start <= psn && psn < range.end => {}
            [range, next, ..] if range.end == psn && next.start == psn + 1 => {
                next.start = range.start;
                self.ranges.remove(at);
            }
            [range, ..] if range.end == psn => {
                range.end = psn + 1;
                range.value = value;
            }
            [range, ..] if range.start == psn + 1 => range.start = psn,
            _ => self.ranges.insert(at, Range { start: psn, end: psn + 1, value }),
        }
    }

    /// Removes the first range if it begins at `start`. Returns the PSN after the range, and the value of the range's last packet.
    pub(crate) fn take(&mut self, start: u64) -> Option<(u64, T)> {
        if self.ranges.first()?.start != start {
            return None;
        }
        let range = self.ranges.remove(0);
        Some((range.end, range.value))
    }

    /// Removes all packets before this PSN.
    pub(crate) fn remove_before(&mut self, psn: u64) {
        let gone = self.ranges.partition_point(|range| range.end <= psn);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(psn);
        }
    }

    /// Returns the lowest PSN, from `psn` on, that is not in the set.
    pub(crate) fn missing_from(&self, psn: u64) -> u64 {
        let at = self.ranges.partition_point(|range| range.end <= psn);
        self.ranges.get(at).filter(|range| range.start <= psn).map_or(psn, |range| range.end)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ranges_equal_a_set_of_single_packets(psns in prop::collection::vec(0u64..40, 0..60), before in 0u64..40) {
            let mut ranges = Ranges::default();
            let mut set = BTreeMap::new();
            for (value, psn) in psns.into_iter().enumerate() {
                ranges.insert(psn, value);
                set.entry(psn).or_insert(value);
            }
            for range in ranges.ranges.windows(2) {
                prop_assert!(range[0].end < range[1].start, "ranges that touch are one range");
            }
            for psn in 0..=41 {
                let missing = (psn..).find(|psn| !set.contains_key(psn)).unwrap();
                prop_assert_eq!(ranges.missing_from(psn), missing);
            }
            ranges.remove_before(before);
            set.retain(|psn, _| *psn >= before);
            while let Some(&first) = set.keys().next() {
                prop_assert!(ranges.take(first + 1).is_none(), "the first range begins with {}", first);
                let end = (first..).find(|psn| !set.contains_key(psn)).unwrap();
                prop_assert_eq!(ranges.take(first), Some((end, set[&(end - 1)])));
                set.retain(|psn, _| *psn >= end);
            }
            prop_assert!(ranges.is_empty());
        }
    }
}
