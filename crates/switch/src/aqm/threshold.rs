//! Marking above one threshold on the instantaneous backlog: what DCTCP asks of a switch (RFC 8257 §3.1).

use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};

use super::{Aqm, Gauge, Point, PortView, Verdict};

/// Marks every packet that finds more than *K* bytes.
#[derive(Clone, Debug)]
pub struct Threshold {
    gauge: Gauge,
    threshold: Bytes,
}

impl Threshold {
    /// A marker at `threshold` bytes of what `gauge` measures.
    pub fn new(gauge: Gauge, threshold: Bytes) -> Self {
        Self { gauge, threshold }
    }

    #[inline]
    fn decide(&self, point: Point, header: &Header, port: &PortView) -> Verdict {
        // DCTCP (SIGCOMM '10) §3.1: "greater than K", strictly.
        Verdict::mark_if(self.gauge.point == point && self.gauge.read(header, port) > self.threshold)
    }
}

impl Aqm for Threshold {
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

    use super::super::Scope;
    use super::*;

    fn view(queue: u64, port: u64, pool: u64) -> PortView {
        PortView {
            rate: Rate::from_gbps(100),
            queue_backlog: Bytes(queue),
            port_backlog: Bytes(port),
            pool_used: Bytes(pool),
        }
    }

    fn packet() -> Header {
        Header::default().with_size(1_500)
    }

    #[test]
    fn it_marks_strictly_above_k() {
        let mut marker = Threshold::new(Gauge::default(), Bytes(3_000));
        assert_eq!(marker.on_enqueue(Instant::ZERO, &packet(), &view(3_000, 0, 0)), Verdict::PASS);
        assert_eq!(marker.on_enqueue(Instant::ZERO, &packet(), &view(3_001, 0, 0)), Verdict::MARK);
    }

    #[test]
    fn it_looks_at_its_own_scope() {
        for (scope, seen) in
            [(Scope::Queue, view(9, 0, 0)), (Scope::Port, view(0, 9, 0)), (Scope::Pool, view(0, 0, 9))]
        {
            let mut marker = Threshold::new(Gauge { scope, ..Gauge::default() }, Bytes(8));
            assert!(marker.on_enqueue(Instant::ZERO, &packet(), &seen).marks(), "{scope:?}");
            assert!(!marker.on_enqueue(Instant::ZERO, &packet(), &view(0, 0, 0)).marks());
        }
    }

    #[test]
    fn it_looks_only_at_its_own_point() {
        let mut marker = Threshold::new(Gauge { point: Point::Dequeue, ..Gauge::default() }, Bytes(0));
        assert!(!marker.on_enqueue(Instant::ZERO, &packet(), &view(9, 9, 9)).marks());
        assert!(marker.on_dequeue(Instant::ZERO, &packet(), &view(9, 9, 9)).marks());
    }

    #[test]
    fn the_packet_itself_counts_where_the_source_says_so() {
        // BCC's released simulator compares backlog + packet; 1,500 + 1,500 is not above 3,000, one more is.
        let mut marker = Threshold::new(Gauge { counts_packet: true, ..Gauge::default() }, Bytes(3_000));
        assert!(!marker.on_enqueue(Instant::ZERO, &packet(), &view(1_500, 0, 0)).marks());
        assert!(marker.on_enqueue(Instant::ZERO, &packet(), &view(1_501, 0, 0)).marks());
    }
}
