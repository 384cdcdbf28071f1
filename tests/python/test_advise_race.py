"""Tests of the race: which settings are dropped and why, which objectives count, and when it ends."""

import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fake_races import exact, exact_sample, fabric, field, made_up, sample
from shallows.advisor import race as racing
from shallows.advisor.candidates import Candidate
from shallows.advisor.fabric import Fabric
from shallows.advisor.final import RESOLVED, run_to_end
from shallows.advisor.goals import LOSS, TAIL, THROUGHPUT
from shallows.advisor.race import Objective, Progress, Race, Ran
from shallows.advisor.recommendation import contenders, recommend
from shallows.comparison.intervals import Interval
from shallows.comparison.samples import Sample
from shallows.comparison.verdicts import Judgement
from shallows.errors import ShallowsError
from shallows.sweeps.sweeps import choose_engine


def nothing(*_: object) -> None:
    """Ignore the progress of a race."""


def look(race: Race) -> None:
    """Compare the candidates of a race by the existing samples, and drop beaten ones."""
    race.go_on([], 0, Progress(race.rounds, len(race.kept), len(race.candidates), 0.0), nothing)


def test_who_is_worse_in_one_number_and_better_in_none_is_dropped_with_interval_and_seeds() -> None:
    race = made_up({"a": (500, 4000, 0.0), "b": (900, 4000, 0.0), "c": (300, 6000, 0.0)}, 10, "throughput")
    look(race)
    assert race.kept == ["a", "c"]
    [drop] = race.drops
    assert (drop.name, drop.by, drop.seeds) == ("b", "a", 10)
    tail = next(change for change in drop.changes if change[0].startswith("p99"))
    # 500 instead of 900 µs.
    assert tail[1] == pytest.approx(500 / 900 - 1)
    assert tail[2] <= tail[1] <= tail[3] < 0


def test_a_difference_of_2_percent_drops_nobody_and_one_of_5_percent_does() -> None:
    # Equal except for throughput: a difference of 2 % is within the indifference zone of 3 %, and 5 % is not.
    race = made_up({"a": (500, 4000, 0.0), "b": (500, 4080, 0.0)}, 10, "throughput")
    look(race)
    assert race.kept == ["a", "b"]
    race = made_up({"a": (500, 4000, 0.0), "b": (500, 4200, 0.0)}, 10, "throughput")
    look(race)
    assert race.kept == ["a"]


def test_a_trade_drops_nobody() -> None:
    race = made_up({"a": (500, 4000, 0.0), "b": (900, 3000, 0.0)}, 10, "throughput")
    look(race)
    assert race.kept == ["a", "b"]


def test_few_seeds_drop_nobody_however_large_the_difference() -> None:
    race = made_up({"a": (500, 4000, 0.0), "b": (5000, 9000, 0.1)}, 2, "throughput")
    look(race)
    assert race.kept == ["a", "b"]


def test_confidence_is_shared_by_pairs_numbers_and_looks() -> None:
    race = made_up({"a": (500, 4000, 0.0), "b": (900, 4000, 0.0)}, racing.FIRST_LOOK + 1, "throughput")
    look(race)
    # One pair; tail, throughput and loss at the only load; the second look has 6/(2π)² of all.
    share = 6 / (2 * math.pi) ** 2 / 3
    assert race.drops[0].confidence == pytest.approx(1 - 0.05 * share)


def test_objectives_are_the_goals_and_the_three_axes_and_low_load() -> None:
    of = fabric(
        goal="p99 of small flows below 2 ms at 50 % load, then throughput", traffic={"load": [0.3, 0.7]}
    )
    found = [(each.metric.name, each.load) for each in racing.objectives(of)]
    assert found == [
        ("fct_us.small.p99", 0.5),
        ("fct_us.large.mean", 0.7),
        ("fct_us.small.p99", 0.7),
        ("loss_rate_in_switches", 0.7),
        ("fct_us.large.mean", 0.3),
    ]


@pytest.mark.parametrize("look_number", [1, 2, 3])
def test_looks_share_the_error_by_the_inverse_square_of_their_number(look_number: int) -> None:
    # The sum of 1/n² is π²/6.
    assert racing.share_of_look(look_number) == pytest.approx(6 / math.pi**2 / look_number**2)


class Certain(Race):
    """A race in which every candidate beats every other one by intervals, so that only estimates decide."""

    def judge(self, *_: Any, **__: Any) -> Judgement:
        """Return the verdict "better" for any two candidates."""
        return Judgement(verdict="better", change=Interval(-0.5, -0.6, -0.4))


THEIRS = {"large": 100.0, "tail": 500.0, "loss": 0.01}


