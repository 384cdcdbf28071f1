//! Loss detection and recovery with selective acknowledgements (RFC 6675).

use shallows_core::packet::AckSegment;

use super::course::Course;
use super::frto::{Evidence, Frto};
use super::interface::{Allowance, Outcome, Outstanding, Phase, non_empty};
use super::prr::Bound;
use crate::config::{Config, SackAfterTimeout};
use crate::scoreboard::{Range, Scoreboard};

/// The scoreboard and the variables of RFC 6675 §2.
#[derive(Debug, Default)]
pub(crate) struct Sack {
    scoreboard: Scoreboard,
    pub(super) course: Course,
    dup_acks: u32,
    high_rxt: u64,
    rescue_rxt: u64,
    pipe: u64,
    /// Sequence number below which all holes are lost.
    lost_below: u64,
    /// New data sent beyond cwnd by limited transmit.
    limited: u64,
    /// SND.UNA at the last timeout.
    timed_out_at: Option<u64>,
    frto: Frto,
}

impl Sack {
    pub(super) fn new(bound: Option<Bound>) -> Self {
        Self { course: Course::new(bound), ..Self::default() }
    }

    /// Returns whether no data is missing and none is being repaired.
    pub(super) fn is_idle(&self) -> bool {
        self.phase() == Phase::Open && self.scoreboard.is_empty()
    }

    pub(super) fn phase(&self) -> Phase {
        self.course.phase
    }

    /// Returns the estimated number of bytes in flight.
    pub(super) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Returns the number of selectively acknowledged outstanding bytes.
    pub(super) fn sacked(&self, data: Outstanding) -> u64 {
        self.scoreboard.sacked_between(data.una, data.next)
    }

    /// Returns the number of new bytes that limited transmit has sent. FlightSize excludes them (RFC 5681 §3.2 step 2).
    pub(super) fn limited(&self) -> u64 {
        self.limited
    }

    /// Processes an acknowledgement that newly covers `acked` bytes.
    pub(super) fn on_ack(
        &mut self,
        config: &Config,
        data: Outstanding,
        segment: &AckSegment,
        acked: u64,
    ) -> Outcome {
        let sacked = self.scoreboard.total();
        let below = match self.frto {
            Frto::Off => 0,
            _ => self.scoreboard.sacked_between(0, self.course.point),
        };
        // RFC 6675 §2: a duplicate selectively acknowledges new data.
        let news = self.scoreboard.update(data.una, data.next, segment);
        if acked > 0 {
            self.dup_acks = 0;
            self.limited = 0;
        }
        let (_, needless) = self.course.hear(config, data.next, segment);
        let spurious = needless || (self.frto != Frto::Off && self.is_spurious(data, acked, below));
        if needless {
            self.frto = Frto::Off;
            self.high_rxt = data.una;
        }
        // RFC 6675 §5 step A and §5.1: no other recovery begins before the current one ends.
        self.course.end(data.una, spurious);
        let duplicate = news && self.phase() == Phase::Open;
        if duplicate {
            // RFC 6675 §5 step 3.1.
            self.high_rxt = data.una;
        }
        let begins = duplicate && self.detects_loss(config, data);
        if begins {
            self.course.begin(data);
        }
        self.high_rxt = self.high_rxt.max(data.una);
        let lost_below = self.lost_below.max(data.una);
        self.set_pipe(config, data);
        // Bytes that were SACKed earlier have already been counted.
        let delivered = (acked + self.scoreboard.total()).saturating_sub(sacked);
        self.course.deliver(delivered, acked > 0 && self.lost_below <= lost_below);
        Outcome { begins, spurious, ..Outcome::default() }
    }

    /// Returns whether an acknowledgement of `acked` new bytes proves the timeout spurious (RFC 5682 §3.1). Only the first segment of the
    /// data outstanding at the timeout was retransmitted; `sacked` bytes of that data were selectively acknowledged before.
    fn is_spurious(&mut self, data: Outstanding, acked: u64, sacked: u64) -> bool {
        let recover = self.course.point;
        let original = acked > 0 || self.scoreboard.sacked_between(0, recover) > sacked;
        self.frto.on_ack(Evidence { una: data.una, advances: acked > 0, recover, original })
    }

