//! Configuration of a port, and the results that it returns to its driver.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Instant;
use shallows_core::packet::Header;

use crate::aqm::Placed;
use crate::buffer::Memory;
use crate::queue::{Held, Ingress, Item};
use crate::{discipline, shaper};

/// Time on the link that a packet costs if a dequeue marker drops it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EgressDrop {
    /// A dropped packet costs its transmission time, during which the link stays idle, as in hardware (BCC, footnote 4).
    #[default]
    Slot,
    /// A dropped packet costs no time: the next packet starts at once, as in CoDel.
    Free,
}

/// A packet that leaves the port for the link. In-band telemetry reads the rate, the bytes sent and the backlog from the port itself.
#[derive(Clone, Copy, Debug)]
pub struct Departure<T> {
    /// Header of the packet, with the marks set at this port.
    pub header: Header,
    /// The driver's reference to the rest of the packet.
    pub payload: T,
    /// Ingress link by which the packet came to the node, and the memory that held it.
    pub held: Held,
    /// Time at which the packet's last bit is on the wire.
    pub finish: Instant,
}

impl<T: Copy> Departure<T> {
    /// Returns the departure of `item`, whose last bit is on the wire at `finish`.
    #[inline(always)]
    pub(super) fn of(&Item { header, payload, held, .. }: &Item<T>, finish: Instant) -> Self {
        Self { header, payload, held, finish }
    }
}

impl<T> Departure<T> {
    /// Returns the same departure with the payload replaced by `payload(self.payload)`.
    pub fn map<U>(self, payload: impl FnOnce(T) -> U) -> Departure<U> {
        let Self { header, payload: own, held, finish } = self;
        Departure { header, payload: payload(own), held, finish }
    }
}

/// Outcome for an arriving packet.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<T> {
    /// The link was free, and the packet's transmission starts.
    Sent(Departure<T>),
    /// The packet waits.
    Queued,
    /// The packet was dropped.
    Dropped,
}

/// Ingress of a packet into a port, and the memory that is known to have room for it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Ingress link by which the packet came to the node.
    pub ingress: Ingress,
    /// Memory from [`Room::Found`] if the driver has called [`super::Port::room`] immediately before, or the memory that the driver chose.
    pub found: Option<Memory>,
}

impl From<Ingress> for Entry {
    fn from(ingress: Ingress) -> Self {
        Self { ingress, found: None }
    }
}

/// Whether a port is certain to have room for a packet, both now and after other ports release memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The packet finds room in this memory.
    Found(Memory),
    /// The packet finds room, in a memory that depends on the packet's queue.
    Certain,
    /// The packet may or may not find room.
    Uncertain,
}

/// Configuration of a port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Discipline: the queues of the port, and the order of their service.
    pub discipline: discipline::Config,
    /// Markers of the port. Each inspects the packets of the queues that it handles.
    pub markers: Vec<Placed>,
    /// Shaper that keeps the port below the rate of its link, if any.
    pub shaper: Option<shaper::Config>,
    /// Time on the link that a packet costs if a dequeue marker drops it.
    pub egress_drop: EgressDrop,
}
