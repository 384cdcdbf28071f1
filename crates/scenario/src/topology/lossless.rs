//! Lossless classes of a network: ingress accounting of switches, priority groups of ports, and pause times.

use serde::Serialize;
use shallows_core::{Bytes, Duration, Instant};
use shallows_switch::headroom::sonic_spectrum;
use shallows_switch::ingress::{self, ClassMaps, GroupConfig};
use shallows_switch::pfc::{PRIORITIES, ReceiveConfig, WatchdogConfig};

/// Lossless classes of a network, with the priority groups of its switches.
#[derive(Clone, Debug)]
pub struct Lossless {
    /// Lossless classes, ascending. A class has the PFC priority of the same number.
    pub classes: Vec<u8>,
    /// Lossless classes of each priority group, in the order of [`LosslessPort::groups`].
    pub groups: Vec<Vec<u8>>,
    /// Maps from packets to classes and to positions in [`LosslessPort::groups`].
    pub maps: ClassMaps,
    /// Ingress accounting of each switch.
    pub books: Vec<ingress::Config>,
    /// Settings of each port, by link.
    pub ports: Vec<LosslessPort>,
    /// Pause time in a PFC frame, in quanta.
    pub quanta: u16,
    /// Whether a pause lasts until the sender of the PFC frame ends the pause. If so, no further frames renew the pause.
    pub are_flags: bool,
    /// Whether the priority groups of a switch share a pool of headroom. If so, packets are lost when too many groups pause at once.
    pub pooled: bool,
    /// PFC watchdog of the ports of switches.
    pub watchdog: Option<WatchdogConfig>,
    /// Whether routes allow a cycle of pauses, so that a deadlock is possible.
    pub cyclic: bool,
    /// Number of links after which a packet is dropped; `None` if packets have no TTL.
    pub ttl: Option<u8>,
}

/// Settings of a port in a network with lossless classes.
#[derive(Clone, Debug, Default)]
pub struct LosslessPort {
    /// Priority groups of packets that arrive at this port: the groups of lossless classes, then one group for all other classes. Empty at
    /// hosts.
    pub groups: Vec<GroupConfig>,
    /// Queue that each PFC priority pauses at this port; `None` for priorities of lossy classes.
    pub queues: [Option<u8>; PRIORITIES],
    /// Time from the arrival of a PFC frame at this port to its effect.
    pub response: Duration,
    /// Headroom of each lossless group, and the bytes that the headroom must hold; `None` at hosts.
    pub headroom: Option<Headroom>,
    /// Terms of SONiC's formula, if the headroom comes from this formula.
    pub sonic: Option<sonic_spectrum::Headroom>,
    /// Receive buffer of a host that reads at a limited rate.
    pub receive: Option<ReceiveConfig>,
    /// Bytes that can arrive at the receive buffer after the decision to pause.
    pub receive_needed: Bytes,
    /// PFC storm of a host.
    pub storm: Option<Storm>,
    /// PFC watchdog of a host's NIC.
    pub nic_watchdog: Option<WatchdogConfig>,
}

/// Headroom of each lossless group of a port, and the bytes that the headroom must hold: all bytes that can still arrive after the decision
/// to pause.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Headroom {
    /// Bytes that arrive while a packet blocks the PFC frame, and while the frame is sent.
    pub own_bytes: u64,
    /// Bytes in flight on the cable in both directions.
    pub cable_bytes: u64,
    /// Bytes that arrive until the sender responds to the PFC frame.
    pub response_bytes: u64,
    /// Bytes of the packet that the sender may have begun to send when it responds to the PFC frame.
    pub peer_bytes: u64,
    /// Bytes of the packet that no longer fits below the limit of the group, and one byte for the rounding of times.
    pub above_limit_bytes: u64,
    /// Bytes of memory per arriving byte in the worst case; more than 1 if packets occupy whole cells.
    pub occupancy: f64,
    /// Memory needed for all bytes that can arrive after the decision to pause.
    pub needed_bytes: u64,
    /// Headroom that the group has.
    pub headroom_bytes: u64,
}

/// PFC storm of a host, which pauses its switch regardless of the packets that arrive.
#[derive(Clone, Debug)]
pub struct Storm {
    /// Start of the PFC storm.
    pub start: Instant,
    /// End of the PFC storm; `None` if it never ends.
    pub stop: Option<Instant>,
    /// Classes that the storm pauses.
    pub classes: Vec<u8>,
}
