"""Metrics of a run by name, for claims.

A name is a path into `summary.json`, such as `fct_us.small.p99`, or `KIND.WORDS@WHERE` for a port, a host, a
class, one flow or several. docs/results.md lists the names.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from shallows import _core
from shallows.errors import ShallowsError, UnknownMetric, listed
from shallows.quantity import parse_rate, parse_size
from shallows.runs.results import Run
from shallows.runs.source import Source
from shallows.series import flow_measures, pause_measures, percentiles, port_measures
from shallows.series.flow_measures import Bin, Moment, over_flows
from shallows.series.metric import (
    PAUSES,
    Flows,
    Metric,
    Pair,
    Port,
    Recorded,
    Span,
    Traced,
    Window,
    host_or_flows,
)
from shallows.series.offered import Offered
from shallows.series.port_measures import over_time, payload

LARGE = flow_measures.LARGE


def _traces_flows(offered: Offered) -> None:
    if not offered.may_trace_flow():
        raise UnknownMetric("the scenario traces no flow", "set measure.flow_traces = [{ sample = 4 }]")


def _has_queue_pairs(offered: Offered) -> None:
    if not offered.has_queue_pairs:
        raise UnknownMetric("the scenario has no queue pairs", 'set transport = "roce" in a workload')


def _has_one_payload(offered: Offered) -> None:
    payload(offered.scenario)


def _nothing(words: Sequence[str]) -> None:
    """Reject words after the name of a metric that takes no words."""
    if words:
        raise UnknownMetric(
            f"the name of this metric must not contain {'.'.join(words)!r}", "remove it from the name"
        )


def _percentile(words: Sequence[str]) -> float:
    return percentiles.parse(".".join(words))


def _window(words: Sequence[str]) -> Window:
    return Window.parse(".".join(words))


@dataclass(frozen=True)
class Kind:
    """Kind of metric: the parsers of its name's parts, and the function that computes it."""

    what: Callable[[Sequence[str]], Any]
    where: Callable[[str], Any]
    number: Callable[[Run, Any, Any], float]
    needs: Sequence[Callable[[Offered], None]] = ()
    """Functions that check further requirements on the scenario, beyond those of the name's parts."""
    together: Callable[[Any, Any], None] = lambda *_: None
    """Function that raises an error if the parsed words and place of a metric do not fit together."""

    def read(self, metric: Metric) -> tuple[Any, Any]:
        """Return the parsed words of a metric's name, and the parsed text after its `@`."""
        what, where = self.what(metric.words), self.where(metric.where)
        self.together(what, where)
        return what, where


_TRACED, _SEGMENTS = [_traces_flows], [_traces_flows, _has_one_payload]

PLACED: dict[str, Kind] = {
    "backlog_bytes": Kind(over_time, Recorded.parse, port_measures.backlog),
    "sent_gbps": Kind(_nothing, Port, port_measures.sent_gbps),
    **{
        name: Kind(_nothing, Port, partial(pause_measures.of_port, column), [pause_measures.has_classes])
        for name, column in (("pauses", "pauses_received"), ("paused_us", "paused_us"))
    },
    "retransmitted_share": Kind(_nothing, Port, port_measures.retransmitted_share, [_has_one_payload]),
    "goodput_gbps": Kind(_nothing, host_or_flows, flow_measures.goodput_gbps),
    "goodput_ratio": Kind(_nothing, Pair.parse, flow_measures.goodput_ratio),
    "convergence_ms": Kind(_nothing, Flows.parse, flow_measures.convergence_ms, _TRACED),
    "catch_up_ms": Kind(_nothing, Traced.parse, flow_measures.catch_up_ms),
    "flow_gbps": Kind(_nothing, Flows.parse, flow_measures.flow_gbps),
    "jain": Kind(_nothing, Flows.parse, flow_measures.jain),
    "jain_over": Kind(
        _window, Span.parse, flow_measures.jain_over, _TRACED, lambda slices, span: span.check_slices(slices)
    ),
    "with_timeout": Kind(_nothing, Flows.parse, flow_measures.with_timeout),
    "concurrent": Kind(_percentile, Window.parse, flow_measures.concurrent),
    "concurrent_large": Kind(_percentile, Window.parse, partial(flow_measures.concurrent, above=LARGE)),
    "concurrent_large_busy": Kind(
        _percentile, Window.parse, partial(flow_measures.concurrent, above=LARGE, busy=True)
    ),
    "acked_packets": Kind(over_flows, Window.parse, flow_measures.acked_packets_over, _SEGMENTS),
    "longest_ack_gap_us": Kind(over_flows, Flows.parse, partial(flow_measures.gaps, "longest_ack_gap_us")),
    "longest_arrival_gap_us": Kind(
        over_flows, Flows.parse, partial(flow_measures.gaps, "longest_arrival_gap_us")
    ),
    "cwnd_bytes": Kind(Moment.parse, Traced.parse, flow_measures.window),
    "fct_us": Kind(Bin.statistic, Flows.parse, partial(flow_measures.times, "fct_us")),
    "slowdown": Kind(Bin.statistic, Flows.parse, partial(flow_measures.times, "slowdown")),
    "queued_us": Kind(Bin.statistic, Flows.parse, flow_measures.queued_us_of_bin, [_has_queue_pairs]),
    "fluid_fct_us": Kind(Bin.statistic, Flows.parse, flow_measures.fluid_fct_us_of_bin, [_has_one_payload]),
}
"""Kinds of the metrics with a place, flow or time after the `@`, by the first word of their names."""


