"""Charts as data for the browser, with few enough points to stay fast; tails and peaks stay visible."""

import ast
import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from shallows.figures.style import STYLE, Unit, time_unit
from shallows.quantity import digits, finite

if TYPE_CHECKING:
    from shallows.runs.steps import Parts, Series

MOST_POINTS = 20_000
"""Maximum number of points drawn on a page, over all charts."""

CDF_POINTS = 8_000
"""Share of `MOST_POINTS` for all distributions of a page."""

SERIES_POINTS = 8_000
"""Share of `MOST_POINTS` for all lines over time."""

SERIES_HELD = 40_000
"""Maximum number of points over time in a page's data; zooming in shows those that are not drawn at first."""

METRIC_POINTS = MOST_POINTS - CDF_POINTS - SERIES_POINTS

FINEST_CDF = 400
"""Maximum number of steps of a distribution: more would not be visible."""

COARSEST_CDF, COARSEST_SERIES = 24, 320
"""Minimum number of points of a line; a shorter line would mislead, so a note replaces it."""

Point = tuple[float, ...]
"""Position and value. A point over time may also have the lowest and highest value until the next point."""


@dataclass(frozen=True)
class Axis:
    """An axis: its name with the unit, whether it may be logarithmic, and names of its positions, if any."""

    name: str
    unit: str = ""
    log: bool = False
    names: Sequence[str] = ()
    """Names of positions 0, 1, …, if the axis has names."""
    start: float = 0.0
    """Beginning of a time axis."""


@dataclass(frozen=True)
class Line:
    """A line, in the colour of its scheme."""

    name: str
    look: int
    """Number of the line's colour, marker and dashes, as in figures."""
    points: Sequence[Point]
    bars: Sequence[tuple[float, float, float]] = ()
    """Interval bars: position, lower end and upper end of each."""
    at: Mapping[str, str] = field(default_factory=dict)
    """Values that the user must choose to see this line, by name of the axis."""
    shade: float | None = None
    """Position on the colour scale, from 0 to 1; if given, this colour replaces `look`."""
    published: bool = False
    """Whether to draw filled points without a line: a paper's values, or places without an order."""


@dataclass(frozen=True)
class Level:
    """A horizontal line with a name: a threshold."""

    name: str
    value: float
    at: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    """Names of the lines with this threshold, which is shown if one of them is; if empty, always shown."""
    look: int | None = None
    """Look of the line to which the threshold belongs, if there is only one."""


@dataclass(frozen=True)
class Chart:
    """A chart. `kind` is `points` (a metric along an axis), `cdf`, or `steps` (over time)."""

    name: str
    title: str
    kind: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    levels: Sequence[Level] = ()
    note: str = ""
    window: float = 1.0
    """Share of the horizontal axis that is shown at first."""
    most: int | None = None
    """Maximum number of points drawn at once for a line over time; with more, means are drawn."""

    @property
    def size(self) -> int:
        """Number of points drawn at once."""
        points = (len(line.points) for line in self.lines)
        at_once = sum(count if self.most is None else min(count, self.most) for count in points)
        return at_once + sum(len(line.bars) for line in self.lines)

    @property
    def choices(self) -> dict[str, list[str]]:
        """Dict from the name of each axis to the values that the user can choose."""
        found: dict[str, dict[str, None]] = {}
        for line in self.lines:
            for axis, value in line.at.items():
                found.setdefault(axis, {}).setdefault(value)
        return {axis: list(values) for axis, values in found.items()}

    def document(self) -> dict[str, Any]:
        """Return the chart as a JSON object for the browser."""
        return {
            "name": self.name,
            "kind": self.kind,
            "x": vars(self.x),
            "y": vars(self.y),
            "lines": [
                {
                    "name": line.name,
                    "look": line.look,
                    "shade": line.shade,
                    "points": [_numbers(point[:1], 9) + _numbers(point[1:]) for point in line.points],
                    "bars": [_numbers(bar) for bar in line.bars],
                    "at": dict(line.at),
                    "published": line.published,
                }
                for line in self.lines
            ],
            "levels": [vars(level) | {"at": dict(level.at)} for level in self.levels],
            "choices": self.choices,
            "window": self.window,
            "most": self.most,
        }


def _numbers(values: Iterable[float], precision: int = 6) -> list[float | None]:
    """Round values to `precision` digits, which keeps the file small; infinite values become None."""
    return [None if finite(value) is None else float(f"{value:.{precision}g}") for value in values]


