//! CoDel (RFC 8289): drops or marks packets at departure, increasingly often while the shortest waiting time stays above a target.
//!
//! The pseudo-code of RFC 8289 §5 removes packets from the queue in a loop. In this crate the port removes each packet, and CoDel decides
//! whether to drop it. With `egress_drop = "free"`, a dropped packet takes no time on the wire, as in the RFC. Each queue has its own
//! state.

use shallows_core::packet::{Ecn, Header};
use shallows_core::{Bytes, Duration, Instant};

use super::interface::{Action, Aqm, Hears, PortView, Verdict};
use crate::queue::Reading;

/// Parameters of CoDel.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// TARGET: waiting time that CoDel tolerates (RFC 8289 §4.4).
    pub target: Duration,
    /// INTERVAL: time for which the waiting time may exceed the target; about the longest round-trip time (§4.3).
    pub interval: Duration,
    /// MAXPACKET: CoDel does nothing while at most this many bytes wait (§5.4).
    pub mtu: Bytes,
    /// Action on a chosen packet. Marking is not in the RFC; a mark replaces a drop, as in Linux.
    pub action: Action,
    /// Waiting time above which every ECN-capable packet is marked, independently of CoDel (Linux, `ce_threshold`).
    pub ce_threshold: Option<Duration>,
}

impl Default for Config {
    /// Parameters of RFC 8289 §4.3 and §4.4.
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            mtu: Bytes(1_500),
            action: Action::Drop,
            ce_threshold: None,
        }
    }
}

/// CoDel marker of one port: drops or marks packets, depending on their waiting times.
#[derive(Clone, Debug)]
pub struct Codel {
    config: Config,
    queues: Box<[DropState]>,
}

/// State of a queue (RFC 8289 §5.3).
#[derive(Clone, Copy, Debug, Default)]
struct DropState {
    /// `first_above_time` of the RFC: time at which the waiting time will have been above the target for a whole INTERVAL.
    first_above: Option<Instant>,
    /// Time of the next drop.
    drop_next: Instant,
    /// Number of drops, from which the control law computes the time of the next drop. The number starts at 1 when CoDel enters the
    /// dropping state. If the previous dropping state ended recently, the number starts at the drops after the first one in that state.
    count: u32,
    /// Value of `count` when CoDel last entered the dropping state.
    last_count: u32,
    dropping: bool,
    /// Whether CoDel dropped the last packet because `drop_next` had come. If the next packet has also waited too long, CoDel first
    /// advances `drop_next`.
    moves_on: bool,
}

impl Codel {
    /// Creates a marker at a port with this many `queues`.
    pub fn new(config: &Config, queues: usize) -> Self {
        Self { config: config.clone(), queues: vec![DropState::default(); queues].into() }
    }

    /// Returns whether the waiting time has exceeded the target for an interval (RFC 8289 §5.6, `dodequeue`).
    fn is_late(config: &Config, state: &mut DropState, now: Instant, port: &PortView<'_>) -> bool {
        if port.sojourn < config.target || port.queue_backlog() <= config.mtu {
            state.first_above = None;
            return false;
        }
        match state.first_above {
            None => {
                state.first_above = Some(now + config.interval);
                false
            }
            Some(first_above) => now >= first_above,
        }
    }

    /// Returns whether to drop or mark this packet (RFC 8289 §5.5, `deque`).
    fn takes(config: &Config, state: &mut DropState, now: Instant, port: &PortView<'_>) -> bool {
        let late = Self::is_late(config, state, now, port);
        let moves_on = std::mem::take(&mut state.moves_on);
        if !late {
            state.dropping = false;
            return false;
        }
        if !state.dropping {
            state.dropping = true;
            // RFC 8289 §5.5: "If min went above target close to when we last went below it, assume that the drop rate that controlled the
            // queue on the last cycle is a good starting point".
            let delta = state.count - state.last_count;
            let recent = now.saturating_since(state.drop_next) < config.interval * 16;
            state.count = if delta > 1 && recent { delta } else { 1 };
            state.drop_next = now + spacing(config, state.count);
            state.last_count = state.count;
            return true;
        }
        if moves_on {
            state.drop_next = state.drop_next + spacing(config, state.count);
        }
        if now < state.drop_next {
            return false;
        }
        state.count += 1;
        match config.action {
            // Like the RFC's loop, CoDel examines the next packet before it advances the schedule.
            Action::Drop => state.moves_on = true,
            Action::Mark => state.drop_next = state.drop_next + spacing(config, state.count),
        }
        true
    }
}

/// Returns the time to the next drop by the control law: INTERVAL/√count (RFC 8289 §5.5), in whole picoseconds.
fn spacing(config: &Config, count: u32) -> Duration {
    Duration((config.interval.0 as f64 / f64::from(count).sqrt()) as u64)
}

