//! Checks the TCP settings of a scenario, converts them to bytes, and fills in their defaults.

use std::fmt::Display;

use shallows_core::{Bytes, Duration};
use shallows_transport::congestion::{Avoidance, cubic, dctcp};
use shallows_transport::receive_window::{Control, ictcp};
use shallows_transport::{
    Bound, Config, DelayedAck, EceReaction, EctPolicy, FullAck, LostSyn, Method, RtoConfig, SackAfterTimeout,
    header_bytes, rack,
};

use crate::check::Checker;
use crate::quantity::{MAX_PACKET, Window};
use crate::resolved::Resolved;
use crate::spec::{self, Congestion, Cubic, Receiver, Tcp};

/// Bytes of three SACK blocks with padding (RFC 2018 §3). An acknowledgement has at most three.
const SACK: Bytes = Bytes(28);
/// Largest receive window: the window has 32 bits. RFC 7323 §2.3 allows a quarter of this size.
const MAX_RECEIVE_WINDOW: Bytes = Bytes(u32::MAX as u64);

/// Checks `[tcp]` for the hosts and links of the scenario. Returns whether it is valid.
pub(crate) fn check_all(spec: &Resolved, checker: &mut Checker<'_>) -> bool {
    let common = spec.topology.common();
    let (mtu, framing) = (common.mtu, common.framing);
    let fits = check_mtu(mtu, &spec.tcp, "topology.mtu", checker);
    let size = if checker.blames_other("topology.mtu", "topology.framing") { "framing" } else { "mtu" };
    let short = checker.require((mtu + framing).0 <= MAX_PACKET, &format!("topology.{size}"), || {
        format!("mtu plus framing must be at most {MAX_PACKET}B, got {mtu} plus {framing}")
    });
    if !fits || !short {
        return false;
    }
    let before = checker.problems.len();
    check(&spec.tcp, &convert(&spec.tcp, mtu - header_bytes(spec.tcp.timestamps)), checker);
    checker.problems.len() == before
}

/// Rejects an MTU that leaves no room for data in a packet. Returns whether it is valid.
pub(crate) fn check_mtu(mtu: Bytes, tcp: &Tcp, key: &str, checker: &mut Checker<'_>) -> bool {
    let headers = header_bytes(tcp.timestamps);
    let least = headers + SACK + Bytes(1);
    checker.require(mtu >= least, key, || {
        format!(
            "must be at least {least} ({headers} of headers, {SACK} of SACK blocks and 1B of data), got {mtu}"
        )
    })
}

/// Returns `tcp` with the defaults that depend on other keys. Defaults that depend on the segment size are filled in only if `alike` is
/// true, which means that all hosts have the same segment size.
pub(crate) fn spelled_out(tcp: &Tcp, mtu: Bytes, alike: bool) -> Tcp {
    let config = convert(tcp, mtu.saturating_sub(header_bytes(tcp.timestamps)));
    let window = |stated: Option<Window>, bytes| Some(stated.unwrap_or(Window::Bytes(bytes)));
    let of_segments = |stated: Option<Window>, bytes| if alike { window(stated, bytes) } else { stated };
    let rack = (tcp.recovery == spec::Recovery::Rack).then(|| {
        let given = tcp.rack.clone().unwrap_or_default();
        spec::Rack { max_ack_delay: Some(given.max_ack_delay.unwrap_or(tcp.delayed_ack.timeout)), ..given }
    });
    Tcp {
        max_window: window(tcp.max_window, config.max_window),
        receive_window: window(tcp.receive_window, largest_window(&config)),
        initial_window: of_segments(tcp.initial_window, config.initial_window),
        minimum_window: of_segments(tcp.minimum_window, config.minimum_window),
        ect: Some(config.ect),
        rack: rack.or_else(|| tcp.rack.clone()),
        ..tcp.clone()
    }
}

/// Returns the largest window that a receiver with this configuration advertises.
fn largest_window(config: &Config) -> Bytes {
    match config.receive_control {
        Control::Fixed => config.receive_window,
        Control::Ictcp(ictcp) => ictcp.maximum,
    }
}

