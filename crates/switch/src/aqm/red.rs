//! RED-style ECN marking as switches implement it: the probability depends on the backlog, which may be averaged.
//!
//! The curve is that of WRED profiles and of the SONiC test plan: zero up to Kmin, then linear up to Pmax at Kmax, and one above Kmax. Each
//! packet is decided independently, unless marks are spaced as in BCC's released simulator. `floyd_jacobson.rs` implements RED as
//! published, whose average includes every arrival and the idle times.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant};

use super::gauge::{Gauge, Level, Meter, Point};
use super::interface::{Aqm, Hears, PortView, Verdict};
use crate::queue::Reading;

/// Marking probability as a function of the backlog: zero up to Kmin, *Pmax* just below Kmax, one above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    kmin: f64,
    kmax: f64,
    pmax: f64,
}

impl Curve {
    /// Creates a curve between `kmin` and `kmax`.
    ///
    /// # Panics
    ///
    /// Panics if `kmin` exceeds `kmax` or `pmax` is not a probability.
    pub fn new(kmin: u64, kmax: u64, pmax: f64) -> Self {
        assert!(kmin <= kmax && (0.0..=1.0).contains(&pmax), "not a RED curve: {kmin}, {kmax}, {pmax}");
        Self { kmin: kmin as f64, kmax: kmax as f64, pmax }
    }

    /// Returns the marking probability at this `backlog`.
    #[inline]
    pub fn probability(&self, backlog: f64) -> f64 {
        if backlog >= self.kmax {
            1.0
        } else if backlog <= self.kmin {
            0.0
        } else {
            self.pmax * ((backlog - self.kmin) / (self.kmax - self.kmin))
        }
    }

    /// Returns the curve with `kmin` and `kmax` multiplied by `factor` (MQ-ECN §3.4, "Probabilistic Marking").
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        Self { kmin: self.kmin * factor, kmax: self.kmax * factor, ..self }
    }

    /// Returns the upper threshold; every packet at or above it is marked.
    pub fn kmax(&self) -> f64 {
        self.kmax
    }
}

/// Spacing between marks on the slope of the curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// Each packet is decided independently, as in switches.
    #[default]
    Independent,
    /// The probability grows with the bytes that have passed the port since the last mark. BCC's released simulator (myred.cc) spaces
    /// marks in this way; RED itself counts packets.
    Count {
        /// Number of bytes that count as one packet.
        packet: Bytes,
    },
}

/// RED marker of one port: marks with a probability that grows with the backlog.
#[derive(Clone, Debug)]
pub struct Red {
    meter: Meter,
    curve: Curve,
    spacing: Spacing,
    /// Bytes since the last mark, or since the backlog was last at or below Kmin.
    unmarked: Bytes,
    stream: Stream,
}

impl Red {
    /// Creates a marker at a port with this many `queues`. `stream` supplies the random numbers.
    ///
    /// # Panics
    ///
    /// Panics if marks are spaced in packets of size zero.
    pub fn new(gauge: Gauge, queues: usize, curve: Curve, spacing: Spacing, stream: Stream) -> Self {
        assert!(spacing != Spacing::Count { packet: Bytes(0) }, "a packet that counts has a size");
        Self { meter: Meter::new(gauge, queues), curve, spacing, unmarked: Bytes(0), stream }
    }

    #[inline(always)]
    fn decide(&mut self, point: Point, header: &Header, port: &PortView<'_>) -> Verdict {
        if self.meter.point != point {
            return Verdict::PASS;
        }
        let backlog = self.meter.read(header, port);
        self.decide_at(backlog, header.size())
    }

    /// Returns the verdict on a packet of this `size`, if the gauge reads `backlog`.
    #[inline]
    fn decide_at(&mut self, backlog: f64, size: Bytes) -> Verdict {
        let mut probability = self.curve.probability(backlog);
        if let Spacing::Count { packet } = self.spacing {
            probability = self.spaced(probability, size, packet);
        }
        // If the outcome is certain, no random number is drawn.
        let marks = probability >= 1.0 || (probability > 0.0 && self.stream.uniform() < probability);
        if marks {
            self.unmarked = Bytes(0);
        }
        Verdict::mark_if(marks)
    }

