//! Connections of workloads: keys in which they differ from those of their hosts.
//!
//! That is what a program or a route can choose. What a host has once, such as timestamps, stays its own.

use shallows_transport::header_bytes;
use toml::Table;

use crate::check::Checker;
use crate::document::{Path, Step};
use crate::groups::{self, HostGroup};
use crate::resolved::Resolved;
use crate::spec::Tcp;
use crate::spec::preset::TcpTable;
use crate::tcp;

/// Agreements are computed for each two groups of each; nobody writes as many.
const MOST_AGREEMENTS: usize = 1 << 14;

/// A `tcp` of workloads, with what it inherits.
#[derive(Debug)]
pub(crate) struct OwnTcp {
    /// The first workload that says it, by its place in the scenario.
    pub(crate) workload: usize,
    /// For hosts of each group, those in no other first.
    pub(crate) of_groups: Vec<Tcp>,
}

/// All of them.
#[derive(Debug)]
pub(crate) struct OwnTcps {
    /// Each once, in the order of the scenario.
    pub(crate) all: Vec<OwnTcp>,
    /// By workload that sends flows: 0 if its connections are as its hosts have them, else one more than the number of its own.
    pub(crate) of_workloads: Vec<u16>,
}

impl OwnTcps {
    /// Reads the own keys of workloads from the `tables` of a scenario.
    pub(crate) fn read(spec: &Resolved, tables: &Table) -> Result<Self, (Path, String)> {
        let mut known: Vec<&Table> = Vec::new();
        let mut found = Self { all: Vec::new(), of_workloads: Vec::new() };
        for (index, workload) in
            spec.workload.iter().enumerate().filter(|(_, workload)| workload.sends_flows())
        {
            let Some(own) = workload.tcp() else {
                found.of_workloads.push(0);
                continue;
            };
            let number = known.iter().position(|other| *other == own).unwrap_or(known.len());
            if number == known.len() {
                known.push(own);
                let groups = (0..=spec.host.group.len()).map(|group| {
                    let tcp: Result<TcpTable, _> = groups::over(groups::tcp_table(tables, group), own);
                    tcp.map(Tcp::from).map_err(|error| groups::at(&place(index), error))
                });
                found.all.push(OwnTcp { workload: index, of_groups: groups.collect::<Result<_, _>>()? });
            }
            found.of_workloads.push(number as u16 + 1); // more workloads than 16 bits count are refused
        }
        Ok(found)
    }

    /// Whether there are no more than anybody writes.
    pub(crate) fn are_few(&self, groups: usize, checker: &mut Checker<'_>) -> bool {
        checker.require((self.all.len() + 1) * groups * groups <= MOST_AGREEMENTS, "workload", || {
            format!(
                "{} of them have a tcp of their own, between each two of {groups} groups of hosts; at most {}",
                self.all.len(),
                MOST_AGREEMENTS / (groups * groups) - 1
            )
        })
    }

    /// Notes on the keys that presets of workloads set.
    pub(crate) fn preset_notes(&self) -> Vec<String> {
        let note = |own: &OwnTcp| {
            let note = own.of_groups[0].preset_note.as_ref()?;
            Some(format!("workload {}: {note}", own.workload))
        };
        self.all.iter().filter_map(note).collect()
    }
}

fn place(workload: usize) -> [Step; 3] {
    [Step::Key("workload".to_owned()), Step::Index(workload), Step::Key("tcp".to_owned())]
}

/// Refuse what a host of this group has once, and these connections would have otherwise. `of_host` is its own `[tcp]`.
pub(crate) fn check(own: &Tcp, of_host: &Tcp, group: &HostGroup, checker: &mut Checker<'_>) -> bool {
    let mut sound = true;
    let mut alike = |key: &str, alike: bool| {
        sound &= checker.require(alike, &format!("tcp.{key}"), || {
            "a host has it once, for all of its connections: leave it out here, and set it in [tcp] or in host.group".to_owned()
        });
        alike
    };
    alike("ack_class", own.ack_class == of_host.ack_class);
    alike("receiver", own.receiver == of_host.receiver);
    if alike("timestamps", own.timestamps == of_host.timestamps) {
        let mss = group.mtu - header_bytes(own.timestamps);
        let [own, of_host] = [own, of_host].map(|tcp| tcp::convert(tcp, mss));
        alike("receive_window", own.receive_window == of_host.receive_window);
        alike("recovery", own.recovery.uses_sack() == of_host.recovery.uses_sack());
    }
    sound
}
