//! The quantity that a marker compares with its threshold: its scope, unit, sampling point and averaging.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;
use shallows_core::packet::Header;

use super::interface::{Hears, PortView};
use crate::queue::Reading;

/// Backlog that a marker compares: of the queue, the port or the pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// Backlog of the packet's queue.
    #[default]
    Queue,
    /// Backlog of all queues of the port.
    Port,
    /// Occupancy of the pool that the queue shares.
    Pool,
}

/// Point in a packet's passage through the port at which a marker compares the backlog with its threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Point {
    /// When the packet joins its queue.
    #[default]
    Enqueue,
    /// When the packet leaves for the link.
    Dequeue,
}

/// Unit of a backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Bytes on the wire.
    #[default]
    Bytes,
    /// Packets of any size.
    Packets,
    /// Bytes of memory, as chips count them: each packet occupies whole cells.
    Cells,
}

/// Averaging of a backlog.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Averaging {
    /// No averaging: the current backlog.
    #[default]
    Instantaneous,
    /// *average ← (1 − weight) · average + weight · backlog* at each packet that reaches the sampling point. With scope `queue` or
    /// `pool`, each queue of the port has its own average; with scope `port`, the port has one.
    Ewma {
        /// Weight of a new sample, in (0, 1].
        weight: f64,
    },
}

/// Quantity that a marker compares: scope, point, unit and averaging.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gauge {
    /// Backlog that the marker compares with its threshold: that of the queue, the port or the pool.
    pub scope: Scope,
    /// Point in a packet's passage through the port at which the marker compares the backlog with its threshold.
    pub point: Point,
    /// Whether to include the arriving or departing packet in the backlog.
    pub counts_packet: bool,
    /// Unit of the backlog.
    pub unit: Unit,
    /// Averaging of the backlog.
    pub averaging: Averaging,
}

/// An amount in the unit of a [`Gauge`]: bytes, packets or bytes of cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(pub u64);

impl From<Bytes> for Level {
    fn from(bytes: Bytes) -> Self {
        Self(bytes.0)
    }
}

/// Range of backlogs in which a marker acts on some packets. The marker acts on no packet up to `kmin`, and on every packet at or above
/// `kmax`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Quantity that the marker compares.
    pub gauge: Gauge,
    /// Backlog up to which the marker does nothing.
    pub kmin: Level,
    /// Backlog at and above which the marker acts on every packet.
    pub kmax: Level,
    /// Marking probability just below `kmax`.
    pub pmax: f64,
}

/// State of a gauge at a port.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    pub(super) point: Point,
    counts_packet: bool,
    source: Source,
    gauge: Gauge,
    /// Average of each queue, or one average for the port; empty without averaging.
    averages: Box<[f64]>,
}

/// Backlog that a meter reads. The common cases are separate variants, so that a reading costs one comparison.
#[derive(Clone, Copy, Debug)]
enum Source {
    QueueBytes,
    PortBytes,
    PoolBytes,
    Other,
}

impl Meter {
    /// Creates a meter at a port with this many `queues`.
    ///
    /// # Panics
    ///
    /// Panics if the weight of an average is not in (0, 1].
    pub(super) fn new(gauge: Gauge, queues: usize) -> Self {
        let averages = match (gauge.averaging, gauge.scope) {
            (Averaging::Instantaneous, _) => 0,
            (Averaging::Ewma { weight }, scope) => {
                assert!(weight > 0.0 && weight <= 1.0, "not the weight of an average: {weight}");
                if scope == Scope::Port { 1 } else { queues }
            }
        };
        let source = match (gauge.scope, gauge.unit, gauge.averaging) {
            (Scope::Queue, Unit::Bytes, Averaging::Instantaneous) => Source::QueueBytes,
            (Scope::Port, Unit::Bytes, Averaging::Instantaneous) => Source::PortBytes,
            (Scope::Pool, Unit::Bytes, Averaging::Instantaneous) => Source::PoolBytes,
            _ => Source::Other,
        };
        Self {
            point: gauge.point,
            counts_packet: gauge.counts_packet,
            source,
            gauge,
            averages: vec![0.0; averages].into(),
        }
    }

