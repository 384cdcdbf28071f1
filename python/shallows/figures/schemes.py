"""Figures of many schemes: one metric against another, and rows of points."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.comparison.intervals import over_seeds, said_of_bars
from shallows.errors import ShallowsError
from shallows.figures.lines import MOST_LOOKS, PAGE_WIDTH
from shallows.quantity import digits, order
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

WIDE = 4.0
"""Ratio of the ends of a scale above which it is logarithmic."""

MOST_LETTERS = 18
"""Maximum number of letters in all tick labels below a panel of `dots`."""

DECADES = 4
"""Number of decades of a logarithmic scale that includes zero; smaller values are drawn next to zero."""

Selection = Mapping[str, Any]
Values = list[float]
"""Values of a metric, one for each seed."""


def frontier(
    runs: Runs,
    *,
    metrics: Sequence[str] = TRADE_OFF,
    baseline: Selection | None = None,
    ideal: bool = False,
) -> "Figure":
    """Draw two metrics of each scheme against each other, with a panel for each point of the sweep.

    Low values are good in both metrics. A line connects the schemes that no other scheme beats in both. Bars
    are 95 % intervals over seeds, from three seeds on. More than eight schemes have names beside their
    points, or numbers if there are several panels.

    Parameters
    ----------
    runs
        Finished runs of schemes.
    metrics
        Metrics of the horizontal and of the vertical axis.
    baseline
        Labels of the baseline's runs. Each value is divided by the baseline's value with the same seed.
        Default: values as measured.
    ideal
        Whether to state the lower bound of completion times: the times in a network without queues.

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
    measured = _measured(runs, metrics, baseline)
    bounds = _measured(runs, [f"fluid_{metric}" for metric in metrics], None) if ideal else {}
    if baseline is not None:
        bounds = _relative(bounds, runs, _measured(runs, metrics, None), baseline)
    names = list(dict.fromkeys(_row(run, "scheme") for run in runs))
    places = _places(runs)
    is_wide = len(names) > MOST_LOOKS
    columns = min(len(places), 2)
    rows = -(-len(places) // columns)
    width = PAGE_WIDTH if is_wide else style.WIDTH
    with style.panels(rows, columns, 2.1 if is_wide else 1.35, width=width) as (figure, plots):
        for plot in plots[len(places) :]:
            plot.remove()
        counts, points = [], []
        for place, plot in zip(places, plots, strict=False):
            found = {
                name: [_kept(measured, members, metric) for metric in metrics]
                for name, members in places[place].items()
            }
            counts += [len(values) for both in found.values() for values in both if values]
            points.append(_draw_trade_off(plot, found, _looks(names)))
            style.name_panel(plot, place)
            first = next(iter(places[place].values()))
            bound = [_kept(bounds, first, f"fluid_{metric}") for metric in metrics]
            if all(bound):
                _say_bound(plot, [_mean(values) for values in bound])
        _name_axes(plots[: len(places)], columns, metrics, relative=baseline is not None)
        notes = [said_of_bars(counts or [1]), "Line: no other scheme has both means lower."]
        notes += [f"Values relative to {describe(dict(baseline))}, by pairs of seeds."] if baseline else []
        texts = {name: str(number) for number, name in enumerate(names, 1)}
        if not is_wide:
            style.add_legend(figure, plots[0])
        elif len(places) > 1:
            notes.insert(0, ", ".join(f"{number} {name}" for name, number in texts.items()) + ".")
        else:
            texts = {name: name for name in names}
        style.add_note(figure, " ".join(notes))
        if is_wide:
            figure.draw_without_rendering()
            for plot, drawn in zip(plots, points, strict=False):
                _name_points(plot, {texts[name]: at for name, at in drawn.items()})
    return figure


def dots(
    runs: Runs, *, metrics: Sequence[str] = SHOWN, rows: str = "scheme", baseline: Selection | None = None
) -> "Figure":
    """Draw a row for each scheme and a panel for each metric; markers show the runs' other labels.

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
        Labels of the baseline's runs, such as `{"scheme": "DCTCP"}`. Each value is divided by the baseline's
        value with the same seed. Default: values as measured.

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
    varied = _varied(runs)
    marks = {id(run): describe(_rest(run, rows, varied)) for run in runs}
    marked = list(dict.fromkeys(marks.values()))
    if len(marked) > MOST_LOOKS:
        raise ShallowsError(
            f"each row would have {len(marked)} markers; the maximum is {MOST_LOOKS}",
            "select runs with an option such as --where load=0.8",
        )
    measured = _measured(runs, metrics, baseline)
    width = style.WIDTH if len(metrics) <= 2 else PAGE_WIDTH
    height = 0.3 + ROW * len(named) * (1 + 0.1 * len(marked))
    with style.panels(1, len(metrics), height, width=width, sharey=True) as (figure, plots):
        counts = []
        for plot, metric in zip(plots, metrics, strict=True):
            points: Points = {}
            for run in runs:
                if (value := measured.get((id(run), metric))) is not None:
                    points.setdefault((_row(run, rows), marks[id(run)]), []).append(value)
            counts += [len(values) for values in points.values()]
            _draw_rows(plot, points, named, marked, relative=baseline is not None)
            plot.set_xlabel(style.wrapped(_label(metric, relative=baseline is not None), 24), fontsize=7)
        plots[0].set_yticks(range(len(named)), named)
        plots[0].set_ylim(len(named) - 0.4, -0.6)
        style.add_legend(figure, plots[0])
        notes = [said_of_bars(counts or [1])]
        notes += [f"Values relative to {describe(dict(baseline))}, by pairs of seeds."] if baseline else []
        style.add_note(figure, " ".join(notes))
    return figure


Numbers = dict[tuple[int, str], float]
"""Values by run and metric, without runs in which the metric was not measured."""


def _measured(runs: Sequence[Run], metrics: Sequence[str], baseline: Selection | None) -> Numbers:
    """Return the metrics of all runs, in the units of the axes or relative to the baseline's runs."""
    found: Numbers = {}
    for run in runs:
        for metric in metrics:
            try:
                found[id(run), metric] = measure(run, metric) * _factor(metric)
            except ShallowsError:
                continue
    return found if baseline is None else _relative(found, runs, found, baseline)


def _relative(numbers: Numbers, runs: Sequence[Run], divisors: Numbers, baseline: Selection) -> Numbers:
    """Divide values by those of the baseline's run at the same point and seed; omit divisions by zero."""
    base = {
        _point(run, baseline): run
        for run in runs
        if all(place_on(labels(run), axis) == value for axis, value in baseline.items())
    }
    if not base:
        raise ShallowsError(
            f"no run matches the baseline {describe(dict(baseline))}",
            "name runs of the figure as the baseline",
        )
    by_id = {id(run): run for run in runs}
    found: Numbers = {}
    for (number, metric), value in numbers.items():
        other = base.get(_point(by_id[number], baseline))
        by = divisors.get((id(other), metric.removeprefix("fluid_"))) if other else None
        if by:
            found[number, metric] = value / by
    return found


def _point(run: Run, baseline: Selection) -> str:
    """Return the point of a run in the sweep, without the axes that `baseline` fixes."""
    return str({axis: value for axis, value in labels(run).items() if axis not in baseline})


def _kept(numbers: Numbers, runs: Sequence[Run], metric: str) -> Values:
    return [numbers[id(run), metric] for run in runs if (id(run), metric) in numbers]


def _mean(values: Values) -> float:
    return math.fsum(values) / len(values)


def _row(run: Run, rows: str) -> str:
    value = place_on(labels(run), rows)
    return str(run.summary["name"]) if value is None else str(value)


def _varied(runs: Sequence[Run]) -> set[str]:
    axes = {axis for run in runs for axis in labels(run)} - {"seed"}
    return {axis for axis in axes if len({str(labels(run).get(axis)) for run in runs}) > 1}


def _rest(run: Run, rows: str, varied: set[str]) -> dict[str, Any]:
    """Return a run's labels on the sweep axes that vary, without the sweep axis `rows`."""
    kept = {axis: value for axis, value in labels(run).items() if axis in varied}
    return {
        axis: value for axis, value in kept.items() if rows not in {axis, axis_name(axis).replace(" ", "_")}
    }


def _places(runs: Sequence[Run]) -> dict[str, dict[str, list[Run]]]:
    """Return, for each point of the sweep, a dict that maps each scheme to its runs."""
    varied = _varied(runs)
    rests = {id(run): _rest(run, "scheme", varied) for run in runs}
    found: dict[str, dict[str, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: [_order(value) for value in rests[id(run)].values()]):
        found.setdefault(describe(rests[id(run)]), {}).setdefault(_row(run, "scheme"), []).append(run)
    return found


def _order(value: object) -> float:
    try:
        return order(value)
    except ValueError:
        return 0.0


def _looks(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the marker of each scheme; with more than eight schemes, a small point for all."""
    if len(names) <= MOST_LOOKS:
        return {name: style.look(index) | {"linestyle": ""} for index, name in enumerate(names)}
    point = {"marker": "o", "markersize": 2.2, "linestyle": "", "color": "0.25"}
    return dict.fromkeys(names, point)


Points = dict[tuple[str, str], Values]
"""Values of a metric by row and marker."""


def _draw_trade_off(
    plot: "Axes", found: Mapping[str, Sequence[Values]], looks: Mapping[str, Mapping[str, Any]]
) -> dict[str, tuple[float, float]]:
    """Draw the means of two metrics with bars, and a line through the Pareto front; return the means."""
    means = {name: (_mean(both[0]), _mean(both[1])) for name, both in found.items() if all(both)}
    if not means:
        return means
    front = [
        mine
        for mine in means.values()
        if not any(each != mine and each[0] <= mine[0] and each[1] <= mine[1] for each in means.values())
    ]
    bars: dict[str, Any] = {"ecolor": "0.78", "elinewidth": 0.6, "capsize": 0, "fmt": "none", "zorder": 1.5}
    for name, mean in means.items():
        across, up = (over_seeds(values) for values in found[name])
        if across and up:
            halves = across.estimate - across.low, up.estimate - up.low
            plot.errorbar(*mean, xerr=halves[0], yerr=halves[1], **bars)
        plot.plot(*mean, label=name, **looks[name])
    plot.plot(
        *zip(*sorted(front), strict=True), color="0.3", linewidth=0.7, linestyle="-", marker="", zorder=1.2
    )
    for which, values in zip("xy", zip(*means.values(), strict=True), strict=True):
        _scale(plot, which, values)
    return means


def _say_bound(plot: "Axes", bound: Sequence[float]) -> None:
    text = f"no queues: {digits(bound[0])}, {digits(bound[1])}"
    look: dict[str, Any] = {"fontsize": 6, "color": "0.35", "transform": plot.transAxes}
    plot.text(0.02, 0.02, text, ha="left", va="bottom", **look).set_in_layout(False)


def _name_axes(plots: "Sequence[Axes]", columns: int, metrics: Sequence[str], *, relative: bool) -> None:
    across, up = (_label(metric, relative=relative) for metric in metrics)
    for index, plot in enumerate(plots):
        if index + columns >= len(plots):
            plot.set_xlabel(across)
        if index % columns == 0:
            plot.set_ylabel(up)


LETTER, LINE = 3.5, 7.5
"""Width of a letter and height of a line beside a point, in points of 1/72 inch."""

SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
"""Sides of a point on which its text may be, the best first."""


def _name_points(plot: "Axes", points: Mapping[str, tuple[float, float]]) -> None:
    """Write texts beside points, apart from each other; a line connects a distant text and its point."""
    scale = 72 / plot.figure.dpi
    places = {text: scale * plot.transData.transform(at) for text, at in points.items()}
    left, bottom, right, top = (scale * end for end in plot.bbox.extents)
    taken = [(float(x), float(y), 2.0) for x, y in places.values()]
    for text, (x, y) in places.items():
        half = LETTER * len(text) / 2 + 1
        around = [
            (x + dx * (half + 3 + far * bool(dy)), y + dy * (LINE + far))
            if dy
            else (x + dx * (half + 4 + far), y)
            for far in (0.0, 5.0, 11.0, 18.0, 26.0)
            for dx, dy in SIDES
        ]
        inside = [
            each
            for each in around
            if left < each[0] - half and each[0] + half < right and bottom + 4 < each[1] < top - 4
        ]
        free = [
            each
            for each in inside
            if all(abs(each[0] - u) > half + w or abs(each[1] - v) > LINE for u, v, w in taken)
        ]
        chosen = (free or inside or around)[0]
        taken.append((*chosen, half))
        offset = chosen[0] - x, chosen[1] - y
        is_far = abs(offset[0]) > half + 8 or abs(offset[1]) > 2 * LINE
        line = {"arrowstyle": "-", "linewidth": 0.35, "color": "0.5", "shrinkA": 0, "shrinkB": 0}
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6}
        plot.annotate(
            text,
            points[text],
            xytext=offset,
            textcoords="offset points",
            arrowprops=line if is_far else None,
            **look,
        ).set_in_layout(False)


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
        axis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    (plot.set_xlim if which == "x" else plot.set_ylim)(low, high)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(style.plain_numbers())


def _scale_with_zero(plot: "Axes", values: Sequence[float]) -> None:
    """Set a scale that includes zero: linear, or if values span more than a decade, logarithmic above zero.

    A logarithmic scale has at most `DECADES` decades.
    """
    from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator

    positive = [value for value in values if value > 0]
    low, high = (min(positive), max(positive)) if positive else (1.0, 1.0)
    if high / low <= 10:
        plot.set_xlim(0, 1.08 * high)
        plot.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
    else:
        top = math.ceil(math.log10(high))
        floor = 10.0 ** max(math.floor(math.log10(low)), top - DECADES)
        plot.set_xscale("symlog", linthresh=floor, linscale=0.5)
        plot.set_xlim(-0.05 * floor, 1.6 * high)
        ticks = [10.0**power for power in range(round(math.log10(floor)), top + 1)]
        # The label of the first decade would touch that of zero.
        shown = ticks[1:] if len(ticks) <= 4 else ticks[1::2]
        plot.xaxis.set_major_locator(FixedLocator([0, *(tick for tick in shown if tick <= 1.6 * high)]))
    plot.xaxis.set_minor_locator(NullLocator())
    plot.xaxis.set_major_formatter(style.plain_numbers())


def _draw_rows(
    plot: "Axes", points: Points, rows: Sequence[str], marked: Sequence[str], *, relative: bool
) -> None:
    """Draw the markers of all rows; the markers within a row are one below the other."""
    for place, name in enumerate(marked):
        shift = 0.7 * ((place + 0.5) / len(marked) - 0.5)
        look = style.look(place) | {"linestyle": "", "markersize": 3.2, "markeredgewidth": 0.7}
        bars: dict[str, Any] = {"ecolor": look["color"], "elinewidth": 0.6, "capsize": 0, "fmt": "none"}
        heights, means, halves = [], [], []
        for height, row in enumerate(rows):
            if values := points.get((row, name)):
                interval = over_seeds(values)
                heights.append(height + shift)
                means.append(_mean(values))
                halves.append(interval.high - interval.estimate if interval else 0.0)
        plot.errorbar(means, heights, xerr=halves, zorder=1.5, **bars)
        plot.plot(means, heights, label=name, **look)
    everything = [_mean(values) for values in points.values()]
    if not everything:
        style.say_empty(plot, "no run has a value")
    elif relative:
        _scale(plot, "x", [*everything, 1.0])
        plot.axvline(1, color="black", linewidth=0.6, zorder=1)
    elif 0 < 10 * min(everything) < max(everything):
        _scale(plot, "x", everything)
        _thin(plot)
    else:
        _scale_with_zero(plot, everything)
    plot.tick_params(axis="y", length=0, labelsize=6.5)
    plot.grid(visible=False, axis="y")
    for height in range(1, len(rows), 2):
        plot.axhspan(height - 0.5, height + 0.5, color="0.95", zorder=0.5, linewidth=0)


def _thin(plot: "Axes") -> None:
    """Label only every second tick of the horizontal axis if the labels would touch."""
    from matplotlib.ticker import FixedLocator

    ticks = plot.get_xticks().tolist()
    if sum(len(digits(tick)) for tick in ticks) > MOST_LETTERS:
        plot.xaxis.set_major_locator(FixedLocator(ticks[::2]))


UNITS = {"fct_us": "µs", "query_us": "µs", "fluid_fct_us": "µs", "backlog_bytes": "KB"}
"""Units of metrics by kind."""

SHARES = ("loss_rate", "with_timeout")
"""Beginnings of the names of metrics that are shares, which are shown in percent."""


def _factor(name: str) -> float:
    """Return the factor that converts values of a metric to the unit of its axis."""
    metric = Metric(name)
    if any(word.startswith(SHARES) for word in (metric.kind, *metric.words)):
        return 100.0
    return 1e-3 if metric.kind == "backlog_bytes" else 1.0


def _label(name: str, *, relative: bool = False) -> str:
    """Return the axis label of a metric.

    >>> _label("fct_us.small.p99@0..4"), _label("queries.all.mean"), _label("loss_rate_in_switches")
    ('FCT small p99, workload 0..4 (µs)', 'queries, mean (µs)', 'loss in switches (%)')
    >>> _label("backlog_bytes.p99@leaf0.pool2")
    'backlog p99, leaf0.pool2 (KB)'
    """
    metric = Metric(name)
    unit = UNITS.get(metric.kind)
    if metric.kind == "queries":
        last = metric.words[-1]
        title, unit = f"queries, {last.replace('_', ' ')}", None if last.startswith("w") else "µs"
    elif metric.kind == "backlog_bytes":
        title = f"backlog {'.'.join(metric.words)}, {metric.where}"
    else:
        title = metric.title
    unit = "%" if _factor(name) == 100 else unit
    return f"{title} ({unit})" if unit and not relative else title
