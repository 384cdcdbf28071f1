//! `[[measure.flow_traces]]`: requests to record the senders of chosen flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Every;

/// Flows whose senders are recorded. They are chosen by number, by workload, at random, or at random from a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTrace {
    /// Numbers of flows, which are counted from 0 in order of arrival, as in the table of flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) flows: Vec<u32>,
    /// Workload whose flows are chosen, given by its index in the scenario, counted from 0. Default: all workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) workload: Option<u32>,
    /// Number of flows to choose at random, uniformly. A separate random stream draws them. Default: all flows of `workload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sample: Option<u32>,
    /// Time between two records; `"event"` (default) records every change.
    #[serde(default)]
    pub(crate) every: Every,
}
