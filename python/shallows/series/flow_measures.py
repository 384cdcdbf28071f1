"""Numbers of a run's flows by name: goodput, fairness, concurrency, starvation. `measures` calls them.

`WHERE` says whose flows: of workloads, by their places in the scenario (`0`, `2..22` (2 to 21), `0, 3`), of a
class (`class1`), of senders (`group=old`) or of receivers (`to_group=old`) in a group of hosts.
"""

import math
from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError, UnknownMetric, listed
from shallows.quantity import parse_size, parse_time
from shallows.runs.ranks import nearest_rank
from shallows.runs.results import Run
from shallows.runs.steps import Series
from shallows.series import ideal, percentiles
from shallows.series.inputs import table
from shallows.series.port_measures import payload, refuse

if TYPE_CHECKING:
    import polars as pl

    from shallows.runs.steps import Numbers

LARGE = 1_000_000
"""Bytes above which a flow is large (DCTCP §2.2)."""

CAUGHT_UP = 0.8
"""Of the mean of all flows, what a flow must have that has caught up."""

SLICE_MS = 5
"""Over which `catch_up_ms` takes goodput."""

CONVERGENCE_WINDOW_US = 2_000
"""Over which the goodput of a class is averaged: about 160 full packets at 1 Gbit/s."""

CONVERGED = 0.9
"""Share of its goodput in the second half of the run from which a class counts as converged."""


def goodput_gbps(run: Run, what: str, where: str) -> float:
    """Application bytes over the simulated time that came in order: to a host, or of a class or group."""
    import polars as pl

    refuse(what)
    if where.startswith("class") or "=" in where:
        mine = _flows(run, where)
    else:
        mine = run.flows.filter(pl.col("destination").cast(pl.String) == where)
    if mine.is_empty():
        raise ShallowsError(
            f"{run.path} has no flow to host {where}", "hosts are numbers, as in flows.parquet"
        )
    simulated_s: float = run.summary["simulated_s"]
    return int(mine["delivered_bytes"].sum()) * 8 / simulated_s / 1e9


def goodput_ratio(run: Run, what: str, where: str) -> float:
    """Of two hosts, classes or groups."""
    first, _, second = where.partition("/")
    return goodput_gbps(run, what, first) / goodput_gbps(run, what, second)


def convergence_ms(run: Run, what: str, where: str) -> float:
    """How long after its first flow a class or group first has its share, to a tenth."""
    import numpy as np
    import polars as pl

    refuse(what)
    mine = _flows(run, where)
    rows = table(run, "flow_traces").filter(pl.col("quantity") == "acked_bytes")
    traced = [rows.filter(pl.col("flow") == flow) for flow in mine["flow"]]
    if not traced or any(each.is_empty() for each in traced):
        raise ShallowsError(f"{run.path} has no trace of {where}", "trace its flows with measure.flow_traces")
    end, start = run.summary["simulated_s"] * 1e6, float(mine["arrival_us"].to_numpy().min())
    times = np.unique(np.concatenate([each["time_us"].to_numpy() for each in traced]))
    times = times[times >= start]

    def acked(at: Any) -> Any:
        return sum(Series.read(each, "value", end, 0.0).at(at) for each in traced)

    half, whole = acked(np.array([end / 2, end]))
    share = (whole - half) / (end / 2) * CONVERGENCE_WINDOW_US
    there = np.flatnonzero(acked(times) - acked(times - CONVERGENCE_WINDOW_US) >= CONVERGED * share)
    return float(times[there[0]] - start) / 1e3 if there.size else math.inf


def flow_gbps(run: Run, what: str, where: str) -> float:
    """Goodput of a flow from its arrival to the end of the run, on average over the flows."""
    refuse(what)
    return float(_goodputs(run, where).mean())


def jain(run: Run, what: str, where: str) -> float:
    """Jain's index of the same goodputs."""
    refuse(what)
    return _index(_goodputs(run, where))


def with_timeout(run: Run, what: str, where: str) -> float:
    """The share of flows that had a timeout."""
    refuse(what)
    return float((_flows(run, where)["timeouts"] > 0).to_numpy().mean())


def jain_over(run: Run, slice_length: str, span: str) -> float:
    """Jain's index of what flows acknowledge in each slice, on average over slices of a span in seconds."""
    import numpy as np

    begin, end = (float(part) * 1e6 for part in span.split(".."))
    acked = _acked(run, np.arange(begin, end + 1, parse_time(slice_length) * 1e6))
    rates = np.diff(list(acked.values()), axis=1)
    return float(np.mean([_index(column) for column in rates.T]))


