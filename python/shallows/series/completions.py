"""Completed flows by size."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows.quantity import parse_size
from shallows.runs.bins import bins
from shallows.runs.results import Run

if TYPE_CHECKING:
    import polars as pl


def completed(runs: Iterable[Run]) -> "pl.DataFrame":
    """Return the completed flows of several runs that arrived after the warm-up."""
    import polars as pl

    columns = ["size_bytes", "fct_us", "slowdown", "counted"]
    flows = pl.concat([run.flows.select(columns) for run in runs])
    return flows.filter((pl.col("counted") == 1) & pl.col("fct_us").is_not_null())


def size_bins(runs: Sequence[Run]) -> dict[str, tuple[int, int | None]]:
    """Return a dict from each size bin's name to its lower and upper bound in bytes; None means no bound."""
    edges = [0, *map(parse_size, runs[0].scenario["measure"]["bins"]), None]
    if any(run.scenario["measure"]["bins"] != runs[0].scenario["measure"]["bins"] for run in runs):
        raise ShallowsError(
            "the runs have different size bins", "run all scenarios with the same measure.bins"
        )
    bounds = list(pairwise(edges))
    names = max((bins(run.summary)[1:] for run in runs), key=len)
    return {name: (low or 0, high) for name, (low, high) in zip(names, bounds, strict=True)}


def within(flows: "pl.DataFrame", low: int, high: int | None) -> "pl.DataFrame":
    """Return flows larger than `low` and at most `high` bytes."""
    import polars as pl

    inside = pl.col("size_bytes") > low
    return flows.filter(inside if high is None else inside & (pl.col("size_bytes") <= high))
