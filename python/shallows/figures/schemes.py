"""Figures of many schemes: one metric against another, and rows of points."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.comparison.intervals import over_seeds, said_of_bars
from shallows.errors import ShallowsError
from shallows.figures.lines import MOST_LOOKS, PAGE_WIDTH
from shallows.quantity import order
from shallows.runs.results import Run, axis_name, describe, place_on
from shallows.series.inputs import Runs, as_list, labels
from shallows.series.measures import measure
from shallows.series.metric import Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TRADE_OFF = ("fct_us.large.mean", "fct_us.small.p99")
"""Metrics of the horizontal and the vertical axis of `frontier`."""

SHOWN = ("slowdown.all.mean", "timeouts")
"""Metrics of the panels of `dots`."""

ROW = 0.125
"""Height of a row of `dots` in inches."""

NOT_DRAWN = "no run has a value"

WIDE = 4.0
"""Ratio of the ends of a scale above which it is logarithmic."""

Values = list[float]
"""Values of a metric, one for each seed."""


def frontier(runs: Runs, *, metrics: Sequence[str] = TRADE_OFF, ideal: bool = False) -> "Figure":
    """Draw two metrics of each scheme against each other, with a panel for each point of the sweep.

    Low values are good in both. A line connects the schemes that no other scheme beats in both means. Bars
    are 95 % intervals over seeds, from three seeds on. More than eight schemes are numbers.

    Parameters
    ----------
    runs
        Finished runs of schemes.
    metrics
        Metrics of the horizontal and of the vertical axis.
    ideal
        Whether to draw the bound of a network without queues, for completion times of size bins.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide for up to eight schemes, two for more.

    Examples
    --------
    >>> import shallows as sh
    >>> changes = [{"switch.markers.0.k": "2MB", "workload.1.per_pair": number} for number in (1, 2)]
    >>> runs = [sh.run(sh.example("incast"), change, out=folder / str(i)) for i, change in enumerate(changes)]
    >>> figure = sh.figures.frontier(runs, metrics=("fct_us.all.mean", "fct_us.all.p99"))
    >>> figure.axes[0].get_xlabel()
    'FCT all mean (µs)'
    """
    runs = as_list(runs)
    names = _schemes(runs)
    places = _places(runs)
    found = {
        place: {name: [_over_seeds(members, metric) for metric in metrics] for name, members in kept.items()}
        for place, kept in places.items()
    }
    bounds = {place: _ideal(kept, metrics) for place, kept in places.items()} if ideal else {}
    looks = _looks(names)
    columns = min(len(places), 2)
    rows = -(-len(places) // columns)
    width = style.WIDTH if len(names) <= MOST_LOOKS else PAGE_WIDTH
    with style.panels(rows, columns, 1.35 if width == style.WIDTH else 2.1, width=width) as (figure, plots):
        for place, plot in zip(found, plots, strict=False):
            _draw_trade_off(plot, found[place], looks, bounds.get(place))
            style.name_panel(plot, place)
        for plot in plots[len(places) :]:
            plot.remove()
        units = [_label(metric) for metric in metrics]
        for index, plot in enumerate(plots[: len(places)]):
            if index + columns >= len(places):
                plot.set_xlabel(units[0])
            if index % columns == 0:
                plot.set_ylabel(units[1])
        counts = [len(values) for kept in found.values() for both in kept.values() for values in both]
        notes = [said_of_bars([count for count in counts if count] or [1])]
        if len(names) > MOST_LOOKS:
            notes.insert(0, ", ".join(f"{number} {name}" for number, name in enumerate(names, 1)) + ".")
        else:
            style.add_legend(figure, plots[0])
        if ideal:
            notes.append("Star: a network without queues.")
        notes.append("Line: no other scheme has both means lower.")
        style.add_note(figure, " ".join(notes))
    return figure


def dots(
    runs: Runs,
    *,
    metrics: Sequence[str] = SHOWN,
    rows: str = "scheme",
    baseline: Mapping[str, Any] | None = None,
) -> "Figure":
    """Draw a row for each scheme, and a panel for each metric; other differences are markers in a row.

    Bars are 95 % intervals over seeds, from three seeds on.

    Parameters
    ----------
    runs
        Finished runs.
    metrics
        Metrics of the panels.
    rows
        Axis of the rows: `scheme`, or an axis of the sweep.
    baseline
        Selection of the runs that values are divided by, pair by pair of seeds, such as
        `{"scheme": "DCTCP"}`. Default: values as measured.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide for two panels, two for more.

    Examples
    --------
    >>> import shallows as sh
    >>> changes = [{"switch.markers.0.k": "2MB", "workload.1.per_pair": number} for number in (1, 2)]
    >>> runs = [sh.run(sh.example("incast"), change, out=folder / str(i)) for i, change in enumerate(changes)]
    >>> [label.get_text() for label in sh.figures.dots(runs, rows="per_pair").axes[0].get_yticklabels()]
    ['1', '2']
    """
    runs = as_list(runs)
    named = list(dict.fromkeys(_row(run, rows) for run in runs))
    other = {id(run): describe(_rest(run, rows, _varied(runs))) for run in runs}
    marked = sorted(dict.fromkeys(other.values()), key=list(dict.fromkeys(other.values())).index)
    if len(marked) > MOST_LOOKS:
        raise ShallowsError(
            f"each row would have {len(marked)} markers; {MOST_LOOKS} can be told apart",
            "choose among the runs (`--where load=0.8`)",
        )
    divided = _divisors(runs, baseline, metrics)
    looks = {name: style.look(index) | {"linestyle": ""} for index, name in enumerate(marked)}
    width = style.WIDTH if len(metrics) <= 2 else PAGE_WIDTH
    height = 0.3 + ROW * len(named) * (1 + 0.25 * (len(marked) > 3))
    with style.panels(1, len(metrics), height, width=width, sharey=True) as (figure, plots):
        counts = []
        for plot, metric in zip(plots, metrics, strict=True):
            points = _points(runs, metric, rows, other, divided, baseline)
            counts += [len(values) for values in points.values()]
            _draw_rows(plot, points, named, marked, looks, relative=baseline is not None)
            label = _label(metric, relative=baseline is not None)
            plot.set_xlabel(style.wrapped(label, 56 // min(len(metrics), 2)), fontsize=7)
        plots[0].set_yticks(range(len(named)), named)
        plots[0].set_ylim(len(named) - 0.4, -0.6)
        style.add_legend(figure, plots[0])
        notes = [said_of_bars([count for count in counts if count] or [1])]
        if baseline:
            notes.append(f"Values relative to {describe(dict(baseline))}, by pairs of seeds.")
        style.add_note(figure, " ".join(notes))
    return figure


def _row(run: Run, rows: str) -> str:
    value = place_on(labels(run), rows)
    return str(run.summary["name"]) if value is None else str(value)


def _varied(runs: Sequence[Run]) -> set[str]:
    axes = {axis for run in runs for axis in labels(run)} - {"seed"}
    return {axis for axis in axes if len({str(labels(run).get(axis)) for run in runs}) > 1}


def _rest(run: Run, rows: str, varied: set[str]) -> dict[str, Any]:
    """Return the labels that tell the markers of a row apart."""
    return {
        axis: value
        for axis, value in labels(run).items()
        if axis in varied and axis != rows and axis_name(axis) != axis_name(rows)
    }


def _schemes(runs: Sequence[Run]) -> list[str]:
    return list(dict.fromkeys(_row(run, "scheme") for run in runs))


def _places(runs: Sequence[Run]) -> dict[str, dict[str, list[Run]]]:
    """Return the runs of each scheme, by point of the sweep."""
    varied = _varied(runs)
    rests = {id(run): _rest(run, "scheme", varied) for run in runs}
    found: dict[str, dict[str, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: [order(value) for value in rests[id(run)].values()]):
        found.setdefault(describe(rests[id(run)]), {}).setdefault(_row(run, "scheme"), []).append(run)
    return found


def _value(run: Run, metric: str) -> float | None:
    """Return a metric of a run; None if nothing was measured."""
    try:
        return measure(run, metric)
    except ShallowsError:
        return None


def _over_seeds(runs: Sequence[Run], metric: str) -> Values:
    return [value for run in runs if (value := _value(run, metric)) is not None]


def _mean(values: Values) -> float:
    return math.fsum(values) / len(values)


def _ideal(kept: Mapping[str, Sequence[Run]], metrics: Sequence[str]) -> list[float]:
    """Return the bounds of completion times without queues, over the runs of one scheme."""
    runs = next(iter(kept.values()))
    return [_mean([measure(run, f"fluid_{metric}") for run in runs]) for metric in metrics]


def _looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the marker of each scheme; with more than eight, its number."""
    if len(names) <= MOST_LOOKS:
        return {name: style.look(index) | {"linestyle": ""} for index, name in enumerate(names)}
    return {name: {"marker": f"${index}$", "linestyle": ""} for index, name in enumerate(names, 1)}


