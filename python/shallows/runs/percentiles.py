"""Rule for percentiles (docs/statistics.md): 20 observations must lie above a percentile; a p99 needs 2,000.

Tables, figures, pages, warnings and verdicts all apply this rule. Observations are counted in one run, or
over all seeds together if the shown number pools or averages seeds.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import ceil

RANK = 0.99
"""Rank of the percentile that verdicts use."""

FEWEST_BEYOND = 20
"""Minimum number of observations above a percentile."""


def needed(rank: float = RANK) -> int:
    """Return the fewest observations for the percentile of this rank.

    >>> needed(), needed(0.5), needed(0.999)
    (2000, 40, 20000)
    """
    return ceil(FEWEST_BEYOND / (1 - Fraction(repr(float(rank)))))


def suffices(count: int, rank: float = RANK) -> bool:
    """Return whether `count` observations are enough for the percentile of this rank.

    >>> suffices(2_000), suffices(1_999), suffices(1_999, 0.95)
    (True, False, True)
    """
    return count >= needed(rank)


def known(value: float | None, count: int, rank: float = RANK) -> float | None:
    """Return `value`, a percentile of `count` observations; None if there are too few observations.

    >>> known(7.0, 2_000), known(7.0, 1_999)
    (7.0, None)
    """
    return value if suffices(count, rank) else None


def too_few(count: int, rank: float = RANK, of: str = "flows") -> str:
    """Return the reason why a percentile is missing.

    >>> too_few(60)
    '60 flows: 2,000 are needed'
    """
    return f"{count:,} {of}: {needed(rank):,} are needed"


def note(ranks: Iterable[float]) -> str:
    """Return the note below a table or figure that lacks percentiles of these ranks.

    >>> note([0.99, 0.5])
    'a percentile is shown only if at least 20 observations lie above it: p50 needs 40, p99 2,000'
    """
    needs = [(f"p{100 * rank:g}", f"{needed(rank):,}") for rank in sorted(set(ranks))]
    if not needs:
        return ""
    (first, count), *others = needs
    listed = ", ".join([f"{first} needs {count}", *map(" ".join, others)])
    return f"a percentile is shown only if at least {FEWEST_BEYOND} observations lie above it: {listed}"
