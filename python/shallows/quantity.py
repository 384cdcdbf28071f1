"""Numbers and quantities in text: parsing and formatting."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction


def size(count: float) -> str:
    """Format a number of bytes with a decimal prefix.

    >>> size(720_000), size(3_145_728), size(64)
    ('720 KB', '3.15 MB', '64 B')
    """
    return f"{scaled(count, ('', 'K', 'M', 'G', 'T'))}B"


def parse_size(text: str) -> int:
    """Parse a size in a scenario's notation; return bytes.

    >>> parse_size("100KB"), parse_size("3MiB"), parse_size("131073B"), parse_size("102.399KB")
    (100000, 3145728, 131073, 102399)

    Raises
    ------
    ValueError
        If the text is not a size with a unit of bytes.
    """
    return round(_measured(text, "bytes"))


def parse_time(text: str) -> float:
    """Parse a time in a scenario's notation; return seconds.

    >>> parse_time("10s"), parse_time("2.4ms"), parse_time("120us")
    (10.0, 0.0024, 0.00012)

    Raises
    ------
    ValueError
        If the text is not a time with a unit.
    """
    return float(_measured(text, "seconds"))


def parse_rate(text: str) -> float:
    """Parse a rate in a scenario's notation; return bits per second.

    >>> parse_rate("10Gbps"), parse_rate("2.5Mbps")
    (10000000000.0, 2500000.0)

    Raises
    ------
    ValueError
        If the text is not a rate with a unit.
    """
    return float(_measured(text, "bits per second"))


def _measured(text: str, of: str) -> Fraction:
    """Parse a quantity and return its number in the base unit `of`; other units raise a `ValueError`."""
    found = parse_quantity(text)
    if found.of != of:
        raise ValueError(f"{text!r} must have a unit of {of}")
    return found.number


def rate(bits: float) -> str:
    """Format a number of bits per second with a decimal prefix.

    >>> rate(100_000_000_000)
    '100 Gbps'
    """
    return f"{scaled(bits, ('', 'K', 'M', 'G', 'T'))}bps"


def time(picoseconds: int) -> str:
    """Format a time exactly, in the largest unit that needs at most three decimals.

    >>> time(10_000_000), time(1_500_000_000), time(0), time(7)
    ('10 µs', '1.5 ms', '0 s', '7 ps')
    """
    if picoseconds == 0:
        return "0 s"
    units = ((12, "s"), (9, "ms"), (6, "µs"), (3, "ns"), (0, "ps"))
    power, unit = next(
        (power, unit)
        for power, unit in units
        if picoseconds >= 10**power and picoseconds * 1000 % 10**power == 0
    )
    return f"{Decimal(picoseconds).scaleb(-power).normalize():f} {unit}"


@dataclass(frozen=True)
class Quantity:
    """An exact number with its base unit, so that 0.1 + 0.2 equals 0.3."""

    number: Fraction
    of: str = ""
    """`bytes`, `packets`, `seconds` or `bits per second`; empty for a plain number."""


UNITS = {
    **{f"{prefix}B": (1000**power, "bytes") for power, prefix in enumerate(("", "K", "M", "G", "T"))},
    **{f"{prefix}iB": (1024**power, "bytes") for power, prefix in enumerate("KMGT", 1)},
    **{
        f"{prefix}bps": (1000**power, "bits per second")
        for power, prefix in enumerate(("", "K", "M", "G", "T"))
    },
    **{
        f"{prefix}s": (Fraction(1, 1000**power), "seconds")
        for power, prefix in enumerate(("", "m", "u", "n", "p"))
    },
    "p": (1, "packets"),
    "": (1, ""),
}
"""Dictionary that maps each unit of scenarios to its size in the base unit, and to the base unit's name."""


