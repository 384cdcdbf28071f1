//! Adaptive wait of packets in a receive queue of a NIC (DIM, dynamic interrupt moderation).
//!
//! The algorithm of Linux (lib/dim/net_dim.c, Documentation/networking/net_dim.rst) has five levels of waiting. After every 64 interrupts,
//! the algorithm compares the rates of bytes, packets and interrupts with those of the previous measurement. If the rates are better, it
//! makes another step in the same direction. If they are worse or the same, it turns and makes a step in the other direction. It parks
//! (stays at its level) after at least two steps in one direction and one better step back, or if there is no further level. It leaves this
//! level when the rates change. After ten steps without parking, it rests for ten measurements.
//!
//! More bytes per second are better. If the rates of bytes differ by less than 11 %, more packets per second are better. If the rates of
//! packets also differ by less than 11 %, fewer interrupts per second are better. If all three rates differ by less than 11 %, they count
//! as the same.

use shallows_core::{Bytes, Duration, Instant};

/// Limits on the wait of packets in a receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Longest wait of the first packet.
    pub(crate) time: Duration,
    /// Number of packets that end the wait.
    pub(crate) packets: u32,
}

/// Adaptive moderation of one receive queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moderation {
    level: usize,
    direction: Direction,
    /// Steps up since the algorithm last parked (stopped at a level) or turned upwards; `down` counts the steps down since it last parked
    /// or turned downwards.
    up: u8,
    down: u8,
    /// Steps since the algorithm was last at the optimum. After [`TIRED`] steps, the algorithm rests; the number then falls by one with
    /// each measurement, and the rest ends at zero.
    tired: u8,
    /// Start of the current measurement; `count` has the counts since then.
    since: Instant,
    count: Count,
    /// Rates of the previous measurement.
    before: Rates,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
    /// The level stays at the optimum until a rate changes by 11 % or more.
    OnTop,
    /// The level stays the same for [`TIRED`] measurements after too many steps.
    Resting,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    bytes: u64,
    packets: u64,
    interrupts: u64,
}

/// Bytes, packets and interrupts per second at a receive queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rates {
    bytes: u64,
    packets: u64,
    interrupts: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Better,
    Same,
    Worse,
}

/// Limits of each level (Linux: `NET_DIM_RX_CQE_PROFILES`): time in microseconds, number of packets.
const LEVELS: [(u64, u32); 5] = [(2, 256), (8, 128), (16, 64), (32, 64), (64, 64)];
/// Index of the level at the start (Linux: `NET_DIM_DEF_PROFILE_CQE`).
const FIRST: usize = 1;
/// Number of interrupts in one measurement (Linux: `DIM_NEVENTS`).
const INTERRUPTS: u64 = 64;
const TIRED: u8 = 2 * LEVELS.len() as u8;

impl Default for Moderation {
    fn default() -> Self {
        Self {
            level: FIRST,
            direction: Direction::Up,
            up: 0,
            down: 0,
            tired: 0,
            since: Instant::ZERO,
            count: Count::default(),
            before: Rates::default(),
        }
    }
}

impl Moderation {
    /// Returns the current limits.
    pub(crate) fn limits(&self) -> Limits {
        let (micros, packets) = LEVELS[self.level];
        Limits { time: Duration::from_micros(micros), packets }
    }

    /// Records an interrupt that passed `packets` packets to the host.
    pub(crate) fn on_interrupt(&mut self, now: Instant, packets: u64, bytes: Bytes) {
        self.count.packets += packets;
        self.count.bytes += bytes.0;
        self.count.interrupts += 1;
        if self.count.interrupts >= INTERRUPTS && now > self.since {
            let rates = self.count.rates(now.saturating_since(self.since));
            (self.since, self.count) = (now, Count::default());
            self.decide(rates);
        }
    }

