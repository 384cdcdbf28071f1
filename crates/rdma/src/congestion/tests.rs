//! Tests of all congestion controls through [`Config`] and [`Algorithm`].

use proptest::prelude::*;
use shallows_core::Duration;

use super::*;

const LINE: Rate = Rate::from_gbps(100);
const RTT: Duration = Duration::from_micros(13);

/// Signals that a scenario must deliver: CNPs, marks in acknowledgements, telemetry, round-trip times, utilisation by PINT.
type Signals = [bool; 5];

const NOTHING: Signals = [false; 5];
const CNPS: Signals = [true, false, false, false, false];
const MARKS: Signals = [false, true, false, false, false];
const TELEMETRY: Signals = [false, false, true, false, false];
const TIMES: Signals = [false, false, false, true, false];
const PINT: Signals = [false, false, false, false, true];

/// Returns all presets and the signals that they use.
fn presets() -> Vec<(Config, Signals)> {
    let power = |signal| Config::PowerTcp(powertcp::Config::nsdi22(signal, LINE, RTT, 10));
    let windowed = dcqcn::Config { window: Window::Variable(RTT), ..dcqcn::Config::sigcomm15() };
    vec![
        (Config::None, NOTHING),
        (Config::Dcqcn(dcqcn::Config::sigcomm15()), CNPS),
        (Config::Dcqcn(windowed), CNPS),
        (Config::ConnectX(connectx::Config::connectx()), CNPS),
        (Config::ConnectX(connectx::Config::hpcc_repo(LINE)), CNPS),
        (Config::Timely(timely::Config::timely(LINE)), TIMES),
        (Config::Timely(timely::Config::hpcc_repo(LINE)), TIMES),
        (Config::Timely(timely::Config::patched(LINE)), TIMES),
        (Config::Swift(swift::Config::htsim(Bytes(4_096))), TIMES),
        (Config::Hpcc(hpcc::Config::sigcomm19(LINE, RTT)), TELEMETRY),
        (Config::HpccPint(hpcc_pint::Config::hpcc_repo(hpcc::Config::sigcomm19(LINE, RTT))), PINT),
        (power(powertcp::Signal::Telemetry), TELEMETRY),
        (power(powertcp::Signal::Delay), TIMES),
        (Config::RdmaDctcp(dctcp::Config::hpcc_repo(Bytes(1_000), RTT)), MARKS),
    ]
}

/// Acknowledges packet `number`, which has 1,000 bytes and was in the queue of the only hop for the time `waited`. The utilisation in
/// PINT's code is 1/2, plus the queue's share `waited`/RTT.
fn ack(
    algorithm: &mut Algorithm,
    config: &Config,
    now: Instant,
    number: u64,
    waited: Duration,
    marked: bool,
) {
    let backlog = LINE.bytes_in(waited);
    let hop = Telemetry { at: now, sent: number * 1_000, backlog, rate: LINE };
    let (rtt, acked, next) = (RTT + waited, Bytes(1_000), number * 1_000 + 160_000);
    let utilisation =
        config.pint().map(|pint| pint.encode(0.5 + waited.as_secs_f64() / RTT.as_secs_f64(), 0.5));
    let ack = Ack { now, number: number * 1_000, acked, next, rtt, marked, telemetry: &[hop], utilisation };
    algorithm.on_ack(config, &ack);
}

#[test]
fn controls_react_to_their_signals_and_to_no_others() {
    for (config, signals) in presets() {
        let found = [
            config.uses_cnps(),
            config.uses_ack_marks(),
            config.uses_telemetry(),
            config.uses_rtt(),
            config.pint().is_some(),
        ];
        assert_eq!(found, signals, "{config:?}");
        let before = config.build(LINE);
        let at = |packet: u64| Instant::ZERO + Duration::from_nanos(80 * packet);
        // Congestion without a CNP or a mark: the queue grows to 1 ms, which telemetry and round-trip times show.
        let mut flow = before.clone();
        for packet in 1..2_000 {
            ack(&mut flow, &config, at(packet), packet, Duration::from_nanos(500 * packet), false);
        }
        assert_eq!(flow.digest().cuts > 0, [TELEMETRY, TIMES, PINT].contains(&signals), "{config:?}");
        // Marks alone, at half of the line rate.
        let mut flow = before.clone();
        for packet in 1..2_000 {
            ack(&mut flow, &config, at(2 * packet), packet, Duration::ZERO, true);
        }
        assert_eq!(flow.pace().rate < LINE, signals == MARKS, "{config:?}");
        // CNPs alone.
        let mut flow = before;
        for cnp in 1..3 {
            flow.on_cnp(&config, at(1_000 * cnp));
            flow.on_timer(&config, at(1_000 * cnp));
        }
        let counts = flow.digest();
        assert_eq!((counts.cnps > 0, counts.cuts > 0), (signals == CNPS, signals == CNPS), "{config:?}");
        assert_eq!(flow.alpha(&config, at(3_000)).is_some(), signals == CNPS || signals == MARKS);
        assert_eq!(flow.pace().rate < LINE, signals == CNPS, "{config:?}");
    }
}

