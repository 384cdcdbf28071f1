"""Tests of the values that the keys in files of claims accept."""

from typing import Any

import pytest

from shallows.reproduction import claim_types

LARGEST = 2**63 - 1
"""Largest integer in TOML."""

NO_NUMBERS: list[Any] = [True, "1", float("inf"), float("nan"), None]
LONG = "9" * 18
"""Number with the most digits that always fit into an integer in TOML."""

NUMBER, SHARE, COUNT = claim_types.NUMBER, claim_types.SHARE, claim_types.COUNT
PLACE, LISTS, TEXTS = claim_types.PLACE, claim_types.LISTS, claim_types.TEXTS
TESTBED, CAUSES = claim_types.EXPERIMENT["testbed"], claim_types.EXPERIMENT["causes"]
POINTS, FLOWS = claim_types.CLAIM["points"], claim_types.DRAWING["flows"]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        *((NUMBER, value) for value in (LARGEST, -LARGEST, -0.5)),
        *((SHARE, value) for value in (0, 0.0, 2.5)),
        *((COUNT, value) for value in (0, 1, LARGEST)),
        *((TESTBED, value) for value in (1, 10_000)),
    ],
)
def test_numbers_of_claims_are_accepted_up_to_their_limits(rule: claim_types.Rule, value: Any) -> None:
    assert rule[0](value)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        *((NUMBER, value) for value in (LARGEST + 1, -LARGEST - 1, *NO_NUMBERS)),
        *((SHARE, value) for value in (-1e-9, -1, *NO_NUMBERS)),
        *((COUNT, value) for value in (-1, LARGEST + 1, 1.0, *NO_NUMBERS)),
        *((TESTBED, value) for value in (0, 10_001, True, 1.0)),
    ],
)
def test_numbers_of_claims_beyond_their_limits_and_other_types_are_refused(
    rule: claim_types.Rule, value: Any
) -> None:
    assert not rule[0](value)


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        *((PLACE, value) for value in (0.4, "325KB", f"{LONG}B", f"0.{LONG}ms")),
        *((POINTS, value) for value in ([], [[0.3, 1], ["9KB", 2.5]])),
        *((LISTS, value) for value in ({}, {"seed": [1]})),
        *((TEXTS, value) for value in ([], ["a"])),
        *((CAUSES, value) for value in ({}, {"a": "b"})),
        (FLOWS, [0, 3]),
    ],
)
def test_values_of_claims_with_the_shape_of_their_key_are_accepted(
    rule: claim_types.Rule, value: Any
) -> None:
    assert rule[0](value)


NO_POINTS: list[Any] = [[0.3], [0.3, 1, 2], ["soon", 1], [0.3, "9KB"], (0.3, 1), {}]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        *((PLACE, value) for value in (f"{LONG}9B", f"0.{LONG}9ms", "soon", "5", True, None)),
        *((POINTS, [value]) for value in NO_POINTS),
        # One wrong point among right ones.
        (POINTS, [[0.3, 1], [0.3]]),
        (LISTS, {"seed": [1], "load": 1}),
        (LISTS, []),
        (LISTS, "x"),
        *((TEXTS, value) for value in (["a", 1], "a")),
        *((CAUSES, value) for value in ({"a": "b", "c": 1}, ["b"])),
        *((FLOWS, value) for value in ([0, -1], 3)),
    ],
)
def test_values_of_claims_with_another_shape_are_refused(rule: claim_types.Rule, value: Any) -> None:
    assert not rule[0](value)
