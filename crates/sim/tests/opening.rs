//! Tests of the time to open a connection, with and without a lost SYN, computed by hand.
//!
//! Links of 10 Gb/s and 1 us without framing or timestamps: a full segment of 1,460 bytes, 1,500 on the wire, takes 2.2 us on each of the
//! two links. A SYN or its answer, 40 bytes, takes 1.032 us.

use crate::common::run;

const STAR: &str = r#"
host.jitter = "off"

[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
framing = "0B"

[switch]
buffer = { kind = "static-partition", per_port = "3000B" }

[tcp]
congestion = "reno"
timestamps = false
handshake = true

[measure]
fct = "receiver"

[stop]
at = "10s"

[[workload]]
kind = "incast"
senders = 2
receivers = 3
size = "1460B"
start = "50us"
"#;

/// Two hosts send 1,500 bytes each 1.2 us to the port of host 3, which can pass on half of them. From 3.4 us on, two packets wait there
/// and fill its buffer, except at the instants 2.2 us + 1.2 us · k, when one leaves and the next arrives. The SYN of 50 us arrives at
/// 51.032 us, between two of these instants.
const FULL: &str = r#"
[[workload]]
kind = "udp"
senders = "0..2"
receivers = 3
pattern = { kind = "constant", rate = "10Gbps" }
overload = true
stop = "60us"
"#;

/// Returns the completion time of the flow in microseconds, its timeouts and its retransmissions.
fn flow(text: &str, sets: &[(&str, &str)]) -> (f64, u32, u32) {
    let report = run(text, sets);
    let flow = report.flows().next().expect("there is one");
    let time = flow.completion_time.expect("it is complete").as_micros_f64();
    (time, flow.timeouts, flow.retransmits)
}

#[test]
fn a_handshake_costs_a_round_trip() {
    // SYN, its answer and the segment, over two links each: 2 · (1.032 + 1.032 + 2.2) us.
    assert_eq!(flow(STAR, &[]), (8.528, 0, 0));
}

#[test]
fn a_lost_syn_costs_the_initial_timeout_and_nothing_else() {
    // RFC 6298 §2.1: one second, as in Linux (TCP_TIMEOUT_INIT). Three seconds are ns-3's `TcpSocket::ConnTimeout`.
    let full = [STAR, FULL].concat();
    assert_eq!(flow(&full, &[]), (1_000_008.528, 1, 0));
    assert_eq!(flow(&full, &[("tcp.lost_syn", "linux")]), (1_000_008.528, 1, 0));
    assert_eq!(flow(&full, &[("tcp.rto.initial", "3s")]), (3_000_008.528, 1, 0));
}

#[test]
fn a_second_lost_syn_costs_twice_as_much_and_as_much_again_in_linux() {
    // RFC 6298 §5.5: the timer doubles, 1 s + 2 s. In Linux the first four timeouts are equal (tcp_syn_linear_timeouts).
    let twice =
        [STAR, FULL, &FULL.replace("stop = \"60us\"", "start = \"1s\"\nstop = \"1000060us\"")].concat();
    assert_eq!(flow(&twice, &[]), (3_000_008.528, 2, 0));
    assert_eq!(flow(&twice, &[("tcp.lost_syn", "linux")]), (2_000_008.528, 2, 0));
}
