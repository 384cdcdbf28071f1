"""Names of percentiles in metrics: `p50`, `p99.9`, `p999`."""

import re
from decimal import Decimal

from shallows.errors import UnknownMetric

NAMED = re.compile(r"p\.?\d.*", re.ASCII)
"""Words that look like a percentile, valid or not."""

IN_PERCENT = re.compile(r"\d{1,2}(\.\d+)?|100(\.0+)?", re.ASCII)
NINES = re.compile(r"99\d+", re.ASCII)
"""Notation of papers for 99.9 and 99.99 %, without the point: `999` and `9999`."""


def words(name: str) -> list[str]:
    """Split a metric's name at its points, except for the point of a number.

    >>> words("ideal_fct_us.small.p99.9")
    ['ideal_fct_us', 'small', 'p99.9']
    """
    return re.split(r"(?<!\d)\.|\.(?!\d)", name)


def is_percentile(word: str) -> bool:
    """Return whether a part of a metric's name looks like a percentile.

    >>> is_percentile("p50"), is_percentile("p101"), is_percentile("peak_us")
    (True, True, False)
    """
    return NAMED.fullmatch(word) is not None


def parse(word: str) -> float:
    """Return the rank of a percentile, as a share of the observations.

    The number after the `p` is in percent. After 99 the point may be omitted, as in papers.

    Raises
    ------
    UnknownMetric
        If the word is not a percentile above 0 and up to 100.

    Examples
    --------
    >>> [parse(word) for word in ("p5", "p50", "p99.9", "p999", "p100")]
    [0.05, 0.5, 0.999, 0.999, 1.0]
    """
    number = word.removeprefix("p")
    if NINES.fullmatch(number):
        number = f"99.{number[2:]}"
    if not word.startswith("p") or not IN_PERCENT.fullmatch(number) or Decimal(number) == 0:
        raise UnknownMetric(
            f"{word!r} is not a percentile",
            "write p and a number above 0 and at most 100: p5 is 5 %, p99.9 and p999 are 99.9 %",
        )
    return float(Decimal(number) / 100)
