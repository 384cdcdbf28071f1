//! Sets of hosts, as scenarios write them: `"all"`; numbers such as `"0..8"`, `"0..8, 12"`, `"0..8 step 2"` or `[0, 1, 5]`; names such as
//! `"s1-*, r1"`; and groups such as `"group:old"`. Sets of racks have the same forms except for groups.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use shallows_core::packet::HostId;

use crate::membership::Groups;
use crate::pattern;
use crate::topology::Network;

/// Set of hosts as the scenario writes it, before it is applied to a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum HostSet {
    /// Every host.
    #[default]
    All,
    /// Union of several parts, in the order of the scenario.
    Parts(Vec<Part>),
}

/// Part of a set of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Half-open range of numbers.
    Range(u32, u32),
    /// Every *n*-th number of a half-open range, beginning with its first number. The third field is *n*, which is at least 2.
    Steps(u32, u32, u32),
    /// Hosts whose names match this pattern, in which `*` matches any text.
    Name(String),
    /// Hosts of the groups whose names match this pattern, in which `*` matches any text.
    Group(String),
}

/// Set of racks as the scenario writes it. A rack is identified by the name of its switch, or by the number of its switch among the
/// switches with hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct RackSet(HostSet);

/// All hosts or all racks of a network, from which a set is chosen.
struct Whole<'a, Name> {
    /// Noun that messages use: `host` or `rack`.
    noun: &'static str,
    count: u32,
    /// Function that returns the name of the host or rack with a given number.
    name: Name,
    /// Groups to which a set may refer; `None` for sets of racks and for sets that define groups.
    groups: Option<&'a Groups>,
}

impl HostSet {
    /// Returns the hosts of the set in ascending order, each once. Returns a message if the set does not fit this network.
    pub(crate) fn resolve(&self, network: &Network) -> Result<Vec<HostId>, String> {
        let groups = Some(&network.groups);
        let name = |host| network.host_name(host);
        let found = self.among(&Whole { noun: "host", count: network.hosts, name, groups })?;
        Ok(found.into_iter().map(HostId).collect())
    }

    /// Returns the numbers of the set's hosts in a network of `count` hosts whose groups are not known yet. Returns an error if the set
    /// refers to a group.
    pub(crate) fn members<S: AsRef<str>>(
        &self,
        count: u32,
        name: impl Fn(u32) -> S,
    ) -> Result<Vec<u32>, String> {
        self.among(&Whole { noun: "host", count, name, groups: None })
    }

    fn among<S: AsRef<str>>(&self, whole: &Whole<'_, impl Fn(u32) -> S>) -> Result<Vec<u32>, String> {
        let &Whole { noun, count: hosts, ref name, groups } = whole;
        let Self::Parts(parts) = self else {
            return Ok((0..hosts).collect());
        };
        // Ranges are collected before they are expanded, so that overlapping and repeated ranges need no memory.
        let mut sorted: Vec<(u32, u32)> = Vec::new();
        for part in parts {
            match part {
                &(Part::Range(first, end) | Part::Steps(first, end, _)) if end > hosts => {
                    let found = if end == first + 1 {
                        format!("{noun} {first}")
                    } else {
                        format!("{noun}s {first}..{end}")
                    };
                    return Err(format!(
                        "must name {noun}s from 0 to {}, got {found}",
                        hosts.saturating_sub(1)
                    ));
                }
                &Part::Range(first, end) => sorted.push((first, end)),
                &Part::Steps(first, end, step) => {
                    sorted.extend((first..end).step_by(step as usize).map(|host| (host, host + 1)));
                }
                Part::Name(wanted) => {
                    let before = sorted.len();
                    let named = (0..hosts).filter(|&host| pattern::matches(wanted, name(host).as_ref()));
                    sorted.extend(named.map(|host| (host, host + 1)));
                    if sorted.len() == before {
                        let one = name(0);
                        return Err(format!(
                            "no {noun} is named \"{wanted}\"; use a name such as \"{}\"",
                            one.as_ref()
                        ));
                    }
                }
                Part::Group(wanted) => {
                    let groups = groups.ok_or("the members of a group must be hosts, not groups")?;
                    let found = groups.members(wanted)?;
                    sorted.extend(found.map(|host| (host, host + 1)));
                }
            }
        }
        sorted.sort_unstable();
        let mut members: Vec<u32> = Vec::new();
        for (first, end) in sorted {
            let next = members.last().map_or(0, |&last| last + 1);
            members.extend(first.max(next)..end);
        }
        if members.is_empty() {
            return Err(format!("must name at least one {noun}"));
        }
        Ok(members)
    }
}

