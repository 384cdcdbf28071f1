//! The key `preset` of `[tcp]`, which sets several keys at once. `presets.toml` lists the presets with their sources.

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer};
use shallows_core::{Bytes, Duration};
use toml::{Table, Value};

use super::congestion::Congestion;
use super::tcp::Tcp;
use crate::document::Step;
use crate::tagged;

static PRESETS: LazyLock<Table> =
    LazyLock::new(|| toml::from_str(include_str!("presets.toml")).expect("presets.toml is TOML"));

/// Key of a table in a preset. This table has an inner table for each kind of congestion control: the keys that the preset sets only with
/// this kind.
const WHEN: &str = "when";

/// Key of a table in a preset. An entry `a = "b"` of this table means that the preset computes the key `a` from the key `b` if the scenario
/// sets `b`.
const FOLLOWS: &str = "follows";

/// Reads `[tcp]`: the keys given in the scenario, and for all other keys the values that its preset sets.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tcp, D::Error> {
    let given = Table::deserialize(deserializer)?;
    let Some(name) = given.get("preset") else { return tagged::contents(given) };
    let found = name.as_str().and_then(|name| PRESETS.get(name)?.as_table());
    let Some(preset) = found else {
        let known: Vec<&str> = PRESETS.keys().map(String::as_str).collect();
        let step = [Step::Key("preset".to_owned())];
        return Err(tagged::unknown(&step, "preset", name, &known));
    };
    let set = relevant(preset, &given);
    let note = told(name.as_str().unwrap_or_default(), &set, &given);
    let mut tcp: Tcp = tagged::contents(over(set, &given))?;
    tcp.preset_note = Some(note);
    Ok(tcp)
}

/// Contents of a table that has the keys of `[tcp]` and is read in the same way, presets included.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct TcpTable(#[serde(deserialize_with = "read")] Tcp);

impl From<TcpTable> for Tcp {
    fn from(table: TcpTable) -> Self {
        table.0
    }
}

/// Returns the keys of a preset that have an effect together with the given keys.
fn relevant(preset: &Table, given: &Table) -> Table {
    let mut set = preset.clone();
    let when = set.remove(WHEN);
    if let Some(Value::Table(follows)) = set.remove(FOLLOWS) {
        follow(&mut set, &follows, given);
    }
    let congestion = given.get("congestion").or(preset.get("congestion"));
    let Some(kind) = congestion.and_then(kind) else { return set };
    if given.contains_key("congestion") {
        set.insert("congestion".to_owned(), Value::Table(Table::from_iter([named(&kind)])));
    }
    if let Some(Value::Table(more)) = when.and_then(|mut when| when.as_table_mut()?.remove(&kind)) {
        set = over(set, &more);
    }
    // `ece_reaction` and `avoidance` do not depend on the segment size, so any size can be used. An invalid `congestion` is rejected later.
    let read = congestion.and_then(|congestion| tagged::read::<Congestion>(congestion.clone()).ok());
    let config = read.map(|congestion| congestion.config(Bytes(1)));
    if !config.is_some_and(|config| config.answers_ece()) {
        set.remove("ece_reaction");
    }
    if config.is_some_and(|config| config.has_own_avoidance()) {
        set.remove("avoidance");
    }
    let exact = congestion.and_then(|congestion| congestion.get("counting")?.as_str()) == Some("exact");
    if exact && let Some(Value::Table(cubic)) = set.get_mut("congestion") {
        cubic.remove("tick");
        cubic.remove("hold");
    }
    if given.get("handshake").and_then(Value::as_bool) == Some(false) {
        set.remove("lost_syn");
    }
    let recovery = given.get("recovery").or(preset.get("recovery")).and_then(Value::as_str);
    if recovery != Some("rack") {
        set.remove("rack");
    }
    if !matches!(recovery, Some("rack" | "sack") | None) {
        set.remove("prr");
        set.remove("frto");
        set.remove("dsack");
    }
    let segments = given.get("delayed_ack").and_then(|delayed| delayed.get("segments")?.as_integer());
    if segments == Some(1)
        && let Some(Value::Table(delayed)) = set.get_mut("delayed_ack")
    {
        delayed.remove("quick");
        delayed.remove("cwr_at_once");
    }
    set
}

