//! Collects the problems of a scenario, so that all of them are reported together.

use serde::Serialize;

use crate::document::{Document, Path, parse_path};
use crate::error::Problem;

/// Function that reads a file named in a scenario. It returns the file's text, or the reason why it cannot be read.
pub type Reader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Collects the problems found so far and the input files read so far.
pub(crate) struct Checker<'a> {
    document: &'a Document<'a>,
    reader: &'a Reader<'a>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) inputs: Vec<InputFile>,
    /// Replacement in keys while checks run: the table name that the checks use, and the key of the table that they check. `None` if keys
    /// need no replacement.
    instead: Option<(&'static str, String)>,
}

impl<'a> Checker<'a> {
    /// Creates a checker that has recorded no problems.
    pub(crate) fn new(document: &'a Document<'a>, reader: &'a Reader<'a>) -> Self {
        Self { document, reader, problems: Vec::new(), inputs: Vec::new(), instead: None }
    }

    /// Runs `check` on the table at `key`. The keys in `check` start with another table name, `table`. A problem at the key `table.x` is
    /// recorded at `key.x`.
    pub(crate) fn instead<T>(
        &mut self,
        table: &'static str,
        key: &str,
        check: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.instead.replace((table, key.to_owned()));
        let checked = check(self);
        self.instead = before;
        checked
    }

    /// Returns the path of the value at `key`. If the field `instead` is set, its key replaces the table name at the start of `key`.
    fn place(&self, key: &str) -> Option<Path> {
        let Some((table, instead)) = &self.instead else { return parse_path(key) };
        // No other table has a name that begins with the text of `table`, so comparing prefixes is enough.
        match key.strip_prefix(table) {
            Some(rest) => parse_path(&format!("{instead}{rest}")),
            None => parse_path(key),
        }
    }

    /// Records a problem with the value at `key`. Keys have the form that users write: `section[0].key`.
    pub(crate) fn refuse(&mut self, key: &str, message: impl Into<String>) {
        let path = self.place(key).unwrap_or_default();
        let problem = self.document.problem(&path, message.into());
        // A problem with a setting is recorded once, even if the setting is checked at every port.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Records a problem unless `condition` holds, and returns `condition`.
    pub(crate) fn require(&mut self, condition: bool, key: &str, message: impl FnOnce() -> String) -> bool {
        if !condition {
            self.refuse(key, message());
        }
        condition
    }

    /// Returns whether to report a conflict between two keys at `other` instead of `key`: true if the scenario sets only `other`.
    pub(crate) fn blames_other(&self, key: &str, other: &str) -> bool {
        let given = |key| self.place(key).is_some_and(|path| self.document.gives(&path));
        !given(key) && given(other)
    }

    /// Returns the value of `result`. If `result` is an error, records the error as a problem at `key` and returns `None`.
    pub(crate) fn accept<T>(&mut self, key: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.refuse(key, message)).ok()
    }

    /// Reads the input file at `path`, which is the value of the key `key`. Removes a leading byte-order mark, which spreadsheets write.
    /// Returns `None` and records a problem if the file cannot be read.
    pub(crate) fn read(&mut self, key: &str, path: &str) -> Option<String> {
        let text = (self.reader)(path).map_err(|problem| format!("cannot read \"{path}\": {problem}"));
        let text = self.accept(key, text)?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        self.inputs.push(InputFile { path: path.to_owned(), content_hash: content_hash(text.as_bytes()) });
        Some(text)
    }
}

/// Input file that a scenario names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// Path of the file as the scenario gives it.
    pub path: String,
    /// FNV-1a hash of the file's contents: 64 bits in hexadecimal.
    pub content_hash: String,
}

/// Returns the FNV-1a hash of `bytes`, 64 bits.
fn content_hash(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
