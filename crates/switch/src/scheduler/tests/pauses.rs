//! Tests of paused queues: which queues send instead, and the scheduler's state when a queue resumes.

use super::*;

/// Returns a link with `packets` packets of this size in each queue.
fn filled(config: &Config, packets: usize, size: u64) -> Link {
    let mut link = Link::new(config);
    for queue in 0..link.queues.len() {
        (0..packets).for_each(|_| link.arrive(queue, size));
    }
    link
}

impl Link {
    fn pause(&mut self, queue: usize, paused: bool) {
        self.paused.set(queue, paused);
    }
}

#[test]
fn priority_passes_to_the_next_that_may_send_and_returns() {
    for config in [Config::StrictPriority { queues: 3 }, strict_above(2, wrr(&[1_500], Order::Cyclic))] {
        let mut link = filled(&config, 2, 1_000);
        link.pause(0, true);
        assert_eq!(link.order(1), [1]);
        link.pause(0, false);
        assert_eq!(link.order(9), [0, 0, 1, 2, 2], "{config:?}");
    }
    // The scheduler below strict priority numbers its queues from 0: queue 2 of the port is its queue 1.
    let mut link = filled(&strict_above(1, wrr(&[1_000, 1_000], Order::Cyclic)), 1, 1_000);
    link.pause(2, true);
    assert_eq!(link.order(9), [0, 1]);
    link.pause(2, false);
    assert_eq!(link.order(9), [2]);
}

#[test]
fn a_turn_that_a_pause_ends_is_lost_and_the_next_is_whole() {
    // Quanta of two packets. Queue 0 is paused after one of its two packets, and queue 1 then has two turns. After the pause, queue 0 has
    // a turn of two packets, not of one or three.
    for order in [Order::Cyclic, Order::Activation] {
        let mut link = filled(&wrr(&[2_000, 2_000], order), 6, 1_000);
        assert_eq!(link.order(1), [0]);
        link.pause(0, true);
        assert_eq!(link.order(4), [1, 1, 1, 1]);
        link.pause(0, false);
        assert_eq!(link.order(7), [0, 0, 1, 1, 0, 0, 0], "{order:?}");
    }
}

#[test]
fn a_deficit_is_kept_but_does_not_grow_while_a_queue_may_not_send() {
    // Quanta of 1,500, packets of 1,000. Queue 0 sends one packet of its first turn and keeps 500. It is paused for many rounds.
    // When it resumes, its turn has 500 + 1,500 = 2,000 bytes: two packets, and no more for the missed rounds.
    let mut link = filled(&dwrr(&[1_500, 1_500]), 20, 1_000);
    assert_eq!(link.order(1), [0]);
    link.pause(0, true);
    let alone = link.order(9);
    assert_eq!(alone, [1; 9]);
    link.pause(0, false);
    let after = link.order(6);
    let first = after.iter().position(|&queue| queue == 0).expect("it has a turn");
    assert!(first <= 2 && after[first..].starts_with(&[0, 0, 1]), "{after:?}");
}

#[test]
fn nobody_sends_while_nobody_may_and_nothing_is_lost() {
    let virtual_times = [VirtualTime::Gps, VirtualTime::SelfClocked, VirtualTime::AsReleased];
    let fair = virtual_times.map(|virtual_time| wfq(&[1, 2], virtual_time));
    let rounds = [wrr(&[500, 900], Order::Cyclic), wrr(&[500, 900], Order::Activation), dwrr(&[500, 900])];
    for config in fair.into_iter().chain(rounds).chain([Config::StrictPriority { queues: 2 }]) {
        let mut link = filled(&config, 3, 1_000);
        (0..2).for_each(|queue| link.pause(queue, true));
        assert_eq!(link.order(1), [0_usize; 0], "{config:?}");
        link.pause(1, false);
        assert_eq!(link.order(9), [1, 1, 1], "{config:?}");
        link.pause(0, false);
        assert_eq!(link.order(9), [0, 0, 0], "{config:?}");
    }
}

proptest! {
    /// For any sequence of pauses, a paused queue never sends, another queue with packets sends instead, and all packets leave in the
    /// end.
    #[test]
    fn a_paused_queue_never_sends_and_the_link_never_waits_for_it(
        (above, below, arrivals) in nested(),
        pauses in prop::collection::vec((0usize..12, any::<bool>()), 0..80),
    ) {
        let config = if above > 0 { strict_above(above, below) } else { below };
        let mut link = Link::new(&config);
        let count = link.queues.len();
        let (mut arrivals, mut pauses) = (arrivals.into_iter(), pauses.into_iter());
        let mut sent = 0;
        let mut arrived = 0;
        loop {
            if let Some(Arrival { queue, size, .. }) = arrivals.next() {
                link.arrive(queue, size.0);
                arrived += 1;
            }
            let pause = pauses.next();
            match pause {
                Some((queue, paused)) => link.pause(queue % count, paused),
                None => (0..count).for_each(|queue| link.pause(queue, false)),
            }
            let may = |queue: usize| link.paused.has(queue) && link.queues[queue].packets > 0;
            let able: Vec<usize> = (0..count).filter(|&queue| may(queue)).collect();
            match link.serve() {
                Some(packet) => {
                    prop_assert!(able.contains(&packet.queue), "{} of {able:?}", packet.queue);
                    sent += 1;
                }
                None => {
                    prop_assert!(able.is_empty(), "one of {able:?} may send");
                    if pause.is_none() && arrivals.len() == 0 {
                        break;
                    }
                }
            }
        }
        prop_assert_eq!(sent, arrived);
    }
}
