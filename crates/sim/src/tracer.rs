//! Traces of chosen ports: everything that a port tells of itself, at intervals or whenever it changes.

use shallows_core::{Duration, Instant};
use shallows_scenario::{Experiment, Trace};
use shallows_switch::buffer::SharedBuffer;

use crate::link::Link;

/// The traces so far. A reading that has not changed leaves no row.
#[derive(Debug, Default)]
pub(crate) struct Tracer {
    traces: Vec<Trace>,
    pub(crate) rows: Vec<TraceRow>,
    /// By link: its last readings, in the order in which its port tells them.
    last: Vec<Vec<f64>>,
}

/// One reading of one port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TraceRow {
    pub(crate) at: Instant,
    pub(crate) link: u32,
    pub(crate) queue: Option<u32>,
    pub(crate) quantity: &'static str,
    pub(crate) value: f64,
}

impl Tracer {
    /// The traces that `experiment` asks for; ports that are traced at every change are told so among `links`.
    pub(crate) fn new(experiment: &Experiment, links: &mut [Link]) -> Self {
        for trace in experiment.traces.iter().filter(|trace| trace.every.is_none()) {
            for &link in &trace.links {
                links[link as usize].watch.traced = true;
            }
        }
        Self { traces: experiment.traces.clone(), rows: Vec::new(), last: vec![Vec::new(); links.len()] }
    }

    /// The traces that are taken at intervals, by number.
    pub(crate) fn at_intervals(&self) -> impl Iterator<Item = u32> + '_ {
        let traces = self.traces.iter().enumerate();
        traces.filter(|(_, trace)| trace.every.is_some()).map(|(number, _)| number as u32)
    }

    /// Read the ports of trace `number`; returns when to come again.
    pub(crate) fn sample(
        &mut self,
        number: u32,
        now: Instant,
        links: &mut [Link],
        buffers: &[SharedBuffer],
    ) -> Instant {
        for place in 0..self.traces[number as usize].links.len() {
            let index = self.traces[number as usize].links[place];
            let link = &mut links[index as usize];
            self.record(now, index, link, &buffers[link.node as usize]);
        }
        let every: Option<Duration> = self.traces[number as usize].every;
        now + every.expect("only traces with an interval are scheduled")
    }

    /// Read one port.
    #[cold]
    pub(crate) fn record(&mut self, at: Instant, index: u32, link: &mut Link, buffer: &SharedBuffer) {
        let (rows, last) = (&mut self.rows, &mut self.last[index as usize]);
        let mut place = 0;
        link.port.observe(buffer, |reading| {
            if place == last.len() {
                last.push(f64::NAN);
            }
            if last[place] != reading.value {
                last[place] = reading.value;
                let queue = reading.queue.map(|queue| queue as u32);
                rows.push(TraceRow {
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
