"""Figures over time: queues and pools, windows, goodput, all ports at once."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import shallows.figures.style as style
from shallows.errors import ShallowsError
from shallows.figures.inputs import Runs, as_list, choose_flows, choose_ports, groups, ports_of, table
from shallows.figures.steps import SLICES, Steps
from shallows.results import Run

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 6
"""Lines of a panel that can be followed, unless more are asked for."""

MARKS = 6
"""Markers of a line over time."""

GOODPUT_SLICES = 50
"""Parts of the run over which goodput is averaged."""


def queue(runs: Runs, ports: Sequence[str] = ()) -> "Figure":
    """Backlog of ports and pools over time, a panel for each run and port.

    What is drawn are the lowest and the highest backlog of each of 400 parts of the time: peaks stay.

    Parameters
    ----------
    runs
        Finished runs with `measure.sample_queues`, which covers all ports, or `measure.traces`, which
        covers those it names at every change.
    ports
        Ports or pools: names, patterns such as `switch0->*`, or kinds such as `to-host`. By default, the
        two ports of switches with the longest queues (of several runs, the one), and the fullest pool.

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
    end = max(steps.times[-1] for _, _, steps in shown)
    with style.panels(len(shown), 1, 0.85, sharex=True) as (figure, plots):
        time = style.time_axis(plots[-1], end)
        for plot, (label, is_pool, steps) in zip(plots, shown, strict=True):
            # Ports share a scale, and pools: what is higher in the figure was longer.
            top = max(other.values.max() for _, kind, other in shown if kind == is_pool)
            unit, thin = style.size_unit([top]), steps.thinned()
            times, values = thin.times / time.size, thin.values / unit.size
            plot.fill_between(times, values, step="post", color="0.85", linewidth=0)
            plot.plot(times, values, drawstyle="steps-post", marker="none", linewidth=0.7)
            style.scale(plot, "y", [top / unit.size])
            plot.set_ylabel(f"{'pool' if is_pool else 'backlog'} ({unit.name})")
            style.name_panel(plot, label)
        figure.align_ylabels()
    return figure


def _panels(runs: Sequence[Run], ports: Sequence[str]) -> list[tuple[str, bool, Steps]]:
    """What to draw: a name, whether it is a pool, its backlog."""
    chosen = ports or busiest(runs, most=2 if len(runs) == 1 else 1)
    shown = []
    for label, run in _each(runs):
        known = ports_of(run)
        drawn = backlogs(run, chosen)
        drawn |= {} if ports else fullest_pool(run, above=max(steps.values.max() for steps in drawn.values()))
        for port, steps in drawn.items():
            shown.append((", ".join(filter(None, [label, port])), port not in known, steps))
    return shown


def backlogs(run: Run, ports: Sequence[str]) -> dict[str, Steps]:
    """Backlog over time of the ports and pools that match."""
    import polars as pl

    frame = backlog_table(run)
    known = frame["name"].unique(maintain_order=True).to_list()
    if run.queues is not None:
        known = [*ports_of(run), *known]  # a port that was never found with a backlog has no row
    chosen = choose_ports(run, ports, known)
    return {name: Steps.read(frame.filter(pl.col("name") == name), "bytes", _end(run)) for name in chosen}


def busiest(runs: Sequence[Run], most: int) -> list[str]:
    """The ports with the longest queues of all these runs; those of hosts only if there are no others."""
    import polars as pl

    frames = [backlog_table(run).select("kind", "name", pl.col("bytes").cast(float)) for run in runs]
    ports = pl.concat(frames).filter(pl.col("kind") == "port")
    longest = ports.group_by("name", maintain_order=True).agg(pl.col("bytes").max())
    ordered = longest.sort("bytes", descending=True, maintain_order=True)["name"].to_list()
    kinds = {name: kind for run in runs for name, kind in ports_of(run).items()}
    of_switches = [name for name in ordered if kinds[name] != "nic"]
    chosen = (of_switches or ordered)[:most]
    if not chosen:
        raise ShallowsError(f"no port of {runs[0].path} ever had a backlog", "offer it more load")
    return chosen


