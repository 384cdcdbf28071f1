//! `roce` tables of workloads: settings in which a workload's queue pairs differ from `[roce]`.

use toml::{Table, Value};

use crate::document::{Path, Step};
use crate::groups;
use crate::resolved::Resolved;
use crate::spec::{Roce, RoceOperation, Transport};

/// Settings of the queue pairs of one or several workloads, with inherited settings filled in.
#[derive(Debug)]
pub(crate) struct OwnRoce {
    /// Key of the table: `roce`, or `workload[0].roce` of the first workload that has these settings.
    pub(crate) key: String,
    pub(crate) roce: Roce,
}

/// Settings of all queue pairs.
#[derive(Debug)]
pub(crate) struct OwnRoces {
    /// Distinct settings, in the order in which the scenario first uses them.
    pub(crate) all: Vec<OwnRoce>,
    /// Index in `all` for each workload of the scenario; `None` for workloads without queue pairs.
    of_workloads: Vec<Option<usize>>,
}

impl OwnRoces {
    /// Reads the `roce` tables of the workloads. `tables` are the tables of the scenario, whose settings are inherited; `spelled_out` fills in
    /// defaults.
    pub(crate) fn read(
        spec: &Resolved,
        tables: &Table,
        spelled_out: impl Fn(&Roce) -> Roce,
    ) -> Result<Self, (Path, String)> {
        let mut found = Self { all: Vec::new(), of_workloads: Vec::new() };
        for (index, workload) in spec.workload.iter().enumerate() {
            if workload.transport() != Transport::Roce {
                found.of_workloads.push(None);
                continue;
            }
            let (key, roce) = match workload.roce() {
                None => ("roce".to_owned(), spec.roce.clone().unwrap_or_default()),
                Some(own) => {
                    let of_all = tables.get("roce").and_then(Value::as_table).cloned().unwrap_or_default();
                    let roce = groups::over(of_all, own).map_err(|error| groups::at(&place(index), error))?;
                    (format!("workload[{index}].roce"), spelled_out(&roce))
                }
            };
            let known = found.all.iter().position(|known| known.roce == roce);
            found.of_workloads.push(Some(known.unwrap_or(found.all.len())));
            if known.is_none() {
                found.all.push(OwnRoce { key, roce });
            }
        }
        Ok(found)
    }

    /// Returns the kinds of the connections of the workloads that send flows. `of_tcp` has these kinds with `first` for queue pairs, which is
    /// the kind of the first settings in `all`.
    pub(crate) fn kinds(&self, spec: &Resolved, of_tcp: &[u16]) -> Vec<u16> {
        let sending =
            spec.workload.iter().zip(&self.of_workloads).filter(|(workload, _)| workload.sends_flows());
        sending.zip(of_tcp).map(|((_, own), kind)| kind + own.unwrap_or(0) as u16).collect()
    }

    /// Returns the key of the settings of the workload at this index, if its queue pairs carry READs.
    pub(crate) fn key_of_reads(&self, workload: usize) -> Option<&str> {
        let own = &self.all[self.of_workloads[workload]?];
        matches!(own.roce.operation, RoceOperation::Read(_)).then_some(&own.key)
    }

    /// Writes the settings back to the scenario, with all values filled in.
    pub(crate) fn fill_in(&self, mut spec: Resolved) -> Resolved {
        for (index, own) in self.of_workloads.iter().enumerate() {
            let Some(own) = own.map(|own| &self.all[own]) else { continue };
            spec = if spec.workload[index].roce().is_some() {
                spec.with_own_roce(index, table(&own.roce))
            } else {
                spec.with_roce(own.roce.clone())
            };
        }
        spec
    }
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
