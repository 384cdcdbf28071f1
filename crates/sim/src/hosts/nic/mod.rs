//! NIC of a host. All packets from and to the host pass through it.
//!
//! **Sending.** The NIC pulls packets from an endpoint (a [`PacketSource`]) by the rules of a [`Handover`], which forms bursts, paces them,
//! and stops while too many bytes of the endpoint wait in the NIC's queue. The NIC pulls from endpoints in the order of the events that
//! allow them to send (an acknowledgement, a timer, a departure, a drop). It pulls from one endpoint until that endpoint has no packet or is
//! held. The NIC's queue is the port of the host's link, so without backpressure the queue drops packets that do not fit. Queue pairs send
//! within [`limits`].
//!
//! **Receiving.** Packets wait in receive queues until the NIC interrupts its host ([`inbox`], [`moderation`]); the host then merges
//! them. A [`HostAgent`] processes every packet that the host takes up.

pub(crate) mod account;
pub(crate) mod agent;
#[cfg(test)]
mod constant_rate;
pub(crate) mod handover;
pub(crate) mod inbox;
pub(crate) mod limits;
pub(crate) mod moderation;

use shallows_core::packet::{Header, HostId};
use shallows_core::{Bytes, Instant, Rate};
use shallows_scenario::Experiment;
use shallows_transport::receive_window::{Control, ictcp::Ictcp};

use crate::hosts::nic::agent::HostAgent;
use crate::hosts::nic::inbox::{Arrived, Inboxes, Taking};
use crate::hosts::nic::limits::Limits;
use crate::hosts::packet::{Packet, PacketRef, Packets};
use crate::hosts::timer::arm;

/// The NIC of one host.
#[derive(Debug)]
pub(crate) struct Nic {
    /// Whether endpoints wait while too many of their bytes are in the NIC's queue.
    backpressure: bool,
    inboxes: Inboxes,
    agent: Option<Box<dyn HostAgent>>,
    /// Time of the agent's earliest pending event; `Instant::MAX` for none.
    agent_timer_at: Instant,
    /// Limits on what queue pairs send; `None` for no limits.
    pub(crate) limits: Option<Box<Limits>>,
}

/// Result of a packet's arrival.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// The host takes the packet at once.
    Up(Arrived),
    /// The packet waits in this receive queue.
    Queued { queue: u32, taking: Taking },
}

impl Nic {
    pub(crate) fn new(backpressure: bool, inboxes: Inboxes, agent: Option<Box<dyn HostAgent>>) -> Self {
        Self { backpressure, inboxes, agent, agent_timer_at: Instant::MAX, limits: None }
    }

    /// Builds the NIC of `host` in `experiment`. `rate` is the rate of the host's link.
    pub(crate) fn of(experiment: &Experiment, host: HostId, rate: Rate) -> Self {
        let config = &experiment.agreement(host, host).receiver;
        let agent: Option<Box<dyn HostAgent>> = match &config.receive_control {
            Control::Fixed => None,
            Control::Ictcp(ictcp) => Some(Box::new(Ictcp::new(ictcp, config.mss, rate))),
        };
        let group = experiment.group(host);
        let inboxes = Inboxes::new(group.offloads.coalescing, experiment.seed);
        let backpressure = group.backpressure.is_some() || experiment.has_queue_pairs();
        let limits = group.send.map(|config| Box::new(Limits::new(config)));
        Self { limits, ..Self::new(backpressure, inboxes, agent) }
    }

    /// Returns whether departures from the NIC's queue allow endpoints to send more.
    pub(crate) fn has_backpressure(&self) -> bool {
        self.backpressure
    }

    /// Returns whether the NIC coalesces arriving packets or has an agent.
    pub(crate) fn acts_on_arrivals(&self) -> bool {
        self.inboxes.rule().is_some() || self.agent.is_some()
    }

    /// Returns the number of packets in the NIC's receive queues.
    pub(crate) fn waiting(&self) -> usize {
        self.inboxes.len()
    }

    /// Receives a packet from the network.
    pub(crate) fn receive(&mut self, now: Instant, header: Header, packet: PacketRef) -> Incoming {
        if self.inboxes.rule().is_none() {
            return Incoming::Up(Arrived::one(header, packet));
        }
        let queue = self.inboxes.of(&header);
        Incoming::Queued { queue, taking: self.inboxes.queue(queue).take_in(now, header, packet) }
    }

    /// Handles an event of a receive queue.
    pub(crate) fn on_interrupt(&mut self, now: Instant, queue: u32) -> Taking {
        self.inboxes.queue(queue).on_event(now)
    }

    /// Empties a receive queue. Returns the packets in order of arrival, merged if the host merges (GRO).
    pub(crate) fn take_up(&mut self, now: Instant, queue: u32, packets: &mut Packets) -> Vec<Arrived> {
        let gro = self.inboxes.rule().is_some_and(|rule| rule.gro);
        self.inboxes.queue(queue).empty(now, gro, packets)
    }

    /// Takes back the vector from [`Self::take_up`], to reuse its memory.
    pub(crate) fn recycle(&mut self, queue: u32, taken: Vec<Arrived>) {
        self.inboxes.queue(queue).recycle(taken);
    }

    /// Passes a packet of any kind, or several merged packets, to the agent. `bytes` is the size on the wire. Called before
    /// [`Self::on_data`].
    pub(crate) fn on_packet(&mut self, now: Instant, bytes: Bytes) {
        if let Some(agent) = &mut self.agent {
            agent.on_packet(now, bytes);
        }
    }

    /// Notifies the agent that `data` bytes have arrived at the receiver in `slot`. `echo` is the timestamp that the packet echoes, or
    /// zero. Returns the receive window to advertise from now on; `None` without an agent, or if the agent does not set windows.
    #[inline]
    pub(crate) fn on_data(&mut self, now: Instant, slot: u32, data: Bytes, echo: Instant) -> Option<Bytes> {
        let agent = self.agent.as_mut()?;
        agent.on_data(now, slot, data, echo)
    }

    /// Informs the agent that the connection of this receiver has closed.
    #[inline]
    pub(crate) fn on_close(&mut self, slot: u32) {
        if let Some(agent) = &mut self.agent {
            agent.on_close(slot);
        }
    }

    /// Returns the next packet that the agent sends now.
    pub(crate) fn poll_agent(&mut self, now: Instant) -> Option<(Header, Packet)> {
        self.agent.as_mut()?.poll(now)
    }

    /// Returns the time at which an event of the agent must be scheduled, if a new event is needed.
    pub(crate) fn rest_agent(&mut self) -> Option<Instant> {
        arm(self.agent.as_ref()?.deadline(), &mut self.agent_timer_at)
    }

    /// Handles an event of the agent. Returns whether this event is the agent's earliest pending event.
    pub(crate) fn on_agent_timer(&mut self, now: Instant) -> bool {
        let is_due = self.agent_timer_at == now;
        if is_due {
            self.agent_timer_at = Instant::MAX;
        }
        is_due
    }
}
