//! Reaction point of a queue pair (RP of QCN and DCQCN): the congestion control of the end that sends data, and the pacer that the
//! congestion control sets.

use shallows_core::{Bytes, Instant, Rate};

use crate::config;
use crate::congestion::{Algorithm, Config, Digest, Pace};
use crate::pacer::Pacer;

/// Congestion control and pacer of the end that sends data.
#[derive(Debug)]
pub(crate) struct ReactionPoint {
    congestion: Algorithm,
    pacer: Pacer,
}

impl ReactionPoint {
    /// Creates the reaction point of a new queue pair. `line_rate` is the rate of the NIC's link.
    pub(crate) fn new(config: &Config, line_rate: Rate) -> Self {
        let congestion = config.build(line_rate);
        Self { pacer: Pacer::new(congestion.pace()), congestion }
    }

    /// Passes an event to the congestion control, and applies the resulting rate and window.
    pub(crate) fn control(&mut self, config: &Config, event: impl FnOnce(&mut Algorithm, &Config)) {
        event(&mut self.congestion, config);
        self.pacer.set_pace(self.congestion.pace());
    }

    /// Records that a packet of `size` bytes on the wire leaves now.
    pub(crate) fn on_send(&mut self, config: &config::Config, now: Instant, size: Bytes) {
        self.pacer.on_send(now, size, config.burst_room);
        if self.congestion.on_send(&config.congestion, size) {
            self.pacer.set_pace(self.congestion.pace());
        }
    }

    /// Handles all timers of the congestion control that have expired.
    pub(crate) fn on_timer(&mut self, config: &Config, now: Instant) {
        while let Some(at) = self.deadline().filter(|at| *at <= now) {
            self.control(config, |control, config| control.on_timer(config, now));
            assert_ne!(self.deadline(), Some(at), "the handler of a timer moves or clears its deadline");
        }
    }

    /// Returns the time at which the next timer of the congestion control expires.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.congestion.deadline()
    }

    /// Returns the time from which the next packet may leave.
    pub(crate) fn ready_at(&self) -> Instant {
        self.pacer.ready_at()
    }

    /// Returns the limit of outstanding bytes; `None` for no limit.
    pub(crate) fn window(&self) -> Option<Bytes> {
        self.pacer.window()
    }

    /// Returns the rate and the window.
    pub(crate) fn pace(&self) -> Pace {
        self.congestion.pace()
    }

    /// Returns α of the congestion control, if it has one.
    pub(crate) fn alpha(&self, config: &Config, now: Instant) -> Option<f64> {
        self.congestion.alpha(config, now)
    }

    /// Returns the counts of the congestion control's actions.
    pub(crate) fn digest(&self) -> Digest {
        self.congestion.digest()
    }
}
