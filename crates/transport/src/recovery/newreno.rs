//! Fast retransmit and fast recovery without selective acknowledgements: Reno (RFC 5681 §3.2) and NewReno (RFC 6582).
//!
//! The inflated window is cwnd plus `inflation`; cwnd is stored in the congestion control. The heuristics of RFC
//! 6582 §4 are not included.

use super::interface::{
    Allowance, Arrival, Method, Outcome, Outstanding, Phase, at_most_a_segment, non_empty,
};
use crate::config::{Config, FullAck};
use crate::scoreboard::Range;

/// State of Reno or NewReno recovery of one connection.
#[derive(Debug, Default)]
pub(crate) struct NewReno {
    phase: Phase,
    dup_acks: u32,
    /// End of the data sent when the last loss was detected; `None` before any loss.
    recover: Option<u64>,
    /// Whether the last loss was detected by a timeout.
    timed_out: bool,
    /// SND.UNA at the last timeout.
    timed_out_at: Option<u64>,
    /// Whether the first unacknowledged segment must be sent, regardless of the window.
    due: bool,
    /// Whether a partial acknowledgement has restarted the timer.
    timer_restarted: bool,
    /// Difference between the inflated window and cwnd; negative after partial acknowledgements.
    inflation: i64,
    /// New data sent beyond cwnd by limited transmit.
    limited: u64,
    /// End of the data retransmitted after a timeout.
    high_rxt: u64,
}

