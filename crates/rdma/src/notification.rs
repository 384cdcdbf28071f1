//! Notification point: the rules by which a responder sends congestion notification packets (DCQCN, SIGCOMM '15, section 3.2).

use std::collections::VecDeque;

use shallows_core::Instant;

use crate::config::Notification;

/// Packet that caused a CNP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// Time at which it was sent.
    pub(crate) sent_at: Instant,
    /// Whether it was marked with CE. It arrived out of order if it was not.
    pub(crate) marked: bool,
}

/// State of the notification point of a queue pair.
#[derive(Debug, Default)]
pub(crate) struct NotificationPoint {
    /// End of the interval that the last CNP began.
    interval_end: Instant,
    /// CNPs that the NIC has begun to create, and the times at which they leave.
    pending: VecDeque<(Instant, Cause)>,
}

impl NotificationPoint {
    /// Handles a packet that may cause a CNP. Returns its cause if the CNP leaves now.
    ///
    /// The first marked packet causes a CNP at once. Later ones cause none until the interval has ended (DCQCN, section 3.2); the interval
    /// therefore begins when the packet arrives and does not include the latency.
    pub(crate) fn on_cause(&mut self, config: &Notification, now: Instant, cause: Cause) -> Option<Cause> {
        let interval = config.interval?;
        if now < self.interval_end {
            return None;
        }
        self.interval_end = now + interval;
        let due = now + config.latency;
        if due == now {
            return Some(cause);
        }
        self.pending.push_back((due, cause));
        None
    }

    /// Returns the time at which the next CNP leaves.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.pending.front().map(|(due, _)| *due)
    }

    /// Returns the cause of the next CNP if that CNP leaves now.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<Cause> {
        self.pending.pop_front_if(|(due, _)| *due <= now).map(|(_, cause)| cause)
    }
}
