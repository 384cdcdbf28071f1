"""Tests of verdicts on claims: tolerances, orderings, crossings, averages and changes."""

from collections.abc import Sequence
from typing import Any

import pytest

from fake_claims import (
    ALONG_LOAD,
    WITHOUT_AXIS,
    claim,
    only_check,
    run_with,
    runs_along_load,
    runs_at,
    runs_of,
)
from shallows.errors import ShallowsError
from shallows.reproduction.judging import CANNOT_TELL, DOES_NOT_HOLD, HOLDS, Check, judge, within, worst

A_AGAINST_B: dict[str, Any] = {"where": {"scheme": "a"}, "versus": {"scheme": "b"}}
A_BELOW_B: dict[str, Any] = {"kind": "ordering", "lower": {"scheme": "a"}, "higher": {"scheme": "b"}}

# Limits.


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (3, 6, HOLDS),
        # An interval that only touches a limit may hold.
        (2, 3, CANNOT_TELL),
        (6, 7, CANNOT_TELL),
        (1, 2.9, DOES_NOT_HOLD),
        (6.1, 7, DOES_NOT_HOLD),
    ],
)
def test_limits_of_a_claim_belong_to_it(low: float, high: float, verdict: str) -> None:
    assert within(low, high, 3, 6) == verdict


@pytest.mark.parametrize(
    ("mine", "verdict"), [(86, HOLDS), (94, HOLDS), (84, DOES_NOT_HOLD), (96, DOES_NOT_HOLD)]
)
def test_a_relative_tolerance_of_a_decrease_allows_as_much_above_as_below(mine: float, verdict: str) -> None:
    # Half of −10 % is 5 %.
    asked = claim(expected=-0.1, relative=0.5, **A_AGAINST_B)
    assert only_check(asked, WITHOUT_AXIS, runs_of(a=[mine], b=[100])).verdict == verdict


# −10: a tenth and a half to each side, and so −11.5 to −8.5.
NEAR = {"expected": -10.0, "relative": 0.1, "absolute": 0.5}
# 10: by a factor of 2, and as much more, 3.5 to 21.5.
WIDE = {"expected": 10.0, "relative": 0.1, "absolute": 0.5, "factor": 2.0}


@pytest.mark.parametrize(
    ("keys", "value", "verdict"),
    [
        (NEAR, -11.5, HOLDS),
        (NEAR, -8.5, HOLDS),
        (NEAR, -11.6, DOES_NOT_HOLD),
        (NEAR, -8.4, DOES_NOT_HOLD),
        (WIDE, 3.5, HOLDS),
        (WIDE, 21.5, HOLDS),
        (WIDE, 3.4, DOES_NOT_HOLD),
        (WIDE, 21.6, DOES_NOT_HOLD),
    ],
)
def test_relative_and_absolute_tolerances_and_a_factor_add_up(
    keys: dict[str, float], value: float, verdict: str
) -> None:
    # The place on the axis along which the experiment is drawn does not matter.
    assert only_check(claim(**keys), ALONG_LOAD, [run_with(value, load=0.4, seed=1)]).verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [(1e6 + 5e-4, HOLDS), (1e6 + 2e-3, DOES_NOT_HOLD)])
def test_a_number_without_a_tolerance_may_be_off_by_a_billionth(value: float, verdict: str) -> None:
    assert only_check(claim(expected=1e6), WITHOUT_AXIS, runs_of(a=[value])).verdict == verdict


def test_a_claim_below_a_limit_has_no_lower_limit() -> None:
    check = only_check(claim(kind="below", expected=3.0), WITHOUT_AXIS, runs_of(a=[-5.0]))
    assert check.verdict == HOLDS


@pytest.mark.parametrize(
    ("keys", "paper", "ours"),
    [
        ({"expected": 0.5, "change": "relative"}, "+50 %", 0.5),
        ({"expected": 1.0, "change": "difference"}, "+1", 1.0),
    ],
)
def test_a_change_is_relative_or_a_difference_and_written_so(
    keys: dict[str, Any], paper: str, ours: float
) -> None:
    check = only_check(claim(**keys, **A_AGAINST_B), WITHOUT_AXIS, runs_of(a=[3.0], b=[2.0]))
    assert (check.paper, check.ours, check.verdict) == (paper, ours, HOLDS)


def test_a_number_of_a_paper_is_written_with_separators() -> None:
    assert only_check(claim(expected=1e6), WITHOUT_AXIS, runs_of(a=[1e6])).paper == "1,000,000"


# Seeds.


