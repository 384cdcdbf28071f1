//! Gathers the problems of a scenario, so that its author sees all of them at once.

use serde::Serialize;

use crate::document::{Document, Path, parse_path};
use crate::error::Problem;

/// Function that returns the text of a file that a scenario names, or the reason why it cannot.
pub type Reader<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Problems found so far, and the files that were read.
pub(crate) struct Checker<'a> {
    document: &'a Document<'a>,
    reader: &'a Reader<'a>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) inputs: Vec<InputFile>,
    /// Replacement of a table in messages: its name, and the key that replaces it.
    instead: Option<(&'static str, String)>,
}

impl<'a> Checker<'a> {
    /// No problems yet.
    pub(crate) fn new(document: &'a Document<'a>, reader: &'a Reader<'a>) -> Self {
        Self { document, reader, problems: Vec::new(), inputs: Vec::new(), instead: None }
    }

    /// Check by `check` what the table at `key` says in place of that called `table`, whose keys the check names.
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

    /// The place of the value that a check calls `key`.
    fn place(&self, key: &str) -> Option<Path> {
        let Some((table, instead)) = &self.instead else { return parse_path(key) };
        // No other table has a name that begins like those that are replaced.
        match key.strip_prefix(table) {
            Some(rest) => parse_path(&format!("{instead}{rest}")),
            None => parse_path(key),
        }
    }

    /// Note a problem with the value at `key`, written as `section[0].key`.
    pub(crate) fn refuse(&mut self, key: &str, message: impl Into<String>) {
        let path = self.place(key).unwrap_or_default();
        let problem = self.document.problem(&path, message.into());
        // What is wrong at every port is said once.
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Note a problem unless `condition` holds; says whether it does.
    pub(crate) fn require(&mut self, condition: bool, key: &str, message: impl FnOnce() -> String) -> bool {
        if !condition {
            self.refuse(key, message());
        }
        condition
    }

    /// Key to blame among two that exclude each other: `key`, unless only `other` was given.
    pub(crate) fn blames_other(&self, key: &str, other: &str) -> bool {
        let given = |key| self.place(key).is_some_and(|path| self.document.gives(&path));
        !given(key) && given(other)
    }

    /// The value, or a note of what is wrong with it.
    pub(crate) fn accept<T>(&mut self, key: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.refuse(key, message)).ok()
    }

    /// The text of an input file that the value at `key` names, without the byte-order mark that spreadsheets put before it.
    pub(crate) fn read(&mut self, key: &str, path: &str) -> Option<String> {
        let text = (self.reader)(path).map_err(|problem| format!("cannot read \"{path}\": {problem}"));
        let text = self.accept(key, text)?;
        let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
        self.inputs.push(InputFile { path: path.to_owned(), content_hash: content_hash(text.as_bytes()) });
        Some(text)
    }
}

/// A file that a scenario names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// As the scenario gives it.
    pub path: String,
    /// FNV-1a hash of its contents, 64 bits in hexadecimal.
    pub content_hash: String,
}

/// FNV-1a, 64 bit.
fn content_hash(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
