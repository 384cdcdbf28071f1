//! `[[measure.captures]]`: which packets are kept in a file of packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

use crate::hosts::HostSet;
use crate::quantity::Size;

/// A pcapng file of the packets that chosen ports send; each at the time at which its first bit leaves the port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Capture {
    /// Name of the file in the run's folder, before its ending `.pcapng`. Default `"capture"`.
    #[serde(default = "capture")]
    pub(crate) name: String,
    /// Ports by kind (`"nic"`, `"to-host"`, `"up"` …) or name, such as `"leaf0->host3"`, in which `*` stands for anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ports: Vec<String>,
    /// Hosts: what they send, and what is sent to them, at both ports of their cable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hosts: Option<HostSet>,
    /// How many bytes of each packet are kept, its headers included; 94 B to 262,144 B. Data is zeros. Default `"96B"`.
    #[serde(default = "headers")]
    pub(crate) snap: Size,
}

fn capture() -> String {
    "capture".to_owned()
}

/// The longest headers are 94 bytes, and some programs want a multiple of 16.
fn headers() -> Size {
    Size(Bytes(96))
}
