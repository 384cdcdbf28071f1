//! Division of a threshold among the queues of a port.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::gauge::Level;
use crate::queue::Share;

/// Division of a threshold among the queues of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// Each queue has the whole threshold: the "standard" threshold of MQ-ECN §2.
    #[default]
    Standard,
    /// Each queue has a part of the threshold in proportion to its quantum or weight: the "minimum" threshold. Queues of strict priority
    /// have the whole threshold.
    Minimum,
}

impl Split {
    /// Returns the threshold of each queue of a port whose queues have these `shares`.
    pub fn divide(self, whole: Level, shares: &[Share]) -> Box<[Level]> {
        let weight = |share: &Share| match *share {
            Share::Strict => 0,
            Share::Round { quantum } => quantum.0,
            Share::Weight(weight) => u64::from(weight),
        };
        let sum: u64 = shares.iter().map(weight).sum();
        let part = |share: &Share| match (self, weight(share)) {
            (Self::Standard, _) | (Self::Minimum, 0) => whole,
            (Self::Minimum, weight) => {
                Level((u128::from(whole.0) * u128::from(weight) / u128::from(sum)) as u64)
            }
        };
        shares.iter().map(part).collect()
    }

    /// Returns the smallest threshold of the queues of a port with these `shares`.
    pub(super) fn least(self, whole: Level, shares: &[Share]) -> Level {
        self.divide(whole, shares).iter().copied().min().unwrap_or(whole)
    }
}
