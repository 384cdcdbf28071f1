//! Observers of a run: traces, samples and captures, which do not affect results, and in-band telemetry, which congestion controls read.

use std::collections::BTreeMap;
use std::num::NonZeroU16;
use std::ops::Range;

use shallows_core::Instant;
use shallows_core::random::Stream;
use shallows_measure::{FlowTracer, PortTracer, Readings, Sampler, Tap};
use shallows_rdma::congestion::Telemetry;
use shallows_rdma::congestion::pint::{self, PortUtilisation};
use shallows_rdma::{ReadRequester, Requester};
use shallows_scenario::Experiment;
use shallows_transport::Phase;

use crate::hosts::Hosts;
use crate::hosts::connection::Place;
use crate::hosts::endpoint::{ControlState, Endpoint, Requesting};
use crate::hosts::packet::{PacketRef, Packets};
use crate::network::Change;

/// Traces, samples and captured packets.
#[derive(Debug)]
pub(crate) struct Observers {
    pub(crate) ports: PortTracer,
    pub(crate) flows: FlowTracer,
    /// Sender of each traced flow that has begun, indexed by the flow's name.
    begun: BTreeMap<u32, Begun>,
    /// Trace of each traced flow that begins in another partition. An entry is removed when the first request of the flow's READ arrives.
    coming: BTreeMap<u32, u16>,
    /// Responders of READs that are traced at intervals, by the flow's name. An entry is removed at the first record at which the responder
    /// has no responses left to send.
    responders: BTreeMap<u32, Place>,
    pub(crate) queues: Sampler,
    pub(crate) tap: Tap,
    pint: Option<Pint>,
}

/// Probabilistic in-band telemetry (PINT) at the ports of switches.
#[derive(Debug)]
struct Pint {
    config: pint::Config,
    seed: u64,
    /// Utilisation and random numbers of each port, by the number of the port's link.
    ports: BTreeMap<u32, (PortUtilisation, Stream)>,
}

impl Pint {
    /// Measures the utilisation of the port from which a packet departs. Raises the packet's utilisation code to the port's, if the
    /// packet's code is lower.
    fn on_departure(&mut self, link: u32, telemetry: &Telemetry, code: Option<&mut NonZeroU16>) {
        let new = || (PortUtilisation::default(), Stream::new(self.seed, "pint", u64::from(link)));
        let (port, stream) = self.ports.entry(link).or_insert_with(new);
        let utilisation = port.on_departure(self.config.base_rtt, telemetry);
        if let Some(code) = code {
            *code = (*code).max(self.config.encode(utilisation, stream.uniform()));
        }
    }
}

/// Sender of a traced flow, and the sequence numbers of the flow's bytes.
#[derive(Clone, Debug)]
struct Begun {
    place: Place,
    bytes: Range<u64>,
}

