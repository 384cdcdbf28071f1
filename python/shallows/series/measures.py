"""Numbers of a run by name, as claims ask for them.

A name is a path into `summary.json`, such as `fct_us.small.p99`, or `KIND.WHAT@WHERE`: a number of a port, a
host, a class, a flow or several. docs/claims.md lists them.
"""

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from shallows.errors import ShallowsError, UnknownMetric
from shallows.quantity import parse_rate, parse_size
from shallows.runs.results import Run
from shallows.runs.running import Source
from shallows.series import flow_measures, percentiles, port_measures

LARGE = flow_measures.LARGE

PLACED: dict[str, Callable[[Run, str, str], float]] = {
    "backlog_bytes": port_measures.backlog,
    "sent_gbps": port_measures.sent_gbps,
    "repeated_share": port_measures.repeated_share,
    "goodput_gbps": flow_measures.goodput_gbps,
    "goodput_ratio": flow_measures.goodput_ratio,
    "convergence_ms": flow_measures.convergence_ms,
    "catch_up_ms": flow_measures.catch_up_ms,
    "flow_gbps": flow_measures.flow_gbps,
    "jain": flow_measures.jain,
    "jain_over": flow_measures.jain_over,
    "with_timeout": flow_measures.with_timeout,
    "concurrent": flow_measures.concurrent,
    "concurrent_large": partial(flow_measures.concurrent, above=LARGE),
    "concurrent_large_busy": partial(flow_measures.concurrent, above=LARGE, busy=True),
    "acked_packets": flow_measures.acked_packets_over,
    "longest_ack_gap_us": partial(flow_measures.gaps, "longest_ack_gap_us"),
    "longest_arrival_gap_us": partial(flow_measures.gaps, "longest_arrival_gap_us"),
    "cwnd_bytes": flow_measures.window,
    "fct_us": partial(flow_measures.times, "fct_us"),
    "slowdown": partial(flow_measures.times, "slowdown"),
}
"""Of a run: a number by `WHAT` and `WHERE`."""

BINNED: dict[str, Callable[[Run, str], float]] = {
    "flow_gbps": flow_measures.gbps_of_bin,
    "ideal_flow_gbps": flow_measures.ideal_gbps_of_bin,
    "ideal_fct_us": flow_measures.ideal_fct_us_of_bin,
}
"""Of a run: a number by the bin of flows, and what else `WHAT` says."""


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
    head, at, where = name.partition("@")
    kind, _, what = head.partition(".")
    try:
        if at:
            return _placed(kind)(run, what, where)
        if kind in BINNED:
            return BINNED[kind](run, what)
    except UnknownMetric as unknown:
        raise _no_metric(name, unknown) from None
    return _number(_follow(run.summary, head), name, str(run.path))


def check(name: str) -> None:
    """Refuse what cannot be a number of any run: an unknown kind, a percentile that is none.

    Raises
    ------
    ShallowsError
        Before anything has run; what only a run can tell, `measure` says.

    Examples
    --------
    >>> check("backlog_bytes.p99.9@switch0->host0")
    >>> check("concurrent.p101@1ms")
    Traceback (most recent call last):
    shallows.errors.ShallowsError: there is no metric 'concurrent.p101@1ms': 'p101' is no percentile
      above 0 and up to 100: p5 is 5 %, p99.9 and p999 are 99.9 %, p100 is the largest
    """
    head, at, _ = name.partition("@")
    kind, *words = percentiles.words(head)
    try:
        if at:
            _placed(kind)
        for word in filter(percentiles.is_percentile, words):
            percentiles.parse(word)
    except UnknownMetric as unknown:
        raise _no_metric(name, unknown) from None


def _no_metric(name: str, unknown: UnknownMetric) -> ShallowsError:
    reason = f": {unknown.reason}" if unknown.reason else ""
    return ShallowsError(f"there is no metric {name!r}{reason}", unknown.remedy)


def _placed(kind: str) -> Callable[[Run, str, str], float]:
    if kind not in PLACED:
        raise UnknownMetric
    return PLACED[kind]


def compute(source: Source, name: str) -> float:
    """A number of a scenario that needs no run: of its `curves`, its `scenario` as resolved, its `buffer`."""
    experiment = source.parse()
    scenario = json.loads(experiment.resolved())
    curves = json.loads(experiment.marking_curves())
    document = {"scenario": scenario, "curves": curves, "buffer": _buffer(scenario, curves)}
    return _number(_follow(document, name), name, source.file)


def _buffer(scenario: dict[str, Any], curves: list[dict[str, Any]]) -> dict[str, float]:
    """What each port of a switch has of its pool, and how many ports at their threshold fill it."""
    buffer, rate = scenario["switch"]["buffer"], scenario["topology"]["rate"]
    if "pool" not in buffer:
        return {}
    pool = parse_size(buffer["pool"])
    each = pool / (buffer.get("ports_per_pool") or scenario["topology"]["hosts"])
    found = {"per_port_bytes": each, "per_port_per_gbps_bytes": each / (parse_rate(rate) / 1e9)}
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
        raise ShallowsError(f"{place} has no number {name!r}", "docs/claims.md lists them")
    return float(found)
