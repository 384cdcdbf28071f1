"""Tests of rankings: the order of values, dominated values, and the choice of metrics."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shallows as sh
from fake_runs import write_fake_run
from fake_samples import sample
from shallows.comparison import ranking
from shallows.comparison.ranking import Race, Standing
from shallows.comparison.samples import Sample
from shallows.comparison.verdicts import Judgement
from shallows.series.metric import Metric

TIMES = Metric("fct_us.all.mean")
GOODPUT = Metric("goodput_gbps")
A, B = Metric("a.mean"), Metric("b.mean")


def alike(seeds: int = 5, **values: float) -> dict[int, Sample]:
    """Return equal samples for all seeds: ten flows with these values in each series."""
    series: dict[str, Any] = {name: [value] * 10 for name, value in values.items()}
    return {seed: sample(**series) for seed in range(seeds)}


def standings(at: dict[str, dict[int, Sample]], metrics: Sequence[Metric] = (A, B)) -> dict[str, Standing]:
    """Return the standings in their order, by name."""
    return {each.place: each for each in Race(at, metrics, 0.95).rank({}).standings}


def seeds_apart(order: Sequence[int], factor: float) -> dict[int, Sample]:
    """Return samples with the seeds in this order; the times with seed n are `factor` times 10^n."""
    times = {seed: factor * 10.0**seed for seed in order}
    return {seed: sample(totals={"goodput_gbps": 1 / time}, fct=[time] * 10) for seed, time in times.items()}


@pytest.mark.parametrize("metric", [TIMES, GOODPUT])
def test_places_are_in_order_best_first_and_paired_by_seed(metric: Metric) -> None:
    at = {"slow": seeds_apart([1, 2, 3, 4, 5], 1.2), "quick": seeds_apart([5, 4, 3, 2, 1], 1.0)}
    first, second = standings(at, [metric]).values()
    assert (first.place, second.place, second.verdict) == ("quick", "slow", "worse")


def test_the_change_of_a_place_is_that_beside_the_first() -> None:
    # Goodputs over 1.2 in each pair.
    at = {"slow": seeds_apart([1, 2, 3, 4, 5], 1.2), "quick": seeds_apart([5, 4, 3, 2, 1], 1.0)}
    assert standings(at, [GOODPUT])["slow"].change == pytest.approx(1 / 1.2 - 1)


FOUR = {
    "none": alike(b=1.0),
    "slow": alike(a=1.2, b=1.0),
    "good": alike(a=1.0, b=1.0),
    "trades": alike(a=0.8, b=1.2),
}
"""Four values in the metrics a and b; one of them has no measurement of a."""


def test_places_without_a_value_come_last() -> None:
    assert [*standings(FOUR)] == ["trades", "good", "slow", "none"]


def test_a_place_is_dominated_by_one_that_is_better_in_one_metric_and_the_same_in_the_other() -> None:
    found = standings(FOUR).values()
    assert [each.front for each in found] == ["Pareto-optimal", "Pareto-optimal", "dominated", "no value"]
    assert [each.dominated_by for each in found] == [[], [], ["good"], []]


def test_places_that_are_pareto_optimal_are_kept() -> None:
    assert [each.place for each in Race(FOUR, [A, B], 0.95).rank({"load": 0.5}).kept] == ["trades", "good"]


def test_the_first_place_has_no_change() -> None:
    first = standings(FOUR)["trades"]
    assert (first.verdict, first.change, first.low, first.high) == ("first", 0.0, 0.0, 0.0)


def test_other_places_have_their_change_in_the_first_metric_with_its_limits() -> None:
    # 1.0 over 0.8 in each seed.
    second = standings(FOUR)["good"]
    assert second.verdict == "worse"
    assert (second.change, second.low, second.high) == pytest.approx((0.25, 0.25, 0.25))


def test_a_place_without_a_value_has_a_reason_and_no_change() -> None:
    last = standings(FOUR)["none"]
    assert last.values == {"a.mean": None, "b.mean": 1.0}
    assert (last.change, last.low, last.high) == (None, None, None)
    assert last.reason == "some runs have no flows of this metric"


def test_a_race_counts_the_intervals_that_it_made() -> None:
    race = Race(FOUR, [A, B], 0.95)
    race.rank({})
    # Six pairs have an interval in b and three in a; two of the three versus the first have one in a.
    assert race.judged == 11


def test_one_metric_leaves_open_who_is_dominated() -> None:
    found = standings(FOUR, [A]).values()
    assert [each.front for each in found] == [None] * 4
    assert [each.dominated_by + each.open_with for each in found] == [[]] * 4


TWO_SEEDS = {
    place: {seed: sample(totals={"goodput_gbps": rate}, fct=[1.0]) for seed in range(2)}
    for place, rate in (("low", 1.0), ("high", 2.0))
}
"""Two values with goodputs of 1 and 2 Gb/s, with two seeds."""


def test_more_goodput_comes_first() -> None:
    assert [*standings(TWO_SEEDS, [GOODPUT, TIMES])] == ["high", "low"]


def test_two_seeds_leave_all_places_open() -> None:
    found = standings(TWO_SEEDS, [GOODPUT, TIMES])
    assert {place: each.open_with for place, each in found.items()} == {"high": ["low"], "low": ["high"]}


def test_two_seeds_have_a_change_without_limits_which_is_no_interval() -> None:
    race = Race(TWO_SEEDS, [GOODPUT, TIMES], 0.95)
    low = race.rank({}).standings[1]
    assert (low.change, low.low, low.high) == (-0.5, None, None)
    assert race.judged == 0


def test_places_without_a_common_seed_are_not_judged() -> None:
    apart = Race({"a": alike(2, fct=1.0), "b": {9: sample(fct=[1.0])}}, [TIMES], 0.95)
    assert apart.judge(TIMES, "a", "b") == Judgement(reason="no common seed")


def test_a_place_is_open_only_with_places_that_are_pareto_optimal() -> None:
    # B is much worse than A in a and the same in b: A beats it. C is better than A and B in a; in b it
    # differs from them by chance only, so that A and C are open with each other. B is dominated.
    noise = [0.9, 1.1, 0.95, 1.2, 0.8]
    at = {"A": alike(a=1.0, b=1.0), "B": alike(a=2.0, b=1.0)}
    at["C"] = {seed: sample(a=[0.9] * 10, b=[by + 0.05] * 10) for seed, by in enumerate(noise)}
    found = standings(at)
    assert [found[place].front for place in "ABC"] == ["cannot tell", "dominated", "cannot tell"]
    assert [found[place].open_with for place in "ABC"] == [["C"], [], ["A"]]


KNOWN = [Metric(f"fct_us.{size}.{kind}") for size in ("small", "all") for kind in ("mean", "p99")]
KNOWN += [Metric("query_us.all.mean"), GOODPUT]


@pytest.mark.parametrize(
    ("flows", "expected"),
    [
        # From 2,000 flows on a tail can be told.
        ({"fct_us.small": 2_000, "fct_us.all": 1_999}, ["fct_us.small.p99", "fct_us.all.mean"]),
        ({"fct_us.small": 1_999, "fct_us.all": 2_000}, ["fct_us.small.mean", "fct_us.all.p99"]),
        # Series without flows, or that not all runs have, are left out; there is always a goodput.
        ({"fct_us.small": 0, "fct_us.all": 9}, ["fct_us.all.mean", "goodput_gbps"]),
        ({"fct_us.large": 9, "fct_us.all": 9}, ["fct_us.all.mean", "goodput_gbps"]),
        ({}, ["goodput_gbps"]),
        (
            {"query_us.all": 9, "fct_us.small": 9, "fct_us.all": 9},
            ["query_us.all.mean", "fct_us.small.mean"],
        ),
    ],
)
def test_places_are_ranked_by_default_by_two_metrics_that_have_flows_enough(
    flows: dict[str, int], expected: list[str]
) -> None:
    assert [metric.name for metric in ranking.choose(None, KNOWN, flows)] == expected


def test_small_flows_are_ranked_by_their_tail_and_large_ones_by_their_mean() -> None:
    names = ["fct_us.small.mean", "fct_us.small.p99", "fct_us.large.mean", "fct_us.large.p99", "goodput_gbps"]
    enough = {"fct_us.small": 5_000, "fct_us.large": 5_000}
    chosen = ranking.choose(None, [Metric(name) for name in names], enough)
    assert [metric.name for metric in chosen] == ["fct_us.small.p99", "fct_us.large.mean"]


@pytest.mark.parametrize(("last", "expected"), [(1_990, "fct_us.all.mean"), (2_010, "fct_us.all.p99")])
def test_a_tail_is_ranked_only_where_every_place_has_flows_enough(
    tmp_path: Path, last: int, expected: str
) -> None:
    # Seven places of which six have 2,010 flows; 2,000 are needed.
    places = [
        [
            write_fake_run(
                tmp_path / str(place),
                {"arrival_us": np.linspace(0, 50, count), "fct_us": np.linspace(1, 2, count)},
            )
        ]
        for place, count in enumerate([2_010] * 6 + [last])
    ]
    found = sh.compare(*places, names=[*map(str, range(7))], cool_down=0)
    assert found.rankings[0].metrics[0] == expected


def test_metrics_that_are_named_are_ranked_in_their_order_and_once() -> None:
    asked = ["goodput_gbps", "fct_us.all.mean", "goodput_gbps"]
    found = ranking.choose(asked, [TIMES, GOODPUT], {})
    assert [each.name for each in found] == ["goodput_gbps", "fct_us.all.mean"]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["goodput_gbps", "fct_us"], "metric 'fct_us' is missing in at least one run"),
        ([], "at least one metric is needed, got none"),
    ],
)
def test_an_unknown_metric_or_none_is_refused(asked: list[str], message: str) -> None:
    with pytest.raises(sh.ShallowsError, match=message):
        ranking.choose(asked, [TIMES, GOODPUT], {})
