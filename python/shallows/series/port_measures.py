"""Metrics of a run's ports; `measures.PLACED` maps names to them."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError, UnknownMetric
from shallows.runs.recorded import of_port
from shallows.runs.results import Run
from shallows.series import percentiles
from shallows.series.metric import Port, Recorded

if TYPE_CHECKING:
    from shallows.runs.steps import Series


def over_time(words: Sequence[str]) -> "Callable[[Series], float]":
    """Return a statistic over time: `mean`, `std`, `max`, a percentile, a share `above_N`, or `peak_us`.

    Raises
    ------
    UnknownMetric
        If the statistic is unknown.
    """
    word = ".".join(words)
    if percentiles.is_percentile(word):
        share = percentiles.parse(word)
        return lambda series: series.quantile(share)
    if found := re.fullmatch("above_([0-9]{1,18})", word):
        return lambda series: series.share_above(int(found[1]))
    if word == "peak_us":
        return _peak_us
    if word not in {"mean", "std", "max"}:
        raise UnknownMetric(
            f"{word!r} is not a statistic over time", "write mean, std, max, a percentile, above_N or peak_us"
        )
    return lambda series: float(getattr(series, word)())


def _peak_us(series: "Series") -> float:
    """Return the time at which the series was last at its maximum."""
    return float(series.times[1:][series.values[:-1] == series.max()][-1])


def backlog(run: Run, number: "Callable[[Series], float]", where: Recorded) -> float:
    """Return a statistic over time of the backlog of a port or pool, from `where.begin_us` on."""
    series = of_port(run, where.name)
    end_us = float(run.summary["simulated_s"]) * 1e6
    if where.begin_us >= end_us:
        raise ShallowsError(
            f"{where.begin_us / 1e3:g} ms is after the end of the run {run.path}", "name an earlier time"
        )
    return number(series.between(where.begin_us) if where.begin_us else series)


def sent_gbps(run: Run, _: None, port: Port) -> float:
    """Return the rate at which a port sent over the whole run, in Gbit/s on the wire."""
    return _sent_bytes(run, port.name) * 8 / float(run.summary["simulated_s"]) / 1e9


def retransmitted_share(run: Run, _: None, port: Port) -> float:
    """Return the share of retransmitted bytes in a port's TCP payload; all flows must pass this port.

    Raises
    ------
    ShallowsError
        If the port has sent less than all flows have delivered, so that some flows do not pass it.
    """
    simulated_s = float(run.summary["simulated_s"])
    mtu: int = run.scenario["topology"]["mtu"]
    datagrams = (run.summary["datagram_gbps"] or 0) * 1e9 / 8 * simulated_s
    delivered = int(run.flows["delivered_bytes"].sum()) * mtu / payload(run.scenario)
    sent = _sent_bytes(run, port.name) - datagrams
    if sent <= 0 or delivered > sent:
        raise ShallowsError(
            f"port {port.name} of {run.path} sent fewer TCP bytes than all flows delivered",
            "name a port that all flows pass",
        )
    return 1.0 - float(delivered) / sent


def payload(scenario: Mapping[str, Any]) -> int:
    """Return the payload of a full segment in bytes (docs/scenario.md); raise if hosts differ."""
    mtu, timestamps = scenario["topology"]["mtu"], scenario["tcp"]["timestamps"]
    groups = scenario.get("host", {}).get("group", [])
    if any((group["mtu"], group["tcp"]["timestamps"]) != (mtu, timestamps) for group in groups):
        raise ShallowsError(
            "the metric counts full segments, whose size differs between groups of hosts",
            "give all hosts the same mtu and tcp.timestamps, or use another metric",
        )
    return int(mtu) - (52 if timestamps else 40)


def _sent_bytes(run: Run, port: str) -> int:
    import polars as pl

    mine = run.counters.filter(pl.col("port") == port)
    if mine.is_empty():
        raise ShallowsError(f"{run.path} has no port {port!r}", "counters.parquet lists the names of ports")
    return int(mine["sent_bytes"].sum())
