//! Differences between Linux and a scenario, for readers of the results.

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
            "tcp.prr: Linux uses PRR in every recovery (RFC 6937)",
        ),
        (tcp.recovery == Method::NewReno, "tcp.recovery: Linux uses PRR even without SACK"),
        (
            !matches!(tcp.recovery, Method::Rack(_)),
            "tcp.recovery: Linux also detects losses by time (RACK, RFC 8985)",
        ),
        (
            tcp.loss_base == LossBase::FlightSize,
            "tcp.loss_base: Linux reduces the window to a share of cwnd, not of the data in flight",
        ),
        (
            tcp.ece_reaction == EceReaction::AtOnce && tcp.congestion.ecn_mode() == EcnMode::Classic,
            "tcp.ece_reaction: Linux spreads the reduction over a round trip",
        ),
        (
            tcp.slow_start_limit < 2,
            "tcp.slow_start_limit: Linux increases cwnd by all acknowledged data, without a limit",
        ),
        (
            tcp.rto.granularity != tcp.rto.minimum,
            "tcp.rto.granularity: the timeout of Linux is the round-trip time plus at least tcp.rto.min, as with \
             granularity = tcp.rto.min",
        ),
        (tcp.minimum_window.0 < 2 * tcp.mss.0, "tcp.minimum_window: the minimum of Linux is 2 segments"),
        (rounded, "tcp.rto.min: the kernel rounds this time up to whole timer ticks, usually of 4 ms"),
        (
            dilation.real(tcp.rto.initial) != Duration::from_secs(1),
            "tcp.rto.initial: the initial timeout of Linux is 1 s of real time",
        ),
        (
            tcp.handshake && tcp.lost_syn == LostSyn::Careful,
            "tcp.lost_syn: the first four SYNs of Linux have equal timeouts, and after one lost SYN a connection \
             starts with the whole window",
        ),
        (
            matches!(&tcp.congestion, Congestion::Cubic(cubic) if !is_linux_cubic(cubic)),
            "tcp.congestion: CUBIC in Linux leaves slow start by HyStart and counts whole segments, with beta = \
             717/1024",
        ),
        (
            dctcp_of(&tcp.congestion).is_some_and(|dctcp| !is_linux_dctcp(dctcp)),
            "tcp.congestion: in Linux, alpha is a multiple of 1/1024, reductions are whole segments, and a window \
             ends when its last byte is acknowledged",
        ),
        (
            matches!(tcp.congestion, Congestion::Pulser(_)),
            "tcp.congestion: in the testbed, pulser stops a sender at once, and cwnd equals the data in flight until \
             little data is in flight",
        ),
        (
            tcp.delayed_ack.segments == 2,
            "tcp.delayed_ack: Linux acknowledges every segment while its receive window grows from 64 KB",
        ),
        (
            hosts.backpressure.is_some() && hosts.buffer_overhead.is_none(),
            "host.nic.buffer_overhead: Linux 6.18 also counts the memory overhead of each buffer, as with \"832B\"",
        ),
        (hosts.jitter > Duration::ZERO, "host.jitter: the jitter of the real hosts replaces this setting"),
    ];
    let told = told.into_iter().filter(|(is_so, _)| *is_so).map(|(_, text)| text.to_owned());
    let told = told.chain(cubic_growth(experiment, dilation)).chain(cubic_clock(experiment, dilation));
    let told = told.chain(probes(experiment, dilation)).chain(delayed_ack(experiment, dilation));
    told.chain(dilated(experiment, dilation)).collect()
}

/// Returns a note if CUBIC's window grows differently in the testbed than in the simulation: in Linux, it follows the machine's clock, not
/// the dilated time of the network.
fn cubic_growth(experiment: &Experiment, dilation: Dilation) -> Option<String> {
    let Congestion::Cubic(cubic) = &experiment.tcp().congestion else { return None };
    let factor = f64::from(dilation.factor());
    let linux = 0.4 * factor * factor * factor;
    // C may be rounded in the scenario.
    let is_linux = (cubic.c / linux - 1.0).abs() < 1e-3;
    (!is_linux).then(|| {
        format!("tcp.congestion.c: CUBIC in Linux grows in seconds of real time, as with c = {linux} in the scenario")
    })
}

