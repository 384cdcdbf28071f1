"""Forest plot of a comparison: each change with its interval."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.comparison.comparison import Comparison
from shallows.comparison.rows import Row
from shallows.errors import ShallowsError
from shallows.quantity import digits, percent, signed
from shallows.runs.results import describe
from shallows.series.metric import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKS: dict[str, dict[str, Any]] = {
    "better": {"marker": "o", "color": "#0072B2", "markerfacecolor": "#0072B2"},
    "worse": {"marker": "s", "color": "#D55E00", "markerfacecolor": "#D55E00"},
    "cannot tell": {"marker": "D", "color": "#606060", "markerfacecolor": "white"},
}
"""Markers of the verdicts; shape and filling also differ, for print in black and white."""

FIRST: dict[str, Any] = {"marker": "^", "color": "black", "markerfacecolor": "black"}
"""Marker of the first place in the ranking."""

LEFT = {"Pareto-optimal", "cannot tell"}
"""States, over all metrics, of a place that no other place demonstrably beats."""

SMALL = 4.0
"""Ratio of a scale's largest to its smallest value; below this ratio, labels are in percent."""


MOST_DRAWN = 100
"""Maximum number of places of a ranking that are drawn, best first."""

ROW = 0.15
"""Height of a row in inches."""

NAME_CHARACTERS = 34
"""Maximum number of characters in a line of a place's name."""


def draw(comparison: Comparison) -> "Figure":
    """Draw the changes of the main metrics with their intervals, one panel for each scheme.

    Places are the compared combinations of axis values. With more than six places, each has one row, in the
    order of the ranking, with its change relative to the first place. Names of places that no other place
    beats are bold.

    The scale is logarithmic, so that half and twice are equally far from no change. An interval without a
    limit ends in an arrow.

    Parameters
    ----------
    comparison
        Result of `compare`.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide for one scheme, two for more.

    Raises
    ------
    ShallowsError
        If no change has an interval.
    """
    if comparison.is_large and comparison.rankings:
        return _draw_rankings(comparison)
    return _draw_schemes(comparison)