def test_a_change_is_that_of_runs_with_the_same_seed() -> None:
    # The seeds are in another order, and one is only on one side. Seed by seed the one is a tenth less.
    mine = [run_with(value, scheme="a", seed=seed) for seed, value in {3: 27, 1: 9, 2: 18}.items()]
    theirs = [run_with(value, scheme="b", seed=seed) for seed, value in {1: 10, 2: 20, 3: 30, 4: 40}.items()]
    asked = claim(expected=-0.1, absolute=1e-9, **A_AGAINST_B)
    assert only_check(asked, WITHOUT_AXIS, mine + theirs).verdict == HOLDS


def test_an_ordering_is_that_of_runs_with_the_same_seed() -> None:
    mine = [run_with(value, scheme="a", seed=seed) for seed, value in {3: 29, 1: 9, 2: 19}.items()]
    theirs = [run_with(value, scheme="b", seed=seed) for seed, value in {1: 10, 2: 20, 3: 30, 4: 40}.items()]
    assert only_check(claim(**A_BELOW_B), WITHOUT_AXIS, mine + theirs).verdict == HOLDS


def test_an_average_over_places_is_taken_seed_by_seed() -> None:
    # 80, 100 and 120 at one place, 120, 100 and 80 at the other: 100 in each seed.
    runs = runs_at(a={0.4: [80, 100, 120], 0.8: [120, 100, 80]})
    asked = claim(over=[0.4, 0.8], expected=100.0, absolute=1.0)
    assert only_check(asked, ALONG_LOAD, runs).verdict == HOLDS


TWO_LOADS = runs_at(a={0.2: [1.0, 2.0, 3.0], 0.4: [3.0, 4.0, 5.0]})


def test_a_reduced_run_takes_an_average_over_the_places_that_it_has() -> None:
    asked = claim(kind="average", over=[0.2, 0.4, 0.9], expected=3.0, absolute=2.0)
    (check,) = judge(asked, ALONG_LOAD, TWO_LOADS, quick=True)
    assert check.ours == 3.0


def test_an_average_of_a_whole_run_needs_all_its_places() -> None:
    asked = claim(over=[0.2, 0.4, 0.9], expected=3.0, absolute=2.0)
    with pytest.raises(ShallowsError, match=r"no run has load = 0\.9"):
        judge(asked, ALONG_LOAD, TWO_LOADS, quick=False)


# Orderings.


@pytest.mark.parametrize(
    ("higher", "verdict"),
    [
        # The lower has 5.0 under each of three seeds. Differences of 2, −2 and 0 do not vary.
        ([7.0] * 3, HOLDS),
        ([3.0] * 3, DOES_NOT_HOLD),
        ([5.0] * 3, DOES_NOT_HOLD),
        # Differences of ±1/16 around zero reach above and below it; around a half they stay above.
        ([5.0625, 4.9375, 5.0], CANNOT_TELL),
        ([5.5, 5.4375, 5.5625], HOLDS),
    ],
)
def test_an_ordering_holds_where_the_whole_interval_of_the_difference_is_above_zero(
    higher: list[float], verdict: str
) -> None:
    runs = runs_of(a=[5.0] * 3, b=higher)
    assert only_check(claim(**A_BELOW_B), WITHOUT_AXIS, runs).verdict == verdict


CROSSED = runs_along_load(a=[1.0, 5.0], b=[2.0, 3.0])


def test_an_ordering_is_judged_at_all_places() -> None:
    found = judge(claim(**A_BELOW_B), ALONG_LOAD, CROSSED, quick=False)
    assert [(each.place, each.ours, each.verdict) for each in found] == [
        (0.2, 1.0, HOLDS),
        (0.4, -2.0, DOES_NOT_HOLD),
    ]


def test_an_ordering_can_be_judged_at_some_places() -> None:
    found = judge(claim(**A_BELOW_B, at=[0.4]), ALONG_LOAD, CROSSED, quick=False)
    assert [each.place for each in found] == [0.4]


def test_an_ordering_between_two_places_has_no_place_of_its_own() -> None:
    between = claim(kind="ordering", where={"scheme": "b"}, lower={"load": 0.2}, higher={"load": 0.4})
    check = only_check(between, ALONG_LOAD, CROSSED)
    assert (check.place, check.ours, check.verdict) == (None, 1.0, HOLDS)


@pytest.mark.parametrize(
    ("verdicts", "expected"), [([HOLDS, DOES_NOT_HOLD], DOES_NOT_HOLD), ([HOLDS], HOLDS)]
)
def test_the_worst_verdict_is_that_of_a_claim(verdicts: list[str], expected: str) -> None:
    assert worst([Check(None, "", 1.0, 1.0, 1.0, verdict) for verdict in verdicts]) == expected


