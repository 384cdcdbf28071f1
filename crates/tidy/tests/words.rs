//! Tests of the words of the source: the terms of docs/glossary.md, openings of docstrings, and the length of sentences that users read.

use std::path::PathBuf;

use tidy::{complain, files, read, root, short};

/// Replaced words and their replacements. A space in a word also stands for an underscore or a hyphen.
const REPLACED: [(&str, &str); 15] = [
    ("card", "NIC"),
    ("cards", "NICs"),
    ("sent again", "retransmitted"),
    ("repeated share", "retransmitted_share"),
    ("endless flow", "unbounded flow"),
    ("private bytes", "reserved bytes"),
    ("private memory", "reserved buffer"),
    ("private rule", "reserved_rule"),
    ("not beaten", "Pareto-optimal"),
    ("what if analysis", "sensitivity analysis"),
    ("what ifs", "sensitivity analysis"),
    ("to be believed", "invalid run"),
    ("gate rs", "barrier.rs"),
    ("claim json", "lease"),
    ("cell us", "window_us"),
];

/// Files that contain old keys, because they still read them or record the past.
const OLD: [&str; 7] = [
    "CHANGELOG.md",
    "crates/scenario/src/renamed.rs",
    "crates/scenario/tests/renamed.rs",
    "crates/tidy/tests/words.rs",
    "python/shallows/runs/formats.py",
    "tests/python/test_formats.py",
    "evidence/",
];

/// Words with which no docstring may begin.
const OPENINGS: [&str; 5] = ["Likewise", "What", "Of", "Those", "Who"];

/// Maximum number of words in a sentence that users read.
const LONGEST: usize = 35;

#[test]
fn replaced_words_do_not_come_back() {
    let mut problems = Vec::new();
    for path in sources(&["rs", "py", "md", "toml", "js"]) {
        let name = short(&path);
        if OLD.iter().any(|old| name.starts_with(old)) || name.contains("/static/echarts") {
            continue;
        }
        for (number, line) in read(&path).lines().enumerate() {
            let words = words(line);
            let found = REPLACED.iter().filter(|(old, _)| has(&words, old));
            problems.extend(found.map(|(old, new)| format!("{name}:{}: {new}, not {old}", number + 1)));
        }
    }
    complain(&problems);
}

#[test]
fn docstrings_begin_with_a_verb_or_a_noun() {
    let mut found = Vec::new();
    for path in sources(&["rs", "py"]) {
        let text = read(&path);
        let openings = if path.extension().is_some_and(|end| end == "rs") { of_rust } else { of_python };
        found.extend(openings(&text).into_iter().filter_map(|(number, line)| {
            let first = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            OPENINGS.contains(&first).then(|| format!("{}:{number}: {line}", short(&path)))
        }));
    }
    complain(&found);
}

#[test]
fn sentences_of_users_have_35_words_at_most() {
    let mut found = Vec::new();
    for path in sources(&["md", "rs", "py"]) {
        let (name, text) = (short(&path), read(&path));
        let is_page = name.ends_with(".md");
        let is_shown = name.starts_with("python/shallows/") || name.contains("/src/");
        let passages = match () {
            () if is_page && (name.starts_with("docs/") || name == "README.md") => paragraphs(&text),
            () if !is_page && is_shown => strings(&text, name.ends_with(".py")),
            () => Vec::new(),
        };
        for (number, passage) in passages {
            let long = sentences(&passage).into_iter().find(|sentence| count(sentence) > LONGEST);
            found.extend(long.map(|long| format!("{name}:{number}: {long}")));
        }
    }
    complain(&found);
}

#[test]
fn a_replaced_word_is_found_in_prose_and_in_names() {
    for line in ["was Sent again", "a_segment_sent_again", "SentAgain", "`sent-again`"] {
        assert!(has(&words(line), "sent again"), "{line}");
    }
    assert!(!has(&words("discards wildcards"), "cards"));
    let page = "One\ntwo. Three.\n\n```sh\nfour\n```\n| five |\n- six\n- seven";
    let passages =
        [(1, "One two. Three."), (8, "- six"), (9, "- seven")].map(|(at, text)| (at, text.to_owned()));
    assert_eq!(paragraphs(page), passages);
    assert_eq!(sentences("One two. Three: four"), ["One two. ", "Three: ", "four "]);
    assert_eq!(strings("f(\"one \"\n\"two\", 3)", true)[0].1, "one two. ");
    assert_eq!(strings("f(\"one \\\n  two\")", false)[0].1, "one two. ");
}

