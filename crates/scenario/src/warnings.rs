//! Warnings about valid but probably unintended scenarios, such as markers that can never mark or marks that no connection reacts to.

use shallows_core::Bytes;
use shallows_core::packet::Ecn;
use shallows_switch::aqm;
use shallows_switch::buffer::ReservedRule;
use shallows_switch::discipline::Share;
use shallows_switch::port;
use shallows_transport::congestion::EcnMode;

use crate::agreement::Agreement;
use crate::experiment::Experiment;
use crate::marking::MarkingCurve;
use crate::topology::{Link, PortKind};

impl Experiment {
    /// Returns warnings about settings that are valid but probably unintended.
    pub fn warnings(&self) -> Vec<String> {
        let curves = self.marking_curves();
        let silent = curves.iter().filter_map(|curve| {
            let reason = curve.reason.as_ref()?;
            Some(format!(
                "the {} marker of {} ports ({}) cannot fire: {reason}",
                curve.kind,
                curve.port.name(),
                curve.example
            ))
        });
        let mut warnings: Vec<String> = silent.collect();
        warnings.extend(self.never_sent());
        warnings.extend(self.never_counted());
        warnings.extend(self.marks_everything(&curves));
        warnings.extend(self.tiny_shares());
        if !self.generators.is_empty() {
            warnings.extend(self.unheard_marks());
            warnings.extend(self.unheard_incasts());
        }
        warnings.extend(self.small_headroom());
        warnings.extend(self.small_receive_buffers());
        warnings.extend(self.short_quanta());
        warnings.extend(self.idle_shaper());
        warnings.extend(self.late_acknowledgements());
        warnings.extend(self.idle_reserved_rule());
        warnings
    }

    /// Returns every marker together with the link whose port has it.
    fn markers(&self) -> impl Iterator<Item = (&Link, &aqm::Config)> {
        let at = |link| self.network.port(link).markers.iter().map(move |placed| (link, &placed.marker));
        self.network.links.iter().flat_map(at)
    }

    /// Warns about a marking threshold so low that a full packet is marked although at most one other packet waits.
    fn marks_everything(&self, curves: &[MarkingCurve]) -> Option<String> {
        if let Some(curve) = curves.iter().find(|curve| curve.kmax.bytes == 0) {
            return Some(format!(
                "{} ports ({}) mark every packet that arrives while another packet waits: K = 0B",
                curve.port.name(),
                curve.example
            ));
        }
        let packet = self.network.mtu + self.network.framing;
        let alone = |link: &Link, marker: &aqm::Config| {
            let (gauge, k, _) = marker.single_threshold()?;
            let exceeds = gauge.counts_packet
                && gauge.unit != aqm::Unit::Packets
                && k.0 < self.one_packet(link, gauge.unit);
            exceeds.then_some(Bytes(k.0))
        };
        let (link, k) = self.markers().find_map(|(link, marker)| Some((link, alone(link, marker)?)))?;
        Some(format!(
            "{} ports ({}) mark every full packet, even if no other packet waits: the backlog includes the packet \
             itself, and K = {k} is less than a full packet of {packet}",
            link.kind.name(),
            link.name
        ))
    }

    /// Returns the size of a full packet at the port of `link`, counted in `unit`.
    fn one_packet(&self, link: &Link, unit: aqm::Unit) -> u64 {
        let packet = self.network.mtu + self.network.framing;
        match unit {
            aqm::Unit::Bytes => packet.0,
            aqm::Unit::Packets => 1,
            aqm::Unit::Cells => self.network.buffers[link.from.0 as usize].occupied(packet).0,
        }
    }

    /// Warns if a marking threshold is divided among queues and the share of some queue is less than one packet.
    fn tiny_shares(&self) -> Option<String> {
        let (link, smallest) = self.markers().find_map(|(link, marker)| {
            let (gauge, threshold, split) = marker.single_threshold()?;
            let shares = self.network.port(link).discipline.shares();
            let smallest = *split.divide(threshold, &shares).iter().min()?;
            let one = self.one_packet(link, gauge.unit);
            (threshold.0 >= one && smallest.0 < one).then_some((link, smallest))
        })?;
        Some(format!(
            "split = \"minimum\" gives a queue of {} ports ({}) a threshold of {}, less than one packet: the queue \
             marks all waiting packets, and with an averaged backlog it drops all packets that are not ECN-capable; \
             use a larger k, or split = \"standard\"",
            link.kind.name(),
            link.name,
            if smallest.0 == 0 { "0".to_owned() } else { Bytes(smallest.0).to_string() },
        ))
    }

