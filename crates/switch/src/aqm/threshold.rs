//! Marking while the backlog is above a threshold, as DCTCP requires (RFC 8257 §3.1). The backlog is instantaneous unless the gauge
//! averages it.

use shallows_core::Instant;
use shallows_core::packet::Header;

use super::gauge::{Gauge, Level, Meter, Point};
use super::interface::{Aqm, Hears, PortView, Verdict};
use crate::queue::Reading;

/// Marker of one port: marks every packet that finds a backlog above *K*.
#[derive(Clone, Debug)]
pub struct Threshold {
    meter: Meter,
    /// Threshold of each queue.
    thresholds: Box<[Level]>,
}

impl Threshold {
    /// Creates a marker that compares `gauge` with the threshold of the packet's queue.
    pub fn new(gauge: Gauge, thresholds: Box<[Level]>) -> Self {
        Self { meter: Meter::new(gauge, thresholds.len()), thresholds }
    }

    #[inline(always)]
    fn decide(&mut self, point: Point, header: &Header, port: &PortView<'_>) -> Verdict {
        // DCTCP (SIGCOMM '10) §3.1: "greater than K", strictly.
        Verdict::mark_if(
            self.meter.point == point && self.meter.exceeds(self.thresholds[port.queue].0, header, port),
        )
    }
}

impl Aqm for Threshold {
    fn hears(&self) -> Hears {
        self.meter.point.into()
    }

    #[inline(always)]
    fn on_enqueue(&mut self, _now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        self.decide(Point::Enqueue, header, port)
    }

    #[inline]
    fn on_dequeue(&mut self, _now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        self.decide(Point::Dequeue, header, port)
    }

    fn observe(&self, _port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
        self.meter.observe(tell);
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Bytes;

    use super::super::testing::Seen;
    use super::super::{Averaging, Scope, Split, Unit};
    use super::*;
    use crate::discipline::Share;

    fn at(gauge: Gauge, threshold: u64) -> Threshold {
        Threshold::new(gauge, Box::new([Level(threshold)]))
    }

    fn packet() -> Header {
        Header::default().with_size(1_500)
    }

    #[test]
    fn it_marks_strictly_above_k() {
        let mut marker = at(Gauge::default(), 3_000);
        assert_eq!(marker.on_enqueue(Instant::ZERO, &packet(), &Seen::queue(3_000).view()), Verdict::PASS);
        assert_eq!(marker.on_enqueue(Instant::ZERO, &packet(), &Seen::queue(3_001).view()), Verdict::MARK);
    }

    #[test]
    fn a_level_may_be_given_in_bytes() {
        assert_eq!(Level::from(Bytes(97_500)), Level(97_500));
    }

    #[test]
    fn it_looks_at_its_own_scope() {
        for (scope, seen) in
            [(Scope::Queue, Seen::queue(9)), (Scope::Port, Seen::port(9)), (Scope::Pool, Seen::pool(9))]
        {
            let mut marker = at(Gauge { scope, ..Gauge::default() }, 8);
            assert!(marker.on_enqueue(Instant::ZERO, &packet(), &seen.view()).marks(), "{scope:?}");
            assert!(!marker.on_enqueue(Instant::ZERO, &packet(), &Seen::queue(0).view()).marks());
        }
    }

    #[test]
    fn it_looks_only_at_its_own_point() {
        let mut marker = at(Gauge { point: Point::Dequeue, ..Gauge::default() }, 0);
        assert!(!marker.on_enqueue(Instant::ZERO, &packet(), &Seen::queue(9).view()).marks());
        assert!(marker.on_dequeue(Instant::ZERO, &packet(), &Seen::queue(9).view()).marks());
    }

    #[test]
    fn the_packet_itself_counts_where_the_source_says_so() {
        // BCC's released simulator compares backlog + packet: 1,500 + 1,500 is not above 3,000, but one byte more is.
        let mut marker = at(Gauge { counts_packet: true, ..Gauge::default() }, 3_000);
        assert!(!marker.on_enqueue(Instant::ZERO, &packet(), &Seen::queue(1_500).view()).marks());
        assert!(marker.on_enqueue(Instant::ZERO, &packet(), &Seen::queue(1_501).view()).marks());
    }

    #[test]
    fn the_minimum_threshold_is_the_share_of_the_standard() {
        // MQ-ECN §2: K·w/Σw. Quanta of 1,500 and 4,500 divide 65 packets of 1,500 B as 1 to 3; strict priority has the whole K.
        let round = |quantum| Share::Round { quantum: Bytes(quantum) };
        let shares = [Share::Strict, round(1_500), round(4_500)];
        let k = Level(97_500);
        assert_eq!(*Split::Minimum.divide(k, &shares), [k, Level(24_375), Level(73_125)]);
        assert_eq!(*Split::Standard.divide(k, &shares), [k; 3]);
        assert_eq!(
            *Split::Minimum.divide(k, &[Share::Weight(3), Share::Weight(1)]),
            [Level(73_125), Level(24_375)]
        );
    }

    #[test]
    fn it_may_count_packets_and_average_them() {
        // Weight 1/2: after two packets that find a backlog of 8 the average is 6, after three it is 7.
        let averaging = Averaging::Ewma { weight: 0.5 };
        let mut marker = at(Gauge { unit: Unit::Packets, averaging, ..Gauge::default() }, 6);
        let mut seen = Seen::queue(1);
        seen.queues[0].packets = 8;
        let marks = [(); 3].map(|()| marker.on_enqueue(Instant::ZERO, &packet(), &seen.view()).marks());
        assert_eq!(marks, [false, false, true]);
        let mut told = vec![];
        marker.observe(&seen.view(), &mut |reading| told.push((reading.quantity, reading.value)));
        assert_eq!(told, [("average_packets", 7.0)]);
    }
}
