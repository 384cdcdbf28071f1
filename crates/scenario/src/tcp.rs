//! The TCP configuration of a scenario: checked, in bytes, with every default spelled out.

use std::fmt::Display;

use shallows_core::Bytes;
use shallows_transport::congestion::{self, dctcp, reno};
use shallows_transport::{Config, EctPolicy, RestartAfterIdle, RtoConfig, SackAfterTimeout, header_bytes};

use crate::check::Checker;
use crate::quantity::{MAX_PACKET, Window};
use crate::spec::{self, Congestion, Spec, Tcp};

/// Three SACK blocks, padded (RFC 2018 §3): the most that an acknowledgement adds.
const SACK: Bytes = Bytes(28);
/// A receive window is 32 bits wide (RFC 7323 §2.3 allows a quarter of it).
const MAX_RECEIVE_WINDOW: Bytes = Bytes(u32::MAX as u64);

/// What `[tcp]` says; fills in the defaults that depend on the MTU.
pub(crate) fn build(spec: &mut Spec, checker: &mut Checker<'_>) -> Option<Config> {
    let common = spec.topology.common();
    let (mtu, framing) = (common.mtu, common.framing);
    let headers = header_bytes(spec.tcp.timestamps);
    let least = headers + SACK + Bytes(1);
    let fits = checker.require(mtu >= least, "topology.mtu", || {
        format!(
            "{mtu} is too small; at least {least}: {headers} of headers, {SACK} of SACK blocks, one of data"
        )
    });
    let size = if checker.blames_other("topology.mtu", "topology.framing") { "framing" } else { "mtu" };
    let short = checker.require((mtu + framing).0 <= MAX_PACKET, &format!("topology.{size}"), || {
        format!("{mtu} and {framing} of framing are more than {MAX_PACKET} bytes")
    });
    if !fits || !short {
        return None;
    }
    let mss = mtu - headers;
    let before = checker.problems.len();
    let config = convert(&mut spec.tcp, mss);
    check(&spec.tcp, &config, checker);
    (checker.problems.len() == before).then_some(config)
}

fn convert(tcp: &mut Tcp, mss: Bytes) -> Config {
    let prescribed = Config::new(mss, congestion(&tcp.congestion));
    let window =
        |stated: &mut Option<Window>, default: Bytes| match *stated.get_or_insert(Window::Bytes(default)) {
            Window::Bytes(size) => size,
            Window::Segments(count) => mss * u64::from(count),
        };
    let ect = *tcp.ect.get_or_insert(match prescribed.ect {
        EctPolicy::All => spec::Ect::All,
        EctPolicy::Rfc3168 => spec::Ect::Rfc3168,
    });
    Config {
        initial_window: window(&mut tcp.initial_window, prescribed.initial_window),
        max_window: window(&mut tcp.max_window, prescribed.max_window),
        minimum_window: window(&mut tcp.minimum_window, prescribed.minimum_window),
        receive_window: window(&mut tcp.receive_window, prescribed.receive_window),
        slow_start_limit: tcp.slow_start_limit,
        avoidance: match tcp.avoidance {
            spec::Avoidance::ByteCounting => congestion::Avoidance::ByteCounting,
            spec::Avoidance::PerAck => congestion::Avoidance::PerAck,
        },
        loss_base: match tcp.loss_base {
            spec::LossBase::FlightSize => congestion::LossBase::FlightSize,
            spec::LossBase::Cwnd => congestion::LossBase::Cwnd,
        },
        rto: RtoConfig {
            initial: tcp.rto.initial.0,
            minimum: tcp.rto.min.0,
            maximum: tcp.rto.max.0,
            granularity: tcp.rto.granularity.0,
        },
        duplicate_threshold: tcp.duplicate_threshold,
        limited_transmit: tcp.limited_transmit,
        sack_after_timeout: match tcp.sack_after_timeout {
            spec::SackAfterTimeout::Kept => SackAfterTimeout::Kept,
            spec::SackAfterTimeout::Forgotten => SackAfterTimeout::Forgotten,
        },
        restart_after_idle: match tcp.restart_after_idle {
            spec::RestartAfterIdle::Off => RestartAfterIdle::Off,
            spec::RestartAfterIdle::Reduce => RestartAfterIdle::Reduce,
            spec::RestartAfterIdle::Reset => RestartAfterIdle::Reset,
        },
        handshake: tcp.handshake,
        timestamps: tcp.timestamps,
        delayed_ack: shallows_transport::DelayedAck {
            segments: tcp.delayed_ack.segments,
            timeout: tcp.delayed_ack.timeout.0,
        },
        ect: match ect {
            spec::Ect::All => EctPolicy::All,
            spec::Ect::Rfc3168 => EctPolicy::Rfc3168,
        },
        ..prescribed
    }
}