    fn decide(&mut self, rates: Rates) {
        let was = self.direction;
        let verdict = rates.beside(self.before);
        match was {
            Direction::OnTop if verdict != Verdict::Same => self.set_out(),
            Direction::OnTop => {}
            Direction::Resting => {
                self.tired -= 1;
                if self.tired == 0 {
                    self.set_out();
                }
            }
            Direction::Up | Direction::Down => {
                if verdict != Verdict::Better {
                    self.turn();
                }
                if self.is_on_top() {
                    self.park(Direction::OnTop);
                } else {
                    self.step();
                }
            }
        }
        if was != Direction::OnTop || self.direction != Direction::OnTop {
            self.before = rates;
        }
    }

    /// Leaves the level at which the algorithm is parked.
    fn set_out(&mut self) {
        self.direction = if self.level > 0 { Direction::Down } else { Direction::Up };
        self.step();
    }

    fn turn(&mut self) {
        match self.direction {
            Direction::Up => (self.direction, self.down) = (Direction::Down, 0),
            Direction::Down => (self.direction, self.up) = (Direction::Up, 0),
            Direction::OnTop | Direction::Resting => {}
        }
    }

    /// Returns whether the current level is an optimum: the algorithm has made at least two steps in one direction and then one step back.
    /// If the algorithm is parked, returns true.
    fn is_on_top(&self) -> bool {
        match self.direction {
            Direction::Up => self.down > 1 && self.up == 1,
            Direction::Down => self.up > 1 && self.down == 1,
            Direction::OnTop | Direction::Resting => true,
        }
    }

    fn step(&mut self) {
        if self.tired == TIRED {
            return self.park(Direction::Resting);
        }
        match self.direction {
            Direction::Up if self.level + 1 < LEVELS.len() => {
                (self.level, self.up) = (self.level + 1, self.up + 1)
            }
            Direction::Down if self.level > 0 => (self.level, self.down) = (self.level - 1, self.down + 1),
            _ => return self.park(Direction::OnTop),
        }
        self.tired += 1;
    }

    fn park(&mut self, how: Direction) {
        (self.direction, self.up, self.down) = (how, 0, 0);
        if how == Direction::OnTop {
            self.tired = 0;
        }
    }
}

impl Count {
    fn rates(self, time: Duration) -> Rates {
        let rate = |count: u64| {
            (u128::from(count) * u128::from(Duration::from_secs(1).0) / u128::from(time.0)) as u64
        };
        Rates { bytes: rate(self.bytes), packets: rate(self.packets), interrupts: rate(self.interrupts) }
    }
}