/// Converts `tcp` to a [`Config`] in bytes. A full segment has `mss` bytes of data.
pub(crate) fn convert(tcp: &Tcp, mss: Bytes) -> Config {
    let prescribed = Config::new(mss, tcp.congestion.config(mss));
    let window =
        |stated: Option<Window>, default: Bytes| stated.map_or(default, |stated| stated.in_bytes(mss));
    let largest = window(tcp.receive_window, prescribed.receive_window);
    let receive_control = receive_control(&tcp.receiver, largest, mss);
    Config {
        initial_window: window(tcp.initial_window, prescribed.initial_window),
        max_window: window(tcp.max_window, prescribed.max_window),
        minimum_window: window(tcp.minimum_window, prescribed.minimum_window),
        receive_window: match receive_control {
            Control::Fixed => largest,
            Control::Ictcp(ictcp) => ictcp.minimum,
        },
        receive_control,
        slow_start_limit: tcp.slow_start_limit,
        avoidance: tcp.avoidance,
        ece_reaction: tcp.ece_reaction,
        loss_base: tcp.loss_base,
        lost_syn: tcp.lost_syn,
        rto: RtoConfig {
            initial: tcp.rto.initial.0,
            minimum: tcp.rto.min.0,
            maximum: tcp.rto.max.0,
            granularity: tcp.rto.granularity.0,
        },
        recovery: recovery(tcp),
        rack: rack(tcp),
        frto: tcp.frto,
        dsack: tcp.dsack,
        app_limited: tcp.app_limited,
        full_ack: tcp.full_ack,
        duplicate_threshold: tcp.duplicate_threshold,
        limited_transmit: tcp.limited_transmit,
        limited_transmit_repairs: tcp.limited_transmit_repairs,
        sack_after_timeout: tcp.sack_after_timeout,
        restart_after_idle: tcp.restart_after_idle,
        handshake: tcp.handshake,
        fin: tcp.fin,
        timestamps: tcp.timestamps,
        delayed_ack: delayed_ack(&tcp.delayed_ack),
        ect: ect(tcp, prescribed.ect),
        ..prescribed
    }
}

fn ect(tcp: &Tcp, prescribed: EctPolicy) -> EctPolicy {
    match (tcp.ect, &tcp.congestion) {
        (Some(stated), _) => stated,
        // The papers' ns-2 code sets ECT on every packet.
        (None, Congestion::EcnStar(_)) => EctPolicy::All,
        (None, _) => prescribed,
    }
}

fn recovery(tcp: &Tcp) -> Method {
    let bound = match tcp.prr {
        spec::Prr::Off => None,
        spec::Prr::Ssrb => Some(Bound::SlowStart),
        spec::Prr::Crb => Some(Bound::Conservative),
        spec::Prr::SafeAck => Some(Bound::SafeAck),
    };
    match tcp.recovery {
        spec::Recovery::Sack => Method::Sack(bound),
        spec::Recovery::Rack => Method::Rack(bound),
        spec::Recovery::FullTcp => Method::FullTcp,
        spec::Recovery::Sack1 => Method::Sack1,
        spec::Recovery::NewReno => Method::NewReno,
        spec::Recovery::Reno => Method::Reno,
    }
}

fn rack(tcp: &Tcp) -> rack::Config {
    let given = tcp.rack.clone().unwrap_or_default();
    let max_ack_delay = given.max_ack_delay.unwrap_or(tcp.delayed_ack.timeout);
    rack::Config { max_ack_delay: max_ack_delay.0, timer_slack: given.timer_slack.0 }
}

fn delayed_ack(delayed: &spec::DelayedAck) -> DelayedAck {
    DelayedAck {
        quick: delayed.quick,
        cwr_at_once: delayed.cwr_at_once,
        segments: delayed.segments,
        counts: delayed.counts,
        timeout: delayed.timeout.0,
    }
}