    /// Handles the retransmission timer (RFC 6675 §5.1). Returns whether the timer had already fired for the same segment.
    pub(super) fn on_timeout(&mut self, config: &Config, data: Outstanding) -> bool {
        let repeated = self.timed_out_at == Some(data.una);
        self.timed_out_at = Some(data.una);
        let first = data.next.min(data.una + config.mss.0);
        let applies = config.frto && self.phase() == Phase::Open && !repeated;
        self.frto = if applies { Frto::Sent { end: first } } else { Frto::Off };
        // RFC 2018 §8: a receiver may discard selectively acknowledged data.
        if config.sack_after_timeout == SackAfterTimeout::Forgotten || self.scoreboard.reneged(data.una) {
            self.scoreboard.clear();
        }
        self.course.time_out(data);
        self.high_rxt = data.una;
        self.dup_acks = 0;
        self.limited = 0;
        self.set_pipe(config, data);
        repeated
    }

    /// Returns the bytes to send next, if any may be sent, and counts them as sent.
    pub(super) fn next_segment(
        &mut self,
        config: &Config,
        data: Outstanding,
        allowance: Allowance,
    ) -> Option<Range> {
        self.course.take_in(self.pipe, allowance.cwnd, config.mss.0);
        let range = self.choose(config, data, allowance)?;
        self.course.on_send(config, range, data.next);
        Some(range)
    }

    fn choose(&mut self, config: &Config, data: Outstanding, allowance: Allowance) -> Option<Range> {
        if std::mem::take(&mut self.course.first_due) {
            return self.first_retransmission(config, data);
        }
        let room = self.course.room(allowance.cwnd, self.pipe);
        let unsent = Range { start: data.next, end: data.next + allowance.unsent };
        let range = match self.phase() {
            Phase::Open => self.open(config, data, allowance)?,
            // RFC 6675 §5 step C.
            _ if room < config.mss.0 => return None,
            Phase::Recovery => self.next_seg(config, data, unsent)?,
            Phase::Timeout => {
                if let Some(goes) = self.frto.asks(allowance.unsent > 0) {
                    return non_empty(unsent).filter(|_| goes).inspect(|range| self.pipe += range.len());
                }
                // RFC 6675 §5.1: fill the holes in order, then send new data.
                let hole = self.hole(self.course.point, config);
                hole.inspect(|hole| self.high_rxt = hole.end).or_else(|| non_empty(unsent))?
            }
        };
        // RFC 6675 §5 step C.4.
        self.pipe += range.len();
        Some(range)
    }

    /// Counts a duplicate acknowledgement. Returns whether the duplicates signal a loss (RFC 6675 §5 steps 1 and 2).
    fn detects_loss(&mut self, config: &Config, data: Outstanding) -> bool {
        self.dup_acks += 1;
        self.dup_acks >= config.duplicate_threshold
            || self.scoreboard.lost_below(config.duplicate_threshold, config.mss.0) > data.una
    }

    /// Computes `pipe` (RFC 6675 §4 `SetPipe`): the bytes that are not lost, plus the retransmitted bytes. SACKed bytes do not count in
    /// either sum.
    fn set_pipe(&mut self, config: &Config, data: Outstanding) {
        let mut lost_below = self.scoreboard.lost_below(config.duplicate_threshold, config.mss.0);
        if self.phase() == Phase::Timeout {
            lost_below = lost_below.max(self.course.point);
        }
        self.lost_below = lost_below.max(data.una);
        self.pipe = self.unsacked(self.lost_below, data.next) + self.unsacked(data.una, self.high_rxt);
    }

    fn unsacked(&self, start: u64, end: u64) -> u64 {
        end - start - self.scoreboard.sacked_between(start, end)
    }

    /// Returns the first retransmission of a recovery (RFC 6675 §5 steps 4.3 and 4.4).
    fn first_retransmission(&mut self, config: &Config, data: Outstanding) -> Option<Range> {
        let range = self.hole(data.next, config)?;
        self.high_rxt = range.end;
        self.rescue_rxt = range.end;
        self.set_pipe(config, data);
        Some(range)
    }

