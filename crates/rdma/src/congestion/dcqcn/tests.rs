//! Tests of DCQCN's reaction point: traces worked by hand, and the fixed point of the fluid model.

use shallows_core::random::Stream;

use super::*;

fn us(time: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(time)
}

fn assert_near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-9, "{found}, expected {expected}");
}

#[test]
fn rates_follow_a_trace_worked_by_hand() {
    let config = Config::sigcomm15();
    let mut flow = Dcqcn::new(&config, Rate::from_gbps(40));
    assert_eq!((flow.pace(), flow.deadline()), (Pace { rate: Rate::from_gbps(40), window: None }, None));
    // α is 1 at the first CNP and stays 1 after it: 255/256·1 + 1/256.
    flow.on_cnp(&config, us(0));
    assert_eq!((flow.current, flow.target, flow.alpha), (20e9, 40e9, 1.0));
    flow.on_cnp(&config, us(50));
    assert_eq!((flow.current, flow.target, flow.alpha), (10e9, 20e9, 1.0));
    // Timers at 105 and 160 µs: (20 + 10)/2 = 15, (20 + 15)/2 = 17.5.
    assert_eq!(flow.deadline(), Some(us(105)));
    flow.on_timer(&config, us(105));
    assert_eq!((flow.current, flow.target, flow.deadline()), (15e9, 20e9, Some(us(160))));
    flow.on_timer(&config, us(160));
    assert_eq!((flow.current, flow.target), (17.5e9, 20e9));
    // CNP 120 µs after the last one: α = (255/256)² = 0.9922027588, R_C = 17.5·(1 − 0.4961013794) = 8.8182258606.
    flow.on_cnp(&config, us(170));
    assert_near(flow.current, 8.818_225_860_595_703e9);
    assert_near(flow.alpha, 255.0 / 256.0 * (255.0 / 256.0) * (255.0 / 256.0) + 1.0 / 256.0);
    // Five halvings of R_T − R_C = 8.6817741394, to 0.2713054419, and then R_T = 17.54: R_C = (17.54 + 17.2286945581)/2.
    flow.on_timer(&config, us(170 + 5 * 55));
    assert_eq!(flow.target, 17.5e9);
    assert_near(flow.current, 17.228_694_558_143_616e9);
    flow.on_timer(&config, us(170 + 6 * 55));
    assert_eq!(flow.target, 17.54e9);
    assert_near(flow.current, 17.384_347_279_071_808e9);
    assert_eq!(flow.digest(), Digest { cnps: 3, cuts: 3, increases: 8, telemetry: 0 });
}

#[test]
fn the_byte_counter_increases_the_rate_and_both_counters_start_hyper_increases() {
    let config = Config {
        increase_bytes: Some(Bytes(3_000)),
        fast_recovery: 1,
        hyper_increase: Some(Rate(200_000_000)),
        ..Config::sigcomm15()
    };
    let mut flow = Dcqcn::new(&config, Rate::from_gbps(40));
    flow.on_cnp(&config, us(0));
    let expire = |flow: &mut Dcqcn| {
        for _ in 0..2 {
            flow.on_send(&config, Bytes(1_500));
        }
    };
    flow.target = 30e9;
    // BC 1 is fast recovery, BC 2 and 3 are additive: targets 30, 30.04, 30.08.
    for (current, target) in [(25e9, 30e9), (27.52e9, 30.04e9), (28.8e9, 30.08e9)] {
        expire(&mut flow);
        assert_eq!((flow.current, flow.target), (current, target));
    }
    // T 1 is additive, because BC is beyond F. T 2 exceeds F by 1: hyper. T 3 exceeds F by 2.
    for target in [30.12e9, 30.32e9, 30.72e9] {
        let at = flow.deadline().unwrap();
        flow.on_timer(&config, at);
        assert_eq!(flow.target, target);
    }
}

#[test]
fn the_limiter_ends_at_line_rate_and_the_minimum_holds() {
    let config = Config { window: Window::Variable(Duration::from_micros(8)), ..Config::sigcomm15() };
    let mut flow = Dcqcn::new(&config, Rate::from_gbps(40));
    for time in 0..20 {
        flow.on_cnp(&config, us(50 * time));
    }
    assert_eq!(flow.pace().rate, Rate(10_000_000));
    // 10 Mb/s for 8 µs.
    assert_eq!(flow.pace().window, Some(Bytes(10)));
    flow.on_timer(&config, us(10_000_000));
    assert_eq!(flow.pace(), Pace { rate: Rate::from_gbps(40), window: Some(Bytes(40_000)) });
    assert_eq!(flow.deadline(), None);
    flow.on_cnp(&config, us(10_000_001));
    assert_near(flow.current / flow.target, 1.0);
}

/// Shortest time between two CNPs, in seconds.
const NP_WINDOW: f64 = 50e-6;
const PACKET: Bytes = Bytes(1_000);

/// Rate changes of an unmarked flow at the expiries of its timer and its byte counter. Each change starts from the same current and target
/// rates.
struct Increases {
    /// Number of packets before each expiry, and the changes of the current and the target rate at that expiry.
    expiries: Vec<(f64, f64, f64)>,
}

impl Increases {
    /// Drives a flow for `packets` packets after a CNP.
    fn of(config: &Config, current: f64, target: f64, packets: u64) -> Self {
        let mut flow = Dcqcn::new(config, Rate::from_gbps(400));
        flow.on_cnp(config, Instant::ZERO);
        let mut expiries = Vec::new();
        for packet in 0..packets {
            let now = Instant((packet as f64 * 8e3 / current * 1e12) as u64);
            for of_timer in [true, false] {
                (flow.current, flow.target) = (current, target);
                if of_timer {
                    flow.on_timer(config, now);
                } else {
                    flow.on_send(config, PACKET);
                }
                if flow.current != current {
                    expiries.push((packet as f64, flow.current - current, flow.target - target));
                }
            }
        }
        Self { expiries }
    }

