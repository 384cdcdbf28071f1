//! Endpoints of connections: an enum of transports for the sending side ([`Endpoint`]), and one for the receiving side ([`Sink`]).
//!
//! A host passes acknowledgements and the bytes of flows to an endpoint, and the host's NIC pulls packets from the endpoint
//! ([`crate::hosts::pulling`], [`crate::hosts::queue_pair`]). Endpoints contain no code for flows or for pools of connections, because this
//! code is the same for all transports. As an exception, the endpoint of a queue pair stores the messages after its current flow.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use shallows_core::{Bytes, Instant, Rate};
use shallows_measure::QueuePairCounts;
use shallows_rdma::congestion::Digest;
use shallows_rdma::{Ended, ReadRequester, ReadResponder, Requester, Responder, Stats};
use shallows_transport::{Config, Receiver, Sender};

use crate::hosts::message::{Arriving, Posted};
use crate::hosts::packet::Framing;
use crate::hosts::transports::Transport;

/// Transport of a connection's sending side. The TCP sender is not boxed, because a box would cost another cache line for each segment.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "TCP connections are the common case")]
pub(crate) enum Endpoint {
    /// A TCP sender.
    Tcp(Sender),
    /// The send queue of a queue pair.
    QueuePair(Box<SendQueue>),
}

/// Send queue of a queue pair. [`Endpoint`] stores a send queue in a box, so that TCP connections need no memory for a send queue.
#[derive(Debug)]
pub(crate) struct SendQueue {
    pub(crate) requesting: Requesting,
    /// Messages that were posted after the sender's current flow, oldest first.
    pub(super) later: VecDeque<Posted>,
    /// Number of messages in `later` during which every change of the sender is recorded.
    pub(super) traced: u32,
    /// Whether the queue pair has ended with an error and its messages are recorded as failed.
    pub(super) is_flushed: bool,
}

