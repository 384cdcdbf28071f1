//! One query: whom it asks, whose answers it awaits, and when it goes on.
//!
//! Its members are workers and, with two levels, the aggregators above them. Someone who asks (the client, an aggregator)
//! has a round: requests go out, answers come in, and the round ends with the last answer or at its deadline. An answer
//! that comes later is received, as TCP does not know better, and not counted.

use std::collections::BTreeMap;
use std::ops::Range;

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};

use super::asking::{Action, Agenda, Alarm, Asker, Config, Response};
use super::interface::{Leg, LegKind};

/// A query that is under way.
#[derive(Clone, Debug)]
pub(super) struct Query {
    number: u32,
    /// Whose turn it was to ask.
    pub(super) process: u32,
    client: HostId,
    members: Vec<Member>,
    /// The first so many members are asked by the client.
    direct: u32,
    /// Root of what its flows draw.
    seed: u64,
    iteration: u16,
    /// Of those who still wait for answers, by iteration and asker.
    rounds: BTreeMap<(u16, Asker), Round>,
    /// Answers of workers in what an aggregator has sent, by iteration and member.
    carried: BTreeMap<(u16, u32), u32>,
    /// Flows that are to be sent or under way.
    legs: u32,
    done: bool,
    in_time: u32,
    bytes: Bytes,
}

/// Someone who was asked.
#[derive(Clone, Debug)]
struct Member {
    host: HostId,
    asker: Asker,
    /// Members that it asks in its turn; none if it is a worker.
    below: Range<u32>,
}

/// Requests of one asker, and what has come back.
#[derive(Clone, Debug)]
struct Round {
    missing: u32,
    answers: u32,
    bytes: Bytes,
    alarm: Option<Alarm>,
}

impl Query {
    /// A query of `client` to `workers`, in equal parts through `aggregators` if there are any.
    pub(super) fn new(
        number: u32,
        process: u32,
        seed: u64,
        client: HostId,
        aggregators: &[HostId],
        workers: &[HostId],
    ) -> Self {
        let (above, all) = (aggregators.len(), workers.len());
        let asked_by_client = if above == 0 { all } else { above };
        let worker = |asker| move |&host: &HostId| Member { host, asker, below: 0..0 };
        let mut members = Vec::with_capacity(above + all);
        // Aggregator i has workers i·n/m to (i+1)·n/m: parts that differ by one at most.
        let part = |i: usize| i * all / above..(i + 1) * all / above;
        members.extend(aggregators.iter().enumerate().map(|(i, &host)| {
            let Range { start, end } = part(i);
            Member { host, asker: Asker::Client, below: (above + start) as u32..(above + end) as u32 }
        }));
        if above == 0 {
            members.extend(workers.iter().map(worker(Asker::Client)));
        }
        for i in 0..above {
            members.extend(workers[part(i)].iter().map(worker(Asker::Aggregator(i as u32))));
        }
        Self {
            number,
            process,
            client,
            members,
            direct: asked_by_client as u32,
            seed,
            iteration: 0,
            rounds: BTreeMap::new(),
            carried: BTreeMap::new(),
            legs: 0,
            done: false,
            in_time: 0,
            bytes: Bytes(0),
        }
    }

    /// Begin an iteration.
    pub(super) fn begin(&mut self, now: Instant, config: &Config, agenda: &mut Agenda) {
        self.open(Asker::Client, self.iteration, now, config, agenda);
    }

    /// `asker` sends its requests; without requests, everyone below answers unasked.
    fn open(&mut self, asker: Asker, iteration: u16, now: Instant, config: &Config, agenda: &mut Agenda) {
        let (asked, patience) = match asker {
            Asker::Client => (0..self.direct, config.deadline),
            Asker::Aggregator(member) => {
                let patience = config.aggregators.as_ref().and_then(|aggregators| aggregators.deadline);
                (self.members[member as usize].below.clone(), patience)
            }
        };
        let query = self.number;
        let alarm =
            patience.map(|patience| agenda.add(now + patience, Action::Expire { query, iteration, asker }));
        let round = Round { missing: asked.len() as u32, answers: 0, bytes: Bytes(0), alarm };
        self.rounds.insert((iteration, asker), round);
        for member in asked {
            let delay = self.delay(member, iteration, config.jitter);
            let below = self.members[member as usize].below.clone();
            let kind = if config.request == Bytes(0) { LegKind::Answer } else { LegKind::Request };
            if kind == LegKind::Answer && !below.is_empty() {
                // Nobody asks: the workers below an aggregator start by themselves.
                self.open(Asker::Aggregator(member), iteration, now, config, agenda);
            } else {
                self.send(Leg { query, member, iteration, kind }, now + delay, agenda);
            }
        }
    }

