//! Records of flows at the end of a run.

use shallows_core::{Bytes, Instant};
use shallows_measure::Received;

use crate::hosts::Hosts;
use crate::hosts::endpoint::Repairs;
use crate::hosts::flow::Flows;

impl Hosts {
    /// Returns all flows. Records of unfinished flows contain the progress until the `end` of the run.
    pub(crate) fn into_flows(self, end: Instant) -> Flows {
        let Self { hosts, mut flows, .. } = self;
        for host in &hosts {
            for side in &host.senders {
                let Some(flow) = side.flow else { continue };
                flows.book(flow, side.repairs(), side.gap.until(end), None);
                let unfelt = |started| Received {
                    at: None,
                    delivered: Bytes(0),
                    timeouts_felt: 0,
                    longest_gap: Some(end - started),
                };
                let received = match side.endpoint.read_requester() {
                    // The requester of READs receives the data.
                    Some(requester) => Received {
                        delivered: Bytes(requester.received()).saturating_sub(Bytes(side.flow_start)),
                        timeouts_felt: side.repairs().timeouts,
                        longest_gap: Some(side.gap.until(end)),
                        ..unfelt(side.started)
                    },
                    None => unfelt(side.started),
                };
                flows.at_mut(flow).received.get_or_insert(received);
                for message in side.later() {
                    let repairs = Repairs { timeouts: 0, retransmits: message.retransmits };
                    flows.book(message.flow, repairs, end - message.started, None);
                    flows.at_mut(message.flow).received.get_or_insert(unfelt(message.started));
                }
            }
            for side in &host.receivers {
                let Some(flow) = side.flow else { continue };
                flows.at_mut(flow).received = Some(Received {
                    at: None,
                    // Bytes of earlier flows may still be in flight.
                    delivered: Bytes(side.receiver.received()).saturating_sub(Bytes(side.flow_start)),
                    timeouts_felt: side.timeouts,
                    longest_gap: Some(side.gap.until(end)),
                });
                for message in side.later() {
                    flows.at_mut(message.flow.get()).received = Some(Received {
                        at: None,
                        delivered: Bytes(0),
                        timeouts_felt: message.timeouts,
                        longest_gap: Some(message.gap.until(end)),
                    });
                }
            }
        }
        flows
    }
}
