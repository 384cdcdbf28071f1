"""Claims of a paper: reads and checks `expected.toml` of its folder.

docs/claims.md describes the file.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shallows.bounded import is_folder, parse_toml, quoted, read_text
from shallows.errors import ShallowsError, did_you_mean
from shallows.examples import FOLDER
from shallows.figure_names import FIGURES
from shallows.reproduction import claim_types, like
from shallows.reproduction.claim_types import Rule
from shallows.series.measures import check, check_computed

FILE = "expected.toml"

Selection = Mapping[str, Any]
"""Selection of runs of a sweep: maps axes, named by a key or its last word, to the value of the runs."""

Place = float | str
"""Value on an axis: a number, a size such as `325KB` or `20p`, or a time such as `2ms`."""


@dataclass(frozen=True)
class Quick:
    """Reduction of an experiment: changed values, and a subset of its sweep's points."""

    set: Mapping[str, Any] = field(default_factory=dict)
    only: Mapping[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Drawing:
    """A figure to draw from some runs of the experiment; docs/figures.md describes all figures."""

    figure: str
    where: Selection = field(default_factory=dict)
    ports: Sequence[str] = ()
    flows: Sequence[int] = ()
    metrics: Sequence[str] = ()
    rows: str = ""
    baseline: Selection = field(default_factory=dict)
    ideal: bool = False
    beside: Sequence[str] = ()
    """Other experiments whose runs are also drawn."""

    @property
    def options(self) -> dict[str, Any]:
        """Options to pass to the figure's function; unset options are left out."""
        several = {"ports": self.ports, "flows": self.flows, "metrics": self.metrics}
        single = {"rows": self.rows, "baseline": self.baseline, "ideal": self.ideal}
        return {key: list(kept) for key, kept in several.items() if kept} | {
            key: kept for key, kept in single.items() if kept
        }


@dataclass(frozen=True)
class Experiment:
    """A sweep that reproduces a figure or table of the paper."""

    name: str
    figures: Sequence[str]
    """Figures and tables of the paper that the experiment supports."""
    scenario: Path
    set: Mapping[str, Any] = field(default_factory=dict)
    """Values that replace those of the scenario file, by dotted key."""
    only: Mapping[str, list[Any]] = field(default_factory=dict)
    """Values of each axis to which the sweep is restricted; by default all points run."""
    axis: str | None = None
    """Axis of the figure, and of claims with several points."""
    show: Sequence[str] = ()
    """Metrics to draw against the axis, in addition to those with published points."""
    normalised: Selection = field(default_factory=dict)
    """Selection of the runs by whose values all drawn values are divided; empty for no division."""
    draw: Sequence[Drawing] = ()
    quick: Quick = field(default_factory=Quick)
    runs: bool = True
    """Whether the experiment has runs; without runs, its claims concern properties of scenarios."""
    testbed: int | None = None
    """Time dilation factor of an experiment with real TCP; None for simulations."""

    @property
    def fingerprint(self) -> str:
        """Return the first eight digits of a hash of the scenario and the experiment's settings."""
        keys = parse_toml(read_text(self.scenario, remedy=DESCRIBED))
        said = json.dumps([keys, self.set, self.only, self.testbed], sort_keys=True, default=str)
        return hashlib.sha256(said.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Claim:
    """A number or an ordering of the paper, with its tolerance."""

    id: str
    experiment: str
    kind: str
    metric: str
    source: str
    """Place of the claim in the paper, such as a section or figure."""
    where: Selection = field(default_factory=dict)
    """Runs that the claim selects."""
    versus: Selection | None = None
    """For the kind `value`, if the value is a change: selection of the baseline's runs."""
    change: str = "relative"
    """Kind of change from `versus`: `relative`, or the `difference` of the values."""
    expected: Place | None = None
    """The paper's number; for the kind `crossing`, the first place where the metric exceeds `level`."""
    points: Sequence[tuple[Place, float]] = ()
    """For the kind `value`: pairs of a place on the axis and the paper's number, instead of one number."""
    relative: float = 0.0
    absolute: float = 0.0
    factor: float = 1.0
    """For the kind `value`: tolerated factor in either direction; at least 1."""
    because: str = ""
    """Reason for the width of the tolerance."""
    lower: Selection | None = None
    higher: Selection | None = None
    at: Sequence[Place] = ()
    """Places on the axis, for the kind `ordering`, or `value` with an `extreme`; default: all."""
    extreme: str | None = None
    """For the kind `value`: `lowest` or `highest` measured value over the places, as in a paper's "up to"."""
    level: float | None = None
    over: Sequence[Place] = ()
    """For the kind `value`: places on the axis to average over."""
    steps: int = 0
    """For the kind `crossing`: tolerated distance, as a number of places on the axis."""
    quick: bool | None = None
    """Whether `--quick` judges the claim; by default only orderings and claims that need no run."""
    cause: str = ""
    """Cause of the deviation if the claim does not hold."""

    @property
    def in_percent(self) -> bool:
        """Return whether the claim's number is a relative change."""
        return self.versus is not None and self.change == "relative"

    @property
    def is_quick(self) -> bool:
        """Return whether `--quick` judges the claim."""
        return self.kind in {"ordering", "computed"} if self.quick is None else self.quick


KINDS = {
    "value": (
        {"where", "versus", "change", "expected", "points", "at", "extreme", "over"}
        | {"relative", "absolute", "factor", "because"},
        set(),
    ),
    "below": ({"where", "expected"}, {"expected"}),
    "computed": ({"where", "expected", "relative", "absolute", "because"}, {"expected"}),
    "ordering": ({"where", "lower", "higher", "at"}, {"lower", "higher"}),
    "crossing": ({"where", "expected", "level", "steps", "because"}, {"expected", "level"}),
}
"""Allowed and required keys of each kind of claim, in addition to the keys of all claims."""

COMMON, NEEDED = (
    {"id", "experiment", "kind", "metric", "source", "quick", "cause"},
    {"id", "experiment", "kind", "metric", "source"},
)


@dataclass(frozen=True)
class Paper:
    """A paper's experiments and claims, as read from its folder of `experiments/`."""

    folder: Path
    title: str
    experiments: Mapping[str, Experiment]
    claims: Sequence[Claim]

    def choose(self, figure: str | None) -> list[Experiment]:
        """Return the experiments with the name `figure`, or that reproduce this figure; all if it is None."""
        everything = list(self.experiments.values())
        chosen = [each for each in everything if figure is None or figure in {*each.figures, each.name}]
        if not chosen:
            known = dict.fromkeys(figure for each in everything for figure in each.figures)
            near = did_you_mean(str(figure), [*known, *self.experiments])
            raise ShallowsError(
                f"{self.folder / FILE}: unknown figure {figure!r}" + (f"; {near}" if near else ""),
                f"the figures are: {', '.join(known)}",
            )
        return chosen

    def claims_of(self, experiment: Experiment, *, quick: bool) -> list[Claim]:
        """Return the claims of an experiment."""
        mine = [claim for claim in self.claims if claim.experiment == experiment.name]
        return [claim for claim in mine if claim.is_quick or not quick]


def papers(folder: Path = FOLDER) -> list[str]:
    """Return the names of the papers in a folder, by default in the package."""
    return sorted(path.parent.name for path in folder.glob(f"*/{FILE}"))


def find(paper: str, experiments: Path | None) -> Paper:
    """Find a paper and read its claims.

    Raises
    ------
    ShallowsError
        If the folder does not exist, or its `expected.toml` is invalid.
    """
    parent = experiments or FOLDER
    if not is_folder(parent):
        raise ShallowsError(
            f"the folder {parent} does not exist",
            "name a folder of papers with --experiments DIR; without it, the package's papers are used",
        )
    known = papers(parent)
    if paper not in known:
        near = did_you_mean(paper, known)
        raise ShallowsError(
            f"{parent}: unknown paper {paper!r}" + (f"; {near}" if near else ""),
            f"the papers are: {', '.join(known) or 'none'}; --experiments DIR names another folder",
        )
    return read(parent / paper)


def read(folder: Path) -> Paper:
    """Read and check `expected.toml`; errors name the claim and the allowed values."""
    path = folder / FILE
    try:
        document = parse_toml(read_text(path, remedy=DESCRIBED))
    except ValueError as error:
        raise _refuse(path, str(error)) from None
    if unknown := sorted(document.keys() - {"title", "experiment", "claim"}):
        raise _refuse(path, f"unknown key {unknown[0]}; expected one of title, experiment, claim")
    if not isinstance(document.get("title"), str):
        raise _refuse(path, "title is missing")
    tables, listed = document.get("experiment", {}), document.get("claim", [])
    if not isinstance(tables, dict) or not isinstance(listed, list):
        raise _refuse(path, "the file must consist of tables [experiment.NAME] and [[claim]]")
    experiments = {name: _experiment(path, name, _completed(path, name, tables)) for name in tables}
    for name, table in tables.items():
        if "like" in table:
            listed = listed + _claims_like(path, name, table, listed)
    claims = [_claim(path, number, table) for number, table in enumerate(listed, 1)]
    _check_together(path, experiments, claims)
    return Paper(folder, document["title"], experiments, claims)


def _check_together(path: Path, experiments: Mapping[str, Experiment], claims: Sequence[Claim]) -> None:
    """Reject claims with equal names, and claims that do not fit their experiment."""
    for name, drawing in ((each.name, drawing) for each in experiments.values() for drawing in each.draw):
        for other in set(drawing.beside) - experiments.keys():
            known = ", ".join(experiments)
            raise _refuse(
                path,
                f'experiment "{name}", draw: unknown experiment {quoted(other)}; expected one of {known}',
            )
    names = [claim.id for claim in claims]
    for claim in claims:
        if names.count(claim.id) > 1:
            raise _refuse(path, f'two claims have the id "{claim.id}"')
        experiment = experiments.get(claim.experiment)
        if experiment is None:
            known = ", ".join(experiments)
            raise _refuse(
                path, f'claim "{claim.id}": unknown experiment "{claim.experiment}"; expected one of {known}'
            )
        if experiment.runs == (claim.kind == "computed"):
            raise _refuse(
                path,
                f'claim "{claim.id}": kind must be "computed" if and only if its experiment has runs = false',
            )
        _check_metric(path, f'claim "{claim.id}"', claim.metric, runs=experiment.runs)
        if experiment.axis is None and (
            claim.points or claim.at or claim.extreme or claim.over or claim.kind == "crossing"
        ):
            raise _refuse(
                path,
                f'claim "{claim.id}": experiment "{claim.experiment}" must have the key axis, because '
                'the claim has points, at, extreme, over or kind = "crossing"',
            )


def _completed(path: Path, name: str, tables: Mapping[str, Any]) -> Any:
    table = tables[name]
    if isinstance(table, dict):
        _check(path, f"experiment {quoted(name)}", table, claim_types.EXPERIMENT)
    try:
        return like.completed(name, tables)
    except ValueError as error:
        raise _refuse(path, f"experiment {quoted(name)}: {error}") from None


def _claims_like(path: Path, name: str, table: Mapping[str, Any], listed: Sequence[Any]) -> list[Any]:
    try:
        return like.claims(name, table, listed)
    except ValueError as error:
        raise _refuse(path, f"experiment {quoted(name)}: {error}") from None


def _experiment(path: Path, name: str, table: Any) -> Experiment:
    what = f"experiment {quoted(name)}"
    _check(path, what, table, claim_types.EXPERIMENT, {"figures", "scenario"})
    quick = table.get("quick", {})
    _check(path, f"{what}, quick", quick, claim_types.QUICK)
    drawings = table.get("draw", [])
    for drawing in drawings:
        _check(path, f"{what}, draw", drawing, claim_types.DRAWING, {"figure"})
        if drawing["figure"] not in FIGURES:
            raise _refuse(
                path,
                f"{what}: unknown figure {quoted(drawing['figure'])}; expected one of {', '.join(FIGURES)}",
            )
        for metric in drawing.get("metrics", []):
            _check_metric(path, f"{what}, draw", metric, runs=True)
    for metric in table.get("show", []):
        _check_metric(path, what, metric, runs=table.get("runs", True))
    if (table.get("show") or table.get("normalised")) and "axis" not in table:
        raise _refuse(path, f"{what}: the key `axis` is missing; `show` and `normalised` require it")
    made = {"scenario": path.parent / table["scenario"], "quick": Quick(**quick)}
    return Experiment(name, **table | made | {"draw": [Drawing(**drawing) for drawing in drawings]})


def _claim(path: Path, number: int, table: Any) -> Claim:
    what = f"claim {number}"
    if not isinstance(table, dict):
        raise _refuse(path, f"{what} must be a table")
    if isinstance(table.get("id"), str):
        what = f"claim {quoted(table['id'])}"
    kind = table.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise _refuse(path, f"{what}: unknown kind {quoted(str(kind))}; expected one of {', '.join(KINDS)}")
    may, must = KINDS[kind]
    rules = {key: rule for key, rule in claim_types.CLAIM.items() if key in COMMON | may}
    _check(path, what, table, rules, NEEDED | must)
    if kind == "value" and ("expected" in table) == ("points" in table):
        raise _refuse(path, f'{what}: must have either the key "expected" or the key "points"')
    tolerances = ("relative", "absolute", "factor", "steps")
    if any(table.get(key) for key in tolerances) and not table.get("because"):
        raise _refuse(path, f'{what}: key "because" is missing; it must give the reason for the tolerance')
    if table.get("change", "relative") not in {"relative", "difference"}:
        raise _refuse(
            path, f"{what}: unknown change {quoted(table['change'])}; expected one of relative, difference"
        )
    if table.get("extreme", "lowest") not in {"lowest", "highest"}:
        raise _refuse(
            path, f'{what}: "extreme" must be "lowest" or "highest", got {quoted(table["extreme"])}'
        )
    if "points" in table and ("at" in table or "extreme" in table):
        raise _refuse(path, f'{what}: a claim with "points" must not have the key "at" or "extreme"')
    return Claim(**table)


def _check_metric(path: Path, what: str, metric: str, *, runs: bool) -> None:
    """Reject an unknown metric; `findings.check_selections` later checks known ones against the scenarios."""
    try:
        (check if runs else check_computed)(metric)
    except ShallowsError as error:
        raise ShallowsError(f"{path}: {what}: {error.message}", error.remedy) from None


def _check(
    path: Path,
    what: str,
    table: Any,
    rules: Mapping[str, Rule],
    needed: frozenset[str] | set[str] = frozenset(),
) -> None:
    """Reject a table with unknown, missing or invalid keys."""
    if not isinstance(table, dict):
        raise _refuse(path, f"{what} must be a table")
    if unknown := sorted(table.keys() - rules.keys()):
        raise _refuse(path, f"{what}: unknown key {unknown[0]}; expected one of {', '.join(sorted(rules))}")
    if missing := sorted(needed - table.keys()):
        raise _refuse(path, f"{what}: {missing[0]} is missing")
    for key, value in table.items():
        fits, kind = rules[key]
        if not fits(value):
            raise _refuse(path, f"{what}: {key} must be {kind}, got {quoted(str(value))}")


DESCRIBED = "docs/claims.md describes the file"


def _refuse(path: Path, message: str) -> ShallowsError:
    return ShallowsError(f"{path}: {message}", DESCRIBED)