    fn send(&mut self, leg: Leg, at: Instant, agenda: &mut Agenda) {
        self.legs += 1;
        agenda.add(at, Action::Send(leg));
    }

    /// How much later than it could a request leaves. Every leg draws from a stream of its own, so that the order in which
    /// answers come does not change what is drawn.
    fn delay(&self, member: u32, iteration: u16, jitter: Duration) -> Duration {
        if jitter == Duration::ZERO {
            return jitter;
        }
        Duration(self.stream("jitter", member, iteration).below(jitter.0 + 1))
    }

    fn stream(&self, purpose: &str, member: u32, iteration: u16) -> Stream {
        Stream::new(self.seed, purpose, u64::from(iteration) << 32 | u64::from(member))
    }

    /// From whom to whom a leg goes, and how large it is.
    pub(super) fn flow(&self, leg: Leg, config: &Config) -> (HostId, HostId, Bytes) {
        let member = &self.members[leg.member as usize];
        let asker = match member.asker {
            Asker::Client => self.client,
            Asker::Aggregator(above) => self.members[above as usize].host,
        };
        match leg.kind {
            LegKind::Request => (asker, member.host, config.request),
            LegKind::Answer => (member.host, asker, self.answer_size(leg, config)),
        }
    }

    fn answer_size(&self, leg: Leg, config: &Config) -> Bytes {
        if let Some(aggregators) = &config.aggregators
            && !self.members[leg.member as usize].below.is_empty()
        {
            return aggregators.size;
        }
        match &config.response {
            Response::Each(size) => *size,
            Response::Total(total) => Bytes(total.0.div_ceil(u64::from(self.workers()))),
            Response::Drawn(sizes) => {
                sizes.quantile(self.stream("sizes", leg.member, leg.iteration).uniform())
            }
        }
    }

    /// How many workers it has.
    pub(super) fn workers(&self) -> u32 {
        let workers = self.members.iter().filter(|member| member.below.is_empty());
        workers.count() as u32
    }

    /// The flow of a leg is received.
    pub(super) fn on_complete(&mut self, leg: Leg, now: Instant, config: &Config, agenda: &mut Agenda) {
        self.legs -= 1;
        let member = &self.members[leg.member as usize];
        let asker = member.asker;
        match leg.kind {
            LegKind::Request if member.below.is_empty() => {
                self.send(Leg { kind: LegKind::Answer, ..leg }, now, agenda);
            }
            LegKind::Request => {
                self.open(Asker::Aggregator(leg.member), leg.iteration, now, config, agenda);
            }
            LegKind::Answer => {
                let size = self.answer_size(leg, config);
                let is_worker = self.members[leg.member as usize].below.is_empty();
                let answers = if is_worker {
                    1
                } else {
                    let carried = self.carried.remove(&(leg.iteration, leg.member));
                    carried.expect("an aggregator notes what its answer holds")
                };
                // Without a round it came too late.
                let Some(round) = self.rounds.get_mut(&(leg.iteration, asker)) else { return };
                round.missing -= 1;
                round.answers += answers;
                round.bytes += size;
                if round.missing == 0 {
                    self.close(leg.iteration, asker, now, config, agenda);
                }
            }
        }
    }

    /// The round of `asker` is over: its answers are all there, or its deadline has come.
    pub(super) fn close(
        &mut self,
        iteration: u16,
        asker: Asker,
        now: Instant,
        config: &Config,
        agenda: &mut Agenda,
    ) {
        let round = self.rounds.remove(&(iteration, asker)).expect("a round is closed once");
        if let Some(alarm) = round.alarm {
            agenda.cancel(alarm);
        }
        match asker {
            Asker::Aggregator(member) => {
                self.carried.insert((iteration, member), round.answers);
                let leg = Leg { query: self.number, member, iteration, kind: LegKind::Answer };
                self.send(leg, now, agenda);
            }
            Asker::Client => {
                self.in_time += round.answers;
                self.bytes += round.bytes;
                self.iteration += 1;
                match self.iteration < config.iterations {
                    true => self.begin(now, config, agenda),
                    false => self.done = true,
                }
            }
        }
    }

    /// Whether its last iteration is over.
    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// Whether, besides, none of its flows is under way.
    pub(super) fn is_gone(&self) -> bool {
        self.done && self.legs == 0 && self.rounds.is_empty()
    }

    /// Answers and bytes in its result so far.
    pub(super) fn gathered(&self) -> (u32, Bytes) {
        (self.in_time, self.bytes)
    }
}
