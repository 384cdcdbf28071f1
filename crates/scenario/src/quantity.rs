//! Quantities as a scenario writes them: a number with its unit in a string, kept exactly.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use shallows_core::{Bytes, Duration, Rate};

/// A size, `"720KB"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) Bytes);

/// A span of time, `"80us"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Time(pub(crate) Duration);

/// A data rate, `"100Gbps"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Speed(pub(crate) Rate);

/// A size, or a number of full packets, `"80p"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Amount {
    Bytes(Bytes),
    Packets(u32),
}

/// A backlog: a size, a number of full packets, or the time that the link takes to send it, `"20us"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    Bytes(Bytes),
    Packets(u32),
    Time(Duration),
}

/// One value for every queue, or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PerQueue<T> {
    All(T),
    Each(Vec<T>),
}

/// `"auto"`, computed from the rest of the scenario, or a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Automatic<T> {
    #[default]
    Auto,
    Is(T),
}

/// The size of a packet: a whole number of bytes, or a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PacketSize(pub(crate) Bytes);

/// A window: a size, or a whole number of full segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    Bytes(Bytes),
    Segments(u32),
}

/// `"off"`, `"auto"`, or a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Jitter {
    Off,
    #[default]
    Auto,
    Upto(Duration),
}

/// `"off"`, or how much of a connection waits in its own host at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backpressure {
    Off,
    Upto(Bytes),
}

/// `"off"`, `"linux"`, or the largest burst.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tso {
    #[default]
    Off,
    Linux,
    Upto(Bytes),
}

/// `"event"`, at every change, or an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Every {
    #[default]
    Event,
    Interval(Duration),
}

/// Sizes beyond this are slips of the pen; sums of a few thousand of them still fit 64 bits.
const MAX_SIZE: Bytes = Bytes(1 << 50);
/// Likewise: one day. Simulated time ends after 213.
pub(crate) const MAX_TIME: Duration = Duration::from_secs(86_400);
/// Sizes of packets are 16 bits wide, as in IP (RFC 791 §3.1).
pub(crate) const MAX_PACKET: u64 = 65_535;
/// Slower links could keep a packet longer than simulated time lasts.
const MIN_RATE: Rate = Rate(1_000_000);
const MAX_RATE: Rate = Rate(100_000_000_000_000);

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let size: Bytes =
            text.parse().map_err(|error: shallows_core::units::ParseUnitError| error.to_string())?;
        if size > MAX_SIZE {
            return Err(format!("\"{text}\" is above the largest size, {MAX_SIZE}"));
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
            return Err(format!("\"{text}\" is above the longest time, {MAX_TIME}"));
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
            return Err(format!("\"{text}\" is not between {MIN_RATE} and {MAX_RATE}"));
        }
        Ok(Self(rate))
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
                .map_err(|_| format!("\"{text}\" is not a number of packets such as \"80p\""));
        }
        Size::from_str(text)
            .map(|size| Self::Bytes(size.0))
            .map_err(|error| format!("{error}, or packets: \"80p\""))
    }
}

impl Depth {
    /// In bytes, at a link of this `rate` whose full packets have this size.
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
            Err(_) => Err(format!("{error}, or a time on the link: \"20us\"")),
        };
        match Amount::from_str(text) {
            Ok(Amount::Bytes(size)) => Ok(Self::Bytes(size)),
            Ok(Amount::Packets(count)) => Ok(Self::Packets(count)),
            Err(error) => as_time(error),
        }
    }
}

impl<T: Copy> PerQueue<T> {
    /// By queue; `None` if it does not have `queues` entries.
    pub(crate) fn spread(&self, queues: usize) -> Option<Vec<T>> {
        match self {
            Self::All(value) => Some(vec![*value; queues]),
            Self::Each(values) => (values.len() == queues).then(|| values.clone()),
        }
    }

    /// The values given.
    pub(crate) fn values(&self) -> &[T] {
        match self {
            Self::All(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        }
    }
}

impl FromStr for Window {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        Size::from_str(text).map(|size| Self::Bytes(size.0))
    }
}

impl FromStr for Jitter {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "auto" => Ok(Self::Auto),
            _ => Time::from_str(text)
                .map(|time| Self::Upto(time.0))
                .map_err(|error| format!("{error}, or \"off\", or \"auto\"")),
        }
    }
}

impl FromStr for Backpressure {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        Size::from_str(text).map(|size| Self::Upto(size.0)).map_err(|error| format!("{error}, or \"off\""))
    }
}

impl FromStr for Tso {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "linux" => Ok(Self::Linux),
            _ => Size::from_str(text)
                .map(|size| Self::Upto(size.0))
                .map_err(|error| format!("{error}, or \"off\", or \"linux\"")),
        }
    }
}

