"""Metrics of a run's flows: goodput, fairness, concurrency, starvation; `measures` maps names to them."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from shallows.errors import ShallowsError, UnknownMetric, listed
from shallows.quantity import parse_size
from shallows.runs.ranks import nearest_rank
from shallows.runs.results import Run
from shallows.runs.steps import Series
from shallows.series import ideal, percentiles
from shallows.series.inputs import TRACE_FLOWS, choose_flows, table
from shallows.series.metric import GROUPS, Flows, Host, Pair, Span, Traced, Window, one_of, refuse_after_end
from shallows.series.offered import Offered, bin_names
from shallows.series.port_measures import payload

if TYPE_CHECKING:
    import polars as pl

    from shallows.runs.steps import Numbers

LARGE = 1_000_000
"""Bytes above which a flow is large (DCTCP §2.2)."""

CAUGHT_UP = 0.8
"""Fraction of the traced flows' mean goodput at which a flow counts as caught up."""

SLICE_MS = 5
"""Averaging interval of the goodput in `catch_up_ms`."""

CONVERGENCE_WINDOW_US = 2_000
"""Averaging interval of a class's goodput: about 160 full packets at 1 Gbit/s."""

CONVERGED = 0.9
"""Fraction of a class's goodput in the second half of the run at which the class counts as converged."""


def goodput_gbps(run: Run, _: None, where: Host | Flows) -> float:
    """Return the goodput of a class or group, or of data to a host, over the run, in Gbit/s."""
    import polars as pl

    if isinstance(where, Flows):
        mine = _flows(run, where)
    else:
        mine = run.flows.filter(pl.col("destination") == where.number)
    if mine.is_empty() and isinstance(where, Host):
        raise ShallowsError(
            f"host {where.number} receives no flow in {run.path}", "name a host that receives flows"
        )
    simulated_s: float = run.summary["simulated_s"]
    return int(mine["delivered_bytes"].sum()) * 8 / simulated_s / 1e9


def goodput_ratio(run: Run, _: None, pair: Pair) -> float:
    """Return the ratio of the goodputs of two hosts, classes or groups; NaN if both goodputs are zero."""
    first, second = goodput_gbps(run, _, pair.first), goodput_gbps(run, _, pair.second)
    return first / second if second else math.inf if first else math.nan


def convergence_ms(run: Run, _: None, where: Flows) -> float:
    """Return the time in ms from the first flow of a class or group until its goodput has converged.

    Goodput has converged when it reaches `CONVERGED` times the mean goodput in the second half of the run.
    """
    import numpy as np
    import polars as pl

    mine = _flows(run, where)
    rows = table(run, "flow_traces").filter(pl.col("quantity") == "acked_bytes")
    traced = [rows.filter(pl.col("flow") == flow) for flow in mine["flow"]]
    if not traced or any(each.is_empty() for each in traced):
        raise ShallowsError(
            f"{run.path} has no traces of the flows of {where.text!r}",
            "trace these flows with measure.flow_traces",
        )
    end, start = run.summary["simulated_s"] * 1e6, float(mine["arrival_us"].to_numpy().min())
    times = np.unique(np.concatenate([each["time_us"].to_numpy() for each in traced]))
    times = times[times >= start]

    def acked(at: Any) -> Any:
        return sum(Series.read(each, "value", end, 0.0).at(at) for each in traced)

    half, whole = acked(np.array([end / 2, end]))
    share = (whole - half) / (end / 2) * CONVERGENCE_WINDOW_US
    there = np.flatnonzero(acked(times) - acked(times - CONVERGENCE_WINDOW_US) >= CONVERGED * share)
    return float(times[there[0]] - start) / 1e3 if there.size else math.inf


def flow_gbps(run: Run, _: None, where: Flows) -> float:
    """Return the mean goodput of flows, each measured from its arrival to the end of the run, in Gbit/s."""
    return float(_goodputs(run, where).mean())


def jain(run: Run, _: None, where: Flows) -> float:
    """Return Jain's index of the goodputs of flows, each measured from its arrival to the end of the run."""
    return _index(_goodputs(run, where))


