"""Axis of a sweep as the axis or colour scale of a figure: its positions, its unit, and its scale."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.figures.style import SIZES, TIMES, Unit, size_unit, time_unit
from shallows.quantity import digits, order, parse_quantity, size
from shallows.runs.results import axis_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure

WIDE = 30
"""Ratio of largest to smallest value above which an axis is logarithmic."""

FEW = 6
"""Maximum number of ticks of a colour bar."""

BAR_HEIGHT = 0.2
"""Height in inches that a colour bar adds to a figure."""

THIN = "\N{THIN SPACE}"
"""Space between a number and its unit on an axis."""


@dataclass(frozen=True)
class Swept:
    """Axis with values that are numbers, or quantities such as `90KB`.

    Examples
    --------
    >>> k = Swept.of("switch.markers.0.k", ["10KB", "100KB", "10MB"])
    >>> k.label, k.is_wide, k.place("100KB")
    ('k (KB)', True, 100.0)
    >>> load = Swept.of("workload.0.load", [0.4, 0.8])
    >>> load.label, load.is_wide, load.place(0.8)
    ('load (%)', False, 80.0)
    """

    key: str
    unit: Unit
    is_wide: bool
    """Whether the axis is logarithmic."""

    @classmethod
    def of(cls, key: str, values: Iterable[Any]) -> "Swept":
        """Return the axis with this key for all values that the figure shows."""
        known = list(values)
        places = sorted(map(order, known))
        return cls(key, _unit(key, known), 0 < WIDE * places[0] < places[-1])

    @property
    def name(self) -> str:
        """Name of the axis without its unit."""
        return axis_name(self.key)

    @property
    def label(self) -> str:
        """Name of the axis with its unit."""
        return self.name + (f" ({self.unit.name})" if self.unit.name else "")

    def place(self, value: Any) -> float:
        """Return the position of a value, in the unit of the axis."""
        return order(value) / self.unit.size

    def draw(self, plot: "Axes", places: Iterable[float], most: int) -> None:
        """Set up the horizontal axis of a panel for these positions, with at most `most` ticks.

        On a logarithmic axis of sizes or times, each tick has its own unit.
        """
        from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter

        known = sorted(places)
        plot.set_xlabel(self.name if self._names_units else self.label)
        if not self.is_wide:
            is_whole = all(place == int(place) for place in known)
            plot.xaxis.set_major_locator(MaxNLocator(most, integer=is_whole, steps=[1, 2, 2.5, 5, 10]))
            plot.xaxis.set_major_formatter(style.plain_numbers())
            return
        low, high = known[0] / 1.15, known[-1] * 1.15
        plot.set_xscale("log")
        plot.set_xlim(low, high)
        ticks = self._ticks(low, high, most)
        plot.set_xticks(ticks, [self._said(tick) for tick in ticks])
        minor = [tick for tick in style.decades(low, high) if tick not in ticks]
        plot.xaxis.set_minor_locator(FixedLocator(minor))
        plot.xaxis.set_minor_formatter(NullFormatter())

    def shades(self, values: Iterable[Any]) -> dict[str, float]:
        """Return the position of each value on the colour scale, from 0 to 1."""
        places = {str(value): self._on_scale(self.place(value)) for value in values}
        low, high = min(places.values()), max(places.values())
        return {value: (place - low) / (high - low) for value, place in places.items()}

    def _on_scale(self, place: float) -> float:
        return math.log(place) if self.is_wide else place

    def add_bar(
        self, figure: "Figure", plots: "Sequence[Axes]", values: Iterable[Any], colours: "Colormap"
    ) -> None:
        """Add a colour bar above these panels."""
        from matplotlib.cm import ScalarMappable
        from matplotlib.colors import LogNorm, Normalize
        from matplotlib.ticker import MaxNLocator, NullLocator

        places = sorted(map(self.place, values))
        low, high = places[0], places[-1]
        kind = LogNorm if self.is_wide else Normalize
        # Add the bar's height to the figure, so that panels keep their size.
        figure.set_figheight(figure.get_figheight() + BAR_HEIGHT)
        bar = figure.colorbar(
            ScalarMappable(kind(low, high), colours), ax=plots, location="top", aspect=40, pad=0.02
        )
        if len(places) <= FEW:
            ticks = places
        elif self.is_wide:
            ticks = self._ticks(low, high, FEW)
        else:
            ticks = [tick for tick in MaxNLocator(FEW).tick_values(low, high) if low <= tick <= high]
        bar.set_ticks(ticks, labels=[self._said(tick) for tick in ticks])
        bar.ax.xaxis.set_minor_locator(NullLocator())
        bar.set_label(self.name if self._names_units else self.label)

    @property
    def _names_units(self) -> bool:
        return self.is_wide and self.unit.name in {*SIZES, *TIMES}

    def _ticks(self, low: float, high: float, most: int) -> list[float]:
        ticks = style.decades(low, high)
        return ticks[:: -(-len(ticks) // most)]

    def _said(self, place: float) -> str:
        if not self._names_units:
            return digits(place)
        if self.unit.name in SIZES:
            return size(place * self.unit.size).replace(" ", THIN)
        found = time_unit([place * self.unit.size * 1e6])
        return f"{digits(place * self.unit.size * 1e6 / found.size)}{THIN}{found.name}"


def _unit(key: str, values: Sequence[Any]) -> Unit:
    match parse_quantity(values[0]).of:
        case "" if axis_name(key) == "load":
            return Unit("%", 0.01)
        case "bytes":
            return size_unit(map(order, values))
        case "seconds":
            found = time_unit(order(value) * 1e6 for value in values)
            return Unit(found.name, found.size * 1e-6)
        case "bits per second":
            return Unit("Gb/s", 1e9)
        case of:
            return Unit(of, 1)


def is_numeric(values: Iterable[Any]) -> bool:
    """Return whether all values are numbers or quantities of the same kind.

    >>> is_numeric([1, 2.5]), is_numeric(["9KB", "1MB"]), is_numeric(["9KB", "9p"]), is_numeric(["dctcp"])
    (True, True, False, False)
    """
    try:
        return len({parse_quantity(value).of for value in values}) == 1
    except ValueError:
        return False


def values_on(points: Iterable[Mapping[str, Any]], axis: str) -> list[Any]:
    """Return the distinct values on an axis, in the order of the points."""
    return list({str(point.get(axis)): point.get(axis) for point in points}.values())


def across(points: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the horizontal axis: the load, or the numeric axis with the most values; None without either."""
    axes = dict.fromkeys(axis for point in points for axis in point if axis not in {"seed", "scheme"})
    found = {axis: values_on(points, axis) for axis in axes}
    numeric = [axis for axis, values in found.items() if len(values) > 1 and is_numeric(values)]
    return min(numeric, key=lambda axis: (axis_name(axis) != "load", -len(found[axis])), default=None)
