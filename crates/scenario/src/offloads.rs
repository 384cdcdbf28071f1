//! Offloads of NICs: bursts, pacing, and interrupt coalescing.

use shallows_core::{Bytes, Duration};
use shallows_transport::Tso;

use crate::check::Checker;
use crate::memory::in_bytes;
use crate::quantity::{self, Automatic};
use crate::spec::{self, Nic, Pacing};

/// How a NIC and its host share the work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offloads {
    /// How many segments a connection hands over at once, if more than one.
    pub tso: Option<Tso>,
    /// Whether connections pace what they send.
    pub paced: bool,
    /// How packets that have arrived wait for each other, if they do.
    pub coalescing: Option<Coalescing>,
}

/// How packets that have arrived wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing {
    /// How long.
    pub wait: Wait,
    /// Whether segments that follow each other are merged.
    pub gro: bool,
    /// Queues of a NIC, each of which waits for itself; 1 to 256.
    pub queues: u32,
}

/// How long packets wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// As long as this says.
    Fixed {
        /// At most so long after the first that waits.
        time: Duration,
        /// Until there are so many; at least one.
        packets: u32,
    },
    /// As the NIC finds best (DIM).
    Adaptive,
}

/// Linux: `GSO_MAX_SIZE`, from the 16 bits of an IP packet's length.
const LARGEST_BURST: Bytes = Bytes(65_536);
/// Longer waits are slips of the pen: of units, mostly.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// More than any NIC gives a host.
const MOST_QUEUES: u32 = 256;

/// Offloads of `[host.nic]`, for segments of `mss` bytes in packets of `packet`.
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
        format!("{largest} does not hold two segments of {mss}, the smallest burst; a larger one, or \"off\"")
    });
    checker.require(largest <= LARGEST_BURST, "host.nic.tso", || {
        format!(
            "{largest} is more than {LARGEST_BURST}, the most that a NIC is handed at once (gso_max_size)"
        )
    });
    let on_wire = packet * (largest.0 / mss.0.max(1)).max(2);
    let limit = in_bytes(nic.limit(), packet);
    checker.require(limit >= on_wire, "host.nic.tso", || {
        format!(
            "a burst of {on_wire} with its headers does not fit the NIC, host.nic.limit = {}; a larger limit, or \
             smaller bursts (host.nic.tso)",
            nic.limit()
        )
    });
}

fn check_coalescing(coalescing: &spec::Coalescing, checker: &mut Checker<'_>) -> Coalescing {
    let wait = match coalescing.time {
        Automatic::Is(time) => check_wait(time.0, coalescing.packets.unwrap_or(u32::MAX), checker),
        Automatic::Auto => {
            checker.require(coalescing.packets.is_none(), "host.nic.coalescing.packets", || {
                "with time = \"auto\" the NIC chooses how many packets, too; leave it out, or give a time"
                    .to_owned()
            });
            Wait::Adaptive
        }
    };
    let queues = coalescing.queues;
    checker.require((1..=MOST_QUEUES).contains(&queues), "host.nic.coalescing.queues", || {
        format!("{queues} queues; 1 to {MOST_QUEUES}")
    });
    Coalescing { wait, gro: coalescing.gro, queues }
}

fn check_wait(time: Duration, packets: u32, checker: &mut Checker<'_>) -> Wait {
    checker.require(time > Duration::ZERO, "host.nic.coalescing.time", || {
        "packets that wait for no time do not wait: above 0s, or no coalescing at all".to_owned()
    });
    checker.require(time <= LONGEST_WAIT, "host.nic.coalescing.time", || {
        format!("{time} is longer than any NIC waits; at most {LONGEST_WAIT}")
    });
    checker.require(packets > 0, "host.nic.coalescing.packets", || {
        "0 packets never come; at least 1, or leave it out, so that only the time counts".to_owned()
    });
    Wait::Fixed { time, packets }
}
