"""Labels of runs, by which figures tell them apart."""

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
