//! Tests of fairness between two identical flows through one full buffer: losses and goodput over many seeds.
//!
//! A deterministic simulator starves one of the flows (Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched
//! Gateways", 1992): packets of both arrive in lock-step, and the same flow always finds the buffer full. The jitter of
//! hosts, which is on by default, prevents this.

use crate::common;

/// Two flows at line rate into one port with 50 packets, for 100 ms.
const SCENARIO: &str = r#"
stop.at = "100ms"

[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
link_delay = "5us"

[switch]
buffer = { kind = "static-partition", per_port = "50p" }

[tcp]
congestion = "reno"
rto = { min = "5ms" }

[[workload]]
kind = "long-lived"
senders = "0..2"
receivers = 2
"#;

const SEEDS: u32 = 24;
const DCTCP: [(&str, &str); 2] =
    [("tcp.congestion", "dctcp"), ("switch.markers", "[{ kind = 'threshold', k = '20p' }]")];

/// Results of the two flows in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    retransmits: [u32; 2],
    delivered: [u64; 2],
}

impl Outcome {
    /// Returns the retransmissions of the first flow divided by those of both flows.
    fn loss_share(&self) -> f64 {
        let [first, second] = self.retransmits.map(f64::from);
        first / (first + second)
    }

    /// Returns the delivered bytes of the first flow divided by those of both flows.
    fn goodput_share(&self) -> f64 {
        let [first, second] = self.delivered.map(|bytes| bytes as f64);
        first / (first + second)
    }

    /// Returns the same results with the two flows exchanged.
    fn mirrored(self) -> Self {
        let exchanged = |[a, b]: [u32; 2]| [b, a];
        let [a, b] = self.delivered;
        Self { retransmits: exchanged(self.retransmits), delivered: [b, a] }
    }
}

fn outcomes(sets: &[(&str, &str)]) -> Vec<Outcome> {
    let outcome = |seed: u32| {
        let seed = seed.to_string();
        let report = common::run(SCENARIO, &[sets, &[("seed", seed.as_str())]].concat());
        let flows: Vec<_> = report.flows().collect();
        assert_eq!(flows.iter().map(|flow| flow.source.0).collect::<Vec<_>>(), [0, 1]);
        Outcome {
            retransmits: [flows[0].retransmits, flows[1].retransmits],
            delivered: [flows[0].delivered.0, flows[1].delivered.0],
        }
    };
    (1..=SEEDS).map(outcome).collect()
}

/// Returns the mean of the shares, and four of its standard errors, estimated from the variance. With a fair simulator the test fails for
/// one of 1,800 choices of seeds (Student's t with 23 degrees of freedom), and these seeds are fixed.
fn mean_and_margin(shares: &[f64]) -> (f64, f64) {
    let n = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / n;
    let variance = shares.iter().map(|share| (share - mean) * (share - mean)).sum::<f64>() / (n - 1.0);
    (mean, 4.0 * (variance / n).sqrt())
}

/// Checks that the mean share is one half within a small margin, and that no run is far from it.
fn even(what: &str, shares: &[f64], largest_margin: f64, worst: f64) {
    let (mean, margin) = mean_and_margin(shares);
    println!("{what}: {mean:.4} ± {margin:.4}");
    assert!(margin <= largest_margin, "{what}: {margin} is too wide to show anything");
    assert!((mean - 0.5).abs() <= margin, "{what}: {mean}, expected 0.5 ± {margin}");
    let bounds = (0.5 - worst)..=(0.5 + worst);
    assert!(shares.iter().all(|share| bounds.contains(share)), "{what}: one flow is locked out: {shares:?}");
}

#[test]
fn two_symmetric_reno_flows_share_loss_and_goodput_evenly() {
    let outcomes = outcomes(&[]);
    let lost: Vec<f64> = outcomes.iter().map(Outcome::loss_share).collect();
    let got: Vec<f64> = outcomes.iter().map(Outcome::goodput_share).collect();
    // Some 270 retransmissions per run, in bursts of a few, have a standard deviation of about 0.04 per run; 0.2 is five of these.
    even("share of retransmissions", &lost, 0.04, 0.2);
    // Windows drift apart for tens of round trips, which gives about 0.03.
    even("share of goodput", &got, 0.04, 0.15);
}

#[test]
fn two_symmetric_dctcp_flows_share_goodput_evenly() {
    let got: Vec<f64> = outcomes(&DCTCP).iter().map(Outcome::goodput_share).collect();
    even("share of goodput", &got, 0.04, 0.15);
}

#[test]
fn without_jitter_the_order_of_equal_times_decides_and_the_seed_draws_it() {
    for scheme in [&[][..], &DCTCP] {
        let outcomes = outcomes(&[scheme, &[("host.jitter", "off")]].concat());
        let first = outcomes[0];
        println!("jitter off: {first:?}");
        // Only the order of simultaneous events is random, and the hosts differ only in their numbers.
        assert!(outcomes.iter().all(|&outcome| outcome == first || outcome == first.mirrored()));
        // A fair coin shows the same side 24 times in a row once in eight million.
        assert!(outcomes.contains(&first.mirrored()));
    }
}
