"""Numbers of a run's ports by name; `measures` calls them."""

from collections.abc import Mapping
from typing import Any

from shallows.errors import ShallowsError, UnknownMetric
from shallows.quantity import parse_time
from shallows.runs.results import Run
from shallows.series import percentiles


def backlog(run: Run, what: str, where: str) -> float:
    """By time, of a port or pool, from a time on if one is given (`PORT@10ms`).

    `mean`, `std`, `max`; percentiles (`p99`); the share of time above (`above_720000`); `peak_us`,
    when it was highest for the last time.
    """
    from shallows.series.backlogs import backlogs

    port, _, begin = where.partition("@")
    (series,) = backlogs(run, [port]).values()
    if begin:
        series = series.between(parse_time(begin) * 1e6)
    if percentiles.is_percentile(what):
        return series.quantile(percentiles.parse(what))
    kind, number = what.rstrip("0123456789"), what[len(what.rstrip("0123456789")) :]
    if kind == "above_" and number:
        return series.share_above(int(number))
    match what:
        case "mean":
            return series.mean()
        case "std":
            return series.std()
        case "max":
            return series.max()
        case "peak_us":
            return float(series.times[1:][series.values[:-1] == series.max()][-1])
    raise UnknownMetric


def sent_gbps(run: Run, what: str, port: str) -> float:
    """Bytes on the wire that a port has sent, over the simulated time."""
    refuse(what)
    return _sent_bytes(run, port) * 8 / float(run.summary["simulated_s"]) / 1e9


def repeated_share(run: Run, what: str, port: str) -> float:
    """Of the TCP bytes that a port has sent, those whose data came again; all flows of the run pass it."""
    refuse(what)
    simulated_s = float(run.summary["simulated_s"])
    mtu: int = run.scenario["topology"]["mtu"]
    datagrams = (run.summary["datagram_gbps"] or 0) * 1e9 / 8 * simulated_s
    delivered = int(run.flows["delivered_bytes"].sum()) * mtu / payload(run.scenario)
    return 1.0 - float(delivered) / (_sent_bytes(run, port) - datagrams)


def payload(scenario: Mapping[str, Any]) -> int:
    """Data in a full segment (docs/scenario.md), of a resolved scenario in which all hosts have the same."""
    mtu, timestamps = scenario["topology"]["mtu"], scenario["tcp"]["timestamps"]
    groups = scenario.get("host", {}).get("group", [])
    if any((group["mtu"], group["tcp"]["timestamps"]) != (mtu, timestamps) for group in groups):
        raise ShallowsError(
            "full segments differ between groups of hosts, and this number counts in them",
            "give all hosts one mtu and tcp.timestamps, or ask for another number",
        )
    return int(mtu) - (52 if timestamps else 40)


def _sent_bytes(run: Run, port: str) -> int:
    import polars as pl

    mine = run.counters.filter(pl.col("port") == port)
    if mine.is_empty():
        raise ShallowsError(f"{run.path} has no port {port!r}", "ports are called as in counters.parquet")
    return int(mine["sent_bytes"].sum())


def refuse(what: str) -> None:
    """Of a number that there is only one of."""
    if what:
        raise UnknownMetric
