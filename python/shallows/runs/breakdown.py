"""Results of a run grouped by workload, class, group of hosts, port, queue or uplink."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import truediv
from typing import TYPE_CHECKING, Any, Protocol

from shallows.errors import ShallowsError
from shallows.runs.ranks import place_of

if TYPE_CHECKING:
    import polars as pl

    from shallows._core import Columns

Row = dict[str, Any]


class Measured(Protocol):
    """The properties of a `Run` that this module reads."""

    @property
    def summary(self) -> Mapping[str, Any]: ...  # noqa: D102

    @property
    def scenario(self) -> dict[str, Any]: ...  # noqa: D102

    def columns(self, table: str) -> "Columns": ...  # noqa: D102


@dataclass(frozen=True)
class Breakdown:
    """Grouped results: one row for each group, such as a workload or a class."""

    kinds: dict[str, type]
    """Dictionary that maps column names, in order, to the type of their values; any value may be None."""
    rows: list[Row]


def by(run: Measured, what: str) -> "pl.DataFrame":
    """Return the results grouped by `what` as a frame; `Run.by` documents the columns."""
    from shallows.runs.frames import frame

    found = breakdown(run, what)
    return frame(found.rows, found.kinds)


def breakdown(run: Measured, what: str) -> Breakdown:
    """Return the results grouped by `what`; `Run.by` documents the columns."""
    if not isinstance(what, str) or what not in WAYS:
        raise ShallowsError(f"cannot group results by {what!r}", f"the groupings are: {', '.join(WAYS)}")
    return WAYS[what](run)


def _of_workloads(run: Measured) -> Breakdown:
    kinds = [each["kind"] for each in run.scenario["workload"]]
    found = _of_flows(run, "workload")
    rows = [{"workload": row["workload"], "kind": kinds[row["workload"]], **row} for row in found.rows]
    return Breakdown({"workload": int, "kind": str, **found.kinds}, rows)


def _of_classes(run: Measured) -> Breakdown:
    return _of_flows(run, "class")


def _of_groups(run: Measured) -> Breakdown:
    return _grouped(run, "group")


def _to_groups(run: Measured) -> Breakdown:
    return _grouped(run, "to_group")


def _grouped(run: Measured, key: str) -> Breakdown:
    if key not in run.columns("flows").names:
        raise ShallowsError(
            "the scenario of this run has no groups of hosts", "add [[host.group]] tables, and run it again"
        )
    return _of_flows(run, key)


def _of_flows(run: Measured, key: str) -> Breakdown:
    simulated_us = float(run.summary["simulated_s"]) * 1e6
    rows = []
    for value, flows in run.columns("flows").groups(key):
        counted = flows.between("counted", above=0)
        times, slowdowns = counted.ordered("fct_us"), counted.ordered("slowdown")
        rows.append(
            {
                key: value,
                "flows": len(counted),
                "completed": len(times),
                "fct_mean_us": _mean(times),
                "fct_p50_us": _percentile(times, 0.5),
                "fct_p99_us": _percentile(times, 0.99),
                "slowdown_mean": _mean(slowdowns),
                "slowdown_p99": _percentile(slowdowns, 0.99),
                "goodput_gbps": flows.sum("delivered_bytes") * 8 / simulated_us / 1e3,
                "timeouts": flows.sum("timeouts"),
                "retransmits": flows.sum("retransmits"),
            }
        )
    of_key = str if key in {"group", "to_group"} else int
    return Breakdown({key: of_key, **FLOWS}, rows)


FLOWS = {
    "flows": int,
    "completed": int,
    "fct_mean_us": float,
    "fct_p50_us": float,
    "fct_p99_us": float,
    "slowdown_mean": float,
    "slowdown_p99": float,
    "goodput_gbps": float,
    "timeouts": int,
    "retransmits": int,
}
"""Columns of results grouped by flows, with their types."""


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _percentile(ordered: Sequence[float], rank: float) -> float | None:
    """Return the percentile of this rank, as `summary.json` defines it; None if there are no values."""
    return ordered[place_of(rank, len(ordered))] if ordered else None


def _of_kinds(run: Measured) -> Breakdown:
    return _of_ports(run, {"kind": str})


def _of_queues(run: Measured) -> Breakdown:
    return _of_ports(run, {"kind": str, "queue": int})


SUMMED = ["received", "sent", "sent_bytes", "marked", "dropped"]
"""Counters that are summed over ports."""


def _of_ports(run: Measured, keys: dict[str, type]) -> Breakdown:
    """Return counters and link utilisation for each kind of port or queue."""
    simulated_s = float(run.summary["simulated_s"])
    # Sum the queues of a port into one row, unless the results are grouped by queue.
    ports = _added(_rows(run, [*keys, "port", "rate_bps", *SUMMED, LONGEST]), [*keys, "port"])
    members: dict[tuple[Any, ...], list[Row]] = {}
    for port in ports:
        members.setdefault(tuple(port[key] for key in keys), []).append(port)
    rows = []
    for together, alike in zip(_added(ports, keys), members.values(), strict=True):
        carried = [port["sent_bytes"] * 8 / simulated_s for port in alike]
        rates = [port["rate_bps"] for port in alike]
        known = None not in rates  # runs of earlier versions have no rates
        use = {
            "ports": len(alike),
            "utilisation": sum(carried) / sum(rates) if known else None,
            "utilisation_max": max(map(truediv, carried, rates)) if known else None,
        }
        rows.append(together | use)
    kinds = {**keys, "ports": int, **dict.fromkeys([*SUMMED, LONGEST], int)}
    return Breakdown({**kinds, "utilisation": float, "utilisation_max": float}, rows)


LONGEST = "max_backlog_bytes"
"""Counter of which merged rows keep the largest value; all other counters are summed."""


def _added(rows: Sequence[Row], keys: Collection[str]) -> list[Row]:
    """Merge the counters of rows with the same keys; rows keep the order of their first occurrence."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in rows:
        key = tuple(row[name] for name in keys)
        if (together := found.get(key)) is None:
            found[key] = dict(row)
            continue
        for name in SUMMED:
            together[name] += row[name]
        together[LONGEST] = max(together[LONGEST], row[LONGEST])
    return list(found.values())


