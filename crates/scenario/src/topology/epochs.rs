//! Epochs of a network: checks which changes are allowed, and computes routes without dead links.

use std::sync::Arc;

use shallows_core::{Duration, Instant};

use super::epoch::{Epoch, LinkState};
use super::network::Network;
use super::routes::Routing;

impl Network {
    /// Returns the epochs of the network in order of time.
    pub fn epochs(&self) -> &Arc<[Epoch]> {
        &self.epochs
    }

    /// Creates an epoch that changes links but no routes.
    pub fn links_change(&self, at: Instant, links: Vec<(u32, LinkState)>) -> Epoch {
        Epoch { at, routing: Arc::clone(&self.routing), links }
    }

    /// Sets the epochs of the network.
    ///
    /// # Errors
    ///
    /// Returns a message if times do not ascend, a link does not exist, or a link would get an invalid state.
    pub(crate) fn set_epochs(&mut self, epochs: Vec<Epoch>) -> Result<(), String> {
        if let Some(late) = epochs.windows(2).find(|pair| pair[0].at >= pair[1].at) {
            return Err(format!("epochs must ascend in time, got {} before {}", late[0].at, late[1].at));
        }
        if self.lossless.is_some() && !epochs.is_empty() {
            return Err(
                "a network with lossless classes (switch.lossless) must not change during the run".to_owned()
            );
        }
        let mut delays: Vec<Option<Duration>> = self.links.iter().map(|link| Some(link.delay)).collect();
        for epoch in &epochs {
            for &(number, state) in &epoch.links {
                let Some(link) = self.links.get(number as usize) else {
                    return Err(format!(
                        "link {number} does not exist; the largest link number is {}",
                        self.links.len() - 1
                    ));
                };
                let delay = &mut delays[number as usize];
                let LinkState::Up { rate, delay: new } = state else {
                    *delay = None;
                    continue;
                };
                let (name, at) = (&link.name, epoch.at);
                if rate.0 == 0 {
                    return Err(format!(
                        "link {name} at {at}: the rate must be above 0, got 0; use LinkState::Down for a failed link"
                    ));
                }
                if new < link.delay {
                    return Err(format!(
                        "link {name} at {at}: the delay must be at least {}, got {new}",
                        link.delay
                    ));
                }
                if delay.is_some_and(|old| old != new) {
                    return Err(format!(
                        "link {name} at {at}: the delay can change only while the link is down, got {new}"
                    ));
                }
                *delay = Some(new);
            }
        }
        self.epochs = epochs.into();
        Ok(())
    }

    /// Returns the routes over the shortest paths that avoid the links in `down` and the opposite direction of each of these links. A
    /// switch keeps its route to a host that has become unreachable.
    pub fn routing_without(&self, down: &[u32]) -> Arc<Routing> {
        Arc::new(self.shortest_without(down))
    }
}
