//! Dynamic Threshold with reserved bytes, over ports with several queues and pools, compared with a model that recomputes
//! all sums from its list of packets. The outcome for every packet is the same.

use std::collections::VecDeque;

use proptest::prelude::*;
use shallows_core::packet::{Ecn, Header};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Instant, Rate};
use shallows_switch::Port;
use shallows_switch::buffer::{
    self, Cell, DtCounts, DynamicThreshold, Memory, Policy, ReservedRule, SharedBuffer,
};
use shallows_switch::discipline::{self, ComposedConfig, Limits, SchedulerConfig};
use shallows_switch::port::{Arrival, Config, DropReason, Ingress};

/// A switch: the configuration of its memory, and the pool of each port.
#[derive(Clone, Debug)]
struct Switch {
    /// Alpha times 8, so that every threshold is a whole number of eighths.
    alpha_eighths: u64,
    pools: Vec<u64>,
    reserved: u64,
    rule: ReservedRule,
    counts: DtCounts,
    /// Size of a cell; `None` if packets occupy their size.
    cell: Option<u64>,
    /// Pool of each port, and its number of strict-priority queues.
    ports: Vec<(usize, usize)>,
}

/// A packet that arrives `wait` after the previous one.
#[derive(Clone, Copy, Debug)]
struct Step {
    wait: u64,
    port: usize,
    queue: usize,
    size: u16,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// The packet found the link free.
    Leaves,
    /// The packet waits in this memory.
    Waits(Memory),
    Dropped(DropReason),
}

#[derive(Clone, Copy, Debug)]
struct Held {
    id: u32,
    size: u64,
    /// Bytes of memory that the packet occupies.
    occupied: u64,
    memory: Memory,
    /// Contents of the queue when the packet arrived.
    found: u64,
}

/// The model: packets by port and queue. It keeps no running sums except for the leaked counter.
struct Model<'a> {
    switch: &'a Switch,
    held: Vec<Vec<VecDeque<Held>>>,
    /// For each port and queue, the bytes that departed packets have left in the counter of [`ReservedRule::AsReleased`].
    leaked: Vec<Vec<u64>>,
    /// For each port, the time at which its link becomes free.
    free_at: Vec<u64>,
}

/// 125 Gbit/s is 8 ps per bit, 64 ps per byte.
const PS_PER_BYTE: u64 = 64;

impl<'a> Model<'a> {
    fn new(switch: &'a Switch) -> Self {
        let queues = |&(_, queues): &(usize, usize)| queues;
        Self {
            switch,
            held: switch.ports.iter().map(|port| vec![VecDeque::new(); queues(port)]).collect(),
            leaked: switch.ports.iter().map(|port| vec![0; queues(port)]).collect(),
            free_at: vec![0; switch.ports.len()],
        }
    }

    fn bytes(&self, port: usize, queue: usize, memory: Memory) -> u64 {
        self.held[port][queue].iter().filter(|held| held.memory == memory).map(|held| held.occupied).sum()
    }

    fn backlog(&self, port: usize, queue: usize) -> u64 {
        self.held[port][queue].iter().map(|held| held.occupied).sum()
    }

    /// Returns `size` bytes of memory, rounded down to whole cells.
    fn whole(&self, size: u64) -> u64 {
        self.switch.cell.map_or(size, |cell| size - size % cell)
    }

    /// Returns the reserved bytes that count as taken.
    fn reserved_counter(&self, port: usize, queue: usize) -> u64 {
        let exact = self.bytes(port, queue, Memory::Reserved);
        match self.switch.rule {
            ReservedRule::Exact => exact,
            ReservedRule::AsReleased => {
                let reserved = self.held[port][queue].iter().filter(|held| held.memory == Memory::Reserved);
                exact + reserved.map(|held| held.found).sum::<u64>() + self.leaked[port][queue]
            }
        }
    }

    fn used(&self, pool: usize) -> u64 {
        let ports = self.switch.ports.iter().enumerate().filter(|(_, port)| port.0 == pool);
        ports
            .flat_map(|(port, &(_, n))| (0..n).map(move |q| (port, q)))
            .map(|(port, queue)| self.bytes(port, queue, Memory::Shared))
            .sum()
    }