def _draw_schemes(comparison: Comparison) -> "Figure":
    import matplotlib.pyplot as plt

    rows = [row for row in comparison.main() if Metric(row.metric).is_relative and row.has_interval]
    if not rows:
        raise ShallowsError(
            "the comparison has no confidence interval to draw", "run each scheme with at least five seeds"
        )
    schemes = list(dict.fromkeys(row.scheme for row in rows))
    heights = _heights(rows)
    low, high, limits = _limits((row.change, row.low, row.high) for row in rows)
    with plt.style.context(style.STYLE):
        size = (3.35 if len(schemes) == 1 else 7.0, 0.85 + 0.14 * len(heights))
        figure, grid = plt.subplots(1, len(schemes), sharex=True, sharey=True, squeeze=False, figsize=size)
        for plot, scheme in zip(grid[0], schemes, strict=True):
            against = f"{scheme} against {comparison.baseline}"
            plot.set(xscale="log", xlim=limits, title=style.wrapped(against, 60 // len(schemes)))
            for row in rows:
                if row.scheme == scheme:
                    height = heights[describe(row.point), row.metric]
                    _draw_row(plot, MARKS[row.verdict], (row.change, row.low, row.high), height, limits)
            plot.axvline(1, color="black", linewidth=0.6, zorder=1)
            plot.grid(visible=False, axis="y")
            plot.tick_params(axis="y", length=0)
        _label_ratios(grid[0][0], low, high, most=4 if len(schemes) < 3 else 2)
        _label_heights(grid[0][0], heights)
        figure.supxlabel(f"change and its {percent(comparison.confidence)} interval", fontsize=8)
        _add_legend(figure, [row.verdict for row in rows])
        plt.close(figure)
        return figure


def _draw_rankings(comparison: Comparison) -> "Figure":
    """Draw a panel for each ranking, with a row for each place (a combination of axis values)."""
    import matplotlib.pyplot as plt

    metric = Metric(comparison.rankings[0].metrics[0])
    shown = [each.standings[:MOST_DRAWN] for each in comparison.rankings]
    known = [
        each for standings in shown for each in standings if each.low is not None or each.high is not None
    ]
    if not metric.is_relative or all(each.verdict == "first" for each in known):
        raise ShallowsError(
            "the comparison has no confidence interval to draw",
            "rank by a completion time or by goodput, with at least five seeds",
        )
    low, high, limits = _limits((each.change, each.low, each.high) for each in known)
    names = [[style.wrapped(each.place, NAME_CHARACTERS) for each in standings] for standings in shown]
    rows = [sum(name.count("\n") + 1 for name in called) for called in names]
    with plt.style.context(style.STYLE):
        size = (style.WIDTH, 0.95 + sum(0.3 + ROW * count for count in rows))
        figure, grid = plt.subplots(
            len(rows),
            1,
            sharex=True,
            squeeze=False,
            figsize=size,
            height_ratios=[2 + count for count in rows],
        )
        for (plot,), ranking, standings, called in zip(grid, comparison.rankings, shown, names, strict=True):
            plot.set(xscale="log", xlim=limits)
            heights, top = [], 0.0
            for each, name in zip(standings, called, strict=True):
                lines = name.count("\n") + 1
                heights.append(top + (lines - 1) / 2)
                top += lines
                if each.verdict != "first" and each.change is not None:
                    ends = (each.change, each.low, each.high)
                    _draw_row(plot, MARKS[each.verdict], ends, heights[-1], limits)
            plot.plot(1, heights[0], linestyle="", markersize=5, **FIRST)
            plot.axvline(1, color="black", linewidth=0.6, zorder=1)
            plot.grid(visible=False, axis="y")
            plot.tick_params(axis="y", length=0)
            plot.set_yticks(heights, called)
            for label, each in zip(plot.get_yticklabels(), standings, strict=True):
                label.set_fontsize(7)
                label.set_fontweight("bold" if each.front in LEFT else "normal")
            plot.set_ylim(top - 0.3, -0.7)
            if left := len(ranking.standings) - len(standings):
                plot.set_title(f"{left} more are not drawn", loc="left", pad=3, fontsize=7)
            style.name_panel(plot, ", ".join(filter(None, [metric.title, describe(ranking.point)])))
        _label_ratios(grid[0][0], low, high, most=3)
        grid[-1][0].set_xlabel(f"change versus the first,\nand its {percent(comparison.confidence)} interval")
        _add_legend(figure, ["first", *(each.verdict for each in known)])
        if len(comparison.rankings[0].metrics) > 1:
            weighed = " and ".join(Metric(name).title for name in comparison.rankings[0].metrics)
            style.add_note(figure, f"Bold: no other is told to beat it in {weighed} together.")
        plt.close(figure)
        return figure


def _limits(
    changes: Iterable[tuple[float | None, float | None, float | None]],
) -> tuple[float, float, tuple[float, float]]:
    """Return the lowest and highest ratio, and the ends of the scale with a margin."""
    ends = [1 + end for change in changes for end in change if end is not None and end > -1]
    low, high = min(*ends, 1.0), max(*ends, 1.0)
    low, high = (low, high) if high > low else (low / 1.01, high * 1.01)
    return low, high, (low / (high / low) ** 0.05, high * (high / low) ** 0.05)


def _heights(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """Return the vertical position of each row by point and metric; a point's name precedes its metrics."""
    heights: dict[tuple[str, str], float] = {}
    height = 0.0
    for point in dict.fromkeys(describe(row.point) for row in rows):
        metrics = dict.fromkeys(row.metric for row in rows if describe(row.point) == point)
        for metric in [*([""] if point else []), *metrics]:
            heights[point, metric] = height
            height += 1
        height += 0.5
    return heights


def _draw_row(
    plot: "Axes",
    look: dict[str, Any],
    found: tuple[float | None, float | None, float | None],
    height: float,
    limits: tuple[float, float],
) -> None:
    """Draw a change as a marker, and its interval as a line."""
    change, low, high = found
    ends = [limits[0], limits[1]]
    for side, (end, arrow) in enumerate(((low, "<"), (high, ">"))):
        if end is None or end <= -1:
            plot.plot(limits[side], height, marker=arrow, color=look["color"], markersize=3, clip_on=False)
        else:
            ends[side] = 1 + end
    # Without limits there is no interval to draw.
    if not low is high is None:
        plot.plot(ends, [height, height], color=look["color"], linestyle="-", linewidth=1.0, marker="")
    if change is not None:
        plot.plot(1 + change, height, linestyle="", markersize=4, markeredgewidth=0.8, zorder=3, **look)


def _label_ratios(plot: "Axes", low: float, high: float, most: int) -> None:
    """Label the horizontal axis: in percent for small changes, as factors for large ones."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

    if high / low < SMALL:
        places = [
            1 + percents / 100
            for percents in MaxNLocator(most).tick_values(100 * (low - 1), 100 * (high - 1))
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

    looks = {"first": FIRST | {"linestyle": ""}} | MARKS
    shown = [verdict for verdict in looks if verdict in verdicts]
    handles = [Line2D([], [], linewidth=1.0, markersize=4, **looks[verdict]) for verdict in shown]
    figure.legend(handles, shown, loc="outside upper center", ncols=len(shown))
