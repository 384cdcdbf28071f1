//! Inspection of a port, and checks of its conservation laws. No function in this file runs on the path of a packet.

use shallows_core::Duration;

use super::{Port, Queues};
use crate::aqm::Aqm;
use crate::buffer::SharedBuffer;
use crate::discipline::{Discipline, with_discipline};
use crate::queue::Reading;

impl<T: Copy + Default> Port<T> {
    /// Calls `tell` with every quantity in a trace of this port: its backlog, the backlog of each queue, and the state of its discipline
    /// and markers.
    pub fn observe(&mut self, buffer: &SharedBuffer, mut tell: impl FnMut(Reading)) {
        let Self { edge, queues } = self;
        tell(Reading { quantity: "backlog_bytes", queue: None, value: edge.total.backlog.0 as f64 });
        if let Queues::Elaborate(elaborate) = queues {
            let queues = with_discipline!(&elaborate.discipline, own => own.queues());
            for (queue, state) in queues.iter().enumerate().filter(|_| queues.len() > 1) {
                let value = state.backlog.0 as f64;
                tell(Reading { quantity: "backlog_bytes", queue: Some(queue), value });
            }
            with_discipline!(&elaborate.discipline, own => own.observe(&mut tell));
        }
        for queue in 0..queues.states().map_or(1, <[_]>::len) {
            if let Some(threshold) = buffer.threshold(self.edge.account + queue) {
                let (quantity, value) = ("buffer_threshold_bytes", threshold.0 as f64);
                tell(Reading { quantity, queue: Some(queue), value });
            }
        }
        let (markers, view) = self.edge.markers_and_view(self.queues.states(), 0, Duration::ZERO, buffer);
        tell(Reading { quantity: "pool_bytes", queue: None, value: view.pool().used.0 as f64 });
        for installed in markers {
            installed.marker().observe(&view, &mut tell);
        }
    }

    /// Checks the conservation laws of the counters.
    ///
    /// # Panics
    ///
    /// Panics if a law is violated, which is a defect of this program.
    pub fn audit(&self, buffer: &SharedBuffer) {
        let counters = self.counters();
        let total = &self.edge.total;
        let queues = self.queues.states().unwrap_or(std::slice::from_ref(total));
        let packets = |queue: usize| u64::from(queues[queue].packets);
        assert_eq!(
            counters.received,
            counters.sent + counters.dropped_total() + (0..queues.len()).map(packets).sum::<u64>(),
            "received = sent + dropped + queued"
        );
        assert_eq!(
            total.backlog.0,
            queues.iter().map(|queue| queue.backlog.0).sum::<u64>(),
            "the backlog of the port is that of its queues"
        );
        for (queue, own) in self.queue_counters().iter().enumerate() {
            assert_eq!(
                own.enqueued(),
                own.dequeued() + packets(queue),
                "queue {queue}: enqueued = dequeued + queued"
            );
            let (held, account) = (&queues[queue], buffer.queue(self.edge.account + queue));
            assert_eq!(
                held.packets, account.packets,
                "port and buffer count the same packets of queue {queue}"
            );
            // Without cells, the lower and the upper bound on the occupied memory both equal the backlog.
            let least = buffer.occupied(held.backlog);
            let most = buffer.most_occupied(held.backlog, held.packets);
            assert!(
                least <= account.backlog() && account.backlog() <= most,
                "port and buffer count the same bytes of queue {queue}: {} of packets occupy {}",
                held.backlog,
                account.backlog()
            );
        }
    }
}
