//! Programs on the hosts: they send the flows of a scenario over real sockets, and record when each flow is complete.
//!
//! One thread acts for all programs. A socket belongs to the network in which it was created, so the thread enters a host's network only to
//! create sockets.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

use shallows_core::packet::HostId;
use shallows_core::{Address, Bytes, Duration, Instant};
use shallows_measure::{FlowChoices, FlowRecord, FlowTracer, Readings, Received, Sent};
use shallows_scenario::{Connections as Policy, Experiment, Flow, Milestone, SERVICE_PORT, WhenBusy};
use shallows_sim::Pool;

use crate::frame;
use crate::hosts::HostNamespaces;
use crate::mapping::LinuxPlan;
use crate::source_ports::SourcePorts;
use crate::sys::clock::{self, Clock};
use crate::sys::ebpf::Registered;
use crate::sys::poll::{Poll, Ready};
use crate::sys::tcp::{Info, Socket};
use crate::traffic::{Announced, Announcer};

/// Programs of all hosts.
#[derive(Debug)]
pub struct Load<'a> {
    experiment: &'a Experiment,
    hosts: &'a HostNamespaces,
    plan: &'a LinuxPlan,
    /// The testbed's own congestion control, if it is used.
    own: Option<&'a Registered>,
    poll: Poll,
    traffic: Announcer,
    listeners: Vec<(HostId, Socket)>,
    /// Ports on which hosts listen.
    listening: BTreeMap<(HostId, u16), ()>,
    connections: Vec<Connection>,
    /// Number of connections that are not yet established at the sender's end.
    opening: usize,
    /// Connections that the receiver has not accepted yet, indexed by host and port number of the sender, then of the receiver.
    expected: BTreeMap<(HostId, u16, HostId, u16), usize>,
    /// Persistent connections, indexed by workload, sender and receiver.
    pools: BTreeMap<(u16, HostId, HostId), Pool>,
    /// Connections that were opened in advance for announced flows, indexed by the number of the flow's announcement.
    ready: BTreeMap<u64, usize>,
    source_ports: Vec<SourcePorts>,
    /// Selection of traced flows. The next three fields are the records of their senders, the times of the next readings, and the
    /// connection of each traced flow.
    choices: FlowChoices,
    tracer: FlowTracer,
    readings: Vec<(Instant, u32)>,
    traced: BTreeMap<u32, usize>,
    /// Records of flows in order of arrival.
    pub flows: Vec<FlowRecord>,
    /// Number of finite flows that are not complete.
    open: u64,
    completed: u64,
    /// Lateness of applications: time from when a flow was due until its application wrote the data.
    pub writing: crate::health::Lateness,
}

#[derive(Debug)]
struct Connection {
    address: Address,
    /// Place of the connection in the pool of its workload and hosts, if it is persistent.
    place_in_pool: Option<u32>,
    sender: Option<Socket>,
    receiver: Option<Socket>,
    is_up: bool,
    /// Flow that the connection is sending; `receiving` is the flow that it is receiving.
    sending: Option<u32>,
    receiving: Option<u32>,
    /// Bytes written so far; `end` is the value at the end of the current flow.
    written: u64,
    end: u64,
    /// Bytes written before the current flow.
    sent_before: u64,
    /// Bytes received so far; `begin` is the value at the start of the current flow.
    received: u64,
    begin: u64,
    /// The kernel's statistics of this connection at the start of its current flow.
    before: Info,
    /// Time at which data of the flow last arrived; `gap` is the longest time between arrivals.
    last: Instant,
    gap: Duration,
}

/// Maximum number of unsent bytes in a socket. This is enough for 8 ms at 1 Gb/s, so the link stays busy if this program waits up to 8 ms
/// for a processor.
const NOT_SENT: u32 = 1 << 20;
/// Lead time with which flows without dependencies are announced, in the machine's time. A flow's connection opens during this time.
const AHEAD: Duration = Duration::from_millis(100);
const SIDES: u64 = 4;
const SENDER: u64 = 0;
const RECEIVER: u64 = 1;
const LISTENER: u64 = 2;