fn receive_control(receiver: &Receiver, largest: Bytes, mss: Bytes) -> Control {
    match receiver {
        Receiver::Fixed(_) => Control::Fixed,
        Receiver::Ictcp(c) => Control::Ictcp(ictcp::Config {
            share: c.share,
            gamma1: c.gamma1,
            gamma2: c.gamma2,
            beta: c.beta,
            decrease_after: c.decrease_after,
            fairness: c.fairness,
            rtt_limit: c.rtt_limit.0,
            minimum: c.minimum.in_bytes(mss),
            maximum: largest,
        }),
    }
}

/// Rejects invalid settings of the congestion-control algorithm.
fn check_congestion(tcp: &Tcp, config: &Config, checker: &mut Checker<'_>) {
    match &tcp.congestion {
        Congestion::Reno(_) | Congestion::EcnStar(_) => {}
        Congestion::Dctcp(dctcp) => check_dctcp(dctcp, "tcp.congestion", checker),
        Congestion::Cubic(cubic) => {
            let Cubic { c, beta, hystart, hystart_delay, counting, tick, hold, .. } = *cubic;
            checker.require(c > 0.0 && c.is_finite(), "tcp.congestion.c", || {
                format!("must be a finite number above 0, got {c}")
            });
            checker.require(beta > 0.0 && beta < 1.0, "tcp.congestion.beta", || {
                format!("must be above 0 and below 1, got {beta}")
            });
            if let Some(delay) = hystart_delay {
                let key = "tcp.congestion.hystart_delay";
                checker.require(delay.0 > Duration::ZERO, key, || "must be above 0s, got 0s".to_owned());
                checker.require(hystart == spec::HyStart::Linux, key, || {
                    "has an effect only with hystart = \"linux\"; set hystart = \"linux\", or leave hystart_delay \
                     out".to_owned()
                });
            }
            for (key, time) in [("tcp.congestion.tick", tick), ("tcp.congestion.hold", hold)] {
                let off = time.is_none_or(|time| time.0 == Duration::ZERO);
                checker.require(off || counting == cubic::Counting::Segments, key, || {
                    "has an effect only with counting = \"segments\"; set counting = \"segments\", or leave the key \
                     out".to_owned()
                });
            }
        }
        Congestion::Pulser(pulser) => {
            check_dctcp(&pulser.dctcp, "tcp.congestion.dctcp", checker);
            let (safe, mss) = (pulser.safe_window.in_bytes(config.mss), config.mss);
            checker.require(safe >= mss, "tcp.congestion.safe_window", || {
                format!("must be at least one segment of {mss}, got {safe}")
            });
        }
    }
}

fn check_dctcp(dctcp: &dctcp::Config, key: &str, checker: &mut Checker<'_>) {
    let g = dctcp.gain;
    let sound = checker.require(g > 0.0 && g <= 1.0, &format!("{key}.g"), || {
        format!("must be above 0 and at most 1, got {g}")
    });
    let shifts = (0..=10).any(|shift| g * f64::from(1 << shift) == 1.0);
    checker.require(
        !sound || dctcp.arithmetic == dctcp::Arithmetic::Float || shifts,
        &format!("{key}.g"),
        || format!("must be a power of two from 1/1024 to 1 with arithmetic = \"fixed\", got {g}"),
    );
    let alpha = dctcp.initial_alpha;
    checker.require((0.0..=1.0).contains(&alpha), &format!("{key}.initial_alpha"), || {
        format!("must be from 0 to 1, got {alpha}")
    });
}

