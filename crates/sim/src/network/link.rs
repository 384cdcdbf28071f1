//! A directed link: the egress port at its near end, and the packets in flight towards its far end.
//!
//! Packets in flight on a link form a linked list. All links share one store for these packets, which reuses freed slots at once. With a
//! ring buffer per link, packets would use all slots of all rings, and these slots would not fit in a cache.

use shallows_core::packet::Header;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant, prefetch};
use shallows_switch::port::{Departure, Ingress, Port};

use crate::network::event::LinkRank;
use crate::network::slots::Slots;

/// Node at the far end of a link.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A host. The headers of packets contain its number.
    Host,
    /// A switch, with its number among all switches.
    Switch(u32),
    /// A host in a network with lossless classes, with its number.
    LosslessHost(u32),
    /// A switch in a network with lossless classes.
    LosslessSwitch {
        /// Number among all switches.
        switch: u32,
        /// Place among the nodes of the partition, or `NONE` if the switch is in another partition.
        node: u32,
    },
}

/// Link and switch at which a packet or PFC frame arrives, in a network with lossless classes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SwitchArrival {
    /// Index of the far end of the link in `Network::wires`.
    pub(crate) wire: u32,
    pub(crate) ingress: Ingress,
    /// Number of the switch among all switches, and its place among the nodes.
    pub(crate) switch: u32,
    pub(crate) node: usize,
}

/// Near end of a link, with the port that sends on this link.
#[derive(Debug)]
pub(crate) struct Link<T> {
    pub(crate) port: Port<T>,
    /// Number of the link in the network.
    pub(crate) number: u32,
    pub(crate) rank: LinkRank,
    /// Index, within its partition, of the node at the sending end of the link.
    pub(crate) node: u32,
    /// Index of this link among the partition's exits, if the far end is in another partition; otherwise `NONE`.
    pub(crate) exit: u32,
    /// Calendar bucket of the packets on this link: that of a group of ports of the switch at the far end, or that of all hosts. `NONE` if
    /// the far end is in another partition.
    pub(crate) bucket: u32,
    /// Whether the port's next departure is scheduled, or the port is in a list of ports with waiting packets.
    pub(crate) waking: bool,
    /// Observers that record changes of the link's port.
    pub(crate) watch: Watch,
    /// Number of segments with data that the port dropped.
    pub(crate) data_dropped: u64,
    delay: Duration,
    jitter: Option<Box<Jitter>>,
}

/// Arrival time of a packet that leaves a link's port, and the exit through which the packet goes to another partition, if any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// Time at which the packet reaches the far end.
    pub(crate) arrival: Instant,
    /// Index of the exit to the partition of the far end; `NONE` if the far end is in the same partition.
    pub(crate) exit: u32,
}

/// Destination of a packet that starts to leave a link's port, and observers of the port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaves {
    pub(crate) way: Way,
    /// Observers of the port.
    pub(crate) watch: Watch,
}

/// Far end of a link, with the packets in flight. Only the arrival of the first packet is scheduled as an event. The 32 bytes are half a
/// cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct FarEnd {
    /// Slots of the first and last packet in flight, or `NONE`.
    first: u32,
    last: u32,
    pub(crate) target: Target,
    pub(crate) rank: LinkRank,
    /// Identifier of the link among all links to the node at its far end.
    pub(crate) ingress: Ingress,
    /// Calendar bucket of the packets on this link: that of a group of ports of the switch at the far end, or that of all hosts. `NONE` if
    /// the far end is in another partition.
    pub(crate) bucket: u32,
}

impl<T> AsMut<Port<T>> for Link<T> {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut Port<T> {
        &mut self.port
    }
}

/// Set of observers that must be called when a port changes, as bits.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch(u8);

impl Watch {
    /// A trace records every change of the port.
    pub(crate) const TRACED: u8 = 1;
    /// A capture records every packet that the port sends.
    pub(crate) const CAPTURED: u8 = 2;
    /// The port adds telemetry to the packets that it sends.
    pub(crate) const TELEMETRY: u8 = 4;
    /// The ingress accounting for lossless classes counts the packets that wait at this port.
    pub(crate) const COUNTED: u8 = 8;
    /// The PFC watchdog of the port can drop packets.
    pub(crate) const DROPS: u8 = 16;

