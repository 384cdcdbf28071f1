//! The table of docs/presets.md is what the preset sets.

use std::collections::BTreeMap;
use std::fs;

use toml::{Table, Value};

fn read(path: &str) -> String {
    fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).expect("it is in the repository")
}

/// Keys without tables, with their values as TOML has them.
fn leaves(table: &Table, prefix: &str, found: &mut BTreeMap<String, String>) {
    for (key, value) in table {
        match value {
            Value::Table(inner) => leaves(inner, &format!("{prefix}{key}."), found),
            _ => {
                found.insert(format!("{prefix}{key}"), value.to_string());
            }
        }
    }
}

/// What the first table of the page has in its first two columns.
fn documented() -> BTreeMap<String, String> {
    let page = read("../../docs/presets.md");
    let first = page.split("\n## ").next().expect("a page has a beginning");
    let rows = first.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split(" | ").map(|cell| cell.trim_matches('`')));
    cells
        .map(|mut cells| (cells.next().expect("a key").to_owned(), cells.next().expect("a value").to_owned()))
        .collect()
}

#[test]
fn the_table_of_linux_6_has_every_key_with_its_value_and_no_other() {
    let presets: Table = toml::from_str(&read("src/spec/presets.toml")).expect("it is TOML");
    let mut set = BTreeMap::new();
    leaves(presets["linux-6"].as_table().expect("a table"), "", &mut set);
    assert_eq!(documented(), set);
}