/// Rejects invalid settings of the receive-window control.
fn check_receiver(tcp: &Tcp, config: &Config, checker: &mut Checker<'_>) {
    let Receiver::Ictcp(ictcp) = &tcp.receiver else { return };
    checker.require(tcp.timestamps, "tcp.receiver", || {
        "ictcp measures round-trip times with timestamps; set tcp.timestamps = true".to_owned()
    });
    let mut within = |key: &str, value: f64, sound: bool, range: &str| {
        checker.require(sound, &format!("tcp.receiver.{key}"), || format!("must be {range}, got {value}"));
    };
    within("share", ictcp.share, ictcp.share > 0.0 && ictcp.share <= 1.0, "above 0 and at most 1");
    within("fairness", ictcp.fairness, (0.0..=1.0).contains(&ictcp.fairness), "from 0 to 1");
    within("beta", ictcp.beta, (0.0..=1.0).contains(&ictcp.beta), "from 0 to 1");
    within("gamma1", ictcp.gamma1, (0.0..=1.0).contains(&ictcp.gamma1), "from 0 to 1");
    let gamma2 = ictcp.gamma2 >= ictcp.gamma1 && ictcp.gamma2 <= 1.0;
    within("gamma2", ictcp.gamma2, gamma2, "from gamma1 to 1");
    checker.require(ictcp.decrease_after > 0, "tcp.receiver.decrease_after", || {
        "must be at least 1, got 0".to_owned()
    });
    checker
        .require(ictcp.rtt_limit.0.0 > 0, "tcp.receiver.rtt_limit", || "must be above 0s, got 0s".to_owned());
    let Control::Ictcp(built) = config.receive_control else { return };
    checker.require(built.minimum >= config.mss, "tcp.receiver.minimum", || {
        format!("must be at least one segment of {1}, got {0}", built.minimum, config.mss)
    });
    ordered(("tcp.receiver.minimum", built.minimum), ("tcp.receive_window", built.maximum), checker);
}

/// Rejects settings that have no effect together with the other settings of the table.
fn check_idle(tcp: &Tcp, config: &Config, checker: &mut Checker<'_>) {
    let sack = tcp.recovery == spec::Recovery::Sack;
    let rack = tcp.recovery == spec::Recovery::Rack;
    checker.require(sack || rack || tcp.prr == spec::Prr::Off, "tcp.prr", || {
        "has an effect only with tcp.recovery = \"sack\" or \"rack\"; set tcp.recovery, or set tcp.prr = \"off\"".to_owned()
    });
    for (key, set) in [("tcp.frto", tcp.frto), ("tcp.dsack", tcp.dsack)] {
        checker.require(sack || rack || !set, key, || {
            "has an effect only with tcp.recovery = \"sack\" or \"rack\"; set tcp.recovery, or leave the key out"
                .to_owned()
        });
    }
    // This is the congestion control as configured in the scenario. The negotiation with the other side can switch ECN off later.
    let congestion = tcp.congestion.config(config.mss);
    let early = congestion.needs_rtt_of_each_ack();
    checker.require(!early || tcp.timestamps || rack, "tcp.congestion.hystart", || {
        "needs a round-trip time from each acknowledgement; set tcp.timestamps = true, or tcp.recovery = \"rack\""
            .to_owned()
    });
    let quick = tcp.delayed_ack.quick == 0 || tcp.delayed_ack.segments > 1;
    checker.require(quick, "tcp.delayed_ack.quick", || {
        "has an effect only with delayed acknowledgements; set tcp.delayed_ack.segments = 2, or leave the key out".to_owned()
    });
    let cwr = !tcp.delayed_ack.cwr_at_once || tcp.delayed_ack.segments > 1;
    checker.require(cwr, "tcp.delayed_ack.cwr_at_once", || {
        "has an effect only with delayed acknowledgements; set tcp.delayed_ack.segments = 2, or leave the key out".to_owned()
    });
    checker.require(rack || tcp.rack.is_none(), "tcp.rack", || {
        "has an effect only with tcp.recovery = \"rack\"; set tcp.recovery, or leave tcp.rack out".to_owned()
    });
    let without = matches!(tcp.recovery, spec::Recovery::NewReno | spec::Recovery::Reno);
    let repairs = !tcp.limited_transmit_repairs || (tcp.limited_transmit && without);
    checker.require(repairs, "tcp.limited_transmit_repairs", || {
        "has an effect only with limited transmit and without selective acknowledgements; set tcp.limited_transmit = \
         true and tcp.recovery = \"newreno\", or leave the key out"
            .to_owned()
    });
    let newreno = tcp.recovery == spec::Recovery::NewReno;
    checker.require(newreno || tcp.full_ack == FullAck::Limited, "tcp.full_ack", || {
        "has an effect only with tcp.recovery = \"newreno\"; set tcp.recovery, or leave the key out"
            .to_owned()
    });
    let kept = tcp.sack_after_timeout == SackAfterTimeout::Kept;
    checker.require(sack || kept, "tcp.sack_after_timeout", || {
        "has an effect only with tcp.recovery = \"sack\"; set tcp.recovery, or leave the key out".to_owned()
    });
    let answers = congestion.answers_ece();
    checker.require(answers || tcp.ece_reaction == EceReaction::AtOnce, "tcp.ece_reaction", || {
        "has an effect only with a congestion control that reduces the window on ECE; set ecn = true in \
         tcp.congestion, or leave the key out"
            .to_owned()
    });
    checker.require(tcp.handshake || tcp.lost_syn == LostSyn::Careful, "tcp.lost_syn", || {
        "has an effect only with tcp.handshake = true; set tcp.handshake, or leave the key out".to_owned()
    });
    let own = congestion.has_own_avoidance();
    checker.require(!own || tcp.avoidance == Avoidance::ByteCounting, "tcp.avoidance", || {
        "has no effect with cubic, which has its own congestion avoidance; leave the key out".to_owned()
    });
}

