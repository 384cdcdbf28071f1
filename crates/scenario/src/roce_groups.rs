//! Groups of hosts with different settings of queue pairs: the settings that both ends of a queue pair must have in common.

use std::collections::BTreeSet;

use crate::check::Checker;
use crate::experiment::Pairs;
use crate::membership::Groups;
use crate::own_roce::{OwnRoces, key_of_group};
use crate::resolved::Resolved;
use crate::spec::{Roce, RoceCongestion, RoceOperation, RoceRecovery};
use crate::workload::Generator;

/// Rejects workloads with queue pairs between groups whose settings do not fit together. `traffic` has the generator and the host pairs of
/// each workload that sends flows.
pub(crate) fn check<'a>(
    spec: &Resolved,
    own: &OwnRoces,
    groups: &Groups,
    traffic: impl Iterator<Item = (&'a Generator, &'a Pairs)>,
    checker: &mut Checker<'_>,
) {
    let sending = spec.workload.iter().enumerate().filter(|(_, workload)| workload.sends_flows());
    for ((workload, _), (generator, pairs)) in sending.zip(traffic) {
        let Some(of_groups) = own.of_workload(workload) else { continue };
        let linked = if generator.asks() { all(groups) } else { linked(pairs, groups) };
        for (from, to) in linked {
            let [opener, other] = [from, to].map(|group| End {
                group,
                name: &groups.names()[group],
                roce: &of_groups[group].roce,
            });
            check_common(workload, &opener, &other, checker);
            match opener.roce.operation {
                RoceOperation::Read(_) => check_notifications(&other, &opener, checker),
                RoceOperation::Write(_) | RoceOperation::Send(_) => {
                    check_notifications(&opener, &other, checker)
                }
            }
        }
    }
}

/// Returns all ordered pairs of two groups with hosts.
fn all(groups: &Groups) -> BTreeSet<(usize, usize)> {
    let used: Vec<usize> = (0..groups.names().len()).filter(|&group| groups.has_members(group)).collect();
    let pairs = used.iter().flat_map(|&from| used.iter().map(move |&to| (from, to)));
    pairs.filter(|(from, to)| from != to).collect()
}

/// Returns the ordered pairs of groups to which these host pairs belong.
fn linked(pairs: &Pairs, groups: &Groups) -> BTreeSet<(usize, usize)> {
    let found: BTreeSet<_> = match pairs {
        Pairs::Product { senders, receivers } => {
            let of = |hosts: &[_]| hosts.iter().map(|&host| groups.of(host)).collect::<BTreeSet<_>>();
            let (from, to) = (of(senders), of(receivers));
            from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to))).collect()
        }
        Pairs::List(list) => list.iter().map(|&(from, to)| (groups.of(from), groups.of(to))).collect(),
    };
    found.into_iter().filter(|(from, to)| from != to).collect()
}

/// One end of queue pairs between two groups.
struct End<'a> {
    group: usize,
    name: &'a str,
    roce: &'a Roce,
}

impl End<'_> {
    /// Returns the key of the table in which the group can have settings of its own.
    fn key(&self) -> String {
        key_of_group(self.group)
    }
}

/// Rejects two ends with different path MTUs or different kinds of recovery. Operations are the same in all groups.
fn check_common(workload: usize, opener: &End<'_>, other: &End<'_>, checker: &mut Checker<'_>) {
    // Report the problem at the later group. This group has a `roce` table, or it inherits settings that the earlier group's table
    // overrides.
    let (one, two) = if opener.group < other.group { (opener, other) } else { (other, opener) };
    let mut alike = |name: &str, [first, second]: [String; 2]| {
        checker.require(first == second, &format!("{}.{name}", two.key()), || {
            format!(
                "must be as in group \"{}\" ({}.{name} = {first}), got {second}: workload[{workload}] has queue pairs between \
                 both groups, and both ends of a queue pair need the same value",
                one.name,
                one.key()
            )
        });
    };
    alike("mtu", [one, two].map(|end| format!("\"{}\"", end.roce.mtu.filled())));
    alike("recovery", [one, two].map(|end| format!("\"{}\"", recovery_name(end.roce))));
}

fn recovery_name(roce: &Roce) -> &'static str {
    match roce.recovery {
        RoceRecovery::GoBackN(_) => "go-back-n",
        RoceRecovery::SelectiveRepeat(_) => "selective-repeat",
        RoceRecovery::Irn(_) => "irn",
    }
}

/// Rejects a CNP interval of a receiver that is not shorter than the α period of the sender's DCQCN: α would decrease although CNPs arrive.
fn check_notifications(sender: &End<'_>, receiver: &End<'_>, checker: &mut Checker<'_>) {
    let RoceCongestion::Dcqcn(dcqcn) = &sender.roce.congestion else { return };
    let period = dcqcn.alpha_period.expect("filled in before the checks").0;
    let interval = receiver.roce.cnp.interval();
    checker.require(period > interval, &format!("{}.cnp.interval", receiver.key()), || {
        format!(
            "must be shorter than alpha_period of group \"{}\" ({}.congestion.alpha_period = {period}), got {interval}: otherwise \
             alpha would decrease although CNPs arrive",
            sender.name,
            sender.key()
        )
    });
}
