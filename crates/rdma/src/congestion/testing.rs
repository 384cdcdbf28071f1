//! A bottleneck for tests: a fluid model of equal flows through one hop, computed in small time steps.

use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};

use super::interface::{Ack, CongestionControl, Telemetry};
use super::pint::{self, PortUtilisation};

/// Round-trip time without queues.
pub(super) const T: Duration = Duration::from_micros(13);
/// Rate of the hop and of the NICs.
pub(super) const CAPACITY: Rate = Rate::from_gbps(100);
/// Bytes that the hop sends in `T`.
pub(super) const BDP: f64 = 162_500.0;
/// Number of time steps in `T`.
const STEPS: usize = 20;

/// State at the end of a run.
pub(super) struct End<C> {
    /// One of the flows.
    pub(super) flow: C,
    /// Utilisation of the hop in the last step.
    pub(super) used: f64,
    /// Bytes in the queue.
    pub(super) queue: f64,
}

/// Runs `flows` copies of a new flow for `rtts` times `T`. Acknowledgements arrive `T` after the packets left the hop, which marks
/// packets if more than `threshold` bytes are queued.
pub(super) fn run<C: CongestionControl + Clone>(
    config: &C::Config,
    flow: C,
    flows: usize,
    rtts: usize,
    threshold: f64,
) -> End<C> {
    let mut flows = vec![(flow, 0.0); flows];
    let span = Duration(T.0 / STEPS as u64);
    let per_step = BDP / STEPS as f64;
    let (mut queue, mut sent, mut used) = (0.0, 0.0, 0.0);
    let pint = pint::Config { log_base: pint::LOG_BASE, base_rtt: T };
    let (mut port, mut stream) = (PortUtilisation::default(), Stream::new(1, "pint", 0));
    let mut on_the_way = vec![(Telemetry::default(), None); STEPS];
    for step in 0..rtts * STEPS {
        // A window is in flight for T and the time in the queue.
        let spread = 1.0 + queue / BDP;
        let bytes = |flow: &C| flow.pace().rate.0 as f64 / 8.0 * span.as_secs_f64() / spread;
        let arrivals: Vec<f64> = flows.iter().map(|(flow, _)| bytes(flow)).collect();
        let arrived: f64 = arrivals.iter().sum();
        let leaving = f64::min(queue + arrived, per_step);
        (queue, sent, used) = (queue + arrived - leaving, sent + leaving, leaving / per_step);
        let at = Instant::ZERO + span * (step as u64 + 1);
        let left = Telemetry { at, sent: sent as u64, backlog: Bytes(queue as u64), rate: CAPACITY };
        let code = pint.encode(port.on_departure(T, &left), stream.uniform());
        let (seen, utilisation) = std::mem::replace(&mut on_the_way[step % STEPS], (left, Some(code)));
        for ((flow, acked), bytes) in flows.iter_mut().zip(arrivals) {
            *acked += bytes;
            let (number, next) = (*acked as u64, (*acked + bytes * spread * STEPS as f64) as u64);
            let (rtt, marked) =
                (T + CAPACITY.transmission_time(seen.backlog), seen.backlog.0 as f64 > threshold);
            let (now, acked) = (at, Bytes(bytes as u64));
            let ack = Ack { now, number, acked, next, rtt, marked, telemetry: &[seen], utilisation };
            if step >= STEPS {
                flow.on_ack(config, &ack);
            }
        }
    }
    End { flow: flows.swap_remove(0).0, used, queue }
}
