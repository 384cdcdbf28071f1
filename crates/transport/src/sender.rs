//! The sending side of a connection: what to send when, and what acknowledgements mean.
//!
//! In order, with nothing missing, an acknowledgement costs a few additions; the rest is behind `disordered`
//! and in [`crate::recovery`]. Only the last segment of what was written may be short; nothing waits for more
//! data (no Nagle).

use shallows_core::packet::{Ecn, Flags, Segment};
use shallows_core::{Bytes, Duration, Instant};

use crate::config::{Config, RestartAfterIdle};
use crate::congestion::{Ack, Algorithm, Congestion, CongestionControl, EcnMode, Window};
use crate::recovery::{Allowance, Outstanding, Recovery};
use crate::rtt::RttEstimator;

/// A segment to be sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The segment.
    pub segment: Segment,
    /// Whether its data was sent before.
    pub retransmission: bool,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// What has happened to a sender so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u32,
    /// Segments sent that held data sent before.
    pub retransmits: u32,
    /// Entries into fast recovery.
    pub fast_recoveries: u32,
    /// Windows cut because of ECN.
    pub ecn_reductions: u32,
}

/// The sending side of a connection.
#[derive(Debug)]
pub struct Sender {
    una: u64,
    next: u64,
    written: u64,
    /// The receiver takes bytes up to here.
    limit: u64,
    /// When the retransmission timer fires; `Instant::MAX` while it is off.
    deadline: Instant,
    last_sent: Instant,
    /// The segment that is being timed ends here; zero for none.
    timed_end: u64,
    timed_at: Instant,
    rtt: RttEstimator,
    congestion: Algorithm,
    /// The least acknowledgement that may reduce the window because of ECN.
    reduce_from: u64,
    recovery: Option<Box<Recovery>>,
    stats: Stats,
    /// Something is missing, or being repaired: `recovery` is in charge.
    disordered: bool,
    /// The window was reduced and the receiver does not know yet.
    cwr_due: bool,
    opening: Opening,
}

/// How far the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opening {
    /// A SYN is to be sent.
    Due,
    /// It was sent.
    Sent,
    /// It was answered, or none was needed.
    Done,
}

impl Sender {
    /// A connection on which nothing was written.
    pub fn new(config: &Config) -> Self {
        debug_assert!((1..=u64::from(u16::MAX)).contains(&config.mss.0));
        debug_assert!(config.mss <= config.initial_window && config.initial_window <= config.max_window);
        Self {
            una: 0,
            next: 0,
            written: 0,
            limit: config.receive_window.0,
            deadline: Instant::MAX,
            last_sent: Instant::ZERO,
            timed_end: 0,
            timed_at: Instant::ZERO,
            rtt: RttEstimator::new(&config.rto),
            congestion: config.congestion.build(Window::new(config)),
            reduce_from: 0,
            recovery: None,
            stats: Stats::default(),
            disordered: false,
            cwr_due: false,
            opening: if config.handshake { Opening::Due } else { Opening::Done },
        }
    }

    /// The application appends `bytes`. Afterwards [`Self::poll_transmit`] may have something to send.
    pub fn write(&mut self, config: &Config, now: Instant, bytes: u64) {
        // RFC 5681 §4.1: cwnd says nothing about a network that was not used for an RTO.
        let idle = if self.is_idle() && self.next > 0 {
            now.saturating_since(self.last_sent)
        } else {
            Duration::ZERO
        };
        let restart = match config.restart_after_idle {
            RestartAfterIdle::Off => false,
            RestartAfterIdle::Reduce => idle > self.rtt.rto() && self.cwnd() > config.initial_window,
            RestartAfterIdle::Reset => idle > self.rtt.unbounded(&config.rto),
        };
        if restart {
            self.congestion.on_restart(config.initial_window);
        }
        self.written += bytes;
    }

