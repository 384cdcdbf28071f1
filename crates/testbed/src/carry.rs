//! Switch of the testbed: carries frames from the interfaces of hosts into the fabric and back, at the right times.

use std::io;
use std::os::fd::AsFd;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use shallows_core::packet::HostId;
use shallows_core::{Duration, Instant};

use crate::fabric::Fabric;
use crate::health::Health;
use crate::hosts::HostNamespaces;
use crate::mapping::LinuxPlan;
use crate::sys::clock::{self, Clock};
use crate::sys::machine::{self, Who};
use crate::sys::packets::{BATCH, Packets};
use crate::sys::poll;

/// Switch of the testbed: its interfaces to the hosts, and the ring of frames that arrive on them.
#[derive(Debug)]
pub struct Switch<'a> {
    packets: Packets,
    /// Number of the switch's interface to each host.
    interfaces: &'a [u32],
    /// Mask of the processor reserved for the switch, if the machine has several processors.
    processor: Option<u32>,
}

/// Failed parts of the testbed: a host's interface, or the thread that carries frames.
#[derive(Debug, Default)]
pub struct Gone {
    interface: AtomicU32,
    carrier: AtomicBool,
}

impl Gone {
    const NONE: u32 = 0;

    /// Checks that all interfaces are up, and that the thread that carries frames is running.
    ///
    /// # Errors
    ///
    /// If an interface is down or gone (the error names the first such host), or the thread that carries frames has stopped.
    pub fn check(&self) -> io::Result<()> {
        self.check_carrier()?;
        match self.interface.load(Ordering::Relaxed) {
            Self::NONE => Ok(()),
            number => {
                Err(io::Error::other(format!("the interface of host {} was removed or set down", number - 1)))
            }
        }
    }

    /// Checks that the thread that carries frames is running.
    ///
    /// # Errors
    ///
    /// If that thread has panicked.
    pub fn check_carrier(&self) -> io::Result<()> {
        let is_gone = self.carrier.load(Ordering::Relaxed);
        if is_gone { Err(io::Error::other("the switch has stopped")) } else { Ok(()) }
    }

    fn note(&self, host: HostId) {
        // Only the first host is recorded.
        let (new, order) = (host.0 + 1, Ordering::Relaxed);
        let _ = self.interface.compare_exchange(Self::NONE, new, order, order);
    }
}

impl<'a> Switch<'a> {
    /// Opens the switch that connects these hosts. The calling thread must be in the switch's network.
    ///
    /// # Errors
    ///
    /// If the process lacks the necessary rights, or the kernel lacks memory.
    pub fn open(hosts: &'a HostNamespaces, plan: &LinuxPlan) -> io::Result<Self> {
        Ok(Self {
            packets: Packets::open(plan.mtu.0 as usize)?,
            interfaces: &hosts.interfaces,
            processor: machine::switch_and_hosts().map(|(switch, _)| switch),
        })
    }

    /// Carries frames through `fabric` in a separate thread while `work` runs in the calling thread. `watch` is called from time to time
    /// with the network time, the fabric, and the health of the run. Returns the result of `work` and the health.
    ///
    /// # Errors
    ///
    /// The error of `work`.
    ///
    /// # Panics
    ///
    /// If the thread that carries frames panics, which is a defect of this program.
    pub fn carry<T>(
        &mut self,
        fabric: &mut Fabric,
        clock: Clock,
        watch: &mut (dyn FnMut(Instant, &Fabric, &Health) + Send),
        work: impl FnOnce(&Gone) -> io::Result<T>,
    ) -> io::Result<(T, Health)> {
        let gone = Gone::default();
        let mut health = Health::default();
        let Self { packets, interfaces, processor } = self;
        let mut carrier =
            Carrier { fabric, packets, interfaces, clock, health: &mut health, watch, gone: &gone };
        let carry = |end: &AtomicBool| {
            machine::hurry(Who::Network);
            if let Some(switch) = processor {
                machine::stay_on(*switch);
            }
            carrier.carry(end);
        };
        let done = beside(carry, &gone, work)?;
        Ok((done, health))
    }
}

/// Runs `work` in the calling thread and `carry` in another thread. When `work` ends, sets the flag that is the argument of `carry`. If one
/// thread panics, the other thread is notified and ends, and then this function panics as well.
fn beside<T>(carry: impl FnOnce(&AtomicBool) + Send, gone: &Gone, work: impl FnOnce(&Gone) -> T) -> T {
    /// Guard that sets a flag when it is dropped, even during a panic.
    struct Ending<'a>(&'a AtomicBool);

    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    let end = AtomicBool::new(false);
    thread::scope(|scope| {
        let carrier = scope.spawn(|| {
            let _alarm = Ending(&gone.carrier);
            carry(&end);
        });
        let ending = Ending(&end);
        let done = work(gone);
        drop(ending);
        carrier.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        done
    })
}

