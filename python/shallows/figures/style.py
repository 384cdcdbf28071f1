"""Style of figures: panels, lines that are distinguishable in grey, scales, legends and files."""

import contextlib
import io
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.errors import ShallowsError
from shallows.quantity import digits, size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter

STYLE = Path(__file__).parents[1] / "shallows.mplstyle"

WIDTH = 3.35
"""Width of a column of a two-column paper, in inches."""

LEGEND_CHARACTERS = 56
"""Maximum number of characters in a line of the legend, at the style's font size and column width."""

LEGEND_LINE = 0.157
"""Height of a line of the legend and the space below it, in inches."""

LEGEND_LINES = 2
"""Number of lines of a legend that fit a figure; more lines increase the figure's height."""

NOTE_CHARACTERS = 66
"""Maximum number of characters in a line of a note below all panels."""

SUFFIXES = {".pdf", ".png", ".svg"}
"""Suffixes of file formats. A figure whose path has one is written in that format only."""

DEFAULT_FORMATS = ("pdf", "png")

NOTE_LINE = 0.13
"""Height of a line of a note, in inches."""


@contextlib.contextmanager
def panels(
    rows: int, columns: int = 1, height: float = 1.2, *, width: float = WIDTH, most: int = 10, **options: Any
) -> "Iterator[tuple[Figure, list[Axes]]]":
    """Create a figure and its panels, row by row; drawings within the context have the style of Shallows.

    Raises `ShallowsError` for more than `most` rows.
    """
    import matplotlib.pyplot as plt

    if rows > most:
        raise ShallowsError(
            f"a figure must have at most {most} rows, got {rows}",
            "name fewer runs, or select runs (`--where load=0.8`) or ports (`--port NAME`)",
        )
    with plt.style.context(STYLE):
        size = (width, 0.65 + height * rows)
        figure, grid = plt.subplots(rows, columns, squeeze=False, figsize=size, **options)
        # Closed figures are not kept alive by pyplot, and not shown a second time in a notebook.
        plt.close(figure)
        yield figure, [plot for row in grid for plot in row]


def look(index: int) -> dict[str, Any]:
    """Return the style of line `index`; after eight lines, colours and markers repeat with other dashes."""
    import matplotlib

    cycle = matplotlib.rc_params_from_file(STYLE, use_default_template=False)["axes.prop_cycle"].by_key()
    number = len(cycle["color"])
    again, place = divmod(index, number)
    chosen = {"color": cycle["color"][place], "marker": cycle["marker"][place]}
    # When colours and markers repeat, the dash pattern changes.
    chosen["linestyle"] = cycle["linestyle"][(place + again) % number]
    # Markers are open, and later lines are drawn below earlier ones, so that coinciding points stay visible.
    return chosen | {"markerfacecolor": "white", "zorder": 3 - 0.05 * index}


def marks(index: int, number: int) -> tuple[float, float]:
    """Return matplotlib's `markevery`: `number` evenly spaced markers, offset from those of other lines."""
    return (0.3 * (index % 4 + 0.5) / (4 * number), 1 / number)


@dataclass(frozen=True)
class Unit:
    """A unit of an axis: its name, and the number by which values are divided."""

    name: str
    size: float


TIMES = {"ns": 1e-3, "µs": 1.0, "ms": 1e3, "s": 1e6}
"""Units of times, in µs."""

SIZES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9}
"""Units of sizes, in bytes."""


def time_unit(values: Iterable[float]) -> Unit:
    """Return the unit that makes the numbers of an axis with these times (in µs) easiest to read.

    >>> time_unit([0.0, 20_000.0])
    Unit(name='ms', size=1000.0)
    >>> time_unit([150.0]).name, time_unit([80.0, 10_000_000.0]).name
    ('µs', 'ms')
    """
    return _fitting(values, TIMES)


def size_unit(values: Iterable[float]) -> Unit:
    """Return the unit that makes the numbers of an axis with these sizes (in bytes) easiest to read.

    >>> size_unit([720_000]).name, size_unit([0, 3e6]).name
    ('KB', 'MB')
    """
    return _fitting(values, SIZES)