def _draw_trade_off(
    plot: "Axes",
    found: Mapping[str, Sequence[Values]],
    looks: Mapping[str, Mapping[str, Any]],
    bound: Sequence[float] | None,
) -> None:
    """Draw the means of two metrics with their bars, and the line of the schemes that none beats."""
    means = {
        name: (_mean(both[0]), _mean(both[1]))
        for name, both in found.items()
        if all(values for values in both)
    }
    front = [
        name
        for name, mine in means.items()
        if not any(
            theirs != mine and theirs[0] <= mine[0] and theirs[1] <= mine[1] for theirs in means.values()
        )
    ]
    ends: list[list[float]] = [[], []]
    for name, both in found.items():
        if name not in means:
            continue
        across, up = (over_seeds(values) for values in both)
        bars: dict[str, Any] = {
            "ecolor": "0.75",
            "elinewidth": 0.6,
            "capsize": 0,
            "fmt": "none",
            "zorder": 1.5,
        }
        if across and up:
            plot.errorbar(*means[name], xerr=across.estimate - across.low, yerr=up.estimate - up.low, **bars)
        look = dict(looks[name])
        if str(look["marker"]).startswith("$"):
            look |= {"color": "black" if name in front else "0.4"}
            look |= {"markersize": 4.5 + 2.5 * (len(str(look["marker"])) > 3), "markeredgewidth": 0.25}
        plot.plot(*means[name], label=name, **look)
        for kept, value in zip(ends, means[name], strict=True):
            kept.append(value)
    line = sorted(means[name] for name in front)
    plot.plot(*zip(*line, strict=True), color="0.3", linewidth=0.7, linestyle="-", marker="", zorder=1.2)
    if bound:
        plot.plot(*bound, marker="*", color="black", linestyle="", markersize=6, label="_ideal")
    for which, values, star in zip("xy", ends, [[each] for each in bound or ()] or [[], []], strict=True):
        _scale(plot, which, [*values, *star])


