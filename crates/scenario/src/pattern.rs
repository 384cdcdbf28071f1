//! Names of nodes and ports, and patterns that match several names.

/// Returns whether `text` matches `pattern`, in which `*` matches any text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    // Matching each middle piece at its earliest place leaves the most text for the pieces after it.
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Maximum number of names in a range. It exceeds the number of nodes in any network and limits the memory that a mistyped range uses.
pub(crate) const MAX_NAMES: usize = 1 << 17;

/// Returns the names that `text` stands for: usually one. A range in `text`, such as `{0..10}`, stands for ten names with the numbers 0 to
/// 9.
pub(crate) fn expand(text: &str) -> Result<Vec<String>, String> {
    let Some((head, rest)) = text.split_once('{') else {
        check_name(text)?;
        return Ok(vec![text.to_owned()]);
    };
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let range = rest.split_once('}').and_then(|(range, tail)| {
        let (first, end) = range.split_once("..")?;
        Some((number(first)?, number(end)?, tail))
    });
    let Some((first, end, tail)) = range.filter(|(first, end, _)| first < end) else {
        return Err(format!(
            "must be a name or a range of names such as \"h{{0..10}}\" (h0 to h9), got {text:?}"
        ));
    };
    if (end - first) as usize > MAX_NAMES {
        return Err(format!("must be at most {MAX_NAMES} names, got {} in {text:?}", end - first));
    }
    check_name(&format!("{head}{first}{tail}"))?;
    Ok((first..end).map(|number| format!("{head}{number}{tail}")).collect())
}

/// Rejects a name that would be ambiguous in a set of hosts or in the name of a port.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let of_letters = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let is_number = name.chars().all(|c| c.is_ascii_digit());
    if of_letters && !is_number && name != "all" && !name.contains("..") {
        return Ok(());
    }
    Err(format!(
        "must be a name of letters, digits, \"-\", \"_\" and \".\" with at least one character that is not a digit, \
         got {name:?}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text) in
            [("*", ""), ("*", "a"), ("a*", "a"), ("a*c", "abc"), ("*b*", "abc"), ("a*b*a", "abba")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in
            [("a*a", "a"), ("a", "ab"), ("*b", "abc"), ("a*b*c", "acb"), ("", "a"), ("ab*ba", "aba")]
        {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn a_range_stands_for_its_names() {
        assert_eq!(expand("s1-{9..11}.x").unwrap(), ["s1-9.x", "s1-10.x"]);
        assert_eq!(expand("tor").unwrap(), ["tor"]);
        assert_eq!(expand("h{0..131072}").unwrap().len(), 131_072);
        assert!(expand("h{0..131073}").is_err());
    }

    #[test]
    fn names_that_mean_something_else_are_refused() {
        for name in ["7", "all", "a b", "a->b", "a..b", "", "a*", "é\u{1f}", "{0..3}"] {
            assert!(expand(name).unwrap_err().contains("must be a name of letters"), "{name}");
        }
        for range in ["a{", "a{1}", "a{3..3}", "a{5..1}", "a{-1..2}"] {
            assert!(expand(range).unwrap_err().contains("a range of names"), "{range}");
        }
        assert_eq!(
            expand("a{0..4000000000}").unwrap_err(),
            "must be at most 131072 names, got 4000000000 in \"a{0..4000000000}\""
        );
    }
}
