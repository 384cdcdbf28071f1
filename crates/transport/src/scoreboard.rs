//! Selectively acknowledged data, and the lost holes that follow from it (RFC 6675 §4).

use shallows_core::packet::AckSegment;

/// Bytes from `start` up to, but not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Range {
    pub(crate) fn len(self) -> u64 {
        self.end - self.start
    }

    /// Returns whether this range and `other` overlap or are neighbours.
    pub(crate) fn touches(self, other: Self) -> bool {
        self.start <= other.end && other.start <= self.end
    }

    /// Returns the intersection of this range and `other`, if it is not empty.
    pub(crate) fn common(self, other: Self) -> Option<Self> {
        let (start, end) = (self.start.max(other.start), self.end.min(other.end));
        (start < end).then_some(Self { start, end })
    }

    /// Returns the smallest range that contains this one and `other`.
    pub(crate) fn join(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// Selectively acknowledged ranges: sorted, disjoint, above the cumulative acknowledgement.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    ranges: Vec<Range>,
    /// Sum of the lengths of `ranges`.
    total: u64,
}

impl Scoreboard {
    pub(crate) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }

    /// Records that the receiver has `range`. Returns whether any byte of the range is new.
    pub(crate) fn insert(&mut self, range: Range) -> bool {
        let first = self.ranges.partition_point(|held| held.end < range.start);
        let touching = self.ranges[first..].iter().take_while(|held| held.touches(range)).count();
        let held = &mut self.ranges[first..first + touching];
        let before: u64 = held.iter().map(|held| held.len()).sum();
        let joined = match held {
            [] => {
                self.ranges.insert(first, range);
                range
            }
            [held] if held.start <= range.start && range.end <= held.end => return false,
            [held, rest @ ..] => {
                *held = held.join(range).join(*rest.last().unwrap_or(held));
                let joined = *held;
                self.ranges.drain(first + 1..first + touching);
                joined
            }
        };
        self.total += joined.len() - before;
        true
    }

    /// Records the SACK blocks of `segment`, which acknowledges all data below `una`, while data up to `next` has been sent (RFC 6675 §4
    /// `Update`). Returns whether any block has new data.
    pub(crate) fn update(&mut self, una: u64, next: u64, segment: &AckSegment) -> bool {
        self.forget_below(una);
        let mut news = false;
        for (start, end) in segment.sack_ranges() {
            // Any other block is old, or covers data that was never sent.
            if una < start && start < end && end <= next {
                news |= self.insert(Range { start, end });
            }
        }
        news
    }

    /// Removes everything below `una`.
    pub(crate) fn forget_below(&mut self, una: u64) {
        let gone = self.ranges.partition_point(|held| held.end <= una);
        self.total -= self.ranges.drain(..gone).map(Range::len).sum::<u64>();
        if let Some(first) = self.ranges.first_mut() {
            let start = first.start.max(una);
            self.total -= start - first.start;
            first.start = start;
        }
    }

    /// Returns whether the receiver has reneged: it reported the byte at `una` in a SACK block, but does not acknowledge it cumulatively.
    pub(crate) fn reneged(&self, una: u64) -> bool {
        self.ranges.first().is_some_and(|first| first.start <= una)
    }

    /// Returns the sequence number after the highest selectively acknowledged byte; zero if there is none.
    pub(crate) fn highest(&self) -> u64 {
        self.ranges.last().map_or(0, |last| last.end)
    }

    /// Returns the sequence number below which every hole is lost and above which none is (RFC 6675 §4 `IsLost`). A hole is lost if at
    /// least `threshold` ranges, or more than `threshold − 1` segments' worth of selectively acknowledged bytes, lie above it.
    pub(crate) fn lost_below(&self, threshold: u32, mss: u64) -> u64 {
        let threshold = u64::from(threshold);
        let (mut ranges, mut bytes) = (0, 0);
        for range in self.ranges.iter().rev() {
            ranges += 1;
            bytes += range.len();
            if ranges >= threshold || bytes > (threshold - 1) * mss {
                return range.start;
            }
        }
        0
    }

    /// Returns the number of selectively acknowledged bytes from `start` up to `end`.
    pub(crate) fn sacked_between(&self, start: u64, end: u64) -> u64 {
        let sum = |ranges: &[Range]| ranges.iter().map(|held| held.len()).sum::<u64>();
        let (below, others) = self.ranges.split_at(self.ranges.partition_point(|held| held.end <= start));
        let (inside, above) = others.split_at(others.partition_point(|held| held.start < end));
        let fewer_inside = inside.len() < below.len() + above.len();
        let whole = if fewer_inside { sum(inside) } else { self.total - sum(below) - sum(above) };
        let before = inside.first().map_or(0, |first| start.saturating_sub(first.start));
        let after = inside.last().map_or(0, |last| last.end.saturating_sub(end));
        whole - before - after
    }

    /// Returns the number of selectively acknowledged bytes above the cumulative acknowledgement.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the first hole at or above `from`, cut off at `limit`.
    pub(crate) fn hole_from(&self, from: u64, limit: u64) -> Option<Range> {
        let above = self.ranges.partition_point(|held| held.end <= from);
        let (start, end) = match self.ranges.get(above) {
            Some(held) if held.start <= from => {
                (held.end, self.ranges.get(above + 1).map_or(limit, |next| next.start))
            }
            Some(held) => (from, held.start),
            None => (from, limit),
        };
        let end = end.min(limit);
        (start < end).then_some(Range { start, end })
    }

    /// Returns the last hole between `una` and `next`.
    pub(crate) fn last_hole(&self, una: u64, next: u64) -> Option<Range> {
        let (mut start, mut end) = (una, next);
        for range in self.ranges.iter().rev() {
            if range.end < end {
                start = range.end;
                break;
            }
            end = range.start;
        }
        (start < end).then_some(Range { start, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a scoreboard that holds `ranges`.
    fn holding(ranges: &[(u64, u64)]) -> Scoreboard {
        let mut scoreboard = Scoreboard::default();
        for &(start, end) in ranges {
            scoreboard.insert(Range { start, end });
        }
        scoreboard
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let mut scoreboard = holding(&[(10, 20), (30, 40), (50, 60)]);
        assert!(!scoreboard.insert(Range { start: 12, end: 20 }), "no news");
        assert!(scoreboard.insert(Range { start: 20, end: 50 }));
        assert_eq!(scoreboard.ranges, [Range { start: 10, end: 60 }]);
    }

    #[test]
    fn a_hole_is_lost_when_three_ranges_or_more_than_two_segments_lie_above() {
        // RFC 6675 §4 IsLost, DupThresh 3, SMSS 10.
        assert_eq!(holding(&[(10, 20), (30, 40)]).lost_below(3, 10), 0);
        assert_eq!(holding(&[(10, 11), (30, 31), (50, 51)]).lost_below(3, 10), 10, "three ranges");
        assert_eq!(holding(&[(10, 30)]).lost_below(3, 10), 0, "exactly two segments are not more");
        assert_eq!(holding(&[(10, 31)]).lost_below(3, 10), 10, "one byte more");
        assert_eq!(holding(&[(10, 20), (30, 45), (60, 70)]).lost_below(3, 10), 30, "25 bytes above 30");
    }

    #[test]
    fn a_range_at_the_cumulative_acknowledgement_is_reneging() {
        assert!(!holding(&[(10, 20)]).reneged(9));
        assert!(holding(&[(10, 20)]).reneged(10));
    }

    proptest! {
        #[test]
        fn every_answer_agrees_with_a_bit_per_byte(
            inserts in prop::collection::vec((1u64..120, 1u64..12), 0..30),
            una in 0u64..60,
            from in 0u64..128,
            end in 0u64..128,
            beyond in 0u64..3,
        ) {
            let mut scoreboard = Scoreboard::default();
            let mut bits = [false; 140];
            for (start, len) in inserts {
                let range = start as usize..(start + len) as usize;
                let news = bits[range.clone()].iter().any(|bit| !bit);
                prop_assert_eq!(scoreboard.insert(Range { start, end: start + len }), news);
                bits[range].fill(true);
            }
            prop_assert_eq!(scoreboard.total(), bits.iter().filter(|&&bit| bit).count() as u64);
            scoreboard.forget_below(una);
            bits[..una as usize].fill(false);
            let sacked = |start: u64, end: u64| (start..end).filter(|&at| bits[at as usize]).count() as u64;
            prop_assert_eq!(scoreboard.highest(), (0..140).rev().find(|&at| bits[at]).map_or(0, |at| at as u64 + 1));
            prop_assert_eq!(scoreboard.total(), sacked(0, 140));
            prop_assert_eq!(scoreboard.sacked_between(from, end.max(from)), sacked(from, end.max(from)));
            let hole = (from..end).find(|&at| !bits[at as usize]);
            prop_assert_eq!(scoreboard.hole_from(from, end).map(|hole| hole.start), hole);
            if let Some(hole) = scoreboard.hole_from(from, end) {
                prop_assert_eq!(sacked(hole.start, hole.end), 0);
                prop_assert!(hole.end == end || bits[hole.end as usize]);
            }
            let next = scoreboard.highest().max(una) + beyond;
            let last = (una..next).rev().find(|&at| !bits[at as usize]);
            prop_assert_eq!(scoreboard.last_hole(una, next).map(|hole| hole.end - 1), last);
            if let Some(hole) = scoreboard.last_hole(una, next) {
                prop_assert_eq!(sacked(hole.start, hole.end), 0);
                prop_assert!(hole.start == una || bits[hole.start as usize - 1]);
            }
        }
    }
}