def with_timeout(run: Run, _: None, where: Flows) -> float:
    """Return the share of flows that had a timeout."""
    return float((_flows(run, where)["timeouts"] > 0).to_numpy().mean())


def jain_over(run: Run, slices: Window, span: Span) -> float:
    """Return Jain's index of the bytes acknowledged in a time slice, averaged over the slices of a span."""
    import numpy as np

    acked = _acked(run, np.arange(span.begin_us, span.end_us + 1, slices.us))
    rates = np.diff(list(acked.values()), axis=1)
    return float(np.mean([_index(column) for column in rates.T]))


def catch_up_ms(run: Run, _: None, traced: Traced) -> float:
    """Return the ms from a flow's arrival until its goodput is `CAUGHT_UP` times the traced flows' mean."""
    import numpy as np
    import polars as pl

    (flow,) = choose_flows(run, [traced.flow], table(run, "flow_traces")["flow"])
    arrival = float(run.flows.filter(pl.col("flow") == flow)["arrival_us"].item())
    acked = _acked(run, np.arange(arrival, float(run.summary["simulated_s"]) * 1e6 + 1, SLICE_MS * 1e3))
    rates = {number: np.diff(each) for number, each in acked.items()}
    share = CAUGHT_UP * np.mean(list(rates.values()), axis=0)
    there = np.flatnonzero(rates[flow] >= share)
    return float(there[0] + 1) * SLICE_MS if there.size else float("inf")