/// Updates the times in `set` that depend on another key. For each such time, `follows` gives the path of the other key or a rule
/// ([`before`]). If `given` has the other key, the time is computed from the value of this key. A value in `given` that is not a time is
/// ignored, because the check of its key reports it.
fn follow(set: &mut Table, follows: &Table, given: &Table) {
    for (key, leader) in follows {
        match (leader, set.get_mut(key)) {
            (Value::Table(inner), Some(Value::Table(below))) => follow(below, inner, given),
            (Value::Table(rule), Some(value)) => {
                if let Some(time) = before(rule, given) {
                    let own = duration(value).expect("presets.toml has times there");
                    *value = Value::String(own.min(time).to_string());
                }
            }
            (Value::String(path), Some(value)) => {
                if let Some(time) = time_at(given, path) {
                    *value = Value::String(time.to_string());
                }
            }
            _ => unreachable!("presets.toml lists keys of the preset, each with the path of another"),
        }
    }
}

/// Returns the longest time for which Linux delays an acknowledgement. It depends on the minimum retransmission timeout, which is read from
/// `given` at the path `rule.before`. `rule.tick` is the length of a clock tick. Returns `None` if `given` does not set the timeout.
fn before(rule: &Table, given: &Table) -> Option<Duration> {
    Some(linux_delayed_ack(time_at(given, rule["before"].as_str()?)?, duration(&rule["tick"])?))
}

fn duration(value: &Value) -> Option<Duration> {
    value.as_str()?.parse().ok()
}

/// Returns the longest time for which Linux delays an acknowledgement if its minimum retransmission timeout is `least_timeout`: one clock
/// tick less than the timeout, and at least one tick.
///
/// In Linux, a timeout is a whole number of ticks. If `least_timeout` is shorter than `tick`, the kernel must have shorter ticks. The
/// timeout then counts as one tick, so the result is `least_timeout`.
pub fn linux_delayed_ack(least_timeout: Duration, tick: Duration) -> Duration {
    let tick = tick.min(least_timeout).max(Duration(1));
    // tcp_delack_max: max(tcp_rto_min(sk), 2) - 1
    Duration((least_timeout.0.div_ceil(tick.0).max(2) - 1) * tick.0)
}

/// Returns the time that `table` has at a path such as `rto.min`, or `None` if it has none.
fn time_at(table: &Table, path: &str) -> Option<Duration> {
    let mut steps = path.split('.');
    let first = table.get(steps.next()?)?;
    steps.try_fold(first, |at, step| at.get(step)).and_then(duration)
}

fn kind(congestion: &Value) -> Option<String> {
    congestion.as_str().or_else(|| congestion.get("kind")?.as_str()).map(str::to_owned)
}

fn named(kind: &str) -> (String, Value) {
    ("kind".to_owned(), Value::String(kind.to_owned()))
}

/// Merges `top` into `base`, key by key; `top` takes precedence. A table in `top` that has only a `kind` does not change the other keys of
/// the table in `base`.
fn over(mut base: Table, top: &Table) -> Table {
    for (key, value) in top {
        let merged = match (base.remove(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) => Value::Table(over(below, above)),
            (Some(Value::Table(mut below)), Value::String(kind)) if below.contains_key("kind") => {
                below.extend([named(kind)]);
                Value::Table(below)
            }
            _ => value.clone(),
        };
        base.insert(key.clone(), merged);
    }
    base
}

/// Returns a note that lists the keys which a preset sets and which the scenario does not override.
fn told(name: &str, set: &Table, given: &Table) -> String {
    let mut keys = Vec::new();
    list(set, Some(given), "", &mut keys);
    if keys.is_empty() {
        return format!("tcp.preset \"{name}\" sets no keys, because the defaults follow the RFCs");
    }
    format!("tcp.preset \"{name}\" sets {}", keys.join(", "))
}

/// Adds the keys in `set` that `given` leaves out to `keys`, each with its value.
pub(super) fn list(set: &Table, given: Option<&Table>, prefix: &str, keys: &mut Vec<String>) {
    for (key, value) in set {
        let over = given.and_then(|given| given.get(key));
        match value {
            Value::Table(inner) => {
                list(inner, over.and_then(Value::as_table), &format!("{prefix}{key}."), keys);
            }
            _ if over.is_none() => keys.push(format!("{prefix}{key} = {value}")),
            _ => {}
        }
    }
}