def catch_up_ms(run: Run, what: str, flow: str) -> float:
    """From a flow's arrival until, over 5 ms, it has four fifths of the mean of all flows that are traced."""
    import numpy as np
    import polars as pl

    refuse(what)
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

    length = parse_time(window) * 1e6
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
    return nearest_rank([counts], percentiles.parse(percentile))


def _flows(run: Run, where: str, *, counted: bool = False) -> "pl.DataFrame":
    """Those that are meant; only those that arrived after the warm-up, if asked for."""
    import polars as pl

    mine = part(run, run.flows, where).filter((pl.col("counted") == 1) | (not counted))
    if mine.is_empty():
        raise ShallowsError(f"{run.path} has no counted flow of {where!r}", "a shorter measure.warm_up")
    return mine


def part(run: Run, flows: "pl.DataFrame", where: str) -> "pl.DataFrame":
    """Of these flows of a run those that `where` means: of workloads, of a class, or of a group of hosts.

    Raises
    ------
    ShallowsError
        If there is none; the error lists what there is.
    """
    key, equals, name = where.partition("=")
    number = where.removeprefix("class")
    column = key if equals else "workload" if number == where else "class"
    try:
        chosen = [name] if equals else places(number)
        mine = flows.filter(flows[column].is_in(chosen)) if column in flows.columns else flows.clear()
    except ValueError:
        mine = flows.clear()
    if mine.is_empty():
        said = {"workload": "", "class": "class"} | {key: f"{key}=" for key in GROUPS}
        known = {column: how for column, how in said.items() if column in flows.columns}
        there = [f"{how}{each}" for column, how in known.items() for each in flows[column].unique().sort()]
        raise ShallowsError(
            f"{run.path} has no flow of {where!r}", listed("workloads, classes and groups are", there)
        )
    return mine


GROUPS = ("group", "to_group")
"""Columns with the groups of senders and receivers, where hosts are in groups."""


def places(workloads: str) -> list[int]:
    """The places of workloads in the scenario.

    >>> places("0"), places("2..5"), places("0, 3")
    ([0], [2, 3, 4], [0, 3])
    """
    chosen: list[int] = []
    for part in workloads.split(","):
        low, _, high = part.strip().partition("..")
        chosen += range(int(low), int(high) if high else int(low) + 1)
    return chosen


def _goodputs(run: Run, where: str) -> "Numbers":
    mine = _flows(run, where)
    times = float(run.summary["simulated_s"]) * 1e6 - mine["arrival_us"].to_numpy()
    return mine["delivered_bytes"].to_numpy() * 8 / times / 1e3  # bits per µs: Gb/s over 1,000


def _index(shares: "Numbers") -> float:
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (shares.size * squares) if squares else 0.0


def _acked(run: Run, times: "Numbers") -> "dict[int, Numbers]":
    """Of each flow that is traced, the bytes acknowledged at these times."""
    import polars as pl

    end = float(run.summary["simulated_s"]) * 1e6
    flow_traces = table(run, "flow_traces").filter(pl.col("quantity") == "acked_bytes")
    flows = flow_traces["flow"].unique(maintain_order=True).to_list()
    return {
        f: Series.read(flow_traces.filter(pl.col("flow") == f), "value", end, 0.0).at(times) for f in flows
    }


def acked_packets_over(run: Run, what: str, last: str) -> float:
    """Over the flows that are traced, what was acknowledged last, in full segments."""
    return _over_flows(acked_packets(run, last), what)


def acked_packets(run: Run, last: str) -> "pl.Series":
    """Of each flow that is traced, what was acknowledged in so much time before the end, in full segments."""
    import polars as pl

    flow_traces = run.flow_traces
    if flow_traces is None:
        raise ShallowsError(f"{run.path} has no flow_traces of flows", "add measure.flow_traces")
    begin_us = 1e6 * (run.summary["simulated_s"] - parse_time(last)) + 1e-3
    acked = flow_traces.filter(pl.col("quantity") == "acked_bytes").sort("time_us")
    until = acked.group_by("flow").agg(pl.col("value").last())
    before = acked.filter(pl.col("time_us") <= begin_us).group_by("flow").agg(pl.col("value").last())
    flows = flow_traces.select("flow").unique()
    flows = flows.join(until, "flow", "left").join(before, "flow", "left", suffix="_before").fill_null(0)
    segment = payload(run.scenario)
    return (flows["value"] - flows["value_before"]) / segment


def gaps(column: str, run: Run, what: str, where: str) -> float:
    """Over the counted flows of a workload, class or group, their longest gaps."""
    return _over_flows(_flows(run, where, counted=True)[column].drop_nulls(), what)


