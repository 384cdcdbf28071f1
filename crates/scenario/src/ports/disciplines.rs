//! Checks and builds the queues of a port and their scheduler.

use shallows_core::{Bytes, Duration};
use shallows_switch::discipline::{self, ComposedConfig, Limits, hashed_drr, hcf, sfq};
use shallows_switch::scheduler;

use super::site::Site;
use crate::check::Checker;
use crate::memory::{check_limit, in_bytes, limit_of};
use crate::quantity::{Amount, Automatic, PerQueue};
use crate::spec::{self, Port};

/// Maximum number of queues of a port.
const MAX_QUEUES: u8 = 64;

/// Collects the keys that all kinds of ports with several queues have in common.
macro_rules! classes {
    ($port:ident) => {
        Classes {
            classes: $port.classes.as_deref(),
            queue_limit: $port.queue_limit.as_ref(),
            port_limit: $port.port_limit,
        }
    };
}

impl Site<'_> {
    /// Returns the quantum of each queue in bytes. `queues` is the number of queues.
    fn quanta(
        &self,
        queues: u8,
        quantum: &PerQueue<Amount>,
        key: &str,
        checker: &mut Checker<'_>,
    ) -> Vec<Bytes> {
        let queues = check_queues(queues, key, checker);
        let key = format!("{key}.quantum");
        let quanta = spread(quantum, queues, &key, checker);
        let quanta: Vec<Bytes> = quanta.into_iter().map(|quantum| in_bytes(quantum, self.packet)).collect();
        checker.require(!quanta.contains(&Bytes(0)), &key, || {
            "must be above 0 for every queue, because a queue with a quantum of 0 never sends; the papers use at \
             least one MTU".to_owned()
        });
        quanta.into_iter().map(|quantum| quantum.max(Bytes(1))).collect()
    }

    pub(super) fn discipline(&self, port: &Port, key: &str, checker: &mut Checker<'_>) -> discipline::Config {
        match port {
            Port::Fifo(_) => discipline::Config::Fifo,
            Port::StrictPriority(p) => {
                let queues = check_queues(p.queues, key, checker);
                let scheduler = scheduler::Config::StrictPriority { queues };
                self.composed(scheduler, &classes!(p), key, checker)
            }
            Port::Wrr(p) => {
                let quanta = self.quanta(p.queues, &p.quantum, key, checker);
                let wrr = scheduler::Config::Wrr { quanta, order: p.order };
                let scheduler = above(p.strict, wrr, key, checker);
                self.composed(scheduler, &classes!(p), key, checker)
            }
            Port::Dwrr(p) => {
                let quanta = self.quanta(p.queues, &p.quantum, key, checker);
                let scheduler = above(p.strict, scheduler::Config::Dwrr { quanta }, key, checker);
                self.composed(scheduler, &classes!(p), key, checker)
            }
            Port::Wfq(p) => {
                let queues = check_queues(p.queues, key, checker);
                let weights = spread(&p.weight, queues, &format!("{key}.weight"), checker);
                checker.require(!weights.contains(&0), &format!("{key}.weight"), || {
                    "must be at least 1 for every queue, because a queue with a weight of 0 never sends"
                        .to_owned()
                });
                let weights = weights.into_iter().map(|weight| weight.max(1)).collect();
                let wfq = scheduler::Config::Wfq { weights, virtual_time: p.virtual_time };
                self.composed(above(p.strict, wfq, key, checker), &classes!(p), key, checker)
            }
            Port::Hcf(p) => discipline::Config::Hcf(self.hcf(p, key, checker)),
            Port::HashedDrr(p) => {
                positive(p.buckets, "buckets", key, checker);
                checker.require(p.quantum.0 > Bytes(0), &format!("{key}.quantum"), || {
                    "must be above 0B, got 0B".to_owned()
                });
                check_limit(&format!("{key}.limit"), p.limit, self.packet, checker);
                discipline::Config::HashedDrr(hashed_drr::Config {
                    buckets: p.buckets.max(1),
                    quantum: p.quantum.0.max(Bytes(1)),
                    limit: limit_of(p.limit),
                    hash: p.hash,
                })
            }
            Port::Sfq(p) => discipline::Config::Sfq(sfq(p, key, checker)),
        }
    }

    fn hcf(&self, p: &spec::Hcf, key: &str, checker: &mut Checker<'_>) -> hcf::Config {
        positive(p.bins, "bins", key, checker);
        positive(p.hashes, "hashes", key, checker);
        let without = matches!(p.credits, Amount::Packets(0) | Amount::Bytes(Bytes(0)));
        checker.require(!without, &format!("{key}.credits"), || {
            format!("must be at least 1p, got {}", p.credits)
        });
        let (high, division) = match &p.division {
            spec::Division::Equal(_) => (0.5, hcf::Division::Equal),
            spec::Division::Dynamic(_) => (1.0, hcf::Division::Dynamic),
            spec::Division::Thirds(_) => (1.0 / 3.0, hcf::Division::Thirds),
            &spec::Division::Unequal(spec::Unequal { high, sizes }) => {
                (high, hcf::Division::Unequal { high, sizes })
            }
        };
        let share = high > 0.0 && (high < 1.0 || division == hcf::Division::Dynamic);
        checker.require(share, &format!("{key}.division.high"), || {
            format!("must be above 0 and below 1, got {high}")
        });
        // A full packet must fit even into the smaller of the two queues.
        let least = high.min(if high < 1.0 { 1.0 - high } else { 1.0 });
        let packets = match p.limit {
            Amount::Packets(packets) => f64::from(packets) * least,
            Amount::Bytes(size) => size.0 as f64 * least / self.packet.0 as f64,
        };
        let holds = checker.require(!share || packets >= 1.0, &format!("{key}.limit"), || {
            format!(
                "must leave room for one packet of {2} in each of the two queues, got a limit of {0}, divided {1}",
                p.limit,
                name_of(&p.division),
                self.packet
            )
        });
        let sound = share && holds;
        hcf::Config {
            limit: if sound { limit_of(p.limit) } else { limit_of(Amount::Packets(20)) },
            division: if sound { division } else { hcf::Division::Equal },
            bins: p.bins.max(1),
            credits: match p.credits {
                Amount::Packets(packets) => hcf::InitialCredits::Packets(packets.max(1)),
                Amount::Bytes(size) => hcf::InitialCredits::Bytes(size.max(Bytes(1))),
            },
            hashes: p.hashes.max(1),
            period: match p.period {
                Automatic::Auto => hcf::Period::Dynamic,
                Automatic::Is(time) => {
                    checker.require(time.0 > Duration::ZERO, &format!("{key}.period"), || {
                        "must be above 0s or \"auto\", got 0s".to_owned()
                    });
                    hcf::Period::Fixed(time.0.max(Duration(1)))
                }
            },
            rekey: p.rekey,
            footnote: p.footnote,
            swap: p.swap,
        }
    }

    fn composed(
        &self,
        scheduler: scheduler::Config,
        classes: &Classes<'_>,
        key: &str,
        checker: &mut Checker<'_>,
    ) -> discipline::Config {
        let queues = scheduler.shares().len();
        let one_each: Vec<u8> = (0..queues as u8).collect();
        let mut queue_of_class = classes.classes.map_or(one_each, <[u8]>::to_vec);
        if queue_of_class.is_empty() {
            checker.refuse(&format!("{key}.classes"), "must have at least one entry, got an empty list");
            queue_of_class.push(0);
        }
        for (class, queue) in queue_of_class.iter_mut().enumerate() {
            let known =
                checker.require(usize::from(*queue) < queues, &format!("{key}.classes[{class}]"), || {
                    format!("class {class} must have a queue from 0 to {}, got queue {queue}", queues - 1)
                });
            if !known {
                *queue = 0;
            }
        }
        let mut limits = Limits::default();
        if let Some(limit) = classes.queue_limit {
            let key = format!("{key}.queue_limit");
            limits.queues = spread(limit, queues, &key, checker)
                .into_iter()
                .map(|limit: Amount| limit_of(limit))
                .collect();
            for limit in limit.values() {
                check_limit(&key, *limit, self.packet, checker);
            }
        }
        if let Some(limit) = classes.port_limit {
            check_limit(&format!("{key}.port_limit"), limit, self.packet, checker);
            limits.port = Some(limit_of(limit));
        }
        discipline::Config::Composed(ComposedConfig {
            scheduler,
            queue_of_class: queue_of_class.into(),
            limits,
        })
    }
}

