//! Finds unused declarations and files. The compiler does not report unused items that are `pub`, and the Python interpreter reports no
//! unused items.
//!
//! Names are compared as text. A name with several declarations counts as used if it occurs more often than it is declared, so the search
//! misses some unused items.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::{files, read, root, short};

/// Names of methods that Python's standard library and notebooks call.
const CALLED_BY_OTHERS: [&str; 5] =
    ["do_GET", "log_message", "verify_request", "service_actions", "_repr_html_"];

/// Returns the Rust declarations whose names occur only in the declaration itself and in its own tests.
///
/// # Panics
///
/// Panics if the search finds so few declarations that it must be wrong.
pub fn items_of_rust() -> Vec<String> {
    let sources = ["crates", "fuzz", "benches"].map(|folder| files(&root().join(folder), &["rs"])).concat();
    let mut uses = Uses::default();
    for path in &sources {
        let text = without_comments(&read(path));
        // Integration tests do not count as an item's own tests: they may use items that no crate uses.
        let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        uses.count(own);
        for line in own.lines() {
            if let Some(name) = declared_in_rust(line) {
                uses.declare(name, path, line.trim_start().starts_with("pub"));
            }
        }
    }
    assert!(uses.declared.len() > 1_000, "only {} declarations were found", uses.declared.len());
    uses.unused()
}

/// Returns the Rust files that no module declares.
pub fn files_of_rust() -> Vec<String> {
    let sources = files(&root().join("crates"), &["rs"]);
    let all: String = sources.iter().map(|path| without_comments(&read(path))).collect();
    let is_module = |path: &&PathBuf| {
        let name = stem(path);
        let is_root =
            path.parent().is_some_and(|folder| ["tests", "examples"].iter().any(|end| folder.ends_with(end)));
        // Cargo compiles files in `tests` as roots, but not those in a folder of unit tests beside a module in `src`.
        is_root && !short(path).contains("/src/") || ["lib", "main", "build"].contains(&name) || {
            let name = if name == "mod" { path.parent().map(stem).unwrap_or_default() } else { name };
            all.contains(&format!("mod {name};"))
        }
    };
    sources.iter().filter(|path| !is_module(path)).map(|path| short(path)).collect::<Vec<_>>()
}

/// Returns the functions and classes of the Python package whose names occur neither in other code nor in the documentation.
///
/// # Panics
///
/// Panics if the search finds so few declarations that it must be wrong.
pub fn items_of_python() -> Vec<String> {
    let mut uses = Uses::default();
    for folder in ["python/shallows", "notebooks", "benches", "experiments", "docs/build"] {
        for path in files(&root().join(folder), &["py"]) {
            let code = without_docstrings(&read(&path));
            uses.count(&code);
            for line in code.lines().filter(|_| folder == "python/shallows") {
                let declared =
                    ["def ", "class "].iter().find_map(|word| line.trim_start().strip_prefix(word));
                if let Some(name) = declared.and_then(|rest| words(rest).next()) {
                    let is_special = name.starts_with("__") || CALLED_BY_OTHERS.contains(&name);
                    uses.declare(name, &path, !is_special);
                }
            }
        }
    }
    for path in files(&root(), &["md", "j2"]) {
        uses.count(&read(&path));
    }
    assert!(uses.declared.len() > 500, "only {} declarations were found", uses.declared.len());
    uses.unused()
}

/// Returns the modules of the Python package that no code imports.
pub fn modules_of_python() -> Vec<String> {
    let folder = root().join("python");
    let modules = files(&folder, &["py"]);
    let texts: Vec<_> = modules.iter().map(|path| (path, read(path))).collect();
    let is_imported = |path: &&PathBuf| {
        let place = path.strip_prefix(&folder).expect("files are below their folder").with_extension("");
        let from = format!("from {} import ", place.parent().map(dotted).unwrap_or_default());
        let names_it = |line: &str| {
            line.trim_start()
                .strip_prefix(&from)
                .is_some_and(|rest| words(rest).any(|word| word == stem(path)))
        };
        let mut others = texts.iter().filter(|(other, _)| other != path);
        ["__init__", "__main__"].contains(&stem(path))
            || others.any(|(_, text)| text.contains(&dotted(&place)) || text.lines().any(names_it))
    };
    modules.iter().filter(|path| !is_imported(path)).map(|path| short(path)).collect::<Vec<_>>()
}

/// Returns the pictures and tables whose file names occur neither in the documentation nor in the code.
pub fn data() -> Vec<String> {
    let pages: String = files(&root(), &["md", "py", "yml", "html"]).iter().map(|path| read(path)).collect();
    let code: String = files(&root().join("crates"), &["rs"]).iter().map(|path| read(path)).collect();
    let mut unnamed = Vec::new();
    for (folder, extension, text) in
        [("docs/images", ["png", "svg"], &pages), ("crates/scenario/data", ["cdf", "csv"], &code)]
    {
        for path in files(&root().join(folder), &extension) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !text.contains(name) {
                unnamed.push(short(&path));
            }
        }
    }
    unnamed
}

/// Number of occurrences of each word, and places where names are declared.
#[derive(Default)]
struct Uses {
    found: BTreeMap<String, usize>,
    /// For each name, the number of its declarations, and the places of those declarations that must be used.
    declared: BTreeMap<String, (usize, Vec<String>)>,
}

impl Uses {
    fn count(&mut self, text: &str) {
        for word in words(text) {
            *self.found.entry(word.to_owned()).or_default() += 1;
        }
    }

    fn declare(&mut self, name: &str, path: &Path, must_be_used: bool) {
        let (number, places) = self.declared.entry(name.to_owned()).or_default();
        *number += 1;
        if must_be_used {
            places.push(short(path));
        }
    }

    /// Returns the places of declarations whose names do not occur elsewhere.
    fn unused(&self) -> Vec<String> {
        let dead = self.declared.iter().filter(|(name, (number, _))| self.found[*name] <= *number);
        dead.flat_map(|(name, (_, places))| {
            places.iter().map(move |place| format!("{place}: nothing uses {name}"))
        })
        .collect()
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// Returns the name that a line of Rust code declares, or `None` if it declares none.
fn declared_in_rust(line: &str) -> Option<&str> {
    const BEFORE: [&str; 8] = ["pub", "crate", "super", "unsafe", "async", "extern", "default", "in"];
    const KINDS: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "static", "type", "union"];
    let mut parts = words(line).skip_while(|word| BEFORE.contains(word)).peekable();
    let is_constant = parts.next_if_eq(&"const").is_some() && parts.peek() != Some(&"fn");
    if is_constant {
        return parts.next();
    }
    KINDS.contains(&parts.next()?).then(|| parts.next()).flatten()
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

/// Returns Python code without docstrings and comments.
fn without_docstrings(text: &str) -> String {
    let outside = text.split("\"\"\"").step_by(2);
    outside
        .flat_map(str::lines)
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(|line| [line, "\n"])
        .collect()
}

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
}

fn dotted(path: &Path) -> String {
    words(&path.display().to_string()).collect::<Vec<_>>().join(".")
}
