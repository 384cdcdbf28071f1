//! The parameters of HCF: those of its Algorithm 1, and every alternative of §4.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::{Bytes, Duration};

use crate::buffer::Limit;

/// Parameters; the defaults are those of the paper's long-flow simulations (HCF §5.1.1).
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Size of the whole buffer, *B*. The packet on the wire is not in it.
    pub limit: Limit,
    /// How HP and LP divide it.
    pub division: Division,
    /// How many bins credits are kept for, *K* (§4.2).
    pub bins: u32,
    /// What each bin has at the start of a period, *c₀*.
    pub credits: InitialCredits,
    /// How many bins a packet is hashed to, *κ*: with more than one, a Bloom counter (§4.1).
    pub hashes: u32,
    /// When a priority period ends.
    pub period: Period,
    /// Where the hash of the next period comes from.
    pub rekey: Rekey,
    /// What a packet that joins LP leaves its bins.
    pub footnote: Footnote,
    /// What becomes of the queues when HP has become empty.
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

/// What a bin has to spend in a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialCredits {
    /// So many packets.
    Packets(u32),
    /// So many bytes (§3.2 step 3, variable sizes). A packet needs one left, not its whole size.
    Bytes(Bytes),
}

/// How the two queues divide the buffer (§4.4, §4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Division {
    /// Half each; of an odd number of packets, the first HP gets one more.
    #[default]
    Equal,
    /// HP gets this share at first, rounded to the nearest packet or byte, and LP the rest.
    Unequal {
        /// The share, between 0 and 1.
        high: f64,
        /// Where the sizes go when the queues swap.
        sizes: Sizes,
    },
    /// No borders; if it is full, packets at the tail of LP make room for one that belongs in HP.
    Dynamic,
    /// Two of three segments for HP, one for LP. At the end of a period, the segment of LP and an empty one become
    /// HP, the other empty one becomes LP. What does not divide by three is not used.
    Thirds,
}

/// Where the sizes of HP and LP, the queues of high and low priority, go when these swap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "DivisionSizes")]
pub enum Sizes {
    /// They swap with the queues: "the queue sizes are being swapped at each new priority period" (§4.4).
    #[default]
    Swap,
    /// HP keeps its size, and LP its own. What was in LP may then be more than HP may hold; HP takes nothing until it
    /// is not, and both together never exceed the buffer.
    Stay,
}

/// When credits and hash are renewed (§4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Period {
    /// When HP becomes empty by sending.
    #[default]
    Dynamic,
    /// At every multiple of this time. Packets of a flow may then be reordered.
    Fixed(Duration),
}

/// Where a new hash comes from (§4.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rekey {
    /// It is drawn at random.
    #[default]
    Drawn,
    /// The header is combined with the time at which the period began, so ports that begin together hash alike.
    PeriodStart,
}

/// What a packet that joins LP, the queue of low priority, leaves its bins (§3.2 step 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Footnote {
    /// Nothing, so that no later packet of its flow overtakes it in HP.
    #[default]
    Applied,
    /// What they have, as in the journal's print. A flow that joined LP because HP was full may be reordered.
    Absent,
}

/// What becomes of the queues when HP, that of high priority, has become empty by sending (§3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Swap {
    /// LP becomes HP. With a fixed period too, where only credits and hash follow the clock.
    #[default]
    WhenEmpty,
    /// They stay as they are, and flows are reordered: the design that §3.4 argues against.
    Never,
}

impl Config {
    /// The size of the buffer, in whatever it is measured.
    pub(super) fn capacity(&self) -> u64 {
        match self.limit {
            Limit::Bytes(limit) => limit.0,
            Limit::Packets(limit) => u64::from(limit),
        }
    }

    /// The sizes of the first HP and the first LP.
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

    /// Whether the sizes go with the queues when these swap.
    pub(super) fn sizes_swap(&self) -> bool {
        matches!(self.division, Division::Equal | Division::Unequal { sizes: Sizes::Swap, .. })
    }

    /// Check what no port can be built with.
    ///
    /// # Panics
    ///
    /// If bins, hashes, credits, HP or LP are none.
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