impl<'a> Load<'a> {
    /// Starts the programs on `hosts`: they listen, and open the persistent connections.
    ///
    /// # Errors
    ///
    /// If sockets cannot be created.
    pub fn new(
        experiment: &'a Experiment,
        hosts: &'a HostNamespaces,
        plan: &'a LinuxPlan,
        own: Option<&'a Registered>,
    ) -> io::Result<Self> {
        let tracer = FlowTracer::new(experiment);
        let mut load = Self {
            readings: tracer.at_intervals().map(|number| (Instant::ZERO, number)).collect(),
            tracer,
            choices: FlowChoices::new(experiment),
            traced: BTreeMap::new(),
            experiment,
            hosts,
            plan,
            own,
            poll: Poll::new()?,
            traffic: Announcer::new(experiment, plan.dilation.network(AHEAD)),
            listeners: Vec::new(),
            listening: BTreeMap::new(),
            connections: Vec::new(),
            opening: 0,
            expected: BTreeMap::new(),
            pools: BTreeMap::new(),
            ready: BTreeMap::new(),
            source_ports: vec![SourcePorts::default(); experiment.network.hosts as usize],
            flows: Vec::new(),
            open: 0,
            completed: 0,
            writing: crate::health::Lateness::default(),
        };
        for (workload, policy) in experiment.connections.iter().enumerate() {
            let Policy::Persistent { per_pair, .. } = policy else { continue };
            for (source, destination) in experiment.pairs[workload].iter() {
                for _ in 0..*per_pair {
                    let class = experiment.classes[workload].before_any_flow(source, destination);
                    load.open_persistent(workload as u16, source, destination, class)?;
                }
            }
        }
        load.open_announced()?;
        Ok(load)
    }

    /// Returns whether every opened connection is established at both ends.
    pub fn is_up(&self) -> bool {
        self.expected.is_empty() && self.opening == 0
    }

    /// Returns whether every flow has arrived and is complete.
    pub fn is_complete(&self) -> bool {
        self.open == 0 && self.traffic.is_done()
    }

    /// Returns the number of complete flows.
    pub fn completed(&self) -> u64 {
        self.completed
    }

    /// Waits until an event occurs or a flow is due, but for at most `most` of the machine's time. Then handles the events and the due
    /// flows.
    ///
    /// # Errors
    ///
    /// If sockets cannot be created, or a connection breaks.
    pub fn turn(&mut self, clock: Clock, most: Duration) -> io::Result<()> {
        let read = self.readings.iter().map(|(at, _)| *at);
        let wait = self
            .traffic
            .next_at()
            .into_iter()
            .chain(read)
            .min()
            .map_or(most, |at| clock.real_since(clock.now(), at).min(most));
        let wait = wait.max(clock.until_origin().min(most));
        for ready in self.poll.wait(wait) {
            self.serve(ready, clock)?;
        }
        if clock.until_origin() > Duration::ZERO {
            return Ok(());
        }
        while let Some(due) = self.traffic.due(clock.now()) {
            self.arrive(due, clock)?;
        }
        self.read_senders(clock);
        self.open_announced()
    }

    /// Records the state that the kernel reports for the senders of traced flows, if a reading is due.
    fn read_senders(&mut self, clock: Clock) {
        let now = clock.now();
        for (at, number) in &mut self.readings {
            if *at > now {
                continue;
            }
            let (flows, next) = self.tracer.due(*number, now);
            *at = next;
            for flow in flows {
                let connection = &self.connections[self.traced[&flow]];
                if let Some(socket) = &connection.sender {
                    let acked = connection.written.saturating_sub(socket.unacknowledged());
                    let srtt =
                        self.plan.dilation.network(Duration::from_micros(u64::from(socket.info().srtt)));
                    let alpha = self.own.and_then(|own| own.alpha(socket.as_fd()));
                    let acked = acked.saturating_sub(connection.sent_before);
                    self.tracer.note(now, flow, readings(&socket.info(), alpha, srtt, acked));
                }
            }
        }
    }

    /// Removes and returns the recorded values of the traced flows.
    pub fn take_traces(&mut self) -> FlowTracer {
        self.tracer.forget(self.choices.forgotten());
        std::mem::take(&mut self.tracer)
    }

    /// Returns the results of queries for each workload.
    pub fn queries(&self) -> Vec<Vec<shallows_scenario::QueryRecord>> {
        self.traffic.queries()
    }

    /// Records the progress of unfinished flows at the end of the run.
    pub fn settle(&mut self, end: Instant) {
        for connection in &mut self.connections {
            if let Some(flow) = connection.sending {
                let info = connection.sender.as_ref().map(Socket::info).unwrap_or_default();
                book(connection, &mut self.flows[flow as usize], info, None);
            }
            if let Some(flow) = connection.receiving {
                let gap = connection.gap.max(end.saturating_since(connection.last));
                self.flows[flow as usize].received = Some(Received {
                    at: None,
                    delivered: Bytes(connection.received - connection.begin),
                    timeouts_felt: 0,
                    longest_gap: Some(gap),
                });
            }
        }
    }

