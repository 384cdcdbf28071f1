//! `[roce.congestion]`: converts the settings of congestion controls. Keys that are left out have the values of a preset, which may depend
//! on the network.

use shallows_core::{Bytes, Duration, Rate};
use shallows_rdma::congestion::{
    Config as Control, Window, connectx, dcqcn, dctcp, hpcc, hpcc_pint, powertcp, swift, timely,
};
use toml::{Table, Value};

use crate::quantity::{Automatic, Size, Speed, Time};
use crate::spec::RoceCongestion;
use crate::spec::roce_congestion::{
    Clamp, ConnectX, ConnectXPreset, Dcqcn, DcqcnPreset, Dctcp, EachRtt, EachSegment, Hpcc, HpccPint,
    Hyperactive, PowerTcp, RateWindow, Swift, Timely, TimelyPreset, TimelyUpdate, WindowOf,
};

/// Network of the queue pairs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Bytes of data in a full packet.
    pub(crate) mtu: Bytes,
    /// Bytes of the largest packet on the wire.
    pub(crate) largest: Bytes,
    /// Rate of the hosts' links.
    pub(crate) line_rate: Rate,
    /// Longest round-trip time without queues, of a full packet and its acknowledgement.
    pub(crate) base_rtt: Duration,
}

/// Number of queue pairs of a host for which PowerTCP's β is computed. The paper states no number; this number is a choice of this project.
const FLOWS: u32 = 10;
/// Smallest rate of a preset, because scenarios allow no smaller rates.
const SLOWEST: Rate = Rate(1_000_000);

/// Converts the settings of a congestion control.
pub(crate) fn convert(congestion: &RoceCongestion, setting: &Setting) -> Control {
    match congestion {
        RoceCongestion::None(_) => Control::None,
        RoceCongestion::Dcqcn(given) => Control::Dcqcn(setting.dcqcn(given)),
        RoceCongestion::ConnectX(given) => Control::ConnectX(setting.connectx(given)),
        RoceCongestion::Timely(given) => Control::Timely(setting.timely(given, timely::Rule::Gradient)),
        RoceCongestion::TimelyPatched(given) => Control::Timely(setting.timely(given, timely::Rule::Patched)),
        RoceCongestion::Swift(given) => Control::Swift(setting.swift(given)),
        RoceCongestion::Hpcc(given) => Control::Hpcc(setting.hpcc(given)),
        RoceCongestion::HpccPint(given) => Control::HpccPint(setting.hpcc_pint(given)),
        RoceCongestion::PowerTcp(given) => {
            Control::PowerTcp(setting.powertcp(given, powertcp::Signal::Telemetry))
        }
        RoceCongestion::ThetaPowerTcp(given) => {
            Control::PowerTcp(setting.powertcp(given, powertcp::Signal::Delay))
        }
        RoceCongestion::RdmaDctcp(given) => Control::RdmaDctcp(setting.dctcp(given)),
    }
}