/// Rejects values that [`Config`] does not allow.
pub(crate) fn check(tcp: &Tcp, config: &Config, checker: &mut Checker<'_>) {
    check_congestion(tcp, config, checker);
    check_idle(tcp, config, checker);
    check_receiver(tcp, config, checker);
    let largest = largest_window(config);
    let mss = config.mss;
    for (key, window) in [
        ("initial_window", config.initial_window),
        ("minimum_window", config.minimum_window),
        ("receive_window", largest),
    ] {
        checker.require(window >= mss, &format!("tcp.{key}"), || {
            format!("must be at least one segment of {mss}, got {window}")
        });
    }
    for (key, window) in
        [("initial_window", config.initial_window), ("minimum_window", config.minimum_window)]
    {
        let most = config.max_window;
        ordered((&format!("tcp.{key}"), window), ("tcp.max_window", most), checker);
    }
    checker.require(largest <= MAX_RECEIVE_WINDOW, "tcp.receive_window", || {
        format!("must be at most {MAX_RECEIVE_WINDOW} (32 bits), got {largest}")
    });
    for (key, count) in [
        ("slow_start_limit", tcp.slow_start_limit),
        ("duplicate_threshold", tcp.duplicate_threshold),
        ("delayed_ack.segments", tcp.delayed_ack.segments),
    ] {
        checker.require(count > 0, &format!("tcp.{key}"), || "must be at least 1, got 0".to_owned());
    }
    let rto = &tcp.rto;
    checker.require(rto.min.0.0 > 0, "tcp.rto.min", || "must be above 0s, got 0s".to_owned());
    checker.require(rto.initial.0.0 > 0, "tcp.rto.initial", || "must be above 0s, got 0s".to_owned());
    for (key, time) in [("min", rto.min), ("initial", rto.initial)] {
        ordered((&format!("tcp.rto.{key}"), time), ("tcp.rto.max", rto.max), checker);
    }
}

/// Rejects a lower bound above the upper bound. If the scenario sets only one of the two bounds, the problem is reported at the key of that
/// bound.
fn ordered<T: PartialOrd + Display>(low: (&str, T), high: (&str, T), checker: &mut Checker<'_>) {
    if low.1 <= high.1 {
        return;
    }
    let name = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    if checker.blames_other(low.0, high.0) {
        checker.refuse(
            high.0,
            format!("must be at least {1} = {2} (the default), got {0}", high.1, name(low.0), low.1),
        );
    } else {
        checker.refuse(low.0, format!("must be at most {1} = {2}, got {0}", low.1, name(high.0), high.1));
    }
}
