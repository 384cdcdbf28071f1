//! Converts a load to an exact rate of flows, and computes the resulting load of every link.

use shallows_core::packet::HostId;

use super::distribution::Sizes;
use crate::agreement::Segments;
use crate::spec::{Counted, LoadOf};
use crate::topology::{Link, Network, PortKind, routing};

impl Segments {
    /// Returns the mean number of bytes that a flow adds to a load. `counted` defines which bytes of the flow count.
    pub(crate) fn mean_bytes(&self, sizes: &Sizes, counted: Counted) -> f64 {
        let (data, overhead) = (self.data.0 as f64, self.overhead.0 as f64);
        match counted {
            Counted::Payload => sizes.mean(),
            Counted::FullSegments => sizes.mean() * ((data + overhead) / data),
            Counted::Wire => sizes.mean() + overhead * sizes.mean_segments(self.data) + self.once.0 as f64,
        }
    }
}

/// Traffic that is uniform over all ordered pairs of distinct hosts, from a set of senders to a set of receivers.
#[derive(Debug)]
pub(crate) struct Matrix<'a> {
    network: &'a Network,
    senders: &'a [HostId],
    receivers: &'a [HostId],
    /// Number of senders at each switch.
    senders_on: Vec<f64>,
    /// Number of receivers at each switch.
    receivers_on: Vec<f64>,
    sends: Vec<bool>,
    receives: Vec<bool>,
    pairs: f64,
}

impl<'a> Matrix<'a> {
    /// Creates the traffic from `senders` to `receivers`, or `None` if there is no pair.
    pub(crate) fn new(network: &'a Network, senders: &'a [HostId], receivers: &'a [HostId]) -> Option<Self> {
        let members = |set: &[HostId]| {
            let mut member = vec![false; network.hosts as usize];
            let mut on_switch = vec![0.0; network.switches as usize];
            for &host in set {
                member[host.0 as usize] = true;
                on_switch[network.switch_of(host)] += 1.0;
            }
            (member, on_switch)
        };
        let ((sends, senders_on), (receives, receivers_on)) = (members(senders), members(receivers));
        let both = sends.iter().zip(&receives).filter(|(sends, receives)| **sends && **receives).count();
        let pairs = senders.len() as f64 * receivers.len() as f64 - both as f64;
        let matrix = Self { network, senders, receivers, senders_on, receivers_on, sends, receives, pairs };
        (pairs > 0.0).then_some(matrix)
    }

    /// Returns the total capacity in bit/s of the links that `of` selects, and the share of flows that use one of these links.
    pub(crate) fn capacity(&self, of: LoadOf) -> (f64, f64) {
        let links = &self.network.links;
        // Both directions of a host's cable have the same rate.
        let of_hosts = |hosts: &[HostId]| hosts.iter().map(|host| links[host.0 as usize].rate.0 as f64).sum();
        match of {
            LoadOf::Senders => (of_hosts(self.senders), 1.0),
            LoadOf::Receivers => (of_hosts(self.receivers), 1.0),
            LoadOf::Uplinks => {
                // A bottleneck has two directions. Each counts as an uplink of the switch that it leaves.
                let switch = |link: &Link| (link.from.0 - self.network.hosts) as usize;
                let up = links.iter().filter(|link| {
                    matches!(link.kind, PortKind::Up | PortKind::Bottleneck)
                        && self.leaving(switch(link)) > 0.0
                });
                let crossing: f64 = (0..self.senders_on.len()).map(|switch| self.leaving(switch)).sum();
                (up.map(|link| link.rate.0 as f64).sum(), crossing)
            }
        }
    }

    /// Returns the number of ordered pairs of distinct hosts.
    pub(crate) fn pairs(&self) -> f64 {
        self.pairs
    }

    /// Returns the share of all flows that go from hosts of this switch to hosts of other switches.
    fn leaving(&self, switch: usize) -> f64 {
        self.senders_on[switch] * (self.receivers.len() as f64 - self.receivers_on[switch]) / self.pairs
    }

    /// Returns the share of all flows that go from hosts of other switches to hosts of this switch.
    fn entering(&self, switch: usize) -> f64 {
        self.receivers_on[switch] * (self.senders.len() as f64 - self.senders_on[switch]) / self.pairs
    }

    /// Returns the share of all flows that go from hosts of switch `from` to hosts of switch `to`.
    fn between(&self, from: usize, to: usize) -> f64 {
        if from == to { 0.0 } else { self.senders_on[from] * self.receivers_on[to] / self.pairs }
    }

    /// Returns, for each link, the share of all flows that the link carries on average, if flows are spread evenly over equal-cost paths.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let network = self.network;
        let switch = |node: crate::topology::NodeId| (node.0 - network.hosts) as usize;
        let mut out = vec![0.0; network.switches as usize];
        let mut into = vec![0.0; network.switches as usize];
        for link in network.links.iter().filter(|link| is_next(link.kind)) {
            out[switch(link.from)] += 1.0;
            into[switch(link.to)] += 1.0;
        }
        // In a graph, and above the pods of a fat tree, the share of a link depends on all routes.
        let has_trunks = network.links.iter().any(|link| is_beyond(link.kind));
        let trunks = has_trunks.then(|| routing::spread(network, |from, to| self.between(from, to)));
        let others = |own: bool, count: usize| count as f64 - f64::from(u8::from(own));
        let share = |(number, link): (usize, &Link)| match link.kind {
            PortKind::Nic => {
                let host = link.from.0 as usize;
                f64::from(u8::from(self.sends[host])) * others(self.receives[host], self.receivers.len())
                    / self.pairs
            }
            PortKind::ToHost => {
                let host = link.to.0 as usize;
                f64::from(u8::from(self.receives[host])) * others(self.sends[host], self.senders.len())
                    / self.pairs
            }
            PortKind::Up | PortKind::Bottleneck => self.leaving(switch(link.from)) / out[switch(link.from)],
            PortKind::Down => self.entering(switch(link.to)) / into[switch(link.to)],
            PortKind::Trunk | PortKind::CoreUp | PortKind::CoreDown => {
                trunks.as_ref().map_or(0.0, |shares| shares[number])
            }
        };
        network.links.iter().enumerate().map(share).collect()
    }
}

/// Returns whether a port of this kind is at one end of a cable between a switch with hosts and another switch. The uplinks from one
/// switch with hosts carry equal traffic, and so do the downlinks to that switch.
fn is_next(kind: PortKind) -> bool {
    matches!(kind, PortKind::Up | PortKind::Down | PortKind::Bottleneck)
}

fn is_beyond(kind: PortKind) -> bool {
    matches!(kind, PortKind::Trunk | PortKind::CoreUp | PortKind::CoreDown)
}