/// Returns a note if the ticks of CUBIC's clock or the delay of HyStart differ from Linux, where both follow the machine's time.
fn cubic_clock(experiment: &Experiment, dilation: Dilation) -> Option<String> {
    let Congestion::Cubic(cubic) = &experiment.tcp().congestion else { return None };
    let [tick, hold] = [4, 28].map(|ms| dilation.network(Duration::from_millis(ms)));
    let delay = dilation.network(Duration::from_millis(4));
    let other_clock =
        cubic.counting == cubic::Counting::Segments && cubic.clock != cubic::Clock { tick, hold };
    let other_delay = matches!(cubic.hystart, hystart::Config::Linux { delay: own } if own != delay);
    (other_clock || other_delay).then(|| {
        format!(
            "tcp.congestion: CUBIC in Linux recomputes a changing window every 4 ms of real time (HZ = 250) and a \
             constant window after 28 ms, and HyStart detects delays of 4 ms, as with tick = \"{tick}\", hold = \
             \"{hold}\" and hystart_delay = \"{delay}\" in the scenario"
        )
    })
}

/// Returns a note if the timers of RACK-TLP differ from those of Linux. In Linux, the tail loss probe for a single segment is sent no
/// earlier than the minimum RTO. Linux also adds `TCP_TIMEOUT_MIN` (2 ms, rounded up to ticks) to every timer of RACK-TLP
/// (`tcp_schedule_loss_probe`, `tcp_rack_mark_lost`).
fn probes(experiment: &Experiment, dilation: Dilation) -> Option<String> {
    let tcp = experiment.tcp();
    let slacks = [TICK, TICK * 2].map(|real| dilation.network(real));
    let is_linux =
        tcp.rack.max_ack_delay == tcp.rto.minimum && (slacks[0]..=slacks[1]).contains(&tcp.rack.timer_slack);
    (matches!(tcp.recovery, Method::Rack(_)) && !is_linux).then(|| {
        format!(
            "tcp.rack: in Linux, the probe of a single segment waits for tcp.rto.min, and the timers of RACK wait \
             two ticks of 4 ms longer, as with max_ack_delay = \"{}\" and timer_slack = \"{}\" in the scenario",
            tcp.rto.minimum, slacks[1],
        )
    })
}

/// Returns a note if the delay of acknowledgements differs from Linux, where this delay depends on the minimum timeout (`TCP_DELACK_MIN`,
/// `tcp_delack_max`).
fn delayed_ack(experiment: &Experiment, dilation: Dilation) -> Option<String> {
    let tcp = experiment.tcp();
    let most = linux_delayed_ack(dilation.real(tcp.rto.minimum), TICK);
    let linux = dilation.network(most.min(Duration::from_millis(40)));
    (tcp.delayed_ack.segments > 1 && tcp.delayed_ack.timeout != linux).then(|| {
        format!(
            "tcp.delayed_ack.timeout: the timeout of Linux is 40 ms of real time, or since Linux 6.7 one tick less \
             than tcp.rto.min, as with {linux} in the scenario"
        )
    })
}

/// Returns whether `cubic` is the CUBIC of `tcp_cubic.c`. The comparison leaves out ECN, and the values that depend on the dilation: C,
/// the clock, and the delay of HyStart.
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

/// Returns DCTCP's configuration, if the congestion control has an alpha.
fn dctcp_of(congestion: &Congestion) -> Option<&dctcp::Config> {
    match congestion {
        Congestion::Dctcp(config) => Some(config),
        Congestion::Pulser(config) => Some(&config.dctcp),
        _ => None,
    }
}

/// Returns whether `dctcp` has the arithmetic and the observation windows of `tcp_dctcp.c`, which the testbed's own programs also have.
fn is_linux_dctcp(dctcp: &dctcp::Config) -> bool {
    dctcp.arithmetic == dctcp::Arithmetic::Segments && dctcp.window_end == dctcp::WindowEnd::Reached
}

/// Returns notes on the effects of dilation; empty without dilation.
fn dilated(experiment: &Experiment, dilation: Dilation) -> Vec<String> {
    if dilation == Dilation::NONE {
        return Vec::new();
    }
    let factor = dilation.factor();
    let mut told =
        vec![format!("time is dilated {factor} times: results are in network time, health is in real time")];
    if experiment.hosts.groups[0].backpressure.is_some()
        && PACING_SLOW_START.saturating_mul(factor) > MOST_PACING
    {
        let span = dilation.network(Duration::from_millis(u64::from(MOST_PACING / PACING_SLOW_START)));
        told.push(format!(
            "host.nic.backpressure: in slow start, the data of a connection waits for about {span}, instead of 1 ms \
             without dilation"
        ));
    }
    told
}
