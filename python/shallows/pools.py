"""Which ports share a pool, and of which pools a trace knows all that happened."""

from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows.results import Run

if TYPE_CHECKING:
    import polars as pl

POOL_BYTES = "pool_bytes"

SHARED = {POOL_BYTES, "buffer_threshold_bytes"}
"""What a port tells of its pool: it changes also when another port of the pool does."""


def pool_of(run: Run) -> dict[str, str]:
    """The pool of each port, called as in `queues.parquet`."""
    buffer = run.scenario["switch"]["buffer"]
    per_pool = 1 if buffer["kind"] == "static-partition" else buffer.get("ports_per_pool")
    counted: dict[str, int] = {}
    found = {}
    for port in run.counters["port"].unique(maintain_order=True):
        node = port.split("->")[0]
        place = counted.get(node, 0)
        counted[node] = place + 1
        # Ports share the pools of their switch in their order.
        found[port] = f"{node}.pool{place // per_pool if per_pool else 0}"
    return found


def traced_pools(run: Run) -> dict[str, list[str]]:
    """Pools of which a trace knows every change, with their traced ports.

    A port tells of its pool when it changes itself; so all ports of a pool must be traced that had packets,
    unless readings are at intervals.
    """
    import polars as pl

    if run.traces is None:
        return {}
    traced = {*run.traces.filter(pl.col("quantity") == POOL_BYTES)["port"]}
    busy = {*run.counters.filter(pl.col("received") > 0)["port"]}
    members: dict[str, list[str]] = {}
    for port, pool in pool_of(run).items():
        members.setdefault(pool, []).append(port)
    return {
        pool: [port for port in ports if port in traced]
        for pool, ports in members.items()
        if traced & {*ports} and (_at_intervals(run) or not (busy - traced) & {*ports})
    }


def pool_rows(run: Run, pool: str) -> "pl.DataFrame | None":
    """What the trace says of a pool, in order; nothing if it does not know all of it."""
    import polars as pl

    ports = traced_pools(run).get(pool)
    if ports is None or run.traces is None:
        return None
    return run.traces.filter((pl.col("quantity") == POOL_BYTES) & pl.col("port").is_in(ports))


def refuse_shared(run: Run, name: str, quantity: str) -> None:
    """Raise if a port's trace does not know all changes of what it tells of its pool."""
    own = pool_of(run)
    alone = list(own.values()).count(own.get(name, "")) == 1
    if quantity in SHARED and not alone and not _at_intervals(run):
        raise ShallowsError(
            f"{quantity} of {name} changes with its pool, of which its trace tells only when {name} changes",
            "trace all ports of the switch, for the pool; or read it at intervals: "
            'measure.traces = [{ ports = [...], every = "10us" }], or measure.sample_queues',
        )


def _at_intervals(run: Run) -> bool:
    return all(trace["every"] != "event" for trace in run.scenario["measure"]["traces"])