@pytest.mark.parametrize(
    ("mine", "theirs", "is_dropped"),
    [
        # Better by more than 3 % (or 0.01 % of loss) in one measure, and not worse by more in any other.
        ({"large": 96.0, "tail": 500.0, "loss": 0.01}, THEIRS, True),
        ({"large": 97.5, "tail": 500.0, "loss": 0.01}, THEIRS, False),
        ({"large": 96.0, "tail": 510.0, "loss": 0.01}, THEIRS, True),
        ({"large": 96.0, "tail": 520.0, "loss": 0.01}, THEIRS, False),
        ({"large": 100.0, "tail": 500.0, "loss": 0.0098}, THEIRS, True),
        ({"large": 100.0, "tail": 500.0, "loss": 0.00995}, THEIRS, False),
        ({"large": 96.0, "tail": 500.0, "loss": 0.01005}, THEIRS, True),
        ({"large": 96.0, "tail": 500.0, "loss": 0.0102}, THEIRS, False),
        # Undecided without large flows.
        ({"tail": 400.0, "loss": 0.0}, THEIRS, False),
        # Beside a time of zero another is longer by its difference.
        ({"large": 1.0, "tail": 400.0, "loss": 0.0}, THEIRS | {"large": 0.0}, False),
        ({"large": 0.0, "tail": 400.0, "loss": 0.0}, THEIRS | {"large": 0.0}, True),
    ],
)
def test_a_setting_is_dropped_only_where_estimates_beat_it_by_more_than_counts_as_none(
    mine: dict[str, float], theirs: dict[str, float], is_dropped: bool
) -> None:
    race = exact(Certain, "throughput, then p99 of small flows, then loss", theirs=theirs, mine=mine)
    assert [each.goal for each in race.objectives] == [THROUGHPUT, TAIL, LOSS]
    assert [each.delta for each in race.objectives] == [0.03, 0.03, 1e-4]
    look(race)
    assert race.kept == (["mine"] if is_dropped else ["theirs", "mine"])


BETTER, NONE, WORSE = (-0.2, -0.05), (-0.02, 0.02), (0.05, 0.2)
"""Intervals: at least 5 % better; within 2 % of no change; at least 5 % worse."""


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([BETTER], True),
        ([NONE], False),
        ([WORSE], False),
        ([(-1.0, 1.0)], None),
        # The second goal counts only while nothing is lost in the first.
        ([NONE, BETTER], True),
        ([WORSE, BETTER], False),
        ([(-1.0, 1.0), BETTER], None),
        # A bound that is not quite kept: 4 % worse may be more than nobody would notice.
        ([(0.0, 0.04), BETTER], None),
        # A change of exactly 3 % does not count, in either direction.
        ([(-0.03, 0.03)], False),
        ([(-0.03, 0.03), BETTER], True),
        ([(-0.1, -0.03)], None),
        # Worse by 3 % at least may be no worse, and then the next goal counts; by more it does not.
        ([(0.03, 0.06), BETTER], None),
        ([(0.031, 0.06), BETTER], False),
        ([(0.03, 0.06)], False),
        ([(-0.031, 0.06)], None),
    ],
)
def test_intervals_decide_goal_by_goal(changes: list[tuple[float, float]], expected: bool | None) -> None:
    found = [(0.03, Interval((low + high) / 2, low, high)) for low, high in changes]
    assert racing.decide(found) is expected


Stub = Callable[[Callable[[str, int], Sample]], None]


@pytest.fixture
def runs_are(monkeypatch: pytest.MonkeyPatch) -> Stub:
    """Return a function that replaces runs by samples, made from the candidate's name and the seed."""

    def replace(make: Callable[[str, int], Sample]) -> None:
        def run_set(
            _: Fabric,
            candidates: Sequence[Candidate],
            at: Sequence[float],
            seeds: Sequence[int],
            *rest: Any,
        ) -> Ran:
            on_update = rest[2]
            on_update({}, [])
            by_name = {each.name: {seed: make(each.name, seed) for seed in seeds} for each in candidates}
            return Ran([], dict.fromkeys(at, by_name), 0, 0.0)

        monkeypatch.setattr(racing, "run_set", run_set)

    return replace


class Doomed(Race):
    """A race in which given candidates are beaten after given numbers of rounds."""

    doomed: dict[int, str]
    """Names of the beaten candidates, one letter each, by number of rounds."""

    def value(self, _: Objective, name: str) -> float:
        """Return 2 for a beaten candidate, 1 for others."""
        return 2.0 if name in self.doomed.get(self.rounds, "") else 1.0

    def judge(self, *_: Any, **__: Any) -> Judgement:
        """Return the verdict "better" for any two candidates, so that only estimates decide."""
        return Judgement(verdict="better", change=Interval(-0.5, -0.6, -0.4))


STABLE = "2 rounds in a row dropped no setting"


