//! Finds circular dependencies between the files of a crate. Files in a circle can only be read, tested and moved together.
//!
//! A file depends on another if its code, without tests, names an item of the other file by a path: `use crate::buffer::Limit`,
//! `super::Item`, or `child::Config` in the parent. A path is a dependency on the last module that it names, even if that module only
//! re-exports the item. `mod child;` alone is no dependency.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::text::code_of_rust;
use crate::{files, read, root};

/// Module of a crate, given by its path from the root of the crate.
type Module = Vec<String>;
/// For each module, the modules on which it depends, and a name that it uses from each of them.
type Needs = BTreeMap<Module, BTreeMap<Module, String>>;

/// Returns a message for each group of files in the crate `name` that have a circular dependency.
pub fn in_crate(name: &str) -> Vec<String> {
    among(&texts_of(name))
}

/// Returns the dependencies between modules in different folders of `src` (rooms), as pairs of paths from the root of the crate.
pub fn between_rooms(name: &str) -> Vec<(String, String)> {
    let code = texts_of(name).iter().map(|(path, text)| (module_of(path), code_of_rust(text))).collect();
    let mut pairs = Vec::new();
    for (module, needed) in needs(&code) {
        let others = needed.into_keys().filter(|other| other.first() != module.first());
        pairs.extend(others.map(|other| (module.join("::"), other.join("::"))));
    }
    pairs
}

/// Returns a map from each file's path, relative to the root of the crate `name`, to the file's text.
fn texts_of(name: &str) -> BTreeMap<PathBuf, String> {
    let folder = root().join("crates").join(name).join("src");
    let sources = files(&folder, &["rs"]);
    let short = |path: &PathBuf| path.strip_prefix(&folder).unwrap_or(path).to_owned();
    sources.iter().map(|path| (short(path), read(path))).collect()
}

/// Returns a message for each group of files that have a circular dependency. `texts` maps each file's path, relative to the root of the
/// crate, to the file's text.
fn among(texts: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let code: BTreeMap<Module, String> =
        texts.iter().map(|(path, text)| (module_of(path), code_of_rust(text))).collect();
    let names: BTreeMap<Module, &PathBuf> = texts.keys().map(|path| (module_of(path), path)).collect();
    let needs = needs(&code);
    let mut told: BTreeSet<&Module> = BTreeSet::new();
    let mut circles = Vec::new();
    for module in needs.keys() {
        let Some(circle) = shortest_circle(module, &needs) else { continue };
        // One circle per group is enough: when that circle is removed, the next check shows another circle.
        if circle.iter().any(|module| told.contains(module)) {
            continue;
        }
        let mut words = format!("{}", names[module].display());
        for (at, next) in circle.iter().zip(circle.iter().cycle().skip(1)) {
            words += &format!(" needs `{}` of {}", needs[*at][*next], names[*next].display());
            words += if next == &module { "" } else { ", which" };
        }
        circles.push(words);
        told.extend(circle);
    }
    circles
}

