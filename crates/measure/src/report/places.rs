//! Counts of lost and marked packets by place: NICs of hosts versus switches, and kinds of ports.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use shallows_core::Bytes;
use shallows_scenario::PortKind;
use shallows_switch::port::Counters;

use super::record::Report;
use super::statistics::ratio;

/// Packet counts summed over several ports.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    ports: u64,
    received: u64,
    sent: u64,
    sent_bytes: Bytes,
    marked: u64,
    pub(super) dropped: u64,
    /// Dropped segments with data.
    pub(super) dropped_data: u64,
}

impl Totals {
    fn add(&mut self, port: &Counters, dropped_data: u64) {
        self.ports += 1;
        self.received += port.received;
        self.sent += port.sent;
        self.sent_bytes += port.sent_bytes;
        self.marked += port.marked;
        self.dropped += port.dropped_total();
        self.dropped_data += dropped_data;
    }

    fn describe(&self) -> Value {
        json!({
            "ports": self.ports,
            "received": self.received,
            "sent": self.sent,
            "sent_bytes": self.sent_bytes.0,
            "marked": self.marked,
            "dropped": self.dropped,
            "dropped_data": self.dropped_data,
            "loss_rate": ratio(self.dropped, self.received),
        })
    }
}

impl Report {
    /// Returns the totals of the hosts' NICs and of the switches. In networks with lossless classes, the dropped packets of switches
    /// include those that were dropped before they reached a port. Packets dropped by receive buffers are not included.
    pub(super) fn nics_and_switches(&self) -> (Totals, Totals) {
        let hosts = self.experiment.network.hosts;
        let nics = self.totals(|link| link.from.0 < hosts);
        let mut switches = self.totals(|link| link.from.0 >= hosts);
        if self.experiment.network.lossless.is_some() {
            for lost in self.lost.values() {
                switches.dropped += lost.packets - lost.packets_in_nics;
                switches.dropped_data += lost.data - lost.data_in_nics;
            }
        }
        (nics, switches)
    }

    /// Returns the totals of each kind of port as JSON; kinds of host ports come first.
    pub(super) fn describe_ports(&self) -> Value {
        let kinds: BTreeSet<PortKind> = self.experiment.network.links.iter().map(|link| link.kind).collect();
        let described = kinds
            .into_iter()
            .map(|kind| (kind.name().to_owned(), self.totals(|link| link.kind == kind).describe()));
        Value::Object(described.collect())
    }

    /// Returns the mean of dropped/received over the switch ports that received packets: the loss rate that BCC's scripts print.
    pub(super) fn mean_loss_over_ports(&self) -> f64 {
        let hosts = self.experiment.network.hosts;
        let ports = self.ports.iter().zip(&self.experiment.network.links);
        let losses: Vec<f64> = ports
            .filter(|(port, link)| link.from.0 >= hosts && port.received > 0)
            .map(|(port, _)| ratio(port.dropped_total(), port.received))
            .collect();
        if losses.is_empty() { 0.0 } else { losses.iter().sum::<f64>() / losses.len() as f64 }
    }

    /// Returns a warning if NICs dropped more packets than switches, because readers would attribute the losses of NICs to the network.
    pub(super) fn losses_of_nics(&self) -> Option<String> {
        let (nics, switches) = self.nics_and_switches();
        (nics.dropped > switches.dropped).then(|| {
            let instead = if self.experiment.hosts.groups.iter().all(|group| group.backpressure.is_some()) {
                "use a larger host.nic.limit, or less traffic without backpressure"
            } else {
                "set host.nic.backpressure, so that connections wait for the NIC as in Linux"
            };
            // The text contains no numbers, so that a sweep can count runs with the same warning. The tables have the numbers.
            format!(
                "the NICs of senders dropped more packets than the switches: most losses did not occur in the \
                 network; {instead}"
            )
        })
    }

    fn totals(&self, which: impl Fn(&shallows_scenario::Link) -> bool) -> Totals {
        let mut totals = Totals::default();
        let links = self.experiment.network.links.iter().zip(&self.ports).zip(&self.data_dropped);
        for ((_, port), &data) in links.filter(|((link, _), _)| which(link)) {
            totals.add(port, data);
        }
        totals
    }
}