def window(run: Run, what: str, flow: str) -> float:
    """Of a traced flow: the least from a time on (`min_5120`, in µs), or that at a time (`at_5120`)."""
    import polars as pl

    mine = (pl.col("flow").cast(pl.String) == flow) & (pl.col("quantity") == "cwnd_bytes")
    rows = table(run, "flow_traces").filter(mine).sort("time_us", maintain_order=True)
    kind, _, number = what.partition("_")
    if kind not in {"min", "at"} or not number.isdecimal():
        raise UnknownMetric
    then = rows.filter(pl.col("time_us") <= int(number)).tail(1)["value"].to_list()
    after = rows.filter(pl.col("time_us") > int(number))["value"].to_list() if kind == "min" else []
    if not then:
        raise ShallowsError(
            f"{run.path} knows no window of flow {flow} at {number} µs",
            "trace the flow, or name a later time",
        )
    return float(min(then + after))


def gbps_of_bin(run: Run, bin_name: str) -> float:
    """The mean over complete flows of a bin of their size by their time."""
    flows, sizes, kept = _complete(run, bin_name)
    return float((sizes[kept] * 8 / flows["fct_us"].cast(float).to_numpy()[kept] / 1e3).mean())


def ideal_gbps_of_bin(run: Run, bin_name: str) -> float:
    """The same in the bound of `ideal.py`."""
    _, sizes, kept = _complete(run, bin_name)
    return float((sizes[kept] * 8 / ideal.completion_us(run)[kept] / 1e3).mean())


def ideal_fct_us_of_bin(run: Run, what: str) -> float:
    """A percentile (`small.p99`) over complete flows of a bin of what each takes if it is alone."""
    bin_name, _, percentile = what.partition(".")
    share = percentiles.parse(percentile)
    flows, _, kept = _complete(run, bin_name)
    return nearest_rank([flows["ideal_us"].cast(float).to_numpy()[kept]], share)


def times(column: str, run: Run, what: str, where: str) -> float:
    """Over complete flows of a bin, of some workloads, a class or a group: `small.p99`, `mean`, `max`."""
    import polars as pl

    bin_name, _, statistic = what.partition(".")
    flows, _, kept = _complete(run, bin_name)
    theirs = part(run, flows.with_columns(kept=pl.Series(kept)), where).filter("kept")
    values = theirs[column].cast(float).to_numpy()
    if not values.size:
        raise ShallowsError(
            f"{run.path} has no complete flow of {where} in {bin_name!r}", "let it run longer"
        )
    if percentiles.is_percentile(statistic):
        return nearest_rank([values], percentiles.parse(statistic))
    if statistic not in {"mean", "max"}:
        raise UnknownMetric
    return float(values.mean() if statistic == "mean" else values.max())


def _complete(run: Run, bin_name: str) -> "tuple[pl.DataFrame, Numbers, Any]":
    """Flows with a size by arrival, their sizes, and which of them are complete, counted and of a bin."""
    import polars as pl

    flows = run.flows.drop_nulls("size_bytes").sort("arrival_us", maintain_order=True)
    sizes = flows["size_bytes"].cast(float).to_numpy()
    complete = flows.select((pl.col("counted") == 1) & pl.col("fct_us").is_not_null()).to_series().to_numpy()
    kept = complete & _bin(run, bin_name, sizes)
    if not kept.any():
        raise ShallowsError(f"{run.path} has no complete flow in {bin_name!r}", "let it run longer")
    return flows, sizes, kept


def _bin(run: Run, name: str, sizes: Any) -> Any:
    """Which of these sizes are in a bin, as in `summary.json`."""
    import numpy as np

    names = ["small", "medium", "large"]
    if name == "all":
        return np.ones(len(sizes), dtype=bool)
    if name not in names:
        raise UnknownMetric
    edges = [parse_size(edge) for edge in run.scenario["measure"]["bins"]]
    return np.searchsorted(edges, sizes, side="left") == names.index(name)


def _over_flows(values: "pl.Series", what: str) -> float:
    """Over flows: `mean`, `variance`, `std`, `max`, or the share of flows `above_N` or `below_N`."""
    import numpy as np

    numbers = values.to_numpy()
    if what in {"mean", "variance", "std", "max"}:
        return float(getattr(np, "var" if what == "variance" else what)(numbers))
    side, _, limit = what.partition("_")
    if side in {"above", "below"} and limit.isdigit():
        beyond = numbers > int(limit) if side == "above" else numbers < int(limit)
        return float(beyond.mean())
    raise UnknownMetric
