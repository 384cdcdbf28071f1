//! Tests of the mapping of scenarios: keys that Linux supports, differences that are noted, and keys that are rejected.

use super::*;

/// Congestion controls of a kernel that lacks DCTCP and has `pulser`, one of the testbed's own congestion controls.
const AVAILABLE: &[&str] = &["reno", "cubic", "pulser"];

fn plan(tcp: &str, rest: &str) -> Result<LinuxPlan, Vec<Refusal>> {
    dilated_plan(tcp, rest, "100Mbps", 1)
}

fn dilated_plan(tcp: &str, rest: &str, rate: &str, factor: u32) -> Result<LinuxPlan, Vec<Refusal>> {
    let dilation = Dilation::try_from(factor).unwrap();
    LinuxPlan::of(&experiment(tcp, rest, rate), AVAILABLE, dilation, FASTEST)
}

fn experiment(tcp: &str, rest: &str, rate: &str) -> Experiment {
    let text = format!(
        "name = \"star\"\n{rest}\n[topology]\nkind = \"star\"\nhosts = 3\nrate = \"{rate}\"\n\
         [switch]\nbuffer = {{kind = \"static-partition\", per_port = \"150KB\"}}\n[[workload]]\nkind = \"long-lived\"\nsenders = \"0..2\"\nreceivers = \"2..3\"\n[stop]\nat = \"1s\"\n[tcp]\n{tcp}\n"
    );
    let experiment =
        shallows_scenario::parse(&text, "star.toml", &|_| unreachable!("it names no file"), &[], None);
    experiment.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn keys(refused: Result<LinuxPlan, Vec<Refusal>>) -> Vec<&'static str> {
    refused.expect_err("it is refused").iter().map(|refusal| refusal.key).collect()
}

fn has(plan: &LinuxPlan, name: &str) -> String {
    plan.settings.iter().find(|(known, _)| *known == name).expect("it is set").1.clone()
}

#[test]
fn a_transport_that_linux_has_is_carried_key_by_key() {
    let plan = plan(
        "congestion = {kind = \"reno\", ecn = true}\nrto = {min = \"20ms\", max = \"2s\"}\ndelayed_ack = {segments = 1}\n\
         timestamps = false\ninitial_window = 4\nrestart_after_idle = \"off\"\nrecovery = \"newreno\"",
        "",
    );
    let plan = plan.unwrap();
    assert_eq!(plan.congestion, "reno");
    let set = ["tcp_ecn", "tcp_timestamps", "tcp_sack", "tcp_slow_start_after_idle", "tcp_rto_max_ms"];
    assert_eq!(set.map(|name| has(&plan, name)), ["1", "0", "0", "0", "2000"]);
    assert!(plan.route.starts_with("rto_min 20ms initcwnd 4 "), "{}", plan.route);
    assert!(plan.route.ends_with(" quickack 1"), "{}", plan.route);
    assert!(!plan.route.contains("lock") && !plan.bounded, "{}", plan.route);
    assert_eq!(has(&plan, "tcp_no_metrics_save"), "1");
}

#[test]
fn the_bound_of_a_window_is_all_that_connections_learn_from_earlier_ones() {
    let plan = plan("congestion = \"reno\"\nmax_window = 20", "").unwrap();
    let bound = " cwnd lock 20 rtt lock 0 rttvar lock 0 ssthresh lock 0 reordering lock 0";
    assert!(plan.route.ends_with(bound), "{}", plan.route);
    assert!(plan.bounded);
    assert_eq!(has(&plan, "tcp_no_metrics_save"), "0");
    assert!(!plan.differences.join("\n").contains("max_window"));
}

#[test]
fn a_brake_is_told_when_to_hold_and_when_to_let_go() {
    let told = |congestion: &str| plan(&format!("congestion = {congestion}"), "").unwrap().told;
    assert_eq!(told("\"pulser\""), [4, 0, 0]);
    assert_eq!(told("{kind = \"pulser\", safe_window = 2, restore = \"clean-window\"}"), [2, 1, 0]);
    assert_eq!(told("{kind = \"pulser\", as_released = true}"), [4, 0, 1]);
    assert_eq!(told("\"reno\""), [0; 0]);
}

