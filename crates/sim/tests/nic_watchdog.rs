//! PFC watchdogs of NICs: they end pauses that the NIC itself sends for too long.

use shallows_core::Duration;

use crate::common::{parse, run};
use crate::lossless::{at, on_any_number_of_threads, refusal};
use crate::storms::chain;

const WATCHDOG: &str = "watchdog = { detection = '400us', restoration = '400us', poll = '200us' }";

#[test]
fn it_ends_a_storm_of_its_nic_by_hand() {
    // The storm begins at 1 ms and never ends. Polls at 1.2 ms (paused, but not at the last poll), 1.4 ms and 1.6 ms: 400 us without a
    // break. The frames of 84 bytes take 6.72 ns, 500 ns of cable and 2,017.28 ns of response, so pause and resume have effect equally late.
    let text = chain(2, "4ms", &format!("pfc_storm = {{ start = '1ms' }}, {WATCHDOG}"));
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let port = at(&report, &experiment, "s1->b");
    assert_eq!((port.received, port.paused), (1, Duration::from_micros(600)));
    assert_eq!(port.storms, 0, "the switch has no watchdog");
    let nic = at(&report, &experiment, "b->s1");
    assert_eq!((nic.sent, nic.resumed, nic.storms, nic.dropped_by_watchdog), (1, 1, 1, 0));
    // The host reads every packet at once, so nothing is dropped.
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    assert!(report.problems().is_empty(), "{:?}", report.problems());
    assert!(report.warnings().iter().any(|text| text.starts_with("PFC watchdogs found storms (1)")));
}

#[test]
fn a_full_receive_buffer_drops_while_pauses_have_ended_and_the_run_is_valid() {
    // The host reads 1 Gb/s, so it is congested without a break: a packet of 1,500 bytes takes 12 us, and xon is 90 packets below xoff.
    let receive = "receive = { rate = '1Gbps', buffer = '400KB', xoff = '300KB', xon = '165KB' }";
    let text = chain(2, "6ms", &format!("{receive}, {WATCHDOG}"))
        .replace("overload = true", "overload = true\nstop = '2ms'");
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let nic = at(&report, &experiment, "b->s1");
    assert!(nic.storms >= 1 && nic.dropped == 0 && nic.dropped_by_watchdog > 1_000, "{nic:?}");
    let summary = report.summary();
    assert_eq!(summary["packets"]["dropped"], nic.dropped_by_watchdog);
    assert_eq!(summary["packets"]["dropped_in_nics"], nic.dropped_by_watchdog);
    assert_eq!(summary["lossless"]["class0"]["dropped_by_watchdog"], nic.dropped_by_watchdog);
    assert!(report.problems().is_empty(), "{:?}", report.problems());
}

#[test]
fn the_nic_may_pause_again_after_the_restoration_time() {
    // The storm lasts from 1 ms to 3 ms, and the pause until 1.6 ms. The polls at 3 ms and 3.2 ms find no reason for a pause, so the NIC
    // may send pauses from 3.2 ms on. The slow host then pauses its switch, and its buffer loses nothing.
    let receive = "receive = { rate = '50Gbps', buffer = '100KB' }";
    let text =
        chain(1, "5ms", &format!("pfc_storm = {{ start = '1ms', stop = '3ms' }}, {receive}, {WATCHDOG}"));
    let quiet = text.replace("overload = true", "overload = true\nstart = '3300us'");
    let (experiment, report) = (parse(&quiet, &[]), run(&quiet, &[]));
    let nic = at(&report, &experiment, "b->s0");
    assert!(nic.storms == 1 && nic.sent > 10 && nic.dropped_by_watchdog == 0, "{nic:?}");
    assert_eq!(report.summary()["packets"]["dropped"], 0);
    // Packets that come before 3.2 ms fill the buffer, whose congestion is then a reason for a pause.
    let early = text.replace("overload = true", "overload = true\nstart = '1700us'");
    let (experiment, report) = (parse(&early, &[]), run(&early, &[]));
    let nic = at(&report, &experiment, "b->s0");
    assert!(nic.storms == 1 && nic.sent == 1 && nic.dropped_by_watchdog > 10_000, "{nic:?}");
}

#[test]
fn a_slow_host_that_resumes_its_switch_now_and_then_has_no_storm() {
    let text = chain(2, "5ms", &format!("receive = {{ rate = '50Gbps', buffer = '100KB' }}, {WATCHDOG}"));
    let (experiment, report) = (parse(&text, &[]), run(&text, &[]));
    let nic = at(&report, &experiment, "b->s1");
    assert!(nic.sent > 100 && nic.storms == 0 && nic.dropped == 0, "{nic:?}");
}

#[test]
fn it_gives_the_same_results_on_any_number_of_threads() {
    let text = chain(3, "4ms", &format!("pfc_storm = {{ start = '1ms', stop = '3ms' }}, {WATCHDOG}"));
    on_any_number_of_threads(&parse(&text, &[]), |report| (report.summary(), report.pauses().to_vec()));
}

#[test]
fn its_defaults_are_those_of_linux_and_wrong_times_are_refused() {
    let experiment = parse(&chain(1, "1us", "watchdog = {}"), &[]);
    let lossless = experiment.network.lossless.as_ref().expect("lossless classes");
    let found = lossless.ports[1].nic_watchdog.expect("the watchdog of b");
    let ms = Duration::from_millis;
    assert_eq!((found.detection, found.restoration, found.poll), (ms(100), ms(100), ms(10)));
    assert!(lossless.ports[0].nic_watchdog.is_none() && lossless.watchdog.is_none());
    for (watchdog, words) in [
        ("poll = '0s'", "host.group[0].nic.watchdog.poll: must be a time above zero, got 0ps"),
        (
            "detection = '5ms'",
            "host.group[0].nic.watchdog.detection: must be at least the time between two polls, 10ms, got 5ms",
        ),
    ] {
        let text = refusal(&chain(1, "1us", &format!("watchdog = {{ {watchdog} }}")), &[]);
        assert!(text.contains(words), "{text}");
    }
    let lossy = chain(1, "1us", "watchdog = {}").replace("lossless = { classes = [0], limit = '90KB' }", "");
    let text = refusal(&lossy, &[]);
    assert!(
        text.contains("host.group[0].nic.watchdog: must be left out, or switch.lossless must be given"),
        "{text}"
    );
}
