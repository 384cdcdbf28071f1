//! The retransmission timer (RFC 6298), rule by rule.

use crate::script::{Listening, MSS, RTT, Scripted, ack, every, reno};
use shallows_core::packet::{AckSegment, DataSegment, Flags};
use shallows_core::{Bytes, Duration, Instant};
use shallows_transport::{Config, LostSyn, RtoConfig};

/// Bounds so wide that the formula determines the timeout.
const FREE: RtoConfig = RtoConfig {
    initial: Duration::from_millis(5),
    minimum: Duration(1),
    maximum: Duration::from_secs(60),
    granularity: Duration(1),
};

/// Returns a sender with segments in flight and the bounds of `rto`.
fn started(rto: RtoConfig) -> Scripted {
    Scripted::started(Config { rto, ..reno() }, 100 * MSS)
}

/// Acknowledges all data below `number` with an RTT sample of `rtt`.
fn sample(script: &mut Scripted, number: u64, rtt: Duration) {
    let tsecr = Instant(script.now.0 - rtt.0);
    script.sender.on_ack(&script.config, script.now, &AckSegment { tsecr, ..ack(number, &[]) });
    script.transmits();
}

#[test]
fn before_any_sample_the_initial_timeout_holds() {
    let script = started(FREE);
    assert_eq!(script.sender.deadline(), Some(script.now + Duration::from_millis(5)));
    assert_eq!(script.sender.srtt(), None);
}

#[test]
fn samples_enter_as_the_formulas_say() {
    let mut script = started(FREE);
    // §2.2: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR = 3 R.
    sample(&mut script, MSS, Duration::from_micros(80));
    assert_eq!(script.sender.srtt(), Some(Duration::from_micros(80)));
    assert_eq!(script.sender.rto(), Duration::from_micros(240));
    // §2.3 with R' = 160: RTTVAR = 3/4 · 40 + 1/4 · |80 − 160| = 50; SRTT = 7/8 · 80 + 1/8 · 160 = 90; RTO = 290.
    sample(&mut script, 2 * MSS, Duration::from_micros(160));
    assert_eq!(script.sender.srtt(), Some(Duration::from_micros(90)));
    assert_eq!(script.sender.rto(), Duration::from_micros(290));
}

#[test]
fn four_rttvar_count_for_the_granularity_at_least() {
    let mut script = started(RtoConfig { granularity: Duration::from_millis(1), ..FREE });
    sample(&mut script, MSS, Duration::from_micros(80));
    assert_eq!(script.sender.rto(), Duration::from_micros(1_080));
}

#[test]
fn the_timeout_stays_within_its_bounds() {
    let minimum = Duration::from_micros(300);
    let maximum = Duration::from_micros(1_000);
    let mut script = started(RtoConfig { initial: maximum, minimum, maximum, ..FREE });
    sample(&mut script, MSS, Duration::from_micros(80));
    assert_eq!(script.sender.rto(), minimum);
    sample(&mut script, 2 * MSS, Duration::from_micros(900));
    assert_eq!(script.sender.rto(), maximum);
}

#[test]
fn each_timeout_doubles_it_up_to_the_maximum() {
    let mut script = started(RtoConfig { maximum: Duration::from_millis(15), ..FREE });
    // §5.5 and §5.6.
    for expected in [10, 15, 15] {
        let sent = script.time_out();
        assert_eq!(sent, [0]);
        assert_eq!(script.sender.deadline(), Some(script.now + Duration::from_millis(expected)));
    }
}

#[test]
fn a_new_sample_ends_the_back_off() {
    let mut script = started(FREE);
    script.time_out();
    script.time_out();
    assert_eq!(script.sender.rto(), Duration::from_millis(20));
    sample(&mut script, MSS, Duration::from_micros(80));
    assert_eq!(script.sender.rto(), Duration::from_micros(240));
}