impl RackSet {
    /// Returns the numbers of the set's racks in ascending order, each once. `count` is the number of racks.
    pub(crate) fn resolve<'a>(&self, count: u32, name: impl Fn(u32) -> &'a str) -> Result<Vec<u32>, String> {
        self.0.among(&Whole { noun: "rack", count, name, groups: None })
    }
}

impl<'de> Deserialize<'de> for RackSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let set = HostSet::deserialize(deserializer)?;
        let grouped =
            matches!(&set, HostSet::Parts(parts) if parts.iter().any(|part| matches!(part, Part::Group(_))));
        if grouped {
            return Err(de::Error::custom(
                "racks must be numbers such as \"0..2\" or names of switches, not groups",
            ));
        }
        Ok(Self(set))
    }
}

impl JsonSchema for RackSet {
    fn schema_name() -> Cow<'static, str> {
        "RackSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        set_schema(
            "a set of racks: \"all\", \"0..2\" (0 and 1), \"0..8 step 2\", [0, 1, 5], or names of switches such as \
             \"leaf3\"",
        )
    }
}

const EXPECTED: &str = "a set of hosts: \"all\", \"0..8\" (0 to 7), \"0..8, 12\", \"0..8 step 2\", [0, 1, 5], names \
                        such as \"host3\" and \"s1-*\", or groups such as \"group:old\"";
/// Maximum number of parts of a set. It exceeds every realistic set and limits the memory that hostile input can use.
const MAX_PARTS: usize = 100_000;
/// Maximum number of parts that are slow to expand: names, which are compared with every host, and ranges with a step.
const MAX_LONG_PARTS: usize = 1_000;

impl FromStr for HostSet {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "all" {
            return Ok(Self::All);
        }
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).take(MAX_PARTS);
        let parts = parts.map(part).collect::<Option<Vec<_>>>();
        Self::of(parts).ok_or_else(|| format!("must be {EXPECTED}; got \"{text}\""))
    }
}

impl HostSet {
    fn of(parts: Option<Vec<Part>>) -> Option<Self> {
        let parts = parts?;
        let long = parts.iter().filter(|part| !matches!(part, Part::Range(..))).count();
        (long <= MAX_LONG_PARTS).then_some(Self::Parts(parts))
    }
}

/// Parses one part: a number, a range of numbers (optionally with a step), a name, or a group.
fn part(text: &str) -> Option<Part> {
    let sound = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '*');
    let is_name = |name: &str| !name.is_empty() && name.chars().all(sound);
    if let Some(group) = text.strip_prefix("group:") {
        let group = group.trim();
        return is_name(group).then(|| Part::Group(group.to_owned()));
    }
    let number = |text: &str| text.trim().parse::<u32>().ok();
    if let Some((first, end)) = text.split_once("..") {
        let (end, step) = end.split_once("step").map_or((end, Some(1)), |(end, step)| (end, number(step)));
        let (first, end, step) = (number(first)?, number(end)?, step?);
        return (first <= end && step > 0).then_some(match step {
            1 => Part::Range(first, end),
            _ => Part::Steps(first, end, step),
        });
    }
    if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') && text.parse::<i64>().is_ok() {
        return one(text.parse().ok()?);
    }
    is_name(text).then(|| Part::Name(text.to_owned()))
}

impl fmt::Display for HostSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Parts(parts) = self else {
            return f.write_str("all");
        };
        for (index, part) in parts.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            match part {
                &Part::Range(first, end) if end == first.saturating_add(1) => write!(f, "{comma}{first}")?,
                Part::Range(first, end) => write!(f, "{comma}{first}..{end}")?,
                Part::Steps(first, end, step) => write!(f, "{comma}{first}..{end} step {step}")?,
                Part::Name(name) => write!(f, "{comma}{name}")?,
                Part::Group(name) => write!(f, "{comma}group:{name}")?,
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
                    .map(|range| HostSet::Parts(vec![range]))
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Signed(host), &self))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut members: A) -> Result<HostSet, A::Error> {
                let mut parts: Vec<Part> = Vec::new();
                while let Some(Member(next)) = members.next_element()? {
                    match (parts.last_mut(), next) {
                        // Consecutive numbers become a range, which keeps the printed set short.
                        (Some(Part::Range(_, end)), Part::Range(first, after)) if *end == first => {
                            *end = after
                        }
                        (_, next) => parts.push(next),
                    }
                }
                HostSet::of(Some(parts)).ok_or_else(|| {
                    de::Error::custom(format!(
                        "can have at most {MAX_LONG_PARTS} parts that are single names or ranges with a step; ranges without a step do not count"
                    ))
                })
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Entry of a list of hosts: a number or a text.
struct Member(Part);

impl<'de> Deserialize<'de> for Member {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let part = match toml::Value::deserialize(deserializer)? {
            toml::Value::Integer(host) => one(host),
            toml::Value::String(text) => part(text.trim()).filter(|_| text.trim() != "all"),
            _ => None,
        };
        part.map(Self)
            .ok_or_else(|| de::Error::custom(format!("each entry must be a host; expected {EXPECTED}")))
    }
}

