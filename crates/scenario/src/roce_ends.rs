//! Rules for queue pairs between two hosts with different settings: the end that determines each setting.

use crate::check::Checker;
use crate::own_roce::{OwnRoces, key_of_group};
use crate::spec::{self, Roce, RoceOperation, RoceRecovery};

/// Returns the settings of a queue pair that a host with the settings `opener` opens to a host with the settings `other`. Both settings
/// must have the same operation, path MTU and kind of recovery.
pub(crate) fn between(opener: &Roce, other: &Roce) -> Roce {
    let (sender, receiver) = match opener.operation {
        RoceOperation::Read(_) => (other, opener),
        RoceOperation::Write(_) | RoceOperation::Send(_) => (opener, other),
    };
    Roce {
        operation: operation(opener, other),
        mtu: opener.mtu,
        // The receiver of data determines how much reordering it tolerates. The sender determines all other settings of loss recovery.
        recovery: match &receiver.recovery {
            RoceRecovery::GoBackN(_) => receiver.recovery.clone(),
            RoceRecovery::SelectiveRepeat(_) | RoceRecovery::Irn(_) => sender.recovery.clone(),
        },
        // A packet with data requests its acknowledgement (IB specification, AckReq of the BTH).
        ack_every: sender.ack_every,
        timeout: opener.timeout,
        adaptive_timeout: opener.adaptive_timeout.clone(),
        retry_count: opener.retry_count,
        ack_class: other.ack_class,
        cnp: receiver.cnp.clone(),
        congestion: sender.congestion.clone(),
        burst: sender.burst,
    }
}

/// Returns the operation of a queue pair. For SENDs, the receiver determines all settings except the limit of RNR NAKs, which the sender
/// counts. For READs, the limits of outstanding READs of both ends apply (`max_rd_atomic` and `max_dest_rd_atomic` of `ibv_qp_attr`).
fn operation(opener: &Roce, other: &Roce) -> RoceOperation {
    match (&opener.operation, &other.operation) {
        (RoceOperation::Send(opener), RoceOperation::Send(other)) => {
            RoceOperation::Send(spec::Send { rnr_retry: opener.rnr_retry, ..other.clone() })
        }
        (RoceOperation::Read(opener), RoceOperation::Read(other)) => {
            RoceOperation::Read(spec::Read { max_rd_atomic: opener.max_rd_atomic.min(other.max_rd_atomic) })
        }
        (operation, _) => operation.clone(),
    }
}

/// Rejects operations that differ between groups, because all queue pairs of a workload have the same operation.
pub(crate) fn check_operations(own: &OwnRoces, checker: &mut Checker<'_>) {
    for of_groups in own.of_kinds() {
        let common = operation_name(&of_groups[0].roce);
        for (group, own) in of_groups.iter().enumerate() {
            let name = operation_name(&own.roce);
            checker.require(name == common, &format!("{}.operation", key_of_group(group)), || {
                format!(
                    "must be \"{common}\", as for hosts in no group, got \"{name}\": both ends of a queue pair have the same \
                     operation; set roce.operation, or operation in the table roce of a workload"
                )
            });
        }
    }
}

fn operation_name(roce: &Roce) -> &'static str {
    match roce.operation {
        RoceOperation::Write(_) => "write",
        RoceOperation::Send(_) => "send",
        RoceOperation::Read(_) => "read",
    }
}