fn module_of(path: &Path) -> Module {
    let without = path.with_extension("");
    let mut parts: Module = without.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

fn needs(code: &BTreeMap<Module, String>) -> Needs {
    let mut needs = Needs::new();
    for (module, text) in code {
        let tokens = tokens(text);
        let mut place = 0;
        while place < tokens.len() {
            let mut paths = Vec::new();
            place = paths_from(&tokens, place, &mut Vec::new(), &mut paths);
            for path in paths {
                if let Some((of, item)) = resolve(&path, module, code)
                    && of != *module
                {
                    needs.entry(module.clone()).or_default().entry(of).or_insert(item);
                }
            }
        }
    }
    needs
}

/// Splits code into tokens: words, `::`, and every other character except spaces.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    while let Some(first) = rest.chars().next() {
        let length = match first {
            ':' if rest.starts_with("::") => 2,
            _ if in_word(first) => rest.find(|c| !in_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}

/// Collects into `paths` the paths that begin at this token. Each path of a `use a::{b, c::d}` is collected separately. Returns the index
/// of the token after the paths.
fn paths_from<'a>(
    tokens: &[&'a str],
    mut place: usize,
    prefix: &mut Vec<&'a str>,
    paths: &mut Vec<Vec<&'a str>>,
) -> usize {
    let depth = prefix.len();
    let is_word = |token: &&&str| token.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    while let Some(word) = tokens.get(place).filter(is_word) {
        prefix.push(word);
        place += 1;
        if tokens.get(place) != Some(&"::") {
            break;
        }
        place += 1;
        if tokens.get(place) == Some(&"{") {
            while !["}", ";"].contains(tokens.get(place).unwrap_or(&"}")) {
                place = paths_from(tokens, place + 1, prefix, paths);
                // `as other`
                while tokens.get(place).filter(is_word).is_some() {
                    place += 1;
                }
            }
            prefix.truncate(depth);
            return place + 1;
        }
    }
    if prefix.len() > depth {
        paths.push(prefix.clone());
        prefix.truncate(depth);
        return place;
    }
    if depth > 0 {
        // The token is a star, or there is nothing after the last comma.
        paths.push(prefix.clone());
        return if tokens.get(place) == Some(&"*") { place + 1 } else { place };
    }
    place + 1
}

/// Returns the module to which a path leads, and the item that the path names in this module; `None` if the path leads to no module of the
/// crate.
fn resolve(path: &[&str], module: &Module, modules: &BTreeMap<Module, String>) -> Option<(Module, String)> {
    // A single word names a variable, or a visibility as in `pub(super)`.
    if path.len() < 2 {
        return None;
    }
    let mut at = module.clone();
    let mut rest = path;
    let first = *rest.first()?;
    match first {
        "crate" => at.clear(),
        "self" | "super" => {}
        _ => {
            at.push(first.to_owned());
            if !modules.contains_key(&at) {
                return None;
            }
        }
    }
    if first != "super" {
        rest = &rest[1..];
    }
    while let Some((&next, after)) = rest.split_first() {
        if next == "super" {
            at.pop();
        } else {
            at.push(next.to_owned());
            if !modules.contains_key(&at) {
                at.pop();
                return modules.contains_key(&at).then(|| (at, next.to_owned()));
            }
        }
        rest = after;
    }
    let name = at.last().cloned().unwrap_or_else(|| "crate".to_owned());
    (at != *module && modules.contains_key(&at)).then_some((at, name))
}

/// Returns the shortest circle of dependencies through a module, beginning with that module; `None` if there is none.
fn shortest_circle<'a>(from: &'a Module, needs: &'a Needs) -> Option<Vec<&'a Module>> {
    let mut ways = vec![vec![from]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            let last = way[way.len() - 1];
            for next in needs.get(last).into_iter().flat_map(BTreeMap::keys) {
                if next == from {
                    return Some(way);
                }
                if seen.insert(next) {
                    longer.push([way.clone(), vec![next]].concat());
                }
            }
        }
        ways = longer;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(sources: &[(&str, &str)]) -> Vec<String> {
        among(&sources.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect())
    }

    #[test]
    fn a_child_that_needs_its_parent_makes_a_circle_only_if_the_parent_needs_it_too() {
        let child = ("a/b.rs", "use super::Item;");
        assert_eq!(circles(&[("lib.rs", "mod a;"), ("a/mod.rs", "mod b; struct Item;"), child]), [""; 0]);
        assert_eq!(
            circles(&[("lib.rs", "mod a;"), ("a/mod.rs", "mod b; pub use b::B;"), child]),
            ["a/mod.rs needs `B` of a/b.rs, which needs `Item` of a/mod.rs"]
        );
    }

    #[test]
    fn paths_are_found_in_groups_in_code_and_behind_other_names() {
        let to_lib = [
            "use crate::{c::D as E, b::{self, F}, Item};",
            "fn f() { super::super::item(); }",
            "use super::super::*;",
        ];
        for text in to_lib {
            let others = [("a.rs", ""), ("b.rs", ""), ("c.rs", "")];
            let found = circles(&[&[("lib.rs", "use a::b::B;"), ("a/b.rs", text)][..], &others].concat());
            assert_eq!(found.len(), 1, "{text}: {found:?}");
        }
    }

    #[test]
    fn a_circle_of_three_is_told_once_and_tests_and_comments_make_none() {
        let three = [("a.rs", "use crate::b::B;"), ("b.rs", "crate::c::f();"), ("c.rs", "use super::a::A;")];
        assert_eq!(
            circles(&three),
            ["a.rs needs `B` of b.rs, which needs `f` of c.rs, which needs `A` of a.rs"]
        );
        let two = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "// crate::a::A\n#[cfg(test)]\nmod tests {\n use crate::a::A; }"),
        ];
        assert_eq!(circles(&two), [""; 0]);
    }
}
