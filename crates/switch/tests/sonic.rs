//! The ECN test plans that SONiC runs on switches (sonic-mgmt, `docs/testplan/ECN_test.md` and
//! `docs/testplan/ecn/ECN_Broadcom_DNX_Test_Cases.md`), applied to a port of this crate.
//!
//! Egress is paused, packets of one size arrive, egress resumes, and the test reads the mark of each packet that leaves. A
//! long packet on the wire takes the place of the pause. Not modelled: packets past the marker in the egress queue of a VOQ
//! system, and bundles in its DRAM that are marked as a whole.

use shallows_core::packet::{Ecn, Header};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant, Rate};
use shallows_switch::Port;
use shallows_switch::aqm::{self, Gauge, Placed, Point, Spacing};
use shallows_switch::buffer::{self, Policy, ReservedRule, SharedBuffer};
use shallows_switch::port::{Arrival, Config, Ingress};

/// A WRED profile.
#[derive(Clone, Copy)]
struct Profile {
    kmin: u64,
    kmax: u64,
    pmax: f64,
}

impl Profile {
    /// Returns the probability that the test plan states for a queue of `q` bytes.
    fn probability(self, q: u64) -> f64 {
        match q {
            q if q < self.kmin => 0.0,
            q if q >= self.kmax => 1.0,
            q => self.pmax * (q - self.kmin) as f64 / (self.kmax - self.kmin) as f64,
        }
    }
}

/// Returns whether each of `count` packets of `size` is marked when it leaves the port after a pause, in order.
fn marks(profile: Profile, count: u64, size: u16, point: Point, seed: u64) -> Vec<bool> {
    let mut buffer = SharedBuffer::new(&buffer::Config {
        policy: Policy::CompleteSharing,
        pools: vec![Bytes(64 << 20)],
        reserved_rule: ReservedRule::Exact,
        cell: None,
    });
    let account = buffer.add_queue(0, Bytes(0));
    let marker = aqm::Config::Red {
        gauge: Gauge { point, ..Gauge::default() },
        kmin: Bytes(profile.kmin).into(),
        kmax: Bytes(profile.kmax).into(),
        pmax: profile.pmax,
        spacing: Spacing::Independent,
    };
    let config = Config { markers: vec![Placed::everywhere(marker)], ..Config::default() };
    let stream = |purpose, place| Stream::new(seed, purpose, place as u64);
    let mut port: Port<u64> = Port::new(Rate::from_gbps(100), account, &config, stream);
    let packet = Header::default().with_ecn(Ecn::Ect).with_size(size);
    let mut dropped = vec![];
    let pause = port.receive(Instant::ZERO, Ingress::NONE, packet, u64::MAX, &mut buffer, &mut dropped);
    assert!(matches!(pause, Arrival::Sent(_)));
    for payload in 0..count {
        let arrival = port.receive(Instant::ZERO, Ingress::NONE, packet, payload, &mut buffer, &mut dropped);
        assert!(matches!(arrival, Arrival::Queued), "the port is paused");
    }
    let released = (0..count).map(|payload| {
        let now = port.busy_until();
        let departure = port.transmit_next(now, &mut buffer, &mut dropped).expect("every packet is received");
        assert_eq!(departure.payload, payload);
        departure.header.ecn() == Ecn::Ce
    });
    let marks = released.collect();
    assert!(!port.has_backlog() && dropped.is_empty());
    port.audit(&buffer);
    marks
}

/// Returns the value that χ² exceeds with probability 0.001, by degrees of freedom (Wilson and Hilferty's cube, within 1 %).
fn one_in_a_thousand(degrees: usize) -> f64 {
    let part = 2.0 / (9.0 * degrees as f64);
    let root = 1.0 - part + 3.0902 * part.sqrt();
    degrees as f64 * root * root * root
}

/// Group of neighbours in the queue whose marks are counted together.
#[derive(Clone, Copy, Default)]
struct Neighbours {
    expected: f64,
    variance: f64,
    found: f64,
}