    /// Returns the memory that a packet that occupies `size` would get, or the reason for dropping it.
    fn room(&self, port: usize, queue: usize, size: u64) -> Result<Memory, DropReason> {
        // BCC's released rule adds the backlog to the packet's size, in the test and in the counter.
        let charge = match self.switch.rule {
            ReservedRule::Exact => size,
            ReservedRule::AsReleased => size + self.backlog(port, queue),
        };
        if self.reserved_counter(port, queue) + charge <= self.whole(self.switch.reserved) {
            return Ok(Memory::Reserved);
        }
        let pool = self.switch.ports[port].0;
        let free = self.whole(self.switch.pools[pool]) - self.used(pool);
        let compared = match self.switch.counts {
            DtCounts::Shared => self.bytes(port, queue, Memory::Shared),
            DtCounts::Total => self.backlog(port, queue),
        };
        // Q + |x| ≤ α · (B − U), in eighths of a byte. Chips with cells count the packet on both sides.
        let beside = if self.switch.cell.is_some() { size } else { 0 };
        if 8 * (compared + size) > self.switch.alpha_eighths * free.saturating_sub(beside) {
            return Err(DropReason::QueueLimit);
        }
        if size > free { Err(DropReason::PoolFull) } else { Ok(Memory::Shared) }
    }

    fn arrive(&mut self, now: u64, id: u32, step: Step) -> Fate {
        let Step { port, queue, .. } = step;
        let size = u64::from(step.size);
        let occupied = self.switch.cell.map_or(size, |cell| size.div_ceil(cell) * cell);
        let memory = match self.room(port, queue, occupied) {
            Ok(memory) => memory,
            Err(reason) => return Fate::Dropped(reason),
        };
        if self.free_at[port] <= now && self.held[port].iter().all(VecDeque::is_empty) {
            self.free_at[port] = now + size * PS_PER_BYTE;
            return Fate::Leaves;
        }
        let found = self.backlog(port, queue);
        self.held[port][queue].push_back(Held { id, size, occupied, memory, found });
        Fate::Waits(memory)
    }

    /// Returns the port with waiting packets whose link is free first, and that time.
    fn next(&self) -> Option<(u64, usize)> {
        let busy = |&port: &usize| self.held[port].iter().any(|queue| !queue.is_empty());
        (0..self.held.len()).filter(busy).map(|port| (self.free_at[port], port)).min()
    }

    /// Removes the next packet of a port: the head of its first queue that is not empty.
    fn leave(&mut self, now: u64, port: usize) -> u32 {
        let queue = self.held[port].iter().position(|queue| !queue.is_empty()).expect("something waits");
        let held = self.held[port][queue].pop_front().expect("it is not empty");
        if held.memory == Memory::Reserved {
            self.leaked[port][queue] += held.found;
        }
        self.free_at[port] = now + held.size * PS_PER_BYTE;
        held.id
    }
}

/// The ports and the buffer under test.
struct Real {
    buffer: SharedBuffer,
    ports: Vec<Port<u32>>,
}

impl Real {
    fn new(switch: &Switch) -> Self {
        let alpha = switch.alpha_eighths as f64 / 8.0;
        let mut buffer = SharedBuffer::new(&buffer::Config {
            policy: Policy::DynamicThreshold(DynamicThreshold { alpha, counts: switch.counts }),
            pools: switch.pools.iter().copied().map(Bytes).collect(),
            reserved_rule: switch.rule,
            cell: switch.cell.map(|size| Cell::new(Bytes(size))),
        });
        let ports = switch.ports.iter().map(|&(pool, queues)| {
            let account = buffer.add_queue(pool, Bytes(switch.reserved));
            (1..queues).for_each(|_| {
                buffer.add_sibling(pool, Bytes(switch.reserved));
            });
            let discipline = if queues == 1 { discipline::Config::Fifo } else { strict_priority(queues) };
            let config = Config { discipline, ..Config::default() };
            let stream = |purpose, place| Stream::new(1, purpose, place as u64);
            Port::new(Rate::from_gbps(125), account, &config, stream)
        });
        Self { ports: ports.collect(), buffer }
    }

    fn arrive(&mut self, now: u64, id: u32, step: Step) -> Fate {
        let port = &mut self.ports[step.port];
        let before = port.counters().dropped;
        let header = Header::default().with_ecn(Ecn::Ect).with_size(step.size).with_class(step.queue as u8);
        let account: usize =
            self.ports[..step.port].iter().map(|port| port.queue_counters().len()).sum::<usize>()
                + step.queue;
        let reserved = self.buffer.queue(account).reserved;
        let port = &mut self.ports[step.port];
        match port.receive(Instant(now), Ingress::NONE, header, id, &mut self.buffer, &mut vec![]) {
            Arrival::Sent(departure) => {
                assert_eq!(departure.payload, id);
                Fate::Leaves
            }
            Arrival::Queued if self.buffer.queue(account).reserved > reserved => {
                Fate::Waits(Memory::Reserved)
            }
            Arrival::Queued => Fate::Waits(Memory::Shared),
            Arrival::Dropped => {
                let after = port.counters().dropped;
                let reason = DropReason::ALL.into_iter().find(|&r| after[r as usize] > before[r as usize]);
                Fate::Dropped(reason.expect("a drop has a reason"))
            }
        }
    }

    fn leave(&mut self, now: u64, port: usize) -> u32 {
        let departure = self.ports[port].transmit_next(Instant(now), &mut self.buffer, &mut vec![]);
        departure.expect("something waits").payload
    }

