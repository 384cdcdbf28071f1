//! Renamed keys of scenarios. Old names still work and only cause a note; the next version removes them.

use toml::{Table, Value};

/// Renamed keys. Each has the path of its table, the last word of its old name, and the last word of its new name.
const RENAMED: [(&str, &str, &str); 2] =
    [("switch.buffer", "private", "reserved"), ("switch.buffer", "private_rule", "reserved_rule")];

/// Replaces old keys in a scenario by their current names. Returns a note for each replaced key.
///
/// # Errors
///
/// Returns the current name and a message if a scenario has a key under both names.
pub(crate) fn rename(scenario: &mut Table) -> Result<Vec<String>, (String, String)> {
    let mut notes = Vec::new();
    for (place, old, new) in RENAMED {
        let Some(table) = table_at(scenario, place) else { continue };
        let Some(value) = table.remove(old) else { continue };
        if table.contains_key(new) {
            let message = format!("is set twice, also under the old name {old}; remove {old}");
            return Err((format!("{place}.{new}"), message));
        }
        table.insert(new.to_owned(), value);
        notes.push(note(place, old, new));
    }
    Ok(notes)
}

/// Returns the current name of a key and a note, or `None` if `key` is not an old name.
pub(crate) fn current(key: &str) -> Option<(String, String)> {
    let is_old = |(place, old, _): &&(&str, &str, &str)| is_at(key, place, old);
    RENAMED.iter().find(is_old).map(|(place, old, new)| (format!("{place}.{new}"), note(place, old, new)))
}

/// Returns the last word of the old name of `key`, or `None` if `key` was not renamed.
pub(crate) fn old(key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(place, _, new)| is_at(key, place, new)).map(|(_, old, _)| *old)
}

fn is_at(key: &str, place: &str, last: &str) -> bool {
    key.rsplit_once('.') == Some((place, last))
}

fn note(place: &str, old: &str, new: &str) -> String {
    format!("{place}.{old} is now {place}.{new}; the next version rejects the old key")
}

fn table_at<'a>(scenario: &'a mut Table, place: &str) -> Option<&'a mut Table> {
    place.split('.').try_fold(scenario, |table, key| table.get_mut(key).and_then(Value::as_table_mut))
}
