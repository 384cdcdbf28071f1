//! Tests of ports with a token bucket, as in MQ-ECN's testbed: 995 Mbit/s on links of 1 Gbit/s, so that queues build up in the
//! switch and not in its NIC (NSDI '16: rate 99.5 %, bucket 1.67 MTU).

use crate::common;

/// Ethernet frames with preamble and gap: 1,538 bytes on the wire carry 1,460.
const SCENARIO: &str = r#"
stop.at = "100ms"

[topology]
kind = "star"
hosts = 3
rate = "1Gbps"
link_delay = "50us"
framing = 38

[switch]
buffer = { kind = "complete-sharing", pool = "2MB" }
markers = [{ kind = "threshold", k = "32KB" }]
shaper = { rate = "995Mbps", burst = "2505B" }

[tcp]
timestamps = false
initial_window = 16
rto = { min = "10ms" }
delayed_ack = { segments = 1 }

[[workload]]
kind = "long-lived"
senders = "1"
receivers = "0"
"#;

/// Returns the goodput of each flow in Mbit/s, in the second half of a run of 200 ms.
fn goodputs(sets: &[(&str, &str)]) -> Vec<f64> {
    let delivered = |stop: &str| -> Vec<u64> {
        let report = common::run(SCENARIO, &[sets, &[("stop.at", stop)]].concat());
        report.flows().map(|flow| flow.delivered.0).collect()
    };
    let (half, whole) = (delivered("100ms"), delivered("200ms"));
    whole.iter().zip(half).map(|(whole, half)| (whole - half) as f64 * 8.0 / 0.1 / 1e6).collect()
}

#[test]
fn one_flow_gets_what_the_shaper_lets_pass() {
    // 995 · 1460/1538 = 944.54 Mbit/s; without the shaper 1000 · 1460/1538 = 949.28. In 100 ms a packet more or less is
    // 0.12 Mbit/s.
    let [shaped] = goodputs(&[])[..] else { panic!("one flow") };
    println!("shaped: {shaped:.2} Mbit/s");
    assert!((shaped - 944.54).abs() < 0.3, "{shaped}");
    let [bare] = goodputs(&[("switch.shaper", "{ rate = '1Gbps', burst = '2505B' }")])[..] else {
        panic!("one flow")
    };
    println!("bare: {bare:.2} Mbit/s");
    assert!((bare - 949.28).abs() < 0.3, "{bare}");
}

#[test]
fn classes_divide_what_the_shaper_lets_pass_by_quantum() {
    // Two flows in two queues with quanta 1 : 3. A quarter of 944.54 is 236.1, the rest 708.4. Both queues have a backlog as long as
    // their flows are marked at 32 KB: C·RTT/7 is 3.6 KB.
    let found = goodputs(&[
        ("switch.port", "{ kind = 'dwrr', queues = 2, quantum = ['1p', '3p'] }"),
        ("workload.0.senders", "1..3"),
        ("workload.0.class", "{ kind = 'by-sender', classes = 2 }"),
    ]);
    println!("{found:.2?} Mbit/s");
    // Host 1 is in class 1, host 2 in class 0.
    assert!((found[0] - 708.4).abs() < 1.0 && (found[1] - 236.1).abs() < 1.0, "{found:?}");
    assert!((found[0] + found[1] - 944.54).abs() < 0.3);
}
