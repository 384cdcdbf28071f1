"""Tests of variants of experiments, and of the values and claims that they inherit."""

from typing import Any

import pytest

from shallows.reproduction import like

EXPERIMENTS: dict[str, Any] = {
    "a": {"base": "x.toml", "set": {"p": 1, "q": 2}, "axis": "load"},
    "b": {"like": "a", "set": {"q": 3}, "causes": {"a-one": "why"}},
    "c": {"like": "b"},
    "d": {"causes": {}},
}

CLAIMS: list[dict[str, Any]] = [
    {"id": "a-one", "experiment": "a", "cause": "theirs"},
    {"id": "two", "experiment": "a", "cause": "theirs"},
    {"id": "other", "experiment": "z"},
]


def test_an_experiment_like_none_is_as_it_is() -> None:
    assert like.completed("a", EXPERIMENTS) is EXPERIMENTS["a"]


def test_an_experiment_like_another_has_its_values_but_for_its_own() -> None:
    expected = {"base": "x.toml", "set": {"p": 1, "q": 3}, "axis": "load"}
    assert like.completed("b", EXPERIMENTS) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        # b is like another itself.
        ("c", r"like must be one of a, d, got"),
        ("d", "the key causes requires the key like"),
    ],
)
def test_an_experiment_is_like_one_that_is_like_none(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        like.completed(name, EXPERIMENTS)


def test_claims_of_an_experiment_like_another_have_their_own_names_and_causes() -> None:
    assert like.claims("b", EXPERIMENTS["b"], CLAIMS) == [
        {"id": "b-one", "experiment": "b", "cause": "why"},
        {"id": "b-two", "experiment": "b"},
    ]


def test_a_cause_of_an_unknown_claim_is_refused() -> None:
    with pytest.raises(ValueError, match="no claim"):
        like.claims("b", {"like": "a", "causes": {"nine": "why"}}, CLAIMS)
