//! UDP sources: datagrams at a constant rate, at random times, or in bursts, without congestion control.

use shallows_core::packet::{Ecn, Header, PacketKind};
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, Rate};
use shallows_scenario::{DatagramPattern, DatagramSource};

/// Sources of datagrams, and the number of bytes that arrived from all of them.
#[derive(Debug)]
pub struct Datagrams {
    sources: Vec<Source>,
    /// Total size on the wire of the datagrams that reached their destinations.
    pub received_bytes: Bytes,
}

#[derive(Debug)]
struct Source {
    config: DatagramSource,
    header: Header,
    stream: Stream,
}

impl Datagrams {
    /// Builds the sources. Headers and framing add `overhead` bytes to the payload of each datagram.
    pub fn new(sources: &[DatagramSource], overhead: u16, seed: u64) -> Self {
        let source = |(index, config): (usize, &DatagramSource)| Source {
            // Each source has a five-tuple of its own; RFC 6335's dynamic ports suffice for all sources of a run.
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

    /// Returns the time of each source's first datagram.
    pub fn starts(&mut self) -> impl Iterator<Item = Instant> + '_ {
        self.sources.iter_mut().map(Source::first)
    }

    /// Returns the header of the datagram that a source sends now, and the time of its next datagram. Both are `None` if the source has
    /// stopped.
    pub fn send(&mut self, index: u32, now: Instant) -> (Option<Header>, Option<Instant>) {
        let source = &mut self.sources[index as usize];
        if source.config.stop.is_some_and(|stop| now >= stop) {
            return (None, None);
        }
        let next = source.next_after(now);
        (Some(source.header), Some(next))
    }

    /// Counts the bytes of a datagram that reached its destination.
    pub fn receive(&mut self, header: &Header) {
        self.received_bytes += header.size();
    }
}

impl Source {
    /// Returns the time of the first datagram.
    ///
    /// A Poisson source waits an exponential time after its start. If all sources sent a datagram at the start, the first datagrams would
    /// form a burst, unlike a Poisson process.
    fn first(&mut self) -> Instant {
        let start = self.config.start;
        match self.config.pattern {
            DatagramPattern::Poisson { .. } => self.next_after(start),
            DatagramPattern::Constant { .. } | DatagramPattern::OnOff { .. } => start,
        }
    }

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

#[cfg(test)]
mod tests {
    use shallows_core::packet::HostId;

    use super::*;

    /// Returns `count` sources that start at 5 us. With `RATE`, each sends 1,500 bytes on the wire per 12 us on average.
    fn sources(count: usize, pattern: DatagramPattern, stop: Option<Instant>) -> Datagrams {
        let source = DatagramSource {
            source: HostId(0),
            destination: HostId(1),
            start: START,
            stop,
            payload: Bytes(1_472),
            pattern,
            ecn: false,
            class: 0,
        };
        Datagrams::new(&vec![source; count], 28, 1)
    }

    const START: Instant = Instant(5_000_000);
    const RATE: Rate = Rate::from_gbps(1);

    #[test]
    fn poisson_sources_send_first_after_an_exponential_time() {
        // The mean of n exponential times differs from the expectation by at most 3/√n of the expectation. A share of 1/e of the times
        // exceeds the expectation, with a relative standard deviation of √((e − 1)/n): three standard deviations are 0.0394.
        let n = 10_000;
        let mut datagrams = sources(n, DatagramPattern::Poisson { rate: RATE }, None);
        let waits: Vec<f64> = datagrams.starts().map(|at| (at - START).as_micros_f64()).collect();
        let mean = waits.iter().sum::<f64>() / n as f64;
        assert!((mean / 12.0 - 1.0).abs() < 0.03, "on average after {mean} us");
        let longer = waits.iter().filter(|&&wait| wait > 12.0).count() as f64 / n as f64;
        assert!((longer * std::f64::consts::E - 1.0).abs() < 0.0394, "{longer} wait longer");
    }

    #[test]
    fn poisson_sources_send_as_much_from_the_begin_on_as_later() {
        // In each interval of 12 us, the mean gap, 500 datagrams are expected. Three standard deviations are 3√500 = 67.
        let mut datagrams = sources(500, DatagramPattern::Poisson { rate: RATE }, None);
        let mut sent = [0_u32; 4];
        let mut next: Vec<Instant> = datagrams.starts().collect();
        for (index, at) in next.iter_mut().enumerate() {
            while let Some(count) = sent.get_mut(((*at - START).0 / 12_000_000) as usize) {
                *count += 1;
                *at = datagrams.send(index as u32, *at).1.expect("it has no end");
            }
        }
        assert!(sent.iter().all(|&count| count.abs_diff(500) < 67), "{sent:?}");
    }

    #[test]
    fn other_sources_send_first_when_they_start_and_none_once_it_has_stopped() {
        let on_off = DatagramPattern::OnOff { rate: RATE, on: Duration(1), off: Duration(1) };
        for pattern in [DatagramPattern::Constant { rate: RATE }, on_off] {
            assert!(sources(10, pattern, None).starts().all(|at| at == START));
        }
        // The first datagram of 1,000/e = 368 sources is expected after the end at 12 us. Three standard deviations are 46.
        let stop = START + Duration::from_micros(12);
        let mut datagrams = sources(1_000, DatagramPattern::Poisson { rate: RATE }, Some(stop));
        let starts: Vec<Instant> = datagrams.starts().collect();
        let silent = (0..).zip(&starts).filter(|&(index, &at)| datagrams.send(index, at).0.is_none()).count();
        assert!(silent.abs_diff(368) < 46, "{silent} send nothing");
    }
}