/// Requester of a queue pair.
#[derive(Debug)]
pub(crate) enum Requesting {
    /// WRITEs or SENDs.
    Messages(Requester),
    /// READs, whose requester receives the data.
    Reads(ReadRequester),
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
                let requesting = Requesting::new(Arc::clone(config), transport, line_rate);
                Self::QueuePair(Box::new(SendQueue {
                    requesting,
                    later: VecDeque::new(),
                    traced: 0,
                    is_flushed: false,
                }))
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
        self.ended().is_some()
    }

    /// Returns whether the endpoint is a queue pair that has ended with an error, and its flows are recorded as failed.
    pub(super) fn is_flushed(&self) -> bool {
        self.send_queue().is_some_and(|queue| queue.is_flushed)
    }

    fn ended(&self) -> Option<Ended> {
        match self {
            Self::Tcp(_) => None,
            Self::QueuePair(queue) => match &queue.requesting {
                Requesting::Messages(requester) => requester.ended(),
                Requesting::Reads(requester) => requester.ended(),
            },
        }
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

    /// Returns the queue pair's requester of WRITEs or SENDs.
    pub(super) fn requester(&mut self) -> &mut Requester {
        match self {
            Self::QueuePair(queue) => match &mut queue.requesting {
                Requesting::Messages(requester) => requester,
                Requesting::Reads(_) => unreachable!("{NO_QUEUE_PAIR}"),
            },
            Self::Tcp(_) => unreachable!("{NO_QUEUE_PAIR}"),
        }
    }

    /// Returns the queue pair's requester of READs; `None` without READs.
    pub(super) fn read_requester(&self) -> Option<&ReadRequester> {
        let Self::QueuePair(queue) = self else { return None };
        match &queue.requesting {
            Requesting::Messages(_) => None,
            Requesting::Reads(requester) => Some(requester),
        }
    }

    /// Returns the queue pair's requester of READs for modification; `None` without READs.
    pub(super) fn read_requester_mut(&mut self) -> Option<&mut ReadRequester> {
        let Self::QueuePair(queue) = self else { return None };
        match &mut queue.requesting {
            Requesting::Messages(_) => None,
            Requesting::Reads(requester) => Some(requester),
        }
    }

    /// Returns the send queue of the queue pair; `None` for TCP.
    pub(super) fn send_queue(&self) -> Option<&SendQueue> {
        match self {
            Self::Tcp(_) => None,
            Self::QueuePair(queue) => Some(queue),
        }
    }

    /// Returns the send queue of the queue pair for modification; `None` for TCP.
    pub(super) fn send_queue_mut(&mut self) -> Option<&mut SendQueue> {
        match self {
            Self::Tcp(_) => None,
            Self::QueuePair(queue) => Some(queue),
        }
    }

    /// Appends bytes to the data to send; on a queue pair, these bytes form a message.
    pub(super) fn write(&mut self, config: &Config, now: Instant, bytes: u64) {
        match self {
            Self::Tcp(sender) => sender.write(config, now, bytes),
            Self::QueuePair(queue) => match &mut queue.requesting {
                Requesting::Messages(requester) => requester.post(now, bytes),
                Requesting::Reads(requester) => requester.post(bytes),
            },
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
            Self::QueuePair(queue) => match &queue.requesting {
                Requesting::Messages(requester) => requester.posted(),
                Requesting::Reads(requester) => requester.posted(),
            },
        }
    }

    /// Returns the number of bytes of the queue pair that are acknowledged, or have arrived in response to READs; 0 for TCP.
    pub(super) fn completed(&self) -> u64 {
        match self {
            Self::Tcp(_) => 0,
            Self::QueuePair(queue) => match &queue.requesting {
                Requesting::Messages(requester) => requester.acked(),
                Requesting::Reads(requester) => requester.received(),
            },
        }
    }

    #[inline]
    pub(super) fn repairs(&self) -> Repairs {
        match self {
            Self::Tcp(sender) => {
                let stats = sender.stats();
                Repairs { timeouts: stats.timeouts, retransmits: stats.retransmits }
            }
            Self::QueuePair(queue) => match &queue.requesting {
                Requesting::Messages(requester) => Repairs::of(requester.stats()),
                Requesting::Reads(requester) => Repairs::of(requester.stats()),
            },
        }
    }

    /// Returns the counts of the queue pair; `None` for TCP.
    pub(super) fn counts(&self) -> Option<QueuePairCounts> {
        let (stats, digest, rnr_naks) = match self {
            Self::Tcp(_) => return None,
            Self::QueuePair(queue) => match &queue.requesting {
                Requesting::Messages(requester) => {
                    (requester.stats(), requester.digest(), requester.rnr_naks())
                }
                Requesting::Reads(requester) => (requester.stats(), Digest::default(), 0),
            },
        };
        Some(QueuePairCounts {
            queue_pairs: 1,
            retries_exhausted: (self.ended() == Some(Ended::RetriesExhausted)).into(),
            rnr_retries_exhausted: (self.ended() == Some(Ended::RnrRetriesExhausted)).into(),
            naks: stats.naks.into(),
            rnr_naks: rnr_naks.into(),
            timeouts: stats.timeouts.into(),
            retransmits: stats.retransmits.into(),
            ..counts_of_control(digest)
        })
    }

    /// Returns the time at which the endpoint's timer expires.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Tcp(sender) => sender.deadline(),
            Self::QueuePair(queue) => match &queue.requesting {
                Requesting::Messages(requester) => requester.deadline(),
                Requesting::Reads(requester) => requester.deadline(),
            },
        }
    }

    /// Handles the expiry of the endpoint's timer.
    pub(super) fn on_timer(&mut self, config: &Config, now: Instant) {
        match self {
            Self::Tcp(sender) => sender.on_timer(config, now),
            Self::QueuePair(queue) => match &mut queue.requesting {
                Requesting::Messages(requester) => requester.on_timer(now),
                Requesting::Reads(requester) => requester.on_timer(now),
            },
        }
    }

    /// Returns whether the NIC has stopped pulling from the endpoint because of backpressure.
    #[inline]
    pub(super) fn is_held(&self) -> bool {
        match self {
            Self::Tcp(sender) => sender.is_held(),
            // A NIC serves its queue pairs in turns: each has at most one packet in the NIC's queue, and sends the next packet when that
            // packet departs.
            Self::QueuePair(_) => true,
        }
    }
}

