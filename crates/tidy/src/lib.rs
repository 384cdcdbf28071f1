//! Functions that read the structure of the source code, for the tests of this crate and for `cargo run -p tidy -- norms`.
#![forbid(unsafe_code)]

pub mod circles;
pub mod norms;
mod text;
pub mod unused;

use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder of the workspace.
///
/// # Panics
///
/// Panics if the folder is no longer where this crate was built.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the workspace is two levels up")
}

/// Returns all files below `folder` with one of these extensions, except in generated folders and behind symbolic links.
///
/// # Panics
///
/// Panics if the folder cannot be read.
pub fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the source can be read") {
        let path = entry.expect("the source can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let generated = ["target", "runs", "demo-out", "__pycache__", "node_modules"].contains(&name);
        if generated || name.starts_with('.') || path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            found.extend(files(&path, extensions));
        } else if path.extension().is_some_and(|end| extensions.iter().any(|known| end == *known)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Returns the names of the folders of all crates.
///
/// # Panics
///
/// Panics if the folder of crates cannot be read.
pub fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("the source can be read");
    let names = entries.map(|entry| entry.expect("the source can be read").file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    names
}

/// Returns the text of a source file.
///
/// # Panics
///
/// Panics if the file cannot be read as UTF-8.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("source is UTF-8 text")
}

/// Returns the words in the code of a Rust file, without comments, literals and unit tests.
pub fn words_of_rust(text: &str) -> Vec<String> {
    let code = text::code_of_rust(text);
    let words = code.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Returns the path relative to the folder of the workspace.
pub fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Panics with one line for each problem. Does nothing if there are no problems.
///
/// # Panics
///
/// Panics if there is a problem.
pub fn complain(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}\n", problems.join("\n"));
}
