//! `[roce]`: checks the settings of queue pairs and converts them to a configuration.

use std::collections::BTreeMap;
use std::sync::Arc;

use shallows_core::rdma::RnrTimer;
use shallows_core::{Bytes, Duration};
use shallows_rdma as rdma;

use crate::check::Checker;
use crate::memory::in_bytes;
use crate::own_roce::{OwnRoce, OwnRoces, key_of_group};
use crate::quantity::{Automatic, Backpressure, Size, Time};
use crate::queue_depth;
use crate::read_operation;
use crate::resolved::Resolved;
use crate::roce_congestion;
use crate::roce_ends;
use crate::roce_presets::{self, Setting};
use crate::spec::{self, Answers, Roce, RoceCongestion, RoceOperation, RoceRecovery, Transport, Workload};
use crate::topology::{Network, PortKind};

/// Queue pairs that a workload uses instead of TCP connections.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuePairs {
    /// Configuration of a queue pair.
    pub config: Arc<rdma::Config>,
    /// Class of service of acknowledgements; `None` if an acknowledgement has the class of the data that it acknowledges.
    pub ack_class: Option<u8>,
    /// Class of service of congestion notification packets; `None` if they have the class of the data.
    pub cnp_class: Option<u8>,
    /// Bytes that every packet has in addition to its data and to extended headers: framing; the headers IP, UDP and BTH; in-band
    /// telemetry, if the congestion control uses it; and the ICRC, a trailer.
    pub header_bytes: Bytes,
}

/// Smallest and largest path MTU of InfiniBand.
const MTUS: (Bytes, Bytes) = (Bytes(256), Bytes(4_096));
/// Smallest queue of a NIC with queue pairs: room for a packet of each of more than 10,000 queue pairs.
const LEAST_QUEUE: Bytes = Bytes(64_000_000);
/// Largest tolerance of reordering, in packets: the InfiniBand specification treats half of the 24-bit PSNs as duplicates.
const MOST_REORDERING: u32 = (1 << 23) - 1;
/// Largest value of `ibv_qp_attr.retry_cnt`.
const MOST_RETRIES: u32 = 7;

/// Returns `roce` with the path MTU filled in. `mtu` is the smallest MTU of the hosts.
pub(crate) fn spelled_out(roce: &Roce, mtu: Bytes) -> Roce {
    let room = mtu.saturating_sub(headers(&roce.congestion) + rdma::RETH);
    let fitting = (8..=12).map(|power| Bytes(1 << power)).filter(|&size| size <= room).max();
    let mtu = roce.mtu.or(Size(fitting.unwrap_or(MTUS.0)));
    Roce { mtu: Automatic::Is(mtu), ..roce.clone() }
}

/// Returns the settings of queue pairs with all values of congestion controls filled in, and notes. The notes are on filled-in values, and
/// on a `timeout` that has no effect because the recovery IRN has its own timeouts.
pub(crate) fn in_network(spec: &Resolved, mut own: OwnRoces, network: &Network) -> (OwnRoces, Vec<String>) {
    let mut notes = Vec::new();
    for OwnRoce { key, roce } in &mut own.all {
        let filled = roce_presets::spelled_out(&roce.congestion, &setting(spec, roce, network));
        let note = roce_presets::note(&roce.congestion, &filled);
        notes.extend(note.map(|note| format!("{key}.{note}")));
        let cnp = filled_cnp(&roce.cnp, &filled);
        if matches!(filled, RoceCongestion::ConnectX(_)) && cnp != roce.cnp {
            notes.push(format!(
                "{key}.congestion \"dcqcn-connectx\" sets cnp.interval = \"{}\"",
                cnp.interval()
            ));
        }
        // This is a note, not an error, because scenarios that compare kinds of recovery set one timeout for all of them.
        if matches!(roce.recovery, RoceRecovery::Irn(_)) && roce.timeout != Roce::default().timeout {
            notes.push(format!(
                "{key}.timeout = \"{}\" has no effect, because the recovery \"irn\" has timeouts of its own",
                roce.timeout
            ));
        }
        (roce.congestion, roce.cnp) = (filled, cnp);
    }
    (own, notes)
}

/// Returns the settings of CNPs with the interval filled in.
fn filled_cnp(cnp: &spec::Cnp, congestion: &RoceCongestion) -> spec::Cnp {
    let interval = cnp.interval.or(Time(roce_presets::cnp_interval(congestion)));
    spec::Cnp { interval: Automatic::Is(interval), ..cnp.clone() }
}

