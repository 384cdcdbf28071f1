"""Results as tables, for the terminal and for reports."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from shallows.quantity import count, digits, duration, percent, rate, size
from shallows.results import Run


@dataclass(frozen=True)
class Table:
    """A table of text. The first columns are names and set left, the others numbers and set right."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    names: int = 1
    note: str = ""


def marking_curves(curves: Iterable[dict[str, Any]], title: str = "Marking curves") -> Table:
    """Where each kind of port starts to mark, where it marks everything, and what its buffer allows."""
    return Table(title, ["port"], [[str(curve)] for curve in curves])


def completion(summary: dict[str, Any]) -> Table:
    """Flow completion times and slowdowns by size."""
    rows = []
    for name, times in summary["fct_us"].items():
        slow = summary["slowdown"].get(name, {})
        numbers = [times[key] for key in ("mean", "p50", "p95", "p99", "max")]
        numbers += [slow.get(key) for key in ("mean", "p99")]
        rows.append([_bin(name, summary), f"{times['count']:,}", *map(digits, numbers)])
    columns = [
        "flows",
        "count",
        "mean µs",
        "p50 µs",
        "p95 µs",
        "p99 µs",
        "max µs",
        "slowdown",
        "p99 slowdown",
    ]
    return Table("Flow completion times", columns, rows)


def _bin(name: str, summary: dict[str, Any]) -> str:
    edges = summary.get("bins", [])
    if len(edges) != 2:
        return name.replace("_", " ")
    low, high = map(size, edges)
    return {"small": f"small (≤ {low})", "medium": f"medium (≤ {high})", "large": f"large (> {high})"}.get(
        name, name
    )


def network(summary: dict[str, Any]) -> Table:
    """What the network did: goodput, losses, marks."""
    flows, packets = summary["flows"], summary["packets"]
    rows = [
        ["flows completed", f"{flows['completed']:,} of {flows['started']:,}"],
        ["simulated time", f"{digits(summary['simulated_s'] * 1e3)} ms"],
        ["goodput", f"{digits(summary['goodput_gbps'])} Gb/s"],
        ["packets sent", f"{packets['sent']:,}"],
        ["packets dropped", f"{packets['dropped']:,} ({percent(summary['loss_rate'])})"],
        ["packets marked", f"{packets['marked']:,}"],
        ["timeouts", f"{summary['timeouts']:,}"],
        ["retransmitted segments", f"{summary['retransmits']:,}"],
    ]
    if summary.get("datagram_gbps"):
        rows.insert(3, ["datagrams received", f"{digits(summary['datagram_gbps'])} Gb/s"])
    return Table("Network", ["", "total"], rows)


def engine(summary: dict[str, Any]) -> str:
    """One line: what the run cost."""
    cost = summary["engine"]
    return (
        f"{count(cost['packet_hops'])} packet-hops in {duration(cost['wall_s'])} "
        f"({count(cost['packet_hops_per_s'])}/s), {digits(cost['peak_rss_mb'])} MB"
    )


def points(runs: Iterable[Run]) -> Table:
    """One row for each run of a sweep: its labels and its main results."""
    runs = list(runs)
    axes = list(dict.fromkeys(axis for run in runs for axis in run.labels))
    rows = [[*(_label(run.labels.get(axis)) for axis in axes), *_main_results(run.summary)] for run in runs]
    results = ["mean µs", "small p99 µs", "large mean µs", "loss", "timeouts", "hops/s"]
    return Table("Results", [*map(axis_name, axes), *results], rows, names=len(axes))


def axis_name(axis: str) -> str:
    """What an axis is called in tables and figures: the last word of its key.

    >>> axis_name("workload.0.load")
    'load'
    """
    return axis.rsplit(".", 1)[-1].replace("_", " ")


def _label(value: object) -> str:
    return "–" if value is None else str(value)


def _main_results(summary: dict[str, Any]) -> list[str]:
    times = summary["fct_us"]
    return [
        digits(times["all"]["mean"]),
        digits(times.get("small", {}).get("p99")),
        digits(times.get("large", {}).get("mean")),
        percent(summary["loss_rate"]),
        f"{summary['timeouts']:,}",
        count(summary["engine"]["packet_hops_per_s"]),
    ]


__all__ = ["Table", "axis_name", "completion", "engine", "marking_curves", "network", "points", "rate"]
