"""Numbers of a run by name, as claims ask for them.

A name is a path into `summary.json`, such as `fct_us.small.p99`, `goodput_gbps@HOST` of one host,
`goodput_gbps@classN` and `convergence_ms@classN` of a class of service, `goodput_ratio@ONE/OTHER` of two, or
`backlog_bytes.WHAT@PORT` of one port or pool.
"""

import json
import math
from typing import Any

from shallows.errors import ShallowsError
from shallows.points import Point
from shallows.quantity import parse_size
from shallows.results import Run


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
    """By time: the `mean`, a percentile (`p99`, `p9999` is 99.99), or the share above (`above_720000`)."""
    import numpy as np

    from shallows.figures.traces import backlogs

    (steps,) = backlogs(run, [port]).values()
    values, shares = steps.shares()
    kind, number = what.rstrip("0123456789"), what[len(what.rstrip("0123456789")) :]
    if what == "mean":
        return float((values * np.diff(shares, prepend=0.0)).sum())
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
