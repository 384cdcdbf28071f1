"""Measure how often the intervals of `shallows compare` contain the true value.

Usage: python benches/interval_coverage.py [REPEATS]

Prints the tables of evidence/interval-coverage.md. The data are sojourn times of M/M/1 at load 0.9. Their
true mean and percentiles are known, and the data are correlated over hundreds of customers. Each
comparison has two queues; the second one serves faster, so that its true mean and percentiles are 2 % lower.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numpy.typing import NDArray

from shallows.comparison import intervals
from shallows.comparison.intervals import Interval
from shallows.runs.ranks import nearest_rank

Floats = NDArray[np.float64]

LOAD = 0.9
WARM_UP = 5_000
MEAN = 1 / (1 - LOAD)
"""Mean sojourn time, in multiples of the mean service time."""

P99 = -math.log(0.01) * MEAN
"""99th percentile of sojourn times, which are exponential."""

CHANGE = -0.02
FASTER = 1 / (LOAD + 1 / (MEAN * (1 + CHANGE)))
"""Mean service time s of the second queue, from its mean sojourn time s / (1 - 0.9 s)."""

LENGTHS = [(5, 5_000, 1), (5, 20_000, 1), (5, 50_000, 1), (5, 100_000, 1), (10, 20_000, 1), (10, 50_000, 1)]
LENGTHS += [(3, 21_000, 7), (3, 49_000, 7), (3, 105_000, 7), (4, 100_000, 5)]
"""Numbers of runs, of customers per run, and of blocks per run."""

PAIRED = [(True, *LENGTHS[place]) for place in (1, 2, 5, 7, 8)] + [(False, *LENGTHS[2])]
"""Cases of paired queues: whether both queues use common random numbers, and an entry of `LENGTHS`."""


def draw(random: np.random.Generator, runs: int, customers: int) -> tuple[Floats, Floats]:
    """Return interarrival and service times, each of shape (runs, customers + `WARM_UP`)."""
    shape = runs, customers + WARM_UP
    return random.exponential(1 / LOAD, shape), random.exponential(1.0, shape)


def sojourn_times(arrivals: Floats, services: Floats) -> Floats:
    """Return the sojourn times of customers after the warm-up, shape (runs, customers).

    The solution of Lindley's recursion, W' = max(0, W + S - A'), is the height of a random walk above its
    lowest point so far.
    """
    walk = np.zeros(services.shape)
    np.cumsum(services[:, :-1] - arrivals[:, 1:], axis=1, out=walk[:, 1:])
    return (walk - np.minimum.accumulate(walk, axis=1) + services)[:, WARM_UP:]


def holds(interval: Interval, truth: float) -> bool:
    """Return whether the true value is in the interval."""
    return interval.low <= truth <= interval.high


def resampled(values: Floats, random: np.random.Generator, confidence: float = 0.95) -> Interval:
    """Return the bootstrap percentile interval over seeds, for comparison. It is too narrow for few seeds."""
    means = values[random.integers(0, values.size, (2_000, values.size))].mean(axis=1)
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Interval(float(values.mean()), float(low), float(high))


def main() -> int:
    """Print the tables."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    print("| runs | customers of each | groups | mean | p99 | bootstrap, mean | bootstrap, p99 |")
    print("|---" * 7 + "|")
    for runs, customers, blocks in LENGTHS:
        print(_alone(runs, customers, blocks, repeats), flush=True)
    print("\n| random numbers | runs | customers of each | groups | mean | p99 | found, mean | found, p99 |")
    print("|---" * 8 + "|")
    for common, runs, customers, blocks in PAIRED:
        print(_pairs(runs, customers, blocks, repeats, common=common), flush=True)
    return 0


def _alone(runs: int, customers: int, blocks: int, repeats: int) -> str:
    random, other = np.random.default_rng(20), np.random.default_rng(21)
    held = []
    for _ in range(repeats):
        groups = list(sojourn_times(*draw(random, runs, customers)).reshape(runs * blocks, -1))
        tails = np.array([nearest_rank([group], 0.99) for group in groups])
        held.append(
            [
                holds(intervals.mean(groups), MEAN),
                holds(intervals.percentile(groups), P99),
                holds(resampled(intervals.means(groups), other), MEAN),
                holds(resampled(tails, other), P99),
            ]
        )
    return _line([runs, customers, runs * blocks], held)


def _pairs(runs: int, customers: int, blocks: int, repeats: int, *, common: bool) -> str:
    random = np.random.default_rng(22)
    rows = []
    for _ in range(repeats):
        arrivals, services = draw(random, runs, customers)
        theirs = list(sojourn_times(arrivals, services).reshape(runs * blocks, -1))
        if not common:
            arrivals, services = draw(random, runs, customers)
        mine = list(sojourn_times(arrivals, FASTER * services).reshape(runs * blocks, -1))
        changes = [intervals.mean_change(theirs, mine), intervals.percentile_change(theirs, mine)]
        rows.append(
            [*(holds(change, CHANGE) for change in changes), *(change.high < 0 for change in changes)]
        )
    return _line(["common" if common else "independent", runs, customers, runs * blocks], rows)


def _line(about: list[int | str], rows: list[list[bool]]) -> str:
    shares = [f"{100 * share:.1f}" for share in np.mean(rows, axis=0)]
    return f"| {' | '.join([*map(str, about), *shares])} |"


if __name__ == "__main__":
    raise SystemExit(main())
