//! The sending side of a connection: segments to send, and the processing of acknowledgements.
//!
//! While no data is missing, an acknowledgement costs a few additions. All other cases are behind the flag `disordered` and in
//! [`crate::recovery`]. Only the last segment of the written data may be short, and no segment waits for more data (no Nagle).

mod cutting;
pub(crate) mod interface;
mod offering;
mod opening;
mod recovering;
mod reducing;
mod reduction;
mod reporting;

use interface::{ConnectionState, Fin, Growth};
pub use interface::{Phase, Stats, Transmit};
use reduction::Reduction;
use shallows_core::packet::{AckSegment, DataSegment, Ecn, Flags};
use shallows_core::{Bytes, Duration, Instant};

use crate::config::{AppLimited, Config, EctPolicy, RestartAfterIdle};
use crate::congestion::{Ack, Algorithm, Congestion, CongestionControl, EcnMode, Window};
use crate::recovery::dialect::BackOffEnds;
use crate::recovery::{Allowance, Arrival, Outstanding, Recovery};
use crate::rtt::RttEstimator;

const _: () = assert!(size_of::<Sender>() <= 256, "four cache lines");

/// The sending side of a connection.
#[derive(Debug)]
pub struct Sender {
    una: u64,
    next: u64,
    written: u64,
    /// End of the bytes that the receiver's window allows the sender to send.
    limit: u64,
    /// Time at which the retransmission timer fires; `Instant::MAX` while it is off.
    deadline: Instant,
    last_sent: Instant,
    /// TS.Recent: timestamp that data echoes (RFC 7323 §4.3); zero before the first acknowledgement.
    recent: Instant,
    /// End of the segment being timed; zero if no segment is timed.
    timed_end: u64,
    timed_at: Instant,
    rtt: RttEstimator,
    window: Window,
    congestion: Algorithm,
    /// Smallest acknowledgement number that may reduce the window because of ECN.
    reduce_from: u64,
    /// Cause of the last reduction of cwnd.
    last_cut: Option<Congestion>,
    recovery: Option<Box<Recovery>>,
    /// Gradual reduction of cwnd in [`ConnectionState::Reducing`].
    reduction: Option<Box<Reduction>>,
    stats: Stats,
    /// Whether `recovery` handles acknowledgements: data is missing or being repaired, or segments are timed.
    disordered: bool,
    /// Whether the next new data must carry CWR, to notify the receiver of a reduction.
    cwr_due: bool,
    state: ConnectionState,
    /// ECN mode that both sides have negotiated.
    ecn: EcnMode,
    fin: Fin,
    /// Window in the last acknowledgement.
    advertised: u32,
    /// Whether the host, and not cwnd, holds the connection back.
    held: bool,
}