    /// Returns whether changes must be reported to the driver for a trace, a capture or telemetry.
    pub(crate) fn is_observed(self) -> bool {
        self.has(Self::TRACED | Self::CAPTURED | Self::TELEMETRY)
    }

    /// Returns whether an observer or a watchdog must be called when a packet starts to leave. The watchdog can drop the packet.
    #[inline]
    pub(crate) fn sees_departures(self) -> bool {
        self.has(Self::TRACED | Self::CAPTURED | Self::TELEMETRY | Self::DROPS)
    }

    /// Returns whether one of these observers is set.
    #[inline]
    pub(crate) fn has(self, observers: u8) -> bool {
        self.0 & observers != 0
    }

    /// Sets or clears an observer.
    pub(crate) fn set(&mut self, observer: u8, is_set: bool) {
        self.0 = if is_set { self.0 | observer } else { self.0 & !observer };
    }
}

/// Store of all packets in flight in a partition.
pub(crate) type InFlight<T> = Slots<Flying<T>>;

/// Packet in flight. Its 32 bytes are half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(crate) struct Flying<T> {
    pub(crate) arrival: Instant,
    pub(crate) header: Header,
    pub(crate) payload: T,
    /// Slot of the next packet on the same link, or `NONE`.
    next: u32,
}

pub(crate) const NONE: u32 = u32::MAX;

/// Generator of small random delays, which prevent simulated flows from synchronising. Packets keep their order, and do not exceed the
/// rate of the link.
#[derive(Debug)]
struct Jitter {
    spread: Duration,
    stream: Stream,
    last_arrival: Instant,
}

impl<T: Copy + Default> Link<T> {
    pub(crate) fn new(port: Port<T>, number: u32, rank: LinkRank, node: u32, delay: Duration) -> Self {
        Self {
            port,
            number,
            rank,
            node,
            exit: NONE,
            bucket: NONE,
            waking: false,
            watch: Watch::default(),
            data_dropped: 0,
            delay,
            jitter: None,
        }
    }

    /// Delays every packet by a random time up to `spread`, without reordering. A `spread` of zero changes nothing.
    pub(crate) fn set_jitter(&mut self, spread: Duration, stream: Stream) {
        if spread > Duration::ZERO {
            self.jitter = Some(Box::new(Jitter { spread, stream, last_arrival: Instant::ZERO }));
        }
    }

    /// Sets the propagation delay of the packets that leave after this call.
    pub(crate) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// Sends a frame of this `size` before all waiting packets. The link must be free. Returns the arrival time at the far end and the
    /// index of the exit to another partition. The frame has no random delay, but does not overtake packets with a random delay.
    pub(crate) fn send_frame(&mut self, now: Instant, size: Bytes) -> Way {
        let arrival = self.port.occupy(now, size) + self.delay;
        let arrival = match &mut self.jitter {
            None => arrival,
            Some(jitter) => jitter.after_others(arrival, self.port.transmission_time(size)),
        };
        Way { arrival, exit: self.exit }
    }

    /// Returns the time of the port's next departure and marks this departure as scheduled. Returns `None` if the departure is already
    /// scheduled, or if no packet waits.
    #[inline(always)]
    pub(crate) fn schedule(&mut self) -> Option<Instant> {
        if self.waking {
            return None;
        }
        let at = self.port.wake_at()?;
        self.waking = true;
        Some(at)
    }

    /// Returns, for a packet that starts to leave the port, its arrival time at the far end, the index of the packet's exit to another
    /// partition, and the observers of the port.
    #[inline(always)]
    pub(crate) fn leaves(&mut self, departure: &Departure<T>) -> Leaves {
        let way = Way { arrival: self.arrival_of(departure), exit: self.exit };
        Leaves { way, watch: self.watch }
    }

    /// Returns the time at which a packet that leaves now reaches the far end.
    #[inline]
    fn arrival_of(&mut self, departure: &Departure<T>) -> Instant {
        let arrival = departure.finish + self.delay;
        match &mut self.jitter {
            None => arrival,
            Some(jitter) => jitter.delay(arrival, self.port.transmission_time(departure.header.size())),
        }
    }
}