impl NewReno {
    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Open && self.dup_acks == 0
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase
    }

    pub(super) fn limited(&self) -> u64 {
        self.limited
    }

    pub(super) fn inflation(&self) -> u64 {
        self.inflation.max(0).unsigned_abs()
    }

    pub(super) fn inflated(&self, config: &Config, cwnd: u64) -> u64 {
        cwnd.saturating_add_signed(self.inflation).max(config.mss.0)
    }

    pub(super) fn pipe(&self, data: Outstanding) -> u64 {
        match self.phase {
            Phase::Timeout => self.high_rxt - data.una + (data.next - self.recover_point()),
            Phase::Open | Phase::Recovery => data.next - data.una,
        }
    }

    pub(super) fn on_ack(&mut self, config: &Config, data: Outstanding, arrival: Arrival<'_>) -> Outcome {
        if arrival.acked > 0 {
            self.on_new(config, data, arrival.acked)
        } else if arrival.duplicate {
            self.on_duplicate(config, data)
        } else {
            Outcome::default()
        }
    }

    pub(super) fn on_timeout(&mut self, data: Outstanding) -> bool {
        let repeated = self.timed_out_at == Some(data.una);
        // RFC 6582 §3.2 step 4: duplicates of retransmitted data are not a sign of a loss.
        *self = Self {
            phase: Phase::Timeout,
            recover: Some(data.next),
            timed_out: true,
            timed_out_at: Some(data.una),
            high_rxt: data.una,
            ..Self::default()
        };
        repeated
    }

    pub(super) fn next_segment(
        &mut self,
        config: &Config,
        data: Outstanding,
        allowance: Allowance,
    ) -> Option<Range> {
        if self.due {
            self.due = false;
            return non_empty(at_most_a_segment(data.una, data.next, config.mss));
        }
        let unsent = Range { start: data.next, end: data.next + allowance.unsent };
        match self.phase {
            Phase::Open => self.open(config, data, unsent, allowance.cwnd),
            // RFC 5681 §3.2 step 5: new data, as far as the inflated window allows.
            Phase::Recovery => non_empty(unsent)
                .filter(|unsent| unsent.end - data.una <= self.inflated(config, allowance.cwnd)),
            Phase::Timeout => {
                let again = non_empty(at_most_a_segment(self.high_rxt, self.recover_point(), config.mss));
                let range = again.or_else(|| non_empty(unsent))?;
                // With `limited_transmit_repairs`, limited transmit also sends old data (ns-2).
                let extra = if config.limited_transmit_repairs { self.limited_segments(config) } else { 0 };
                if self.pipe(data) + range.len() > allowance.cwnd + extra {
                    return None;
                }
                self.high_rxt = self.high_rxt.max(range.end.min(self.recover_point()));
                Some(range)
            }
        }
    }

    /// Handles acknowledged new data.
    fn on_new(&mut self, config: &Config, data: Outstanding, acked: u64) -> Outcome {
        self.dup_acks = 0;
        self.limited = 0;
        self.high_rxt = self.high_rxt.max(data.una);
        match self.phase {
            Phase::Open => Outcome::default(),
            Phase::Timeout => {
                if data.una >= self.recover_point() {
                    self.phase = Phase::Open;
                }
                Outcome::default()
            }
            Phase::Recovery => {
                if data.una >= self.recover_point() {
                    self.close();
                    // RFC 6582 §3.2 step 3, full acknowledgement, first choice: no burst of data that the inflated
                    // window has left unsent. With the second choice, as in Reno, cwnd is ssthresh.
                    let flight_size = data.next - data.una;
                    let limited = config.recovery == Method::NewReno && config.full_ack == FullAck::Limited;
                    let burst_limit = limited.then(|| flight_size.max(config.mss.0) + config.mss.0);
                    return Outcome { burst_limit, ..Outcome::default() };
                }
                if config.recovery == Method::Reno {
                    // RFC 5681 §3.2 step 6.
                    self.close();
                    return Outcome::default();
                }
                self.on_partial(config, acked)
            }
        }
    }

    /// Handles a partial acknowledgement (RFC 6582 §3.2 step 3).
    fn on_partial(&mut self, config: &Config, acked: u64) -> Outcome {
        self.due = true;
        // The value is below 2⁶³, as all sequence numbers are.
        self.inflation -= acked as i64;
        if acked >= config.mss.0 {
            self.inflation += config.mss.0 as i64;
        }
        // Only the first partial acknowledgement restarts the timer, so that many losses end in a timeout.
        let keeps_timer = std::mem::replace(&mut self.timer_restarted, true);
        Outcome { keeps_timer, ..Outcome::default() }
    }

    fn on_duplicate(&mut self, config: &Config, data: Outstanding) -> Outcome {
        match self.phase {
            Phase::Timeout => {
                self.dup_acks += 1;
                return Outcome::default();
            }
            Phase::Recovery => {
                // RFC 5681 §3.2 step 4: a segment has left the network.
                self.inflation += config.mss.0 as i64;
                return Outcome::default();
            }
            Phase::Open => self.dup_acks += 1,
        }
        // RFC 5681 §3.2 step 2, RFC 6582 §3.2 step 2.
        let begins = self.dup_acks >= config.duplicate_threshold && self.may_begin(config, data);
        if begins {
            self.phase = Phase::Recovery;
            self.recover = Some(data.next);
            self.timed_out = false;
            self.timer_restarted = false;
            self.due = true;
            // RFC 5681 §3.2 step 3: each duplicate means that a segment has left the network.
            self.inflation = i64::from(self.dup_acks) * config.mss.0 as i64;
        }
        Outcome { begins, ..Outcome::default() }
    }

    /// Returns whether the acknowledgement covers more than `recover` (RFC 6582 §3.2 step 2). Always true before the first loss, because
    /// the RFC's initial value would forbid the retransmission of a connection's first segment. Reno checks this only after a timeout, as
    /// ns-2 does.
    fn may_begin(&self, config: &Config, data: Outstanding) -> bool {
        let guarded = config.recovery == Method::NewReno || self.timed_out;
        !guarded || self.recover.is_none_or(|recover| data.una > recover)
    }

    fn close(&mut self) {
        self.phase = Phase::Open;
        self.inflation = 0;
        self.due = false;
    }

    /// Returns new data to send while no loss is being repaired.
    fn open(&mut self, config: &Config, data: Outstanding, unsent: Range, cwnd: u64) -> Option<Range> {
        let unsent = non_empty(unsent)?;
        let flight_size = unsent.end - data.una;
        if flight_size <= cwnd {
            return Some(unsent);
        }
        // RFC 3042 §2: one segment for each duplicate before a loss is detected, and no more than that beyond cwnd.
        if !config.limited_transmit || flight_size > cwnd + self.limited_segments(config) {
            return None;
        }
        self.limited += unsent.len();
        Some(unsent)
    }

    /// Returns the bytes beyond cwnd that limited transmit allows: a segment for each duplicate, while duplicates are too few to signal a
    /// loss.
    fn limited_segments(&self, config: &Config) -> u64 {
        u64::from(self.dup_acks.min(config.duplicate_threshold - 1)) * config.mss.0
    }

    fn recover_point(&self) -> u64 {
        self.recover.expect("set when a loss is found")
    }
}