    fn audit(&self) {
        self.buffer.audit();
        self.ports.iter().for_each(|port| port.audit(&self.buffer));
    }
}

fn strict_priority(queues: usize) -> discipline::Config {
    discipline::Config::Composed(ComposedConfig {
        scheduler: SchedulerConfig::StrictPriority { queues },
        queue_of_class: (0..queues as u8).collect(),
        limits: Limits::default(),
    })
}

fn switch() -> impl Strategy<Value = Switch> {
    let ports = prop::collection::vec((0usize..2, 1usize..4), 1..5);
    let pools = prop::collection::vec(3_000u64..40_000, 2);
    let rule = prop_oneof![Just(ReservedRule::Exact), Just(ReservedRule::AsReleased)];
    let counts = prop_oneof![Just(DtCounts::Shared), Just(DtCounts::Total)];
    let alpha = prop::sample::select(vec![1u64, 4, 8, 13, 64]);
    let reserved = prop_oneof![Just(0u64), 1_000..9_000u64];
    let cell = prop::option::of(1u64..2_000);
    (alpha, pools, reserved, rule, counts, cell, ports).prop_map(
        |(alpha_eighths, pools, reserved, rule, counts, cell, ports)| Switch {
            alpha_eighths,
            pools,
            reserved,
            rule: if cell.is_some() { ReservedRule::Exact } else { rule },
            counts,
            cell,
            ports,
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<(u64, usize, usize, u16)>> {
    // A packet of 1,500 B takes 96 ns.
    let wait = prop_oneof![3 => Just(0u64), 5 => 0..60_000u64, 1 => 0..2_000_000u64];
    let size = prop_oneof![Just(1_500u16), 64..=1_500u16];
    prop::collection::vec((wait, 0usize..8, 0usize..8, size), 1..400)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_meets_the_fate_that_a_recount_of_the_memory_gives(switch in switch(), steps in steps()) {
        let (mut model, mut real) = (Model::new(&switch), Real::new(&switch));
        let mut now = 0;
        for (id, (wait, port, queue, size)) in steps.into_iter().enumerate() {
            let port = port % switch.ports.len();
            let step = Step { wait, port, queue: queue % switch.ports[port].1, size };
            now += step.wait;
            while let Some((at, port)) = model.next().filter(|&(at, _)| at <= now) {
                prop_assert_eq!(real.ports[port].busy_until(), Instant(at));
                prop_assert_eq!(real.leave(at, port), model.leave(at, port));
            }
            let expected = model.arrive(now, id as u32, step);
            prop_assert_eq!(real.arrive(now, id as u32, step), expected, "packet {} of {:?}", id, switch);
            real.audit();
        }
        while let Some((at, port)) = model.next() {
            prop_assert_eq!(real.leave(at, port), model.leave(at, port));
        }
        real.audit();
        prop_assert!(real.buffer.pools().iter().all(|pool| pool.used == Bytes(0)), "all is given back");
    }
}

#[test]
fn the_released_counter_sticks_until_only_an_empty_queue_gets_reserved_room() {
    // 131,072 B of reserved buffer and packets of 9,000 B, as in BCC's simulations. In each slot one packet arrives just before
    // another leaves, so one always waits. Each arrival finds 9,000 B, is charged 18,000 and returns 9,000. While the reserved
    // buffer has room, the counter grows by 9,000 per packet.
    let switch = Switch {
        alpha_eighths: 32,
        pools: vec![3 << 20, 1],
        reserved: 131_072,
        rule: ReservedRule::AsReleased,
        counts: DtCounts::Total,
        cell: None,
        ports: vec![(0, 1)],
    };
    let mut model = Model::new(&switch);
    let mut real = Real::new(&switch);
    let step = Step { wait: 0, port: 0, queue: 0, size: 9_000 };
    let mut reserved = 0;
    for id in 0..100u32 {
        let now = u64::from(id.saturating_sub(1)) * 9_000 * PS_PER_BYTE;
        if id > 1 {
            let fate = real.arrive(now, id, step);
            assert_eq!(fate, model.arrive(now, id, step));
            reserved += u32::from(fate == Fate::Waits(Memory::Reserved));
            assert_eq!(real.leave(now, 0), model.leave(now, 0));
        } else {
            assert_eq!(real.arrive(0, id, step), model.arrive(0, id, step));
        }
    }
    assert_eq!(model.reserved_counter(0, 0), 117_000);
    // Packet 1 found an empty queue: 9,000. Packet n, from 2 on, finds 9,000 · (n − 1) taken and needs 18,000 more: 13 is
    // the last of a row to fit. After it has left, 108,000 are taken, and 15 fits, too. The counter is then at 117,000,
    // and 18,000 more never fit again.
    assert_eq!(reserved, 13);
}
