"""Results of a sweep as one table with a row for each run."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from shallows.quantity import count, digits, percent
from shallows.runs import percentiles
from shallows.runs.bins import defined, edges_of
from shallows.runs.results import Run, axis_name
from shallows.runs.table import NOTHING, Table

RESULTS = [
    "mean µs",
    "max µs",
    "small p99 µs",
    "large mean µs",
    "switch loss",
    "NIC loss",
    "timeouts",
    "unfinished",
    "hops/s",
]
"""Columns of a sweep's results. *unfinished* counts flows that had not completed when the run ended."""


def points(runs: Iterable[Run]) -> Table:
    """Return a table with one row for each run: its labels and main results."""
    runs = list(runs)
    axes = list(dict.fromkeys(axis for run in runs for axis in run.labels))
    rows = [[*(_label(run.labels.get(axis)) for axis in axes), *_main_results(run.summary)] for run in runs]
    columns = [*map(axis_name, axes), *RESULTS]
    empty = {index for index in range(len(columns)) if all(row[index] == NOTHING for row in rows)}
    kept = [index for index in range(len(columns)) if index not in empty]
    notes = (
        ["unfinished: flows that had not completed when the run ended; no mean includes them"]
        if columns.index("unfinished") in kept
        else []
    )
    columns_kept = [columns[index] for index in kept]
    if {"small p99 µs", "large mean µs"} & {*columns_kept}:
        notes += dict.fromkeys(filter(None, (defined(edges_of(run.scenario)) for run in runs)))
    if any(_few_small(run.summary) for run in runs):
        notes.append(percentiles.note([percentiles.RANK]))
    return Table(
        "Results",
        columns_kept,
        [[row[index] for index in kept] for row in rows],
        names=len(axes),
        note="; ".join(notes),
    )


def losses_of_nics(runs: Sequence[Run]) -> list[str]:
    """Warn of runs that lost more packets in NICs than in switches."""
    own = [run for run in runs if run.summary["loss_rate_in_nics"] > run.summary["loss_rate_in_switches"]]
    return (
        [f"{len(own)} of {len(runs)} runs lost more packets in hosts' own NICs than in switches"]
        if own
        else []
    )


def _label(value: object) -> str:
    return NOTHING if value is None else str(value)


def _few_small(summary: Mapping[str, Any]) -> bool:
    """Return whether the run has small flows, but too few of them for a p99."""
    times = summary["fct_us"].get("small") or {"count": 0}
    return times["count"] > 0 and not percentiles.suffices(times["count"])


def _main_results(summary: Mapping[str, Any]) -> list[str]:
    times, flows = summary["fct_us"], summary["flows"]
    unfinished = flows["started"] - flows["completed"] - flows["unbounded"]
    return [
        digits(times["all"]["mean"]),
        digits(times["all"]["max"]),
        digits(None if _few_small(summary) else times.get("small", {}).get("p99")),
        digits(times.get("large", {}).get("mean")),
        percent(summary["loss_rate_in_switches"]),
        percent(summary["loss_rate_in_nics"]) if summary["loss_rate_in_nics"] else NOTHING,
        f"{summary['timeouts']:,}",
        f"{unfinished:,}" if unfinished > 0 else NOTHING,
        count(summary["engine"]["packet_hops_per_s"]),
    ]
