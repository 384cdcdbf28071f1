//! Quantities that may also be given as a word, such as `"off"`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shallows_core::{Bytes, Duration, Rate};

use super::text::{Size, Text, Time, as_text};

/// Maximum random delay of packets: `"off"`, `"auto"` or a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Jitter {
    Off,
    #[default]
    Auto,
    Upto(Duration),
}

impl Jitter {
    /// Returns the maximum random delay of packets at hosts whose link has this rate and whose full packets have this size.
    pub(crate) fn time(self, rate: Rate, packet: Bytes) -> Duration {
        match self {
            Self::Off => Duration::ZERO,
            Self::Auto => rate.transmission_time(packet),
            Self::Upto(time) => time,
        }
    }

    /// Returns this jitter with `"auto"` replaced by its value: a duration, or off if the delay is zero.
    pub(crate) fn spelled_out(self, rate: Rate, packet: Bytes) -> Self {
        let time = self.time(rate, packet);
        if time == Duration::ZERO { Self::Off } else { Self::Upto(time) }
    }
}

/// Maximum amount of a connection's data that waits in the sending host: `"off"` or a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backpressure {
    Off,
    Upto(Bytes),
}

/// Size of the bursts of segmentation offload: `"off"`, `"linux"` or a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tso {
    #[default]
    Off,
    Linux,
    Upto(Bytes),
}

/// Times of records: `"event"`, which means every change, or an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Every {
    #[default]
    Event,
    Interval(Duration),
}

/// Headroom of a lossless class: `"auto"`, `"sonic-spectrum"`, `"hpcc-repo"` or a size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum HeadroomSize {
    #[default]
    Auto,
    SonicSpectrum,
    HpccRepo,
    Is(Bytes),
}

impl FromStr for HeadroomSize {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "sonic-spectrum" => Ok(Self::SonicSpectrum),
            "hpcc-repo" => Ok(Self::HpccRepo),
            _ => Size::from_str(text).map(|size| Self::Is(size.0)).map_err(|error| {
                format!("{error}; \"auto\", \"sonic-spectrum\" and \"hpcc-repo\" are also allowed")
            }),
        }
    }
}

impl fmt::Display for HeadroomSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::SonicSpectrum => f.write_str("sonic-spectrum"),
            Self::HpccRepo => f.write_str("hpcc-repo"),
            Self::Is(size) => size.fmt(f),
        }
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
                .map_err(|error| format!("{error}; \"off\" and \"auto\" are also allowed")),
        }
    }
}

impl FromStr for Backpressure {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "off" {
            return Ok(Self::Off);
        }
        Size::from_str(text)
            .map(|size| Self::Upto(size.0))
            .map_err(|error| format!("{error}; \"off\" is also allowed"))
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
                .map_err(|error| format!("{error}; \"off\" and \"linux\" are also allowed")),
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
            .map_err(|error| format!("{error}; \"event\" is also allowed"))
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

as_text!(
    HeadroomSize,
    "HeadroomSize",
    "\"auto\", \"sonic-spectrum\", \"hpcc-repo\" or a size such as \"64KB\"",
    r"^(auto|sonic-spectrum|hpcc-repo|\s*[0-9][0-9_]*(\.[0-9_]+)?\s*([KMGT]?B|[KMG]iB)\s*)$"
);
