"""A reproduced experiment: what the paper published beside what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import shallows.figures.style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Line:
    """One line of a panel: ours, with the lowest and highest of the seeds, and the paper's points."""

    name: str
    index: int
    ours: Sequence[tuple[float, float, float, float]]
    """Place, mean over seeds, lowest, highest."""
    paper: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Panel:
    """A metric against the axis."""

    title: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Beside:
    """Ours beside the paper's, as numbers."""

    axis: str
    is_wide: bool
    """Whether the axis is logarithmic."""
    panels: Sequence[Panel]


def draw(found: Beside) -> "Figure":
    """A panel for each metric.

    Ours are lines through means over seeds, with bars from the lowest to the highest; the paper's points are
    filled.
    """
    with style.panels(len(found.panels), 1, 1.0, sharex=True) as (figure, plots):
        for plot, panel in zip(plots, found.panels, strict=True):
            values: list[float] = []
            for line in panel.lines:
                values += [*_draw_ours(plot, line), *_draw_theirs(plot, line)]
            style.scale(plot, "y", values, zero=True)
            style.name_panel(plot, panel.title)
        if found.is_wide:
            style.scale(plots[-1], "x", [place for line in found.panels[0].lines for place, *_ in line.ours])
        plots[-1].set_xlabel(found.axis)
        style.add_legend(figure, *plots)
    return figure


def _draw_ours(plot: "Axes", line: Line) -> list[float]:
    """Means and their bars; returns the means."""
    places, means, lows, highs = (list(column) for column in zip(*line.ours, strict=True))
    # The mean of numbers that are all alike may round to less than they are.
    bars = [
        [max(mean - low, 0.0) for mean, low in zip(means, lows, strict=True)],
        [max(high - mean, 0.0) for mean, high in zip(means, highs, strict=True)],
    ]
    plot.errorbar(places, means, yerr=bars, label=line.name, **style.look(line.index))
    return means


def _draw_theirs(plot: "Axes", line: Line) -> list[float]:
    """Points that the paper published, of which it returns the numbers."""
    look = style.look(line.index)
    if line.paper:
        theirs = {"color": look["color"], "marker": look["marker"], "linestyle": "none", "zorder": 4}
        plot.plot(*zip(*line.paper, strict=True), label=f"{line.name}, paper", **theirs)
    return [number for _, number in line.paper]