/// Returns `congestion` with all values filled in.
pub(crate) fn spelled_out(congestion: &RoceCongestion, setting: &Setting) -> RoceCongestion {
    match congestion {
        RoceCongestion::None(_) => congestion.clone(),
        RoceCongestion::Dcqcn(given) => {
            RoceCongestion::Dcqcn(of_dcqcn(given, &setting.dcqcn(given), setting))
        }
        RoceCongestion::ConnectX(given) => {
            RoceCongestion::ConnectX(of_connectx(given, setting.connectx(given), setting))
        }
        RoceCongestion::Timely(given) => {
            let timely = of_timely(given, &setting.timely(given, timely::Rule::Gradient), setting);
            let preset = Some(given.preset.unwrap_or_default());
            RoceCongestion::Timely(Timely { preset, ..timely })
        }
        RoceCongestion::TimelyPatched(given) => {
            let config = setting.timely(given, timely::Rule::Patched);
            RoceCongestion::TimelyPatched(of_timely(given, &config, setting))
        }
        RoceCongestion::Swift(given) => RoceCongestion::Swift(of_swift(&setting.swift(given))),
        RoceCongestion::Hpcc(given) => RoceCongestion::Hpcc(of_hpcc(&setting.hpcc(given))),
        RoceCongestion::HpccPint(given) => RoceCongestion::HpccPint(of_hpcc_pint(&setting.hpcc_pint(given))),
        RoceCongestion::PowerTcp(given) => {
            RoceCongestion::PowerTcp(of_powertcp(&setting.powertcp(given, powertcp::Signal::Telemetry)))
        }
        RoceCongestion::ThetaPowerTcp(given) => {
            RoceCongestion::ThetaPowerTcp(of_powertcp(&setting.powertcp(given, powertcp::Signal::Delay)))
        }
        RoceCongestion::RdmaDctcp(given) => {
            let config = setting.dctcp(given);
            RoceCongestion::RdmaDctcp(Dctcp {
                gain: Some(config.gain),
                additive_increase: Some(Speed(config.additive_increase)),
                min_rate: Some(Speed(config.min_rate)),
                window: setting.spelled_window(Some(&given.window)).expect("a window is given"),
            })
        }
    }
}

/// Returns the shortest time between two CNPs of NICs that have this congestion control.
pub(crate) fn cnp_interval(congestion: &RoceCongestion) -> Duration {
    let RoceCongestion::ConnectX(given) = congestion else { return Duration::from_micros(50) };
    match given.preset {
        ConnectXPreset::Connectx => Duration::from_micros(4),
        // In HPCC's repository, each acknowledgement contains the mark of its packet.
        ConnectXPreset::HpccRepo => Duration::ZERO,
    }
}

/// Returns a note on the values of `filled` that `given` leaves out or sets to `"auto"`. Returns `None` if there are no such values.
pub(crate) fn note(given: &RoceCongestion, filled: &RoceCongestion) -> Option<String> {
    let table = |congestion| Table::try_from(congestion).expect("a congestion control is a table");
    let (given, filled) = (table(given), table(filled));
    let mut keys = Vec::new();
    list(&filled, Some(&given), "", &mut keys);
    (!keys.is_empty()).then(|| format!("congestion {} sets {}", filled["kind"], keys.join(", ")))
}

/// Lists the values that `given` leaves out, with their keys.
fn list(filled: &Table, given: Option<&Table>, prefix: &str, keys: &mut Vec<String>) {
    for (key, value) in filled {
        let given = given.and_then(|given| given.get(key)).filter(|value| value.as_str() != Some("auto"));
        match value {
            Value::Table(inner) => {
                list(inner, given.and_then(Value::as_table), &format!("{prefix}{key}."), keys)
            }
            _ if given.is_none() => keys.push(format!("{prefix}{key} = {value}")),
            _ => {}
        }
    }
}

impl Setting {
    fn rtt(&self, given: Automatic<Time>) -> Duration {
        given.or(Time(self.base_rtt)).0
    }

    /// Returns the smallest rate: `given`, or else the lower of `preset` and the rate of the hosts' links.
    fn min_rate(&self, given: Option<Speed>, preset: Rate) -> Rate {
        rate(given, preset.min(self.line_rate))
    }

    fn window(&self, given: Option<&RateWindow>) -> Window {
        match given {
            None => Window::None,
            Some(RateWindow { rtt, of: WindowOf::Current }) => Window::Variable(self.rtt(*rtt)),
            Some(RateWindow { rtt, of: WindowOf::Line }) => Window::Fixed(self.rtt(*rtt)),
        }
    }

    fn spelled_window(&self, given: Option<&RateWindow>) -> Option<RateWindow> {
        given.map(|window| RateWindow { rtt: Automatic::Is(Time(self.rtt(window.rtt))), of: window.of })
    }

