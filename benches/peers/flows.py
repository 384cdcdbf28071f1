"""Flow lists of the benchmarks: Poisson arrivals, web search sizes, uniform pairs.

ns-3, ns-2 and our `trace` workload read the same CSV file, `start_ns,source,destination,bytes`, so that all
have the same flows. With the same seed and load, a short list is the beginning of a long one: 4,000 flows are
the first quarter of 16,000.

Usage: flows.py COUNT LOAD SEED FILE
"""

from __future__ import annotations

import random
import sys
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

HOSTS = 128
LEAVES = 8
SPINES = 8
LINK_BITS_PER_SECOND = 100e9

HEADER = "start_ns,source,destination,bytes"

# DCTCP (SIGCOMM '10) Fig. 4, with the values of the MQ-ECN authors' traffic generator: (size in bytes,
# cumulative share).
WEB_SEARCH = (
    (0, 0.0),
    (10_000, 0.15),
    (20_000, 0.2),
    (30_000, 0.3),
    (50_000, 0.4),
    (80_000, 0.53),
    (200_000, 0.6),
    (1_000_000, 0.7),
    (2_000_000, 0.8),
    (5_000_000, 0.9),
    (10_000_000, 0.97),
    (30_000_000, 1.0),
)


class Flow(NamedTuple):
    """A flow: one row of the list."""

    start_ns: int
    source: int
    destination: int
    bytes: int


def mean_size() -> float:
    """Return the mean of the web search distribution, 1,711,250 bytes."""
    return sum((high - low) * (a + b) / 2 for (a, low), (b, high) in pairwise(WEB_SEARCH))


def size_at(share: float) -> int:
    """Return the quantile of flow sizes for this share of flows; at least one byte."""
    point = max(1, bisect_left([cumulative for _, cumulative in WEB_SEARCH], share))
    (a, low), (b, high) = WEB_SEARCH[point - 1], WEB_SEARCH[point]
    return max(1, round(a + (b - a) * (share - low) / (high - low)))


def arrivals_per_second(load: float) -> float:
    """Return the number of flows per second at which the links from leaves to spines have this load."""
    hosts_per_leaf = HOSTS // LEAVES
    crossing = (HOSTS - hosts_per_leaf) / (
        HOSTS - 1
    )  # share of uniform pairs that are under different leaves
    uplinks = LEAVES * SPINES * LINK_BITS_PER_SECOND
    return load * uplinks / crossing / (8 * mean_size())


def flows(load: float, seed: int) -> Iterator[Flow]:
    """Yield an endless sequence of flows, in order of their starts."""
    # Only `random()` and `expovariate()` are called: `random()` is the same in all versions of Python.
    draw = random.Random(seed)
    rate = arrivals_per_second(load)
    start_s = 0.0
    while True:
        start_s += draw.expovariate(rate)
        source = int(draw.random() * HOSTS)
        other = int(draw.random() * (HOSTS - 1))
        destination = other + (other >= source)
        yield Flow(round(start_s * 1e9), source, destination, size_at(draw.random()))


def bottleneck(load: float, seed: int) -> Iterator[Flow]:
    """Yield an endless sequence of flows from eight senders to eight receivers over a link of 100 Mb/s.

    Flows are in the order of their starts, and `load` is the share of the link that they use.

    Sizes are a tenth of web search sizes, in whole packets of 1460 bytes, because ns-2 sends whole packets.
    """
    draw = random.Random(seed)
    rate = load * 100e6 / (8 * mean_size() / 10 * 1500 / 1460)
    start_s = 0.0
    while True:
        start_s += draw.expovariate(rate)
        source, destination = int(draw.random() * 8), 8 + int(draw.random() * 8)
        packets = max(1, round(size_at(draw.random()) / 10 / 1460))
        yield Flow(round(start_s * 1e9), source, destination, packets * 1460)


def write(path: Path, count: int, load: float, seed: int) -> list[Flow]:
    """Write the first `count` flows of the leaf-spine benchmark to `path` and return them."""
    return write_first(path, count, flows(load, seed))


def write_first(path: Path, count: int, endless: Iterator[Flow]) -> list[Flow]:
    """Write the first `count` flows of a sequence to `path` and return them."""
    rows = list(islice(endless, count))
    lines = [HEADER, *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    return rows


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    write(Path(sys.argv[4]), int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))