@pytest.mark.parametrize(
    ("names", "doomed", "budget_s", "most", "rounds", "ended"),
    [
        ("abc", {}, 1e6, 64, 8, STABLE),
        # Looks begin with the fifth round; after a drop, two more are needed.
        ("abc", {6: "c"}, 1e6, 64, 8, STABLE),
        ("abc", {7: "c"}, 1e6, 64, 9, STABLE),
        ("abc", {4: "bc"}, 1e6, 5, 5, "the maximum number of rounds, 5, is reached"),
        ("abc", {5: "c", 8: "b"}, 1e6, 64, 8, "one setting is left"),
        ("a", {}, 1e6, 64, 1, "one setting is left"),
        ("abc", {}, 0.0, 64, 1, "the budget is spent"),
        ("abc", {}, 1e6, 1, 1, "the maximum number of rounds, 1, is reached"),
    ],
)
def test_a_race_ends_after_two_looks_without_a_drop_from_the_eighth_round_on(
    names: str,
    doomed: dict[int, str],
    budget_s: float,
    most: int,
    rounds: int,
    ended: str,
    runs_are: Stub,
    tmp_path: Path,
) -> None:
    runs_are(lambda *_: exact_sample(large=1.0))
    (tmp_path / "runs").mkdir()
    race = Doomed(fabric(goal="throughput"), field(names), tmp_path, choose_engine("local", 1))
    race.doomed = doomed
    seen: list[Progress] = []
    race.run(budget_s, lambda progress, *_: seen.append(progress), most)
    assert (race.rounds, race.ended) == (rounds, ended)
    assert race.is_stable is (ended == STABLE)
    assert [each.round for each in seen] == [*range(1, rounds + 1)]
    assert {each.of for each in seen} == {len(names)}
    assert seen[0].kept == len(names)
    # Of the budget at first nearly all is left, and less and less; these rounds take no minute.
    left = [each.left_s for each in seen]
    assert left == sorted(left, reverse=True)
    assert budget_s - 60 < left[-1] <= left[0] <= budget_s


def test_an_axis_of_which_the_traffic_has_no_flows_is_no_objective(runs_are: Stub, tmp_path: Path) -> None:
    runs_are(lambda *_: exact_sample(large=1.0))
    (tmp_path / "runs").mkdir()
    race = Race(fabric(goal="throughput"), field("ab"), tmp_path, choose_engine("local", 1))
    race.run(0.0, nothing)
    # Of the three axes the tail of small flows is left out; losses are of whole runs.
    assert [each.metric.name for each in race.objectives] == ["fct_us.large.mean", "loss_rate_in_switches"]


def test_a_goal_of_which_the_traffic_has_no_flows_is_refused(runs_are: Stub, tmp_path: Path) -> None:
    runs_are(lambda *_: exact_sample(tail=1.0))
    race = Race(fabric(goal="throughput"), field("ab"), tmp_path, choose_engine("local", 1))
    with pytest.raises(
        ShallowsError, match="goal: 'throughput': the simulated traffic has no flows of this size"
    ):
        race.run(0.0, nothing)


@pytest.fixture
def close_race(runs_are: Stub, tmp_path: Path) -> Race:
    """A race of three settings with noise of 10 %, two of which are within 3 % of each other."""
    means = {"far": 6000.0, "near": 4100.0, "good": 4000.0}

    def make(name: str, seed: int) -> Sample:
        noise = random.Random(f"{name} {seed}")  # noqa: S311
        return sample(500, means[name] * noise.uniform(0.9, 1.1), 0.0, random.Random(seed))  # noqa: S311

    runs_are(make)
    (tmp_path / "runs").mkdir()
    return Race(fabric(goal="throughput"), field([*means]), tmp_path, choose_engine("local", 1))


@pytest.mark.parametrize("goal", [{"throughput": 2, "loss": 1}, "mean of large flows below 60 us"])
def test_a_race_whose_settings_intervals_do_not_rank_claims_no_best_setting(
    goal: Any, runs_are: Stub, tmp_path: Path
) -> None:
    runs_are(lambda name, *_: exact_sample(large=1.0 + ord(name)))
    (tmp_path / "runs").mkdir()
    race = Race(fabric(goal=goal), field("ab"), tmp_path, choose_engine("local", 1))
    run_to_end(race, 1e6, nothing, 1000)
    assert race.is_stable
    assert race.ended == STABLE


def test_a_race_continues_with_the_settings_that_are_open_until_the_best_is_known(close_race: Race) -> None:
    run_to_end(close_race, 1e6, nothing, 1000)
    assert close_race.ended == RESOLVED
    assert contenders(close_race) == []
    # Half the width of 3 % takes (3.3 · 8 % / 3 %)² = 80 seeds of two; nobody needs 1,000.
    assert close_race.seeds("far") < 20 < close_race.seeds("good") < 1000
    assert recommend(close_race).candidate.name in ("near", "good")


def test_a_race_continues_up_to_the_most_seeds(close_race: Race) -> None:
    run_to_end(close_race, 1e6, nothing, 12)
    assert (close_race.rounds, close_race.ended) == (12, "the maximum number of seeds, 12, is reached")
