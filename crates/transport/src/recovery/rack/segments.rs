//! Outstanding segments, with the time and state of each (RFC 8985 §5.2).

use std::collections::VecDeque;

use shallows_core::{Duration, Instant};

use crate::scoreboard::{Range, Scoreboard};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentState {
    /// Sent, and neither acknowledged nor marked as lost.
    Flying,
    Sacked,
    /// Lost, and not retransmitted yet.
    Lost,
}

/// A segment that is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Sequence number after the segment's last byte. The segment begins at the end of the previous one.
    end: u64,
    /// Time of the segment's last transmission (*Segment.xmit_ts*).
    sent_at: Instant,
    state: SegmentState,
    retransmitted: bool,
}

/// A segment that an acknowledgement newly covers, selectively or not.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delivered {
    pub(super) end: u64,
    pub(super) sent_at: Instant,
    pub(super) retransmitted: bool,
}

/// A transmission: its time, and the end of its segment. Ordered as RFC 8985's `RACK_sent_after`.
pub(super) type Transmission = (Instant, u64);

/// The segments from SND.UNA to SND.NXT.
#[derive(Debug, Default)]
pub(super) struct Segments {
    una: u64,
    list: VecDeque<Segment>,
    /// Transmissions in order of time. `detect` skips outdated entries.
    order: VecDeque<Transmission>,
    scoreboard: Scoreboard,
    /// Bytes in selectively acknowledged segments; `sacked_segments` is the number of these segments (*RACK.segs_sacked*).
    sacked: u64,
    sacked_segments: u32,
    /// Bytes in lost segments.
    lost: u64,
    /// Lower bound of the sequence numbers of lost segments.
    lost_from: u64,
}

impl Segments {
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn sacked(&self) -> u64 {
        self.sacked
    }

    pub(super) fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Adds new data up to `end`, sent at `now`.
    pub(super) fn push(&mut self, end: u64, now: Instant) {
        self.list.push_back(Segment { end, sent_at: now, state: SegmentState::Flying, retransmitted: false });
        self.order.push_back((now, end));
    }

    /// Moves the end of the last segment of new data to `end`, because the segment now carries a FIN.
    pub(super) fn extend(&mut self, end: u64) {
        if let (Some(segment), Some(transmission)) = (self.list.back_mut(), self.order.back_mut()) {
            debug_assert!(segment.end == transmission.1 && segment.end <= end);
            segment.end = end;
            transmission.1 = end;
        }
    }

    /// Returns the bytes of the first segment.
    pub(super) fn first(&self) -> Option<Range> {
        (!self.list.is_empty()).then(|| self.range(0))
    }

    /// Marks all lost segments as in flight again.
    pub(super) fn restore(&mut self) {
        for index in 0..self.list.len() {
            let segment = &mut self.list[index];
            if segment.state == SegmentState::Lost {
                segment.state = SegmentState::Flying;
                // The entry in `order` was removed after the segment was marked lost.
                let transmission = (segment.sent_at, segment.end);
                let place = self.order.partition_point(|&before| before < transmission);
                if self.order.get(place) != Some(&transmission) {
                    self.order.insert(place, transmission);
                }
            }
        }
        self.lost = 0;
    }

    /// Retransmits the first lost segment. Returns its bytes.
    pub(super) fn resend_lost(&mut self, now: Instant) -> Option<Range> {
        if self.lost == 0 {
            return None;
        }
        let first = self.list.partition_point(|segment| segment.end <= self.lost_from);
        let index = (first..self.list.len()).find(|&index| self.list[index].state == SegmentState::Lost)?;
        let range = self.resend(index, now);
        self.lost -= range.len();
        self.lost_from = range.end;
        Some(range)
    }

    /// Retransmits the last segment if it is in flight. Returns its bytes.
    pub(super) fn resend_last(&mut self, now: Instant) -> Option<Range> {
        let index = self.list.len().checked_sub(1)?;
        (self.list[index].state == SegmentState::Flying).then(|| self.resend(index, now))
    }

    fn resend(&mut self, index: usize, now: Instant) -> Range {
        let range = self.range(index);
        let segment = &mut self.list[index];
        segment.state = SegmentState::Flying;
        segment.sent_at = now;
        segment.retransmitted = true;
        self.order.push_back((now, range.end));
        range
    }

    /// Removes all data below `una`, and passes newly delivered segments to `deliver` in ascending order.
    pub(super) fn acknowledge(&mut self, una: u64, mut deliver: impl FnMut(Delivered)) {
        while let Some(&segment) = self.list.front()
            && self.una < una
        {
            let gone = segment.end.min(una) - self.una;
            match segment.state {
                SegmentState::Flying => {}
                SegmentState::Sacked => self.sacked -= gone,
                SegmentState::Lost => self.lost -= gone,
            }
            self.una += gone;
            if segment.end > una {
                break;
            }
            if segment.state == SegmentState::Sacked {
                self.sacked_segments -= 1;
            } else {
                deliver(segment.delivered());
            }
            self.list.pop_front();
        }
        self.una = una;
        self.scoreboard.forget_below(una);
    }

    /// Marks `range`, between SND.UNA and SND.NXT, as selectively acknowledged, and passes newly delivered segments to
    /// `deliver`.
    pub(super) fn sack(&mut self, range: Range, mut deliver: impl FnMut(Delivered)) {
        if !self.scoreboard.insert(range) {
            return;
        }
        let mut index = self.list.partition_point(|segment| segment.end <= range.start);
        while index < self.list.len() {
            let bytes = self.range(index);
            if bytes.start >= range.end {
                break;
            }
            let state = self.list[index].state;
            let whole = self.scoreboard.sacked_between(bytes.start, bytes.end) == bytes.len();
            if whole && state != SegmentState::Sacked {
                if state == SegmentState::Lost {
                    self.lost -= bytes.len();
                }
                self.sacked += bytes.len();
                self.sacked_segments += 1;
                self.list[index].state = SegmentState::Sacked;
                deliver(self.list[index].delivered());
            }
            index += 1;
        }
    }

