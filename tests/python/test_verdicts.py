"""Tests of the verdict on one metric of two schemes, by the numbers of flows and the limits."""

import math
from typing import Any

import numpy as np
import pytest

from fake_samples import constant_pairs, pairs, sample
from shallows.comparison import intervals, verdicts
from shallows.comparison.intervals import Interval
from shallows.comparison.samples import Sample
from shallows.comparison.verdicts import Judgement, judge
from shallows.runs import percentiles
from shallows.series.metric import Metric

TIMES = Metric("fct_us.all.mean")
TAIL = Metric("fct_us.all.p99")
GOODPUT = Metric("goodput_gbps")
TIMEOUTS = Metric("timeouts_per_flow")

TOO_SHORT = "the runs are too short to be cut into batches"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("fct_us.all.p99@0", "FCT all p99, workload 0"),
        ("fct_us.all.p99@class1", "FCT all p99, class 1"),
        ("fct_us.all.p99@group=old", "FCT all p99, group old"),
        ("fct_us.all.p99@to_group=old", "FCT all p99, to group old"),
    ],
)
def test_the_title_of_a_metric_names_its_part_of_the_traffic(name: str, title: str) -> None:
    assert Metric(name).title == title


def test_tails_are_99th_percentiles() -> None:
    assert percentiles.RANK == 0.99


def test_each_seed_counts_the_same_however_many_flows_it_has() -> None:
    # Means of 1 and 3, and of 2 and 4: 2 and 3. All flows together have 2.5 on both sides.
    theirs, mine = [[1.0] * 10, [3.0] * 30], [[2.0] * 30, [4.0] * 10]
    found = judge(TIMES, pairs(theirs, mine), 0.95)
    assert (found.baseline_value, found.value) == (2.0, 3.0)


def test_timeouts_change_by_a_difference() -> None:
    # 0 or 0.1 a flow, and 0.3 or 0.4: 0.3 more in each of five pairs, where a ratio would have no value.
    theirs, mine = [[0, 0]] * 4 + [[0, 0.2]], [[0.3, 0.3]] * 4 + [[0.3, 0.5]]
    found = judge(TIMEOUTS, pairs(theirs, mine, "timeouts_per_flow"), 0.95)
    assert found.change is not None
    assert found.change.estimate == pytest.approx(0.3)
    assert found.verdict == "worse"


@pytest.mark.parametrize(
    ("name", "verdict"), [("loss_rate_in_switches", "worse"), ("goodput_gbps", "better")]
)
def test_more_loss_is_worse_and_more_goodput_is_better(name: str, verdict: str) -> None:
    totals = [[sample(totals={name: share + seed / 1000}) for seed in range(5)] for share in (0.1, 0.2)]
    assert judge(Metric(name), [*zip(*totals, strict=True)], 0.95).verdict == verdict


MANY, FEW = [np.arange(1.0, 501.0)] * 5, [np.arange(1.0, 400.0)] * 5
"""Series of 2,500 and of 1,995 flows, over five seeds."""


@pytest.mark.parametrize(("theirs", "mine"), [(MANY, FEW), (FEW, MANY)])
def test_the_side_with_fewer_flows_decides_whether_a_tail_can_be_judged(
    theirs: list[Any], mine: list[Any]
) -> None:
    assert judge(TAIL, pairs(theirs, mine), 0.95).reason == "1,995 flows: 2,000 are needed"


@pytest.mark.parametrize(
    ("seeds", "flows", "groups"),
    [
        # Five seeds suffice, however few flows each has.
        (5, 1, "5 seeds"),
        # 20 batches of four seeds are five of each, for which 50 flows are needed; 10 batches are three of
        # each, for which 30 are needed.
        (4, 50, "20 batches of 4 seeds"),
        (4, 49, "12 batches of 4 seeds"),
        (4, 30, "12 batches of 4 seeds"),
        # Of three seeds 20 batches are seven of each, and 10 batches are four.
        (3, 70, "21 batches of 3 seeds"),
        (3, 69, "12 batches of 3 seeds"),
        (3, 40, "12 batches of 3 seeds"),
    ],
)
def test_fewer_than_five_seeds_are_cut_into_blocks_of_at_least_ten_flows(
    seeds: int, flows: int, groups: str
) -> None:
    found = judge(TIMES, constant_pairs(seeds, flows), 0.95)
    assert (found.groups, found.verdict, found.reason) == (groups, "worse", "")


@pytest.mark.parametrize(
    ("seeds", "flows", "reason"),
    [
        (4, 29, TOO_SHORT),
        (3, 39, TOO_SHORT),
        (2, 99, "2 seeds: 3 are needed"),
        (1, 99, "1 seed: 3 are needed"),
    ],
)
def test_too_few_seeds_or_flows_give_no_verdict(seeds: int, flows: int, reason: str) -> None:
    assert judge(TIMES, constant_pairs(seeds, flows), 0.95).reason == reason


