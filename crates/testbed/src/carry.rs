//! The switch at work: frames from interfaces into the fabric, and out of it, in time.

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

/// The switch's ends of the interfaces of hosts.
#[derive(Debug)]
pub struct Switch<'a> {
    packets: Packets,
    /// Their numbers, by host.
    interfaces: &'a [u32],
    /// A mask of the one that it has to itself, if there are several.
    processor: Option<u32>,
}

/// Parts of the testbed that are gone: a host's interface, or the thread that carries frames.
#[derive(Debug, Default)]
pub struct Gone {
    interface: AtomicU32,
    carrier: AtomicBool,
}

impl Gone {
    const NONE: u32 = 0;

    /// Whether all interfaces are there, and frames are carried.
    ///
    /// # Errors
    ///
    /// If one is not; it names the first host. If nothing carries frames any longer.
    pub fn check(&self) -> io::Result<()> {
        self.check_carrier()?;
        match self.interface.load(Ordering::Relaxed) {
            Self::NONE => Ok(()),
            number => Err(io::Error::other(format!("the interface of host {} is gone, or down", number - 1))),
        }
    }

    /// Whether frames are carried.
    ///
    /// # Errors
    ///
    /// If the thread that does so has panicked.
    pub fn check_carrier(&self) -> io::Result<()> {
        let is_gone = self.carrier.load(Ordering::Relaxed);
        if is_gone { Err(io::Error::other("the switch has stopped")) } else { Ok(()) }
    }

    fn note(&self, host: HostId) {
        // Only the first is noted.
        let (new, order) = (host.0 + 1, Ordering::Relaxed);
        let _ = self.interface.compare_exchange(Self::NONE, new, order, order);
    }
}

impl<'a> Switch<'a> {
    /// That of these hosts, in whose network this thread is.
    ///
    /// # Errors
    ///
    /// If this process may not, or the kernel has no room.
    pub fn open(hosts: &'a HostNamespaces, plan: &LinuxPlan) -> io::Result<Self> {
        Ok(Self {
            packets: Packets::open(plan.mtu.0 as usize)?,
            interfaces: &hosts.interfaces,
            processor: machine::switch_and_hosts().map(|(switch, _)| switch),
        })
    }

    /// Carry frames through `fabric` in a thread of its own while `work` is done in this one; `watch` is shown the network now and
    /// then, with its time and how well it went so far. Returns what the work says, and how well it went.
    ///
    /// # Errors
    ///
    /// What `work` says.
    ///
    /// # Panics
    ///
    /// If the network does, which is a defect of this program.
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

/// Do `work` in this thread while `carry` runs in another, until the flag that it gets is set. Neither goes on without the other:
/// if one panics the other hears of it, and when both have ended this panics likewise.
fn beside<T>(carry: impl FnOnce(&AtomicBool) + Send, gone: &Gone, work: impl FnOnce(&Gone) -> T) -> T {
    /// Sets a flag when it goes, however that comes about.
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

/// Carrier of frames between interfaces and the network.
struct Carrier<'a> {
    fabric: &'a mut Fabric,
    packets: &'a mut Packets,
    interfaces: &'a [u32],
    /// The time of the network.
    clock: Clock,
    /// How well it goes.
    health: &'a mut Health,
    watch: &'a mut (dyn FnMut(Instant, &Fabric, &Health) + Send),
    gone: &'a Gone,
}

/// How long nothing happens at most, until it is looked whether that is the end.
const IDLE: Duration = Duration::from_millis(2);
/// A wake-up takes some time: that much before something is due it is waited for without sleep.
const SPIN: Duration = Duration::from_micros(10);
/// Frames that are taken before the clock is read again.
const TAKEN: usize = 64;
/// Between two showings of the network.
const SHOW: Duration = Duration::from_millis(200);

impl Carrier<'_> {
    /// Carry frames until `end` is set.
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

    /// Take frames that have come. Returns until when all of them are known: with more to come in the ring, until the last one,
    /// as they are in order; else until now.
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
                let host = delivery.header.destination.0 as usize;
                (self.interfaces[host], self.fabric.frame(delivery))
            });
            let sent = self.packets.send(frames);
            self.health.refused += (batch.len() - sent.count) as u64;
            if let Some(place) = sent.gone {
                self.gone.note(batch[place].header.destination);
                self.health.incomplete = self.gone.check().err().map(|error| error.to_string());
            }
            let now = self.clock.now();
            for delivery in batch {
                self.health.lateness.record(self.clock.real_since(delivery.due, now));
            }
        }
        self.fabric.let_go();
    }

    /// Wait until a frame is due at a host, or may come.
    fn wait(&mut self) {
        let Some(wake) = self.fabric.wake_at() else {
            poll::readable(self.packets.as_fd(), IDLE);
            return;
        };
        let now = self.clock.now();
        // What comes meanwhile can wait for as long as it takes to cross the network.
        let heard = now + self.fabric.crossing();
        // In dilated time that may be long: whether it is the end is looked at in between.
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

    /// Returns the panic of `beside`. Each of these tests hangs if one thread goes on without the other.
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