fn congestion(congestion: &Congestion) -> congestion::Config {
    match congestion {
        Congestion::Reno(c) => congestion::Config::Reno(reno::Config { ecn: c.ecn }),
        Congestion::Dctcp(c) => congestion::Config::Dctcp(dctcp::Config {
            gain: c.g,
            initial_alpha: c.initial_alpha,
            window_end: match c.window_end {
                spec::WindowEnd::Passed => dctcp::WindowEnd::Passed,
                spec::WindowEnd::Reached => dctcp::WindowEnd::Reached,
            },
            duplicate_acks: match c.duplicate_acks {
                spec::DuplicateAcks::Ignored => dctcp::DuplicateAcks::Ignored,
                spec::DuplicateAcks::OneSegment => dctcp::DuplicateAcks::OneSegment,
            },
            ece_growth: match c.ece_growth {
                spec::EceGrowth::All => dctcp::EceGrowth::All,
                spec::EceGrowth::NotFirst => dctcp::EceGrowth::NotFirst,
                spec::EceGrowth::None => dctcp::EceGrowth::None,
            },
        }),
    }
}

/// Refuse what [`Config`] demands not to be.
fn check(tcp: &Tcp, config: &Config, checker: &mut Checker<'_>) {
    if let Congestion::Dctcp(dctcp) = &tcp.congestion {
        let g = dctcp.g;
        checker
            .require(g > 0.0 && g <= 1.0, "tcp.congestion.g", || format!("{g} is not above 0 and at most 1"));
        let alpha = dctcp.initial_alpha;
        checker.require((0.0..=1.0).contains(&alpha), "tcp.congestion.initial_alpha", || {
            format!("{alpha} is not between 0 and 1")
        });
    }
    let mss = config.mss;
    for (key, window) in [
        ("initial_window", config.initial_window),
        ("minimum_window", config.minimum_window),
        ("receive_window", config.receive_window),
    ] {
        checker.require(window >= mss, &format!("tcp.{key}"), || {
            format!("{window} is less than one segment, {mss}")
        });
    }
    for (key, window) in
        [("initial_window", config.initial_window), ("minimum_window", config.minimum_window)]
    {
        let most = config.max_window;
        ordered((&format!("tcp.{key}"), window), ("tcp.max_window", most), checker);
    }
    checker.require(config.receive_window <= MAX_RECEIVE_WINDOW, "tcp.receive_window", || {
        format!("{} is above {MAX_RECEIVE_WINDOW}, the most a TCP header can say", config.receive_window)
    });
    for (key, count) in [
        ("slow_start_limit", tcp.slow_start_limit),
        ("duplicate_threshold", tcp.duplicate_threshold),
        ("delayed_ack.segments", tcp.delayed_ack.segments),
    ] {
        checker.require(count > 0, &format!("tcp.{key}"), || "0 is too few; at least 1".to_owned());
    }
    let rto = &tcp.rto;
    checker.require(rto.min.0.0 > 0, "tcp.rto.min", || "a timer of no time never ends; above 0s".to_owned());
    checker.require(rto.initial.0.0 > 0, "tcp.rto.initial", || {
        "a timer of no time never ends; above 0s".to_owned()
    });
    for (key, time) in [("min", rto.min), ("initial", rto.initial)] {
        ordered((&format!("tcp.rto.{key}"), time), ("tcp.rto.max", rto.max), checker);
    }
}

/// Refuse a lower bound above the upper one, at the key that was given if the other is a default.
fn ordered<T: PartialOrd + Display>(low: (&str, T), high: (&str, T), checker: &mut Checker<'_>) {
    if low.1 <= high.1 {
        return;
    }
    let name = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    if checker.blames_other(low.0, high.0) {
        checker.refuse(high.0, format!("{} is below {} = {}, its default", high.1, name(low.0), low.1));
    } else {
        checker.refuse(low.0, format!("{} is above {} = {}", low.1, name(high.0), high.1));
    }
}
