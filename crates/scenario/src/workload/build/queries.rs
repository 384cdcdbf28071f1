//! Checks and builds workloads of requests and responses. Each workload must have enough participants and a finite duration.

use std::sync::Arc;

use shallows_core::packet::HostId;
use shallows_core::{Bytes, Duration, Instant};

use super::{Builder, LONGEST_RUN_PS, MAX_FLOWS, MAX_OPEN};
use crate::experiment::{Connections, Pairs};
use crate::spec::{self, Answers, Asking, BlockTransfer, Incast, PartitionAggregate};
use crate::workload::asking::{Aggregators, Arrivals, Config, Response};
use crate::workload::distribution::Sizes;
use crate::workload::{Classes, Generator, Queries};

/// Maximum number of iterations; DCTCP (SIGCOMM '10) §2.1 reports up to 20.
const MAX_ITERATIONS: u16 = 1_000;

impl Builder<'_, '_, '_> {
    pub(super) fn partition_aggregate(&mut self, w: &PartitionAggregate, key: &str) -> Option<()> {
        let response = self.response(w, key);
        let network = self.network;
        let clients = self.checker.accept(&format!("{key}.clients"), w.clients.resolve(network));
        let workers = self.checker.accept(&format!("{key}.workers"), w.workers.resolve(network));
        let aggregators = self.aggregators(w, key)?;
        let arrivals = self.arrivals(&w.arrivals, w.queries, key)?;
        self.checker.require(
            (1..=MAX_ITERATIONS).contains(&w.iterations),
            &format!("{key}.iterations"),
            || format!("must be from 1 to {MAX_ITERATIONS}, got {}", w.iterations),
        );
        self.check_deadline(w.deadline, w.jitter, &format!("{key}.deadline"));
        let ends = self.checker.require(w.queries.is_some() || self.end.is_some(), key, || {
            "the workload must have an end: set queries, or set stop.at for the run".to_owned()
        });
        let config = Config {
            seed: self.seed,
            workload: self.number(),
            clients: clients?,
            drawn: w.asking == Asking::Drawn,
            workers: workers?,
            fan_out: w.fan_out.map(|count| count as usize),
            request: w.request.0,
            shared: self.shared(w.answers, w.request.0, key)?,
            response: response?,
            aggregators,
            iterations: w.iterations,
            jitter: w.jitter.0,
            deadline: w.deadline.map(|deadline| deadline.0),
            arrivals,
            queries: w.queries,
            start: Instant(w.start.0.0),
            end: self.end.unwrap_or(Instant::MAX),
        };
        self.check_participants(&config, key, "workers")?;
        self.check_number(&config, &format!("{key}.queries"))?;
        let connections = self.connections(&w.connections, || count_exchanges(&config), key)?;
        let classes = self.classes(&w.class, key)?;
        ends.then(|| self.add_queries(config, connections, classes))
    }

    pub(super) fn block_transfer(&mut self, w: &BlockTransfer, key: &str) -> Option<()> {
        let network = self.network;
        let clients = self.checker.accept(&format!("{key}.clients"), w.clients.resolve(network));
        let servers = self.checker.accept(&format!("{key}.servers"), w.servers.resolve(network));
        let bytes = self
            .checker
            .require(w.block.0.0 > 0, &format!("{key}.block"), || "must be above 0B, got 0B".to_owned());
        let blocks = self
            .checker
            .require(w.repeats > 0, &format!("{key}.repeats"), || "must be at least 1, got 0".to_owned());
        let arrivals = Arrivals::ClosedLoop(w.think_time.0);
        self.check_length(w.think_time.0, Some(w.repeats.into()), &format!("{key}.think_time"));
        let config = Config {
            workers: servers?,
            clients: clients?,
            fan_out: w.fan_out.map(|count| count as usize),
            request: w.request.0,
            shared: self.shared(w.answers, w.request.0, key)?,
            response: Response::Total(w.block.0),
            jitter: w.jitter.0,
            arrivals,
            queries: Some(w.repeats.into()),
            start: Instant(w.start.0.0),
            ..self.plain_queries()
        };
        self.check_participants(&config, key, "servers")?;
        self.check_number(&config, &format!("{key}.repeats"))?;
        let connections = self.connections(&w.connections, || count_exchanges(&config), key)?;
        let classes = self.classes(&w.class, key)?;
        (bytes && blocks).then(|| self.add_queries(config, connections, classes))
    }

    /// Builds an incast in which each round begins after the end of the previous round.
    pub(super) fn incast_in_turn(
        &mut self,
        w: &Incast,
        pairs: Pairs,
        size: Bytes,
        think_time: Duration,
        connections: Connections,
        key: &str,
    ) -> Option<()> {
        if w.period.is_some() {
            return self.refuse(key, "must have either period or think_time, got both");
        }
        self.check_length(think_time, Some(w.repeats.into()), &format!("{key}.think_time"));
        let Pairs::Product { senders, receivers } = pairs else {
            unreachable!("an incast is a product of its sets")
        };
        let config = Config {
            workers: senders,
            clients: receivers,
            response: Response::Each(size),
            jitter: w.spread.0,
            arrivals: Arrivals::ClosedLoop(think_time),
            queries: Some(w.repeats.into()),
            start: Instant(w.start.0.0),
            ..self.plain_queries()
        };
        self.check_participants(&config, key, "senders")?;
        self.check_number(&config, &format!("{key}.repeats"))?;
        let classes = self.classes(&w.class, key)?;
        self.add_queries(config, connections, classes);
        Some(())
    }

    /// Returns a configuration to start from: no participants, one iteration, no requests.
    fn plain_queries(&self) -> Config {
        Config {
            seed: self.seed,
            workload: self.number(),
            clients: Vec::new(),
            drawn: false,
            workers: Vec::new(),
            fan_out: None,
            request: Bytes(0),
            shared: false,
            response: Response::Each(Bytes(0)),
            aggregators: None,
            iterations: 1,
            jitter: Duration::ZERO,
            deadline: None,
            arrivals: Arrivals::ClosedLoop(Duration::ZERO),
            queries: None,
            start: Instant::ZERO,
            end: self.end.unwrap_or(Instant::MAX),
        }
    }

    fn add_queries(&mut self, config: Config, connections: Connections, classes: Classes) {
        let pairs = exchanges(&config, &connections);
        self.add(Generator::Queries(Queries::new(config)), connections, pairs, classes);
    }

    /// Returns whether responses use the connections of their requests. Returns `None` and records a problem if the scenario requires
    /// shared connections but has no requests.
    fn shared(&mut self, answers: Answers, request: Bytes, key: &str) -> Option<bool> {
        let shared = answers == Answers::SameConnection;
        if shared && request == Bytes(0) {
            let message = "must be left out without requests, because each request opens the connection of its \
                           response; or set request, for example \"1.6KB\"";
            return self.refuse(&format!("{key}.answers"), message);
        }
        Some(shared)
    }

    fn response(&mut self, w: &PartitionAggregate, key: &str) -> Option<Response> {
        let response = match (&w.size, &w.total, &w.sizes) {
            (Some(size), None, None) => Response::Each(size.0),
            (None, Some(total), None) => Response::Total(total.0),
            (None, None, Some(sizes)) => {
                let key = format!("{key}.sizes");
                let sizes = Sizes::build(sizes, |path| self.checker.read(&key, path));
                return Some(Response::Drawn(Arc::new(self.checker.accept(&key, sizes).flatten()?)));
            }
            (None, None, None) => {
                return self.refuse(
                    key,
                    "must have one of these keys: size (of each response), total (size of all responses together) or \
                     sizes (distribution of the size of a response)",
                );
            }
            _ => return self.refuse(key, "must have only one of size, total and sizes"),
        };
        match response {
            Response::Each(Bytes(0)) | Response::Total(Bytes(0)) => {
                self.refuse(key, "size or total must be above 0B, got 0B")
            }
            sound => Some(sound),
        }
    }

    /// Returns the aggregators between client and workers, or an inner `None` if there are none. The outer `None` means that the table is
    /// invalid.
    fn aggregators(&mut self, w: &PartitionAggregate, key: &str) -> Option<Option<Aggregators>> {
        let Some(aggregators) = &w.aggregators else { return Some(None) };
        let key = format!("{key}.aggregators");
        let hosts = aggregators.hosts.resolve(self.network);
        let hosts = self.checker.accept(&format!("{key}.hosts"), hosts)?;
        let some = self.checker.require(aggregators.count > 0, &format!("{key}.count"), || {
            "must be at least 1, got 0; for queries without aggregators, remove the table aggregators"
                .to_owned()
        });
        let bytes = self.checker.require(aggregators.size.0.0 > 0, &format!("{key}.size"), || {
            "must be above 0B, got 0B".to_owned()
        });
        self.check_deadline(aggregators.deadline, w.jitter, &format!("{key}.deadline"));
        (some && bytes).then_some(Some(Aggregators {
            hosts,
            count: aggregators.count as usize,
            size: aggregators.size.0,
            deadline: aggregators.deadline.map(|deadline| deadline.0),
        }))
    }

    fn arrivals(&mut self, arrivals: &spec::Arrivals, queries: Option<u64>, key: &str) -> Option<Arrivals> {
        let queries_key = format!("{key}.queries");
        let counted = self.checker.require(
            queries.is_none_or(|count| (1..=MAX_FLOWS).contains(&count)),
            &queries_key,
            || format!("must be from 1 to {MAX_FLOWS}, got {}", queries.unwrap_or_default()),
        );
        let (arrivals, name, gap) = match arrivals {
            spec::Arrivals::Poisson(a) => (Arrivals::Poisson(a.mean.0), "mean", a.mean.0),
            spec::Arrivals::Periodic(a) => (Arrivals::Periodic(a.period.0), "period", a.period.0),
            spec::Arrivals::ClosedLoop(a) => {
                (Arrivals::ClosedLoop(a.think_time.0), "think_time", a.think_time.0)
            }
        };
        let at = format!("{key}.arrivals.{name}");
        let ends = matches!(arrivals, Arrivals::ClosedLoop(_)) || gap > Duration::ZERO;
        self.checker.require(ends, &at, || "must be above 0s, got 0s".to_owned());
        self.check_length(gap, queries, &at);
        (counted && ends).then_some(arrivals)
    }

    /// Rejects a workload whose intervals between queries together take longer than any run.
    fn check_length(&mut self, gap: Duration, queries: Option<u64>, key: &str) {
        let all = gap.0 as f64 * queries.unwrap_or(1) as f64;
        self.checker.require(all <= LONGEST_RUN_PS, key, || {
            format!("all intervals together must take at most 100 days, got {:.0}", all / 86_400e12)
        });
    }

    /// Rejects a deadline that is not longer than `jitter`, because some requests of a round could then be sent after the deadline.
    fn check_deadline(
        &mut self,
        deadline: Option<crate::quantity::Time>,
        jitter: crate::quantity::Time,
        key: &str,
    ) {
        let Some(deadline) = deadline else { return };
        self.checker.require(deadline > jitter, key, || match deadline.0 == Duration::ZERO {
            true => "must be above 0s, got 0s".to_owned(),
            false => {
                format!(
                    "must be longer than jitter = {jitter}, the maximum delay of a request, got {deadline}"
                )
            }
        });
    }

    /// Checks that enough workers and aggregators are available to every client. `what` is the name of the key that lists the workers.
    fn check_participants(&mut self, config: &Config, key: &str, what: &str) -> Option<()> {
        let works = |host: &HostId| config.workers.binary_search(host).is_ok();
        let others = |hosts: &[HostId], client: &HostId| {
            hosts.len() - usize::from(hosts.binary_search(client).is_ok())
        };
        let count = config.aggregators.as_ref().map_or(0, |aggregators| aggregators.count);
        // Maximum number of hosts of `workers` that a query can draw as aggregators.
        let taken = config
            .aggregators
            .as_ref()
            .map_or(0, |aggregators| aggregators.hosts.iter().filter(|host| works(host)).count().min(count));
        for client in &config.clients {
            let above = config.aggregators.as_ref().map_or(0, |all| others(&all.hosts, client));
            if count > above {
                let message = format!(
                    "must be at most {above}, the number of aggregators available to host {}, got {count}; add hosts \
                     to aggregators.hosts",
                    client.0
                );
                return self.refuse(&format!("{key}.aggregators.count"), &message);
            }
            let free = others(&config.workers, client).saturating_sub(taken);
            if free == 0 {
                let message = format!(
                    "must include a host that is neither host {} nor one of its aggregators",
                    client.0
                );
                return self.refuse(&format!("{key}.{what}"), &message);
            }
            let asked = config.fan_out.unwrap_or(free);
            if asked == 0 || asked > free {
                let message = format!(
                    "must be from 1 to {free}, the number of {what} available to host {}, got {asked}",
                    client.0
                );
                return self.refuse(&format!("{key}.fan_out"), &message);
            }
            if count > asked {
                let message = format!("must be at most {asked}, the number of workers, got {count}");
                return self.refuse(&format!("{key}.aggregators.count"), &message);
            }
        }
        Some(())
    }

    /// Rejects a configuration with more flows than fit into memory or than flow numbers can count.
    fn check_number(&mut self, config: &Config, key: &str) -> Option<()> {
        let at_once = config.fan_out.unwrap_or(config.workers.len()) as u64;
        let askers = if config.drawn { 1 } else { config.clients.len() as u64 };
        self.bounded(at_once.saturating_mul(askers), key)?;
        let flows = config.expected_flows().unwrap_or(0);
        let fits = flows <= MAX_FLOWS;
        self.checker
            .require(fits, key, || {
                format!("the workload must have at most {MAX_FLOWS} flows in total, got {flows}")
            })
            .then_some(())
    }
}

