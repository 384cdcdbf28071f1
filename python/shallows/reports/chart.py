"""Charts as numbers for the browser: few enough to react at once, chosen so that what matters stays."""

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
"""Drawn on a page, all charts together."""

CDF_POINTS = 8_000
"""Of these, for all distributions of a page."""

SERIES_POINTS = 8_000
"""And for all that is drawn over time."""

SERIES_HELD = 40_000
"""What the page holds of that, so that one can look closer."""

METRIC_POINTS = MOST_POINTS - CDF_POINTS - SERIES_POINTS

FINEST_CDF = 400
"""Steps of a distribution: more cannot be seen."""

COARSEST_CDF, COARSEST_SERIES = 24, 320
"""With fewer points a line would say something else: then it is left out, and the page says so."""

Point = tuple[float, ...]
"""Where, and how much. Over time, perhaps also the lowest and the highest value until the next point."""


@dataclass(frozen=True)
class Axis:
    """An axis: its name with the unit, whether it may be logarithmic, names instead of numbers."""

    name: str
    unit: str = ""
    log: bool = False
    names: Sequence[str] = ()
    """Places 0, 1, … are called so."""
    start: float = 0.0
    """Where it begins, over time."""


@dataclass(frozen=True)
class Line:
    """A line, in the colour of its scheme."""

    name: str
    look: int
    """Number of its colour, marker and dashes, as in figures."""
    points: Sequence[Point]
    bars: Sequence[tuple[float, float, float]] = ()
    """Place, and both ends of the interval there."""
    at: Mapping[str, str] = field(default_factory=dict)
    """Which choices of the chart show it."""
    shade: float | None = None
    """Instead of a look, where its value is on a scale of colours, from 0 to 1."""
    published: bool = False
    """Points alone, without a line: what a paper has published, or places that are in no order."""


@dataclass(frozen=True)
class Level:
    """A horizontal line with a name: a threshold."""

    name: str
    value: float
    at: Mapping[str, str] = field(default_factory=dict)
    lines: Sequence[str] = ()
    """Lines whose threshold it is: it is hidden with them. Of no line, it is always shown."""
    look: int | None = None
    """The look of its line, if it belongs to one."""


@dataclass(frozen=True)
class Chart:
    """One chart. `kind` is `points` (a metric along an axis), `cdf`, or `steps` (over time)."""

    name: str
    title: str
    kind: str
    x: Axis
    y: Axis
    lines: Sequence[Line]
    levels: Sequence[Level] = ()
    note: str = ""
    window: float = 1.0
    """How much of the horizontal axis is shown at first."""
    most: int | None = None
    """How many points of a line over time are drawn at once: of more, means of parts of the time are."""

    @property
    def size(self) -> int:
        """How many points are drawn at once."""
        points = (len(line.points) for line in self.lines)
        at_once = sum(count if self.most is None else min(count, self.most) for count in points)
        return at_once + sum(len(line.bars) for line in self.lines)

    @property
    def choices(self) -> dict[str, list[str]]:
        """What of it can be chosen, such as the load, and the values that there are."""
        found: dict[str, dict[str, None]] = {}
        for line in self.lines:
            for axis, value in line.at.items():
                found.setdefault(axis, {}).setdefault(value)
        return {axis: list(values) for axis, values in found.items()}

    def document(self) -> dict[str, Any]:
        """For the browser."""
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
    """To so many digits: more cannot be seen, and would only make the file larger."""
    return [None if finite(value) is None else float(f"{value:.{precision}g}") for value in values]


@cache
def looks() -> list[dict[str, Any]]:
    """Colours, markers and dashes in the order of `shallows.mplstyle`, read without matplotlib.

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
    """Dashes in the browser, where lines are twice as wide as in print."""
    named: dict[str, list[float]] = {"-": [], "--": [4, 2], ":": [1, 1.5], "-.": [6, 1.5, 1, 1.5]}
    return named[line] if isinstance(line, str) else list(line[1])


class Ordered(Protocol):
    """Values in ascending order."""

    def __len__(self) -> int: ...

    def __getitem__(self, place: int, /) -> float: ...


def distribution(ordered: Ordered, most: int = FINEST_CDF) -> list[Point]:
    """Points of the empirical distribution; all of them where they are few.

    Of many, every such rank that between two neighbours lies at most one `most`-th of all values, and the
    last hundredth and thousandth as finely again: a tail is what one looks for. Each point is exact: a value
    that occurred, and the share that is no larger.

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
    """The unit in which these microseconds are read best."""
    return time_unit(end for each in ordered for end in (each[0], each[len(each) - 1]))


SETTLED = 0.99
"""Share of the area under a queue's backlog after which there is little to see."""


def window(drawn: "Collection[Series]") -> float:
    """How much of a time axis to show at first: all, unless most of it comes after almost everything."""
    end = max(float(series.times[-1]) for series in drawn)
    settled = 1.1 * max(series.settled(SETTLED) for series in drawn) / end
    return settled if 0 < settled < 0.5 else 1.0


def coarseness(most: int) -> float:
    """The largest share of values between two points of such a distribution."""
    return 1 / (most * 6 // 10)


class OverTime:
    """Lines over time: what a page holds of each, what is drawn of it at once, and what to say of that.

    Parameters
    ----------
    drawn
        Some of them.
    share_of
        How many lines there are over time on the page.
    """

    def __init__(self, drawn: "Sequence[Series]", share_of: int) -> None:
        self.most = SERIES_POINTS // share_of
        self._parts = [series.parts(SERIES_HELD // share_of) for series in drawn]

    @property
    def note(self) -> str:
        """How lines were thinned; nothing if all of their changes are drawn."""
        if all(len(parts.edges) <= self.most for parts in self._parts):
            return ""
        longest = max(parts.longest_us for parts in self._parts)
        unit = time_unit([longest])
        finest = f"parts of {digits(longest / unit.size)} {unit.name}" if longest else "each change"
        return (
            "Where more happens than can be seen, a line is the mean of parts of the time, in a shade from "
            f"the lowest to the highest value. Zooming in shows shorter ones, down to {finest}."
        )

    def points(self, time: float, size: float) -> list[list[Point]]:
        """Of each line, in these units: when a part begins, its mean, and the ends of several values."""
        return [_points(parts, time, size) for parts in self._parts]


def _points(parts: "Parts", time: float, size: float) -> list[Point]:
    columns = [parts.edges[:-1] / time, parts.mean / size, parts.low / size, parts.high / size]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    found: list[Point] = [row if row[2] < row[3] else row[:2] for row in rows]
    return [*found, (float(parts.edges[-1] / time), found[-1][1])]
