//! The PFC watchdog of a switch, which lets a queue ignore a pause that lasts too long (PFC storm).
//!
//! The algorithm is SONiC's for Broadcom chips (sonic-swss, orchagent/pfc_detect_broadcom.lua and pfc_restore.lua). At each poll, a queue
//! counts as stormed for the time since the last poll if it was paused at both polls, has not been resumed in between, and has received PFC
//! frames. A queue that is stormed for the detection time ignores pauses. Once no PFC frame has come for the restoration time, the queue
//! obeys pauses again.

use shallows_core::Duration;

/// Times and action of a watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchdogConfig {
    /// Time for which a queue must be stormed before it ignores pauses.
    pub detection: Duration,
    /// Time without PFC frames after which a queue obeys pauses again.
    pub restoration: Duration,
    /// Time between two polls.
    pub poll: Duration,
    /// Action on the packets of a stormed queue.
    pub action: WatchdogAction,
}

/// Action on the packets of a stormed queue, which ignores pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WatchdogAction {
    /// Waiting and arriving packets are dropped.
    Drop,
    /// Packets are sent.
    Forward,
}

/// State of a queue at a poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Poll {
    /// Whether the other end of the link has paused the queue.
    pub is_paused: bool,
    /// Number of pauses received since the start, including repetitions.
    pub frames: u64,
    /// Number of times that a pause has ended since the start.
    pub resumes: u64,
}

/// Decision of a watchdog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The queue is stormed: it ignores pauses from now on, and the action applies to its packets.
    Storm,
    /// The queue obeys pauses again.
    Restore,
}

/// Watchdog of one queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watchdog {
    last: Poll,
    /// Time for which the queue has counted as stormed. While `is_stormed` is set: time for which no PFC frame has arrived.
    elapsed: Duration,
    is_stormed: bool,
}

impl Watchdog {
    /// Returns whether the queue ignores pauses.
    pub fn is_stormed(&self) -> bool {
        self.is_stormed
    }

    /// Handles a poll, which must happen every [`WatchdogConfig::poll`].
    pub fn on_poll(&mut self, poll: Poll, config: &WatchdogConfig) -> Option<Verdict> {
        let last = std::mem::replace(&mut self.last, poll);
        let has_frames = poll.frames > last.frames;
        let (goes_on, needed, verdict) = if self.is_stormed {
            (!has_frames, config.restoration, Verdict::Restore)
        } else {
            let stormed = has_frames && last.is_paused && poll.is_paused && poll.resumes == last.resumes;
            (stormed, config.detection, Verdict::Storm)
        };
        self.elapsed = if goes_on { self.elapsed + config.poll } else { Duration::ZERO };
        if self.elapsed < needed || !goes_on {
            return None;
        }
        self.elapsed = Duration::ZERO;
        self.is_stormed = !self.is_stormed;
        Some(verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the verdicts on these polls, with a detection of 200 ms, a restoration of 400 ms and a poll every 100 ms.
    fn verdicts(polls: &[(bool, u64, u64)]) -> Vec<Option<Verdict>> {
        let [poll, detection, restoration] = [100, 200, 400].map(Duration::from_millis);
        let config = WatchdogConfig { detection, restoration, poll, action: WatchdogAction::Drop };
        let mut dog = Watchdog::default();
        let each = |&(is_paused, frames, resumes): &(bool, u64, u64)| {
            dog.on_poll(Poll { is_paused, frames, resumes }, &config)
        };
        polls.iter().map(each).collect()
    }

    const STORM: Option<Verdict> = Some(Verdict::Storm);
    const RESTORE: Option<Verdict> = Some(Verdict::Restore);

    #[test]
    fn a_pause_with_frames_at_each_poll_is_a_storm_after_the_detection_time() {
        // The first poll only shows that the queue is paused; two intervals of 100 ms follow.
        assert_eq!(verdicts(&[(true, 5, 0), (true, 9, 0), (true, 13, 0)]), [None, None, STORM]);
    }

    #[test]
    fn a_pause_that_ends_in_between_or_gets_no_frame_is_no_storm() {
        // Resumed and paused again between two polls.
        assert_eq!(verdicts(&[(true, 5, 0), (true, 9, 0), (true, 13, 1), (true, 17, 1)]), [None; 4]);
        // Not paused at the third poll; the time begins anew.
        let interrupted =
            [(true, 5, 0), (true, 9, 0), (false, 9, 1), (true, 13, 1), (true, 17, 1), (true, 21, 1)];
        assert_eq!(verdicts(&interrupted), [None, None, None, None, None, STORM]);
        // A software pause without frames between polls is not recognised (sonic-mgmt issue 27589).
        assert_eq!(verdicts(&[(true, 5, 0), (true, 9, 0), (true, 9, 0), (true, 13, 0)]), [None; 4]);
    }

    #[test]
    fn a_queue_obeys_again_after_the_restoration_time_without_frames() {
        let mut polls = vec![(true, 1, 0), (true, 2, 0), (true, 3, 0)];
        // Frames at the next poll, then none. One more frame after 300 ms begins the time anew.
        polls.extend([(true, 4, 0), (true, 4, 0), (true, 4, 0), (true, 4, 0), (true, 5, 0)]);
        polls.extend([(false, 5, 1); 4]);
        let mut expected = vec![None; 12];
        (expected[2], expected[11]) = (STORM, RESTORE);
        assert_eq!(verdicts(&polls), expected);
        // After that, a new storm is detected like the first.
        polls.extend([(true, 6, 1), (true, 7, 1), (true, 8, 1)]);
        expected.extend([None, None, STORM]);
        assert_eq!(verdicts(&polls), expected);
    }
}