#[test]
fn new_data_acknowledged_restarts_the_timer_and_duplicates_do_not() {
    let mut script = started(RtoConfig { minimum: Duration::from_millis(5), ..FREE });
    script.wait(RTT);
    script.ack(MSS, &[]);
    // §5.3.
    let deadline = script.now + Duration::from_millis(5);
    assert_eq!(script.sender.deadline(), Some(deadline));
    script.wait(RTT);
    script.ack(MSS, &[(2 * MSS, 3 * MSS)]);
    script.ack(MSS, &[]);
    assert_eq!(script.sender.deadline(), Some(deadline));
}

#[test]
fn the_timer_runs_only_while_something_is_outstanding() {
    let mut script = Scripted::new(reno());
    assert_eq!(script.sender.deadline(), None);
    script.write(MSS);
    assert!(script.sender.deadline().is_some());
    script.ack(MSS, &[]);
    // §5.2.
    assert_eq!(script.sender.deadline(), None);
}

#[test]
fn a_timer_that_was_moved_does_not_fire() {
    let mut script = started(RtoConfig { minimum: Duration::from_millis(5), ..FREE });
    let old = script.sender.deadline().unwrap();
    script.wait(Duration::from_millis(4));
    script.ack(MSS, &[]);
    script.sender.on_timer(&script.config, old);
    assert_eq!(script.sender.stats().timeouts, 0);
    assert!(script.sender.deadline().unwrap() > old);
}

#[test]
fn without_timestamps_one_segment_at_a_time_is_measured() {
    let mut script = Scripted::started(Config { timestamps: false, rto: FREE, ..reno() }, 100 * MSS);
    script.wait(Duration::from_micros(80));
    script.ack(MSS, &[]);
    assert_eq!(script.sender.srtt(), Some(Duration::from_micros(80)));
    // The next timed segment is the eleventh, sent just now; the second is not timed.
    script.wait(Duration::from_micros(40));
    script.ack(2 * MSS, &[]);
    assert_eq!(script.sender.srtt(), Some(Duration::from_micros(80)));
    script.wait(Duration::from_micros(120));
    script.ack(11 * MSS, &[]);
    // 7/8 · 80 + 1/8 · 160.
    assert_eq!(script.sender.srtt(), Some(Duration::from_micros(90)));
}

#[test]
fn without_timestamps_a_retransmission_gives_no_sample_and_the_back_off_stays() {
    let mut script = Scripted::started(Config { timestamps: false, rto: FREE, ..reno() }, 2 * MSS);
    script.time_out();
    script.wait(RTT);
    // §3, Karn: the acknowledgement may belong to either copy.
    script.ack(2 * MSS, &[]);
    assert_eq!(script.sender.srtt(), None);
    assert_eq!(script.sender.rto(), Duration::from_millis(10));
    script.write(MSS);
    script.wait(RTT);
    script.ack(3 * MSS, &[]);
    assert_eq!(script.sender.srtt(), Some(RTT), "new data, sent once");
}

#[test]
fn without_timestamps_a_fast_retransmission_ends_the_measurement() {
    let mut script = Scripted::started(Config { timestamps: false, rto: FREE, ..reno() }, 10 * MSS);
    // Segment 0 is timed, and is retransmitted.
    script.ack(0, &[(MSS, 4 * MSS)]);
    script.wait(RTT);
    script.ack(10 * MSS, &[]);
    assert_eq!(script.sender.srtt(), None);
}

#[test]
fn a_receiver_echoes_the_timestamp_of_the_first_segment_it_had_not_acknowledged() {
    // RFC 7323 §4.3 (A): with delayed acknowledgements; (B): above a gap; (C): filling it.
    let mut receiving = Listening::new(Config { delayed_ack: every(2, RTT), ..reno() });
    let mut arrive = |index: u64, at: u64| -> Option<Instant> {
        let segment =
            DataSegment { seq: index * MSS, len: MSS as u16, tsval: Instant(at), ..DataSegment::default() };
        receiving.receive(segment, false).first().map(|ack| ack.tsecr)
    };
    assert_eq!(arrive(0, 10), None);
    assert_eq!(arrive(1, 11), Some(Instant(10)));
    assert_eq!(arrive(3, 13), Some(Instant(10)), "the last one in sequence that was acknowledged");
    assert_eq!(arrive(2, 14), Some(Instant(14)));
}