impl Rates {
    fn beside(self, before: Self) -> Verdict {
        let more = |now: u64, before: u64| if now > before { Verdict::Better } else { Verdict::Worse };
        if before.bytes == 0 {
            return if self.bytes > 0 { Verdict::Better } else { Verdict::Same };
        }
        // `IS_SIGNIFICANT_DIFF`: more than 10 whole percent, so 11 % or more.
        let differ =
            |now: u64, before: u64| u128::from(now.abs_diff(before)) * 100 >= u128::from(before) * 11;
        if differ(self.bytes, before.bytes) {
            return more(self.bytes, before.bytes);
        }
        if differ(self.packets, before.packets) {
            return more(self.packets, before.packets);
        }
        if differ(self.interrupts, before.interrupts) {
            return more(before.interrupts, self.interrupts);
        }
        Verdict::Same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the level after each measurement, if `packets(level)` packets of 1,500 bytes arrive per microsecond.
    fn levels(rounds: usize, packets: impl Fn(usize) -> u64) -> Vec<usize> {
        let mut moderation = Moderation::default();
        let mut now = Instant::ZERO;
        let mut round = || {
            let level = moderation.level;
            // Interrupts are as rare as the level allows.
            let step = Duration::from_micros(LEVELS[level].0);
            let each = packets(level) * LEVELS[level].0;
            for _ in 0..INTERRUPTS {
                now = now + step;
                moderation.on_interrupt(now, each, Bytes(1_500 * each));
            }
            moderation.level
        };
        (0..rounds).map(|_| round()).collect()
    }

    #[test]
    fn as_long_as_nothing_else_changes_fewer_interrupts_are_better() {
        // The level rises from the second to the last, where the algorithm parks and stays.
        assert_eq!(levels(6, |_| 1_000), [2, 3, 4, 4, 4, 4]);
    }

    #[test]
    fn it_goes_one_level_too_far_and_returns_to_the_best() {
        // Beyond 16 us a fifth of the rate is lost. The algorithm goes two steps up, to 32 us, and one step back down, to the optimum.
        let knee = |level| if level < 3 { 1_000 } else { 800 };
        assert_eq!(levels(6, knee), [2, 3, 2, 2, 2, 2]);
    }

    /// Returns the level after each measurement. The algorithm begins parked at `level`, with previous rates of 1,000 bytes and 1,000
    /// packets per second. In each measurement, `packets(level)` bytes and as many packets arrive per second.
    fn levels_from(level: usize, rounds: usize, packets: impl Fn(usize) -> u64) -> Vec<usize> {
        let rates = |each: u64| Rates { bytes: each, packets: each, interrupts: 1 };
        let mut moderation =
            Moderation { level, direction: Direction::OnTop, before: rates(1_000), ..Moderation::default() };
        let mut round = || {
            moderation.decide(rates(packets(moderation.level)));
            moderation.level
        };
        (0..rounds).map(|_| round()).collect()
    }

    #[test]
    fn downwards_too_it_goes_one_level_too_far_and_returns() {
        // Level 2 is the best. From 4, three steps down and one up; then it parks.
        assert_eq!(levels_from(4, 7, |level| 2_000 - 300 * level.abs_diff(2) as u64), [3, 2, 1, 2, 2, 2, 2]);
    }

    #[test]
    fn one_step_in_the_wrong_direction_is_no_optimum() {
        // Level 4 is the best. From 2, the first step goes down, which is worse, and all others go up.
        assert_eq!(levels_from(2, 5, |level| [400, 500, 700, 1_000, 1_500][level]), [1, 2, 3, 4, 4]);
    }

    #[test]
    fn a_change_by_less_than_11_percent_is_none() {
        let rates = |bytes, packets, interrupts| Rates { bytes, packets, interrupts };
        let before = rates(1_000, 100, 10);
        for (now, verdict) in [
            (rates(1_100, 100, 10), Verdict::Same),
            (rates(1_109, 100, 10), Verdict::Same),
            (rates(1_110, 50, 10), Verdict::Better),
            (rates(891, 100, 10), Verdict::Same),
            (rates(890, 200, 10), Verdict::Worse),
            (rates(1_000, 111, 20), Verdict::Better),
            (rates(1_000, 89, 5), Verdict::Worse),
            (rates(1_000, 100, 12), Verdict::Worse),
            (rates(1_000, 100, 8), Verdict::Better),
        ] {
            assert_eq!(now.beside(before), verdict, "{now:?}");
        }
        assert_eq!(before.beside(Rates::default()), Verdict::Better);
    }

    #[test]
    fn limits_are_those_of_the_level() {
        let limits = Moderation::default().limits();
        assert_eq!(limits, Limits { time: Duration::from_micros(8), packets: 128 });
    }
    #[test]
    fn what_comes_all_at_one_moment_has_no_rate_yet() {
        // All interrupts of a measurement come at one time. The next interrupt, 1 us later, gives the first rate, which counts as better.
        let mut moderation = Moderation::default();
        for _ in 0..INTERRUPTS {
            moderation.on_interrupt(Instant::ZERO, 1, Bytes(1_500));
        }
        assert_eq!(moderation.level, FIRST);
        moderation.on_interrupt(Instant(1_000_000), 1, Bytes(1_500));
        assert_eq!(moderation.level, FIRST + 1);
    }
}
