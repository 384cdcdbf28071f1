"""The figure of a reproduced experiment: what the paper published beside what was measured."""

from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING

import shallows.figures.style as style
from shallows.expected import Claim, Experiment, Place
from shallows.judging import Measured, order
from shallows.results import axis_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(experiment: Experiment, claims: Sequence[Claim], runs: Sequence[Measured]) -> "Figure | None":
    """A panel for each metric of which the paper's points are known, against the experiment's axis.

    Ours are lines through means over seeds, with bars from the lowest to the highest; the paper's points are
    filled. Nothing where no points are known.
    """
    published = [claim for claim in claims if claim.kind == "value" and claim.points]
    if experiment.axis is None or not published:
        return None
    metrics = list(dict.fromkeys(claim.metric for claim in published))
    lines = list(dict.fromkeys(_line(claim) for claim in published))
    with style.panels(len(metrics), 1, 1.0, sharex=True) as (figure, plots):
        for plot, metric in zip(plots, metrics, strict=True):
            values: list[float] = []
            for claim in published:
                if claim.metric == metric:
                    values += _draw(plot, experiment.axis, claim, runs, lines.index(_line(claim)))
            style.scale(plot, "y", values, zero=True)
            style.name_panel(plot, metric)
        sizes = isinstance(published[0].points[0][0], str)
        plots[-1].set_xlabel(axis_name(experiment.axis) + (" (KB)" if sizes else ""))
        style.add_legend(figure, *plots)
    return figure


def _horizontal(place: Place) -> float:
    """Sizes are drawn in KB."""
    return order(place) / (1000 if isinstance(place, str) else 1)


def _line(claim: Claim) -> str:
    return ", ".join(map(str, claim.where.values())) or "ours"


def _draw(plot: "Axes", axis: str, claim: Claim, runs: Sequence[Measured], index: int) -> list[float]:
    """Ours and the paper's, and all values that were drawn."""
    mine = [run for run in runs if all(run.on(key) == value for key, value in claim.where.items())]
    by_place: dict[float, list[float]] = {}
    for run in mine:
        by_place.setdefault(_horizontal(run.on(axis)), []).append(run.value(claim.metric))
    places = sorted(by_place)
    means = [fmean(by_place[place]) for place in places]
    bars = [
        [mean - min(by_place[place]) for place, mean in zip(places, means, strict=True)],
        [max(by_place[place]) - mean for place, mean in zip(places, means, strict=True)],
    ]
    look = style.look(index)
    plot.errorbar(places, means, yerr=bars, label=_line(claim), **look)
    theirs = {"color": look["color"], "marker": look["marker"], "linestyle": "none", "zorder": 4}
    numbers = [(_horizontal(place), number) for place, number in claim.points]
    plot.plot(*zip(*numbers, strict=True), label=f"{_line(claim)}, paper", **theirs)
    return [*means, *(number for _, number in claim.points)]
