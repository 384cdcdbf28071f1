//! What leaves a connection at once: bursts, paced or not, and what holds the next one back.

use shallows_core::{Bytes, Instant};
use shallows_scenario::Offloads;
use shallows_transport::{Backlog, Config, Pacer, PacingRate, Sender, SmallQueue};

/// How connections hand over to their card what they may send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Handover {
    /// Whether anything can hold a segment back that may go. Where nothing can, this is all that is asked of it.
    pub(crate) holds: bool,
    offloads: Offloads,
    /// What holds connections back whose data waits in their host, if something does.
    backpressure: Option<SmallQueue>,
}

/// How far one connection is with it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Departing {
    /// Bytes of data packets that wait in its host's card; counted where that holds connections back.
    pub(crate) queued: Bytes,
    /// Segments that are left of the burst that has begun.
    left: u32,
    /// Its next burst waits for its time.
    waits: bool,
    pacer: Pacer,
}

impl Handover {
    /// As hosts of this kind hand over what connections with this `config` send.
    pub(crate) fn new(offloads: Offloads, backpressure: Option<SmallQueue>, config: &Config) -> Self {
        let offloads = Offloads { paced: offloads.paced || config.congestion.sets_rate(), ..offloads };
        let mut handover = Self { holds: false, offloads, backpressure };
        handover.holds = backpressure.is_some() || handover.shapes();
        handover
    }

    /// Whether the times of segments are chosen.
    pub(crate) fn paces(&self) -> bool {
        self.offloads.paced
    }

    /// Whether connections hand over anything else than one segment after the other as soon as they may.
    #[inline]
    fn shapes(&self) -> bool {
        self.offloads.tso.is_some() || self.offloads.paced
    }

    /// Whether too much of a connection waits in its host's card.
    #[inline]
    fn is_full(&self, config: &Config, sender: &Sender, queued: Bytes) -> bool {
        let Some(queue) = &self.backpressure else { return false };
        match &self.offloads.tso {
            None => queue.is_full(sender.pacing_rate(), queued),
            Some(tso) => {
                let rate = sender.pacing_rate();
                let segments = tso.size(config, rate).0 / config.mss.0;
                queue.is_full_of(queue.packet * segments, rate, queued)
            }
        }
    }

    /// Whether the next segment of a connection may go, as far as its host is concerned.
    #[inline]
    pub(crate) fn lets_go(&self, config: &Config, sender: &Sender, of: &mut Departing, now: Instant) -> bool {
        if self.shapes() {
            return of.left > 0 || self.begins(config, sender, of, now);
        }
        !self.is_full(config, sender, of.queued)
    }

    /// A segment goes, of so many bytes on the wire, with `len` of data.
    #[inline]
    pub(crate) fn on_send(&self, sender: &Sender, of: &mut Departing, size: Bytes, len: Bytes) {
        if self.backpressure.is_some() && len > Bytes(0) {
            of.queued += size;
        }
        if self.shapes() {
            of.on_send(sender.pacing_rate(), len);
        }
    }

    /// Nothing more goes now. Returns when the next burst may, if it waits for its time.
    #[inline]
    pub(crate) fn rest(&self, config: &Config, sender: &mut Sender, of: &mut Departing) -> Option<Instant> {
        if self.backpressure.is_some() {
            let held = self.is_full(config, sender, of.queued);
            sender.hold(config, held);
        }
        if self.shapes() { of.rest() } else { None }
    }

    /// Begin the next burst of a connection, if it may.
    #[inline(never)]
    fn begins(&self, config: &Config, sender: &Sender, of: &mut Departing, now: Instant) -> bool {
        let backlog = sender.backlog();
        let is_spent = |backlog: Backlog| backlog.sendable == Bytes(0) && backlog.in_flight > Bytes(0);
        let has_nothing = sender.is_idle() || backlog.is_some_and(is_spent);
        if has_nothing || self.is_full(config, sender, of.queued) {
            return false;
        }
        let segments = self.offloads.tso.map_or(1, |tso| tso.next(config, sender.pacing_rate(), backlog));
        if segments > 0 && self.offloads.paced {
            of.waits = of.pacer.next() > now;
            if of.waits {
                return false;
            }
            of.pacer.begin(now);
        }
        of.left = segments;
        segments > 0
    }
}

impl Departing {
    /// A segment goes, with `len` bytes of data; of a connection that [`Handover::shapes`].
    #[inline(never)]
    fn on_send(&mut self, rate: Option<PacingRate>, len: Bytes) {
        self.left = self.left.saturating_sub(1);
        if len > Bytes(0) {
            self.pacer.on_send(rate, len);
        }
    }

    /// Nothing more goes now. Returns when the next burst may, if it waits for its time.
    #[inline]
    fn rest(&mut self) -> Option<Instant> {
        self.left = 0;
        std::mem::take(&mut self.waits).then(|| self.pacer.next())
    }
}