fn sfq(p: &spec::Sfq, key: &str, checker: &mut Checker<'_>) -> sfq::Config {
    positive(p.buckets, "buckets", key, checker);
    // ns-2 compares a bucket with half of the port's free room, so it refuses every packet if `max_packets` is below 2.
    let least = if p.drop == sfq::DropRule::AsNs2 { 2 } else { 1 };
    checker.require(p.max_packets >= least, &format!("{key}.max_packets"), || {
        format!("must be at least {least}, got {}", p.max_packets)
    });
    let perturbation = p.perturbation.map(|time| time.0).filter(|&time| {
        let key = format!("{key}.perturbation");
        let some = checker.require(time > Duration::ZERO, &key, || "must be above 0s, got 0s".to_owned());
        some && checker.require(p.hash.is_seeded(), &key, || {
            "must be left out with a hash as in ns-2, which never changes; or set hash = \"five-tuple\" or \
             \"address-pair\""
                .to_owned()
        })
    });
    sfq::Config {
        buckets: p.buckets.max(1),
        max_packets: p.max_packets.max(least),
        hash: p.hash,
        perturbation,
        drop: p.drop,
    }
}

fn positive(count: u32, name: &str, key: &str, checker: &mut Checker<'_>) {
    checker.require(count > 0, &format!("{key}.{name}"), || "must be at least 1, got 0".to_owned());
}

