//! Renamed keys of scenarios. An old name still works, with a note; the next version rejects it.

use toml::{Table, Value};

use crate::document::{Path, Step, print_path};

/// Table, old name and new name of each renamed key.
const RENAMED: [(&[&str], &str, &str); 2] = [
    (&["switch", "buffer"], "private", "reserved"),
    (&["switch", "buffer"], "private_rule", "reserved_rule"),
];

/// Replaces the old keys of a scenario by the new ones. Returns a note for each.
///
/// # Errors
///
/// Returns path and message if a key is given under both names.
pub(crate) fn rename(scenario: &mut Table) -> Result<Vec<String>, (Path, String)> {
    let mut notes = Vec::new();
    for (place, old, new) in RENAMED {
        let Some(table) = table_at(scenario, place) else { continue };
        let Some(value) = table.remove(old) else { continue };
        if table.contains_key(new) {
            let message = format!("it is given twice, also under its old name, {old}; remove {old}");
            return Err((path(place, new), message));
        }
        table.insert(new.to_owned(), value);
        notes.push(note(place, old, new));
    }
    Ok(notes)
}

/// Returns the path of a key under its new name, and a note if it had the old name.
pub(crate) fn current(given: Path) -> (Path, Option<String>) {
    match RENAMED.iter().find(|(place, old, _)| given == path(place, old)) {
        Some((place, old, new)) => (path(place, new), Some(note(place, old, new))),
        None => (given, None),
    }
}

/// Returns the old name of the key at this path, if it has one.
pub(crate) fn old(given: &[Step]) -> Option<&'static str> {
    RENAMED.iter().find(|(place, _, new)| given == path(place, new)).map(|(_, old, _)| *old)
}

fn note(place: &[&str], old: &str, new: &str) -> String {
    let (old, new) = (path(place, old), path(place, new));
    format!("{} is now {}; the next version rejects the old key", print_path(&old), print_path(&new))
}

fn path(place: &[&str], key: &str) -> Path {
    place.iter().chain([&key]).map(|step| Step::Key((*step).to_owned())).collect()
}

fn table_at<'a>(scenario: &'a mut Table, place: &[&str]) -> Option<&'a mut Table> {
    place.iter().try_fold(scenario, |table, key| table.get_mut(*key).and_then(Value::as_table_mut))
}
