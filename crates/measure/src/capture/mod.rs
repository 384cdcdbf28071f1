//! Captures of chosen ports: every packet that they send, as a pcapng file for Wireshark.
//!
//! A packet is captured when its first bit leaves the port. The captured packet includes the marks that this port has set. [`frame`]
//! defines the bytes of a simulated packet, and [`pcapng`] the file format. Files are written during the run. The first I/O error is kept
//! and returned by [`Captures::flush`]. When partitions of a network run in parallel, each partition records its packets in its own
//! [`Tap`], and the files are written between two windows of the simulation.

mod frame;
mod numbers;
mod pcapng;
mod tap;

use std::io;

use shallows_core::Instant;
use shallows_core::packet::{Body, Header, HostId};
use shallows_scenario::{Experiment, Groups};

use frame::{Frame, Stack};
use numbers::{FIRST, Said};
pub use pcapng::Sink;
use pcapng::{File, Interface};
use tap::CapturedPacket;
pub use tap::Tap;

/// Captures of a run.
pub struct Captures {
    groups: Groups,
    /// For each pair of host groups, the header fields that all packets from the first group to the second have in common; ordered by the
    /// sender's group, then by the receiver's group.
    stacks: Vec<Stack>,
    files: Vec<File>,
    /// For each link, the number of the node that sends on the link.
    nodes: Vec<u32>,
    /// For each link, the captures that include the link's packets, and the link's interface number in each capture.
    places: Vec<Vec<Place>>,
    frame: Frame,
    /// Last sequence and acknowledgement numbers of each connection; `None` if no connection carries data both ways.
    said: Option<Said>,
    /// Buffer of the packets being written, kept between calls to avoid allocations.
    captured: Vec<CapturedPacket>,
    /// First I/O error. [`Captures::flush`] returns it.
    failure: Option<io::Error>,
}

#[derive(Clone, Copy)]
struct Place {
    file: usize,
    interface: u32,
}

impl Captures {
    /// Creates the captures that `experiment` requests. `open` returns the sink for a capture's name. Each file begins with a comment: the
    /// scenario's name, the seed, and `how`, a description of how the packets were produced.
    ///
    /// # Errors
    ///
    /// If a sink cannot be opened or written to.
    pub fn new(
        experiment: &Experiment,
        how: &str,
        mut open: impl FnMut(&str) -> io::Result<Sink>,
    ) -> io::Result<Self> {
        let mut places = vec![Vec::new(); experiment.network.links.len()];
        let mut files = Vec::new();
        for (number, capture) in experiment.captures.iter().enumerate() {
            let interface = |&link: &u32| {
                let link = &experiment.network.links[link as usize];
                Interface { name: &link.name, kind: link.kind.name(), rate: link.rate }
            };
            let comment = format!("scenario {:?}, seed {}; {how}", experiment.name, experiment.seed);
            let interfaces = capture.links.iter().map(interface);
            files.push(File::create(open(&capture.name)?, comment, capture.snap, interfaces)?);
            for (interface, &link) in capture.links.iter().enumerate() {
                places[link as usize].push(Place { file: number, interface: interface as u32 });
            }
        }
        let kept = experiment.captures.iter().map(|capture| capture.snap).max().unwrap_or_default();
        let (groups, stacks) = (experiment.network.groups.clone(), stacks(experiment));
        let frame = Frame::new(kept);
        let said = experiment.shares().contains(&true).then(Said::default);
        let nodes = experiment.network.links.iter().map(|link| link.from.0).collect();
        Ok(Self { groups, stacks, files, nodes, places, frame, said, captured: Vec::new(), failure: None })
    }

    /// Creates the captures of a simulation. Writes them to the sinks that `open` returns.
    pub fn simulated(
        experiment: &Experiment,
        open: impl FnMut(&str) -> io::Result<Sink>,
    ) -> io::Result<Self> {
        let scales = scales(&experiment.network.groups, &stacks(experiment));
        Self::new(experiment, &format!("window scale {scales}"), open)
    }

