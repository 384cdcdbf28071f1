"""Tests of claims of papers: reading, verdicts and output; all claims in the repository can be checked."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import shallows as sh
from shallows.cli import main
from shallows.errors import ShallowsError
from shallows.figures.versus import draw
from shallows.reproduction import reproducing
from shallows.reproduction.expected import Claim, Experiment, Paper, read
from shallows.reproduction.findings import check_selections, made_from, points_of
from shallows.reproduction.judging import (
    CANNOT_TELL,
    DOES_NOT_HOLD,
    HOLDS,
    Check,
    Measured,
    judge,
    spread,
    worst,
)
from shallows.reproduction.versus import versus
from shallows.sweeps.points import Outcome, Point
from shared import EXPERIMENTS, SMALL, Shell

# Results of real TCP vary, and depend on the machine; `test_testbed.py` judges a smaller experiment.
PAPERS = sorted(
    path.parent.name for path in EXPERIMENTS.glob("*/expected.toml") if path.parent.name != "testbed"
)

SWEEP = Experiment("x", ["1"], Path("x.toml"), axis="load")


def measured(values: dict[tuple[str, float], list[float]]) -> list[Measured]:
    """Return runs, given for each scheme and load the metric's value with each seed."""
    return [
        Measured({"scheme": scheme, "workload.0.load": load, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for (scheme, load), seeds in values.items()
        for seed, value in enumerate(seeds)
    ]


def claim(**keys: Any) -> Claim:
    """Return a claim with these keys; other required keys have default values."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def verdicts(runs: list[Measured], **keys: Any) -> list[str]:
    """Return the verdict at each place."""
    return [check.verdict for check in judge(claim(**keys), SWEEP, runs, quick=False)]


def test_a_value_holds_within_its_tolerance_and_fails_beyond_it() -> None:
    runs = measured({("a", 0.4): [108.0], ("a", 0.8): [112.0]})
    points = [(0.4, 100.0), (0.8, 100.0)]
    assert verdicts(runs, points=points, relative=0.1) == ["holds", "does not hold"]
    assert verdicts(runs, points=points, absolute=12.0) == ["holds", "holds"]
    assert verdicts(runs, points=points, absolute=7.9) == ["does not hold", "does not hold"]


def test_a_factor_allows_as_many_times_more_as_less() -> None:
    runs = measured({("a", 0.4): [199.0], ("a", 0.6): [51.0], ("a", 0.8): [201.0], ("a", 0.9): [49.0]})
    points = [(load, 100.0) for load in (0.4, 0.6, 0.8, 0.9)]
    assert verdicts(runs, points=points, factor=2) == ["holds", "holds", "does not hold", "does not hold"]


def test_an_interval_over_seeds_that_crosses_the_limit_cannot_tell() -> None:
    # Mean 100, deviation 10: t(0.975, 2) · 10 / √3 = 24.8.
    runs = measured({("a", 0.4): [90.0, 100.0, 110.0]})
    low, high = spread([90.0, 100.0, 110.0])
    assert low == pytest.approx(75.16, abs=0.01)
    assert high == pytest.approx(124.84, abs=0.01)
    at = {"load": 0.4}
    assert verdicts(runs, where=at, expected=100.0, absolute=25.0) == ["holds"]
    assert verdicts(runs, where=at, expected=100.0, absolute=24.0) == ["cannot tell"]
    assert verdicts(runs, where=at, expected=150.0, absolute=25.0) == ["does not hold"]
    assert verdicts(runs, where=at, expected=149.0, absolute=25.0) == ["cannot tell"]


def test_a_change_is_measured_seed_by_seed() -> None:
    # Seeds differ by far more than schemes do; each pair says −10 %.
    runs = measured({("a", 0.4): [90.0, 900.0, 9.0], ("b", 0.4): [100.0, 1000.0, 10.0]})
    keys: dict[str, Any] = {
        "where": {"scheme": "a", "load": 0.4},
        "versus": {"scheme": "b"},
        "expected": -0.1,
    }
    assert verdicts(runs, absolute=0.001, **keys) == ["holds"]
    (check,) = judge(claim(absolute=0.001, **keys), SWEEP, runs, quick=False)
    assert check.ours == pytest.approx(-0.1)
    assert check.paper == "−10 %"


def test_a_change_may_be_a_difference() -> None:
    runs = measured({("a", 0.4): [12.0, 102.0], ("b", 0.4): [10.0, 100.0]})
    keys: dict[str, Any] = {"where": {"scheme": "a", "load": 0.4}, "versus": {"scheme": "b"}}
    (check,) = judge(claim(change="difference", expected=2.0, **keys), SWEEP, runs, quick=False)
    assert (check.verdict, check.ours, check.paper) == ("holds", 2.0, "+2")


def test_an_ordering_is_judged_at_each_place_by_pairs() -> None:
    runs = measured(
        {
            ("a", 0.4): [1.0, 10.0, 100.0],
            ("b", 0.4): [2.0, 11.5, 101.0],
            ("a", 0.6): [1.0, 2.0, 3.0],
            ("b", 0.6): [1.1, 1.9, 3.1],
            ("a", 0.8): [5.0, 5.0, 5.0],
            ("b", 0.8): [5.0, 5.0, 5.0],
        }
    )
    sides: dict[str, Any] = {"kind": "ordering", "lower": {"scheme": "a"}, "higher": {"scheme": "b"}}
    assert verdicts(runs, **sides) == ["holds", "cannot tell", "does not hold"]
    assert verdicts(runs, at=[0.4], **sides) == ["holds"]
    wrong: dict[str, Any] = {"kind": "ordering", "lower": {"scheme": "b"}, "higher": {"scheme": "a"}}
    assert verdicts(runs, at=[0.4], **wrong) == ["does not hold"]


def test_a_crossing_may_be_some_steps_away() -> None:
    runs = measured({("a", 0.4): [1.0, 1.0], ("a", 0.6): [1.0, 9.0], ("a", 0.8): [9.0, 9.0]})
    at: dict[str, Any] = {"kind": "crossing", "level": 5.0}
    assert verdicts(runs, expected=0.8, **at) == ["cannot tell"]
    assert verdicts(runs, expected=0.8, steps=1, **at) == ["holds"]
    assert verdicts(runs, expected=0.4, **at) == ["does not hold"]
    never = measured({("a", 0.4): [1.0], ("a", 0.6): [1.0]})
    (check,) = judge(claim(expected=0.4, steps=1, **at), SWEEP, never, quick=False)
    assert (check.verdict, check.ours) == ("does not hold", math.inf)


def test_places_may_be_sizes_which_are_in_order_of_bytes() -> None:
    values = {"50KB": 1.0, "100KB": 9.0, "1MB": 9.0}
    runs = [
        Measured({"k": k, "seed": 1}, lambda _, value=value: value)  # type: ignore[misc]
        for k, value in values.items()
    ]
    sweep = Experiment("x", ["1"], Path("x.toml"), axis="k")
    crossing = claim(kind="crossing", level=5.0, expected="1MB", steps=1)
    (check,) = judge(crossing, sweep, runs, quick=False)
    assert (check.verdict, check.paper, check.ours) == ("holds", "1MB", 100_000.0)
    ordered = claim(kind="ordering", lower={"k": "50KB"}, higher={"k": "1MB"})
    assert [check.verdict for check in judge(ordered, sweep, runs, quick=False)] == ["holds"]


def test_what_is_claimed_up_to_is_judged_where_ours_is_the_most() -> None:
    runs = measured({("a", 0.4): [90.0], ("a", 0.6): [50.0], ("a", 0.8): [70.0]})
    runs += measured({("b", load): [100.0] for load in (0.4, 0.6, 0.8)})
    keys: dict[str, Any] = {"where": {"scheme": "a"}, "versus": {"scheme": "b"}, "absolute": 0.05}

    def at(**more: Any) -> list[tuple[Any, str]]:
        return [(c.place, c.verdict) for c in judge(claim(**keys, **more), SWEEP, runs, quick=False)]

    assert at(expected=-0.5, extreme="lowest") == [(0.6, "holds")]
    assert at(expected=-0.5, extreme="highest") == [(0.4, "does not hold")]
    assert at(expected=-0.3, extreme="lowest", at=[0.4, 0.8]) == [(0.8, "holds")]
    assert at(expected=-0.1, at=[0.4, 0.8]) == [(0.4, "holds"), (0.8, "does not hold")]


def test_what_is_shown_may_be_divided_by_the_values_of_one_scheme() -> None:
    # Seed by seed: 30/10 and 30/30 give a mean of 2, where the means of 30 and 20 would give 1.5.
    runs = measured({("a", 0.4): [10.0, 30.0], ("b", 0.4): [30.0, 30.0]})
    shown = replace(SWEEP, show=["m"], normalised={"scheme": "a"})
    found = versus(shown, [], runs)
    assert found
    figure = draw(found)
    with pytest.raises(ShallowsError, match=r"experiment x: normalised = \{'scheme': 'c'\} selects no run"):
        versus(replace(shown, normalised={"scheme": "c"}), [], runs)
    drawn: list[Any] = [line.get_ydata() for line in figure.axes[0].get_lines()]
    assert [list(values) for values in drawn] == [[1.0], [2.0]]


def test_an_upper_bound_needs_the_whole_interval_below_it() -> None:
    runs = measured({("a", 0.4): [90.0, 100.0, 110.0]})
    at: dict[str, Any] = {"kind": "below", "where": {"load": 0.4}}
    assert verdicts(runs, expected=125.0, **at) == ["holds"]
    assert verdicts(runs, expected=124.0, **at) == ["cannot tell"]
    assert verdicts(runs, expected=75.0, **at) == ["does not hold"]


def test_a_change_may_be_from_one_place_to_others() -> None:
    # 20 and 50 % more than at load 0.4; at that place itself nothing.
    runs = measured({("a", 0.4): [100.0], ("a", 0.6): [120.0], ("a", 0.8): [150.0]})
    keys: dict[str, Any] = {"versus": {"load": 0.4}, "points": [(0.4, 0.0), (0.6, 0.2), (0.8, 0.2)]}
    assert verdicts(runs, absolute=0.001, **keys) == ["holds", "holds", "does not hold"]


def test_a_change_on_average_is_that_of_all_its_places() -> None:
    # −10 % at one load and −30 % at the other.
    runs = measured({("a", 0.4): [90.0], ("b", 0.4): [100.0], ("a", 0.8): [70.0], ("b", 0.8): [100.0]})
    keys: dict[str, Any] = {"where": {"scheme": "a"}, "versus": {"scheme": "b"}, "over": [0.4, 0.8]}
    assert verdicts(runs, expected=-0.2, absolute=0.001, **keys) == ["holds"]
    # A reduced run has only one of them.
    there = [run for run in runs if run.on("load") == 0.4]
    (check,) = judge(claim(expected=-0.1, absolute=0.001, **keys), SWEEP, there, quick=True)
    assert check.verdict == "holds"


def test_a_claim_is_as_good_as_its_worst_place() -> None:
    checks = {name: Check(None, "", 0, 0, 0, name) for name in ("holds", "cannot tell", "does not hold")}
    assert worst([checks["holds"]]) == "holds"
    assert worst([checks["holds"], checks["cannot tell"]]) == "cannot tell"
    assert worst([checks["cannot tell"], checks["does not hold"], checks["holds"]]) == "does not hold"


def test_a_reduced_run_checks_the_places_that_it_has() -> None:
    runs = measured({("a", 0.4): [100.0]})
    points = [(0.4, 100.0), (0.8, 1.0)]
    assert [check.verdict for check in judge(claim(points=points), SWEEP, runs, quick=True)] == ["holds"]
    with pytest.raises(ShallowsError, match=r"no run has load = 0\.8"):
        verdicts(runs, points=points)
    with pytest.raises(ShallowsError, match="with --quick, no run has a "):
        judge(claim(points=[(0.9, 1.0)]), SWEEP, runs, quick=True)


def test_a_selection_that_is_no_run_or_several_is_refused() -> None:
    runs = measured({("a", 0.4): [1.0], ("b", 0.4): [1.0]})
    with pytest.raises(ShallowsError, match=r"no run has scheme = c\n  the values of scheme are: a, b"):
        verdicts(runs, where={"scheme": "c"}, expected=1.0)
    with pytest.raises(ShallowsError, match="`where` must select one run per seed"):
        verdicts(runs, expected=1.0)


HEAD = """
title = "A paper"
[experiment.x]
figures = ["1"]
scenario = "x.toml"
axis = "load"
quick = { only = { load = [0.3] } }
"""

CLAIM = """
[[claim]]
id = "c"
experiment = "x"
kind = "ordering"
source = "§1"
metric = "fct_us.all.mean"
lower = { load = 0.3 }
higher = { load = 0.6 }
at = [1]
"""


def paper(folder: Path, text: str) -> Paper:
    """Return the paper whose file of claims has this text."""
    (folder / "expected.toml").write_text(text)
    return read(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A paper"', "", "title is missing"),
        ('title = "A paper"', 'title = "A"\nclaims = 1', "unknown key claims; expected one of title"),
        ('figures = ["1"]', "", 'experiment "x": figures is missing'),
        ("only =", "once =", 'experiment "x", quick: unknown key once; expected one of only, set'),
        ('kind = "ordering"', 'kind = "order"', 'claim "c": unknown kind "order"; expected one of value'),
        ("lower =", "smaller =", 'claim "c": unknown key smaller; expected one of'),
        ("lower = { load = 0.3 }", "", 'claim "c": lower is missing'),
        ('experiment = "x"', 'experiment = "y"', 'claim "c": unknown experiment "y"; expected one of x'),
        ('axis = "load"', "", 'claim "c": experiment "x" must have the key axis'),
        (
            'axis = "load"',
            "runs = false",
            'kind must be "computed" if and only if its experiment has runs = false',
        ),
        ("[[claim]]", CLAIM + "[[claim]]", 'two claims have the id "c"'),
        ("quick =", 'draw = [{ figure = "pie" }]\nquick =', 'unknown figure "pie"; expected one of fct, '),
        ("quick =", "draw = [{}]\nquick =", "draw: figure is missing"),
        ("fct_us.all.mean", "backlogs.p99@pool", """claim "c": unknown metric 'backlogs.p99@pool'"""),
        (
            "fct_us.all.mean",
            "backlog_bytes.p999999.9@pool",
            "'p999999.9' is not a percentile\n  write p and a number above 0",
        ),
        (
            "quick =",
            'show = ["ideal_fct_us.all.p0"]\nquick =',
            'experiment "x": unknown metric \'ideal_fct',
        ),
        ("quick =", "testbed = 0\nquick =", 'experiment "x": testbed must be a whole number from 1 to 10000'),
        (
            'axis = "load"',
            'show = ["timeouts"]',
            'experiment "x": the key `axis` is missing; `show` and `normalised` require it',
        ),
        (
            'axis = "load"',
            'normalised = { scheme = "a" }',
            'experiment "x": the key `axis` is missing; `show` and `normalised` require it',
        ),
    ],
)
def test_mistakes_in_a_file_of_claims_are_named(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in HEAD + CLAIM
    with pytest.raises(ShallowsError) as caught:
        paper(tmp_path, (HEAD + CLAIM).replace(old, new))
    assert message in str(caught.value)


LIKE = """
[experiment.x-hosts]
like = "x"
figures = ["1-hosts"]
set = { "host.jitter" = "1us" }
causes = { c = "They burst." }
"""


def test_an_experiment_like_another_is_asked_its_claims(tmp_path: Path) -> None:
    head = HEAD.replace("quick =", 'set = { seed = 2, "host.jitter" = "off" }\nquick =')
    found = paper(tmp_path, head + LIKE + CLAIM.replace("at =", 'cause = "Chance."\nat ='))
    one, other = found.experiments["x"], found.experiments["x-hosts"]
    assert (other.figures, other.scenario, other.axis) == (["1-hosts"], one.scenario, one.axis)
    assert (other.set, other.quick) == ({"seed": 2, "host.jitter": "1us"}, one.quick)
    assert [(each.id, each.experiment, each.cause) for each in found.claims] == [
        ("c", "x", "Chance."),
        ("x-hosts-c", "x-hosts", "They burst."),
    ]
    assert found.claims[1].lower == found.claims[0].lower


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('like = "x"', 'like = "y"', 'experiment "x-hosts": like must be one of x, got "y"'),
        ('like = "x"', 'like = "x-hosts"', 'like must be one of x, got "x-hosts"'),
        ('like = "x"', "", 'experiment "x-hosts": the key causes requires the key like'),
        ("causes = { c", "causes = { d", 'causes: x has no claim "d"; expected one of c'),
        ('"They burst."', "1", 'experiment "x-hosts": causes must be a table of strings'),
    ],
)
def test_an_experiment_like_none_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in LIKE
    with pytest.raises(ShallowsError) as caught:
        paper(tmp_path, HEAD + LIKE.replace(old, new) + CLAIM)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "expected = 1\nrelative = 0.1",
            'key "because" is missing; it must give the reason for the tolerance',
        ),
        ("expected = 1\npoints = [[0.3, 1]]", 'must have either the key "expected" or the key "points"'),
        ("points = [0.3, 1]", "points must be a list of pairs: a place on the axis and a number"),
        ("level = 1", "unknown key level"),
        ('expected = 1\nextreme = "most"', '"extreme" must be "lowest" or "highest"'),
        ('expected = 1\nchange = "ratio"', 'unknown change "ratio"; expected one of relative, difference'),
        ("points = [[0.3, 1]]\nat = [0.3]", 'a claim with "points" must not have the key "at" or "extreme"'),
    ],
)
def test_a_value_says_what_is_expected_and_why_so_closely(tmp_path: Path, keys: str, message: str) -> None:
    value = f'[[claim]]\nid = "v"\nexperiment = "x"\nkind = "value"\nsource = "§1"\nmetric = "m"\n{keys}\n'
    with pytest.raises(ShallowsError, match='claim "v": ' + message):
        paper(tmp_path, HEAD + value)


SIXTY = """
[[claim]]
id = "sixty"
experiment = "x"
kind = "value"
source = "§2"
metric = "flows.completed"
points = [[0.3, 60], [0.6, 60]]
quick = true
"""
SIXTY_ONE = """
[[claim]]
id = "sixty-one"
experiment = "x"
kind = "value"
source = "§3"
metric = "flows.completed"
where = { load = 0.6 }
expected = 61
cause = "sixty flows are all that the scenario has"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of experiments with one paper, all runs of which complete sixty flows."""
    folder = tmp_path / "experiments" / "mine"
    folder.mkdir(parents=True)
    (folder / "x.toml").write_text(SMALL + '[sweep]\naxes = { "workload.0.load" = [0.3, 0.6] }\n')
    (folder / "expected.toml").write_text(HEAD + SIXTY)
    return folder


def test_claims_that_hold_give_exit_code_0_with_table_and_figure(folder: Path, shell: Shell) -> None:
    done = shell("reproduce", "mine", "--experiments", folder.parent)
    assert done.returncode == 0, done.stderr
    assert "1 of 1 claims hold" in done.stdout
    out = folder.parents[1] / "runs/mine"
    assert (out / "x.pdf").read_bytes().startswith(b"%PDF")
    assert "| sixty | §2 | 0.6 | 60 | 60 |  | holds (one seed) |" in (out / "claims.md").read_text()
    assert len(list(out.glob("x/*/summary.json"))) == 2
    # The same command resumes: nothing runs again.
    again = shell("reproduce", "mine", "--experiments", folder.parent)
    assert "2 runs, 2 of them finished before" in again.stdout


def test_a_paper_is_reproduced_in_python_as_on_the_command_line(folder: Path, shell: Shell) -> None:
    (folder / "expected.toml").write_text(HEAD + SIXTY + SIXTY_ONE)
    out = folder.parents[1] / "runs/mine"
    assert shell("reproduce", "mine", "--experiments", folder.parent).returncode == 1
    printed = json.loads((out / "claims.json").read_text())
    again = sh.reproduce("mine", experiments=folder.parent, out=folder.parents[1] / "again")
    assert json.loads(json.dumps(again.document)) == printed
    assert {finding.claim.id: finding.verdict for finding in again.findings} == {
        "sixty": "holds",
        "sixty-one": "does not hold",
    }
    assert (again.holds, again.failed, again.not_run) == (False, [], {})
    assert {path.name for path in again.written} == {path.name for path in out.glob("*.*")} - {
        "claims.json",
        "report.html",
    }


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"jobs": 0}, "jobs must be at least 1, got 0"),
        ({"out": 3}, "a folder must be named by a string or a Path, got 3 (int)"),
        ({"figure": "2"}, "unknown figure '2'"),
    ],
)
def test_a_wrong_argument_of_reproduce_is_refused_before_anything_runs(
    folder: Path, wrong: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = folder.parents[1] / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    with pytest.raises(ShallowsError) as refused:
        sh.reproduce("mine", experiments=folder.parent, **wrong)
    assert message in refused.value.message
    assert not list(empty.iterdir())


def test_claims_of_an_experiment_of_which_a_point_failed_are_not_judged(folder: Path) -> None:
    def fail(_: Path, points: list[Point], *__: object) -> list[Outcome]:
        return [Outcome(point, None, "the disk is full") for point in points]

    found = sh.reproduce("mine", experiments=folder.parent, out=folder.parents[1] / "failed", run_sweep=fail)
    assert (found.failed, found.findings, found.holds) == (["x"], [], False)


def test_an_experiment_that_this_machine_cannot_run_is_named_and_the_others_are_judged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = HEAD[HEAD.index("[experiment.x]") :].replace("experiment.x", "experiment.real") + "testbed = 24\n"
    (folder / "expected.toml").write_text(HEAD + real + SIXTY)
    monkeypatch.setattr(reproducing, "unable", lambda: "only root may")
    out = folder.parents[1] / "out"
    found = sh.reproduce("mine", experiments=folder.parent, out=out)
    assert found.not_run == {"real": "only root may"}
    assert [finding.verdict for finding in found.findings] == [HOLDS]
    assert not found.holds
    assert main(["reproduce", "mine", "--experiments", str(folder.parent), "--out", str(out)]) == 1
    assert "not run: real: only root may" in capsys.readouterr().err


def test_reduced_runs_beside_full_ones_are_refused_before_anything_runs(folder: Path, shell: Shell) -> None:
    (folder / "expected.toml").write_text(HEAD + SIXTY)
    out = folder.parents[1] / "runs/mine"
    asked = ("reproduce", "mine", "1", "--experiments", folder.parent, "--out", out)
    assert shell(*asked).returncode == 0
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    refused = shell(*asked, "--quick")
    assert refused.returncode == 1
    assert "must have claims of only one paper, and of either quick or full runs" in refused.stderr
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before


def test_a_figure_may_show_runs_of_other_experiments(folder: Path) -> None:
    drawing = 'draw = [{ figure = "dots", rows = "load", metrics = ["timeouts"], beside = ["y"] }]\nquick ='
    other = '[experiment.y]\nfigures = ["1"]\nscenario = "x.toml"\nset = { "tcp.congestion" = "reno" }\n'
    (folder / "expected.toml").write_text(HEAD.replace("quick =", drawing) + other + SIXTY)
    done = sh.reproduce("mine", experiments=folder.parent, out=folder.parents[1] / "out")
    assert folder.parents[1] / "out/x-dots.png" in done.written
    assert done.holds


def test_what_is_to_be_shown_is_drawn_though_the_paper_has_no_points(folder: Path, shell: Shell) -> None:
    drawings = 'show = ["timeouts"]\ndraw = [{ figure = "fct-cdf", where = { load = 0.6 } }]\nquick ='
    (folder / "expected.toml").write_text(HEAD.replace("quick =", drawings))
    out = folder.parents[1] / "runs/mine"
    assert shell("reproduce", "mine", "--experiments", folder.parent).returncode == 0
    assert {path.name for path in out.glob("*.pdf")} == {"x.pdf", "x-fct-cdf.pdf"}
    # The reduced run has no point at this load.
    assert shell("reproduce", "mine", "--quick", "--experiments", folder.parent).returncode == 0
    assert {path.name for path in out.with_name("mine-quick").glob("*.pdf")} == {"x.pdf"}


def test_a_claim_that_does_not_hold_gives_exit_code_1_and_its_cause(folder: Path, shell: Shell) -> None:
    (folder / "expected.toml").write_text(HEAD + SIXTY + SIXTY_ONE)
    done = shell("reproduce", "mine", "--experiments", folder.parent)
    assert done.returncode == 1
    assert "1 of 2 claims hold" in done.stdout
    assert "sixty-one: sixty flows are all that the scenario has" in done.stdout
    as_json = shell("reproduce", "mine", "--experiments", folder.parent, "--json")
    assert as_json.returncode == 1
    found = {claim["id"]: claim["verdict"] for claim in json.loads(as_json.stdout)["claims"]}
    assert found == {"sixty": "holds", "sixty-one": "does not hold"}


def test_a_reduced_run_leaves_out_what_it_cannot_show(folder: Path, shell: Shell) -> None:
    (folder / "expected.toml").write_text(HEAD + SIXTY + SIXTY_ONE)
    done = shell("reproduce", "mine", "1", "--quick", "--experiments", folder.parent)
    assert done.returncode == 0, done.stdout
    runs = list((folder.parents[1] / "runs/mine-quick/x").glob("*/summary.json"))
    assert len(runs) == 1


def test_an_experiment_may_run_some_points_of_its_sweep(folder: Path, shell: Shell) -> None:
    one = HEAD.replace('axis = "load"\n', 'axis = "load"\nonly = { load = [0.6] }\n')
    (folder / "expected.toml").write_text(one + SIXTY.replace("[0.3, 60], ", ""))
    done = shell("reproduce", "mine", "--experiments", folder.parent)
    assert done.returncode == 0, done.stdout
    assert len(list((folder.parents[1] / "runs/mine/x").glob("*/summary.json"))) == 1
    # A claim about a point that is left out is rejected before anything runs.
    (folder / "expected.toml").write_text(one + SIXTY)
    assert "no run has load = 0.3" in shell("reproduce", "mine", "--experiments", folder.parent).stderr


def test_what_is_not_there_is_said_with_what_is(folder: Path, shell: Shell) -> None:
    def error(*arguments: str | Path) -> str:
        done = shell("reproduce", *arguments)
        assert done.returncode == 1
        return done.stderr

    parent = folder.parent
    assert "unknown paper 'yours'\n  the papers are: mine" in error("yours", "--experiments", parent)
    assert "unknown figure '7'\n  the figures are: 1" in error("mine", "7", "--experiments", parent)
    assert "without it, the package's papers are used" in error("mine", "--experiments", "nowhere")


def test_the_claims_of_the_testbed_are_about_runs_that_there_are(tmp_path: Path) -> None:
    paper = read(EXPERIMENTS / "testbed")
    for experiment in paper.experiments.values():
        points = points_of(experiment, tmp_path, quick=False)
        assert {point.source.dilation for point in points} == {experiment.testbed}
        assert all("-testbed-" in point.folder.name for point in points)
        check_selections(paper, experiment, points, quick=False)
        assert paper.claims_of(experiment, quick=False)


def test_claims_about_runs_that_there_will_not_be_are_refused_before_any_runs(
    folder: Path, shell: Shell
) -> None:
    (folder / "expected.toml").write_text(HEAD + SIXTY_ONE.replace("0.6", "0.7"))
    done = shell("reproduce", "mine", "--experiments", folder.parent)
    assert done.returncode == 1
    assert 'claim "sixty-one": no run has load = 0.7' in done.stderr
    assert not list((folder.parents[1] / "runs").glob("**/summary.json"))


@pytest.mark.parametrize("name", PAPERS)
def test_every_committed_verdict_is_of_a_claim_and_has_a_cause_if_it_is_not_borne_out(name: str) -> None:
    claims = {claim.id: claim for claim in read(EXPERIMENTS / name).claims}
    missed: set[str] = set()
    for path in sorted((EXPERIMENTS / name / "results").glob("*.md")):
        rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in path.read_text().splitlines()]
        judged = [row for row in rows if row and row[-1] in {HOLDS, CANNOT_TELL, DOES_NOT_HOLD}]
        assert judged, path.name
        assert {row[0] for row in judged} <= claims.keys(), path.name
        missed |= {row[0] for row in judged if row[-1] != HOLDS}
    assert [name for name in sorted(missed) if not claims[name].cause] == []


@pytest.mark.parametrize("name", [*PAPERS, "testbed"])
def test_committed_results_are_of_what_is_run_today(name: str) -> None:
    paper = read(EXPERIMENTS / name)
    experiment_of = {claim.id: claim.experiment for claim in paper.claims}
    for path in sorted((EXPERIMENTS / name / "results").glob("*.md")):
        *rows, last = path.read_text().splitlines(keepends=True)
        claims = {row.split("|")[1].strip() for row in rows if row.startswith("| ")} - {"claim"}
        expected = made_from(paper, {experiment_of[claim] for claim in claims})
        assert last == expected, f"repeat it: shallows reproduce {name} {path.stem}"


@pytest.mark.parametrize("name", PAPERS)
def test_the_reduced_form_of_every_experiment_judges_a_claim(name: str) -> None:
    paper = read(EXPERIMENTS / name)
    assert [each.name for each in paper.experiments.values() if not paper.claims_of(each, quick=True)] == []


@pytest.mark.parametrize("name", PAPERS)
def test_every_figure_of_a_paper_is_reproduced_in_its_reduced_form(
    name: str, shell: Shell, tmp_path: Path
) -> None:
    done = shell("reproduce", name, "--quick", "--json", "--out", tmp_path / "out", timeout_s=1500)
    document = json.loads(done.stdout)
    missed = [claim["id"] for claim in document["claims"] if claim["verdict"] != "holds"]
    assert (missed, done.returncode) == ([], 0), done.stderr
    # Of each experiment something is checked.
    claimed = {claim["id"] for claim in document["claims"]}
    everything = read(EXPERIMENTS / name)
    for experiment in everything.experiments.values():
        assert claimed & {claim.id for claim in everything.claims_of(experiment, quick=True)}
