"""Backlogs of selected ports and pools; choice of the busiest ports and their shared pools."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError, listed
from shallows.runs.pools import pool_of, traced_pools
from shallows.runs.recorded import IDLE, of_port, ports_of
from shallows.runs.results import Run
from shallows.runs.steps import Series

if TYPE_CHECKING:
    import polars as pl


def choose_ports(run: Run, wanted: Sequence[str], known: Iterable[str]) -> list[str]:
    """Return the ports that `wanted` selects by name, by pattern (`switch0->*`) or by kind (`to-host`)."""
    kinds = ports_of(run)
    names = list(dict.fromkeys(known))
    chosen: dict[str, None] = {}
    for pattern in wanted:
        found = [name for name in names if fnmatchcase(name, pattern) or kinds.get(name) == pattern]
        if not found:
            raise ShallowsError(
                f"{run.path} has no port {pattern!r}", listed("the ports and pools are", names)
            )
        chosen |= dict.fromkeys(found)
    return list(chosen)


def backlogs(run: Run, ports: Sequence[str]) -> dict[str, Series]:
    """Return the backlog over time of the matching ports and pools."""
    known = backlog_table(run)["name"].unique(maintain_order=True).to_list()
    if run.queues is not None:
        known = [*ports_of(run), *known]  # ports that were always empty have no samples
    return {name: of_port(run, name) for name in choose_ports(run, ports, known)}


def busiest(runs: Iterable[Run], most: int) -> list[str]:
    """Return the `most` ports with the longest queues over all runs; NICs only if no switch port had a queue.

    Tables are not kept, so `runs` may be an iterator that opens one run at a time.
    """
    longest: dict[str, float] = {}
    kinds: dict[str, str] = {}
    path = None
    for run in runs:
        path = path or run.path
        kinds |= ports_of(run)
        for name, value in _longest(run).items():
            longest[name] = max(value, longest.get(name, 0.0))
    ordered = sorted(longest, key=lambda name: -longest[name])
    of_switches = [name for name in ordered if kinds[name] != "nic"]
    chosen = (of_switches or ordered)[:most]
    if not chosen:
        raise ShallowsError(f"all recorded backlogs of {path} are 0", "raise the load of the scenario")
    return chosen


def _longest(run: Run) -> dict[str, float]:
    """Return the largest backlog in bytes of each port; ports that were always empty are left out."""
    import polars as pl

    ports = backlog_table(run).filter(pl.col("kind") == "port")
    found = ports.group_by("name", maintain_order=True).agg(pl.col("bytes").cast(float).max())
    return dict(found.iter_rows())


def pools_beside(run: Run, ports: Sequence[str]) -> list[str]:
    """Return the recorded pools that these switch ports share with other ports, in the order of the ports."""
    import polars as pl

    kinds, own = ports_of(run), pool_of(run)
    members = Counter(own.values())
    wanted = dict.fromkeys(own[port] for port in ports if port in own and kinds[port] != "nic")
    recorded = {*backlog_table(run).filter(pl.col("kind") == "pool")["name"]}
    return [pool for pool in wanted if members[pool] > 1 and pool in recorded]


def backlog_table(run: Run) -> "pl.DataFrame":
    """Return time, kind, name and bytes of every recorded port and pool."""
    import polars as pl

    if run.queues is not None:
        return run.queues
    if run.traces is None:
        raise ShallowsError(
            f"{run.path} has no record of backlogs (queues.parquet or traces.parquet)",
            'set measure.sample_queues = "10us" for all ports, '
            'or measure.traces = [{ ports = ["to-host"] }] for some ports, and run the scenario again',
        )
    ports = run.traces.filter(pl.col("queue").is_null() & (pl.col("quantity") == IDLE["port"]))
    return pl.concat(
        [
            ports.select("time_us", kind=pl.lit("port"), name="port", bytes="value"),
            traced_pools(run).select("time_us", kind=pl.lit("pool"), name="name", bytes="bytes"),
        ]
    )