fn setting(spec: &Resolved, roce: &Roce, network: &Network) -> Setting {
    let common = spec.topology.common();
    // A larger MTU is rejected later.
    let mtu = path_mtu(roce).min(MTUS.1);
    let every = headers(&roce.congestion) + common.framing;
    let base_rtt = network.base_rtt_with(mtu + every, every + rdma::AETH);
    let of_hosts = network.links.iter().filter(|link| link.kind == PortKind::Nic).map(|link| link.rate);
    let largest = mtu + every + rdma::RETH;
    Setting { mtu, largest, line_rate: of_hosts.max().unwrap_or(common.rate), base_rtt }
}

/// Returns the number of header bytes of every packet, including in-band telemetry.
fn headers(congestion: &RoceCongestion) -> Bytes {
    let telemetry = match congestion {
        RoceCongestion::Hpcc(_) | RoceCongestion::PowerTcp(_) => rdma::INT,
        RoceCongestion::HpccPint(given) => {
            rdma::congestion::pint::header(given.log_base.unwrap_or(rdma::congestion::pint::LOG_BASE))
        }
        _ => Bytes(0),
    };
    rdma::HEADERS + telemetry
}

/// Checks the settings of queue pairs. Returns the queue pairs of each kind for each ordered pair of groups. Hosts of the first group of a
/// pair open the queue pairs. Problems are recorded in `checker`.
pub(crate) fn build(
    spec: &Resolved,
    own: &OwnRoces,
    network: &Network,
    checker: &mut Checker<'_>,
) -> Vec<QueuePairs> {
    check_workloads(spec, checker);
    if spec.sends_on_queue_pairs() {
        check_nics(spec, checker);
        check_nic_markers(network, checker);
    } else {
        refuse_limits(spec, checker);
        refuse_tables(spec, checker);
    }
    read_operation::check_workloads(spec, own, checker);
    queue_depth::check(spec, checker);
    roce_ends::check_operations(own, checker);
    let convert = |roce: &Roce| {
        let setting = setting(spec, roce, network);
        (convert(roce, &setting), setting)
    };
    let configs: Vec<(rdma::Config, Setting)> = own.all.iter().map(|own| convert(&own.roce)).collect();
    for (OwnRoce { key, roce }, (config, setting)) in own.all.iter().zip(&configs) {
        checker.instead("roce", key, |checker| {
            check_mtu(spec, roce, checker);
            check(roce, config, setting, checker);
            check_burst(roce, setting, checker);
            if config.congestion.uses_telemetry() {
                check_hops(spec, network, checker);
            }
        });
    }
    check_notifications(own, &configs, checker);
    let mut pint = configs.iter().filter_map(|(config, _)| config.congestion.pint());
    let first = pint.next();
    checker.require(pint.all(|other| Some(other) == first), "roce.congestion", || {
        "must have the same log_base and base_rtt for all queue pairs with PINT, because switches measure for all of them"
            .to_owned()
    });
    let mut known = BTreeMap::new();
    let build = |(opener, other): (usize, usize)| {
        let build = || {
            let roce = roce_ends::between(&own.all[opener].roce, &own.all[other].roce);
            QueuePairs {
                ack_class: roce.ack_class,
                cnp_class: roce.cnp.class,
                header_bytes: headers(&roce.congestion) + spec.topology.common().framing,
                config: Arc::new(convert(&roce).0),
            }
        };
        known.entry((opener, other)).or_insert_with(build).clone()
    };
    own.ends().map(build).collect()
}

/// Rejects CNP settings that have no effect because no sender to these hosts has a congestion control with CNPs.
fn check_notifications(own: &OwnRoces, configs: &[(rdma::Config, Setting)], checker: &mut Checker<'_>) {
    let notifies = |index: usize| configs[index].0.congestion.uses_cnps();
    let mut are_used = vec![false; own.all.len()];
    own.ends().for_each(|(receiver, sender)| are_used[receiver] |= notifies(sender));
    for (OwnRoce { key, roce }, is_used) in own.all.iter().zip(are_used) {
        let left_out = filled_cnp(&spec::Cnp::default(), &roce.congestion);
        checker.require(is_used || roce.cnp == left_out, &format!("{key}.cnp"), || {
            "must be left out, because no congestion control of these queue pairs uses congestion notification packets".to_owned()
        });
    }
}

