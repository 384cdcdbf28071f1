//! Routing loops: routes on which switches forward the packets for some hosts in a circle.

use std::sync::Arc;

use shallows_core::packet::HostId;

use super::network::{Link, Network, NodeId};

impl Network {
    /// Makes the switches named in `through` forward all packets for the hosts of the switch `to` in a circle.
    ///
    /// # Errors
    ///
    /// Returns a message if a switch does not exist, if `to` has no hosts or is in the circle, or if two neighbours in the circle have no
    /// link.
    pub(crate) fn add_loop(&mut self, to: &str, through: &[String]) -> Result<(), String> {
        let target = self.switch_called(to)?;
        let host = (0..self.hosts).find(|&host| self.links[host as usize].to == target);
        let host = host.ok_or_else(|| format!("{to} has no hosts"))?;
        if through.len() < 2 {
            return Err("a loop must have at least two switches".to_owned());
        }
        let mut hops = Vec::new();
        for (name, next) in through.iter().zip(through.iter().cycle().skip(1)) {
            let (from, onward) = (self.switch_called(name)?, self.switch_called(next)?);
            if from == target {
                return Err(format!(
                    "{to} must not be in the loop, because it would deliver the packets, which are for its hosts"
                ));
            }
            let link = self.links.iter().position(|link| link.from == from && link.to == onward);
            let link = link.ok_or_else(|| format!("{name} has no link to {next}"))?;
            if hops.iter().any(|&(known, _)| known == from) {
                return Err(format!("{name} must be in the loop only once"));
            }
            hops.push((from, link as u32));
        }
        let routing = Arc::get_mut(&mut self.routing).expect("no epoch shares the routes yet");
        for (from, link) in hops {
            routing.set_route(from.0 - self.hosts, HostId(host), link);
        }
        Ok(())
    }

    fn switch_called(&self, name: &str) -> Result<NodeId, String> {
        let starts = |link: &&Link| link.from.0 >= self.hosts && link.from_name() == name;
        let found = self.links.iter().find(starts).map(|link| link.from);
        found.ok_or_else(|| format!("no switch is named \"{name}\""))
    }
}