fn name_of(division: &spec::Division) -> &'static str {
    match division {
        spec::Division::Equal(_) => "equally",
        spec::Division::Unequal(_) => "unequally",
        spec::Division::Dynamic(_) => "dynamically",
        spec::Division::Thirds(_) => "in thirds",
    }
}

/// Keys that every kind of port with several queues has.
struct Classes<'a> {
    classes: Option<&'a [u8]>,
    queue_limit: Option<&'a PerQueue<Amount>>,
    port_limit: Option<Amount>,
}

/// Checks the number of queues, whose key is `key.queues`. Returns it, clamped to the allowed range.
fn check_queues(queues: u8, key: &str, checker: &mut Checker<'_>) -> usize {
    checker.require((1..=MAX_QUEUES).contains(&queues), &format!("{key}.queues"), || {
        format!("must be from 1 to {MAX_QUEUES}, got {queues}")
    });
    usize::from(queues.clamp(1, MAX_QUEUES))
}

/// Returns a scheduler that serves the first `strict` queues with strict priority over the queues of the scheduler `below`.
fn above(strict: u8, below: scheduler::Config, key: &str, checker: &mut Checker<'_>) -> scheduler::Config {
    let most = usize::from(MAX_QUEUES) - below.shares().len().min(usize::from(MAX_QUEUES));
    checker.require(usize::from(strict) <= most, &format!("{key}.strict"), || {
        format!("must be at most {most}, so that the port has at most {MAX_QUEUES} queues, got {strict}")
    });
    match usize::from(strict).min(most) {
        0 => below,
        queues => scheduler::Config::StrictAbove { queues, below: Box::new(below) },
    }
}

/// Returns the value of a setting for each queue. `queues` is the number of queues.
fn spread<T: Copy>(values: &PerQueue<T>, queues: usize, key: &str, checker: &mut Checker<'_>) -> Vec<T> {
    let given = values.values().len();
    checker
        .accept(
            key,
            values.spread(queues).ok_or_else(|| {
                format!(
                    "must be one value for all queues or one value for each of the {queues} queues, got {given} \
                     values"
                )
            }),
        )
        .unwrap_or_else(|| values.values().first().map_or_else(Vec::new, |&value| vec![value; queues]))
}
