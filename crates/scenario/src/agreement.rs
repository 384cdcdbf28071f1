//! Agreement of two hosts when one connects to the other: the largest packet, timestamps, selective acknowledgements and ECN.
//!
//! A SYN and its answer would say all of it. They are sent where `tcp.handshake` asks for them, and then settle ECN by themselves; what
//! they would have said of the rest, or of ECN without them, is computed here, once for all hosts of two groups.

use shallows_core::Bytes;
use shallows_transport::congestion::EcnMode;
use shallows_transport::receive_window::Control;
use shallows_transport::{Config, Method, SmallQueue, header_bytes};

use crate::check::Checker;
use crate::groups::HostGroup;
use crate::offloads::Offloads;
use crate::own_tcp::{self, OwnTcps};
use crate::resolved::Resolved;
use crate::spec::Tcp;
use crate::tcp;

/// How the two sides of a connection behave.
#[derive(Clone, Debug, PartialEq)]
pub struct Agreement {
    /// Configuration of the side that opens the connection and sends data.
    pub sender: Config,
    /// Configuration of the receiving side.
    pub receiver: Config,
    /// The class of service of acknowledgements, if it is not that of their data.
    pub ack_class: Option<u8>,
    /// Limit on the connection's data that waits in its host, if there is one.
    pub backpressure: Option<SmallQueue>,
    /// Offloads of the sender's NIC.
    pub offloads: Offloads,
    /// Bytes of IP and TCP headers without SACK blocks, and of framing, on every packet.
    pub header_bytes: Bytes,
}

impl Agreement {
    /// How the same two behave the other way on a connection that is open: its opening has settled all of it.
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

/// Settings that a host brings to a connection.
#[derive(Clone, Copy, Debug)]
struct Side<'a> {
    tcp: &'a Tcp,
    group: &'a HostGroup,
}

/// How hosts of each group talk to those of each, the sender's group counting first; what is wrong with some pair is noted.
///
/// First those of connections as hosts have them, then those of each workload that has a `tcp` of its own.
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
                "hosts with receiver = \"ictcp\" measure round trips with timestamps: leave it out, or set it to true".to_owned()
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

/// Agreements between all pairs of groups.
fn between(sides: &[Side<'_>], framing: Bytes) -> Vec<Agreement> {
    let pairs = sides.iter().flat_map(|&from| sides.iter().map(move |&to| (from, to)));
    pairs.map(|(from, to)| agree(from, to, framing)).collect()
}

/// Check what the scenario says of the connections of a group, under the names that `[tcp]` has for it.
fn within(group: usize, checker: &mut Checker<'_>, check: impl FnOnce(&mut Checker<'_>)) {
    match group.checked_sub(1) {
        None => check(checker),
        Some(index) => checker.instead("tcp", &format!("host.group[{index}].tcp"), check),
    }
}

/// Agreement of a sender and a receiver, in a network whose links carry this framing with each IP packet.
fn agree(from: Side<'_>, to: Side<'_>, framing: Bytes) -> Agreement {
    let timestamps = from.tcp.timestamps && to.tcp.timestamps;
    let headers = header_bytes(timestamps);
    // RFC 9293 §3.7.1: neither sends larger segments than the other says that it takes.
    let mtu = from.group.mtu.min(to.group.mtu);
    let mss = mtu - headers;
    let (mut sender, mut receiver) = (tcp::convert(from.tcp, mss), tcp::convert(to.tcp, mss));
    (sender.timestamps, receiver.timestamps) = (timestamps, timestamps);
    // The receiver's window is what a sender knows of it at first; who opens decides how.
    sender.receive_window = receiver.receive_window;
    receiver.handshake = sender.handshake;
    if !(sender.recovery.uses_sack() && receiver.recovery.uses_sack()) {
        // RFC 2018 §2: selective acknowledgements only where both permit them. RFC 6582 is for those without.
        for side in [&mut sender, &mut receiver].into_iter().filter(|side| side.recovery.uses_sack()) {
            side.recovery = Method::NewReno;
            (side.frto, side.dsack) = (false, false); // RFC 5682 §3: its rules here are those with SACK
        }
    }
    // RFC 3168 §6.1.1: ECN only where both ask for it. A sender that shakes hands hears of it; and does ask.
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
    }
}
