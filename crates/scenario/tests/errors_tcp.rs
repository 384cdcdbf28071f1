//! Invalid settings of TCP: settings without an effect, one of them of the switch, and impossible values of ICTCP are rejected.

use crate::common::{BCC_F2, DUMBBELL, message};

/// Settings without an effect, each with the error that it causes.
const WITHOUT_EFFECT: &[(&[(&str, &str)], &str)] = &[
    (
        &[("tcp.recovery", "newreno"), ("tcp.prr", "ssrb")],
        "tcp.prr: has an effect only with tcp.recovery = \"sack\" or \"rack\"; set tcp.recovery, or set tcp.prr \
         = \"off\"",
    ),
    (
        &[("tcp.recovery", "fulltcp"), ("tcp.frto", "true")],
        "tcp.frto: has an effect only with tcp.recovery = \"sack\" or \"rack\"; set tcp.recovery, or leave the key out",
    ),
    (
        &[("tcp.recovery", "newreno"), ("tcp.dsack", "true")],
        "tcp.dsack: has an effect only with tcp.recovery = \"sack\" or \"rack\"; set tcp.recovery, or leave the \
         key out",
    ),
    (
        &[("tcp.congestion", "{ kind = 'cubic', hystart = 'linux' }"), ("tcp.timestamps", "false")],
        "tcp.congestion.hystart: needs a round-trip time from each acknowledgement; set tcp.timestamps = true, \
         or tcp.recovery = \"rack\"",
    ),
    (
        &[("tcp.delayed_ack", "{ segments = 1, quick = 16 }")],
        "tcp.delayed_ack.quick: has an effect only with delayed acknowledgements; set tcp.delayed_ack.segments = \
         2, or leave the key out",
    ),
    (
        &[("tcp.delayed_ack", "{ segments = 1, cwr_at_once = true }")],
        "tcp.delayed_ack.cwr_at_once: has an effect only with delayed acknowledgements; set \
         tcp.delayed_ack.segments = 2, or leave the key out",
    ),
    (
        &[("tcp.rack.timer_slack", "1ms")],
        "tcp.rack: has an effect only with tcp.recovery = \"rack\"; set tcp.recovery, or leave tcp.rack out",
    ),
    (
        &[("tcp.recovery", "reno"), ("tcp.sack_after_timeout", "forgotten")],
        "tcp.sack_after_timeout: has an effect only with tcp.recovery = \"sack\"; set tcp.recovery, or leave the \
         key out",
    ),
    (
        &[("tcp.lost_syn", "linux")],
        "tcp.lost_syn: has an effect only with tcp.handshake = true; set tcp.handshake, or leave the key out",
    ),
    (
        &[("tcp.congestion", "reno"), ("tcp.ece_reaction", "prr")],
        "tcp.ece_reaction: has an effect only with a congestion control that reduces the window on ECE; set ecn \
         = true in tcp.congestion, or leave the key out",
    ),
    (
        &[("tcp.congestion", "{ kind = 'pulser', as_released = true }"), ("tcp.ece_reaction", "prr")],
        "tcp.ece_reaction: has an effect only with a congestion control that reduces the window on ECE; set ecn \
         = true in tcp.congestion, or leave the key out",
    ),
    (
        &[("tcp.congestion", "cubic"), ("tcp.avoidance", "per-ack")],
        "tcp.avoidance: has no effect with cubic, which has its own congestion avoidance; leave the key out",
    ),
    (
        &[("tcp.limited_transmit_repairs", "true")],
        "tcp.limited_transmit_repairs: has an effect only with limited transmit and without selective \
         acknowledgements; set tcp.limited_transmit = true and tcp.recovery = \"newreno\", or leave the key out",
    ),
    (
        &[("tcp.full_ack", "ssthresh")],
        "tcp.full_ack: has an effect only with tcp.recovery = \"newreno\"; set tcp.recovery, or leave the key out",
    ),
    (
        &[("switch.ecmp", "ns-2-bcc")],
        "switch.ecmp: must not be \"ns-2-bcc\" without a poisson workload that has connections of kind \
         \"persistent\"; add one, or use \"symmetric\"",
    ),
];

#[test]
fn settings_that_would_change_nothing_are_refused_with_what_to_do() {
    for (sets, expected) in WITHOUT_EFFECT {
        let found = message(DUMBBELL, sets);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn the_control_of_receive_windows_is_refused_what_it_cannot_use() {
    let found = |sets: &[(&str, &str)]| message(BCC_F2, sets).lines().next().unwrap_or_default().to_owned();
    for (receiver, expected) in [
        (
            "'ictp'",
            "unknown receiver \"ictp\" (did you mean \"ictcp\"?); expected one of \"fixed\", \"ictcp\"",
        ),
        ("{ kind = 'ictcp', share = 0.0 }", "tcp.receiver.share: must be above 0 and at most 1, got 0"),
        ("{ kind = 'ictcp', gamma1 = 0.6 }", "tcp.receiver.gamma2: must be from gamma1 to 1, got 0.5"),
        ("{ kind = 'ictcp', beta = 2.0 }", "tcp.receiver.beta: must be from 0 to 1, got 2"),
        ("{ kind = 'ictcp', fairness = -1.0 }", "tcp.receiver.fairness: must be from 0 to 1, got -1"),
        ("{ kind = 'ictcp', decrease_after = 0 }", "tcp.receiver.decrease_after: must be at least 1, got 0"),
        ("{ kind = 'ictcp', rtt_limit = '0s' }", "must be above 0s, got 0s"),
        ("{ kind = 'ictcp', minimum = '1B' }", "tcp.receiver.minimum: must be at least one segment"),
    ] {
        let found = found(&[("tcp.receiver", receiver), ("tcp.timestamps", "true")]);
        assert!(found.contains(expected), "{found}");
    }
    let without = found(&[("tcp.receiver", "ictcp"), ("tcp.timestamps", "false")]);
    assert!(
        without.contains("ictcp measures round-trip times with timestamps; set tcp.timestamps = true"),
        "{without}"
    );
}
