//! Builds the ports of hosts and switches from the scenario.

mod disciplines;
mod markers;
pub(crate) mod site;

use std::collections::BTreeSet;

use shallows_core::Duration;
use shallows_core::packet::HostId;
use shallows_switch::{EgressDrop, port, shaper};

use self::site::Site;
use crate::bcc;
use crate::check::Checker;
use crate::experiment::PortTrace;
use crate::memory::full_packet;
use crate::pattern;
use crate::quantity::Every;
use crate::resolved::Resolved;
use crate::spec::{self, Marker, Port, PortOverride, Shaper};
use crate::topology::{Link, Network, PortKind};

/// Shortest interval between two records of a trace. Sending one packet takes longer than this even on the fastest link.
pub(crate) const SHORTEST_INTERVAL: Duration = Duration::from_nanos(1);

/// Builds every port of `network`. Problems are recorded in `checker`.
pub(crate) fn build(spec: &Resolved, network: &mut Network, checker: &mut Checker<'_>) {
    let matches = check_overrides(&spec.switch.overrides, network, checker);
    let (packet, base_rtt) = (full_packet(spec), network.base_rtt());
    let (mut ports, mut notes, mut places): (Vec<port::Config>, _, _) = (Vec::new(), Vec::new(), Vec::new());
    for (index, link) in network.links.iter().enumerate() {
        let wanted = wanted(spec, network, link, |entry| matches[entry][index]);
        let config = Site { network, link, packet, base_rtt }.port(&wanted, &mut notes, checker);
        places.push(ports.iter().position(|known| *known == config).unwrap_or(ports.len()));
        if places[index] == ports.len() {
            ports.push(config);
        }
    }
    for (link, port) in network.links.iter_mut().zip(places) {
        link.port = port;
    }
    (network.ports, network.notes) = (ports, notes);
}

/// Settings of one port. Each setting comes with its key in the scenario.
struct Wanted<'a> {
    port: (&'a Port, String),
    markers: (&'a [Marker], String),
    shaper: Option<(&'a Shaper, String)>,
    egress_drop: EgressDrop,
}

fn wanted<'a>(
    spec: &'a Resolved,
    network: &Network,
    link: &Link,
    matches: impl Fn(usize) -> bool,
) -> Wanted<'a> {
    let switch = &spec.switch;
    if link.kind == PortKind::Nic {
        let (nic, key) = spec.host.nic_of(network.groups.of(HostId(link.from.0)));
        return Wanted {
            port: (&nic.port, format!("{key}.port")),
            markers: (&nic.markers, format!("{key}.markers")),
            shaper: nic.shaper.as_ref().map(|shaper| (shaper, format!("{key}.shaper"))),
            egress_drop: switch.egress_drop,
        };
    }
    let mut wanted = Wanted {
        port: (&switch.port, "switch.port".to_owned()),
        markers: (&switch.markers, "switch.markers".to_owned()),
        shaper: switch.shaper.as_ref().map(|shaper| (shaper, "switch.shaper".to_owned())),
        egress_drop: switch.egress_drop,
    };
    for (entry, change) in switch.overrides.iter().enumerate().filter(|(entry, _)| matches(*entry)) {
        let key = |part: &str| format!("switch.overrides[{entry}].{part}");
        if let Some(port) = &change.port {
            wanted.port = (port, key("port"));
        }
        if let Some(markers) = &change.markers {
            wanted.markers = (markers, key("markers"));
        }
        if let Some(shaper) = &change.shaper {
            wanted.shaper = Some((shaper, key("shaper")));
        }
        wanted.egress_drop = change.egress_drop.unwrap_or(wanted.egress_drop);
    }
    wanted
}

/// Returns a table of flags, indexed by override and then by link: whether the override applies to the port of the link.
fn check_overrides(
    overrides: &[PortOverride],
    network: &Network,
    checker: &mut Checker<'_>,
) -> Vec<Vec<bool>> {
    let mut table = Vec::new();
    for (entry, change) in overrides.iter().enumerate() {
        let key = format!("switch.overrides[{entry}]");
        let PortOverride { ports, port, markers, shaper, egress_drop } = change;
        let some = port.is_some() || markers.is_some() || shaper.is_some() || egress_drop.is_some();
        checker.require(some, &key, || "must have a port, markers, a shaper or an egress_drop".to_owned());
        let at_switch = |link: &Link| link.kind != PortKind::Nic;
        let row = matching(ports, &format!("{key}.ports"), network, at_switch, checker);
        table.push(row);
    }
    table
}

