"""Tests of confidence intervals and percentiles, against limits from tables of Student's t."""

import math
from typing import Any

import numpy as np
import pytest

from shallows.comparison import intervals
from shallows.comparison.intervals import Interval

T_95_OF_3 = 4.302653
"""Student's t(0.975, 2): 95 % limits over three groups."""
T_90_OF_3 = 2.919986
"""Student's t(0.95, 2): 90 % limits over three groups."""


def groups_with_means(*means: float) -> list[Any]:
    """Return groups of two observations each with these means."""
    return [np.array([mean - 0.5, mean + 0.5]) for mean in means]


@pytest.mark.parametrize(("confidence", "t"), [(0.95, T_95_OF_3), (0.9, T_90_OF_3)])
def test_limits_of_a_mean_are_students_t_over_the_root_of_the_groups(confidence: float, t: float) -> None:
    # Means 1, 2 and 3 have deviation 1: t / √3 to each side, which is 2.4841 at 95 % and 1.6859 at 90 %.
    found = intervals.mean(groups_with_means(1, 2, 3), confidence)
    half = t / math.sqrt(3)
    assert half == pytest.approx(2.4841 if confidence == 0.95 else 1.6859, abs=1e-4)
    assert (found.estimate, found.low, found.high) == pytest.approx((2, 2 - half, 2 + half), abs=1e-4)


def test_a_difference_of_means_is_taken_pair_by_pair() -> None:
    # The pairs differ by 1, 2 and 3, though each side spreads over 20: 2 ± 2.4841.
    found = intervals.mean_difference(groups_with_means(10, 20, 30), groups_with_means(11, 22, 33))
    assert (found.estimate, found.low, found.high) == pytest.approx((2, -0.4841, 4.4841), abs=1e-4)


def test_a_change_of_means_is_relative_to_the_baseline() -> None:
    # 11 over 10, 22 over 20 and 33 over 30.
    found = intervals.mean_change(groups_with_means(10, 20, 30), groups_with_means(11, 22, 33))
    assert (found.estimate, found.low, found.high) == pytest.approx((0.1, 0.1, 0.1))


def test_a_change_of_means_has_its_limits_as_logarithms() -> None:
    # 1, 1.1 and 1.2 deviate by 1/11 of their mean: t / 11 / √3 as logarithm, to each side.
    found = intervals.mean_change(groups_with_means(1, 1, 1), groups_with_means(1, 1.1, 1.2))
    half = T_95_OF_3 / 11 / math.sqrt(3)
    expected = (0.1, 1.1 * math.exp(-half) - 1, 1.1 * math.exp(half) - 1)
    assert (found.estimate, found.low, found.high) == pytest.approx(expected, abs=1e-5)


def test_a_change_of_means_counts_each_group_once_however_large_it_is() -> None:
    # Means of 1 and 3, and of 2 and 4: 2 and 3. All observations together have 2.5 on both sides.
    theirs = [np.full(10, 1.0), np.full(30, 3.0)]
    mine = [np.full(30, 2.0), np.full(10, 4.0)]
    assert intervals.mean_change(theirs, mine).estimate == pytest.approx(0.5)


FIVE_GROUPS = [np.arange(300.0) + offset for offset in (1, 2, 3, 4, 5)]
LATER = [1.5 * group for group in FIVE_GROUPS]


def test_a_mean_has_95_percent_limits_by_default() -> None:
    # Means are 1 to 5 more than 149.5: t(0.975, 4) · √2.5 / √5 to each side.
    half = 2.776445 * math.sqrt(2.5 / 5)
    found = intervals.mean(FIVE_GROUPS)
    assert found == intervals.mean(FIVE_GROUPS, 0.95)
    assert (found.estimate, found.low, found.high) == pytest.approx((152.5, 152.5 - half, 152.5 + half))


def test_a_percentile_is_the_99th_with_95_percent_limits_by_default() -> None:
    assert intervals.percentile(FIVE_GROUPS) == intervals.percentile(FIVE_GROUPS, 0.99, 0.95)


def test_changes_have_95_percent_limits_by_default() -> None:
    assert intervals.mean_change(FIVE_GROUPS, LATER) == intervals.mean_change(FIVE_GROUPS, LATER, 0.95)
    assert intervals.mean_difference(FIVE_GROUPS, LATER) == intervals.mean_difference(
        FIVE_GROUPS, LATER, 0.95
    )


def test_a_change_of_percentiles_is_that_of_the_99th_with_95_percent_limits_by_default() -> None:
    found = intervals.percentile_change(FIVE_GROUPS, LATER)
    assert found == intervals.percentile_change(FIVE_GROUPS, LATER, 0.99, 0.95)
    assert found.estimate == pytest.approx(0.5)


def test_limits_of_a_percentile_are_the_ranks_that_shares_of_groups_reach() -> None:
    # 1 to 1,000 in five groups of 200. The shares above 900 are 0.08, 0.09, 0.1, 0.11 and 0.12, with
    # deviation 0.0158: t(0.975, 4) · 0.0158 / √5 = 0.01963 to each side of the 900th.
    above = [16, 18, 20, 22, 24]
    high, low = iter(range(901, 1_001)), iter(range(1, 901))
    groups = [
        np.array([*(next(high) for _ in range(n)), *(next(low) for _ in range(200 - n))]) for n in above
    ]
    found = intervals.percentile(groups, 0.9)
    half = 2.77645 * math.sqrt(10 / 4) / 100 / math.sqrt(5)
    assert (found.estimate, found.low, found.high) == (
        900,
        math.ceil(1000 * (0.9 - half)),
        math.ceil(1000 * (0.9 + half)),
    )