impl FarEnd {
    pub(crate) fn new(target: Target, bucket: u32, rank: LinkRank, ingress: Ingress) -> Self {
        Self { first: NONE, last: NONE, target, rank, ingress, bucket }
    }

    /// Adds a packet that is in flight until `arrival`. Returns whether it is the only packet in flight on this link; in that case, the
    /// caller must schedule the packet's arrival.
    #[inline(always)]
    pub(crate) fn launch<T: Copy>(
        &mut self,
        arrival: Instant,
        header: Header,
        payload: T,
        in_flight: &mut InFlight<T>,
    ) -> bool {
        let slot = in_flight.insert(Flying { arrival, header, payload, next: NONE });
        let before = std::mem::replace(&mut self.last, slot);
        if before == NONE {
            self.first = slot;
            return true;
        }
        in_flight.get_mut(before).next = slot;
        false
    }

    /// Removes and returns the packet that arrives now. Also returns the next packet in flight, whose arrival the caller must schedule.
    #[inline]
    pub(crate) fn land<'flying, T: Copy>(
        &mut self,
        in_flight: &'flying mut InFlight<T>,
    ) -> (Flying<T>, Option<&'flying Flying<T>>) {
        debug_assert!(self.first != NONE, "a delivery is scheduled only while something flies");
        let landed = *in_flight.remove(self.first);
        self.first = landed.next;
        let next = in_flight.get(landed.next);
        match next {
            None => self.last = NONE,
            // Prefetches the packet after the next one, so that it is in the cache when the next packet lands.
            Some(next) => _ = in_flight.get(next.next).map(prefetch),
        }
        (landed, next)
    }

    /// Returns the packet in flight that arrives next; `None` if no packet is in flight.
    pub(crate) fn first<'flying, T: Copy>(
        &self,
        in_flight: &'flying InFlight<T>,
    ) -> Option<&'flying Flying<T>> {
        if self.first == NONE { None } else { in_flight.get(self.first) }
    }
}

impl Jitter {
    /// Returns the delayed arrival time: a random time, uniform from `arrival` to `arrival` + `spread`, or one `transmission` time after
    /// the previous arrival if that is later.
    fn delay(&mut self, arrival: Instant, transmission: Duration) -> Instant {
        let random = arrival + Duration(self.stream.below(self.spread.0 + 1));
        self.after_others(random, transmission)
    }

    /// Returns `arrival`, or one `transmission` time after the previous arrival if that is later.
    fn after_others(&mut self, arrival: Instant, transmission: Duration) -> Instant {
        self.last_arrival = arrival.max(self.last_arrival + transmission);
        self.last_arrival
    }
}

#[cfg(test)]
mod tests {
    use shallows_core::Rate;
    use shallows_switch::port::Held;

    use super::*;
    use crate::hosts::packet::PacketRef;
    use crate::network::event::Ranks;

    fn link(spread: Duration) -> (Link<PacketRef>, FarEnd) {
        let config = shallows_switch::port::Config::default();
        let stream = |purpose, place| Stream::new(1, purpose, place as u64);
        let port = Port::new(Rate::from_gbps(100), 0, &config, stream);
        let rank = Ranks::new(1).of_link(0);
        let mut link = Link::new(port, 0, rank, 0, Duration::from_micros(1));
        link.set_jitter(spread, Stream::new(1, "jitter", 0));
        (link, FarEnd::new(Target::Host, 0, rank, Ingress::NONE))
    }

    fn departure(finish: Instant) -> Departure<PacketRef> {
        let header = Header::default().with_size(1_500);
        Departure { header, payload: PacketRef::NONE, held: Held::default(), finish }
    }

    #[test]
    fn what_a_hop_touches_of_a_link_with_one_queue_is_five_cache_lines() {
        // The alignment keeps the near end in four lines. Without it, 256 bytes can lie in five lines.
        assert_eq!((size_of::<Link<PacketRef>>(), align_of::<Link<PacketRef>>()), (4 * 64, 64));
        assert_eq!((size_of::<FarEnd>(), align_of::<FarEnd>()), (32, 32));
    }

