//! Tests against queueing theory: mean waiting times of M/D/1 and M/M/1, utilisation, and work conservation.
//!
//! Tolerances: 2 %, and every run is long enough that this is at least three standard errors. For the mean of *n*
//! successive waiting times of M/M/1 with unit service times, n·Var = ρ(2 + 5ρ − 4ρ² + ρ³)/(1 − ρ)⁴ (Daley '68,
//! J. Austral. Math. Soc. 8), against a mean of ρ/(1 − ρ): relative standard errors of 4.2/√n, 11.2/√n and 21.1/√n at
//! loads of 0.5, 0.8 and 0.9. M/D/1, which varies less, is below that.

use crate::common;
use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_switch::buffer::{Config, Policy, ReservedRule, SharedBuffer};
use shallows_switch::port::{self, Arrival, Ingress, Port};

const RATE: Rate = Rate::from_gbps(100);
const MEAN_SIZE: Bytes = Bytes(1_500);

/// Loads, each with a sufficient number of packets: 3 · 11.2/√3,000,000 = 1.9 %, 3 · 21.1/√11,000,000 = 1.9 %.
const LOADS: [(f64, u64); 3] = [(0.5, 500_000), (0.8, 3_000_000), (0.9, 11_000_000)];

/// Returns a port with memory for any queue.
fn port() -> (Port<u64>, SharedBuffer) {
    let policy = Policy::CompleteSharing;
    let mut buffer = SharedBuffer::new(&Config {
        policy,
        pools: vec![Bytes(1 << 40)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    let queue = buffer.add_queue(0, Bytes(0));
    let stream = |purpose, place| Stream::new(1, purpose, place as u64);
    (Port::new(RATE, queue, &port::Config::default(), stream), buffer)
}

/// Results of a run with a single port.
#[derive(Debug, Default)]
struct Seen {
    /// Sum of all waiting times.
    waited: f64,
    /// Sum of all transmission times.
    busy: Duration,
    /// Time at which the last bit leaves the port.
    end: Instant,
    last_arrival: Instant,
}

/// Offers `packets` to a port at exponential intervals; `size` draws their sizes. The payload is the time of arrival.
fn serve(load: f64, packets: u64, mut size: impl FnMut() -> u16) -> Seen {
    let (mut port, mut buffer) = port();
    let mut gaps = Stream::new(1, "gaps", 0);
    let mean_gap = RATE.transmission_time(MEAN_SIZE).0 as f64 / load;
    let (mut seen, mut now) = (Seen::default(), Instant::ZERO);
    for _ in 0..packets {
        now = now + Duration((gaps.exponential() * mean_gap).round() as u64);
        seen.waited += transmit_until(now, &mut port, &mut buffer);
        let header = Header::default().with_size(size());
        seen.busy += RATE.transmission_time(header.size());
        let arrival = port.receive(now, Ingress::NONE, header, now.0, &mut buffer, &mut vec![]);
        assert!(!matches!(arrival, Arrival::Dropped), "the buffer holds everything");
    }
    seen.last_arrival = now;
    seen.waited += transmit_until(Instant::MAX, &mut port, &mut buffer);
    port.audit(&buffer);
    buffer.audit();
    seen.end = port.busy_until();
    seen
}

/// Sends the waiting packets that are due by a given time. Returns the sum of their waiting times.
fn transmit_until(end: Instant, port: &mut Port<u64>, buffer: &mut SharedBuffer) -> f64 {
    let mut waited = 0.0;
    while port.has_backlog() && port.busy_until() <= end {
        let start = port.busy_until();
        let departure = port.transmit_next(start, buffer, &mut vec![]).expect("nothing drops what waits");
        waited += (start - Instant(departure.payload)).0 as f64;
    }
    waited
}

/// Returns the mean waiting time in units of the mean transmission time.
fn mean_wait(seen: &Seen, packets: u64) -> f64 {
    seen.waited / packets as f64 / RATE.transmission_time(MEAN_SIZE).0 as f64
}

fn near(found: f64, expected: f64, tolerance: f64) {
    println!("found {found:.4}, expected {expected:.4}");
    assert!((found / expected - 1.0).abs() <= tolerance, "found {found}, expected {expected} ± {tolerance}");
}

#[test]
fn packets_of_one_size_wait_as_in_m_d_1() {
    for (load, packets) in LOADS {
        let seen = serve(load, packets, || MEAN_SIZE.0 as u16);
        // Pollaczek and Khinchine with constant service time: ρ/(2(1 − ρ)) service times.
        near(mean_wait(&seen, packets), load / (2.0 * (1.0 - load)), 0.02);
    }
}

#[test]
fn packets_of_exponential_size_wait_as_in_m_m_1() {
    for (load, packets) in LOADS {
        let mut sizes = Stream::new(1, "sizes", 0);
        // Whole bytes, at least one. Sizes above 43 means, which exceed 16 bits, occur once in 10¹⁸ draws.
        let size = || (sizes.exponential() * MEAN_SIZE.0 as f64).ceil() as u16;
        let seen = serve(load, packets, size);
        // ρ/(1 − ρ) mean service times. Rounding up adds half a byte to 1,500: less than 0.4 % at a load of 0.9.
        near(mean_wait(&seen, packets), load / (1.0 - load), 0.02);
    }
}

#[test]
fn a_port_never_rests_while_something_waits() {
    // Work conservation: the remaining work of a busy port is the sum of the arrivals less one second per second. Lindley's
    // recursion gives the time when the last bit leaves, without a queue.
    let (load, packets) = (0.9, 100_000);
    let mut gaps = Stream::new(1, "gaps", 0);
    let mut sizes = Stream::new(2, "sizes", 0);
    let mut again = sizes.clone();
    let mean_gap = RATE.transmission_time(MEAN_SIZE).0 as f64 / load;
    let (mut now, mut free) = (Instant::ZERO, Instant::ZERO);
    for _ in 0..packets {
        now = now + Duration((gaps.exponential() * mean_gap).round() as u64);
        free = now.max(free) + RATE.transmission_time(Bytes(sizes.below(9_000) + 1));
    }
    let seen = serve(load, packets, || again.below(9_000) as u16 + 1);
    assert_eq!((seen.last_arrival, seen.end), (now, free));
}

#[test]
fn a_port_is_busy_for_the_offered_share_of_time() {
    for (load, packets) in LOADS {
        let seen = serve(load, packets, || MEAN_SIZE.0 as u16);
        // The mean of n exponential gaps is within 4/√n of its expectation, here at most 0.6 %.
        let utilisation = seen.busy.as_secs_f64() / seen.end.as_secs_f64();
        near(utilisation, load, 4.0 / (packets as f64).sqrt());
    }
}

/// Sixty-four hosts share one port that is ten times slower than their own, so that its arrivals are nearly Poisson:
/// packets of one host are a tenth of a service time apart, and one packet in 64 has the same host as its predecessor.
const CONCENTRATOR: &str = r#"
[topology]
kind = "star"
hosts = 65
rate = "100Gbps"
links = [{ between = ["host64", "switch0"], rate = "10Gbps" }]

[switch]
buffer = { kind = "complete-sharing", pool = "1GB" }

[host]
jitter = "off"

[measure]
sample_queues = "7us"

[[workload]]
kind = "udp"
senders = "0..64"
receivers = 64
pattern = { kind = "poisson", rate = "125Mbps" }
"#;

#[test]
fn a_simulated_port_fed_by_many_sources_is_m_d_1() {
    // 64 · 125 Mb/s of 10 Gb/s: a load of 0.8. 2.5 s contain 1,667,000 packets of 1.2 us. By the analogue of the formula
    // above for M/D/1, whose relative error is √½ of that of M/M/1 in heavy traffic, three standard errors are 1.9 %.
    let report = common::run(CONCENTRATOR, &[("stop.at", "2500ms")]);
    let seconds = report.summary()["simulated_s"].as_f64().unwrap();
    let port = report.port("switch0->host64").unwrap();
    let arrivals = port.received as f64 / seconds;
    let load = arrivals * 1.2e-6;
    near(load, 0.8, 4.0 / (port.received as f64).sqrt());
    near(port.sent_bytes.0 as f64 * 8.0 / seconds / 10e9, load, 0.0001);
    // Little's law: the mean backlog is the arrivals during a mean wait. Samples every 7 us measure the time average.
    let samples = (seconds / 7e-6).ceil();
    let backlog = report.backlog("switch0->host64").map(|(_, bytes)| bytes.0).sum::<u64>() as f64 / samples;
    let wait = backlog / 1_500.0 / arrivals / 1.2e-6;
    near(wait, load / (2.0 * (1.0 - load)), 0.02);
}
