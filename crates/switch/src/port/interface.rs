//! Configuration of a port, and the results that it returns to its driver.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Instant;
use shallows_core::packet::Header;

use crate::aqm::Placed;
use crate::queue::Held;
use crate::{discipline, shaper};

/// Link time that a packet costs if a dequeue marker drops it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EgressDrop {
    /// Its slot stays empty, as in hardware (BCC, footnote 4).
    #[default]
    Slot,
    /// Nothing; the next packet goes at once, as in CoDel.
    Free,
}

/// A packet on its way from the port to the link. In-band telemetry reads the rest at the port: rate, bytes sent, backlog of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Departure<T> {
    /// Its header, marked if a marker said so.
    pub header: Header,
    /// Payload that the driver passed with it.
    pub payload: T,
    /// The link by which it came to the node, and the queue that it leaves.
    pub held: Held,
    /// When its last bit is on the wire.
    pub finish: Instant,
}

/// Fate of an arriving packet.
#[derive(Clone, Copy, Debug)]
pub enum Arrival<T> {
    /// The link was free: it is being sent.
    Sent(Departure<T>),
    /// It waits.
    Queued,
    /// It was dropped.
    Dropped,
}

/// Configuration of a port.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Its queues, and which of them sends next.
    pub discipline: discipline::Config,
    /// Markers, each of which inspects every packet.
    pub markers: Vec<Placed>,
    /// Shaper that keeps the port below the rate of its link, if any.
    pub shaper: Option<shaper::Config>,
    /// Link time that a drop at dequeue costs.
    pub egress_drop: EgressDrop,
}
