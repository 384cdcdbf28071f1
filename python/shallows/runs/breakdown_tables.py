"""Results of a run by workload, class, group, port, queue or uplink, as tables."""

from collections.abc import Mapping, Sequence
from typing import Any

from shallows.quantity import digits, percent, size
from shallows.runs import percentiles
from shallows.runs.breakdown import breakdown as by
from shallows.runs.results import Run
from shallows.runs.table import NOTHING, Table


def breakdowns(run: Run, asked: Sequence[str] = ()) -> list[Table]:
    """Return a table for each grouping in `asked`.

    By default, the groupings are `workload`, `class`, `group` and `to_group`; each is left out if its table
    has only one row.
    """
    if asked:
        return [breakdown(run, what) for what in asked]
    told = [what for what in ("workload", "class", "group", "to_group") if what in run.columns("flows").names]
    return [made for what in told if len((made := breakdown(run, what)).rows) > 1]


def breakdown(run: Run, what: str) -> Table:
    """Return the results of `Run.by` as a table of text."""
    found = by(run, what)
    shown = {name: heading for name, heading in HEADINGS.items() if name in found.kinds}
    few = {
        rank
        for name, rank in RANKS.items()
        for row in found.rows
        if row.get(name) is not None and not percentiles.suffices(row["completed"], rank)
    }
    rows = [[_cell(name, _known(name, row)) for name in shown] for row in found.rows]
    note = percentiles.note(few)
    if what == "uplinks":
        note = "Largest over mean, and standard deviation over mean, of the bytes of a leaf's uplinks."
        if len(rows) > MOST_LEAVES:
            note = f"{note} Those {MOST_LEAVES} of {len(rows)} leaves that were most uneven."
            uneven = [-1.0 if row["variation"] is None else row["variation"] for row in found.rows]
            order = sorted(range(len(rows)), key=uneven.__getitem__, reverse=True)
            rows = [rows[place] for place in order[:MOST_LEAVES]]
    return Table(f"By {WAYS[what]}", list(shown.values()), rows, len([n for n in shown if n in NAMES]), note)


RANKS = {"fct_p50_us": 0.5, "fct_p99_us": 0.99}
"""Dictionary that maps columns with percentiles of completed flows to the percentile's rank."""


def _known(name: str, row: Mapping[str, Any]) -> Any:
    """Return the value of a column in a row; None for a percentile of too few flows."""
    if name not in RANKS:
        return row[name]
    return percentiles.known(row[name], row["completed"], RANKS[name])


def _cell(name: str, value: Any) -> str:
    if value is None:
        return NOTHING
    if name in NAMES:
        return PORTS.get(value, str(value))
    if name.startswith("utilisation"):
        return percent(value)
    if name.endswith("_bytes"):
        return size(value)
    return f"{value:,}" if isinstance(value, int) else digits(value)


MOST_LEAVES = 8
"""Maximum number of leaves whose uplinks the table shows."""

WAYS = {
    "workload": "workload",
    "class": "class of service",
    "group": "group of senders",
    "to_group": "group of receivers",
    "port": "kind of port",
    "queue": "queue",
    "uplinks": "leaf: how evenly it used its uplinks",
}
"""Groupings as named in the titles of tables."""

NAMES = {"workload", "kind", "class", "group", "to_group", "queue", "leaf"}
"""Columns that identify a row."""

HEADINGS = {
    "workload": "workload",
    "class": "class",
    "group": "group",
    "to_group": "to group",
    "kind": "kind",
    "queue": "queue",
    "leaf": "leaf",
    "flows": "flows",
    "completed": "completed",
    "fct_mean_us": "mean µs",
    "fct_p50_us": "p50 µs",
    "fct_p99_us": "p99 µs",
    "goodput_gbps": "Gb/s",
    "timeouts": "timeouts",
    "retransmits": "retransmits",
    "ports": "ports",
    "uplinks": "uplinks",
    "sent": "packets sent",
    "sent_bytes": "sent",
    "max_backlog_bytes": "longest",
    "marked": "marked",
    "dropped": "dropped",
    "utilisation": "busy",
    "utilisation_max": "busiest",
    "max_over_mean": "largest",
    "variation": "deviation",
}
"""Headings of columns; columns without a heading appear only in `Run.by`."""

PORTS = {
    "nic": "hosts' NICs",
    "to-host": "switch to host",
    "up": "leaf to spine, or edge to aggregation",
    "down": "spine to leaf, or aggregation to edge",
    "core-up": "aggregation to core",
    "core-down": "core to aggregation",
    "trunk": "switch to switch",
}
"""Names of kinds of ports."""
