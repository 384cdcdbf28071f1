"""Figures of sweeps: a result against load, or against the number of servers."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import shallows.figures.style as style
from shallows.errors import ShallowsError
from shallows.runs import tables
from shallows.runs.results import Run, axis_name
from shallows.series.inputs import Runs, as_list, groups, labels, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Metric = Callable[[Run], "float | None"]
Points = dict[str, dict[float, list[float]]]
"""By line, by place on the horizontal axis: the values of all seeds."""

COUNTS_SERVERS = {"fan out", "servers", "workers", "senders"}
"""Axes of a sweep that change how many servers answer a query."""


def fct(runs: Runs) -> "Figure":
    """Completion times by size of flow, mean and 99th percentile, and losses and timeouts, against load.

    Losses are those in switches; where cards of hosts lost packets, thin lines show these.

    One line for each scheme. Runs that differ in nothing but their seed are one point, the mean of theirs,
    with a bar from the lowest to the highest. If the load does not vary, another number of the sweep is the
    axis.

    Parameters
    ----------
    runs
        Finished runs of one sweep that has the load, or another number, as an axis.

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
    percent = 100 if axis_name(axis) == "load" else 1
    lines = groups(runs, axis)

    def points(metric: Metric) -> Points:
        return _collect(lines, lambda run: labels(run)[axis] * percent, metric)

    # A size of flows that no run has gets no row.
    times = [run.summary["fct_us"] for run in runs]
    sizes = tables.bins({"fct_us": {name: 0 for found in times for name in found if found[name]["count"]}})[
        1:
    ]
    with style.panels(len(sizes) + 1, 2, 0.95, sharex=True) as (figure, plots):
        for row, size in enumerate(sizes):
            both = [points(_completion(size, statistic)) for statistic in ("mean", "p99")]
            unit = style.time_unit(value for drawn in both for value in _values(drawn))
            for plot, drawn in zip(plots[2 * row : 2 * row + 2], both, strict=True):
                _draw(plot, drawn, unit.size)
            plots[2 * row].set_ylabel(f"{size.replace('_', ' ')} flows:\nFCT ({unit.name})")
        style.name_columns(plots[:2], ["mean", "99th percentile"])
        lost, timeouts = plots[-2:]
        in_switches, in_cards = points(_loss("switches")), points(_loss("cards"))
        own = any(_values(in_cards))
        _draw(lost, in_switches, zero=True, thin=in_cards if own else None)
        _draw(timeouts, points(lambda run: float(run.summary["timeouts"])), zero=True)
        lost.set_ylabel("packets lost (%)\n(thin: in hosts)" if own else "packets\nlost (%)")
        timeouts.set_ylabel("timeouts")
        for plot in (lost, timeouts):
            plot.set_xlabel("load (%)" if axis_name(axis) == "load" else axis_name(axis))
        style.add_legend(figure, lost)
        figure.align_ylabels()
    return figure


def incast(runs: Runs) -> "Figure":
    """Goodput of queries or blocks, their 99th percentile, and those with a timeout, against servers.

    The number of servers is read from the queries themselves. One line for each scheme; bars span the seeds.

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
    with style.panels(3, 1, 0.95, sharex=True) as (figure, plots):
        goodput, tail, timed_out = plots

        def points(key: str, factor: float = 1) -> Points:
            def metric(run: Run) -> float | None:
                value = run.summary["queries"]["all"][key]
                return None if value is None else factor * value

            return _collect(lines, lambda run: servers[id(run)], metric)

        _draw(goodput, points("goodput_gbps"))
        times = points("p99")
        unit = style.time_unit(_values(times))
        _draw(tail, times, unit.size)
        _draw(timed_out, points("with_timeout", 100))
        timed_out.set_yscale("linear")
        goodput.set(ylabel="goodput\n(Gb/s)")
        tail.set(ylabel=f"99th pct.\ntime ({unit.name})")
        timed_out.set(ylabel="with timeout\n(%)", xlabel="servers", ylim=(-4, 108), yticks=[0, 50, 100])
        style.scale(timed_out, "x", servers.values())
        style.add_legend(figure, goodput)
        figure.align_ylabels()
    return figure


def _horizontal_axis(runs: Sequence[Run]) -> str:
    def is_numeric(axis: str) -> bool:
        values = [labels(run).get(axis) for run in runs]
        return all(isinstance(value, int | float) for value in values) and len(set(values)) > 1

    axes = dict.fromkeys(axis for run in runs for axis in labels(run) if axis not in {"scheme", "seed"})
    numeric = sorted((axis for axis in axes if is_numeric(axis)), key=lambda axis: axis_name(axis) != "load")
    if not numeric:
        raise ShallowsError(
            "these runs differ in no number that could be the figure's axis",
            "name the folder of a sweep over loads, such as the one that `shallows demo --full` writes",
        )
    return numeric[0]


def _servers(run: Run) -> float:
    """How many servers answer each query of a run."""
    asked = table(run, "queries").select("workload", "responses").unique().sort("workload")
    workloads = run.scenario["workload"]
    found = {
        answers / (workloads[workload].get("iterations") or 1) for workload, answers in asked.iter_rows()
    }
    if len(found) != 1:
        raise ShallowsError(
            f"queries of {run.path} have from {min(found, default=0):g} to {max(found, default=0):g} servers",
            "give all of a run's workloads that ask the same fan_out",
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


def _draw(
    plot: "Axes", points: Points, unit: float = 1, *, zero: bool = False, thin: Points | None = None
) -> None:
    """One line through the means over seeds, and bars over their range where there are several.

    Of other points of the same schemes, if there are any, a thin line shows the means.
    """
    drawn: list[float] = []
    for index, (name, line) in enumerate(points.items()):
        seeds = [[value / unit for value in values] for values in line.values()]
        means = [math.fsum(values) / len(values) for values in seeds]
        look = style.look(index)
        if any(len(values) > 1 for values in seeds):
            below = [mean - min(values) for mean, values in zip(means, seeds, strict=True)]
            above = [max(values) - mean for mean, values in zip(means, seeds, strict=True)]
            bars = {"ecolor": look["color"], "elinewidth": 0.7, "capsize": 1.6, "capthick": 0.7}
            plot.errorbar(list(line), means, [below, above], fmt="none", zorder=look["zorder"], **bars)
        plot.plot(list(line), means, label=name, clip_on=False, **look)
        drawn += [value for values in seeds for value in values]
    for index, line in enumerate((thin or {}).values()):
        means = [math.fsum(values) / len(values) / unit for values in line.values()]
        plot.plot(list(line), means, clip_on=False, **style.look(index) | {"linewidth": 0.6, "marker": ""})
        drawn += means
    style.scale(plot, "y", drawn, zero=zero)


def _values(points: Points) -> list[float]:
    return [value for line in points.values() for values in line.values() for value in values]
