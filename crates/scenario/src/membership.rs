//! Which hosts are in which group.

use shallows_core::packet::HostId;

use crate::pattern;

/// Name of hosts without a group.
pub(crate) const DEFAULT: &str = "default";
/// Which hosts are alike. Group 0 has those that no `[[host.group]]` names.
#[derive(Clone, Debug)]
pub struct Groups {
    pub(crate) names: Vec<String>,
    /// By host; empty where all are alike.
    pub(crate) of_host: Vec<u16>,
}

impl Groups {
    /// The group of a host.
    #[inline]
    pub fn of(&self, host: HostId) -> usize {
        // All hosts are alike if none is told apart.
        self.of_host.get(host.0 as usize).map_or(0, |&group| usize::from(group))
    }

    /// Their names, that of hosts in no other group first.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Whether the scenario names any.
    pub fn any(&self) -> bool {
        self.names.len() > 1
    }

    /// Whether a group has hosts.
    pub(crate) fn has_members(&self, group: usize) -> bool {
        !self.any() || self.of_host.iter().any(|&of| usize::from(of) == group)
    }

    /// The hosts of the groups called so, in which `*` stands for anything.
    pub(crate) fn members(&self, wanted: &str) -> Result<impl Iterator<Item = u32> + '_, String> {
        let meant: Vec<bool> = self.names.iter().map(|name| pattern::matches(wanted, name)).collect();
        let is_meant = move |&(_, &group): &(u32, &u16)| meant[usize::from(group)];
        let mut found = (0..).zip(&self.of_host).filter(is_meant).map(|(host, _)| host).peekable();
        if found.peek().is_some() {
            return Ok(found);
        }
        Err(match self.any() {
            false => {
                format!("there is no group \"{wanted}\", as there is no [[host.group]]; add one of that name")
            }
            true => {
                let known = self.names.iter().enumerate().filter(|(group, _)| self.has_members(*group));
                let known: Vec<String> = known.map(|(_, name)| format!("\"{name}\"")).collect();
                format!("no group with hosts is called \"{wanted}\"; known are {}", known.join(", "))
            }
        })
    }
}
