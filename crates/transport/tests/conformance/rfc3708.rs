//! Undo of a reduction after reports that all retransmitted data had arrived before (RFC 3708 §3; Linux, `tcp_try_undo_dsack`), in
//! segments of 1,000 bytes.

use crate::script::{MSS, RTT, Scripted, reno, reno_with_ecn};
use shallows_core::packet::{AckSegment, Flags};
use shallows_transport::{Config, Method, Phase};

const METHODS: [Method; 2] = [Method::Sack(None), Method::Rack(None)];

/// Returns a sender with ten segments in flight, in slow start.
fn started(config: Config, recovery: Method) -> Scripted {
    let mut script = Scripted::started(Config { recovery, dsack: true, ..config }, 1_000 * MSS);
    script.wait(RTT);
    script
}

fn ack(script: &mut Scripted, una: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
    ack_with(script, una, blocks, Flags::ACK)
}

fn ack_with(script: &mut Scripted, una: u64, blocks: &[(u64, u64)], flags: Flags) -> Vec<u64> {
    let blocks: Vec<_> = blocks.iter().map(|&(start, end)| (start * MSS, end * MSS)).collect();
    let segment = AckSegment { flags: Flags::ACK.with(flags), ..crate::script::ack(una * MSS, &blocks) };
    script.receive(segment).iter().map(|seq| seq / MSS).collect()
}

/// Returns a sender whose segment 0 was late: 1 to 3 arrived before it, and it was retransmitted.
fn late(config: Config, recovery: Method) -> Scripted {
    let mut script = started(config, recovery);
    for above in 2..=4 {
        ack(&mut script, 0, &[(1, above)]);
    }
    assert_eq!(script.sender.phase(), Phase::Recovery, "{recovery:?}");
    assert_eq!((script.sender.stats().retransmits, script.cwnd()), (1, 5 * MSS), "{recovery:?}");
    script
}

#[test]
fn a_fast_retransmit_of_what_was_late_is_undone_when_its_copy_is_reported() {
    for method in METHODS {
        let mut script = late(reno(), method);
        let outstanding = ack(&mut script, 4, &[]);
        // The copy arrives after everything up to 4: within recovery.
        ack(&mut script, 4, &[(0, 1)]);
        assert_eq!(script.sender.phase(), Phase::Open, "{method:?}");
        assert!(script.cwnd() >= 10 * MSS && script.ssthresh() > 1_000 * MSS, "{method:?}");
        assert_eq!(script.sender.stats().retransmits, 1, "{method:?}: {outstanding:?}");
    }
}

#[test]
fn it_is_undone_after_recovery_has_ended_too() {
    for method in METHODS {
        let mut script = late(reno(), method);
        let next = script.sender.sent() / MSS;
        ack(&mut script, next, &[]);
        assert_eq!((script.sender.phase(), script.cwnd()), (Phase::Open, 5 * MSS), "{method:?}");
        ack(&mut script, next, &[(0, 1)]);
        assert!(script.cwnd() >= 10 * MSS, "{method:?}");
        // The undo happens once: later reports have no effect.
        let cwnd = script.cwnd();
        ack(&mut script, next, &[(0, 1)]);
        assert_eq!(script.cwnd(), cwnd);
    }
}

#[test]
fn one_that_was_lost_leaves_the_window_reduced_however_many_are_reported() {
    for method in METHODS {
        let mut script = started(reno(), method);
        // 0 and 2 are retransmitted; the original of 0 was late, and 2 was lost.
        ack(&mut script, 0, &[(3, 4), (1, 2)]);
        ack(&mut script, 0, &[(3, 5), (1, 2)]);
        ack(&mut script, 0, &[(3, 6), (1, 2)]);
        while script.sender.stats().retransmits < 2 {
            let sacked = script.sender.stats().segments_sent;
            ack(&mut script, 0, &[(3, sacked - 1), (1, 2)]);
        }
        ack(&mut script, 2, &[(3, 6)]);
        ack(&mut script, 2, &[(0, 1), (3, 6)]);
        assert_eq!((script.sender.phase(), script.cwnd()), (Phase::Recovery, 5 * MSS), "{method:?}");
        let next = script.sender.sent() / MSS;
        ack(&mut script, next, &[]);
        assert_eq!(script.cwnd(), 5 * MSS, "{method:?}");
    }
}

#[test]
fn of_what_was_retransmitted_twice_two_reports_are_awaited() {
    for method in METHODS {
        let mut script = started(reno(), method);
        // The timer fires twice for 0, and all three copies arrive.
        while script.sender.stats().timeouts < 2 {
            script.time_out();
        }
        assert_eq!(script.sender.stats().retransmits, 2, "{method:?}");
        ack(&mut script, 0, &[(2, 3)]);
        ack(&mut script, 1, &[(0, 1), (2, 3)]);
        assert_eq!(script.sender.phase(), Phase::Timeout, "{method:?}");
    }
}