/// Rejects networks with paths on which in-band telemetry does not fit the header.
fn check_hops(spec: &Resolved, network: &Network, checker: &mut Checker<'_>) {
    let most = network.most_switches();
    checker.require(most as usize <= rdma::MOST_HOPS, "roce.congestion", || {
        format!(
            "must be a congestion control without in-band telemetry, such as \"theta-powertcp\" or \"swift\": telemetry \
             has room for {} switches, and the longest path has {most}",
            rdma::MOST_HOPS
        )
    });
    let loops = spec.switch.lossless.as_ref().map_or(0, |lossless| lossless.routing_loops.len());
    checker.require(loops == 0, "switch.lossless.routing_loops", || {
        format!(
            "must be left out: in-band telemetry has room for {} switches, and a packet in a loop passes more",
            rdma::MOST_HOPS
        )
    });
}

/// Rejects tables with settings of queue pairs in a scenario without queue pairs.
fn refuse_tables(spec: &Resolved, checker: &mut Checker<'_>) {
    let of_groups = spec.host.group.iter().map(|group| group.roce.is_some());
    for (group, is_set) in [spec.roce.is_some()].into_iter().chain(of_groups).enumerate() {
        checker.require(!is_set, &key_of_group(group), || {
            "must be left out, or a workload must have transport = \"roce\"".to_owned()
        });
    }
}

/// Rejects workloads with queue pairs that also have settings of TCP, and workloads over TCP with settings of queue pairs.
fn check_workloads(spec: &Resolved, checker: &mut Checker<'_>) {
    for (index, workload) in spec.workload.iter().enumerate() {
        let is_used = workload.roce().is_none() || workload.transport() == Transport::Roce;
        checker.require(is_used, &format!("workload[{index}].roce"), || {
            "must be left out, or the workload must have transport = \"roce\"".to_owned()
        });
        if workload.transport() == Transport::Roce {
            checker.require(workload.tcp().is_none(), &format!("workload[{index}].tcp"), || {
                "must be left out, because transport = \"roce\" has the settings of [roce] and workload.roce".to_owned()
            });
            let shares =
                matches!(workload, Workload::PartitionAggregate(w) if w.answers == Answers::SameConnection);
            checker.require(!shares, &format!("workload[{index}].answers"), || {
                "must be \"own-connection\", because a queue pair carries the messages of one host only"
                    .to_owned()
            });
        }
    }
}

/// Rejects limits of queue pairs in a scenario without queue pairs.
fn refuse_limits(spec: &Resolved, checker: &mut Checker<'_>) {
    for group in 0..=spec.host.group.len() {
        let (nic, key) = spec.host.nic_of(group);
        checker.require(nic.send.is_none(), &format!("{key}.send"), || {
            "must be left out, or a workload must have transport = \"roce\": it limits queue pairs".to_owned()
        });
    }
}

/// Rejects NICs whose queues could drop packets of queue pairs.
fn check_nics(spec: &Resolved, checker: &mut Checker<'_>) {
    for group in 0..=spec.host.group.len() {
        let (nic, key) = spec.host.nic_of(group);
        let (limit, packet) = (nic.limit(), smallest_mtu(spec));
        if nic.backpressure == Backpressure::Off {
            let reason = "because TCP connections would fill the queue of the NIC, and queue pairs lose no packets there";
            checker
                .refuse(&format!("{key}.backpressure"), format!("must be a size with queue pairs, {reason}"));
        } else {
            checker.require(in_bytes(limit, packet) >= LEAST_QUEUE, &format!("{key}.limit"), || {
                format!(
                    "must be at least {LEAST_QUEUE} (the default) with queue pairs, because they lose no packets in their NICs, got {limit}"
                )
            });
        }
    }
}

/// Rejects markers of NICs that drop packets.
fn check_nic_markers(network: &Network, checker: &mut Checker<'_>) {
    let nics = network.links.iter().filter(|link| link.kind == PortKind::Nic);
    let mut markers = nics.flat_map(|link| &network.port(link).markers);
    checker.require(!markers.any(|placed| placed.marker.verdicts().drops()), "host.nic.markers", || {
        "must not drop packets with queue pairs, because they lose no packets in their NICs; use markers that only mark"
            .to_owned()
    });
}

/// Checks the path MTU, and whether packets of all hosts have room for the smallest path MTU.
fn check_mtu(spec: &Resolved, roce: &Roce, checker: &mut Checker<'_>) {
    let mtu = path_mtu(roce);
    let largest = headers(&roce.congestion) + rdma::RETH;
    let room = smallest_mtu(spec).saturating_sub(largest);
    if room < MTUS.0 {
        let (key, own) = hosts_with_smallest_mtu(spec);
        return checker.refuse(
            &key,
            format!(
                "must be at least {} for queue pairs, {} of data and {largest} of headers, got {own}",
                MTUS.0 + largest,
                MTUS.0
            ),
        );
    }
    checker.require(MTUS.0 <= mtu && mtu <= MTUS.1, "roce.mtu", || {
        format!("must be from {} to {}, got {mtu}", MTUS.0, MTUS.1)
    });
    checker.require(mtu <= room, "roce.mtu", || {
        format!(
            "must be at most {room}, got {mtu}: the smallest MTU of the hosts is {}, and headers need up to {largest} of it",
            smallest_mtu(spec)
        )
    });
}