    /// Returns whether the backlog is above `threshold`. Updates the average, if there is one.
    #[inline(always)]
    pub(super) fn exceeds(&mut self, threshold: u64, header: &Header, port: &PortView<'_>) -> bool {
        match self.plain(header, port) {
            Some(backlog) => backlog > threshold,
            // The copies for the out-of-line call let the compiler keep all other values in registers.
            None => self.other(&{ *header }, &{ *port }) > threshold as f64,
        }
    }

    /// Returns the backlog in the gauge's unit, or its average. Updates the average, if there is one.
    #[inline(always)]
    pub(super) fn read(&mut self, header: &Header, port: &PortView<'_>) -> f64 {
        self.plain(header, port)
            .map_or_else(|| self.other(&{ *header }, &{ *port }), |backlog| backlog as i64 as f64)
    }

    #[inline(always)]
    fn plain(&self, header: &Header, port: &PortView<'_>) -> Option<u64> {
        let backlog = match self.source {
            Source::QueueBytes => port.queue_backlog(),
            Source::PortBytes => port.port_backlog,
            Source::PoolBytes => port.pool().used,
            Source::Other => return None,
        };
        Some(if self.counts_packet { backlog + header.size() } else { backlog }.0)
    }

    #[inline(never)]
    fn other(&mut self, header: &Header, port: &PortView<'_>) -> f64 {
        let own = match self.gauge.unit {
            Unit::Bytes => header.size().0,
            Unit::Packets => 1,
            Unit::Cells => port.buffer.occupied(header.size()).0,
        };
        let backlog = self.backlog(port) + if self.counts_packet { own } else { 0 };
        let Averaging::Ewma { weight } = self.gauge.averaging else { return backlog as f64 };
        let average = &mut self.averages[if self.gauge.scope == Scope::Port { 0 } else { port.queue }];
        *average = (1.0 - weight) * *average + weight * backlog as f64;
        *average
    }

    /// Returns the backlog in the gauge's unit, without the arriving or departing packet.
    pub(super) fn backlog(&self, port: &PortView<'_>) -> u64 {
        match (self.gauge.unit, self.gauge.scope) {
            (Unit::Bytes, Scope::Queue) => port.queue_backlog().0,
            (Unit::Bytes, Scope::Port) => port.port_backlog.0,
            (Unit::Bytes, Scope::Pool) => port.pool().used.0,
            (Unit::Packets, Scope::Queue) => u64::from(port.queues[port.queue].packets),
            (Unit::Packets, Scope::Port) => port.queues.iter().map(|queue| u64::from(queue.packets)).sum(),
            (Unit::Packets, Scope::Pool) => u64::from(port.pool().packets),
            (Unit::Cells, Scope::Queue) => port.buffer.queue(port.account).backlog().0,
            (Unit::Cells, Scope::Port) => {
                let first = port.account - port.queue;
                (first..first + port.queues.len()).map(|queue| port.buffer.queue(queue).backlog().0).sum()
            }
            (Unit::Cells, Scope::Pool) => port.pool().used.0,
        }
    }

    /// Calls `tell` with each average.
    pub(super) fn observe(&self, tell: &mut dyn FnMut(Reading)) {
        let quantity = average_name(self.gauge.unit);
        for (queue, &value) in self.averages.iter().enumerate() {
            let queue = (self.gauge.scope != Scope::Port).then_some(queue);
            tell(Reading { quantity, queue, value });
        }
    }
}

/// Returns the name that traces use for an average in this unit.
pub(super) fn average_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Bytes => "average_bytes",
        Unit::Packets => "average_packets",
        Unit::Cells => "average_bytes_of_cells",
    }
}