impl Aqm for Codel {
    fn hears(&self) -> Hears {
        Hears::DEQUEUES
    }

    fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        let late = self.config.ce_threshold.is_some_and(|threshold| port.sojourn > threshold);
        let signal = Verdict::mark_if(late && header.ecn() != Ecn::NotEct);
        if Self::takes(&self.config, &mut self.queues[port.queue], now, port) {
            signal.and(self.config.action.verdict())
        } else {
            signal
        }
    }

    fn observe(&self, _port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
        for (queue, state) in self.queues.iter().enumerate() {
            let count = if state.dropping { state.count } else { 0 };
            tell(Reading { quantity: "codel_count", queue: Some(queue), value: f64::from(count) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Seen;
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn ms(ms: u64) -> Instant {
        Instant::ZERO + MS * ms
    }

    /// Dequeues at `now` a packet that waited for `wait`, while `backlog` bytes still wait.
    fn leave(codel: &mut Codel, now: Instant, wait: Duration, backlog: u64) -> Verdict {
        let seen = Seen { sojourn: wait, ..Seen::queue(backlog) };
        codel.on_dequeue(now, &Header::default().with_size(1_500).with_ecn(Ecn::Ect), &seen.view())
    }

    fn codel(action: Action) -> Codel {
        Codel::new(&Config { action, ..Config::default() }, 1)
    }

    /// Dequeues a packet every ms from `from` to `to`, each after the same wait. Returns the departure times in ms of the packets that
    /// are dropped or marked.
    fn victims(codel: &mut Codel, from: u64, to: u64, wait: Duration) -> Vec<u64> {
        (from..to).filter(|&t| leave(codel, ms(t), wait, 60_000) != Verdict::PASS).collect()
    }

    #[test]
    fn victims_follow_the_control_law() {
        // Above the target from t = 0: the first at 100 ms, then 100/√1 later, 100/√2 = 70.7, 100/√3 = 57.7, 50, 44.7:
        // 200, 270.7, 328.4, 378.4, 423.2. Each drop hits the first packet that leaves at or after that time.
        for action in [Action::Drop, Action::Mark] {
            let mut codel = codel(action);
            let expected = [100, 200, 271, 329, 379, 424];
            assert_eq!(victims(&mut codel, 0, 460, MS * 6), expected, "{action:?}");
            let mut told = vec![];
            codel.observe(&Seen::queue(0).view(), &mut |reading| {
                told.push((reading.quantity, reading.queue, reading.value));
            });
            assert_eq!(told, [("codel_count", Some(0), 6.0)]);
        }
        assert_eq!(leave(&mut codel(Action::Drop), ms(0), MS * 6, 60_000), Verdict::PASS);
        for (action, verdict) in [(Action::Drop, Verdict::DROP), (Action::Mark, Verdict::MARK)] {
            let mut codel = codel(action);
            leave(&mut codel, ms(0), MS * 6, 60_000);
            assert_eq!(leave(&mut codel, ms(100), MS * 6, 60_000), verdict);
        }
    }

    #[test]
    fn a_wait_below_the_target_or_a_single_packet_starts_the_clock_anew() {
        for (wait, backlog, calms) in [
            (MS * 5, 60_000, false),
            (Duration(MS.0 * 5 - 1), 60_000, true),
            (MS * 6, 1_500, true),
            (MS * 6, 1_501, false),
        ] {
            let mut codel = codel(Action::Drop);
            leave(&mut codel, ms(0), MS * 6, 60_000);
            leave(&mut codel, ms(50), wait, backlog);
            assert_eq!(leave(&mut codel, ms(99), MS * 6, 60_000), Verdict::PASS);
            let verdict = leave(&mut codel, ms(100), MS * 6, 60_000);
            assert_eq!(verdict == Verdict::PASS, calms, "{wait} {backlog}");
        }
    }

    #[test]
    fn it_leaves_the_dropping_state_at_the_first_packet_that_is_in_time() {
        let mut codel = codel(Action::Drop);
        assert_eq!(victims(&mut codel, 0, 150, MS * 6), [100]);
        leave(&mut codel, ms(150), MS, 60_000);
        codel.observe(&Seen::queue(0).view(), &mut |reading| assert_eq!(reading.value, 0.0));
        // The waiting time must stay above the target for another interval.
        assert_eq!(victims(&mut codel, 151, 330, MS * 6), [251], "count was 1: it starts at 1 again");
    }

    #[test]
    fn soon_after_it_starts_where_it_was() {
        // Five drops by 379 ms. When CoDel enters the dropping state again, delta = 5 − 1 = 4, so the next drop is 100/√4 = 50 ms later.
        for (pause, second) in [(0, 50), (1_522, 50), (1_523, 100)] {
            let mut codel = codel(Action::Drop);
            assert_eq!(victims(&mut codel, 0, 400, MS * 6), [100, 200, 271, 329, 379]);
            leave(&mut codel, ms(400), MS, 60_000);
            // drop_next was 378.4 + 44.7 = 423.2 ms; "recent" is less than 1,600 ms after that: 2,023 ms is recent, 2,024 ms is not.
            let from = 401 + pause;
            let again = victims(&mut codel, from, from + 210, MS * 6);
            assert_eq!(again[..2], [from + 100, from + 100 + second], "{pause}");
        }
    }

    #[test]
    fn recent_is_less_than_sixteen_intervals() {
        // RFC 8289 §5.5: now − drop_next < 16 · INTERVAL. Packets wait too long for an interval, then CoDel enters the dropping state
        // again, with delta = 4. The next drop follows 100/√4 ms later, or 100 ms later if the previous dropping state ended too long
        // ago.
        for (entered, next) in [(1_599, 1_649), (1_600, 1_700)] {
            let mut codel = codel(Action::Drop);
            codel.queues[0] = DropState { drop_next: ms(0), count: 5, last_count: 1, ..DropState::default() };
            leave(&mut codel, ms(entered - 100), MS * 6, 60_000);
            assert_eq!(leave(&mut codel, ms(entered), MS * 6, 60_000), Verdict::DROP);
            assert_eq!(codel.queues[0].drop_next, ms(next), "{entered}");
        }
    }

    #[test]
    fn after_one_drop_too_few_a_new_start_is_slow() {
        // Two drops: delta = 2 − 1 = 1, which is not more than one.
        let mut codel = codel(Action::Drop);
        assert_eq!(victims(&mut codel, 0, 210, MS * 6), [100, 200]);
        leave(&mut codel, ms(210), MS, 60_000);
        assert_eq!(victims(&mut codel, 211, 420, MS * 6), [311, 411]);
    }

    #[test]
    fn drops_that_fell_due_together_happen_together() {
        // No packet leaves between 100 ms and 280 ms, so the drops scheduled for 200 and 270.7 ms are both due then, as in the RFC's
        // loop.
        let mut codel = codel(Action::Drop);
        assert_eq!(victims(&mut codel, 0, 101, MS * 6), [100]);
        let verdicts = [(); 4].map(|()| leave(&mut codel, ms(280), MS * 6, 60_000));
        assert_eq!(verdicts, [Verdict::DROP, Verdict::DROP, Verdict::PASS, Verdict::PASS]);
        assert_eq!(victims(&mut codel, 281, 340, MS * 6), [329], "270.7 + 57.7");
        // If the packet after a drop did not wait too long, the schedule does not advance.
        let mut codel = Codel::new(&Config::default(), 1);
        victims(&mut codel, 0, 101, MS * 6);
        assert_eq!(leave(&mut codel, ms(200), MS * 6, 60_000), Verdict::DROP);
        let before = codel.queues[0].drop_next;
        assert_eq!(leave(&mut codel, ms(200), MS, 60_000), Verdict::PASS);
        assert_eq!((codel.queues[0].drop_next, codel.queues[0].dropping), (before, false));
    }

    #[test]
    fn the_ce_threshold_marks_what_is_ecn_capable_and_only_that() {
        let config = Config { ce_threshold: Some(MS), ..Config::default() };
        for (wait, ecn, expected) in [
            (MS, Ecn::Ect, Verdict::PASS),
            (Duration(MS.0 + 1), Ecn::Ect, Verdict::MARK),
            (Duration(MS.0 + 1), Ecn::Ce, Verdict::MARK),
            (Duration(MS.0 + 1), Ecn::NotEct, Verdict::PASS),
        ] {
            let seen = Seen { sojourn: wait, ..Seen::queue(60_000) };
            let packet = Header::default().with_ecn(ecn);
            assert_eq!(Codel::new(&config, 1).on_dequeue(ms(0), &packet, &seen.view()), expected);
        }
        let mut codel = Codel::new(&config, 1);
        leave(&mut codel, ms(0), MS * 6, 60_000);
        let both = leave(&mut codel, ms(100), MS * 6, 60_000);
        assert!(both.marks() && both.drops());
    }

    #[test]
    fn queues_have_states_of_their_own() {
        let mut codel = Codel::new(&Config::default(), 2);
        leave(&mut codel, ms(0), MS * 6, 60_000);
        let mut seen = Seen { sojourn: MS * 6, ..Seen::queue(60_000) };
        (seen.queues, seen.queue) = (vec![seen.queues[0].clone(); 2], 1);
        assert_eq!(codel.on_dequeue(ms(100), &Header::default(), &seen.view()), Verdict::PASS);
        assert_eq!(leave(&mut codel, ms(100), MS * 6, 60_000), Verdict::DROP);
    }
}
