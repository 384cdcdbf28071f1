//! Pulser's brake (Pulser, ANCS '19 §III-B), and the rules where the paper is silent (docs/models.md).

use crate::script::{Listening, MSS, NOTHING, Scripted, every, pulser};
use shallows_core::packet::{AckSegment, DataSegment, Ecn, Flags, Header, HostId};
use shallows_core::{Bytes, Duration};
use shallows_transport::congestion::dctcp;
use shallows_transport::congestion::pulser::{Config, Restore, Signal};
use shallows_transport::{Config as Transport, Marks, Phase};

const INCAST: Flags = Flags::INCAST_ECHO;

fn config() -> Config {
    Config {
        dctcp: dctcp::Config { initial_alpha: 1.0, ..dctcp::Config::default() },
        safe_window: Bytes(4 * MSS),
        restore: Restore::FirstCleanAck,
        signal: Signal::Incast,
    }
}

/// Returns a sender that has sent its first ten segments.
fn started(config: Config) -> Scripted {
    Scripted::started(pulser(config), 10_000 * MSS)
}

#[test]
fn the_signal_drops_the_window_and_its_end_restores_it() {
    let mut script = started(config());
    script.ack(MSS, &[]);
    assert_eq!(script.cwnd(), 11 * MSS);
    assert_eq!(script.sender.phase(), Phase::Open);
    assert_eq!(script.ack_with(2 * MSS, INCAST), NOTHING);
    assert_eq!((script.cwnd(), script.sender.phase()), (4 * MSS, Phase::Braking));
    // Saved once: the second notification does not save the four segments.
    script.ack_with(3 * MSS, INCAST);
    assert_eq!(script.cwnd(), 4 * MSS);
    script.ack(4 * MSS, &[]);
    // Eleven, plus one for the acknowledgement, in slow start.
    assert_eq!(script.cwnd(), 12 * MSS);
}

#[test]
fn the_window_does_not_grow_while_the_brake_is_on() {
    let mut script = started(Config { restore: Restore::CleanWindow, ..config() });
    script.ack_with(MSS, INCAST);
    for number in 2..=9 {
        script.ack(number * MSS, &[]);
        assert_eq!(script.cwnd(), 4 * MSS);
    }
}

#[test]
fn a_window_without_the_signal_may_be_what_restores() {
    let mut script = started(Config { restore: Restore::CleanWindow, ..config() });
    script.ack_with(MSS, INCAST);
    script.ack_with(2 * MSS, INCAST);
    // Ten segments had been sent when the notification arrived.
    script.ack(9 * MSS, &[]);
    let sent = script.sender.sent();
    assert_eq!((script.cwnd(), sent), (4 * MSS, 13 * MSS));
    script.ack_with(10 * MSS, INCAST);
    script.ack(sent - MSS, &[]);
    assert_eq!(script.cwnd(), 4 * MSS, "another notification began another window");
    // Thirteen had been sent when the second notification arrived.
    script.ack(sent, &[]);
    assert_eq!(script.cwnd(), 11 * MSS, "ten, and one for the acknowledgement");
}

#[test]
fn a_smaller_window_is_not_raised() {
    let config = Transport { initial_window: Bytes(2 * MSS), ..pulser(config()) };
    let mut script = Scripted::started(config, 1_000 * MSS);
    script.ack_with(MSS, INCAST);
    assert_eq!(script.cwnd(), 2 * MSS);
}

#[test]
fn the_rest_is_dctcp_with_or_without_the_brake() {
    // Without the brake: the first mark of a connection with alpha 1 halves the window.
    let mut script = started(config());
    script.ack_with_ece(MSS);
    assert_eq!(script.cwnd(), 5 * MSS);
    // With the brake: four segments are halved, ten are saved, and alpha is updated.
    let mut script = started(config());
    script.ack_with(MSS, INCAST.with(Flags::ECE));
    assert_eq!((script.cwnd(), script.alpha()), (2 * MSS, 1.0));
    script.ack(2 * MSS, &[]);
    assert_eq!((script.cwnd(), script.ssthresh()), (10 * MSS, 2 * MSS));
}

#[test]
fn a_timeout_forgets_the_saved_window() {
    let mut script = started(config());
    script.ack_with(MSS, INCAST);
    script.time_out();
    assert_eq!(script.cwnd(), MSS);
    script.ack(2 * MSS, &[]);
    assert_eq!(script.cwnd(), 2 * MSS);
}

#[test]
fn a_loss_halves_the_saved_window_and_keeps_the_brake() {
    let mut script = started(config());
    script.ack_with(MSS, INCAST);
    // Ten segments minus one are in flight; half of them would exceed the safe window.
    let lost =
        AckSegment { flags: Flags::ACK.with(INCAST), ..crate::script::ack(MSS, &[(2 * MSS, 6 * MSS)]) };
    script.receive(lost);
    assert!(script.sender.in_fast_recovery());
    assert_eq!((script.cwnd(), script.ssthresh()), (4 * MSS, 4_500));
    let sent = script.sender.sent();
    script.ack(sent, &[]);
    assert_eq!(script.cwnd(), 5 * MSS, "half of the ten that were saved");
}

