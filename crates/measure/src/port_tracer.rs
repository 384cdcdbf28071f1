//! Traces of chosen ports: every quantity that a port reports, at intervals or at every change.

use std::collections::BTreeMap;

use shallows_core::Instant;
use shallows_scenario::{Experiment, PortTrace};
use shallows_switch::Port;
use shallows_switch::buffer::SharedBuffer;

/// Port traces recorded so far. An unchanged reading adds no row.
#[derive(Debug, Default)]
pub struct PortTracer {
    traces: Vec<PortTrace>,
    /// Recorded readings.
    pub rows: Vec<PortRow>,
    /// Last readings of the port of each traced link, by link number. The values are in the order in which the port reports its quantities.
    last: BTreeMap<u32, Vec<f64>>,
}

/// One reading of one port.
#[derive(Clone, Copy, Debug)]
pub struct PortRow {
    /// Time of the reading.
    pub at: Instant,
    /// Number of the link whose port was read.
    pub link: u32,
    /// Index of the queue, or `None` if the reading is about the whole port.
    pub queue: Option<u32>,
    /// Quantity that was read.
    pub quantity: &'static str,
    /// Value that was read.
    pub value: f64,
}

impl PortTracer {
    /// Creates the port traces that `experiment` requests.
    pub fn new(experiment: &Experiment) -> Self {
        Self { traces: experiment.port_traces.clone(), ..Self::default() }
    }

    /// Returns the links whose ports must be read at every change.
    pub fn at_every_change(&self) -> impl Iterator<Item = u32> + '_ {
        let traces = self.traces.iter().filter(|trace| trace.every.is_none());
        traces.flat_map(|trace| trace.links.iter().copied())
    }

    /// Returns the indices of the traces with readings at fixed intervals.
    pub fn at_intervals(&self) -> impl Iterator<Item = u32> + '_ {
        let traces = self.traces.iter().enumerate();
        traces.filter(|(_, trace)| trace.every.is_some()).map(|(number, _)| number as u32)
    }

    /// Returns the links of trace `number`, whose ports must be read now, and the time of the next reading.
    ///
    /// # Panics
    ///
    /// If the trace has no readings at fixed intervals.
    pub fn due(&self, number: u32, now: Instant) -> (Vec<u32>, Instant) {
        let trace = &self.traces[number as usize];
        (trace.links.clone(), now + trace.every.expect("only traces with an interval are scheduled"))
    }

    /// Reads the port of link `index` and records the changed quantities.
    #[cold]
    pub fn record<T: Copy + Default>(
        &mut self,
        at: Instant,
        index: u32,
        port: &mut Port<T>,
        buffer: &SharedBuffer,
    ) {
        let (rows, last) = (&mut self.rows, self.last.entry(index).or_default());
        let mut place = 0;
        port.observe(buffer, |reading| {
            if place == last.len() {
                last.push(f64::NAN);
            }
            if last[place] != reading.value {
                last[place] = reading.value;
                let queue = reading.queue.map(|queue| queue as u32);
                rows.push(PortRow {
                    at,
                    link: index,
                    queue,
                    quantity: reading.quantity,
                    value: reading.value,
                });
            }
            place += 1;
        });
    }
}