    /// The next segment to be sent now; to be called until it returns `None`, after every other call.
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        if self.opening != Opening::Done {
            return self.poll_opening(config, now);
        }
        if self.disordered {
            return self.poll_in_disorder(config, now);
        }
        let len = self.unsent(config);
        if len == 0 || self.next + len - self.una > self.cwnd().0 {
            return None;
        }
        Some(self.transmit(config, now, self.next, len))
    }

    /// An acknowledgement arrived.
    #[inline]
    pub fn on_ack(&mut self, config: &Config, now: Instant, segment: &Segment) {
        if self.opening != Opening::Done {
            return self.on_syn_ack(config, now, segment);
        }
        let number = segment.ack;
        // RFC 9293 §3.10.7.4: an old acknowledgement, or one of what was never sent.
        if number < self.una || number > self.next {
            return;
        }
        let acked = number - self.una;
        self.una = number;
        self.limit = self.limit.max(number + u64::from(segment.window));
        if acked > 0 {
            self.sample_rtt(config, now, segment);
        }
        let mut may_grow = acked > 0;
        let mut lost = false;
        if self.disordered || segment.sack_count > 0 {
            may_grow &= !self.in_fast_recovery();
            lost = self.on_ack_in_disorder(config, segment, acked);
        }
        let ece = segment.flags.contains(Flags::ECE) && config.congestion.ecn_mode() != EcnMode::Off;
        // RFC 3168 §6.1.2: once per window, and not again for a window that lost a packet.
        let reduce = ece && number >= self.reduce_from;
        may_grow &= !reduce && !lost;
        self.congestion.on_ack(&Ack { number, acked: Bytes(acked), next: self.next, ece, may_grow });
        if lost {
            self.on_loss(config);
        } else if reduce {
            self.stats.ecn_reductions += 1;
            self.reduce(config, Congestion::Ecn, Bytes(self.next - self.una));
        }
        if acked > 0 {
            // RFC 6298 §5.2 and §5.3.
            self.deadline = if self.una == self.next { Instant::MAX } else { now + self.rtt.rto() };
        }
    }

    /// The deadline has come. Does nothing if it was moved meanwhile.
    pub fn on_timer(&mut self, config: &Config, now: Instant) {
        if now < self.deadline {
            return;
        }
        self.stats.timeouts += 1;
        if self.opening != Opening::Done {
            self.opening = Opening::Due;
            self.rtt.back_off(&config.rto);
            self.deadline = now + self.rtt.rto();
            return;
        }
        let data = self.outstanding();
        let recovery = self.recovery.get_or_insert_default();
        // RFC 5681 Eq. 4. While a hole stands, new data goes on beyond it (RFC 6675 §5 step C): what has arrived there
        // says nothing about what the network holds, however long it is not covered by an acknowledgement number.
        let flight_size = Bytes(data.next - data.una - recovery.sacked(data));
        let repeated = recovery.on_timeout(config, data);
        self.disordered = true;
        let congestion = if repeated { Congestion::RepeatedTimeout } else { Congestion::Timeout };
        self.reduce(config, congestion, flight_size);
        // RFC 6298 §5.5 and §5.6.
        self.rtt.back_off(&config.rto);
        self.deadline = now + self.rtt.rto();
    }

    /// When [`Self::on_timer`] is to be called; it moves with every call, mostly to later.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        (self.deadline != Instant::MAX).then_some(self.deadline)
    }

    /// Bytes that the receiver has acknowledged, from the first on (SND.UNA).
    #[inline]
    pub fn acked(&self) -> u64 {
        self.una
    }

    /// Bytes sent at least once (SND.NXT).
    pub fn sent(&self) -> u64 {
        self.next
    }

    /// Bytes that the application has written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Whether everything written has been acknowledged.
    pub fn is_idle(&self) -> bool {
        self.una == self.written
    }

    /// What has happened so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// The congestion window.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        self.congestion.window().cwnd()
    }

    /// The slow start threshold.
    pub fn ssthresh(&self) -> Bytes {
        self.congestion.window().ssthresh()
    }

    /// DCTCP's estimate of the fraction of marked bytes, where there is one.
    pub fn alpha(&self) -> Option<f64> {
        self.congestion.alpha()
    }

    /// The smoothed round-trip time, once there was a sample.
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// The retransmission timeout, backed off if the timer has fired.
    pub fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Estimate of the bytes in the network (RFC 6675 `pipe`).
    pub fn pipe(&self) -> Bytes {
        match &self.recovery {
            Some(recovery) if self.disordered => Bytes(recovery.pipe()),
            _ => Bytes(self.next - self.una),
        }
    }

    /// Whether a loss is being repaired that duplicate acknowledgements revealed.
    pub fn in_fast_recovery(&self) -> bool {
        self.disordered && self.recovery.as_ref().is_some_and(|recovery| recovery.is_fast())
    }

    fn outstanding(&self) -> Outstanding {
        Outstanding { una: self.una, next: self.next }
    }

    /// Length of the next segment of unsent data; zero if there is none or the receiver has no room for it.
    #[inline]
    fn unsent(&self, config: &Config) -> u64 {
        let len = (self.written - self.next).min(config.mss.0);
        // With nothing outstanding a segment goes as a probe, instead of the persist timer of RFC 9293 §3.8.6.1.
        if self.next + len > self.limit && self.next > self.una { 0 } else { len }
    }

    #[cold]
    fn poll_opening(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        if self.opening != Opening::Due || self.written == 0 {
            return None;
        }
        self.opening = Opening::Sent;
        if self.deadline == Instant::MAX {
            self.deadline = now + self.rtt.rto();
        }
        self.timed_at = now;
        self.stats.segments_sent += 1;
        let segment = Segment { timestamp: now, flags: Flags::SYN, ..Segment::default() };
        // RFC 3168 §6.1.1: no ECT on a SYN; RFC 8257 §3.6 and the deployments of DCTCP: ECT.
        let retransmission = self.stats.timeouts > 0;
        Some(Transmit { segment, retransmission, ecn: config.ack_ecn() })
    }

    #[cold]
    fn on_syn_ack(&mut self, config: &Config, now: Instant, segment: &Segment) {
        if self.opening != Opening::Sent || !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.opening = Opening::Done;
        self.deadline = Instant::MAX;
        self.limit = self.limit.max(u64::from(segment.window));
        if self.stats.timeouts > 0 {
            // RFC 5681 §3.1: one segment after a lost SYN; RFC 6298 §5.7: and a careful timer.
            self.congestion.on_restart(config.mss);
            self.rtt.fall_back(&config.rto);
        } else {
            self.rtt.on_sample(&config.rto, now.saturating_since(self.timed_at));
        }
    }

    #[cold]
    fn poll_in_disorder(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        let allowance = Allowance { cwnd: self.cwnd().0, unsent: self.unsent(config) };
        let data = self.outstanding();
        let range = self.recovery.as_mut()?.next_segment(config, data, allowance)?;
        Some(self.transmit(config, now, range.start, range.len()))
    }

    #[inline]
    fn transmit(&mut self, config: &Config, now: Instant, seq: u64, len: u64) -> Transmit {
        let retransmission = seq < self.next;
        let mut flags = Flags::ACK;
        if retransmission {
            self.stats.retransmits += 1;
            // RFC 6298 §3, Karn: nothing that may have been sent twice is timed.
            self.timed_end = 0;
        } else {
            self.next = seq + len;
            if self.cwr_due {
                // RFC 3168 §6.1.2: on the first new data after the reduction.
                self.cwr_due = false;
                flags = flags.with(Flags::CWR);
            }
            if !config.timestamps && self.timed_end == 0 {
                self.timed_end = self.next;
                self.timed_at = now;
            }
        }
        if self.deadline == Instant::MAX {
            // RFC 6298 §5.1.
            self.deadline = now + self.rtt.rto();
        }
        self.last_sent = now;
        self.stats.segments_sent += 1;
        let segment = Segment { seq, timestamp: now, len: len as u16, flags, ..Segment::default() };
        Transmit { segment, retransmission, ecn: config.data_ecn(retransmission) }
    }

    #[inline]
    fn sample_rtt(&mut self, config: &Config, now: Instant, segment: &Segment) {
        if config.timestamps {
            // RFC 7323 §4.1: from acknowledgements of new data only.
            self.rtt.on_sample(&config.rto, now.saturating_since(segment.timestamp));
        } else if self.timed_end != 0 && segment.ack >= self.timed_end {
            self.timed_end = 0;
            self.rtt.on_sample(&config.rto, now.saturating_since(self.timed_at));
        }
    }

    #[cold]
    fn on_ack_in_disorder(&mut self, config: &Config, segment: &Segment, acked: u64) -> bool {
        let data = self.outstanding();
        let recovery = self.recovery.get_or_insert_default();
        let begins = recovery.on_ack(config, data, segment, acked);
        self.disordered = !recovery.is_idle();
        begins
    }

    #[cold]
    fn on_loss(&mut self, config: &Config) {
        self.stats.fast_recoveries += 1;
        // RFC 3168 §6.1.2: a window is reduced once, be it for ECN or for losses. For DCTCP a loss weighs what
        // it weighs to conventional TCP, more than the marks before it (RFC 8257 §3.5).
        if config.congestion.ecn_mode() == EcnMode::Classic && self.una < self.reduce_from {
            return;
        }
        // RFC 5681 §3.2 step 2.
        let limited = self.recovery.as_ref().map_or(0, |recovery| recovery.limited());
        self.reduce(config, Congestion::Loss, Bytes(self.next - self.una - limited));
    }

    fn reduce(&mut self, config: &Config, congestion: Congestion, flight_size: Bytes) {
        self.congestion.on_congestion(congestion, flight_size);
        // An acknowledgement that echoes what was sent after the reduction is beyond what is sent now.
        self.reduce_from = self.next + 1;
        self.cwr_due = config.congestion.ecn_mode() != EcnMode::Off;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_fits_four_cache_lines() {
        assert!(size_of::<Sender>() <= 256, "{} bytes", size_of::<Sender>());
    }
}
