//! Choice of the flows to trace, made when each flow arrives.
//!
//! The number of flows is unknown until the run ends, so a random sample is drawn by reservoir sampling (Vitter, TOMS '85, algorithm R):
//! the k-th flow enters a sample of n flows with probability n/k and replaces a flow of the sample.

use shallows_core::random::Stream;
use shallows_scenario::{Experiment, FlowChoice};

/// Choices of all flow traces among the flows that have arrived.
#[derive(Debug)]
pub struct FlowChoices {
    traces: Vec<Choice>,
    /// Flows that were chosen and later replaced.
    forgotten: Vec<u32>,
}

#[derive(Debug)]
struct Choice {
    choice: FlowChoice,
    stream: Stream,
    /// Number of arrived flows from which the sample was drawn.
    candidates: u64,
    /// Flows in the sample.
    chosen: Vec<u32>,
}

impl FlowChoices {
    /// Creates the choices for the flow traces of `experiment`.
    pub fn new(experiment: &Experiment) -> Self {
        let choice = |(number, trace): (usize, &shallows_scenario::FlowTrace)| Choice {
            choice: trace.choice.clone(),
            stream: Stream::new(experiment.seed, "flow-traces", number as u64),
            candidates: 0,
            chosen: Vec::new(),
        };
        let traces = experiment.flow_traces.iter().enumerate().map(choice).collect();
        Self { traces, forgotten: Vec::new() }
    }

    /// Returns the first trace that chooses this flow, if any. Must be called once for each flow, in the order of flow numbers. A later
    /// flow may replace this one in a random sample; [`Self::forgotten`] then contains the replaced flow.
    #[inline]
    pub fn trace_of(&mut self, flow: u32, workload: u16) -> Option<u16> {
        let trace =
            self.traces.iter_mut().position(|trace| trace.chooses(flow, workload, &mut self.forgotten));
        trace.map(|trace| u16::try_from(trace).expect("fewer than 2^16 traces"))
    }

    /// Returns the flows that were replaced in a sample by another flow.
    pub fn forgotten(&self) -> &[u32] {
        &self.forgotten
    }
}

impl Choice {
    /// Returns whether this trace chooses the flow. If the flow replaces another one in the sample, the replaced flow is added to
    /// `forgotten`.
    fn chooses(&mut self, flow: u32, workload: u16, forgotten: &mut Vec<u32>) -> bool {
        match &self.choice {
            FlowChoice::Numbers(flows) => flows.binary_search(&flow).is_ok(),
            FlowChoice::Workload(chosen) => *chosen == workload,
            FlowChoice::Sample { workload: Some(chosen), .. } if *chosen != workload => false,
            FlowChoice::Sample { count, .. } => {
                self.candidates += 1;
                if self.chosen.len() < *count as usize {
                    self.chosen.push(flow);
                    return true;
                }
                let place = self.stream.below(self.candidates) as usize;
                let Some(held) = self.chosen.get_mut(place) else { return false };
                forgotten.push(std::mem::replace(held, flow));
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flow_is_as_likely_to_be_sampled_as_any_other() {
        // 2 of 10 flows are chosen 5,000 times: each flow 1,000 times on average, with a standard deviation of 28.3. Five standard
        // deviations are 141.
        let mut counts = [0u32; 10];
        for entity in 0..5_000 {
            let trace = Choice {
                choice: FlowChoice::Sample { count: 2, workload: None },
                stream: Stream::new(1, "flow-traces", entity),
                candidates: 0,
                chosen: Vec::new(),
            };
            let mut choices = FlowChoices { traces: vec![trace], forgotten: Vec::new() };
            let mut chosen: Vec<u32> = (0..10).filter(|&flow| choices.trace_of(flow, 0).is_some()).collect();
            chosen.retain(|flow| !choices.forgotten().contains(flow));
            assert_eq!(chosen.len(), 2);
            chosen.iter().for_each(|&flow| counts[flow as usize] += 1);
        }
        assert!(counts.iter().all(|&count| count.abs_diff(1_000) < 141), "{counts:?}");
    }
}
