//! Tests of small runs against figures and tables of the papers on switches: MQ-ECN's Figures 1 and 3, BCC's Table IV and Figure 9, and the
//! trigger of Pulser's detector.

use crate::common::run;
use shallows_sim::Report;

fn ping_mean(report: &Report) -> f64 {
    report.summary()["ping_rtt_us"]["all"]["mean"].as_f64().expect("it pings")
}

/// Runs MQ-ECN §2.2: eight flows into 1 Gbit/s over this number of queues, and a ping. Base round-trip time 88 us.
fn eight_flows(queues: u32, marker: &str) -> Report {
    let text = format!(
        "
stop = {{ at = '400ms' }}
topology = {{ kind = 'star', hosts = 10, rate = '1Gbps', link_delay = '1us', host_delay = '20us' }}
measure = {{ warm_up = '50ms', traces = [{{ ports = ['switch0->host8'], every = '1ms' }}] }}

[switch]
port = {{ kind = 'dwrr', queues = {queues}, quantum = '1p' }}
buffer = {{ kind = 'static-partition', per_port = '1MB' }}
markers = [{marker}]

[tcp]
congestion = 'dctcp'
rto = {{ min = '10ms' }}

[[workload]]
kind = 'long-lived'
senders = '0..8'
receivers = '8..9'
class = {{ kind = 'by-sender', classes = {queues} }}

[[workload]]
kind = 'ping'
senders = '9..10'
receivers = '8..9'
interval = '1ms'
start = '50ms'
"
    );
    run(&text, &[])
}

#[test]
fn round_trips_grow_with_the_busy_queues_under_the_standard_threshold_and_not_under_mq_ecn() {
    // MQ-ECN Fig. 1: from 1 to 8 queues the mean of a ping grows from 279 to 1,582 us, 5.7 times, with K = 16 packets in
    // each queue. In theory a ping waits for K packets of each busy queue: 88 + M · 192 us, from 280 to 1,624.
    let standard = "{ kind = 'threshold', k = '16p' }";
    let [one, eight] = [1, 8].map(|queues| ping_mean(&eight_flows(queues, standard)));
    let growth = eight / one;
    assert!((4.5..7.0).contains(&growth), "{one} us to {eight} us: {growth}");
    // Under MQ-ECN all queues together hold about K packets. With one flow in each of eight queues, a window cannot fall below two packets
    // nor a queue below one; this causes the remaining growth.
    let mq_ecn = "{ kind = 'mq-ecn', k = '16p' }";
    let [alone, shared] = [1, 8].map(|queues| ping_mean(&eight_flows(queues, mq_ecn)));
    assert!((alone / one - 1.0).abs() < 0.1, "alone, a queue has all of K: {alone} and {one} us");
    assert!(shared < 2.0 * alone && shared < 0.4 * eight, "{alone} us to {shared} us, standard {eight}");
}

#[test]
fn the_threshold_of_mq_ecn_is_the_share_of_a_queue_among_those_that_are_busy() {
    // MQ-ECN Eq. 5 with M busy queues of equal quanta: T_round = M · quantum / C, so K_i = K / M. A queue that is empty for
    // a moment shortens a round: with one flow in each of eight queues of two packets that happens, with fewer it does not.
    for queues in [1, 2, 4, 8] {
        let report = eight_flows(queues, "{ kind = 'mq-ecn', k = '16p' }");
        let settled: Vec<f64> = report
            .port_trace("switch0->host8", "threshold_bytes", Some(0))
            .filter(|(at, _)| at.as_secs_f64() > 0.1)
            .map(|(_, value)| value)
            .collect();
        let share = 24_000.0 / f64::from(queues);
        let mean = settled.iter().sum::<f64>() / settled.len().max(1) as f64;
        let tolerance = if queues == 8 { 0.15 } else { 0.02 };
        let close = settled.is_empty() || (mean / share - 1.0).abs() < tolerance;
        assert!(close, "{queues} queues: {mean} B instead of {share}");
        // If it never changes after 100 ms, the last value before that is the share.
        let last = report.port_trace("switch0->host8", "threshold_bytes", Some(0)).last().unwrap().1;
        assert!((last / share - 1.0).abs() < 2.0 * tolerance, "{queues} queues: {last} B instead of {share}");
    }
}

/// Returns the goodput of each service in Mbit/s. MQ-ECN §2.4: one flow of service 0 and `flows` of service 1, with equal quanta.
fn two_services(flows: u32, marker: &str) -> [f64; 2] {
    let text = format!(
        "
stop = {{ at = '500ms' }}
topology = {{ kind = 'star', hosts = 10, rate = '1Gbps', link_delay = '1us', host_delay = '20us' }}

[switch]
port = {{ kind = 'dwrr', queues = 2, quantum = '1p' }}
buffer = {{ kind = 'static-partition', per_port = '1MB' }}
markers = [{marker}]

[tcp]
congestion = 'dctcp'
rto = {{ min = '10ms' }}

[[workload]]
kind = 'long-lived'
senders = '0..1'
receivers = '9..10'
class = 0

[[workload]]
kind = 'long-lived'
senders = '1..{}'
receivers = '9..10'
class = 1
",
        1 + flows
    );
    let report = run(&text, &[]);
    let queues = report.queues("switch0->host9");
    [0, 1].map(|queue| queues[queue].sent_bytes.0 as f64 * 8.0 / 0.5 / 1e6)
}

