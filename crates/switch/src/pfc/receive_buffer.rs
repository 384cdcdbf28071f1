//! The receive buffer of a NIC, from which a slow host reads.

use std::collections::VecDeque;

use shallows_core::packet::Header;
use shallows_core::{Bytes, Duration, Instant, Rate};

/// Configuration of a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveConfig {
    /// Rate at which the host reads packets; `None` for no limit.
    pub rate: Option<Rate>,
    /// Shortest time in which the host reads a packet; zero for no limit.
    pub packet_time: Duration,
    /// Size of the buffer.
    pub size: Bytes,
    /// Backlog above which the NIC pauses its switch.
    pub xoff: Bytes,
    /// Backlog at or below which the NIC resumes its switch.
    pub xon: Bytes,
}

/// Receive buffer: packets that the host has not read yet, in order. The host reads one packet at a time. A packet occupies memory until
/// the host has read all of it.
#[derive(Clone, Debug)]
pub struct ReceiveBuffer<T> {
    config: ReceiveConfig,
    /// Packets, each with the time at which the host will have read it.
    packets: VecDeque<(Instant, Header, T)>,
    backlog: Bytes,
    is_congested: bool,
    /// Largest backlog since the start.
    pub max_backlog: Bytes,
}

impl ReceiveConfig {
    /// Returns the time in which the host reads a packet of this size: the time for its bytes or the time per packet, whichever is longer.
    /// The two overlap, because the host processes a packet while it still reads the packet's bytes.
    fn read_time(&self, size: Bytes) -> Duration {
        self.rate.map_or(Duration::ZERO, |rate| rate.transmission_time(size)).max(self.packet_time)
    }
}

impl<T> ReceiveBuffer<T> {
    /// Creates an empty buffer.
    ///
    /// # Panics
    ///
    /// Panics if the thresholds are not in order, or if the rate is zero.
    pub fn new(config: ReceiveConfig) -> Self {
        assert!(config.xon <= config.xoff && config.xoff < config.size, "{config:?}");
        assert!(config.rate != Some(Rate(0)), "{config:?}");
        Self {
            config,
            packets: VecDeque::new(),
            backlog: Bytes(0),
            is_congested: false,
            max_backlog: Bytes(0),
        }
    }

    /// Returns the configuration.
    pub fn config(&self) -> &ReceiveConfig {
        &self.config
    }

    /// Returns whether the switch must be paused.
    pub fn is_congested(&self) -> bool {
        self.is_congested
    }

    /// Returns the number of packets in the buffer.
    pub fn packets(&self) -> usize {
        self.packets.len()
    }

    /// Stores a packet that arrives at `now`. If the buffer has no room, drops the packet and returns its payload.
    pub fn receive(&mut self, now: Instant, header: Header, payload: T) -> Option<T> {
        let backlog = self.backlog + header.size();
        if backlog > self.config.size {
            return Some(payload);
        }
        let begun = self.packets.back().map_or(now, |&(read, ..)| read.max(now));
        let read = begun + self.config.read_time(header.size());
        self.packets.push_back((read, header, payload));
        self.backlog = backlog;
        self.max_backlog = self.max_backlog.max(backlog);
        if backlog > self.config.xoff && !self.is_congested {
            self.is_congested = true;
        }
        None
    }

    /// Returns the time at which the host will have read the next packet; `None` without packets.
    pub fn wake_at(&self) -> Option<Instant> {
        self.packets.front().map(|&(read, ..)| read)
    }

    /// Removes and returns the next packet if the host has read it by `now`.
    pub fn take(&mut self, now: Instant) -> Option<(Header, T)> {
        let (_, header, payload) = self.packets.pop_front_if(|(read, ..)| *read <= now)?;
        self.backlog = self.backlog.saturating_sub(header.size());
        if self.backlog <= self.config.xon && self.is_congested {
            self.is_congested = false;
        }
        Some((header, payload))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer() -> ReceiveBuffer<u32> {
        // A packet of 1,000 bytes takes 1 us at 8 Gb/s.
        let config = ReceiveConfig {
            rate: Some(Rate::from_gbps(8)),
            packet_time: Duration::ZERO,
            size: Bytes(4_000),
            xoff: Bytes(2_000),
            xon: Bytes(1_000),
        };
        ReceiveBuffer::new(config)
    }

    #[test]
    fn a_host_reads_packets_in_order_at_its_rate() {
        let (mut buffer, header) = (buffer(), Header::default().with_size(1_000));
        assert_eq!(
            (buffer.receive(Instant(500_000), header, 1), buffer.receive(Instant(600_000), header, 2)),
            (None, None)
        );
        assert_eq!((buffer.wake_at(), buffer.take(Instant(1_499_999))), (Some(Instant(1_500_000)), None));
        assert_eq!(buffer.take(Instant(1_500_000)), Some((header, 1)));
        assert_eq!((buffer.wake_at(), buffer.packets()), (Some(Instant(2_500_000)), 1));
        assert_eq!(buffer.take(Instant(2_500_000)), Some((header, 2)));
        // After a pause of the sender, the next packet is read at once.
        assert_eq!(
            (buffer.receive(Instant(9_000_000), header, 3), buffer.wake_at()),
            (None, Some(Instant(10_000_000)))
        );
    }

    #[test]
    fn a_packet_takes_the_longer_of_the_times_of_its_bytes_and_of_a_packet() {
        // 600 bytes take 600 ns at 8 Gb/s, which is also the time per packet. Shorter packets take the same time; longer ones take the time
        // of their bytes.
        let config = ReceiveConfig { packet_time: Duration::from_nanos(600), ..buffer().config };
        let mut buffer = ReceiveBuffer::new(config);
        let sizes = [(64, 600), (599, 1_200), (600, 1_800), (601, 2_401), (1_000, 3_401)];
        for (size, _) in sizes {
            assert_eq!(buffer.receive(Instant(0), Header::default().with_size(size), ()), None);
        }
        for (size, read_ns) in sizes {
            assert_eq!(buffer.wake_at(), Some(Instant(read_ns * 1_000)), "{size}");
            assert!(buffer.take(Instant(read_ns * 1_000)).is_some(), "{size}");
        }
        // Without a limit in bytes per second, every packet takes the same time.
        let mut buffer = ReceiveBuffer::new(ReceiveConfig { rate: None, ..config });
        for (size, read_ns) in [(64, 600), (1_000, 1_200)] {
            assert_eq!(buffer.receive(Instant(0), Header::default().with_size(size), ()), None);
            assert_eq!(
                buffer.packets.back().map(|&(read, ..)| read),
                Some(Instant(read_ns * 1_000)),
                "{size}"
            );
        }
    }

    #[test]
    fn it_is_congested_above_xoff_until_xon_and_full_at_its_size() {
        let (mut buffer, header) = (buffer(), Header::default().with_size(1_000));
        let congested = [false, false, true, true];
        for (number, congested) in (0..).zip(congested) {
            assert_eq!(buffer.receive(Instant(0), header, number), None);
            assert_eq!(buffer.is_congested(), congested, "{number}");
        }
        assert_eq!(buffer.receive(Instant(0), header, 4), Some(4), "the fifth packet has no room");
        for (second, congested) in [(1, true), (2, true), (3, false), (4, false)] {
            buffer.take(Instant(second * 1_000_000)).expect("a packet");
            assert_eq!(buffer.is_congested(), congested, "{second}");
        }
        assert_eq!(buffer.max_backlog, Bytes(4_000));
    }
}
