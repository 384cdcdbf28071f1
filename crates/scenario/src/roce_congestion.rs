//! `[roce.congestion]`: checks the settings of congestion controls, in which all values are filled in.

use shallows_core::{Bytes, Duration, Rate};
use shallows_rdma::congestion::{
    Config as Control, Window, connectx, dcqcn, dctcp, hpcc, hpcc_pint, powertcp, swift, timely,
};

use crate::check::Checker;
use crate::roce_presets::Setting;
use crate::spec::RoceCongestion;

/// Shortest and longest round-trip time without queues that a scenario may set.
const ROUND_TRIP_TIMES: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(1));
/// Largest window, and largest increase of the window, of a congestion control that counts in packets.
const MOST_PACKETS: f64 = 1e6;

/// Checks the settings of a congestion control (`congestion`), and the configuration that results from these settings (`config`) in the
/// network of the queue pairs (`setting`). `interval` is the shortest time between two CNPs. Problems are recorded in `checker`.
pub(crate) fn check(
    congestion: &RoceCongestion,
    config: &Control,
    (setting, interval): (&Setting, Duration),
    checker: &mut Checker<'_>,
) {
    if let RoceCongestion::TimelyPatched(given) = congestion {
        checker.require(given.preset.is_none(), &key("preset"), || {
            "must be left out, because only the kind \"timely\" has presets".to_owned()
        });
        checker.require(given.hyperactive.is_none(), &key("hyperactive"), || {
            "must be left out, because only the kind \"timely\" has hyperactive increases".to_owned()
        });
    }
    match config {
        Control::None => {}
        Control::Dcqcn(config) => dcqcn(config, interval, checker),
        Control::ConnectX(config) => connectx(config, checker),
        Control::Timely(config) => timely(config, checker),
        Control::Swift(config) => swift(config, checker),
        Control::Hpcc(config) => hpcc(config, checker),
        Control::HpccPint(config) => hpcc_pint(config, checker),
        Control::PowerTcp(config) => powertcp(config, checker),
        Control::RdmaDctcp(config) => dctcp(config, checker),
    }
    if let Some((first, least)) = rates(config) {
        check_rates(first, least, setting.line_rate, checker);
    }
}

/// Returns the rate of a new queue pair (`None` if the scenario does not set it) and the smallest rate. Returns `None` for a congestion
/// control without a smallest rate.
fn rates(config: &Control) -> Option<(Option<Rate>, Rate)> {
    match config {
        Control::None | Control::Swift(_) => None,
        Control::Dcqcn(config) => Some((None, config.min_rate)),
        Control::ConnectX(config) => Some((config.first_rate, config.min_rate)),
        Control::Timely(config) => Some((config.first_rate, config.min_rate)),
        Control::Hpcc(config) => Some((None, config.min_rate)),
        Control::HpccPint(config) => Some((None, config.hpcc.min_rate)),
        Control::PowerTcp(config) => Some((None, config.min_rate)),
        Control::RdmaDctcp(config) => Some((None, config.min_rate)),
    }
}

fn check_rates(first: Option<Rate>, least: Rate, line: Rate, checker: &mut Checker<'_>) {
    checker.require(least <= line, &key("min_rate"), || {
        format!("must be at most the rate of the hosts' links, {line}, got {least}")
    });
    if let Some(first) = first {
        checker.require(least <= first, &key("first_rate"), || {
            format!("must be at least min_rate = {least}, got {first}")
        });
    }
}

fn dcqcn(config: &dcqcn::Config, interval: Duration, checker: &mut Checker<'_>) {
    fraction("gain", config.gain, checker);
    positive("alpha_period", config.alpha_period, checker);
    positive("increase_period", config.increase_period, checker);
    checker.require(config.alpha_period > interval, &key("alpha_period"), || {
        format!(
            "must be longer than the interval of CNPs (cnp.interval = {interval}), got {}: otherwise alpha would decrease although \
             CNPs arrive",
            config.alpha_period
        )
    });
    checker.require(config.hyper_increase.is_none() || config.increase_bytes.is_some(), &key("hyper_increase"), || {
        "must be left out with increase_bytes = \"0B\": a hyper increase needs expiries of the byte counter".to_owned()
    });
    window(config.window, checker);
}

fn connectx(config: &connectx::Config, checker: &mut Checker<'_>) {
    fraction("gain", config.gain, checker);
    positive("alpha_period", config.alpha_period, checker);
    positive("decrease_period", config.decrease_period, checker);
    positive("increase_period", config.increase_period, checker);
    checker.require((0.0..=1.0).contains(&config.min_decrease_factor), &key("min_decrease_factor"), || {
        format!("must be from 0 to 1, got {}", config.min_decrease_factor)
    });
    window(config.window, checker);
}