    /// Returns the probability of marking a packet of this `size`, with the spacing of BCC's released simulator (myred.cc, after
    /// `modify_p` of ns-2's RED): *p/(1 − c·p)* times `size`/`packet`. *c* is the number of whole packets in the bytes since the last
    /// mark, including this packet.
    fn spaced(&mut self, probability: f64, size: Bytes, packet: Bytes) -> f64 {
        if probability <= 0.0 || probability >= 1.0 {
            self.unmarked = Bytes(0);
            return probability;
        }
        self.unmarked += size;
        let count = (self.unmarked.0 / packet.0) as f64;
        if count * probability >= 1.0 {
            return 1.0;
        }
        let raised = probability / (1.0 - count * probability);
        if raised < 1.0 { raised * (size.0 as f64 / packet.0 as f64) } else { 1.0 }
    }
}

impl Aqm for Red {
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

/// Returns the curve between two levels.
pub(super) fn curve(kmin: Level, kmax: Level, pmax: f64) -> Curve {
    Curve::new(kmin.0, kmax.0, pmax)
}

#[cfg(test)]
mod tests {
    use super::super::testing::Seen;
    use super::super::{Averaging, Scope};
    use super::*;

    /// Returns the curve of SONiC's ECN test plan: Kmin 500 KB, Kmax 2000 KB, Pmax 5 %.
    fn sonic() -> Curve {
        Curve::new(500_000, 2_000_000, 0.05)
    }

    fn red(gauge: Gauge, curve: Curve, spacing: Spacing) -> Red {
        Red::new(gauge, 1, curve, spacing, Stream::new(1, "red", 0))
    }

    #[test]
    fn the_share_of_marked_packets_follows_the_curve() {
        // At backlog q, the fraction of marked packets is 5 % · (q − 500)/1500.
        let mut red = red(Gauge::default(), sonic(), Spacing::Independent);
        for (backlog, expected) in [
            (0, 0.0),
            (500_000, 0.0),
            (875_000, 0.0125),
            (1_250_000, 0.025),
            (1_999_999, 0.05),
            (2_000_000, 1.0),
        ] {
            let seen = Seen::queue(backlog);
            let n = 200_000;
            let marked = (0..n)
                .filter(|_| red.on_enqueue(Instant::ZERO, &Header::default(), &seen.view()).marks())
                .count();
            // Four standard deviations of a binomial fraction.
            let tolerance = 4.0 * (expected * (1.0 - expected) / f64::from(n)).sqrt();
            let share = marked as f64 / f64::from(n);
            assert!(
                (share - expected).abs() <= tolerance + 1e-9,
                "at {backlog}: {share}, expected {expected}"
            );
        }
    }

    #[test]
    fn the_curve_is_linear_between_its_ends_and_scales() {
        for (curve, kmin, kmax) in [(sonic(), 500_000, 2_000_000), (sonic().scaled(0.5), 250_000, 1_000_000)]
        {
            let at = |backlog: u64| curve.probability(backlog as f64);
            assert_eq!((at(kmin), at(kmax), at(kmax + 1)), (0.0, 1.0, 1.0));
            assert_eq!(at((kmin + kmax) / 2), 0.025);
            assert!(at(kmin + 1) > 0.0 && at(kmax - 1) < 0.05);
            assert_eq!(curve.kmax(), kmax as f64);
        }
    }

    #[test]
    fn it_looks_only_at_its_own_point_and_may_average() {
        let averaging = Averaging::Ewma { weight: 0.5 };
        let gauge = Gauge { point: Point::Dequeue, averaging, ..Gauge::default() };
        let mut red = red(gauge, Curve::new(600, 600, 1.0), Spacing::Independent);
        let seen = Seen::queue(800);
        assert!(!red.on_enqueue(Instant::ZERO, &Header::default(), &seen.view()).marks());
        // The average is 400 at the first packet and 600 at the second.
        assert!(!red.on_dequeue(Instant::ZERO, &Header::default(), &seen.view()).marks());
        assert!(red.on_dequeue(Instant::ZERO, &Header::default(), &seen.view()).marks());
        let mut told = vec![];
        red.observe(&seen.view(), &mut |reading| told.push((reading.quantity, reading.value)));
        assert_eq!(told, [("average_bytes", 600.0)]);
    }

