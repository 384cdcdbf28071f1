//! Table of measurements that indicate readability: sizes of files and functions, tests, circular dependencies, unused items.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::text::{functions_of_python, functions_of_rust};
use crate::{circles, crates, files, read, root, short, unused};

/// Maximum number of lines of a function (CONTRIBUTING.md: a function fits a screen).
const SCREEN: usize = 70;

/// Measurements of one crate, or of the Python package.
struct Row {
    name: String,
    files: Vec<usize>,
    functions: Vec<usize>,
    /// Lines of tests divided by lines of other code.
    tests: f64,
    /// Number of circular dependencies; `None` for the Python package, which is not searched for them.
    circles: Option<usize>,
    unused: usize,
}

/// Returns the table, with a row for each crate and one for the Python package.
pub fn table() -> String {
    let unused = unused::items_of_rust();
    let mut rows: Vec<Row> = crates().iter().map(|name| of_crate(name, &unused)).collect();
    rows.push(of_python());
    let mut text = format!(
        "{:10} {:>6} {:>7} {:>7} {:>10} {:>7} {:>5} {:>5} {:>8} {:>8} {:>7} {:>7}\n",
        "",
        "files",
        "median",
        "longest",
        "functions",
        "median",
        "p90",
        "most",
        "above 70",
        "tests",
        "circles",
        "unused"
    );
    for row in rows {
        let circles = row.circles.map_or_else(|| "-".to_owned(), |number| number.to_string());
        text += &format!(
            "{:10} {:6} {:7} {:7} {:10} {:7} {:5} {:5} {:8} {:8.2} {:>7} {:7}\n",
            row.name,
            row.files.len(),
            quantile(&row.files, 0.5),
            quantile(&row.files, 1.0),
            row.functions.len(),
            quantile(&row.functions, 0.5),
            quantile(&row.functions, 0.9),
            quantile(&row.functions, 1.0),
            row.functions.iter().filter(|&&lines| lines > SCREEN).count(),
            row.tests,
            circles,
            row.unused,
        );
    }
    text + "files and functions: lines of those that are no tests; tests: lines of tests for each line of these\n"
}

fn of_crate(name: &str, unused: &[String]) -> Row {
    let folder = root().join("crates").join(name);
    let mut row = Row {
        name: name.to_owned(),
        files: Vec::new(),
        functions: Vec::new(),
        tests: 0.0,
        circles: Some(circles::in_crate(name).len()),
        unused: unused.iter().filter(|item| item.starts_with(&format!("crates/{name}/"))).count(),
    };
    let mut tests = 0;
    for path in files(&folder, &["rs"]) {
        let text = read(&path);
        let is_test = short(&path).split('/').any(|part| ["tests", "tests.rs", "testing.rs"].contains(&part));
        let own =
            if is_test { "" } else { text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default() };
        tests += text.lines().count() - own.lines().count();
        if !is_test {
            row.files.push(own.lines().count());
            row.functions.extend(functions_of_rust(own));
        }
    }
    row.tests = ratio(tests, &row.files);
    row
}

fn of_python() -> Row {
    let texts = |folder: &str| -> BTreeMap<PathBuf, String> {
        files(&root().join(folder), &["py"]).into_iter().map(|path| (path.clone(), read(&path))).collect()
    };
    let own = texts("python/shallows");
    let tests = texts("tests/python").values().map(|text| text.lines().count()).sum();
    let lines: Vec<usize> = own.values().map(|text| text.lines().count()).collect();
    Row {
        name: "Python".to_owned(),
        tests: ratio(tests, &lines),
        files: lines,
        functions: own.values().flat_map(|text| functions_of_python(text)).collect(),
        circles: None,
        unused: unused::items_of_python().len(),
    }
}

fn ratio(tests: usize, files: &[usize]) -> f64 {
    tests as f64 / files.iter().sum::<usize>().max(1) as f64
}

/// Returns the quantile `part` of the values (0.5 is the median), with the nearest-rank method.
fn quantile(values: &[usize], part: f64) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let place = (part * sorted.len().saturating_sub(1) as f64).round();
    sorted.get(place as usize).copied().unwrap_or_default()
}
