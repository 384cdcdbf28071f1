"""Tests of the table of measured and published values: metrics, lines, places and bars."""

import math
from pathlib import Path
from typing import Any

import pytest

from fake_claims import ALONG_LOAD, WITHOUT_AXIS, claim, run_with, runs_along_load, runs_at
from shallows.errors import ShallowsError
from shallows.figures.versus import Versus
from shallows.reproduction.expected import Experiment
from shallows.reproduction.versus import versus

TWO_SCHEMES = runs_along_load(a=[3.0, 1.0], b=[2.0, 4.0])
CLAIMS = [
    claim(points=[(0.2, 9.0), (0.4, 8.0)], where={"scheme": "b"}),
    claim(metric="other", expected=1.0),
    claim(metric="change", points=[(0.2, 1.0)], versus={"scheme": "a"}),
]
"""Claims: the paper's points of scheme b, a number without a place, and a change, which has no point."""


def drawn(experiment: Experiment, claims: list[Any], runs: list[Any]) -> Versus:
    """Return the comparison of an experiment with its paper, which must exist."""
    found = versus(experiment, claims, runs)
    assert found is not None
    return found


def along_load(**keys: Any) -> Experiment:
    """Return an experiment with the load as its axis, and these keys."""
    return Experiment("x", ["1"], Path("x.toml"), axis="load", **keys)


SHOWN = drawn(along_load(show=["s", "ideal_m"]), CLAIMS, TWO_SCHEMES)
"""Table of an experiment that shows metric s, and the bound of metric m."""


def test_metrics_that_are_to_be_shown_or_have_points_have_a_panel() -> None:
    assert [panel.title for panel in SHOWN.panels] == ["s", "m"]


def test_each_scheme_has_a_line_and_a_bound_one_for_all() -> None:
    shown, bounded = SHOWN.panels
    assert [line.name for line in shown.lines] == ["a", "b"]
    assert [line.name for line in bounded.lines] == ["a", "b", "ideal"]


def test_a_line_has_the_values_of_its_scheme() -> None:
    assert [each[1] for each in SHOWN.panels[1].lines[1].ours] == [2.0, 4.0]


def test_the_papers_points_are_beside_the_scheme_that_they_are_about() -> None:
    assert [len(line.paper) for line in SHOWN.panels[1].lines] == [0, 2, 0]


def test_seeds_are_counted() -> None:
    assert SHOWN.seeds == [1]


@pytest.mark.parametrize(
    ("experiment", "claims"),
    [(along_load(), CLAIMS[1:]), (WITHOUT_AXIS, CLAIMS)],
    ids=["nothing to show", "no axis"],
)
def test_nothing_is_drawn_without_a_metric_or_an_axis(experiment: Experiment, claims: list[Any]) -> None:
    assert versus(experiment, claims, TWO_SCHEMES) is None


def test_runs_without_a_scheme_are_a_line_called_ours() -> None:
    found = drawn(along_load(show=["m"]), [], [run_with(1.0, load=0.5, seed=1)])
    assert [line.name for line in found.panels[0].lines] == ["ours"]


BY_SIZE = drawn(
    ALONG_LOAD,
    [
        claim(where={"scheme": "a"}, points=[("50KB", 2.5)]),
        # A change from scheme to scheme is no point of the metric.
        claim(where={"scheme": "a"}, points=[("50KB", -0.7)], versus={"scheme": "b"}),
    ],
    runs_at(a={"50KB": [1.0, 1.0, 4.0], "0.1MB": [3.0, 3.0, 3.0]}, b={"50KB": [9.0]}),
)


def test_a_line_has_means_over_seeds_in_the_unit_of_the_axis() -> None:
    ours, _ = BY_SIZE.panels[0].lines
    assert [row[:2] for row in ours.ours] == [(50.0, 2.0), (100.0, 3.0)]


def test_a_mean_over_three_seeds_has_an_interval() -> None:
    # The deviation of 1, 1 and 4 is √3, and of their mean 1; Student's t of three is 4.3027.
    first, second = BY_SIZE.panels[0].lines[0].ours
    assert first[2:] == pytest.approx((2 - 4.3027, 2 + 4.3027), rel=1e-4)
    assert second[2:] == (3.0, 3.0)


def test_the_papers_points_are_in_the_unit_of_the_axis() -> None:
    ours, theirs = BY_SIZE.panels[0].lines
    assert (ours.paper, theirs.paper) == ([(50.0, 2.5)], [])


NORMALISED = along_load(show=["m"], normalised={"scheme": "a"})


def test_values_can_be_divided_by_those_of_a_scheme_at_the_same_place() -> None:
    found = drawn(NORMALISED, [], runs_along_load(a=[2.0, 4.0], b=[3.0, 2.0]))
    assert [[each[1] for each in line.ours] for line in found.panels[0].lines] == [[1, 1], [1.5, 0.5]]


def test_values_can_be_divided_by_those_of_a_scheme_under_the_same_seed() -> None:
    # 6 over 2 and 4 over 8: a mean of 1.75, where the ratio of the means would be 1.
    found = drawn(NORMALISED, [], runs_at(a={0.4: [2.0, 8.0]}, b={0.4: [6.0, 4.0]}))
    assert [line.ours[0][1] for line in found.panels[0].lines] == [1.0, 1.75]


def test_a_value_divided_by_zero_is_not_a_number() -> None:
    found = drawn(NORMALISED, [], runs_at(a={0.2: [2.0], 0.4: [0.0]}, b={0.2: [6.0], 0.4: [9.0]}))
    values = [each[1] for line in found.panels[0].lines for each in line.ours]
    assert values[::2] == [1.0, 3.0]
    assert [math.isnan(value) for value in values] == [False, True, False, True]


def test_a_run_without_another_to_divide_by_is_refused() -> None:
    runs = runs_along_load(a=[2.0, 4.0], b=[3.0, 2.0])
    with pytest.raises(ShallowsError, match=r"experiment x: normalised = \{'scheme': 'a'\} selects no run"):
        versus(NORMALISED, [], runs[1:])