    fn dcqcn(&self, given: &Dcqcn) -> dcqcn::Config {
        let preset = match given.preset {
            DcqcnPreset::Sigcomm15 => dcqcn::Config::sigcomm15(),
        };
        let increase_bytes = given.increase_bytes.map_or(preset.increase_bytes, |size| Some(size.0));
        dcqcn::Config {
            gain: given.gain.unwrap_or(preset.gain),
            alpha_period: time(given.alpha_period, preset.alpha_period),
            increase_period: time(given.increase_period, preset.increase_period),
            increase_bytes: increase_bytes.filter(|&bytes| bytes > Bytes(0)),
            fast_recovery: given.fast_recovery.unwrap_or(preset.fast_recovery),
            additive_increase: rate(given.additive_increase, preset.additive_increase),
            hyper_increase: given.hyper_increase.map(|rate| rate.0).or(preset.hyper_increase),
            min_rate: self.min_rate(given.min_rate, preset.min_rate),
            window: self.window(given.window.as_ref()),
        }
    }

    fn connectx(&self, given: &ConnectX) -> connectx::Config {
        let preset = match given.preset {
            ConnectXPreset::Connectx => connectx::Config::connectx(),
            ConnectXPreset::HpccRepo => connectx::Config::hpcc_repo(self.line_rate),
        };
        connectx::Config {
            gain: given.gain.unwrap_or(preset.gain),
            alpha_period: time(given.alpha_period, preset.alpha_period),
            decrease_period: time(given.decrease_period, preset.decrease_period),
            min_decrease_factor: given.min_decrease_factor.unwrap_or(preset.min_decrease_factor),
            increase_period: time(given.increase_period, preset.increase_period),
            fast_recovery: given.fast_recovery.unwrap_or(preset.fast_recovery),
            additive_increase: rate(given.additive_increase, preset.additive_increase),
            hyper_increase: rate(given.hyper_increase, preset.hyper_increase),
            min_rate: self.min_rate(given.min_rate, preset.min_rate),
            first_rate: given.first_rate.map(|rate| rate.0).or(preset.first_rate),
            clamp: match given.clamp {
                Some(Clamp::Always) => connectx::Clamp::Always,
                Some(Clamp::AfterIncrease) => connectx::Clamp::AfterIncrease,
                None => preset.clamp,
            },
            window: self.window(given.window.as_ref()),
        }
    }

    fn timely(&self, given: &Timely, rule: timely::Rule) -> timely::Config {
        let preset = match (rule, given.preset.unwrap_or_default()) {
            (timely::Rule::Patched, _) => timely::Config::patched(self.line_rate),
            (timely::Rule::Gradient, TimelyPreset::Sigcomm15) => timely::Config::timely(self.line_rate),
            (timely::Rule::Gradient, TimelyPreset::HpccRepo) => timely::Config::hpcc_repo(self.line_rate),
        };
        timely::Config {
            rule,
            update: match &given.update {
                Some(TimelyUpdate::EachRtt(_)) => timely::Update::EachRtt,
                Some(TimelyUpdate::EachSegment(update)) => timely::Update::EachSegment(update.size.0),
                None => preset.update,
            },
            weight: given.weight.unwrap_or(preset.weight),
            decrease: given.decrease.unwrap_or(preset.decrease),
            low: time(given.low, preset.low),
            high: time(given.high, preset.high),
            min_rtt: time(given.min_rtt, preset.min_rtt),
            increase: rate(given.increase, preset.increase),
            counted: match given.hyperactive {
                Some(Hyperactive::Gradient) => timely::Counted::OfGradient,
                Some(Hyperactive::All) => timely::Counted::All,
                None => preset.counted,
            },
            min_rate: self.min_rate(given.min_rate, preset.min_rate),
            first_rate: given.first_rate.map(|rate| rate.0).or(preset.first_rate),
            window: self.window(given.window.as_ref()),
        }
    }