@pytest.mark.parametrize(
    ("confidence", "low", "high"),
    [
        # t(0.975, 2) · 0.05 / √3 = 0.124: ranks from 20.3 to 27.7 of 30 are the 21st, 1, and the 28th, 9.
        (0.95, 1.0, 9.0),
        # t(0.75, 2) = 0.816: ranks from 23.3 to 24.7 are the 24th and the 25th.
        (0.5, 5.0, 5.0),
    ],
)
def test_observations_equal_to_a_percentile_are_shared_out_over_both_sides_of_it(
    confidence: float, low: float, high: float
) -> None:
    # The 24th of 30 values is 5. A tenth of each group is above it, and 0.3, 0.2 and 0.1 equal it. Half of
    # these makes the share above a fifth: 0.25, 0.2 and 0.15, with deviation 0.05.
    groups = [np.array([1.0] * ones + [5.0] * (9 - ones) + [9.0]) for ones in (6, 7, 8)]
    assert intervals.percentile(groups, 0.8, confidence) == Interval(5.0, low, high)


def test_a_low_percentile_below_which_there_may_be_nothing_has_no_lower_limit() -> None:
    # Shares above the 1st percentile differ by a tenth in one group of three: more than the 1 % below it.
    some = [np.arange(100.0), np.arange(100.0), np.concatenate([np.full(10, -200.0), np.arange(90.0)])]
    found = intervals.percentile(some, 0.01)
    assert (found.low, math.isinf(found.high)) == (-math.inf, False)


def test_limits_of_a_change_of_percentiles_are_where_one_side_has_the_whole_tail() -> None:
    # In each of three pairs eight values, then 4 and 8, on the other side times 1.5: the 90th percentile
    # of 30 is 4, and 6. Six of all 60 are above it. Times r the baseline's three 8s and the other's three 12s
    # are these six as long as 4r < 12 and 8r > 6; else one side has all six.
    low, tail = [0.001] * 8, [4.0, 8.0]
    theirs = [np.array([*low, *tail])] * 3
    mine = [np.array([*low, *(1.5 * each for each in tail)])] * 3
    found = intervals.percentile_change(theirs, mine, 0.9)
    assert found.estimate == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((0.75 - 1, 3.0 - 1), abs=5e-5)
    # What lies within the precision of the limit counts as held.
    assert found.low <= 0.75 - 1 < 3.0 - 1 <= found.high


def test_a_change_of_percentiles_above_which_there_is_nothing_has_no_limits() -> None:
    # A tenth of six values is less than one: every ratio has nothing above.
    found = intervals.percentile_change([np.ones(1)] * 3, [np.full(1, 2.0)] * 3, 0.9)
    assert (found.estimate, found.low, found.high) == pytest.approx((1.0, -1.0, math.inf))


@pytest.mark.parametrize(("confidence", "low"), [(0.95, -1.0), (0.9, 0.75 - 1)])
def test_tails_that_differ_between_pairs_widen_the_limits_of_a_change_of_percentiles(
    confidence: float, low: float
) -> None:
    # The 90th percentiles are 4, and 6 of the other side; those of the pairs are so near to these that their
    # own spread allows 1 % more. Above r = 3 the baseline has two of the six largest in each group and the
    # other side none: −0.2 in each, and no doubt. Below r = 0.75 the other side has all six: 0.3, 0.2 and 0.1
    # of its groups, with deviation 0.1. That is within t(0.975, 2) · 0.1 / √3 = 0.248 of none, so that there
    # is no lower limit at 95 %, but not within the 0.169 of 90 %.
    theirs = [np.array([0.001] * 8 + [4.0, 8.0])] * 3
    tails = [[5.98, 6.0, 12.0], [5.99, 12.0], [5.97, 12.0]]
    mine = [np.array([0.001] * (10 - len(tail)) + tail) for tail in tails]
    found = intervals.percentile_change(theirs, mine, 0.9, confidence)
    assert found.estimate == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((low, 3.0 - 1), abs=1e-4)


def test_pairs_that_differ_widen_the_limits_of_a_change_of_percentiles() -> None:
    # Ratios of the pairs are e^0.1, e^0.2 and e^0.3, that of all together e^0.2: deviation 0.1, and
    # t(0.975, 2) · 0.1 / √3 = 0.2484 to each side, more than any tail of one value allows.
    theirs = [np.full(4, 1.0)] * 3
    mine = [np.full(4, math.exp(each)) for each in (0.1, 0.2, 0.3)]
    found = intervals.percentile_change(theirs, mine, 0.5)
    half = T_95_OF_3 * 0.1 / math.sqrt(3)
    assert math.log1p(found.estimate) == pytest.approx(0.2)
    assert math.log1p(found.low) <= 0.2 - half + 1e-6
    assert math.log1p(found.high) >= 0.2 + half - 1e-6


def test_pairs_that_change_alike_leave_narrow_limits_of_a_change_of_percentiles() -> None:
    # Each value is half as much again; neighbours lie closer than 1/500 of each other at the percentile.
    theirs = [np.linspace(1.0, 2.0, 500) * (1 + seed / 1_000) for seed in range(5)]
    found = intervals.percentile_change(theirs, [1.5 * run for run in theirs])
    assert (found.estimate, found.low, found.high) == pytest.approx((0.5, 0.5, 0.5), abs=0.01)
