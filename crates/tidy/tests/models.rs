//! Test that a new model changes few files (ARCHITECTURE.md, "To add a model, touch these files").

use std::path::{Path, PathBuf};

use tidy::{complain, files, read, root, short};

/// Maximum number of files that name a model: its own file, the file in [`KINDS`], its key in scenarios, and the check of that key.
const MOST: usize = 4;

/// For each kind of model, the file and name of its enum, and other enums that have a variant for each model.
const KINDS: [(&str, &str, &[&str]); 5] = [
    ("crates/switch/src/aqm/mod.rs", "Config", &["Marker", "Boxed"]),
    ("crates/switch/src/scheduler/mod.rs", "Config", &["AnyScheduler", "Port"]),
    ("crates/switch/src/discipline/mod.rs", "Config", &["AnyDiscipline", "Port"]),
    ("crates/switch/src/buffer/mod.rs", "Policy", &["Buffer"]),
    ("crates/transport/src/congestion/mod.rs", "Config", &["Algorithm", "Congestion"]),
];

#[test]
fn a_model_is_named_in_four_files_at_most() {
    let sources: Vec<(PathBuf, String)> = ["switch", "transport", "scenario", "sim"]
        .iter()
        .flat_map(|name| files(&root().join("crates").join(name).join("src"), &["rs"]))
        .filter(|path| !is_test(path))
        .map(|path| (path.clone(), own_code(&read(&path))))
        .collect();
    let mut problems = Vec::new();
    let mut seen = 0;
    for (list, name, others) in KINDS {
        for model in variants(&read(&root().join(list)), name) {
            seen += 1;
            let names: Vec<String> =
                others.iter().chain([&name]).map(|kind| format!("{kind}::{model}")).collect();
            let naming = |code: &str| names.iter().any(|name| is_named(code, name)) || defines(code, &model);
            let found: Vec<String> =
                sources.iter().filter(|(_, code)| naming(code)).map(|(path, _)| short(path)).collect();
            if found.len() > MOST {
                problems.push(format!(
                    "{model} is named in {} files; at most {MOST}: ask the model instead\n    {}",
                    found.len(),
                    found.join("\n    ")
                ));
            }
        }
    }
    assert!(seen >= 20, "only {seen} models were found");
    complain(&problems);
}

fn is_test(path: &Path) -> bool {
    let text = short(path);
    text.contains("/tests/") || text.ends_with("/tests.rs") || text.ends_with("/testing.rs")
}

/// Returns the code of a file without comments and unit tests.
fn own_code(text: &str) -> String {
    let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    own.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Returns the variants of a public enum.
fn variants(text: &str, name: &str) -> Vec<String> {
    let begin = text.find(&format!("pub enum {name} {{\n")).expect("the list has its enum");
    let body = text[begin..].split("\n}\n").next().unwrap_or_default();
    let is_variant =
        |line: &&str| line.starts_with("    ") && line[4..].starts_with(|c: char| c.is_ascii_uppercase());
    let word = |line: &str| line.trim_start().chars().take_while(char::is_ascii_alphanumeric).collect();
    body.lines().skip(1).filter(is_variant).map(word).collect()
}

/// Returns whether `code` contains this path, and not only as a part of a longer path.
fn is_named(code: &str, path: &str) -> bool {
    let continues = |letter: Option<char>| letter.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_');
    code.match_indices(path).any(|(place, _)| {
        let (before, after) = (code[..place].chars().next_back(), code[place + path.len()..].chars().next());
        !continues(before) && !continues(after)
    })
}

/// Returns whether `code` defines the model itself.
fn defines(code: &str, model: &str) -> bool {
    is_named(code, &format!("pub struct {model}"))
}
