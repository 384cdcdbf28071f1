//! `[roce.congestion]`: checks the settings of congestion controls, fills in their presets, and converts them.

use shallows_core::{Bytes, Duration, Rate};
use shallows_rdma::congestion::{Config, Window, connectx, dcqcn};

use crate::check::Checker;
use crate::quantity::{Speed, Time};
use crate::spec::RoceCongestion;
use crate::spec::roce_congestion::{Clamp, ConnectX, ConnectXPreset, Dcqcn, RateWindow, WindowOf};

/// Returns `congestion` with the values of its preset filled in. `line_rate` is the rate of the hosts' links.
pub(crate) fn spelled_out(congestion: &RoceCongestion, line_rate: Rate) -> RoceCongestion {
    let RoceCongestion::ConnectX(given) = congestion else { return congestion.clone() };
    let preset = match given.preset {
        ConnectXPreset::Connectx => connectx::Config::connectx(),
        ConnectXPreset::HpccRepo => connectx::Config::hpcc_repo(line_rate),
    };
    let clamp = match preset.clamp {
        connectx::Clamp::Always => Clamp::Always,
        connectx::Clamp::AfterIncrease => Clamp::AfterIncrease,
    };
    RoceCongestion::ConnectX(ConnectX {
        preset: given.preset,
        gain: given.gain.or(Some(preset.gain)),
        alpha_period: given.alpha_period.or(Some(Time(preset.alpha_period))),
        decrease_period: given.decrease_period.or(Some(Time(preset.decrease_period))),
        min_decrease_factor: given.min_decrease_factor.or(Some(preset.min_decrease_factor)),
        increase_period: given.increase_period.or(Some(Time(preset.increase_period))),
        fast_recovery: given.fast_recovery.or(Some(preset.fast_recovery)),
        additive_increase: given.additive_increase.or(Some(Speed(preset.additive_increase))),
        hyper_increase: given.hyper_increase.or(Some(Speed(preset.hyper_increase))),
        min_rate: given.min_rate.or(Some(Speed(preset.min_rate))),
        first_rate: given.first_rate.or(preset.first_rate.map(Speed)),
        clamp: given.clamp.or(Some(clamp)),
        window: given.window.clone(),
    })
}

/// Checks the settings of a congestion control. `interval` is the shortest time between two CNPs. Problems are recorded in `checker`.
pub(crate) fn check(congestion: &RoceCongestion, interval: Duration, checker: &mut Checker<'_>) {
    let window = match congestion {
        RoceCongestion::None(_) => return,
        RoceCongestion::Dcqcn(dcqcn) => {
            gain(dcqcn.gain, checker);
            positive("alpha_period", dcqcn.alpha_period, checker);
            positive("increase_period", dcqcn.increase_period, checker);
            checker.require(dcqcn.alpha_period.0 > interval, &key("alpha_period"), || {
                format!(
                    "must be longer than roce.cnp.interval = {interval}, because alpha may decrease only without CNPs, got {}",
                    dcqcn.alpha_period
                )
            });
            rate("min_rate", dcqcn.min_rate, checker);
            &dcqcn.window
        }
        RoceCongestion::ConnectX(given) => {
            let connectx = filled(given);
            gain(connectx.gain, checker);
            positive("alpha_period", Time(connectx.alpha_period), checker);
            positive("decrease_period", Time(connectx.decrease_period), checker);
            positive("increase_period", Time(connectx.increase_period), checker);
            rate("min_rate", Speed(connectx.min_rate), checker);
            checker.require(
                (0.0..=1.0).contains(&connectx.min_decrease_factor),
                &key("min_decrease_factor"),
                || format!("must be from 0 to 1, got {}", connectx.min_decrease_factor),
            );
            &given.window
        }
    };
    if let Some(window) = window {
        positive("window.rtt", window.rtt, checker);
    }
}

/// Converts the settings of a congestion control.
pub(crate) fn convert(congestion: &RoceCongestion) -> Config {
    match congestion {
        RoceCongestion::None(_) => Config::None,
        RoceCongestion::Dcqcn(given) => Config::Dcqcn(of_dcqcn(given)),
        RoceCongestion::ConnectX(given) => Config::ConnectX(filled(given)),
    }
}

fn of_dcqcn(given: &Dcqcn) -> dcqcn::Config {
    dcqcn::Config {
        gain: given.gain,
        alpha_period: given.alpha_period.0,
        increase_period: given.increase_period.0,
        increase_bytes: Some(given.increase_bytes.0).filter(|&bytes| bytes > Bytes(0)),
        fast_recovery: given.fast_recovery,
        additive_increase: given.additive_increase.0,
        hyper_increase: given.hyper_increase.map(|rate| rate.0),
        min_rate: given.min_rate.0,
        window: window(given.window.as_ref()),
    }
}

/// Converts the settings of a ConnectX NIC, whose preset is filled in.
fn filled(given: &ConnectX) -> connectx::Config {
    let preset = connectx::Config::connectx();
    connectx::Config {
        gain: given.gain.unwrap_or(preset.gain),
        alpha_period: given.alpha_period.map_or(preset.alpha_period, |time| time.0),
        decrease_period: given.decrease_period.map_or(preset.decrease_period, |time| time.0),
        min_decrease_factor: given.min_decrease_factor.unwrap_or(preset.min_decrease_factor),
        increase_period: given.increase_period.map_or(preset.increase_period, |time| time.0),
        fast_recovery: given.fast_recovery.unwrap_or(preset.fast_recovery),
        additive_increase: given.additive_increase.map_or(preset.additive_increase, |rate| rate.0),
        hyper_increase: given.hyper_increase.map_or(preset.hyper_increase, |rate| rate.0),
        min_rate: given.min_rate.map_or(preset.min_rate, |rate| rate.0),
        first_rate: given.first_rate.map(|rate| rate.0),
        clamp: match given.clamp {
            Some(Clamp::Always) => connectx::Clamp::Always,
            Some(Clamp::AfterIncrease) => connectx::Clamp::AfterIncrease,
            None => preset.clamp,
        },
        window: window(given.window.as_ref()),
    }
}

fn window(given: Option<&RateWindow>) -> Window {
    match given {
        None => Window::None,
        Some(RateWindow { rtt, of: WindowOf::Current }) => Window::Variable(rtt.0),
        Some(RateWindow { rtt, of: WindowOf::Line }) => Window::Fixed(rtt.0),
    }
}

fn key(name: &str) -> String {
    format!("roce.congestion.{name}")
}

fn gain(gain: f64, checker: &mut Checker<'_>) {
    checker.require(gain > 0.0 && gain <= 1.0, &key("gain"), || {
        format!("must be above 0 and at most 1, got {gain}")
    });
}

fn positive(name: &str, time: Time, checker: &mut Checker<'_>) {
    checker.require(time.0 > Duration::ZERO, &key(name), || format!("must be above 0s, got {time}"));
}

fn rate(name: &str, rate: Speed, checker: &mut Checker<'_>) {
    checker.require(rate.0 > Rate(0), &key(name), || format!("must be above 0bps, got {rate}"));
}