fn one(host: i64) -> Option<Part> {
    let host = u32::try_from(host).ok()?;
    Some(Part::Range(host, host.checked_add(1)?))
}

impl JsonSchema for HostSet {
    fn schema_name() -> Cow<'static, str> {
        "HostSet".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        set_schema(EXPECTED)
    }
}

fn set_schema(description: &str) -> Schema {
    json_schema!({
        "description": description,
        "anyOf": [
            { "type": "string" },
            { "type": "integer", "minimum": 0 },
            { "type": "array", "items": { "type": ["integer", "string"], "minimum": 0 } }
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(text: &str, hosts: u32) -> Result<Vec<u32>, String> {
        let set: HostSet = text.parse()?;
        let names: Vec<String> = (0..hosts).map(|host| format!("host{host}")).collect();
        set.members(hosts, |host| &names[host as usize])
    }

    #[test]
    fn sets_are_ranges_and_single_hosts_each_counted_once() {
        assert_eq!(resolved("2..4, 7, 3", 8), Ok(vec![2, 3, 7]));
        assert_eq!(resolved("all", 3), Ok(vec![0, 1, 2]));
        assert_eq!("2..4, 7, 3".parse::<HostSet>().unwrap().to_string(), "2..4, 7, 3");
    }

    #[test]
    fn ranges_may_have_steps() {
        assert_eq!(resolved("1..12 step 4", 12), Ok(vec![1, 5, 9]));
        assert_eq!(resolved("0..4 step 2, 0..3", 12), Ok(vec![0, 1, 2]));
        assert_eq!("1..12 step 4, 2".parse::<HostSet>().unwrap().to_string(), "1..12 step 4, 2");
        assert_eq!("0..4 step 1".parse(), "0..4".parse::<HostSet>());
        assert_eq!(resolved("0..9 step 2", 8).unwrap_err(), "must name hosts from 0 to 7, got hosts 0..9");
        assert!(resolved("0..8 step 0", 8).is_err() && resolved("0..8 step", 8).is_err());
    }

    #[test]
    fn hosts_have_names() {
        assert_eq!(resolved("host2, host1*", 12), Ok(vec![1, 2, 10, 11]));
        assert_eq!(resolved("*, 0..2", 3), Ok(vec![0, 1, 2]));
        assert_eq!(
            resolved("hots1", 3).unwrap_err(),
            "no host is named \"hots1\"; use a name such as \"host0\""
        );
        let listed: HostSet = toml::Value::try_into(toml::Value::Array(vec![
            toml::Value::Integer(0),
            toml::Value::Integer(1),
            toml::Value::String("host7".to_owned()),
        ]))
        .unwrap();
        assert_eq!(listed.to_string(), "0..2, host7");
        assert_eq!("0..2, host7".parse(), Ok(listed));
    }

    #[test]
    fn sets_that_name_nobody_or_strangers_are_refused() {
        assert_eq!(resolved("0..9", 8).unwrap_err(), "must name hosts from 0 to 7, got hosts 0..9");
        assert_eq!(resolved("8", 8).unwrap_err(), "must name hosts from 0 to 7, got host 8");
        assert_eq!(resolved("", 8).unwrap_err(), "must name at least one host");
        assert_eq!(resolved("3..3", 8).unwrap_err(), "must name at least one host");
        assert_eq!(resolved("4..2", 8).unwrap_err(), format!("must be {EXPECTED}; got \"4..2\""));
        assert!(resolved("0..4294967295", 8).is_err() && resolved("4294967295", 8).is_err());
    }
}
