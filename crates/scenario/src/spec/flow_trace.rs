//! `[[measure.flow_traces]]`: senders that are recorded, and the interval.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Every;

/// Flows whose senders are recorded: chosen by number, or by workload and at random.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTrace {
    /// Flows by number, counted in order of arrival from 0, as in the table of flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) flows: Vec<u32>,
    /// Entry of `workload`, counted from 0, whose flows are chosen. Default: all workloads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) workload: Option<u32>,
    /// Number of flows in a uniform random sample, drawn from a separate random stream. Default: all of `workload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sample: Option<u32>,
    /// Interval of readings; `"event"` (default) means every change.
    #[serde(default)]
    pub(crate) every: Every,
}
