"""Figures over time: queues and pools, congestion windows, rates, goodput, heat maps of ports."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.figures.lines import LOW, MOST_LOOKS, MOST_ROWS
from shallows.runs.recorded import ports_of
from shallows.runs.results import Run
from shallows.runs.steps import Series
from shallows.series.backlogs import backlogs, busiest, pools_beside
from shallows.series.flow_series import acked_bytes, alphas, end_us, rates, windows
from shallows.series.inputs import Runs, as_list, choose_flows, groups, table
from shallows.series.thresholds import Thresholds, thresholds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

MOST_LINES = 6
"""Maximum number of lines of a panel by default."""

PARTS = 400
"""Number of parts of a line over time: more would not be visible in a printed column."""

FIELDS = 200
"""Number of fields in a row of a heat map."""

TALLEST = 8.0
"""Greatest height of all heat maps together, in inches."""

NAME_HEIGHT = 0.11
"""Height in inches of the name of a heat map's row."""

MARKS = 6
"""Number of markers on a line over time."""

GOODPUT_SLICES = 50
"""Number of intervals of the run over which goodput is averaged."""


def queue(runs: Runs, ports: Sequence[str] = ()) -> "Figure":
    """Draw the backlog of ports and pools over time, with a panel for each run and port.

    If there are more changes than can be seen, the line shows means over intervals, and a band shows the
    lowest to the highest value. All peaks are visible, and the area below the line is exact. Dashed lines are
    marking thresholds.

    Parameters
    ----------
    runs
        Finished runs with `measure.sample_queues`, which covers all ports, or `measure.traces`, which
        records every change of selected ports.
    ports
        Ports or pools: names, patterns such as `switch0->*`, or kinds such as `to-host`. By default, the
        two switch ports with the longest queues (only one for several runs), and their pools.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), {"measure.sample_queues": "50us"}, out=folder / "queue")
    >>> sh.figures.queue(run, ports=["switch0->host0"]).axes[0].get_ylabel()
    'backlog (KB)'
    """
    shown = _panels(as_list(runs), ports)
    end = max(panel.series.times[-1] for panel in shown)
    with style.panels(len(shown), 1, 0.85, sharex=True) as (figure, plots):
        time = style.time_axis(plots[-1], end)
        for plot, panel in zip(plots, shown, strict=True):
            # All ports share one scale, and all pools another, so that heights can be compared.
            top = max(other.series.max() for other in shown if other.is_pool == panel.is_pool)
            unit = style.size_unit([top])
            color = style.look(panel.place)["color"]
            line = _draw_parts(plot, panel.series, time, unit, marker="none", linewidth=0.7, color=color)
            shade: dict[str, Any] = {"step": "post", "linewidth": 0, "zorder": 1}
            plot.fill_between(*line.get_data(), color=color, alpha=0.12, **shade)
            drawn, above = style.near(panel.thresholds, top)
            style.scale(plot, "y", [top / unit.size], more=[value / unit.size for _, value in drawn])
            style.draw_thresholds(plot, drawn, unit)
            plot.set_ylabel(f"{'pool' if panel.is_pool else 'backlog'} ({unit.name})")
            style.name_panel(plot, ", ".join([panel.label, *above]))
        figure.align_ylabels()
    return figure


@dataclass(frozen=True)
class _Panel:
    """A panel with the backlog of one port or pool of a run."""

    label: str
    place: int
    """Index of the run's scheme, which determines the colour."""
    is_pool: bool
    series: Series
    thresholds: Thresholds


