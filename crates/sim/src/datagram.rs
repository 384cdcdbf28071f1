//! UDP sources: datagrams at a constant rate, at random times, or in bursts. They do not react to anything.

use shallows_core::packet::{Ecn, Header, PacketKind};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_scenario::{DatagramPattern, DatagramSource};

/// All sources of datagrams, and what arrived.
#[derive(Debug)]
pub(crate) struct Datagrams {
    sources: Vec<Source>,
    /// Wire bytes that reached their hosts.
    pub(crate) received_bytes: Bytes,
}

#[derive(Debug)]
struct Source {
    config: DatagramSource,
    header: Header,
    stream: Stream,
}

impl Datagrams {
    /// Sources whose datagrams are `overhead` bytes longer on the wire than their payload.
    pub(crate) fn new(sources: &[DatagramSource], overhead: u16, seed: u64) -> Self {
        let source = |(index, config): (usize, &DatagramSource)| Source {
            // One source, one five-tuple; RFC 6335's dynamic ports hold more sources than a run has.
            header: Header::new(config.source, config.destination)
                .with_ports(49_152 + (index % 16_384) as u16, 5_002)
                .with_size(u16::try_from(config.payload.0).expect("checked by the scenario") + overhead)
                .with_class(config.class)
                .with_ecn(if config.ecn { Ecn::Ect } else { Ecn::NotEct })
                .with_kind(PacketKind::Datagram),
            config: config.clone(),
            stream: Stream::new(seed, "datagrams", index as u64),
        };
        Self { sources: sources.iter().enumerate().map(source).collect(), received_bytes: Bytes(0) }
    }

    /// When each source sends first.
    pub(crate) fn starts(&self) -> impl Iterator<Item = Instant> + '_ {
        self.sources.iter().map(|source| source.config.start)
    }

    /// The datagram that a source sends now, unless it has stopped, and when it sends next.
    pub(crate) fn send(&mut self, index: u32, now: Instant) -> (Option<Header>, Option<Instant>) {
        let source = &mut self.sources[index as usize];
        if source.config.stop.is_some_and(|stop| now >= stop) {
            return (None, None);
        }
        let next = source.next_after(now);
        (Some(source.header), Some(next))
    }

    /// A datagram reached its host.
    pub(crate) fn receive(&mut self, header: &Header) {
        self.received_bytes += header.size();
    }
}

impl Source {
    fn next_after(&mut self, now: Instant) -> Instant {
        let gap = |rate: Rate| rate.transmission_time(self.header.size());
        match self.config.pattern {
            DatagramPattern::Constant { rate } => now + gap(rate),
            DatagramPattern::Poisson { rate } => {
                let mean = gap(rate).0 as f64;
                now + Duration((self.stream.exponential() * mean).round() as u64)
            }
            DatagramPattern::OnOff { rate, on, off } => {
                // Bursts begin at multiples of on + off after the start.
                let next = now + gap(rate);
                let period = on.0 + off.0;
                let phase = (next - self.config.start).0 % period;
                if phase < on.0 { next } else { Instant(next.0 - phase + period) }
            }
        }
    }
}