def _scale(plot: "Axes", which: str, values: Sequence[float]) -> None:
    """Set a scale with few labels that fits these values: logarithmic if they span more than `WIDE`."""
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    low, high = min(values), max(values)
    low, high = low / ((high / low) ** 0.1 * 1.03), high * (high / low) ** 0.1 * 1.03
    axis = plot.xaxis if which == "x" else plot.yaxis
    if high / low > WIDE:
        (plot.set_xscale if which == "x" else plot.set_yscale)("log")
        axis.set_major_locator(FixedLocator(style.decades(low, high)))
    else:
        axis.set_major_locator(MaxNLocator(3, steps=[1, 2, 5, 10]))
    (plot.set_xlim if which == "x" else plot.set_ylim)(low, high)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(style.plain_numbers())


def _divisors(
    runs: Sequence[Run], baseline: Mapping[str, Any] | None, metrics: Sequence[str]
) -> "dict[tuple[str, str], float] | None":
    """Return the baseline's values by metric and point with its seed; None without a baseline."""
    if baseline is None:
        return None
    found = {}
    for run in runs:
        if all(place_on(labels(run), axis) == value for axis, value in baseline.items()):
            for metric in metrics:
                if value := _value(run, metric):
                    found[metric, _pair(run, baseline)] = value
    if not found:
        raise ShallowsError(
            f"no run is at {describe(dict(baseline))}", "name runs of the figure as the baseline"
        )
    return found