def fullest_pool(run: Run, above: float) -> dict[str, Steps]:
    """The pool of a switch that was fullest; none where it would only repeat the one port that is drawn."""
    import polars as pl

    hosts = {port.split("->")[0] for port, kind in ports_of(run).items() if kind == "nic"}
    pools = backlog_table(run).filter((pl.col("kind") == "pool") & (pl.col("bytes") > above))
    pools = pools.filter(~pl.col("name").str.split(".pool").list.first().is_in(list(hosts)))
    if pools.is_empty():
        return {}
    name = pools.sort("bytes", maintain_order=True)["name"][-1]
    return backlogs(run, [name])


def backlog_table(run: Run) -> "pl.DataFrame":
    """Time, kind, name and bytes of every port and pool that was recorded."""
    import polars as pl

    if run.queues is not None:
        return run.queues
    if run.traces is None:
        raise ShallowsError(
            f"{run.path} has neither queues.parquet nor traces.parquet",
            'set measure.sample_queues = "10us" for all ports, '
            'or measure.traces = [{ ports = ["to-host"] }] for some at every change, and run it again',
        )
    ports = run.traces.filter(
        pl.col("queue").is_null() & pl.col("quantity").is_in(["backlog_bytes", "pool_bytes"])
    )
    is_pool = pl.col("quantity") == "pool_bytes"
    return ports.select(
        "time_us",
        pl.when(is_pool).then(pl.lit("pool")).otherwise(pl.lit("port")).alias("kind"),
        pl.when(is_pool).then("pool of " + pl.col("port")).otherwise(pl.col("port")).alias("name"),
        pl.col("value").alias("bytes"),
    )


def _end(run: Run) -> float:
    return float(run.summary["simulated_s"]) * 1e6


def heat_map(runs: Runs, ports: Sequence[str] = ()) -> "Figure":
    """The backlog of every port over time, as shades: which ports are congested, when, and with which others.

    Each field is the highest backlog of its part of the time. One map for each run, with the same shades.

    Parameters
    ----------
    runs
        Finished runs with `measure.sample_queues` or `measure.traces`.
    ports
        Ports: names, patterns such as `leaf0->*`, or kinds such as `to-host`. By default, all those
        of switches that ever had a backlog.

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
    for label, run in _each(runs):
        rows = backlogs(run, chosen)
        edges = np.linspace(0, _end(run), SLICES // 2 + 1)
        field = np.array([steps.highest(edges) for steps in rows.values()])
        maps.append((label, list(rows), field, float(edges[-1])))
    top = max(field.max() for _, _, field, _ in maps) or 1.0
    unit = style.size_unit([top])
    tallest = max(len(names) for _, names, _, _ in maps)
    with style.panels(len(maps), 1, min(0.3 + 0.12 * tallest, 4.5), sharex=True) as (figure, plots):
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
            _name_rows(plot, names)
            style.name_panel(plot, label)
        bar = figure.colorbar(image, ax=plots, location="top", aspect=40, pad=0.06)
        bar.set_label(f"backlog ({unit.name})")
    return figure


def _name_rows(plot: "Axes", names: Sequence[str]) -> None:
    """Names of ports beside their rows; of many, as many as can be read."""
    step = -(-len(names) // 36)
    plot.set_yticks(range(0, len(names), step), names[::step], fontsize=6)
    plot.tick_params(axis="y", length=0)
    plot.grid(visible=False)


def cwnd(runs: Runs, flows: Sequence[int] = ()) -> "Figure":
    """Congestion windows over time: a panel for each run, a line for each flow.

    Parameters
    ----------
    runs
        Finished runs with `measure.flow_traces`.
    flows
        Numbers of flows. By default, the first six that were traced.

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
    for label, run in _each(as_list(runs)):
        lines = {name: steps.thinned() for name, steps in windows(run, flows).items()}
        shown.append((label, lines, _end(run)))
    top = max(steps.values.max() for _, lines, _ in shown for steps in lines.values())
    return _draw_over_time(shown, "cwnd", style.size_unit([top]))


def windows(run: Run, flows: Sequence[int] = (), most: int = MOST_LINES) -> dict[str, Steps]:
    """Congestion windows of these flows, or of the first that were traced."""
    import polars as pl

    traces = table(run, "flow_traces").filter(pl.col("quantity") == "cwnd_bytes")
    chosen = choose_flows(run, flows, traces["flow"])
    lines = {}
    for flow in chosen if flows else chosen[:most]:
        one = traces.filter(pl.col("flow") == flow)
        # Nothing is drawn before a flow begins, or after it has ended.
        last = _flow_end(run, flow)
        steps = Steps.read(one, "value", last)
        begin = int(steps.times.searchsorted(float(one["time_us"].to_numpy().min())))
        lines[f"flow {flow}"] = Steps(steps.times[begin:], steps.values[begin:])
    return lines