impl Requesting {
    fn new(config: Arc<shallows_rdma::Config>, transport: &Transport, line_rate: Rate) -> Self {
        if transport.reads() {
            return Self::Reads(ReadRequester::new(config));
        }
        let overhead = Bytes(transport.header_bytes.into());
        Self::Messages(Requester::new(config, line_rate, overhead))
    }
}

impl Repairs {
    fn of(stats: Stats) -> Self {
        Self { timeouts: stats.timeouts, retransmits: stats.retransmits }
    }
}

/// Returns the counts of the actions of a congestion control.
fn counts_of_control(digest: Digest) -> QueuePairCounts {
    QueuePairCounts {
        cnps: digest.cnps.into(),
        telemetry: digest.telemetry.into(),
        cuts: digest.cuts.into(),
        increases: digest.increases.into(),
        ..QueuePairCounts::default()
    }
}

const NO_QUEUE_PAIR: &str = "packets of queue pairs reach queue pairs";
const NO_READS: &str = "packets of READs reach queue pairs with READs";
const NO_TCP: &str = "segments of TCP connections reach TCP connections";

/// Transport of a connection's receiving side.
#[derive(Debug)]
pub(crate) enum Sink {
    /// A TCP receiver.
    Tcp(Receiver),
    /// The responder of a queue pair.
    QueuePair(Box<Responding>),
}

/// Responder of a queue pair. This is a separate enum, so that [`Sink`] has only one variant besides TCP.
#[derive(Debug)]
pub(crate) enum Responding {
    /// WRITEs or SENDs.
    Messages(Messages),
    /// READs, whose responder sends the data.
    Reads(Reads),
}

/// Responder of a queue pair with WRITEs or SENDs, and the messages whose packets have arrived.
#[derive(Debug)]
pub(crate) struct Messages {
    responder: Responder,
    /// Messages after the receiver's current flow, in the order of their data. A message is in this list once one of its packets has
    /// arrived.
    pub(super) later: VecDeque<Arriving>,
}

/// Responder of a queue pair with READs, and whether its response waits in the NIC.
#[derive(Debug)]
pub(crate) struct Reads {
    pub(super) responder: ReadResponder,
    /// Whether a response waits in the queue of the NIC.
    pub(super) is_queued: bool,
    /// Flow of the newest request.
    pub(super) framing: Framing,
    /// READs to which the responder still has to send responses.
    pub(super) asked: Vec<Asked>,
}

/// State of the congestion control of a responder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlState {
    pub(crate) rate: Rate,
    pub(crate) alpha: Option<f64>,
}

/// READ that a responder answers.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(super) flow: u32,
    /// Sequence numbers of the READ's bytes.
    pub(super) bytes: Range<u64>,
    /// Whether every change of the responder is reported.
    pub(super) traced: bool,
}

impl Reads {
    /// Returns the counts of the responder.
    pub(super) fn counts(&self) -> QueuePairCounts {
        let retransmits = self.responder.retransmits().into();
        QueuePairCounts { retransmits, ..counts_of_control(self.responder.digest()) }
    }

    /// Returns the state of the responder's congestion control.
    pub(super) fn control(&self, config: &shallows_rdma::Config) -> ControlState {
        ControlState { rate: self.responder.pace().rate, alpha: self.responder.alpha(config) }
    }

    /// Adds the READ of `flow` if the responder still has to send responses to this READ and the READ is not yet listed. `traces` returns
    /// whether every change of the responder is reported.
    pub(super) fn ask(&mut self, flow: u32, bytes: Range<u64>, traces: impl FnOnce() -> bool) {
        if self.responder.owes(&bytes) && self.asked.iter().all(|asked| asked.flow != flow) {
            self.asked.push(Asked { flow, bytes, traced: traces() });
        }
    }

