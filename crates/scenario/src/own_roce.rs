//! `roce` tables of workloads and of groups of hosts: settings in which queue pairs differ from `[roce]`.

use toml::{Table, Value};

use crate::document::{Path, Step};
use crate::groups;
use crate::resolved::Resolved;
use crate::spec::{Roce, RoceOperation, Transport};

/// Settings of queue pairs at the hosts of one or several groups, with inherited settings filled in.
#[derive(Debug)]
pub(crate) struct OwnRoce {
    /// Key of the first table that has these settings: `roce`, `host.group[0].roce` or `workload[0].roce`.
    pub(crate) key: String,
    pub(crate) roce: Roce,
}

/// Settings of all queue pairs.
#[derive(Debug)]
pub(crate) struct OwnRoces {
    /// Distinct settings, in the order in which the scenario first uses them.
    pub(crate) all: Vec<OwnRoce>,
    /// Kinds of queue pairs: distinct combinations of settings. A kind has one index into `all` for each group, by group number. Group 0
    /// consists of the hosts that are in no other group.
    kinds: Vec<Vec<usize>>,
    /// Index in `kinds` for each workload of the scenario; `None` for workloads without queue pairs.
    of_workloads: Vec<Option<usize>>,
}

impl OwnRoces {
    /// Reads the `roce` tables of workloads and groups. `tables` are the tables of the scenario, whose settings are inherited;
    /// `spelled_out` fills in defaults.
    pub(crate) fn read(
        spec: &Resolved,
        tables: &Table,
        spelled_out: impl Fn(&Roce) -> Roce,
    ) -> Result<Self, (Path, String)> {
        let mut found = Self { all: Vec::new(), kinds: Vec::new(), of_workloads: Vec::new() };
        for (index, workload) in spec.workload.iter().enumerate() {
            if workload.transport() != Transport::Roce {
                found.of_workloads.push(None);
                continue;
            }
            let mut kind = Vec::new();
            for group in 0..=spec.host.group.len() {
                let (key, roce) = match workload.roce() {
                    None => (key_of_group(group), groups::roce_of(tables, group)?),
                    Some(own) => {
                        let roce = groups::over(groups::inherited("roce", tables, group), own);
                        let roce = roce.map_err(|error| groups::at(&place(index), error))?;
                        (format!("workload[{index}].roce"), roce)
                    }
                };
                kind.push(found.number(key, spelled_out(&roce)));
            }
            let known = found.kinds.iter().position(|known| *known == kind);
            found.of_workloads.push(Some(known.unwrap_or(found.kinds.len())));
            if known.is_none() {
                found.kinds.push(kind);
            }
        }
        Ok(found)
    }

    /// Returns the index of these settings in `all`. Adds the settings first if they are new.
    fn number(&mut self, key: String, roce: Roce) -> usize {
        let known = self.all.iter().position(|known| known.roce == roce);
        known.unwrap_or_else(|| {
            self.all.push(OwnRoce { key, roce });
            self.all.len() - 1
        })
    }

    /// Returns the connection kind of each workload that sends flows. `of_tcp` has one entry for each such workload: the workload's kind if
    /// it uses TCP, or the number of the first kind of queue pairs if it uses RoCE.
    pub(crate) fn kinds(&self, spec: &Resolved, of_tcp: &[u16]) -> Vec<u16> {
        let sending =
            spec.workload.iter().zip(&self.of_workloads).filter(|(workload, _)| workload.sends_flows());
        sending.zip(of_tcp).map(|((_, own), kind)| kind + own.unwrap_or(0) as u16).collect()
    }

    /// Returns the indices in `all` of the settings of both ends, for each kind of queue pairs and each ordered pair of groups. The end
    /// that opens the queue pair comes first.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.kinds
            .iter()
            .flat_map(|kind| kind.iter().flat_map(|&from| kind.iter().map(move |&to| (from, to))))
    }

    /// Returns the settings at the hosts of each group, for each kind of queue pairs.
    pub(crate) fn of_kinds(&self) -> impl Iterator<Item = Vec<&OwnRoce>> + '_ {
        self.kinds.iter().map(|kind| self.at(kind))
    }

    /// Returns the settings of a workload's queue pairs at the hosts of each group, or `None` if the workload has no queue pairs.
    /// `workload` is the index of the workload.
    pub(crate) fn of_workload(&self, workload: usize) -> Option<Vec<&OwnRoce>> {
        Some(self.at(&self.kinds[self.of_workloads[workload]?]))
    }

    fn at(&self, kind: &[usize]) -> Vec<&OwnRoce> {
        kind.iter().map(|&own| &self.all[own]).collect()
    }

    /// Returns the key of the settings of the workload at this index, if the workload's queue pairs carry READs. The operation is the same
    /// in all groups.
    pub(crate) fn key_of_reads(&self, workload: usize) -> Option<&str> {
        let own = &self.all[self.kinds[self.of_workloads[workload]?][0]];
        matches!(own.roce.operation, RoceOperation::Read(_)).then_some(&own.key)
    }

    /// Writes the settings back to the scenario, with all values filled in. If a workload's table inherits different settings from several
    /// groups, one table cannot have all values; the scenario is then returned unchanged.
    pub(crate) fn fill_in(&self, mut spec: Resolved) -> Resolved {
        let of_workloads =
            || self.of_workloads.iter().enumerate().filter_map(|(index, kind)| Some((index, (*kind)?)));
        let is_mixed = |kind: usize| self.kinds[kind].iter().any(|own| *own != self.kinds[kind][0]);
        if of_workloads().any(|(index, kind)| spec.workload[index].roce().is_some() && is_mixed(kind)) {
            return spec;
        }
        for (index, kind) in of_workloads() {
            let of_groups = self.at(&self.kinds[kind]);
            if spec.workload[index].roce().is_some() {
                spec = spec.with_own_roce(index, table(&of_groups[0].roce));
                continue;
            }
            spec = spec.with_roce(of_groups[0].roce.clone());
            for (group, own) in of_groups[1..].iter().enumerate() {
                if spec.host.group[group].roce.is_some() {
                    spec = spec.with_roce_of_group(group, table(&own.roce));
                }
            }
        }
        spec
    }
}

/// Returns the key of the `roce` table of the group with this number. Group 0 has the settings of `[roce]`.
pub(crate) fn key_of_group(group: usize) -> String {
    group.checked_sub(1).map_or_else(|| "roce".to_owned(), |index| format!("host.group[{index}].roce"))
}

/// Returns the settings as a table that inherits nothing from `[roce]`.
fn table(roce: &Roce) -> Table {
    let mut table = Table::try_from(roce).expect("settings of queue pairs are a table");
    let operation = Value::try_from(&roce.operation).expect("an operation is a table");
    table.insert("operation".to_owned(), operation);
    table
}

fn place(workload: usize) -> [Step; 3] {
    [Step::Key("workload".to_owned()), Step::Index(workload), Step::Key("roce".to_owned())]
}