impl FromStr for Every {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "event" {
            return Ok(Self::Event);
        }
        Time::from_str(text)
            .map(|time| Self::Interval(time.0))
            .map_err(|error| format!("{error}, or \"event\""))
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event => f.write_str("event"),
            Self::Interval(time) => time.fmt(f),
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

impl fmt::Display for Jitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Auto => f.write_str("auto"),
            Self::Upto(time) => time.fmt(f),
        }
    }
}

impl fmt::Display for Backpressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Upto(size) => size.fmt(f),
        }
    }
}

impl fmt::Display for Tso {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Linux => f.write_str("linux"),
            Self::Upto(size) => size.fmt(f),
        }
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

/// Reads a string through [`FromStr`], and says what was expected if there is something else.
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

/// Serde and schema of a type that a scenario writes as a string.
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

as_text!(Size, "Size", "a size such as \"720KB\"", r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB)\s*$");
as_text!(Time, "Time", "a duration such as \"80us\"", r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*(ps|ns|us|ms|s)\s*$");
as_text!(Speed, "Speed", "a rate such as \"100Gbps\"", r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*[KMGT]?bps\s*$");
as_text!(
    Amount,
    "Amount",
    "a size such as \"720KB\", or full packets such as \"80p\"",
    r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB|p)\s*$"
);
as_text!(
    Depth,
    "Depth",
    "a size such as \"720KB\", full packets such as \"80p\", or the time that the link takes to send it, such as \"20us\"",
    r"^\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB|p|ps|ns|us|ms|s)\s*$"
);
as_text!(
    Every,
    "Every",
    "\"event\" or an interval such as \"10us\"",
    r"^(event|\s*[0-9][0-9_]*(\.[0-9_]+)?\s*(ps|ns|us|ms|s)\s*)$"
);
as_text!(
    Jitter,
    "Jitter",
    "\"off\", \"auto\" or a duration such as \"720ns\"",
    r"^(off|auto|\s*[0-9][0-9_]*(\.[0-9_]+)?\s*(ps|ns|us|ms|s)\s*)$"
);

as_text!(
    Tso,
    "Tso",
    "\"off\", \"linux\" or a size such as \"64KB\"",
    r"^(off|linux|\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB)\s*)$"
);

as_text!(
    Backpressure,
    "Backpressure",
    "\"off\" or a size such as \"1MiB\"",
    r"^(off|\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB)\s*)$"
);

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

impl<T: FromStr<Err = String>> FromStr for Automatic<T> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" {
            return Ok(Self::Auto);
        }
        text.parse().map(Self::Is).map_err(|error| format!("{error}, or \"auto\""))
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

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerQueue<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = PerQueue<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("one value for every queue, or a list with one for each")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                T::deserialize(de::value::StrDeserializer::new(text)).map(PerQueue::All)
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                T::deserialize(de::value::I64Deserializer::new(number)).map(PerQueue::All)
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                T::deserialize(de::value::F64Deserializer::new(number)).map(PerQueue::All)
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(PerQueue::Each(values))
            }
        }
        deserializer.deserialize_any(Visitor(std::marker::PhantomData))
    }
}

impl<T: Serialize> Serialize for PerQueue<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All(value) => value.serialize(serializer),
            Self::Each(values) => values.serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for PerQueue<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("PerQueue{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "one value for every queue, or a list with one for each",
            "anyOf": [generator.subschema_for::<T>(), generator.subschema_for::<Vec<T>>()]
        })
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
                    .ok_or_else(|| E::custom(format!("{size} is above {MAX_PACKET}, the largest packet")))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_sizes_or_packets() {
        assert_eq!("80p".parse(), Ok(Amount::Packets(80)));
        assert_eq!("720KB".parse(), Ok(Amount::Bytes(Bytes(720_000))));
        assert_eq!(
            "720kb".parse::<Amount>().unwrap_err(),
            "\"720kb\" is not a size such as \"720KB\": the unit is missing or unknown; did you mean \"720KB\"? \
             (units: B, KB, MB, GB, TB, KiB, MiB, GiB), or packets: \"80p\""
        );
        assert_eq!(
            "-3p".parse::<Amount>().unwrap_err(),
            "\"-3p\" is not a number of packets such as \"80p\""
        );
    }

    #[test]
    fn quantities_beyond_reason_are_refused_with_the_bound() {
        assert_eq!("2s".parse::<Time>().map(|time| time.0), Ok(Duration::from_secs(2)));
        assert_eq!("90000s".parse::<Time>().unwrap_err(), "\"90000s\" is above the longest time, 86400s");
        assert_eq!(
            "2000000GB".parse::<Size>().unwrap_err(),
            "\"2000000GB\" is above the largest size, 1048576GiB"
        );
        assert_eq!("0bps".parse::<Speed>().unwrap_err(), "\"0bps\" is not between 1Mbps and 100Tbps");
    }
}