#[test]
fn a_threshold_on_the_port_breaks_sharing_and_thresholds_on_queues_keep_it() {
    // MQ-ECN Fig. 3: with a threshold of 16 packets on the port, service 1 gets 539 Mbit/s with 4 flows against 403, and
    // 688 with 8. Packets of a short queue are marked because of the length of the other.
    let port = "{ kind = 'threshold', k = '16p', scope = 'port' }";
    let [one, four] = two_services(4, port);
    assert!(four / one > 1.15, "port: {one} and {four} Mbit/s");
    let [one, eight] = two_services(8, port);
    assert!(eight / one > 1.5, "port: {one} and {eight} Mbit/s");
    for marker in ["{ kind = 'threshold', k = '16p' }", "{ kind = 'mq-ecn', k = '16p' }"] {
        let [one, four] = two_services(4, marker);
        assert!((four / one - 1.0).abs() < 0.03, "{marker}: {one} and {four} Mbit/s");
        assert!(one + four > 950.0, "{marker}: {one} and {four} Mbit/s");
    }
}

#[test]
fn a_threshold_on_the_pool_makes_one_port_pay_for_another() {
    // MQ-ECN §2.3: per service pool. One flow to host 0, sixteen to host 1, whose backlog alone exceeds the threshold.
    let goodput = |scope| {
        let text = format!(
            "
stop = {{ at = '200ms' }}
topology = {{ kind = 'star', hosts = 20, rate = '1Gbps', link_delay = '1us', host_delay = '20us' }}
switch = {{ buffer = {{ kind = 'complete-sharing', pool = '2MB' }}, markers = [{{ kind = 'threshold', k = '16p', scope = '{scope}' }}] }}
tcp = {{ congestion = 'dctcp', rto = {{ min = '10ms' }} }}

[[workload]]
kind = 'long-lived'
senders = '2..4'
receivers = '0..1'

[[workload]]
kind = 'long-lived'
senders = '4..20'
receivers = '1..2'
"
        );
        run(&text, &[]).queues("switch0->host0")[0].sent_bytes.0 as f64 * 8.0 / 0.2 / 1e6
    };
    let (queue, pool) = (goodput("queue"), goodput("pool"));
    assert!(queue > 970.0 && pool < 0.9 * queue, "{queue} Mbit/s by queue, {pool} by pool");
}

/// Returns the goodput of two receivers in Gbit/s. BCC §V-B: 100 Gbit/s, round-trip time 30 us, 325 KB for each queue, 3 MB for each
/// pool with alpha 1; both marked at egress, and a window of at least two segments, as in Linux.
fn bcc_testbed(ports_per_pool: u32, pool: &str, workloads: &str) -> [f64; 2] {
    let text = format!(
        "
stop = {{ at = '60ms' }}
topology = {{ kind = 'star', hosts = 6, rate = '100Gbps', link_delay = '1us', host_delay = '6.5us' }}
tcp = {{ congestion = 'ecn-star', initial_window = 10, rto = {{ min = '5ms' }}, minimum_window = 2 }}

[switch]
buffer = {{ kind = 'dynamic-threshold', alpha = 1, pool = '3MB', ports_per_pool = {ports_per_pool} }}
markers = [{{ kind = 'threshold', k = '325KB', at = 'dequeue' }}{pool}]
{workloads}
"
    );
    let report = run(&text, &[]);
    [0, 1]
        .map(|host| report.queues(&format!("switch0->host{host}"))[0].sent_bytes.0 as f64 * 8.0 / 0.06 / 1e9)
}

fn pool_threshold(bytes: &str) -> String {
    format!(", {{ kind = 'threshold', k = '{bytes}', scope = 'pool', at = 'dequeue' }}")
}

#[test]
fn the_threshold_of_a_pool_acts_on_the_ports_of_that_pool_alone() {
    // BCC Table IV: two ports in different pools under sixteen ECN* flows each. A pool threshold of 350 KB, above that of
    // the queue, changes nothing (91.02 to 90.94 Gbit/s); one of 150 KB costs both alike (78.43 and 77.89).
    let flows = "
[[workload]]
kind = 'long-lived'
senders = '2..4'
receivers = '0..1'
per_pair = 8

[[workload]]
kind = 'long-lived'
senders = '4..6'
receivers = '1..2'
per_pair = 8
";
    let without = bcc_testbed(1, "", flows);
    let high = bcc_testbed(1, &pool_threshold("350KB"), flows);
    let low = bcc_testbed(1, &pool_threshold("150KB"), flows);
    for port in 0..2 {
        assert!((high[port] / without[port] - 1.0).abs() < 0.005, "{without:?} and {high:?} Gbit/s");
        // The loss is smaller than in the testbed: without TSO's bursts, sixteen flows halve at different times.
        assert!(low[port] < 0.98 * without[port], "{without:?} and {low:?} Gbit/s");
    }
    println!("{without:?}, {high:?}, {low:?} Gbit/s");
    assert!((low[0] / low[1] - 1.0).abs() < 0.05, "{low:?} Gbit/s");
}