def _everywhere(_: str) -> None:
    """Return None for the text after the `@`, because the metric describes the whole run."""


def _of_whole(number: Callable[[Run, Bin], float]) -> Callable[[Run, Any, Any], float]:
    return lambda run, of, _: number(run, of)


def _total(name: str, run: Run, *_: Any) -> float:
    return pause_measures.total(name, run)


BINNED: dict[str, Kind] = {
    "flow_gbps": Kind(Bin.mean, _everywhere, _of_whole(flow_measures.gbps_of_bin)),
    "ideal_flow_gbps": Kind(
        Bin.mean, _everywhere, _of_whole(flow_measures.ideal_gbps_of_bin), [_has_one_payload]
    ),
    "ideal_fct_us": Kind(Bin.percentile, _everywhere, _of_whole(flow_measures.ideal_fct_us_of_bin)),
    "fluid_fct_us": Kind(
        Bin.statistic, _everywhere, _of_whole(flow_measures.fluid_fct_us_of_bin), [_has_one_payload]
    ),
    "queued_us": Kind(
        Bin.statistic, _everywhere, _of_whole(flow_measures.queued_us_of_bin), [_has_queue_pairs]
    ),
    "jain_of_classes": Kind(Bin.mean, _everywhere, _of_whole(flow_measures.jain_of_classes)),
    **{
        name: Kind(_nothing, _everywhere, partial(_total, name), [pause_measures.has_classes])
        for name in PAUSES
    },
}
"""Kinds of the metrics that have no place and are not in `summary.json`, by the first word of their names."""


def measure(run: Run, name: str) -> float:
    """Return a metric of a finished run.

    Raises
    ------
    ShallowsError
        If the run has no such metric.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), out=folder / "run")
    >>> measure(run, "flows.completed"), round(measure(run, "goodput_gbps@0"), 1)
    (800.0, 92.4)
    """
    metric = Metric(name)
    try:
        if kind := _kind(metric):
            return kind.number(run, *kind.read(metric))
    except UnknownMetric as unknown:
        raise unknown.of(name) from None
    return _number(_follow(run.summary, name), name, str(run.path))


def check(name: str, offered: Offered | None = None) -> None:
    """Raise an error if a name is not a metric, or not a metric of this scenario's runs.

    Parameters
    ----------
    name
        Name of the metric.
    offered
        Subjects of the scenario's metrics; without them, only the name is checked.

    Raises
    ------
    ShallowsError
        If the name is invalid. Errors that depend on results, such as a bin without complete flows, are
        raised by `measure`.

    Examples
    --------
    >>> check("backlog_bytes.p99.9@switch0->host0")
    >>> check("concurrent.p101@1ms")
    Traceback (most recent call last):
    shallows.errors.ShallowsError: unknown metric 'concurrent.p101@1ms': 'p101' is not a percentile
      write p and a number above 0 and at most 100: p5 is 5 %, p99.9 and p999 are 99.9 %
    """
    metric = Metric(name)
    try:
        if kind := _kind(metric):
            parts = kind.read(metric)
            if offered is not None:
                _check_parts(kind, parts, offered)
        else:
            _check_path(name, offered)
    except UnknownMetric as unknown:
        raise unknown.of(name) from None