    fn swift(&self, given: &Swift) -> swift::Config {
        let preset = swift::Config::htsim(self.mtu);
        swift::Config {
            mtu: self.mtu,
            base_target: time(given.base_target, preset.base_target),
            hop_target: time(given.hop_target, preset.hop_target),
            hops: given.hops.unwrap_or(preset.hops),
            scaling_range: time(given.scaling_range, preset.scaling_range),
            scaling_min: given.scaling_min.unwrap_or(preset.scaling_min),
            scaling_max: given.scaling_max.unwrap_or(preset.scaling_max),
            additive_increase: given.additive_increase.unwrap_or(preset.additive_increase),
            decrease: given.decrease.unwrap_or(preset.decrease),
            max_decrease: given.max_decrease.unwrap_or(preset.max_decrease),
            first_window: given.first_window.unwrap_or(preset.first_window),
            min_window: given.min_window.unwrap_or(preset.min_window),
            max_window: given.max_window.unwrap_or(preset.max_window),
            reset_after: given.reset_after.unwrap_or(preset.reset_after),
        }
    }

    fn hpcc(&self, given: &Hpcc) -> hpcc::Config {
        let preset = hpcc::Config::sigcomm19(self.line_rate, self.rtt(given.base_rtt));
        hpcc::Config {
            target: given.target.unwrap_or(preset.target),
            max_stage: given.max_stage.unwrap_or(preset.max_stage),
            additive_increase: given.additive_increase.map_or(preset.additive_increase, |size| size.0),
            min_rate: self.min_rate(given.min_rate, preset.min_rate),
            per_hop: given.per_hop,
            skip_empty: given.skip_empty,
            ..preset
        }
    }

    fn hpcc_pint(&self, given: &HpccPint) -> hpcc_pint::Config {
        let HpccPint { target, max_stage, additive_increase, base_rtt, min_rate, log_base, sampled } =
            given.clone();
        let hpcc = Hpcc { target, max_stage, additive_increase, base_rtt, min_rate, ..Hpcc::default() };
        let preset = hpcc_pint::Config::hpcc_repo(self.hpcc(&hpcc));
        hpcc_pint::Config {
            log_base: log_base.unwrap_or(preset.log_base),
            sampled: sampled.unwrap_or(preset.sampled),
            ..preset
        }
    }

    fn powertcp(&self, given: &PowerTcp, signal: powertcp::Signal) -> powertcp::Config {
        let preset = powertcp::Config::nsdi22(signal, self.line_rate, self.rtt(given.base_rtt), FLOWS);
        powertcp::Config {
            weight: given.weight.unwrap_or(preset.weight),
            additive_increase: given.additive_increase.map_or(preset.additive_increase, |size| size.0),
            min_rate: self.min_rate(given.min_rate, preset.min_rate),
            ..preset
        }
    }

    fn dctcp(&self, given: &Dctcp) -> dctcp::Config {
        let preset = dctcp::Config::hpcc_repo(self.mtu, self.rtt(given.window.rtt));
        dctcp::Config {
            gain: given.gain.unwrap_or(preset.gain),
            additive_increase: rate(given.additive_increase, preset.additive_increase),
            min_rate: self.min_rate(given.min_rate, preset.min_rate),
            window: self.window(Some(&given.window)),
        }
    }
}

fn of_dcqcn(given: &Dcqcn, config: &dcqcn::Config, setting: &Setting) -> Dcqcn {
    Dcqcn {
        preset: given.preset,
        gain: Some(config.gain),
        alpha_period: Some(Time(config.alpha_period)),
        increase_period: Some(Time(config.increase_period)),
        increase_bytes: Some(Size(config.increase_bytes.unwrap_or(Bytes(0)))),
        fast_recovery: Some(config.fast_recovery),
        additive_increase: Some(Speed(config.additive_increase)),
        hyper_increase: config.hyper_increase.map(Speed),
        min_rate: Some(Speed(config.min_rate)),
        window: setting.spelled_window(given.window.as_ref()),
    }
}

