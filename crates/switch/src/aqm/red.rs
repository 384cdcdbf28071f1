//! RED-style marking as switches do it for ECN: a probability on the instantaneous backlog.
//!
//! The curve of WRED profiles and of the SONiC test plan: nothing up to Kmin, linear to Pmax at Kmax, everything
//! from there on; every packet is decided on its own. RED as Floyd and Jacobson wrote it, with its average and
//! its count, is another model.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant};

use super::{Aqm, Gauge, Point, PortView, Verdict};

/// Marks with a probability that grows with the backlog.
#[derive(Clone, Debug)]
pub struct Red {
    gauge: Gauge,
    kmin: Bytes,
    kmax: Bytes,
    pmax: f64,
    stream: Stream,
}

impl Red {
    /// A marker that draws from `stream`.
    ///
    /// # Panics
    ///
    /// If `kmin` exceeds `kmax` or `pmax` is no probability.
    pub fn new(gauge: Gauge, kmin: Bytes, kmax: Bytes, pmax: f64, stream: Stream) -> Self {
        assert!(kmin <= kmax && (0.0..=1.0).contains(&pmax), "not a RED curve: {kmin}, {kmax}, {pmax}");
        Self { gauge, kmin, kmax, pmax, stream }
    }

    /// Probability of a mark at this `backlog`.
    pub fn probability(&self, backlog: Bytes) -> f64 {
        if backlog >= self.kmax {
            1.0
        } else if backlog <= self.kmin {
            0.0
        } else {
            let span = (self.kmax - self.kmin).0 as f64;
            self.pmax * ((backlog - self.kmin).0 as f64 / span)
        }
    }

    #[inline]
    fn decide(&mut self, point: Point, header: &Header, port: &PortView) -> Verdict {
        if self.gauge.point != point {
            return Verdict::PASS;
        }
        let probability = self.probability(self.gauge.read(header, port));
        // Certain outcomes draw no number.
        Verdict::mark_if(probability >= 1.0 || (probability > 0.0 && self.stream.uniform() < probability))
    }
}

impl Aqm for Red {
    #[inline]
    fn on_enqueue(&mut self, _now: Instant, header: &Header, port: &PortView) -> Verdict {
        self.decide(Point::Enqueue, header, port)
    }

    #[inline]
    fn on_dequeue(&mut self, _now: Instant, header: &Header, port: &PortView) -> Verdict {
        self.decide(Point::Dequeue, header, port)
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Rate;

    use super::*;

    #[test]
    fn the_share_of_marked_packets_follows_the_curve() {
        // SONiC's ECN plan: Kmin 500 KB, Kmax 2000 KB, Pmax 5 %. At backlog q the share is 5 % · (q − 500)/1500.
        let stream = Stream::new(1, "red", 0);
        let mut red = Red::new(Gauge::default(), Bytes(500_000), Bytes(2_000_000), 0.05, stream);
        for (backlog, expected) in
            [(500_000, 0.0), (875_000, 0.0125), (1_250_000, 0.025), (1_999_999, 0.05), (2_000_000, 1.0)]
        {
            let view = PortView {
                rate: Rate::from_gbps(100),
                queue_backlog: Bytes(backlog),
                port_backlog: Bytes(0),
                pool_used: Bytes(0),
            };
            let n = 200_000;
            let marked =
                (0..n).filter(|_| red.on_enqueue(Instant::ZERO, &Header::default(), &view).marks()).count();
            // Four standard deviations of a binomial share.
            let tolerance = 4.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt();
            let share = marked as f64 / f64::from(n);
            assert!(
                (share - expected).abs() <= tolerance + 1e-9,
                "at {backlog}: {share}, expected {expected}"
            );
        }
    }
}