# Extremes and places of reduced runs.


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ({"extreme": "lowest"}, 0.4),
        ({"extreme": "highest"}, 0.2),
        ({"extreme": "lowest", "at": [0.2, 0.6]}, 0.6),
    ],
)
def test_an_extreme_is_taken_over_all_places_or_those_that_are_named(
    keys: dict[str, Any], place: float
) -> None:
    asked = claim(expected=2.0, absolute=5.0, **keys)
    assert only_check(asked, ALONG_LOAD, runs_along_load(a=[3.0, 1.0, 2.0])).place == place


def test_a_reduced_run_judges_a_claim_at_the_places_that_it_has() -> None:
    found = judge(
        claim(expected=2.0, at=[0.6, 0.8]), ALONG_LOAD, runs_along_load(a=[3.0, 1.0, 2.0]), quick=True
    )
    assert [each.place for each in found] == [0.6]


def test_a_reduced_run_without_a_place_of_a_claim_is_refused() -> None:
    with pytest.raises(ShallowsError, match="with --quick, no run has a "):
        judge(claim(expected=2.0, at=[0.8]), ALONG_LOAD, runs_along_load(a=[3.0, 1.0, 2.0]), quick=True)


# Crossings.


def crossing(*seeds: list[float], steps: int = 0) -> Check:
    """Return the verdict on a claim that level 1 is crossed at load 0.4, given values at 0.2, 0.4 and 0.6."""
    by_load: dict[Any, Sequence[float]] = {
        load: [values[place] for values in seeds] for place, load in enumerate((0.2, 0.4, 0.6))
    }
    asked = claim(kind="crossing", expected=0.4, level=1.0, steps=steps)
    return only_check(asked, ALONG_LOAD, runs_at(a=by_load))


AT_ONCE, SECOND, LAST, NEVER = [2.0] * 3, [1.0, 2.0, 2.0], [1.0, 1.0, 2.0], [1.0] * 3


@pytest.mark.parametrize(
    ("values", "place"), [(AT_ONCE, 0.2), (SECOND, 0.4), (LAST, 0.6), (NEVER, float("inf"))]
)
def test_a_level_is_crossed_at_the_first_place_above_it(values: list[float], place: float) -> None:
    assert crossing(values).ours == place


@pytest.mark.parametrize(
    ("values", "steps", "verdict"),
    [
        (AT_ONCE, 0, DOES_NOT_HOLD),
        (SECOND, 0, HOLDS),
        (LAST, 0, DOES_NOT_HOLD),
        (AT_ONCE, 1, HOLDS),
        (LAST, 1, HOLDS),
        (NEVER, 1, DOES_NOT_HOLD),
    ],
)
def test_a_crossing_may_be_as_many_steps_away_as_are_said(
    values: list[float], steps: int, verdict: str
) -> None:
    assert crossing(values, steps=steps).verdict == verdict


def test_a_crossing_on_which_seeds_disagree_cannot_be_told() -> None:
    two = crossing(SECOND, LAST)
    assert (two.verdict, two.ours, two.low, two.high) == (CANNOT_TELL, 0.6, 0.4, 0.6)


@pytest.mark.parametrize("first", [4.9, 5.0])
def test_a_level_is_crossed_by_what_is_above_it_and_not_at_it(first: float) -> None:
    runs = [run_with(first, load=0.4, seed=1), run_with(5.1, load=0.6, seed=1)]
    asked = claim(kind="crossing", level=5.0, expected=0.6)
    assert only_check(asked, ALONG_LOAD, runs).verdict == HOLDS


def test_a_crossing_is_where_most_seeds_have_it() -> None:
    # The seeds cross at 1, 2 and 2.
    runs = runs_at(a={1: [9.0, 1.0, 1.0], 2: [9.0, 9.0, 9.0], 3: [9.0, 9.0, 9.0]})
    check = only_check(claim(kind="crossing", level=5.0, expected=2, steps=1), ALONG_LOAD, runs)
    assert (check.ours, check.low, check.high, check.verdict) == (2, 1, 2, HOLDS)


def test_places_of_a_crossing_are_in_the_order_of_their_sizes() -> None:
    # It is two steps from 50 KB to 1 MB, though one in the order of texts.
    runs = runs_at(a={"50KB": [1.0], "100KB": [1.0], "1MB": [9.0]})
    asked = claim(kind="crossing", level=5.0, expected="50KB", steps=1)
    check = only_check(asked, ALONG_LOAD, runs)
    assert check.verdict == DOES_NOT_HOLD