/// State of the thread that carries frames.
struct Carrier<'a> {
    fabric: &'a mut Fabric,
    packets: &'a mut Packets,
    interfaces: &'a [u32],
    /// Clock of network time.
    clock: Clock,
    /// Measured lateness and losses.
    health: &'a mut Health,
    watch: &'a mut (dyn FnMut(Instant, &Fabric, &Health) + Send),
    gone: &'a Gone,
}

/// Longest wait for frames before the thread checks whether the run has ended.
const IDLE: Duration = Duration::from_millis(2);
/// Time for which the thread spins before a frame is due, instead of sleeping, because a wake-up takes time.
const SPIN: Duration = Duration::from_micros(10);
/// Number of frames taken between two readings of the clock.
const TAKEN: usize = 64;
/// Time between two calls of `watch`.
const SHOW: Duration = Duration::from_millis(200);

impl Carrier<'_> {
    /// Carries frames until `end` is set.
    fn carry(&mut self, end: &AtomicBool) {
        let mut shown = Instant::ZERO;
        while !end.load(Ordering::Relaxed) {
            let now = self.clock.now();
            let known = self.take(now);
            self.fabric.advance(known);
            self.hand_over();
            if self.clock.real_since(shown, now) >= SHOW {
                shown = now;
                self.health.overruns += self.packets.overruns();
                (self.watch)(now, self.fabric, self.health);
            }
            if known == now {
                self.wait();
            }
        }
        self.health.overruns += self.packets.overruns();
    }

    /// Takes frames from the ring. Returns the time up to which all frames have been taken. If the ring may have more frames, this is the
    /// time of the last frame taken, because frames are in order of time; otherwise it is the current time.
    fn take(&mut self, now: Instant) -> Instant {
        let offset = clock::offset();
        let mut last = Instant::ZERO;
        for _ in 0..TAKEN {
            let came = self.packets.receive(|frame| {
                let came = self.clock.of_stamp(frame.stamp, offset).min(now);
                self.health.pickup.record(self.clock.real_since(came, now));
                self.health.foreign += u64::from(!self.fabric.enter(came, frame.bytes));
                came
            });
            match came {
                Some(came) => last = came,
                None => return now,
            }
        }
        last
    }

    fn hand_over(&mut self) {
        let leaving: Vec<_> = self.fabric.leaving().to_vec();
        for batch in leaving.chunks(BATCH) {
            let frames = batch.iter().map(|delivery| {
                let host = delivery.header.destination().0 as usize;
                (self.interfaces[host], self.fabric.frame(delivery))
            });
            let sent = self.packets.send(frames);
            self.health.refused += (batch.len() - sent.count) as u64;
            if let Some(place) = sent.gone {
                self.gone.note(batch[place].header.destination());
                self.health.incomplete = self.gone.check().err().map(|error| error.to_string());
            }
            let now = self.clock.now();
            for delivery in batch {
                self.health.lateness.record(self.clock.real_since(delivery.due, now));
            }
        }
        self.fabric.let_go();
    }

    /// Waits until shortly before the next frame is due at a host, but at most for [`IDLE`] and for the shortest time in which a new frame
    /// can cross the network. In an empty network, waits until a frame arrives, but at most for [`IDLE`].
    fn wait(&mut self) {
        let Some(wake) = self.fabric.wake_at() else {
            poll::readable(self.packets.as_fd(), IDLE);
            return;
        };
        let now = self.clock.now();
        // A frame that arrives during the wait may stay in the ring for as long as the fastest frame takes to cross the network.
        let heard = now + self.fabric.crossing();
        // With dilation, the wait may be long. It is limited, so that the thread can check for the end of the run.
        let wait = self.clock.real_since(now, wake.min(heard)).min(IDLE);
        if wait > SPIN {
            poll::sleep(wait - SPIN);
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// Runs `beside` with these functions and returns the message of its panic. Hangs if one thread continues without the other.
    fn panic_of(
        carry: impl FnOnce(&AtomicBool) + Send,
        work: impl FnOnce(&Gone) -> io::Result<()>,
    ) -> String {
        let caught = catch_unwind(AssertUnwindSafe(|| beside(carry, &Gone::default(), work)));
        (*caught.unwrap_err().downcast::<&str>().unwrap()).to_owned()
    }

    fn until_the_end(end: &AtomicBool) {
        while !end.load(Ordering::Relaxed) {
            thread::yield_now();
        }
    }

    #[test]
    fn work_that_panics_ends_the_carrier() {
        assert_eq!(panic_of(until_the_end, |_| panic!("of the work")), "of the work");
    }

    #[test]
    fn a_carrier_that_panics_ends_the_work() {
        let work = |gone: &Gone| {
            while gone.check().is_ok() {
                thread::yield_now();
            }
            gone.check()
        };
        assert_eq!(panic_of(|_| panic!("of the carrier"), work), "of the carrier");
    }

    #[test]
    fn without_a_panic_the_work_is_done_and_nothing_is_gone() {
        let gone = Gone::default();
        assert_eq!(beside(until_the_end, &gone, |gone| gone.check().map(|()| 7)).unwrap(), 7);
    }
}
