//! `[[measure.captures]]`: requests to write the packets of chosen ports to a capture file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shallows_core::Bytes;

use crate::hosts::HostSet;
use crate::quantity::Size;

/// A pcapng file with the packets that chosen ports send. The time of a packet is the moment at which its first bit leaves the port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Capture {
    /// Name of the file in the run's folder, before its ending `.pcapng`. Default `"capture"`.
    #[serde(default = "capture")]
    pub(crate) name: String,
    /// Ports, given by kind (`"nic"`, `"to-host"`, `"up"` …) or by name, such as `"leaf0->host3"`; `*` matches any text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ports: Vec<String>,
    /// Hosts whose packets are captured in both directions: from the host to its switch, and from the switch to the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) hosts: Option<HostSet>,
    /// Bytes kept of each packet, including its headers: 94 B to 262,144 B. Packet contents are written as zeros. Default `"96B"`.
    #[serde(default = "headers")]
    pub(crate) snap: Size,
}

fn capture() -> String {
    "capture".to_owned()
}

/// Returns 96 bytes. The longest headers have 94 bytes, and some programs require a multiple of 16.
fn headers() -> Size {
    Size(Bytes(96))
}
