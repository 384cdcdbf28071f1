//! Single rules of congestion controls: limits, presets and α.

use shallows_core::rdma::{RdmaReply, RdmaReplyKind};
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_rdma::congestion::{
    Ack, Algorithm, Config, Loss, Telemetry, connectx, dcqcn, dctcp, hpcc, powertcp, swift, timely,
};
use shallows_rdma::{Recovery, Requester};

use crate::flight::{OVERHEAD, RATE};
use crate::pair;

const LINE: Rate = Rate::from_gbps(100);
/// Round-trip time in which `LINE` sends 100,000 bytes.
const RTT: Duration = Duration::from_micros(8);

fn us(time: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(time)
}

/// Acknowledges 1,000 bytes, `number` in total, of a packet with this round-trip time and telemetry. The same number of bytes has been sent.
fn ack(
    flow: &mut Algorithm,
    config: &Config,
    now: Instant,
    number: u64,
    rtt: Duration,
    telemetry: &[Telemetry],
) {
    let acked = Bytes(1_000);
    flow.on_ack(
        config,
        &Ack { now, number, acked, next: number, rtt, marked: false, telemetry, utilisation: None },
    );
}

/// Telemetry of a hop of rate `LINE`.
fn hop(time: u64, sent: u64, backlog: u64) -> Telemetry {
    Telemetry { at: us(time), sent, backlog: Bytes(backlog), rate: LINE }
}

#[test]
fn hpccs_additive_increase_leaves_room_for_100_flows() {
    // 100,000 bytes * (1 - 0.95) / 100.
    assert_eq!(hpcc::Config::sigcomm19(LINE, RTT).additive_increase, Bytes(50));
}

#[test]
fn hpcc_measures_over_the_time_of_the_first_of_two_equal_hops() {
    let config = Config::Hpcc(hpcc::Config::sigcomm19(LINE, RTT));
    let mut flow = config.build(LINE);
    ack(&mut flow, &config, us(10), 1_000, RTT, &[hop(0, 0, 100_000), hop(0, 0, 100_000)]);
    // Both hops have a queue of B*T and send at line rate, so u = 2: the first over 4 µs, and the second over 8 µs. U = 0.5*1 + 0.5*2 = 1.5.
    let hops = [hop(4, 50_000, 100_000), hop(8, 100_000, 100_000)];
    ack(&mut flow, &config, us(18), 2_000, RTT, &hops);
    // 100,000/(1.5/0.95) + 50.
    assert_eq!(flow.pace().window, Some(Bytes(63_383)));
}

#[test]
fn hpcc_below_its_target_adds_its_increase_to_the_reference() {
    let config = Config::Hpcc(hpcc::Config { max_stage: 5, ..hpcc::Config::sigcomm19(LINE, RTT) });
    let mut flow = config.build(LINE);
    ack(&mut flow, &config, us(10), 1_000, RTT, &[hop(0, 0, 100_000)]);
    // u = 2 over 8 µs: W = 100,000/(2/0.95) + 50 = 47,550.
    ack(&mut flow, &config, us(18), 2_000, RTT, &[hop(8, 100_000, 100_000)]);
    assert_eq!(flow.pace().window, Some(Bytes(47_550)));
    // u = 0.5 over 8 µs.
    ack(&mut flow, &config, us(26), 3_000, RTT, &[hop(16, 150_000, 0)]);
    assert_eq!(flow.pace().window, Some(Bytes(47_600)));
}

#[test]
fn powertcps_window_is_at_least_that_of_its_smallest_rate() {
    let settings = powertcp::Config {
        weight: 1.0,
        additive_increase: Bytes(0),
        ..powertcp::Config::nsdi22(powertcp::Signal::Delay, LINE, RTT, 10)
    };
    let config = Config::PowerTcp(settings);
    let mut flow = config.build(LINE);
    // A constant round-trip time of 1,000 τ is a power of 1,000, by which each update divides the window: 100,000, 100 and 0.1 bytes.
    for update in 1..4 {
        ack(&mut flow, &config, us(8_000 * update), 1_000 * update, Duration::from_millis(8), &[]);
    }
    // 100 Mb/s for 8 µs.
    assert_eq!(flow.pace().window, Some(Bytes(100)));
}

#[test]
fn dcqcns_byte_counter_keeps_the_bytes_above_its_limit() {
    let settings = dcqcn::Config { increase_bytes: Some(Bytes(3_000)), ..dcqcn::Config::sigcomm15() };
    let config = Config::Dcqcn(settings);
    let mut flow = config.build(LINE);
    flow.on_cnp(&config, us(0));
    // 4,000 of 3,000 bytes after the second packet, and 1,000 + 2,000 after the third one: two increases of fast recovery.
    let rates = [0; 4].map(|_| {
        let is_changed = flow.on_send(&config, Bytes(2_000));
        (is_changed, flow.pace().rate.0 / 1_000_000)
    });
    assert_eq!(rates, [(false, 50_000), (true, 75_000), (true, 87_500), (false, 87_500)]);
}