fn timely(config: &timely::Config, checker: &mut Checker<'_>) {
    fraction("weight", config.weight, checker);
    fraction("decrease", config.decrease, checker);
    positive("low", config.low, checker);
    positive("min_rtt", config.min_rtt, checker);
    checker.require(config.low <= config.high, &key("high"), || {
        format!("must be at least low = {}, got {}", config.low, config.high)
    });
    if let timely::Update::EachSegment(size) = config.update {
        checker.require(size > Bytes(0), &key("update.size"), || format!("must be at least 1B, got {size}"));
    }
    window(config.window, checker);
}

fn swift(config: &swift::Config, checker: &mut Checker<'_>) {
    positive("base_target", config.base_target, checker);
    let is_default = config.hop_target == swift::Config::htsim(config.mtu).hop_target;
    checker.require(config.hops > 0 || is_default, &key("hop_target"), || {
        "must be left out, or hops must be at least 1: the target grows by hops times hop_target".to_owned()
    });
    packets("scaling_min", config.scaling_min, checker);
    packets("scaling_max", config.scaling_max, checker);
    checker.require(config.scaling_max > config.scaling_min, &key("scaling_max"), || {
        format!("must be above scaling_min = {}, got {}", config.scaling_min, config.scaling_max)
    });
    packets("additive_increase", config.additive_increase, checker);
    fraction("decrease", config.decrease, checker);
    fraction("max_decrease", config.max_decrease, checker);
    packets("min_window", config.min_window, checker);
    packets("max_window", config.max_window, checker);
    let ranges = config.min_window <= config.max_window;
    checker.require(ranges, &key("max_window"), || {
        format!("must be at least min_window = {}, got {}", config.min_window, config.max_window)
    });
    let is_inside = (config.min_window..=config.max_window).contains(&config.first_window);
    checker.require(is_inside || !ranges, &key("first_window"), || {
        format!(
            "must be from min_window = {} to max_window = {}, got {}",
            config.min_window, config.max_window, config.first_window
        )
    });
    checker.require(config.reset_after > 0, &key("reset_after"), || "must be at least 1, got 0".to_owned());
}

fn hpcc(config: &hpcc::Config, checker: &mut Checker<'_>) {
    fraction("target", config.target, checker);
    round_trip_time("base_rtt", config.base_rtt, checker);
}

fn hpcc_pint(config: &hpcc_pint::Config, checker: &mut Checker<'_>) {
    hpcc(&config.hpcc, checker);
    let base = config.log_base;
    checker.require((1.001..=2.0).contains(&base), &key("log_base"), || {
        format!("must be from 1.001 to 2, got {base}")
    });
    fraction("sampled", config.sampled, checker);
}

fn powertcp(config: &powertcp::Config, checker: &mut Checker<'_>) {
    fraction("weight", config.weight, checker);
    round_trip_time("base_rtt", config.base_rtt, checker);
}

fn dctcp(config: &dctcp::Config, checker: &mut Checker<'_>) {
    fraction("gain", config.gain, checker);
    window(config.window, checker);
}

fn window(window: Window, checker: &mut Checker<'_>) {
    if let Window::Fixed(rtt) | Window::Variable(rtt) = window {
        round_trip_time("window.rtt", rtt, checker);
    }
}

fn key(name: &str) -> String {
    format!("roce.congestion.{name}")
}

fn fraction(name: &str, value: f64, checker: &mut Checker<'_>) {
    checker.require(value > 0.0 && value <= 1.0, &key(name), || {
        format!("must be above 0 and at most 1, got {value}")
    });
}

fn packets(name: &str, value: f64, checker: &mut Checker<'_>) {
    checker.require(value > 0.0 && value <= MOST_PACKETS, &key(name), || {
        format!("must be above 0 and at most {MOST_PACKETS} packets, got {value}")
    });
}

fn positive(name: &str, time: Duration, checker: &mut Checker<'_>) {
    checker.require(time > Duration::ZERO, &key(name), || "must be above 0s, got 0s".to_owned());
}

fn round_trip_time(name: &str, time: Duration, checker: &mut Checker<'_>) {
    let (shortest, longest) = ROUND_TRIP_TIMES;
    checker.require(shortest <= time && time <= longest, &key(name), || {
        format!("must be from {shortest} to {longest}, got {time}")
    });
}
