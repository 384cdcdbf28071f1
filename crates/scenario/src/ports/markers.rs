//! Checks and builds the markers of a port.

use shallows_core::{Bytes, Duration};
use shallows_switch::aqm::{self, Gauge, Level, Placed, Point, Scope, Unit};
use shallows_switch::discipline::Share;

use super::site::Site;
use crate::bcc;
use crate::check::Checker;
use crate::quantity::{Automatic, Depth};
use crate::spec::{self, Marker};

/// Maximum number of samples in the ring buffer of a marker. A longer ring buffer would cover more time than any incast lasts.
const MAX_SAMPLES: u32 = 4_096;

impl Site<'_> {
    fn bytes(&self, depth: Depth) -> Bytes {
        depth.in_bytes(self.packet, self.link.rate)
    }

    /// Checks and builds the marker at `key`. Returns `None` for `drop-tail`, which needs no marker, and for some invalid markers.
    pub(super) fn marker(
        &self,
        marker: &Marker,
        key: &str,
        shares: &[Share],
        checker: &mut Checker<'_>,
    ) -> Option<Placed> {
        let (config, queues) = match marker {
            Marker::DropTail(_) => return None,
            Marker::Threshold(m) => {
                let gauge = Gauge { counts_packet: m.counts_packet, ..gauge(m.scope, m.at) };
                let gauge = measured(gauge, m.unit, m.weight, key, checker);
                let config = aqm::Config::Threshold {
                    gauge,
                    threshold: self.level(m.k, m.unit, &format!("{key}.k"), checker),
                    split: m.split,
                };
                (config, m.queues.as_deref())
            }
            Marker::Red(m) => {
                let gauge = Gauge { counts_packet: m.counts_packet, ..gauge(m.scope, m.at) };
                let gauge = measured(gauge, m.unit, m.weight, key, checker);
                let kmin = self.level(m.kmin, m.unit, &format!("{key}.kmin"), checker);
                let kmax = self.level(m.kmax, m.unit, &format!("{key}.kmax"), checker);
                let (kmin, kmax) = ordered(m.kmin, kmin, m.kmax, kmax, key, checker);
                let pmax = probability(m.pmax, &format!("{key}.pmax"), checker);
                let config = aqm::Config::Red { gauge, kmin, kmax, pmax, spacing: self.spacing(m.spacing) };
                (config, m.queues.as_deref())
            }
            Marker::Bcc(m) => {
                let pmax = probability(m.pmax, &format!("{key}.pmax"), checker);
                let bcc::Thresholds { kmin, kmax, .. } = checker.accept(key, bcc::thresholds(m, self))?;
                let gauge = gauge(Scope::Pool, m.at);
                let (kmin, kmax) = (kmin.into(), kmax.into());
                (aqm::Config::Red { gauge, kmin, kmax, pmax, spacing: self.spacing(m.spacing) }, None)
            }
            Marker::MqEcn(m) => (aqm::Config::MqEcn(self.mq_ecn(m, key, shares, checker)?.into()), None),
            Marker::RedClassic(m) => {
                (aqm::Config::FloydJacobson(self.red_classic(m, key, checker)?), m.queues.as_deref())
            }
            Marker::Ein(m) => (aqm::Config::Ein(self.ein(m, key, checker)), None),
            Marker::EinAsReleased(m) => (aqm::Config::EinReleased(self.ein_released(m, key, checker)), None),
            Marker::Tcn(m) => (aqm::Config::Tcn { threshold: m.threshold.0 }, m.queues.as_deref()),
            Marker::Codel(m) => {
                checker.require(m.interval.0 > Duration::ZERO, &format!("{key}.interval"), || {
                    "must be above 0s, got 0s; use about the longest round-trip time".to_owned()
                });
                let config = aqm::CodelConfig {
                    target: m.target.0,
                    interval: m.interval.0.max(Duration(1)),
                    mtu: self.packet,
                    action: m.action,
                    ce_threshold: m.ce_threshold.map(|time| time.0),
                };
                (aqm::Config::Codel(config), m.queues.as_deref())
            }
        };
        let queues =
            queues.map_or(u64::MAX, |queues| mask(queues, shares.len(), &format!("{key}.queues"), checker));
        let name = if matches!(marker, Marker::Bcc(_)) { "bcc" } else { config.name() };
        Some(Placed { marker: config, queues, name })
    }
}

