//! Tests of the structure of the source: rules that a reviewer need not repeat.

use std::path::PathBuf;

use tidy::{circles, complain, crates, files, read, root, short, unused, words_of_rust};

#[test]
fn every_rust_file_says_what_it_is_responsible_for() {
    let bare = |path: &PathBuf| !read(path).starts_with("//!");
    complain(
        &files(&root().join("crates"), &["rs"])
            .iter()
            .filter(|path| bare(path))
            .map(|path| short(path))
            .collect::<Vec<_>>(),
    );
}

#[test]
fn every_python_module_has_a_docstring() {
    let bare = |path: &PathBuf| !read(path).trim_start().starts_with("\"\"\"");
    let folder = root().join("python");
    if folder.exists() {
        complain(
            &files(&folder, &["py"])
                .iter()
                .filter(|path| bare(path))
                .map(|path| short(path))
                .collect::<Vec<_>>(),
        );
    }
}

#[test]
fn nothing_is_left_to_do_and_no_test_is_muted() {
    // The marks are split so that this file does not contain them.
    let marks = [
        ["TO", "DO"],
        ["FIX", "ME"],
        ["XX", "X:"],
        ["todo", "!("],
        ["unimplemented", "!("],
        ["#[ig", "nore"],
    ]
    .map(|m| m.concat());
    let mut problems = Vec::new();
    for path in files(&root(), &["rs", "py", "toml", "cc"]) {
        for (number, line) in read(&path).lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(mark.as_str())) {
                problems.push(format!("{}:{}: {mark}", short(&path), number + 1));
            }
        }
    }
    complain(&problems);
}

#[test]
fn every_file_of_tests_is_part_of_a_program() {
    // Cargo does not look for test files in a crate whose tests are modules of `all.rs`.
    let mut forgotten = Vec::new();
    for name in crates() {
        let folder = root().join("crates").join(name);
        let (all, tests) = (folder.join("tests/all.rs"), folder.join("tests"));
        if !all.exists() {
            continue;
        }
        let named = read(&all) + &read(&folder.join("Cargo.toml"));
        for path in files(&tests, &["rs"]).into_iter().filter(|path| path.parent() == Some(&tests)) {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8");
            if ![format!("\nmod {stem};"), format!("\"tests/{stem}.rs\"")]
                .iter()
                .any(|text| named.contains(text))
            {
                forgotten.push(short(&path));
            }
        }
    }
    complain(&forgotten);
}

#[test]
fn source_files_stay_readable() {
    // CONTRIBUTING.md: files are short, and none is too long to be read in one sitting.
    let long = |path: &PathBuf| {
        let lines = read(path).lines().count();
        (lines > 700).then(|| format!("{}: {lines} lines; would two rooms be clearer than one?", short(path)))
    };
    complain(&files(&root(), &["rs", "py"]).iter().filter_map(long).collect::<Vec<_>>());
}

#[test]
fn models_depend_on_no_driver() {
    // ARCHITECTURE.md: core depends on nothing; switch and transport on core; scenario on those; wire on core; measure on its inputs and
    // outputs; sim on all of them.
    let allowed = [
        ("core", &[][..]),
        ("switch", &["core"][..]),
        ("transport", &["core"]),
        ("rdma", &["core"]),
        ("scenario", &["core", "rdma", "switch", "transport"]),
        ("wire", &["core"]),
        // Measurements depend neither on a world nor on the decisions in one.
        ("measure", &["core", "switch", "scenario", "wire"]),
        ("sim", &["core", "rdma", "switch", "transport", "scenario", "measure"]),
        // The testbed uses switches through the network of `sim`.
        ("testbed", &["core", "files", "transport", "scenario", "measure", "sim", "wire"]),
    ];
    let mut problems = Vec::new();
    for (name, dependencies) in allowed {
        let manifest = read(&root().join(format!("crates/{name}/Cargo.toml")));
        let normal = manifest.split("[dev-dependencies]").next().unwrap_or_default();
        for line in normal.lines().filter(|line| line.starts_with("shallows-")) {
            let dependency = line["shallows-".len()..].split(['.', ' ', '=']).next().unwrap_or_default();
            if !dependencies.contains(&dependency) {
                problems.push(format!("{name} must not depend on {dependency}"));
            }
        }
    }
    complain(&problems);
}

#[test]
fn the_testbed_leaves_ports_memories_and_routes_to_the_network() {
    // Types that the testbed must not use, `Network::memories` in `sim`, and the field `routing` of the `Network` in an experiment.
    let inside = ["Port", "SharedBuffer", "Routing", "shallows_switch", "memories", "routing"];
    let sources = files(&root().join("crates/testbed/src"), &["rs"]);
    assert!(sources.iter().any(|path| path.ends_with("fabric.rs")), "there is no testbed/src/fabric.rs");
    let mut problems = Vec::new();
    for path in sources {
        let words = words_of_rust(&read(&path));
        let named = inside.iter().filter(|word| words.iter().any(|found| found == **word));
        problems.extend(named.map(|word| format!("{} speaks of `{word}`", short(&path))));
    }
    complain(&problems);
}

