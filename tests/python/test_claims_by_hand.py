"""What a file of claims may say, whom its claims are about, and where each is judged: at the limits."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from shallows.errors import ShallowsError
from shallows.reproduction import claim_types, expected, findings, judging
from shallows.reproduction.beside import beside
from shallows.reproduction.expected import Claim, Drawing, Experiment, Paper, find, read
from shallows.reproduction.findings import Finding
from shallows.reproduction.judging import Check, Measured, judge

LARGEST = 2**63 - 1
"""Beyond it TOML has no whole number."""


def test_values_of_claims_end_where_numbers_of_the_engine_do() -> None:
    def taken(rule: claim_types.Rule, *values: Any) -> list[bool]:
        return [rule[0](value) for value in values]

    no_numbers = (True, "1", float("inf"), float("nan"), None)
    assert taken(claim_types.NUMBER, LARGEST, -LARGEST, -0.5) == [True] * 3
    assert taken(claim_types.NUMBER, LARGEST + 1, -LARGEST - 1, *no_numbers) == [False] * 7
    assert taken(claim_types.SHARE, 0, 0.0, 2.5) == [True] * 3
    assert taken(claim_types.SHARE, -1e-9, -1, *no_numbers) == [False] * 7
    assert taken(claim_types.COUNT, 0, 1, LARGEST) == [True] * 3
    assert taken(claim_types.COUNT, -1, LARGEST + 1, 1.0, *no_numbers) == [False] * 8
    assert taken(claim_types.EXPERIMENT["testbed"], 1, 10_000) == [True] * 2
    assert taken(claim_types.EXPERIMENT["testbed"], 0, 10_001, True, 1.0) == [False] * 4


def test_values_of_claims_have_the_shape_of_their_keys() -> None:
    def taken(rule: claim_types.Rule, *values: Any) -> list[bool]:
        return [rule[0](value) for value in values]

    long = "9" * 18
    assert taken(claim_types.PLACE, 0.4, "325KB", f"{long}B", f"0.{long}ms") == [True] * 4
    assert taken(claim_types.PLACE, f"{long}9B", f"0.{long}9ms", "soon", "5", True, None) == [False] * 6
    assert taken(claim_types.CLAIM["points"], [], [[0.3, 1], ["9KB", 2.5]]) == [True] * 2
    wrong: tuple[Any, ...] = [0.3], [0.3, 1, 2], ["soon", 1], [0.3, "9KB"], (0.3, 1), {}
    assert taken(claim_types.CLAIM["points"], *([each] for each in wrong), [[0.3, 1], [0.3]]) == [False] * 7
    assert taken(claim_types.LISTS, {}, {"seed": [1]}) == [True] * 2
    assert taken(claim_types.LISTS, {"seed": [1], "load": 1}, [], "x") == [False] * 3
    assert taken(claim_types.TEXTS, [], ["a"]) == [True] * 2
    assert taken(claim_types.TEXTS, ["a", 1], "a") == [False] * 2
    assert taken(claim_types.EXPERIMENT["causes"], {}, {"a": "b"}) == [True] * 2
    assert taken(claim_types.EXPERIMENT["causes"], {"a": "b", "c": 1}, ["b"]) == [False] * 2
    assert taken(claim_types.DRAWING["flows"], [0, 3]) == [True]
    assert taken(claim_types.DRAWING["flows"], [0, -1], 3) == [False] * 2


def claim(**keys: Any) -> Claim:
    """What a paper could claim."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def test_a_reduced_run_checks_orderings_and_what_needs_none_unless_it_is_said() -> None:
    kinds = ("value", "below", "crossing", "ordering", "computed")
    assert [claim(kind=kind).is_quick for kind in kinds] == [False, False, False, True, True]
    assert [claim(kind=kind, quick=True).is_quick for kind in kinds] == [True] * 5
    assert [claim(kind=kind, quick=False).is_quick for kind in kinds] == [False] * 5


def test_a_number_is_in_percent_if_it_is_a_relative_change() -> None:
    sides = {"versus": {"scheme": "b"}}
    found = [claim(), claim(**sides), claim(**sides, change="difference"), claim(change="difference")]
    assert [each.in_percent for each in found] == [False, True, False, False]


