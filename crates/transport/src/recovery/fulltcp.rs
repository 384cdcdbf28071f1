//! Loss recovery with selective acknowledgements as in ns-2.35's `Agent/TCP/FullTcp/Sack` (`tcp-full.cc`).
//!
//! The agent is older than RFC 6675. During fast recovery it sends less than the RFC allows, because it counts lost data as in flight until
//! a partial acknowledgement reveals the loss. After a cut for a loss or a timeout, it starts no further fast retransmit until data sent
//! after that cut is acknowledged. Until then, only the timer repairs a segment that is lost again.

use super::interface::{Allowance, Arrival, Outcome, Outstanding, Phase, at_most_a_segment, non_empty};
use crate::config::Config;
use crate::scoreboard::{Range, Scoreboard};

/// Variables of `FullTcpAgent` and `SackFullTcpAgent`, with their ns-2 names in brackets.
#[derive(Debug, Default)]
pub(crate) struct FullTcp {
    scoreboard: Scoreboard,
    /// Whether fast recovery is in progress (`fastrecov_`). Acknowledgements are then partial until all data sent before the last cut is
    /// acknowledged.
    fast: bool,
    /// Whether `pipe`, and not the window, limits transmissions (`pipectrl_`).
    by_pipe: bool,
    /// Estimated bytes in flight (`pipe_`); may fall below zero after unexpected acknowledgements.
    pipe: i64,
    dup_acks: u32,
    /// Sequence number of the next data to send while no hole needs filling (`t_seqno_`). A timeout moves it back.
    send_from: u64,
    /// Sequence number from which on holes have not been filled yet (`h_seqno_`).
    fill_from: u64,
    /// Whether the segment of fast retransmit is due; `pipe` does not count this segment.
    first_due: bool,
    /// Whether the timer has fired and a segment must be sent regardless of limits.
    forced: bool,
    /// Whether data is missing or is being retransmitted. If not, `send_from` and `fill_from` are at the first byte that was never sent.
    busy: bool,
}

impl FullTcp {
    /// Returns whether no data is missing and none is being repaired. After a loss, this is false until all data is acknowledged, because
    /// `fill_from` stays behind the next new data until then.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy
    }

    pub(super) fn phase(&self, data: Outstanding) -> Phase {
        match (self.busy, self.by_pipe) {
            (false, _) => Phase::Open,
            (true, true) => Phase::Recovery,
            (true, false) if self.send_from < data.next => Phase::Timeout,
            (true, false) => Phase::Open,
        }
    }

    /// Returns the estimated number of bytes in flight.
    pub(super) fn pipe(&self, data: Outstanding) -> u64 {
        if self.by_pipe { self.pipe.max(0) as u64 } else { data.next - data.una }
    }

    /// Returns the number of selectively acknowledged outstanding bytes.
    pub(super) fn sacked(&self, data: Outstanding) -> u64 {
        self.scoreboard.sacked_between(data.una, data.next)
    }

    /// Returns whether an acknowledgement of new data is partial, so that it does not grow cwnd (`open_cwnd_on_pack_` is false).
    pub(super) fn is_partial(&self, data: Outstanding) -> bool {
        self.fast && data.una < data.cut_at
    }

    /// Processes an acknowledgement.
    pub(super) fn on_ack(&mut self, config: &Config, data: Outstanding, arrival: Arrival<'_>) -> Outcome {
        self.rouse(data);
        let partial = self.is_partial(data);
        self.scoreboard.update(data.una, data.next, arrival.segment);
        let segment = config.mss.0 as i64;
        if self.fast {
            self.pipe -= segment;
        }
        let mut begins = false;
        if arrival.acked == 0 {
            begins = self.on_duplicate(config, data);
        } else {
            self.send_from = self.send_from.max(data.una);
            self.fill_from = self.fill_from.max(data.una);
            if partial {
                // The acknowledgement reveals a further lost segment, which is not in flight either.
                self.pipe -= segment;
            } else {
                self.fast = false;
                self.by_pipe = false;
                self.dup_acks = 0;
            }
        }
        self.busy = self.fast
            || self.dup_acks > 0
            || self.send_from != data.next
            || self.fill_from != data.next
            || !self.scoreboard.is_empty();
        Outcome { begins, ..Outcome::default() }
    }

    /// Handles the retransmission timer. Returns whether to keep ssthresh: `true` if the last cut was for ECN.
    pub(super) fn on_timeout(&mut self, data: Outstanding) -> bool {
        self.rouse(data);
        self.busy = true;
        self.scoreboard.clear();
        self.fast = false;
        self.first_due = false;
        self.dup_acks = 0;
        self.send_from = data.una;
        self.forced = true;
        data.cut_for_ecn()
    }

    /// Returns the bytes to send next, if any may be sent, and counts them as sent.
    pub(super) fn next_segment(
        &mut self,
        config: &Config,
        data: Outstanding,
        allowance: Allowance,
    ) -> Option<Range> {
        if self.first_due {
            self.first_due = false;
            let range = at_most_a_segment(data.una, data.next, config.mss);
            self.fill_from = range.end;
            return Some(range);
        }
        let start = self.next_start(data);
        let range = if start < data.next {
            at_most_a_segment(start, data.next, config.mss)
        } else {
            non_empty(Range { start, end: start + allowance.unsent })?
        };
        if !self.forced && !self.may_send(config, data, allowance, range) {
            return None;
        }
        self.forced = false;
        if start == self.fill_from {
            self.fill_from = range.end;
        }
        if start == self.send_from {
            self.send_from = range.end;
        }
        self.pipe += range.len() as i64;
        Some(range)
    }

    /// Moves `send_from` and `fill_from` to the next new data if all data is in order.
    fn rouse(&mut self, data: Outstanding) {
        if !self.busy {
            self.send_from = data.next;
            self.fill_from = data.next;
        }
    }

    /// Handles a duplicate acknowledgement. Returns whether fast recovery begins (`dupack_action`).
    fn on_duplicate(&mut self, config: &Config, data: Outstanding) -> bool {
        if data.una == data.next {
            self.dup_acks = 0;
            return false;
        }
        self.dup_acks += 1;
        if self.dup_acks != config.duplicate_threshold {
            return false;
        }
        self.fast = true;
        self.pipe = (data.next - data.una - self.scoreboard.total()) as i64;
        // `bugFix_`: no second fast retransmit in a window, unless the first cut was for ECN.
        let recovered = data.una > data.cut_at || data.cut_for.is_none();
        if !recovered && !data.cut_for_ecn() {
            return false;
        }
        self.by_pipe = true;
        self.first_due = true;
        true
    }

    /// Returns the start of the next data to send (`nxt_tseq`). While data sent before the last cut is unacknowledged, this is the first
    /// hole below selectively acknowledged data. If there is no hole, or all that data is acknowledged, this is `send_from`, even if the
    /// receiver has the data at `send_from`.
    fn next_start(&mut self, data: Outstanding) -> u64 {
        if data.una < data.cut_at
            && let Some(hole) = self.scoreboard.hole_from(self.fill_from, self.scoreboard.highest())
        {
            self.fill_from = hole.start;
            return hole.start;
        }
        self.send_from
    }

    /// Returns whether a segment may be sent (`send_allowed`).
    fn may_send(&self, config: &Config, data: Outstanding, allowance: Allowance, range: Range) -> bool {
        if !self.by_pipe {
            return range.end - data.una <= allowance.cwnd;
        }
        let whole = allowance.cwnd - allowance.cwnd % config.mss.0;
        range.start < data.una + config.max_window.0 && self.pipe < whole as i64
    }
}