    #[test]
    fn the_released_rule_of_bcc_spaces_marks_by_count() {
        // p = 1/10 at every packet of 9,000 B. The k-th packet since the last mark has c = k and is marked with probability p/(1 − k·p) =
        // 1/(10 − k), k = 1…9, so the gaps are uniform over 1…9.
        let spacing = Spacing::Count { packet: Bytes(9_000) };
        let gauge = Gauge { scope: Scope::Pool, point: Point::Dequeue, ..Gauge::default() };
        let mut red = red(gauge, Curve::new(0, 200_000, 0.2), spacing);
        let (seen, packet) = (Seen::pool(100_000), Header::default().with_size(9_000));
        let (mut gaps, mut gap) = ([0u32; 10], 0);
        let n = 90_000;
        let mut marks = 0;
        while marks < n {
            gap += 1;
            assert!(gap < gaps.len(), "no mark in {gap} packets");
            if red.on_dequeue(Instant::ZERO, &packet, &seen.view()).marks() {
                gaps[gap] += 1;
                (marks, gap) = (marks + 1, 0);
            }
        }
        assert_eq!(gaps[0], 0);
        // χ² with 8 degrees of freedom: 26.1 at the 0.1 % level.
        let expected = f64::from(n) / 9.0;
        let off = |count: u32| f64::from(count) - expected;
        let chi2: f64 = gaps[1..].iter().map(|&count| off(count) * off(count) / expected).sum();
        assert!(chi2 < 26.1, "{chi2}: {gaps:?}");
    }

    #[test]
    fn the_released_count_works_in_whole_packets_and_starts_anew() {
        let spacing = Spacing::Count { packet: Bytes(9_000) };
        let mut red = red(Gauge::default(), sonic(), spacing);
        // The first 4,500 B at p = 0.1: c = 0, and the size halves the probability. The next 4,500 B make c = 1: 0.1/0.9, halved.
        assert_eq!(red.spaced(0.1, Bytes(4_500), Bytes(9_000)), 0.05);
        assert_eq!(red.spaced(0.1, Bytes(4_500), Bytes(9_000)), 0.1 / 0.9 / 2.0);
        assert_eq!(red.unmarked, Bytes(9_000));
        // c·p = 2 · 1/2 reaches one. A probability that spacing raises to one is not scaled by the size: c = 1, p = 1/2 gives 1.
        assert_eq!(red.spaced(0.5, Bytes(9_000), Bytes(9_000)), 1.0);
        red.unmarked = Bytes(4_500);
        assert_eq!(red.spaced(0.5, Bytes(4_500), Bytes(9_000)), 1.0);
        for certain in [0.0, 1.0] {
            red.unmarked = Bytes(5);
            assert_eq!(red.spaced(certain, Bytes(4_500), Bytes(9_000)), certain);
            assert_eq!(
                red.unmarked,
                Bytes(0),
                "at or below Kmin, and where all is marked, the count starts anew"
            );
        }
    }

    #[test]
    fn certain_outcomes_draw_no_number() {
        // Below Kmin no packet is marked, above Kmax every packet. Neither case advances the random stream.
        let mut red = red(Gauge::default(), sonic(), Spacing::Independent);
        let next = |red: &Red| red.stream.clone().next_u64();
        let before = next(&red);
        for backlog in [0, 500_000, 2_000_000] {
            red.on_enqueue(Instant::ZERO, &Header::default(), &Seen::queue(backlog).view());
            assert_eq!(next(&red), before, "{backlog}");
        }
        red.on_enqueue(Instant::ZERO, &Header::default(), &Seen::queue(500_001).view());
        assert_ne!(next(&red), before);
    }

    #[test]
    #[should_panic(expected = "not a RED curve: 2, 1")]
    fn a_curve_that_falls_is_refused() {
        Curve::new(2, 1, 0.5);
    }

    #[test]
    #[should_panic(expected = "not a RED curve: 1, 2, 1.1")]
    fn a_probability_above_one_is_refused() {
        Curve::new(1, 2, 1.1);
    }

    #[test]
    #[should_panic(expected = "a packet that counts has a size")]
    fn a_count_of_packets_without_size_is_refused() {
        red(Gauge::default(), sonic(), Spacing::Count { packet: Bytes(0) });
    }
}