#[test]
fn the_words_of_a_file_are_those_of_its_code() {
    let text = "//! A Routing.\nfn f(ports: &Port<u8>) -> &str { ports.memories(); \"SharedBuffer\" }\n#[cfg(test)]\nmod tests { Routing }";
    assert_eq!(words_of_rust(text), ["fn", "f", "ports", "Port", "u8", "str", "ports", "memories"]);
}

#[test]
fn nothing_that_simulates_is_unsafe() {
    // PyO3 needs unsafe code, as do the testbed's system calls; `core` has a prefetch hint in a separate file.
    let may = ["python", "testbed"];
    let denial =
        |name: &str| format!("\n#![{}(unsafe_code)]\n", if name == "core" { "deny" } else { "forbid" });
    let bare =
        |name: &String| !read(&root().join(format!("crates/{name}/src/lib.rs"))).contains(&denial(name));
    let crates: Vec<String> = crates().into_iter().filter(|name| !may.contains(&name.as_str())).collect();
    let mut problems: Vec<String> =
        crates.iter().filter(|name| bare(name)).map(|name| format!("crates/{name} may be unsafe")).collect();
    let hint = root().join("crates/core/src/prefetch.rs");
    let allowing = files(&root().join("crates/core"), &["rs"])
        .into_iter()
        .filter(|file| *file != hint && read(file).contains("allow(unsafe_code)"));
    problems.extend(allowing.map(|file| format!("{} allows unsafe code", short(&file))));
    assert_eq!(read(&hint).matches("unsafe {").count(), 1, "one hint, and nothing else");
    complain(&problems);
}

#[test]
fn no_files_of_a_crate_need_each_other() {
    let mut problems = Vec::new();
    for name in crates() {
        let circles = circles::in_crate(&name).into_iter();
        problems.extend(circles.map(|circle| format!("{name}: {circle}")));
    }
    complain(&problems);
}

#[test]
fn every_public_item_is_used_outside_its_own_tests() {
    complain(&unused::items_of_rust());
}

#[test]
fn every_rust_file_is_part_of_its_crate() {
    complain(&unused::files_of_rust());
}

#[test]
fn every_function_and_class_of_the_package_is_used_or_documented() {
    complain(&unused::items_of_python());
}

#[test]
fn every_module_of_the_package_is_imported() {
    complain(&unused::modules_of_python());
}

#[test]
fn every_picture_and_every_table_of_numbers_is_named_somewhere() {
    complain(&unused::data());
}

#[test]
fn every_model_has_a_row_in_the_docs() {
    let docs = read(&root().join("evidence/models.md"));
    let models = [
        "crates/switch/src/aqm",
        "crates/switch/src/buffer",
        "crates/switch/src/discipline",
        "crates/switch/src/scheduler",
        "crates/transport/src/congestion",
    ];
    let mut problems = Vec::new();
    for folder in models {
        for path in files(&root().join(folder), &["rs"]) {
            let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let is_test = short(&path).contains("/tests/");
            if !["mod", "interface", "tests", "testing"].contains(&name)
                && !is_test
                && !docs.contains(&short(&path))
            {
                problems.push(format!("evidence/models.md has no row for {}", short(&path)));
            }
        }
    }
    complain(&problems);
}

#[test]
fn every_name_has_a_row_with_a_test_and_an_example() {
    let docs = read(&root().join("evidence/models.md"));
    let summary = read(&root().join("docs/models.md"));
    let mut problems = Vec::new();
    for (what, name) in registered() {
        if !summary.lines().any(|line| first_cell(line).contains(&format!("`{name}`"))) {
            problems.push(format!("docs/models.md has no row for the {what} `{name}`"));
        }
        let Some(row) = docs.lines().find(|line| first_cell(line).contains(&format!("`{name}`"))) else {
            problems.push(format!("evidence/models.md has no row for the {what} `{name}`"));
            continue;
        };
        let tied = row.split('|').nth(4).unwrap_or_default();
        let tests: Vec<&str> = tied.split('`').filter(|word| word.ends_with(".rs")).collect();
        let alone = tied.contains("own tests") || tied.contains("by counting");
        if tests.is_empty() && !alone {
            problems.push(format!("evidence/models.md names no test for the {what} `{name}`"));
        }
        for test in tests.into_iter().filter(|test| test.contains('/') && !root().join(test).exists()) {
            problems.push(format!("evidence/models.md names a test that does not exist: {test}"));
        }
        let example = format!("experiments/models/{name}.toml");
        if !root().join(&example).exists() {
            problems.push(format!("the {what} `{name}` has no example: {example}"));
        }
    }
    complain(&problems);
}

/// Returns every kind of switch mechanism that a scenario can name, from the schema.
fn registered() -> Vec<(&'static str, String)> {
    let schema = shallows_scenario::schema();
    let mut names = Vec::new();
    for (definition, what) in [("Port", "port"), ("Marker", "marker"), ("Buffer", "buffer")] {
        let kinds = schema["$defs"][definition].to_string();
        // Tagged enums write each kind as a constant.
        let found = kinds.split("\"kind\":{\"const\":\"").skip(1).filter_map(|rest| rest.split('"').next());
        let before = names.len();
        names.extend(found.map(|name| (what, name.to_owned())));
        assert!(names.len() > before, "the schema lists no {what}: {kinds}");
    }
    names
}

fn first_cell(line: &str) -> &str {
    line.split('|').nth(1).unwrap_or_default()
}
