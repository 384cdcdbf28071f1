//! The congested end of a link, which pauses the other end.

use shallows_core::{Duration, Instant, Rate};

use super::frame::{Frame, PRIORITIES, pause_time};

/// Pause time and refresh time of a [`Pauser`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Duration of each pause in quanta, at least 1.
    pub quanta: u16,
    /// Time in quanta after which a pause is repeated, at least 1; `None` for no repetition. If this time is not below `quanta`, a pause
    /// expires before its repetition.
    pub refresh: Option<u16>,
}

impl Default for Config {
    /// Returns the longest pause time, and a refresh after half of that time.
    fn default() -> Self {
        Self { quanta: u16::MAX, refresh: Some(u16::MAX / 2) }
    }
}

/// Priorities that one end of a link keeps paused at the other end, and the frames that announce them.
#[derive(Clone, Debug)]
pub struct Pauser {
    config: Config,
    refresh: Option<Duration>,
    paused: [bool; PRIORITIES],
    /// For each priority, whether it has changed and no frame has announced the change yet.
    is_news: [bool; PRIORITIES],
    refresh_at: Instant,
}

impl Pauser {
    /// Creates a pauser that pauses nothing, at a link whose other end sends at this `rate`.
    ///
    /// # Panics
    ///
    /// Panics if a time of the configuration is zero.
    pub fn new(config: Config, rate: Rate) -> Self {
        assert!(config.quanta > 0 && config.refresh != Some(0), "a pause takes time: {config:?}");
        Self {
            config,
            refresh: config.refresh.map(|quanta| pause_time(rate, quanta)),
            paused: [false; PRIORITIES],
            is_news: [false; PRIORITIES],
            refresh_at: Instant::MAX,
        }
    }

    /// Pauses a priority, or resumes it. Returns whether the state of the priority changes. The driver must then read [`Self::wake_at`].
    pub fn set(&mut self, priority: u8, paused: bool) -> bool {
        let priority = usize::from(priority);
        let changes = self.paused[priority] != paused;
        if changes {
            self.paused[priority] = paused;
            // A pause that was not sent needs no resume.
            self.is_news[priority] = !self.is_news[priority] || paused;
        }
        changes
    }

    /// Returns the time at which to call [`Self::poll_frame`], to announce a change or to repeat a pause; `None` if no frame will be due.
    pub fn wake_at(&self) -> Option<Instant> {
        if self.is_news.contains(&true) {
            return Some(Instant::ZERO);
        }
        self.paused.contains(&true).then_some(self.refresh_at)
    }

    /// Returns the frame to send at `now`, if one is due. Every frame repeats all pauses, so that they share one refresh time.
    pub fn poll_frame(&mut self, now: Instant) -> Option<Frame> {
        if self.wake_at().is_none_or(|at| at > now) {
            return None;
        }
        let quanta = std::array::from_fn(|priority| match (self.paused[priority], self.is_news[priority]) {
            (true, _) => Some(self.config.quanta),
            (false, true) => Some(0),
            (false, false) => None,
        });
        self.is_news = [false; PRIORITIES];
        self.refresh_at = self.refresh.map_or(Instant::MAX, |refresh| now + refresh);
        Some(Frame { quanta })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(quanta: &[(usize, u16)]) -> Frame {
        let mut frame = Frame::default();
        for &(priority, time) in quanta {
            frame.quanta[priority] = Some(time);
        }
        frame
    }

    #[test]
    fn a_pause_is_sent_at_once_repeated_and_ended_by_a_time_of_zero() {
        let mut pauser = Pauser::new(Config { quanta: 100, refresh: Some(40) }, Rate::from_gbps(100));
        assert_eq!((pauser.wake_at(), pauser.poll_frame(Instant(7))), (None, None));
        pauser.set(3, true);
        assert_eq!(pauser.wake_at(), Some(Instant::ZERO));
        assert_eq!(pauser.poll_frame(Instant(1_000)), Some(frame(&[(3, 100)])));
        // The refresh is due after 40 quanta of 5.12 ns.
        let again = Instant(1_000 + 40 * 5_120);
        assert_eq!(pauser.wake_at(), Some(again));
        assert_eq!(pauser.poll_frame(Instant(again.0 - 1)), None);
        assert_eq!(pauser.poll_frame(again), Some(frame(&[(3, 100)])));
        pauser.set(4, true);
        pauser.set(3, false);
        assert_eq!(pauser.poll_frame(again), Some(frame(&[(3, 0), (4, 100)])));
        pauser.set(4, false);
        assert_eq!(pauser.poll_frame(again), Some(frame(&[(4, 0)])));
        assert_eq!(pauser.wake_at(), None, "nothing is paused");
    }

    #[test]
    fn a_pause_that_ended_before_it_was_sent_needs_no_frame() {
        let mut pauser = Pauser::new(Config::default(), Rate::from_gbps(100));
        pauser.set(3, true);
        pauser.set(3, false);
        assert_eq!(pauser.wake_at(), None);
        // If a resume has not been sent when the next pause comes, only the pause is sent.
        pauser.set(3, true);
        pauser.poll_frame(Instant::ZERO).expect("it is news");
        pauser.set(3, false);
        pauser.set(3, true);
        assert_eq!(pauser.poll_frame(Instant(1)), Some(frame(&[(3, u16::MAX)])));
    }

    #[test]
    #[should_panic(expected = "a pause takes time")]
    fn a_pause_without_time_is_refused() {
        Pauser::new(Config { quanta: 0, refresh: Some(1) }, Rate::from_gbps(100));
    }
}
