//! Tests that the schema accepts valid scenarios and rejects invalid values.

use crate::common::{BCC_F2, DUMBBELL, LEAF_SPINE, QUERIES, parse};
use serde_json::{Map, Value, json};

/// Returns whether `value` is valid under `schema`, for the parts of JSON Schema (2020-12) that the schema uses.
fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let Some(schema) = schema.as_object() else { return schema == &Value::Bool(true) };
    let every = |list: &Value, one: &dyn Fn(&Value) -> bool| list.as_array().expect("a list").iter().all(one);
    let count = |list: &Value| {
        list.as_array().expect("a list").iter().filter(|inner| fits(root, inner, value)).count()
    };
    schema.iter().all(|(keyword, said)| match keyword.as_str() {
        "$ref" => {
            let place = said.as_str().and_then(|said| said.strip_prefix('#')).expect("within the schema");
            fits(root, root.pointer(place).unwrap_or_else(|| panic!("nothing at {place}")), value)
        }
        "anyOf" => count(said) > 0,
        "oneOf" => count(said) == 1,
        "allOf" => every(said, &|inner| fits(root, inner, value)),
        "const" => value == said,
        "enum" => !every(said, &|one| value != one),
        "type" => match said {
            Value::Array(_) => !every(said, &|one| !is(one, value)),
            one => is(one, value),
        },
        "minimum" => value.as_f64().is_none_or(|value| value >= said.as_f64().expect("a number")),
        "maximum" => value.as_f64().is_none_or(|value| value <= said.as_f64().expect("a number")),
        "minItems" => {
            value.as_array().is_none_or(|items| items.len() as u64 >= said.as_u64().expect("a count"))
        }
        "maxItems" => {
            value.as_array().is_none_or(|items| items.len() as u64 <= said.as_u64().expect("a count"))
        }
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| fits(root, said, item))),
        "properties" => value.as_object().is_none_or(|table| keys_fit(root, said, table)),
        "additionalProperties" if said == &Value::Bool(false) => value.as_object().is_none_or(|table| {
            table.keys().all(|key| schema.get("properties").is_some_and(|known| known.get(key).is_some()))
        }),
        "required" => value
            .as_object()
            .is_none_or(|table| every(said, &|key| table.contains_key(key.as_str().expect("a key")))),
        _ => true,
    })
}

fn keys_fit(root: &Value, properties: &Value, table: &Map<String, Value>) -> bool {
    table.iter().all(|(key, value)| properties.get(key).is_none_or(|schema| fits(root, schema, value)))
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("null") => value.is_null(),
        other => panic!("no type: {other:?}"),
    }
}

/// Returns scenarios that together have values of every kind.
fn scenarios() -> Vec<Value> {
    let more = [
        ("switch.port", "{ kind = 'wfq', queues = 2, weight = [1, 2], queue_limit = ['10p', '9KB'] }"),
        ("switch.markers", "[{ kind = 'red', kmin = '5p', kmax = '57us', pmax = 0.1 }, 'red-classic']"),
        ("host.nic.tso", "64KB"),
        ("host.nic.buffer_overhead", "832B"),
        ("host.nic.coalescing", "{ time = 'auto', queues = 2 }"),
        ("host.group", "[{ name = 'g', racks = 0, mtu = 1400, jitter = '1us' }]"),
        ("measure.captures", "[{ hosts = '0' }]"),
        ("tcp.initial_window", "3"),
        ("tcp.receiver", "ictcp"),
    ];
    let some =
        |text, sets: &[(&str, &str)]| parse(text, sets).unwrap_or_else(|error| panic!("{error}")).resolved();
    vec![
        some(BCC_F2, &[]),
        some(LEAF_SPINE, &[]),
        some(DUMBBELL, &[]),
        some(QUERIES, &[]),
        some(DUMBBELL, &more),
    ]
}

#[test]
fn what_is_resolved_is_what_the_schema_describes() {
    let schema = shallows_scenario::schema();
    for scenario in scenarios() {
        assert!(fits(&schema, &schema, &scenario), "{scenario:#}");
    }
}

/// Collects the places of all values that are neither tables nor lists.
fn places(value: &Value, place: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(table) => {
            table.iter().for_each(|(key, value)| places(value, &format!("{place}/{key}"), found))
        }
        Value::Array(items) => (0..)
            .zip(items)
            .for_each(|(number, value): (usize, _)| places(value, &format!("{place}/{number}"), found)),
        _ => found.push(place.to_owned()),
    }
}

#[test]
fn the_schema_takes_no_value_of_another_type() {
    let schema = shallows_scenario::schema();
    for scenario in scenarios() {
        let mut found = Vec::new();
        places(&scenario, "", &mut found);
        for place in found {
            // No value may be a list of empty tables.
            let mut damaged = scenario.clone();
            *damaged.pointer_mut(&place).expect("it is there") = json!([{}]);
            assert!(!fits(&schema, &schema, &damaged), "{place}");
            // No whole number may be negative.
            if scenario.pointer(&place).is_some_and(Value::is_u64) {
                *damaged.pointer_mut(&place).expect("it is there") = json!(-1);
                assert!(!fits(&schema, &schema, &damaged), "{place} of -1");
            }
        }
    }
}

#[test]
fn definitions_have_the_names_of_types_each_its_own() {
    let schema = shallows_scenario::schema();
    let names: Vec<&String> = schema["$defs"].as_object().expect("a table").keys().collect();
    for name in &names {
        let mut letters = name.chars();
        assert!(letters.next().is_some_and(char::is_uppercase), "{name}");
        assert!(letters.all(char::is_alphanumeric), "{name}");
        // schemars appends a 2 to the second of two equal names.
        assert!(!names.iter().any(|other| **name == format!("{other}2")), "{name}");
    }
    for quantity in
        ["HostSet", "Size", "Time", "Speed", "Amount", "Depth", "Window", "PacketSize", "AutomaticTime"]
    {
        assert!(names.iter().any(|name| *name == quantity), "{quantity} of {names:?}");
    }
}
