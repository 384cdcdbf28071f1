//! Parameters of HCF: those of Algorithm 1 and the alternatives of §4.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};

use crate::buffer::Limit;

/// Parameters of HCF; the defaults are those of the paper's long-flow simulations (HCF §5.1.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Size of the whole buffer, *B*, without the packet on the wire.
    pub limit: Limit,
    /// Division of the buffer between HP and LP, the queues of high and low priority.
    pub division: Division,
    /// Number of bins with credits, *K* (§4.2).
    pub bins: u32,
    /// Initial credits of each bin in a period, *c₀*.
    pub credits: InitialCredits,
    /// Number of bins that a packet is hashed to, *κ*. With more than one, the bins form a Bloom counter (§4.1).
    pub hashes: u32,
    /// Rule for the end of a priority period.
    pub period: Period,
    /// Source of the next period's hash.
    pub rekey: Rekey,
    /// Effect on a packet's bins when the packet joins LP, the queue of low priority.
    pub footnote: Footnote,
    /// Rule by which the queues exchange roles when the high-priority queue (HP) becomes empty.
    pub swap: Swap,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limit: Limit::Packets(20),
            division: Division::Equal,
            bins: 20,
            credits: InitialCredits::Packets(1),
            hashes: 1,
            period: Period::Dynamic,
            rekey: Rekey::Drawn,
            footnote: Footnote::Applied,
            swap: Swap::WhenEmpty,
        }
    }
}

/// Credits of a bin per period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialCredits {
    /// Number of packets. Each packet that joins HP, the queue of high priority, uses one credit.
    Packets(u32),
    /// Number of bytes (§3.2 step 3, variable sizes). A packet needs at least one byte of credit, not credit for its whole size.
    Bytes(Bytes),
}

/// Division of the buffer between the two queues (§4.4, §4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Division {
    /// HP and LP get half of the buffer each. If the buffer holds an odd number of packets, the initial HP gets one packet more.
    #[default]
    Equal,
    /// HP starts with a given share of the buffer, rounded to the nearest packet or byte. LP gets the rest.
    Unequal {
        /// Share of the buffer that HP starts with, between 0 and 1.
        high: f64,
        /// Sizes of the queues after they swap roles.
        sizes: Sizes,
    },
    /// No fixed division. If the buffer is full, packets at the tail of LP are removed to make room for a packet that belongs in HP.
    Dynamic,
    /// HP has two of three equal segments, and LP has one. At the end of a period, LP's segment and an empty one become HP, and
    /// the other empty segment becomes LP. The remainder of the division by three is unused.
    Thirds,
}

/// Sizes of HP and LP, the queues of high and low priority, after they swap roles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "DivisionSizes")]
pub enum Sizes {
    /// HP takes the former size of LP, and LP that of HP: "the queue sizes are being swapped at each new priority period" (§4.4).
    #[default]
    Swap,
    /// HP and LP keep their sizes. The new HP, which was LP, may then hold more than its size; it admits no packet until it holds less.
    /// Both queues together never exceed the buffer.
    Stay,
}

/// Time at which the credits and the hash are renewed (§4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// The credits and the hash are renewed when HP becomes empty by sending.
    #[default]
    Dynamic,
    /// The credits and the hash are renewed at every multiple of this time. Packets of a flow may then be reordered.
    Fixed(Duration),
}

/// Source of a new hash (§4.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rekey {
    /// A random draw.
    #[default]
    Drawn,
    /// The time at which the period starts. Ports whose periods begin at the same time use the same hash.
    PeriodStart,
}

/// Effect on a packet's bins when the packet joins LP, the queue of low priority (§3.2 step 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Footnote {
    /// The bins lose all credits, so that no later packet of the flow joins HP and overtakes this packet.
    #[default]
    Applied,
    /// Footnote 1 does not apply: the bins keep their credits, as in the journal version. A flow whose packet joined LP because HP was full
    /// may be reordered.
    Absent,
}

/// Change of the queues' roles when HP, the queue of high priority, has become empty by sending (§3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Swap {
    /// LP becomes HP. This also applies with a fixed period, whose clock renews only the credits and the hash.
    #[default]
    WhenEmpty,
    /// The queues keep their roles, and flows are reordered: the design that §3.4 argues against.
    Never,
}

impl Config {
    /// Returns the size of the buffer, in packets or bytes as configured.
    pub(super) fn capacity(&self) -> u64 {
        match self.limit {
            Limit::Bytes(limit) => limit.0,
            Limit::Packets(limit) => u64::from(limit),
        }
    }

    /// Returns the initial sizes of HP and LP.
    pub(super) fn sizes(&self) -> [u64; 2] {
        let whole = self.capacity();
        match self.division {
            Division::Equal => [whole - whole / 2, whole / 2],
            Division::Unequal { high, .. } => {
                let high = ((whole as f64 * high).round() as u64).min(whole);
                [high, whole - high]
            }
            Division::Dynamic => [whole, whole],
            Division::Thirds => [2 * (whole / 3), whole / 3],
        }
    }

    /// Returns whether HP and LP also swap their sizes when they swap roles.
    pub(super) fn sizes_swap(&self) -> bool {
        matches!(self.division, Division::Equal | Division::Unequal { sizes: Sizes::Swap, .. })
    }

    /// Checks the parameters.
    ///
    /// # Panics
    ///
    /// Panics if the number of bins, the number of hashes, the credits, or the size of HP or LP is zero.
    pub(super) fn check(&self) {
        let credits = match self.credits {
            InitialCredits::Packets(credits) => u64::from(credits),
            InitialCredits::Bytes(credits) => credits.0,
        };
        assert!(self.bins > 0, "hcf: flows are hashed to at least one bin");
        assert!(self.hashes > 0, "hcf: a packet is hashed to at least one bin");
        assert!(credits > 0, "hcf: without credits no packet is of high priority");
        assert!(
            self.sizes().into_iter().all(|size| size > 0),
            "hcf: HP and LP hold at least one packet each"
        );
    }
}