/// Returns the files of the repository with these extensions.
fn sources(extensions: &[&str]) -> Vec<PathBuf> {
    files(&root(), extensions)
}

/// Returns the words of a line in lower case, split also at underscores and at capitals inside words.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut last = ' ';
    for character in line.chars() {
        if !character.is_alphanumeric() || (character.is_uppercase() && last.is_lowercase()) {
            words.push(String::new());
        }
        if character.is_alphanumeric() {
            words.last_mut().expect("there is one").extend(character.to_lowercase());
        }
        last = character;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Returns whether `words` contains the words of `phrase` in a row.
fn has(words: &[String], phrase: &str) -> bool {
    let phrase: Vec<&str> = phrase.split(' ').collect();
    words.windows(phrase.len()).any(|window| window == phrase)
}

/// Returns the first line of each doc comment in a Rust file, with its line number.
fn of_rust(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let (Some(comment), false) = (comment, inside) {
            found.push((number + 1, comment.trim().to_owned()));
        }
        inside = comment.is_some();
    }
    found
}

/// Returns the first line of each docstring in a Python file, with its line number.
fn of_python(text: &str) -> Vec<(usize, String)> {
    let begins =
        |line: &str| Some(line.trim_start().trim_start_matches('r').strip_prefix("\"\"\"")?.to_owned());
    let lines = text.lines().enumerate();
    lines.filter_map(|(number, line)| Some((number + 1, begins(line)?))).collect()
}

/// Returns the paragraphs and list items of a page, with the line numbers of their first lines. Code, tables and headings are excluded.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut in_code, mut continues) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.starts_with("```") {
            (in_code, continues) = (!in_code, false);
            continue;
        }
        if in_code || line.is_empty() || line.starts_with(['|', '#', '<']) {
            continues = false;
            continue;
        }
        let is_item = line.starts_with("- ") || line.starts_with("* ");
        match found.last_mut() {
            Some((_, last)) if continues && !is_item => *last = format!("{last} {line}"),
            _ => found.push((number + 1, line.to_owned())),
        }
        continues = true;
    }
    found
}

/// Returns the string literals of a source file, with the numbers of their lines. Literals that the language joins count as one.
fn strings(text: &str, is_python: bool) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut in_docstring, mut open) = (false, String::new());
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let marks = line.matches("\"\"\"").count();
        in_docstring ^= is_python && marks == 1;
        let is_comment = line.starts_with("//") || line.starts_with('#');
        if in_docstring || marks > 0 || is_comment {
            continue;
        }
        let begins = line.starts_with('"') || line.starts_with("f\"");
        open = match open.as_str() {
            "" => line.to_owned(),
            // Adjacent literals of Python, and a literal of Rust that continues on the next line.
            before if is_python && begins => format!("{}{}", &before[..before.len() - 1], after_quote(line)),
            before if !is_python => format!("{}{line}", before.trim_end_matches('\\')),
            before => {
                found.push((number, literals(before)));
                line.to_owned()
            }
        };
        let continues =
            if is_python { open.ends_with('"') && !open.ends_with("\"\"") } else { open.ends_with('\\') };
        if !continues {
            found.push((number + 1, literals(&open)));
            open.clear();
        }
    }
    found
}

fn after_quote(line: &str) -> &str {
    line.split_once('"').map_or("", |(_, rest)| rest)
}

/// Returns the literals of a line, each as a sentence.
fn literals(line: &str) -> String {
    line.split('"').skip(1).step_by(2).map(|literal| format!("{}. ", literal.replace("\\n", ". "))).collect()
}

/// Returns the sentences of a passage, which end at a full stop, question mark, colon or semicolon before a space.
fn sentences(passage: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    for word in passage.split_whitespace() {
        let last = found.last_mut().expect("there is one");
        last.push_str(word);
        last.push(' ');
        if word.trim_end_matches(['*', '`', ')', '"']).ends_with(['.', '?', '!', ':', ';']) {
            found.push(String::new());
        }
    }
    found
}

/// Returns the number of words in a sentence; code, and numbers with their units, count once.
fn count(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).count()
}
