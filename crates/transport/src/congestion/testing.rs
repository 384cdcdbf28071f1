//! A congestion control for tests: a rate, and a recurring deadline.
//!
//! It shows the code that a rate-based control needs: a file like this one, and arms in `mod.rs`. Senders, pacers and hosts need no change.

use shallows_core::{Bytes, Duration, Instant, Rate};

use super::interface::{Ack, Congestion, CongestionControl, Pace};
use super::window::Window;

/// Parameters of [`Timed`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Rate of a new connection.
    pub rate: Rate,
    /// Time after which the rate doubles while data is outstanding.
    pub every: Duration,
}

/// State of the test's congestion control for one connection.
#[derive(Clone, Debug)]
pub struct Timed {
    rate: Rate,
    every: Duration,
    deadline: Option<Instant>,
}

impl Timed {
    /// Creates the state of a new connection.
    pub(super) fn new(config: &Config) -> Self {
        Self { rate: config.rate, every: config.every, deadline: None }
    }
}

impl CongestionControl for Timed {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        window.grow(ack.growth);
        self.deadline = (ack.number < ack.next).then(|| self.deadline.unwrap_or(ack.now + self.every));
    }

    fn on_congestion(&mut self, window: &mut Window, _congestion: Congestion, flight_size: Bytes) {
        self.rate = Rate(self.rate.0 / 2);
        window.collapse(flight_size, false);
    }

    fn pace(&self, window: &Window) -> Pace {
        Pace { window: Bytes(window.cwnd().0 / 2), rate: Some(self.rate) }
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn on_timer(&mut self, _window: &mut Window, now: Instant) {
        self.rate = Rate(self.rate.0 * 2);
        self.deadline = Some(now + self.every);
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::packet::Flags;

    use super::*;
    use crate::testing::{Driven, MSS, RTT};
    use crate::{Pacer, Tso, congestion};

    const EVERY: Duration = Duration::from_micros(30);
    /// Rate at which the transmission of 1,460 bytes takes 11.68 us.
    const RATE: Rate = Rate::from_gbps(1);

    /// Returns a sender that has sent five segments, because cwnd is ten segments and this congestion control uses half of it.
    fn driven() -> Driven {
        Driven::under(congestion::Config::Timed(Config { rate: RATE, every: EVERY }), 1_000_000_000)
    }

    #[test]
    fn a_sender_keeps_to_the_window_that_the_control_answers() {
        let driven = driven();
        assert_eq!(driven.sender.pace(), Pace { window: Bytes(5 * MSS), rate: Some(RATE) });
        assert_eq!(driven.sender.sent(), 5 * MSS);
        assert!(driven.config.congestion.sets_rate());
    }

    #[test]
    fn the_rate_spaces_segments_and_sizes_bursts_in_place_of_the_windows() {
        let mut driven = driven();
        driven.ack(1, Flags::ACK);
        let (mut pacer, start) = (Pacer::default(), driven.now);
        for _ in 0..12 {
            pacer.begin(start);
            pacer.on_send(driven.sender.pacing_rate(), Bytes(MSS));
        }
        // Ten segments leave without pacing; the other two take 11.68 us each.
        assert_eq!(pacer.next(), start + Duration::from_nanos(2 * 11_680));
        // 1 Gbit/s sends 122,070 bytes in 2^-10 s, 15 Mbit/s 1,831: one segment, and the smallest burst has two.
        let tso = Tso { largest: Bytes(65_536), autosized: true };
        let size = |driven: &Driven| tso.size(&driven.config, driven.sender.pacing_rate()).0 / MSS;
        assert_eq!(size(&driven), 44);
        let slow = Config { rate: Rate(15_000_000), every: EVERY };
        assert_eq!(size(&Driven::under(congestion::Config::Timed(slow), 1_000_000_000)), 2);
    }

    #[test]
    fn its_deadline_is_the_senders_until_the_retransmission_timer_is_earlier() {
        let mut driven = driven();
        let rto = driven.sender.deadline().expect("something is outstanding");
        assert_eq!(rto, driven.now + driven.sender.rto());
        driven.ack(1, Flags::ACK);
        assert_eq!(driven.sender.deadline(), Some(driven.now + EVERY));
        // The deadline fires repeatedly without a timeout.
        for doubled in [2, 4] {
            let now = driven.sender.deadline().expect("the control has set one");
            driven.sender.on_timer(&driven.config, now);
            assert_eq!(driven.sender.pace().rate, Some(Rate(doubled * RATE.0)));
            assert_eq!(driven.sender.deadline(), Some(now + EVERY));
        }
        assert_eq!(driven.sender.stats().timeouts, 0);
        // Both are due: the control's deadline, and the retransmission timeout, which halves the rate.
        let late = driven.now + RTT + Duration::from_secs(60);
        driven.sender.on_timer(&driven.config, late);
        assert_eq!((driven.sender.stats().timeouts, driven.sender.pace().rate), (1, Some(Rate(4 * RATE.0))));
    }

    #[test]
    fn nothing_is_due_once_everything_is_acknowledged() {
        let mut driven =
            Driven::under(congestion::Config::Timed(Config { rate: RATE, every: EVERY }), 2 * MSS);
        driven.ack(1, Flags::ACK);
        assert_eq!(driven.sender.deadline(), Some(driven.now + EVERY));
        driven.ack(2, Flags::ACK);
        assert_eq!(driven.sender.deadline(), None);
    }
}