#[test]
fn a_duplicate_gives_no_sample() {
    // RFC 7323 §4.1: only an acknowledgement that advances SND.UNA gives a sample; a duplicate may echo an old timestamp.
    let mut script = started(FREE);
    sample(&mut script, MSS, Duration::from_micros(80));
    sample(&mut script, MSS, Duration::from_micros(160));
    assert_eq!(script.sender.srtt(), Some(Duration::from_micros(80)));
}

#[test]
fn both_directions_carry_timestamps() {
    // RFC 7323 §3.2: TSval is the time of sending, TSecr the newest received timestamp.
    let config = reno();
    let mut receiving = Listening::new(config.clone());
    receiving.now = Instant::ZERO + RTT;
    let answer = receiving.data(0)[0];
    assert_eq!(answer.tsval, Instant::ZERO + RTT);
    let mut script = Scripted::started(config, 100 * MSS);
    script.sender.on_ack(&script.config, script.now, &answer);
    let data = script.transmits()[0].segment;
    assert_eq!((data.tsval, data.tsecr), (script.now, Instant::ZERO + RTT));
}

/// Opens a connection with Linux's rules and retransmits its SYN `losses` times; the last SYN is answered after 4 ms. Returns how many
/// milliseconds passed before each retransmission, and the sender.
fn opened_as_linux(losses: usize) -> (Vec<u64>, Scripted) {
    let rto = RtoConfig { initial: Duration::from_millis(10), ..FREE };
    let config = Config { rto, handshake: true, lost_syn: LostSyn::Linux, ..reno() };
    let mut script = Scripted::new(Config { initial_window: Bytes(10 * MSS), ..config });
    script.sender.write(&script.config, script.now, 100 * MSS);
    assert_eq!(script.transmits().len(), 1);
    let waits = (0..losses).map(|_| {
        let sent = script.now;
        script.now = script.sender.deadline().expect("a SYN waits for its answer");
        script.sender.on_timer(&script.config, script.now);
        assert_eq!(script.transmits()[0].segment.flags, Flags::SYN);
        (script.now - sent).0 / 1_000_000_000
    });
    let waits = waits.collect();
    let answer = AckSegment { flags: Flags::SYN.with(Flags::ACK), tsecr: script.now, ..ack(0, &[]) };
    script.wait(Duration::from_millis(4));
    script.sender.on_ack(&script.config, script.now, &answer);
    (waits, script)
}

#[test]
fn linux_waits_as_long_for_the_first_four_syns_and_learns_from_the_answer() {
    // Linux, tcp_syn_linear_timeouts = 4: the fifth timeout is the first that doubles. Linux does not need the 3 s of RFC 6298 §5.7,
    // since the timestamp of the answer identifies the answered SYN (§2.2: SRTT = R, RTTVAR = R/2, so that RTO = 3R).
    let (waits, script) = opened_as_linux(7);
    assert_eq!(waits, [10, 10, 10, 10, 10, 20, 40]);
    assert_eq!(script.sender.srtt(), Some(Duration::from_millis(4)));
    assert_eq!(script.cwnd(), MSS, "tcp_init_transfer: SYN sent more than twice");
    let (waits, mut script) = opened_as_linux(1);
    assert_eq!((waits, script.cwnd()), (vec![10], 10 * MSS));
    assert_eq!(script.transmits().len(), 10);
    assert_eq!(script.sender.deadline(), Some(script.now + Duration::from_millis(12)));
}
