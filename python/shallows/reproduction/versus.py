"""Published and measured values in one table; `figures` draws them."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import nan
from statistics import fmean

from shallows.comparison.intervals import over_seeds
from shallows.errors import ShallowsError
from shallows.figures.swept import Swept
from shallows.figures.versus import Line, Panel, Versus
from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.judging import Measured
from shallows.runs.results import describe, on_axis
from shallows.series.metric import Metric

BOUND = "ideal_"
"""Prefix of metrics that are bounds of other metrics; each is drawn as one line for all schemes."""


def versus(experiment: Experiment, claims: Sequence[Claim], runs: Sequence[Measured]) -> Versus | None:
    """Tabulate the metrics that are shown or have published points, against the experiment's axis.

    The result is None if there are no such metrics.
    """
    # A change from one scheme to another is not a value of the metric, so it is not drawn.
    published = [c for c in claims if c.kind == "value" and c.points and c.versus is None]
    metrics = list(dict.fromkeys([*experiment.show, *(claim.metric for claim in published)]))
    axis = experiment.axis
    if axis is None or not metrics:
        return None
    bounds = {
        m.removeprefix(BOUND): m for m in metrics if m.startswith(BOUND) and m.removeprefix(BOUND) in metrics
    }
    metrics = [metric for metric in metrics if metric not in bounds.values()]
    lines: dict[str, list[Measured]] = {}
    for run in _normalised(runs, experiment) if experiment.normalised else runs:
        lines.setdefault(_line(run, axis), []).append(run)
    swept = Swept.of(axis, [run.on(axis) for run in runs])

    def where(run: Measured) -> float:
        return swept.place(run.on(axis))

    panels = []
    for metric in metrics:
        drawn = []
        for index, (line, members) in enumerate(lines.items()):
            theirs = [
                (swept.place(place), number)
                for claim in published
                if claim.metric == metric and members[0].is_at(claim.where)
                for place, number in claim.points
            ]
            drawn.append(Line(line, index, _ours(where, metric, members), theirs))
        if metric in bounds:
            every = next(iter(lines.values()))
            drawn.append(Line("ideal", len(lines), _ours(where, bounds[metric], every)))
        panels.append(Panel(title(metric, unit=not experiment.normalised), drawn))
    counts = Counter((_line(run, axis), where(run)) for run in runs)
    return Versus(swept.label, swept.is_wide, panels, sorted(set(counts.values())))


UNITS = {"us": "µs", "ms": "ms", "gbps": "Gb/s", "bytes": "bytes"}
"""Units by the last word of a metric's kind or statistic."""

NOT_TIMES = {"with_timeout", "quality", "timeouts", "count"}
"""Statistics of queries that are neither times nor have a unit in their name."""


def title(metric: str, *, unit: bool = True) -> str:
    """Return a metric in words.

    >>> title("fct_us.small.p99"), title("goodput_gbps@class0"), title("ideal_fct_us.all.p99.9")
    ('FCT, small, p99 (µs)', 'goodput, class0 (Gb/s)', 'ideal FCT, all, p99.9 (µs)')
    >>> title("queries.all.mean"), title("queries.all.goodput_gbps"), title("queries.all.with_timeout")
    ('query time, all, mean (µs)', 'queries, all, goodput (Gb/s)', 'queries, all, share with timeout')
    """
    parts = Metric(metric)
    kind, *words = [parts.kind, *parts.words]
    if kind == "queries" and words and words[-1] not in NOT_TIMES and not _unit(words[-1]):
        kind = "query_time_us"
    found = _unit(kind) or (_unit(words[-1]) if kind == "queries" and words else "")
    shown = [_in_words(kind), *(_in_words(word) if kind == "queries" else word for word in words)]
    of = [*shown, *([parts.where] if parts.where else [])]
    return ", ".join(of) + (f" ({found})" if found and unit else "")


def _unit(word: str) -> str:
    """Return the unit that a word ends with; empty if it has none."""
    return UNITS.get(word.rpartition("_")[2], "")


def _in_words(word: str) -> str:
    bare = word.rpartition("_")[0] if _unit(word) else word
    return bare.replace("with_timeout", "share_with_timeout").replace("_", " ").replace("fct", "FCT")


def _normalised(runs: Sequence[Measured], experiment: Experiment) -> list[Measured]:
    """Divide each run's metrics by those of the `normalised` run with the same seed and axis value."""
    base = {
        (run.on(experiment.axis or ""), run.seed): run for run in runs if run.is_at(experiment.normalised)
    }

    def over(run: Measured) -> Measured:
        place = (run.on(experiment.axis or ""), run.seed)
        if place not in base:
            raise ShallowsError(
                f"experiment {experiment.name}: normalised = {dict(experiment.normalised)} selects no run "
                f"for {dict(run.labels)}",
                "correct `normalised` in expected.toml",
            )
        mine, theirs = run.value, base[place].value
        return Measured(run.labels, lambda metric: mine(metric) / theirs(metric) if theirs(metric) else nan)

    return [over(run) for run in runs]


def _line(run: Measured, axis: str) -> str:
    """Return the labels that distinguish a line: all except the axis and the seed."""
    kept = {key: value for key, value in run.labels.items() if key != "seed" and not on_axis({key: 0}, axis)}
    return describe(kept) if kept else "ours"


def _ours(
    where: Callable[[Measured], float], metric: str, members: Sequence[Measured]
) -> list[tuple[float, float, float | None, float | None]]:
    """Return for each point its position, the mean over seeds, and the ends of the mean's interval."""
    by_place: dict[float, list[float]] = {}
    for run in members:
        by_place.setdefault(where(run), []).append(run.value(metric))
    ours = []
    for place, found in sorted(by_place.items()):
        interval = over_seeds(found)
        ends = (interval.low, interval.high) if interval else (None, None)
        ours.append((place, fmean(found), *ends))
    return ours