    /// Warns if markers drop packets because connections do not use ECN, or if connections use ECN but no switch has a marker.
    fn unheard_marks(&self) -> Option<String> {
        let marking = |(_, marker): &(&Link, &aqm::Config)| marker.verdicts().marks();
        let anywhere = self.markers().any(|at| marking(&at));
        let at_switches =
            self.markers().filter(|(link, _)| link.kind != PortKind::Nic).any(|at| marking(&at));
        let uses = |agreement: &Agreement| match &agreement.queue_pairs {
            Some(pairs) => pairs.config.congestion.uses_cnps() || pairs.config.congestion.uses_ack_marks(),
            None => {
                let sides = [&agreement.sender, &agreement.receiver];
                sides.iter().all(|side| side.congestion.ecn_mode() != EcnMode::Off)
            }
        };
        // All packets of queue pairs are ECN-capable.
        let unmarked = |agreement: &Agreement| agreement.queue_pairs.is_none() && !uses(agreement);
        let ecn = self.agreements().any(uses);
        let deaf_acks = |agreement: &Agreement| {
            agreement.queue_pairs.is_none() && uses(agreement) && agreement.receiver.ack_ecn() == Ecn::NotEct
        };
        let warning = match (ecn, anywhere) {
            (true, _)
                if !at_switches && !self.agreements().any(|agreement| agreement.queue_pairs.is_none()) =>
            {
                "the congestion control of queue pairs reacts to marks, but no switch has a marker"
            }
            (true, _) if !at_switches => {
                "connections use ECN, but no switch has a marker: only packet drops reduce the sending rate"
            }
            (false, true) if !self.agreements().any(unmarked) => {
                "queue pairs have no congestion control that reacts to marks"
            }
            (false, true) => "connections do not use ECN: markers drop their packets instead of marking them",
            (true, true) if self.agreements().any(unmarked) => {
                "connections between some groups of hosts do not use ECN: markers drop their packets instead of \
                 marking them"
            }
            (true, true) if self.agreements().any(deaf_acks) => {
                "pure acknowledgements are not ECN-capable: markers drop them; set tcp.ect = \"all\" to prevent \
                 these drops"
            }
            _ => return None,
        };
        Some(warning.to_owned())
    }

    /// Returns the parameters of the TCP connections.
    fn tcp_agreements(&self) -> impl Iterator<Item = &Agreement> {
        self.agreements().filter(|agreement| agreement.queue_pairs.is_none())
    }

    /// Warns if no connection reacts to the incast notifications of switches, or if connections use Pulser but no switch sends
    /// notifications.
    fn unheard_incasts(&self) -> Option<String> {
        let notifies = |(link, marker): (&Link, &aqm::Config)| {
            link.kind != PortKind::Nic && marker.verdicts().notifies_incast()
        };
        let hears = self.tcp_agreements().any(|agreement| agreement.sender.congestion.hears_incast());
        match (self.markers().any(notifies), hears) {
            (false, true) => Some(
                "pulser reacts to explicit incast notifications, but no switch has an ein marker: pulser behaves as \
                 DCTCP"
                    .to_owned(),
            ),
            (true, false) => Some(
                "an ein marker sends incast notifications, but no connection reacts to them: only pulser without \
                 as_released does".to_owned(),
            ),
            _ => None,
        }
    }

    /// Warns about a shaper that is not slower than its link.
    fn idle_shaper(&self) -> Option<String> {
        let idle =
            |link: &&Link| self.network.port(link).shaper.is_some_and(|shaper| shaper.rate >= link.rate);
        let link = self.network.links.iter().find(idle)?;
        let shaper = self.network.port(link).shaper?;
        Some(format!(
            "the shaper of {} has no effect: its rate of {} is not below the link rate of {}",
            link.name, shaper.rate, link.rate
        ))
    }

    /// Warns about quanta smaller than a full packet: a DWRR queue then skips rounds, and a WRR queue sends more than its quantum.
    fn short_quanta(&self) -> Option<String> {
        let packet = self.network.mtu + self.network.framing;
        let shortest = |port: &port::Config| {
            let quantum = |share: &Share| match *share {
                Share::Round { quantum } if quantum < packet => Some(quantum),
                _ => None,
            };
            port.discipline.shares().iter().filter_map(quantum).min()
        };
        let quantum = self.network.ports.iter().filter_map(shortest).min()?;
        Some(format!(
            "a quantum of {quantum} is less than a full packet of {packet}: DWRR then skips rounds, and WRR sends \
             more than the quantum; the MQ-ECN paper uses at least one MTU"
        ))
    }

    /// Warns about a rule for reserved bytes that has no effect because no port has reserved bytes.
    fn idle_reserved_rule(&self) -> Option<String> {
        let idle = |link: &Link| {
            let buffer = &self.network.buffers[link.from.0 as usize];
            buffer.reserved_rule == ReservedRule::AsReleased && link.reserved == Bytes(0)
        };
        self.network.links.iter().any(idle).then(|| {
            "switch.buffer.reserved_rule = \"as-released\" has no effect: no port has a reserved buffer \
             (switch.buffer.reserved)"
                .to_owned()
        })
    }

    /// Warns if a receiver may delay acknowledgements until the sender's retransmission timer has expired.
    fn late_acknowledgements(&self) -> Option<String> {
        let times = |agreement: &Agreement| (agreement.receiver.delayed_ack, agreement.sender.rto.minimum);
        let late =
            self.tcp_agreements().map(times).find(|(ack, rto)| ack.segments > 1 && ack.timeout >= *rto);
        late.filter(|_| !self.generators.is_empty()).map(|(ack, rto)| {
            format!(
                "acknowledgements can be delayed for {}, but the retransmission timer can expire after {rto}: a \
                 segment whose acknowledgement is delayed can time out without a loss; use a shorter \
                 tcp.delayed_ack.timeout, or tcp.delayed_ack.segments = 1",
                ack.timeout
            )
        })
    }
}