#[test]
fn merged_segments_are_reported_together() {
    for method in METHODS {
        let mut script = started(reno(), method);
        // Segments 0 and 1 are late.
        for above in 3..=10 {
            ack(&mut script, 0, &[(2, above)]);
        }
        assert_eq!(script.sender.stats().retransmits, 2, "{method:?}");
        ack(&mut script, 10, &[]);
        ack(&mut script, 10, &[(0, 2)]);
        assert!(script.cwnd() >= 10 * MSS, "{method:?}");
    }
}

#[test]
fn a_duplicate_above_the_acknowledgement_counts_likewise() {
    for method in METHODS {
        let mut script = started(reno(), method);
        // 0 is lost; 1 is late, is retransmitted with it, and arrives twice.
        for above in 3..=10 {
            ack(&mut script, 0, &[(2, above)]);
        }
        ack(&mut script, 0, &[(1, 10)]);
        ack(&mut script, 0, &[(1, 2), (1, 10)]);
        assert_eq!(script.sender.phase(), Phase::Recovery, "{method:?}");
        // If 0 had not been lost, its copy would be reported, too.
        let next = script.sender.sent() / MSS;
        ack(&mut script, next, &[(0, 1)]);
        assert!(script.cwnd() >= 10 * MSS, "{method:?}");
    }
}

#[test]
fn what_was_never_retransmitted_proves_nothing() {
    for method in METHODS {
        let mut script = started(reno(), method);
        // The network duplicates 0 and 1 before any segment is missing.
        ack(&mut script, 2, &[(0, 1)]);
        ack(&mut script, 2, &[(1, 2)]);
        for above in 4..=6 {
            ack(&mut script, 2, &[(3, above)]);
        }
        assert_eq!(script.sender.phase(), Phase::Recovery, "{method:?}");
        // Reports of data from before this recovery, and of twice as much data as was retransmitted.
        let cwnd = script.cwnd();
        ack(&mut script, 2, &[(1, 2), (3, 6)]);
        ack(&mut script, 2, &[(0, 2), (3, 6)]);
        assert_eq!((script.sender.phase(), script.cwnd()), (Phase::Recovery, cwnd), "{method:?}");
    }
}

#[test]
fn a_timeout_is_undone_when_all_that_was_retransmitted_had_arrived() {
    for method in METHODS {
        let mut script = started(reno(), method);
        // The acknowledgements of all ten segments are late.
        while script.sender.stats().timeouts == 0 {
            script.time_out();
        }
        assert_eq!((script.cwnd(), script.sender.stats().retransmits), (MSS, 1), "{method:?}");
        ack(&mut script, 0, &[(1, 2)]);
        assert_eq!(script.sender.phase(), Phase::Timeout);
        // 0 arrives twice, before any other segment is retransmitted: nothing was lost.
        ack(&mut script, 2, &[(0, 1)]);
        assert_eq!(script.sender.phase(), Phase::Open, "{method:?}");
        assert!(script.cwnd() >= 10 * MSS && script.ssthresh() > 1_000 * MSS, "{method:?}");
        assert_eq!(script.sender.stats().retransmits, 1, "{method:?}");
    }
}

#[test]
fn an_ece_meanwhile_keeps_the_reduction() {
    for method in METHODS {
        let mut script = late(reno_with_ecn(), method);
        ack_with(&mut script, 4, &[], Flags::ECE);
        ack(&mut script, 4, &[(0, 1)]);
        assert_eq!((script.sender.phase(), script.ssthresh()), (Phase::Open, 5 * MSS), "{method:?}");
    }
}

#[test]
fn the_receiver_is_told_of_no_reduction_that_was_undone() {
    for method in METHODS {
        let mut script = late(reno_with_ecn(), method);
        script.ack(4 * MSS, &[]);
        let quiet = AckSegment { ..crate::script::ack(4 * MSS, &[(0, MSS)]) };
        script.sender.on_ack(&script.config, script.now, &quiet);
        let sent = script.transmits();
        assert!(
            !sent.is_empty() && sent.iter().all(|sent| !sent.segment.flags.contains(Flags::CWR)),
            "{method:?}"
        );
    }
}

#[test]
fn without_the_key_reports_are_passed_over() {
    for method in METHODS {
        let mut script = late(reno(), method);
        script.config.dsack = false;
        ack(&mut script, 4, &[]);
        ack(&mut script, 4, &[(0, 1)]);
        assert_eq!(script.cwnd(), 5 * MSS, "{method:?}");
    }
}
