//! Messages of a queue pair after its current flow: messages that the sender has posted, and messages of which packets have reached the
//! receiver.

use shallows_core::Instant;

use crate::hosts::gap::Gap;
use crate::hosts::names::FlowNumber;
use crate::hosts::packet::FlowFraming;

/// Message that was posted after the sender's current flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) flow: u32,
    /// Sequence number of the first byte; `end` is the sequence number after the last byte.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Time at which the message was posted.
    pub(crate) started: Instant,
    /// Number of retransmitted packets of the message.
    pub(crate) retransmits: u32,
    /// Whether every change of the sender is recorded during the flow.
    pub(crate) traced: bool,
}

/// Message for which packets have arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arriving {
    pub(crate) flow: FlowNumber,
    /// Sequence number of the first byte.
    pub(crate) start: u64,
    /// Number of the sender's timeouts during the message: the largest number in the framing of its data that has arrived so far.
    pub(crate) timeouts: u32,
    /// Longest time without an arrival of data from the message, since the message was posted. Data that arrives out of order also counts
    /// as an arrival.
    pub(crate) gap: Gap,
}

impl Arriving {
    /// Creates a message when its first packet arrives.
    pub(crate) fn of(framing: &FlowFraming) -> Self {
        let FlowFraming { flow, timeouts, start, started } = *framing;
        Self { flow, start, timeouts, gap: Gap::from(started) }
    }
}