    /// Removes the READs to which the responder has sent all responses.
    pub(super) fn forget_answered(&mut self) {
        let Self { responder, asked, .. } = self;
        asked.retain(|asked| responder.owes(&asked.bytes));
    }
}

impl Sink {
    /// Creates the receiving side of a new connection. `line_rate` is the rate of the NIC's link.
    pub(super) fn new(transport: &Transport, line_rate: Rate) -> Self {
        match &transport.queue_pairs {
            None => Self::Tcp(Receiver::new(&transport.config)),
            Some(config) if transport.reads() => {
                let overhead = Bytes(transport.header_bytes.into());
                Self::QueuePair(Box::new(Responding::Reads(Reads {
                    responder: ReadResponder::new(config, line_rate, overhead),
                    is_queued: false,
                    framing: Framing::BeforeFlows { workload: 0 },
                    asked: Vec::new(),
                })))
            }
            Some(config) => Self::QueuePair(Box::new(Responding::Messages(Messages {
                responder: Responder::new(config),
                later: VecDeque::new(),
            }))),
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

    /// Returns the queue pair's responder to WRITEs or SENDs.
    pub(super) fn responder(&mut self) -> &mut Responder {
        match self {
            Self::QueuePair(responding) => match &mut **responding {
                Responding::Messages(messages) => &mut messages.responder,
                Responding::Reads(_) => unreachable!("{NO_QUEUE_PAIR}"),
            },
            Self::Tcp(_) => unreachable!("{NO_QUEUE_PAIR}"),
        }
    }

    /// Returns the queue pair's responder to WRITEs or SENDs, with its messages; `None` for TCP and READs.
    pub(super) fn messages(&self) -> Option<&Messages> {
        let Self::QueuePair(responding) = self else { return None };
        match &**responding {
            Responding::Messages(messages) => Some(messages),
            Responding::Reads(_) => None,
        }
    }

    /// Returns the queue pair's responder to WRITEs or SENDs, with its messages, for modification; `None` for TCP and READs.
    pub(super) fn messages_mut(&mut self) -> Option<&mut Messages> {
        let Self::QueuePair(responding) = self else { return None };
        match &mut **responding {
            Responding::Messages(messages) => Some(messages),
            Responding::Reads(_) => None,
        }
    }

    /// Returns the queue pair's responder to READs; `None` without READs.
    pub(super) fn reads(&self) -> Option<&Reads> {
        let Self::QueuePair(responding) = self else { return None };
        match &**responding {
            Responding::Messages(_) => None,
            Responding::Reads(reads) => Some(reads),
        }
    }

    /// Returns the queue pair's responder to READs for modification. The queue pair must carry READs.
    pub(super) fn reads_mut(&mut self) -> &mut Reads {
        match self {
            Self::QueuePair(responding) => match &mut **responding {
                Responding::Messages(_) => unreachable!("{NO_READS}"),
                Responding::Reads(reads) => reads,
            },
            Self::Tcp(_) => unreachable!("{NO_READS}"),
        }
    }

    /// Returns the number of bytes that have arrived without a gap.
    #[inline]
    pub(super) fn received(&self) -> u64 {
        match self {
            Self::Tcp(receiver) => receiver.received(),
            Self::QueuePair(responding) => match &**responding {
                Responding::Messages(messages) => messages.responder.received(),
                Responding::Reads(_) => 0,
            },
        }
    }

    /// Returns the time at which the receiving side must act if no packet arrives earlier.
    #[inline(always)]
    pub(super) fn deadline(&self) -> Option<Instant> {
        match self {
            Self::Tcp(receiver) => receiver.deadline(),
            Self::QueuePair(responding) => match &**responding {
                Responding::Messages(messages) => messages.responder.deadline(),
                Responding::Reads(reads) => reads.responder.deadline(),
            },
        }
    }
}
