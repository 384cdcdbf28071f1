//! `operation = "read"`: checks that the rest of the scenario fits RDMA READs, whose responders send the data.

use shallows_rdma::congestion::{Config as Control, Window};

use crate::check::Checker;
use crate::own_roce::OwnRoces;
use crate::resolved::Resolved;
use crate::spec::{Read, Roce, RoceRecovery, Workload};

/// Largest value of `ibv_qp_attr.max_rd_atomic`, a number of 8 bits.
const MOST_OUTSTANDING: u32 = u8::MAX as u32;

/// Rejects invalid limits of outstanding READs, and queue-pair settings that need acknowledgements of data.
pub(crate) fn check(roce: &Roce, read: &Read, control: &Control, checker: &mut Checker<'_>) {
    let outstanding = read.max_rd_atomic;
    checker.require((1..=MOST_OUTSTANDING).contains(&outstanding), "roce.operation.max_rd_atomic", || {
        format!("must be from 1 to {MOST_OUTSTANDING}, got {outstanding}")
    });
    let is_in_order = matches!(&roce.recovery, RoceRecovery::GoBackN(given) if given.reordering == 0);
    checker.require(is_in_order, "roce.recovery", || {
        "must be \"go-back-n\" without reordering with READs: responses are not acknowledged, and the requester requests \
         everything again from the missing response on"
            .to_owned()
    });
    checker.require(roce.adaptive_timeout.is_none(), "roce.adaptive_timeout", || {
        "must be left out with READs: adaptive timeouts of READs are not modelled".to_owned()
    });
    checker.require(roce.ack_every == 1, "roce.ack_every", || {
        format!("must be left out with READs, because responses are not acknowledged, got {}", roce.ack_every)
    });
    let window = match control {
        Control::None => Some(Window::None),
        Control::Dcqcn(config) => Some(config.window),
        Control::ConnectX(config) => Some(config.window),
        _ => None,
    };
    checker.require(window.is_some(), "roce.congestion", || {
        "must be \"none\", \"dcqcn\" or \"dcqcn-connectx\" with READs: other congestion controls need acknowledgements of \
         data, and responses are not acknowledged"
            .to_owned()
    });
    checker.require(window.is_none_or(|window| window == Window::None), "roce.congestion.window", || {
        "must be left out with READs: a window needs acknowledgements of data, and responses are not acknowledged".to_owned()
    });
}

/// Rejects workloads and NICs that do not fit READs.
pub(crate) fn check_workloads(spec: &Resolved, own: &OwnRoces, checker: &mut Checker<'_>) {
    let mut reads = None;
    for (index, workload) in spec.workload.iter().enumerate() {
        let Some(key) = own.key_of_reads(index) else { continue };
        reads = Some(key);
        if let Workload::Poisson(poisson) = workload {
            checker.require(poisson.senders == poisson.receivers, &format!("workload[{index}].receivers"), || {
                "must be the same as senders with READs: the data flows to the senders, and load refers to data for the \
                 receivers"
                    .to_owned()
            });
        }
        let answers = matches!(workload, Workload::PartitionAggregate(_) | Workload::BlockTransfer(_));
        checker.require(!answers, &format!("{key}.operation"), || {
            format!(
                "must be \"write\" or \"send\" for workload[{index}]: the data of READs flows to the host that posts them, and \
                 a worker has to send its answer to another host"
            )
        });
    }
    let Some(reads) = reads else { return };
    for group in 0..=spec.host.group.len() {
        let (nic, key) = spec.host.nic_of(group);
        checker.require(nic.send.is_none(), &format!("{key}.send"), || {
            format!(
                "must be left out with READs ({reads}.operation), because these limits do not apply to READ responses in the model"
            )
        });
    }
}
