"""Tests of the recommendation: the choice of a setting, the goal that decides, and texts about the others."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from fake_races import LOAD, exact, exact_sample, fabric, made_up, noisy
from shallows.advisor.goals import LOSS, TAIL, THROUGHPUT, Goal
from shallows.advisor.race import Objective, Race
from shallows.advisor.recommendation import Beside, Recommendation, contenders, recommend
from shallows.comparison.intervals import Interval
from shallows.comparison.samples import Series
from shallows.comparison.verdicts import SAME, Judgement

Numbers = Mapping[str, float | None]


class Undecided(Race):
    """A race in which no interval decides, so that only estimates do."""

    def beats(self, *_: Any, **__: Any) -> bool | None:
        """Return None: undecided."""
        return None


def by_estimates(goal: Any, **numbers: Numbers) -> Recommendation:
    """Recommend one of the candidates with exactly these values, by estimates alone."""
    return recommend(exact(Undecided, goal, **numbers))


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        ("throughput", "fast"),
        ("p99 of small flows", "short"),
        ("p99 of small flows below 1 ms, then throughput", "middle"),
        ("loss below 0.01 %, then throughput", "middle"),
        # ln(5000/800) = 1.83 is more than 5·ln(3500/3000) = 0.77, and less than 20 times that.
        ({"p99 of small flows": 1, "throughput": 5}, "middle"),
        ({"p99 of small flows": 1, "throughput": 20}, "fast"),
        ({"p99 of small flows": 5, "throughput": 1}, "short"),
        # No candidate keeps the bound, so the one that misses it least is recommended.
        ("p99 of small flows below 200 us, then throughput", "short"),
    ],
)
def test_goals_decide(goal: Any, expected: str) -> None:
    numbers = {"fast": (5000, 3000, 0.01), "middle": (800, 3500, 0.0), "short": (400, 6000, 0.0)}
    found = recommend(made_up(numbers, 10, goal))
    assert found.candidate.name == expected


BOTH = "throughput, then p99 of small flows"


@pytest.mark.parametrize(
    ("goal", "numbers", "expected"),
    [
        # 103 is within 3 % of 100, but 104 is not: the tail decides between the others.
        (
            BOTH,
            {
                "a": {"large": 100.0, "tail": 500.0},
                "b": {"large": 103.0, "tail": 400.0},
                "c": {"large": 104.0, "tail": 1.0},
            },
            ("b", "p99 of small flows"),
        ),
        (
            BOTH,
            {"a": {"large": 100.0, "tail": 500.0}, "b": {"large": 103.1, "tail": 400.0}},
            ("a", "throughput"),
        ),
        # Without large flows, throughput is not measured.
        (BOTH, {"a": {"tail": 1.0}, "b": {"large": 100.0, "tail": 500.0}}, ("b", "throughput")),
        # Losses up to a hundredth of a percent count as none.
        (
            "loss, then throughput",
            {
                "a": {"loss": 0.001, "large": 500.0},
                "b": {"loss": 0.0011, "large": 400.0},
                "c": {"loss": 0.00111, "large": 1.0},
            },
            ("b", "throughput"),
        ),
        # A goal whose bound is kept decides nothing, unless all goals have bounds.
        (
            "p99 of small flows below 1 ms, then throughput",
            {"a": {"tail": 9.0, "large": 5.0}, "b": {"tail": 8.0, "large": 6.0}},
            ("a", "throughput"),
        ),
        (
            "p99 of small flows below 1 ms",
            {"a": {"tail": 9.0}, "b": {"tail": 8.0}},
            ("b", "p99 of small flows"),
        ),
    ],
)
def test_goals_decide_in_their_order_among_those_within_3_percent_of_the_best(
    goal: str, numbers: dict[str, Numbers], expected: tuple[str, str]
) -> None:
    found = by_estimates(goal, **numbers)
    assert (found.candidate.name, found.decided_by.goal.said) == expected
    assert found.decided_by.load == LOAD


# Twice as long a tail, and half as long large flows.
APART: dict[str, Numbers] = {"a": {"tail": 200.0, "large": 100.0}, "b": {"tail": 100.0, "large": 200.0}}


@pytest.mark.parametrize(
    ("weights", "numbers", "expected"),
    [
        ({"p99 of small flows": 1, "throughput": 2}, APART, "a"),
        ({"p99 of small flows": 2, "throughput": 1}, APART, "b"),
        # A loss below a hundredth of a percent counts as none: the times, 1.1 to 1, decide.
        (
            {"loss": 9, "throughput": 1},
            {"a": {"loss": 0.0, "large": 110.0}, "b": {"loss": 1e-4, "large": 100.0}},
            "b",
        ),
        (
            {"loss": 9, "throughput": 1},
            {"a": {"loss": 0.0, "large": 110.0}, "b": {"loss": 2e-4, "large": 100.0}},
            "a",
        ),
    ],
)
def test_weighted_goals_are_weighed_by_their_ratios(
    weights: dict[str, float], numbers: dict[str, Numbers], expected: str
) -> None:
    assert by_estimates(weights, **numbers).candidate.name == expected


MISSED = "p99 of small flows below 100 us, then loss below 0.1 %"


@pytest.mark.parametrize(
    ("goal", "numbers", "expected"),
    [
        # 3 and 2 times the bounds; 2 and 2.5 times.
        (
            "p99 of small flows below 1 ms, then loss below 1 %",
            {"a": {"tail": 3_000.0, "loss": 0.02}, "b": {"tail": 2_000.0, "loss": 0.025}},
            "b",
        ),
        # 1.5 and 0 times; 9 and 0.5 times. Zero loss is not infinite loss.
        (MISSED, {"a": {"tail": 150.0, "loss": 0.0}, "b": {"tail": 900.0, "loss": 0.0005}}, "a"),
        # A tail that was not measured exceeds every bound.
        (MISSED, {"a": {"loss": 0.002}, "b": {"tail": 900.0, "loss": 0.0005}}, "b"),
    ],
)
def test_of_settings_that_all_miss_a_bound_the_one_furthest_above_a_bound_is_not_taken(
    goal: str, numbers: dict[str, Numbers], expected: str
) -> None:
    found = by_estimates(goal, **numbers)
    assert found.candidate.name == expected
    assert found.decided_by.goal.said == "p99 of small flows"


@pytest.mark.parametrize(
    ("losses", "bound", "state"),
    [
        ((0.25, 0.25, 0.25), "26 %", "keeps it"),
        ((0.25, 0.25, 0.25), "25 %", "cannot tell"),
        ((0.25, 0.25, 0.25), "24 %", "misses it"),
        # 0.25 ± t(0.975, 2) · 0.05 / √3 = 0.124.
        ((0.2, 0.25, 0.3), "38 %", "keeps it"),
        ((0.2, 0.25, 0.3), "37 %", "cannot tell"),
        ((0.2, 0.25, 0.3), "13 %", "cannot tell"),
        ((0.2, 0.25, 0.3), "12 %", "misses it"),
        # Two seeds give no interval.
        ((0.25, 0.25), "26 %", "cannot tell"),
    ],
)
def test_a_bound_is_kept_where_the_whole_interval_is_below_it(
    losses: tuple[float, ...], bound: str, state: str
) -> None:
    race = exact(Undecided, f"loss below {bound}", a={"large": 1.0, "tail": 1.0})
    race.measured[LOAD]["a"] = {
        seed: exact_sample(large=1.0, tail=1.0, loss=loss) for seed, loss in enumerate(losses)
    }
    assert [each for _, each in recommend(race).of("a").bounds] == [state]


def bounded(names: str) -> str:
    """Return the recommended one of these candidates; each keeps, misses or leaves undecided two bounds."""
    race = exact(
        Undecided,
        "p99 of small flows below 1 ms, then loss below 10 %, then throughput",
        keeps={"tail": 500.0, "loss": 0.01, "large": 400.0},
        open={"tail": 500.0, "loss": 0.10, "large": 300.0},
        misses={"tail": 500.0, "loss": 0.11, "large": 200.0},
        misses_and_open={"tail": 2_000.0, "loss": 0.10, "large": 100.0},
    )
    race.kept = names.split()
    return recommend(race).candidate.name


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("keeps open misses misses_and_open", "keeps"),
        ("open misses misses_and_open", "open"),
        ("open misses_and_open", "open"),
        # Of those that miss one, which misses it the least: by 1.1, and by 2.
        ("misses misses_and_open", "misses"),
    ],
)
def test_settings_that_keep_all_bounds_come_before_open_ones_and_those_before_misses(
    names: str, expected: str
) -> None:
    assert bounded(names) == expected


def test_bounds_of_noisy_runs_are_kept_or_missed() -> None:
    numbers = {"a": (500, 4000, 0.0), "b": (2000, 3000, 0.0)}
    found = recommend(made_up(numbers, 10, "p99 of small flows below 1 ms, then throughput"))
    states = {each.candidate.name: each.bounds[0][1] for each in found.standings}
    assert states == {"a": "keeps it", "b": "misses it"}


class Recording(Race):
    """A race that records the compared pairs and the confidence; no candidate beats another."""

    asked: list[tuple[str, str, float]]
    """Arguments of each call of `beats`: two candidates and the confidence."""
    judged: list[tuple[Objective, str, str, float]]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.asked, self.judged = [], []

    def beats(self, _: Sequence[Objective], one: str, other: str, confidence: float) -> bool | None:
        """Record the call."""
        self.asked.append((one, other, confidence))
        return False

    def judge(self, objective: Objective, baseline: str, other: str, confidence: float = 0.95) -> Judgement:
        """Record the call; candidate `b` is worse than the others."""
        self.judged.append((objective, baseline, other, confidence))
        return Judgement(verdict="worse" if other == "b" else "cannot tell")


ALIKE: Numbers = {"tail": 1.0, "large": 1.0}


@pytest.mark.parametrize(("rounds", "look"), [(6, 2), (5, 1), (3, 1)])
def test_confidence_of_the_best_is_shared_by_pairs_goals_and_looks(rounds: int, look: int) -> None:
    race = exact(Recording, "throughput, then loss", a=ALIKE, b=ALIKE, c=ALIKE)
    race.rounds = rounds
    contenders(race)
    # Of three there are three pairs, in two goals; the second look has 6 / (2π)², any before 6 / π².
    share = 6 / (math.pi * look) ** 2 / 3 / 2
    assert [each[:2] for each in race.asked] == [("b", "a"), ("c", "a")]
    assert [each[2] for each in race.asked] == pytest.approx([1 - 0.05 * share] * 2)


@pytest.mark.parametrize(("names", "confidence"), [("ab", 0.95), ("abc", 0.975)])
def test_settings_equal_the_recommended_one_at_a_confidence_shared_by_the_others(
    names: str, confidence: float
) -> None:
    race = exact(Recording, "throughput", **dict.fromkeys(names, ALIKE))
    found = recommend(race)
    deciding = [each[1:] for each in race.judged if each[0] == found.decided_by]
    equals = deciding[-len(names) + 1 :]
    assert [each[:2] for each in equals] == [("a", name) for name in names[1:]]
    assert [each[2] for each in equals] == pytest.approx([confidence] * len(equals))
    # `b` is worse.
    assert found.equals == tuple(names[2:])


def test_the_best_continues_with_those_alone_who_may_be_better_by_more_than_3_percent() -> None:
    # Noise of 10 % leaves some 10 % after ten seeds at the pairs' confidence: `far` is out of its reach.
    race = noisy({"good": 4000, "near": 4040, "far": 6000}, 10, 0.1)
    assert sorted(contenders(race)) == ["good", "near"]
    # Noise of 1 % leaves 1 %: nobody is open.
    assert contenders(noisy({"good": 4000, "near": 4040, "far": 6000}, 10, 0.01)) == []


@pytest.mark.parametrize(
    ("goal", "open_"),
    [
        # Noise of 10 % leaves open which of the two has the shorter large flows; tails are some 500 µs.
        ("throughput", ["good", "near"]),
        ("p99 of small flows below 1 ms, then throughput", ["good", "near"]),
        ({"throughput": 1, "loss": 2}, []),
        ("p99 of small flows below 200 us, then throughput", []),
    ],
)
def test_estimates_alone_decide_where_goals_are_weighed_or_all_miss_a_bound(
    goal: Any, open_: list[str]
) -> None:
    race = noisy({"good": 4000, "near": 4040}, 10, 0.1)
    race.fabric = fabric(goal=goal)
    assert sorted(contenders(race)) == open_


@pytest.mark.parametrize(("spread", "expected"), [(0.01, "rule"), (0.1, "other")])
def test_the_first_setting_is_preferred_only_where_it_is_known_to_cost_less_than_3_percent(
    spread: float, expected: str
) -> None:
    race = noisy({"rule": 4000, "other": 4000}, 12, spread)
    rule, other = (race.value(Objective(THROUGHPUT, LOAD), name) for name in ("rule", "other"))
    assert rule
    assert other
    # By estimates the other is better by 1 %.
    for each in race.measured[LOAD]["other"].values():
        large = each.series["fct_us.large"]
        each.series["fct_us.large"] = Series(large.values * (0.99 * rule / other))
    assert recommend(race).candidate.name == expected


def test_of_equals_the_first_is_taken_and_the_others_are_named() -> None:
    numbers = {"rule": (500, 4000, 0.0), "other": (500, 3990, 0.0), "slow": (400, 6000, 0.0)}
    found = recommend(made_up(numbers, 10, "throughput"))
    assert found.candidate.name == "rule"
    assert "slow" not in found.equals


def test_two_seeds_decide_nothing() -> None:
    found = recommend(made_up({"a": (500, 4000, 0.0), "b": (400, 3000, 0.0)}, 2, "throughput"))
    assert found.candidate.name == "a"
    assert any("2 seeds cannot decide anything" in reason for reason in found.reasons)
    assert found.equals == ("b",)


def alike(count: int, goal: str = "throughput") -> Recommendation:
    """Return the recommendation among this many candidates with equal runs."""
    return recommend(made_up(dict.fromkeys("abcdefghi"[:count], (500, 4000, 0.0)), 10, goal))


def test_reasons_say_which_goal_decided_and_how_many_settings_are_left() -> None:
    chosen, _, left = alike(7).reasons
    assert chosen.startswith("The setting was chosen by throughput at 70 % load: ")
    assert chosen.endswith(" ms (mean time of large flows).")
    assert left.startswith("7 of 7 settings remain after 10 seeds: it was made up.")


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (7, "6 of the 6 other remaining settings are not known to differ: b, c, d, e, f, g. If"),
        (8, "7 of the 7 other remaining settings are not known to differ: b, c, d, e, f, g and others. If"),
    ],
)
def test_reasons_name_up_to_six_equals(count: int, said: str) -> None:
    found = alike(count)
    assert said in found.reasons[1]
    assert found.equals == tuple("bcdefghi"[: count - 1])


def test_reasons_say_first_whether_bounds_are_kept() -> None:
    bound = alike(3, "loss below 1 %, then throughput").reasons[0]
    assert bound == "loss below 1 %: 0 % (95 %: 0 % to 0 %); the goal is met."


def test_standings_are_in_the_order_of_candidates_each_beside_the_recommended_one() -> None:
    found = alike(3)
    assert found.candidate.name == found.standing.candidate.name == "a"
    assert [found.of(name).candidate.name for name in "abc"] == [*"abc"]
    # The recommended setting is not compared with itself.
    assert {each.judgement for each in found.standing.beside} == {Judgement(reason=SAME)}
    groups = {each.judgement.groups for each in found.of("b").beside}
    assert groups == {"10 seeds", "20 batches of 10 seeds"}


CHANGE = Interval(0.05, -0.1, 0.2)


@pytest.mark.parametrize(
    ("goal", "judgement", "text"),
    [
        (TAIL, Judgement(change=CHANGE), "+5 % (−10 to +20)"),
        (LOSS, Judgement(change=CHANGE), "+5 points (−10 to +20)"),
        (
            TAIL,
            Judgement(reason="some runs have no flows of this metric"),
            "some runs have no flows of this metric",
        ),
        (TAIL, Judgement(change=Interval(0.05, -math.inf, 0.2), verdict="worse"), "worse, without limits"),
        (TAIL, Judgement(change=Interval(0.05, -0.1, math.inf), verdict="worse"), "worse, without limits"),
    ],
)
def test_a_change_is_in_percent_or_points_or_has_its_reason(
    goal: Goal, judgement: Judgement, text: str
) -> None:
    assert Beside(Objective(goal, LOAD), 1.0, None, judgement).change_text == text


def test_a_seed_without_large_flows_is_left_out_of_their_mean() -> None:
    race = made_up({"a": (500, 4000, 0.0), "b": (500, 6000, 0.0)}, 10, "throughput")
    whole = race.value(Objective(THROUGHPUT, LOAD), "a")
    for by_seed in race.measured[LOAD].values():
        del by_seed[3].series["fct_us.large"]
    assert race.value(Objective(THROUGHPUT, LOAD), "a") == pytest.approx(whole, rel=0.01)
    assert race.judge(Objective(THROUGHPUT, LOAD), "a", "b").verdict == "worse"
    assert recommend(race).candidate.name == "a"
    for by_seed in race.measured[LOAD].values():
        for each in by_seed.values():
            each.series.pop("fct_us.large", None)
    assert race.value(Objective(THROUGHPUT, LOAD), "a") is None
    assert race.judge(Objective(THROUGHPUT, LOAD), "a", "b").verdict == "cannot tell"
