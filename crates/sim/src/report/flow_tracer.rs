//! Traces of chosen flows: what their senders keep, at intervals or whenever it changes. Which flows those are is decided
//! elsewhere ([`crate::traffic::flow_choice`]).

use std::collections::{BTreeMap, BTreeSet};

use shallows_core::packet::HostId;
use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;
use shallows_transport::{Phase, Sender};

use crate::hosts::Hosts;
use crate::hosts::connection::Place;

/// What is told of a sender, in this order.
pub(crate) const QUANTITIES: [&str; 7] =
    ["cwnd_bytes", "ssthresh_bytes", "alpha", "srtt_us", "pipe_bytes", "state", "acked_bytes"];

/// Values of these; none for what there is not, or not yet.
pub type Readings = [Option<f64>; QUANTITIES.len()];

/// The traces so far. A reading that has not changed leaves no row.
#[derive(Debug, Default)]
pub struct FlowTracer {
    traces: Vec<Trace>,
    /// By number of the flow.
    pub(crate) flows: BTreeMap<u32, Traced>,
}

#[derive(Debug)]
struct Trace {
    every: Option<Duration>,
    /// Flows that are being sent, of a trace that is taken at intervals.
    active: BTreeSet<u32>,
}

/// What was recorded of one flow.
#[derive(Debug)]
pub(crate) struct Traced {
    pub(crate) trace: usize,
    place: Place,
    /// What its connection had written before.
    before: u64,
    last: [f64; QUANTITIES.len()],
    pub(crate) rows: Vec<FlowRow>,
}

/// One reading of one flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowRow {
    pub(crate) at: Instant,
    /// Place in [`QUANTITIES`].
    pub(crate) quantity: usize,
    pub(crate) value: f64,
}

/// Of a flow that is not being sent yet.
const NOWHERE: Place = Place { host: HostId(u32::MAX), slot: u32::MAX };

impl FlowTracer {
    /// The traces that `experiment` asks for.
    pub fn new(experiment: &Experiment) -> Self {
        let trace =
            |trace: &shallows_scenario::FlowTrace| Trace { every: trace.every, active: BTreeSet::new() };
        Self { traces: experiment.flow_traces.iter().map(trace).collect(), flows: BTreeMap::new() }
    }

    /// The traces that are taken at intervals, by number.
    pub fn at_intervals(&self) -> impl Iterator<Item = u32> + use<> {
        let every: Vec<bool> = self.traces.iter().map(|trace| trace.every.is_some()).collect();
        (0..every.len() as u32).filter(move |&number| every[number as usize])
    }

    /// A flow has arrived that belongs to this trace.
    #[cold]
    pub fn expect(&mut self, flow: u32, trace: u16) {
        let last = [f64::NAN; QUANTITIES.len()];
        let traced = Traced { trace: trace.into(), place: NOWHERE, before: 0, last, rows: Vec::new() };
        self.flows.insert(flow, traced);
    }

    /// Drop what was recorded of these flows.
    pub fn forget(&mut self, flows: &[u32]) {
        for flow in flows {
            self.flows.remove(flow);
        }
    }

    /// A flow begins to be sent at this place, after `before` bytes of its connection. Says whether every change of its
    /// sender is to be recorded.
    pub(crate) fn on_start(&mut self, flow: u32, place: Place, before: u64) -> bool {
        let Some(traced) = self.flows.get_mut(&flow) else { return false };
        (traced.place, traced.before) = (place, before);
        self.begin(flow)
    }

    /// A flow begins to be sent, somewhere that this does not know. Says whether every change of its sender is to be recorded.
    pub fn begin(&mut self, flow: u32) -> bool {
        let Some(traced) = self.flows.get(&flow) else { return false };
        let trace = &mut self.traces[traced.trace];
        if trace.every.is_some() {
            trace.active.insert(flow);
        }
        trace.every.is_none()
    }

    /// The flows of a trace at intervals that are being sent, and when to read them again after `now`.
    ///
    /// # Panics
    ///
    /// If it is none of [`Self::at_intervals`].
    pub fn due(&self, number: u32, now: Instant) -> (Vec<u32>, Instant) {
        let trace = &self.traces[number as usize];
        let every = trace.every.expect("only traces with an interval are scheduled");
        (trace.active.iter().copied().collect(), now + every)
    }

    /// A flow has been sent.
    pub fn on_end(&mut self, flow: u32) {
        if let Some(traced) = self.flows.get(&flow) {
            self.traces[traced.trace].active.remove(&flow);
        }
    }

    /// Read the senders of a trace that is taken at intervals; returns when to come again.
    pub(crate) fn sample(&mut self, number: u32, now: Instant, hosts: &Hosts) -> Instant {
        let (flows, next) = self.due(number, now);
        for flow in flows {
            self.record(now, flow, &hosts.sender(self.flows[&flow].place).sender);
        }
        next
    }

    /// Read the sender of a flow.
    #[cold]
    pub(crate) fn record(&mut self, now: Instant, flow: u32, sender: &Sender) {
        let Some(traced) = self.flows.get(&flow) else { return };
        self.note(now, flow, readings(sender, traced.before));
    }

    /// What the sender of a flow keeps: cwnd, ssthresh, alpha, smoothed round-trip time in us, what is in flight, state (0 open, 1
    /// recovery, 2 timeout, 3 braking) and what is acknowledged, in bytes.
    pub fn note(&mut self, now: Instant, flow: u32, readings: Readings) {
        let Some(traced) = self.flows.get_mut(&flow) else { return };
        for (quantity, value) in readings.into_iter().enumerate() {
            let Some(value) = value else { continue };
            if traced.last[quantity] != value {
                traced.last[quantity] = value;
                traced.rows.push(FlowRow { at: now, quantity, value });
            }
        }
    }
}

/// In the order of [`QUANTITIES`]; none for what there is not, or not yet.
fn readings(sender: &Sender, before: u64) -> Readings {
    let ssthresh = sender.ssthresh().0;
    [
        Some(sender.cwnd().0 as f64),
        // RFC 5681 §3.1: arbitrarily high at first.
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
        Some(sender.acked().saturating_sub(before) as f64),
    ]
}