    /// Returns unsent data to send while no loss is being repaired.
    fn open(&mut self, config: &Config, data: Outstanding, allowance: Allowance) -> Option<Range> {
        let unsent = non_empty(Range { start: data.next, end: data.next + allowance.unsent })?;
        if unsent.end - data.una <= allowance.cwnd {
            return Some(unsent);
        }
        // RFC 6675 §5 step 3.3: selectively acknowledged data has left the network.
        let limited_transmit = config.limited_transmit && self.dup_acks > 0;
        if !limited_transmit || self.pipe + config.mss.0 > allowance.cwnd {
            return None;
        }
        self.limited += unsent.len();
        Some(unsent)
    }

    /// Returns the next segment (RFC 6675 §4 `NextSeg`, and step C.2 of §5).
    fn next_seg(&mut self, config: &Config, data: Outstanding, unsent: Range) -> Option<Range> {
        let highest = self.scoreboard.highest();
        // Rule 1: the first lost hole that was not retransmitted.
        if let Some(hole) = self.hole(highest, config)
            && hole.start < self.lost_below
        {
            self.high_rxt = hole.end;
            return Some(hole);
        }
        // Rule 2: new data.
        if let Some(unsent) = non_empty(unsent) {
            return Some(unsent);
        }
        // Rule 3: a hole that is not known to be lost.
        if let Some(hole) = self.hole(highest, config) {
            self.high_rxt = hole.end;
            return Some(hole);
        }
        // Rule 4: once per recovery, the last outstanding segment; HighRxt does not change.
        if data.una <= self.rescue_rxt {
            return None;
        }
        let hole = self.scoreboard.last_hole(data.una, data.next)?;
        self.rescue_rxt = self.course.point;
        Some(Range { start: hole.start.max(hole.end.saturating_sub(config.mss.0)), end: hole.end })
    }

    /// Returns the first hole below `limit` that was not retransmitted, cut to the length of a segment.
    fn hole(&self, limit: u64, config: &Config) -> Option<Range> {
        let hole = self.scoreboard.hole_from(self.high_rxt, limit)?;
        Some(Range { end: hole.end.min(hole.start + config.mss.0), ..hole })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{self, reno};
    use proptest::prelude::*;
    use shallows_core::Bytes;

    const MSS: u64 = 10;

    proptest! {
        #[test]
        fn pipe_is_what_the_rfc_counts_octet_by_octet(
            sacked in prop::collection::vec((1u64..200, 1u64..25), 0..12),
            high_rxt in 0u64..220,
            timed_out_below in prop::option::of(1u64..220),
        ) {
            let config = Config::new(Bytes(MSS), congestion::Config::Reno(reno::Config::default()));
            let data = Outstanding { una: 0, next: 230, cut_at: 0, cut_for: None };
            let mut recovery = Sack { high_rxt, ..Sack::default() };
            if let Some(recovery_point) = timed_out_below {
                recovery.course.phase = Phase::Timeout;
                recovery.course.point = recovery_point;
                recovery.high_rxt = high_rxt.min(recovery_point);
            }
            let mut octets = [false; 231];
            for (start, len) in sacked {
                recovery.scoreboard.insert(Range { start, end: start + len });
                octets[start as usize..(start + len) as usize].fill(true);
            }
            recovery.set_pipe(&config, data);
            // RFC 6675 §4 IsLost and SetPipe, literally.
            let is_lost = |octet: u64| {
                let above = &octets[octet as usize..];
                let blocks = above.windows(2).filter(|pair| !pair[0] && pair[1]).count();
                let bytes = above.iter().filter(|&&sacked| sacked).count() as u64;
                blocks >= 3 || bytes > 2 * MSS || timed_out_below.is_some_and(|below| octet < below)
            };
            let missing = (0..230).filter(|&octet| !octets[octet as usize]);
            let pipe: u64 = missing
                .map(|octet| u64::from(!is_lost(octet)) + u64::from(octet < recovery.high_rxt))
                .sum();
            prop_assert_eq!(recovery.pipe(), pipe);
        }
    }
}