def _panels(runs: Sequence[Run], ports: Sequence[str]) -> list[_Panel]:
    """Return panels of the same ports for every run; by default, also panels of the pools of these ports."""
    chosen = ports or busiest(runs, most=2 if len(runs) == 1 else 1)
    schemes = list(groups(runs))
    shown = []
    for scheme, label, run in each_run(runs):
        known = ports_of(run)
        wanted = chosen if ports else [*chosen, *pools_beside(run, chosen)]
        for name, series in backlogs(run, wanted).items():
            called = ", ".join(filter(None, [label, name]))
            place = schemes.index(scheme)
            shown.append(_Panel(called, place, name not in known, series, thresholds(run, name)))
    longest = max(panel.series.max() for panel in shown if not panel.is_pool or ports)
    # If only one port of a pool was busy, the pool's panel would repeat the port's.
    repeats = not ports and all(panel.series.max() <= longest for panel in shown if panel.is_pool)
    return [panel for panel in shown if not (repeats and panel.is_pool)]


def heat_map(runs: Runs, ports: Sequence[str] = ()) -> "Figure":
    """Draw a heat map of the backlog of every port over time, which shows ports that are congested together.

    Each field shows the highest backlog in its interval. Each run has its own map; all share a colour scale.

    Parameters
    ----------
    runs
        Finished runs with `measure.sample_queues` or `measure.traces`.
    ports
        Ports: names, patterns such as `leaf0->*`, or kinds such as `to-host`. By default, all switch ports
        that ever had a backlog.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), {"measure.sample_queues": "50us"}, out=folder / "heat-map")
    >>> sh.figures.heat_map(run, ports=["host[1-4]->*"]).axes[0].get_xlabel()
    'time (ms)'
    """
    import numpy as np

    runs = as_list(runs)
    ever = set(busiest(runs, most=len(ports_of(runs[0]))))
    chosen = ports or [port for port in ports_of(runs[0]) if port in ever]
    maps = []
    for _, label, run in each_run(runs):
        rows = backlogs(run, chosen)
        edges = np.linspace(0, end_us(run), FIELDS + 1)
        field = np.array([series.highest(edges) for series in rows.values()])
        maps.append((label, list(rows), field, float(edges[-1])))
    top = max(field.max() for _, _, field, _ in maps) or 1.0
    unit = style.size_unit([top])
    tallest = max(len(names) for _, names, _, _ in maps)
    height = min(0.3 + 0.12 * tallest, 4.5, TALLEST / len(maps))
    with style.panels(len(maps), 1, height, sharex=True) as (figure, plots):
        time = style.time_axis(plots[-1], max(end for *_, end in maps))
        for plot, (label, names, field, end) in zip(plots, maps, strict=True):
            extent = (0, end / time.size, len(names) - 0.5, -0.5)
            image = plot.imshow(
                field / unit.size,
                aspect="auto",
                extent=extent,
                interpolation="nearest",
                cmap="Blues",
                vmin=0,
                vmax=top / unit.size,
            )
            _name_rows(plot, names, most=max(int(height / NAME_HEIGHT), 1))
            style.name_panel(plot, label)
        bar = figure.colorbar(image, ax=plots, location="top", aspect=40, pad=0.06)
        bar.set_label(f"backlog ({unit.name})")
    return figure