def concurrent(run: Run, share: float, window: Window, *, above: int = 0, busy: bool = False) -> float:
    """Return a percentile of the number of concurrent flows per host and time slice, after the warm-up.

    Only flows larger than `above` bytes count. A request and its response count as one flow, because real
    hosts use one connection for both. With `busy`, time slices in which a host has no such flow are left out.
    """
    import numpy as np
    import polars as pl

    length, end = window.us, float(run.summary["simulated_s"]) * 1e6
    window.check_steps(end)
    last = int(end // length) - 1  # ignore a shorter window at the end
    if last < 0:
        raise UnknownMetric(
            f"the window {window.text} is longer than the run {run.path}", "name a shorter window"
        )
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
    if not busy and not run.flows.is_empty():
        everybody = max(int(run.flows[end].to_numpy().max()) for end in ("source", "destination")) + 1
        arrivals = run.flows.filter(pl.col("counted") == 1)["arrival_us"].to_numpy()
        spans = last - int(arrivals.min() // length) + 1 if arrivals.size else 0
        counts = np.append(counts, np.zeros(max(everybody * spans - counts.size, 0)))
    if not counts.size:
        raise ShallowsError(
            f"no host of {run.path} has a flow that the metric counts",
            "run the scenario longer: raise stop.at",
        )
    return nearest_rank([counts], share)


def _flows(run: Run, where: Flows, *, counted: bool = False) -> "pl.DataFrame":
    """Return the selected flows; with `counted`, only flows that arrived after the warm-up."""
    import polars as pl

    mine = part(run, run.flows, where).filter((pl.col("counted") == 1) | (not counted))
    if mine.is_empty():
        raise ShallowsError(
            f"no flow of {where.text!r} in {run.path} started after the warm-up", "shorten measure.warm_up"
        )
    return mine


def part(run: Run, flows: "pl.DataFrame", where: Flows) -> "pl.DataFrame":
    """Return the selected flows of a run.

    Raises
    ------
    ShallowsError
        If no flow is selected; the message lists the existing workloads, classes and groups.
    """
    known = where.key in flows.columns
    mine = flows.filter(flows[where.key].is_in(where.values)) if known else flows.clear()
    if mine.is_empty():
        said = {"workload": "", "class": "class"} | {key: f"{key}=" for key in GROUPS}
        there = [
            f"{how}{each}"
            for column, how in said.items()
            if column in flows.columns
            for each in flows[column].unique().sort()
        ]
        raise ShallowsError(
            f"{run.path} has no flow of {where.text!r}", listed("workloads, classes and groups are", there)
        )
    return mine


def _goodputs(run: Run, where: Flows) -> "Numbers":
    mine = _flows(run, where)
    times = float(run.summary["simulated_s"]) * 1e6 - mine["arrival_us"].to_numpy()
    return mine["delivered_bytes"].to_numpy() * 8 / times / 1e3  # bits per µs: Gb/s over 1,000


def _index(shares: "Numbers") -> float:
    squares = float((shares**2).sum())
    return float(shares.sum()) ** 2 / (shares.size * squares) if squares else 0.0


def _acked(run: Run, times: "Numbers") -> "dict[int, Numbers]":
    """Return the bytes that each traced flow has acknowledged at these times."""
    import polars as pl

    end = float(run.summary["simulated_s"]) * 1e6
    flow_traces = table(run, "flow_traces").filter(pl.col("quantity") == "acked_bytes")
    flows = flow_traces["flow"].unique(maintain_order=True).to_list()
    if not flows:
        raise ShallowsError(f"{run.path} has no traced flow", TRACE_FLOWS)
    return {
        f: Series.read(flow_traces.filter(pl.col("flow") == f), "value", end, 0.0).at(times) for f in flows
    }


def acked_packets_over(run: Run, number: "OverFlows", last: Window) -> float:
    """Return a statistic of the number of acknowledged packets per traced flow in the last `last.us` µs."""
    return number(acked_packets(run, last.us))


def acked_packets(run: Run, last_us: float) -> "pl.Series":
    """Return how many full segments of each traced flow were acknowledged in the run's last `last_us` µs."""
    import polars as pl

    flow_traces = table(run, "flow_traces")
    if flow_traces.is_empty():
        raise ShallowsError(f"{run.path} has no traced flow", TRACE_FLOWS)
    begin_us = 1e6 * run.summary["simulated_s"] - last_us + 1e-3
    acked = flow_traces.filter(pl.col("quantity") == "acked_bytes").sort("time_us")
    until = acked.group_by("flow").agg(pl.col("value").last())
    before = acked.filter(pl.col("time_us") <= begin_us).group_by("flow").agg(pl.col("value").last())
    flows = flow_traces.select("flow").unique()
    flows = flows.join(until, "flow", "left").join(before, "flow", "left", suffix="_before").fill_null(0)
    segment = payload(run.scenario)
    return (flows["value"] - flows["value_before"]) / segment


def gaps(column: str, run: Run, number: "OverFlows", where: Flows) -> float:
    """Return a statistic of the longest gaps (`column`) of selected flows that arrived after the warm-up."""
    found = _flows(run, where, counted=True)[column].drop_nulls()
    if found.is_empty():
        raise ShallowsError(
            f"no flow of {where.text!r} in {run.path} has a measured gap",
            "run the scenario longer: raise stop.at",
        )
    return number(found)


@dataclass(frozen=True)
class Moment:
    """Time at which a metric reads a congestion window, or after which it takes the window's minimum."""

    us: int
    least: bool

    @classmethod
    def parse(cls, words: Sequence[str]) -> Self:
        """Parse `at_5120` or `min_5120`; the number is a time in µs."""
        kind, _, number = ".".join(words).partition("_")
        if kind not in {"min", "at"} or not NUMBER.fullmatch(number):
            raise UnknownMetric(
                f"{'.'.join(words)!r} must be at_ or min_ followed by a time in µs",
                "write at_5120 for the window at 5120 µs, or min_5120 for the smallest window from then on",
            )
        return cls(int(number), kind == "min")

    def check(self, offered: Offered) -> None:
        """Reject a time after the end of the run."""
        refuse_after_end(self.us, offered, f"{self.us} µs")


def window(run: Run, moment: Moment, traced: Traced) -> float:
    """Return a traced flow's congestion window at a time, or the window's minimum from that time on."""
    import polars as pl

    mine = (pl.col("flow") == traced.flow) & (pl.col("quantity") == "cwnd_bytes")
    rows = table(run, "flow_traces").filter(mine).sort("time_us", maintain_order=True)
    then = rows.filter(pl.col("time_us") <= moment.us).tail(1)["value"].to_list()
    after = rows.filter(pl.col("time_us") > moment.us)["value"].to_list() if moment.least else []
    if not then:
        raise ShallowsError(
            f"{run.path} has no congestion window of flow {traced.flow} at {moment.us} µs",
            "trace the flow with measure.flow_traces, or name a later time",
        )
    return float(min(then + after))


@dataclass(frozen=True)
class Bin:
    """A size bin, and a statistic over its flows."""

    name: str
    number: Callable[["Numbers"], float]

    @classmethod
    def mean(cls, words: Sequence[str]) -> Self:
        """Parse a bin such as `small`; the statistic is the mean."""
        return cls._of(words, [], lambda values: float(values.mean()))

    @classmethod
    def percentile(cls, words: Sequence[str]) -> Self:
        """Parse a bin with a percentile, such as `small.p99`."""
        share = percentiles.parse(words[-1] if len(words) > 1 else "")
        return cls._of(words[:-1], words, lambda values: nearest_rank([values], share))

    @classmethod
    def statistic(cls, words: Sequence[str]) -> Self:
        """Parse a bin with a statistic: `small.p99`, `small.mean` or `small.max`."""
        if len(words) > 1 and percentiles.is_percentile(words[-1]):
            return cls.percentile(words)
        last = one_of(words[1:], {"mean", "max"}, "number over flows other than a percentile")
        return cls._of(words[:1], words, lambda values: float(getattr(values, last)()))

    @classmethod
    def _of(cls, name: Sequence[str], words: Sequence[str], number: Callable[["Numbers"], float]) -> Self:
        if len(name) != 1 or not BIN.fullmatch(name[0]):
            raise UnknownMetric(
                f"{'.'.join(words or name)!r} is not a size bin",
                "write all, small, medium, large, or the edges of a bin, such as 0_to_1000 or above_1000",
            )
        return cls(name[0], number)

    def check(self, offered: Offered) -> None:
        """Reject a bin that the scenario does not have."""
        _check_bin(self.name, offered.scenario)


NUMBER = re.compile("[0-9]{1,18}")
BIN = re.compile("all|small|medium|large|[0-9]{1,18}_to_[0-9]{1,18}|above_[0-9]{1,18}")


def _check_bin(name: str, scenario: Mapping[str, Any]) -> None:
    names = ["all", *bin_names(scenario)]
    if name not in names:
        raise UnknownMetric(f"unknown size bin {name!r}", listed("the bins of measure.bins are", names))


def gbps_of_bin(run: Run, of: Bin) -> float:
    """Return the mean goodput (size divided by completion time) of a bin's completed flows, in Gbit/s."""
    flows, sizes, kept = _complete(run, of.name)
    return of.number(sizes[kept] * 8 / flows["fct_us"].cast(float).to_numpy()[kept] / 1e3)


def ideal_gbps_of_bin(run: Run, of: Bin) -> float:
    """Return the mean goodput of a bin's completed flows in the network of `ideal.py`, in Gbit/s."""
    _, sizes, kept = _complete(run, of.name)
    return of.number(sizes[kept] * 8 / ideal.completion_us(run)[kept] / 1e3)


def ideal_fct_us_of_bin(run: Run, of: Bin) -> float:
    """Return a percentile of the column `ideal_us` over a bin's completed flows, in µs."""
    flows, _, kept = _complete(run, of.name)
    return of.number(flows["ideal_us"].cast(float).to_numpy()[kept])


def fluid_fct_us_of_bin(run: Run, of: Bin, where: Flows | None = None) -> float:
    """Return a statistic of the ideal completion times (`ideal.py`) of a bin's completed flows, in µs."""
    import polars as pl

    flows, _, kept = _complete(run, of.name)
    known = flows.with_columns(kept=pl.Series(kept), fluid_us=pl.Series(ideal.completion_us(run)))
    theirs = (part(run, known, where) if where else known).filter("kept")
    if theirs.is_empty():
        raise ShallowsError(
            f"none of the selected flows in size bin {of.name!r} of {run.path} completed",
            "run the scenario longer: raise stop.at",
        )
    return of.number(theirs["fluid_us"].to_numpy())


def queued_us_of_bin(run: Run, of: Bin, where: Flows | None = None) -> float:
    """Return a statistic of the time that a bin's completed flows waited for their queue pairs, in µs."""
    import polars as pl

    flows, _, kept = _complete(run, of.name)
    if "queued_us" not in flows.columns:
        raise ShallowsError(f"{run.path} has no queue pairs", 'set transport = "roce" in a workload')
    theirs = flows.filter(pl.Series(kept))
    waits = (part(run, theirs, where) if where else theirs)["queued_us"].drop_nulls()
    if waits.is_empty():
        raise ShallowsError(
            f"none of the selected flows in size bin {of.name!r} of {run.path} used queue pairs",
            "select flows of a workload with queue pairs",
        )
    return of.number(waits.to_numpy())


def jain_of_classes(run: Run, of: Bin) -> float:
    """Return Jain's index of the mean goodput of each class, over its completed flows in a size bin."""
    import polars as pl

    flows, sizes, kept = _complete(run, of.name)
    rates = pl.Series(sizes / flows["fct_us"].cast(float).to_numpy())
    means = (
        flows.with_columns(rate=rates).filter(pl.Series(kept)).group_by("class").agg(pl.col("rate").mean())
    )
    return _index(means["rate"].to_numpy())


def times(column: str, run: Run, of: Bin, where: Flows) -> float:
    """Return a statistic of a column over the selected completed flows of a bin."""
    import polars as pl

    flows, _, kept = _complete(run, of.name)
    theirs = part(run, flows.with_columns(kept=pl.Series(kept)), where).filter("kept")
    values = theirs[column].cast(float).to_numpy()
    if not values.size:
        raise ShallowsError(
            f"no flow of {where.text!r} in size bin {of.name!r} of {run.path} completed",
            "run the scenario longer: raise stop.at",
        )
    return of.number(values)


def _complete(run: Run, bin_name: str) -> "tuple[pl.DataFrame, Numbers, Any]":
    """Return flows of known size, their sizes, and a mask of the counted and completed flows in a bin."""
    import polars as pl

    flows = run.flows.drop_nulls("size_bytes").sort("arrival_us", maintain_order=True)
    sizes = flows["size_bytes"].cast(float).to_numpy()
    complete = flows.select((pl.col("counted") == 1) & pl.col("fct_us").is_not_null()).to_series().to_numpy()
    kept = complete & _bin(run, bin_name, sizes)
    if not kept.any():
        raise ShallowsError(
            f"no flow in size bin {bin_name!r} of {run.path} completed",
            "run the scenario longer: raise stop.at",
        )
    return flows, sizes, kept


def _bin(run: Run, name: str, sizes: Any) -> Any:
    """Return a mask of the sizes that are in a bin, as `summary.json` defines bins."""
    import numpy as np

    if name == "all":
        return np.ones(len(sizes), dtype=bool)
    _check_bin(name, run.scenario)
    edges = [parse_size(edge) for edge in run.scenario["measure"]["bins"]]
    return np.searchsorted(edges, sizes, side="left") == bin_names(run.scenario).index(name)


OverFlows = Callable[["pl.Series"], float]


def over_flows(words: Sequence[str]) -> OverFlows:
    """Return a statistic over flows: `mean`, `variance`, `std`, `max`, or a share `above_N`, `below_N`.

    Raises
    ------
    UnknownMetric
        If the statistic is unknown.
    """
    word = ".".join(words)
    found = re.fullmatch(f"(above|below)_({NUMBER.pattern})", word)
    if found is None:
        if word not in {"mean", "variance", "std", "max"}:
            raise UnknownMetric(
                f"{word!r} is not a statistic over flows",
                "write mean, variance, std, max, above_N or below_N",
            )
        return lambda values: float(getattr(values.to_numpy(), "var" if word == "variance" else word)())
    side, limit = found[1], int(found[2])

    def share(values: "pl.Series") -> float:
        numbers = values.to_numpy()
        return float((numbers > limit if side == "above" else numbers < limit).mean())

    return share
