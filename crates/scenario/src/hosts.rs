//! Sets of hosts as a scenario names them: `"all"`, `"0..8"`, `"0..8, 12"` or `[0, 1, 5]`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use shallows_core::packet::HostId;

/// Hosts by number, before it is known how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum HostSet {
    /// Every host.
    #[default]
    All,
    /// Half-open ranges in the order given.
    Ranges(Vec<(u32, u32)>),
}

impl HostSet {
    /// The hosts in ascending order, each once, or what is wrong with the set in a network of `hosts`.
    pub(crate) fn resolve(&self, hosts: u32) -> Result<Vec<HostId>, String> {
        let Self::Ranges(ranges) = self else {
            return Ok((0..hosts).map(HostId).collect());
        };
        if let Some(&(first, end)) = ranges.iter().find(|range| range.1 > hosts) {
            let found =
                if end == first + 1 { format!("host {first}") } else { format!("hosts {first}..{end}") };
            return Err(format!("{found} not in the network, whose hosts are 0..{hosts}"));
        }
        // Sorted first, so that overlapping ranges cost nothing however often they repeat.
        let mut sorted = ranges.clone();
        sorted.sort_unstable();
        let mut members: Vec<u32> = Vec::new();
        for (first, end) in sorted {
            let next = members.last().map_or(0, |&last| last + 1);
            members.extend(first.max(next)..end);
        }
        if members.is_empty() {
            return Err("no host at all; name at least one".to_owned());
        }
        Ok(members.into_iter().map(HostId).collect())
    }
}

const EXPECTED: &str = "a set of hosts: \"all\", \"0..8\" (0 to 7), \"0..8, 12\" or [0, 1, 5]";
/// More ranges than any real set has; bounds the memory of a hostile one.
const MAX_RANGES: usize = 100_000;

impl FromStr for HostSet {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let fail = || format!("\"{text}\" is not {EXPECTED}");
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let parts = text.split(',').filter(|part| !part.trim().is_empty()).take(MAX_RANGES);
        let ranges = parts.map(|part| match part.split_once("..") {
            Some((first, end)) => Some((number(first)?, number(end)?)).filter(|range| range.0 <= range.1),
            None => number(part).and_then(|host| Some((host, host.checked_add(1)?))),
        });
        ranges.collect::<Option<Vec<_>>>().map(Self::Ranges).ok_or_else(fail)
    }
}

impl fmt::Display for HostSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Ranges(ranges) = self else {
            return f.write_str("all");
        };
        for (index, &(first, end)) in ranges.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            match end == first.saturating_add(1) {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}..{end}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for HostSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = HostSet;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(EXPECTED)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<HostSet, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, host: i64) -> Result<HostSet, E> {
                one(host)
                    .map(|range| HostSet::Ranges(vec![range]))
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(host), &self))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut members: A) -> Result<HostSet, A::Error> {
                let mut ranges: Vec<(u32, u32)> = Vec::new();
                while let Some(host) = members.next_element::<i64>()? {
                    let range = one(host)
                        .ok_or_else(|| de::Error::invalid_value(de::Unexpected::Signed(host), &Self))?;
                    match ranges.last_mut() {
                        // Runs are written as ranges, so that the set prints short.
                        Some(last) if last.1 == range.0 => last.1 = range.1,
                        _ => ranges.push(range),
                    }
                }
                Ok(HostSet::Ranges(ranges))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

fn one(host: i64) -> Option<(u32, u32)> {
    let host = u32::try_from(host).ok()?;
    Some((host, host.checked_add(1)?))
}

impl JsonSchema for HostSet {
    fn schema_name() -> Cow<'static, str> {
        "HostSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": EXPECTED,
            "anyOf": [
                { "type": "string" },
                { "type": "integer", "minimum": 0 },
                { "type": "array", "items": { "type": "integer", "minimum": 0 } }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str, hosts: u32) -> Result<Vec<u32>, String> {
        let set: HostSet = text.parse()?;
        Ok(set.resolve(hosts)?.into_iter().map(|host| host.0).collect())
    }

    #[test]
    fn sets_are_ranges_and_single_hosts_each_counted_once() {
        assert_eq!(resolved("2..4, 7, 3", 8), Ok(vec![2, 3, 7]));
        assert_eq!(resolved("all", 3), Ok(vec![0, 1, 2]));
        assert_eq!("2..4, 7, 3".parse::<HostSet>().unwrap().to_string(), "2..4, 7, 3");
    }

    #[test]
    fn sets_that_name_nobody_or_strangers_are_refused() {
        assert_eq!(resolved("0..9", 8).unwrap_err(), "hosts 0..9 not in the network, whose hosts are 0..8");
        assert_eq!(resolved("8", 8).unwrap_err(), "host 8 not in the network, whose hosts are 0..8");
        assert_eq!(resolved("", 8).unwrap_err(), "no host at all; name at least one");
        assert_eq!(resolved("3..3", 8).unwrap_err(), "no host at all; name at least one");
        assert_eq!(resolved("4..2", 8).unwrap_err(), format!("\"4..2\" is not {EXPECTED}"));
        assert!(resolved("0..4294967295", 8).is_err() && resolved("4294967295", 8).is_err());
    }
}