impl From<Point> for Hears {
    fn from(point: Point) -> Self {
        match point {
            Point::Enqueue => Self::ENQUEUES,
            Point::Dequeue => Self::DEQUEUES,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::Seen;
    use super::*;
    use crate::discipline::QueueState;

    /// Returns a port with queues of 3 and 4 packets in a pool of 11 packets. The gauge is read for a packet of the second queue.
    fn seen() -> Seen {
        let state = |packets, bytes| QueueState { packets, backlog: Bytes(bytes), ..QueueState::default() };
        let mut seen = Seen::queue(0);
        seen.queues = vec![state(3, 300), state(4, 6_000)];
        (seen.queue, seen.port_backlog) = (1, Bytes(6_300));
        seen.hold(9_000, 11);
        seen
    }

    #[test]
    fn every_scope_is_read_in_its_unit_with_or_without_the_packet() {
        let (seen, packet) = (seen(), Header::default().with_size(500));
        for (scope, unit, backlog, own) in [
            (Scope::Queue, Unit::Bytes, 6_000, 500),
            (Scope::Port, Unit::Bytes, 6_300, 500),
            (Scope::Pool, Unit::Bytes, 9_000, 500),
            (Scope::Queue, Unit::Packets, 4, 1),
            (Scope::Port, Unit::Packets, 7, 1),
            (Scope::Pool, Unit::Packets, 11, 1),
        ] {
            for counts_packet in [false, true] {
                let gauge = Gauge { scope, unit, counts_packet, ..Gauge::default() };
                let mut meter = Meter::new(gauge, 2);
                let expected = if counts_packet { backlog + own } else { backlog };
                assert_eq!(meter.read(&packet, &seen.view()), expected as f64, "{gauge:?}");
                assert!(!meter.exceeds(expected, &packet, &seen.view()), "{gauge:?}: strictly above");
                assert!(meter.exceeds(expected - 1, &packet, &seen.view()), "{gauge:?}");
                assert_eq!(meter.backlog(&seen.view()), backlog, "{gauge:?}: without the packet");
                // An average of weight 1 is the backlog itself.
                let averaging = Averaging::Ewma { weight: 1.0 };
                let mut meter = Meter::new(Gauge { averaging, ..gauge }, 2);
                assert_eq!(meter.read(&packet, &seen.view()), expected as f64, "{gauge:?}");
            }
        }
    }

    #[test]
    fn an_average_over_n_packets_has_its_closed_form() {
        // After n packets that find the backlog q, the average is q · (1 − (1 − w)^n). w is a power of two, so that the sum is exact.
        let averaging = Averaging::Ewma { weight: 0.25 };
        let mut meter = Meter::new(Gauge { averaging, ..Gauge::default() }, 1);
        let seen = Seen::queue(1_024);
        for (n, left) in [(1, 0.75), (2, 0.5625), (3, 0.421_875)] {
            let average = meter.read(&Header::default(), &seen.view());
            assert_eq!(average, 1_024.0 * (1.0 - left), "after {n}");
        }
        // The average is 592; the next is 592 · 3/4 + 256 = 700: not above 700, but above 699.
        let mut other = meter.clone();
        assert!(!meter.exceeds(700, &Header::default(), &seen.view()));
        assert!(other.exceeds(699, &Header::default(), &seen.view()));
    }

    #[test]
    fn queues_have_averages_of_their_own_and_a_port_has_one() {
        let averaging = Averaging::Ewma { weight: 0.5 };
        for (scope, expected) in [
            (Scope::Queue, vec![(Some(0), 150.0), (Some(1), 0.0)]),
            (Scope::Pool, vec![(Some(0), 4_500.0), (Some(1), 0.0)]),
            (Scope::Port, vec![(None, 3_150.0)]),
        ] {
            let mut meter = Meter::new(Gauge { scope, averaging, ..Gauge::default() }, 2);
            let mut seen = seen();
            seen.queue = 0;
            meter.read(&Header::default(), &seen.view());
            let mut told = Vec::new();
            meter.observe(&mut |reading| {
                assert_eq!(reading.quantity, "average_bytes");
                told.push((reading.queue, reading.value));
            });
            assert_eq!(told, expected, "{scope:?}");
        }
        let gauge = Gauge { unit: Unit::Packets, averaging, ..Gauge::default() };
        Meter::new(gauge, 1).observe(&mut |reading| assert_eq!(reading.quantity, "average_packets"));
        Meter::new(Gauge::default(), 1).observe(&mut |_| panic!("nothing is averaged"));
    }

    #[test]
    #[should_panic(expected = "not the weight of an average: 0")]
    fn an_average_that_never_moves_is_refused() {
        Meter::new(Gauge { averaging: Averaging::Ewma { weight: 0.0 }, ..Gauge::default() }, 1);
    }

    #[test]
    #[should_panic(expected = "not the weight of an average: 1.5")]
    fn an_average_that_overshoots_is_refused() {
        Meter::new(Gauge { averaging: Averaging::Ewma { weight: 1.5 }, ..Gauge::default() }, 1);
    }
}
