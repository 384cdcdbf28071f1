//! Checks that the ports have queues for the classes of service of the workloads.

use shallows_switch::discipline;

use super::Builder;
use crate::spec;
use crate::topology::Network;
use crate::workload::Classes;

impl Builder<'_, '_, '_> {
    pub(super) fn class_of_replies(&mut self, class: u8, key: &str) {
        if self.checker.require(class < spec::CLASSES, key, || {
            format!("must be a class from 0 to {}, got {class}", spec::CLASSES - 1)
        }) {
            self.checker.accept(key, classes_have_queues(class, self.network));
        }
    }

    /// Returns the classes of service of a workload. Rejects classes for which some port has no queue.
    pub(super) fn classes(&mut self, class: &spec::Class, key: &str) -> Option<Classes> {
        let classes = self.classes_of(class, key)?;
        self.check_classes(&classes, key)?;
        Some(classes)
    }

    pub(super) fn classes_of(&mut self, class: &spec::Class, key: &str) -> Option<Classes> {
        let key = format!("{key}.class");
        let classes = match class {
            spec::Class::Fixed(class) => Classes::Fixed(*class),
            spec::Class::Rule(spec::ClassRule::BySender(rule)) => {
                Classes::BySender(self.class_count(rule.classes, &key)?)
            }
            spec::Class::Rule(spec::ClassRule::ByPair(rule)) => {
                let hosts = self.network.hosts;
                Classes::ByPair { hosts, classes: self.class_count(rule.classes, &key)? }
            }
            spec::Class::Rule(spec::ClassRule::Random(rule)) => {
                let sum: f64 = rule.weights.iter().sum();
                let sound = rule.weights.iter().all(|&weight| weight >= 0.0) && sum > 0.0 && sum.is_finite();
                if !sound || rule.weights.len() > usize::from(spec::CLASSES) {
                    let message = format!(
                        "must have one weight for each class, for at most {} classes; each weight must be at least \
                         0, and one must be above 0",
                        spec::CLASSES
                    );
                    return self.refuse(&format!("{key}.weights"), &message);
                }
                let mut below = 0.0;
                let shares = rule.weights.iter().map(|weight| {
                    below += weight / sum;
                    below
                });
                Classes::Random(shares.collect())
            }
        };
        Some(classes)
    }

    pub(super) fn class_count(&mut self, classes: u8, key: &str) -> Option<u8> {
        if (1..=spec::CLASSES).contains(&classes) {
            return Some(classes);
        }
        self.refuse(&format!("{key}.classes"), &format!("must be from 1 to {}, got {classes}", spec::CLASSES))
    }

    /// Rejects classes for which some switch port or NIC has no queue.
    pub(super) fn check_classes(&mut self, classes: &Classes, key: &str) -> Option<()> {
        let known = classes_have_queues(classes.highest(), self.network);
        self.checker.accept(&format!("{key}.class"), known)
    }
}

/// Returns an error, with a remedy, if some port has no queue for one of the classes from 0 to `highest`.
fn classes_have_queues(highest: u8, network: &Network) -> Result<(), String> {
    for link in &network.links {
        let discipline::Config::Composed(port) = &network.port(link).discipline else { continue };
        let known = port.queue_of_class.len();
        if usize::from(highest) >= known {
            return Err(format!(
                "class {highest} has no queue at the port {}, whose classes are 0 to {}; add a queue to that port, \
                 or an entry for the class to its `classes`",
                link.name,
                known - 1
            ));
        }
    }
    Ok(())
}