def _fitting(values: Iterable[float], units: Mapping[str, float]) -> Unit:
    positive = [value for value in values if value > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    # Use the middle of a logarithmic axis, and the end of a linear one.
    typical = math.sqrt(low * high) if high > 100 * low else high
    found = [Unit(*unit) for unit in units.items()]
    return ([unit for unit in found if typical >= unit.size] or found[:1])[-1]


def time_axis(plot: "Axes", end_us: float) -> Unit:
    """Set up the horizontal axis for times from the beginning of the run, and return its unit."""
    from matplotlib.ticker import MaxNLocator

    unit = time_unit([end_us])
    plot.set(xlabel=f"time ({unit.name})", xlim=(0, end_us / unit.size))
    plot.xaxis.set_major_locator(MaxNLocator(5))
    plot.xaxis.set_major_formatter(plain_numbers())
    return unit


def scale(
    plot: "Axes", which: str, values: Iterable[float], *, zero: bool = False, more: Iterable[float] = ()
) -> None:
    """Set the scale of an axis: logarithmic if values span more than a decade, otherwise linear from zero.

    Parameters
    ----------
    plot, which
        The panel, and `x` or `y`.
    values
        Values along the axis.
    zero
        Whether a logarithmic axis must also show zeros.
    more
        Ends of intervals. The axis includes them, but they do not decide whether it is logarithmic. Ends
        far below all values are ignored, so such intervals extend beyond the axis.
    """
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    found = [value for value in values if math.isfinite(value)]
    positive = [value for value in found if value > 0]
    axis = plot.xaxis if which == "x" else plot.yaxis
    limits = plot.set_xlim if which == "x" else plot.set_ylim
    set_scale = plot.set_xscale if which == "x" else plot.set_yscale
    axis.set_major_formatter(plain_numbers())
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    has_zero = zero and (len(positive) < len(found) or not positive)
    is_linear = high / low <= 10 or (has_zero and high / low <= 20)
    ends = [value for value in more if math.isfinite(value) and value > low / 10]
    low, high = min([low, *ends]), max([high, *ends])
    if is_linear:
        limits(0, (high if positive else 1) * 1.08)
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
    elif has_zero:
        floor = 10.0 ** math.floor(math.log10(low))
        set_scale("symlog", linthresh=floor, linscale=0.6)
        limits(0, high * 1.6)
        axis.set_major_locator(FixedLocator([0, *decades(floor, high * 1.6)]))
        axis.set_minor_locator(NullLocator())
    else:
        set_scale("log")
        limits(low / 1.15, high * 1.15)
        axis.set_major_locator(FixedLocator(decades(low / 1.15, high * 1.15)))
        axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(plain_numbers())


FEW_TICKS = 4
"""Maximum number of ticks of a low panel."""


def keep_few_ticks(plot: "Axes") -> None:
    """Reduce the ticks of the vertical axis of a low panel to `FEW_TICKS`."""
    from matplotlib.ticker import FixedLocator

    low, high = plot.get_ylim()
    ticks = [tick for tick in plot.get_yticks() if low <= tick <= high]
    if len(ticks) > FEW_TICKS:
        # On an axis that begins with zero, the second tick is too close to the first.
        kept = ticks[:1] + ticks[2:][:: -(-len(ticks) // FEW_TICKS)] if ticks[0] == 0 else ticks[::2]
        plot.yaxis.set_major_locator(FixedLocator(kept))


def decades(low: float, high: float) -> list[float]:
    """Return the ticks of a logarithmic axis: powers of ten, and in a narrow range also multiples of them."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    span = math.log10(high / low)
    factors = (1, 2, 5) if span <= 1.5 else (1, 3) if span <= 2.2 else (1,)
    step = 1 + int(span / 6)
    ticks = [factor * 10.0**power for power in range(first, last + 1, step) for factor in factors]
    return [tick for tick in ticks if low <= tick <= high]


def plain_numbers() -> "Formatter":
    """Return a formatter that writes numbers as in tables, without exponent or offset."""
    from matplotlib.ticker import FuncFormatter

    return FuncFormatter(lambda value, _: digits(value))


def add_legend(figure: "Figure", *plots: "Axes") -> None:
    """Add a legend above all panels for the lines of these panels; a single line gets no legend."""
    lines = {
        name: handle for plot in plots for handle, name in zip(*plot.get_legend_handles_labels(), strict=True)
    }
    if len(lines) > 1:
        # As many columns as fit: each is as wide as the longest name with its sample line.
        columns = max(1, min(len(lines), LEGEND_CHARACTERS // (max(map(len, lines)) + 8)))
        names = [textwrap.fill(name, LEGEND_CHARACTERS - 8) for name in lines]
        height = math.ceil(sum(name.count("\n") + 1 for name in names) / columns)
        # Panels keep their size.
        figure.set_figheight(figure.get_figheight() + LEGEND_LINE * max(height - LEGEND_LINES, 0))
        figure.legend(lines.values(), names, loc="outside upper center", ncols=columns)


def wrapped(text: str, characters: int) -> str:
    """Wrap a text into lines of at most `characters`."""
    return textwrap.fill(text, max(characters, 8))


def add_note(figure: "Figure", text: str) -> None:
    """Add a note below all panels, as part of the figure."""
    lines = wrapped(text, int(NOTE_CHARACTERS * figure.get_figwidth() / WIDTH))
    # Panels keep their size.
    figure.set_figheight(figure.get_figheight() + NOTE_LINE * (lines.count("\n") + 1))
    figure.supxlabel(lines, fontsize=6.5, color="0.35")


CLOSE = 3.0
"""Largest drawn threshold, as a multiple of the longest queue; higher ones would flatten the queue."""


def near(thresholds: Sequence[tuple[str, float]], top: float) -> tuple[list[tuple[str, float]], list[str]]:
    """Return the thresholds to draw, and texts about the thresholds that are too high to draw."""
    drawn = [(name, value) for name, value in thresholds if value <= CLOSE * top]
    return drawn, [f"{name} = {size(value)}" for name, value in thresholds if value > CLOSE * top]


def draw_thresholds(plot: "Axes", thresholds: Sequence[tuple[str, float]], unit: "Unit") -> None:
    """Draw marking thresholds (in bytes) as dashed lines; the lowest line has its name below it."""
    from matplotlib.patheffects import withStroke

    for place, (name, value) in enumerate(sorted(thresholds, key=lambda each: each[1])):
        height = value / unit.size
        plot.axhline(height, color="0.3", linewidth=0.7, linestyle=(0, (4, 2)), marker="", zorder=2.5)
        below = place == 0 and len(thresholds) > 1
        look: dict[str, Any] = {
            "va": "top" if below else "bottom",
            "fontsize": 6,
            "color": "0.3",
            "zorder": 4,
        }
        where = (0.995, height)
        look["path_effects"] = [withStroke(linewidth=1.5, foreground="white")]
        plot.annotate(
            f"{name} = {size(value)}", where, xycoords=plot.get_yaxis_transform(), ha="right", **look
        )


def say_empty(plot: "Axes", text: str) -> None:
    """Write into an empty panel why nothing is drawn."""
    plot.set_yticks([])
    plot.grid(visible=False)
    look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5, "color": "0.35"}
    plot.text(0.5, 0.5, text, transform=plot.transAxes, **look).set_in_layout(False)


def name_panel(plot: "Axes", text: str) -> None:
    """Set the title of a panel, if there is one."""
    if text:
        plot.set_title(text, loc="right", pad=2.5, fontsize=7.5)


def name_columns(plots: "Sequence[Axes]", names: Sequence[str]) -> None:
    """Set the titles of columns above the first row of panels."""
    for plot, name in zip(plots, names, strict=True):
        plot.set_title(name, pad=3, fontsize=7.5)


def save(figure: "Figure", stem: str | Path, formats: Iterable[str] | None = None) -> list[Path]:
    """Write a figure in several formats into one folder, and return the paths of the files.

    The same results give byte-identical files, because the files contain no date.

    Parameters
    ----------
    figure
        A figure of `shallows.figures`, or any other matplotlib figure.
    stem
        Path of the files without suffix. With a suffix of `pdf`, `png` or `svg`, only that file is written.
    formats
        Suffixes of the files; default: `pdf` and `png`.

    Raises
    ------
    ShallowsError
        If a file cannot be written.
    """
    import matplotlib.pyplot as plt

    stem = Path(stem)
    if formats is None and stem.suffix in SUFFIXES:
        stem, formats = stem.with_suffix(""), [stem.suffix.removeprefix(".")]
    formats = formats or DEFAULT_FORMATS
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in formats]
    dates = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    with plt.style.context(STYLE):
        for path in paths:
            # Draw in memory first, so that a failure leaves no partial file.
            drawn = io.BytesIO()
            figure.savefig(drawn, format=path.suffix.removeprefix("."), metadata=dates.get(path.suffix))
            try:
                path.write_bytes(drawn.getbuffer())
            except OSError as error:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
                raise ShallowsError(
                    f"{path} cannot be written: {error.strerror or error}",
                    "free some space, or name another folder with --out",
                ) from None
    return paths