#[test]
fn a_check_between_two_updates_of_alpha_keeps_the_notification() {
    let settings = connectx::Config {
        gain: 0.25,
        alpha_period: Duration::from_micros(5),
        decrease_period: Duration::from_micros(4),
        ..connectx::Config::connectx()
    };
    let config = Config::ConnectX(settings);
    let mut flow = config.build(LINE);
    flow.on_cnp(&config, us(0));
    flow.on_timer(&config, us(4));
    // The update at 5 µs contains no CNP: α = 0.75. The check at 8 µs reads α, and the update at 10 µs contains the CNP at 6 µs.
    flow.on_cnp(&config, us(6));
    flow.on_timer(&config, us(8));
    assert_eq!((flow.digest().cuts, flow.alpha(&config, us(10))), (2, Some(0.75 * 0.75 + 0.25)));
}

#[test]
fn dctcps_alpha_decays_after_a_round_trip_time_without_marks() {
    let config = Config::RdmaDctcp(dctcp::Config::hpcc_repo(Bytes(1_000), RTT));
    let mut flow = config.build(LINE);
    assert_eq!(flow.alpha(&config, us(0)), Some(1.0));
    for packet in [1, 2] {
        ack(&mut flow, &config, us(packet), 1_000 * packet, RTT, &[]);
    }
    assert_eq!(flow.alpha(&config, us(2)), Some(15.0 / 16.0));
}

#[test]
fn a_requester_returns_the_alpha_of_its_control_at_the_last_call() {
    let without = pair::config(Recovery::GoBackN);
    assert_eq!(Requester::new(without.clone().into(), RATE, OVERHEAD).alpha(), None);
    let congestion = Config::Dcqcn(dcqcn::Config::sigcomm15());
    let with = shallows_rdma::Config { congestion, ..without };
    let mut requester = Requester::new(with.into(), RATE, OVERHEAD);
    requester.post(us(0), 1_000);
    requester.on_reply(us(10), &RdmaReply { kind: RdmaReplyKind::Cnp, ..RdmaReply::default() }, &[]);
    assert_eq!(requester.alpha(), Some(1.0));
    // α decreases 55 µs after a CNP.
    requester.on_timer(us(65));
    assert_eq!(requester.alpha(), Some(255.0 / 256.0));
}

#[test]
fn swift_decreases_at_its_target_delay_and_may_soon_decrease_again() {
    // Without flow scaling and hops, the target is 20 µs.
    let mut settings = swift::Config { scaling_range: Duration::ZERO, ..swift::Config::htsim(Bytes(1_000)) };
    settings.first_window = 8.0;
    let config = Config::Swift(settings);
    let mut flow = config.build(LINE);
    // A delay equal to the target removes nothing of the window, so it is no decrease. A loss at the same time halves the window.
    ack(&mut flow, &config, us(100), 1_000, Duration::from_micros(20), &[]);
    assert_eq!((flow.pace().window, flow.digest().increases), (Some(Bytes(8_000)), 0));
    flow.on_loss(&config, us(100), Loss::Nak);
    assert_eq!(flow.pace().window, Some(Bytes(4_000)));
}

#[test]
fn the_timely_of_hpccs_repository_keeps_a_rate_of_1_gbps() {
    let settings = timely::Config::hpcc_repo(LINE);
    assert_eq!((settings.update, settings.min_rate), (timely::Update::EachRtt, Rate::from_gbps(1)));
}

#[test]
fn timely_above_its_lower_threshold_follows_the_gradient() {
    let settings = timely::Config {
        update: timely::Update::EachRtt,
        weight: 1.0,
        first_rate: Some(Rate::from_gbps(50)),
        ..timely::Config::timely(LINE)
    };
    let config = Config::Timely(settings);
    // The lower threshold is 50 µs, and δ is 100 Mb/s. Round-trip times that grow by 5 µs have a gradient of 5/20, which removes 0.8/4 of the
    // rate at the threshold. Below the threshold, the rate grows.
    for (second, mbps) in [(44, 50_100), (50, 40_000)] {
        let mut flow = config.build(LINE);
        ack(&mut flow, &config, us(100), 1_000, Duration::from_micros(second - 5), &[]);
        ack(&mut flow, &config, us(200), 2_000, Duration::from_micros(second), &[]);
        assert_eq!(flow.pace().rate, Rate(mbps * 1_000_000), "{second} µs");
    }
}