    fn serve(&mut self, ready: Ready, clock: Clock) -> io::Result<()> {
        let (index, side) = ((ready.number / SIDES) as usize, ready.number % SIDES);
        match side {
            LISTENER => self.meet(index, clock),
            RECEIVER => self.receive(index, clock),
            _ => {
                if ready.write {
                    let was_up = std::mem::replace(&mut self.connections[index].is_up, true);
                    self.opening -= usize::from(!was_up);
                    self.write(index)?;
                }
                if ready.error {
                    self.acknowledged(index, clock)?;
                }
                Ok(())
            }
        }
    }

    /// Records the arrival of a flow, and starts it if it has a connection. Otherwise the flow waits for a connection.
    fn arrive(&mut self, due: Announced, clock: Clock) -> io::Result<()> {
        let flow = due.flow;
        let number = u32::try_from(self.flows.len()).expect("fewer than 2^32 flows");
        self.open += u64::from(flow.size.is_some());
        self.flows.push(FlowRecord::of(&flow));
        if let Some(trace) = self.choices.trace_of(number, flow.workload) {
            self.tracer.expect(number, trace);
        }
        if let Some(index) = self.connect(&due)? {
            self.start(index, number, clock)?;
        }
        Ok(())
    }

    /// Returns the connection of a flow; `None` if the flow must wait.
    fn connect(&mut self, due: &Announced) -> io::Result<Option<usize>> {
        let flow = due.flow;
        let policy = self.experiment.connections[usize::from(flow.workload)];
        let Policy::Persistent { per_pair, when_busy, .. } = policy else {
            return match self.ready.remove(&due.ticket) {
                Some(index) => Ok(Some(index)),
                None => self.open_new(&flow).map(Some),
            };
        };
        let pool =
            self.pools.entry((flow.workload, flow.source, flow.destination)).or_insert_with(|| Pool::new(1));
        if let Some(idle) = pool.take() {
            return Ok(Some(idle as usize));
        }
        if pool.size() >= per_pair as usize && when_busy == WhenBusy::Queue {
            pool.queue(self.flows.len() as u32 - 1);
            return Ok(None);
        }
        self.open_persistent(flow.workload, flow.source, flow.destination, flow.class)?;
        let pool = self.pools.get_mut(&(flow.workload, flow.source, flow.destination));
        // No other connection is idle, so the flow takes the one just opened.
        Ok(pool.and_then(Pool::take).map(|index| index as usize))
    }

    /// Opens connections for announced flows, if the scenario has no handshakes. In this case, flows start on connections that are already
    /// open.
    fn open_announced(&mut self) -> io::Result<()> {
        for Announced { ticket, flow } in self.traffic.announced() {
            let is_new = self.experiment.connections[usize::from(flow.workload)] == Policy::New;
            if is_new && !self.experiment.tcp().handshake && flow.leg.is_none() && flow.listed.is_none() {
                let index = self.open_new(&flow)?;
                self.ready.insert(ticket, index);
            }
        }
        Ok(())
    }

    fn open_new(&mut self, flow: &Flow) -> io::Result<usize> {
        self.open(flow.source, flow.destination, flow.port.unwrap_or(SERVICE_PORT), flow.class)
    }

    /// Opens a persistent connection between two hosts and adds it to the workload's pool as idle.
    fn open_persistent(
        &mut self,
        workload: u16,
        source: HostId,
        destination: HostId,
        class: u8,
    ) -> io::Result<()> {
        let index = self.open(source, destination, SERVICE_PORT, class)?;
        let pool = self.pools.entry((workload, source, destination)).or_insert_with(|| Pool::new(1));
        let slot = u32::try_from(index).expect("fewer than 2^32 connections");
        self.connections[index].place_in_pool = Some(pool.add(slot));
        Ok(())
    }

    fn open(
        &mut self,
        source: HostId,
        destination: HostId,
        destination_port: u16,
        class: u8,
    ) -> io::Result<usize> {
        self.listen(destination, destination_port)?;
        self.hosts.networks[source.0 as usize].enter()?;
        let to = (frame::address(destination), destination_port);
        let ports = &mut self.source_ports[source.0 as usize];
        // The class is set before connecting, so that packets of the handshake have it too.
        let new = || {
            let socket = Socket::new(&self.plan.congestion)?;
            socket.set_class(class)?;
            socket.set_not_sent(NOT_SENT)?;
            socket.note_acknowledgements().map(|()| socket)
        };
        let (socket, source_port) = ports.connect(frame::address(source), to, new)?;
        let index = self.connections.len();
        self.poll.add(socket.as_fd(), index as u64 * SIDES + SENDER)?;
        self.expected.insert((source, source_port, destination, destination_port), index);
        self.opening += 1;
        let address = Address { source, destination, source_port, destination_port, class };
        self.connections.push(Connection::new(address, socket));
        Ok(index)
    }

