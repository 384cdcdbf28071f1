//! Traces of chosen ports: everything that a port tells of itself, at intervals or whenever it changes.

use std::collections::BTreeMap;

use shallows_core::Instant;
use shallows_scenario::{Experiment, PortTrace};
use shallows_switch::Port;
use shallows_switch::buffer::SharedBuffer;

/// The traces so far. A reading that has not changed leaves no row.
#[derive(Debug, Default)]
pub struct PortTracer {
    traces: Vec<PortTrace>,
    /// Recorded readings.
    pub rows: Vec<PortRow>,
    /// Last readings of traced links, by number, in the order in which their ports report them.
    last: BTreeMap<u32, Vec<f64>>,
}

/// One reading of one port.
#[derive(Clone, Copy, Debug)]
pub struct PortRow {
    /// When.
    pub at: Instant,
    /// Number of the link whose port was read.
    pub link: u32,
    /// Index of the queue, if the reading is about one.
    pub queue: Option<u32>,
    /// Quantity that was read.
    pub quantity: &'static str,
    /// Its value from now on.
    pub value: f64,
}

impl PortTracer {
    /// The traces that `experiment` asks for.
    pub fn new(experiment: &Experiment) -> Self {
        Self { traces: experiment.port_traces.clone(), ..Self::default() }
    }

    /// Links whose ports are to be read at every change.
    pub fn at_every_change(&self) -> impl Iterator<Item = u32> + '_ {
        let traces = self.traces.iter().filter(|trace| trace.every.is_none());
        traces.flat_map(|trace| trace.links.iter().copied())
    }

    /// The traces that are taken at intervals, by number.
    pub fn at_intervals(&self) -> impl Iterator<Item = u32> + '_ {
        let traces = self.traces.iter().enumerate();
        traces.filter(|(_, trace)| trace.every.is_some()).map(|(number, _)| number as u32)
    }

    /// The links of trace `number`, whose ports are to be read at `now`, and when to come again.
    ///
    /// # Panics
    ///
    /// If it is not taken at intervals.
    pub fn due(&self, number: u32, now: Instant) -> (Vec<u32>, Instant) {
        let trace = &self.traces[number as usize];
        (trace.links.clone(), now + trace.every.expect("only traces with an interval are scheduled"))
    }

    /// Read the port of link `index`.
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