def goodput(runs: Runs, flows: Sequence[int] = ()) -> "Figure":
    """Goodput over time: a panel for each run, a line for each flow, or for each class if there are several.

    It is what was acknowledged in each fiftieth of the run. The last bytes of a flow that has ended count
    when their acknowledgement came.

    Parameters
    ----------
    runs
        Finished runs with `measure.flow_traces`.
    flows
        Numbers of flows, to see them one by one. By default the classes of service, if traced flows have
        several; otherwise the six flows with the most bytes.

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
    for label, run in _each(as_list(runs)):
        traces = table(run, "flow_traces").filter(pl.col("quantity") == "acked_bytes")
        chosen = choose_flows(run, flows, traces["flow"])
        edges = np.linspace(0, _end(run), GOODPUT_SLICES + 1)
        rates = {}
        for flow in chosen:
            acked = Steps.read(_with_end(run, flow, traces), "value", _end(run))
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
        drawn = {name: Steps(edges, np.append(rate, rate[-1])) for name, rate in lines.items()}
        shown.append((label, drawn, _end(run)))
    return _draw_over_time(shown, "goodput", style.Unit("Gb/s", 1))


def _with_end(run: Run, flow: int, traces: "pl.DataFrame") -> "pl.DataFrame":
    """What a flow's trace says, and its last acknowledgement, which has no row there."""
    import polars as pl

    one = traces.filter(pl.col("flow") == flow).select("time_us", "value")
    size, ended = run.flows.filter(pl.col("flow") == flow).select("size_bytes", "fct_sender_us").row(0)
    if ended is None:
        return one
    last = pl.DataFrame({"time_us": [_flow_end(run, flow)], "value": [float(size)]})
    return pl.concat([one, last])


def _flow_end(run: Run, flow: int) -> float:
    """When a flow's last acknowledgement came, or the end of the run."""
    import polars as pl

    arrival, took = run.flows.filter(pl.col("flow") == flow).select("arrival_us", "fct_sender_us").row(0)
    return _end(run) if took is None else float(arrival) + float(took)


def _each(runs: Sequence[Run]) -> list[tuple[str, Run]]:
    """Every run with what distinguishes it; seeds apart."""
    named = []
    for name, members in groups(runs).items():
        for run in members:
            seed = f"seed {run.environment['seed']}" if len(members) > 1 else ""
            named.append((", ".join(filter(None, [name, seed])), run))
    return named


def _draw_over_time(
    shown: Sequence[tuple[str, dict[str, Steps], float]], what: str, unit: style.Unit
) -> "Figure":
    """A panel for each entry: its name, its lines, and the end of its time axis."""
    end = max(last for _, _, last in shown)
    with style.panels(len(shown), 1, 1.25, sharex=True, sharey=True) as (figure, plots):
        time = style.time_axis(plots[-1], end)
        names = list(dict.fromkeys(name for _, lines, _ in shown for name in lines))
    with style.panels(len(shown), 1, 1.25, sharex=True) as (figure, plots):
        time = style.time_axis(plots[-1], end)
        for plot, (label, lines, _) in zip(plots, shown, strict=True):
            for name, steps in lines.items():
                place = names.index(name)
                look = style.look(place) | {"linewidth": 1.0, "markersize": 3.5}
                # Evenly in time: along a line that goes up and down there would be too many.
                at = [end * (mark + (place % 6 + 0.5) / 6) / MARKS for mark in range(MARKS)]
                marked = sorted({int(i) for i in steps.times.searchsorted(at) if 0 < i < len(steps.times)})
                times, values = steps.times / time.size, steps.values / unit.size
                plot.plot(times, values, label=name, drawstyle="steps-post", markevery=marked, **look)
            # Each panel has a scale of its own: schemes differ by orders of magnitude.
            style.scale(plot, "y", [max(steps.values.max() for steps in lines.values()) / unit.size])
            plot.set_ylabel(f"{what} ({unit.name})")
            style.name_panel(plot, label)
        style.add_legend(figure, *plots)
    return figure
