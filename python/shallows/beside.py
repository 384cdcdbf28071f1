"""The figure of a reproduced experiment: what the paper published beside what was measured."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import shallows.figures.style as style
from shallows.expected import Claim, Experiment, Place
from shallows.judging import Measured, order
from shallows.results import axis_name, describe, on_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BOUND = "ideal_"
"""How bounds begin, before the name of the metric that they bound: one line for all schemes."""


def draw(experiment: Experiment, claims: Sequence[Claim], runs: Sequence[Measured]) -> "Figure | None":
    """A panel for each metric that is to be shown or of which the paper's points are known, against the axis.

    Ours are lines through means over seeds, with bars from the lowest to the highest; the paper's points are
    filled. Nothing where there is nothing to show.
    """
    published = [claim for claim in claims if claim.kind == "value" and claim.points and claim.versus is None]
    metrics = list(dict.fromkeys([*experiment.show, *(claim.metric for claim in published)]))
    axis = experiment.axis
    if axis is None or not metrics:
        return None
    bounds = {
        m.removeprefix(BOUND): m for m in metrics if m.startswith(BOUND) and m.removeprefix(BOUND) in metrics
    }
    metrics = [metric for metric in metrics if metric not in bounds.values()]
    lines: dict[str, list[Measured]] = {}
    for run in runs:
        lines.setdefault(_line(run, axis), []).append(run)
    with style.panels(len(metrics), 1, 1.0, sharex=True) as (figure, plots):
        for plot, metric in zip(plots, metrics, strict=True):
            values: list[float] = []
            for index, (line, members) in enumerate(lines.items()):
                values += _draw_ours(plot, axis, metric, line, members, index)
                theirs = [claim for claim in published if claim.metric == metric and _is_of(claim, members)]
                values += _draw_theirs(plot, line, theirs, index)
            if metric in bounds:
                values += _draw_ours(
                    plot, axis, bounds[metric], "ideal", next(iter(lines.values())), len(lines)
                )
            style.scale(plot, "y", values, zero=True)
            style.name_panel(plot, metric)
        sizes = isinstance(runs[0].on(axis), str)
        plots[-1].set_xlabel(axis_name(axis) + (" (KB)" if sizes else ""))
        style.add_legend(figure, *plots)
    return figure


def _horizontal(place: Place) -> float:
    """Sizes are drawn in KB."""
    return order(place) / (1000 if isinstance(place, str) else 1)


def _line(run: Measured, axis: str) -> str:
    """What distinguishes a line: all but the axis and the seed."""
    kept = {key: value for key, value in run.labels.items() if key != "seed" and not on_axis({key: 0}, axis)}
    return describe(kept) if kept else "ours"


def _is_of(claim: Claim, members: Sequence[Measured]) -> bool:
    return all(members[0].on(key) == value for key, value in claim.where.items())


def _draw_ours(
    plot: "Axes", axis: str, metric: str, line: str, members: Sequence[Measured], index: int
) -> list[float]:
    """Means and their bars; returns the means."""
    by_place: dict[float, list[float]] = {}
    for run in members:
        by_place.setdefault(_horizontal(run.on(axis)), []).append(run.value(metric))
    places = sorted(by_place)
    means = [fmean(by_place[place]) for place in places]
    bars = [
        [mean - min(by_place[place]) for place, mean in zip(places, means, strict=True)],
        [max(by_place[place]) - mean for place, mean in zip(places, means, strict=True)],
    ]
    plot.errorbar(places, means, yerr=bars, label=line, **style.look(index))
    return means


def _draw_theirs(plot: "Axes", line: str, claims: Sequence[Claim], index: int) -> list[float]:
    """Points that the paper published, of which it returns the numbers."""
    look = style.look(index)
    points = [point for claim in claims for point in claim.points]
    if points:
        theirs = {"color": look["color"], "marker": look["marker"], "linestyle": "none", "zorder": 4}
        numbers = [(_horizontal(place), number) for place, number in points]
        plot.plot(*zip(*numbers, strict=True), label=f"{line}, paper", **theirs)
    return [number for _, number in points]