def _pair(run: Run, baseline: Mapping[str, Any]) -> str:
    """Return the point of a run without the axes of the baseline, and with its seed."""
    return str({axis: value for axis, value in labels(run).items() if axis not in baseline})


Points = dict[tuple[str, str], Values]
"""Values of a metric by row and marker."""


def _points(
    runs: Sequence[Run],
    metric: str,
    rows: str,
    other: Mapping[int, str],
    divided: "Mapping[tuple[str, str], float] | None",
    baseline: Mapping[str, Any] | None,
) -> Points:
    found: Points = {}
    for run in runs:
        value = _value(run, metric)
        if value is not None and divided is not None:
            by = divided.get((metric, _pair(run, baseline or {})))
            value = value / by if by else None
        if value is not None:
            found.setdefault((_row(run, rows), other[id(run)]), []).append(value)
    return found


def _draw_rows(
    plot: "Axes",
    points: Points,
    rows: Sequence[str],
    marked: Sequence[str],
    looks: Mapping[str, Mapping[str, Any]],
    *,
    relative: bool,
) -> None:
    """Draw the markers of all rows, one below the other within a row."""
    for place, name in enumerate(marked):
        shift = 0.62 * ((place + 0.5) / len(marked) - 0.5)
        heights, means, below, above = [], [], [], []
        for height, row in enumerate(rows):
            if values := points.get((row, name)):
                interval = over_seeds(values)
                mean = _mean(values)
                heights.append(height + shift)
                means.append(mean)
                below.append(mean - interval.low if interval else 0.0)
                above.append(interval.high - mean if interval else 0.0)
        look = looks[name]
        bars: dict[str, Any] = {
            "ecolor": look["color"],
            "elinewidth": 0.6,
            "capsize": 0,
            "fmt": "none",
            "zorder": 1.5,
        }
        plot.errorbar(means, heights, xerr=[below, above], **bars)
        plot.plot(means, heights, label=name, **{**look, "markersize": 3.2, "markeredgewidth": 0.7})
    everything = [_mean(values) for values in points.values()]
    if not everything:
        style.say_empty(plot, NOT_DRAWN)
    elif relative:
        _scale(plot, "x", [*everything, 1.0])
        plot.axvline(1, color="black", linewidth=0.6, zorder=1)
    else:
        style.scale(plot, "x", everything, zero=True)
    plot.tick_params(axis="y", length=0, labelsize=6.5)
    for height in range(1, len(rows), 2):
        plot.axhspan(height - 0.5, height + 0.5, color="0.95", zorder=0.5, linewidth=0)


UNITS = {"fct_us": "µs", "query_us": "µs", "fluid_fct_us": "µs", "backlog_bytes": "bytes"}
"""Units of metrics by kind."""


def _label(name: str, *, relative: bool = False) -> str:
    """Return the label of an axis of a metric.

    >>> _label("fct_us.small.p99@0..4"), _label("queries.all.mean"), _label("loss_rate_in_switches")
    ('FCT small p99, workload 0..4 (µs)', 'queries, mean (µs)', 'loss in switches')
    """
    metric = Metric(name)
    if metric.kind == "queries":
        time = metric.words[-1] in {"mean", "max"} or metric.words[-1].startswith("p")
        title, unit = f"queries, {metric.words[-1].replace('_', ' ')}", "µs" if time else None
    else:
        title, unit = metric.title, UNITS.get(metric.kind)
    return f"{title} ({unit})" if unit and not relative else title