def test_a_figure_is_chosen_by_its_name_or_by_that_of_its_experiment() -> None:
    one, two = (
        Experiment(name, figures, Path("x.toml")) for name, figures in (("one", ["1", "2"]), ("two", ["2"]))
    )
    claims = [claim(id="a", experiment="one"), claim(id="b", experiment="one", quick=True), claim()]
    paper = Paper(Path("p"), "P", {"one": one, "two": two}, claims)
    chosen = {name: [each.name for each in paper.choose(name)] for name in ("1", "2", "one", "two", None)}
    assert chosen == {
        "1": ["one"],
        "2": ["one", "two"],
        "one": ["one"],
        "two": ["two"],
        None: ["one", "two"],
    }
    with pytest.raises(ShallowsError, match=r"no figure '3'\n  its figures are: 1, 2$"):
        paper.choose("3")
    assert [each.id for each in paper.claims_of(one, quick=False)] == ["a", "b"]
    assert [each.id for each in paper.claims_of(one, quick=True)] == ["b"]
    assert Drawing("fct", ports=["a"]).options == {"ports": ["a"]}
    assert Drawing("fct", flows=(3,)).options == {"flows": [3]}


HEAD = 'title = "A paper"\n[experiment.x]\nfigures = ["1"]\nscenario = "x.toml"\n'
AXIS = 'axis = "load"\n'
CLAIM = '[[claim]]\nid = "c"\nexperiment = "x"\nsource = "§1"\nmetric = "flows.completed"\n'


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("value", "points = [[0.3, 60]]"),
        ("value", "expected = 1\nat = [0.3]"),
        ("value", 'expected = 1\nextreme = "lowest"'),
        ("value", "expected = 1\nover = [0.3]"),
        ("crossing", "expected = 1\nlevel = 3"),
    ],
)
def test_what_is_claimed_of_places_needs_an_axis(tmp_path: Path, kind: str, keys: str) -> None:
    text = CLAIM + f'kind = "{kind}"\n{keys}\n'
    (tmp_path / "expected.toml").write_text(HEAD + AXIS + text)
    (found,) = read(tmp_path).claims
    assert (found.kind, found.experiment) == (kind, "x")
    (tmp_path / "expected.toml").write_text(HEAD + text)
    with pytest.raises(ShallowsError, match='claim "c": experiment "x" has no axis'):
        read(tmp_path)


def test_what_is_computed_goes_with_experiments_that_do_not_run(tmp_path: Path) -> None:
    for runs, kind, fits in (
        ("true", "computed", False),
        ("true", "value", True),
        ("false", "computed", True),
        ("false", "value", False),
    ):
        text = f'{HEAD}runs = {runs}\n{CLAIM}kind = "{kind}"\nexpected = 1\n'
        (tmp_path / "expected.toml").write_text(text)
        if fits:
            assert read(tmp_path).experiments["x"].runs is (runs == "true")
        else:
            with pytest.raises(ShallowsError, match="runs = false"):
                read(tmp_path)


def test_each_tolerance_needs_its_reason_and_none_needs_none(tmp_path: Path) -> None:
    def said(kind: str, keys: str) -> str:
        (tmp_path / "expected.toml").write_text(f'{HEAD}{AXIS}{CLAIM}kind = "{kind}"\nexpected = 1\n{keys}\n')
        try:
            return read(tmp_path).claims[0].because
        except ShallowsError as error:
            return error.message.rpartition(": ")[2]

    for key in ("relative = 0.1", "absolute = 1", "factor = 2"):
        assert said("value", key) == "a tolerance needs its reason, because"
        assert said("value", f'{key}\nbecause = "why"') == "why"
    assert said("crossing", "level = 3\nsteps = 1") == "a tolerance needs its reason, because"
    assert said("crossing", "level = 3\nsteps = 0") == ""
    assert said("value", "relative = 0") == ""


def test_a_paper_is_a_folder_with_a_file_of_claims(tmp_path: Path) -> None:
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "expected.toml").write_text(HEAD)
    (tmp_path / "c").mkdir()
    assert find("a", tmp_path).folder == tmp_path / "a"
    with pytest.raises(ShallowsError, match=r"has no paper 'c'\n  the papers are: a, b; --experiments"):
        find("c", tmp_path)
    with pytest.raises(ShallowsError, match="there is no folder"):
        find("a", tmp_path / "nowhere")
    assert find(_papers()[0], None).claims


def _papers() -> list[str]:
    """Those of this checkout."""
    experiments = Path(expected.__file__).resolve().parents[3] / "experiments"
    return [path.parent.name for path in experiments.glob("*/expected.toml")]


def test_a_fingerprint_is_another_once_anything_else_is_run(tmp_path: Path) -> None:
    scenario = tmp_path / "x.toml"
    scenario.write_text("a = 1\n")
    plain = Experiment("x", ["1"], scenario)
    known = plain.fingerprint
    assert (len(known), set(known) <= set("0123456789abcdef")) == (8, True)
    others = [
        Experiment("x", ["1"], scenario, set={"a": 2}).fingerprint,
        Experiment("x", ["1"], scenario, only={"a": [1]}).fingerprint,
        Experiment("x", ["1"], scenario, testbed=10).fingerprint,
    ]
    # Names and figures change nothing that runs, remarks neither.
    scenario.write_text("# a remark\na = 1\n")
    assert Experiment("y", ["2"], scenario, axis="a").fingerprint == known
    scenario.write_text("a = 2\n")
    assert len({known, plain.fingerprint, *others}) == 5


