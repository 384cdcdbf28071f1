//! Quantities that are written as a string with a number and a unit, and are kept exactly.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use shallows_core::{Bytes, Duration, Rate};

/// Size, such as `"720KB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) Bytes);

/// Duration, such as `"80us"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) Duration);

/// Data rate, such as `"100Gbps"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Speed(pub(crate) Rate);

/// Number of packets per second, such as `"20Mpps"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketRate(pub(crate) u64);

/// Amount of data: a size, or a number of full packets, such as `"80p"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Bytes(Bytes),
    Packets(u32),
}

/// Backlog: a size, a number of full packets, or the time that the link takes to send it, such as `"20us"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    Bytes(Bytes),
    Packets(u32),
    Time(Duration),
}

/// Value that the scenario gives, or `"auto"` if it is computed from the rest of the scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Automatic<T> {
    #[default]
    Auto,
    Is(T),
}

impl<T> Automatic<T> {
    /// Returns the value that the scenario gives, or `computed` for `"auto"`.
    pub(crate) fn or(self, computed: T) -> T {
        match self {
            Self::Is(given) => given,
            Self::Auto => computed,
        }
    }

    /// Returns the value of a key after defaults are filled in, when the key is no longer `"auto"`.
    pub(crate) fn filled(self) -> T {
        match self {
            Self::Is(value) => value,
            Self::Auto => unreachable!("filled in before the checks"),
        }
    }
}

/// Largest size that a scenario may contain. Larger sizes are usually typing errors, and sums of a few thousand sizes still fit 64 bits.
const MAX_SIZE: Bytes = Bytes(1 << 50);

/// Longest duration that a scenario may contain: one day. Simulated time can represent 213 days.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(86_400);

/// Lowest rate that a scenario may contain. On a slower link, sending one packet could take longer than simulated time can represent.
const MIN_RATE: Rate = Rate(1_000_000);
const MAX_RATE: Rate = Rate(100_000_000_000_000);

/// Largest number of packets per second that a scenario may contain: one per 100 ps.
const MAX_PACKET_RATE: u64 = 10_000_000_000;

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let size: Bytes =
            text.parse().map_err(|error: shallows_core::units::ParseUnitError| error.to_string())?;
        if size > MAX_SIZE {
            return Err(format!("must be at most {MAX_SIZE}, got \"{text}\""));
        }
        Ok(Self(size))
    }
}

impl FromStr for Time {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let time: Duration =
            text.parse().map_err(|error: shallows_core::units::ParseUnitError| error.to_string())?;
        if time > MAX_TIME {
            return Err(format!("must be at most {MAX_TIME}, got \"{text}\""));
        }
        Ok(Self(time))
    }
}

impl FromStr for Speed {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let rate: Rate =
            text.parse().map_err(|error: shallows_core::units::ParseUnitError| error.to_string())?;
        if !(MIN_RATE..=MAX_RATE).contains(&rate) {
            return Err(format!("must be from {MIN_RATE} to {MAX_RATE}, got \"{text}\""));
        }
        Ok(Self(rate))
    }
}

impl PacketRate {
    /// Returns the time between two packets, rounded up to a picosecond.
    pub(crate) fn time_of_packet(self) -> Duration {
        Duration(Duration::from_secs(1).0.div_ceil(self.0))
    }
}

impl FromStr for PacketRate {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let rate = text.trim().strip_suffix("pps").and_then(|number| format!("{number}bps").parse().ok());
        match rate {
            Some(Rate(packets)) if (1..=MAX_PACKET_RATE).contains(&packets) => Ok(Self(packets)),
            Some(_) => Err(format!("must be from 1pps to {}, got \"{text}\"", Self(MAX_PACKET_RATE))),
            None => Err(format!(
                "must be a number of packets per second such as \"20Mpps\", got \"{text}\" (units: pps, Kpps, Mpps, Gpps)"
            )),
        }
    }
}

