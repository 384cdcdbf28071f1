//! The sending end of a link, whose priorities are paused and resumed by PFC frames.

use std::collections::VecDeque;

use shallows_core::{Duration, Instant, Rate};

use super::frame::{Frame, PRIORITIES, pause_time};

/// Change of a priority that the driver must apply to the priority's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// No packet of this priority may start.
    Stop(u8),
    /// Packets of this priority may start.
    Go(u8),
}

/// Pause timers at the sending end of a link, one for each priority.
#[derive(Clone, Debug)]
pub struct PauseTimers {
    rate: Rate,
    response: Duration,
    /// Whether pauses last until a frame with zero quanta.
    are_flags: bool,
    /// Frames that have arrived but not taken effect yet, in order. Each entry has the time at which the frame takes effect, and the end
    /// of the pause that the frame sets for each priority.
    arrived: VecDeque<(Instant, [Option<Instant>; PRIORITIES])>,
    /// End of the pause of each priority; `None` if the priority may send.
    ends: [Option<Instant>; PRIORITIES],
}

impl PauseTimers {
    /// Creates timers of a sender of this `rate` that responds to a frame after `response`.
    pub fn new(rate: Rate, response: Duration) -> Self {
        Self { rate, response, are_flags: false, arrived: VecDeque::new(), ends: [None; PRIORITIES] }
    }

    /// Returns these timers with pauses that last until a frame with zero quanta, as in HPCC's simulator (`qbb-net-device.cc`).
    #[must_use]
    pub fn as_flags(self) -> Self {
        Self { are_flags: true, ..self }
    }

    /// Handles a frame whose last bit arrives at `now`. The frame takes effect after the response time. The pause time of a priority counts
    /// from `now` and replaces the rest of an earlier pause.
    pub fn receive(&mut self, now: Instant, frame: &Frame) {
        let end = |quanta| match quanta {
            0 => now,
            _ if self.are_flags => Instant::MAX,
            _ => now + pause_time(self.rate, quanta),
        };
        let ends = frame.quanta.map(|quanta| quanta.map(end));
        self.arrived.push_back((now + self.response, ends));
    }

    /// Returns the time at which to call [`Self::advance`]; `None` if no priority is paused and no frame is waiting to take effect.
    pub fn wake_at(&self) -> Option<Instant> {
        let frame = self.arrived.front().map(|&(at, _)| at);
        frame.into_iter().chain(self.ends.into_iter().flatten()).min()
    }

    /// Applies all frames and ends of pauses due by `now`, in order of time, and passes the changes of priorities to `changes`.
    pub fn advance(&mut self, now: Instant, changes: &mut impl Extend<Change>) {
        while let Some(at) = self.wake_at()
            && at <= now
        {
            // A frame that takes effect just when a pause ends comes first, so it can extend that pause.
            if let Some(&(due, ends)) = self.arrived.front()
                && due == at
            {
                self.arrived.pop_front();
                self.apply(at, &ends, changes);
            } else {
                self.apply(at, &self.ends.map(|end| end.filter(|&end| end == at)), changes);
            }
        }
    }

    /// Returns whether packets of a priority may not start.
    pub fn is_paused(&self, priority: u8) -> bool {
        self.ends[usize::from(priority)].is_some()
    }

    /// Applies the new `ends` of pauses at the time `at`. A pause whose end is not after `at` is over.
    fn apply(
        &mut self,
        at: Instant,
        ends: &[Option<Instant>; PRIORITIES],
        changes: &mut impl Extend<Change>,
    ) {
        for (priority, &end) in ends.iter().enumerate() {
            let Some(end) = end else { continue };
            let (was, end) = (self.ends[priority].is_some(), Some(end).filter(|&end| end > at));
            self.ends[priority] = end;
            let priority = priority as u8;
            match (was, end.is_some()) {
                (false, true) => changes.extend([Change::Stop(priority)]),
                (true, false) => changes.extend([Change::Go(priority)]),
                _ => {}
            }
        }
    }
}
