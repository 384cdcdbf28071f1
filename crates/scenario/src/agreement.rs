//! Parameters that two hosts negotiate for a connection: packet size, timestamps, selective acknowledgements and ECN.
//!
//! Real hosts negotiate these parameters with the SYN and the SYN-ACK. Simulated hosts send SYNs only with `tcp.handshake`, and these SYNs
//! negotiate only ECN. This module computes all other parameters, and also ECN if there is no handshake, once for each ordered pair of host
//! groups and each `tcp` table.

use shallows_core::Bytes;
use shallows_core::packet::PacketKind;
use shallows_rdma::{AETH, Operation, RETH};
use shallows_transport::congestion::EcnMode;
use shallows_transport::receive_window::Control;
use shallows_transport::{Config, Method, SmallQueue, header_bytes};

use crate::check::Checker;
use crate::groups::HostGroup;
use crate::offloads::Offloads;
use crate::own_tcp::{self, OwnTcps};
use crate::resolved::Resolved;
use crate::roce::QueuePairs;
use crate::spec::Tcp;
use crate::tcp;

/// Negotiated parameters of a connection: the configuration of each side, offloads and header sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Configuration of the side that opens the connection and sends data.
    pub sender: Config,
    /// Configuration of the side that receives data.
    pub receiver: Config,
    /// Class of service of acknowledgements; `None` if an acknowledgement has the class of the data that it acknowledges.
    pub ack_class: Option<u8>,
    /// Maximum amount of the connection's data that waits in the sending host; `None` for no limit.
    pub backpressure: Option<SmallQueue>,
    /// Offloads of the sender's NIC.
    pub offloads: Offloads,
    /// Bytes that every packet has in addition to its data: framing, and the IP and TCP headers without SACK blocks.
    pub header_bytes: Bytes,
    /// Queue pairs that workloads with `transport = "roce"` use instead of TCP; `None` for TCP.
    pub queue_pairs: Option<QueuePairs>,
}

impl Agreement {
    /// Returns how the data of a flow is divided into packets.
    pub fn segments(&self) -> Segments {
        match &self.queue_pairs {
            None => {
                let (once, at_end) = (Bytes(0), Bytes(0));
                Segments { data: self.sender.mss, overhead: self.header_bytes, once, at_end }
            }
            Some(pairs) => {
                let (once, at_end) = match pairs.config.operation {
                    Operation::Write => (RETH, Bytes(0)),
                    Operation::Send(_) => (Bytes(0), Bytes(0)),
                    Operation::Read(_) => (AETH, AETH),
                };
                Segments { data: pairs.config.mtu, overhead: pairs.header_bytes, once, at_end }
            }
        }
    }

    /// Returns the size on the wire of a READ request, or `None` for other operations and for TCP. The request precedes the data of a flow
    /// and travels in the opposite direction.
    pub fn read_request(&self) -> Option<Bytes> {
        let pairs = self.queue_pairs.as_ref()?;
        matches!(pairs.config.operation, Operation::Read(_)).then(|| pairs.header_bytes + RETH)
    }

    /// Returns the packet kind of data and the packet kind of acknowledgements.
    pub fn packet_kinds(&self) -> [PacketKind; 2] {
        match self.queue_pairs {
            None => [PacketKind::Data, PacketKind::PureAck],
            Some(_) => [PacketKind::Datagram; 2],
        }
    }

    /// Returns the parameters for data in the opposite direction on the same connection, which is already open. No second handshake
    /// precedes this data.
    #[must_use]
    pub fn answering(&self) -> Self {
        let mut answering = self.clone();
        if self.receiver.congestion.ecn_mode() == EcnMode::Off {
            answering.sender.congestion = answering.sender.congestion.without_ecn();
        }
        (answering.sender.handshake, answering.receiver.handshake) = (false, false);
        answering
    }
}

/// Division of a flow into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Bytes of data in a full packet.
    pub data: Bytes,
    /// Bytes of headers and framing of each packet.
    pub overhead: Bytes,
    /// Additional header bytes in the first packet of a flow.
    pub once: Bytes,
    /// Additional header bytes in the last packet of a flow that has several packets.
    pub at_end: Bytes,
}

/// Settings of one end of a connection: its `tcp` table and its host group.
#[derive(Clone, Copy, Debug)]
struct Side<'a> {
    tcp: &'a Tcp,
    group: &'a HostGroup,
}

