//! A part of the network: its own world, its own events, and what it hears from the others.

use std::sync::{Mutex, MutexGuard, PoisonError};

use shallows_core::Instant;
use shallows_core::event::{EventQueue, run};
use shallows_scenario::Flow;

use crate::crossing::Crossing;
use crate::event::Event;
use crate::world::World;

/// A part of the network, or all of it.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) world: World,
    pub(crate) queue: EventQueue<Event>,
}

/// What reaches the parts in one window: written in the one before, by any of them, and read by each for itself.
#[derive(Debug)]
pub(crate) struct Mail(Vec<Mutex<Letters>>);

#[derive(Debug, Default)]
struct Letters {
    crossings: Vec<Crossing>,
    flows: Vec<(Flow, u32)>,
}

/// What a part says after a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Status {
    /// Nothing happens before, here or by what was sent from here.
    pub(crate) next: Instant,
    pub(crate) events: u64,
    pub(crate) flows_completed: u64,
}

impl Part {
    /// Read the mail, live until `until`, and write to the others.
    pub(crate) fn run(&mut self, until: Instant, mail: &Mail, next_mail: &Mail, number: usize) {
        self.read(mail, number);
        run(&mut self.world, &mut self.queue, until, u64::MAX);
        for (part, left) in self.world.exits.left.iter_mut().enumerate().filter(|(_, left)| !left.is_empty())
        {
            next_mail.of(part).crossings.append(left);
        }
    }

    /// What others have sent is on its way to the nodes of this part.
    pub(crate) fn read(&mut self, mail: &Mail, number: usize) {
        let Self { world, queue } = self;
        let mut letters = mail.of(number);
        letters.crossings.drain(..).for_each(|crossing| world.enter(crossing, queue));
        letters.flows.drain(..).for_each(|(flow, number)| world.announce(flow, number, queue));
    }

    /// Events that have fired at its nodes.
    pub(crate) fn events(&self) -> u64 {
        self.queue.handled() - self.world.tally.events_of_no_node
    }

    /// How it stands; forgets when the first of what it has sent arrives.
    pub(crate) fn status(&mut self) -> Status {
        let sent = std::mem::replace(&mut self.world.exits.first, Instant::MAX);
        Status {
            next: self.queue.not_before().min(sent),
            events: self.events(),
            flows_completed: self.world.tally.flows_completed,
        }
    }
}

impl Mail {
    /// None so far, for so many parts.
    pub(crate) fn new(parts: usize) -> Self {
        Self((0..parts).map(|_| Mutex::default()).collect())
    }

    /// A flow for the part with this number.
    pub(crate) fn announce(&self, part: u32, flow: Flow, number: u32) {
        self.of(part as usize).flows.push((flow, number));
    }

    fn of(&self, part: usize) -> MutexGuard<'_, Letters> {
        self.0[part].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
