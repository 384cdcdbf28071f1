//! Workloads' own `tcp` tables: keys that differ from the settings of their hosts.
//!
//! These are settings that a program or a route can choose. Settings that a host has for all connections, such as timestamps, cannot
//! differ.

use shallows_transport::header_bytes;
use toml::Table;

use crate::check::Checker;
use crate::document::{Path, Step};
use crate::groups::{self, HostGroup};
use crate::resolved::Resolved;
use crate::spec::Tcp;
use crate::spec::preset::TcpTable;
use crate::tcp;

/// Maximum number of agreements, which are computed for each pair of groups and each `tcp` table.
const MOST_AGREEMENTS: usize = 1 << 14;

/// One workload's `tcp` table with inherited settings; several workloads can have the same table.
#[derive(Debug)]
pub(crate) struct OwnTcp {
    /// Index in the scenario of the first workload with this table.
    pub(crate) workload: usize,
    /// Settings for the hosts of each group, starting with those in no other group.
    pub(crate) of_groups: Vec<Tcp>,
}

/// All `tcp` tables of workloads.
#[derive(Debug)]
pub(crate) struct OwnTcps {
    /// Distinct tables in the order of the scenario.
    pub(crate) all: Vec<OwnTcp>,
    /// For each workload that sends flows: 0 with the hosts' own settings, otherwise one plus the index in `all`.
    pub(crate) of_workloads: Vec<u16>,
}

impl OwnTcps {
    /// Reads the tables of a scenario's workloads; `tables` are the scenario's own tables.
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
            found.of_workloads.push(number as u16 + 1); // too many workloads for 16 bits are rejected
        }
        Ok(found)
    }

    /// Checks that the number of agreements is within [`MOST_AGREEMENTS`].
    pub(crate) fn are_few(&self, groups: usize, checker: &mut Checker<'_>) -> bool {
        checker.require((self.all.len() + 1) * groups * groups <= MOST_AGREEMENTS, "workload", || {
            format!(
                "at most {1} workloads can have their own tcp table with {groups} groups of hosts, got {0}",
                self.all.len(),
                MOST_AGREEMENTS / (groups * groups) - 1
            )
        })
    }

    /// Returns notes on the settings that presets have set in workloads.
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

/// Rejects settings in `own` that differ from `of_host`, the `tcp` table of the hosts in this group, if a host has one value of the
/// setting for all connections.
pub(crate) fn check(own: &Tcp, of_host: &Tcp, group: &HostGroup, checker: &mut Checker<'_>) -> bool {
    let mut sound = true;
    let mut alike = |key: &str, alike: bool| {
        sound &= checker.require(alike, &format!("tcp.{key}"), || {
            "must be the same for all connections of a host; leave the key out here, and set the key in [tcp] or in \
             host.group".to_owned()
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
