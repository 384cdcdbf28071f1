"""Tests of files of claims: allowed keys, the runs that a claim selects, and fingerprints of experiments."""

from pathlib import Path
from typing import Any

import pytest

from fake_claims import claim
from shallows.errors import ShallowsError
from shallows.reproduction import expected
from shallows.reproduction.expected import Claim, Drawing, Experiment, Paper, find, read

# Claims.


@pytest.mark.parametrize(
    ("keys", "is_quick"),
    [
        # A number, a bound and a crossing need a full run, unless the claim states otherwise.
        ({"kind": "value"}, False),
        ({"kind": "below"}, False),
        ({"kind": "crossing"}, False),
        ({"kind": "ordering"}, True),
        ({"kind": "computed"}, True),
        *(({"kind": kind, "quick": said}, said)
          for kind in ("value", "below", "crossing", "ordering", "computed")
          for said in (True, False)),
    ],
)  # fmt: skip
def test_a_reduced_run_checks_orderings_and_computed_claims_and_those_that_say_so(
    keys: dict[str, Any], is_quick: bool
) -> None:
    assert claim(**keys).is_quick is is_quick


VERSUS = {"versus": {"scheme": "b"}}


@pytest.mark.parametrize(
    ("keys", "in_percent"),
    [
        ({}, False),
        (VERSUS, True),
        (VERSUS | {"change": "difference"}, False),
        ({"change": "difference"}, False),
    ],
)
def test_a_number_is_in_percent_if_it_is_a_relative_change(keys: dict[str, Any], in_percent: bool) -> None:
    assert claim(**keys).in_percent is in_percent


# Papers.


ONE, TWO = (
    Experiment(name, figures, Path("x.toml")) for name, figures in (("one", ["1", "2"]), ("two", ["2"]))
)
PAPER = Paper(
    Path("p"),
    "P",
    {"one": ONE, "two": TWO},
    [claim(id="a", experiment="one"), claim(id="b", experiment="one", quick=True), claim()],
)


@pytest.mark.parametrize(
    ("name", "experiments"),
    [
        ("1", ["one"]),
        ("2", ["one", "two"]),
        ("one", ["one"]),
        ("two", ["two"]),
        (None, ["one", "two"]),
    ],
)
def test_experiments_are_chosen_by_a_figure_or_by_their_name(
    name: str | None, experiments: list[str]
) -> None:
    assert [each.name for each in PAPER.choose(name)] == experiments


def test_an_unknown_figure_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ShallowsError, match=r"unknown figure '3'\n  the figures are: 1, 2$"):
        PAPER.choose("3")


@pytest.mark.parametrize(("quick", "claims"), [(False, ["a", "b"]), (True, ["b"])])
def test_an_experiment_has_its_own_claims_and_a_reduced_one_those_that_it_can_check(
    quick: bool, claims: list[str]
) -> None:
    assert [each.id for each in PAPER.claims_of(ONE, quick=quick)] == claims


@pytest.mark.parametrize(
    ("keys", "options"),
    [
        ({"ports": ["a"]}, {"ports": ["a"]}),
        ({"flows": (3,)}, {"flows": [3]}),
        ({"metrics": ("timeouts",), "rows": "case"}, {"metrics": ["timeouts"], "rows": "case"}),
        ({"baseline": {"scheme": "a"}, "ideal": True}, {"baseline": {"scheme": "a"}, "ideal": True}),
        ({"beside": ["other"]}, {}),
    ],
)
def test_a_drawing_has_the_options_that_it_names(keys: dict[str, Any], options: dict[str, Any]) -> None:
    assert Drawing("fct", **keys).options == options


# Files.


HEAD = 'title = "A paper"\n[experiment.x]\nfigures = ["1"]\nscenario = "x.toml"\n'
AXIS = 'axis = "load"\n'
CLAIM = '[[claim]]\nid = "c"\nexperiment = "x"\nsource = "§1"\nmetric = "flows.completed"\n'


def read_text(folder: Path, text: str) -> Paper:
    """Return the paper with this text as its file of claims."""
    (folder / "expected.toml").write_text(text)
    return read(folder)


def read_claim(folder: Path, text: str) -> Claim:
    """The only claim of a file with this text."""
    (found,) = read_text(folder, text).claims
    return found


def test_a_figure_of_unknown_runs_beside_its_own_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ShallowsError, match='experiment "x", draw: unknown experiment "y"; expected one of x'
    ):
        read_text(tmp_path, f'{HEAD}draw = [{{ figure = "dots", beside = ["y"] }}]\n')


def test_a_figure_of_an_unknown_metric_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShallowsError, match="experiment \"x\", draw: unknown metric 'luck'"):
        read_text(tmp_path, f'{HEAD}draw = [{{ figure = "dots", metrics = ["luck"] }}]\n')


AT_PLACES = [
    ("value", "points = [[0.3, 60]]"),
    ("value", "expected = 1\nat = [0.3]"),
    ("value", 'expected = 1\nextreme = "lowest"'),
    ("value", "expected = 1\nover = [0.3]"),
    ("crossing", "expected = 1\nlevel = 3"),
]


@pytest.mark.parametrize(("kind", "keys"), AT_PLACES)
def test_claims_about_places_are_accepted_with_an_axis(tmp_path: Path, kind: str, keys: str) -> None:
    found = read_claim(tmp_path, f'{HEAD}{AXIS}{CLAIM}kind = "{kind}"\n{keys}\n')
    assert (found.kind, found.experiment) == (kind, "x")


