"""Tests of the names of axes and swept values that `--by` and `--baseline` accept."""

from typing import Any

import pytest

import shallows as sh
from fake_runs import fake_run
from shallows.comparison import places


def runs(*labels: dict[str, Any]) -> list[sh.Run]:
    """Return runs with these labels."""
    return [fake_run(labels=each) for each in labels]


TWO = runs({"k": 1, "red.k": 2, "seed": 1, "tcp.initial_window": 5}, {"seed": 2, "red.pmax": 1})


def test_the_whole_key_of_an_axis_comes_before_the_last_word_of_another() -> None:
    assert places.axes_of(TWO, ["k"]) == ["k"]


def test_an_axis_may_be_called_by_the_last_word_of_its_key_with_spaces_and_counts_once() -> None:
    assert places.axes_of(TWO, ["initial window", "k", "initial_window"]) == ["tcp.initial_window", "k"]


def test_a_last_word_that_several_axes_share_is_refused() -> None:
    with pytest.raises(sh.ShallowsError, match="--by k: several axes have this name"):
        places.axes_of(runs({"a.k": 1, "b.k": 2}), ["k"])


@pytest.mark.parametrize(
    ("count", "shown"),
    [(8, "0, 1, 2, 3, 4, 5, 6, 7"), (9, "0, 1, 2, 3, 4, 5, 6, 7, …")],
)
def test_an_unknown_axis_is_answered_with_the_axes_and_at_most_eight_of_their_values(
    count: int, shown: str
) -> None:
    with pytest.raises(sh.ShallowsError, match="the runs have no such axis") as caught:
        places.axes_of(runs(*({"k": value} for value in range(count))), ["load"])
    assert f"k ({shown})" in str(caught.value)


def test_the_place_of_a_run_is_open_on_an_axis_that_it_does_not_have() -> None:
    assert places.place_of(TWO[1], ["k", "red.pmax"]) == {"k": None, "red.pmax": 1}


KNOWN = {"A": {"red.k_min": "30KB", "n": 1}, "B": {"red.k_min": "30KB", "n": 2}}


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ("A", "A"),
        # All values, in the order of the axes.
        ("30KB,2", "B"),
        ("2, 30KB", None),
        ("30KB", None),
        # Some values with their axes.
        ("n=2", "B"),
        ("k_min=30KB, n = 1", "A"),
        ("k min=30KB,n=2", "B"),
        ("red.k_min=30KB,n=1", "A"),
    ],
)
def test_a_place_is_found_by_its_name_by_all_its_values_or_by_some_with_their_axes(
    asked: str, place: str | None
) -> None:
    assert places.find(asked, KNOWN) == place


@pytest.mark.parametrize("asked", ["k_min=30KB", "red.k_min=1", "k_min=30KB, 1", "min=30KB, n=1"])
def test_no_place_is_found_where_several_match_or_none_does(asked: str) -> None:
    assert places.find(asked, KNOWN) is None


@pytest.mark.parametrize(("asked", "place"), [("0.03MB", "A"), ("30p", "B"), ("30000", None), ("30", None)])
def test_a_place_is_found_by_a_quantity_in_any_unit_of_its_kind(asked: str, place: str | None) -> None:
    assert places.find(asked, {"A": {"k": "30KB"}, "B": {"k": "30p"}}) == place