    fn listen(&mut self, host: HostId, port: u16) -> io::Result<()> {
        if self.listening.insert((host, port), ()).is_some() {
            return Ok(());
        }
        self.hosts.networks[host.0 as usize].enter()?;
        let socket = Socket::new(&self.plan.congestion)?;
        socket.bind((frame::address(host), port))?;
        socket.listen()?;
        self.poll.add(socket.as_fd(), self.listeners.len() as u64 * SIDES + LISTENER)?;
        self.listeners.push((host, socket));
        Ok(())
    }

    /// Accepts all waiting connections at the listener with this index.
    fn meet(&mut self, listener: usize, clock: Clock) -> io::Result<()> {
        loop {
            let (host, socket) = &self.listeners[listener];
            let (host, met) = (*host, socket.accept());
            let (socket, (from, port)) = match met {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                other => other?,
            };
            let [_, x, y, z] = from;
            let source = HostId(u32::from_be_bytes([0, x, y, z]) - 1);
            let known = self.expected.range((source, port, host, 0)..=(source, port, host, u16::MAX)).next();
            let Some((&key, &index)) = known else { continue };
            self.expected.remove(&key);
            let class =
                self.experiment.hosts.groups[0].ack_class.unwrap_or(self.connections[index].address.class);
            socket.set_class(class)?;
            self.poll.add(socket.as_fd(), index as u64 * SIDES + RECEIVER)?;
            self.connections[index].receiver = Some(socket);
            self.receive(index, clock)?;
        }
    }

    /// Starts a flow on an idle connection.
    fn start(&mut self, index: usize, number: u32, clock: Clock) -> io::Result<()> {
        let record = &mut self.flows[number as usize];
        let connection = &mut self.connections[index];
        let socket = connection.sender.as_ref().expect("it is open");
        if connection.address.class != record.class {
            connection.address.class = record.class;
            socket.set_class(record.class)?;
        }
        let now = clock.now();
        self.writing.record(clock.real_since(record.arrival, now));
        connection.before = socket.info();
        connection.begin = connection.written;
        connection.sent_before = connection.written;
        self.tracer.begin(number);
        self.traced.insert(number, index);
        connection.end = record.size.map_or(u64::MAX, |size| connection.written + size.0);
        (connection.sending, connection.receiving) = (Some(number), Some(number));
        (connection.last, connection.gap) = (now, Duration::ZERO);
        record.sent = Some(Sent::on(connection.address));
        self.write(index)
    }