def _name_rows(plot: "Axes", names: Sequence[str], most: int) -> None:
    """Label rows with the names of ports, at most `most` of them."""
    step = -(-len(names) // most)
    plot.set_yticks(range(0, len(names), step), names[::step], fontsize=6)
    plot.tick_params(axis="y", length=0)
    plot.grid(visible=False)


def cwnd(runs: Runs, flows: Sequence[int] = ()) -> "Figure":
    """Draw congestion windows over time, with a panel for each run and a line for each flow.

    Parameters
    ----------
    runs
        Finished runs with `measure.flow_traces`.
    flows
        Numbers of flows; by default, the first six traced flows.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> traced = {"measure.flow_traces": [{"workload": 1}]}
    >>> run = sh.run(sh.example("incast"), traced, out=folder / "cwnd")
    >>> sh.figures.cwnd(run).axes[0].get_ylabel()
    'cwnd (KB)'
    """
    shown = []
    for _, label, run in each_run(as_list(runs)):
        shown.append((label, windows(run, flows, MOST_LINES), end_us(run)))
    top = max(series.max() for _, lines, _ in shown for series in lines.values())
    unit = style.size_unit([top])
    return _draw_over_time([_OverTime(*each, f"cwnd ({unit.name})", unit) for each in shown])


def rate(runs: Runs, flows: Sequence[int] = ()) -> "Figure":
    """Draw the rates that congestion controls set for queue pairs, with a panel for each run.

    If the congestion control has an α, as DCQCN does, a second panel below the first one shows it.

    Parameters
    ----------
    runs
        Finished runs with `measure.flow_traces` and queue pairs.
    flows
        Numbers of flows; by default, the first six traced flows.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> pair = {"kind": "long-lived", "transport": "roce", "senders": "0, 1", "receivers": 2}
    >>> scenario = sh.Scenario.from_dict(
    ...     {
    ...         "name": "pairs",
    ...         "topology": {"kind": "star", "hosts": 3, "rate": "100Gbps"},
    ...         "switch": {
    ...             "buffer": {"kind": "complete-sharing", "pool": "1MB"},
    ...             "markers": [{"kind": "red", "kmin": "40KB", "kmax": "160KB", "pmax": 0.2}],
    ...         },
    ...         "roce": {"congestion": "dcqcn"},
    ...         "workload": [pair],
    ...         "measure": {"flow_traces": [{"workload": 0}]},
    ...         "stop": {"at": "1ms"},
    ...     }
    ... )
    >>> sh.figures.rate(scenario.run(out=folder / "rate")).axes[0].get_ylabel()
    'rate (Gb/s)'
    """
    shown = []
    for _, label, run in each_run(as_list(runs)):
        lines = rates(run, flows, MOST_LINES)
        shown.append(_OverTime(label, lines, end_us(run), "rate (Gb/s)"))
        if of_control := alphas(run, lines):
            shown.append(_OverTime(label, of_control, end_us(run), "α"))
    return _draw_over_time(shown)


def goodput(runs: Runs, flows: Sequence[int] = ()) -> "Figure":
    """Draw goodput over time, with a panel for each run and a line for each flow or class of service.

    Goodput is computed from the bytes acknowledged in each fiftieth of the run.

    Parameters
    ----------
    runs
        Finished runs with `measure.flow_traces`.
    flows
        Numbers of flows. By default, lines are classes of service if traced flows have several, otherwise
        the six flows with the most bytes.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> traced = {"measure.flow_traces": [{"workload": 1}]}
    >>> run = sh.run(sh.example("incast"), traced, out=folder / "goodput")
    >>> sh.figures.goodput(run).axes[0].get_ylabel()
    'goodput (Gb/s)'
    """
    import numpy as np
    import polars as pl

    shown = []
    for _, label, run in each_run(as_list(runs)):
        flow_traces = table(run, "flow_traces").filter(pl.col("quantity") == "acked_bytes")
        chosen = choose_flows(run, flows, flow_traces["flow"])
        edges = np.linspace(0, end_us(run), GOODPUT_SLICES + 1)
        rates = {}
        for flow in chosen:
            acked = Series.read(acked_bytes(run, flow, flow_traces), "value", end_us(run), 0.0)
            rates[flow] = np.diff(acked.at(edges)) * 8 / np.diff(edges) / 1e3  # bits per µs: Gb/s over 1,000
        classes = dict(run.flows.select("flow", "class").iter_rows())
        lines = {}
        if flows or len({classes[flow] for flow in chosen}) == 1:
            largest = sorted(chosen, key=lambda flow: -rates[flow].sum())[:MOST_LINES]
            for flow in chosen if flows else sorted(largest):
                lines[f"flow {flow}"] = rates[flow]
        else:
            for number in sorted({classes[flow] for flow in chosen}):
                members = [rates[flow] for flow in chosen if classes[flow] == number]
                lines[f"class {number}"] = np.sum(members, axis=0)
        drawn = {name: Series(edges, np.append(rate, rate[-1])) for name, rate in lines.items()}
        shown.append(_OverTime(label, drawn, end_us(run), "goodput (Gb/s)"))
    return _draw_over_time(shown)


def each_run(runs: Sequence[Run]) -> list[tuple[str, str, Run]]:
    """Return for each run the name of its scheme, its label (with the seed if needed), and the run."""
    named = []
    for name, members in groups(runs).items():
        for run in members:
            seed = f"seed {run.environment['seed']}" if len(members) > 1 else ""
            named.append((name, ", ".join(filter(None, [name, seed])), run))
    return named


@dataclass(frozen=True)
class _OverTime:
    """Panel with lines over time."""

    label: str
    lines: dict[str, Series]
    end: float
    """End of the time axis, in µs."""
    axis: str
    """Label of the axis of values."""
    unit: style.Unit = field(default_factory=lambda: style.Unit("", 1))
    """Unit of the axis of values, by which the values are divided."""


def _draw_over_time(shown: Sequence[_OverTime]) -> "Figure":
    """Draw panels below each other.

    With more than `MOST_LOOKS` lines, each line has its own panel, titled with its name.
    """
    import numpy as np

    end = max(panel.end for panel in shown)
    names = list(dict.fromkeys(name for panel in shown for name in panel.lines))
    is_split = len(names) > MOST_LOOKS
    # Each entry: name and lines of a drawn panel, and the `_OverTime` whose lines share its scale.
    drawn = [(panel.label, panel.lines, panel) for panel in shown]
    if is_split:
        drawn = [
            (", ".join(filter(None, [panel.label, name])), {name: series}, panel)
            for panel in shown
            for name, series in panel.lines.items()
        ]
    axes = list(dict.fromkeys(panel.axis for panel in shown))
    size: dict[str, Any] = {"height": LOW, "most": MOST_ROWS} if is_split else {"height": 1.25}
    with style.panels(len(drawn), 1, sharex=True, **size) as (figure, plots):
        time = style.time_axis(plots[-1], end)
        for plot, (label, lines, panel) in zip(plots, drawn, strict=True):
            for name, series in lines.items():
                place = 0 if is_split else names.index(name)
                look = style.look(place) | {"linewidth": 1.0, "markersize": 3.5}
                line = _draw_parts(plot, series, time, panel.unit, label=name, **look)
                # Markers are spaced evenly in time, because steep parts of a line have many points.
                at = [end / time.size * (mark + (place % 6 + 0.5) / 6) / MARKS for mark in range(MARKS)]
                times = np.asarray(line.get_xdata())
                line.set_markevery(sorted({int(i) for i in np.searchsorted(times, at) if 0 < i < len(times)}))
            # Each run has its own scale, as schemes differ by orders of magnitude.
            style.scale(plot, "y", [max(series.max() for series in panel.lines.values()) / panel.unit.size])
            if not is_split or len(axes) > 1:
                plot.set_ylabel(panel.axis)
            style.name_panel(plot, label)
        if is_split and len(axes) == 1:
            figure.supylabel(axes[0], fontsize=plots[0].yaxis.label.get_fontsize())
        if not is_split:
            style.add_legend(figure, *plots)
    return figure


def _draw_parts(plot: "Axes", series: Series, time: style.Unit, unit: style.Unit, **look: Any) -> "Line2D":
    """Draw a line through means over intervals, with a band from the lowest to the highest value."""
    import numpy as np

    parts = series.parts(2 * PARTS)
    edges = parts.edges / time.size
    mean, low, high = (np.append(each, each[-1]) / unit.size for each in (parts.mean, parts.low, parts.high))
    (line,) = plot.plot(edges, mean, drawstyle="steps-post", **look)
    if parts.longest_us:
        color: Any = line.get_color()
        plot.fill_between(edges, low, high, step="post", color=color, alpha=0.25, linewidth=0, zorder=1.5)
    return line
