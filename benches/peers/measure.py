"""Measurements of one run of a simulator, and comparison of two simulators."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

# Upper ends of the size bins in bytes, the defaults of `summary.json`.
BINS = {"small": 100_000.0, "medium": 10_000_000.0, "large": float("inf")}

# Largest relative difference of packet-hops. With a larger one, the two simulators did not do the same work.
HOPS_TOLERANCE = 0.03


@dataclass(frozen=True)
class Run:
    """One run of a simulator. `wall_s` is the time of the simulation; `process_s` includes set-up."""

    wall_s: float
    process_s: float
    packet_hops: int
    delivered_bytes: float
    peak_rss_mb: float
    drops: int
    unfinished: int
    mean_fct_us: Mapping[str, float] = field(default_factory=dict)

    @property
    def hops_per_s(self) -> float:
        """Speed in packet-hops per second of wall time."""
        return self.packet_hops / self.wall_s

    @property
    def bytes_per_s(self) -> float:
        """Speed in delivered bytes per second of wall time."""
        return self.delivered_bytes / self.wall_s


def median(runs: Sequence[Run], measure: Callable[[Run], float]) -> float:
    """Return the median of a measure over the repeats."""
    return statistics.median(measure(run) for run in runs)


def figures(runs: Sequence[Run]) -> dict[str, float]:
    """Return the medians of one simulator's speed, time, packet-hops and memory, for `peers.json`."""
    return {
        "hops_per_s": median(runs, lambda run: run.hops_per_s),
        "wall_s": median(runs, lambda run: run.wall_s),
        "packet_hops": median(runs, lambda run: run.packet_hops),
        "peak_rss_mb": median(runs, lambda run: run.peak_rss_mb),
    }


def hops_ratio(ours: Sequence[Run], theirs: Sequence[Run]) -> float:
    """Return the packet-hops of Shallows divided by the other simulator's: 1 if both did the same work."""
    return median(ours, lambda run: run.packet_hops) / median(theirs, lambda run: run.packet_hops)


def speed_ratios(ours: Sequence[Run], theirs: Sequence[Run]) -> tuple[float, float]:
    """Return the speed of Shallows divided by the other simulator's, in packet-hops/s and in bytes/s."""
    by_hops = median(ours, lambda run: run.hops_per_s) / median(theirs, lambda run: run.hops_per_s)
    by_bytes = median(ours, lambda run: run.bytes_per_s) / median(theirs, lambda run: run.bytes_per_s)
    return by_hops, by_bytes


def fct_ratios(ours: Sequence[Run], theirs: Sequence[Run]) -> dict[str, float]:
    """Return, by size bin, our mean FCT divided by that of the other simulator, each over all repeats."""

    def mean(runs: Sequence[Run], size: str) -> float:
        return statistics.fmean(run.mean_fct_us[size] for run in runs)

    return {size: mean(ours, size) / mean(theirs, size) for size in BINS}


def mean_fct_by_size(flows: Iterable[tuple[int, float]]) -> dict[str, float]:
    """Return the mean FCT of (bytes, FCT) pairs by size bin; bins without flows are left out."""
    members: dict[str, list[float]] = {size: [] for size in BINS}
    for flow_bytes, fct in flows:
        size = next(size for size, limit in BINS.items() if flow_bytes <= limit)
        members[size].append(fct)
    return {size: statistics.fmean(fcts) for size, fcts in members.items() if fcts}


def problems(case: str, ours: Sequence[Run], theirs: Sequence[Run], peer: str = "ns-3") -> list[str]:
    """Return the reasons why two runs cannot be compared: drops, unfinished flows, different packet-hops."""
    found = []
    for side, runs in (("shallows", ours), (peer, theirs)):
        drops = max(run.drops for run in runs)
        unfinished = max(run.unfinished for run in runs)
        if drops:
            found.append(
                f"{case}: {side} dropped {drops} packets; the buffers must be so large that nobody drops"
            )
        if unfinished:
            found.append(f"{case}: {side} left {unfinished} flows unfinished")
    ratio = hops_ratio(ours, theirs)
    if abs(ratio - 1) > HOPS_TOLERANCE:
        found.append(
            f"{case}: we made {ratio:.3f} times the packet-hops of {peer}, not within {HOPS_TOLERANCE:.0%}"
        )
    return found
