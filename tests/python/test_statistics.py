"""Tests of the coverage of intervals, for dependent data with a known true value."""

import math

import numpy as np
import pytest

from interval_coverage import CHANGE, FASTER, MEAN, P99, Floats, draw, holds, sojourn_times
from shallows.comparison import intervals
from shallows.runs.ranks import nearest_rank

REPEATS = 500


@pytest.mark.parametrize(
    ("runs", "customers", "blocks"), [(5, 40_000, 1), (3, 105_000, 7)], ids=["five seeds", "batches of three"]
)
def test_of_500_intervals_95_percent_hold_the_truth(runs: int, customers: int, blocks: int) -> None:
    random = np.random.default_rng(20)
    held = []
    for _ in range(REPEATS):
        groups = list(sojourn_times(*draw(random, runs, customers)).reshape(runs * blocks, -1))
        held.append([holds(intervals.mean(groups), MEAN), holds(intervals.percentile(groups), P99)])
    mean, tail = np.mean(held, axis=0)
    assert 0.92 <= mean <= 0.98
    assert 0.92 <= tail <= 0.98


def test_single_flows_as_if_independent_would_promise_far_too_much() -> None:
    random = np.random.default_rng(20)
    # Unlike in `intervals`, each sojourn time is a group of its own.
    flows = [sojourn_times(*draw(random, 1, 20_000))[0] for _ in range(100)]
    half = [1.96 * run.std() / math.sqrt(run.size) for run in flows]
    assert np.mean([abs(run.mean() - MEAN) <= width for run, width in zip(flows, half, strict=True)]) < 0.3


def pair(seed: int, *, common: bool) -> tuple[list[Floats], list[Floats]]:
    """Return sojourn times of five runs each for two queues, the second 2 % shorter than the first."""
    random = np.random.default_rng(seed)
    arrivals, services = draw(random, 5, 40_000)
    theirs = list(sojourn_times(arrivals, services))
    if not common:
        arrivals, services = draw(random, 5, 40_000)
    return theirs, list(sojourn_times(arrivals, FASTER * services))


@pytest.mark.parametrize("seed", range(5))
def test_common_random_numbers_find_two_percent_that_independent_ones_cannot_show(seed: int) -> None:
    found = intervals.mean_change(*pair(seed, common=True))
    assert found.high < 0
    assert found.estimate == pytest.approx(CHANGE, abs=0.005)
    lost = intervals.mean_change(*pair(seed, common=False))
    assert lost.low < 0 < lost.high
    # The same precision would take the square of this more runs: over a thousand.
    assert (lost.high - lost.low) / (found.high - found.low) > 15


def test_a_change_of_percentiles_is_found_and_held() -> None:
    pairs = [pair(seed, common=True) for seed in range(100, 160)]
    changes = [intervals.percentile_change(*each) for each in pairs]
    assert np.mean([holds(change, CHANGE) for change in changes]) >= 0.85
    assert np.mean([change.high < 0 for change in changes]) > 0.5


def test_percentiles_hold_the_truth_at_a_gap() -> None:
    # One flow in a hundred or so waits for a timeout of 5 ms; how many differs from run to run.
    random = np.random.default_rng(5)
    true = -0.1 * math.log(0.0002 / 0.9902)  # 0.98 % wait: P(other flow > x) is the rest of 1 %
    held = []
    for _ in range(REPEATS):
        waiting = random.gamma(25, 0.0098 / 25, (5, 1))
        times = random.exponential(0.1, (5, 4_000)) + 5 * (random.random((5, 4_000)) < waiting)
        held.append(holds(intervals.percentile(list(times)), true))
    assert 0.92 <= np.mean(held) <= 0.98


def test_the_scale_of_times_does_not_matter_and_swapped_sides_mirror_the_change() -> None:
    theirs, mine = pair(0, common=False)
    change = intervals.percentile_change(theirs, mine)
    scaled = intervals.percentile_change([1e3 * each for each in theirs], [1e3 * each for each in mine])
    assert (scaled.low, scaled.high) == pytest.approx((change.low, change.high), abs=1e-4)
    swapped = intervals.percentile_change(mine, theirs)
    assert (1 + swapped.low) * (1 + change.high) == pytest.approx(1, abs=1e-3)


def test_a_percentile_that_few_groups_do_not_bound_is_open() -> None:
    groups = [np.arange(100.0), np.arange(100.0), np.concatenate([np.arange(90.0), np.full(10, 200.0)])]
    interval = intervals.percentile(groups)
    assert math.isinf(interval.high)


def test_a_change_that_hardly_anything_is_known_of_has_no_upper_limit() -> None:
    change = intervals.mean_change(
        [np.array([1.0]), np.array([3.0])], [np.array([3.0]), np.array([1.0])], 0.9999
    )
    assert change.low == pytest.approx(-1)
    assert math.isinf(change.high)


def test_percentiles_are_nearest_rank() -> None:
    # Of 1 to 100 the 99th is 99, as in summary.json.
    assert nearest_rank([np.arange(1.0, 101.0)], 0.99) == 99
    assert nearest_rank([np.arange(1.0, 102.0)], 0.99) == 100


def test_the_rank_of_ten_million_values_is_exact() -> None:
    # 0.55 * 10,485,800 is 5,767,190; in doubles the product is 1e-9 more, a rank too high.
    values = np.arange(1, 10_485_801, dtype=np.float64)
    assert nearest_rank([values], 0.55) == 5_767_190


@pytest.mark.parametrize(
    ("probability", "degrees", "quantile"),
    # Abramowitz and Stegun, Table 26.10.
    [(0.975, 1, 12.706), (0.975, 2, 4.303), (0.975, 3, 3.182), (0.995, 4, 4.604), (0.975, 29, 2.045)],
)
def test_student_t_is_that_of_the_tables(probability: float, degrees: int, quantile: float) -> None:
    assert intervals.student_t(probability, degrees) == pytest.approx(quantile, abs=6e-4)


def test_a_trend_within_runs_is_dependence_and_noise_is_not() -> None:
    random = np.random.default_rng(3)
    noise = random.normal(size=(3, 7))
    assert not intervals.is_dependent(noise)
    assert intervals.is_dependent(np.cumsum(noise, axis=1))
