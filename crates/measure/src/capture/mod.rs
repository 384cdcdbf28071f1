//! Captures of chosen ports: every packet that they send, as a file that Wireshark reads.
//!
//! A packet is captured when its first bit leaves the port, with what that port wrote on it. [`frame`] says what a simulated
//! one looks like on the wire, [`pcapng`] what the file looks like. Files are written as the run goes; what goes wrong with one
//! is kept until someone asks. Partitions of a network that run beside each other leave what they see in a [`Tap`] each, of which the
//! files are written in between.

mod frame;
mod numbers;
mod pcapng;
mod tap;

use std::io;

use shallows_core::Instant;
use shallows_core::packet::{Body, Header};
use shallows_scenario::{Experiment, Groups};

use frame::{Frame, Stack};
use numbers::{FIRST, Said};
pub use pcapng::Sink;
use pcapng::{File, Interface};
use tap::CapturedPacket;
pub use tap::Tap;

/// The captures of a run.
pub struct Captures {
    groups: Groups,
    /// One for each pair of groups of hosts, by the sender's and then the receiver's.
    stacks: Vec<Stack>,
    files: Vec<File>,
    /// By link: the captures that want its packets, and which of their interfaces it is.
    places: Vec<Vec<Place>>,
    frame: Frame,
    /// Where connections carry data both ways, what their numbers are.
    said: Option<Said>,
    /// Packets being written; kept to avoid an allocation.
    captured: Vec<CapturedPacket>,
    /// The first thing that went wrong, until it is asked for.
    failure: Option<io::Error>,
}

#[derive(Clone, Copy)]
struct Place {
    file: usize,
    interface: u32,
}

impl Captures {
    /// The captures that `experiment` asks for, each into what `open` gives for its name; a comment in each file says `how` its
    /// packets were made, beside scenario and seed.
    ///
    /// # Errors
    ///
    /// If one cannot be opened or written to.
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
        Ok(Self { groups, stacks, files, places, frame, said, captured: Vec::new(), failure: None })
    }

    /// Creates the captures of a simulation, into the files that `open` returns.
    pub fn simulated(
        experiment: &Experiment,
        open: impl FnMut(&str) -> io::Result<Sink>,
    ) -> io::Result<Self> {
        let scales = scales(&experiment.network.groups, &stacks(experiment));
        Self::new(experiment, &format!("window scale {scales}"), open)
    }

    /// Whether anything is captured.
    pub fn any(&self) -> bool {
        !self.files.is_empty()
    }

    /// Write what was caught before this time and not written yet: in the order of time, and at the same time in that of links,
    /// whose ports send one packet at a time. So files do not tell how many `taps` there were.
    pub fn write_before<'a>(&mut self, until: Instant, taps: impl Iterator<Item = &'a mut Tap>) {
        let mut captured = std::mem::take(&mut self.captured);
        taps.for_each(|tap| captured.extend(tap.take_before(until)));
        captured.sort_by_key(|captured| (captured.at, captured.link));
        for CapturedPacket { at, link, header, body } in captured.drain(..) {
            self.record(at, link, &header, body.as_ref());
        }
        self.captured = captured;
    }

    /// Whether what this link's port sends is captured.
    pub fn want(&self, link: u32) -> bool {
        !self.places[link as usize].is_empty()
    }

    /// A packet that was made, and is no real one, starts to leave the port of a link; a datagram has no body.
    pub fn record(&mut self, at: Instant, link: u32, header: &Header, body: Option<&Body>) {
        let [from, to] = [header.source, header.destination].map(|host| self.groups.of(host));
        let mut frame = std::mem::take(&mut self.frame);
        let said = self.said.as_mut().zip(body);
        let numbers = said.map_or(FIRST, |(said, body)| said.take(link, header, body));
        self.stacks[from * self.groups.names().len() + to].write(header, body, numbers, &mut frame);
        self.write(at, link, frame.kept(), frame.len());
        self.frame = frame;
    }

    /// A real frame, from the Ethernet header on, starts to leave the port of a link.
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

    /// Hand over what is held back. Once something has gone wrong nothing more is written.
    ///
    /// # Errors
    ///
    /// The first thing that has gone wrong.
    pub fn flush(&mut self) -> io::Result<()> {
        if let Some(failure) = &self.failure {
            return Err(io::Error::new(failure.kind(), failure.to_string()));
        }
        self.files.iter_mut().try_for_each(File::flush)
    }

    /// How many packets each holds.
    pub fn packets(&self) -> Vec<u64> {
        self.files.iter().map(File::packets).collect()
    }
}

/// Returns one for each pair of groups of hosts, by the sender's and then the receiver's.
fn stacks(experiment: &Experiment) -> Vec<Stack> {
    let count = experiment.hosts.groups.len();
    (0..count * count).map(|pair| Stack::new(experiment, pair / count, pair % count)).collect()
}

/// The window scale of hosts, by group where they differ.
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
