//! Explicit incast notification (Pulser §III-A, Algorithm 1): a header bit that is set while the backlog of a port grows fast.
//!
//! Each dequeue adds a sample to a ring of *N*: the growth of the backlog since the previous dequeue, as a share of the line rate. If the
//! average of the ring exceeds a threshold, the departing packet gets the notification bit. The following packets get it too, as long as
//! the backlog stays above a high-water mark. Each packet costs O(1). The sums are integers, so that they do not drift.
//!
//! The ring starts with zeros. A dequeue at the same time as the previous dequeue (after a drop that took no time on the link) adds no
//! sample; the next sample includes the growth at both dequeues.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::packet::Header;
use shallows_core::{Bytes, Instant};

use super::interface::{Aqm, Hears, PortView, Verdict};
use crate::queue::Reading;

/// Parameters of Algorithm 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// *N*: number of samples to average.
    pub samples: usize,
    /// *EIN_threshold*, as a share of the line rate.
    pub threshold: f64,
    /// *HighWaterMark*: the ECN threshold (§III-A).
    pub high_water: Bytes,
    /// Definition of the average.
    pub average: Average,
    /// Time at which the backlog is read, relative to the departure.
    pub sampled: Sampled,
}

impl Config {
    /// Returns the parameters of the Pulser paper (§III-A) with this ECN threshold.
    pub fn paper(high_water: Bytes) -> Self {
        Self {
            samples: 50,
            threshold: 0.25,
            high_water,
            average: Average::MeanOfRatios,
            sampled: Sampled::After,
        }
    }
}

/// Definition of "Average Gradient for last N samples" (Algorithm 1, line 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "EinAverage")]
pub enum Average {
    /// The mean of the *N* gradients (Algorithm 1).
    #[default]
    MeanOfRatios,
    /// The growth over the last *N* samples divided by their total time. A pause lowers this ratio, because the total time includes the
    /// pause. Until *N* samples exist, growth and time count from the first dequeue.
    RatioOfSums,
}

/// Time at which the backlog is read, relative to the departure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sampled {
    /// After the packet has left.
    #[default]
    After,
    /// Before the packet leaves, as in the testbed of Pulser's authors.
    Before,
}

/// Incast detector of one port.
#[derive(Clone, Debug)]
pub struct Ein {
    config: Config,
    ring: Box<[Sample]>,
    /// Index of the oldest sample.
    oldest: usize,
    /// Sum of the gradients in the ring.
    sum: i64,
    /// Backlog and time at the last dequeue.
    last: Option<(Bytes, Instant)>,
    incast: bool,
}

/// Sample of one dequeue.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    /// Growth since the previous dequeue, as a share of the line rate in units of 2^-[`FRACTION`].
    gradient: i64,
    /// Backlog and time at the previous dequeue.
    before: (Bytes, Instant),
}

/// Number of fraction bits in a gradient.
const FRACTION: u32 = 30;
/// Largest representable gradient: a million times the line rate, so that the sum of the ring never overflows.
const STEEPEST: f64 = (1u64 << (20 + FRACTION)) as f64;

impl Ein {
    /// Creates a detector without samples.
    ///
    /// # Panics
    ///
    /// Panics if the number of samples is zero or above 4,096.
    pub fn new(config: &Config) -> Self {
        assert!((1..=4_096).contains(&config.samples), "not a number of samples: {}", config.samples);
        Self {
            config: config.clone(),
            ring: vec![Sample::default(); config.samples].into(),
            oldest: 0,
            sum: 0,
            last: None,
            incast: false,
        }
    }

    /// Adds the gradient since the previous dequeue to the ring (Algorithm 1, line 2).
    fn sample(&mut self, now: Instant, backlog: Bytes, port: &PortView<'_>) {
        let Some(before) = self.last else {
            self.last = Some((backlog, now));
            for sample in &mut self.ring {
                sample.before = (backlog, now);
            }
            return;
        };
        if now == before.1 {
            return;
        }
        let growth = backlog.0 as f64 - before.0.0 as f64;
        let share = growth * 8e12 / ((now - before.1).0 as f64 * port.rate.0 as f64);
        let gradient = (share * f64::from(1 << FRACTION)).clamp(-STEEPEST, STEEPEST) as i64;
        let left = std::mem::replace(&mut self.ring[self.oldest], Sample { gradient, before });
        self.sum += gradient - left.gradient;
        self.oldest = if self.oldest + 1 == self.ring.len() { 0 } else { self.oldest + 1 };
        self.last = Some((backlog, now));
    }

    /// Returns the average gradient, as a share of the line rate.
    fn average(&self, port: &PortView<'_>) -> f64 {
        match self.config.average {
            Average::MeanOfRatios => self.sum as f64 / f64::from(1 << FRACTION) / self.ring.len() as f64,
            Average::RatioOfSums => {
                let (first, Some(last)) = (self.ring[self.oldest].before, self.last) else { return 0.0 };
                if first.1 == last.1 {
                    return 0.0;
                }
                let growth = last.0.0 as f64 - first.0.0 as f64;
                growth * 8e12 / ((last.1 - first.1).0 as f64 * port.rate.0 as f64)
            }
        }
    }
}

