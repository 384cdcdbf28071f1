"""The figure of a reproduced experiment: what the paper published beside what was measured."""

from collections.abc import Callable, Sequence
from math import nan
from statistics import fmean
from typing import TYPE_CHECKING

import shallows.figures.style as style
from shallows.errors import ShallowsError
from shallows.expected import Claim, Experiment, Place
from shallows.judging import Measured, order
from shallows.results import axis_name, describe, on_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDE = 30
"""An axis whose last place is so many times its first is logarithmic."""


BOUND = "ideal_"
"""How bounds begin, before the name of the metric that they bound: one line for all schemes."""


def draw(experiment: Experiment, claims: Sequence[Claim], runs: Sequence[Measured]) -> "Figure | None":
    """A panel for each metric that is to be shown or of which the paper's points are known, against the axis.

    Ours are lines through means over seeds, with bars from the lowest to the highest; the paper's points are
    filled. Nothing where there is nothing to show.
    """
    # A change from one scheme to another has no place on the axis of a metric.
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
    unit = _unit(max((run.on(axis) for run in runs), key=order))

    def across(place: Place) -> float:
        return order(place) / unit.size

    def where(run: Measured) -> float:
        return across(run.on(axis))

    with style.panels(len(metrics), 1, 1.0, sharex=True) as (figure, plots):
        for plot, metric in zip(plots, metrics, strict=True):
            values: list[float] = []
            for index, (line, members) in enumerate(lines.items()):
                values += _draw_ours(plot, where, metric, line, members, index)
                theirs = [
                    claim for claim in published if claim.metric == metric and members[0].is_at(claim.where)
                ]
                values += _draw_theirs(plot, across, line, theirs, index)
            if metric in bounds:
                values += _draw_ours(
                    plot, where, bounds[metric], "ideal", next(iter(lines.values())), len(lines)
                )
            style.scale(plot, "y", values, zero=True)
            style.name_panel(plot, title(metric, unit=not experiment.normalised))
        places = [where(run) for run in runs]
        if 0 < WIDE * min(places) < max(places):
            style.scale(plots[-1], "x", places)
        plots[-1].set_xlabel(axis_name(axis) + (f" ({unit.name})" if unit.name else ""))
        style.add_legend(figure, *plots)
    return figure


def _unit(place: Place) -> style.Unit:
    """In what places are drawn."""
    if not isinstance(place, str):
        return style.Unit("", 1)
    if place.endswith("p"):
        return style.Unit("packets", 1)
    if not place.endswith("s"):
        return style.Unit("KB", 1000)
    return style.Unit("ms", 1e-3) if order(place) >= 1e-3 else style.Unit("µs", 1e-6)


UNITS = {"us": "µs", "ms": "ms", "gbps": "Gb/s", "bytes": "bytes"}
"""How the last word of a metric's kind is written as its unit."""


def title(metric: str, *, unit: bool = True) -> str:
    """A metric in words.

    >>> title("fct_us.small.p99"), title("goodput_gbps@class0"), title("loss_rate")
    ('FCT, small, p99 (µs)', 'goodput, class0 (Gb/s)', 'loss rate')
    """
    name, _, where = metric.partition("@")
    kind, *what = name.split(".")
    words, _, last = kind.rpartition("_")
    found = UNITS.get(last)
    shown = (words if found else kind).replace("_", " ").replace("fct", "FCT")
    of = [*what, where] if where else what
    return ", ".join([shown, *of]) + (f" ({found})" if found and unit else "")


def _normalised(runs: Sequence[Measured], experiment: Experiment) -> list[Measured]:
    """Each over the run of the same seed and place that `normalised` selects."""
    base = {
        (run.on(experiment.axis or ""), run.seed): run for run in runs if run.is_at(experiment.normalised)
    }

    def over(run: Measured) -> Measured:
        place = (run.on(experiment.axis or ""), run.seed)
        if place not in base:
            raise ShallowsError(
                f"no run of {experiment.name} is {dict(experiment.normalised)} beside {dict(run.labels)}",
                "mend `normalised` in its expected.toml",
            )
        mine, theirs = run.value, base[place].value
        return Measured(run.labels, lambda metric: mine(metric) / theirs(metric) if theirs(metric) else nan)

    return [over(run) for run in runs]


def _line(run: Measured, axis: str) -> str:
    """What distinguishes a line: all but the axis and the seed."""
    kept = {key: value for key, value in run.labels.items() if key != "seed" and not on_axis({key: 0}, axis)}
    return describe(kept) if kept else "ours"


def _draw_ours(
    plot: "Axes",
    where: Callable[[Measured], float],
    metric: str,
    line: str,
    members: Sequence[Measured],
    index: int,
) -> list[float]:
    """Means and their bars; returns the means."""
    by_place: dict[float, list[float]] = {}
    for run in members:
        by_place.setdefault(where(run), []).append(run.value(metric))
    places = sorted(by_place)
    means = [fmean(by_place[place]) for place in places]
    bars = [
        [mean - min(by_place[place]) for place, mean in zip(places, means, strict=True)],
        [max(by_place[place]) - mean for place, mean in zip(places, means, strict=True)],
    ]
    plot.errorbar(places, means, yerr=bars, label=line, **style.look(index))
    return means


def _draw_theirs(
    plot: "Axes", across: Callable[[Place], float], line: str, claims: Sequence[Claim], index: int
) -> list[float]:
    """Points that the paper published, of which it returns the numbers."""
    look = style.look(index)
    points = [point for claim in claims for point in claim.points]
    if points:
        theirs = {"color": look["color"], "marker": look["marker"], "linestyle": "none", "zorder": 4}
        numbers = [(across(place), number) for place, number in points]
        plot.plot(*zip(*numbers, strict=True), label=f"{line}, paper", **theirs)
    return [number for _, number in points]
