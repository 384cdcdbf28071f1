//! Treats source files as text: removes comments, and finds the ends of declarations.

/// Returns the code of a Rust file without comments, literals and unit tests.
pub(crate) fn code_of_rust(text: &str) -> String {
    let own = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut code = String::with_capacity(own.len());
    let mut rest = own;
    while let Some(next) = rest.chars().next() {
        let (kept, skipped) = match next {
            '/' if rest.starts_with("//") => ("", rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => ("", rest.find("*/").map_or(rest.len(), |end| end + 2)),
            'r' if rest.starts_with("r#\"") => {
                ("\"\"", rest[3..].find("\"#").map_or(rest.len(), |end| end + 5))
            }
            '"' => ("\"\"", end_of_string(rest)),
            '\'' => end_of_character(rest).map_or(("'", 1), |end| ("' '", end)),
            _ => (&rest[..next.len_utf8()], next.len_utf8()),
        };
        code.push_str(kept);
        rest = &rest[skipped..];
    }
    code
}

/// Returns the index after the string literal that begins at the start of `text`.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            '"' if !escaped => return place + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    text.len()
}

/// Returns the index after the character literal that begins at the start of `text`; `None` if `text` begins with a lifetime.
fn end_of_character(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    if characters.next()?.1 == '\\' {
        return text[3..].find('\'').map(|end| end + 4);
    }
    characters.next().filter(|&(_, closing)| closing == '\'').map(|(place, _)| place + 1)
}

/// Returns the number of lines of each function of a Rust file. A function ends at the first closing brace that has the indentation of the
/// function's first word, as `rustfmt` formats code.
pub(crate) fn functions_of_rust(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let length = |begin: usize| {
        let end = format!("{}}}", &lines[begin][..indent(lines[begin])]);
        let mut seen = lines[begin..].iter().enumerate();
        // The function ends on a line of its own or on its first line. A declaration in a trait has no body.
        seen.find(|(after, line)| {
            **line == end || line.ends_with(';') && *after == 0 || line.ends_with('}') && *after == 0
        })
        .map(|(after, _)| after + 1)
    };
    (0..lines.len()).filter(|&line| begins_function(lines[line])).filter_map(length).collect()
}

fn begins_function(line: &str) -> bool {
    let mut rest = line.trim_start();
    for word in ["pub(crate) ", "pub(super) ", "pub ", "const ", "unsafe ", "async ", "extern \"C\" "] {
        rest = rest.strip_prefix(word).unwrap_or(rest);
    }
    rest.starts_with("fn ")
}

/// Returns the number of lines of each function of a Python file. A function ends before the next line that is indented no further than the
/// function's first line.
pub(crate) fn functions_of_python(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let length = |begin: usize| {
        let mut last = begin;
        for (number, line) in lines.iter().enumerate().skip(begin + 1) {
            let closes = line.trim_start().starts_with(')');
            if !line.trim().is_empty() && indent(line) <= indent(lines[begin]) && !closes {
                break;
            }
            last = if line.trim().is_empty() { last } else { number };
        }
        last - begin + 1
    };
    let begins = |line: &str| ["def ", "async def "].iter().any(|word| line.trim_start().starts_with(word));
    (0..lines.len()).filter(|&line| begins(lines[line])).map(length).collect()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_literals_and_tests_are_no_code() {
        let text = "a(b'\\'', '\"', \"x \\\" // y\", r#\"z\"#); // c\n/* d */ fn e<'f>() {}\n#[cfg(test)]\nmod tests {\n g }\n";
        assert_eq!(code_of_rust(text), "a(b' ', ' ', \"\", \"\"); \n fn e<'f>() {}\n");
    }

    #[test]
    fn a_function_ends_with_its_own_brace() {
        let text = "trait A {\n    fn a();\n    fn b() {\n        if c {\n        }\n    }\n}\nfn d() {}\n";
        assert_eq!(functions_of_rust(text), [1, 4, 1]);
        // The inner function is counted separately, and also as a part of the outer one.
        let text = "def a(\n    b,\n):\n    def c():\n        d\n\n    e\n\n\nf\n";
        assert_eq!(functions_of_python(text), [7, 2]);
    }
}
