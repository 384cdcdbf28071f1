//! `[[measure.flow_traces]]`: which senders are recorded, and how often.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Every;

/// A record of the state of senders. Flows are chosen by number, or by workload, at random, or both of these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowTrace {
    /// Flows by number, which counts them in order of arrival from 0 on, as the table of flows does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) flows: Vec<u32>,
    /// The flows of this entry of `workload`, counted from 0. Default: of every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) workload: Option<u32>,
    /// As many flows, each as likely as any other, drawn from a random stream of its own. Default: all of `workload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sample: Option<u32>,
    /// How often: `"event"` (default) is at every change, or an interval.
    #[serde(default)]
    pub(crate) every: Every,
}
