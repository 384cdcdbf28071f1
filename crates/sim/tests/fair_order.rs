//! Packets that arrive at the same time: with lossless classes, equal senders take equal shares of the losses.

use shallows_sim::Report;

use crate::common::{parse, run};
use crate::lossless::{INCAST, on_any_number_of_threads};

/// Two hosts send datagrams of a lossy class at full rate and in step.
fn in_step() -> String {
    INCAST.replace("overload = true", "overload = true\nclass = 1").replace("200us", "1ms")
}

/// Returns the number of packets from each of the first `senders` hosts that were dropped at the switch.
fn lost(report: &Report, senders: u32) -> Vec<u64> {
    (0..senders).map(|host| report.lost_in_flight(&format!("host{host}->switch0")).packets).collect()
}

#[test]
fn each_of_two_senders_in_step_takes_half_of_the_losses() {
    for seed in ["1", "2", "3"] {
        let report = run(&in_step(), &[("seed", seed)]);
        let [one, other] = lost(&report, 2)[..] else { panic!("two senders") };
        let sum = one + other;
        assert_eq!(report.summary()["packets"]["dropped"], sum, "no other packet is dropped");
        // Half of what is sent after the memory of 1 MB is full. Binomial: five standard deviations are 2.5 sqrt(sum).
        assert!(sum > 7_000, "{sum}");
        assert!(one.abs_diff(other) as f64 <= 5.0 * (sum as f64).sqrt(), "{one} and {other}");
        // Every packet of a sender has been received, dropped, or waits.
        let sent: Vec<u64> =
            (0..2).map(|host| report.port(&format!("host{host}->switch0")).expect("a port").sent).collect();
        assert_eq!(sent[0], sent[1]);
        let port = report.port("switch0->host2").expect("a port");
        let arrived = port.enqueued() + sum;
        assert!(
            sent.iter().sum::<u64>() - arrived <= 2 * 5,
            "at most the packets in flight: {sent:?}, {arrived}"
        );
    }
}

#[test]
fn a_sender_of_eight_in_step_takes_an_eighth_of_the_losses() {
    let text = in_step().replace("hosts = 3", "hosts = 9").replace("senders = [0, 1]", "senders = '0..8'");
    let text = text.replace("receivers = 2", "receivers = 8").replace("1MB", "2MB");
    let lost = lost(&run(&text, &[]), 8);
    let mean = lost.iter().sum::<u64>() as f64 / 8.0;
    assert!(mean > 5_000.0, "{lost:?}");
    assert!(lost.iter().all(|&own| (own as f64 / mean - 1.0).abs() < 0.02), "{lost:?}");
}

#[test]
fn the_headroom_of_two_senders_in_step_is_used_equally() {
    // The pool of headroom is too small, so it drops packets. The losses after a pause come in groups.
    let text = INCAST.replace("stop = \"200us\"", "stop = \"20ms\"");
    let mut sums = [0, 0];
    for seed in ["1", "2", "3", "4"] {
        let report =
            run(&text, &[("switch.lossless.headroom_pool", "20KB"), ("stop.at", "20ms"), ("seed", seed)]);
        let lost = lost(&report, 2);
        sums = [sums[0] + lost[0], sums[1] + lost[1]];
    }
    let [one, other] = sums;
    assert!(one + other > 8_000, "{one} and {other}");
    assert!(one.abs_diff(other) as f64 <= 0.05 * (one + other) as f64, "{one} and {other}");
}

#[test]
fn the_order_is_the_same_on_any_number_of_threads() {
    let text = "stop.at = '300us'\nhost.jitter = 'off'\nhost.nic = { limit = '1GB', backpressure = 'off' }\ntcp = {}\n\
        [topology]\nkind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 4\nrate = '100Gbps'\n\
        [switch]\nbuffer = { kind = 'dynamic-threshold', pool = '1MB' }\nlossless = { classes = [0], headroom = '20KB' }\n\
        [[workload]]\nkind = 'udp'\nsenders = '0..8'\nreceivers = '8..12'\nclass = 1\noverload = true\n\
        pattern = { kind = 'constant', rate = '20Gbps' }\n";
    let (summary, _) = on_any_number_of_threads(&parse(text, &[]), |report| {
        let ports: Vec<String> = (0..8).map(|host| format!("host{host}->leaf{}", host / 4)).collect();
        (report.summary(), ports.iter().map(|port| report.lost_in_flight(port).packets).collect::<Vec<_>>())
    });
    assert!(summary["packets"]["dropped"].as_u64() > Some(500));
}