impl Site<'_> {
    /// Converts a threshold to `unit`, the unit in which the marker counts.
    fn level(&self, depth: Depth, unit: Unit, key: &str, checker: &mut Checker<'_>) -> Level {
        match (unit, depth) {
            (Unit::Bytes, _) => self.bytes(depth).into(),
            (Unit::Packets, Depth::Packets(count)) => Level(u64::from(count)),
            (Unit::Packets, _) => {
                checker.refuse(
                    key,
                    format!(
                        "must be a number of packets, such as \"80p\", with unit = \"packets\", got {depth}"
                    ),
                );
                Level(0)
            }
            (Unit::Cells, _) => {
                let memory = &self.network.buffers[self.link.from.0 as usize];
                checker.require(memory.cell.is_some(), key, || {
                    "unit = \"cells\" requires memory counted in cells; set switch.buffer.cell".to_owned()
                });
                match depth {
                    Depth::Packets(count) => (memory.occupied(self.packet) * u64::from(count)).into(),
                    _ => self.bytes(depth).into(),
                }
            }
        }
    }

    fn spacing(&self, spacing: spec::Spacing) -> aqm::Spacing {
        match spacing {
            spec::Spacing::Independent => aqm::Spacing::Independent,
            spec::Spacing::Count => aqm::Spacing::Count { packet: self.packet },
        }
    }

    fn mq_ecn(
        &self,
        m: &spec::MqEcn,
        key: &str,
        shares: &[Share],
        checker: &mut Checker<'_>,
    ) -> Option<aqm::MqEcnConfig> {
        let has_shares = shares.iter().any(|share| *share != Share::Strict);
        checker.require(has_shares, key, || {
            "mq-ecn needs queues that share the link; use a port of kind \"wrr\", \"dwrr\" or \"wfq\", or a marker \
             of kind \"threshold\""
                .to_owned()
        });
        let beta = (0.0..1.0).contains(&m.beta);
        checker.require(beta, &format!("{key}.beta"), || {
            format!("must be at least 0 and below 1, got {}", m.beta)
        });
        let standard = match (m.k, m.kmin, m.kmax, m.pmax) {
            (Some(k), None, None, None) => aqm::Standard::Threshold(self.bytes(k)),
            (None, Some(kmin), Some(kmax), Some(pmax)) => {
                let (low, high) = (self.bytes(kmin).into(), self.bytes(kmax).into());
                let (low, high) = ordered(kmin, low, kmax, high, key, checker);
                let pmax = probability(pmax, &format!("{key}.pmax"), checker);
                aqm::Standard::Probabilistic { kmin: low, kmax: high, pmax }
            }
            _ => {
                let message = "must have either k, or kmin, kmax and pmax for probabilistic marking";
                checker.refuse(key, message);
                return None;
            }
        };
        Some(aqm::MqEcnConfig {
            standard,
            point: m.at,
            counts_packet: m.counts_packet,
            beta: if beta { m.beta } else { 0.75 },
            mtu: self.packet,
            idle_time: match m.idle_time {
                Automatic::Auto => None,
                Automatic::Is(time) => {
                    checker.require(time.0 > Duration::ZERO, &format!("{key}.idle_time"), || {
                        "must be above 0s or \"auto\", got 0s".to_owned()
                    });
                    Some(time.0.max(Duration(1)))
                }
            },
            idle_since: m.idle_since,
        })
    }
}

impl Site<'_> {
    fn red_classic(
        &self,
        m: &spec::RedClassic,
        key: &str,
        checker: &mut Checker<'_>,
    ) -> Option<aqm::FloydJacobsonConfig> {
        let mut config = match m.variant {
            spec::RedVariant::Paper => aqm::FloydJacobsonConfig::default(),
            spec::RedVariant::Ns2 => aqm::FloydJacobsonConfig::as_released(),
        };
        let unit = m.unit.unwrap_or(config.unit);
        config.unit = unit;
        checker.require(unit != Unit::Cells, &format!("{key}.unit"), || {
            "must be \"bytes\" or \"packets\" for the average of this marker, got \"cells\"; only \"threshold\" and \"red\" allow \"cells\"".to_owned()
        });
        checker.require(m.scope != Scope::Pool, &format!("{key}.scope"), || {
            "must be \"queue\" or \"port\", got \"pool\"; to mark by the backlog of a pool, use a marker of kind \
             \"red\" or \"bcc\"".to_owned()
        });
        config.scope = if m.scope == Scope::Port { Scope::Port } else { Scope::Queue };
        config.thresholds = match (m.kmin, m.kmax, m.weight) {
            (Automatic::Auto, Automatic::Auto, None) => {
                let target_delay = m.target_delay.0;
                checker.require(target_delay > Duration::ZERO, &format!("{key}.target_delay"), || {
                    "must be above 0s, got 0s".to_owned()
                });
                aqm::Thresholds::Automatic { target_delay }
            }
            (Automatic::Is(kmin), Automatic::Is(kmax), Some(weight)) => {
                let min = self.level(kmin, unit, &format!("{key}.kmin"), checker);
                let max = self.level(kmax, unit, &format!("{key}.kmax"), checker);
                let (min, max) = ordered(kmin, min, kmax, max, key, checker);
                checker.require(weight > 0.0 && weight <= 1.0, &format!("{key}.weight"), || {
                    format!("must be above 0 and at most 1, got {weight}")
                });
                aqm::Thresholds::Explicit { min, max, weight }
            }
            _ => {
                let message =
                    "must have all of kmin, kmax and weight, or leave all three out for automatic values";
                checker.refuse(key, message);
                return None;
            }
        };
        config.max_p = probability(m.pmax, &format!("{key}.pmax"), checker);
        config.action = m.action.unwrap_or(config.action);
        if let Some(gentle) = m.gentle {
            config.above = if gentle { aqm::Above::Gentle } else { aqm::Above::Certain };
        }
        config.forced = m.forced.unwrap_or(config.forced);
        config.spacing = m.spacing.unwrap_or(config.spacing);
        checker.require(m.typical_packet.0 > Bytes(0), &format!("{key}.typical_packet"), || {
            "must be above 0B, got 0B".to_owned()
        });
        config.typical_packet = m.typical_packet.0.max(Bytes(1));
        Some(config)
    }

    fn ein(&self, m: &spec::Ein, key: &str, checker: &mut Checker<'_>) -> aqm::EinConfig {
        checker.require(m.threshold > 0.0 && m.threshold.is_finite(), &format!("{key}.threshold"), || {
            format!("must be a finite number above 0 (a fraction of the line rate), got {}", m.threshold)
        });
        aqm::EinConfig {
            samples: samples(m.samples, 1, key, checker),
            threshold: m.threshold,
            high_water: self.bytes(m.high_water),
            average: m.average,
            sampled: m.sampled,
        }
    }

    fn ein_released(
        &self,
        m: &spec::EinAsReleased,
        key: &str,
        checker: &mut Checker<'_>,
    ) -> aqm::EinReleasedConfig {
        let packet_time = match m.packet_time {
            Automatic::Auto => aqm::PacketTime::Mtu(self.packet),
            Automatic::Is(time) => {
                checker.require(time.0 > Duration::ZERO, &format!("{key}.packet_time"), || {
                    "must be above 0s or \"auto\", got 0s".to_owned()
                });
                aqm::PacketTime::Fixed(time.0.max(Duration(1)))
            }
        };
        // The marker compares adjacent samples in its ring.
        let samples = samples(m.samples, 2, key, checker);
        aqm::EinReleasedConfig { packet_time, samples, limit: m.limit }
    }
}