def measured(**values: list[float]) -> list[Measured]:
    """Runs of schemes at loads of 0.2, 0.4 and so on, of one seed."""
    return [
        Measured({"scheme": scheme, "load": (place + 1) / 5, "seed": 1}, lambda _, value=value: value)  # type: ignore[misc]
        for scheme, found in values.items()
        for place, value in enumerate(found)
    ]


ALONG = cast(Experiment, SimpleNamespace(axis="load", name="x"))


def test_an_ordering_is_asked_at_all_places_unless_it_is_between_two_of_them() -> None:
    runs = measured(a=[1.0, 5.0], b=[2.0, 3.0])
    by_scheme = claim(kind="ordering", lower={"scheme": "a"}, higher={"scheme": "b"})
    found = judge(by_scheme, ALONG, runs, quick=False)
    assert [(each.place, each.ours, each.verdict) for each in found] == [
        (0.2, 1.0, judging.HOLDS),
        (0.4, -2.0, judging.DOES_NOT_HOLD),
    ]
    assert judging.worst(found) == judging.DOES_NOT_HOLD
    assert judging.worst(found[:1]) == judging.HOLDS
    only = claim(kind="ordering", lower={"scheme": "a"}, higher={"scheme": "b"}, at=[0.4])
    assert [each.place for each in judge(only, ALONG, runs, quick=False)] == [0.4]
    between = claim(kind="ordering", where={"scheme": "b"}, lower={"load": 0.2}, higher={"load": 0.4})
    (one,) = judge(between, ALONG, runs, quick=False)
    assert (one.place, one.ours, one.verdict) == (None, 1.0, judging.HOLDS)


def test_an_extreme_is_taken_over_all_places_or_those_that_are_named() -> None:
    runs = measured(a=[3.0, 1.0, 2.0])
    for keys, place in (
        ({"extreme": "lowest"}, 0.4),
        ({"extreme": "highest"}, 0.2),
        ({"extreme": "lowest", "at": [0.2, 0.6]}, 0.6),
    ):
        (found,) = judge(claim(expected=2.0, absolute=5.0, **keys), ALONG, runs, quick=False)
        assert found.place == place
    # A reduced run has the places that it has, and must have one.
    asked = claim(expected=2.0, at=[0.6, 0.8])
    assert [each.place for each in judge(asked, ALONG, runs, quick=True)] == [0.6]
    with pytest.raises(ShallowsError, match="the reduced run has none of its places"):
        judge(claim(expected=2.0, at=[0.8]), ALONG, runs, quick=True)


def test_a_tolerance_is_relative_absolute_and_a_factor_together() -> None:
    def verdict(value: float, **keys: Any) -> str:
        # The place on the axis along which the experiment is drawn is no matter.
        runs = [Measured({"load": 0.4, "seed": 1}, lambda _: value)]
        (found,) = judge(claim(**keys), ALONG, runs, quick=False)
        return found.verdict

    # Of −10: a tenth and a half to either side, and so −11.5 to −8.5; of 10 by a factor of 2 and as much more
    # 3.5 to 21.5.
    near = {"expected": -10.0, "relative": 0.1, "absolute": 0.5}
    assert [verdict(value, **near) for value in (-11.5, -8.5)] == [judging.HOLDS] * 2
    assert [verdict(value, **near) for value in (-11.6, -8.4)] == [judging.DOES_NOT_HOLD] * 2
    wide = {"expected": 10.0, "relative": 0.1, "absolute": 0.5, "factor": 2.0}
    assert [verdict(value, **wide) for value in (3.5, 21.5)] == [judging.HOLDS] * 2
    assert [verdict(value, **wide) for value in (3.4, 21.6)] == [judging.DOES_NOT_HOLD] * 2


def test_what_lies_on_a_limit_is_within_and_what_ends_there_cannot_be_told() -> None:
    within = judging.within
    assert [within(3, 6, 3, 6), within(2, 3, 3, 6), within(6, 7, 3, 6)] == [
        judging.HOLDS,
        judging.CANNOT_TELL,
        judging.CANNOT_TELL,
    ]
    assert [within(1, 2.9, 3, 6), within(6.1, 7, 3, 6)] == [judging.DOES_NOT_HOLD] * 2