@cache
def looks() -> list[dict[str, Any]]:
    """Return colours, markers and dashes in the order of `shallows.mplstyle`, read without matplotlib.

    >>> looks()[1]
    {'color': '#D55E00', 'marker': 's', 'dash': [4, 2]}
    """
    text = STYLE.read_text(encoding="utf-8")
    columns = [
        ast.literal_eval(found) for found in re.findall(r"cycler\('\w+', (\[.*?\])\)(?: \+|\n|$)", text)
    ]
    return [
        {"color": f"#{color}", "marker": marker, "dash": _dash(line)}
        for color, marker, line in zip(*columns, strict=True)
    ]


def _dash(line: "str | tuple[int, Sequence[float]]") -> list[float]:
    """Return the dash pattern of a line, in multiples of its width."""
    named: dict[str, list[float]] = {"-": [], "--": [4, 2], ":": [1, 1.5], "-.": [6, 1.5, 1, 1.5]}
    return named[line] if isinstance(line, str) else list(line[1])


class Ordered(Protocol):
    """Values in ascending order."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> float: ...


def distribution(ordered: Ordered, most: int = FINEST_CDF) -> list[Point]:
    """Return about `most` points of the empirical distribution; all of them if there are fewer.

    Ranks are evenly spaced, and more closely in the last tenth, hundredth and thousandth, to show the tail.
    Each point is exact: an observed value, and the share of values at or below it.

    >>> distribution([1.0, 2.0, 3.0, 4.0])
    [(1.0, 0.25), (2.0, 0.5), (3.0, 0.75), (4.0, 1.0)]
    """
    total = len(ordered)
    if total <= most:
        ranks = list(range(total))
    else:
        parts = [(0.0, 1.0, most * 6 // 10), (0.9, 1.0, most * 2 // 10), (0.99, 1.0, most // 10)]
        parts.append((0.999, 1.0, most // 10))
        ranks = sorted(
            {
                math.floor((low + (high - low) * step / steps) * (total - 1))
                for low, high, steps in parts
                for step in range(steps + 1)
            }
        )
    return [(float(ordered[rank]), (rank + 1) / total) for rank in ranks]


def time_unit_of(ordered: Iterable[Ordered]) -> Unit:
    """Return the unit that makes the numbers of an axis with these times (in µs) easiest to read."""
    return time_unit(end for each in ordered for end in (each[0], each[len(each) - 1]))


SETTLED = 0.99
"""Share of the area under a queue's backlog that the initial window must contain."""


def window(drawn: "Collection[Series]") -> float:
    """Return the share of the time axis to show at first; less than 1 if queues are nearly empty later."""
    end = max(float(series.times[-1]) for series in drawn)
    settled = 1.1 * max(series.settled(SETTLED) for series in drawn) / end
    return settled if 0 < settled < 0.5 else 1.0


def coarseness(most: int) -> float:
    """Return the largest share of values between two points of a `distribution` with `most` points."""
    return 1 / (most * 6 // 10)


class OverTime:
    """Time series of one chart, thinned so that all time series of a page stay within the limit of points.

    Parameters
    ----------
    drawn
        Series of one chart.
    share_of
        Number of time series on the page, which share the limit equally.
    """

    def __init__(self, drawn: "Sequence[Series]", share_of: int) -> None:
        self.most = SERIES_POINTS // share_of
        self._parts = [series.parts(SERIES_HELD // share_of) for series in drawn]

    @property
    def note(self) -> str:
        """Note on the averaging of lines; empty if all changes are drawn."""
        if all(len(parts.edges) <= self.most for parts in self._parts):
            return ""
        longest = max(parts.longest_us for parts in self._parts)
        unit = time_unit([longest])
        finest = f"parts of {digits(longest / unit.size)} {unit.name}" if longest else "each change"
        return (
            "Where values change faster than the screen can show, the line is a mean over intervals, and the "
            f"shade spans the lowest to the highest value. Zoom in for shorter intervals, down to {finest}."
        )

    def points(self, time: float, size: float) -> list[list[Point]]:
        """Return the points of each line: time, mean, and the lowest and highest value if they differ.

        `time` and `size` are the units of the axes.
        """
        return [_points(parts, time, size) for parts in self._parts]


def _points(parts: "Parts", time: float, size: float) -> list[Point]:
    columns = [parts.edges[:-1] / time, parts.mean / size, parts.low / size, parts.high / size]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    found: list[Point] = [row if row[2] < row[3] else row[:2] for row in rows]
    return [*found, (float(parts.edges[-1] / time), found[-1][1])]
