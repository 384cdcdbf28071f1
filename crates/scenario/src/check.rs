//! Gathers the problems of a scenario, so that its author sees all of them at once.

use std::io::Read;
use std::path::Path;

use crate::document::{Document, parse_path};
use crate::error::Problem;
use crate::experiment::InputFile;

/// Problems found so far, and the files that were read.
#[derive(Debug)]
pub(crate) struct Checker<'a> {
    document: &'a Document<'a>,
    base: &'a Path,
    pub(crate) problems: Vec<Problem>,
    pub(crate) inputs: Vec<InputFile>,
}

/// A trace of the largest runs fits; a device or a disk image does not.
const MAX_INPUT: u64 = 1 << 30;

impl<'a> Checker<'a> {
    /// No problems yet; files are looked for below `base`.
    pub(crate) fn new(document: &'a Document<'a>, base: &'a Path) -> Self {
        Self { document, base, problems: Vec::new(), inputs: Vec::new() }
    }

    /// Note a problem with the value at `key`, written as `section[0].key`.
    pub(crate) fn refuse(&mut self, key: &str, message: impl Into<String>) {
        let path = parse_path(key).unwrap_or_default();
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

    /// Of two keys that do not go together, the one to complain about: `key`, unless only `other` was given.
    pub(crate) fn blames_other(&self, key: &str, other: &str) -> bool {
        let given = |key| parse_path(key).is_some_and(|path| self.document.gives(&path));
        !given(key) && given(other)
    }

    /// The value, or a note of what is wrong with it.
    pub(crate) fn accept<T>(&mut self, key: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.refuse(key, message)).ok()
    }

    /// The text of an input file that the value at `key` names.
    pub(crate) fn read(&mut self, key: &str, path: &str) -> Option<String> {
        let text =
            read_text(&self.base.join(path)).map_err(|problem| format!("cannot read \"{path}\": {problem}"));
        let text = self.accept(key, text)?;
        self.inputs.push(InputFile { path: path.to_owned(), content_hash: content_hash(text.as_bytes()) });
        Some(text)
    }
}

/// The text of a regular file, without the byte-order mark that spreadsheets put before it.
fn read_text(path: &Path) -> Result<String, String> {
    let place = |error: std::io::Error| format!("{} ({})", error, path.display());
    // Before it is opened: a pipe waits for whoever writes to it.
    if !std::fs::metadata(path).map_err(place)?.is_file() {
        let message = "is a folder, pipe, socket or device; name a file";
        return Err(format!("{} {message}", path.display()));
    }
    let mut text = String::new();
    // Some files of the kernel say that they are empty and never end.
    let file = std::fs::File::open(path).map_err(place)?;
    file.take(MAX_INPUT + 1).read_to_string(&mut text).map_err(place)?;
    if text.len() as u64 > MAX_INPUT {
        return Err("it is larger than 1 GiB".to_owned());
    }
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// FNV-1a, 64 bit.
fn content_hash(bytes: &[u8]) -> String {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
