//! Loss recovery with selective acknowledgements as in ns-2.35's `Agent/TCP/Sack1` (`tcp-sack1.cc`).
//!
//! The agent counts in whole segments. It counts lost segments as in flight until a partial acknowledgement reveals the loss. After a
//! timeout it retransmits all outstanding data.

use super::interface::{Allowance, Arrival, Outcome, Outstanding, Phase, at_most_a_segment, non_empty};
use crate::config::Config;
use crate::scoreboard::{Range, Scoreboard};

/// Variables of `Sack1TcpAgent`, with their ns-2 names in brackets.
#[derive(Debug, Default)]
pub(crate) struct Sack1 {
    scoreboard: Scoreboard,
    /// Whether fast recovery is in progress (`fastrecov_`).
    fast: bool,
    /// Bytes in flight, counted in whole segments (`pipe_`); may fall below zero after unexpected acknowledgements.
    pipe: i64,
    dup_acks: u32,
    /// Whether the timer has fired and no new data was acknowledged since then (`timeout_`).
    timed_out: bool,
    /// End of the data that must be acknowledged before another fast recovery begins (`recover_`); zero after the end of a fast recovery.
    recover: u64,
    /// Sequence number of the next data to send while no hole needs filling (`t_seqno_`). A timeout moves it back.
    send_from: u64,
    /// Sequence number from which on holes have not been filled yet (`h_seqno_`).
    fill_from: u64,
    /// Whether the segment of fast retransmit is due; `pipe` does not count this segment.
    first_due: bool,
    /// Whether the sender waits for an acknowledgement after the fast retransmit, before it sends any other data.
    waits: bool,
    /// Whether data is missing or is being retransmitted. If not, `send_from` is at the first byte that was never sent.
    busy: bool,
}

impl Sack1 {
    /// Returns whether no data is missing and none is being repaired.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy
    }

    pub(super) fn phase(&self, data: Outstanding) -> Phase {
        match (self.busy, self.fast) {
            (false, _) => Phase::Open,
            (true, true) => Phase::Recovery,
            (true, false) if self.timed_out || self.send_from < data.next => Phase::Timeout,
            (true, false) => Phase::Open,
        }
    }

    /// Returns the estimated number of bytes in flight.
    pub(super) fn pipe(&self, data: Outstanding) -> u64 {
        if self.fast { self.pipe.max(0) as u64 } else { data.next - data.una }
    }

    /// Returns the number of selectively acknowledged outstanding bytes.
    pub(super) fn sacked(&self, data: Outstanding) -> u64 {
        self.scoreboard.sacked_between(data.una, data.next)
    }

    /// Processes an acknowledgement.
    pub(super) fn on_ack(&mut self, config: &Config, data: Outstanding, arrival: Arrival<'_>) -> Outcome {
        self.rouse(data);
        self.waits = false;
        let segment = config.mss.0 as i64;
        let mut begins = false;
        if self.fast {
            self.pipe -= segment;
            if data.una >= self.recover {
                self.recover = 0;
                self.fast = false;
                self.on_order(data);
            } else if arrival.acked > 0 {
                // The acknowledgement reveals a further lost segment, which is not in flight either.
                self.pipe -= segment;
                self.scoreboard.update(data.una, data.next, arrival.segment);
            } else if !self.timed_out {
                self.scoreboard.update(data.una, data.next, arrival.segment);
            }
        } else if arrival.acked > 0 {
            self.on_order(data);
        } else if !self.timed_out && self.scoreboard.update(data.una, data.next, arrival.segment) {
            self.dup_acks += 1;
            begins = self.dup_acks == config.duplicate_threshold && self.begin(config, data);
        }
        self.busy = self.fast
            || self.timed_out
            || self.dup_acks > 0
            || self.send_from != data.next
            || !self.scoreboard.is_empty();
        Outcome { begins, ..Outcome::default() }
    }

    /// Handles the retransmission timer. Returns whether to keep ssthresh: `true` if the last cut was for ECN.
    pub(super) fn on_timeout(&mut self, data: Outstanding) -> bool {
        self.rouse(data);
        self.busy = true;
        self.on_order(data);
        self.fast = false;
        self.first_due = false;
        self.waits = false;
        self.timed_out = true;
        self.recover = data.next;
        self.send_from = data.una;
        data.una < data.cut_at && data.cut_for_ecn()
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
            self.waits = true;
            let range = at_most_a_segment(data.una, data.next, config.mss);
            self.fill_from = range.end;
            return Some(range);
        }
        let hole = self.scoreboard.hole_from(self.fill_from.max(data.una), self.scoreboard.highest());
        let hole = hole.filter(|_| self.fast);
        let start = hole.map_or(self.send_from, |hole| hole.start);
        let range = if start < data.next {
            at_most_a_segment(start, data.next, config.mss)
        } else {
            non_empty(Range { start, end: start + allowance.unsent })?
        };
        if self.waits || !self.may_send(config, data, allowance, range) {
            return None;
        }
        if hole.is_some() {
            self.fill_from = range.end;
        }
        self.send_from = self.send_from.max(range.end);
        self.pipe += config.mss.0 as i64;
        Some(range)
    }

    /// Moves `send_from` to new data if all data is in order.
    fn rouse(&mut self, data: Outstanding) {
        if !self.busy {
            self.send_from = data.next;
        }
    }

    /// Handles new data acknowledged outside fast recovery, or the end of fast recovery.
    fn on_order(&mut self, data: Outstanding) {
        self.dup_acks = 0;
        self.timed_out = false;
        self.send_from = self.send_from.max(data.una);
        self.fill_from = 0;
        self.scoreboard.clear();
    }

    /// Begins fast recovery after enough duplicate acknowledgements, but at most once per window unless the last cut of cwnd was for ECN.
    /// Returns whether fast recovery begins (`dupack_action`).
    fn begin(&mut self, config: &Config, data: Outstanding) -> bool {
        let recover = if data.cut_for_ecn() { data.cut_at } else { self.recover };
        // `bugFix_`: no second fast retransmit in a window, unless the first cut was for ECN. `bugfix_ss_`: the very first
        // segment may be retransmitted.
        let begins = data.una > recover || data.una == 0 || data.cut_for_ecn();
        if begins {
            self.fast = true;
            self.recover = data.next;
            let outstanding = (data.next - data.una).div_ceil(config.mss.0) as i64;
            self.pipe = (outstanding - i64::from(config.duplicate_threshold)) * config.mss.0 as i64;
            self.first_due = true;
        }
        begins
    }

    fn may_send(&self, config: &Config, data: Outstanding, allowance: Allowance, range: Range) -> bool {
        if self.fast {
            let whole = allowance.cwnd - allowance.cwnd % config.mss.0;
            return range.start < data.una + config.max_window.0 && self.pipe < whole as i64;
        }
        // Duplicates stop transmissions; with limited transmit (`singledup_`) each allows one more segment.
        let limited = self.dup_acks > 0;
        let beyond = u64::from(self.dup_acks) * config.mss.0;
        (!limited || config.limited_transmit && self.dup_acks < config.duplicate_threshold)
            && range.end - data.una <= allowance.cwnd + beyond
    }
}
