//! Membership of hosts in groups.

use shallows_core::packet::HostId;

use crate::pattern;

/// Name of group 0, the hosts that are in no other group.
pub(crate) const DEFAULT: &str = "default";
/// Groups of hosts. Group 0 consists of the hosts that no `[[host.group]]` includes.
#[derive(Clone, Debug)]
pub struct Groups {
    pub(crate) names: Vec<String>,
    /// Number of the group of each host; empty if all hosts are in group 0.
    pub(crate) of_host: Vec<u16>,
}

impl Groups {
    /// Returns the number of the group that contains a host.
    #[inline]
    pub fn of(&self, host: HostId) -> usize {
        // Without groups, `of_host` is empty and every host is in group 0.
        self.of_host.get(host.0 as usize).map_or(0, |&group| usize::from(group))
    }

    /// Returns the names of the groups, by group number. Group 0 consists of the hosts that are in no other group.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns whether the scenario defines any group.
    pub fn any(&self) -> bool {
        self.names.len() > 1
    }

    /// Returns whether a group has hosts.
    pub(crate) fn has_members(&self, group: usize) -> bool {
        !self.any() || self.of_host.iter().any(|&of| usize::from(of) == group)
    }

    /// Returns the hosts of all groups whose names match `wanted`, in which `*` stands for any text.
    pub(crate) fn members(&self, wanted: &str) -> Result<impl Iterator<Item = u32> + '_, String> {
        let meant: Vec<bool> = self.names.iter().map(|name| pattern::matches(wanted, name)).collect();
        let is_meant = move |&(_, &group): &(u32, &u16)| meant[usize::from(group)];
        let mut found = (0..).zip(&self.of_host).filter(is_meant).map(|(host, _)| host).peekable();
        if found.peek().is_some() {
            return Ok(found);
        }
        Err(match self.any() {
            false => {
                format!("no group is named \"{wanted}\"; add a [[host.group]] with this name")
            }
            true => {
                let known = self.names.iter().enumerate().filter(|(group, _)| self.has_members(*group));
                let known: Vec<String> = known.map(|(_, name)| format!("\"{name}\"")).collect();
                format!("no group with hosts is named \"{wanted}\"; expected one of {}", known.join(", "))
            }
        })
    }
}
