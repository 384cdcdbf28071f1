//! Keys of scenarios that have a new name. The old name still works, with a note; the next version removes it.

use toml::{Table, Value};

use crate::document::{Path, Step, print_path};

/// Old and new last word of a key, by its table.
const RENAMED: [(&[&str], &str, &str); 2] = [
    (&["switch", "buffer"], "private", "reserved"),
    (&["switch", "buffer"], "private_rule", "reserved_rule"),
];

/// Give the old keys of a scenario their new names. Returns a note for each.
///
/// # Errors
///
/// If a key is given under both names: its path, and a message.
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

/// The path of a key under its new name, and a note if it had the old one.
pub(crate) fn current(given: Path) -> (Path, Option<String>) {
    match RENAMED.iter().find(|(place, old, _)| given == path(place, old)) {
        Some((place, old, new)) => (path(place, new), Some(note(place, old, new))),
        None => (given, None),
    }
}

/// The old last word of a path, if it has one.
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
