//! Enums whose variant is chosen by the key `kind`. An error during their deserialisation has the path of the wrong key.
//!
//! Serde's own internally tagged enums lose this path, because they buffer their contents. This module reads the contents a second time
//! with a reader that tracks the path, and passes the path to the outer reader inside the error message.

use serde::de::{DeserializeOwned, Error};
use toml::{Table, Value};

use crate::document::{Path, Step};
use crate::error::nearest;

/// Character around a path that is embedded in an error message. If a text in a scenario contains this character, only errors about that
/// text have a wrong location.
const FENCE: char = '\u{1f}';

/// Declares an enum with one variant and one struct for each kind, with its deserialisation and its schema.
///
/// In a scenario, a string with the name of a kind means a table with only that `kind`.
macro_rules! tagged {
    ($(#[$meta:meta])* $name:ident, $what:literal { $($(#[$doc:meta])* $kind:literal => $variant:ident($type:ty)),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema)]
        #[serde(tag = "kind")]
        #[schemars(transform = $crate::tagged::allow_name)]
        pub(crate) enum $name {
            $($(#[$doc])* #[serde(rename = $kind)] $variant($type)),+
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = <toml::Value as serde::Deserialize>::deserialize(deserializer)?;
                let (kind, rest) = $crate::tagged::split(value, $what, &[$($kind),+])?;
                match kind.as_str() {
                    $($kind => $crate::tagged::contents(rest).map(Self::$variant),)+
                    _ => unreachable!("an unknown kind is refused above"),
                }
            }
        }
    };
}
pub(crate) use tagged;

/// Splits a table into its kind, which must be one of `known`, and its remaining keys. `what` is the noun for the enum in error messages.
pub(crate) fn split<E: Error>(value: Value, what: &str, known: &[&str]) -> Result<(String, Table), E> {
    let expected = quoted(known);
    let (kind, rest) = match value {
        // A string with a dot is the path of a file with flow sizes.
        Value::String(path) if known.contains(&"file") && path.contains('.') => {
            ("file".to_owned(), Some(Table::from_iter([("path".to_owned(), Value::String(path))])))
        }
        Value::String(kind) => (kind, None),
        Value::Table(mut table) => match table.remove("kind") {
            Some(Value::String(kind)) => (kind, Some(table)),
            Some(other) => {
                let message = format!("must be one of {expected}, got a value of type {}", other.type_str());
                return Err(fenced(&[Step::Key("kind".to_owned())], &message));
            }
            None => {
                return Err(E::custom(format!("the key \"kind\" is missing; it must be one of {expected}")));
            }
        },
        other => {
            let message = format!(
                "must be one of {expected}, or a table with one of these kinds, got a value of type {}",
                other.type_str()
            );
            return Err(E::custom(message));
        }
    };
    if known.contains(&kind.as_str()) {
        return Ok((kind, rest.unwrap_or_default()));
    }
    let message = match (elsewhere(&kind), unmodelled(&kind)) {
        (Some(remedy), _) => {
            format!("\"{kind}\" is not allowed here ({remedy}); expected one of {}", quoted(known))
        }
        (None, Some(_)) => format!("\"{kind}\" is not modelled; expected one of {}", quoted(known)),
        (None, None) => {
            format!("unknown {what} \"{kind}\"{}; expected one of {}", hint(&kind, known), quoted(known))
        }
    };
    Err(if rest.is_none() { E::custom(message) } else { fenced(&[Step::Key("kind".to_owned())], &message) })
}

/// Returns the error for a value `found` at `path` that is not one of the names in `known`. `what` is the noun for the enum in the message.
pub(crate) fn unknown<E: Error>(path: &[Step], what: &str, found: &Value, known: &[&str]) -> E {
    let message = match found.as_str() {
        Some(name) => {
            format!("unknown {what} \"{name}\"{}; expected one of {}", hint(name, known), quoted(known))
        }
        None => format!("must be one of {1}, got a value of type {0}", found.type_str(), quoted(known)),
    };
    fenced(path, &message)
}

/// Deserialises the keys of a table that remain after its `kind`. The message of an error contains the path of the wrong key.
pub(crate) fn contents<T: DeserializeOwned, E: Error>(table: Table) -> Result<T, E> {
    read(Value::Table(table)).map_err(|(path, message)| fenced(&path, &message))
}

/// Deserialises a value. An error consists of the path of the wrong key and a message.
pub(crate) fn read<T: DeserializeOwned>(value: Value) -> Result<T, (Path, String)> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut path: Path = error.path().iter().filter_map(step).collect();
        let message = error.inner().message().to_owned();
        let (inner, message) = unfence(&message);
        path.extend(inner);
        let (unknown, message) = reword(&message);
        if let Some(key) = unknown
            && path.last() != Some(&Step::Key(key.clone()))
        {
            path.push(Step::Key(key));
        }
        (path, message)
    })
}

