"""Choice of how a figure distinguishes its lines: by style, by a colour scale, or by separate panels.

Eight styles are distinguishable in grey and for the colour-blind. With more lines, the values of a swept
quantity become colours of a scale, and each scheme has its own panel. Without such a quantity, each line has
its own panel, and grey lines behind it show the other lines.
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
"""Maximum number of lines that are distinguished by colours, markers and dashes."""

BESIDE = 8
"""Maximum number of panels of single lines side by side on a page."""

MOST_ROWS = 20
"""Maximum number of rows of panels of single lines on a page."""

LOW = 0.66
"""Height of a panel of a single line in inches."""

PAGE_WIDTH = 7.0
"""Width of both columns of a two-column paper, in inches."""

BEHIND: dict[str, Any] = {"color": "0.82", "linewidth": 0.6, "marker": "", "linestyle": "-", "zorder": 1.2}
"""Style of lines that belong to another panel."""

Look = dict[str, Any]


@dataclass(frozen=True)
class Lines:
    """Styles of a figure's lines, and the parts into which they are divided. Each part has its own panels."""

    looks: dict[str, Look]
    """Style of each line, by the name of the line."""
    parts: dict[str, list[str]]
    """Names of the lines of each part, by the part's title; one untitled part if all lines share panels."""
    scale: Swept | None = None
    """Axis that the colours represent; None if colours identify lines."""
    values: Sequence[Any] = ()
    """Values of the axis `scale`."""

    @property
    def is_split(self) -> bool:
        """Whether the lines are divided into several parts."""
        return len(self.parts) > 1

    def behind(self, part: str) -> list[str]:
        """Return lines to draw in grey: those of other parts; none with a colour scale or a single part."""
        return [] if self.scale or not self.is_split else [name for name in self.looks if name != part]

    def finish(self, figure: "Figure", plots: "Sequence[Axes]", *named: "Axes") -> None:
        """Add a legend or a colour bar above all panels; the legend has the lines of the panels `named`."""
        if self.scale:
            self.scale.add_bar(figure, plots, self.values, _colours())
        elif not self.is_split:
            style.add_legend(figure, *named)


def of_labels(lines: Mapping[str, Mapping[str, Any]]) -> Lines:
    """Choose how to distinguish lines; `lines` maps the name of each line to its labels by axis.

    Up to eight lines have styles; lines of one scheme share its colour. With more lines, the numeric axis
    with the most values becomes a colour scale. Each combination of values of the other axes then has its
    own panels. Without a numeric axis, each line has its own panels.
    """
    names = list(lines)
    if len(names) <= MOST_LOOKS:
        schemes = list(dict.fromkeys(str(place.get("scheme", name)) for name, place in lines.items()))
        looks: dict[str, Look] = {}
        for index, (name, place) in enumerate(lines.items()):
            color = style.look(schemes.index(str(place.get("scheme", name))))["color"]
            looks[name] = style.look(index) | {"color": color}
        return Lines(looks, {"": names})
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
    looks = {}
    for name, place in lines.items():
        parts.setdefault(describe({a: place.get(a) for a in varied if a != axis}), []).append(name)
        color = _colours()(shades[str(place[axis])])
        looks[name] = {"color": color, "marker": ".", "markersize": 3, "linestyle": "-", "linewidth": 1.0}
        looks[name]["zorder"] = 2
    return Lines(looks, parts, scale, values)


def of_groups(groups: Mapping[str, Sequence[Run]], *without: str) -> Lines:
    """Choose how to distinguish the lines of groups of runs; the axes in `without` vary along each line."""
    found: dict[str, dict[str, Any]] = {}
    for name, members in groups.items():
        known = {axis: value for axis, value in labels(members[0]).items() if axis not in {"seed", *without}}
        found[name] = {"scenario": members[0].summary["name"]} | known
    return of_labels(found)


def _colours() -> "Colormap":
    """Return the colour map viridis without its light end, which is hard to see on white paper."""
    import matplotlib as mpl
    import numpy as np
    from matplotlib.colors import ListedColormap

    return ListedColormap(mpl.colormaps["viridis"](np.linspace(0, 0.9, 256)))


@dataclass(frozen=True)
class Place:
    """A panel with the names of its lines, and of lines drawn in grey behind them."""

    plot: "Axes"
    names: Sequence[str]
    behind: Sequence[str]
    is_first: bool
    """Whether the panel's vertical axis has labels."""
    is_last: bool
    """Whether the panel's horizontal axis has labels."""


@contextlib.contextmanager
def side_by_side(
    lines: Lines, count: int, columns: int, height: float
) -> "Iterator[tuple[Figure, list[list[Place]]]]":
    """Create panels of several metrics along one axis, one panel for each metric and part.

    A part is a group of lines with its own panels. With a single part, the panels of all metrics are arranged
    in `columns` columns. With several parts, each row shows one metric for as many parts as fit side by side.
    Yields the figure, and the panels of each metric.
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
    """Create panels of several metrics with different horizontal axes, one for each metric and part.

    A part is a group of lines with its own panels. With a single part, there is a row for each metric. With
    several parts, there is a row for each part and a column for each metric. Yields the figure, and the
    panels of each metric.
    """
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
            f"a figure must have at most {MOST_ROWS} rows; {parts} panels of each kind do not fit",
            "name fewer runs, or select runs with an option such as --where load=0.8",
        )
