//! Problems of a scenario, each with its location (file, line, column, key), the value found, and the allowed values.

use std::borrow::Cow;
use std::fmt;

/// Error for a scenario that cannot run. It contains every problem that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// Problems in the order in which they were found; never empty.
    pub problems: Vec<Problem>,
}

/// One problem of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Message with the value found and the values allowed.
    pub message: String,
    /// Key of the wrong value, such as `switch.markers[0].k`; empty if the problem concerns the whole file.
    pub key: String,
    /// Name of the scenario file, as given by the caller.
    pub file: String,
    /// Number of the line, counted from one; zero if no line of the file has the problem.
    pub line: usize,
    /// Column in characters, counted from one.
    pub column: usize,
    /// Text of the line that has the problem.
    pub source_line: String,
    /// The `--set` option that caused the problem; `None` if the file caused it.
    pub set: Option<String>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.problems.iter().enumerate() {
            if number > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ScenarioError {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.set, self.line) {
            (Some(option), _) => write!(f, "--set {}: ", shorten(option))?,
            (None, 0) => write!(f, "{}: ", self.file)?,
            (None, line) => write!(f, "{}:{line}:{}: ", self.file, self.column)?,
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", shorten(&self.key))?;
        }
        f.write_str(&shorten(&self.message))?;
        let fits = self.source_line.len() <= LONGEST_LINE;
        if self.set.is_none() && self.line > 0 && fits {
            let margin = " ".repeat(self.line.to_string().len());
            // Tabs stay tabs, so that the caret appears under the right character.
            let lead: String = self
                .source_line
                .chars()
                .take(self.column - 1)
                .map(|c| if c == '\t' { c } else { ' ' })
                .collect();
            write!(f, "\n{margin} |\n{} | {}\n{margin} | {lead}^", self.line, self.source_line)?;
        }
        Ok(())
    }
}

/// Maximum length of a source line that is shown with a problem.
const LONGEST_LINE: usize = 400;
/// Maximum length of a word in a message; longer words are truncated, because messages may repeat arbitrary input.
const LONGEST_WORD: usize = 200;
/// Maximum number of digits of a number in a message; longer numbers are shown in exponential notation.
const MOST_DIGITS: usize = 40;

/// Returns `message` with long words truncated and with long numbers in exponential notation, because 1e308 would otherwise print as 309
/// digits.
fn shorten(message: &str) -> Cow<'_, str> {
    if message.split_whitespace().all(|word| word.len() <= MOST_DIGITS) {
        return Cow::Borrowed(message);
    }
    let words = message.split(' ').map(|word| {
        let word = with_short_numbers(word);
        match word.char_indices().nth(LONGEST_WORD) {
            Some((end, _)) => format!("{}…", &word[..end]),
            None => word,
        }
    });
    Cow::Owned(words.collect::<Vec<_>>().join(" "))
}

fn with_short_numbers(word: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let mut made = String::new();
    let mut rest = word;
    while let Some(start) = rest.find(is_digit) {
        let (before, from) = rest.split_at(start);
        let (number, after) = from.split_at(from.find(|c| !is_digit(c)).unwrap_or(from.len()));
        made.push_str(before);
        match number.parse::<f64>() {
            Ok(value) if number.len() > MOST_DIGITS && value.is_finite() => {
                made.push_str(&format!("{value:e}"))
            }
            _ => made.push_str(number),
        }
        rest = after;
    }
    made + rest
}

/// Returns the name in `known` that is most similar to `found`, or `None` if no name is similar enough for a suggestion.
pub(crate) fn nearest<'a>(found: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let found = found.to_lowercase().replace('-', "_");
    known
        .map(|name| (edit_distance(&found, &name.to_lowercase().replace('-', "_")), name))
        .filter(|&(distance, name)| distance <= 1 + name.len().min(found.len()) / 4)
        .min()
        .map(|(_, name)| name)
}

/// Returns the Levenshtein distance: the number of insertions, deletions and substitutions that turn one text into the other.
fn edit_distance(from: &str, to: &str) -> usize {
    // Names are short, so no suggestion is needed for a long text.
    if from.len() > 64 {
        return usize::MAX;
    }
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, &b) in to.iter().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[column + 1];
            row[column + 1] = substituted.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_single_letter_changes() {
        // The three steps are kitten → sitten → sittin → sitting.
        assert_eq!(edit_distance("kitten", "sitting"), 3);
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!((edit_distance("abc", ""), edit_distance("xabc", "abc")), (3, 1));
        assert_eq!(edit_distance("same", "same"), 0);
        // A text beyond 64 bytes has the maximum distance.
        assert_eq!([64, 65].map(|letters| edit_distance(&"a".repeat(letters), "")), [64, usize::MAX]);
    }

    #[test]
    fn numbers_of_more_than_forty_digits_are_shown_with_few() {
        let ones = "1".repeat(40);
        assert_eq!(shorten(&format!("{ones} and {ones}")), format!("{ones} and {ones}"));
        assert_eq!(shorten(&format!("x=1{}.", "0".repeat(40))), "x=1e40");
    }

    #[test]
    fn a_slip_is_recognised_and_a_different_word_is_not() {
        assert_eq!(nearest("lod", ["load", "of"].into_iter()), Some("load"));
        assert_eq!(nearest("leaf_spine", ["star", "leaf-spine"].into_iter()), Some("leaf-spine"));
        assert_eq!(nearest("colour", ["load", "of"].into_iter()), None);
    }
}