STEADY = [np.tile([1.0, 1.1, 0.9], 70)] * 3
"""Three runs of 210 flows each; each run gives seven batches of 30 flows."""


def test_runs_are_cut_into_blocks_of_equally_many_flows() -> None:
    found = judge(TIMES, pairs(STEADY, [2 * run for run in STEADY]), 0.95)
    assert (found.groups, found.verdict) == ("21 batches of 3 seeds", "worse")


def test_blocks_that_resemble_those_before_them_are_made_longer() -> None:
    # The second run is slow from its middle on. Of −1 −1 −1 0 1 1 1 the first autocorrelation is 4/6, above
    # 1.645/√21; of the longer blocks, −1 −1 1 1, it is 1/4, below 1.645/√12.
    flat, slow_later = [np.ones(210)] * 3, [np.repeat([1.0, 3.0], 105)] * 3
    assert judge(TIMES, pairs(flat, slow_later), 0.95).groups == "12 batches of 3 seeds"


def test_runs_that_differ_throughout_cannot_be_cut_into_blocks() -> None:
    # The first autocorrelation of blocks that are alike in each run is 3/4, however long the blocks are.
    apart = [run * seed for run, seed in zip(STEADY, (1, 3, 9), strict=True)]
    assert judge(TIMES, pairs(STEADY, apart), 0.95).reason == TOO_SHORT


def test_blocks_of_a_tail_resemble_each_other_only_by_what_is_above_the_percentile() -> None:
    # In each batch of 100 flows one is slow. The other 99 of one side take longer from batch to batch, and
    # are soon above the other side's percentile, but stay below their own, 170.
    theirs = [np.tile(np.arange(1.0, 101.0), 7)] * 3
    mine = [np.concatenate([[50.0 + 20 * block] * 99 + [1_000.0] for block in range(7)])] * 3
    found = judge(TAIL, pairs(theirs, mine), 0.95)
    assert (found.baseline_value, found.value) == (99.0, 170.0)
    assert found.groups == "21 batches of 3 seeds"


def test_two_seeds_have_a_relative_change_without_limits() -> None:
    found = judge(TIMES, constant_pairs(2, 5, 1.5), 0.95)
    assert (found.baseline_value, found.value) == (1.0, 1.5)
    assert found.change == Interval(0.5, -math.inf, math.inf)


def test_two_seeds_have_a_difference_without_limits() -> None:
    found = judge(TIMEOUTS, pairs([[0.25]] * 2, [[1.0]] * 2, "timeouts_per_flow"), 0.95)
    assert found.change == Interval(0.75, -math.inf, math.inf)


@pytest.mark.parametrize(
    ("seeds", "expected"),
    [
        (4, ("cannot tell", "4 seeds: a metric of whole runs needs 5")),
        (5, ("better", "")),
    ],
)
def test_totals_of_whole_runs_need_five_seeds(seeds: int, expected: tuple[str, str]) -> None:
    pair = (sample(totals={"goodput_gbps": 1.0}), sample(totals={"goodput_gbps": 2.0}))
    found = judge(GOODPUT, [pair] * seeds, 0.95)
    assert (found.verdict, found.reason) == expected


SOME, NONE, NOTHING = sample(fct=[1.0]), sample(), sample(fct=[0.0])
"""A run with a flow of 1 µs, a run without flows, and a run with a flow that takes no time."""


@pytest.mark.parametrize(
    "pairs",
    [
        [],
        [(SOME, NONE)] * 5,
        [(NONE, SOME)] * 5,
        [(SOME, SOME)] * 4 + [(SOME, NONE)],
    ],
    ids=["no pair", "the scheme", "the baseline", "one run"],
)
def test_runs_without_such_flows_are_not_judged(pairs: list[tuple[Sample, Sample]]) -> None:
    assert judge(TIMES, pairs, 0.95) == Judgement(reason="some runs have no flows of this metric")


@pytest.mark.parametrize("pair", [(SOME, NOTHING), (NOTHING, SOME)])
def test_a_time_of_zero_has_no_relative_change(pair: tuple[Sample, Sample]) -> None:
    assert judge(TIMES, [pair] * 5, 0.95).reason == "a value is zero"


def test_a_difference_of_zeros_is_the_same_in_every_run() -> None:
    zeros = pairs([[0.0]] * 5, [[0.0]] * 5, "timeouts_per_flow")
    assert judge(TIMEOUTS, zeros, 0.95).reason == verdicts.SAME == "the same in every run"


