//! `connections.queue_depth`: checks that only queue pairs have several outstanding messages, and that packets of these queue pairs stay in
//! order.

use crate::check::Checker;
use crate::resolved::Resolved;
use crate::spec::{Class, ClassRule, Transport, WhenBusy};

/// Rejects queue depths that the rest of the workload does not allow.
pub(crate) fn check(spec: &Resolved, checker: &mut Checker<'_>) {
    for (index, workload) in spec.workload.iter().enumerate() {
        let Some(pools) = workload.pools() else { continue };
        let (workload_key, depth) = (format!("workload[{index}]"), pools.queue_depth);
        let key = format!("{workload_key}.connections.queue_depth");
        if depth == 0 {
            checker.refuse(&key, "must be at least 1, got 0".to_owned());
        }
        if depth <= 1 {
            continue;
        }
        checker.require(workload.transport() == Transport::Roce, &key, || {
            format!(
                "must be 1 (the default), or the workload must have transport = \"roce\": a TCP connection carries one \
                 flow at a time, got {depth}"
            )
        });
        checker.require(pools.when_busy == WhenBusy::Queue, &key, || {
            format!(
                "must be 1 (the default), or connections.when_busy must be \"queue\": with \"open-another\", no message \
                 waits for another one, got {depth}"
            )
        });
        checker.require(!matches!(workload.class(), Class::Rule(ClassRule::Random(_))), &key, || {
            format!(
                "must be 1 (the default), or {workload_key}.class must not be random: messages of a queue pair with \
                 different classes would overtake each other, got {depth}"
            )
        });
    }
}
