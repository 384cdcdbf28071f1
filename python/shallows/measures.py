"""Numbers of a run by name, as claims ask for them.

A name is a path into `summary.json`, such as `fct_us.small.p99`, `goodput_gbps@HOST` of one host, or
`backlog_bytes.WHAT@PORT` of one port or pool.
"""

import json
from typing import Any

from shallows import flow_measures
from shallows.errors import ShallowsError
from shallows.points import Point
from shallows.quantity import parse_size
from shallows.results import Run

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
    if what.startswith("backlog_bytes."):
        return _backlog(run, what.removeprefix("backlog_bytes."), where, name)
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


def _goodput_gbps(run: Run, host: str) -> float:
    """Application bytes that a host has received in order, over the simulated time."""
    import polars as pl

    mine = run.flows.filter(pl.col("destination").cast(pl.String) == host)
    if mine.is_empty():
        raise ShallowsError(
            f"{run.path} has no flow to host {host}", "hosts are numbers, as in flows.parquet"
        )
    simulated_s: float = run.summary["simulated_s"]
    return int(mine["delivered_bytes"].sum()) * 8 / simulated_s / 1e9


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
