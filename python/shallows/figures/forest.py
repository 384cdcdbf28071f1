"""The figure of a comparison: each change with its interval, and on which side of zero it lies."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from shallows.comparison.comparison import Comparison, Row
from shallows.comparison.verdicts import Metric
from shallows.errors import ShallowsError
from shallows.figures import STYLE
from shallows.quantity import digits, percent, signed
from shallows.runs.results import describe

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS: dict[str, dict[str, Any]] = {
    "better": {"marker": "o", "color": "#0072B2", "markerfacecolor": "#0072B2"},
    "worse": {"marker": "s", "color": "#D55E00", "markerfacecolor": "#D55E00"},
    "cannot tell": {"marker": "D", "color": "#606060", "markerfacecolor": "white"},
}
"""Told apart by shape and filling too, for print in black and white."""

SMALL = 4.0
"""Ratio of the ends of the scale up to which it is labelled in percent."""


def draw(comparison: Comparison) -> "Figure":
    """The main metrics that are compared by ratios, one panel for each scheme.

    The scale is logarithmic: on it half and twice are equally far from no change. An interval without a limit
    ends in an arrow.

    Parameters
    ----------
    comparison
        What `compare` has found.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide for one scheme, two for more.

    Raises
    ------
    ShallowsError
        If no change has an interval.
    """
    import matplotlib.pyplot as plt

    rows = [row for row in comparison.main() if Metric(row.metric).is_relative and row.has_interval]
    if not rows:
        raise ShallowsError(
            "no change has an interval that could be drawn", "run each scheme with five seeds or more"
        )
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    heights = _heights(rows)
    ends = [
        1 + end for row in rows for end in (row.change, row.low, row.high) if end is not None and end > -1
    ]
    low, high = min(*ends, 1.0), max(*ends, 1.0)
    limits = low / (high / low) ** 0.05, high * (high / low) ** 0.05
    with plt.style.context(STYLE):
        size = (3.35 if len(schemes) == 1 else 7.0, 0.85 + 0.14 * len(heights))
        figure, grid = plt.subplots(1, len(schemes), sharex=True, sharey=True, squeeze=False, figsize=size)
        for plot, scheme in zip(grid[0], schemes, strict=True):
            plot.set(xscale="log", xlim=limits, title=f"{scheme} against {comparison.baseline}")
            for row in rows:
                if row.scheme == scheme:
                    _draw_row(plot, row, heights[describe(row.point), row.metric], limits)
            plot.axvline(1, color="black", linewidth=0.6, zorder=1)
            plot.grid(visible=False, axis="y")
            plot.tick_params(axis="y", length=0)
        _label_ratios(grid[0][0], low, high)
        _label_heights(grid[0][0], heights)
        figure.supxlabel(f"change and its {percent(comparison.confidence)} interval", fontsize=8)
        _add_legend(figure, [row.verdict for row in rows])
        return figure


def _heights(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """Where each metric of each point goes, from the top; a point's own name goes above its metrics."""
    heights: dict[tuple[str, str], float] = {}
    height = 0.0
    for point in dict.fromkeys(describe(row.point) for row in rows):
        metrics = dict.fromkeys(row.metric for row in rows if describe(row.point) == point)
        for metric in [*([""] if point else []), *metrics]:
            heights[point, metric] = height
            height += 1
        height += 0.5
    return heights


def _draw_row(plot: "Axes", row: Row, height: float, limits: tuple[float, float]) -> None:
    look = MARKS[row.verdict]
    ends = [limits[0], limits[1]]
    for side, (end, arrow) in enumerate(((row.low, "<"), (row.high, ">"))):
        if end is None or end <= -1:
            plot.plot(limits[side], height, marker=arrow, color=look["color"], markersize=3, clip_on=False)
        else:
            ends[side] = 1 + end
    plot.plot(ends, [height, height], color=look["color"], linestyle="-", linewidth=1.0, marker="")
    if row.change is not None:
        plot.plot(1 + row.change, height, linestyle="", markersize=4, markeredgewidth=0.8, zorder=3, **look)


def _label_ratios(plot: "Axes", low: float, high: float) -> None:
    """Percent where changes are small, factors where they are large."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

    if high / low < SMALL:
        places = [
            1 + percents / 100 for percents in MaxNLocator(4).tick_values(100 * (low - 1), 100 * (high - 1))
        ]
        plot.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{signed(100 * (ratio - 1))} %"))
    else:
        subs = (1.0, 2.0, 5.0) if high / low < SMALL**3 else (1.0,)
        places = list(LogLocator(subs=subs).tick_values(low, high))
        plot.xaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"×{digits(ratio)}"))
    plot.xaxis.set_major_locator(
        FixedLocator([place for place in places if low / 1.1 <= place <= high * 1.1])
    )
    plot.xaxis.set_minor_locator(NullLocator())


def _label_heights(plot: "Axes", heights: dict[tuple[str, str], float]) -> None:
    plot.set_yticks(
        list(heights.values()), [Metric(name).title if name else point for point, name in heights]
    )
    for label, (_, name) in zip(plot.get_yticklabels(), heights, strict=True):
        label.set_fontweight("normal" if name else "bold")
    plot.set_ylim(max(heights.values()) + 0.7, -0.7)


def _add_legend(figure: "Figure", verdicts: Sequence[str]) -> None:
    from matplotlib.lines import Line2D

    shown = [verdict for verdict in MARKS if verdict in verdicts]
    handles = [Line2D([], [], linewidth=1.0, markersize=4, **MARKS[verdict]) for verdict in shown]
    figure.legend(handles, shown, loc="outside upper center", ncols=len(shown))
