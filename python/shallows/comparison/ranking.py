"""Ranks many combinations of swept values, and finds the Pareto-optimal ones.

Both tasks use paired intervals, never means alone, and report "cannot tell" if the runs do not decide.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shallows.comparison.samples import Sample
from shallows.comparison.verdicts import INCLUDES_ZERO, SAME, Judgement, estimate, judge
from shallows.errors import ShallowsError, listed
from shallows.quantity import finite
from shallows.runs import percentiles
from shallows.series.metric import Metric

MANY = 6
"""Number of values above which a ranking replaces a table for each pair."""

TWO = 2
"""Default number of metrics for the Pareto front: the axes of a chart."""

CANDIDATES = ("query_us.all", "fct_us.small", "fct_us.large", "fct_us.all")
"""Metrics that a ranking prefers, in this order, if the runs have them."""

Front = Literal["Pareto-optimal", "cannot tell", "dominated", "no value"]
Labels = dict[str, Any]


@dataclass(frozen=True)
class Standing:
    """Result of one combination of swept values in a ranking."""

    place: str
    values: dict[str, float | None]
    """Measured values by name of the metric."""
    change: float | None
    """Change in the first metric relative to the value that ranks first."""
    low: float | None
    high: float | None
    """Upper limit of the change (`low` is the lower limit); null if the runs do not bound it."""
    verdict: str
    """Verdict versus the value that ranks first: `worse` or `cannot tell`; `first` for that value itself."""
    reason: str
    front: Front | None
    """State in all metrics together, such as `dominated`; null with a single metric."""
    dominated_by: list[str]
    open_with: list[str]
    """Values that may dominate this value, or that this value may dominate; the runs do not decide."""


@dataclass(frozen=True)
class Ranking:
    """Ranking of all compared values, best first; all other axes of the sweep have the values in `point`."""

    point: Labels
    metrics: list[str]
    """Names of the metrics. The first defines the order; all together define which values are dominated."""
    standings: list[Standing]

    @property
    def kept(self) -> list[Standing]:
        """Return the values that are Pareto-optimal or may be Pareto-optimal."""
        return [each for each in self.standings if each.front in {"Pareto-optimal", "cannot tell"}]


def choose(metrics: Sequence[str] | None, known: Sequence[Metric], flows: Mapping[str, int]) -> list[Metric]:
    """Return the requested metrics; by default, the first two of `CANDIDATES` that the runs have.

    A default metric is the 99th percentile of its candidate, or the mean for large flows and for too few
    flows. Goodput is the second metric if the runs have only one of the candidates.

    Parameters
    ----------
    metrics
        Names of metrics.
    known
        Metrics that all runs have.
    flows
        Number of observations of each series over all seeds, for the value with the fewest observations.

    Raises
    ------
    ShallowsError
        If a metric is unknown.
    """
    names = [metric.name for metric in known]
    if metrics is not None:
        for name in metrics:
            if name not in names:
                raise ShallowsError(f"metric {name!r} is missing in at least one run", _all(names))
        if not metrics:
            raise ShallowsError("at least one metric is needed, got none", _all(names))
        return [Metric(name) for name in dict.fromkeys(metrics)]

    def with_tail(series: str) -> str:
        return f"{series}.p99" if percentiles.suffices(flows[series]) else f"{series}.mean"

    there = [series for series in CANDIDATES if flows.get(series) and f"{series}.mean" in names]
    found = [
        # For large flows, papers show the mean.
        f"{series}.mean" if series == "fct_us.large" else with_tail(series)
        for series in there
        if series != "fct_us.all"
    ]
    if len(found) < TWO and "fct_us.all" in there:
        found.append(with_tail("fct_us.all"))
    return [Metric(name) for name in [*found, "goodput_gbps"][:TWO]]


def _all(names: Sequence[str]) -> str:
    return f"metrics: {', '.join(names)}" if len(names) <= 40 else listed("metrics", names)


class Race:
    """The compared values at one point of the sweep, with a judgement of each pair."""

    def __init__(
        self, samples: Mapping[str, Mapping[int, Sample]], metrics: Sequence[Metric], confidence: float
    ) -> None:
        self.samples, self.metrics, self.confidence = samples, metrics, confidence
        self.judged = 0
        """Number of intervals computed."""

    def rank(self, point: Labels) -> Ranking:
        """Order the values by the first metric, and find the values that are dominated in all metrics."""
        values = {place: self._values(place) for place in self.samples}
        main = self.metrics[0]
        sign = -1 if main.is_better_high else 1

        def order(place: str) -> tuple[bool, float]:
            value = values[place][main.name]
            return value is None, 0.0 if value is None else sign * value

        places = sorted(self.samples, key=order)
        front = _Front(self, places, values) if len(self.metrics) > 1 else None
        standings = [self._standing(place, places[0], values[place], front) for place in places]
        return Ranking(point, [metric.name for metric in self.metrics], standings)

    def _values(self, place: str) -> dict[str, float | None]:
        samples = list(self.samples[place].values())
        return {metric.name: estimate(metric, samples) for metric in self.metrics}

    def judge(self, metric: Metric, baseline: str, other: str) -> Judgement:
        """Judge one value versus another in one metric, over their common seeds."""
        mine, theirs = self.samples[baseline], self.samples[other]
        pairs = [(mine[seed], theirs[seed]) for seed in mine if seed in theirs]
        if not pairs:
            return Judgement(reason="no common seed")
        found = judge(metric, pairs, self.confidence)
        change = found.change
        self.judged += change is not None and (finite(change.low), finite(change.high)) != (None, None)
        return found

    def _standing(
        self, place: str, first: str, values: dict[str, float | None], front: "_Front | None"
    ) -> Standing:
        state, dominated_by, still_open = front.of(place) if front else (None, [], [])
        if place == first:
            return Standing(place, values, 0.0, 0.0, 0.0, "first", "", state, dominated_by, still_open)
        found = self.judge(self.metrics[0], first, place)
        change = found.change
        return Standing(
            place,
            values,
            change.estimate if change else None,
            finite(change.low) if change else None,
            finite(change.high) if change else None,
            found.verdict,
            found.reason,
            state,
            dominated_by,
            still_open,
        )


class _Front:
    """The Pareto front.

    A value is a combination of swept values. It dominates another value if it is better in at least one
    metric and at least as good in all others. Better means that the interval of the change is wholly on the
    good side of zero. As good means that the interval includes zero, and the estimate is zero or favourable.
    Without intervals, no value is dominated.
    """

    def __init__(
        self, race: Race, places: Sequence[str], values: Mapping[str, Mapping[str, float | None]]
    ) -> None:
        import numpy as np

        self.places = list(places)
        self.valued = [all(value is not None for value in values[place].values()) for place in places]
        self.beats = np.zeros((len(places), len(places)), bool)
        """Matrix whose entries state whether the row's value beats the column's value."""
        self.apart = np.zeros_like(self.beats)
        """Matrix whose entries state whether row and column are each worse than the other in some metric."""
        for one in range(len(places)):
            for other in range(one):
                self._meet(race, other, one)
        reached = self.beats.copy()
        for middle in range(len(places)):
            reached |= np.outer(reached[:, middle], reached[middle])
        # By chance, verdicts may form a cycle in which each value beats the next. Such verdicts do not count;
        # otherwise no value would remain.
        self.counts = self.beats & ~reached.T

    def _meet(self, race: Race, one: int, other: int) -> None:
        found = [race.judge(metric, self.places[one], self.places[other]) for metric in race.metrics]
        verdicts = {judgement.verdict for judgement in found}
        self.apart[one, other] = self.apart[other, one] = verdicts >= {"better", "worse"}
        for verdict, winner, loser in (("worse", one, other), ("better", other, one)):
            if verdict in verdicts and all(
                judgement.verdict == verdict or _is_as_good(metric, judgement, of_other=verdict == "better")
                for metric, judgement in zip(race.metrics, found, strict=True)
            ):
                self.beats[winner, loser] = True

    def of(self, place: str) -> tuple[Front, list[str], list[str]]:
        """Return the Pareto status of a value, the values that beat it, and the values that may beat it."""
        import numpy as np

        index = self.places.index(place)
        if not self.valued[index]:
            return "no value", [], []
        if dominated_by := [self.places[each] for each in np.flatnonzero(self.counts[:, index])]:
            return "dominated", dominated_by, []
        settled = self.apart[index] | self.beats[index] | self.beats[:, index]
        settled |= ~np.array(self.valued) | (np.arange(len(self.places)) == index)
        # Dominated values are left out: the values that dominate them are already considered.
        settled |= self.counts.any(axis=0)
        still_open = [self.places[each] for each in np.flatnonzero(~settled)]
        return "cannot tell" if still_open else "Pareto-optimal", [], still_open


def _is_as_good(metric: Metric, judgement: Judgement, *, of_other: bool) -> bool:
    """Return whether the interval of a change includes zero, and its estimate is zero or favourable."""
    change = judgement.change
    if change is None or judgement.reason not in {INCLUDES_ZERO, SAME}:
        return False
    gain = change.estimate if metric.is_better_high else -change.estimate
    return gain >= 0 if of_other else gain <= 0