    /// Returns the mean changes of the current and the target rate between two marks, if each packet is marked with probability `p`.
    fn between_marks(&self, p: f64) -> (f64, f64) {
        self.expiries.iter().fold((0.0, 0.0), |(current, target), (packets, by_current, by_target)| {
            let weight = libm::pow(1.0 - p, *packets);
            (current + weight * by_current, target + weight * by_target)
        })
    }
}

/// Returns the marking probability at which a flow keeps the mean rate `rate` in the fluid model (SIGCOMM '15, section 5). In the model,
/// the rate is cut in each window of 50 µs that contains a mark, and each mark restarts the counters. The code under test supplies the
/// change of the rate at each event.
fn fixed_point(config: &Config, rate: f64) -> f64 {
    let per_second = rate / 8e3;
    // At the smallest p of the search, expiries whose weight is below e⁻²⁰ are left out.
    let gap = 20.0 / 1e-4;
    let spread = 1e9;
    let (even, apart) = (
        Increases::of(config, rate, rate, gap as u64),
        Increases::of(config, rate, rate + spread, gap as u64),
    );
    let (mut low, mut high) = (1e-4, 1e-1);
    while high / low > 1.0 + 1e-9 {
        let p = libm::sqrt(low * high);
        // α stays the same on average: a share of the periods of 55 µs has a mark.
        let marked_period = 1.0 - libm::pow(1.0 - p, per_second * config.alpha_period.as_secs_f64());
        let mut flow = Dcqcn::new(config, Rate::from_gbps(400));
        for _ in 0..10_000 {
            let mut up = flow.clone();
            up.on_cnp(config, Instant::ZERO);
            flow.notified = Some(Instant::ZERO);
            let down = flow.alpha_at(config, Instant::ZERO + config.alpha_period);
            flow.alpha = marked_period * up.alpha + (1.0 - marked_period) * down;
        }
        (flow.current, flow.notified) = (rate, None);
        flow.on_cnp(config, Instant::ZERO);
        let cuts = (1.0 - libm::pow(1.0 - p, per_second * NP_WINDOW)) / NP_WINDOW;
        // The current rate stays the same, which yields R_T − R_C. As in the model, R_C gains half of this difference at each expiry, and
        // nothing from R_AI directly. With the half of R_AI that it also gains in the code, p would be 3 to 5 % larger.
        let (gained, _) = even.between_marks(p);
        let (gained_apart, raised) = apart.between_marks(p);
        let needed = cuts * (rate - flow.current);
        let difference = needed / (per_second * p * (gained_apart - gained) / spread);
        // The target rate stays the same: a cut lowers it by the difference.
        if cuts * difference > per_second * p * raised {
            high = p;
        } else {
            low = p;
        }
    }
    low
}

#[test]
fn the_fixed_point_is_that_of_the_fluid_model() {
    // Marking probabilities that solve the model's equations in closed sums, for N = 2, 4, 8, 16 and 32 flows of C/N.
    let table = [
        (40.0, [7.77e-4, 1.89e-3, 4.55e-3, 1.09e-2, 2.56e-2]),
        (100.0, [2.39e-4, 5.83e-4, 1.42e-3, 3.43e-3, 8.23e-3]),
    ];
    let mut rows = Vec::new();
    for (capacity, probabilities) in table {
        for (flows, expected) in [2.0, 4.0, 8.0, 16.0, 32.0].into_iter().zip(probabilities) {
            let found = fixed_point(&Config::sigcomm15(), capacity * 1e9 / flows);
            rows.push((capacity, flows, found / expected));
        }
    }
    assert!(rows.iter().all(|row| (row.2 - 1.0).abs() < 0.006), "{rows:?}");
}

/// Returns the mean rate of a flow whose packets are marked at random with probability `p`.
fn mean_rate(p: f64) -> f64 {
    let config = Config::sigcomm15();
    let mut flow = Dcqcn::new(&config, Rate::from_gbps(40));
    let mut marks = Stream::new(1, "marks", 0);
    let (mut now, mut sent_at, mut start) = (0.0, 0u32, 0.0);
    let (mut window, mut marked) = (0, false);
    let (first, last) = (500_000, 5_000_000);
    for packet in 0..last {
        let at = Instant((now * 1e12) as u64);
        flow.on_timer(&config, at);
        if (now / NP_WINDOW) as u64 != window {
            window = (now / NP_WINDOW) as u64;
            if std::mem::take(&mut marked) {
                flow.on_cnp(&config, at);
            }
        }
        flow.on_send(&config, PACKET);
        marked |= marks.uniform() < p;
        if packet == first {
            (start, sent_at) = (now, packet);
        }
        now += 8e3 / flow.current;
    }
    f64::from(last - sent_at) * 8e3 / (now - start)
}

// Random rates are not mean rates, and the code gains half of R_AI directly: the mean rate is up to 6 % above the model's.
#[test]
fn flows_with_random_marks_keep_about_the_rate_of_the_fluid_model() {
    let mut rows = Vec::new();
    for (flows, p) in [(2.0, 7.77e-4), (4.0, 1.89e-3), (8.0, 4.55e-3), (16.0, 1.09e-2), (32.0, 2.56e-2)] {
        rows.push((flows, mean_rate(p) * flows / 40e9));
    }
    assert!(rows.iter().all(|row| (row.1 - 1.04).abs() < 0.03), "{rows:?}");
}
