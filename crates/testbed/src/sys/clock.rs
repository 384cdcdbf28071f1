//! The time of a run, on the clock of the machine.

use shallows_core::{Duration, Instant};

/// The time since an origin, which is time zero of a network.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Nanoseconds of the monotonic clock.
    origin: u64,
}

impl Clock {
    /// A clock that shows zero so much later than now.
    pub fn starting_in(lead: Duration) -> Self {
        Self { origin: read(libc::CLOCK_MONOTONIC) + lead.0 / 1_000 }
    }

    /// The time; zero before the origin.
    pub fn now(&self) -> Instant {
        self.at(read(libc::CLOCK_MONOTONIC))
    }

    /// How long it is until the origin.
    pub fn until_origin(&self) -> Duration {
        Duration::from_nanos(self.origin.saturating_sub(read(libc::CLOCK_MONOTONIC)))
    }

    /// The time of an event that the kernel has stamped with nanoseconds of the clock of the day; `offset` is from [`offset`].
    pub fn of_stamp(&self, realtime: u64, offset: i64) -> Instant {
        self.at(realtime.saturating_add_signed(-offset))
    }

    fn at(&self, monotonic: u64) -> Instant {
        Instant(monotonic.saturating_sub(self.origin) * 1_000)
    }
}

/// How far the clock of the day is ahead of the monotonic one, in nanoseconds. It changes when somebody sets the former.
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
