//! Mapping of a scenario to Linux: [`LinuxPlan::of`] returns the set-up of hosts, or the keys that Linux does not support.
//!
//! There are three kinds of keys. Linux behaves as the first kind states. It differs from the second kind, and the results note the
//! difference. The third kind is supported only by a simulation, so a scenario with such a key is rejected. docs/testbed.md has the table.

use shallows_core::{Bytes, Duration, Rate};
use shallows_scenario::{Connections, Experiment};
use shallows_transport::congestion::{Config as Congestion, EcnMode, dctcp, pulser};
use shallows_transport::receive_window::Control;
use shallows_transport::{AckCounts, EctPolicy, Method, RestartAfterIdle, SackAfterTimeout};

use self::kernel::{
    LARGEST_WINDOW, MOST_PACING, PACING_AVOIDANCE, PACING_SLOW_START, TAIL_LOSS_PROBES, TICK,
};
use crate::dilation::Dilation;

mod differences;
mod kernel;

/// Set-up of the hosts of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinuxPlan {
    /// Name of the congestion control in the kernel.
    pub congestion: String,
    /// Configuration for the testbed's own congestion control, in the layout of the structure `told` in its source. Empty if the source has
    /// no such structure.
    pub told: Vec<u32>,
    /// Files below `/proc/sys/net/ipv4` and their contents, in each host.
    pub settings: Vec<(&'static str, String)>,
    /// Attributes of the route to all other hosts, in the syntax of `ip route`.
    pub route: String,
    /// Size of the largest IP packet.
    pub mtu: Bytes,
    /// Whether hosts apply backpressure: data that the link cannot send yet waits in a queue of the sending host, where TCP Small Queues
    /// limit it.
    pub held_back: bool,
    /// Whether congestion windows have a bound. In that case, every two hosts must have had a connection before the run
    /// (`HostNamespaces::acquaint`).
    pub bounded: bool,
    /// Ratio of the machine's time to network time.
    pub dilation: Dilation,
    /// Differences between Linux and the scenario, which the results list.
    pub differences: Vec<String>,
}

/// Key of a scenario that Linux does not support, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Key as in the scenario's file.
    pub key: &'static str,
    /// Requirement that is not met, and the remedy.
    pub reason: String,
}

/// Maximum number of hosts on one machine.
pub const MOST_HOSTS: u32 = 64;
/// Rate of the fastest link that a user-space switch can pace, as measured (docs/testbed.md).
pub const FASTEST: Rate = Rate(1_000_000_000);

impl LinuxPlan {
    /// Returns the set-up of hosts for `experiment`. The machine's kernel has the congestion controls `available`, and links may have at
    /// most the rate `fastest`.
    ///
    /// # Errors
    ///
    /// Every key that Linux does not support.
    pub fn of(
        experiment: &Experiment,
        available: &[&str],
        dilation: Dilation,
        fastest: Rate,
    ) -> Result<Self, Vec<Refusal>> {
        let mut refusals = Vec::new();
        let congestion = congestion(experiment, available, &mut refusals);
        refuse_transport(experiment, dilation, &mut refusals);
        refuse_rest(experiment, dilation, fastest, &mut refusals);
        if experiment.network.lossless.is_some() {
            let reason = "must be left out, because the testbed's switch has no priority flow control";
            refuse(&mut refusals, "switch.lossless", reason);
        }
        if !refusals.is_empty() {
            return Err(refusals);
        }
        Ok(Self {
            congestion: congestion.to_owned(),
            told: told(experiment),
            settings: settings(experiment, dilation),
            route: route(experiment, dilation),
            mtu: experiment.network.mtu,
            held_back: experiment.hosts.groups[0].backpressure.is_some(),
            bounded: is_bounded(experiment),
            dilation,
            differences: differences::of(experiment, dilation),
        })
    }
}

fn refuse(refusals: &mut Vec<Refusal>, key: &'static str, reason: impl Into<String>) {
    refusals.push(Refusal { key, reason: reason.into() });
}