    #[test]
    fn a_packet_arrives_after_serialisation_and_propagation_and_only_the_first_is_announced() {
        let ((mut link, mut wire), mut flying) = (link(Duration::ZERO), InFlight::default());
        let [first, second] = [100, 300].map(|ns| Instant::ZERO + Duration::from_nanos(ns));
        let mut launch = |finish| {
            let departure = departure(finish);
            let arrival = link.arrival_of(&departure);
            assert_eq!(arrival, finish + Duration::from_micros(1));
            wire.launch(arrival, departure.header, departure.payload, &mut flying)
        };
        assert!(launch(first));
        assert!(!launch(second));
        assert_eq!(flying.len(), 2);
        let next = wire.land(&mut flying).1.map(|next| next.arrival);
        assert_eq!(next, Some(second + Duration::from_micros(1)));
        assert!(wire.land(&mut flying).1.is_none());
        assert_eq!(flying.len(), 0);
    }

    #[test]
    fn jitter_keeps_order_and_rate_and_adds_at_most_its_spread_when_there_is_room() {
        let spread = Duration::from_nanos(120);
        let (mut link, _) = link(spread);
        let transmission = Rate::from_gbps(100).transmission_time(Bytes(1_500));
        let (mut last, mut longest) = (Instant::ZERO, Duration::ZERO);
        for sent in 0..1_000u64 {
            // The first hundred packets are sent back to back. Later packets are sent at a third of the rate.
            let gap = if sent < 100 { transmission } else { transmission * 3 };
            let finish = Instant::ZERO + gap * sent + transmission;
            let arrival = link.arrival_of(&departure(finish));
            assert!(arrival >= last + transmission, "packets do not overlap");
            let delay = arrival - (finish + Duration::from_micros(1));
            assert!(delay <= spread, "{delay} is more than {spread}");
            longest = longest.max(delay);
            last = arrival;
        }
        assert!(longest > spread - Duration::from_nanos(1), "{longest} of {spread}");
    }

    #[test]
    fn a_frame_has_no_jitter_but_does_not_overtake() {
        let transmission = Rate::from_gbps(100).transmission_time(Bytes(1_500));
        let frame = |spread, gap: Duration| {
            let (mut link, _) = link(spread);
            let before = link.arrival_of(&departure(Instant::ZERO + transmission));
            let sent = Instant::ZERO + transmission + gap;
            let way = link.send_frame(sent, Bytes(64));
            (
                before,
                way.arrival,
                sent + Rate::from_gbps(100).transmission_time(Bytes(64)) + Duration::from_micros(1),
            )
        };
        let (_, arrival, earliest) = frame(Duration::ZERO, Duration::ZERO);
        assert_eq!(arrival, earliest);
        // 10 us later, no packet is in front of the frame.
        let (_, arrival, earliest) = frame(Duration::from_micros(1), Duration::from_micros(10));
        assert_eq!(arrival, earliest);
        // The packet has a random delay of up to 1 us, and 64 bytes take 5.12 ns.
        let (before, arrival, earliest) = frame(Duration::from_micros(1), Duration::ZERO);
        assert!(before > earliest, "the packet before the frame has a delay: {before}");
        assert_eq!(arrival, before + Rate::from_gbps(100).transmission_time(Bytes(64)));
    }

    #[test]
    fn each_observer_is_set_and_cleared_alone() {
        let all = [Watch::TRACED, Watch::CAPTURED, Watch::TELEMETRY, Watch::COUNTED, Watch::DROPS];
        for one in all {
            let mut watch = Watch::default();
            watch.set(one, false);
            assert!(all.iter().all(|&other| !watch.has(other)));
            watch.set(one, true);
            assert!(all.iter().all(|&other| watch.has(other) == (other == one)));
            assert_eq!(watch.is_observed(), ![Watch::COUNTED, Watch::DROPS].contains(&one));
            assert_eq!(watch.sees_departures(), one != Watch::COUNTED);
            all.iter().for_each(|&other| watch.set(other, true));
            watch.set(one, false);
            assert!(all.iter().all(|&other| watch.has(other) == (other != one)));
        }
    }
}
