//! Traces of chosen ports: everything that a port tells of itself, at intervals or whenever it changes.

use shallows_core::{Duration, Instant};
use shallows_scenario::{Experiment, Trace};
use shallows_switch::buffer::SharedBuffer;

use crate::link::Link;
use crate::places::Places;

/// The traces so far. A reading that has not changed leaves no row.
#[derive(Debug, Default)]
pub(crate) struct Tracer {
    /// With places of links.
    traces: Vec<Trace>,
    pub(crate) rows: Vec<TraceRow>,
    /// By place of a link: its last readings, in the order in which its port tells them.
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
    ///
    /// Of links that are in other parts of the network it knows nothing.
    pub(crate) fn new(experiment: &Experiment, links: &mut [Link], places: &Places) -> Self {
        let here = |trace: &Trace| {
            let numbers = trace.links.iter().filter(|&&number| places.has(number));
            Trace { links: numbers.map(|&number| places.at(number) as u32).collect(), every: trace.every }
        };
        let traces: Vec<Trace> = experiment.traces.iter().map(here).collect();
        for trace in traces.iter().filter(|trace| trace.every.is_none()) {
            for &place in &trace.links {
                links[place as usize].watch.traced = true;
            }
        }
        Self { traces, rows: Vec::new(), last: vec![Vec::new(); links.len()] }
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
        for nth in 0..self.traces[number as usize].links.len() {
            let place = self.traces[number as usize].links[nth];
            let link = &mut links[place as usize];
            self.record(now, place, link, &buffers[link.buffer as usize]);
        }
        let every: Option<Duration> = self.traces[number as usize].every;
        now + every.expect("only traces with an interval are scheduled")
    }

    /// Read one port.
    #[cold]
    pub(crate) fn record(&mut self, at: Instant, place: u32, link: &mut Link, buffer: &SharedBuffer) {
        let (rows, last) = (&mut self.rows, &mut self.last[place as usize]);
        let (number, mut nth) = (link.number, 0);
        link.port.observe(buffer, |reading| {
            if nth == last.len() {
                last.push(f64::NAN);
            }
            if last[nth] != reading.value {
                last[nth] = reading.value;
                let queue = reading.queue.map(|queue| queue as u32);
                rows.push(TraceRow {
                    at,
                    link: number,
                    queue,
                    quantity: reading.quantity,
                    value: reading.value,
                });
            }
            nth += 1;
        });
    }
}