impl Observers {
    /// Creates the observers that `experiment` requests.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        Self {
            ports: PortTracer::new(experiment),
            flows: FlowTracer::new(experiment),
            begun: BTreeMap::new(),
            coming: BTreeMap::new(),
            responders: BTreeMap::new(),
            queues: Sampler::new(experiment.sample_queues),
            tap: Tap::default(),
            pint: experiment.pint().map(|config| Pint {
                config,
                seed: experiment.seed,
                ports: BTreeMap::new(),
            }),
        }
    }

    /// Records a change at the port of a link.
    pub(crate) fn port_changed(
        &mut self,
        now: Instant,
        mut change: Change<'_, PacketRef>,
        packets: &mut Packets,
    ) {
        if let Some((packet, telemetry)) = change.telemetry(now) {
            if let Some(pint) = &mut self.pint {
                pint.on_departure(change.link(), &telemetry, packets.utilisation_mut(packet));
            }
            packets.add_telemetry(packet, telemetry);
        }
        change.trace(now, &mut self.ports);
        if let Some((link, header, packet)) = change.captured() {
            self.tap.record(now, link, &header, packets.body(packet).as_ref());
        }
    }

    /// Records the beginning of a flow. `place` is the flow's sender; `bytes` are the sequence numbers of the flow's bytes. Returns whether
    /// every change of the sender must be recorded.
    pub(crate) fn flow_begins(&mut self, flow: u32, place: Place, bytes: Range<u64>) -> bool {
        if !self.flows.follows(flow) {
            return false;
        }
        self.begun.insert(flow, Begun { place, bytes });
        self.flows.begin(flow)
    }

    /// Records the state of a flow's sender in the traces that record every change.
    #[cold]
    pub(crate) fn sender_changed(&mut self, now: Instant, flow: u32, endpoint: &Endpoint) {
        if let Some(Begun { bytes, .. }) = self.begun.get(&flow) {
            self.flows.note(now, flow, readings(endpoint, bytes));
        }
    }

    /// Registers a flow of another partition that trace number `trace` records. If the flow is a READ, its responder may be in this
    /// partition.
    pub(crate) fn expect_responder(&mut self, flow: u32, trace: u16) {
        self.coming.insert(flow, trace);
    }

    /// Records that a request of a flow's READ has reached the responder in `place`. Returns whether every change of the responder must be
    /// recorded.
    pub(crate) fn responder_begins(&mut self, flow: u32, place: Place) -> bool {
        if let Some(trace) = self.coming.remove(&flow) {
            self.flows.expect(flow, trace);
        }
        let records_changes = self.flows.records_changes(flow);
        if records_changes == Some(false) {
            self.responders.insert(flow, place);
        }
        records_changes.unwrap_or(false)
    }

    /// Records the state of the responder of a flow's READ in the traces that record every change.
    #[cold]
    pub(crate) fn responder_changed(&mut self, now: Instant, flow: u32, control: ControlState) {
        self.flows.note_responder(now, flow, readings_of_responder(control));
    }

    /// Records the state of the responders in a trace that records at intervals.
    fn sample_responders(&mut self, number: u32, now: Instant, hosts: &Hosts) {
        let Self { flows, responders, .. } = self;
        responders.retain(|&flow, &mut place| {
            if !flows.is_in(flow, number) {
                return true;
            }
            let control = hosts.responding(place, flow);
            if let Some(control) = control {
                flows.note_responder(now, flow, readings_of_responder(control));
            }
            control.is_some()
        });
    }

    /// Records the state of the senders in a trace that records at intervals. Returns the time of the trace's next record.
    pub(crate) fn sample_flows(&mut self, number: u32, now: Instant, hosts: &Hosts) -> Instant {
        let (flows, next) = self.flows.due(number, now);
        for flow in flows {
            if let Some(Begun { place, bytes }) = self.begun.get(&flow) {
                self.flows.note(now, flow, readings(&hosts.sender(*place).endpoint, bytes));
            }
        }
        self.sample_responders(number, now, hosts);
        next
    }
}

/// Returns the quantities of a sender in the order of `QUANTITIES`. A quantity is `None` if the sender has no value for it, for example
/// before the first measurement.
fn readings(endpoint: &Endpoint, bytes: &Range<u64>) -> Readings {
    let sender = match endpoint {
        Endpoint::Tcp(sender) => sender,
        Endpoint::QueuePair(queue) => match &queue.requesting {
            Requesting::Messages(requester) => return readings_of_queue_pair(requester, bytes),
            Requesting::Reads(requester) => return readings_of_reads(requester, bytes),
        },
    };
    let ssthresh = sender.ssthresh().0;
    [
        Some(sender.cwnd().0 as f64),
        // RFC 5681 §3.1: the initial slow-start threshold is arbitrarily high.
        (ssthresh != u64::MAX).then_some(ssthresh as f64),
        sender.alpha(),
        sender.srtt().map(|srtt| srtt.as_micros_f64()),
        Some(sender.pipe().0 as f64),
        Some(match sender.phase() {
            Phase::Open => 0.0,
            Phase::Recovery => 1.0,
            Phase::Timeout => 2.0,
            Phase::Braking => 3.0,
        }),
        Some(sender.acked().saturating_sub(bytes.start) as f64),
        None,
    ]
}

/// Returns how many of a flow's `bytes`, given by their sequence numbers, precede `end`.
fn part_of(end: u64, bytes: &Range<u64>) -> f64 {
    (end.clamp(bytes.start, bytes.end) - bytes.start) as f64
}

/// Returns the traced quantities that the responder of READs measures, in the order of `QUANTITIES`. The requester measures the other
/// quantities.
fn readings_of_responder(control: ControlState) -> Readings {
    let rate = control.rate.0 as f64 * 1e-9;
    [None, None, control.alpha, None, None, None, None, Some(rate)]
}

/// Returns the traced quantities that the requester of READs measures, in the order of `QUANTITIES`. The responder measures the rate.
/// Neither has a congestion window.
fn readings_of_reads(requester: &ReadRequester, bytes: &Range<u64>) -> Readings {
    let in_flight = requester.in_flight().0 as f64;
    let received = part_of(requester.received(), bytes);
    [None, None, None, None, Some(in_flight), None, Some(received), None]
}

/// Returns the quantities of a queue pair with WRITEs or SENDs, in the order of `QUANTITIES`.
fn readings_of_queue_pair(requester: &Requester, bytes: &Range<u64>) -> Readings {
    let pace = requester.pace();
    [
        pace.window.map(|window| window.0 as f64),
        None,
        requester.alpha(),
        None,
        Some(requester.in_flight().0 as f64),
        None,
        Some(part_of(requester.acked(), bytes)),
        Some(pace.rate.0 as f64 * 1e-9),
    ]
}