def parse_quantity(value: object) -> Quantity:
    """Parse a number, or a text with a unit.

    >>> parse_quantity("90KB") == parse_quantity("0.09MB"), parse_quantity("2ms") == parse_quantity("2KB")
    (True, False)
    >>> parse_quantity(0.4)
    Quantity(number=Fraction(2, 5), of='')

    Raises
    ------
    ValueError
        If the value is not a finite number, or its unit is unknown.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{value!r} is not a quantity")  # noqa: TRY004
    text = str(value)
    found = re.fullmatch(r"([+-]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?) ?([A-Za-z]*)", text.strip())
    if found is None or found[2] not in UNITS or not math.isfinite(number := float(found[1])):
        raise ValueError(f"{value!r} is not a quantity")
    scale, of = UNITS[found[2]]
    # The conversion to a double rejects huge exponents.
    return Quantity(Fraction(repr(number)) * scale, of)


def order(value: object) -> float:
    """Return a number or quantity as a sort key: in bytes, packets, seconds or bits per second.

    >>> order(0.4), order("325KB"), order("20p"), order("2ms")
    (0.4, 325000.0, 20.0, 0.002)

    Raises
    ------
    ValueError
        As for `parse_quantity`.
    """
    return float(parse_quantity(value).number)


def count(number: float) -> str:
    """Format a count, or a count per second, with a decimal prefix.

    >>> count(11_400_000), count(950)
    ('11.4 M', '950')
    """
    return scaled(number, ("", "k", "M", "G", "T")).rstrip()


def scaled(number: float, prefixes: Sequence[str]) -> str:
    """Format a number with three significant digits, a space and the fitting prefix."""
    for prefix in prefixes[:-1]:
        if abs(number) < 999.5:
            return f"{digits(number)} {prefix}"
        number /= 1000
    return f"{digits(number)} {prefixes[-1]}"


def digits(number: float | None, significant: int = 3) -> str:
    """Format a number with `significant` digits, without exponent; a dash for None and NaN.

    >>> digits(None), digits(0), digits(0.06251), digits(103.42), digits(10_627.4)
    ('–', '0', '0.0625', '103', '10,627')
    >>> digits(math.nan), digits(math.inf), digits(-math.inf)
    ('–', '∞', '-∞')
    """
    if number is None or math.isnan(number):
        return "–"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    if number == 0:
        return "0"
    magnitude = len(str(int(abs(number)))) if abs(number) >= 1 else 1 - _leading_zeros(abs(number))
    decimals = max(significant - magnitude, 0)
    text = f"{number:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _leading_zeros(number: float) -> int:
    """Return the decimal place of the first significant digit of a number below one."""
    return -int(f"{number:e}".rsplit("e", 1)[1])


def ranges(numbers: Iterable[int]) -> str:
    """Format whole numbers in order; consecutive numbers become ranges.

    >>> ranges([5, 0, 2, 1])
    '0–2, 5'
    """
    found: list[list[int]] = []
    for number in sorted(set(numbers)):
        if found and found[-1][-1] == number - 1:
            found[-1].append(number)
        else:
            found.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in found)


def percent(ratio: float | None) -> str:
    """Format a ratio in percent.

    >>> percent(0.003391)
    '0.339 %'
    """
    return "–" if ratio is None else f"{digits(ratio * 100)} %"


def signed(number: float) -> str:
    """Format a difference with its sign.

    >>> signed(12.34), signed(-0.5), signed(1e-9)
    ('+12.3', '−0.5', '0')
    """
    if abs(number) < 1e-6:
        return "0"
    return ("+" if number > 0 else "−") + digits(abs(number))


def duration(seconds: float) -> str:
    """Format a wall time.

    >>> duration(0.5), duration(75), duration(7_380)
    ('0.5 s', '1 min 15 s', '2 h 3 min')
    """
    if seconds < 60:
        return f"{digits(seconds, 2)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def finite(number: float) -> float | None:
    """Return the number, or None (JSON null) if it is not finite.

    >>> finite(1.5), finite(float("inf"))
    (1.5, None)
    """
    return number if math.isfinite(number) else None
