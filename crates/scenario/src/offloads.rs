//! NIC offloads: bursts, pacing and interrupt coalescing.

use shallows_core::{Bytes, Duration};
use shallows_transport::Tso;

use crate::check::Checker;
use crate::memory::in_bytes;
use crate::quantity::{self, Automatic};
use crate::spec::{self, Nic, Pacing};

/// Offloads of a host's NIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// Segmentation offload: connections pass several segments to the NIC as one burst. `None` if off.
    pub tso: Option<Tso>,
    /// Whether connections pace their packets.
    pub paced: bool,
    /// Interrupt coalescing of arrived packets; `None` if off.
    pub coalescing: Option<Coalescing>,
}

/// Interrupt coalescing: the NIC collects arrived packets and passes them to the host together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// Rule for how long the NIC collects packets.
    pub wait: Wait,
    /// Whether consecutive segments of a connection are merged into one (GRO).
    pub gro: bool,
    /// Number of receive queues of a NIC, 1 to 256. Each queue collects packets separately.
    pub queues: u32,
}

/// Rule for how long a NIC collects arrived packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Fixed limits.
    Fixed {
        /// Longest wait after the arrival of the first packet.
        time: Duration,
        /// Number of packets that ends the wait early; at least one.
        packets: u32,
    },
    /// Limits that the NIC adapts to the arrivals (DIM).
    Adaptive,
}

/// Largest burst: `GSO_MAX_SIZE` of Linux, which follows from the 16-bit length field of an IP packet.
const LARGEST_BURST: Bytes = Bytes(65_536);
/// Longest wait that a scenario may contain. Longer waits usually have a wrong unit.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// Maximum number of receive queues, more than any NIC gives to one host.
const MOST_QUEUES: u32 = 256;

/// Builds the offloads of a NIC from `[host.nic]`. A full segment has `mss` bytes of data, and its packet has `packet` bytes.
pub(crate) fn build(nic: &Nic, mss: Bytes, packet: Bytes, checker: &mut Checker<'_>) -> Offloads {
    let tso = match nic.tso {
        quantity::Tso::Off => None,
        quantity::Tso::Linux => Some(Tso { largest: LARGEST_BURST, autosized: true }),
        quantity::Tso::Upto(largest) => Some(Tso { largest, autosized: false }),
    };
    if let Some(tso) = tso {
        check_burst(tso, nic, mss, packet, checker);
    }
    let coalescing = nic.coalescing.as_ref().map(|coalescing| check_coalescing(coalescing, checker));
    Offloads { tso, paced: nic.pacing == Pacing::Fq, coalescing }
}

fn check_burst(tso: Tso, nic: &Nic, mss: Bytes, packet: Bytes, checker: &mut Checker<'_>) {
    let largest = tso.largest;
    checker.require(largest >= mss * 2, "host.nic.tso", || {
        format!("must be at least two segments of {mss} or \"off\", got {largest}")
    });
    checker.require(largest <= LARGEST_BURST, "host.nic.tso", || {
        format!(
            "must be at most {LARGEST_BURST}, the largest burst that Linux hands to a NIC (gso_max_size), got \
             {largest}"
        )
    });
    let on_wire = packet * (largest.0 / mss.0.max(1)).max(2);
    let limit = in_bytes(nic.limit(), packet);
    checker.require(limit >= on_wire, "host.nic.tso", || {
        format!(
            "a burst of {on_wire} with headers must fit into the queue of the NIC, host.nic.limit = {}; use a larger \
             limit, or a smaller host.nic.tso",
            nic.limit()
        )
    });
}

fn check_coalescing(coalescing: &spec::Coalescing, checker: &mut Checker<'_>) -> Coalescing {
    let wait = match coalescing.time {
        Automatic::Is(time) => check_wait(time.0, coalescing.packets.unwrap_or(u32::MAX), checker),
        Automatic::Auto => {
            checker.require(coalescing.packets.is_none(), "host.nic.coalescing.packets", || {
                "must be left out with time = \"auto\", which also determines the number of packets; or set time to \
                 a duration"
                    .to_owned()
            });
            Wait::Adaptive
        }
    };
    let queues = coalescing.queues;
    checker.require((1..=MOST_QUEUES).contains(&queues), "host.nic.coalescing.queues", || {
        format!("must be from 1 to {MOST_QUEUES}, got {queues}")
    });
    Coalescing { wait, gro: coalescing.gro, queues }
}

fn check_wait(time: Duration, packets: u32, checker: &mut Checker<'_>) -> Wait {
    checker.require(time > Duration::ZERO, "host.nic.coalescing.time", || {
        "must be above 0s, got 0s; to turn coalescing off, remove host.nic.coalescing".to_owned()
    });
    checker.require(time <= LONGEST_WAIT, "host.nic.coalescing.time", || {
        format!("must be at most {LONGEST_WAIT}, got {time}")
    });
    checker.require(packets > 0, "host.nic.coalescing.packets", || {
        "must be at least 1, got 0; for no limit on the number of packets, leave packets out".to_owned()
    });
    Wait::Fixed { time, packets }
}
