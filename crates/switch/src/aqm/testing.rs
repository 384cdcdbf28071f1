//! A [`PortView`] for tests, built from plain values.

use shallows_core::{Bytes, Duration, Instant, Rate};

use super::PortView;
use crate::buffer::{Config, Policy, ReservedRule, SharedBuffer};
use crate::discipline::QueueState;

/// Values from which a test builds a [`PortView`].
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) rate: Rate,
    pub(crate) queue: usize,
    pub(crate) queues: Vec<QueueState>,
    pub(crate) port_backlog: Bytes,
    pub(crate) buffer: SharedBuffer,
    pub(crate) busy_until: Instant,
    pub(crate) sojourn: Duration,
}

impl Seen {
    /// Returns a queue with this backlog at a port of 100 Gbit/s.
    pub(crate) fn queue(backlog: u64) -> Self {
        Self {
            rate: Rate::from_gbps(100),
            queue: 0,
            queues: vec![QueueState { backlog: Bytes(backlog), ..QueueState::default() }],
            port_backlog: Bytes(0),
            buffer: buffer(),
            busy_until: Instant::ZERO,
            sojourn: Duration::ZERO,
        }
    }

    /// Returns an empty queue at a port with this backlog.
    pub(crate) fn port(backlog: u64) -> Self {
        Self { port_backlog: Bytes(backlog), ..Self::queue(0) }
    }

    /// Returns an empty queue that shares a pool of this occupancy.
    pub(crate) fn pool(used: u64) -> Self {
        let mut seen = Self::queue(0);
        seen.hold(used, 1);
        seen
    }

    /// Puts `used` bytes in `packets` packets into the pool.
    pub(crate) fn hold(&mut self, used: u64, packets: u64) {
        for packet in 0..packets {
            let size = used / packets + u64::from(packet < used % packets);
            self.buffer.admit(0, Bytes(size)).expect("the pool is large");
        }
    }

    pub(crate) fn view(&self) -> PortView<'_> {
        PortView {
            rate: self.rate,
            queue: self.queue,
            queues: &self.queues,
            port_backlog: self.port_backlog,
            buffer: &self.buffer,
            account: 0,
            busy_until: self.busy_until,
            sojourn: self.sojourn,
        }
    }
}

/// Returns a buffer with one pool that is too large to fill.
fn buffer() -> SharedBuffer {
    let mut buffer = SharedBuffer::new(&Config {
        policy: Policy::CompleteSharing,
        pools: vec![Bytes(1 << 40)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    buffer.add_queue(0, Bytes(0));
    buffer
}