#[test]
fn what_linux_does_otherwise_is_told() {
    let told = plan("congestion = \"cubic\"\nrto = {min = \"5ms\"}", "").unwrap().differences.join("\n");
    let keys = [
        "tcp.rto.min",
        "tcp.congestion",
        "tcp.loss_base",
        "tcp.minimum_window",
        "host.jitter",
        "host.nic.buffer_overhead",
    ];
    for key in keys {
        assert!(told.contains(key), "{key} is not in\n{told}");
    }
    let told =
        plan("congestion = \"reno\"\nrto = {min = \"8ms\"}\nminimum_window = 2", "host = {jitter = \"off\"}");
    let told = told.unwrap().differences.join("\n");
    for key in ["tcp.rto.min:", "tcp.congestion", "tcp.minimum_window", "host.jitter"] {
        assert!(!told.contains(key), "{key} is in\n{told}");
    }
}

#[test]
fn of_what_the_preset_of_linux_says_linux_does_nothing_otherwise() {
    for congestion in ["\"reno\"", "{kind = \"cubic\", ecn = true}", "\"dctcp\""] {
        let tcp = format!("preset = \"linux-6\"\ncongestion = {congestion}");
        let host = "host = {jitter = \"off\", nic = {buffer_overhead = \"832B\"}}";
        let experiment = experiment(&tcp, host, "100Mbps");
        let told = differences::of(&experiment, Dilation::NONE);
        assert_eq!(told.len(), 1, "{congestion}: {told:?}");
        assert!(told[0].starts_with("tcp.delayed_ack:"), "{congestion}: {told:?}");
    }
    // At half the speed, CUBIC's third power of time is an eighth.
    let told = |c: &str, clock: &str| {
        let tcp = format!("preset = \"linux-6\"\ncongestion = {{kind = \"cubic\", c = {c}{clock}}}");
        dilated_plan(&tcp, "", "100Mbps", 2).unwrap().differences.join("\n")
    };
    assert!(told("0.4", "").contains("c = 3.2 in the scenario"), "{}", told("0.4", ""));
    assert!(!told("3.2", "").contains("tcp.congestion.c"), "{}", told("3.2", ""));
    // A tick is half as long.
    let clock = "tick = \"2ms\", hold = \"14ms\"";
    let told_clock = format!("{clock} and hystart_delay = \"2ms\"");
    let partly = told("3.2", &format!(", {clock}"));
    assert!(told("3.2", "").contains(&told_clock) && partly.contains(&told_clock), "{partly}");
    let same = told("3.2", &format!(", {clock}, hystart_delay = \"2ms\""));
    assert!(!same.contains("tcp.congestion"), "{same}");
}

#[test]
fn losses_are_repaired_by_what_the_scenario_has_of_it() {
    let names = ["tcp_sack", "tcp_early_retrans", "tcp_frto", "tcp_dsack"];
    let set = |tcp: &str| {
        let plan = plan(&format!("congestion = \"reno\"\n{tcp}"), "").unwrap();
        names.map(|name| has(&plan, name)).join(" ")
    };
    assert_eq!(set("preset = \"linux-6\""), "1 3 1 1");
    assert_eq!(set("preset = \"linux-6\"\nfrto = false"), "1 3 0 1");
    assert_eq!(set("preset = \"linux-6\"\ndsack = false"), "1 3 1 0");
    assert_eq!(set("recovery = \"rack\""), "1 3 0 0");
    assert_eq!(set("recovery = \"sack\""), "1 0 0 0");
    assert_eq!(set("recovery = \"newreno\""), "0 0 0 0");
}

#[test]
fn timers_of_linux_that_go_by_another_are_told() {
    let told = |tcp: &str, factor| {
        let tcp = format!("preset = \"linux-6\"\ncongestion = \"reno\"\n{tcp}");
        dilated_plan(&tcp, "", "100Mbps", factor).unwrap().differences.join("\n")
    };
    // A kernel has a single minimum timeout, which determines all of these.
    let others = "rto = {min = \"20ms\", granularity = \"200ms\"}\nrack = {max_ack_delay = \"200ms\"}";
    let shorter = told(others, 1);
    assert!(shorter.contains("tcp.rto.granularity"), "{shorter}");
    assert!(shorter.contains("max_ack_delay = \"20ms\" and timer_slack = \"8ms\""), "{shorter}");
    let derived = told("rto = {min = \"20ms\"}", 1);
    assert!(!derived.contains("tcp.rto") && !derived.contains("tcp.rack"), "{derived}");
    // tcp_delack_max: 20 ms are five ticks, and an acknowledgement waits four of them.
    let longer = told("rto = {min = \"20ms\"}\ndelayed_ack = {timeout = \"40ms\"}", 1);
    assert!(
        longer.contains("tcp.delayed_ack.timeout") && longer.contains("as with 16ms in the scenario"),
        "{longer}"
    );
    let as_linux =
        "rto = {min = \"20ms\", granularity = \"20ms\"}\nrack = {max_ack_delay = \"20ms\", timer_slack = ";
    let alike = told(&format!("{as_linux}\"8ms\"}}"), 1);
    assert!(!alike.contains("tcp.rto") && !alike.contains("tcp.rack"), "{alike}");
    // Ticks are in the machine's time.
    let dilated = told(&format!("{as_linux}\"8ms\"}}"), 4);
    assert!(dilated.contains("timer_slack = \"2ms\""), "{dilated}");
    let alike = told(&format!("{as_linux}\"2ms\"}}"), 4);
    assert!(!alike.contains("tcp.rack"), "{alike}");
}

