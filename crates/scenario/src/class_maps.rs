//! Maps of lossless classes: from DSCP to traffic class, from class to priority group, and from PFC priority to queue.

use shallows_switch::discipline;
use shallows_switch::ingress::ClassMaps;
use shallows_switch::pfc::PRIORITIES;

use crate::check::Checker;
use crate::quantity::NumberMap;
use crate::spec;
use crate::topology::{Network, PortKind};

/// Largest number that identifies a lossless class, a priority group, a PFC priority or a queue.
const LAST: u8 = PRIORITIES as u8 - 1;
/// Largest DSCP.
const LAST_DSCP: u8 = 63;

/// Lossless classes, and the maps from packets to classes and priority groups.
#[derive(Debug)]
pub(crate) struct Classes {
    /// Lossless classes, ascending.
    pub(crate) lossless: Vec<u8>,
    /// Lossless classes of each priority group, in the order of the groups' numbers in the scenario.
    pub(crate) groups: Vec<Vec<u8>>,
    /// Maps from DSCPs to classes, and from classes to indices into `groups`. Lossy classes have the index after the last group.
    pub(crate) maps: ClassMaps,
}

impl Classes {
    /// Reads the classes and maps of the scenario. Problems are recorded in `checker`.
    pub(crate) fn build(wanted: &spec::Lossless, checker: &mut Checker<'_>) -> Self {
        let mut lossless = wanted.classes.clone();
        lossless.sort_unstable();
        lossless.dedup();
        let sound = !lossless.is_empty()
            && lossless.len() == wanted.classes.len()
            && lossless.iter().all(|&class| class <= LAST);
        checker.require(sound, "switch.lossless.classes", || {
            format!("must be distinct classes from 0 to 7, at least one, got {:?}", wanted.classes)
        });
        lossless.retain(|&class| class <= LAST);
        let mut class_of_dscp: [u8; 64] = std::array::from_fn(|dscp| dscp as u8);
        for (dscp, class) in checked(&wanted.dscp_to_tc, DSCP_TO_TC, checker) {
            class_of_dscp[usize::from(dscp)] = class;
        }
        for class in lossless.iter().filter(|class| !class_of_dscp.contains(class)) {
            checker.refuse(
                "switch.lossless.dscp_to_tc",
                format!(
                    "must map a DSCP to each lossless class, got none for class {class}; add an entry such as {} = {class}, or \
                     remove the class from switch.lossless.classes",
                    8 * class + 2
                ),
            );
        }
        let groups = groups(wanted, &lossless, checker);
        let mut group_of_class = [groups.len() as u8; 64];
        for (group, classes) in groups.iter().enumerate() {
            classes.iter().for_each(|&class| group_of_class[usize::from(class)] = group as u8);
        }
        Self { lossless, groups, maps: ClassMaps { class_of_dscp, group_of_class } }
    }

    /// Returns the queue of each lossless class at a port with this `discipline`, indexed by PFC priority, which is the number of the
    /// class.
    pub(crate) fn queues(&self, discipline: &discipline::Config) -> [Option<u8>; PRIORITIES] {
        let mut queues = [None; PRIORITIES];
        for &class in &self.lossless {
            queues[usize::from(class)] = Some(discipline.queue_of(class) as u8);
        }
        queues
    }

    /// Rejects a map from PFC priorities to queues if a pause of a lossless class would stop the queue of another class.
    pub(crate) fn check_queues(&self, wanted: &spec::Lossless, network: &Network, checker: &mut Checker<'_>) {
        let map: Vec<_> = checked(&wanted.pfc_priority_to_queue, PRIORITY_TO_QUEUE, checker).collect();
        for link in network.links.iter().filter(|link| link.kind != PortKind::Nic) {
            let own = self.queues(&network.port(link).discipline);
            for &(priority, queue) in &map {
                let Some(right) = own[usize::from(priority)] else { continue };
                checker.require(queue == right, PRIORITY_TO_QUEUE.key, || {
                    format!(
                        "must map PFC priority {priority} to queue {right}, where the lossless class {priority} waits at {} ports, got \
                         queue {queue}: a pause would stop another class; change this map, or the key classes of switch.port",
                        link.kind.name()
                    )
                });
            }
        }
    }
}

/// Returns the lossless classes of each priority group.
fn groups(wanted: &spec::Lossless, lossless: &[u8], checker: &mut Checker<'_>) -> Vec<Vec<u8>> {
    let mut group_of_class: [Option<u8>; PRIORITIES] = std::array::from_fn(|class| {
        let class = class as u8;
        // As in SONiC's maps, lossy classes have group 0. If a lossless class has group 0, the lossy classes have a group without a number.
        if lossless.contains(&class) {
            Some(class)
        } else {
            Some(0).filter(|group| !lossless.contains(group))
        }
    });
    for (class, group) in checked(&wanted.tc_to_priority_group, TC_TO_GROUP, checker) {
        group_of_class[usize::from(class)] = Some(group);
    }
    let of = |group: u8| (0..=LAST).filter(move |&class| group_of_class[usize::from(class)] == Some(group));
    let mut groups = Vec::new();
    for group in 0..=LAST {
        let (own, lossy): (Vec<u8>, Vec<u8>) = of(group).partition(|class| lossless.contains(class));
        if let (Some(class), Some(other)) = (own.first(), lossy.first()) {
            let free = (0..=LAST).find(|&group| of(group).next().is_none()).unwrap_or(*class);
            checker.refuse(
                TC_TO_GROUP.key,
                format!(
                    "must not map lossless and lossy classes to the same priority group, got group {group} for the lossless class {class} \
                     and the lossy class {other}; map class {class} to a group without lossy classes, such as {free}"
                ),
            );
        }
        groups.extend(Some(own).filter(|own| !own.is_empty()));
    }
    groups
}

/// Description of a map in the scenario: its key, and the name and largest value of its inputs (`from`) and its results (`to`).
struct Map {
    key: &'static str,
    from: (&'static str, u8),
    to: (&'static str, u8),
}

const DSCP_TO_TC: Map =
    Map { key: "switch.lossless.dscp_to_tc", from: ("DSCPs", LAST_DSCP), to: ("traffic classes", LAST) };
const TC_TO_GROUP: Map = Map {
    key: "switch.lossless.tc_to_priority_group",
    from: ("traffic classes", LAST),
    to: ("priority groups", LAST),
};
const PRIORITY_TO_QUEUE: Map = Map {
    key: "switch.lossless.pfc_priority_to_queue",
    from: ("PFC priorities", LAST),
    to: ("queues", LAST),
};

/// Returns the entries of a map whose numbers are in range, and rejects the other entries.
fn checked(entries: &NumberMap, map: Map, checker: &mut Checker<'_>) -> impl Iterator<Item = (u8, u8)> {
    let Map { key, from: (from_name, from), to: (to_name, to) } = map;
    let is_in_range = |&(one, other): &(u8, u8)| {
        checker.require(one <= from && other <= to, key, || {
            format!("must map {from_name} from 0 to {from} to {to_name} from 0 to {to}, got {one} = {other}")
        })
    };
    let entries = entries.0.iter().map(|(&one, &other)| (one, other));
    entries.filter(is_in_range).collect::<Vec<_>>().into_iter()
}