/// Returns connection parameters: an [`Agreement`] for each ordered pair of host groups, by the sender's group, then the receiver's.
/// Problems are recorded in `checker`.
///
/// The list starts with one [`Agreement`] per pair for the hosts' own settings. For each distinct `tcp` table of a workload, one more per
/// pair follows.
pub(crate) fn agreements(
    spec: &Resolved,
    groups: &[HostGroup],
    own: &OwnTcps,
    checker: &mut Checker<'_>,
) -> Vec<Agreement> {
    let framing = spec.topology.common().framing;
    let sides: Vec<Side<'_>> = groups
        .iter()
        .enumerate()
        .map(|(number, group)| {
            let own = number.checked_sub(1).and_then(|index| spec.host.group[index].tcp.as_ref());
            Side { tcp: own.unwrap_or(&spec.tcp), group }
        })
        .collect();
    let mut agreements = between(&sides, framing);
    for (number, agreement) in agreements.iter().enumerate().filter(|_| sides.len() > 1) {
        let (from, to) = (number / sides.len(), number % sides.len());
        within(from, checker, |checker| tcp::check(sides[from].tcp, &agreement.sender, checker));
        within(to, checker, |checker| tcp::check(sides[to].tcp, &agreement.receiver, checker));
        let measures = matches!(agreement.receiver.receive_control, Control::Ictcp(_));
        let silent = if sides[from].tcp.timestamps { to } else { from };
        within(silent, checker, |checker| {
            checker.require(agreement.sender.timestamps || !measures, "tcp.timestamps", || {
                "must be true or left out, because hosts with receiver = \"ictcp\" measure round-trip times with \
                 timestamps".to_owned()
            });
        });
    }
    if !own.are_few(groups.len(), checker) {
        return agreements;
    }
    for own in &own.all {
        let key = format!("workload[{}].tcp", own.workload);
        let of_workload: Vec<Side<'_>> =
            own.of_groups.iter().zip(groups).map(|(tcp, group)| Side { tcp, group }).collect();
        checker.instead("tcp", &key, |checker| {
            let mut alike = true;
            for (own, of_host) in of_workload.iter().zip(&sides) {
                alike &= own_tcp::check(own.tcp, of_host.tcp, own.group, checker);
            }
            if !alike {
                return;
            }
            let found = between(&of_workload, framing);
            for (number, agreement) in found.iter().enumerate() {
                tcp::check(of_workload[number / sides.len()].tcp, &agreement.sender, checker);
            }
            agreements.extend(found);
        });
    }
    agreements
}

/// Appends an [`Agreement`] to `agreements` for each element of `all`. For each kind of queue pairs, `all` has one element per ordered pair
/// of host groups. `groups` is the number of host groups.
pub(crate) fn add_queue_pairs(agreements: &mut Vec<Agreement>, groups: usize, all: Vec<QueuePairs>) {
    let of_tcp = agreements[..groups * groups].to_vec();
    let agree = |(tcp, pairs): (&Agreement, _)| Agreement { queue_pairs: Some(pairs), ..tcp.clone() };
    agreements.extend(of_tcp.iter().cycle().zip(all).map(agree));
}

/// Returns the [`Agreement`] of each ordered pair of `sides`, indexed by sender, then receiver.
fn between(sides: &[Side<'_>], framing: Bytes) -> Vec<Agreement> {
    let pairs = sides.iter().flat_map(|&from| sides.iter().map(move |&to| (from, to)));
    pairs.map(|(from, to)| agree(from, to, framing)).collect()
}

/// Runs `check` on the connections between hosts of group number `group`. Problems are reported at keys of the group's own `tcp` table.
fn within(group: usize, checker: &mut Checker<'_>, check: impl FnOnce(&mut Checker<'_>)) {
    match group.checked_sub(1) {
        None => check(checker),
        Some(index) => checker.instead("tcp", &format!("host.group[{index}].tcp"), check),
    }
}

/// Returns the [`Agreement`] of a sender and a receiver, in a network whose links add `framing` bytes to each IP packet.
fn agree(from: Side<'_>, to: Side<'_>, framing: Bytes) -> Agreement {
    let timestamps = from.tcp.timestamps && to.tcp.timestamps;
    let headers = header_bytes(timestamps);
    // RFC 9293 §3.7.1: neither side sends larger segments than the other's MSS option allows.
    let mtu = from.group.mtu.min(to.group.mtu);
    let mss = mtu - headers;
    let (mut sender, mut receiver) = (tcp::convert(from.tcp, mss), tcp::convert(to.tcp, mss));
    (sender.timestamps, receiver.timestamps) = (timestamps, timestamps);
    // The receiver's window applies from the start; the side that opens the connection decides whether there is a handshake.
    sender.receive_window = receiver.receive_window;
    receiver.handshake = sender.handshake;
    if !(sender.recovery.uses_sack() && receiver.recovery.uses_sack()) {
        // RFC 2018 §2: selective acknowledgements require permission from both sides. Without them, recovery follows RFC 6582.
        for side in [&mut sender, &mut receiver].into_iter().filter(|side| side.recovery.uses_sack()) {
            side.recovery = Method::NewReno;
            (side.frto, side.dsack) = (false, false); // RFC 5682 §3: only the SACK-based rules are implemented
        }
    }
    // RFC 3168 §6.1.1: ECN requires that both sides request it. With a handshake, the hosts negotiate ECN during the run, so the sender
    // keeps ECN until the handshake.
    let speaks = |side: &Config| side.congestion.ecn_mode() != EcnMode::Off;
    let (asks, answers) = (speaks(&sender), speaks(&receiver));
    if !asks {
        receiver.congestion = receiver.congestion.without_ecn();
    }
    if !answers && !sender.handshake {
        sender.congestion = sender.congestion.without_ecn();
    }
    let small_queue = |limit_output| SmallQueue {
        limit_output,
        packet: mtu + framing,
        beside: from
            .group
            .buffer_overhead
            .map_or(0, |overhead| overhead.0.saturating_sub((headers + framing).0)),
    };
    Agreement {
        ack_class: to.group.ack_class,
        backpressure: from.group.backpressure.map(small_queue),
        offloads: from.group.offloads,
        header_bytes: headers + framing,
        sender,
        receiver,
        queue_pairs: None,
    }
}
