"""Results of the runs of a sweep as one table, a row for each."""

from collections.abc import Iterable, Sequence
from typing import Any

from shallows.quantity import count, digits, percent
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
"""Columns of a sweep's results. *unfinished*: flows that had not completed when the run ended."""


def points(runs: Iterable[Run]) -> Table:
    """One row for each run of a sweep: its labels and its main results."""
    runs = list(runs)
    axes = list(dict.fromkeys(axis for run in runs for axis in run.labels))
    rows = [[*(_label(run.labels.get(axis)) for axis in axes), *_main_results(run.summary)] for run in runs]
    columns = [*map(axis_name, axes), *RESULTS]
    empty = {index for index in range(len(columns)) if all(row[index] == NOTHING for row in rows)}
    kept = [index for index in range(len(columns)) if index not in empty]
    has_unfinished = columns.index("unfinished") in kept
    note = "unfinished: flows that had not completed when the run ended; no mean includes them"
    return Table(
        "Results",
        [columns[index] for index in kept],
        [[row[index] for index in kept] for row in rows],
        names=len(axes),
        note=note if has_unfinished else "",
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


def _main_results(summary: dict[str, Any]) -> list[str]:
    times, flows = summary["fct_us"], summary["flows"]
    unfinished = flows["started"] - flows["completed"] - flows["unbounded"]
    return [
        digits(times["all"]["mean"]),
        digits(times["all"]["max"]),
        digits(times.get("small", {}).get("p99")),
        digits(times.get("large", {}).get("mean")),
        percent(summary["loss_rate_in_switches"]),
        percent(summary["loss_rate_in_nics"]) if summary["loss_rate_in_nics"] else NOTHING,
        f"{summary['timeouts']:,}",
        f"{unfinished:,}" if unfinished > 0 else NOTHING,
        count(summary["engine"]["packet_hops_per_s"]),
    ]
