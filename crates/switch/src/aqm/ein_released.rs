//! The incast detector that Pulser's authors released (Linux 4.4, a changed `sch_tbf`). It sets CE and measures time in whole packet
//! times.
//!
//! The backlog is in packets and includes the departing one. A ring holds the samples of 70 dequeues. The detector sums the growth
//! between consecutive samples whose times differ, without dividing by the time. It sets CE if the average growth per sample is at least
//! one twentieth of a packet. Because the average is rounded to an integer, the sum must reach 70 packets: the queue must grow by 70
//! packets in 70 dequeues. The detector also sets CE if the *oldest* backlog in the ring exceeds 15 packets. (It compares the oldest
//! instead of the newest, because the code advances the index first.) The token bucket of the testbed held fewer than 70 packets, so its
//! detector was in effect a threshold of 15 packets. `ein` implements Algorithm 1.

use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Instant};

use super::interface::{Aqm, Hears, PortView, Verdict};
use crate::queue::Reading;

/// Parameters of the incast detector that Pulser's authors released.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Unit in which the detector measures time.
    pub packet_time: PacketTime,
    /// Number of dequeues in the ring (`sampleCnt`).
    pub samples: usize,
    /// Backlog in packets above which CE is always set.
    pub limit: u32,
}

impl Default for Config {
    /// Returns the constants of Pulser's released code, except for the unit of time: the time that the link takes to send 1,500 B.
    fn default() -> Self {
        Self { packet_time: PacketTime::Mtu(Bytes(1_500)), samples: 70, limit: 15 }
    }
}

/// Unit in which the incast detector of Pulser's authors measures time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketTime {
    /// Transmission time of a packet of this size.
    Mtu(Bytes),
    /// A fixed time. The released code has 250 µs, about the time to send 1,500 B at 50 Mbit/s.
    Fixed(Duration),
}

/// Released incast detector of one port; sets CE.
#[derive(Clone, Debug)]
pub struct EinReleased {
    config: Config,
    ring: Box<[Sample]>,
    /// Index of the oldest sample, which the next one replaces.
    oldest: usize,
    /// Sum of the growth between neighbouring samples in the ring.
    sum: i64,
    marked: bool,
}

/// Sample that is taken when a packet is dequeued: the time, in units of the transmission time of one packet, and the backlog.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    time: u64,
    packets: i64,
}

impl Sample {
    /// Returns the growth of the backlog since `earlier`; zero if no time has passed.
    fn growth_since(self, earlier: Self) -> i64 {
        if self.time > earlier.time { self.packets - earlier.packets } else { 0 }
    }
}

impl EinReleased {
    /// Creates a detector without samples.
    ///
    /// # Panics
    ///
    /// Panics if `config.samples`, the size of the ring, is below two, or if the unit of time is zero.
    pub fn new(config: &Config) -> Self {
        assert!(config.samples >= 2, "two samples make a difference, not {}", config.samples);
        let timeless = [PacketTime::Mtu(Bytes(0)), PacketTime::Fixed(Duration::ZERO)];
        assert!(!timeless.contains(&config.packet_time), "a packet takes time");
        Self {
            config: config.clone(),
            ring: vec![Sample::default(); config.samples].into(),
            oldest: 0,
            sum: 0,
            marked: false,
        }
    }

    fn next(&self, place: usize) -> usize {
        if place + 1 == self.ring.len() { 0 } else { place + 1 }
    }

    fn push(&mut self, sample: Sample) {
        let (leaving, second) = (self.ring[self.oldest], self.ring[self.next(self.oldest)]);
        let newest = self.ring[if self.oldest == 0 { self.ring.len() } else { self.oldest } - 1];
        self.sum += sample.growth_since(newest) - second.growth_since(leaving);
        self.ring[self.oldest] = sample;
        self.oldest = self.next(self.oldest);
    }
}

impl Aqm for EinReleased {
    fn hears(&self) -> Hears {
        Hears::DEQUEUES
    }

    fn on_dequeue(&mut self, now: Instant, _header: &Header, port: &PortView<'_>) -> Verdict {
        let unit = match self.config.packet_time {
            PacketTime::Mtu(size) => port.rate.transmission_time(size),
            PacketTime::Fixed(unit) => unit,
        };
        // The length includes the departing packet.
        let packets = 1 + port.queues.iter().map(|queue| i64::from(queue.packets)).sum::<i64>();
        self.push(Sample { time: now.0 / unit.0, packets });
        let average = self.sum / self.ring.len() as i64;
        self.marked = average * 20 >= 1 || self.ring[self.oldest].packets > i64::from(self.config.limit);
        Verdict::mark_if(self.marked)
    }

