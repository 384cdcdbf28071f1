//! Text form of quantities: a number and a unit, parsed and printed exactly.

use std::fmt;

pub(crate) type Suffix = (&'static str, u64);

/// Error for a quantity that cannot be parsed. Its message contains the text and the known units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUnitError {
    found: String,
    expected: &'static str,
    problem: &'static str,
    /// Corrected text for the hint "did you mean": the same number with a known unit. `None` if the given unit resembles no known unit.
    meant: Option<String>,
    units: &'static [Suffix],
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: Vec<_> = self.units.iter().map(|unit| unit.0).collect();
        let Self { found, expected, problem, .. } = self;
        let hint = self.meant.as_ref().map_or(String::new(), |meant| format!("; did you mean \"{meant}\"?"));
        write!(f, "must be {expected}, got \"{found}\": {problem}{hint} (units: {})", units.join(", "))
    }
}

impl std::error::Error for ParseUnitError {}

/// Parses `text` as a number followed by one of `units`. Returns the value in the unit whose factor is 1.
pub(crate) fn parse_quantity(
    text: &str,
    expected: &'static str,
    units: &'static [Suffix],
) -> Result<u64, ParseUnitError> {
    let fail = |problem| ParseUnitError { found: text.to_owned(), expected, problem, meant: None, units };
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (number, unit) = (text[..split].replace('_', ""), text[split..].trim_start());
    if number.is_empty() {
        return Err(fail("the number is missing or negative"));
    }
    let &(_, factor) = units.iter().find(|known| known.0 == unit).ok_or_else(|| ParseUnitError {
        meant: meant(unit, units).map(|unit| format!("{number}{unit}")),
        ..fail("the unit is missing or unknown")
    })?;
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits = format!("{whole}{fraction}");
    let value: u128 = digits.parse().map_err(|_| fail("the number is invalid"))?;
    let scale = u32::try_from(fraction.len())
        .ok()
        .and_then(|places| 10u128.checked_pow(places))
        .ok_or_else(|| fail("the number has too many decimal places"))?;
    let product = value.checked_mul(u128::from(factor)).ok_or_else(|| fail("the value is too large"))?;
    if product % scale != 0 {
        return Err(fail("the value is finer than the smallest unit"));
    }
    u64::try_from(product / scale).map_err(|_| fail("the value is too large"))
}

/// Returns the known unit that `unit` spells in another way; `None` if `unit` resembles no known unit. `gbps`, `Gbit/s`, `Gb/s` and `G`
/// mean `Gbps`; `kb` and `KBytes` mean `KB`; `µs`, `usec` and `microseconds` mean `us`.
fn meant(unit: &str, units: &'static [Suffix]) -> Option<&'static str> {
    let mut plain = unit.to_lowercase().replace(['µ', 'μ'], "u");
    for (long, short) in [("kilo", "k"), ("mega", "m"), ("giga", "g"), ("tera", "t")] {
        plain = plain.replace(long, short);
    }
    for (long, short) in [("pico", "p"), ("nano", "n"), ("micro", "u"), ("milli", "m")] {
        plain = plain.replace(long, short);
    }
    for (long, short) in
        [("seconds", "s"), ("second", "s"), ("secs", "s"), ("sec", "s"), ("bytes", "b"), ("byte", "b")]
    {
        plain = plain.replace(long, short);
    }
    for (long, short) in
        [("bits/s", "bps"), ("bit/s", "bps"), ("b/s", "bps"), ("bits", "bps"), ("bit", "bps")]
    {
        plain = plain.replace(long, short);
    }
    if plain.is_empty() {
        return None;
    }
    let spelled = |&&(known, _): &&Suffix| {
        let known = known.to_lowercase();
        known == plain || ["b", "ps", "bps"].iter().any(|rest| known == format!("{plain}{rest}"))
    };
    units.iter().find(spelled).map(|known| known.0)
}

/// Prints `value` exactly, in the largest unit that gives a number of at least 1 with at most three decimals.
pub(crate) fn print_quantity(f: &mut fmt::Formatter<'_>, value: u64, units: &[Suffix]) -> fmt::Result {
    let exact =
        |&&(_, factor): &&Suffix| value >= factor && (u128::from(value) * 1_000) % u128::from(factor) == 0;
    let &(unit, factor) = units.iter().filter(exact).max_by_key(|unit| unit.1).unwrap_or(&units[0]);
    let thousandths = u128::from(value) * 1_000 / u128::from(factor);
    let (whole, rest) = (thousandths / 1_000, thousandths % 1_000);
    if rest == 0 {
        return write!(f, "{whole}{unit}");
    }
    let decimals = format!("{rest:03}");
    write!(f, "{whole}.{}{unit}", decimals.trim_end_matches('0'))
}
