//! Traces of chosen flows: what their senders keep, at intervals or whenever it changes. Which flows those are is decided
//! elsewhere ([`crate::flow_choice`]).

use std::collections::{BTreeMap, BTreeSet};

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

/// Quantities of a traced sender, in order. `state` is 0 open, 1 recovery, 2 timeout, 3 braking.
pub(crate) const QUANTITIES: [&str; 7] =
    ["cwnd_bytes", "ssthresh_bytes", "alpha", "srtt_us", "pipe_bytes", "state", "acked_bytes"];

/// Values of these; none for what there is not, or not yet.
pub type Readings = [Option<f64>; QUANTITIES.len()];

/// The traces so far. A reading that has not changed leaves no row.
#[derive(Debug, Default)]
pub struct FlowTracer {
    traces: Vec<Trace>,
    /// By number of the flow.
    pub flows: BTreeMap<u32, Traced>,
}

#[derive(Debug)]
struct Trace {
    every: Option<Duration>,
    /// Flows that are being sent, of a trace that is taken at intervals.
    active: BTreeSet<u32>,
}

/// Recorded values of one flow.
#[derive(Debug)]
pub struct Traced {
    /// The trace that it belongs to, by number.
    pub trace: usize,
    last: [f64; QUANTITIES.len()],
    /// Recorded values of all traced flows.
    pub rows: Vec<FlowRow>,
}

/// One reading of one flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow {
    /// When.
    pub at: Instant,
    /// Place in [`QUANTITIES`].
    pub quantity: usize,
    /// Its value from now on.
    pub value: f64,
}

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
        let traced = Traced { trace: trace.into(), last, rows: Vec::new() };
        self.flows.insert(flow, traced);
    }

    /// Drop what was recorded of these flows.
    pub fn forget(&mut self, flows: &[u32]) {
        for flow in flows {
            self.flows.remove(flow);
        }
    }

    /// Whether this flow is traced.
    pub fn follows(&self, flow: u32) -> bool {
        self.flows.contains_key(&flow)
    }

    /// A flow begins to be sent. Says whether every change of its sender is to be recorded.
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

    /// Records the state of a flow's sender, if the flow is traced.
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
