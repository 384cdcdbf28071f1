//! Traces of chosen flows: the state of their senders, at intervals or at every change. [`crate::flow_choice`] chooses the flows.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use shallows_core::{Duration, Instant};
use shallows_scenario::Experiment;

/// Names of the quantities of a traced sender. `state` is 0 for open, 1 for recovery, 2 for timeout and 3 for braking (Pulser's small
/// window during an incast).
pub(crate) const QUANTITIES: [&str; 8] =
    ["cwnd_bytes", "ssthresh_bytes", "alpha", "srtt_us", "pipe_bytes", "state", "acked_bytes", "rate_gbps"];

/// Values of a traced sender, in the order of `QUANTITIES`. `None` for a quantity that the sender lacks or has not set yet.
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
    /// Recorded values of the responder of the flow's READ, in order of time, until they are merged with `rows`.
    responder: Vec<FlowRow>,
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
        let traced = Traced { trace: trace.into(), last, rows: Vec::new(), responder: Vec::new() };
        self.flows.insert(flow, traced);
    }

    /// Adds the recorded values of another partition.
    pub(crate) fn append(&mut self, other: Self) {
        for (flow, mut traced) in other.flows {
            match self.flows.entry(flow) {
                Entry::Vacant(entry) => {
                    entry.insert(traced);
                }
                // A READ between hosts of two partitions has values in both partitions.
                Entry::Occupied(mut entry) => {
                    entry.get_mut().rows.append(&mut traced.rows);
                    entry.get_mut().responder.append(&mut traced.responder);
                }
            }
        }
    }

    /// Merges the values of the responders of READs with the values of the requesters. At equal times, the requester's values come first.
    pub(crate) fn merge_responders(&mut self) {
        for traced in self.flows.values_mut().filter(|traced| !traced.responder.is_empty()) {
            traced.rows.append(&mut traced.responder);
            traced.rows.sort_by_key(|row| row.at);
        }
    }

    /// Returns the number of recorded values.
    pub fn changes(&self) -> usize {
        self.flows.values().map(|traced| traced.rows.len() + traced.responder.len()).sum()
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

    /// Returns whether trace `number` records this flow.
    pub fn is_in(&self, flow: u32, number: u32) -> bool {
        self.flows.get(&flow).is_some_and(|traced| traced.trace == number as usize)
    }

    /// Returns whether every change of the responder of a flow must be recorded; `None` if the flow is not traced.
    pub fn records_changes(&self, flow: u32) -> Option<bool> {
        Some(self.traces[self.flows.get(&flow)?.trace].every.is_none())
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
        let Some(Traced { last, rows, .. }) = self.flows.get_mut(&flow) else { return };
        add_changes(now, readings, last, rows);
    }

    /// Records the changed values of the responder of a flow's READ, if the flow is traced. The responder's quantities differ from those of
    /// the requester.
    pub fn note_responder(&mut self, now: Instant, flow: u32, readings: Readings) {
        let Some(Traced { last, responder, .. }) = self.flows.get_mut(&flow) else { return };
        add_changes(now, readings, last, responder);
    }
}

/// Adds to `rows` the values that differ from the last ones.
fn add_changes(
    now: Instant,
    readings: Readings,
    last: &mut [f64; QUANTITIES.len()],
    rows: &mut Vec<FlowRow>,
) {
    for (quantity, value) in readings.into_iter().enumerate() {
        let Some(value) = value else { continue };
        if last[quantity] != value {
            last[quantity] = value;
            rows.push(FlowRow { at: now, quantity, value });
        }
    }
}