impl Aqm for Ein {
    fn hears(&self) -> Hears {
        Hears::DEQUEUES
    }

    fn on_dequeue(&mut self, now: Instant, header: &Header, port: &PortView<'_>) -> Verdict {
        let backlog = match self.config.sampled {
            Sampled::After => port.port_backlog,
            Sampled::Before => port.port_backlog + header.size(),
        };
        self.sample(now, backlog, port);
        // Algorithm 1, lines 5 to 14.
        self.incast =
            self.average(port) > self.config.threshold || self.incast && backlog > self.config.high_water;
        if self.incast { Verdict::INCAST } else { Verdict::PASS }
    }

    fn observe(&self, port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
        tell(Reading { quantity: "incast", queue: None, value: f64::from(u8::from(self.incast)) });
        tell(Reading { quantity: "backlog_gradient", queue: None, value: self.average(port) });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shallows_core::{Duration, Rate};

    use super::super::testing::Seen;
    use super::*;

    /// Transmission time of 1,500 B at 10 Gbit/s.
    const SLOT: Duration = Duration(1_200_000);

    /// A port of 10 Gbit/s that sends packets of 1,500 B.
    struct Driver {
        ein: Ein,
        seen: Seen,
        now: Instant,
    }

    impl Driver {
        fn new(config: &Config) -> Self {
            let seen = Seen { rate: Rate::from_gbps(10), ..Seen::queue(0) };
            Self { ein: Ein::new(config), seen, now: Instant(9_000_000_000) }
        }

        /// Dequeues a packet, a time `after` since the previous one, while `backlog` bytes still wait.
        fn leave(&mut self, after: Duration, backlog: u64) -> bool {
            self.now = self.now + after;
            self.seen.port_backlog = Bytes(backlog);
            let packet = Header::default().with_size(1_500);
            assert_eq!(self.ein.on_enqueue(self.now, &packet, &self.seen.view()), Verdict::PASS);
            let verdict = self.ein.on_dequeue(self.now, &packet, &self.seen.view());
            assert!(!verdict.marks() && !verdict.drops());
            verdict.notifies_incast()
        }

        fn told(&self) -> (f64, f64) {
            let mut told = vec![];
            self.ein.observe(&self.seen.view(), &mut |reading| told.push((reading.quantity, reading.value)));
            assert_eq!((told[0].0, told[1].0), ("incast", "backlog_gradient"));
            (told[0].1, told[1].1)
        }
    }

    fn paper() -> Config {
        Config::paper(Bytes(97_500))
    }

    #[test]
    fn a_ramp_fires_exactly_when_the_mean_exceeds_the_threshold() {
        // The backlog grows by one packet per slot: a gradient of 1. If k of 50 samples are 1, the mean is k/50: 0.24 for k = 12, 0.26
        // for k = 13.
        let mut driver = Driver::new(&paper());
        assert!(!driver.leave(SLOT, 0), "the first dequeue has no gradient");
        let fired: Vec<_> = (1..=20u64).filter(|&k| driver.leave(SLOT, k * 1_500)).collect();
        assert_eq!(fired, (13..=20).collect::<Vec<_>>());
        assert_eq!(driver.told(), (1.0, 0.4));
        // The backlog grows by half a packet per slot: 25 of 50 samples give a mean of exactly 0.25, which is not above the threshold.
        let mut driver = Driver::new(&paper());
        driver.leave(SLOT, 0);
        let first = (1..=50u64).find(|&k| driver.leave(SLOT, k * 750));
        assert_eq!(first, Some(26));
    }

    #[test]
    fn both_readings_and_both_times_of_sampling_agree_while_mtu_packets_keep_the_port_busy() {
        let readings = [
            (Average::MeanOfRatios, Sampled::After),
            (Average::RatioOfSums, Sampled::After),
            (Average::MeanOfRatios, Sampled::Before),
        ];
        let fired = readings.map(|(average, sampled)| {
            let config = Config { average, sampled, samples: 10, ..Config::paper(Bytes(u64::MAX)) };
            let mut driver = Driver::new(&config);
            let backlog = |k: u64| 1_500 * (k * 7 % 13 + k.saturating_sub(100) / 5);
            let fired: Vec<_> = (0..400).map(|k| driver.leave(SLOT, backlog(k)) && k > 10).collect();
            // The sum of the last ten gradients is the growth over ten slots.
            let growth = (backlog(399) as f64 - backlog(389) as f64) / 1_500.0 / 10.0;
            assert!((driver.told().1 - growth).abs() < 1e-6);
            fired
        });
        assert!(fired[0].contains(&true) && fired[0].contains(&false));
        assert_eq!(fired[0], fired[1]);
        assert_eq!(fired[0], fired[2]);
    }

    #[test]
    fn once_fired_it_holds_while_the_backlog_is_above_the_high_water_mark() {
        let config = Config { samples: 1, ..paper() };
        for sampled in [Sampled::After, Sampled::Before] {
            let own = if sampled == Sampled::Before { 1_500 } else { 0 };
            let mut driver = Driver::new(&Config { sampled, ..config.clone() });
            driver.leave(SLOT, 97_501 - own);
            assert!(!driver.leave(SLOT, 97_501 - own), "above the mark alone is not enough");
            assert!(driver.leave(SLOT, 99_000 - own));
            assert!(driver.leave(SLOT, 97_501 - own), "it shrinks, but is above the mark");
            assert!(!driver.leave(SLOT, 97_500 - own), "not above it any more");
            assert!(!driver.leave(SLOT, 97_800 - own), "above again, but slowly: it is over");
        }
    }

    #[test]
    fn after_an_idle_gap_the_ratio_of_sums_is_small_and_the_mean_of_ratios_is_not() {
        // 50 steady slots, 100 idle slots, then growth of one packet per slot. At the 13th dequeue of the growth, of which the first
        // follows the gap, the mean is 12.01/50; the detector fires one dequeue later. The ratio divides 13 packets by 100 slots more.
        let fires = |average| {
            let mut driver = Driver::new(&Config { average, ..paper() });
            for _ in 0..60 {
                driver.leave(SLOT, 0);
            }
            driver.leave(SLOT * 100, 1_500);
            (2..=40u64).find(|&k| driver.leave(SLOT, k * 1_500))
        };
        assert_eq!(fires(Average::MeanOfRatios), Some(14));
        // The ratio for k packets is k over 49 + 100 slots: above a quarter from k = 38 on (37.25).
        assert_eq!(fires(Average::RatioOfSums), Some(38));
    }

    #[test]
    fn dequeues_at_the_same_instant_are_one_sample() {
        for average in [Average::MeanOfRatios, Average::RatioOfSums] {
            let config = Config { samples: 2, average, ..paper() };
            let (mut one, mut two) = (Driver::new(&config), Driver::new(&config));
            two.leave(SLOT, 0);
            two.leave(Duration::ZERO, 9_000);
            one.leave(SLOT, 0);
            for (k, grown) in [(1, 300), (2, 3_000), (3, 4_500)] {
                let fired = one.leave(SLOT, grown);
                assert_eq!(two.leave(SLOT, grown), fired, "{average:?} {k}");
                two.leave(Duration::ZERO, 97_000);
            }
            assert_eq!(one.told().1, two.told().1);
        }
    }

    #[test]
    fn an_incast_of_24_fires_within_the_first_samples_and_a_sawtooth_does_not() {
        for average in [Average::MeanOfRatios, Average::RatioOfSums] {
            let config = Config { average, ..paper() };
            // 24 packets arrive in each slot and one leaves: a gradient of 23. One such sample makes the average 23/50.
            let mut driver = Driver::new(&config);
            let first = (0..50u64).find(|&k| driver.leave(SLOT, k * 23 * 1_500));
            assert_eq!(first, Some(1), "{average:?}");
            // DCTCP's steady state: the backlog rises and falls by 20 packets with a period of 400 slots, an eighth of a packet per slot.
            let mut driver = Driver::new(&config);
            let fired = (0..20_000u64)
                .filter(|k| {
                    let phase = k % 400;
                    driver.leave(SLOT, 60_000 + 150 * phase.min(400 - phase))
                })
                .count();
            assert_eq!(fired, 0, "{average:?}");
        }
    }

    #[test]
    fn a_jump_beyond_all_bounds_is_cut_and_leaves_the_ring_whole() {
        let mut driver = Driver::new(&Config { samples: 4_096, ..paper() });
        driver.leave(SLOT, 0);
        for k in 0..9_000u64 {
            driver.leave(Duration(1), 10_000_000_000_000 * (k + 1));
        }
        assert!((driver.told().1 - f64::from(1 << 20)).abs() < 1e-3);
        for _ in 0..=4_096 {
            driver.leave(SLOT, 0);
        }
        assert_eq!(driver.told().1, 0.0);
    }

    proptest! {
        /// The running sum equals the sum over the ring, computed afresh.
        #[test]
        fn the_moving_average_is_that_of_the_last_samples(
            steps in prop::collection::vec((1_000u64..5_000_000, 0u64..300_000), 2..60),
            samples in 1usize..12,
        ) {
            let mut driver = Driver::new(&Config { samples, ..paper() });
            let mut gradients = vec![];
            let mut before = None;
            for (after, backlog) in steps {
                driver.leave(Duration(after), backlog);
                if let Some(before) = before {
                    gradients.push((backlog as f64 - before) * 8e12 / (after as f64 * 1e10));
                }
                before = Some(backlog as f64);
            }
            let last: f64 = gradients.iter().rev().take(samples).sum();
            prop_assert!((driver.told().1 - last / samples as f64).abs() < 1e-6);
        }
    }

    #[test]
    #[should_panic(expected = "not a number of samples: 0")]
    fn an_average_over_nothing_is_refused() {
        Ein::new(&Config { samples: 0, ..paper() });
    }

    #[test]
    #[should_panic(expected = "not a number of samples: 4097")]
    fn an_average_over_too_much_is_refused() {
        Ein::new(&Config { samples: 4_097, ..paper() });
    }
}
