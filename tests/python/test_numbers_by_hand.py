"""What single numbers decide, and where their edges are: each is worked out by hand."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import shallows as sh
from shallows.errors import ShallowsError
from shallows.reproduction import beside, findings, like
from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.findings import Finding
from shallows.reproduction.judging import Check, Measured, judge
from shallows.sweeps.points import Shard


def invented(**found: Any) -> sh.Run:
    """A run that never was and has these tables."""
    return cast(sh.Run, SimpleNamespace(**{"path": Path("by-hand")} | found))


def claim(**keys: Any) -> Claim:
    """What a paper could claim."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def test_numbers_are_shown_as_their_claims_write_them() -> None:
    def shown(value: float, **keys: Any) -> str:
        return findings.number(claim(**keys), Check(None, "", value, value, value, "holds"))

    assert shown(90_000.0, expected="100KB") == "90 KB"
    assert (shown(12.0, expected=1.0), shown(12.0, kind="ordering")) == ("12", "+12")
    assert shown(12.0, expected=1.0, change="difference") == "+12"
    assert (shown(math.inf, kind="crossing"), shown(math.inf, expected=1.0)) == ("never", "∞")


def test_what_a_document_is_made_from_names_the_experiments_of_its_claims_only() -> None:
    told = {name: SimpleNamespace(fingerprint=name * 3) for name in ("a", "b")}
    paper = cast(Any, SimpleNamespace(title="P", experiments=told))
    assert findings.made_from(paper, {"b"}) == "Made from: b bbb\n"
    checks = [Check(None, "1", 1.0, 1.0, 1.0, "holds")]
    found = [
        Finding(claim(), checks),
        Finding(claim(), [Check(None, "1", 2.0, 2.0, 2.0, "does not hold")]),
        Finding(claim(), checks),
    ]
    assert findings.document_of(paper, found, quick=False)["holding"] == 2


def test_an_average_asks_a_reduced_run_only_where_it_was() -> None:
    runs = [
        Measured({"load": load, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for load, values in {0.2: [1.0, 2.0, 3.0], 0.4: [3.0, 4.0, 5.0]}.items()
        for seed, value in enumerate(values)
    ]
    experiment = cast(Experiment, SimpleNamespace(axis="load", name="x"))
    asked = claim(kind="average", over=[0.2, 0.4, 0.9], expected=3.0, absolute=2.0)
    (check,) = judge(asked, experiment, runs, quick=True)
    assert check.ours == 3.0
    with pytest.raises(ShallowsError):
        judge(asked, experiment, runs, quick=False)


def test_an_ordering_holds_if_the_higher_is_higher_by_more_than_chance() -> None:
    def verdict(*higher: float) -> str:
        runs = [
            Measured({"scheme": scheme, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
            for scheme, values in {"a": (5.0,) * 3, "b": higher}.items()
            for seed, value in enumerate(values)
        ]
        asked = claim(kind="ordering", lower={"scheme": "a"}, higher={"scheme": "b"})
        (check,) = judge(asked, cast(Experiment, SimpleNamespace(axis=None, name="x")), runs, quick=False)
        return check.verdict

    # By 2, by -2 and by nothing, without chance; and by half of ±1/16, which reaches below zero and not to 1.
    assert [verdict(by, by, by) for by in (7.0, 3.0, 5.0)] == ["holds", "does not hold", "does not hold"]
    assert verdict(5.0625, 4.9375, 5.0) == "cannot tell"
    assert verdict(5.5, 5.4375, 5.5625) == "holds"


def test_a_number_may_be_off_by_a_billionth_and_says_how_it_is_meant() -> None:
    experiment = cast(Experiment, SimpleNamespace(axis=None, name="x"))

    def check(asked: Claim, **values: float) -> Check:
        runs = [
            Measured({"scheme": scheme, "seed": 1}, lambda _, value=value: value)  # type: ignore[misc]
            for scheme, value in values.items()
        ]
        return judge(asked, experiment, runs, quick=False)[0]

    million = claim(expected=1e6, where={"scheme": "a"})
    assert check(million, a=1e6 + 5e-4).verdict == "holds"
    assert check(million, a=1e6 + 2e-3).verdict == "does not hold"
    sides = {"where": {"scheme": "a"}, "versus": {"scheme": "b"}}
    half = check(claim(expected=0.5, change="relative", **sides), a=3.0, b=2.0)
    assert (half.paper, half.ours, half.verdict) == ("+50 %", 0.5, "holds")
    one = check(claim(expected=1.0, change="difference", **sides), a=3.0, b=2.0)
    assert (one.paper, one.ours, one.verdict) == ("+1", 1.0, "holds")
    assert check(million, a=1e6).paper == "1,000,000"


def test_what_is_normalised_is_over_the_run_of_its_seed() -> None:
    runs = [
        Measured({"scheme": scheme, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for scheme, values in {"a": (2.0, 0.0), "b": (6.0, 9.0)}.items()
        for seed, value in enumerate(values)
    ]
    experiment = cast(Experiment, SimpleNamespace(axis=None, name="x", normalised={"scheme": "a"}))
    found = [run.value("m") for run in beside._normalised(runs, experiment)]
    assert found[:3:2] == [1.0, 3.0]
    assert [math.isnan(each) for each in found] == [False, True, False, True]


def test_lines_beside_a_paper_are_told_by_all_but_axis_and_seed() -> None:
    run = Measured({"scheme": "a", "load": 0.5, "seed": 1}, lambda _: 1.0)
    assert beside._line(run, "load") == "a"
    assert beside._line(Measured({"load": 0.5, "seed": 1}, lambda _: 1.0), "load") == "ours"


def test_an_experiment_like_another_has_its_values_and_claims_but_for_its_own() -> None:
    told: dict[str, Any] = {
        "a": {"base": "x.toml", "set": {"p": 1, "q": 2}, "axis": "load"},
        "b": {"like": "a", "set": {"q": 3}, "causes": {"a-one": "why"}},
        "c": {"like": "b"},
        "d": {"causes": {}},
    }
    assert like.completed("a", told) is told["a"]
    assert like.completed("b", told) == {"base": "x.toml", "set": {"p": 1, "q": 3}, "axis": "load"}
    with pytest.raises(ValueError, match=r"expected one of a, d$"):
        like.completed("c", told)
    with pytest.raises(ValueError, match="causes goes with like"):
        like.completed("d", told)
    listed = [
        {"id": "a-one", "experiment": "a", "cause": "theirs"},
        {"id": "two", "experiment": "a", "cause": "theirs"},
        {"id": "other", "experiment": "z"},
    ]
    assert like.claims("b", told["b"], listed) == [
        {"id": "b-one", "experiment": "b", "cause": "why"},
        {"id": "b-two", "experiment": "b"},
    ]
    with pytest.raises(ValueError, match="no claim"):
        like.claims("b", {"like": "a", "causes": {"nine": "why"}}, listed)


def test_a_shard_is_every_nth_point_from_its_own_on() -> None:
    assert Shard.parse("2/3") == Shard(2, 3)
    points: Any = [*"abcdefg"]
    assert [*map(str, Shard(2, 3).of(points))] == ["b", "e"]
    for text in ("0/3", "4/3", "2/", "x/3", "2"):
        with pytest.raises(ShallowsError, match="is not a shard"):
            Shard.parse(text)
