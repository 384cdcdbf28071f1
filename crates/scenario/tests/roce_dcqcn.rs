//! DCQCN as published and as ConnectX NICs run it: parameters of the presets, keys that replace them, and refused values.

use shallows_core::{Duration, Rate};
use shallows_rdma::congestion::{Config, Window, connectx};

use crate::common::{parse, refusal};
use crate::roce::{SCENARIO, experiment, settings};

fn connectx(given: &str) -> connectx::Config {
    match settings(&[("roce.congestion", given)]).congestion.clone() {
        Config::ConnectX(config) => config,
        other => panic!("{other:?}"),
    }
}

#[test]
fn connectx_has_the_parameters_of_its_preset_unless_keys_replace_them() {
    let preset = connectx::Config::connectx();
    assert_eq!(connectx("dcqcn-connectx"), preset);
    assert_eq!(connectx("{ kind = 'dcqcn-connectx', preset = 'connectx' }"), preset);
    let always = connectx::Config { clamp: connectx::Clamp::Always, ..preset };
    assert_eq!(connectx("{ kind = 'dcqcn-connectx', clamp = 'always' }"), always);
    let given = "{ kind = 'dcqcn-connectx', preset = 'hpcc-repo', gain = 0.5, alpha_period = '60us', decrease_period = '5us', \
                 min_decrease_factor = 0.75, increase_period = '1ms', fast_recovery = 2, additive_increase = '80Mbps', \
                 hyper_increase = '400Mbps', min_rate = '20Mbps', first_rate = '5Gbps', clamp = 'after-increase', \
                 window = { rtt = '13us' } }";
    let expected = connectx::Config {
        gain: 0.5,
        alpha_period: Duration::from_micros(60),
        decrease_period: Duration::from_micros(5),
        min_decrease_factor: 0.75,
        increase_period: Duration::from_millis(1),
        fast_recovery: 2,
        additive_increase: Rate(80_000_000),
        hyper_increase: Rate(400_000_000),
        min_rate: Rate(20_000_000),
        first_rate: Some(Rate::from_gbps(5)),
        clamp: connectx::Clamp::AfterIncrease,
        window: Window::Variable(Duration::from_micros(13)),
    };
    assert_eq!(connectx(given), expected);
}

#[test]
fn notes_on_connectx_name_its_parameters_and_its_interval_of_cnps() {
    let notes = |sets: &[(&str, &str)]| {
        let congestion = [("roce.congestion", "dcqcn-connectx")];
        experiment(&[&congestion[..], sets].concat()).notes.clone()
    };
    let parameters = "roce.congestion \"dcqcn-connectx\" sets additive_increase = \"5Mbps\", alpha_period = \"1us\", \
                      clamp = \"after-increase\", decrease_period = \"4us\", fast_recovery = 1, gain = 0.0048828125, \
                      hyper_increase = \"50Mbps\", increase_period = \"300us\", min_decrease_factor = 0.5, min_rate = \"1Mbps\"";
    let interval = "roce.congestion \"dcqcn-connectx\" sets cnp.interval = \"4us\"";
    assert_eq!(notes(&[]), [parameters, interval]);
    assert_eq!(notes(&[("roce.cnp.interval", "4us")]), [parameters]);
}

#[test]
fn bad_values_are_refused_with_key_range_and_value() {
    let fraction = "must be above 0 and at most 1, got";
    let no_time = "must be above 0s, got 0s";
    let times = "must be from 1ns to 1s, got";
    for (kind, given, key, message) in [
        ("dcqcn", "gain = 0.0", "gain", format!("{fraction} 0")),
        ("dcqcn", "increase_period = '0s'", "increase_period", no_time.to_owned()),
        ("dcqcn", "window = { rtt = '2s' }", "window.rtt", format!("{times} 2s")),
        // α decreases after a period without CNPs, which arrive once per interval.
        (
            "dcqcn",
            "alpha_period = '50us'",
            "alpha_period",
            "must be longer than the interval of CNPs (cnp.interval = 50us), got 50us: otherwise alpha would decrease although CNPs arrive"
                .to_owned(),
        ),
        ("dcqcn-connectx", "gain = 1.5", "gain", format!("{fraction} 1.5")),
        ("dcqcn-connectx", "alpha_period = '0s'", "alpha_period", no_time.to_owned()),
        ("dcqcn-connectx", "decrease_period = '0s'", "decrease_period", no_time.to_owned()),
        ("dcqcn-connectx", "increase_period = '0s'", "increase_period", no_time.to_owned()),
        (
            "dcqcn-connectx",
            "min_decrease_factor = 1.5",
            "min_decrease_factor",
            "must be from 0 to 1, got 1.5".to_owned(),
        ),
        ("dcqcn-connectx", "window = { rtt = '0s' }", "window.rtt", format!("{times} 0ps")),
    ] {
        let congestion = format!("{{ kind = '{kind}', {given} }}");
        let found = refusal(SCENARIO, &[("roce.congestion", &congestion)]);
        assert_eq!(found, (format!("roce.congestion.{key}"), message), "{congestion}");
    }
    // A period of zero is also shorter than the interval.
    let sets = [("roce.congestion", "{ kind = 'dcqcn', alpha_period = '0s' }")];
    let error = parse(SCENARIO, &sets).expect_err("no period");
    assert_eq!(error.problems[0].message, no_time);
}
