//! Endpoints of connections: an enum of transports for the sending side ([`Endpoint`]), and one for the receiving side ([`Sink`]).
//!
//! A host passes bytes of flows and acknowledgements to an endpoint, and its NIC pulls packets from it ([`crate::hosts::pulling`],
//! [`crate::hosts::queue_pair`]). Endpoints contain no code for flows or pools of connections, which are the same for all transports.

use std::sync::Arc;

use shallows_core::{Bytes, Instant, Rate};
use shallows_measure::QueuePairCounts;
use shallows_rdma::{Ended, Requester, Responder};
use shallows_transport::{Config, Receiver, Sender};

use crate::hosts::transports::Transport;

/// Transport of a connection's sending side. The TCP sender is not boxed, because each of its segments would need another cache line.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "TCP connections are the common case")]
pub(crate) enum Endpoint {
    /// A TCP sender.
    Tcp(Sender),
    /// The requester of a queue pair.
    QueuePair(Box<Requester>),
}

/// Counts of a connection's sending side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Repairs {
    /// Expiries of the retransmission timer.
    pub(crate) timeouts: u32,
    /// Retransmitted packets.
    pub(crate) retransmits: u32,
}

impl Endpoint {
    /// Creates an endpoint without data. `line_rate` is the rate of the NIC's link.
    pub(super) fn new(transport: &Transport, line_rate: Rate) -> Self {
        match &transport.queue_pairs {
            None => Self::Tcp(Sender::new(&transport.config)),
            Some(config) => {
                let overhead = Bytes(transport.header_bytes.into());
                Self::QueuePair(Box::new(Requester::new(Arc::clone(config), line_rate, overhead)))
            }
        }
    }

    /// Returns whether the endpoint is the requester of a queue pair.
    #[inline(always)]
    pub(super) fn is_queue_pair(&self) -> bool {
        matches!(self, Self::QueuePair(_))
    }

    /// Returns whether the endpoint is a queue pair that has ended with an error.
    pub(super) fn has_failed(&self) -> bool {
        matches!(self, Self::QueuePair(requester) if requester.ended().is_some())
    }

    /// Returns the TCP sender.
    #[inline(always)]
    pub(super) fn tcp(&self) -> &Sender {
        match self {
            Self::Tcp(sender) => sender,
            Self::QueuePair(_) => unreachable!("{NO_TCP}"),
        }
    }

    /// Returns the TCP sender for modification.
    #[inline(always)]
    pub(super) fn tcp_mut(&mut self) -> &mut Sender {
        match self {
            Self::Tcp(sender) => sender,
            Self::QueuePair(_) => unreachable!("{NO_TCP}"),
        }
    }

    /// Returns the requester of the queue pair.
    pub(super) fn requester(&mut self) -> &mut Requester {
        match self {
            Self::QueuePair(requester) => requester,
            Self::Tcp(_) => unreachable!("{NO_QUEUE_PAIR}"),
        }
    }

    /// Appends bytes to the data to send; on a queue pair they are a message.
    pub(super) fn write(&mut self, config: &Config, now: Instant, bytes: u64) {
        match self {
            Self::Tcp(sender) => sender.write(config, now, bytes),
            Self::QueuePair(requester) => requester.post(now, bytes),
        }
    }

    /// Closes the stream after the bytes that have been written.
    pub(super) fn close(&mut self, config: &Config) {
        if let Self::Tcp(sender) = self {
            sender.close(config);
        }
    }

    /// Returns the sequence number after the last byte that has been written.
    #[inline]
    pub(super) fn written(&self) -> u64 {
        match self {
            Self::Tcp(sender) => sender.written(),
            Self::QueuePair(requester) => requester.posted(),
        }
    }

    #[inline]
    pub(super) fn repairs(&self) -> Repairs {
        match self {
            Self::Tcp(sender) => {
                let stats = sender.stats();
                Repairs { timeouts: stats.timeouts, retransmits: stats.retransmits }
            }
            Self::QueuePair(requester) => {
                let stats = requester.stats();
                Repairs { timeouts: stats.timeouts, retransmits: stats.retransmits }
            }
        }
    }

    /// Returns the counts of the queue pair; zero for TCP.
    pub(super) fn counts(&self) -> QueuePairCounts {
        let Self::QueuePair(requester) = self else { return QueuePairCounts::default() };
        let (stats, digest) = (requester.stats(), requester.digest());
        QueuePairCounts {
            queue_pairs: 1,
            abandoned: 0,
            retries_exhausted: (requester.ended() == Some(Ended::RetriesExhausted)).into(),
            rnr_retries_exhausted: (requester.ended() == Some(Ended::RnrRetriesExhausted)).into(),
            naks: stats.naks.into(),
            rnr_naks: requester.rnr_naks().into(),
            timeouts: stats.timeouts.into(),
            retransmits: stats.retransmits.into(),
            cnps: digest.cnps.into(),
            telemetry: digest.telemetry.into(),
            cuts: digest.cuts.into(),
            increases: digest.increases.into(),
        }
    }

    /// Returns the time at which the endpoint's timer expires.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Tcp(sender) => sender.deadline(),
            Self::QueuePair(requester) => requester.deadline(),
        }
    }

    /// Handles the expiry of the endpoint's timer.
    pub(super) fn on_timer(&mut self, config: &Config, now: Instant) {
        match self {
            Self::Tcp(sender) => sender.on_timer(config, now),
            Self::QueuePair(requester) => requester.on_timer(now),
        }
    }

    /// Returns whether the NIC has stopped pulling from the endpoint because of backpressure.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        match self {
            Self::Tcp(sender) => sender.is_held(),
            // A NIC serves its queue pairs in turns: each has at most one packet in the NIC's queue, and sends the next when it departs.
            Self::QueuePair(_) => true,
        }
    }
}

const NO_QUEUE_PAIR: &str = "packets of queue pairs reach queue pairs";
const NO_TCP: &str = "segments of TCP connections reach TCP connections";

/// Transport of a connection's receiving side.
#[derive(Debug)]
pub(crate) enum Sink {
    /// A TCP receiver.
    Tcp(Receiver),
    /// The responder of a queue pair.
    QueuePair(Box<Responder>),
}

impl Sink {
    /// Creates the receiving side of a new connection.
    pub(super) fn new(transport: &Transport) -> Self {
        match &transport.queue_pairs {
            None => Self::Tcp(Receiver::new(&transport.config)),
            Some(config) => Self::QueuePair(Box::new(Responder::new(config))),
        }
    }

    /// Returns the TCP receiver.
    #[inline(always)]
    pub(super) fn tcp(&mut self) -> &mut Receiver {
        match self {
            Self::Tcp(receiver) => receiver,
            Self::QueuePair(_) => unreachable!("{NO_TCP}"),
        }
    }

    /// Returns the responder of the queue pair.
    pub(super) fn responder(&mut self) -> &mut Responder {
        match self {
            Self::QueuePair(responder) => responder,
            Self::Tcp(_) => unreachable!("{NO_QUEUE_PAIR}"),
        }
    }

    /// Returns the number of bytes that have arrived without a gap.
    #[inline]
    pub(super) fn received(&self) -> u64 {
        match self {
            Self::Tcp(receiver) => receiver.received(),
            Self::QueuePair(responder) => responder.received(),
        }
    }

    /// Returns the time at which the receiving side must act if no packet arrives earlier.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Tcp(receiver) => receiver.deadline(),
            Self::QueuePair(responder) => responder.deadline(),
        }
    }
}
