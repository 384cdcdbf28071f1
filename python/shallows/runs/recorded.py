"""Recorded values of a port or a pool over time, from traces or samples."""

from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows.runs.pools import Recorded, pool_of, refuse_shared, traced_pools
from shallows.runs.steps import Series

if TYPE_CHECKING:
    import polars as pl

IDLE = {"port": "backlog_bytes", "pool": "pool_bytes"}
"""Name of the sampled quantity of a port and of a pool; both quantities are zero until a packet arrives."""


def of_port(run: Recorded, name: str, quantity: str | None = None, queue: int | None = None) -> Series:
    """Return a quantity of a port, queue or pool over time; `Run.series` documents it."""
    import polars as pl

    kind = "port" if name in ports_of(run) else "pool"
    quantity = quantity or IDLE[kind]
    if name in pool_of(run).values() and queue is not None:
        raise ShallowsError(f"{name} is a pool and has no queues", "leave out the queue, or name a port")
    if quantity == IDLE["pool"]:
        return _of_pool(run, name)
    refuse_shared(run, name, quantity)
    known = _traced(run, name)
    mine = known.filter(
        pl.col("quantity") == quantity, pl.col("queue").eq_missing(pl.lit(queue, dtype=pl.Int64))
    )
    if mine.height:
        return Series.read(mine, "value", _end(run), 0.0 if quantity == IDLE["port"] else None)
    sampled = _sampled(run, name, quantity) if queue is None else None
    if sampled is None:
        raise _unknown(run, name, quantity, queue, known)
    return Series.read(sampled, "bytes", _end(run), 0.0)


def _of_pool(run: Recorded, name: str) -> Series:
    """Return the bytes of a pool over time; `name` is the pool's name or that of one of its ports."""
    import polars as pl

    pool = pool_of(run).get(name, name)
    rows = traced_pools(run).filter(pl.col("name") == pool)
    if rows.height:
        return Series.read(rows, "bytes", _end(run), 0.0)
    sampled = _sampled(run, pool, IDLE["pool"])
    if sampled is not None:
        return Series.read(sampled, "bytes", _end(run), 0.0)
    if name in ports_of(run) and _traced(run, name).height:
        refuse_shared(run, name, IDLE["pool"])
    raise _unknown(run, name, IDLE["pool"], None, _traced(run, name))


def _traced(run: Recorded, name: str) -> "pl.DataFrame":
    """Return the rows of a port's trace; an empty frame if it was not traced."""
    import polars as pl

    if run.traces is None:
        return pl.DataFrame(schema={"queue": pl.Int64, "quantity": pl.String})
    return run.traces.filter(pl.col("port") == name)


def _sampled(run: Recorded, name: str, quantity: str) -> "pl.DataFrame | None":
    """Return the samples of a port or pool (no rows if it was always empty); None if nothing was sampled."""
    import polars as pl

    if run.queues is None:
        return None
    kind = "port" if name in ports_of(run) else "pool"
    mine = run.queues.filter(pl.col("name") == name)
    return mine if quantity == IDLE[kind] and (kind == "port" or mine.height) else None


def _unknown(
    run: Recorded, name: str, quantity: str, queue: int | None, known: "pl.DataFrame"
) -> ShallowsError:
    of = f"queue {queue} of {name}" if queue is not None else name
    if known.height:
        there = known.select("quantity", "queue").unique(maintain_order=True).rows()
        said = [each if place is None else f"{each} of queue {place}" for each, place in there]
        return ShallowsError(f"{run.path} has no {quantity} of {of}", f"the trace has {', '.join(said)}")
    if name not in ports_of(run):
        kinds = "counters.parquet lists the names of ports, queues.parquet the names of pools"
        return ShallowsError(f"{run.path} has no port or pool {name!r}", kinds)
    return ShallowsError(
        f"{run.path} has no record of {quantity} of {of}",
        f'set measure.traces = [{{ ports = ["{name}"] }}], and run the scenario again',
    )


def ports_of(run: Recorded) -> dict[str, str]:
    """Return a dict from the name of each port of a run to the port's kind."""
    pairs = run.counters.select("port", "kind").unique(maintain_order=True)
    return dict(pairs.iter_rows())


def _end(run: Recorded) -> float:
    return float(run.summary["simulated_s"]) * 1e6