/// Compares the marks at each position in repeated runs with the probability of a mark there. Positions with probability 0 or 1
/// must match in every run; the others are compared in groups of neighbours by χ². Returns the number of groups.
fn check_curve(profile: Profile, count: u64, size: u16, runs: u64) -> usize {
    let mut marked = vec![0u64; count as usize];
    for seed in 0..runs {
        let run = marks(profile, count, size, Point::Dequeue, seed);
        marked.iter_mut().zip(run).for_each(|(sum, mark)| *sum += u64::from(mark));
    }
    let (mut groups, mut group) = (vec![], Neighbours::default());
    for (place, &found) in marked.iter().enumerate() {
        // Packet i = 1, 2, … leaves count − i packets behind.
        let left = (count - 1 - place as u64) * u64::from(size);
        let p = profile.probability(left);
        if p == 0.0 || p == 1.0 {
            let expected = if p == 1.0 { runs } else { 0 };
            assert_eq!(found, expected, "packet {}, which leaves {left} B behind", place + 1);
            continue;
        }
        group.expected += p * runs as f64;
        group.variance += p * (1.0 - p) * runs as f64;
        group.found += found as f64;
        // The sum of a full group is nearly normal. The rest at the lower end is too rare to test.
        if group.variance >= 25.0 {
            groups.push(std::mem::take(&mut group));
        }
    }
    let off = |group: &Neighbours| group.found - group.expected;
    let chi2: f64 = groups.iter().map(|group| off(group) * off(group) / group.variance).sum();
    let most = one_in_a_thousand(groups.len().max(1));
    assert!(chi2 < most, "{count} packets: χ² = {chi2} in {} groups, at most {most}", groups.len());
    groups.len()
}

#[test]
fn ecn_marking_at_egress_marks_the_first_packet_and_not_the_last() {
    // 2 · Kmax in packets of 1 KB: the first packet leaves 101 KB behind, the last none.
    let profile = Profile { kmin: 50_000, kmax: 51_000, pmax: 0.05 };
    let marks = marks(profile, 2 * 51, 1_000, Point::Dequeue, 1);
    assert!(marks[0] && !marks[101]);
    // Packet 51 leaves 51 KB behind and is the last that must be marked; packet 53 leaves 49 KB.
    assert!(marks[..51].iter().all(|&mark| mark) && !marks[52..].iter().any(|&mark| mark));
}

#[test]
fn the_plan_tells_marking_at_enqueue_from_marking_at_egress() {
    let profile = Profile { kmin: 50_000, kmax: 51_000, pmax: 0.05 };
    let marks = marks(profile, 2 * 51, 1_000, Point::Enqueue, 1);
    assert!(!marks[0] && marks[101], "the last packet found the most");
}

#[test]
fn ecn_marking_accuracy_holds_over_200_runs() {
    // Kmax + 10 packets of 1 KB; packet i leaves (Kmax + 10 − i) KB behind. The first ten leave at least Kmax, the next 1,500
    // are marked with a probability that falls from 5 % to 0, and the last 500 are never marked.
    let profile = Profile { kmin: 500_000, kmax: 2_000_000, pmax: 0.05 };
    assert_eq!(profile.probability(1_250_000), 0.025);
    // Σ 200 · 5 % · (q − 500)/1500 over q = 500 … 1999 is an expected number of 7,495 marks.
    assert!(check_curve(profile, 2_010, 1_000, 200) > 200);
}

#[test]
fn the_cases_for_broadcom_dnx_hold_for_every_probability_and_number_of_packets() {
    for percent in [5, 25, 50, 75] {
        let profile = Profile { kmin: 800_000, kmax: 2_000_000, pmax: f64::from(percent) / 100.0 };
        // Below Kmin (the plan rounds its 819,200 B to Kmin; the first packet leaves 818,176 B behind, and 18 packets
        // leave more than 800,000), between the thresholds, slightly above Kmax, and twice that.
        for count in [800, 1_600, 2_400, 4_000] {
            let groups = check_curve(profile, count, 1_024, 50);
            assert!(groups > 10 || count == 800, "{count} packets: {groups} groups");
        }
        // Kmin is 781.25 packets: with 781 or fewer none is marked.
        assert!(!marks(profile, 781, 1_024, Point::Dequeue, 1).contains(&true));
        // Kmax is 1953.1 packets: of 4,000, the packets that leave at least 1,954 behind are always marked.
        let certain = marks(profile, 4_000, 1_024, Point::Dequeue, 1);
        assert!(certain[..4_000 - 1_954].iter().all(|&mark| mark));
        assert!(!certain[4_000 - 782..].contains(&true), "and none that leaves 781 or fewer");
    }
}