/// Returns pairs of host sets: hosts of the first set may send requests to hosts of the second set, which respond.
fn relations(config: &Config) -> Vec<(&[HostId], &[HostId])> {
    match &config.aggregators {
        None => vec![(&config.clients, &config.workers)],
        Some(above) => vec![(&config.clients, &above.hosts), (&above.hosts, &config.workers)],
    }
}

/// Returns the maximum number of connections: two for each pair of hosts, or one if responses use the connections of their requests.
fn count_exchanges(config: &Config) -> u64 {
    let products = relations(config).into_iter();
    let product = |(a, b): (&[HostId], &[HostId])| (a.len() as u64).saturating_mul(b.len() as u64);
    let pairs = products.map(product).fold(0, u64::saturating_add);
    if config.shared { pairs } else { pairs.saturating_mul(2) }
}

/// Returns the host pairs that have persistent connections before their first flow: none if `connections` is `New`.
fn exchanges(config: &Config, connections: &Connections) -> Pairs {
    if *connections == Connections::New || count_exchanges(config) > MAX_OPEN {
        return Pairs::List(Vec::new());
    }
    let mut pairs = Vec::new();
    for (askers, asked) in relations(config) {
        for (&asker, &member) in askers.iter().flat_map(|a| asked.iter().map(move |b| (a, b))) {
            if asker != member {
                if !config.shared {
                    pairs.push((member, asker));
                }
                if config.request != Bytes(0) {
                    pairs.push((asker, member));
                }
            }
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    Pairs::List(pairs)
}
