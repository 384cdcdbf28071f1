"""Numbers of a run's flows by name: shares, fairness, concurrency. `measures` calls them.

`WORKLOADS` are places of workloads in the scenario: `0`, `2..22` (2 to 21), `0, 3`.
"""

from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows.results import Run

if TYPE_CHECKING:
    import polars as pl

    from shallows.figures.steps import Numbers

LARGE = 1_000_000
"""Bytes above which a flow is large (DCTCP §2.2)."""

CAUGHT_UP = 0.8
"""Of the mean of all flows, what a flow must have that has caught up."""

SLICE_MS = 5
"""Over which `catch_up_ms` takes goodput."""


def flow_gbps(run: Run, workloads: str) -> float:
    """Goodput of a flow from its arrival to the end of the run, on average over the flows."""
    return float(_goodputs(run, workloads).mean())


def jain(run: Run, workloads: str) -> float:
    """Jain's index of the same goodputs."""
    return _index(_goodputs(run, workloads))


def with_timeout(run: Run, workloads: str) -> float:
    """The share of flows that had a timeout."""
    return float((_flows(run, workloads)["timeouts"] > 0).to_numpy().mean())


def jain_over(run: Run, slice_ms: str, span: str) -> float:
    """Jain's index of what flows acknowledge in each slice, on average over slices of a span in seconds."""
    import numpy as np

    begin, end = (float(part) * 1e6 for part in span.split(".."))
    acked = _acked(run, np.arange(begin, end + 1, float(slice_ms) * 1e3))
    rates = np.diff(list(acked.values()), axis=1)
    return float(np.mean([_index(column) for column in rates.T]))


def catch_up_ms(run: Run, flow: str) -> float:
    """From a flow's arrival until, over 5 ms, it has four fifths of the mean of all flows that are traced."""
    import numpy as np
    import polars as pl

    arrival = float(run.flows.filter(pl.col("flow") == int(flow))["arrival_us"].item())
    acked = _acked(run, np.arange(arrival, float(run.summary["simulated_s"]) * 1e6 + 1, SLICE_MS * 1e3))
    rates = {number: np.diff(each) for number, each in acked.items()}
    share = CAUGHT_UP * np.mean(list(rates.values()), axis=0)
    there = np.flatnonzero(rates[int(flow)] >= share)
    return float(there[0] + 1) * SLICE_MS if there.size else float("inf")


def concurrent(run: Run, percentile: str, window: str, *, above: int = 0, busy: bool = False) -> float:
    """Flows of a host during a window, over all hosts and windows after the warm-up.

    A request and its answer are one, as they would share a connection. With `busy` only windows count in
    which a host has such a flow.
    """
    import numpy as np
    import polars as pl

    length = float(window.removesuffix("ms")) * 1e3
    last = int(float(run.summary["simulated_s"]) * 1e6 // length) - 1  # what is left may be shorter
    flows = run.flows.filter((pl.col("size_bytes") > above) & (pl.col("counted") == 1))
    ends = pl.col("arrival_us") + pl.col("fct_us").fill_null(float("inf"))
    windows = flows.with_columns(
        pl.min_horizontal("source", "destination").alias("one"),
        pl.max_horizontal("source", "destination").alias("other"),
        pl.when(pl.col("query").is_null()).then("flow").alias("alone"),
        pl.int_ranges(
            (pl.col("arrival_us") // length).cast(pl.Int64),
            pl.min_horizontal(ends // length, pl.lit(float(last))).cast(pl.Int64) + 1,
        ).alias("window"),
    ).explode("window")
    found = windows.drop_nulls("window").unique(["workload", "query", "one", "other", "alone", "window"])
    hosts = pl.concat([found.select("window", pl.col(end).alias("host")) for end in ("one", "other")])
    counts = hosts.group_by("host", "window").len()["len"].to_numpy()
    if not busy:
        everybody = max(int(run.flows[end].to_numpy().max()) for end in ("source", "destination")) + 1
        spans = (
            last - int(run.flows.filter(pl.col("counted") == 1)["arrival_us"].to_numpy().min() // length) + 1
        )
        counts = np.append(counts, np.zeros(everybody * spans - counts.size))
    return float(np.quantile(counts, float(f"0.{percentile.removeprefix('p')}"), method="inverted_cdf"))


def _flows(run: Run, workloads: str) -> "pl.DataFrame":
    import polars as pl

    chosen: list[int] = []
    for part in workloads.split(","):
        low, _, high = part.strip().partition("..")
        chosen += range(int(low), int(high) if high else int(low) + 1)
    mine = run.flows.filter(pl.col("workload").is_in(chosen))
    if mine.is_empty():
        raise ShallowsError(f"{run.path} has no flow of workload {workloads}", "the first one is 0")
    return mine


def _goodputs(run: Run, workloads: str) -> "Numbers":
    mine = _flows(run, workloads)
    times = float(run.summary["simulated_s"]) * 1e6 - mine["arrival_us"].to_numpy()
    return mine["delivered_bytes"].to_numpy() * 8 / times / 1e3  # bits per µs: Gb/s over 1,000


def _index(shares: "Numbers") -> float:
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (shares.size * squares) if squares else 0.0


def _acked(run: Run, times: "Numbers") -> "dict[int, Numbers]":
    """Of each flow that is traced, the bytes acknowledged at these times."""
    import polars as pl

    from shallows.figures.inputs import table
    from shallows.figures.steps import Steps

    end = float(run.summary["simulated_s"]) * 1e6
    traces = table(run, "flow_traces").filter(pl.col("quantity") == "acked_bytes")
    flows = traces["flow"].unique(maintain_order=True).to_list()
    return {f: Steps.read(traces.filter(pl.col("flow") == f), "value", end).at(times) for f in flows}
