//! Goodput under loss, against closed forms.

use shallows_core::Duration;
use shallows_core::random::Stream;
use shallows_rdma::{Config, Recovery};

use crate::flight::{DELAY, Fate};
use crate::pair::{Pair, Sent, config, irn, ns};

/// Packets that are sent from a loss until its NAK arrives.
const WINDOW: u64 = 150;
/// Time of a full packet on the wire: 1,100 bytes at 8 Gb/s.
const PACKET: Duration = Duration::from_nanos(1_100);

/// Sends `packets` packets over a network that loses data for which `loses` returns true. Returns the goodput as a share of the line rate,
/// and the number of packets sent.
fn transfer(recovery: Recovery, packets: u64, mut loses: impl FnMut(Sent) -> bool) -> (f64, u64) {
    // A lost packet leaves at t, and the next one at t + 1,100 ns. The NAK of the latter arrives one round trip later. 150 packets leave
    // before that time if the round trip takes 149 packets.
    let one_way = PACKET * (WINDOW - 1) / 2;
    let extra = one_way - DELAY;
    let config = Config { timeout: Duration::from_millis(1), ..config(recovery) };
    let mut pair = Pair::new(config, |sent| {
        let lost = matches!(sent, Sent::Data { .. }) && loses(sent);
        Fate { lost, extra, ..Fate::default() }
    });
    pair.post(ns(0), packets * 1_000);
    pair.run();
    let goodput = (PACKET * packets).as_secs_f64() / pair.now.as_secs_f64();
    (goodput, pair.data.len() as u64)
}

/// Loses the first transmission of each `every`-th packet.
fn each(every: u64) -> impl FnMut(Sent) -> bool {
    move |sent| matches!(sent, Sent::Data { psn, before: 0 } if psn % every == every / 2)
}

/// Loses each `every`-th packet once, `losses` packets in all. Packets that a responder with go-back-N would drop, because an earlier one is
/// lost, do not count.
fn each_in_order(every: u64, losses: u64) -> impl FnMut(Sent) -> bool {
    let (mut next, mut missing) = (every / 2, None);
    move |sent| {
        let Sent::Data { psn, .. } = sent else { return false };
        if missing.is_some() {
            missing = missing.filter(|lost| *lost != psn);
            return false;
        }
        let lost = psn == next && psn < losses * every;
        if lost {
            missing = Some(psn);
            next += every;
        }
        lost
    }
}

/// Loses each transmission with this probability.
fn random(share: f64) -> impl FnMut(Sent) -> bool {
    let mut stream = Stream::new(1, "loss", 0);
    move |_| stream.uniform() < share
}

fn assert_within(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found}, expected {expected}");
}

#[test]
fn go_back_n_loses_a_round_trip_of_packets_per_loss() {
    // Goodput 1/(1 + pW): W = 150 packets are sent in vain per loss, the lost one included.
    // The last acknowledgement adds a round trip, which counts most if losses are few.
    for (every, losses, expected, tolerance) in [
        (100_000, 2, 0.998_5, 0.001),
        (10_000, 10, 0.985, 0.01),
        (1_000, 20, 0.870, 0.01),
        (100, 200, 0.40, 0.01),
    ] {
        let packets = every * losses + WINDOW;
        let (goodput, sent) = transfer(Recovery::GoBackN, packets, each_in_order(every, losses));
        assert_eq!(sent, packets + losses * WINDOW);
        assert_within(goodput, expected, tolerance);
    }
}

#[test]
fn go_back_n_under_random_loss_meets_the_closed_form() {
    // The closed form leaves out timeouts: a lost retransmission needs one of 1 ms, or 900 packets. At p = 0.001, this adds p² * 900 = 0.1 %.
    let (goodput, _) = transfer(Recovery::GoBackN, 200_000, random(0.001));
    assert_within(goodput, 1.0 / (1.0 + 0.001 * WINDOW as f64), 0.02);
}

#[test]
fn selective_retransmission_loses_one_packet_per_loss() {
    // Goodput 1 - p.
    for recovery in [Recovery::SelectiveRepeat, irn(1_000_000)] {
        for every in [100, 1_000] {
            let packets = 100_000;
            let (goodput, sent) = transfer(recovery, packets, each(every));
            assert_eq!(sent, packets + packets / every);
            assert_within(goodput, 1.0 - 1.0 / every as f64, 0.005);
        }
        let (goodput, _) = transfer(recovery, 100_000, random(0.01));
        assert_within(goodput, 0.99, 0.02);
    }
}
