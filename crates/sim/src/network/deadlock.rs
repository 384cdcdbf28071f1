//! Deadlocks: pauses that wait for each other in a cycle, so that none of them can end.
//!
//! A paused sender waits for the priority group that pauses it. The group waits for the ports at which its packets are queued. If all of
//! these ports are paused, and the groups that pause them wait in the same way, no packet of these groups can move. Only other groups of
//! the same switches could end the deadlock, by freeing shared memory. The caller therefore waits until nothing has moved for some time.

use std::collections::{BTreeMap, BTreeSet};

use shallows_switch::pfc::PRIORITIES;

/// Paused sender: the number of the sender's link, and the paused class.
pub(crate) type Sender = (u32, u8);

/// Pauses of one or several partitions at one moment.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    /// Senders that are paused.
    pub(crate) paused: BTreeSet<Sender>,
    /// Senders that hosts have paused for ever.
    pub(crate) endless: BTreeSet<Sender>,
    /// Priority groups that pause their senders, by sender.
    pub(crate) groups: BTreeMap<Sender, Group>,
}

/// Priority group that pauses its sender.
#[derive(Debug)]
pub(crate) struct Group {
    /// Number of packets that have left the group since the start.
    pub(crate) left: u64,
    /// Queues in which packets of the group wait: number of the port's link, and the classes that share the queue, as bits.
    pub(crate) waits: Vec<(u32, u8)>,
}

impl Pauses {
    /// Returns a cycle of senders in which each sender waits for the next one, beginning with the sender of the lowest link number and
    /// class; `None` if there is no cycle. Only groups for which `is_still` returns true can be part of the cycle.
    pub(crate) fn cycle(&self, is_still: impl Fn(Sender, &Group) -> bool) -> Option<Vec<Sender>> {
        let mut stuck: BTreeMap<Sender, &Group> = self
            .groups
            .iter()
            .filter(|&(sender, group)| self.paused.contains(sender) && is_still(*sender, group))
            .map(|(&sender, group)| (sender, group))
            .collect();
        loop {
            let movable: Vec<Sender> = stuck
                .iter()
                .filter(|(_, group)| {
                    let moves = |&wait: &(u32, u8)| {
                        next(wait, &stuck).is_none()
                            && !in_queue(wait).any(|sender| self.endless.contains(&sender))
                    };
                    group.waits.is_empty() || group.waits.iter().any(moves)
                })
                .map(|(&sender, _)| sender)
                .collect();
            if movable.is_empty() {
                break;
            }
            stuck.retain(|sender, _| !movable.contains(sender));
        }
        // A sender that waits only for hosts is in no cycle.
        loop {
            let waits = |group: &Group| group.waits.iter().any(|&wait| next(wait, &stuck).is_some());
            let ends: Vec<Sender> =
                stuck.iter().filter(|(_, group)| !waits(group)).map(|(&sender, _)| sender).collect();
            if ends.is_empty() {
                break;
            }
            stuck.retain(|sender, _| !ends.contains(sender));
        }
        // Every remaining sender waits for another remaining sender, so a walk ends in a cycle.
        let mut walk = vec![*stuck.keys().next()?];
        loop {
            let group = stuck[walk.last().expect("it has begun")];
            let onward = group.waits.iter().filter_map(|&wait| next(wait, &stuck)).min()?;
            if let Some(start) = walk.iter().position(|&known| known == onward) {
                let mut cycle = walk.split_off(start);
                let first = (0..cycle.len()).min_by_key(|&place| cycle[place]).unwrap_or_default();
                cycle.rotate_left(first);
                return Some(cycle);
            }
            walk.push(onward);
        }
    }
}

/// Returns the first sender of the queue `wait` that is in `stuck`; `None` if no sender of this queue is in `stuck`.
fn next(wait: (u32, u8), stuck: &BTreeMap<Sender, &Group>) -> Option<Sender> {
    in_queue(wait).find(|sender| stuck.contains_key(sender))
}

/// Returns the senders of a queue: one for each class of the queue. A pause of any of these senders stops the queue.
fn in_queue((link, classes): (u32, u8)) -> impl Iterator<Item = Sender> {
    (0..PRIORITIES as u8).filter(move |class| classes >> class & 1 == 1).map(move |class| (link, class))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns pauses in which the sender of each link waits for the senders of the given links.
    fn pauses(edges: &[(u32, &[u32])]) -> Pauses {
        let group = |&(link, waits): &(u32, &[u32])| {
            ((link, 3), Group { left: 0, waits: waits.iter().map(|&link| (link, 1 << 3)).collect() })
        };
        let groups: BTreeMap<Sender, Group> = edges.iter().map(group).collect();
        Pauses { paused: groups.keys().copied().collect(), endless: BTreeSet::new(), groups }
    }

    fn links(pauses: &Pauses) -> Option<Vec<u32>> {
        pauses.cycle(|_, _| true).map(|cycle| cycle.into_iter().map(|(link, _)| link).collect())
    }

    #[test]
    fn a_cycle_is_found_and_begins_with_its_lowest_link() {
        assert_eq!(links(&pauses(&[(5, &[2]), (2, &[7]), (7, &[5])])), Some(vec![2, 7, 5]));
        // A branch that waits for the cycle is not part of it.
        assert_eq!(links(&pauses(&[(1, &[5]), (5, &[2]), (2, &[5])])), Some(vec![2, 5]));
        assert_eq!(links(&pauses(&[])), None);
    }

    #[test]
    fn a_group_with_a_packet_at_a_port_that_may_send_is_no_part_of_a_deadlock() {
        // Packets of the group that pauses link 7 also wait at link 9, which nobody pauses.
        assert_eq!(links(&pauses(&[(5, &[2]), (2, &[7]), (7, &[5, 9])])), None);
        // Neither a tree of pauses whose root can send nor a group without packets is a deadlock.
        assert_eq!(links(&pauses(&[(1, &[2]), (2, &[3]), (3, &[9])])), None);
        assert_eq!(links(&pauses(&[(1, &[2]), (2, &[])])), None);
        // The group pauses link 2, but the PFC frame has not reached the sender yet.
        let mut early = pauses(&[(5, &[2]), (2, &[5])]);
        early.paused.remove(&(2, 3));
        assert_eq!(links(&early), None);
    }

    #[test]
    fn a_queue_that_two_classes_share_is_stopped_by_each_of_them() {
        let mut shared = pauses(&[(5, &[]), (2, &[5])]);
        shared.groups.get_mut(&(5, 3)).expect("a group").waits.push((2, 1 << 3 | 1 << 4));
        assert_eq!(links(&shared), Some(vec![2, 5]));
        shared.groups.get_mut(&(5, 3)).expect("a group").waits[0].1 = 1 << 4;
        assert_eq!(links(&shared), None);
    }

    #[test]
    fn a_host_that_pauses_for_ever_causes_no_cycle_but_does_not_end_one() {
        let mut tree = pauses(&[(1, &[2]), (2, &[9])]);
        tree.endless.insert((9, 3));
        assert_eq!(links(&tree), None);
        let mut cycle = pauses(&[(5, &[2, 9]), (2, &[5])]);
        assert_eq!(links(&cycle), None);
        cycle.endless.insert((9, 3));
        assert_eq!(links(&cycle), Some(vec![2, 5]));
    }

    #[test]
    fn a_group_whose_packets_move_is_no_part_of_a_deadlock() {
        let cycle = pauses(&[(5, &[2]), (2, &[5])]);
        assert_eq!(cycle.cycle(|(link, _), _| link != 5), None);
    }
}