#[test]
fn a_loss_leaves_two_segments_of_the_saved_window() {
    // RFC 5681 Eq. 4 applies to the saved window: half of three segments, but at least two.
    let config = Transport {
        initial_window: Bytes(3 * MSS),
        ..pulser(Config { safe_window: Bytes(MSS), ..config() })
    };
    let mut script = Scripted::started(config, 100 * MSS);
    let slivers = [(MSS, MSS + 1), (MSS + 500, MSS + 501), (2 * MSS, 2 * MSS + 1)];
    script.receive(AckSegment { flags: Flags::ACK.with(INCAST), ..crate::script::ack(0, &slivers) });
    assert!(script.sender.in_fast_recovery());
    assert_eq!(script.cwnd(), MSS);
    let sent = script.sender.sent();
    script.ack(sent, &[]);
    assert_eq!(script.cwnd(), 2 * MSS);
}

#[test]
fn alpha_is_that_of_dctcp() {
    let dctcp = dctcp::Config { initial_alpha: 0.5, ..dctcp::Config::default() };
    let mut script = started(Config { dctcp, ..config() });
    assert_eq!(script.alpha(), 0.5);
    // A window without marks, with the brake on: 15/16 of alpha remain.
    script.ack_with(MSS, INCAST);
    assert_eq!(script.alpha(), 0.5 * 15.0 / 16.0);
}

#[test]
fn idleness_forgets_the_saved_window() {
    let config = Transport {
        initial_window: Bytes(5 * MSS),
        restart_after_idle: shallows_transport::RestartAfterIdle::Reset,
        ..pulser(config())
    };
    let mut script = Scripted::started(config, 8 * MSS);
    for number in 1..=4 {
        script.ack(number * MSS, &[]);
    }
    assert_eq!(script.cwnd(), 9 * MSS);
    script.ack_with(8 * MSS, INCAST);
    script.wait(Duration::from_secs(2));
    script.write(100 * MSS);
    assert_eq!(script.cwnd(), 5 * MSS, "the initial window");
    script.ack(9 * MSS, &[]);
    assert_eq!(script.cwnd(), 6 * MSS, "and not the nine");
}

#[test]
fn as_released_ece_is_the_signal_and_replaces_the_cut() {
    let mut script = started(Config { signal: Signal::Ece, ..config() });
    script.ack_with(MSS, INCAST);
    assert_eq!(script.cwnd(), 11 * MSS, "the new bit says nothing to the released code");
    // cwnd = ssthresh = 4, not 11 / 2. The first acknowledgement without ECE restores the window, now in
    // congestion avoidance.
    script.ack_with_ece(2 * MSS);
    assert_eq!((script.cwnd(), script.ssthresh()), (4 * MSS, 4 * MSS));
    script.ack_with_ece(3 * MSS);
    assert_eq!(script.cwnd(), 4 * MSS);
    script.ack(4 * MSS, &[]);
    assert_eq!((script.cwnd(), script.ssthresh()), (11 * MSS, 4 * MSS));
}

#[test]
fn the_receiver_echoes_the_signal_per_packet() {
    let delayed_ack = every(2, Duration::from_millis(1));
    let mut receiving = Listening::new(Transport { delayed_ack, ..pulser(config()) });
    let mut arrive = |index: u64, ce: bool, incast: bool| {
        let segment = DataSegment { seq: index * MSS, len: MSS as u16, ..DataSegment::default() };
        let acks = receiving.receive_with(segment, Marks { ce, incast });
        acks.iter().map(|ack| (ack.ack / MSS, ack.flags.0 & !Flags::ACK.0)).collect::<Vec<_>>()
    };
    let both = Flags::ECE.with(INCAST).0;
    assert_eq!(arrive(0, false, false), []);
    // The waiting segment is acknowledged without the signal, and the packet with the signal at once, as DCTCP does for CE.
    assert_eq!(arrive(1, false, true), [(1, 0), (2, INCAST.0)]);
    assert_eq!(arrive(2, false, true), []);
    assert_eq!(arrive(3, true, true), [(3, INCAST.0), (4, both)]);
    assert_eq!(arrive(4, true, false), [(5, Flags::ECE.0)]);
    assert_eq!(arrive(5, false, false), [(6, 0)]);
}

#[test]
fn others_do_not_echo_the_signal() {
    for config in
        [crate::script::dctcp(dctcp::Config::default()), pulser(Config { signal: Signal::Ece, ..config() })]
    {
        let mut receiving = Listening::new(config);
        let segment = DataSegment { seq: 0, len: MSS as u16, ..DataSegment::default() };
        let acks = receiving.receive_with(segment, Marks { ce: true, incast: true });
        assert_eq!(acks[0].flags, Flags::ACK.with(Flags::ECE));
    }
}

#[test]
fn marks_are_read_from_a_header() {
    let header = Header::new(HostId(0), HostId(1));
    assert_eq!(Marks::of(&header), Marks { ce: false, incast: false });
    assert_eq!(Marks::of(&header.with_ecn(Ecn::Ce)), Marks { ce: true, incast: false });
    assert_eq!(Marks::of(&header.with_ecn(Ecn::Ect).with_incast(true)), Marks { ce: false, incast: true });
}