def _rows(run: Measured, names: Sequence[str]) -> list[Row]:
    """Return these columns of `counters.parquet` as rows; None if an earlier version wrote no such column."""
    counters = run.columns("counters")
    nothing = [None] * len(counters)
    columns = [counters.values(name) if name in counters.names else nothing for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _of_uplinks(run: Measured) -> Breakdown:
    """Return measures of how evenly each leaf used its uplinks; ECMP selects one uplink for each flow."""
    sent: dict[str, int] = {}
    for row in _rows(run, ["port", "kind", "sent_bytes"]):
        if row["kind"] == "up":
            sent[row["port"]] = sent.get(row["port"], 0) + row["sent_bytes"]
    leaves: dict[str, list[int]] = {}
    for port, count in sent.items():
        leaves.setdefault(port.split("->")[0], []).append(count)
    rows = []
    for leaf, counts in leaves.items():
        mean = sum(counts) / len(counts)
        deviation = math.sqrt(sum((count - mean) ** 2 for count in counts) / len(counts))
        rows.append(
            {
                "leaf": leaf,
                "uplinks": len(counts),
                "sent_bytes": sum(counts),
                "max_over_mean": max(counts) / mean if mean else None,
                "variation": deviation / mean if mean else None,
            }
        )
    kinds = {"leaf": str, "uplinks": int, "sent_bytes": int, "max_over_mean": float, "variation": float}
    return Breakdown(kinds, rows)


WAYS: dict[str, Callable[[Measured], Breakdown]] = {
    "workload": _of_workloads,
    "class": _of_classes,
    "group": _of_groups,
    "to_group": _to_groups,
    "port": _of_kinds,
    "queue": _of_queues,
    "uplinks": _of_uplinks,
}
"""Functions that group results, by the name that `Run.by` takes."""
