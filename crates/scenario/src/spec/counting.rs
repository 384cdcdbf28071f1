//! In what a window is counted: `tcp.congestion.counting` of `cubic`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// In what CUBIC counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Counting {
    /// Fractions of segments (RFC 9438).
    #[default]
    Exact,
    /// Whole segments, and nothing faster than Reno where the old window is regained (Linux).
    Segments,
}
