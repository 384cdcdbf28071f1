"""Figures of sweeps: results against load, another swept number, or the number of servers."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import shallows.figures.style as style
from shallows.comparison.intervals import over_seeds, said_of_bars
from shallows.errors import ShallowsError
from shallows.figures.lines import BEHIND, Lines, Place, of_groups, side_by_side
from shallows.figures.swept import Swept, across, values_on
from shallows.runs import percentiles
from shallows.runs.bins import bins, defined, edges_of
from shallows.runs.breakdown import breakdown
from shallows.runs.results import Run, axis_name
from shallows.series.inputs import Runs, as_list, groups, labels, table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Metric = Callable[[Run], "float | None"]
Points = dict[str, dict[float, list[float]]]
"""Values of all seeds, by name of the line and position on the horizontal axis."""

COUNTS_SERVERS = {"fan out", "servers", "workers", "senders"}
"""Axes of a sweep that change the number of servers of a query."""


def fct(runs: Runs) -> "Figure":
    """Draw completion times by size bin (mean and 99th percentile), losses and timeouts against load.

    The panel of losses shows losses in switches; thin lines show losses in NICs, if there are any.

    Each scheme has a line. A point is the mean of runs that differ only in their seed; from three seeds on, a
    bar shows its 95 % interval. If the load does not vary, the horizontal axis is the numeric axis with the
    most values. With more than eight lines, colours show a swept quantity, and each scheme has its own panel.

    Parameters
    ----------
    runs
        Finished runs of one sweep with a numeric axis, such as the load.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> changes = [{"switch.markers.0.k": "2MB", "workload.1.per_pair": number} for number in (1, 2)]
    >>> runs = [sh.run(sh.example("incast"), change, out=folder / str(i)) for i, change in enumerate(changes)]
    >>> [plot.get_xlabel() for plot in sh.figures.fct(runs).axes][-2:]
    ['per pair', 'per pair']
    """
    runs = as_list(runs)
    axis = _horizontal_axis(runs)
    lines = groups(runs, axis.key)

    def points(metric: Metric) -> Points:
        return _collect(lines, lambda run: axis.place(labels(run)[axis.key]), metric)

    few: list[int] = []
    # Size bins without flows get no row.
    times = [run.summary["fct_us"] for run in runs]
    sizes = bins({"fct_us": {name: 0 for found in times for name in found if found[name]["count"]}})[1:]
    metrics: list[_Metric] = []
    for size in sizes:
        both = [points(_completion(size, statistic)) for statistic in ("mean", "p99")]
        both[1] = _with_enough(both[1], points(_completion(size, "count")), few)
        unit = style.time_unit(value for drawn in both for value in _values(drawn))
        flows = f"{size.replace('_', ' ')} flows:\n"
        for drawn, words, label in zip(both, ("mean", "p99"), (f"{flows}FCT ({unit.name})", ""), strict=True):
            full = f"{size.replace('_', ' ')} FCT\n{words} ({unit.name})"
            metrics.append(_Metric(drawn, label, full, unit.size, is_tail=words == "p99"))
    in_switches, in_nics = points(_loss("switches")), points(_loss("nics"))
    own = any(_values(in_nics))
    called = "packets lost (%)\n(thin: in hosts)" if own else "packets\nlost (%)"
    metrics.append(_Metric(in_switches, called, called, zero=True, thin=in_nics if own else None))
    timeouts = points(lambda run: float(run.summary["timeouts"]))
    metrics.append(_Metric(timeouts, "timeouts", "timeouts", zero=True))
    told = of_groups(lines, axis.key)
    with side_by_side(told, len(metrics), 2, 0.95) as (figure, places):
        _draw_all(figure, told, metrics, places, few, defined(edges_of(runs[0].scenario)))
        for place in (each for row in places for each in row):
            axis.draw(place.plot, _places(in_switches), most=2 if told.is_split else 3)
            if not place.is_last:
                place.plot.set_xlabel("")
        if not told.is_split:
            style.name_columns([row[0].plot for row in places[:2]], ["mean", "99th percentile"])
    return figure


def incast(runs: Runs) -> "Figure":
    """Draw goodput, 99th-percentile completion time and timeouts of queries against the number of servers.

    The horizontal axis is the number of servers of each query or block. Lines and bars are those of `fct`.

    Parameters
    ----------
    runs
        Finished runs with queries, blocks or rounds of an incast with `think_time`.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> blocks = {"kind": "block-transfer", "clients": 0, "servers": "1..41", "block": "1MB"}
    >>> run = sh.run(sh.example("incast"), {"workload.0": blocks}, out=folder / "incast")
    >>> sh.figures.incast(run).axes[0].lines[0].get_xdata().tolist()
    [40.0]
    """
    runs = as_list(runs)
    servers = {id(run): _servers(run) for run in runs}
    counting = {axis for run in runs for axis in labels(run) if axis_name(axis) in COUNTS_SERVERS}
    lines = groups(runs, *counting)

    def points(key: str, factor: float = 1) -> Points:
        def metric(run: Run) -> float | None:
            value = run.summary["queries"]["all"][key]
            return None if value is None else factor * value

        return _collect(lines, lambda run: servers[id(run)], metric)

    few: list[int] = []
    times = _with_enough(points("p99"), points("count"), few)
    unit = style.time_unit(_values(times))
    tail = f"99th pct.\ntime ({unit.name})"
    metrics = [
        _Metric(points("goodput_gbps"), "goodput\n(Gb/s)", "goodput\n(Gb/s)"),
        _Metric(times, tail, tail, unit.size, is_tail=True),
        _Metric(points("with_timeout", 100), "with timeout\n(%)", "with timeout\n(%)"),
    ]
    told = of_groups(lines, *counting)
    with side_by_side(told, len(metrics), 1, 0.95) as (figure, places):
        _draw_all(figure, told, metrics, places, few)
        for place in places[-1]:
            place.plot.set(yscale="linear", ylim=(-4, 108), yticks=[0, 50, 100])
        for place in (each for row in places for each in row):
            style.scale(place.plot, "x", servers.values())
            place.plot.set_xlabel("servers" if place.is_last else "")
    return figure


def classes(runs: Runs) -> "Figure":
    """Draw completion times (mean and 99th percentile) and goodput of each class of service.

    Lines and bars are those of `fct`.

    Parameters
    ----------
    runs
        Finished runs whose flows are in several classes of service.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), {"workload.1.class": 1}, out=folder / "classes")
    >>> sh.figures.classes(run).axes[-1].get_xlabel()
    'class of service'
    """
    runs = as_list(runs)
    lines = groups(runs)
    rows = {id(run): breakdown(run, "class").rows for run in runs}
    numbers = sorted({int(row["class"]) for found in rows.values() for row in found})
    if len(numbers) == 1:
        raise ShallowsError("the figure needs flows of several classes", "give workloads a `class`")

    def points(key: str) -> Points:
        found: Points = {}
        for name, members in lines.items():
            line = found.setdefault(name, {})
            for row in (each for run in members for each in rows[id(run)]):
                if row[key] is not None:
                    line.setdefault(float(row["class"]), []).append(float(row[key]))
        return found

    few: list[int] = []
    mean, tail = points("fct_mean_us"), _with_enough(points("fct_p99_us"), points("completed"), few)
    unit = style.time_unit([*_values(mean), *_values(tail)])
    words = [f"{each}\nFCT ({unit.name})" for each in ("mean", "99th pct.")]
    metrics = [
        _Metric(mean, words[0], words[0], unit.size),
        _Metric(tail, words[1], words[1], unit.size, is_tail=True),
        _Metric(points("goodput_gbps"), "goodput\n(Gb/s)", "goodput\n(Gb/s)"),
    ]
    told = of_groups(lines)
    with side_by_side(told, len(metrics), 1, 0.95) as (figure, places):
        _draw_all(figure, told, metrics, places, few)
        for place in (each for row in places for each in row):
            place.plot.set_xticks(numbers, [str(number) for number in numbers])
            place.plot.set_xlim(numbers[0] - 0.5, numbers[-1] + 0.5)
            place.plot.set_xlabel("class of service" if place.is_last else "")
    return figure


def _horizontal_axis(runs: Sequence[Run]) -> Swept:
    places = [labels(run) for run in runs]
    # Only axes that all runs have can be the figure's axis.
    everywhere = [{axis: place[axis] for axis in place if all(axis in p for p in places)} for place in places]
    axis = across(everywhere)
    if axis is None:
        raise ShallowsError(
            "the figure needs runs that differ in a numeric setting, such as the load",
            "name the folder of a sweep over loads, or compare the schemes at one load with `shallows plot "
            "frontier` or `shallows plot dots`",
        )
    return Swept.of(axis, values_on(places, axis))


def _servers(run: Run) -> float:
    """Return the number of servers of each query of a run."""
    asked = table(run, "queries").select("workload", "responses").unique().sort("workload")
    workloads = run.scenario["workload"]
    found = {
        answers / (workloads[workload].get("iterations") or 1) for workload, answers in asked.iter_rows()
    }
    if len(found) != 1:
        raise ShallowsError(
            "all queries of a run must have the same number of servers; those of "
            f"{run.path} have {min(found, default=0):g} to {max(found, default=0):g}",
            "set the same fan_out in all workloads with queries",
        )
    return float(found.pop())


def _completion(size: str, statistic: str) -> Metric:
    def metric(run: Run) -> float | None:
        value: float | None = run.summary["fct_us"].get(size, {}).get(statistic)
        return value

    return metric


def _loss(place: str) -> Metric:
    return lambda run: 100 * float(run.summary[f"loss_rate_in_{place}"])


def _collect(lines: dict[str, list[Run]], place: Callable[[Run], float], metric: Metric) -> Points:
    points: Points = {}
    for name, runs in lines.items():
        line = points.setdefault(name, {})
        for run in sorted(runs, key=place):
            value = metric(run)
            if value is not None:
                line.setdefault(place(run), []).append(value)
    return points


def _with_enough(tails: Points, counts: Points, few: list[int]) -> Points:
    """Return the points that have enough observations for a p99, over all seeds.

    For each point with too few observations, their number is appended to `few`.
    """
    kept: Points = {}
    for name, line in tails.items():
        known = {place: int(sum(counts[name][place])) for place in line}
        few += [count for count in known.values() if not percentiles.suffices(count)]
        kept[name] = {place: line[place] for place, count in known.items() if percentiles.suffices(count)}
    return kept


@dataclass(frozen=True)
class _Metric:
    """A metric with its values and labels."""

    points: Points
    label: str
    """Label of the vertical axis without the statistic, for columns whose title names the statistic."""
    full_label: str
    unit: float = 1
    zero: bool = False
    is_tail: bool = False
    """Whether points with too few observations are left out."""
    thin: Points | None = None
    """Values of a second metric, drawn as thin lines through their means."""


def _draw_all(
    figure: "Figure",
    told: Lines,
    metrics: Sequence[_Metric],
    places: Sequence[Sequence[Place]],
    few: Sequence[int],
    sizes: str = "",
) -> None:
    for metric, row in zip(metrics, places, strict=True):
        for place in row:
            _draw(place, told, metric)
            if place.is_first:
                place.plot.set_ylabel(metric.full_label if told.is_split else metric.label)
    told.finish(figure, [place.plot for row in places for place in row], places[-1][0].plot)
    said = [said_of_bars(_counts(metrics))]
    if few:
        said.append(
            f"Not drawn: p99 of {min(few):,} observations or more; {percentiles.needed():,} are needed."
        )
    if sizes:
        said.append(f"Sizes: {sizes}.")
    style.add_note(figure, " ".join(said))
    figure.align_ylabels()


def _counts(metrics: Sequence[_Metric]) -> list[int]:
    """Return the number of seeds at each point."""
    return [len(seeds) for metric in metrics for line in metric.points.values() for seeds in line.values()]


def _draw(place: Place, told: Lines, metric: _Metric) -> None:
    """Draw lines through the means over seeds, with bars for intervals."""
    plot, ends = place.plot, []
    for name in place.behind:
        plot.plot(*_means(metric.points[name], metric.unit), **BEHIND)
    for name in place.names:
        look, line = told.looks[name], metric.points[name]
        intervals = {at: over_seeds([value / metric.unit for value in seeds]) for at, seeds in line.items()}
        known = {at: interval for at, interval in intervals.items() if interval}
        if known:
            means = [interval.estimate for interval in known.values()]
            below = [interval.estimate - interval.low for interval in known.values()]
            above = [interval.high - interval.estimate for interval in known.values()]
            bars = {"ecolor": look["color"], "elinewidth": 0.7, "capsize": 1.6, "capthick": 0.7}
            plot.errorbar(
                list(known), means, [below, above], fmt="none", zorder=look.get("zorder", 2), **bars
            )
        # Only lines with points may extend beyond the panel: the layout cannot place lines without points.
        plot.plot(*_means(line, metric.unit), label=name, clip_on=not line, **look)
        if metric.thin:
            thin = _means(metric.thin[name], metric.unit)
            plot.plot(*thin, clip_on=False, **look | {"linewidth": 0.6, "marker": ""})
    # The panels of all parts share a scale, so that they can be compared.
    drawn = [value for points in (metric.points, metric.thin or {}) for value in _all_means(points)]
    for line in metric.points.values():
        for interval in filter(None, map(over_seeds, line.values())):
            ends += [interval.low / metric.unit, interval.high / metric.unit]
    if not drawn:
        few = f"too few for a p99:\n{percentiles.needed():,} are needed"
        style.say_empty(plot, "" if told.is_split else few if metric.is_tail else "no flow is complete")
        return
    style.scale(plot, "y", [value / metric.unit for value in drawn], zero=metric.zero, more=ends)
    if told.is_split:
        style.keep_few_ticks(plot)


def _means(line: Mapping[float, Sequence[float]], unit: float) -> tuple[list[float], list[float]]:
    """Return the positions of a line's points, and the mean over seeds at each position."""
    return list(line), [math.fsum(seeds) / len(seeds) / unit for seeds in line.values()]


def _all_means(points: Points) -> list[float]:
    return [mean for line in points.values() for mean in _means(line, 1)[1]]


def _places(points: Points) -> set[float]:
    return {place for line in points.values() for place in line}


def _values(points: Points) -> list[float]:
    return [value for line in points.values() for values in line.values() for value in values]
