//! Scenario with every default filled in; checks read it and results carry it.

use std::ops::Deref;

use serde::Serialize;
use shallows_core::Bytes;

use crate::quantity::Size;
use crate::spec::{Spec, Workload};

/// A [`Spec`] in which every default is filled in. Nothing changes it while it is checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Resolved(Spec);

impl Resolved {
    /// That of a spec whose defaults have been filled in: [`crate::resolve::resolve`] does so.
    pub(crate) fn new(filled_in: Spec) -> Self {
        Self(filled_in)
    }

    /// The same with the default payload of datagrams, by workload: it follows from hosts that only the network knows.
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