impl FromStr for Amount {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(packets) = text.trim().strip_suffix('p') {
            return packets
                .trim_end()
                .replace('_', "")
                .parse()
                .map(Self::Packets)
                .map_err(|_| format!("must be a number of packets such as \"80p\", got \"{text}\""));
        }
        Size::from_str(text)
            .map(|size| Self::Bytes(size.0))
            .map_err(|error| format!("{error}; a number of packets such as \"80p\" is also allowed"))
    }
}

impl Depth {
    /// Returns the backlog in bytes, for a link with this `rate` whose full packets have the size `packet`.
    pub(crate) fn in_bytes(self, packet: Bytes, rate: Rate) -> Bytes {
        match self {
            Self::Bytes(size) => size,
            Self::Packets(count) => packet * u64::from(count),
            Self::Time(time) => rate.bytes_in(time),
        }
    }
}

impl FromStr for Depth {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let as_time = |error| match Time::from_str(text) {
            Ok(time) => Ok(Self::Time(time.0)),
            Err(_) => {
                Err(format!("{error}; a transmission time on the link such as \"20us\" is also allowed"))
            }
        };
        match Amount::from_str(text) {
            Ok(Amount::Bytes(size)) => Ok(Self::Bytes(size)),
            Ok(Amount::Packets(count)) => Ok(Self::Packets(count)),
            Err(error) => as_time(error),
        }
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PacketRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Rate(self.0).to_string().replace("bps", "pps"))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(size) => size.fmt(f),
            Self::Packets(count) => write!(f, "{count}p"),
        }
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(size) => size.fmt(f),
            Self::Packets(count) => write!(f, "{count}p"),
            Self::Time(time) => time.fmt(f),
        }
    }
}

/// Deserialises a string with [`FromStr`]. An error message states the expected form.
pub(crate) struct Text<T> {
    expected: &'static str,
    marker: std::marker::PhantomData<T>,
}

impl<T> Text<T> {
    pub(crate) fn new(expected: &'static str) -> Self {
        Self { expected, marker: std::marker::PhantomData }
    }
}

impl<T: FromStr<Err = String>> de::Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Implements serialisation and the JSON Schema for a type that scenarios write as a string.
macro_rules! as_text {
    ($type:ty, $name:literal, $expected:literal, $pattern:literal) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(Text::<Self>::new($expected))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "description": $expected })
            }
        }
    };
}

pub(crate) use as_text;

as_text!(Size, "Size", "a size such as \"720KB\"", r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB)\s*$");

as_text!(Time, "Time", "a duration such as \"80us\"", r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*(ps|ns|us|ms|s)\s*$");

as_text!(Speed, "Speed", "a rate such as \"100Gbps\"", r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*[KMGT]?bps\s*$");

as_text!(
    PacketRate,
    "PacketRate",
    "a number of packets per second such as \"20Mpps\"",
    r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*[KMG]?pps\s*$"
);

as_text!(
    Amount,
    "Amount",
    "a size such as \"720KB\", or a number of full packets such as \"80p\"",
    r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB|p)\s*$"
);

as_text!(
    Depth,
    "Depth",
    "a size such as \"720KB\", a number of full packets such as \"80p\", or a transmission time on the link such as \
     \"20us\"",
    r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB|p|ps|ns|us|ms|s)\s*$"
);

impl<T: FromStr<Err = String>> FromStr for Automatic<T> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Is).map_err(|error| format!("{error}; \"auto\" is also allowed"))
    }
}

impl<T: fmt::Display> fmt::Display for Automatic<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Is(value) => value.fmt(f),
        }
    }
}

impl<'de, T: FromStr<Err = String>> Deserialize<'de> for Automatic<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(Text::<Self>::new("\"auto\", or a quantity with its unit, such as \"80us\""))
    }
}

impl<T: fmt::Display> Serialize for Automatic<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<T: JsonSchema> JsonSchema for Automatic<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Automatic{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "const": "auto" }, generator.subschema_for::<T>()] })
    }
}