fn check(roce: &Roce, config: &rdma::Config, setting: &Setting, checker: &mut Checker<'_>) {
    checker.require(roce.ack_every > 0, "roce.ack_every", || "must be at least 1, got 0".to_owned());
    checker
        .require(roce.timeout.0 > Duration::ZERO, "roce.timeout", || "must be above 0s, got 0s".to_owned());
    checker.require(roce.retry_count <= MOST_RETRIES, "roce.retry_count", || {
        format!("must be at most {MOST_RETRIES}, got {}", roce.retry_count)
    });
    match &roce.operation {
        RoceOperation::Write(_) => {}
        RoceOperation::Send(send) => check_send(send, &roce.recovery, checker),
        RoceOperation::Read(read) => read_operation::check(roce, read, &config.congestion, checker),
    }
    match &roce.recovery {
        RoceRecovery::GoBackN(given) => {
            checker.require(given.reordering <= MOST_REORDERING, "roce.recovery.reordering", || {
                format!("must be at most {MOST_REORDERING}, got {}", given.reordering)
            });
        }
        RoceRecovery::SelectiveRepeat(_) => {}
        RoceRecovery::Irn(irn) => check_irn(irn, checker),
    }
    if let Some(adaptive) = &roce.adaptive_timeout {
        check_adaptive(roce, adaptive, checker);
    }
    roce_congestion::check(&roce.congestion, &config.congestion, (setting, roce.cnp.interval()), checker);
}

/// Rejects burst sizes without an effect: sizes below two of the largest packets, and any size for queue pairs without congestion control,
/// which send at line rate.
fn check_burst(roce: &Roce, setting: &Setting, checker: &mut Checker<'_>) {
    let Some(burst) = roce.burst else { return };
    let is_paced = !matches!(roce.congestion, RoceCongestion::None(_));
    checker.require(is_paced, "roce.burst", || {
        "must be left out, or roce.congestion must not be \"none\": queue pairs without congestion control send at line rate"
            .to_owned()
    });
    let least = setting.largest * 2;
    checker.require(burst.0 >= least, "roce.burst", || {
        format!("must be at least {least} (twice the size of the largest packet on the wire), got {burst}: a smaller burst has no effect")
    });
}

fn check_send(send: &spec::Send, recovery: &RoceRecovery, checker: &mut Checker<'_>) {
    let depth = send.receive_depth;
    checker
        .require(depth != Some(0), "roce.operation.receive_depth", || "must be at least 1, got 0".to_owned());
    let is_in_order = matches!(recovery, RoceRecovery::GoBackN(_));
    checker.require(depth.is_none() || is_in_order, "roce.operation.receive_depth", || {
        "must be left out, or roce.recovery must be \"go-back-n\": packets that arrive out of order would need receive \
         work requests before their turn, which is not modelled"
            .to_owned()
    });
    let tolerates = matches!(recovery, RoceRecovery::GoBackN(given) if given.reordering > 0);
    checker.require(depth.is_none() || !tolerates, "roce.recovery.reordering", || {
        "must be 0 with roce.operation.receive_depth: packets that arrive out of order would need receive work requests \
         before their turn, which is not modelled"
            .to_owned()
    });
    checker.require(RnrTimer::of(send.rnr_timer.0).is_some(), "roce.operation.rnr_timer", || {
        let times: Vec<_> = RnrTimer::all().map(|timer| timer.time().to_string()).collect();
        format!("must be one of the times of InfiniBand, {}; got {}", times.join(", "), send.rnr_timer)
    });
    checker.require(send.rnr_retry <= MOST_RETRIES, "roce.operation.rnr_retry", || {
        format!("must be at most {MOST_RETRIES}, got {}", send.rnr_retry)
    });
}

fn check_irn(irn: &spec::Irn, checker: &mut Checker<'_>) {
    checker.require(irn.window > 0, "roce.recovery.window", || "must be at least 1, got 0".to_owned());
    checker.require(irn.low_timeout.0 > Duration::ZERO, "roce.recovery.low_timeout", || {
        "must be above 0s, got 0s".to_owned()
    });
    checker.require(irn.low_timeout <= irn.high_timeout, "roce.recovery.high_timeout", || {
        format!("must be at least low_timeout = {}, got {}", irn.low_timeout, irn.high_timeout)
    });
}

