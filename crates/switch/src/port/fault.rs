//! Changes of a port's link: it goes down, comes back, or changes its rate. No function in this file runs on the path of a packet.

use shallows_core::{Instant, Rate};

use super::waiting::{Elaborate, Known};
use super::{Port, Queues, edge};
use crate::aqm::Hears;
use crate::buffer::SharedBuffer;
use crate::discipline::{Discipline, with_discipline};

impl<T: Copy + Default> Port<T> {
    /// Records that the link goes down. All waiting packets are dropped: they free their memory, and their payloads are added to `dropped`.
    /// Arriving packets are dropped too, until [`Self::link_up`]. The reason for all these drops is
    /// [`DropReason::LinkDown`](super::DropReason::LinkDown).
    ///
    /// The port keeps no packet until the link comes back. Linux resets the queueing discipline of a device without carrier and drops
    /// packets sent to it (`dev_deactivate` in net/sched/sch_generic.c). Switches drain the queues of a port that is down, because other
    /// ports need the memory. Paused queues are resumed, because no resume frame can arrive over the link.
    pub fn link_down(&mut self, now: Instant, buffer: &mut SharedBuffer, dropped: &mut impl Extend<T>) {
        let Self { edge, queues } = self;
        edge.halted = false;
        edge.is_down = true;
        edge.hears = edge.hears.and(Hears::ARRIVALS);
        match queues {
            Queues::One(queue) => edge.flush(queue, now, buffer, dropped),
            Queues::Elaborate(queues) => {
                let Elaborate { shaper, discipline } = &mut **queues;
                with_discipline!(discipline, discipline => {
                    discipline.resume_all();
                    edge.flush(&mut Known { shaper, discipline }, now, buffer, dropped);
                });
            }
        }
    }

    /// Records that the link works again, at this rate. A packet that was on the wire when the link went down no longer occupies the
    /// link. The driver must therefore ignore any earlier result of [`Self::wake_at`].
    ///
    /// # Panics
    ///
    /// Panics if the rate is zero.
    pub fn link_up(&mut self, now: Instant, rate: Rate) {
        self.edge.is_down = false;
        self.edge.hears = edge::heard_by(&self.edge.markers);
        self.edge.busy_until = now;
        self.set_rate(now, rate);
    }

    /// Changes the rate of the link. The transmission of the packet on the wire continues at the old rate.
    ///
    /// # Panics
    ///
    /// Panics if the rate is zero.
    pub fn set_rate(&mut self, now: Instant, rate: Rate) {
        self.edge.rate = rate;
        self.edge.ps_per_byte = edge::ps_per_byte(rate);
        if let Queues::Elaborate(queues) = &mut self.queues {
            with_discipline!(&mut queues.discipline, own => own.set_rate(now, rate));
        }
    }

    /// Returns whether the link is down.
    pub fn is_down(&self) -> bool {
        self.edge.is_down
    }
}
