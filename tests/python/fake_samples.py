"""Samples of runs for comparisons, whose observations a test chooses, and verdicts on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows.comparison.rows import Row
from shallows.comparison.samples import Sample, Series

SHORT = {"fct": "fct_us.all", "small": "fct_us.small", "slowdown": "slowdown.all"}
"""Keywords for names of series that are no Python names."""


def sample(incomplete: int = 0, totals: dict[str, float] | None = None, **series: Any) -> Sample:
    """A sample of one run: observations by series, of which so many are lower limits, and totals."""
    made = {
        SHORT.get(name, name): Series(np.array(values, float), incomplete) for name, values in series.items()
    }
    return Sample(made, totals or {}, ())


def pairs(theirs: Sequence[Any], mine: Sequence[Any], name: str = "fct") -> list[tuple[Sample, Sample]]:
    """A pair of samples for each seed: the baseline's observations and the other scheme's."""
    return [(sample(**{name: one}), sample(**{name: other})) for one, other in zip(theirs, mine, strict=True)]


def constant_pairs(seeds: int, flows: int, factor: float = 2.0) -> list[tuple[Sample, Sample]]:
    """Pairs of runs whose flows all take 1 µs in the baseline, and `factor` µs in the other scheme."""
    return pairs([[1.0] * flows] * seeds, [[factor] * flows] * seeds)


def verdict_row(metric: str = "fct_us.all.mean", scheme: str = "b", low: float | None = 0.1) -> Row:
    """A row of a comparison, whose change of +100 % has a lower limit or none."""
    return Row({}, scheme, metric, "worse", "", 1.0, 2.0, 1.0, low, None, "5 seeds")