/// Remedy if the testbed was built without its own congestion controls.
const OWN: &str = "build the testbed with this congestion control: apt-get install clang libbpf-dev libelf-dev \
                   zlib1g-dev, then make testbed";

fn congestion(experiment: &Experiment, available: &[&str], refusals: &mut Vec<Refusal>) -> &'static str {
    let tcp = experiment.tcp();
    let (name, why) = match tcp.congestion {
        Congestion::Reno(_) if tcp.congestion.ecn_mode() == EcnMode::Classic && tcp.ect == EctPolicy::All => {
            ("ecnstar", OWN)
        }
        Congestion::Reno(_) => ("reno", ""),
        Congestion::Cubic(_) => ("cubic", "load it with: modprobe tcp_cubic"),
        Congestion::Dctcp(config) => {
            refuse_dctcp(&config, ["tcp.congestion.g", "tcp.congestion.initial_alpha"], refusals);
            ("dctcp", OWN)
        }
        Congestion::Pulser(config) => {
            let keys = ["tcp.congestion.dctcp.g", "tcp.congestion.dctcp.initial_alpha"];
            refuse_dctcp(&config.dctcp, keys, refusals);
            if !config.safe_window.0.is_multiple_of(tcp.mss.0) {
                let reason = format!(
                    "must be a multiple of the segment size {1}, as windows of Linux are, got {0}",
                    config.safe_window, tcp.mss
                );
                refuse(refusals, "tcp.congestion.safe_window", reason);
            }
            ("pulser", OWN)
        }
        _ => {
            refuse(refusals, "tcp.congestion", "must be a congestion control that the testbed has");
            return "";
        }
    };
    if !available.contains(&name) {
        let known = available.join(", ");
        let reason =
            format!("the kernel must have the congestion control {name:?}, but has only {known}; {why}");
        refuse(refusals, "tcp.congestion", reason);
    }
    if matches!(tcp.congestion, Congestion::Cubic(_)) && tcp.ect == EctPolicy::All {
        refuse(
            refusals,
            "tcp.ect",
            "must be \"rfc3168\" with CUBIC, because Linux sends acknowledgements and retransmissions as Not-ECT",
        );
    }
    name
}

/// Returns the configuration of Pulser's brake (bpf/pulser.bpf.c); empty for all other congestion controls.
fn told(experiment: &Experiment) -> Vec<u32> {
    let Congestion::Pulser(config) = experiment.tcp().congestion else { return Vec::new() };
    vec![
        u32::try_from(config.safe_window.0 / experiment.tcp().mss.0).unwrap_or(u32::MAX),
        u32::from(config.restore == pulser::Restore::CleanWindow),
        u32::from(config.signal == pulser::Signal::Ece),
    ]
}

