"""Data that a run contributes to a comparison: completion times in order of arrival, and totals."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows.quantity import parse_size
from shallows.runs.bins import bins
from shallows.runs.results import Run
from shallows.series import pause_measures
from shallows.series.flow_measures import part
from shallows.series.metric import GROUPS, TOTALS, Metric

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

FLOWS = {
    "query": "Int64",
    "source": "Int64",
    "destination": "Int64",
    "size_bytes": "Int64",
    "arrival_us": "Float64",
    "fct_us": "Float64",
    "ideal_us": "Float64",
    "timeouts": "Int64",
    "counted": "Int64",
    "workload": "Int64",
    "class": "Int64",
}
"""Columns of flows.parquet that a comparison reads, and their types."""

QUERIES = {
    "workload": "Int64",
    "query": "Int64",
    "client": "Int64",
    "start_us": "Float64",
    "completion_us": "Float64",
    "counted": "Int64",
}
"""Columns of queries.parquet that a comparison reads, and their types."""

OF_GROUPS = dict.fromkeys(GROUPS, "String")
"""Further columns of flows.parquet that a comparison reads if hosts are in groups."""

SUMMARY = {"fct_us": Mapping, "simulated_s": int | float, **dict.fromkeys(TOTALS, int | float)}
"""Keys of summary.json that a comparison reads, and their types."""


@dataclass(frozen=True)
class Series:
    """Observations in order of arrival; `incomplete` is the number of observations that are lower bounds."""

    values: "NDArray[np.float64]"
    incomplete: int = 0


@dataclass(frozen=True)
class Sample:
    """Flows and queries of a run that arrived between warm-up and cool-down, and its totals."""

    series: dict[str, Series]
    totals: dict[str, float]
    work: "tuple[pl.DataFrame, ...]"
    """All flows and queries of the run with their start times, to detect runs with different traffic."""

    def met_the_same(self, other: "Sample") -> bool:
        """Return whether two runs had the same flows and queries at the same times."""
        return len(self.work) == len(other.work) and all(
            mine.equals(theirs) for mine, theirs in zip(self.work, other.work, strict=True)
        )


def read(run: Run, cool_down: float, wanted: Collection[str] = ()) -> Sample:
    """Read the sample of a finished run.

    Late flows have less competing traffic, and if a run stops at a given time, only short late flows
    complete. Therefore flows that arrived in the last part of the arrival period are excluded. The age of an
    unfinished flow counts as a lower bound of its completion time.

    Parameters
    ----------
    run
        A finished run. Its tables are not kept in memory, because those of a sweep may be too large.
    cool_down
        Share of the arrival period to exclude, at its end.
    wanted
        Names of further series, of workloads, classes or groups: `fct_us.small@0`, `query_us.all@1`,
        `slowdown.all@class2`, `fct_us.all@group=old`.

    Raises
    ------
    ShallowsError
        If another version wrote the files, or the run has no such workload, class or group.
    """
    run = Run(run.path)
    if complaints := run.summary.get("health", {}).get("complaints"):
        raise ShallowsError(
            f"the run {run.path} is invalid: {complaints[0]}",
            "measure the run again on a less busy machine, or leave it out; see docs/testbed.md",
        )
    if missing := [key for key, kind in SUMMARY.items() if not isinstance(run.summary.get(key), kind)]:
        raise _outdated(run, "summary.json", missing[0])
    end_us = 1e6 * float(run.summary["simulated_s"])
    grouped = {column: kind for column, kind in OF_GROUPS.items() if column in run.flows.columns}
    flows = _columns(run, "flows.parquet", run.flows, FLOWS | grouped)
    wheres = dict.fromkeys(of for name in wanted if (of := Metric(name).flows))
    series = _flow_series(run, flows, end_us, cool_down)
    for where in wheres:
        theirs = part(run, flows, where)
        series |= _of_part(_flow_series(run, theirs, end_us, cool_down, every_size=True), where.text)
    if run.queries is None:
        asked, queries = flows, None
    else:
        queries = _columns(run, "queries.parquet", run.queries, QUERIES)
        measured = _measured(queries, "start_us", "completion_us", end_us, cool_down)
        series["query_us.all"] = _series(measured, "time")
        for where in wheres:
            if where.key == "workload":
                asked = measured.filter(measured["workload"].is_in(where.values))
                series |= _of_part({"query_us.all": _series(asked, "time")}, where.text)
        # Answers start when the network delivers requests; open-loop requests do not depend on the network.
        asked = flows.filter(flows["query"].is_null())
    work = [asked.select("source", "destination", "size_bytes", "arrival_us")]
    if queries is not None:
        work.append(queries.select("workload", "query", "client", "start_us"))
    totals = {name: float(run.summary[name]) for name in TOTALS} | pause_measures.totals(run.summary)
    return Sample(series, totals, tuple(work))


def _of_part(series: dict[str, Series], where: str) -> dict[str, Series]:
    """Append `@WHERE` to the names of series; omit empty series. WHERE is a workload, class or group."""
    return {Metric(name).at(where).name: found for name, found in series.items() if found.values.size}


def _flow_series(
    run: Run, flows: "pl.DataFrame", end_us: float, cool_down: float, *, every_size: bool = False
) -> dict[str, Series]:
    # Unbounded flows have no completion time.
    sized = flows.filter(flows["size_bytes"].is_not_null())
    measured = _measured(sized, "arrival_us", "fct_us", end_us, cool_down)
    # Only completed flows have an ideal time. The slowdown of unfinished flows is at least 1.
    measured = measured.with_columns(slowdown=(measured["time"] / measured["ideal_us"]).fill_null(1.0))
    series = {}
    for name, chosen in _by_size(run, measured, every_size=every_size).items():
        series[f"fct_us.{name}"] = _series(chosen, "time")
        series[f"slowdown.{name}"] = _series(chosen, "slowdown")
    return series | {"timeouts_per_flow": _series(measured, "timeouts")}


def _by_size(run: Run, flows: "pl.DataFrame", *, every_size: bool) -> "dict[str, pl.DataFrame]":
    names = bins(run.summary)[1:]
    edges = [parse_size(edge) for edge in run.scenario["measure"]["bins"]]
    ranges = zip(names, [0, *edges], [*edges, 1 << 62], strict=True)
    chosen = {
        name: flows.filter(flows["size_bytes"].is_between(low, high, closed="right"))
        for name, low, high in ranges
    }
    # A bin that contains all flows adds no information, but a named metric of a workload or class may use it.
    most = flows.height if every_size else flows.height - 1
    return {"all": flows} | {name: some for name, some in chosen.items() if 0 < some.height <= most}


def _measured(
    table: "pl.DataFrame", start: str, time: str, end_us: float, cool_down: float
) -> "pl.DataFrame":
    """Return the rows that arrived between warm-up and cool-down, in order, with a column `time`."""
    import polars as pl

    counted = table.filter(pl.col("counted") == 1).sort(start, maintain_order=True)
    last = pl.col(start).max()
    kept = counted.filter(pl.col(start) <= last - cool_down * (last - pl.col(start).min()))
    under_way = end_us - pl.col(start)
    return kept.with_columns(time=pl.col(time).fill_null(under_way), incomplete=pl.col(time).is_null())


def _series(table: "pl.DataFrame", column: str) -> Series:
    import polars as pl

    return Series(table[column].cast(pl.Float64).to_numpy(), int(table["incomplete"].sum()))


def _columns(run: Run, name: str, table: "pl.DataFrame", columns: dict[str, str]) -> "pl.DataFrame":
    import polars as pl

    for column, kind in columns.items():
        if column not in table.columns:
            raise _outdated(run, name, column)
        if str(table.schema[column]) not in {kind, "Null"}:
            raise ShallowsError(
                f"{run.path / name}: column {column} must be of type {kind}, got {table.schema[column]}",
                "this file does not come from Shallows: run the scenario again",
            )
    return table.select(pl.col(column) for column in columns)


def _outdated(run: Run, name: str, missing: str) -> ShallowsError:
    made_by = run.environment.get("version", "unknown")
    return ShallowsError(
        f"{run.path / name}: {missing} is missing; version {made_by} or another program wrote the file",
        "run the scenario again with this version",
    )
