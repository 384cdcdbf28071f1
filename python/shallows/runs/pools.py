"""Pools that ports share, and pools whose changes are completely traced."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from shallows.errors import ShallowsError

if TYPE_CHECKING:
    import polars as pl

POOL_BYTES = "pool_bytes"

SHARED = {POOL_BYTES, "buffer_threshold_bytes"}
"""Quantities in a port's trace that describe its pool, and so also change with packets of other ports."""


class Recorded(Protocol):
    """The properties of a `Run` that this module reads."""

    @property
    def path(self) -> Path: ...  # noqa: D102

    @property
    def summary(self) -> Mapping[str, Any]: ...  # noqa: D102

    @property
    def scenario(self) -> dict[str, Any]: ...  # noqa: D102

    @property
    def counters(self) -> "pl.DataFrame": ...  # noqa: D102

    @property
    def queues(self) -> "pl.DataFrame | None": ...  # noqa: D102

    @property
    def traces(self) -> "pl.DataFrame | None": ...  # noqa: D102


def pool_of(run: Recorded) -> dict[str, str]:
    """Return the pool of each port, named as in `queues.parquet`."""
    return pools_of(run.counters["port"].unique(maintain_order=True), run.scenario["switch"]["buffer"])


def pools_of(ports: Iterable[str], buffer: Mapping[str, Any]) -> dict[str, str]:
    """Return the pool of each port; `buffer` is the `switch.buffer` of a resolved scenario.

    `ports` must be in the order of `counters.parquet`.

    >>> pools_of(["s->a", "s->b", "s->c"], {"kind": "dynamic-threshold", "ports_per_pool": 2})
    {'s->a': 's.pool0', 's->b': 's.pool0', 's->c': 's.pool1'}
    """
    per_pool = 1 if buffer["kind"] == "static-partition" else buffer.get("ports_per_pool")
    counted: dict[str, int] = {}
    found = {}
    for port in ports:
        node = port.split("->")[0]
        place = counted.get(node, 0)
        counted[node] = place + 1
        # Pools are assigned to the ports of a switch in their order.
        found[port] = f"{node}.pool{place // per_pool if per_pool else 0}"
    return found


def traced_pools(run: Recorded) -> "pl.DataFrame":
    """Return the bytes over time of completely traced pools: `time_us`, `name`, `bytes`.

    A trace of every change of a port records the pool's bytes only when that port changes. It covers the pool
    completely only if all other ports of the pool that had packets are traced too. If all traces of the run
    have readings at fixed intervals, one traced port is enough.
    """
    import polars as pl

    if run.traces is None:
        return pl.DataFrame(schema={"time_us": pl.Float64, "name": pl.String, "bytes": pl.Float64})
    own = pool_of(run)
    rows = run.traces.filter(pl.col("quantity") == POOL_BYTES)
    traced = {*rows["port"]}
    busy = {*run.counters.filter(pl.col("received") > 0)["port"]}
    unknown = set() if _at_intervals(run) else {own[port] for port in busy - traced}
    names = {port: own[port] for port in traced if own[port] not in unknown}
    known = rows.filter(pl.col("port").is_in(list(names)))
    name = pl.col("port").replace_strict(names, default=None, return_dtype=pl.String)
    return known.select("time_us", name=name, bytes=pl.col("value"))


def refuse_shared(run: Recorded, name: str, quantity: str) -> None:
    """Raise an error if a quantity depends on a shared pool, and the trace lacks changes by other ports."""
    own = pool_of(run)
    alone = list(own.values()).count(own.get(name, "")) == 1
    if quantity in SHARED and not alone and not _at_intervals(run):
        raise ShallowsError(
            f"{quantity} of {name} depends on all ports of the pool; the trace has only changes of {name}",
            "trace all ports of the switch, or record at intervals: "
            'measure.traces = [{ ports = [...], every = "10us" }], or measure.sample_queues',
        )


def _at_intervals(run: Recorded) -> bool:
    return all(trace["every"] != "event" for trace in run.scenario["measure"]["traces"])