/// Extends the schema of a tagged enum so that the name of a kind is allowed in place of a table with only that kind.
pub(crate) fn allow_name(schema: &mut schemars::Schema) {
    let Some(serde_json::Value::Array(kinds)) = schema.get_mut("oneOf") else { return };
    let names: Vec<serde_json::Value> =
        kinds.iter().map(|kind| kind["properties"]["kind"]["const"].clone()).collect();
    let file = names.iter().any(|name| name == "file");
    kinds.push(serde_json::json!({ "type": "string", "enum": names }));
    if file {
        kinds
            .push(serde_json::json!({ "type": "string", "pattern": r"\.", "description": "name of a file" }));
    }
}

fn step(segment: &serde_path_to_error::Segment) -> Option<Step> {
    use serde_path_to_error::Segment;
    match segment {
        Segment::Map { key } => Some(Step::Key(key.clone())),
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Enum { .. } | Segment::Unknown => None,
    }
}

fn fenced<E: Error>(path: &[Step], message: &str) -> E {
    let mut text = String::new();
    for step in path {
        text.push(FENCE);
        match step {
            Step::Key(key) => text.extend(["k", key]),
            Step::Index(index) => text.push_str(&format!("i{index}")),
        }
    }
    E::custom(format!("{text}{FENCE}{FENCE}{message}"))
}

fn unfence(message: &str) -> (Path, String) {
    let Some((path, message)) = message.split_once("\u{1f}\u{1f}") else {
        return (Path::new(), message.to_owned());
    };
    let steps = path.split(FENCE).filter_map(|step| match step.split_at_checked(1)? {
        ("i", index) => index.parse().ok().map(Step::Index),
        (_, key) => Some(Step::Key(key.to_owned())),
    });
    (steps.collect(), message.to_owned())
}