    /// Returns whether there is any capture.
    pub fn any(&self) -> bool {
        !self.files.is_empty()
    }

    /// Writes the packets that all `taps` recorded before `until`, ordered by time and then by link number. A port never sends two packets
    /// at the same time, so this order is unique, and files are the same for any number of `taps`.
    pub fn write_before<'a>(&mut self, until: Instant, taps: impl Iterator<Item = &'a mut Tap>) {
        let mut captured = std::mem::take(&mut self.captured);
        taps.for_each(|tap| captured.extend(tap.take_before(until)));
        captured.sort_by_key(|captured| (captured.at, captured.link));
        for CapturedPacket { at, link, header, body } in captured.drain(..) {
            self.record(at, link, &header, body.as_ref());
        }
        self.captured = captured;
    }

    /// Returns whether the packets that this link's port sends are captured.
    pub fn want(&self, link: u32) -> bool {
        !self.places[link as usize].is_empty()
    }

    /// Records a simulated packet or PFC frame that starts to leave the port of a link. Datagrams and PFC frames have no body.
    pub fn record(&mut self, at: Instant, link: u32, header: &Header, body: Option<&Body>) {
        let mut frame = std::mem::take(&mut self.frame);
        if header.destination() == HostId::NEXT_NODE {
            frame.write_pfc(header, self.nodes[link as usize]);
        } else {
            let [from, to] = [header.source(), header.destination()].map(|host| self.groups.of(host));
            let said = self.said.as_mut().zip(body);
            let numbers = said.map_or(FIRST, |(said, body)| said.take(link, header, body));
            self.stacks[from * self.groups.names().len() + to].write(header, body, numbers, &mut frame);
        }
        self.write(at, link, frame.kept(), frame.len());
        self.frame = frame;
    }

    /// Records a frame of the testbed that starts to leave the port of a link. `bytes` begin with the Ethernet header.
    pub fn copy(&mut self, at: Instant, link: u32, bytes: &[u8]) {
        self.write(at, link, bytes, bytes.len());
    }

    fn write(&mut self, at: Instant, link: u32, bytes: &[u8], len: usize) {
        for place in &self.places[link as usize] {
            if self.failure.is_none() {
                self.failure = self.files[place.file].write(at, place.interface, bytes, len).err();
            }
        }
    }

    /// Writes buffered packets to the sinks. Nothing is written after the first I/O error.
    ///
    /// # Errors
    ///
    /// Returns the first I/O error of any sink.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(failure) = &self.failure {
            return Err(io::Error::new(failure.kind(), failure.to_string()));
        }
        self.files.iter_mut().try_for_each(File::flush)
    }

    /// Returns the number of packets in each capture.
    pub fn packets(&self) -> Vec<u64> {
        self.files.iter().map(File::packets).collect()
    }
}

/// Returns one [`Stack`] for each pair of host groups, ordered by the sender's group, then by the receiver's.
fn stacks(experiment: &Experiment) -> Vec<Stack> {
    let count = experiment.hosts.groups.len();
    (0..count * count).map(|pair| Stack::new(experiment, pair / count, pair % count)).collect()
}

/// Describes the window scale of all hosts, or of each host group if the groups differ.
fn scales(groups: &Groups, stacks: &[Stack]) -> String {
    let scales: Vec<u8> = stacks.iter().step_by(groups.names().len()).map(Stack::window_scale).collect();
    if scales.iter().all(|&scale| scale == scales[0]) {
        return format!("{} on every connection", scales[0]);
    }
    let each = groups.names().iter().zip(scales).map(|(name, scale)| format!("{scale} of hosts in {name}"));
    each.collect::<Vec<_>>().join(", ")
}

impl std::fmt::Debug for Captures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Captures").field("files", &self.files.len()).finish_non_exhaustive()
    }
}
