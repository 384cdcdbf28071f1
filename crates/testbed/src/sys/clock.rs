//! Network time of a run, from the clock of the machine.

use shallows_core::{Duration, Instant};

use crate::dilation::Dilation;

/// Clock that shows the network time since an origin, the time zero of the network.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Origin in nanoseconds of the monotonic clock.
    origin: u64,
    dilation: Dilation,
}

impl Clock {
    /// Returns a clock that shows zero after `lead` of the machine's time.
    pub fn starting_in(lead: Duration, dilation: Dilation) -> Self {
        Self { origin: read(libc::CLOCK_MONOTONIC) + lead.0 / 1_000, dilation }
    }

    /// Returns the machine's time from `then` to `now`; zero if `now` is earlier.
    pub fn real_since(&self, then: Instant, now: Instant) -> Duration {
        self.dilation.real(now.saturating_since(then))
    }

    /// Returns the current network time; zero before the origin.
    pub fn now(&self) -> Instant {
        self.at(read(libc::CLOCK_MONOTONIC))
    }

    /// Returns the machine's time until the origin.
    pub fn until_origin(&self) -> Duration {
        Duration::from_nanos(self.origin.saturating_sub(read(libc::CLOCK_MONOTONIC)))
    }

    /// Returns the network time of an event that the kernel has stamped with nanoseconds of the real-time clock; `offset` is the result of
    /// [`offset()`].
    pub fn of_stamp(&self, realtime: u64, offset: i64) -> Instant {
        self.at(realtime.saturating_add_signed(-offset))
    }

    fn at(&self, monotonic: u64) -> Instant {
        let real = Duration::from_nanos(monotonic.saturating_sub(self.origin));
        Instant::ZERO + self.dilation.network(real)
    }
}

/// Returns the real-time clock minus the monotonic clock, in nanoseconds. The difference changes when the real-time clock is set.
pub fn offset() -> i64 {
    let monotonic = read(libc::CLOCK_MONOTONIC);
    read(libc::CLOCK_REALTIME).wrapping_sub(monotonic).cast_signed()
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dilated_clock_runs_slower_than_the_machine() {
        let clock = Clock { origin: 1_000, dilation: Dilation::try_from(10).unwrap() };
        assert_eq!(clock.at(0), Instant::ZERO, "before its origin it shows zero");
        // 50 us after the origin.
        let now = clock.at(51_000);
        assert_eq!(now, Instant::ZERO + Duration::from_micros(5));
        assert_eq!(clock.of_stamp(51_000 + 700, 700), now);
        assert_eq!(clock.real_since(Instant::ZERO, now), Duration::from_micros(50));
        assert_eq!(clock.real_since(now, Instant::ZERO), Duration::ZERO);
    }
}
