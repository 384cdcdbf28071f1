"""Tests of the labels of runs, by which figures distinguish them."""

from typing import Any

import pytest

from fake_runs import fake_run
from shallows.series import inputs


@pytest.mark.parametrize(
    ("labels", "environment", "expected"),
    [
        (
            {},
            {"overrides": ['scheme="a"', "load=0.5", "name=x y"]},
            {"scheme": "a", "load": 0.5, "name": "x y"},
        ),
        ({"load": 0.9}, {}, {"load": 0.9}),
    ],
    ids=["a run alone", "a point of a sweep"],
)
def test_a_run_outside_a_sweep_is_labelled_by_its_overrides(
    labels: dict[str, Any], environment: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert inputs.labels(fake_run(labels=labels, environment=environment)) == expected


@pytest.mark.parametrize(
    ("axis", "value", "expected"),
    [("load", "0.80", 1), ("load", "8e-1", 1), ("rto", "10000us", 2), ("scheme", "1.0", 0)],
)
def test_runs_are_chosen_by_the_value_of_a_number_or_quantity(axis: str, value: str, expected: int) -> None:
    runs = [
        fake_run(labels={"scheme": "1.0", "load": 0.5, "rto": "5ms"}),
        fake_run(labels={"scheme": "a", "load": 0.8, "rto": "1s"}),
        fake_run(labels={"scheme": "b", "load": 0.9, "rto": "10ms"}),
    ]
    assert inputs.choose_runs(runs, [(axis, value)]) == [runs[expected]]
