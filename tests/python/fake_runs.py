"""Runs with tables and summaries that a test chooses, without a simulation."""

import json
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import polars as pl

import shallows as sh
from shallows._core import Columns
from shallows.runs.results import SHOWN
from shallows.runs.summary import Summary
from shared import write_run

TCP = {"timestamps": False}
TOPOLOGY = {"mtu": 1500, "framing": 100}
BINS = ["100KB", "10MB"]

COUNTERS = pl.DataFrame(
    {
        "port": ["s->a", "s->a", "s->b", "a->s"],
        "kind": ["to-host", "to-host", "to-host", "nic"],
        "queue": [0, 1, 0, 0],
        "rate_bps": [10**10, 10**10, 4 * 10**10, 10**10],
        "received": [3, 1, 5, 9],
        "sent": [3, 1, 4, 9],
        "sent_bytes": [9_000, 6_000, 40_000, 1_000],
        "marked": [1, 0, 2, 0],
        "dropped": [0, 0, 1, 0],
        "max_backlog_bytes": [3_000, 2_000, 4_000, 7_000],
    }
)
"""Counters of a switch's ports to hosts `a` (two queues) and `b`, and of the NIC of `a`."""


class FakeRun(sh.Run):
    """A run in memory; tests give the contents that its folder would have.

    Parameters
    ----------
    path
        Name of its folder, which does not exist.
    found
        Summary, environment, scenario and tables.
    """

    def __init__(self, path: Path, found: dict[str, Any]) -> None:
        self.path = path
        self._columns: dict[str, Columns] = {}
        vars(self).update({"environment": {}, "summary": {}} | found)
        change_summary(self, **vars(self)["summary"])

    def columns(self, table: str) -> Columns:
        """Convert a table to the engine's columns."""
        return columns_of(getattr(self, table))

    def has(self, table: str) -> bool:
        """Return whether the test gave the table."""
        return vars(self).get(table) is not None


def change_summary(run: sh.Run, **changes: Any) -> None:
    """Replace keys of a run's summary."""
    vars(run)["summary"] = Summary(run.path / "summary.json", dict(run.summary) | changes)


def fake_run(end_us: float = 10_000.0, **found: Any) -> sh.Run:
    """Return a run in memory with these tables, which ends at `end_us`."""
    known = {
        "summary": {"simulated_s": end_us / 1e6, "datagram_gbps": 0.0},
        "scenario": {"tcp": TCP, "topology": TOPOLOGY, "measure": {"bins": BINS, "traces": []}},
    }
    if "labels" in found:
        found["environment"] = found.get("environment", {}) | {"labels": found.pop("labels")}
    return FakeRun(Path(found.pop("path", "by-hand")), known | found)


def columns_of(table: pl.DataFrame) -> Columns:
    """Return a table as the columns that the engine would read."""
    with NamedTemporaryFile(suffix=".parquet") as file:
        table.write_parquet(file.name, compression="snappy")
        return Columns.read(file.name, [name for names in SHOWN.values() for name in names])


def flow_table(**columns: list[Any]) -> pl.DataFrame:
    """Return a table of flows with these columns; all other columns have the same value in every row."""
    count = len(next(iter(columns.values())))
    usual: dict[str, Any] = {
        "workload": 0,
        "class": 0,
        "query": None,
        "source": 0,
        "destination": 1,
        "size_bytes": 1_000,
        "delivered_bytes": 1_000,
        "arrival_us": 0.0,
        "fct_us": 10.0,
        "fct_sender_us": 12.0,
        "ideal_us": 5.0,
        "slowdown": 2.0,
        "timeouts": 0,
        "retransmits": 0,
        "counted": 1,
    }
    filled = {name: [value] * count for name, value in usual.items()}
    return pl.DataFrame({"flow": [*range(count)]} | filled | columns, strict=False)


def flow_trace(quantity: str, *rows: tuple[float, int, float]) -> pl.DataFrame:
    """Return a trace of flows from rows of time in µs, flow and value."""
    found = pl.DataFrame(list(rows), schema=["time_us", "flow", "value"], orient="row")
    return found.with_columns(quantity=pl.lit(quantity))


FLOW: dict[str, Any] = {
    "workload": 0,
    "class": 0,
    "query": None,
    "source": 0,
    "destination": 1,
    "size_bytes": 1_000,
    "arrival_us": 0.0,
    "fct_us": 5.0,
    "ideal_us": 5.0,
    "timeouts": 0,
    "counted": 1,
}
INTEGERS = {name: pl.Int64 for name in FLOW if not name.endswith("_us")}


def write_fake_run(
    folder: Path,
    flows: dict[str, Any],
    seed: int = 1,
    *,
    queries: dict[str, Any] | None = None,
    scenario: dict[str, Any] | None = None,
    totals: dict[str, float] | None = None,
    **environment: Any,
) -> sh.Run:
    """Write a run of 100 µs that a comparison can read, with these flows; other values have defaults."""
    folder.mkdir(parents=True)
    count = max(len(column) for column in flows.values())
    columns = {name: flows.get(name, [FLOW[name]] * count) for name in FLOW}
    schema = {name: INTEGERS.get(name, pl.Float64) for name in FLOW}
    pl.DataFrame(columns, schema=schema).write_parquet(folder / "flows.parquet")
    if queries:
        pl.DataFrame(queries).write_parquet(folder / "queries.parquet")
    measure = {"warm_up": "0ps", "fct": "receiver", "bins": BINS}
    known = {"measure": measure, "workload": [], "stop": {}} if scenario is None else scenario
    (folder / "resolved.json").write_text(json.dumps(known))
    summary = {"fct_us": {"all": {}, "small": {}, "medium": {}, "large": {}}, "simulated_s": 1e-4}
    usual = {"goodput_gbps": 1.0, "loss_rate_in_switches": 0.0, "loss_rate_in_nics": 0.0}
    write_run(folder, {"seed": seed, "labels": {}} | environment, summary | usual | (totals or {}))
    return sh.Run(folder)