#[test]
fn alpha_decays_between_notifications() {
    let at = |us| Instant::ZERO + Duration::from_micros(us);
    for config in [
        Config::Dcqcn(dcqcn::Config::sigcomm15()),
        Config::ConnectX(connectx::Config { gain: 1.0 / 256.0, ..connectx::Config::connectx() }),
    ] {
        let mut flow = config.build(LINE);
        assert_eq!(flow.alpha(&config, at(1_000)), Some(1.0), "no decay before the first CNP");
        flow.on_cnp(&config, at(1_000));
        // One period of 55 µs without a CNP, or 55 of 1 µs.
        let periods = if config.build(LINE).deadline().is_none() && matches!(config, Config::Dcqcn(_)) {
            1
        } else {
            55
        };
        let expected = libm::pow(255.0 / 256.0, f64::from(periods));
        let found = flow.alpha(&config, at(1_055)).unwrap();
        assert!((found - expected).abs() < 1e-12, "{found}, expected {expected}");
    }
}

#[test]
#[should_panic(expected = "driven with the configuration that built it")]
fn a_control_rejects_the_configuration_of_another() {
    let config = Config::Dcqcn(dcqcn::Config::sigcomm15());
    Config::None.build(LINE).on_cnp(&config, Instant::ZERO);
}

/// Event at a queue pair.
#[derive(Clone, Debug)]
enum Event {
    Send(u64),
    Ack {
        waited: u64,
        marked: bool,
    },
    Cnp,
    Loss(Loss),
    /// Time of `ns` passes. Timers that expire in this time are handled at once if `on_time` is true; otherwise they stay pending.
    Wait {
        ns: u64,
        on_time: bool,
    },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        (60..4_200u64).prop_map(Event::Send),
        (0..2_000_000u64, any::<bool>()).prop_map(|(waited, marked)| Event::Ack { waited, marked }),
        Just(Event::Cnp),
        prop_oneof![Just(Loss::Nak), Just(Loss::Timeout)].prop_map(Event::Loss),
        (0..500_000u64, any::<bool>()).prop_map(|(ns, on_time)| Event::Wait { ns, on_time }),
    ];
    prop::collection::vec(event, 1..200)
}

proptest! {
    #[test]
    fn rates_stay_between_zero_and_line_rate_and_deadlines_move(events in events()) {
        for (config, _) in presets() {
            let mut flow = config.build(LINE);
            let (mut now, mut number) = (Instant::ZERO, 0);
            for event in &events {
                match *event {
                    Event::Send(size) => {
                        let before = flow.pace();
                        prop_assert!(flow.on_send(&config, Bytes(size)) || flow.pace() == before);
                    }
                    Event::Ack { waited, marked } => {
                        number += 1;
                        ack(&mut flow, &config, now, number, Duration::from_nanos(waited), marked);
                    }
                    Event::Cnp => flow.on_cnp(&config, now),
                    Event::Loss(loss) => flow.on_loss(&config, now, loss),
                    Event::Wait { ns, on_time } => {
                        let end = now + Duration::from_nanos(ns);
                        while let Some(at) = flow.deadline().filter(|&at| on_time && at <= end) {
                            flow.on_timer(&config, at);
                            prop_assert!(flow.deadline().is_none_or(|next| next > at), "{config:?}");
                        }
                        now = end;
                    }
                }
                let pace = flow.pace();
                prop_assert!(pace.rate > Rate(0) && pace.rate <= LINE, "{config:?}: {pace:?}");
                prop_assert!(pace.window.is_none_or(|window| window > Bytes(0)), "{config:?}: {pace:?}");
                let alpha = flow.alpha(&config, now);
                prop_assert!(alpha.is_none_or(|alpha| (0.0..=1.0).contains(&alpha)), "{config:?}: {alpha:?}");
            }
        }
    }
}