    /// Writes as many bytes of a flow as the socket accepts.
    fn write(&mut self, index: usize) -> io::Result<()> {
        let connection = &mut self.connections[index];
        let Some(socket) = &connection.sender else { return Ok(()) };
        while connection.written < connection.end {
            match socket.write(connection.end - connection.written) {
                Ok(written) => {
                    // The connection is now certainly open. Retransmissions of its handshake do not count for the flow.
                    if connection.written == connection.begin {
                        connection.before.retransmits = socket.info().retransmits;
                    }
                    connection.written += written;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                // Not established yet.
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads data that has arrived, or closes a connection that the other side has closed.
    fn receive(&mut self, index: usize, clock: Clock) -> io::Result<()> {
        loop {
            let connection = &mut self.connections[index];
            let Some(socket) = &connection.receiver else { return Ok(()) };
            let left =
                if connection.receiving.is_some() { connection.end - connection.received } else { u64::MAX };
            let (read, stamp) = match socket.read(left) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                other => other?,
            };
            if read == 0 {
                (connection.receiver, connection.sender) = (None, None);
                return Ok(());
            }
            let at = stamp.map_or_else(|| clock.now(), |stamp| clock.of_stamp(stamp, clock::offset()));
            connection.received += read;
            connection.gap = connection.gap.max(at.saturating_since(connection.last));
            connection.last = at.max(connection.last);
            let Some(number) = connection.receiving.take_if(|_| connection.received >= connection.end) else {
                continue;
            };
            let felt = connection.sender.as_ref().map_or(0, |socket| socket.info().timeouts);
            let record = &mut self.flows[number as usize];
            record.received = Some(Received {
                at: Some(at.max(record.arrival)),
                delivered: record.size.expect("a flow without end is never complete"),
                timeouts_felt: felt - connection.before.timeouts,
                longest_gap: Some(connection.gap),
            });
            let FlowRecord { workload, leg, listed, .. } = *record;
            if let Some(leg) = leg {
                self.traffic.on_complete(workload, leg, at);
            }
            if let Some(listed) = listed {
                self.traffic.on_milestone(workload, listed, Milestone::Received, at);
            }
            self.go_on(index, number, clock)?;
        }
    }

    /// Handles the acknowledgement of the last written byte, or a broken connection.
    fn acknowledged(&mut self, index: usize, clock: Clock) -> io::Result<()> {
        // Acknowledged data has arrived, so the receiver's record comes first.
        self.receive(index, clock)?;
        let connection = &mut self.connections[index];
        let Some(socket) = &connection.sender else { return Ok(()) };
        let stamp = socket.acked_at();
        let is_all = connection.written >= connection.end && socket.unacknowledged() == 0;
        let Some(number) = connection.sending.take_if(|_| is_all) else { return Ok(()) };
        let at = stamp.map_or_else(|| clock.now(), |stamp| clock.of_stamp(stamp, clock::offset()));
        let record = &mut self.flows[number as usize];
        let (info, at) = (socket.info(), at.max(record.arrival));
        self.tracer.on_end(number);
        self.traced.remove(&number);
        book(connection, record, info, Some(at));
        let FlowRecord { workload, listed, .. } = *record;
        if connection.place_in_pool.is_none()
            && let Some(socket) = &connection.sender
        {
            socket.finish();
        }
        self.open -= 1;
        self.completed += 1;
        if let Some(listed) = listed {
            self.traffic.on_milestone(workload, listed, Milestone::Acked, at);
        }
        self.go_on(index, number, clock)
    }

    /// Handles the end of a flow at one side of a connection. If both sides have finished, a persistent connection takes a
    /// waiting flow or becomes idle.
    fn go_on(&mut self, index: usize, flow: u32, clock: Clock) -> io::Result<()> {
        let connection = &self.connections[index];
        let Some(place) = connection.place_in_pool.filter(|_| connection.is_idle()) else { return Ok(()) };
        let FlowRecord { workload, source, destination, .. } = self.flows[flow as usize];
        let pool = self.pools.get_mut(&(workload, source, destination));
        let waiting = pool.expect("persistent connections are in a pool").free(place);
        waiting.map_or(Ok(()), |waiting| self.start(index, waiting, clock))
    }
}

impl Connection {
    fn new(address: Address, sender: Socket) -> Self {
        Self {
            address,
            place_in_pool: None,
            sender: Some(sender),
            receiver: None,
            is_up: false,
            sending: None,
            receiving: None,
            written: 0,
            end: 0,
            sent_before: 0,
            received: 0,
            begin: 0,
            before: Info::default(),
            last: Instant::ZERO,
            gap: Duration::ZERO,
        }
    }

    /// Returns whether both sides have finished the previous flow.
    fn is_idle(&self) -> bool {
        self.sending.is_none() && self.receiving.is_none()
    }
}

/// Converts the state that the kernel reports for a sender to the units of flow traces. `alpha` is from the testbed's own congestion
/// controls, in 1,024ths.
fn readings(info: &Info, alpha: Option<u32>, srtt: Duration, acked: u64) -> Readings {
    let bytes = |segments: u32| f64::from(segments) * f64::from(info.mss);
    let phase = match info.state {
        3 => 1.0,
        4 => 2.0,
        _ => 0.0,
    };
    [
        Some(bytes(info.cwnd)),
        info.ssthresh.map(bytes),
        alpha.map(|alpha| f64::from(alpha) / 1_024.0),
        Some(srtt.as_micros_f64()).filter(|&srtt| srtt > 0.0),
        Some(bytes(info.in_flight)),
        Some(phase),
        Some(acked as f64),
        None, // the kernel's pacing rate is not read
    ]
}

/// Records the sender's results for its flow.
fn book(connection: &Connection, record: &mut FlowRecord, info: Info, acked_at: Option<Instant>) {
    let sent = record.sent.as_mut().expect("it has been handed over");
    sent.acked_at = acked_at;
    sent.timeouts = info.timeouts - connection.before.timeouts;
    sent.retransmits = info.retransmits - connection.before.retransmits;
}
