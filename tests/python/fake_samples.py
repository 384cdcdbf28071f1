"""Samples for comparisons, with observations that a test chooses, and verdicts on them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shallows.comparison.rows import Row
from shallows.comparison.samples import Sample, Series

SHORT = {"fct": "fct_us.all", "small": "fct_us.small", "slowdown": "slowdown.all"}
"""Short keywords for names of series that are not valid identifiers."""


def sample(incomplete: int = 0, totals: dict[str, float] | None = None, **series: Any) -> Sample:
    """Return the sample of one run: its series and totals; `incomplete` observations are lower bounds."""
    made = {
        SHORT.get(name, name): Series(np.array(values, float), incomplete) for name, values in series.items()
    }
    return Sample(made, totals or {}, ())


def pairs(theirs: Sequence[Any], mine: Sequence[Any], name: str = "fct") -> list[tuple[Sample, Sample]]:
    """Return a pair of samples for each seed: `theirs` is the baseline, `mine` the other scheme."""
    return [(sample(**{name: one}), sample(**{name: other})) for one, other in zip(theirs, mine, strict=True)]


def constant_pairs(seeds: int, flows: int, factor: float = 2.0) -> list[tuple[Sample, Sample]]:
    """Return pairs of runs: all flows take 1 µs in the baseline, and `factor` µs in the other scheme."""
    return pairs([[1.0] * flows] * seeds, [[factor] * flows] * seeds)


def verdict_row(metric: str = "fct_us.all.mean", scheme: str = "b", low: float | None = 0.1) -> Row:
    """Return a row of a comparison with a change of +100 % and this lower limit."""
    return Row({}, scheme, metric, "worse", "", 1.0, 2.0, 1.0, low, None, "5 seeds")