def _kind(metric: Metric) -> Kind | None:
    """Return the kind of a metric; None for a path into `summary.json`."""
    if metric.is_placed and metric.kind not in PLACED:
        raise UnknownMetric(f"{metric.kind!r} must not be followed by @ and a port, host, flow or time")
    return (PLACED if metric.is_placed else BINNED).get(metric.kind)


def _check_parts(kind: Kind, parts: Sequence[Any], offered: Offered) -> None:
    for part in parts:
        if part_check := getattr(part, "check", None):
            part_check(offered)
    for need in kind.needs:
        need(offered)


Level = Callable[[Offered | None], Collection[str] | None]
"""Function that returns the words allowed at one position of a path, or None if any word is allowed."""


def _words(*words: str) -> Level:
    return lambda _: words


def _bins(offered: Offered | None) -> Collection[str] | None:
    return offered.bins if offered else None


def _queries(offered: Offered | None) -> Collection[str] | None:
    if offered is None:
        return None
    several = [f"workload{place}" for place in offered.asking] if len(offered.asking) > 1 else []
    return ["all", *several] if offered.asking else []


def _pings(offered: Offered | None) -> Collection[str] | None:
    if offered is None:
        return None
    classes = [f"class{number}" for number in sorted(offered.ping_classes)]
    return ["all", *classes] if classes else []


def _lossless(offered: Offered | None) -> Collection[str] | None:
    return offered.lossless if offered else None


def _of_queue_pairs(offered: Offered | None) -> Collection[str]:
    return _QUEUE_PAIRS if offered is None or offered.has_queue_pairs else ()


def _port_kinds(offered: Offered | None) -> Collection[str] | None:
    return {*offered.network.ports.values()} if offered else None


def _marker_kinds(offered: Offered | None) -> Collection[str] | None:
    return offered.markers if offered else None


_TIMES = ("count", "mean", "p50", "p95", "p99", "max")
_OF_QUERIES = ("p999", "started", "with_timeout", "timeouts", "quality", "goodput_gbps")
_LOST = ("dropped", "dropped_in_nics", "dropped_in_switches")
_LOST_DATA = ("dropped_data", "dropped_data_in_nics", "dropped_data_in_switches")
_OF_PORTS = ("ports", "received", "sent", "sent_bytes", "marked", "dropped", "dropped_data", "loss_rate")
_LOST_LOSSLESS = ("dropped", "ttl_expired", "dropped_by_watchdog")
_OF_LOSSLESS = ("pauses", "frames", "paused_us", "storms", "max_headroom_bytes", *_LOST_LOSSLESS)
_QUEUE_PAIRS = (
    *("queue_pairs", "retries_exhausted", "rnr_retries_exhausted", "naks", "rnr_naks"),
    *("timeouts", "retransmits", "cnps", "telemetry", "cuts", "increases"),
)
_ENGINE = ("events", "packet_hops", "wall_s", "packet_hops_per_s", "peak_rss_mb")

SUMMARY: Mapping[str, Sequence[Level]] = {
    **dict.fromkeys(("seed", "simulated_s", "goodput_gbps", "datagram_gbps", "timeouts", "retransmits"), ()),
    **dict.fromkeys(("loss_rate", "loss_rate_data", "loss_rate_in_nics", "loss_rate_in_switches"), ()),
    "loss_rate_mean_over_ports": (),
    "flows": [_words("started", "completed", "unbounded")],
    "fct_us": [_bins, _words(*_TIMES)],
    "slowdown": [_bins, _words(*_TIMES)],
    "queries": [_queries, _words(*_TIMES, *_OF_QUERIES)],
    "ping_rtt_us": [_pings, _words(*_TIMES, "lost")],
    "packets": [_words("sent", "data", "marked", "stale", "dropped_at_dequeue", *_LOST, *_LOST_DATA)],
    "ports": [_port_kinds, _words(*_OF_PORTS)],
    "markers": [_marker_kinds, _words("marked", "incast", "dropped")],
    "lossless": [_lossless, _words(*_OF_LOSSLESS)],
    "queue_pairs": [_of_queue_pairs],
    "engine": [_words(*_ENGINE)],
}
"""Dictionary that maps the first word of a path into `summary.json` to the words allowed after it."""

