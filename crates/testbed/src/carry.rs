//! The switch at work: frames from interfaces into the fabric, and out of it, in time.

use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use shallows_core::Duration;

use crate::fabric::Fabric;
use crate::health::Health;
use crate::sys::clock::{self, Clock};
use crate::sys::packets::{BATCH, Packets};
use crate::sys::poll;

/// How long nothing happens at most, until it is looked whether that is the end.
const IDLE: Duration = Duration::from_millis(2);
/// A wake-up takes some time: that much before something is due it is waited for without sleep.
const SPIN: Duration = Duration::from_micros(10);
/// Frames that are taken before the clock is read again.
const TAKEN: usize = 64;

/// Carry frames through `fabric`, whose time is that of `clock`, until `end` is set.
pub fn carry(
    fabric: &mut Fabric,
    packets: &mut Packets,
    interfaces: &[u32],
    clock: Clock,
    end: &AtomicBool,
    health: &mut Health,
) {
    while !end.load(Ordering::Relaxed) {
        let now = clock.now();
        let offset = clock::offset();
        let mut taken = 0;
        while taken < TAKEN
            && packets
                .receive(|frame| {
                    let came = clock.of_stamp(frame.stamp, offset).min(now);
                    health.pickup.record(came, now);
                    health.foreign += u64::from(!fabric.enter(came, frame.bytes));
                })
                .is_some()
        {
            taken += 1;
        }
        // With more to come in the ring, what has come by now is not all there.
        if taken < TAKEN {
            fabric.advance(now);
        }
        hand_over(fabric, packets, interfaces, clock, health);
        if taken == TAKEN {
            continue;
        }
        let Some(wake) = fabric.wake_at() else {
            poll::readable(packets.as_fd(), IDLE);
            continue;
        };
        // What comes meanwhile can wait for as long as it takes to cross the network.
        let heard = now + fabric.crossing();
        let wait = wake.min(heard).saturating_since(clock.now());
        if wait > SPIN {
            poll::sleep(wait - SPIN);
        } else {
            std::hint::spin_loop();
        }
    }
    health.overruns += packets.overruns();
}

fn hand_over(fabric: &mut Fabric, packets: &Packets, interfaces: &[u32], clock: Clock, health: &mut Health) {
    let leaving: Vec<_> = fabric.leaving().to_vec();
    for batch in leaving.chunks(BATCH) {
        let frames = batch.iter().map(|delivery| {
            let host = delivery.header.destination.0 as usize;
            (interfaces[host], fabric.frame(delivery))
        });
        let sent = packets.send(frames);
        health.refused += (batch.len() - sent) as u64;
        let now = clock.now();
        batch.iter().for_each(|delivery| health.lateness.record(delivery.due, now));
    }
    fabric.let_go();
}