/// Checks the number of samples in the ring buffer of a marker, which must be at least `least`. Returns this number, clamped to the allowed
/// range.
fn samples(count: u32, least: u32, key: &str, checker: &mut Checker<'_>) -> usize {
    checker.require((least..=MAX_SAMPLES).contains(&count), &format!("{key}.samples"), || {
        format!("must be from {least} to {MAX_SAMPLES}, got {count}")
    });
    count.clamp(least, MAX_SAMPLES) as usize
}

/// Checks that `kmin` is at most `kmax`. Returns both in ascending order.
fn ordered(
    kmin: Depth,
    low: Level,
    kmax: Depth,
    high: Level,
    key: &str,
    checker: &mut Checker<'_>,
) -> (Level, Level) {
    checker.require(low <= high, &format!("{key}.kmin"), || {
        format!("must be at most kmax = {kmax}, got {kmin}")
    });
    (low.min(high), high)
}

/// Returns `gauge` with the unit `unit`. With a `weight`, the gauge measures a moving average of the backlog.
fn measured(gauge: Gauge, unit: Unit, weight: Option<f64>, key: &str, checker: &mut Checker<'_>) -> Gauge {
    let averaging = match weight {
        None => aqm::Averaging::Instantaneous,
        Some(weight) => {
            let sound = weight > 0.0 && weight <= 1.0;
            checker.require(sound, &format!("{key}.weight"), || {
                format!("must be above 0 and at most 1, got {weight}")
            });
            aqm::Averaging::Ewma { weight: if sound { weight } else { 1.0 } }
        }
    };
    Gauge { unit, averaging, ..gauge }
}

/// Returns a bit mask in which bit *q* is set if queue *q* is listed in `queues`. `count` is the number of queues of the port.
fn mask(queues: &[u8], count: usize, key: &str, checker: &mut Checker<'_>) -> u64 {
    checker.require(!queues.is_empty(), key, || "must have at least one queue, got an empty list".to_owned());
    let mut mask = 0;
    for (index, &queue) in queues.iter().enumerate() {
        let known = checker.require(usize::from(queue) < count, &format!("{key}[{index}]"), || {
            format!("must be a queue from 0 to {}, got {queue}", count - 1)
        });
        mask |= if known { 1 << queue } else { 0 };
    }
    mask
}

/// Checks that `pmax` is a probability above 0. Returns it, or 1 if it is invalid.
fn probability(pmax: f64, key: &str, checker: &mut Checker<'_>) -> f64 {
    let sound = pmax > 0.0 && pmax <= 1.0;
    checker.require(sound, key, || format!("must be above 0 and at most 1, got {pmax}"));
    if sound { pmax } else { 1.0 }
}

fn gauge(scope: Scope, at: Point) -> Gauge {
    Gauge { scope, point: at, ..Gauge::default() }
}
