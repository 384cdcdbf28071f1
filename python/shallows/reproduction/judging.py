"""Judges a claim against measured values.

Each seed gives a value: a metric of one run, or the difference of two runs with the same flows. The range is
Student's interval over the seeds, or all measured values if there are fewer than three seeds. A claim holds
if the range lies within the tolerance, does not hold if the range lies outside, and is otherwise undecided
("cannot tell").
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shallows.comparison import intervals
from shallows.errors import ShallowsError
from shallows.quantity import digits, finite, order, signed
from shallows.reproduction.expected import Claim, Experiment, Place, Selection
from shallows.runs.results import place_on

HOLDS, CANNOT_TELL, DOES_NOT_HOLD = "holds", "cannot tell", "does not hold"

Value = Callable[[str], float]


@dataclass(frozen=True)
class Measured:
    """A finished or planned run: its labels, and its metrics by name."""

    labels: Mapping[str, Any]
    value: Value

    @property
    def seed(self) -> Any:
        """Return the seed, which pairs runs of different schemes."""
        return self.labels.get("seed")

    def is_at(self, where: Selection) -> bool:
        """Return whether the selection contains the run."""
        return all(self.on(axis) == value for axis, value in where.items())

    def on(self, axis: str) -> Any:
        """Return the run's value on an axis, which is named by its key or the key's last word."""
        return place_on(self.labels, axis)


@dataclass(frozen=True)
class Check:
    """Verdict on a claim at one point of the axis."""

    place: Place | None
    paper: str
    ours: float
    low: float
    high: float
    verdict: str
    seeds: int = 0
    """Number of seeds; zero if nothing runs."""

    @property
    def said(self) -> str:
        """Return the verdict, with the number of seeds if these are too few for an interval."""
        return said(self.verdict, self.seeds)

    def describe(self) -> dict[str, Any]:
        """Return the check as a JSON object."""
        return {
            "place": self.place,
            "paper": self.paper,
            "ours": finite(self.ours),
            "interval": [finite(self.low), finite(self.high)],
            "verdict": self.verdict,
            "seeds": self.seeds,
            "said": self.said,
        }


def said(verdict: str, seeds: int) -> str:
    """Return a verdict in words.

    >>> said("holds", 1), said("cannot tell", 2), said("holds", 3), said("holds", 0)
    ('holds (one seed)', 'cannot tell (two seeds)', 'holds', 'holds')
    """
    few = {1: "one seed", 2: "two seeds"}.get(seeds)
    return f"{verdict} ({few})" if few else verdict


def name(place: Place | None) -> str:
    """Return a point of an axis in words."""
    return place if isinstance(place, str) else "" if place is None else digits(place)


def choose(runs: Sequence[Measured], claim: Claim, where: Selection) -> list[Measured]:
    """Return the runs that a claim selects.

    Raises
    ------
    ShallowsError
        If no run is selected.
    """
    kept = list(runs)
    for axis, value in where.items():
        matching = [run for run in kept if run.on(axis) == value]
        if not matching:
            known = dict.fromkeys(str(run.on(axis)) for run in kept)
            raise ShallowsError(
                f'claim "{claim.id}": no run has {axis} = {value}',
                f"the values of {axis} are: {', '.join(known)}",
            )
        kept = matching
    return kept


def judge(claim: Claim, experiment: Experiment, runs: Sequence[Measured], *, quick: bool) -> list[Check]:
    """Judge a claim at each point of its axis; with `quick`, only at points of the reduced experiment.

    Raises
    ------
    ShallowsError
        If the claim selects no runs.
    """
    if claim.kind == "crossing":
        return [_crossing(claim, experiment, choose(runs, claim, claim.where))]
    places: Sequence[Any] = [None]
    if claim.points:
        places = [place for place, _ in claim.points]
    elif (
        (claim.kind == "ordering" or claim.at or claim.extreme)
        and experiment.axis
        and experiment.axis not in (claim.lower or {})
    ):
        mine = choose(runs, claim, claim.where)
        places = claim.at or sorted({run.on(experiment.axis) for run in mine}, key=order)
    if quick and experiment.axis:
        there = {run.on(experiment.axis) for run in runs}
        places = [place for place in places if place is None or place in there]
        if not places:
            raise ShallowsError(
                f'claim "{claim.id}": with --quick, no run has a {experiment.axis} that the claim needs',
                f"add a value of {experiment.axis} from the claim to quick.only",
            )
    if claim.over:
        return [_average(claim, experiment, runs, quick=quick)]
    check = _ordering if claim.kind == "ordering" else _value
    checks = [check(claim, experiment, runs, place) for place in places]
    if claim.extreme:
        return [(min if claim.extreme == "lowest" else max)(checks, key=lambda check: check.ours)]
    return checks


def worst(checks: Sequence[Check]) -> str:
    """Return the worst verdict of a claim over the points of its axis."""
    found = {check.verdict for check in checks}
    return next(verdict for verdict in (DOES_NOT_HOLD, CANNOT_TELL, HOLDS) if verdict in found)


def _at(
    claim: Claim, experiment: Experiment, runs: Sequence[Measured], where: Selection, place: Any
) -> dict[Any, float]:
    """Return a metric of the selected runs at a point of the axis, by seed, with exactly one run per seed."""
    there = {} if place is None or experiment.axis is None else {experiment.axis: place}
    chosen = choose(runs, claim, {**claim.where, **there, **where})
    if len({run.seed for run in chosen}) < len(chosen):
        raise ShallowsError(
            f'claim "{claim.id}": `where` must select one run per seed, got several',
            "add axes to `where`",
        )
    return {run.seed: run.value(claim.metric) for run in chosen}


def _average(claim: Claim, experiment: Experiment, runs: Sequence[Measured], *, quick: bool) -> Check:
    """Judge the mean over several points of the axis; with `quick`, over those of the reduced experiment."""
    there = {run.on(experiment.axis or "") for run in runs}
    places = [place for place in claim.over if place in there or not quick]
    found = [_values(claim, experiment, runs, place) for place in places]
    return _tolerated(claim, None, [sum(each) / len(each) for each in zip(*found, strict=True)])


def _value(claim: Claim, experiment: Experiment, runs: Sequence[Measured], place: Any) -> Check:
    return _tolerated(claim, place, _values(claim, experiment, runs, place))


def _values(claim: Claim, experiment: Experiment, runs: Sequence[Measured], place: Any) -> list[float]:
    """Return the value of each seed, in the order of the seeds."""
    mine = _at(claim, experiment, runs, {}, place)
    if claim.versus is None:
        return list(mine.values())
    theirs = _at(claim, experiment, runs, claim.versus, place)
    change = _change if claim.in_percent else operator.sub
    return [change(mine[seed], theirs[seed]) for seed in mine if seed in theirs]


def _tolerated(claim: Claim, place: Any, values: list[float]) -> Check:
    number = order(dict(claim.points)[place] if claim.points else claim.expected)
    slack = abs(number) * claim.relative + claim.absolute + 1e-9 * abs(number)
    low, high = spread(values)
    # For a negative number, multiplication by the larger factor gives the lower limit.
    least, most = sorted((number / claim.factor, number * claim.factor))
    least = -math.inf if claim.kind == "below" else least - slack
    verdict = within(low, high, least, most + slack)
    shown = f"{signed(100 * number)} %" if claim.in_percent else digits(number)
    shown = signed(number) if claim.change == "difference" else shown
    shown = f"< {shown}" if claim.kind == "below" else shown
    seeds = 0 if claim.kind == "computed" else len(values)
    return Check(place, shown, sum(values) / len(values), low, high, verdict, seeds)


def _change(mine: float, theirs: float) -> float:
    return mine / theirs - 1 if theirs else math.inf


def _ordering(claim: Claim, experiment: Experiment, runs: Sequence[Measured], place: Any) -> Check:
    lower = _at(claim, experiment, runs, claim.lower or {}, place)
    higher = _at(claim, experiment, runs, claim.higher or {}, place)
    values = [higher[seed] - lower[seed] for seed in lower if seed in higher]
    low, high = spread(values)
    verdict = HOLDS if low > 0 else DOES_NOT_HOLD if high <= 0 else CANNOT_TELL
    return Check(place, "> 0", sum(values) / len(values), low, high, verdict, len(values))


def _crossing(claim: Claim, experiment: Experiment, runs: Sequence[Measured]) -> Check:
    axis, level = experiment.axis or "", claim.level or 0.0
    places = sorted({run.on(axis) for run in runs}, key=order)
    if claim.expected not in places:
        raise ShallowsError(
            f'claim "{claim.id}": no run has {axis} = {claim.expected}', f"add {claim.expected} to the sweep"
        )
    wanted = places.index(claim.expected)
    found = []
    for seed in dict.fromkeys(run.seed for run in runs):
        above = [run.on(axis) for run in runs if run.seed == seed and run.value(claim.metric) > level]
        found.append(places.index(min(above, key=order)) if above else len(places))
    near = [abs(index - wanted) <= claim.steps for index in found]
    verdict = HOLDS if all(near) else CANNOT_TELL if any(near) else DOES_NOT_HOLD
    crossed = sorted(order(places[index]) if index < len(places) else math.inf for index in found)
    middle = crossed[len(crossed) // 2]
    return Check(None, name(claim.expected), middle, crossed[0], crossed[-1], verdict, len(found))


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the confidence interval of the mean over seeds, or the extremes if there are too few seeds.

    >>> spread([1.0, 2.0])
    (1.0, 2.0)
    >>> [round(end, 2) for end in spread([1.0, 2.0, 3.0])]
    [-0.48, 4.48]
    """
    if not values:
        raise ShallowsError("the compared runs have no seed in common", "run both with the same seeds")
    found = intervals.over_seeds(values)
    return (found.low, found.high) if found else (min(values), max(values))


def within(low: float, high: float, least: float, most: float) -> str:
    """Return the verdict on a range: holds within the limits, does not hold outside, otherwise cannot tell.

    >>> within(4, 5, 3, 6), within(2, 5, 3, 6), within(1, 2, 3, 6)
    ('holds', 'cannot tell', 'does not hold')
    """
    if least <= low and high <= most:
        return HOLDS
    return DOES_NOT_HOLD if high < least or low > most else CANNOT_TELL
