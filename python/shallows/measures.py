"""Numbers of a run by name, as claims ask for them.

A name is a path into `summary.json`, such as `fct_us.small.p99`, `goodput_gbps@HOST` of one host,
`goodput_gbps@classN` and `convergence_ms@classN` of a class of service, `goodput_ratio@ONE/OTHER` of two, or
`backlog_bytes.WHAT@PORT` of one port or pool. Others say what flows got and how long they waited.
"""

import json
import math
from typing import TYPE_CHECKING, Any

from shallows import flow_measures
from shallows.errors import ShallowsError
from shallows.points import Point
from shallows.quantity import parse_size, parse_time
from shallows.results import Run

if TYPE_CHECKING:
    import polars as pl


OF_FLOWS = {
    "flow_gbps": flow_measures.flow_gbps,
    "jain": flow_measures.jain,
    "with_timeout": flow_measures.with_timeout,
    "catch_up_ms": flow_measures.catch_up_ms,
}
"""Metrics of the flows of some workloads, or of a flow."""

CONCURRENT: dict[str, Any] = {
    "concurrent": {},
    "concurrent_large": {"above": flow_measures.LARGE},
    "concurrent_large_busy": {"above": flow_measures.LARGE, "busy": True},
}
"""How many flows a host has at once; all of them, large ones, those of hosts that have one."""


def measure(run: Run, name: str) -> float:
    """A number of a finished run.

    Raises
    ------
    ShallowsError
        If it has no such number.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), out=folder / "run")
    >>> measure(run, "flows.completed"), round(measure(run, "goodput_gbps@0"), 1)
    (800.0, 92.4)
    """
    what, at, where = name.partition("@")
    if not at:
        return _number(_follow(run.summary, what), name, str(run.path))
    if what == "goodput_gbps":
        return _goodput_gbps(run, where)
    if what == "goodput_ratio":
        first, _, second = where.partition("/")
        return _goodput_gbps(run, first) / _goodput_gbps(run, second)
    if what == "convergence_ms":
        return _convergence_ms(run, where)
    if what.startswith("backlog_bytes."):
        return _backlog(run, what.removeprefix("backlog_bytes."), where, name)
    if what == "sent_gbps":
        return _sent_bytes(run, where) * 8 / float(run.summary["simulated_s"]) / 1e9
    if what == "repeated_share":
        return _repeated_share(run, where)
    quantity, _, of_flows = what.partition(".")
    if quantity == "acked_packets":
        return _over_flows(acked_packets(run, where), of_flows, name)
    if quantity in {"longest_ack_gap_us", "longest_arrival_gap_us"}:
        return _over_flows(_flows_of(run, where)[quantity].drop_nulls(), of_flows, name)

    if what in OF_FLOWS:
        return OF_FLOWS[what](run, where)
    if what.startswith("jain_over_"):
        return flow_measures.jain_over(run, what.removeprefix("jain_over_").removesuffix("ms"), where)
    kind, dot, percentile = what.partition(".")
    if dot and kind in CONCURRENT:
        return flow_measures.concurrent(run, percentile, where, **CONCURRENT[kind])
    raise ShallowsError(f"there is no metric {name!r}", "docs/reproduction.md lists them")


def compute(point: Point, name: str) -> float:
    """A number of a scenario that needs no run: of its `curves`, its `scenario` as resolved, its `buffer`."""
    experiment = point.source.load()
    scenario = json.loads(experiment.resolved())
    curves = json.loads(experiment.marking_curves())
    document = {"scenario": scenario, "curves": curves, "buffer": _buffer(scenario, curves)}
    return _number(_follow(document, name), name, point.source.file)


def _goodput_gbps(run: Run, where: str) -> float:
    """Application bytes that a host, or a class anywhere, has received in order, over the simulated time."""
    import polars as pl

    number = where.removeprefix("class")
    of = "destination" if number == where else "class"
    mine = run.flows.filter(pl.col(of).cast(pl.String) == number)
    if mine.is_empty():
        raise ShallowsError(
            f"{run.path} has no flow {'to host' if of == 'destination' else 'of class'} {number}",
            "hosts and classes are numbers, as in flows.parquet",
        )
    simulated_s: float = run.summary["simulated_s"]
    return int(mine["delivered_bytes"].sum()) * 8 / simulated_s / 1e9


CONVERGENCE_WINDOW_US = 2_000
"""Over which the goodput of a class is averaged: about 160 full packets at 1 Gbit/s."""

CONVERGED = 0.9
"""Share of its goodput in the second half of the run from which a class counts as converged."""


def _convergence_ms(run: Run, where: str) -> float:
    """How long after its first flow a class first has its share, to a tenth."""
    import numpy as np
    import polars as pl

    from shallows.figures.inputs import table
    from shallows.figures.steps import Steps

    mine = run.flows.filter(pl.concat_str(pl.lit("class"), pl.col("class")) == where)
    rows = table(run, "flow_traces").filter(pl.col("quantity") == "acked_bytes")
    traced = [rows.filter(pl.col("flow") == flow) for flow in mine["flow"]]
    if not traced or any(each.is_empty() for each in traced):
        raise ShallowsError(f"{run.path} has no trace of {where}", "trace its flows with measure.flow_traces")
    end, start = run.summary["simulated_s"] * 1e6, float(mine["arrival_us"].to_numpy().min())
    times = np.unique(np.concatenate([each["time_us"].to_numpy() for each in traced]))
    times = times[times >= start]

    def acked(at: Any) -> Any:
        return sum(Steps.read(each, "value", end).at(at) for each in traced)

    half, whole = acked(np.array([end / 2, end]))
    share = (whole - half) / (end / 2) * CONVERGENCE_WINDOW_US
    there = np.flatnonzero(acked(times) - acked(times - CONVERGENCE_WINDOW_US) >= CONVERGED * share)
    return float(times[there[0]] - start) / 1e3 if there.size else math.inf


