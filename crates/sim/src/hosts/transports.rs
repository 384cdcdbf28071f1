//! Configurations of the sides of connections.

use std::sync::Arc;

use shallows_core::Bytes;
use shallows_core::packet::{Header, HostId};
use shallows_measure::Senders;
use shallows_rdma::Operation;
use shallows_scenario::{Agreement, Experiment, Groups};
use shallows_transport::Config;

use crate::hosts::nic::handover::Handover;

/// Configuration of one side of a connection. Sides with equal configurations share one `Transport`.
#[derive(Debug, PartialEq)]
pub(crate) struct Transport {
    pub(crate) config: Config,
    /// Class of service of acknowledgements; `None` if acknowledgements have the class of the data that they acknowledge.
    pub(crate) ack_class: Option<u8>,
    /// Bytes that every packet has in addition to its data: framing and headers. Excludes SACK blocks, and extended headers of queue pairs.
    pub(crate) header_bytes: u16,
    /// Rules by which the NIC pulls packets.
    pub(crate) handover: Handover,
    /// Configuration of the queue pairs that replace TCP.
    pub(crate) queue_pairs: Option<Arc<shallows_rdma::Config>>,
    /// Class of service of congestion notification packets; `None` if these packets have the class of the data.
    pub(crate) cnp_class: Option<u8>,
}

impl Transport {
    fn new(config: &Config, agreement: &Agreement) -> Self {
        let small = |bytes: Bytes| u16::try_from(bytes.0).expect("headers are small");
        let Agreement { ack_class, backpressure, offloads, .. } = *agreement;
        let tcp = Self {
            config: config.clone(),
            ack_class,
            header_bytes: small(agreement.header_bytes),
            handover: Handover::new(offloads, backpressure, config.congestion.sets_rate()),
            queue_pairs: None,
            cnp_class: None,
        };
        let Some(pairs) = &agreement.queue_pairs else { return tcp };
        Self {
            ack_class: pairs.ack_class,
            header_bytes: small(pairs.header_bytes),
            queue_pairs: Some(Arc::clone(&pairs.config)),
            cnp_class: pairs.cnp_class,
            ..tcp
        }
    }

    /// Returns the configuration of the queue pairs. The connection must use queue pairs instead of TCP.
    pub(super) fn queue_pair(&self) -> &shallows_rdma::Config {
        self.queue_pairs.as_ref().expect("packets of queue pairs have a transport with queue pairs")
    }

    /// Returns whether the queue pairs carry READs.
    pub(super) fn reads(&self) -> bool {
        self.queue_pairs.as_ref().is_some_and(|config| matches!(config.operation, Operation::Read(_)))
    }

    /// Returns whether the NIC limits how many bytes of an endpoint wait in the NIC's queue.
    #[inline]
    pub(super) fn has_backpressure(&self) -> bool {
        self.handover.has_backpressure() || self.queue_pairs.is_some()
    }
}

/// Transports of an experiment. Sides of connections refer to them by number.
#[derive(Debug)]
pub(crate) struct Transports {
    groups: Groups,
    all: Vec<Transport>,
    /// Kind of the connections of each workload that sends flows. Kind 0 is TCP with the hosts' own settings. Each distinct `tcp` table of
    /// a workload is another kind, and so is each distinct configuration of queue pairs.
    kinds: Vec<u16>,
    /// Transport numbers of sender and receiver, for each combination of connection kind, group of the sending host and group of the
    /// receiving host.
    of_sides: Vec<[u16; 2]>,
    /// Transport numbers of sender and receiver for answers that use the connections of their requests, indexed like `of_sides`. Empty if
    /// no workload has such answers.
    of_answers: Vec<[u16; 2]>,
}

impl Transports {
    /// Collects the transports of connections between the hosts of `experiment`.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        let mut all: Vec<Transport> = Vec::new();
        let mut number = |config: &Config, agreement: &Agreement| {
            let transport = Transport::new(config, agreement);
            let known = all.iter().position(|known| *known == transport);
            known.unwrap_or_else(|| {
                all.push(transport);
                all.len() - 1
            }) as u16
        };
        let mut sides = |agreement: &Agreement| {
            [number(&agreement.sender, agreement), number(&agreement.receiver, agreement)]
        };
        let agreements = experiment.hosts.agreements().iter();
        let of_sides = agreements.clone().map(&mut sides).collect();
        let answers = agreements.filter(|_| experiment.shares().contains(&true));
        let of_answers = answers.map(|agreement| sides(&agreement.answering())).collect();
        let kinds = experiment.hosts.kinds().to_vec();
        Self { groups: experiment.network.groups.clone(), all, kinds, of_sides, of_answers }
    }

    /// Returns the transport numbers of sender and receiver for a connection of this workload.
    pub(super) fn between(&self, workload: u16, source: HostId, destination: HostId) -> [u16; 2] {
        self.of_sides[self.place(workload, source, destination)]
    }

    /// Returns the senders of data on a queue pair of this workload that the host `source` opens to `destination`.
    pub(super) fn senders(&self, workload: u16, source: HostId, destination: HostId) -> Senders {
        let [opener, _] = self.between(workload, source, destination);
        let from = if self.at(opener).reads() { destination } else { source };
        Senders { workload, group: self.groups.of(from) as u16 }
    }

    /// Returns the transport numbers of sender and receiver for an answer on the connection of its request.
    pub(super) fn answering(&self, workload: u16, source: HostId, destination: HostId) -> [u16; 2] {
        self.of_answers[self.place(workload, source, destination)]
    }

    /// Returns the transport number of the receiver of data with this header. `is_answer` is true if the data is an answer on the connection of
    /// its request.
    pub(super) fn receiving(&self, workload: u16, header: &Header, is_answer: bool) -> u16 {
        let (source, destination) = (header.source(), header.destination());
        let [_, receiver] = if is_answer {
            self.answering(workload, source, destination)
        } else {
            self.between(workload, source, destination)
        };
        receiver
    }

    fn place(&self, workload: u16, source: HostId, destination: HostId) -> usize {
        let (kind, groups) = (usize::from(self.kinds[usize::from(workload)]), self.groups.names().len());
        (kind * groups + self.groups.of(source)) * groups + self.groups.of(destination)
    }

    #[inline]
    pub(super) fn at(&self, number: u16) -> &Transport {
        &self.all[usize::from(number)]
    }
}