    /// Marks as lost all segments that were sent before `latest` and at least `patience` ago (RFC 8985 §6.2 step 5). Returns whether any
    /// segment is newly lost, and the time at which all other segments sent before `latest` will count as lost.
    pub(super) fn detect(
        &mut self,
        latest: Transmission,
        patience: Duration,
        now: Instant,
    ) -> (bool, Option<Instant>) {
        let (mut found, mut wait) = (false, None);
        let mut at = 0;
        while let Some(&transmission) = self.order.get(at)
            && transmission.0 <= latest.0
        {
            let flying = self.flying(transmission);
            if let Some(index) = flying
                && transmission < latest
            {
                let due = transmission.0 + patience;
                if due <= now {
                    self.lose(index);
                    found = true;
                } else {
                    wait = wait.max(Some(due));
                }
            }
            if at == 0 && flying.is_none() {
                self.order.pop_front();
            } else {
                at += 1;
            }
        }
        (found, wait)
    }

    /// Marks segments as lost after a timeout (RFC 8985 §6.3): the first, and all that were sent at least `patience` ago. If the receiver
    /// reneged (RFC 2018 §8), it has discarded all data above gaps, and all segments are lost.
    pub(super) fn lose_on_timeout(&mut self, patience: Duration, now: Instant) {
        let reneged = self.scoreboard.reneged(self.una);
        if reneged {
            self.scoreboard.clear();
            (self.sacked, self.sacked_segments) = (0, 0);
        }
        for index in 0..self.list.len() {
            let segment = &mut self.list[index];
            if reneged && segment.state == SegmentState::Sacked {
                segment.state = SegmentState::Flying;
            }
            let late = index == 0 || reneged || segment.sent_at + patience <= now;
            if segment.state == SegmentState::Flying && late {
                self.lose(index);
            }
        }
    }

    fn lose(&mut self, index: usize) {
        let range = self.range(index);
        self.list[index].state = SegmentState::Lost;
        self.lost += range.len();
        self.lost_from = self.lost_from.min(range.start);
    }

    /// Returns the index of the segment of this transmission; `None` if the segment was retransmitted later, delivered or lost.
    fn flying(&self, (sent_at, end): Transmission) -> Option<usize> {
        if end <= self.una {
            return None;
        }
        let index = self.list.partition_point(|segment| segment.end < end);
        let is_it = |segment: &&Segment| segment.state == SegmentState::Flying && segment.sent_at == sent_at;
        self.list.get(index).filter(is_it).map(|_| index)
    }

    fn range(&self, index: usize) -> Range {
        let start = index.checked_sub(1).map_or(self.una, |before| self.list[before].end);
        Range { start, end: self.list[index].end }
    }
}

impl Segment {
    fn delivered(&self) -> Delivered {
        Delivered { end: self.end, sent_at: self.sent_at, retransmitted: self.retransmitted }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(micros)
    }

    /// Returns four segments of 1,000 bytes, sent after 1, 2, 3 and 4 µs. The third is SACKed, so the first two are lost.
    fn two_lost() -> Segments {
        let mut segments = Segments::default();
        for number in 1..=4 {
            segments.push(number * 1_000, at(number));
        }
        segments.sack(Range { start: 2_000, end: 3_000 }, |_| {});
        assert_eq!(segments.detect((at(3), 3_000), Duration::ZERO, at(10)), (true, None));
        assert_eq!(segments.lost(), 2_000);
        // The next call removes the transmissions of the lost segments.
        assert_eq!(segments.detect((at(3), 3_000), Duration::ZERO, at(10)), (false, None));
        segments
    }

    #[test]
    fn what_is_restored_can_be_lost_again_in_the_order_in_which_it_was_sent() {
        let mut segments = two_lost();
        segments.restore();
        assert_eq!(segments.lost(), 0);
        // In the first call, only the first segment was sent before the delivered transmission; in the second call, so was the second
        // segment.
        assert!(segments.detect((at(1), 1_001), Duration::ZERO, at(10)).0);
        assert_eq!(segments.lost(), 1_000);
        assert!(segments.detect((at(3), 3_000), Duration::ZERO, at(10)).0);
        assert_eq!(segments.lost(), 2_000);
    }

    #[test]
    fn a_fin_belongs_to_the_segment_that_was_sent_last() {
        let mut segments = Segments::default();
        segments.push(1_000, at(1));
        segments.push(2_000, at(2));
        segments.extend(2_001);
        assert_eq!(segments.resend_last(at(3)), Some(Range { start: 1_000, end: 2_001 }));
    }

    #[test]
    fn segments_that_are_acknowledged_are_no_longer_selectively_so() {
        let mut segments = two_lost();
        assert_eq!((segments.sacked(), segments.sacked_segments()), (1_000, 1));
        segments.acknowledge(1_000, |_| {});
        assert_eq!(segments.lost(), 1_000);
        segments.acknowledge(3_000, |_| {});
        assert_eq!((segments.sacked(), segments.sacked_segments(), segments.lost()), (0, 0, 0));
    }

    #[test]
    fn a_timeout_loses_the_first_segment_however_new_it_is() {
        // RFC 8985 §6.3.
        let mut segments = Segments::default();
        segments.push(1_000, at(1));
        segments.push(2_000, at(1));
        segments.lose_on_timeout(Duration::from_micros(100), at(2));
        assert_eq!(segments.lost(), 1_000);
    }
}