#[test]
fn dilated_time_makes_timers_longer_and_links_slower() {
    let tcp = "congestion = \"cubic\"\nrto = {min = \"200us\", initial = \"10ms\", max = \"50ms\"}";
    assert_eq!(keys(dilated_plan(tcp, "", "10Gbps", 1)), ["tcp.rto.min", "topology"]);
    let plan = dilated_plan(tcp, "", "10Gbps", 100).unwrap();
    assert!(plan.route.starts_with("rto_min 20ms "), "{}", plan.route);
    assert_eq!(has(&plan, "tcp_rto_max_ms"), "5000");
    let told = plan.differences.join("\n");
    // 20 ms minus a tick of 4 ms, in the machine's time.
    for text in ["dilated 100 times", "as with 160us in the scenario", "c = 400000 in the scenario"] {
        assert!(told.contains(text), "{text} is not in\n{told}");
    }
    // 20 ms are five ticks, so there is no rounding.
    assert!(!told.contains("tcp.rto.min:"), "{told}");
}

#[test]
fn what_it_cannot_do_is_refused_with_its_key() {
    assert_eq!(keys(plan("congestion = \"dctcp\"", "")), ["tcp.congestion"]);
    let other = "congestion = {kind = \"dctcp\", g = 0.5, initial_alpha = 0.0}";
    assert_eq!(keys(plan(other, "")), ["tcp.congestion.g", "tcp.congestion.initial_alpha", "tcp.congestion"]);
    assert_eq!(keys(plan("congestion = \"ecn-star\"", "")), ["tcp.congestion"]);
    let cubic = "congestion = {kind = \"cubic\", ecn = true}\nect = \"all\"";
    assert_eq!(keys(plan(cubic, "")), ["tcp.ect"]);
    let several = "congestion = {kind = \"pulser\", dctcp = {g = 0.5}, safe_window = \"2000B\"}\n\
                   rto = {min = \"1ms\"}\nrestart_after_idle = \"reset\"\nrecovery = \"sack1\"";
    let brake = ["tcp.congestion.dctcp.g", "tcp.congestion.safe_window"];
    let expected = [&brake[..], &["tcp.recovery", "tcp.restart_after_idle", "tcp.rto.min"]].concat();
    assert_eq!(keys(plan(several, "")), expected);
    let delayed = "congestion = \"reno\"\ndelayed_ack = {segments = 4}";
    assert_eq!(keys(plan(delayed, "")), ["tcp.delayed_ack.segments"]);
}

#[test]
fn lossless_classes_are_refused_because_its_switch_sends_no_pauses() {
    let text = "stop.at = '1s'\ntcp.congestion = 'reno'\ntopology = { kind = 'star', hosts = 3, rate = '100Mbps' }\n\
                switch = { buffer = { kind = 'complete-sharing', pool = '1MB' }, lossless = { classes = [0] } }\n\
                [[workload]]\nkind = 'long-lived'\nsenders = 0\nreceivers = 1\n";
    let experiment =
        shallows_scenario::parse(text, "star.toml", &|_| unreachable!("it names no file"), &[], None);
    let experiment = experiment.unwrap_or_else(|error| panic!("{error}"));
    let refused =
        LinuxPlan::of(&experiment, AVAILABLE, Dilation::try_from(1).expect("a factor of one"), FASTEST);
    let refusals = refused.expect_err("it is refused");
    let [refusal] = &refusals[..] else { panic!("{} refusals", refusals.len()) };
    assert_eq!(
        (refusal.key, &*refusal.reason),
        ("switch.lossless", "must be left out, because the testbed's switch has no priority flow control")
    );
}
