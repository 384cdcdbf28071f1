//! Opening of a connection: the SYN and its answer.

use shallows_core::Instant;
use shallows_core::packet::{AckSegment, DataSegment, Flags};

use super::Sender;
use super::interface::{ConnectionState, Transmit};
use crate::config::{Config, LostSyn};
use crate::congestion::{CongestionControl, EcnMode};

/// Number of timeouts of a SYN that do not lengthen the next timeout: Linux, `tcp_syn_linear_timeouts`.
const LINEAR_TIMEOUTS: u32 = 4;

impl Sender {
    /// Returns the SYN if it must be sent.
    pub(super) fn poll_opening(&mut self, config: &Config, now: Instant) -> Option<Transmit> {
        if self.state != ConnectionState::SynDue || self.written == 0 {
            return None;
        }
        self.state = ConnectionState::SynSent;
        if self.deadline == Instant::MAX {
            self.deadline = now + self.rtt.rto();
        }
        self.timed_at = now;
        self.stats.segments_sent += 1;
        // RFC 3168 §6.1.1: ECE and CWR request ECN from the receiver; §6.1.1.1 permits the request in a
        // retransmitted SYN.
        let asks = config.congestion.ecn_mode() != EcnMode::Off;
        let flags = if asks { Flags::SYN.with(Flags::ECE).with(Flags::CWR) } else { Flags::SYN };
        let segment = DataSegment { tsval: now, flags, ..DataSegment::default() };
        // RFC 3168 §6.1.1 forbids ECT on a SYN; RFC 8257 §3.6 and the deployments of DCTCP set ECT.
        let retransmission = self.stats.timeouts > 0;
        Some(Transmit { segment, retransmission, ecn: config.ack_ecn() })
    }

    /// Handles the timeout of a SYN.
    pub(super) fn on_syn_timeout(&mut self, config: &Config, now: Instant) {
        self.state = ConnectionState::SynDue;
        if config.lost_syn == LostSyn::Careful || self.stats.timeouts > LINEAR_TIMEOUTS {
            self.rtt.back_off(&config.rto);
        }
        self.deadline = now + self.rtt.rto();
    }

    /// Handles the SYN-ACK; data may then be sent.
    pub(super) fn on_syn_ack(&mut self, config: &Config, now: Instant, segment: &AckSegment) {
        if self.state != ConnectionState::SynSent || !segment.flags.contains(Flags::SYN) {
            return;
        }
        self.state = ConnectionState::Open;
        // RFC 3168 §6.1.1: ECE without CWR means that the receiver supports ECN.
        if segment.flags.contains(Flags::ECE) && !segment.flags.contains(Flags::CWR) {
            self.ecn = config.congestion.ecn_mode();
        }
        self.deadline = Instant::MAX;
        self.limit = self.limit.max(u64::from(segment.window));
        self.advertised = segment.window;
        self.recent = segment.tsval;
        if self.stats.timeouts == 0 {
            self.rtt.on_sample(&config.rto, now.saturating_since(self.timed_at));
        } else if config.recovery.dialect().lost_syn_costs_wait_alone {
            self.rtt.end_back_off(&config.rto);
        } else if config.lost_syn == LostSyn::Linux {
            if config.timestamps {
                self.rtt.on_sample(&config.rto, now.saturating_since(segment.tsecr));
            }
            if self.stats.timeouts > 1 {
                self.congestion.on_restart(&mut self.window, config.mss);
            }
        } else {
            // RFC 5681 §3.1: one segment after a lost SYN. RFC 6298 §5.7: also a longer timer.
            self.congestion.on_restart(&mut self.window, config.mss);
            self.rtt.fall_back(&config.rto);
        }
    }
}
