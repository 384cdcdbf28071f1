//! Validity of a run: lateness of frames, and losses that the model did not cause. All durations are in the machine's time.

use serde_json::{Value, json};
use shallows_core::Duration;
use shallows_scenario::{Experiment, PortKind};

use crate::dilation::Dilation;

/// Measurements that decide whether a run is valid.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// Lateness of deliveries: time from when a frame was due at its host until the host got it.
    pub lateness: Lateness,
    /// Lateness of pick-up: time from when a host sent a frame until the switch had it.
    pub pickup: Lateness,
    /// Lateness of applications: time from when a flow was due until its application wrote the data.
    pub writing: Lateness,
    /// Frames that the switch lost because its ring was full.
    pub overruns: u64,
    /// Number of frames dropped by an interface between the switch and the hosts, or by the kernel of a host.
    pub refused: u64,
    /// Changes of the hosts' networks since they were set up: interfaces, addresses, routes, queueing disciplines.
    pub changed: Vec<String>,
    /// Frames that do not belong to the network's hosts.
    pub foreign: u64,
    /// Reason for which the run ended early; `None` if it did not.
    pub incomplete: Option<String>,
    /// Share of the processors' time that other virtual machines took, in percent.
    pub steal: f64,
}

/// Histogram of delays, with one bin per microsecond up to a tenth of a second.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u32>,
    count: u64,
    worst: Duration,
}

const MICROSECONDS: usize = 100_000;

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; MICROSECONDS + 1], count: 0, worst: Duration::ZERO }
    }
}

impl Lateness {
    /// Adds a delay.
    pub fn record(&mut self, late: Duration) {
        self.counts[((late.0 / 1_000_000) as usize).min(MICROSECONDS)] += 1;
        self.count += 1;
        self.worst = self.worst.max(late);
    }

    /// Returns this percentile of the delays (nearest rank) as the next greater whole number of microseconds; zero if there are no delays.
    pub fn percentile(&self, percent: f64) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let rank = ((percent / 100.0 * self.count as f64).ceil() as u64).clamp(1, self.count);
        let mut seen = 0;
        let place = self.counts.iter().position(|&count| {
            seen += u64::from(count);
            seen >= rank
        });
        place.expect("all of them are in it") as u64 + 1
    }

    /// Returns the longest delay.
    pub fn worst(&self) -> Duration {
        self.worst
    }

    fn describe(&self) -> Value {
        json!({
            "count": self.count,
            "median_us": self.percentile(50.0),
            "p99_us": self.percentile(99.0),
            "worst_us": self.worst.as_micros_f64(),
        })
    }
}

/// Bounds on the lateness of frames in a valid run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Ratio of the machine's time to network time.
    pub dilation: Dilation,
    /// Bound on the 99th percentile of lateness: the transmission time of a full packet on the slowest link of a switch, but at least 50
    /// us.
    pub p99: Duration,
    /// Bound on the lateness of each frame: half of the minimum retransmission timeout. Above this bound, a timer may expire although the
    /// packet is only late.
    pub worst: Duration,
}

/// Largest steal of processor time in a valid run, in percent.
const MOST_STEAL: f64 = 5.0;

impl Bounds {
    /// Returns the bounds for `experiment`.
    pub fn of(experiment: &Experiment, dilation: Dilation) -> Self {
        let network = &experiment.network;
        let packet = network.mtu + network.framing;
        let switched = network.links.iter().filter(|link| link.kind != PortKind::Nic);
        let slowest = switched.map(|link| link.rate.transmission_time(packet)).max().unwrap_or_default();
        Self {
            dilation,
            p99: dilation.real(slowest).max(Duration::from_micros(50)),
            worst: Duration(dilation.real(experiment.tcp().rto.minimum).0 / 2),
        }
    }
}

