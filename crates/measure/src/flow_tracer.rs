//! Traces of chosen flows: the state of their senders, at intervals or at every change. [`crate::flow_choice`] chooses the flows.

use std::collections::{BTreeMap, BTreeSet};

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

/// Names of the quantities of a traced sender. `state` is 0 for open, 1 for recovery, 2 for timeout and 3 for braking.
pub(crate) const QUANTITIES: [&str; 8] =
    ["cwnd_bytes", "ssthresh_bytes", "alpha", "srtt_us", "pipe_bytes", "state", "acked_bytes", "rate_gbps"];

/// Values of a traced sender, in the order of `QUANTITIES`. `None` for a quantity that the sender does not have, or does not have yet.
pub type Readings = [Option<f64>; QUANTITIES.len()];

/// Flow traces recorded so far. An unchanged reading adds no row.
#[derive(Debug, Default)]
pub struct FlowTracer {
    traces: Vec<Trace>,
    /// Traced flows, by number.
    pub flows: BTreeMap<u32, Traced>,
}

#[derive(Debug)]
struct Trace {
    every: Option<Duration>,
    /// Flows whose senders are active. Used only by traces with readings at fixed intervals.
    active: BTreeSet<u32>,
}

/// Recorded values of one flow.
#[derive(Debug)]
pub struct Traced {
    /// Index of the flow's trace.
    pub trace: usize,
    last: [f64; QUANTITIES.len()],
    /// Recorded values of this flow, in order of time.
    pub rows: Vec<FlowRow>,
}

/// One reading of one flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowRow {
    /// Time of the reading.
    pub at: Instant,
    /// Index of the quantity in `QUANTITIES`.
    pub quantity: usize,
    /// Value that was read.
    pub value: f64,
}

impl FlowTracer {
    /// Creates the flow traces that `experiment` requests.
    pub fn new(experiment: &Experiment) -> Self {
        let trace =
            |trace: &shallows_scenario::FlowTrace| Trace { every: trace.every, active: BTreeSet::new() };
        Self { traces: experiment.flow_traces.iter().map(trace).collect(), flows: BTreeMap::new() }
    }

    /// Returns the indices of the traces with readings at fixed intervals.
    pub fn at_intervals(&self) -> impl Iterator<Item = u32> + use<> {
        let every: Vec<bool> = self.traces.iter().map(|trace| trace.every.is_some()).collect();
        (0..every.len() as u32).filter(move |&number| every[number as usize])
    }

    /// Adds a flow that has arrived and that trace number `trace` has chosen.
    #[cold]
    pub fn expect(&mut self, flow: u32, trace: u16) {
        let last = [f64::NAN; QUANTITIES.len()];
        let traced = Traced { trace: trace.into(), last, rows: Vec::new() };
        self.flows.insert(flow, traced);
    }

    /// Removes the recorded values of these flows.
    pub fn forget(&mut self, flows: &[u32]) {
        for flow in flows {
            self.flows.remove(flow);
        }
    }

    /// Returns whether this flow is traced.
    pub fn follows(&self, flow: u32) -> bool {
        self.flows.contains_key(&flow)
    }

    /// Records that a sender begins a flow. Returns whether every change of the sender must be recorded.
    pub fn begin(&mut self, flow: u32) -> bool {
        let Some(traced) = self.flows.get(&flow) else { return false };
        let trace = &mut self.traces[traced.trace];
        if trace.every.is_some() {
            trace.active.insert(flow);
        }
        trace.every.is_none()
    }

    /// Returns the flows of trace `number` with active senders, which must be read now, and the time of the next reading.
    ///
    /// # Panics
    ///
    /// If the trace is not one of [`Self::at_intervals`].
    pub fn due(&self, number: u32, now: Instant) -> (Vec<u32>, Instant) {
        let trace = &self.traces[number as usize];
        let every = trace.every.expect("only traces with an interval are scheduled");
        (trace.active.iter().copied().collect(), now + every)
    }

    /// Records that a flow has been sent completely.
    pub fn on_end(&mut self, flow: u32) {
        if let Some(traced) = self.flows.get(&flow) {
            self.traces[traced.trace].active.remove(&flow);
        }
    }

    /// Records the changed values of a flow's sender, if the flow is traced.
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