@pytest.mark.parametrize(
    ("samples", "expected"),
    [([SOME, sample(fct=[3.0])], 2.0), ([SOME, NONE], None), ([], None)],
)
def test_an_estimate_is_the_mean_of_runs_that_all_have_such_flows(
    samples: list[Sample], expected: float | None
) -> None:
    assert verdicts.estimate(TIMES, samples) == expected


HOLDS_ZERO = verdicts.INCLUDES_ZERO


def judged_by(
    monkeypatch: pytest.MonkeyPatch, metric: Metric, low: float, high: float, unfinished: tuple[int, int]
) -> Judgement:
    """Return the verdict for an interval with these limits; `unfinished` counts the flows of both sides."""
    change = Interval((low + high) / 2, low, high)
    monkeypatch.setattr(intervals, "mean_change", lambda *_: change)
    totals = {"goodput_gbps": 1.0}
    sides = [[sample(count, totals=totals, fct=[1.0])] + [sample(totals=totals, fct=[1.0])] * 4
             for count in unfinished]  # fmt: skip
    found = judge(metric, [*zip(*sides, strict=True)], 0.95)
    assert found.change == change
    return found


@pytest.mark.parametrize(
    ("low", "high", "reason"),
    [
        (0.0, 0.0, verdicts.SAME),
        (0.0, 0.2, HOLDS_ZERO),
        (-0.2, 0.0, HOLDS_ZERO),
        (-0.1, 0.1, HOLDS_ZERO),
    ],
)
def test_an_interval_that_holds_zero_or_ends_there_gives_no_verdict(
    monkeypatch: pytest.MonkeyPatch, low: float, high: float, reason: str
) -> None:
    found = judged_by(monkeypatch, TIMES, low, high, (0, 0))
    assert (found.verdict, found.reason) == ("cannot tell", reason)


@pytest.mark.parametrize(
    ("metric", "low", "high", "verdict"),
    [
        (TIMES, 0.1, 0.2, "worse"),
        (TIMES, -0.2, -0.1, "better"),
        (GOODPUT, 0.1, 0.2, "better"),
        (GOODPUT, -0.2, -0.1, "worse"),
    ],
)
def test_an_interval_beside_zero_gives_a_verdict_by_what_is_better(
    monkeypatch: pytest.MonkeyPatch, metric: Metric, low: float, high: float, verdict: str
) -> None:
    found = judged_by(monkeypatch, metric, low, high, (0, 0))
    assert (found.verdict, found.reason) == (verdict, "")


@pytest.mark.parametrize(
    ("low", "high", "unfinished", "expected"),
    [
        (0.1, 0.2, (0, 7), ("worse", "")),
        (0.1, 0.2, (7, 0), ("cannot tell", "7 flows of the baseline are unfinished")),
        (-0.2, -0.1, (7, 0), ("better", "")),
        (-0.2, -0.1, (0, 7), ("cannot tell", "7 flows are unfinished")),
    ],
)
def test_unfinished_flows_of_the_side_that_would_win_prevent_a_verdict(
    monkeypatch: pytest.MonkeyPatch,
    low: float,
    high: float,
    unfinished: tuple[int, int],
    expected: tuple[str, str],
) -> None:
    found = judged_by(monkeypatch, TIMES, low, high, unfinished)
    assert (found.verdict, found.reason) == expected


@pytest.mark.parametrize(
    ("theirs", "mine", "reason"),
    [
        # In each of five runs three flows of the baseline and two of the scheme are unfinished.
        (2.0, 1.0, "10 flows are unfinished"),
        (1.0, 2.0, "15 flows of the baseline are unfinished"),
    ],
)
def test_unfinished_flows_of_all_runs_are_counted(theirs: float, mine: float, reason: str) -> None:
    pair = (sample(3, fct=[theirs]), sample(2, fct=[mine]))
    assert judge(TIMES, [pair] * 5, 0.95).reason == reason


def test_a_slowdown_is_not_better_while_flows_are_unfinished() -> None:
    theirs = [sample(slowdown=[4.0 + seed / 10] * 10) for seed in range(5)]
    mine = [sample(incomplete=1, slowdown=[2.0 + seed / 10] * 10) for seed in range(5)]
    found = judge(Metric("slowdown.all.mean"), [*zip(theirs, mine, strict=True)], 0.95)
    assert found.reason == "5 flows are unfinished"


def test_timeouts_are_judged_although_flows_are_unfinished() -> None:
    pair = (sample(3, timeouts_per_flow=[1.0]), sample(3, timeouts_per_flow=[0.0]))
    assert judge(TIMEOUTS, [pair] * 5, 0.95).verdict == "better"