COMPUTED = ("curves", "scenario", "buffer")
"""First words of paths into data that are known before a run."""


def _check_path(name: str, offered: Offered | None) -> None:
    """Raise an error if a path exists in no run's `summary.json`."""
    first, *words = name.split(".")
    if first == "marking_curves":
        if offered is not None and not _is_number(_follow(offered.curves, ".".join(words))):
            raise UnknownMetric("the marking curves have no such value", "`shallows run` prints the curves")
        return
    if first not in SUMMARY:
        raise UnknownMetric
    levels = SUMMARY[first]
    if len(words) != len(levels):
        remedy = "docs/results.md lists the keys of summary.json"
        count = f"{len(levels)} word{'' if len(levels) == 1 else 's'}"
        raise UnknownMetric(f"{first} must be followed by {count}, got {len(words)}", remedy)
    for word, level in zip(words, levels, strict=True):
        allowed = level(offered)
        if allowed is not None and word not in allowed:
            remedy = listed("the words are", sorted(allowed)) if allowed else _remedy(first)
            raise UnknownMetric(f"{first} has no {word!r}", remedy)


def _remedy(first: str) -> str:
    remedies = {"lossless": "set switch.lossless", "queue_pairs": 'set transport = "roce" in a workload'}
    return remedies.get(first, "add a workload of that kind")


def check_computed(name: str) -> None:
    """Raise an error if a name is not a path into the data that `compute` reads.

    Raises
    ------
    ShallowsError
        If the name is invalid; `compute` reports a scenario that lacks the number.
    """
    if name.split(".")[0] not in COMPUTED:
        raise UnknownMetric(
            "an experiment with runs = false has no results",
            listed("the metric must begin with one of", COMPUTED),
        ).of(name)


def compute(source: Source, name: str) -> float:
    """Compute a metric that needs no run, from a scenario's `curves`, resolved `scenario` or `buffer`."""
    experiment: _core.Experiment = source.parse()
    scenario = json.loads(experiment.resolved())
    curves = json.loads(experiment.marking_curves())
    document = {"scenario": scenario, "curves": curves, "buffer": _buffer(scenario, curves)}
    return _number(_follow(document, name), name, source.file)


def _buffer(scenario: dict[str, Any], curves: list[dict[str, Any]]) -> dict[str, float]:
    """Return the pool's bytes per port, also per Gb/s of rate, and how many backlogs of K fill the pool."""
    buffer, rate = scenario["switch"]["buffer"], scenario["topology"]["rate"]
    if "pool" not in buffer:
        return {}
    pool = parse_size(buffer["pool"])
    each = pool / (buffer.get("ports_per_pool") or scenario["topology"]["hosts"])
    found = {"per_port_bytes": each, "per_port_per_gbps_bytes": each / (parse_rate(rate) / 1e9)}
    return found | ({"ports_at_threshold": pool / curves[0]["kmin"]["bytes"]} if curves else {})


_NOWHERE = object()
"""Result for a path that does not exist, unlike `None`, which stands for a number that was not measured."""


def _follow(document: Any, path: str) -> Any:
    for key in path.split("."):
        try:
            document = document[int(key) if isinstance(document, list) else key]
        except (LookupError, TypeError, ValueError):
            return _NOWHERE
    return document


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


def _number(found: Any, name: str, place: str) -> float:
    if found is None:
        raise ShallowsError(
            f"{place} has no measured value of {name!r}", "run the scenario longer: raise stop.at"
        )
    if not _is_number(found):
        raise ShallowsError(f"{place} has no metric {name!r}", "docs/results.md lists the metrics")
    return float(found)
