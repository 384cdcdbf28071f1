//! The switch at work: frames from interfaces into the fabric, and out of it, in time.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use shallows_core::packet::HostId;
use shallows_core::{Duration, Instant};

use crate::fabric::Fabric;
use crate::health::Health;
use crate::hosts::Hosts;
use crate::mapping::Plan;
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

/// Which host's interface is gone, if one is.
#[derive(Debug, Default)]
pub struct Gone(AtomicU32);

impl Gone {
    const NONE: u32 = 0;

    /// Whether all are there.
    ///
    /// # Errors
    ///
    /// If one is not; it names the first host.
    pub fn check(&self) -> io::Result<()> {
        match self.0.load(Ordering::Relaxed) {
            Self::NONE => Ok(()),
            number => Err(io::Error::other(format!("the interface of host {} is gone, or down", number - 1))),
        }
    }

    fn note(&self, host: HostId) {
        // Only the first is noted.
        let _ = self.0.compare_exchange(Self::NONE, host.0 + 1, Ordering::Relaxed, Ordering::Relaxed);
    }
}

impl<'a> Switch<'a> {
    /// That of these hosts, in whose network this thread is.
    ///
    /// # Errors
    ///
    /// If this process may not, or the kernel has no room.
    pub fn open(hosts: &'a Hosts, plan: &Plan) -> io::Result<Self> {
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
        let (end, gone) = (AtomicBool::new(false), Gone::default());
        let mut health = Health::default();
        let Self { packets, interfaces, processor } = self;
        let mut carrier =
            Carrier { fabric, packets, interfaces, clock, health: &mut health, watch, gone: &gone };
        let done = thread::scope(|scope| {
            let carrier = scope.spawn(|| {
                machine::hurry(Who::Network);
                if let Some(switch) = processor {
                    machine::stay_on(*switch);
                }
                carrier.carry(&end);
            });
            let done = work(&gone);
            end.store(true, Ordering::Relaxed);
            carrier.join().expect("what a switch does cannot fail");
            done
        })?;
        Ok((done, health))
    }
}

/// What carries frames between interfaces and the network.
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