#[test]
fn a_neighbour_that_fills_the_pool_costs_goodput_below_its_occupancy() {
    // BCC Fig. 9: sixteen ECN* flows, and datagrams at 200 % of the neighbour's port, which then holds half of the pool,
    // 1.5 MB. Thresholds of 500, 1600, 1650, 1700 and 1750 KB gave 8.0, 57, 77, 87 and 89 Gbit/s: with all packets
    // marked, each flow keeps two segments in flight; from about 1.5 MB on there is room to grow. In simulation the last steps are
    // closer together: 100 KB of room suffice for smooth flows (BCC Fig. 1 shows the need of TSO's bursts, 325 KB).
    let load = "
[[workload]]
kind = 'long-lived'
senders = '2..4'
receivers = '0..1'
per_pair = 8

[[workload]]
kind = 'udp'
senders = '4..6'
receivers = '1..2'
pattern = { kind = 'constant', rate = '100Gbps' }
overload = true
ecn = true
";
    let goodput = |threshold: &str| bcc_testbed(2, &pool_threshold(threshold), load)[0];
    let [closed, middle, open] = ["500KB", "1510KB", "1750KB"].map(goodput);
    println!("{closed}, {middle}, {open} Gbit/s");
    assert!((10.0..14.0).contains(&closed), "16 flows of two segments in 30 us are 12.8: {closed} Gbit/s");
    assert!(middle > 3.0 * closed && middle < 0.97 * open, "{closed}, {middle}, {open} Gbit/s");
    assert!(open > 99.0, "{open} Gbit/s");
}

/// Runs a star at 10 Gbit/s with the markers of DCTCP and Pulser. Pulser's marker averages over `samples` samples.
fn pulser(samples: u32, stop: &str, workload: &str) -> Report {
    let text = format!(
        "
stop = {{ at = '{stop}' }}
topology = {{ kind = 'star', hosts = 26, rate = '10Gbps', link_delay = '10us', host_delay = '10us' }}
tcp = {{ congestion = 'dctcp', rto = {{ min = '10ms' }} }}
measure = {{ traces = [{{ ports = ['switch0->host0'] }}] }}

[switch]
buffer = {{ kind = 'static-partition', per_port = '1MB' }}
markers = [{{ kind = 'threshold', k = '65p' }}, {{ kind = 'ein', high_water = '65p', samples = {samples} }}]
{workload}
"
    );
    run(&text, &[("measure.traces", if stop == "1s" { "[]" } else { "[{ ports = ['switch0->host0'] }]" })])
}

#[test]
fn incast_is_notified_within_the_first_n_dequeues() {
    // Pulser §III-A: 24 senders answer at once, each with an initial window of ten packets. The backlog grows by 23
    // packets in each packet time, 23 times the line rate, so that N samples average above 0.25 after N · 0.25/23 of them
    // have been taken: the second dequeue at N = 100.
    let incast = "
[[workload]]
kind = 'incast'
senders = '1..25'
receivers = '0..1'
size = '32KB'
";
    for samples in [10, 50, 100] {
        let report = pulser(samples, "5ms", incast);
        let port = report.port("switch0->host0").unwrap();
        let unnotified = port.sent - port.incast;
        let first = report.port_trace("switch0->host0", "incast", None).find(|(_, value)| *value == 1.0);
        assert!(first.is_some(), "N = {samples}: never notified");
        let (first, _) = first.expect("checked above");
        let (began, _) = report
            .port_trace("switch0->host0", "backlog_bytes", None)
            .find(|(_, value)| *value > 0.0)
            .unwrap();
        // A packet of 1,500 B takes 1.2 us.
        let dequeues = (first - began).as_micros_f64() / 1.2;
        assert!(dequeues <= f64::from(samples), "N = {samples}: after {dequeues} dequeues");
        assert!(unnotified < u64::from(samples) + 24 * 22 / 2, "N = {samples}: {unnotified} pass unnotified");
    }
}

#[test]
fn a_steady_state_of_long_flows_is_no_incast() {
    // One second of two long DCTCP flows: notified in their slow start, if at all, and never again.
    let two = "
[[workload]]
kind = 'long-lived'
senders = '1..3'
receivers = '0..1'
";
    for samples in [10, 50, 100] {
        let early = pulser(samples, "10ms", two).port("switch0->host0").unwrap().incast;
        let all = pulser(samples, "1s", two).port("switch0->host0").unwrap().incast;
        println!("N = {samples}: {early} packets notified in slow start");
        println!("N = {samples}: {} in the second that follows", all - early);
        // Over ten packet times the jitter of two senders occasionally looks like a growth of 2.5 packets.
        assert!(samples == 10 || early == all, "N = {samples}: {early} in the first 10 ms, {all} in all");
    }
}
