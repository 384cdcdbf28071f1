"""Numbers of a run by name, as claims ask for them.

A name is a path into `summary.json`, such as `fct_us.small.p99`, `goodput_gbps@HOST` of one host,
`backlog_bytes.WHAT@PORT` of one port or pool, `cwnd_bytes.WHAT@FLOW` of one sender, or `flow_gbps.BIN` of the
flows of a bin. What begins with `ideal_` is that of the bound in `ideal.py`.
"""

import json
from typing import Any

from shallows import ideal
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
    if what.startswith(("flow_gbps.", "ideal_")) and not at:
        return _of_flows(run, what, name)
    if not at:
        return _number(_follow(run.summary, what), name, str(run.path))
    if what == "goodput_gbps":
        return _goodput_gbps(run, where)
    if what.startswith("backlog_bytes."):
        return _backlog(run, what.removeprefix("backlog_bytes."), where, name)
    if what.startswith("cwnd_bytes."):
        return _window(run, what.removeprefix("cwnd_bytes."), where, name)
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
    """By time: the `mean`, a percentile (`p99`, `p9999` is 99.99), or the share above (`above_720000`).

    Besides, the `max`, and when it was that high for the last time, `peak_us`.
    """
    import numpy as np

    from shallows.figures.traces import backlogs

    (steps,) = backlogs(run, [port]).values()
    values, shares = steps.shares()
    kind, number = what.rstrip("0123456789"), what[len(what.rstrip("0123456789")) :]
    if what == "max":
        return float(values[-1])
    if what == "peak_us":
        return float(steps.times[1:][steps.values[:-1] == values[-1]][-1])
    if what == "mean":
        return float((values * np.diff(shares, prepend=0.0)).sum())
    if kind == "p" and number:
        return float(values[np.searchsorted(shares, float(f"0.{number}"))])
    if kind == "above_" and number:
        below = shares[values <= int(number)]
        return 1.0 - float(below[-1]) if below.size else 1.0
    raise ShallowsError(f"there is no metric {name!r}", "docs/reproduction.md lists them")


def _window(run: Run, what: str, flow: str, name: str) -> float:
    """Of a traced flow: the least from a time on (`min_5120`, in µs), or that at a time (`at_5120`)."""
    import polars as pl

    from shallows.figures.inputs import table

    mine = (pl.col("flow").cast(pl.String) == flow) & (pl.col("quantity") == "cwnd_bytes")
    rows = table(run, "flow_traces").filter(mine).sort("time_us", maintain_order=True)
    kind, _, number = what.partition("_")
    if kind not in {"min", "at"} or not number.isdecimal():
        raise ShallowsError(f"there is no metric {name!r}", "docs/reproduction.md lists them")
    then = rows.filter(pl.col("time_us") <= int(number)).tail(1)["value"].to_list()
    after = rows.filter(pl.col("time_us") > int(number))["value"].to_list() if kind == "min" else []
    if not then:
        raise ShallowsError(
            f"{run.path} knows no window for {name!r}", "trace the flow, or name a later time"
        )
    return float(min(then + after))


def _of_flows(run: Run, what: str, name: str) -> float:
    """The mean over complete flows of their size by their time, in Gbit/s, or percentiles of ideal times."""
    import numpy as np
    import polars as pl

    kind, bin_name, *percentile = what.split(".")
    flows = run.flows.drop_nulls("size_bytes").sort("arrival_us", maintain_order=True)
    sizes = flows["size_bytes"].cast(float).to_numpy()
    kept = (
        _bin(run, bin_name, sizes, name)
        & flows.select((pl.col("counted") == 1) & pl.col("fct_us").is_not_null()).to_series().to_numpy()
    )
    if not kept.any():
        raise ShallowsError(f"{run.path} has no complete flow for {name!r}", "let it run longer")
    if kind == "ideal_fct_us" and percentile and percentile[0].strip("p").isdecimal():
        times = np.sort(flows["ideal_us"].cast(float).to_numpy()[kept])
        rank = np.ceil(len(times) * float(f"0.{percentile[0].strip('p')}"))
        return float(times[int(rank) - 1])
    if kind not in {"flow_gbps", "ideal_flow_gbps"} or percentile:
        raise ShallowsError(f"there is no metric {name!r}", "docs/reproduction.md lists them")
    times = flows["fct_us"].cast(float).to_numpy() if kind == "flow_gbps" else ideal.completion_us(run)
    return float((sizes[kept] * 8 / times[kept] / 1e3).mean())


def _bin(run: Run, name: str, sizes: Any, metric: str) -> Any:
    """Which of these sizes are in a bin, as in `summary.json`."""
    import numpy as np

    names = ["small", "medium", "large"]
    if name == "all":
        return np.ones(len(sizes), dtype=bool)
    if name not in names:
        raise ShallowsError(f"there is no metric {metric!r}", "docs/reproduction.md lists them")
    edges = [parse_size(edge) for edge in run.scenario["measure"]["bins"]]
    return np.searchsorted(edges, sizes, side="left") == names.index(name)


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
