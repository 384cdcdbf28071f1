//! Captures of chosen ports: every packet that they send, as a file that Wireshark reads.
//!
//! A packet is captured when its first bit leaves the port, with what that port wrote on it. [`frame`] says what it looks
//! like on the wire, [`pcapng`] what the file looks like. Files are written as the run goes; what goes wrong with one is
//! kept until someone asks.

mod frame;
mod pcapng;

use std::io;

use shallows_core::Instant;
use shallows_core::packet::Header;
use shallows_scenario::Experiment;

use crate::link::Link;
use crate::packet::Packet;
use frame::{Frame, Wire};
pub use pcapng::Sink;
use pcapng::{File, Interface};

/// The captures of a run.
pub(crate) struct Captures {
    /// What all packets of the run have in common.
    wire: Wire,
    files: Vec<File>,
    /// By link: the captures that want its packets, and which of their interfaces it is.
    places: Vec<Vec<Place>>,
    frame: Frame,
    /// The first thing that went wrong, until it is asked for.
    failure: Option<io::Error>,
}

#[derive(Clone, Copy)]
struct Place {
    file: usize,
    interface: u32,
}

impl Captures {
    /// The captures that `experiment` asks for, each into what `open` gives for its name; their ports are told so among
    /// `links`.
    pub(crate) fn new(
        experiment: &Experiment,
        links: &mut [Link],
        mut open: impl FnMut(&str) -> io::Result<Sink>,
    ) -> io::Result<Self> {
        let mut places = vec![Vec::new(); links.len()];
        let mut files = Vec::new();
        let wire = Wire::new(experiment);
        for (number, capture) in experiment.captures.iter().enumerate() {
            let interface = |&link: &u32| {
                let link = &experiment.network.links[link as usize];
                Interface { name: &link.name, kind: link.kind.name(), rate: link.rate }
            };
            let comment = format!(
                "scenario {:?}, seed {}; window scale {} on every connection",
                experiment.name,
                experiment.seed,
                wire.window_scale()
            );
            let interfaces = capture.links.iter().map(interface);
            files.push(File::create(open(&capture.name)?, comment, capture.snap, interfaces)?);
            for (interface, &link) in capture.links.iter().enumerate() {
                links[link as usize].watch.captured = true;
                places[link as usize].push(Place { file: number, interface: interface as u32 });
            }
        }
        let kept = experiment.captures.iter().map(|capture| capture.snap).max().unwrap_or_default();
        Ok(Self { wire, files, places, frame: Frame::new(kept), failure: None })
    }

    /// A packet starts to leave the port of link `index`.
    pub(crate) fn record(&mut self, at: Instant, index: u32, header: &Header, packet: Option<&Packet>) {
        self.wire.write(header, packet.map(|packet| &packet.segment), &mut self.frame);
        for place in &self.places[index as usize] {
            if self.failure.is_none() {
                self.failure = self.files[place.file].write(at, place.interface, &self.frame).err();
            }
        }
    }

    /// Hand over what is held back. Once something has gone wrong nothing more is written.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if let Some(failure) = &self.failure {
            return Err(io::Error::new(failure.kind(), failure.to_string()));
        }
        self.files.iter_mut().try_for_each(File::flush)
    }

    /// How many packets each holds.
    pub(crate) fn packets(&self) -> Vec<u64> {
        self.files.iter().map(File::packets).collect()
    }
}

impl std::fmt::Debug for Captures {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Captures").field("files", &self.files.len()).finish_non_exhaustive()
    }
}
