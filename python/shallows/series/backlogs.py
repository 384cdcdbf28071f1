"""Backlogs of chosen ports and pools, of the busiest ports, and of the fullest pool."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError, listed
from shallows.runs.pools import traced_pools
from shallows.runs.recorded import IDLE, of_port, ports_of
from shallows.runs.results import Run
from shallows.runs.steps import Series

if TYPE_CHECKING:
    import polars as pl


def choose_ports(run: Run, wanted: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the matching names: names, patterns such as `switch0->*`, or kinds such as `to-host`."""
    kinds = ports_of(run)
    names = list(dict.fromkeys(known))
    chosen: dict[str, None] = {}
    for pattern in wanted:
        found = [name for name in names if fnmatchcase(name, pattern) or kinds.get(name) == pattern]
        if not found:
            raise ShallowsError(f"{run.path} has no port {pattern!r}", listed("available are", names))
        chosen |= dict.fromkeys(found)
    return list(chosen)


def backlogs(run: Run, ports: Sequence[str]) -> dict[str, Series]:
    """Return the backlog over time of the matching ports and pools."""
    known = backlog_table(run)["name"].unique(maintain_order=True).to_list()
    if run.queues is not None:
        known = [*ports_of(run), *known]  # a port that was never found with a backlog has no row
    return {name: of_port(run, name) for name in choose_ports(run, ports, known)}


def busiest(runs: Sequence[Run], most: int) -> list[str]:
    """Return the ports with the longest queues over all runs; host ports only if there are no others."""
    import polars as pl

    frames = [backlog_table(run).select("kind", "name", pl.col("bytes").cast(float)) for run in runs]
    ports = pl.concat(frames).filter(pl.col("kind") == "port")
    longest = ports.group_by("name", maintain_order=True).agg(pl.col("bytes").max())
    ordered = longest.sort("bytes", descending=True, maintain_order=True)["name"].to_list()
    kinds = {name: kind for run in runs for name, kind in ports_of(run).items()}
    of_switches = [name for name in ordered if kinds[name] != "nic"]
    chosen = (of_switches or ordered)[:most]
    if not chosen:
        raise ShallowsError(f"no port of {runs[0].path} ever had a backlog", "raise the load")
    return chosen


def fullest_pool(run: Run, above: float) -> dict[str, Series]:
    """Return the fullest pool of a switch; empty if it would only repeat the one drawn port."""
    import polars as pl

    hosts = {port.split("->")[0] for port, kind in ports_of(run).items() if kind == "nic"}
    pools = backlog_table(run).filter((pl.col("kind") == "pool") & (pl.col("bytes") > above))
    pools = pools.filter(~pl.col("name").str.split(".pool").list.first().is_in(list(hosts)))
    if pools.is_empty():
        return {}
    name = pools.sort("bytes", maintain_order=True)["name"][-1]
    return backlogs(run, [name])


def backlog_table(run: Run) -> "pl.DataFrame":
    """Return time, kind, name and bytes of every recorded port and pool."""
    import polars as pl

    if run.queues is not None:
        return run.queues
    if run.traces is None:
        raise ShallowsError(
            f"{run.path} has neither queues.parquet nor traces.parquet",
            'set measure.sample_queues = "10us" for all ports, '
            'or measure.traces = [{ ports = ["to-host"] }] for some at every change, and run it again',
        )
    ports = run.traces.filter(pl.col("queue").is_null() & (pl.col("quantity") == IDLE["port"]))
    return pl.concat(
        [
            ports.select("time_us", kind=pl.lit("port"), name="port", bytes="value"),
            traced_pools(run).select("time_us", kind=pl.lit("pool"), name="name", bytes="bytes"),
        ]
    )
