"""What the ports and pools of a run held over time, from its traces or samples."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError, listed
from shallows.runs.pools import pool_of, refuse_shared, traced_pools
from shallows.runs.results import Run
from shallows.runs.steps import Series

if TYPE_CHECKING:
    import polars as pl

IDLE = {"port": "backlog_bytes", "pool": "pool_bytes"}
"""What samples hold, and what is zero until something arrives."""


def of_port(run: Run, name: str, quantity: str | None = None, queue: int | None = None) -> Series:
    """A quantity of a port, one of its queues, or a pool; `Run.series` explains it."""
    import polars as pl

    kind = "port" if name in ports_of(run) else "pool"
    quantity = quantity or IDLE[kind]
    if name in pool_of(run).values() and queue is not None:
        raise ShallowsError(f"a pool such as {name} has no queues", "leave out the queue, or name a port")
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


def _of_pool(run: Run, name: str) -> Series:
    """What a pool held: of this name, or that of the port of this name."""
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


def _traced(run: Run, name: str) -> "pl.DataFrame":
    """The rows of a port's trace; none if it was not traced."""
    import polars as pl

    if run.traces is None:
        return pl.DataFrame(schema={"queue": pl.Int64, "quantity": pl.String})
    return run.traces.filter(pl.col("port") == name)


def _sampled(run: Run, name: str, quantity: str) -> "pl.DataFrame | None":
    """Samples of a port or pool, perhaps without a row: then it was always empty."""
    import polars as pl

    if run.queues is None:
        return None
    kind = "port" if name in ports_of(run) else "pool"
    mine = run.queues.filter(pl.col("name") == name)
    return mine if quantity == IDLE[kind] and (kind == "port" or mine.height) else None


def _unknown(run: Run, name: str, quantity: str, queue: int | None, known: "pl.DataFrame") -> ShallowsError:
    of = f"queue {queue} of {name}" if queue is not None else name
    if known.height:
        there = known.select("quantity", "queue").unique(maintain_order=True).rows()
        said = [each if place is None else f"{each} of queue {place}" for each, place in there]
        return ShallowsError(f"{run.path} has no {quantity} of {of}", f"its trace has {', '.join(said)}")
    if name not in ports_of(run):
        kinds = "ports are called as in counters.parquet, pools as in queues.parquet"
        return ShallowsError(f"{run.path} has no port or pool {name!r}", kinds)
    return ShallowsError(
        f"{run.path} has not recorded {quantity} of {of}",
        f'set measure.traces = [{{ ports = ["{name}"] }}], and run it again',
    )


def ports_of(run: Run) -> dict[str, str]:
    """Every port of a run, and its kind."""
    pairs = run.counters.select("port", "kind").unique(maintain_order=True)
    return dict(pairs.iter_rows())


def choose_ports(run: Run, wanted: Sequence[str], known: Iterable[str]) -> list[str]:
    """Those of the names that match: names, patterns such as `switch0->*`, or kinds such as `to-host`."""
    kinds = ports_of(run)
    names = list(dict.fromkeys(known))
    chosen: dict[str, None] = {}
    for pattern in wanted:
        found = [name for name in names if fnmatchcase(name, pattern) or kinds.get(name) == pattern]
        if not found:
            raise ShallowsError(f"{run.path} has no port {pattern!r}", listed("to draw there are", names))
        chosen |= dict.fromkeys(found)
    return list(chosen)


def backlogs(run: Run, ports: Sequence[str]) -> dict[str, Series]:
    """Backlog over time of the ports and pools that match."""
    known = backlog_table(run)["name"].unique(maintain_order=True).to_list()
    if run.queues is not None:
        known = [*ports_of(run), *known]  # a port that was never found with a backlog has no row
    return {name: of_port(run, name) for name in choose_ports(run, ports, known)}


def busiest(runs: Sequence[Run], most: int) -> list[str]:
    """The ports with the longest queues of all these runs; those of hosts only if there are no others."""
    import polars as pl

    frames = [backlog_table(run).select("kind", "name", pl.col("bytes").cast(float)) for run in runs]
    ports = pl.concat(frames).filter(pl.col("kind") == "port")
    longest = ports.group_by("name", maintain_order=True).agg(pl.col("bytes").max())
    ordered = longest.sort("bytes", descending=True, maintain_order=True)["name"].to_list()
    kinds = {name: kind for run in runs for name, kind in ports_of(run).items()}
    of_switches = [name for name in ordered if kinds[name] != "nic"]
    chosen = (of_switches or ordered)[:most]
    if not chosen:
        raise ShallowsError(f"no port of {runs[0].path} ever had a backlog", "offer it more load")
    return chosen


def fullest_pool(run: Run, above: float) -> dict[str, Series]:
    """The pool of a switch that was fullest; none where it would only repeat the one port that is drawn."""
    import polars as pl

    hosts = {port.split("->")[0] for port, kind in ports_of(run).items() if kind == "nic"}
    pools = backlog_table(run).filter((pl.col("kind") == "pool") & (pl.col("bytes") > above))
    pools = pools.filter(~pl.col("name").str.split(".pool").list.first().is_in(list(hosts)))
    if pools.is_empty():
        return {}
    name = pools.sort("bytes", maintain_order=True)["name"][-1]
    return backlogs(run, [name])


def backlog_table(run: Run) -> "pl.DataFrame":
    """Time, kind, name and bytes of every port and pool that was recorded."""
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


def _end(run: Run) -> float:
    return float(run.summary["simulated_s"]) * 1e6