    fn observe(&self, _port: &PortView<'_>, tell: &mut dyn FnMut(Reading)) {
        tell(Reading { quantity: "incast", queue: None, value: f64::from(u8::from(self.marked)) });
        tell(Reading { quantity: "backlog_growth_packets", queue: None, value: self.sum as f64 });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shallows_core::Rate;

    use super::super::testing::Seen;
    use super::*;

    /// Transmission time of 1,500 B at 10 Gbit/s.
    const SLOT: Duration = Duration(1_200_000);

    struct Driver {
        detector: EinReleased,
        seen: Seen,
    }

    impl Driver {
        fn new(config: &Config) -> Self {
            let seen = Seen { rate: Rate::from_gbps(10), ..Seen::queue(0) };
            Self { detector: EinReleased::new(config), seen }
        }

        /// Dequeues a packet while `packets` wait, including this one.
        fn leave(&mut self, now: Instant, packets: u32) -> bool {
            self.seen.queues[0].packets = packets - 1;
            self.detector.on_dequeue(now, &Header::default(), &self.seen.view()).marks()
        }
    }

    #[test]
    fn it_needs_seventy_packets_of_growth_in_seventy_dequeues() {
        // The ring starts with zeros at time zero, so a queue of 69 packets has grown by 69, and one of 70 by 70.
        for (packets, marks) in [(69, false), (70, true)] {
            let mut driver = Driver::new(&Config::default());
            assert_eq!(driver.leave(Instant::ZERO + SLOT, packets), marks, "{packets}");
            let mut told = vec![];
            let tell = &mut |reading: Reading| told.push((reading.quantity, reading.value));
            driver.detector.observe(&driver.seen.view(), tell);
            let growth = f64::from(packets);
            assert_eq!(told, [("incast", f64::from(u8::from(marks))), ("backlog_growth_packets", growth)]);
        }
        // The growth is zero until one packet time has passed.
        let mut driver = Driver::new(&Config::default());
        assert!(!driver.leave(Instant(SLOT.0 - 1), 70));
    }

    #[test]
    fn it_marks_by_the_oldest_backlog_in_the_ring() {
        // A steady queue above 15 packets: its first backlog is compared 69 dequeues late, at the 70th dequeue.
        for (packets, first) in [(15, None), (16, Some(70))] {
            let mut driver = Driver::new(&Config::default());
            let mark = (1..=200u64).find(|&k| driver.leave(Instant::ZERO + SLOT * k, packets));
            assert_eq!(mark, first, "{packets}");
        }
    }

    #[test]
    fn its_unit_of_time_is_fixed_or_that_of_a_packet() {
        let released =
            Config { packet_time: PacketTime::Fixed(Duration::from_micros(250)), ..Config::default() };
        let mut driver = Driver::new(&released);
        assert!(!driver.leave(Instant::ZERO + Duration(249_999_999), 70));
        assert!(driver.leave(Instant::ZERO + Duration::from_micros(250), 140));
    }

    proptest! {
        /// The running sum equals the sum of the growth between all neighbouring samples in the ring.
        #[test]
        fn the_sum_is_that_of_the_neighbours(
            steps in prop::collection::vec((0u64..3, 1u32..100), 1..60),
            samples in 2usize..9,
        ) {
            let mut driver = Driver::new(&Config { samples, ..Config::default() });
            let mut history = vec![(0u64, 0i64); samples];
            let mut slot = 0;
            for (after, packets) in steps {
                slot += after;
                driver.leave(Instant::ZERO + SLOT * slot, packets);
                history.push((slot, i64::from(packets)));
                let pairs = history[history.len() - samples..].windows(2);
                let sum: i64 =
                    pairs.filter(|pair| pair[1].0 > pair[0].0).map(|pair| pair[1].1 - pair[0].1).sum();
                prop_assert_eq!(driver.detector.sum, sum);
            }
        }
    }

    #[test]
    #[should_panic(expected = "two samples make a difference, not 1")]
    fn a_ring_of_one_is_refused() {
        EinReleased::new(&Config { samples: 1, ..Config::default() });
    }

    #[test]
    #[should_panic(expected = "a packet takes time")]
    fn a_packet_time_of_nothing_is_refused() {
        EinReleased::new(&Config { packet_time: PacketTime::Fixed(Duration::ZERO), ..Config::default() });
    }
}
