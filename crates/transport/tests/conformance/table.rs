//! Compares the tests listed in evidence/conformance.md with the tests of this folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Returns every test of this folder, as `file::name`.
fn tests() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("the tests can be read") {
        let path = entry.expect("the tests can be read").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("names are text").to_owned();
        let text = fs::read_to_string(&path).expect("the tests are text");
        let mut lines = text.lines().map(str::trim);
        while let Some(line) = lines.next() {
            if line == "#[test]"
                && let Some(function) = lines.next().and_then(|next| next.strip_prefix("fn "))
            {
                let name = function.split('(').next().unwrap_or_default();
                found.insert(format!("{stem}::{name}"));
            }
        }
    }
    found
}

/// Returns every test listed on the page, as `file::name` in backquotes. If `is_elsewhere`, returns those whose file is given by its path, which
/// are in other folders.
fn named(is_elsewhere: bool) -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evidence/conformance.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let codes = page.split('`').skip(1).step_by(2).filter(|code| code.contains("::"));
    codes.filter(|code| code.contains(".rs::") == is_elsewhere).map(str::to_owned).collect()
}

#[test]
fn every_test_that_the_page_names_exists() {
    let missing: Vec<_> = named(false).difference(&tests()).cloned().collect();
    assert!(missing.is_empty(), "evidence/conformance.md names tests that are not here: {missing:#?}");
}

#[test]
fn every_test_of_this_folder_has_a_row() {
    let named = named(false);
    let silent: Vec<_> =
        tests().into_iter().filter(|test| !named.contains(test) && !test.starts_with("table::")).collect();
    assert!(silent.is_empty(), "evidence/conformance.md has no row for {silent:#?}");
}

#[test]
fn every_test_of_another_folder_that_the_page_names_exists() {
    let exists = |test: &String| {
        let (file, name) = test.split_once("::").expect("a test has a name");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
        fs::read_to_string(path).is_ok_and(|text| text.contains(&format!("fn {name}(")))
    };
    let missing: Vec<_> = named(true).into_iter().filter(|test| !exists(test)).collect();
    assert!(missing.is_empty(), "evidence/conformance.md names tests that do not exist: {missing:#?}");
}