/// Returns the port traces that the scenario requests.
pub(crate) fn traces(
    traces: &[spec::PortTrace],
    network: &Network,
    checker: &mut Checker<'_>,
) -> Vec<PortTrace> {
    let mut made = Vec::new();
    for (entry, trace) in traces.iter().enumerate() {
        let key = format!("measure.traces[{entry}]");
        let every = match trace.every {
            Every::Event => None,
            Every::Interval(time) => Some(time),
        };
        checker.require(
            every.is_none_or(|every| every >= SHORTEST_INTERVAL),
            &format!("{key}.every"),
            || format!("must be at least 1ns or \"event\", got {}", trace.every),
        );
        let hits = matching(&trace.ports, &format!("{key}.ports"), network, |_| true, checker);
        let links = (0..network.links.len() as u32).filter(|&link| hits[link as usize]).collect();
        made.push(PortTrace { links, every });
    }
    made
}

/// Returns one flag for each link: whether one of `patterns` matches the port that the link leaves. Ports of links for which `may` returns
/// false never match.
pub(crate) fn matching(
    patterns: &[String],
    key: &str,
    network: &Network,
    may: impl Fn(&Link) -> bool,
    checker: &mut Checker<'_>,
) -> Vec<bool> {
    checker.require(!patterns.is_empty(), key, || {
        "must name at least one port: give a list of names, such as [\"switch0->*\"], or of kinds, such as \
         [\"to-host\"]"
            .to_owned()
    });
    let mut row = vec![false; network.links.len()];
    for (index, pattern) in patterns.iter().enumerate() {
        let mut found = false;
        for (place, link) in network.links.iter().enumerate().filter(|(_, link)| may(link)) {
            let hit = pattern == link.kind.name() || pattern::matches(pattern, &link.name);
            row[place] |= hit;
            found |= hit;
        }
        checker.require(found, &format!("{key}[{index}]"), || {
            let example = network.links.iter().find(|link| may(link));
            let example = example.map_or("switch0->host0", |link| &link.name);
            let kinds = network.links.iter().filter(|link| may(link)).map(|link| link.kind.name());
            let kinds = kinds.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(", ");
            format!(
                "no port matches {pattern:?}; use a name such as \"{example}\", a pattern in which * matches any \
                 text, or a kind: {kinds}"
            )
        });
    }
    row
}

impl Site<'_> {
    fn port(&self, wanted: &Wanted<'_>, notes: &mut Vec<String>, checker: &mut Checker<'_>) -> port::Config {
        let discipline = self.discipline(wanted.port.0, &wanted.port.1, checker);
        let shares = discipline.shares();
        let (markers, key) = &wanted.markers;
        let mut placed = Vec::new();
        for (index, marker) in markers.iter().enumerate() {
            let key = format!("{key}[{index}]");
            placed.extend(self.marker(marker, &key, &shares, checker));
            if let Marker::Bcc(marker) = marker
                && let Ok(bcc::Thresholds { formula: Some(formula), .. }) = bcc::thresholds(marker, self)
            {
                let note = format!("bcc at {} ports ({key}): {formula}", self.link.kind.name());
                if !notes.contains(&note) {
                    notes.push(note);
                }
            }
        }
        port::Config {
            markers: placed,
            discipline,
            shaper: wanted.shaper.as_ref().map(|(shaper, key)| self.shaper(shaper, key, checker)),
            egress_drop: wanted.egress_drop,
        }
    }

    fn shaper(&self, shaper: &Shaper, key: &str, checker: &mut Checker<'_>) -> shaper::Config {
        checker.require(shaper.burst.0 >= self.packet, &format!("{key}.burst"), || {
            format!("must be at least one packet of {1}, got {0}", shaper.burst, self.packet)
        });
        shaper::Config { rate: shaper.rate.0, burst: shaper.burst.0 }
    }
}
