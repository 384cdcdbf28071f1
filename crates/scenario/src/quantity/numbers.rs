//! Sizes that may also be a plain number of bytes or of segments.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use shallows_core::Bytes;

use super::text::Size;

/// Size of a packet: a whole number of bytes, or a number with a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketSize(pub(crate) Bytes);

/// Window: a size with a unit, or a whole number of full segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Bytes(Bytes),
    Segments(u32),
}

impl Window {
    /// Returns the window in bytes, for segments of `mss` bytes.
    pub(crate) fn in_bytes(self, mss: Bytes) -> Bytes {
        match self {
            Self::Bytes(size) => size,
            Self::Segments(count) => mss * u64::from(count),
        }
    }
}

/// Size of the largest packet, because lengths in IP have 16 bits (RFC 791 §3.1).
pub(crate) const MAX_PACKET: u64 = 65_535;

impl FromStr for Window {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Size::from_str(text).map(|size| Self::Bytes(size.0))
    }
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bytes(size) => serializer.collect_str(size),
            Self::Segments(count) => serializer.serialize_u32(*count),
        }
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Window;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of segments, or a size such as \"180KB\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Window, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Window, E> {
                u32::try_from(count)
                    .map(Window::Segments)
                    .map_err(|_| E::invalid_value(de::Unexpected::Signed(count), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl Serialize for PacketSize {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0.0)
    }
}

impl<'de> Deserialize<'de> for PacketSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = PacketSize;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number of bytes from 0 to 65535, or a size such as \"9KB\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<PacketSize, E> {
                let size: Size = text.parse().map_err(E::custom)?;
                packet_size(size.0.0)
                    .ok_or_else(|| E::custom(format!("must be at most {MAX_PACKET}B, got {size}")))
            }

            fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<PacketSize, E> {
                let size = u64::try_from(bytes).ok().and_then(packet_size);
                size.ok_or_else(|| E::invalid_value(de::Unexpected::Signed(bytes), &self))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

fn packet_size(bytes: u64) -> Option<PacketSize> {
    (bytes <= MAX_PACKET).then_some(PacketSize(Bytes(bytes)))
}

impl JsonSchema for PacketSize {
    fn schema_name() -> Cow<'static, str> {
        "PacketSize".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a whole number of bytes, or a size such as \"9KB\"",
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": MAX_PACKET }, generator.subschema_for::<Size>()]
        })
    }
}

impl JsonSchema for Window {
    fn schema_name() -> Cow<'static, str> {
        "Window".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a whole number of full segments, or a size such as \"180KB\"",
            "anyOf": [{ "type": "integer", "minimum": 0 }, generator.subschema_for::<Size>()]
        })
    }
}