fn check_adaptive(roce: &Roce, adaptive: &spec::AdaptiveTimeout, checker: &mut Checker<'_>) {
    let key = "roce.adaptive_timeout";
    checker.require(!matches!(roce.recovery, RoceRecovery::Irn(_)), key, || {
        "must be left out with the recovery \"irn\", which has timeouts of its own".to_owned()
    });
    let first = format!("{key}.first");
    checker.require(adaptive.first.0 > Duration::ZERO, &first, || "must be above 0s, got 0s".to_owned());
    checker.require(adaptive.first <= roce.timeout, &first, || {
        format!("must be at most roce.timeout = {}, got {}", roce.timeout, adaptive.first)
    });
    checker.require(adaptive.attempts > 0, &format!("{key}.attempts"), || {
        "must be at least 1, got 0".to_owned()
    });
}

/// Returns the smallest MTU of the hosts.
pub(crate) fn smallest_mtu(spec: &spec::Spec) -> Bytes {
    let own = spec.host.group.iter().filter_map(|group| Some(group.mtu?.0));
    own.fold(spec.topology.common().mtu, Bytes::min)
}

/// Returns the key and the value of the smallest MTU of the hosts.
fn hosts_with_smallest_mtu(spec: &spec::Spec) -> (String, Bytes) {
    let smallest = smallest_mtu(spec);
    let group = spec.host.group.iter().position(|group| group.mtu.is_some_and(|mtu| mtu.0 == smallest));
    let key = group.map_or("topology.mtu".to_owned(), |index| format!("host.group[{index}].mtu"));
    (key, smallest)
}

fn path_mtu(roce: &Roce) -> Bytes {
    roce.mtu.filled().0
}

fn operation(operation: &RoceOperation) -> rdma::Operation {
    match operation {
        RoceOperation::Write(_) => rdma::Operation::Write,
        RoceOperation::Send(send) => rdma::Operation::Send(rdma::Send {
            receive: send.receive_depth.map(|depth| rdma::ReceiveQueue {
                depth,
                refill: send.refill.0,
                rnr_timer: RnrTimer::of(send.rnr_timer.0).unwrap_or_default(),
            }),
            // `ibv_modify_qp(3)`: 7 means infinite retries.
            rnr_retry: (send.rnr_retry < MOST_RETRIES).then_some(send.rnr_retry),
        }),
        RoceOperation::Read(read) => rdma::Operation::Read(rdma::Read { outstanding: read.max_rd_atomic }),
    }
}

fn convert(roce: &Roce, setting: &Setting) -> rdma::Config {
    let congestion = roce_presets::convert(&roce.congestion, setting);
    rdma::Config {
        operation: operation(&roce.operation),
        // Other sizes are rejected.
        mtu: path_mtu(roce).clamp(MTUS.0, MTUS.1),
        recovery: match &roce.recovery {
            RoceRecovery::GoBackN(_) => rdma::Recovery::GoBackN,
            RoceRecovery::SelectiveRepeat(_) => rdma::Recovery::SelectiveRepeat,
            RoceRecovery::Irn(irn) => rdma::Recovery::Irn(rdma::Irn {
                window: irn.window,
                low_timeout: irn.low_timeout.0,
                high_timeout: irn.high_timeout.0,
                few: irn.few,
            }),
        },
        reordering: match &roce.recovery {
            RoceRecovery::GoBackN(given) => given.reordering.into(),
            RoceRecovery::SelectiveRepeat(_) | RoceRecovery::Irn(_) => 0,
        },
        ack_every: roce.ack_every,
        timeout: roce.timeout.0,
        adaptive: roce.adaptive_timeout.as_ref().map(adaptive),
        retry_count: Some(roce.retry_count),
        notification: rdma::Notification {
            interval: congestion.uses_cnps().then_some(roce.cnp.interval()),
            latency: roce.cnp.latency.0,
            out_of_order: roce.cnp.out_of_order,
        },
        congestion,
        burst_room: roce.burst.map_or(Bytes(0), |size| size.0.saturating_sub(setting.largest)),
    }
}

fn adaptive(given: &spec::AdaptiveTimeout) -> rdma::Adaptive {
    let decrease = match given.decrease {
        spec::Decrease::Reset => rdma::Decrease::Reset,
        spec::Decrease::Half => rdma::Decrease::By(2),
        spec::Decrease::Quarter => rdma::Decrease::By(4),
    };
    rdma::Adaptive { first: given.first.0, attempts: given.attempts, decrease }
}