def test_a_level_is_crossed_at_the_first_place_above_it_seed_by_seed() -> None:
    def found(*seeds: list[float], steps: int = 0) -> Check:
        runs = [
            Measured({"load": place, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
            for seed, values in enumerate(seeds)
            for place, value in zip((0.2, 0.4, 0.6), values, strict=True)
        ]
        asked = claim(kind="crossing", expected=0.4, level=1.0, steps=steps)
        return judge(asked, ALONG, runs, quick=False)[0]

    at_once, second, last, never = [2.0] * 3, [1.0, 2.0, 2.0], [1.0, 1.0, 2.0], [1.0] * 3
    assert [found(each).ours for each in (at_once, second, last, never)] == [0.2, 0.4, 0.6, float("inf")]
    verdicts = [found(each).verdict for each in (at_once, second, last)]
    assert verdicts == [judging.DOES_NOT_HOLD, judging.HOLDS, judging.DOES_NOT_HOLD]
    assert [found(each, steps=1).verdict for each in (at_once, last, never)] == [
        judging.HOLDS,
        judging.HOLDS,
        judging.DOES_NOT_HOLD,
    ]
    two = found(second, last)
    assert (two.verdict, two.ours, two.low, two.high) == (judging.CANNOT_TELL, 0.6, 0.4, 0.6)


def test_findings_are_told_with_what_was_measured_and_its_ends() -> None:
    checks = [Check(0.4, "10", 12.0, 11.0, 13.0, "holds"), Check(None, "10", 12.0, 12.0, 12.0, "holds")]
    finding = Finding(claim(expected=10.0), checks)
    told = finding.describe()["checks"]
    assert [each["shown"] for each in told] == [
        {"ours": "12", "interval": "11 – 13"},
        {"ours": "12", "interval": ""},
    ]
    paper = cast(Any, SimpleNamespace(title="P", experiments={}))
    rows = findings.markdown([finding], paper).splitlines()
    assert rows[2:4] == ["| c | §1 | 0.4 | 10 | 12 | 11 – 13 | holds |", "| c | §1 |  | 10 | 12 |  | holds |"]
    assert finding.describe()["verdict"] == "holds"
    # A percent of a relative change, a place that is never reached.
    half = claim(expected=0.5, versus={"scheme": "b"})
    assert findings.number(half, checks[0]) == "+1,200 %"


def test_only_metrics_with_points_or_that_are_shown_are_drawn_and_bounds_once() -> None:
    experiment = Experiment("x", ["1"], Path("x.toml"), axis="load", show=["s", "ideal_m"])
    runs = measured(a=[3.0, 1.0], b=[2.0, 4.0])
    claims = [
        claim(points=[(0.2, 9.0), (0.4, 8.0)], where={"scheme": "b"}),
        claim(metric="other", expected=1.0),
        claim(metric="change", points=[(0.2, 1.0)], versus={"scheme": "a"}),
    ]
    found = beside(experiment, claims, runs)
    assert found is not None
    shown, bounded = found.panels
    assert (shown.title, bounded.title) == ("s", "m")
    assert [line.name for line in shown.lines] == ["a", "b"]
    assert [line.name for line in bounded.lines] == ["a", "b", "ideal"]
    assert [each[1] for each in bounded.lines[1].ours] == [2.0, 4.0]
    # The paper's points are beside the runs that they are about.
    assert [len(line.paper) for line in bounded.lines] == [0, 2, 0]
    assert found.seeds == [1]
    assert beside(experiment, claims, runs) is not None
    nothing = Experiment("x", ["1"], Path("x.toml"), axis="load")
    assert beside(nothing, claims[1:], runs) is None
    assert beside(Experiment("x", ["1"], Path("x.toml")), claims, runs) is None


def test_a_claim_without_a_name_is_called_by_its_number(tmp_path: Path) -> None:
    named = CLAIM + 'kind = "value"\nexpected = 1\n'
    (tmp_path / "expected.toml").write_text(HEAD + named + '[[claim]]\nkind = "value"\n')
    with pytest.raises(ShallowsError, match="claim 2: there is no experiment"):
        read(tmp_path)


def test_what_is_shown_is_divided_by_what_was_at_the_same_place_with_the_same_seed() -> None:
    experiment = Experiment("x", ["1"], Path("x.toml"), axis="load", show=["m"], normalised={"scheme": "a"})
    runs = measured(a=[2.0, 4.0], b=[3.0, 2.0])
    found = beside(experiment, [], runs)
    assert found is not None
    (panel,) = found.panels
    assert [[each[1] for each in line.ours] for line in panel.lines] == [[1, 1], [1.5, 0.5]]
    with pytest.raises(ShallowsError, match=r"no run of x is \{'scheme': 'a'\} beside"):
        beside(experiment, [], runs[1:])