fn of_connectx(given: &ConnectX, config: connectx::Config, setting: &Setting) -> ConnectX {
    ConnectX {
        preset: given.preset,
        gain: Some(config.gain),
        alpha_period: Some(Time(config.alpha_period)),
        decrease_period: Some(Time(config.decrease_period)),
        min_decrease_factor: Some(config.min_decrease_factor),
        increase_period: Some(Time(config.increase_period)),
        fast_recovery: Some(config.fast_recovery),
        additive_increase: Some(Speed(config.additive_increase)),
        hyper_increase: Some(Speed(config.hyper_increase)),
        min_rate: Some(Speed(config.min_rate)),
        first_rate: config.first_rate.map(Speed),
        clamp: Some(match config.clamp {
            connectx::Clamp::Always => Clamp::Always,
            connectx::Clamp::AfterIncrease => Clamp::AfterIncrease,
        }),
        window: setting.spelled_window(given.window.as_ref()),
    }
}

fn of_timely(given: &Timely, config: &timely::Config, setting: &Setting) -> Timely {
    Timely {
        preset: given.preset,
        update: Some(match config.update {
            timely::Update::EachRtt => TimelyUpdate::EachRtt(EachRtt {}),
            timely::Update::EachSegment(size) => TimelyUpdate::EachSegment(EachSegment { size: Size(size) }),
        }),
        weight: Some(config.weight),
        decrease: Some(config.decrease),
        low: Some(Time(config.low)),
        high: Some(Time(config.high)),
        min_rtt: Some(Time(config.min_rtt)),
        increase: Some(Speed(config.increase)),
        hyperactive: match (config.rule, config.counted) {
            (timely::Rule::Patched, _) => given.hyperactive,
            (_, timely::Counted::OfGradient) => Some(Hyperactive::Gradient),
            (_, timely::Counted::All) => Some(Hyperactive::All),
        },
        min_rate: Some(Speed(config.min_rate)),
        first_rate: config.first_rate.map(Speed),
        window: setting.spelled_window(given.window.as_ref()),
    }
}

fn of_swift(config: &swift::Config) -> Swift {
    Swift {
        base_target: Some(Time(config.base_target)),
        hop_target: Some(Time(config.hop_target)),
        hops: Some(config.hops),
        scaling_range: Some(Time(config.scaling_range)),
        scaling_min: Some(config.scaling_min),
        scaling_max: Some(config.scaling_max),
        additive_increase: Some(config.additive_increase),
        decrease: Some(config.decrease),
        max_decrease: Some(config.max_decrease),
        first_window: Some(config.first_window),
        min_window: Some(config.min_window),
        max_window: Some(config.max_window),
        reset_after: Some(config.reset_after),
    }
}

fn of_hpcc(config: &hpcc::Config) -> Hpcc {
    Hpcc {
        target: Some(config.target),
        max_stage: Some(config.max_stage),
        additive_increase: Some(Size(config.additive_increase)),
        base_rtt: Automatic::Is(Time(config.base_rtt)),
        min_rate: Some(Speed(config.min_rate)),
        per_hop: config.per_hop,
        skip_empty: config.skip_empty,
    }
}

fn of_hpcc_pint(config: &hpcc_pint::Config) -> HpccPint {
    let Hpcc { target, max_stage, additive_increase, base_rtt, min_rate, .. } = of_hpcc(&config.hpcc);
    let (log_base, sampled) = (Some(config.log_base), Some(config.sampled));
    HpccPint { target, max_stage, additive_increase, base_rtt, min_rate, log_base, sampled }
}

fn of_powertcp(config: &powertcp::Config) -> PowerTcp {
    PowerTcp {
        weight: Some(config.weight),
        additive_increase: Some(Size(config.additive_increase)),
        base_rtt: Automatic::Is(Time(config.base_rtt)),
        min_rate: Some(Speed(config.min_rate)),
    }
}

fn time(given: Option<Time>, preset: Duration) -> Duration {
    given.map_or(preset, |time| time.0)
}

fn rate(given: Option<Speed>, preset: Rate) -> Rate {
    given.map_or(preset.max(SLOWEST), |rate| rate.0)
}
