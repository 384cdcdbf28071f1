//! Differences between Linux and a scenario, for the reader of its results.

use shallows_core::Duration;
use shallows_scenario::{Experiment, linux_delayed_ack};
use shallows_transport::congestion::{Config as Congestion, EcnMode, LossBase, cubic, dctcp, hystart};
use shallows_transport::{EceReaction, LostSyn, Method};

use super::kernel::{MOST_PACING, PACING_SLOW_START, TICK};
use crate::dilation::Dilation;

/// Returns notes for readers who compare results of Linux with those of a simulation.
pub(super) fn of(experiment: &Experiment, dilation: Dilation) -> Vec<String> {
    let (tcp, hosts) = (experiment.tcp(), &experiment.hosts.groups[0]);
    let rounded = !dilation.real(tcp.rto.minimum).0.is_multiple_of(TICK.0);
    let told = [
        (
            matches!(tcp.recovery, Method::Sack(None) | Method::Rack(None)),
            "tcp.prr: Linux reduces by PRR in every recovery (RFC 6937)",
        ),
        (tcp.recovery == Method::NewReno, "tcp.recovery: without SACK, Linux reduces by PRR as well"),
        (
            !matches!(tcp.recovery, Method::Rack(_)),
            "tcp.recovery: Linux finds losses by time (RACK, RFC 8985), not by counting alone",
        ),
        (
            tcp.loss_base == LossBase::FlightSize,
            "tcp.loss_base: Linux leaves a part of cwnd, not of what is in flight",
        ),
        (
            tcp.ece_reaction == EceReaction::AtOnce && tcp.congestion.ecn_mode() == EcnMode::Classic,
            "tcp.ece_reaction: Linux reduces over a round trip",
        ),
        (
            tcp.slow_start_limit < 2,
            "tcp.slow_start_limit: Linux grows by what is acknowledged, without a limit",
        ),
        (
            tcp.rto.granularity != tcp.rto.minimum,
            "tcp.rto.granularity: Linux' timer is the round trip and at least tcp.rto.min, as with both alike",
        ),
        (tcp.minimum_window.0 < 2 * tcp.mss.0, "tcp.minimum_window: Linux has 2 segments"),
        (rounded, "tcp.rto.min: a kernel rounds it up to its ticks, usually of 4 ms"),
        (
            dilation.real(tcp.rto.initial) != Duration::from_secs(1),
            "tcp.rto.initial: Linux has 1 s of the machine's time",
        ),
        (
            tcp.handshake && tcp.lost_syn == LostSyn::Careful,
            "tcp.lost_syn: Linux' first four SYNs wait equally long, and a connection starts with its whole window after one loss",
        ),
        (
            matches!(&tcp.congestion, Congestion::Cubic(cubic) if !is_linux_cubic(cubic)),
            "tcp.congestion: Linux' CUBIC leaves slow start by HyStart and counts whole segments, with beta = 717/1024",
        ),
        (
            dctcp_of(&tcp.congestion).is_some_and(|dctcp| !is_linux_dctcp(dctcp)),
            "tcp.congestion: alpha is in whole 1,024ths and a cut of whole segments, and a window ends when its end is acknowledged",
        ),
        (
            matches!(tcp.congestion, Congestion::Pulser(_)),
            "tcp.congestion: the brake stops a sender at once, and its window shows what is still in flight, until that is little",
        ),
        (
            tcp.delayed_ack.segments == 2,
            "tcp.delayed_ack: Linux acknowledges every segment while its receive window grows from 64 KB",
        ),
        (
            hosts.backpressure.is_some() && hosts.buffer_overhead.is_none(),
            "host.nic.buffer_overhead: Linux 6.18 counts what a buffer takes beside its data, as with \"832B\"",
        ),
        (hosts.jitter > Duration::ZERO, "host.jitter: real hosts have their own"),
    ];
    let told = told.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text.to_owned());
    let told = told.chain(cubic_growth(experiment, dilation)).chain(cubic_clock(experiment, dilation));
    let told = told.chain(probes(experiment, dilation)).chain(delayed_ack(experiment, dilation));
    told.chain(dilated(experiment, dilation)).collect()
}

/// Returns a note on CUBIC's growth, which follows the machine's seconds.
fn cubic_growth(experiment: &Experiment, dilation: Dilation) -> Option<String> {
    let Congestion::Cubic(cubic) = &experiment.tcp().congestion else { return None };
    let factor = f64::from(dilation.factor());
    let linux = 0.4 * factor * factor * factor;
    // C may be rounded in the scenario.
    let is_linux = (cubic.c / linux - 1.0).abs() < 1e-3;
    (!is_linux).then(|| {
        format!("tcp.congestion.c: Linux' CUBIC grows by the machine's seconds, as with C = {linux} here")
    })
}

