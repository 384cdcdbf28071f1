//! Scenario with every default filled in. The checks read it, and results contain it.

use std::ops::Deref;

use serde::Serialize;
use shallows_core::Bytes;
use toml::Table;

use crate::quantity::Size;
use crate::spec::{Roce, Spec, Workload};

/// [`Spec`] in which every default is filled in. The checks read it without changing it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Resolved(Spec);

impl Resolved {
    /// Wraps a spec in which [`crate::resolve::resolve`] has filled in the defaults.
    pub(crate) fn new(filled_in: Spec) -> Self {
        Self(filled_in)
    }

    /// Replaces `[roce]`. Values of congestion controls are filled in later than other values, because they depend on delays of the
    /// network.
    pub(crate) fn with_roce(mut self, roce: Roce) -> Self {
        self.0.roce = Some(roce);
        self
    }

    /// Replaces the `roce` table of a group that has one.
    pub(crate) fn with_roce_of_group(mut self, index: usize, roce: Table) -> Self {
        self.0.host.group[index].roce = Some(roce);
        self
    }

    /// Replaces the `roce` table of a workload that has one.
    pub(crate) fn with_own_roce(mut self, workload: usize, roce: Table) -> Self {
        self.0.workload[workload].set_roce(roce);
        self
    }

    /// Fills in the default payload of datagrams. `payloads` has pairs of a workload's index and its payload. This default is filled in
    /// later than other defaults, because it depends on the MTU of hosts, which is known once the network is built.
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