impl Health {
    /// Returns the reasons for which the run is invalid; empty if it is valid.
    pub fn complaints(&self, bounds: &Bounds) -> Vec<String> {
        let mut complaints: Vec<String> =
            self.incomplete.iter().map(|why| format!("the run is incomplete: {why}")).collect();
        if !self.changed.is_empty() {
            complaints.push(format!("the network was changed during the run: {}", self.changed.join("; ")));
        }
        let (p99, bound) = (self.lateness.percentile(99.0), bounds.p99.as_micros_f64());
        if p99 as f64 > bound.ceil() {
            complaints
                .push(format!("the 99th percentile of lateness must be at most {bound:.0} us, got {p99} us"));
        }
        let worst = self.lateness.worst().max(self.pickup.worst());
        if worst > bounds.worst {
            complaints.push(format!(
                "each frame must be at most {} late, half of tcp.rto.min, got {worst}",
                bounds.worst
            ));
        }
        if self.overruns > 0 {
            complaints.push(format!(
                "{} frames did not reach the switch, because the switch was too slow",
                self.overruns
            ));
        }
        if self.refused > 0 {
            complaints.push(format!("{} frames were lost between switch and hosts", self.refused));
        }
        if self.steal > MOST_STEAL {
            complaints.push(format!("{:.1} % of the CPU time went to other virtual machines", self.steal));
        }
        complaints
    }

    /// Returns a line about the lateness of frames so far.
    pub fn in_words(&self, bounds: &Bounds) -> String {
        let late = &self.lateness;
        format!(
            "frames came to their hosts late by {} us in the median, {} us at the 99th percentile (bound {:.0}), \
             {:.0} us at worst",
            late.percentile(50.0),
            late.percentile(99.0),
            bounds.p99.as_micros_f64(),
            late.worst().as_micros_f64(),
        )
    }

    /// Returns all measurements, for `summary.json`.
    pub fn describe(&self, bounds: &Bounds) -> Value {
        let complaints = self.complaints(bounds);
        json!({
            "valid": complaints.is_empty(),
            "complaints": complaints,
            "incomplete": self.incomplete,
            "lateness": self.lateness.describe(),
            "pickup": self.pickup.describe(),
            "writing": self.writing.describe(),
            "bound_p99_us": bounds.p99.as_micros_f64(),
            "bound_worst_us": bounds.worst.as_micros_f64(),
            "overruns": self.overruns,
            "refused": self.refused,
            "changed": self.changed,
            "foreign": self.foreign,
            "steal_percent": self.steal,
            "dilation": bounds.dilation.factor(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds =
        Bounds { dilation: Dilation::NONE, p99: Duration::from_micros(120), worst: Duration::from_millis(5) };

    fn late(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank_rounded_up_to_a_microsecond() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.percentile(99.0), 0);
        (0..100).for_each(|us| lateness.record(late(us)));
        // Fifty delays are below 50 us, and ninety-nine below 99 us.
        assert_eq!([50.0, 99.0, 100.0].map(|percent| lateness.percentile(percent)), [50, 99, 100]);
        assert_eq!(lateness.worst(), late(99));
    }

    #[test]
    fn a_run_is_valid_until_one_bound_is_broken() {
        let mut health = Health::default();
        (0..1_000).for_each(|_| health.lateness.record(late(100)));
        assert!(health.complaints(&BOUNDS).is_empty());
        let broken = |change: &dyn Fn(&mut Health)| {
            let mut health = health.clone();
            change(&mut health);
            health.complaints(&BOUNDS).len()
        };
        assert_eq!(broken(&|health| (0..20).for_each(|_| health.lateness.record(late(200)))), 1);
        assert_eq!(broken(&|health| health.lateness.record(late(5_001))), 1);
        assert_eq!(broken(&|health| health.pickup.record(late(5_001))), 1);
        assert_eq!(broken(&|health| health.overruns = 1), 1);
        assert_eq!(broken(&|health| health.refused = 1), 1);
        assert_eq!(
            broken(&|health| health.changed = vec!["an address was removed (of host 1)".to_owned()]),
            1
        );
        assert_eq!(broken(&|health| health.steal = 5.1), 1);
        assert_eq!(broken(&|health| health.incomplete = Some("a host is gone".to_owned())), 1);
        assert_eq!(broken(&|health| health.foreign = 10), 0);
    }
}
