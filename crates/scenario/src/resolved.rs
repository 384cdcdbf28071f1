//! Scenario with every default filled in. Checks read it, and results contain it.

use std::ops::Deref;

use serde::Serialize;
use shallows_core::Bytes;

use crate::quantity::Size;
use crate::spec::{RoceCongestion, Spec, Workload};

/// [`Spec`] in which every default is filled in. Checks read it without changing it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Resolved(Spec);

impl Resolved {
    /// Wraps a spec in which [`crate::resolve::resolve`] has filled in the defaults.
    pub(crate) fn new(filled_in: Spec) -> Self {
        Self(filled_in)
    }

    /// Fills in the values of the congestion control of queue pairs, which depend on delays of the network.
    pub(crate) fn with_congestion(mut self, congestion: RoceCongestion) -> Self {
        if let Some(roce) = &mut self.0.roce {
            roce.congestion = congestion;
        }
        self
    }

    /// Fills in the default payload of datagrams. `payloads` has pairs of a workload's index and its payload. This default is filled in
    /// later than others, because it depends on the MTU of hosts, which is known once the network is built.
    pub(crate) fn with_payloads(mut self, payloads: &[(usize, Bytes)]) -> Self {
        for &(index, payload) in payloads {
            if let Workload::Udp(udp) = &mut self.0.workload[index] {
                udp.payload.get_or_insert(Size(payload));
            }
        }
        self
    }
}

impl Deref for Resolved {
    type Target = Spec;

    fn deref(&self) -> &Spec {
        &self.0
    }
}