/// Replaces serde's wording of an error by the wording of this crate. For an error about an unknown key, also returns the key.
fn reword(message: &str) -> (Option<String>, String) {
    let names =
        |text: &str| -> Vec<String> { text.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    if let Some(rest) = message.strip_prefix("unknown field ") {
        let mut known = names(rest);
        if known.is_empty() {
            return (None, message.to_owned());
        }
        let found = known.remove(0);
        let list: Vec<&str> = known.iter().map(String::as_str).collect();
        let allowed = if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        let message = match (elsewhere(&found), unmodelled(&found)) {
            (Some(remedy), _) => format!("not allowed here ({remedy}); allowed keys: {allowed}"),
            (None, Some(name)) => format!("{name} is not modelled; allowed keys: {allowed}"),
            (None, None) => format!("unknown key{}; allowed keys: {allowed}", hint(&found, &list)),
        };
        return (Some(found), message);
    }
    if let Some(rest) = message.strip_prefix("missing field ") {
        return (None, format!("the key \"{}\" is missing", names(rest).concat()));
    }
    if let Some(rest) = message.strip_prefix("unknown variant ") {
        let mut known = names(rest);
        if !known.is_empty() {
            let found = known.remove(0);
            let list: Vec<&str> = known.iter().map(String::as_str).collect();
            let problem = match (elsewhere(&found), unmodelled(&found)) {
                (Some(remedy), _) => format!("not allowed here ({remedy})"),
                (None, Some(_)) => "not modelled".to_owned(),
                (None, None) => format!("unknown{}", hint(&found, &list)),
            };
            return (None, format!("\"{found}\" is {problem}; expected one of {}", quoted(&list)));
        }
    }
    if let Some(text) = message
        .strip_prefix("invalid type: string ")
        .and_then(|rest| rest.strip_suffix(", expected a sequence"))
    {
        return (None, format!("must be a list in brackets, such as [{text}], got {text}"));
    }
    if let Some((found, _)) =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected struct "))
    {
        return (None, format!("must be a table such as {{ key = value }}, got {found}"));
    }
    let message = message
        .replace("expected a sequence", "expected a list in brackets")
        .replace("expected u64", "expected a whole number that is not negative")
        .replace("expected u32", "expected a whole number from 0 to 4294967295")
        .replace("expected u16", "expected a whole number from 0 to 65535")
        .replace("expected u8", "expected a whole number from 0 to 255")
        .replace("expected f64", "expected a number")
        .replace("expected a boolean", "expected true or false");
    (None, message)
}

/// Names, in lower case, of mechanisms that other simulators model and Shallows does not. An error about such a name states that Shallows
/// does not model the mechanism, and suggests no other name.
const NOT_MODELLED: [&str; 26] = [
    "aqua",
    "bbr",
    "bbr2",
    "bbr3",
    "bolt",
    "copa",
    "dctcp-rdma",
    "expresspass",
    "go-back-0",
    "homa",
    "hull",
    "infiniband",
    "l4s",
    "ndp",
    "pfabric",
    "phost",
    "pie",
    "poseidon",
    "qcn",
    "quic",
    "tcp-prague",
    "prague",
    "vegas",
    "westwood",
    "conga",
    "letflow",
];

const QUEUE_PAIRS: &str =
    "it controls queue pairs: set transport = \"roce\" in a workload, and roce.congestion";
const PINT: &str = "set transport = \"roce\" in a workload, and roce.congestion = \"hpcc-pint\"";
const RDMA: &str = "set transport = \"roce\" in a workload";
const ATOMICS: &str = "atomics are not modelled: use another operation, with messages of 8 bytes";
const DATAGRAMS: &str = "unreliable datagrams are not modelled, only reliable connections: use transport = \"roce\" with \
                         roce.operation = \"send\", or a workload of kind \"udp\"";
const UNRELIABLE: &str =
    "unreliable connections are not modelled, only reliable ones: use transport = \"roce\"";

/// Names, in lower case, of mechanisms for which an error suggests other keys or another mechanism, each with this suggestion.
const ELSEWHERE: [(&str, &str); 19] = [
    ("atomic", ATOMICS),
    ("atomics", ATOMICS),
    ("compare-and-swap", ATOMICS),
    ("dcqcn", QUEUE_PAIRS),
    ("fetch-and-add", ATOMICS),
    ("hpcc", QUEUE_PAIRS),
    ("pfc", "set switch.lossless"),
    ("pint", PINT),
    ("powertcp", QUEUE_PAIRS),
    ("rdma", RDMA),
    ("roce", RDMA),
    ("roce-uc", UNRELIABLE),
    ("roce-ud", DATAGRAMS),
    ("rocev2", RDMA),
    ("swift", QUEUE_PAIRS),
    ("theta-powertcp", QUEUE_PAIRS),
    ("timely", QUEUE_PAIRS),
    ("uc", UNRELIABLE),
    ("ud", DATAGRAMS),
];

/// Returns the suggestion for the mechanism named `found`, if [`ELSEWHERE`] contains one.
fn elsewhere(found: &str) -> Option<&'static str> {
    let plain = found.to_lowercase().replace('_', "-");
    ELSEWHERE.into_iter().find(|(name, _)| *name == plain).map(|(_, remedy)| remedy)
}

/// Returns the name in [`NOT_MODELLED`] that equals `found`, if there is one. Case does not matter, and `_` equals `-`.
fn unmodelled(found: &str) -> Option<&'static str> {
    let plain = found.to_lowercase().replace('_', "-");
    NOT_MODELLED.into_iter().find(|name| *name == plain)
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Returns the end of an error message: the name that was probably meant, or an empty text if no name in `known` is similar.
fn hint(found: &str, known: &[&str]) -> String {
    let meant = nearest(found, known.iter().copied());
    meant.map_or(String::new(), |name| format!(" (did you mean \"{name}\"?)"))
}