impl Sender {
    /// Creates a connection without written data.
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
            recent: Instant::ZERO,
            timed_end: 0,
            timed_at: Instant::ZERO,
            rtt: RttEstimator::new(&config.rto),
            window: Window::new(config.window()),
            congestion: config.congestion.build(),
            reduce_from: 0,
            last_cut: None,
            recovery: config.recovery.keeps_times().then(|| Box::new(Recovery::new(config))),
            reduction: None,
            stats: Stats::default(),
            disordered: config.recovery.keeps_times(),
            cwr_due: false,
            state: if config.handshake { ConnectionState::SynDue } else { ConnectionState::Open },
            ecn: if config.handshake { EcnMode::Off } else { config.congestion.ecn_mode() },
            fin: Fin::No,
            advertised: config.receive_window.0 as u32,
            held: false,
        }
    }

    /// Appends `bytes` that the application writes. [`Self::poll_transmit`] may then return a segment.
    pub fn write(&mut self, config: &Config, now: Instant, bytes: u64) {
        assert!(self.fin == Fin::No, "nothing is written after the end");
        // RFC 5681 §4.1: cwnd carries no information about a network that was unused for an RTO.
        let idle = if self.is_idle() && self.next > 0 {
            now.saturating_since(self.last_sent)
        } else {
            Duration::ZERO
        };
        if idle > self.rtt.rto() {
            self.end_reduction();
        }
        let restart = match config.restart_after_idle {
            RestartAfterIdle::Off => false,
            RestartAfterIdle::Reduce => idle > self.rtt.rto() && self.cwnd() > config.initial_window,
            RestartAfterIdle::Reset => idle > self.rtt.unbounded(&config.rto),
        };
        if idle > Duration::ZERO {
            self.congestion.on_idle(idle);
        }
        if restart {
            self.congestion.on_restart(&mut self.window, config.initial_window);
        }
        self.written += bytes;
    }

    /// Closes the connection: the application writes no more data. If `config.fin` is set, the last segment carries a FIN,
    /// or a separate FIN follows if that segment has left. The FIN counts as a byte in every number (RFC 9293 §3.4).
    pub fn close(&mut self, config: &Config) {
        if !config.fin || self.fin != Fin::No {
            return;
        }
        self.fin = Fin::Due;
        if self.next == self.written {
            self.count_fin();
        }
    }

    /// Returns the next segment to send now. After each call of another method, call this method until it returns `None`.
    #[inline]
    pub fn poll_transmit(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        if self.disordered || self.state != ConnectionState::Open {
            // The copy lets the compiler keep the result of the other branch in registers.
            let Transmit { segment, retransmission, ecn } = self.poll_unusual(config, now)?;
            return Some(Transmit { segment, retransmission, ecn });
        }
        self.poll_in_order(config, now)
    }

    #[inline]
    fn poll_in_order(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        let len = (self.written - self.next).min(config.mss.0);
        let end = self.next + len;
        if len == 0 || end - self.una > self.cwnd().0 {
            return None;
        }
        if end > self.limit {
            // A copy for the same reason as in `poll_transmit`.
            let Transmit { segment, retransmission, ecn } = self.poll_closed(config, now, len)?;
            return Some(Transmit { segment, retransmission, ecn });
        }
        Some(self.transmit(config, now, self.next, len))
    }

    /// Sets whether the host holds the connection back, by a rule such as [`SmallQueue`](crate::SmallQueue). This matters because a window
    /// that does not limit the sender does not grow.
    pub fn hold(&mut self, config: &Config, held: bool) {
        let could_send = || {
            let len = self.unsent(config);
            len > 0 && self.next + len - self.una <= self.cwnd().0
        };
        self.held = held && (self.repairs() || could_send());
    }

    /// Returns whether a segment could be sent now if the host allowed it.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Handles an acknowledgement.
    #[inline(always)]
    pub fn on_ack(&mut self, config: &Config, now: Instant, segment: &AckSegment) {
        if self.state == ConnectionState::Open {
            self.take_ack(config, now, segment, Growth::Allowed);
        } else {
            self.on_ack_unusual(config, now, segment);
        }
    }

    /// Handles a data segment of the other direction. The acknowledgement in the segment is processed if it covers new data, and never
    /// counts as a duplicate (RFC 5681 §2).
    pub fn on_carried(&mut self, config: &Config, now: Instant, data: &DataSegment) {
        if let Some(ack) = data.carried(self.una, self.advertised) {
            self.on_ack(config, now, &ack);
        }
    }

    /// Handles an acknowledgement as [`Self::take_ack`] does. Not inlined, because calls are rare.
    #[inline(never)]
    fn take_ack_rarely(&mut self, config: &Config, now: Instant, segment: &AckSegment, allowed: Growth) {
        self.take_ack(config, now, segment, allowed);
    }

    #[inline(always)]
    fn take_ack(&mut self, config: &Config, now: Instant, segment: &AckSegment, allowed: Growth) {
        let number = segment.ack;
        // RFC 9293 §3.10.7.4: an old acknowledgement, or one for data that was never sent.
        if number < self.una || number > self.next {
            return;
        }
        let acked = number - self.una;
        self.una = number;
        self.recent = segment.tsval;
        self.limit = self.limit.max(number + u64::from(segment.window));
        let mut rtt = Duration::MAX;
        if acked > 0 {
            rtt = self.sample_rtt(config, now, segment);
        }
        let mut growth = acked;
        let mut lost = false;
        let mut keeps_timer = false;
        if self.disordered || segment.sack_count > 0 || acked == 0 {
            (lost, keeps_timer) = self.on_ack_in_disorder(config, now, segment, &mut growth);
            rtt = rtt.min(self.measured());
        }
        self.advertised = segment.window;
        if acked > 0 && !keeps_timer {
            // RFC 6298 §5.2 and §5.3.
            self.deadline = if self.una == self.next { Instant::MAX } else { now + self.rtt.rto() };
        }
        let ece = segment.flags.contains(Flags::ECE) && self.ecn != EcnMode::Off;
        // RFC 3168 §6.1.2: once per window, and not again for a window that lost a packet.
        let reduce = ece && self.heeds_ece(config, number, acked);
        if reduce
            || lost
            || allowed == Growth::Frozen
            || (self.is_unused(config, acked) && !self.may_grow_unused(acked))
        {
            growth = 0;
        }
        let ack = Ack {
            number,
            acked: Bytes(acked),
            next: self.next,
            ece,
            flags: segment.flags,
            growth: Bytes(growth),
            now,
            srtt: self.rtt.raw_srtt(),
            rtt,
        };
        self.congestion.on_ack(&mut self.window, &ack);
        if lost {
            self.on_loss(config, now);
        } else if reduce {
            self.on_ece(config, now, acked);
        }
    }

    /// Handles an expired deadline. Does nothing if the deadline has been moved.
    pub fn on_timer(&mut self, config: &Config, now: Instant) {
        if self.congestion.deadline().is_some_and(|deadline| deadline <= now) {
            self.congestion.on_timer(&mut self.window, now);
        }
        if now < self.deadline {
            return;
        }
        if self.state == ConnectionState::Held {
            self.state = ConnectionState::Open;
            if self.una == self.next {
                // No data was lost; the timer only delayed new data.
                self.deadline = Instant::MAX;
                return;
            }
        } else if self.disordered && self.on_timer_of_recovery(config, now) {
            return;
        }
        self.stats.timeouts += 1;
        self.end_reduction();
        if self.state != ConnectionState::Open {
            return self.on_syn_timeout(config, now);
        }
        let data = self.outstanding();
        let recovery = self.recovery.get_or_insert_with(|| Box::new(Recovery::new(config)));
        let flight_size = Bytes(recovery.flight_size(data));
        let repeated = recovery.on_timeout(config, data, now);
        self.disordered = true;
        self.timed_end = 0;
        self.remember_window();
        let congestion = if repeated { Congestion::RepeatedTimeout } else { Congestion::Timeout };
        self.reduce(congestion, flight_size);
        // RFC 6298 §5.5 and §5.6.
        self.rtt.back_off(&config.rto);
        self.deadline = now + self.rtt.rto();
        if let Some(recovery) = &mut self.recovery {
            recovery.restart_timer(self.deadline);
        }
    }

    /// Returns the time at which to call [`Self::on_timer`]. A call of any other method may change this time, usually to a later one.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let deadline = self.congestion.deadline().map_or(self.deadline, |own| own.min(self.deadline));
        (deadline != Instant::MAX).then_some(deadline)
    }

    fn outstanding(&self) -> Outstanding {
        Outstanding {
            una: self.una,
            next: self.next,
            cut_at: self.reduce_from.saturating_sub(1),
            cut_for: self.last_cut,
        }
    }

    /// Returns the length of the next segment of unsent data; zero if there is none, or if the receiver has no room for it.
    #[inline]
    fn unsent(&self, config: &Config) -> u64 {
        let len = (self.written - self.next).min(config.mss.0);
        // If no data is outstanding, the segment is sent as a probe. The probe replaces the persist timer of RFC 9293 §3.8.6.1.
        if self.next + len > self.limit && self.next > self.una { 0 } else { len }
    }

    /// Returns whether the host or the application, not cwnd, limited the sender before these `acked` bytes were acknowledged.
    #[inline]
    fn is_unused(&self, config: &Config, acked: u64) -> bool {
        let app_limited = || self.next - self.una + acked + config.mss.0 <= self.cwnd().0;
        self.held || (config.app_limited == AppLimited::Linux && app_limited())
    }

    /// Returns whether cwnd may grow although it does not limit the sender: in slow start up to twice the outstanding data (Linux,
    /// `tcp_is_cwnd_limited`; RFC 7661 §4.3 states the reason).
    #[cold]
    fn may_grow_unused(&self, acked: u64) -> bool {
        self.window.in_slow_start() && self.cwnd().0 < 2 * (self.next - self.una + acked)
    }

    /// Handles a receiver without room for the next segment. If no data is outstanding, returns the segment as a probe.
    #[cold]
    fn poll_closed(&mut self, config: &Config, now: Instant, len: u64) -> Option<Transmit> {
        if self.next > self.una {
            return None;
        }
        let cwr_due = self.cwr_due;
        let mut transmit = self.transmit(config, now, self.next, len);
        self.as_window_probe(config, &mut transmit, cwr_due);
        Some(transmit)
    }

    /// Turns the segment into a window probe, which carries neither ECT nor CWR (RFC 3168 §6.1.6).
    fn as_window_probe(&mut self, config: &Config, transmit: &mut Transmit, cwr_due: bool) {
        if config.ect == EctPolicy::Rfc3168 {
            transmit.ecn = Ecn::NotEct;
            transmit.segment.flags.0 &= !Flags::CWR.0;
            self.cwr_due = cwr_due;
        }
    }

    #[cold]
    fn poll_unusual(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        if matches!(self.state, ConnectionState::SynDue | ConnectionState::SynSent) {
            return self.poll_opening(config, now);
        }
        if self.state == ConnectionState::Reducing {
            return self.poll_reducing(config, now);
        }
        self.poll_disordered(config, now)
    }

    fn poll_disordered(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        let held = self.state == ConnectionState::Held;
        let allowance = Allowance { cwnd: self.cwnd().0, unsent: if held { 0 } else { self.unsent(config) } };
        let (data, clock) = (self.outstanding(), self.clock(now));
        let recovery = self.recovery.as_mut().filter(|_| self.disordered)?;
        let range = recovery.next_segment(config, data, allowance, clock)?;
        let cwr_due = self.cwr_due;
        let mut transmit = self.transmit(config, now, range.start, range.len());
        if range.end > self.limit && range.start == data.next {
            self.as_window_probe(config, &mut transmit, cwr_due);
        }
        if let Some(recovery) = self.recovery.as_mut().filter(|_| range.start == data.next) {
            recovery.extend(self.next);
        }
        self.adopt_deadline();
        Some(transmit)
    }

    #[cold]
    fn on_ack_unusual(&mut self, config: &Config, now: Instant, segment: &AckSegment) {
        match self.state {
            ConnectionState::Held => self.on_ack_held(config, now, segment),
            ConnectionState::Reducing => self.on_ack_reducing(config, now, segment),
            _ => self.on_syn_ack(config, now, segment),
        }
    }

    fn on_ack_held(&mut self, config: &Config, now: Instant, segment: &AckSegment) {
        // Another ECE may hold the sender back again; otherwise the timer continues unchanged.
        let deadline = self.deadline;
        self.state = ConnectionState::Open;
        self.take_ack_rarely(config, now, segment, Growth::Allowed);
        if self.state == ConnectionState::Open {
            self.state = ConnectionState::Held;
            self.deadline = deadline;
        }
    }

    #[inline]
    fn transmit(&mut self, config: &Config, now: Instant, seq: u64, len: u64) -> Transmit {
        let retransmission = seq < self.next;
        let mut flags = Flags::ACK;
        if retransmission {
            self.stats.retransmits += 1;
            if !config.recovery.dialect().repairs_leave_timing {
                // RFC 6298 §3, Karn: data that may have been sent twice is not timed.
                self.timed_end = 0;
            }
        } else {
            self.next = seq + len;
            if self.cwr_due {
                // RFC 3168 §6.1.2: CWR is set on the first new data after the reduction.
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
        let (tsval, tsecr) = (now, self.recent);
        let segment = DataSegment { seq, tsval, tsecr, carried_ack: None, len: len as u16, flags };
        let mut transmit =
            Transmit { segment, retransmission, ecn: config.data_ecn(self.ecn, retransmission) };
        if seq + len == self.written {
            // RFC 9293 §3.9.1.2: PSH on the last segment of the written data.
            transmit.segment.flags = flags.with(Flags::PSH);
            if self.fin != Fin::No {
                self.finish(&mut transmit.segment);
            }
        }
        transmit
    }

    /// Sets the FIN on the last written segment if the receiver's window has room for its sequence number (RFC 9293 §3.4: a
    /// FIN is part of the sequence space). Otherwise the FIN is sent separately.
    #[cold]
    fn finish(&mut self, segment: &mut DataSegment) {
        if self.fin == Fin::Due {
            self.count_fin();
            if self.written > self.limit {
                return;
            }
            self.next = self.written;
        } else {
            segment.len -= 1;
        }
        segment.flags = segment.flags.with(Flags::FIN);
    }

    fn count_fin(&mut self) {
        self.fin = Fin::Counted;
        self.written += 1;
    }

    #[inline]
    fn sample_rtt(&mut self, config: &Config, now: Instant, segment: &AckSegment) -> Duration {
        if config.timestamps {
            // RFC 7323 §4.1: only acknowledgements of new data give samples.
            let rtt = now.saturating_since(segment.tsecr);
            self.rtt.on_sample(&config.rto, rtt);
            return rtt;
        }
        if self.timed_end != 0 && segment.ack >= self.timed_end {
            self.timed_end = 0;
            let rtt = now.saturating_since(self.timed_at);
            self.rtt.on_sample(&config.rto, rtt);
            return rtt;
        }
        Duration::MAX
    }

    /// Handles the rare effects of an acknowledgement. Returns whether the acknowledgement reveals a loss, and whether the timer continues
    /// unchanged; removes from `growth` the bytes by which cwnd may not grow.
    #[cold]
    fn on_ack_in_disorder(
        &mut self,
        config: &Config,
        now: Instant,
        segment: &AckSegment,
        growth: &mut u64,
    ) -> (bool, bool) {
        let (data, acked, slow_start) = (self.outstanding(), *growth, self.window.in_slow_start());
        let clock = self.clock(now);
        // RFC 5681 §2: a duplicate acknowledges no new data while data is outstanding, and does not change the window.
        let duplicate = acked == 0 && data.next > data.una && segment.window == self.advertised;
        let recovery = self.recovery.get_or_insert_with(|| Box::new(Recovery::new(config)));
        *growth = recovery.growth(config, data, acked, slow_start);
        let outcome = recovery.on_ack(config, data, Arrival { segment, acked, duplicate }, clock);
        self.disordered = !recovery.is_idle();
        if let Some(limit) = outcome.burst_limit {
            // RFC 6582 §3.2 step 3: cwnd = min(ssthresh, max(FlightSize, SMSS) + SMSS). Before this, cwnd is ssthresh.
            self.window.set_cwnd(self.window.cwnd().0.min(limit));
        }
        if segment.flags.contains(Flags::ECE) && self.ecn != EcnMode::Off {
            self.forbid_undo();
        }
        if outcome.spurious {
            self.undo_reduction();
        }
        let back_off = config.recovery.dialect().back_off_ends;
        if acked > 0 && back_off != BackOffEnds::WithSample {
            return (outcome.begins, self.end_back_off(config, now, back_off));
        }
        self.adopt_deadline();
        if outcome.repaired && !outcome.begins {
            *growth = 0;
            self.forbid_undo();
            self.respond_to_loss(config);
        }
        (outcome.begins, outcome.keeps_timer)
    }

    /// Ends the timer's back-off after an acknowledgement of new data. Returns whether the timer was restarted.
    fn end_back_off(&mut self, config: &Config, now: Instant, back_off: BackOffEnds) -> bool {
        let starts = back_off == BackOffEnds::AfterTimer && self.una < self.next;
        if starts {
            self.deadline = now + self.rtt.rto();
        }
        self.rtt.end_back_off(&config.rto);
        starts
    }
}