@pytest.mark.parametrize(("kind", "keys"), AT_PLACES)
def test_claims_about_places_are_refused_without_an_axis(tmp_path: Path, kind: str, keys: str) -> None:
    with pytest.raises(ShallowsError, match='claim "c": experiment "x" must have the key axis'):
        read_text(tmp_path, f'{HEAD}{CLAIM}kind = "{kind}"\n{keys}\n')


@pytest.mark.parametrize(("runs", "kind"), [("true", "value"), ("false", "computed")])
def test_experiments_that_do_not_run_have_computed_claims(tmp_path: Path, runs: str, kind: str) -> None:
    # Without a run, a claim is about a path into the scenario or its marking curves.
    claim = CLAIM if runs == "true" else CLAIM.replace("flows.completed", "curves.0.kmin.bytes")
    found = read_text(tmp_path, f'{HEAD}runs = {runs}\n{claim}kind = "{kind}"\nexpected = 1\n')
    assert found.experiments["x"].runs is (runs == "true")


@pytest.mark.parametrize(("runs", "kind"), [("true", "computed"), ("false", "value")])
def test_computed_claims_of_experiments_that_run_and_others_of_those_that_do_not_are_refused(
    tmp_path: Path, runs: str, kind: str
) -> None:
    with pytest.raises(ShallowsError, match="runs = false"):
        read_text(tmp_path, f'{HEAD}runs = {runs}\n{CLAIM}kind = "{kind}"\nexpected = 1\n')


TOLERANCES = [("value", "relative = 0.1"), ("value", "absolute = 1"), ("value", "factor = 2")]


@pytest.mark.parametrize(("kind", "tolerance"), [*TOLERANCES, ("crossing", "level = 3\nsteps = 1")])
def test_a_tolerance_without_a_reason_is_refused(tmp_path: Path, kind: str, tolerance: str) -> None:
    with pytest.raises(
        ShallowsError, match=': key "because" is missing; it must give the reason for the tolerance\n'
    ):
        read_claim(tmp_path, f'{HEAD}{AXIS}{CLAIM}kind = "{kind}"\nexpected = 1\n{tolerance}\n')


@pytest.mark.parametrize(("kind", "tolerance"), TOLERANCES)
def test_a_tolerance_is_accepted_with_its_reason(tmp_path: Path, kind: str, tolerance: str) -> None:
    text = f'{HEAD}{AXIS}{CLAIM}kind = "{kind}"\nexpected = 1\n{tolerance}\nbecause = "why"\n'
    assert read_claim(tmp_path, text).because == "why"


@pytest.mark.parametrize(("kind", "keys"), [("crossing", "level = 3\nsteps = 0"), ("value", "relative = 0")])
def test_a_tolerance_of_zero_needs_no_reason(tmp_path: Path, kind: str, keys: str) -> None:
    text = f'{HEAD}{AXIS}{CLAIM}kind = "{kind}"\nexpected = 1\n{keys}\n'
    assert read_claim(tmp_path, text).because == ""


def test_a_claim_without_a_name_is_called_by_its_number(tmp_path: Path) -> None:
    named = CLAIM + 'kind = "value"\nexpected = 1\n'
    with pytest.raises(ShallowsError, match="claim 2: experiment is missing"):
        read_text(tmp_path, HEAD + named + '[[claim]]\nkind = "value"\n')


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    """A folder with the papers a and b, and a folder c without claims."""
    for name in ("b", "a", "c"):
        (tmp_path / name).mkdir()
    for name in ("a", "b"):
        (tmp_path / name / "expected.toml").write_text(HEAD)
    return tmp_path


def test_a_paper_is_a_folder_with_a_file_of_claims(papers: Path) -> None:
    assert find("a", papers).folder == papers / "a"


def test_an_unknown_paper_is_refused_with_those_that_there_are(papers: Path) -> None:
    with pytest.raises(ShallowsError, match=r"unknown paper 'c'\n  the papers are: a, b; --experiments"):
        find("c", papers)


def test_a_missing_folder_of_papers_is_refused(papers: Path) -> None:
    with pytest.raises(ShallowsError, match=r"the folder .* does not exist"):
        find("a", papers / "nowhere")


def test_papers_are_those_of_the_checkout_by_default() -> None:
    experiments = Path(expected.__file__).resolve().parents[3] / "experiments"
    name = next(path.parent.name for path in experiments.glob("*/expected.toml"))
    assert find(name, None).claims


# Fingerprints.


@pytest.fixture
def scenario_of_a(tmp_path: Path) -> Path:
    """A scenario file with one key, which is enough for a fingerprint."""
    path = tmp_path / "x.toml"
    path.write_text("a = 1\n")
    return path


def test_a_fingerprint_is_of_eight_hexadecimal_digits(scenario_of_a: Path) -> None:
    known = Experiment("x", ["1"], scenario_of_a).fingerprint
    assert (len(known), set(known) <= set("0123456789abcdef")) == (8, True)


def test_every_change_of_what_is_run_gives_another_fingerprint(scenario_of_a: Path) -> None:
    plain = Experiment("x", ["1"], scenario_of_a)
    found = [
        plain.fingerprint,
        Experiment("x", ["1"], scenario_of_a, set={"a": 2}).fingerprint,
        Experiment("x", ["1"], scenario_of_a, only={"a": [1]}).fingerprint,
        Experiment("x", ["1"], scenario_of_a, testbed=10).fingerprint,
    ]
    scenario_of_a.write_text("a = 2\n")
    assert len({*found, plain.fingerprint}) == 5


def test_names_figures_an_axis_and_remarks_do_not_change_a_fingerprint(scenario_of_a: Path) -> None:
    known = Experiment("x", ["1"], scenario_of_a).fingerprint
    scenario_of_a.write_text("# a remark\na = 1\n")
    assert Experiment("y", ["2"], scenario_of_a, axis="a").fingerprint == known
