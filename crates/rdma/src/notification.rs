//! Notification point: the rules by which a responder sends congestion notification packets (DCQCN, SIGCOMM '15, section 3.2).

use std::collections::VecDeque;

use shallows_core::Instant;

use crate::config::Notification;

/// Packet that caused a CNP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    /// Time at which the packet was sent.
    pub(crate) sent_at: Instant,
    /// Whether the packet was marked with CE; otherwise it arrived out of order.
    pub(crate) marked: bool,
}

/// State of the notification point of a queue pair.
#[derive(Debug, Default)]
pub(crate) struct NotificationPoint {
    /// End of the interval that began with the last CNP.
    interval_end: Instant,
    /// Whether a packet of the current interval has caused a CNP, which is sent when this interval ends and the next one begins.
    continues: bool,
    /// CNPs that will leave, and the times at which they leave.
    pending: VecDeque<(Instant, Cause)>,
}

impl NotificationPoint {
    /// Handles a packet that may cause a CNP. If a CNP must be sent now, returns the cause of the CNP.
    ///
    /// The first marked packet causes a CNP at once and starts an interval. If at least one packet of an interval is marked, one CNP is
    /// sent at the end of the interval, and another interval starts (DCQCN, section 3.2: at most one CNP per interval, "if any packet that
    /// arrives within that time window was marked"). The latency of a CNP does not extend the interval.
    pub(crate) fn on_cause(&mut self, config: &Notification, now: Instant, cause: Cause) -> Option<Cause> {
        let interval = config.interval?;
        if self.continues && now >= self.interval_end {
            (self.interval_end, self.continues) = (self.interval_end + interval, false);
        }
        let begin = if now >= self.interval_end {
            self.interval_end = now + interval;
            now
        } else if self.continues {
            return None;
        } else {
            self.continues = true;
            self.interval_end
        };
        let due = begin + config.latency;
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
