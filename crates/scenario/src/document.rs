//! Text of a scenario: its values, the changes that `--set` makes, and the position of each key in the file.

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::error::Problem;
use crate::renamed;

/// One step of a [`Path`]: the key of a table, or the index of a list entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// Path from the top of a scenario to one value in it.
pub(crate) type Path = Vec<Step>;

/// Formats a path as users write it: `switch.markers[0].k`.
pub(crate) fn print_path(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.extend([".", key]),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// Parses a path as users write it. `workload.0.load` means the same as `workload[0].load`.
pub(crate) fn parse_path(text: &str) -> Option<Path> {
    let mut path = Path::new();
    for part in text.split('.') {
        let (key, indices) = part.split_once('[').map_or((part, None), |(key, rest)| (key, Some(rest)));
        match key.trim().parse() {
            Ok(index) if !path.is_empty() => path.push(Step::Index(index)),
            _ if key.trim().is_empty() => return None,
            _ => path.push(Step::Key(key.trim().to_owned())),
        }
        for index in indices.into_iter().flat_map(|rest| rest.split('[')) {
            path.push(Step::Index(index.trim().strip_suffix(']')?.trim().parse().ok()?));
        }
    }
    Some(path)
}

/// Parsed scenario, together with its text.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) file: &'a str,
    text: &'a str,
    spans: Spanned<DeTable<'a>>,
    /// Values of the file after the overrides are applied.
    pub(crate) table: Table,
    /// Path that each override sets, and the text of its `--set` option.
    overrides: Vec<(Path, String)>,
    /// Notes on the old key names that the scenario uses, one note for each name.
    pub(crate) notes: Vec<String>,
}

impl<'a> Document<'a> {
    /// Parses the text of a scenario and applies the overrides.
    pub(crate) fn parse(
        text: &'a str,
        file: &'a str,
        overrides: &[(String, String)],
    ) -> Result<Self, Vec<Problem>> {
        let (spans, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(errors.iter().map(|error| syntax_problem(text, file, error)).collect());
        }
        let table = toml::from_str(text).map_err(|error| vec![syntax_problem(text, file, &error)])?;
        let mut document = Self { file, text, spans, table, overrides: Vec::new(), notes: Vec::new() };
        document.rename()?;
        let problems: Vec<Problem> = overrides
            .iter()
            .filter_map(|(key, value)| document.set(key, value).err())
            .map(|problem| *problem)
            .collect();
        if !problems.is_empty() {
            return Err(problems);
        }
        document.rename()?;
        Ok(document)
    }