def _backlog(run: Run, what: str, port: str, name: str) -> float:
    """By time: `mean`, deviation (`std`), percentiles (`p9999` is 99.99), share above (`above_720000`)."""
    import numpy as np

    from shallows.figures.traces import backlogs

    port, _, begin = port.partition("@")
    (steps,) = backlogs(run, [port]).values()
    values, shares = (steps.after(float(begin.removesuffix("ms")) * 1e3) if begin else steps).shares()
    kind, number = what.rstrip("0123456789"), what[len(what.rstrip("0123456789")) :]
    weights = np.diff(shares, prepend=0.0)
    if what == "mean":
        return float((values * weights).sum())
    if what == "std":
        return float(np.sqrt((values**2 * weights).sum() - (values * weights).sum() ** 2))
    if kind == "p" and number:
        return float(values[np.searchsorted(shares, float(f"0.{number}"))])
    if kind == "above_" and number:
        below = shares[values <= int(number)]
        return 1.0 - float(below[-1]) if below.size else 1.0
    raise ShallowsError(f"there is no metric {name!r}", "docs/reproduction.md lists them")


def _sent_bytes(run: Run, port: str) -> int:
    import polars as pl

    mine = run.counters.filter(pl.col("port") == port)
    if mine.is_empty():
        raise ShallowsError(f"{run.path} has no port {port!r}", "ports are called as in counters.parquet")
    return int(mine["sent_bytes"].sum())


def _repeated_share(run: Run, port: str) -> float:
    """Of the TCP bytes that a port has sent, those whose data came again; all flows of the run pass it."""
    tcp, simulated_s = run.scenario["tcp"], float(run.summary["simulated_s"])
    mtu: int = run.scenario["topology"]["mtu"]
    datagrams = (run.summary["datagram_gbps"] or 0) * 1e9 / 8 * simulated_s
    delivered = int(run.flows["delivered_bytes"].sum()) * mtu / _payload(mtu, tcp)
    return 1.0 - float(delivered) / (_sent_bytes(run, port) - datagrams)


def acked_packets(run: Run, last: str) -> "pl.Series":
    """Of each flow that is traced, what was acknowledged in so much time before the end, in full segments."""
    import polars as pl

    traces = run.flow_traces
    if traces is None:
        raise ShallowsError(f"{run.path} has no traces of flows", "add measure.flow_traces")
    begin_us = 1e6 * (run.summary["simulated_s"] - parse_time(last)) + 1e-3
    acked = traces.filter(pl.col("quantity") == "acked_bytes").sort("time_us")
    until = acked.group_by("flow").agg(pl.col("value").last())
    before = acked.filter(pl.col("time_us") <= begin_us).group_by("flow").agg(pl.col("value").last())
    flows = traces.select("flow").unique()
    flows = flows.join(until, "flow", "left").join(before, "flow", "left", suffix="_before").fill_null(0)
    segment = _payload(run.scenario["topology"]["mtu"], run.scenario["tcp"])
    return (flows["value"] - flows["value_before"]) / segment


def _payload(mtu: int, tcp: dict[str, Any]) -> int:
    """Data in a full segment (docs/scenario.md)."""
    return mtu - (52 if tcp["timestamps"] else 40)


def _flows_of(run: Run, workload: str) -> "pl.DataFrame":
    import polars as pl

    mine = run.flows.filter((pl.col("workload").cast(pl.String) == workload) & (pl.col("counted") == 1))
    if mine.is_empty():
        raise ShallowsError(f"{run.path} has no flow of workload {workload}", "workloads count from 0")
    return mine


def _over_flows(values: "pl.Series", what: str, name: str) -> float:
    """Over flows: `mean`, `variance`, `std`, `max`, or the share of flows `above_N` or `below_N`."""
    import numpy as np

    numbers = values.to_numpy()
    if what in {"mean", "variance", "std", "max"}:
        return float(getattr(np, "var" if what == "variance" else what)(numbers))
    side, _, limit = what.partition("_")
    if side in {"above", "below"} and limit.isdigit():
        beyond = numbers > int(limit) if side == "above" else numbers < int(limit)
        return float(beyond.mean())
    raise ShallowsError(f"there is no metric {name!r}", "docs/reproduction.md lists them")


def _buffer(scenario: dict[str, Any], curves: list[dict[str, Any]]) -> dict[str, float]:
    """What each port of a switch has of its pool, and how many ports at their threshold fill it."""
    buffer, rate = scenario["switch"]["buffer"], scenario["topology"]["rate"]
    if "pool" not in buffer:
        return {}
    pool = parse_size(buffer["pool"])
    each = pool / (buffer.get("ports_per_pool") or scenario["topology"]["hosts"])
    found = {"per_port_bytes": each, "per_port_per_gbps_bytes": each / float(rate.removesuffix("Gbps"))}
    return found | ({"ports_at_threshold": pool / curves[0]["kmin"]["bytes"]} if curves else {})


def _follow(document: Any, path: str) -> Any:
    for key in path.split("."):
        try:
            document = document[int(key) if isinstance(document, list) else key]
        except (LookupError, TypeError, ValueError):
            return None
    return document


def _number(found: Any, name: str, place: str) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ShallowsError(f"{place} has no number {name!r}", "docs/reproduction.md lists them")
    return float(found)
