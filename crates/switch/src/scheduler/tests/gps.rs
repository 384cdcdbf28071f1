//! Generalized processor sharing: the ideal that schedulers approximate and are tested against.
//!
//! Parekh and Gallager (ToN '93) §II: all busy queues are served at the same time, each at the rate of the link times its weight over the
//! sum of the weights of the busy queues. A real link cannot do this, because it sends one packet at a time. This file computes the
//! finish times in the model.

use std::collections::VecDeque;

use shallows_core::{Bytes, Instant, Rate};

/// An arriving packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    /// Time of arrival.
    pub(super) at: Instant,
    /// Queue that the packet joins.
    pub(super) queue: usize,
    /// Size of the packet.
    pub(super) size: Bytes,
}

/// Returns the time at which GPS finishes each arrival, in picoseconds since the start.
///
/// Simulates the fluid model without virtual time, from one event (an arrival or the end of a packet) to the next.
///
/// # Panics
///
/// Panics if the arrivals are not in order of time.
pub(super) fn finish_times(rate: Rate, weights: &[u32], arrivals: &[Arrival]) -> Vec<f64> {
    let bytes_per_ps = rate.0 as f64 / 8e12;
    let mut finish = vec![0.0; arrivals.len()];
    // For each queue: its packets, and the bytes of each packet that are not sent yet.
    let mut fluid: Vec<VecDeque<(usize, f64)>> = vec![VecDeque::new(); weights.len()];
    let mut now = 0.0;
    let mut pending = arrivals.iter().enumerate().peekable();
    loop {
        let busy: Vec<usize> = (0..weights.len()).filter(|&queue| !fluid[queue].is_empty()).collect();
        let sum: f64 = busy.iter().map(|&queue| f64::from(weights[queue])).sum();
        let speed = |queue: usize| bytes_per_ps * f64::from(weights[queue]) / sum;
        let next_end =
            busy.iter().map(|&queue| now + fluid[queue][0].1 / speed(queue)).min_by(f64::total_cmp);
        let next_arrival = pending.peek().map(|(_, arrival)| arrival.at.0 as f64);
        let next = match (next_end, next_arrival) {
            (None, None) => return finish,
            (Some(at), None) | (None, Some(at)) => at,
            (Some(end), Some(arrival)) => end.min(arrival),
        };
        assert!(next >= now, "arrivals come in the order of time");
        for &queue in &busy {
            let (packet, left) = fluid[queue][0];
            let end = now + left / speed(queue);
            if end <= next {
                finish[packet] = end;
                fluid[queue].pop_front();
            } else {
                fluid[queue][0].1 = (left - (next - now) * speed(queue)).max(0.0);
            }
        }
        now = next;
        while let Some((packet, arrival)) = pending.next_if(|(_, arrival)| arrival.at.0 as f64 <= now) {
            fluid[arrival.queue].push_back((packet, arrival.size.0 as f64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 8 Gbit/s a byte takes 1,000 ps.
    const RATE: Rate = Rate::from_gbps(8);

    fn finish(weights: &[u32], arrivals: &[(u64, usize, u64)]) -> Vec<u64> {
        let arrivals: Vec<Arrival> = arrivals
            .iter()
            .map(|&(ns, queue, size)| Arrival { at: Instant(ns * 1_000), queue, size: Bytes(size) })
            .collect();
        finish_times(RATE, weights, &arrivals).iter().map(|ps| (ps / 1_000.0).round() as u64).collect()
    }

    #[test]
    fn a_queue_alone_has_the_whole_link() {
        assert_eq!(finish(&[1, 9], &[(0, 0, 100), (0, 0, 50), (500, 0, 20)]), [100, 150, 520]);
    }

    #[test]
    fn busy_queues_share_by_weight_and_what_one_leaves_the_others_get() {
        // Weights 1 and 3: by time t the second queue has sent 3t/4, so its 300 B end at 400. The first queue has then sent 100 of its
        // 200 B. It sends the rest at the full rate and ends at 500.
        assert_eq!(finish(&[1, 3], &[(0, 0, 200), (0, 1, 300)]), [500, 400]);
    }

    #[test]
    fn an_arrival_slows_down_who_is_being_served() {
        // When the second packet arrives, the first has sent 60 of 100 B. Its last 40 B take 80 at half the rate. The second packet has
        // then sent 40 of its 70 B, and sends the last 30 B alone.
        assert_eq!(finish(&[5, 5], &[(0, 0, 100), (60, 1, 70)]), [140, 170]);
    }

    #[test]
    fn a_queue_is_first_in_first_out() {
        // Both queues send at half the rate: the 30 B end at 60, and the 10 B behind them at 80. Queue 1 has then sent 40 of 50 B, and
        // ends at 90.
        assert_eq!(finish(&[1, 1], &[(0, 0, 30), (0, 0, 10), (0, 1, 50)]), [60, 80, 90]);
    }
}