/// Returns a note on the ticks of CUBIC's clock and HyStart's delay, which follow the machine's clock.
fn cubic_clock(experiment: &Experiment, dilation: Dilation) -> Option<String> {
    let Congestion::Cubic(cubic) = &experiment.tcp().congestion else { return None };
    let [tick, hold] = [4, 28].map(|ms| dilation.network(Duration::from_millis(ms)));
    let delay = dilation.network(Duration::from_millis(4));
    let other_clock =
        cubic.counting == cubic::Counting::Segments && cubic.clock != cubic::Clock { tick, hold };
    let other_delay = matches!(cubic.hystart, hystart::Config::Linux { delay: own } if own != delay);
    (other_clock || other_delay).then(|| {
        format!(
            "tcp.congestion: Linux' CUBIC computes anew in ticks of 4 ms of the machine's time (HZ = 250), and where a window stands \
             still after 28, and its HyStart notices delays of 4 ms, as with tick = \"{tick}\", hold = \"{hold}\" and \
             hystart_delay = \"{delay}\" here"
        )
    })
}

/// Returns a note on probes and timers: Linux' tail loss probes wait for a single segment at least as long as a timeout, and all timers of
/// RACK-TLP for another 2 ms, rounded up to ticks (`tcp_schedule_loss_probe`, `tcp_rack_mark_lost`; TCP_TIMEOUT_MIN).
fn probes(experiment: &Experiment, dilation: Dilation) -> Option<String> {
    let tcp = experiment.tcp();
    let slacks = [TICK, TICK * 2].map(|real| dilation.network(real));
    let is_linux =
        tcp.rack.max_ack_delay == tcp.rto.minimum && (slacks[0]..=slacks[1]).contains(&tcp.rack.timer_slack);
    (matches!(tcp.recovery, Method::Rack(_)) && !is_linux).then(|| {
        format!(
            "tcp.rack: Linux' probe of a lone segment waits as long as tcp.rto.min, and its timers for two ticks of 4 ms more, as with \
             max_ack_delay = \"{}\" and timer_slack = \"{}\" here",
            tcp.rto.minimum, slacks[1],
        )
    })
}

/// Returns a note on delayed acknowledgements, whose delay also depends on the minimum timeout (`TCP_DELACK_MIN`, `tcp_delack_max`).
fn delayed_ack(experiment: &Experiment, dilation: Dilation) -> Option<String> {
    let tcp = experiment.tcp();
    let most = linux_delayed_ack(dilation.real(tcp.rto.minimum), TICK);
    let linux = dilation.network(most.min(Duration::from_millis(40)));
    (tcp.delayed_ack.segments > 1 && tcp.delayed_ack.timeout != linux).then(|| {
        format!(
            "tcp.delayed_ack.timeout: Linux' is 40 ms of the machine's time, or a tick less than tcp.rto.min since 6.7, as with {linux} here"
        )
    })
}

/// Returns whether this is the CUBIC of `tcp_cubic.c`, except for C and the clock, which depend on the dilation.
fn is_linux_cubic(cubic: &cubic::Config) -> bool {
    let linux = cubic::Config {
        ecn: cubic.ecn,
        c: cubic.c,
        beta: 717.0 / 1024.0,
        fast_convergence: true,
        hystart: match cubic.hystart {
            as_linux @ hystart::Config::Linux { .. } => as_linux,
            _ => hystart::Config::LINUX,
        },
        counting: cubic::Counting::Segments,
        clock: cubic.clock,
    };
    *cubic == linux
}

/// Returns the configuration of alpha, if the congestion control has one.
fn dctcp_of(congestion: &Congestion) -> Option<&dctcp::Config> {
    match congestion {
        Congestion::Dctcp(config) => Some(config),
        Congestion::Pulser(config) => Some(&config.dctcp),
        _ => None,
    }
}

/// Returns whether this is the DCTCP of `tcp_dctcp.c`, which the testbed's own programs implement as well.
fn is_linux_dctcp(dctcp: &dctcp::Config) -> bool {
    dctcp.arithmetic == dctcp::Arithmetic::Segments && dctcp.window_end == dctcp::WindowEnd::Reached
}

/// Returns notes on timers of a kernel that do not dilate with the network.
fn dilated(experiment: &Experiment, dilation: Dilation) -> Vec<String> {
    if dilation == Dilation::NONE {
        return Vec::new();
    }
    let factor = dilation.factor();
    let mut told = vec![format!(
        "time is dilated {factor} times: results are in the network's, health in the machine's"
    )];
    if experiment.hosts.groups[0].backpressure.is_some()
        && PACING_SLOW_START.saturating_mul(factor) > MOST_PACING
    {
        let span = dilation.network(Duration::from_millis(u64::from(MOST_PACING / PACING_SLOW_START)));
        told.push(format!(
            "host.nic.backpressure: a connection's data waits for about {span} in slow start, where it is 1 ms undilated"
        ));
    }
    told
}
