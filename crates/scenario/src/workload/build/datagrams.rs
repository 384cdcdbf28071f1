//! Checks and builds workloads of datagrams and echo requests.

use shallows_core::packet::HostId;
use shallows_core::random::Stream;
use shallows_core::{Bytes, Duration, Instant};

use super::{Builder, count_pairs};
use crate::experiment::{DatagramPattern, DatagramSource, Pairs, Probe};
use crate::spec;
use crate::workload::load::Matrix;

/// Bytes of IPv4 and UDP headers (RFC 791 §3.1, RFC 768).
const UDP_HEADERS: Bytes = Bytes(28);
/// Bytes of IPv4 and ICMP echo headers (RFC 791 §3.1, RFC 792).
const ICMP_HEADERS: Bytes = Bytes(28);

impl Builder<'_, '_, '_> {
    pub(super) fn udp(&mut self, w: &spec::Udp, index: usize, key: &str) -> Option<()> {
        let (senders, receivers) = self.sets(&w.senders, &w.receivers, key)?;
        self.bounded(count_pairs(&senders, &receivers), key)?;
        self.ends_by(w.stop, key);
        let mtu = self.mtu([&senders, &receivers]);
        let most = mtu.saturating_sub(UDP_HEADERS);
        let payload = w.payload.map_or(most, |payload| payload.0);
        self.traffic.payloads.push((index, payload));
        self.checker.require((1..=most.0).contains(&payload.0), &format!("{key}.payload"), || {
            format!("must be from 1B to {most}, the maximum with an MTU of {mtu}, got {payload}")
        });
        if let Some(stop) = w.stop {
            self.checker.require(stop > w.start, &format!("{key}.stop"), || {
                format!("must be after start = {}, got {stop}", w.start)
            });
        }
        let pattern = match &w.pattern {
            spec::Pattern::Constant(p) => DatagramPattern::Constant { rate: p.rate.0 },
            spec::Pattern::Poisson(p) => DatagramPattern::Poisson { rate: p.rate.0 },
            spec::Pattern::OnOff(p) => {
                self.checker.require(p.on.0 > Duration::ZERO, &format!("{key}.pattern.on"), || {
                    "must be above 0s, got 0s".to_owned()
                });
                DatagramPattern::OnOff { rate: p.rate.0, on: p.on.0, off: p.off.0 }
            }
        };
        self.check_rate(&pattern, w.overload, &senders, &receivers, key)?;
        let pairs = Pairs::Product { senders, receivers };
        let classes = self.classes(&w.class, key)?;
        let mut stream =
            Stream::new(self.seed, "datagram classes", self.traffic.datagram_sources.len() as u64);
        self.traffic.datagram_sources.extend(pairs.iter().map(|(source, destination)| DatagramSource {
            source,
            destination,
            start: Instant(w.start.0.0),
            stop: w.stop.map(|stop| Instant(stop.0.0)),
            payload,
            pattern,
            ecn: w.ecn,
            class: classes.of(source, destination, &mut stream),
        }));
        Some(())
    }

    pub(super) fn ping(&mut self, w: &spec::Ping, key: &str) -> Option<()> {
        let (senders, receivers) = self.sets(&w.senders, &w.receivers, key)?;
        self.bounded(count_pairs(&senders, &receivers), key)?;
        self.ends_by(w.stop, key);
        let classes = self.classes(&w.class, key)?;
        self.checker.require(w.interval.0 > Duration::ZERO, &format!("{key}.interval"), || {
            "must be above 0s, got 0s".to_owned()
        });
        let mtu = self.mtu([&senders, &receivers]);
        let most = mtu.saturating_sub(ICMP_HEADERS);
        self.checker.require(w.payload.0 <= most, &format!("{key}.payload"), || {
            format!("must be at most {most}, the maximum with an MTU of {mtu}, got {}", w.payload)
        });
        if let Some(stop) = w.stop {
            self.checker.require(stop > w.start, &format!("{key}.stop"), || {
                format!("must be after start = {}, got {stop}", w.start)
            });
        }
        let pairs = Pairs::Product { senders, receivers };
        let mut stream = Stream::new(self.seed, "probe classes", self.traffic.probes.len() as u64);
        self.traffic.probes.extend(pairs.iter().map(|(source, destination)| Probe {
            source,
            destination,
            start: Instant(w.start.0.0),
            stop: w.stop.map(|stop| Instant(stop.0.0)),
            interval: w.interval.0,
            payload: w.payload.0,
            ecn: w.ecn,
            class: classes.of(source, destination, &mut stream),
        }));
        Some(())
    }

    /// Rejects sources that, together with earlier workloads, offer a link more than its capacity, unless `overload` is set. An offer equal
    /// to the capacity is allowed.
    fn check_rate(
        &mut self,
        pattern: &DatagramPattern,
        overload: bool,
        senders: &[HostId],
        receivers: &[HostId],
        key: &str,
    ) -> Option<()> {
        let (rate, mean) = match *pattern {
            DatagramPattern::Constant { rate } | DatagramPattern::Poisson { rate } => (rate, rate.0 as f64),
            DatagramPattern::OnOff { on, .. } if on == Duration::ZERO => return None,
            DatagramPattern::OnOff { rate, on, off } => {
                (rate, rate.0 as f64 * (on.0 as f64 / (on.0 as f64 + off.0 as f64)))
            }
        };
        let matrix = Matrix::new(self.network, senders, receivers)?;
        let (share, link) = self.offer(&matrix, mean * matrix.pairs());
        // The tolerance covers rounding errors of the sum of loads.
        let carried = share <= 1.0 + 1e-9 || overload;
        self.checker.require(carried, &format!("{key}.pattern.rate"), || {
            let link = &self.network.links[link];
            let sources = matrix.pairs();
            let each = if sources > 1.0 { format!(" from each of {sources} sources") } else { String::new() };
            format!(
                "the link {} would carry {share:.4} times its rate of {}, including earlier workloads; this workload \
                 sends {rate}{each}: use a lower rate, or set overload = true",
                link.name, link.rate
            )
        });
        carried.then_some(())
    }
}
