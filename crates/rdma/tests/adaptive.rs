//! Adaptive retransmission timeouts: traces worked by hand.

use shallows_core::{Duration, Instant};
use shallows_rdma::{Adaptive, Config, Decrease, Ended, Recovery, Stats};

use crate::flight::Fate;
use crate::pair::{Pair, Sent, config};

fn us(time: u64) -> Duration {
    Duration::from_micros(time)
}

fn at(time: u64) -> Instant {
    Instant::ZERO + us(time)
}

fn adaptive(first: u64, most: u64, attempts: u32, decrease: Decrease) -> Config {
    let adaptive = Some(Adaptive { first: us(first), attempts, decrease });
    Config { timeout: us(most), adaptive, ..config(Recovery::GoBackN) }
}

/// Returns the times at which packets with this PSN were sent, in microseconds.
fn times_of(pair: &Pair<'_>, psn: u64) -> Vec<u64> {
    pair.times_of(psn).into_iter().map(|ns| ns / 1_000).collect()
}

#[test]
fn timeouts_double_as_in_a_capture_of_a_connectx_5() {
    // linux-rdma/perftest, issue 251: with a delay of 40 ms, a ConnectX-5 sends each request five times, at intervals of 2, 4, 8 and 16 ms. The
    // timeout of the queue pair changes nothing.
    for timeout in [14, 18] {
        let config = adaptive(2_000, (4_096 << timeout) / 1_000, 1, Decrease::Reset);
        let mut pair = Pair::new(config, |sent| match sent {
            Sent::Data { .. } => Fate::default(),
            Sent::Reply(..) => Fate { extra: us(39_990), ..Fate::default() },
        });
        pair.post(at(0), 1_000);
        pair.run();
        assert_eq!(times_of(&pair, 0), [0, 2_000, 6_000, 14_000, 30_000]);
        assert_eq!(pair.requester.stats(), Stats { timeouts: 4, retransmits: 4, naks: 0 });
    }
}

#[test]
fn each_timeout_is_repeated_up_to_the_longest_and_the_total_ends_the_queue_pair() {
    let config = Config { retry_count: Some(3), ..adaptive(20, 100, 2, Decrease::Reset) };
    let mut pair = Pair::losing(config, &[0; 9]);
    pair.post(at(0), 1_000);
    pair.run();
    // Timeouts of 20, 20, 40, 40, 80, 80 and 100 µs. The one at 280 µs is below 3 · 100 µs; the one at 380 µs is the last.
    assert_eq!(times_of(&pair, 0), [0, 20, 40, 80, 120, 200, 280]);
    assert_eq!((pair.requester.ended(), pair.now), (Some(Ended::RetriesExhausted), at(380)));
    // A timeout at the total itself is the last one.
    for (retry_count, end) in [(0, 100), (2, 200)] {
        let config = Config { retry_count: Some(retry_count), ..adaptive(100, 100, 1, Decrease::Reset) };
        let mut pair = Pair::losing(config, &[0; 9]);
        pair.post(at(0), 1_000);
        pair.run();
        assert_eq!((pair.requester.ended(), pair.now), (Some(Ended::RetriesExhausted), at(end)));
    }
}

#[test]
fn an_acknowledgement_shortens_the_timeout() {
    for (decrease, second, third) in
        [(Decrease::Reset, 20, 20), (Decrease::By(2), 80, 80), (Decrease::By(4), 40, 20)]
    {
        let mut pair = Pair::losing(adaptive(20, 200, 1, decrease), &[0, 0, 0, 1, 2]);
        pair.post(at(0), 1_000);
        pair.post(at(300), 1_000);
        pair.post(at(600), 1_000);
        pair.run();
        // Timeouts of 20, 40 and 80 µs. The acknowledgement at 150 µs shortens the next one of 160 µs to 20, 80 or 40 µs. The second loss
        // doubles it, and the second acknowledgement shortens it again: by 4 from 80 µs to 20 µs.
        assert_eq!(times_of(&pair, 0), [0, 20, 60, 140]);
        assert_eq!(times_of(&pair, 1), [300, 300 + second], "{decrease:?}");
        assert_eq!(times_of(&pair, 2), [600, 600 + third], "{decrease:?}");
    }
}

#[test]
fn acknowledgements_never_shorten_the_timeout_below_the_first_one() {
    for decrease in [Decrease::Reset, Decrease::By(2), Decrease::By(4)] {
        let mut pair = Pair::losing(adaptive(20, 200, 1, decrease), &[9]);
        pair.post(at(0), 10_000);
        pair.run();
        // The acknowledgement of packet 8 arrives at 8 · 1.1 + 10 µs, and restarts the timer.
        assert_eq!(times_of(&pair, 9), [9, 38], "{decrease:?}");
    }
}

#[test]
fn progress_allows_the_total_time_again() {
    // Two losses of a packet cost 20 + 40 µs. Three packets in a row lose two transmissions each, and no gap is as long as 2 · 50 µs.
    let config = Config { retry_count: Some(2), ..adaptive(20, 50, 1, Decrease::Reset) };
    let mut pair = Pair::losing(config, &[0, 0, 1, 1, 2, 2]);
    for message in 0..3 {
        pair.post(at(100 * message), 1_000);
    }
    pair.run();
    assert_eq!((pair.requester.ended(), pair.requester.stats().timeouts), (None, 6));
    assert_eq!(times_of(&pair, 2), [200, 220, 260]);
}

#[test]
fn repeated_timeouts_are_counted_from_the_last_progress() {
    // Two attempts with 20 µs: packet 0 uses one, and packet 1 both before the timeout doubles.
    let mut pair = Pair::losing(adaptive(20, 200, 2, Decrease::By(2)), &[0, 1, 1, 1]);
    pair.post(at(0), 1_000);
    pair.post(at(100), 1_000);
    pair.run();
    assert_eq!(times_of(&pair, 1), [100, 120, 140, 180]);
}
