//! `tcp` tables of workloads: settings in which a workload's connections differ from the settings of their hosts.
//!
//! A workload can set the keys that a program or a route can choose in a real host. It cannot set keys that a host has for all of its
//! connections, such as timestamps.

use shallows_transport::header_bytes;
use toml::Table;

use crate::check::Checker;
use crate::document::{Path, Step};
use crate::groups::{self, HostGroup};
use crate::resolved::Resolved;
use crate::spec::preset::TcpTable;
use crate::spec::{Tcp, Transport};
use crate::tcp;

/// Maximum number of sets of connection parameters: one for each pair of groups and each distinct `tcp` table.
const MOST_AGREEMENTS: usize = 1 << 14;

/// Placeholder for the connection kind of a workload with queue pairs, until all tables are known.
const OF_QUEUE_PAIRS: u16 = u16::MAX;

/// `tcp` table of a workload, in which inherited settings are filled in. Several workloads can share it.
#[derive(Debug)]
pub(crate) struct OwnTcp {
    /// Index of the first workload in the scenario that has this table.
    pub(crate) workload: usize,
    /// Settings at the hosts of each group, by group number. Group 0 consists of the hosts that are in no other group.
    pub(crate) of_groups: Vec<Tcp>,
}

/// `tcp` tables of all workloads.
#[derive(Debug)]
pub(crate) struct OwnTcps {
    /// Distinct tables, in the order in which the scenario first uses them.
    pub(crate) all: Vec<OwnTcp>,
    /// Connection kind of each workload that sends flows. For TCP, the kind is 0 if the workload has no table, and otherwise one plus the
    /// table's index in `all`. For queue pairs, the kind is one plus the number of tables, because kinds of queue pairs come last.
    pub(crate) of_workloads: Vec<u16>,
}

impl OwnTcps {
    /// Reads the `tcp` tables of the workloads. `tables` are the tables of the scenario, whose settings are inherited.
    pub(crate) fn read(spec: &Resolved, tables: &Table) -> Result<Self, (Path, String)> {
        let mut known: Vec<&Table> = Vec::new();
        let mut found = Self { all: Vec::new(), of_workloads: Vec::new() };
        for (index, workload) in
            spec.workload.iter().enumerate().filter(|(_, workload)| workload.sends_flows())
        {
            if workload.transport() == Transport::Roce {
                found.of_workloads.push(OF_QUEUE_PAIRS);
                continue;
            }
            let Some(own) = workload.tcp() else {
                found.of_workloads.push(0);
                continue;
            };
            let number = known.iter().position(|other| *other == own).unwrap_or(known.len());
            if number == known.len() {
                known.push(own);
                let groups = (0..=spec.host.group.len()).map(|group| {
                    let tcp: Result<TcpTable, _> = groups::over(groups::inherited("tcp", tables, group), own);
                    tcp.map(Tcp::from).map_err(|error| groups::at(&place(index), error))
                });
                found.all.push(OwnTcp { workload: index, of_groups: groups.collect::<Result<_, _>>()? });
            }
            found.of_workloads.push(number as u16 + 1); // more workloads than fit into 16 bits are rejected
        }
        let last = found.all.len() as u16 + 1;
        found.of_workloads.iter_mut().filter(|kind| **kind == OF_QUEUE_PAIRS).for_each(|kind| *kind = last);
        Ok(found)
    }

    /// Rejects a scenario in which connection parameters would have to be computed for more than [`MOST_AGREEMENTS`] combinations of groups
    /// and `tcp` tables. Returns whether the number is allowed.
    pub(crate) fn are_few(&self, groups: usize, checker: &mut Checker<'_>) -> bool {
        checker.require((self.all.len() + 1) * groups * groups <= MOST_AGREEMENTS, "workload", || {
            format!(
                "{0} workloads have different tcp tables of their own; with {groups} groups of hosts, the maximum is {1}: \
                 share tcp tables between workloads, or use fewer groups",
                self.all.len(),
                MOST_AGREEMENTS / (groups * groups) - 1
            )
        })
    }

    /// Returns a note on the settings that a preset has set, for each workload whose `tcp` table has a preset.
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

/// Checks the settings that must be the same for all connections of a host: rejects a value of a workload (`own`) that differs from the
/// value of its hosts (`of_host`). `group` is the group of these hosts.
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
