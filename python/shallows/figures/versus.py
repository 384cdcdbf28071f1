"""Figure of a reproduced experiment: published values versus our measurements."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import shallows.figures.style as style
from shallows.comparison.intervals import said_of_bars

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Line:
    """A line of a panel: measured values with intervals over seeds, and the paper's points."""

    name: str
    index: int
    ours: Sequence[tuple[float, float, float | None, float | None]]
    """Position, mean over seeds, and the ends of the mean's interval, if there is one."""
    paper: Sequence[tuple[float, float]] = ()


@dataclass(frozen=True)
class Panel:
    """A panel that shows one metric along the experiment's axis."""

    title: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Versus:
    """Contents of the figure: measured values versus the paper's."""

    axis: str
    is_wide: bool
    """Whether the axis is logarithmic."""
    panels: Sequence[Panel]
    seeds: Sequence[int]
    """Distinct numbers of seeds over which the points' means are taken."""


def draw(found: Versus) -> "Figure":
    """Draw a panel for each metric.

    Measured values are lines through means over seeds, with bars for intervals; points of the paper are
    filled.
    """
    with style.panels(len(found.panels), 1, 1.0, sharex=True) as (figure, plots):
        for plot, panel in zip(plots, found.panels, strict=True):
            values: list[float] = []
            for line in panel.lines:
                values += [*_draw_ours(plot, line), *_draw_theirs(plot, line)]
            ends = [end for line in panel.lines for *_, low, high in line.ours for end in (low, high)]
            style.scale(plot, "y", values, zero=True, more=[end for end in ends if end is not None])
            style.name_panel(plot, panel.title)
        if found.is_wide:
            style.scale(plots[-1], "x", [place for line in found.panels[0].lines for place, *_ in line.ours])
        plots[-1].set_xlabel(found.axis)
        if any(line.paper for panel in found.panels for line in panel.lines):
            plots[0].plot([], [], "o", color="0.35", label="paper: filled")
        style.add_legend(figure, *plots)
        style.add_note(figure, said_of_bars(found.seeds))
    return figure


def _draw_ours(plot: "Axes", line: Line) -> list[float]:
    """Draw the measured means and their interval bars; return the means."""
    look = style.look(line.index)
    places, means, *_ = (list(column) for column in zip(*line.ours, strict=True))
    known = [
        (at, mean, mean - low, high - mean)
        for at, mean, low, high in line.ours
        if low is not None and high is not None
    ]
    if known:
        at, centres, below, above = (list(column) for column in zip(*known, strict=True))
        plot.errorbar(at, centres, [below, above], fmt="none", ecolor=look["color"], zorder=look["zorder"])
    plot.plot(places, means, label=line.name, **look)
    return means


def _draw_theirs(plot: "Axes", line: Line) -> list[float]:
    """Draw the points that the paper published; return their values."""
    look = style.look(line.index)
    if line.paper:
        theirs = {"color": look["color"], "marker": look["marker"], "linestyle": "none", "zorder": 4}
        plot.plot(*zip(*line.paper, strict=True), **theirs)
    return [number for _, number in line.paper]