    /// Replaces old names of keys by their current names and records a note for each.
    fn rename(&mut self) -> Result<(), Vec<Problem>> {
        let renamed = renamed::rename(&mut self.table).map_err(|(key, message)| {
            vec![self.problem(&parse_path(&key).expect("keys of RENAMED must be paths"), message)]
        })?;
        self.notes.extend(renamed);
        Ok(())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Box<Problem>> {
        let option = format!("{key}={value}");
        let refuse = |message: String| {
            Box::new(Problem {
                message,
                key: String::new(),
                file: self.file.to_owned(),
                line: 0,
                column: 0,
                source_line: String::new(),
                set: Some(option.clone()),
            })
        };
        let path = parse_path(key)
            .ok_or_else(|| refuse("the key must have the form section.key or section[0].key".to_owned()))?;
        let path = match renamed::current(&print_path(&path)) {
            Some((key, note)) => {
                self.notes.push(note);
                parse_path(&key).expect("keys of RENAMED must be paths")
            }
            None => path,
        };
        let value = override_value(value);
        for path in expand(&self.table, path).map_err(&refuse)? {
            insert(&mut self.table, &path, value.clone()).map_err(&refuse)?;
            self.overrides.push((path, option.clone()));
        }
        Ok(())
    }

    /// Creates a problem with the value at `path`. The problem contains the `--set` option that set the value, or else the location of the
    /// value in the file.
    pub(crate) fn problem(&self, path: &[Step], message: String) -> Problem {
        let place = self.locate(path);
        let in_file = matches!(place, Some((_, depth)) if depth == path.len());
        // An override caused the problem if it set the value or a table that contains the value, or if it created the table at `path`.
        let blamed =
            |(set, _): &&(Path, String)| path.starts_with(set) || (!in_file && set.starts_with(path));
        let option = self.overrides.iter().rev().find(blamed);
        let (line, column, source_line) = match (option, place) {
            (None, Some((offset, _))) => position(self.text, offset),
            _ => (0, 0, String::new()),
        };
        Problem {
            message,
            key: print_path(path),
            file: self.file.to_owned(),
            line,
            column,
            source_line,
            set: option.map(|option| option.1.clone()),
        }
    }

    /// Creates a problem that concerns the file as a whole.
    pub(crate) fn overall(&self, message: String) -> Problem {
        Problem {
            message,
            key: String::new(),
            file: self.file.to_owned(),
            line: 0,
            column: 0,
            source_line: String::new(),
            set: None,
        }
    }

    /// Returns whether the file or an override sets a value at `path`.
    pub(crate) fn gives(&self, path: &[Step]) -> bool {
        value_at(&self.table, path).is_some()
    }

    /// Finds the longest prefix of `path` that the file contains. Returns the offset in the file of the prefix's last key or list entry,
    /// and the number of steps of the prefix.
    fn locate(&self, path: &[Step]) -> Option<(usize, usize)> {
        let mut found = None;
        let mut table = Some(self.spans.get_ref());
        let mut array = None;
        for (depth, step) in (1..).zip(path) {
            let value = match step {
                Step::Key(name) => {
                    let entry = |name: &str| table.and_then(|table| table.get_key_value(name));
                    let old = || renamed::old(&print_path(&path[..depth])).and_then(entry);
                    let Some((key, value)) = entry(name).or_else(old) else { break };
                    found = Some((key.span().start, depth));
                    value
                }
                Step::Index(index) => {
                    let Some(value) = array.and_then(|array: &toml::de::DeArray<'_>| array.get(*index))
                    else {
                        break;
                    };
                    found = Some((value.span().start, depth));
                    value
                }
            };
            (table, array) = match value.get_ref() {
                DeValue::Table(inner) => (Some(inner), None),
                DeValue::Array(inner) => (None, Some(inner)),
                _ => (None, None),
            };
        }
        found
    }
}

fn syntax_problem(text: &str, file: &str, error: &toml::de::Error) -> Problem {
    let (line, column, source_line) =
        error.span().map_or((0, 0, String::new()), |span| position(text, span.start));
    Problem {
        message: error.message().replace('\n', "; "),
        key: String::new(),
        file: file.to_owned(),
        line,
        column,
        source_line,
        set: None,
    }
}

/// Returns the line and the column of an offset, both counted from one, and the text of the line.
fn position(text: &str, offset: usize) -> (usize, usize, String) {
    let offset = (0..=offset.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1, line.to_owned())
}

/// Parses the value of a `--set` option as TOML. Text that is not TOML becomes a string, so that quantities need no quotes.
fn override_value(text: &str) -> Value {
    let parsed = toml::from_str::<Table>(&format!("value = {text}"));
    match parsed.ok().filter(|table| table.len() == 1).and_then(|mut table| table.remove("value")) {
        Some(Value::Datetime(_)) | None => Value::String(text.to_owned()),
        Some(value) => value,
    }
}

/// Returns the value at `path`.
fn value_at<'a>(table: &'a Table, path: &[Step]) -> Option<&'a Value> {
    let (Step::Key(first), rest) = path.split_first()? else { return None };
    rest.iter().try_fold(table.get(first)?, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(*index),
    })
}

/// Returns the paths that `path` matches. A step `*` matches every entry of a list.
fn expand(table: &Table, path: Path) -> Result<Vec<Path>, String> {
    let Some(star) = path.iter().position(|step| *step == Step::Key("*".to_owned())) else {
        return Ok(vec![path]);
    };
    let entries = value_at(table, &path[..star]).and_then(Value::as_array).map_or(0, Vec::len);
    if entries == 0 {
        return Err(format!(
            "\"{}\" must be a list with at least one entry, because * stands for every entry",
            print_path(&path[..star])
        ));
    }
    let mut found = Vec::new();
    for index in 0..entries {
        let mut one = path.clone();
        one[star] = Step::Index(index);
        found.extend(expand(table, one)?);
    }
    Ok(found)
}

/// Sets the value at `path` and creates the tables that are missing.
fn insert(table: &mut Table, path: &[Step], value: Value) -> Result<(), String> {
    let Some((Step::Key(first), rest)) = path.split_first() else {
        return Err("the key must not be empty".to_owned());
    };
    if rest.is_empty() {
        table.insert(first.clone(), value);
        return Ok(());
    }
    let place = table.entry(first.clone()).or_insert_with(|| Value::Table(Table::new()));
    descend(place, rest, value, first)
}

fn descend(place: &mut Value, path: &[Step], value: Value, name: &str) -> Result<(), String> {
    match path.split_first() {
        None => {
            *place = value;
            Ok(())
        }
        Some((Step::Key(_), _)) => {
            // A model given only by its kind becomes a table, so that it can also have parameters.
            if let Value::String(kind) = place
                && kind.starts_with(|first: char| first.is_ascii_alphabetic())
            {
                *place = Value::Table(Table::from_iter([("kind".to_owned(), Value::String(kind.clone()))]));
            }
            match place {
                Value::Table(table) => insert(table, path, value),
                _ => Err(format!("cannot set a key in {name}: {name} must be a table, got {place}")),
            }
        }
        Some((Step::Index(index), rest)) => match place {
            Value::Array(items) => {
                let count = items.len();
                let item = items
                    .get_mut(*index)
                    .ok_or_else(|| format!("{name}[{index}] does not exist; {name} has {count} entries"))?;
                descend(item, rest, value, &format!("{name}[{index}]"))
            }
            _ => Err(format!(
                "{name} must be a list to have numbered entries, got a value of type {}",
                place.type_str()
            )),
        },
    }
}
