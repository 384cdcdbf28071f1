"""The fluid model of DCQCN (SIGCOMM '15, §5), integrated with delayed feedback.

It is the source of claims in experiments/rdma. Rates are in packets of 1,000 bytes per second, backlogs in
packets. N flows with equal rates share a link of 40 Gb/s.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import pytest

from shared import claimed

CAPACITY = 5e6
KMIN, KMAX, PMAX = 5.0, 200.0, 0.01
CNP_INTERVAL, ALPHA_TIMER, RATE_TIMER = 50e-6, 55e-6, 55e-6
BYTE_COUNTER, FAST_RECOVERY, ADDITIVE_INCREASE, GAIN = 10_000, 5, 5_000, 1 / 256
STEP = 1e-6


@dataclass
class Backlog:
    """Backlog over the last 80 % of a run."""

    mean: float
    least: float
    most: float
    period_ms: float


def marking(backlog: float) -> float:
    if backlog > KMAX:
        return 1.0
    return max(0.0, backlog - KMIN) / (KMAX - KMIN) * PMAX


def at_least_once(p: float, packets: float) -> float:
    """Returns the probability that at least one of `packets` packets is marked."""
    return 1.0 if p >= 1 else -math.expm1(packets * math.log1p(-p))


def increases(p: float, packets: float) -> tuple[float, float]:
    """Returns the rate increases per packet: those of fast recovery, and the later additive ones.

    An increase happens after `packets` packets without a mark.
    """
    if p <= 0:
        return 1 / packets, 1 / packets
    exponent = -packets * math.log1p(-min(p, 1 - 1e-12))
    if exponent > 500:
        return 0.0, 0.0
    every = p / math.expm1(exponent)
    return every, math.exp(-FAST_RECOVERY * exponent) * every


def integrate(flows: int, delay: float, seconds: float = 0.2) -> Backlog:
    """Integrates the model from rates at the fair share and a backlog of 20 packets."""
    rate = target = CAPACITY / flows
    alpha, backlog = 0.1, 20.0
    rates, marks, backlogs = [], [], []
    for step in range(round(seconds / STEP)):
        rates.append(rate)
        marks.append(marking(backlog))
        backlogs.append(backlog)
        seen = max(0, step - round((delay + backlog / CAPACITY) / STEP))
        past, p = rates[seen], marks[seen]
        cut = at_least_once(p, CNP_INTERVAL * past) / CNP_INTERVAL
        by_bytes, more_by_bytes = increases(p, BYTE_COUNTER)
        by_timer, more_by_timer = increases(p, RATE_TIMER * past)
        alpha_change = GAIN / ALPHA_TIMER * (at_least_once(p, ALPHA_TIMER * past) - alpha)
        target_change = (rate - target) * cut + ADDITIVE_INCREASE * past * (more_by_bytes + more_by_timer)
        rate_change = -rate * alpha / 2 * cut + (target - rate) / 2 * past * (by_bytes + by_timer)
        backlog = max(0.0, backlog + (flows * rate - CAPACITY) * STEP)
        alpha += alpha_change * STEP
        target = min(CAPACITY, target + target_change * STEP)
        rate = min(CAPACITY, rate + rate_change * STEP)
    settled = backlogs[len(backlogs) // 5 :]
    mean = sum(settled) / len(settled)
    rises = sum(a < mean <= b for a, b in itertools.pairwise(settled))
    period = len(settled) * STEP / rises * 1e3 if rises else math.inf
    return Backlog(mean, min(settled), max(settled), period)


@pytest.mark.parametrize("flows", [2, 4, 8])
def test_the_claimed_backlogs_are_the_fixed_points_of_the_model(flows: int) -> None:
    settled = integrate(flows, delay=4e-6)
    assert settled.most - settled.least < 0.02 * settled.mean, "the model is stable with a delay of 4 us"
    assert settled.mean * 1_000 == pytest.approx(claimed("rdma", "fixed-point-backlog")[flows], rel=0.01)


def test_with_feedback_delayed_by_nearly_a_cnp_interval_eight_flows_oscillate_and_four_do_not() -> None:
    eight = integrate(8, delay=45e-6)
    assert (eight.least, eight.most > KMAX) == (0, True)
    assert eight.mean == pytest.approx(70, rel=0.03), "mean in experiments/rdma/README.md"
    assert eight.period_ms == pytest.approx(2, rel=0.2), "and this period"
    four = integrate(4, delay=45e-6)
    assert four.mean == pytest.approx(41.8, rel=0.01)