/// Refuses configurations of DCTCP that Linux does not have: the gain must be 1/16, and the initial alpha 1.
fn refuse_dctcp(config: &dctcp::Config, [gain, alpha]: [&'static str; 2], refusals: &mut Vec<Refusal>) {
    if config.gain != 1.0 / 16.0 {
        refuse(refusals, gain, format!("must be 1/16 = 0.0625 in the testbed, got {}", config.gain));
    }
    if config.initial_alpha != 1.0 {
        refuse(refusals, alpha, format!("must be 1 in the testbed, got {}", config.initial_alpha));
    }
}

fn refuse_transport(experiment: &Experiment, dilation: Dilation, refusals: &mut Vec<Refusal>) {
    let tcp = experiment.tcp();
    match tcp.recovery {
        Method::Sack(_) | Method::Rack(_) | Method::NewReno => {}
        _ => refuse(refusals, "tcp.recovery", "must be \"rack\", \"sack\" or \"newreno\", as in Linux"),
    }
    if tcp.receive_control != Control::Fixed {
        refuse(refusals, "tcp.receiver", "must be \"fixed\", because Linux controls receive windows itself");
    }
    if !matches!(tcp.delayed_ack.segments, 1 | 2) {
        refuse(refusals, "tcp.delayed_ack.segments", "must be 1 or 2, as in Linux");
    }
    if tcp.delayed_ack.counts == AckCounts::Bytes {
        refuse(refusals, "tcp.delayed_ack.counts", "must not be \"bytes\", which only ns-2 has");
    }
    if tcp.restart_after_idle == RestartAfterIdle::Reset {
        refuse(
            refusals,
            "tcp.restart_after_idle",
            "must be \"off\" or \"reduce\", as in Linux; only ns-2 has \"reset\"",
        );
    }
    if tcp.sack_after_timeout == SackAfterTimeout::Forgotten {
        refuse(refusals, "tcp.sack_after_timeout", "must be \"kept\", as in Linux");
    }
    if dilation.real(tcp.rto.minimum) < TICK {
        refuse(
            refusals,
            "tcp.rto.min",
            format!(
                "must be at least {TICK} of real time, one timer tick of the kernel; use a larger value, or dilate \
                 time (--dilate)"
            ),
        );
    }
    if tcp.receive_window.0 < 65_536 {
        refuse(
            refusals,
            "tcp.receive_window",
            "must be at least 64KiB, because receive windows of Linux start at about 64 KB",
        );
    }
}

/// Returns, for each feature that a testbed does not support, whether the experiment has it, the feature's key, and the remedy.
fn unsupported(experiment: &Experiment) -> [(bool, &'static str, &'static str); 5] {
    [
        (
            experiment.network.groups.any(),
            "host.group",
            "must be left out, because all hosts of a testbed have the same settings",
        ),
        (
            experiment.hosts.kinds().iter().any(|&kind| kind > 0) && !experiment.has_queue_pairs(),
            "workload.tcp",
            "must be left out, because all connections of a testbed have the same settings; set [tcp] instead",
        ),
        (
            experiment.has_queue_pairs(),
            "workload.transport",
            "must be \"tcp\", because a testbed has no RDMA NICs",
        ),
        (
            experiment.shares().contains(&true),
            "workload.answers",
            "must be left out, because each connection of a testbed carries data in one direction",
        ),
        (
            experiment.flow_traces.iter().any(|trace| trace.every.is_none()),
            "measure.flow_traces.every",
            "must be an interval, because the testbed samples the kernel periodically",
        ),
    ]
}

fn refuse_rest(experiment: &Experiment, dilation: Dilation, most: Rate, refusals: &mut Vec<Refusal>) {
    let network = &experiment.network;
    if network.hosts > MOST_HOSTS {
        let reason = format!("must have at most {MOST_HOSTS} hosts on one machine, got {}", network.hosts);
        refuse(refusals, "topology", reason);
    }
    let fastest = network.links.iter().map(|link| link.rate).max().unwrap_or_default();
    if dilation.real_rate(fastest) > most {
        let enough = fastest.0.div_ceil(most.0);
        let reason = format!(
            "links must be at most {most}, the limit of a software switch, got {fastest}; dilate time with --dilate \
             {enough} or more"
        );
        refuse(refusals, "topology", reason);
    }
    let offloads = &experiment.hosts.groups[0].offloads;
    let offloaded = [
        (
            offloads.tso.is_some(),
            "host.nic.tso",
            "must be \"off\", because the switch of a testbed receives each packet separately",
        ),
        (
            offloads.paced,
            "host.nic.pacing",
            "must be left out, because the queue of a testbed host has no pacing",
        ),
        (
            offloads.coalescing.is_some(),
            "host.nic.coalescing",
            "must be left out, because a testbed delivers each frame on arrival",
        ),
    ];
    for (_, key, reason) in offloaded.into_iter().chain(unsupported(experiment)).filter(|(is_so, ..)| *is_so)
    {
        refuse(refusals, key, reason);
    }
    let primed = |use_: &Connections| matches!(use_, Connections::Persistent { warm_up: Some(_), .. });
    if experiment.connections.iter().any(primed) {
        refuse(
            refusals,
            "workload.connections.warm_up",
            "must be left out: only ns-2 has a warm-up of connections, and a testbed opens connections before the run",
        );
    }
    if experiment.stop.at.is_none() && experiment.expected_flows().is_none() {
        refuse(refusals, "stop", "must be set, because a testbed run needs an end");
    }
}

/// Returns a duration in whole milliseconds, rounded up so that no timer is shorter than in the scenario.
fn millis(span: Duration) -> u64 {
    span.0.div_ceil(Duration::from_millis(1).0)
}

fn settings(experiment: &Experiment, dilation: Dilation) -> Vec<(&'static str, String)> {
    let tcp = experiment.tcp();
    let flag = |on: bool| u8::from(on).to_string();
    let memory = tcp.receive_window.0.clamp(1 << 17, LARGEST_WINDOW);
    let mut settings = vec![
        ("tcp_ecn", flag(tcp.congestion.ecn_mode() != EcnMode::Off)),
        // RFC 3168 §6.1.1.1: retransmissions of a lost SYN also request ECN.
        ("tcp_ecn_fallback", flag(false)),
        ("tcp_timestamps", flag(tcp.timestamps)),
        ("tcp_sack", flag(tcp.recovery.uses_sack())),
        ("tcp_slow_start_after_idle", flag(tcp.restart_after_idle == RestartAfterIdle::Reduce)),
        ("tcp_reordering", tcp.duplicate_threshold.to_string()),
        (
            "tcp_early_retrans",
            if matches!(tcp.recovery, Method::Rack(_)) { TAIL_LOSS_PROBES } else { "0" }.to_owned(),
        ),
        ("tcp_frto", flag(tcp.frto)),
        ("tcp_dsack", flag(tcp.dsack)),
        // Connections inherit no metrics. If windows have a bound, metrics are saved, but the route locks each metric.
        ("tcp_no_metrics_save", flag(!is_bounded(experiment))),
        ("tcp_rmem", format!("4096 {memory} {memory}")),
        ("tcp_wmem", "4096 4194304 16777216".to_owned()),
        ("tcp_autocorking", flag(false)),
        // Sockets of a killed program must not keep its namespaces for minutes.
        ("tcp_orphan_retries", "1".to_owned()),
        ("tcp_fin_timeout", "1".to_owned()),
    ];
    let limit = experiment.hosts.groups[0].backpressure.map_or(1 << 30, |limit| limit.0.min(1 << 30));
    settings.push(("tcp_limit_output_bytes", limit.to_string()));
    // TCP Small Queues let as much data wait as the pacing rate sends in 2^-10 s of the machine's time. Nothing else in this set-up uses
    // the pacing rate, so the rate is dilated instead of the time.
    let percent = |ratio: u32| ratio.saturating_mul(dilation.factor()).min(MOST_PACING).to_string();
    settings.push(("tcp_pacing_ss_ratio", percent(PACING_SLOW_START)));
    settings.push(("tcp_pacing_ca_ratio", percent(PACING_AVOIDANCE)));
    let most = millis(dilation.real(tcp.rto.maximum));
    // The kernel accepts one second to two minutes.
    if (1_000..=120_000).contains(&most) {
        settings.push(("tcp_rto_max_ms", most.to_string()));
    }
    settings
}

fn route(experiment: &Experiment, dilation: Dilation) -> String {
    let tcp = experiment.tcp();
    let segments = |bytes: Bytes| (bytes.0 / tcp.mss.0).max(1);
    let mut route = format!(
        "rto_min {}ms initcwnd {} initrwnd {}",
        millis(dilation.real(tcp.rto.minimum)),
        segments(tcp.initial_window),
        (tcp.receive_window.0 / tcp.mss.0).clamp(10, 1_000),
    );
    if is_bounded(experiment) {
        let nothing_else = "rtt lock 0 rttvar lock 0 ssthresh lock 0 reordering lock 0";
        route += &format!(" cwnd lock {} {nothing_else}", segments(tcp.max_window));
    }
    if tcp.delayed_ack.segments == 1 {
        route += " quickack 1";
    }
    route
}

/// Returns whether congestion windows have a bound that they could reach (below 256 MiB).
fn is_bounded(experiment: &Experiment) -> bool {
    experiment.tcp().max_window.0 < 1 << 28
}

#[cfg(test)]
mod tests;
