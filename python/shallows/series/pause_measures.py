"""Metrics of pauses of lossless classes; `measures` maps names to them."""

from collections.abc import Mapping
from typing import Any

from shallows.errors import ShallowsError, UnknownMetric
from shallows.runs.results import Run
from shallows.series.metric import PAUSES, Port
from shallows.series.offered import Offered


def totals(summary: Mapping[str, Any]) -> dict[str, float]:
    """Return the metrics of pauses of a whole run, by name; empty without lossless classes.

    >>> classes = {"pauses": 2, "paused_us": 5.5, "dropped": 0}
    >>> totals({"lossless": {"class3": classes, "class4": classes}}), totals({})
    ({'pauses': 4.0, 'paused_us': 11.0}, {})
    """
    classes = summary.get("lossless")
    if classes is None:
        return {}
    return {name: float(sum(each[name] for each in classes.values())) for name in PAUSES}


def total(name: str, run: Run) -> float:
    """Return a metric of pauses of a whole run.

    Raises
    ------
    ShallowsError
        If the run has no lossless classes.
    """
    if name not in (found := totals(run.summary)):
        raise _no_classes(str(run.path))
    return found[name]


def of_port(column: str, run: Run, _: None, port: Port) -> float:
    """Return the sum of a column of `pauses.parquet` over the classes of a port."""
    import polars as pl

    if run.pauses is None:
        raise _no_classes(str(run.path))
    mine = run.pauses.filter(pl.col("port") == port.name)
    if mine.is_empty():
        raise ShallowsError(
            f"{run.path} has no port {port.name!r}", "pauses.parquet lists the names of ports"
        )
    return float(mine[column].sum())


def has_classes(offered: Offered) -> None:
    """Reject a metric of pauses if the scenario has no lossless classes."""
    if not offered.lossless:
        raise UnknownMetric("the scenario has no lossless class", "set switch.lossless = { classes = [0] }")


def _no_classes(path: str) -> ShallowsError:
    return ShallowsError(f"{path} has no lossless classes", "set switch.lossless = { classes = [0] }")
