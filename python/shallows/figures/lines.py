"""How the lines of a figure are told apart: by looks, by a scale of colours, or each in a panel of its own.

Eight looks stay apart in grey and for the colour-blind. More lines than that are never drawn in a colour that
another has: where a quantity was swept, its values are colours of a scale; what else differs has panels side
by side, in which grey lines show the others.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.errors import ShallowsError
from shallows.figures.swept import Swept, is_numeric, values_on
from shallows.runs.results import Run, describe
from shallows.series.inputs import labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

MOST_LOOKS = 8
"""Lines that colours, markers and dashes tell apart."""

BESIDE = 8
"""Panels of single lines that fit beside each other in the width of a page."""

MOST_ROWS = 20
"""Rows of such panels that fit on a page."""

LOW = 0.66
"""Inches: the height of such a panel."""

PAGE_WIDTH = 7.0
"""Inches: both columns of a two-column paper."""

BEHIND: dict[str, Any] = {"color": "0.82", "linewidth": 0.6, "marker": "", "linestyle": "-", "zorder": 1.2}
"""How lines look of which another panel tells."""

Look = dict[str, Any]


@dataclass(frozen=True)
class Lines:
    """The lines of a figure by name, each with its look, and in which of its parts it is."""

    looks: dict[str, Look]
    parts: dict[str, list[str]]
    """Names of lines by the title of the part; one part without a title where all share their panels."""
    scale: Swept | None = None
    """What the colours say, where they are no names."""
    values: Sequence[Any] = ()
    """What is on that scale."""

    @property
    def is_split(self) -> bool:
        """Whether there are several parts."""
        return len(self.parts) > 1

    def behind(self, part: str) -> list[str]:
        """Lines that a part shows in grey: the others, where each has a part of its own."""
        return [] if self.scale or not self.is_split else [name for name in self.looks if name != part]

    def finish(self, figure: "Figure", plots: "Sequence[Axes]", *named: "Axes") -> None:
        """Say above all panels what looks or colours mean; `named` are panels that have all names."""
        if self.scale:
            self.scale.add_bar(figure, plots, self.values, _colours())
        elif not self.is_split:
            style.add_legend(figure, *named)


def of_labels(lines: Mapping[str, Mapping[str, Any]]) -> Lines:
    """Decide how these lines are told apart, each with what distinguishes it, by axis.

    Up to eight have looks. Of more, the longest axis of numbers becomes a scale of colours, and places on
    the others parts; without such an axis each line is a part.
    """
    names = list(lines)
    if len(names) <= MOST_LOOKS:
        return Lines({name: style.look(index) for index, name in enumerate(names)}, {"": names})
    places = list(lines.values())
    axes = dict.fromkeys(axis for place in places for axis in place)
    varied = {axis: values for axis in axes if len(values := values_on(places, axis)) > 1}
    numeric = [axis for axis, values in varied.items() if is_numeric(values)]
    if not numeric:
        alone = style.look(0) | {"markersize": 2.5}
        return Lines(dict.fromkeys(names, alone), {name: [name] for name in names})
    axis = max(numeric, key=lambda axis: len(varied[axis]))
    scale, values = Swept.of(axis, varied[axis]), varied[axis]
    shades = scale.shades(values)
    parts: dict[str, list[str]] = {}
    looks: dict[str, Look] = {}
    for name, place in lines.items():
        parts.setdefault(describe({a: place.get(a) for a in varied if a != axis}), []).append(name)
        color = _colours()(shades[str(place[axis])])
        looks[name] = {"color": color, "marker": ".", "markersize": 3, "linestyle": "-", "linewidth": 1.0}
        looks[name]["zorder"] = 2
    return Lines(looks, parts, scale, values)


def of_groups(groups: Mapping[str, Sequence[Run]], *without: str) -> Lines:
    """Lines through groups of runs; axes that lines are drawn along do not tell them apart."""
    found: dict[str, dict[str, Any]] = {}
    for name, members in groups.items():
        known = {axis: value for axis, value in labels(members[0]).items() if axis not in {"seed", *without}}
        found[name] = {"scenario": members[0].summary["name"]} | known
    return of_labels(found)


def _colours() -> "Colormap":
    """Viridis, without the end that is too light for white paper: its lightness alone tells it apart."""
    import matplotlib as mpl
    import numpy as np
    from matplotlib.colors import ListedColormap

    return ListedColormap(mpl.colormaps["viridis"](np.linspace(0, 0.9, 256)))


@dataclass(frozen=True)
class Place:
    """A panel: which lines it has, and which stand in grey behind them."""

    plot: "Axes"
    names: Sequence[str]
    behind: Sequence[str]
    is_first: bool
    """Whether it has the names and numbers of the vertical axis."""
    is_last: bool
    """Whether it has those of the horizontal one."""


@contextlib.contextmanager
def side_by_side(
    lines: Lines, count: int, columns: int, height: float
) -> "Iterator[tuple[Figure, list[list[Place]]]]":
    """Panels of several metrics along one axis: of each metric one for each part.

    One part has its metrics in so many columns. Parts stand beside each other, a metric in each row, and are
    wrapped.
    """
    if not lines.is_split:
        with style.panels(-(-count // columns), columns, height, sharex=True) as (figure, plots):
            names = list(lines.looks)
            last = count - columns
            yield (
                figure,
                [[Place(plot, names, [], True, at >= last)] for at, plot in enumerate(plots[:count])],
            )
        return
    bands = -(-len(lines.parts) // BESIDE)
    wide = -(-len(lines.parts) // bands)
    _refuse_many(bands * count, len(lines.parts))
    size: dict[str, Any] = {
        "width": PAGE_WIDTH if wide > 2 else style.WIDTH,
        "sharex": True,
        "most": MOST_ROWS,
    }
    with style.panels(bands * count, wide, LOW, **size) as (figure, plots):
        places: list[list[Place]] = [[] for _ in range(count)]
        for number, (part, names) in enumerate(lines.parts.items()):
            band, column = divmod(number, wide)
            for row in range(count):
                plot = plots[(band * count + row) * wide + column]
                place = Place(plot, names, lines.behind(part), column == 0, row == count - 1)
                plot.tick_params(labelleft=column == 0, labelbottom=place.is_last, labelsize=6.5)
                plot.yaxis.label.set_fontsize(7)
                plot.xaxis.label.set_fontsize(7)
                places[row].append(place)
            places[0][-1].plot.set_title(style.wrapped(part, 66 // wide), pad=3, fontsize=7)
        for spare in range(len(lines.parts), bands * wide):
            band, column = divmod(spare, wide)
            for row in range(count):
                plots[(band * count + row) * wide + column].remove()
        yield figure, places


@contextlib.contextmanager
def one_below_the_other(
    lines: Lines, count: int, height: float
) -> "Iterator[tuple[Figure, list[list[Place]]]]":
    """Panels of which each has a horizontal axis of its own: parts in rows, what is drawn in columns."""
    if not lines.is_split:
        with style.panels(count, 1, height) as (figure, plots):
            yield figure, [[Place(plot, list(lines.looks), [], True, True)] for plot in plots]
        return
    _refuse_many(len(lines.parts), len(lines.parts))
    size: dict[str, Any] = {
        "width": PAGE_WIDTH if count > 1 else style.WIDTH,
        "sharex": "col",
        "most": MOST_ROWS,
    }
    with style.panels(len(lines.parts), count, LOW, **size) as (figure, plots):
        places: list[list[Place]] = [[] for _ in range(count)]
        for row, (part, names) in enumerate(lines.parts.items()):
            for column in range(count):
                plot = plots[row * count + column]
                is_last = row == len(lines.parts) - 1
                places[column].append(Place(plot, names, lines.behind(part), column == 0, is_last))
            style.name_panel(plots[row * count], part)
        yield figure, places


def _refuse_many(rows: int, parts: int) -> None:
    if rows > MOST_ROWS:
        raise ShallowsError(
            f"the figure would have {parts} panels of each kind; a page holds {MOST_ROWS} rows",
            "name fewer runs, or choose among them: --where load=0.8",
        )
