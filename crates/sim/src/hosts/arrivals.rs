//! Arrivals at a host. Each packet passes the host's NIC, which may hold it for coalescing. The NIC's agent, if the NIC has one, and then
//! the host process the packet. Packets of queue pairs bypass coalescing and the agent.

use shallows_core::packet::{Header, HostId, PacketKind};

use crate::hosts::nic::inbox::{Arrived, InboxAt, Taking};
use crate::hosts::nic::{Incoming, Nic};
use crate::hosts::packet::PacketRef;
use crate::hosts::{Driver, Hosts, Timer};

impl Hosts {
    /// Passes a packet through the NIC of its destination, which may hold the packet for coalescing. Packets of queue pairs go to the host
    /// at once.
    #[inline(never)]
    pub(super) fn meet_nic(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) {
        if packet.is_of_queue_pair() {
            return self.hand_up(Arrived::one(header, packet), driver);
        }
        let host = header.destination();
        match self.nic(host).receive(driver.now(), header, packet) {
            Incoming::Up(arrived) => self.pass_nic(arrived, driver),
            Incoming::Queued { queue, taking } => self.take_up(InboxAt { host, queue }, taking, driver),
        }
    }

    #[inline(never)]
    pub(super) fn on_interrupt(&mut self, at: InboxAt, driver: &mut impl Driver) {
        let taking = self.nic(at.host).on_interrupt(driver.now(), at.queue);
        self.take_up(at, taking, driver);
    }

    fn take_up(&mut self, at: InboxAt, taking: Taking, driver: &mut impl Driver) {
        match taking {
            Taking::Waits => {}
            Taking::Until(due) => driver.timer_at(due, Timer::Interrupt(at)),
            Taking::Now => self.empty_inbox(at, driver),
        }
    }

    fn nic(&mut self, host: HostId) -> &mut Nic {
        &mut self.host(host).nic
    }

    /// Takes all packets from a receive queue of a NIC.
    #[inline(never)]
    fn empty_inbox(&mut self, at: InboxAt, driver: &mut impl Driver) {
        let now = driver.now();
        let taken = self.nic(at.host).take_up(now, at.queue, driver.packets());
        for &arrived in &taken {
            self.pass_nic(arrived, driver);
        }
        self.nic(at.host).recycle(at.queue, taken);
    }

    /// Passes a packet to the NIC's agent and then to the host, once the NIC has released the packet.
    fn pass_nic(&mut self, arrived: Arrived, driver: &mut impl Driver) {
        let host = arrived.header.destination();
        self.nic(host).on_packet(driver.now(), arrived.bytes);
        self.hand_up(arrived, driver);
        self.serve_agent(host, driver);
    }

    /// Sends the packets of a NIC's agent, and schedules the agent's next deadline.
    fn serve_agent(&mut self, host: HostId, driver: &mut impl Driver) {
        while let Some((header, packet)) = self.nic(host).poll_agent(driver.now()) {
            let packet = driver.packets().insert(packet);
            self.send(header, packet, driver);
        }
        if let Some(deadline) = self.nic(host).rest_agent() {
            driver.timer_at(deadline, Timer::Agent(host));
        }
    }

    #[inline(never)]
    pub(super) fn on_agent_timer(&mut self, host: HostId, driver: &mut impl Driver) {
        if self.nic(host).on_agent_timer(driver.now()) {
            self.serve_agent(host, driver);
        }
    }

    /// Processes a packet, or several packets merged into one, at its host. Inlined, because without coalescing every arrival calls this
    /// function.
    #[inline(always)]
    pub(super) fn hand_up(&mut self, arrived: Arrived, driver: &mut impl Driver) {
        let Arrived { header, packet, packets, .. } = arrived;
        driver.tally().packets_arrived += u64::from(packets);
        match header.kind() {
            PacketKind::Data => self.receive_data(arrived, driver),
            PacketKind::PureAck => self.receive_ack(&header, packet, driver),
            PacketKind::Datagram | PacketKind::Probe => self.receive_foreign(header, packet, driver),
        }
    }

    /// Processes a packet that belongs to no TCP connection.
    #[inline(never)]
    fn receive_foreign(&mut self, header: Header, packet: PacketRef, driver: &mut impl Driver) {
        if packet.is_of_queue_pair() {
            return self.receive_of_queue_pair(header, packet, driver);
        }
        if let Some((header, packet)) = driver.answer(&header, packet) {
            self.send(header, packet, driver);
        }
    }
}
