"""The fixed point of Swift (SIGCOMM '20, §3.5), solved numerically.

It is the source of claims in experiments/rdma. N flows have equal windows, which together fill a link of
10 Gb/s for one target delay.
"""

from __future__ import annotations

import math

import pytest

from shared import claimed

BYTES_PER_US = 10e9 / 8e6
PACKET, ACKNOWLEDGEMENT = 1_000, 62
# Two links in each direction, with a delay of 1 us; a packet is forwarded after its last byte.
BASE_RTT_US = 4 + 2 * (PACKET + ACKNOWLEDGEMENT) / BYTES_PER_US
BASE_TARGET_US, SCALING_US, SMALLEST, LARGEST = 20, 100, 0.1, 100


def target_us(window: float, *, scaled: bool) -> float:
    """Returns the target delay for a window in packets, on a path without hops."""
    if not scaled:
        return BASE_TARGET_US
    alpha = SCALING_US / (1 / math.sqrt(SMALLEST) - 1 / math.sqrt(LARGEST))
    beta = -alpha / math.sqrt(LARGEST)
    return BASE_TARGET_US + min(max(alpha / math.sqrt(window) + beta, 0), SCALING_US)


def backlog(flows: int, *, scaled: bool) -> float:
    """Returns the backlog in bytes at which all windows together take one target delay to send."""
    low, high = 1e-3, 1e3
    for _ in range(100):
        window = math.sqrt(low * high)
        if flows * window * PACKET < BYTES_PER_US * target_us(window, scaled=scaled):
            low = window
        else:
            high = window
    return BYTES_PER_US * (target_us(low, scaled=scaled) - BASE_RTT_US)


@pytest.mark.parametrize(("name", "scaled"), [("swift-scaled", True), ("swift-unscaled", False)])
def test_the_claimed_backlogs_of_swift_are_fixed_points(name: str, scaled: bool) -> None:
    points = claimed("rdma", name)
    assert points == pytest.approx({flows: backlog(flows, scaled=scaled) for flows in points}, rel=1e-4)
    assert [*points] == [16, 64, 256]
