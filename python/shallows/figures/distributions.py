"""Figures of distributions: completion times, slowdowns, queues, round-trip times, starvation."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import shallows.figures.style as style
from shallows.errors import ShallowsError
from shallows.figures.lines import (
    BEHIND,
    Lines,
    Place,
    of_groups,
    of_labels,
    one_below_the_other,
    side_by_side,
)
from shallows.quantity import order, size, time
from shallows.runs import percentiles
from shallows.runs.bins import defined, edges_of
from shallows.runs.ranks import nearest_rank
from shallows.runs.results import Run
from shallows.runs.steps import Series
from shallows.series.backlogs import backlogs, busiest
from shallows.series.completions import completed, size_bins, within
from shallows.series.inputs import Runs, as_list, groups, labels, table
from shallows.series.thresholds import Thresholds, thresholds

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

LONGER = "run the scenarios longer: raise stop.at"
"""Remedy for runs that are too short."""

POINTS = 400
"""Maximum number of points of a distribution's line."""

DECADES = 4
"""Number of decades of a logarithmic axis for the share above a value; `POINTS` points are spread over it."""

PALE = f"Pale: fewer than {percentiles.FEWEST_BEYOND} observations above."

SIZE_GROUPS = 10
"""Number of parts of the horizontal axis of `slowdown`, each with the same number of flows."""

GAP_BINS = 24

Curve = tuple[Sequence[float], Sequence[float]]

MOST_SHARES = 5
"""End of the axis of `shares`, as a multiple of the mean."""


def fct_cdf(runs: Runs, *, tail: bool = False) -> "Figure":
    r"""Draw the distribution of completion times: a panel for each size bin, a line for each scheme.

    Flows of runs that differ only in their seed are pooled.

    Parameters
    ----------
    runs
        Finished runs.
    tail
        Whether to draw the share above each value on a logarithmic axis, which shows the slowest flows.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), out=folder / "fct-cdf")
    >>> [plot.get_ylabel() for plot in sh.figures.fct_cdf(run).axes]
    ['share of\nsmall flows']
    """
    return _flow_cdf(as_list(runs), "fct_us", tail=tail)


def slowdown_cdf(runs: Runs, *, tail: bool = False) -> "Figure":
    """Draw the distribution of slowdowns: completion times divided by those of the same flows on idle links.

    Parameters
    ----------
    runs
        Finished runs.
    tail
        Whether to draw the share above each value on a logarithmic axis, which shows the slowest flows.

    Returns
    -------
    Figure
        A matplotlib figure like that of `fct_cdf`.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), out=folder / "slowdown-cdf")
    >>> sh.figures.slowdown_cdf(run).axes[-1].get_xlabel()
    'slowdown'
    """
    return _flow_cdf(as_list(runs), "slowdown", tail=tail)


def query_cdf(runs: Runs, *, tail: bool = False) -> "Figure":
    """Draw the distribution of the completion times of queries or blocks, with a line for each scheme.

    Queries of runs that differ only in their seed are pooled; unfinished queries are left out.

    Parameters
    ----------
    runs
        Finished runs with queries, blocks or rounds of an incast with `think_time`.
    tail
        Whether to draw the share above each value on a logarithmic axis, which shows the slowest queries.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> blocks = {"kind": "block-transfer", "clients": 0, "servers": "1..41", "block": "1MB"}
    >>> run = sh.run(sh.example("incast"), {"workload.0": blocks}, out=folder / "query-cdf")
    >>> sh.figures.query_cdf(run).axes[0].get_ylabel()
    'share of queries'
    """
    import polars as pl

    members = groups(as_list(runs))
    lines = {name: pl.concat([_answered(run) for run in each]).sort() for name, each in members.items()}
    lines = {line: times for line, times in lines.items() if len(times)}
    if not lines:
        raise ShallowsError("the runs have no completed query", LONGER)
    return _time_cdf(
        of_groups({line: members[line] for line in lines}), lines, "completion time", "queries", tail=tail
    )


def _answered(run: Run) -> "pl.Series":
    """Return the completion times of a run's finished queries after the warm-up, in µs."""
    import polars as pl

    asked = table(run, "queries")
    return asked.filter((pl.col("counted") == 1) & pl.col("completion_us").is_not_null())["completion_us"]


def _flow_cdf(runs: Sequence[Run], column: str, *, tail: bool) -> "Figure":
    lines = {name: completed(members) for name, members in groups(runs).items()}
    sizes = {}
    for name, bounds in size_bins(runs).items():
        inside = {line: within(flows, *bounds)[column].sort() for line, flows in lines.items()}
        if any(map(len, inside.values())):
            sizes[name] = inside
    if not sizes:
        raise ShallowsError("the runs have no completed flow", LONGER)
    told = of_groups(groups(runs))
    with one_below_the_other(told, len(sizes), 1.15) as (figure, places):
        for panels, (name, drawn) in zip(places, sizes.items(), strict=True):
            flows = f"{name.replace('_', ' ')} flows"
            unit, called = style.Unit("", 1), "slowdown"
            if column == "fct_us":
                unit = style.time_unit(value for values in drawn.values() for value in values)
                called = f"completion time ({unit.name})"
            curves = {line: _ranks(values / unit.size, tail=tail) for line, values in drawn.items()}
            counts = {line: len(values) for line, values in drawn.items()}
            _draw_cdf(panels, told, curves, counts if tail else None)
            above = "\nabove" if tail else ""
            if told.is_split:
                _label(panels, f"{flows}:\n{called}", f"share{above}" if panels is places[0] else "")
            else:
                # The slowdown is the same in all panels.
                is_said = column == "fct_us" or panels is places[-1]
                _label(panels, called if is_said else "", f"share of\n{flows}{above}")
        told.finish(figure, _plots(places), *_plots(places[:1]))
        said = defined(edges_of(runs[0].scenario))
        if notes := [*([f"Sizes: {said}."] if said else []), *([PALE] if tail else [])]:
            style.add_note(figure, " ".join(notes))
        figure.align_ylabels()
    return figure


def slowdown(runs: Runs) -> "Figure":
    """Draw the median and 99th percentile of the slowdown against flow size, with a line for each scheme.

    The horizontal axis is linear in the number of flows: a tenth of all flows lies between two ticks, and
    the label of a tick is the largest size of its tenth. Seeds are pooled. A point covers the sizes from the
    previous point up to its own. A tenth with too few flows for a percentile is merged with the next tenth.

    Parameters
    ----------
    runs
        Finished runs with flows of many sizes.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), out=folder / "slowdown")
    >>> len(sh.figures.slowdown(run).axes)
    2
    """
    import polars as pl

    lines = {name: completed(members) for name, members in groups(as_list(runs)).items()}
    sizes = pl.concat([flows["size_bytes"] for flows in lines.values()]).sort()
    if sizes.is_empty():
        raise ShallowsError("the runs have no completed flow", LONGER)
    edges = [sizes[max(len(sizes) * rank // SIZE_GROUPS - 1, 0)] for rank in range(1, SIZE_GROUPS + 1)]
    edges = sorted(set(edges))
    told = of_groups(groups(as_list(runs)))
    names = [size(edge).replace(" ", "\N{THIN SPACE}") for edge in edges]
    step = 4 if told.is_split else 1
    with side_by_side(told, 2, 1, 1.15) as (figure, panels):
        for row, (percentile, words) in zip(panels, [(0.5, "median"), (0.99, "99th pct.")], strict=True):
            drawn = {name: _by_size(flows, edges, percentile) for name, flows in lines.items()}
            for place in row:
                for name in place.behind:
                    place.plot.plot(*drawn[name], **BEHIND)
                for name in place.names:
                    # Only lines with points may extend beyond the panel: the layout cannot place lines
                    # without points.
                    outside: dict[str, Any] = {"clip_on": not drawn[name][0]}
                    place.plot.plot(*drawn[name], label=name, **outside, **told.looks[name])
                found = [value for _, values in drawn.values() for value in values]
                if found:
                    style.scale(place.plot, "y", found)
                else:
                    few = f"too few flows:\n{percentiles.needed(percentile):,} are needed"
                    style.say_empty(place.plot, "" if told.is_split else few)
            _label(row, "", f"{words}\nslowdown")
        for place in panels[-1]:
            ticks = range(len(edges))[::-step][::-1]
            looks: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
            place.plot.set_xticks([tick + 1 for tick in ticks], [names[tick] for tick in ticks], **looks)
        called = "flow size" if told.is_split else "flow size (a tenth of the flows between ticks)"
        for place in panels[-1] if told.is_split else panels[-1][:1]:
            place.plot.set_xlabel(called)
        told.finish(figure, _plots(panels), *_plots(panels[:1]))
        figure.align_ylabels()
    return figure


def _by_size(flows: "pl.DataFrame", edges: Sequence[int], percentile: float) -> Curve:
    """Return for each range of sizes the index of its upper edge, and a percentile of the slowdown.

    A range with too few flows for the percentile is merged with the next range.
    """
    parts: list[tuple[float, int, int]] = []
    low = -1
    for place, edge in enumerate(edges, 1):
        if percentiles.suffices(len(_slowdowns(flows, low, edge)), percentile):
            parts.append((float(place), low, edge))
            low = edge
    if parts and low < edges[-1]:
        # If the last range has too few flows, it is merged with the range before.
        parts[-1] = (float(len(edges)), parts[-1][1], edges[-1])
    found = [(place, nearest_rank([_slowdowns(flows, *ends)], percentile)) for place, *ends in parts]
    return [place for place, _ in found], [value for _, value in found]


def _slowdowns(flows: "pl.DataFrame", low: int, high: int) -> "NDArray[np.float64]":
    return within(flows, low, high)["slowdown"].drop_nulls().to_numpy()


def queue_cdf(runs: Runs, ports: Sequence[str] = (), *, tail: bool = False) -> "Figure":
    """Draw the distribution of backlogs over time, with a line for each scheme and port.

    Parameters
    ----------
    runs
        Finished runs with `measure.sample_queues` or `measure.traces`.
    ports
        Ports or pools: names, patterns such as `switch0->*`, or kinds such as `to-host`. By default, the
        switch port with the longest queue.
    tail
        Whether to draw the share above each value on a logarithmic axis, which shows the longest queues.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), {"measure.sample_queues": "50us"}, out=folder / "queue-cdf")
    >>> sh.figures.queue_cdf(run).axes[0].get_xlabel()
    'backlog of switch0->host0 (KB)'
    """
    import numpy as np

    runs = as_list(runs)
    chosen = ports or busiest(runs, most=1)
    found: dict[str, list[Series]] = {}
    which: dict[str, dict[str, Any]] = {}
    known: dict[str, Thresholds] = {}
    for name, members in groups(runs).items():
        for run in members:
            for port, steps in backlogs(run, chosen).items():
                key = ", ".join(filter(None, [name, port]))
                found.setdefault(key, []).append(steps)
                which[key] = _labels(run) | {"port": port}
                known[key] = thresholds(run, port)
    unit = style.size_unit([max(steps.values.max() for line in found.values() for steps in line)])
    curves = {}
    for name, line in found.items():
        # Concatenate the seeds in time.
        starts = np.cumsum([0.0, *(steps.times[-1] for steps in line[:-1])])
        times = [steps.times + start for steps, start in zip(line, starts, strict=True)]
        together = Series(np.concatenate(times), np.concatenate([steps.values for steps in line]))
        values, shares = together.distribution()
        curves[name] = _few((values / unit.size).tolist(), shares.tolist(), tail=tail)
    names = list(dict.fromkeys(str(each["port"]) for each in which.values()))
    if len(names) == 1 and len(found) > 1:
        # With a single port, the axis label names it, and the names of lines omit it.
        short = {key: key.removesuffix(f", {names[0]}") for key in found}
        curves = {short[key]: each for key, each in curves.items()}
        which = {short[key]: each for key, each in which.items()}
        known = {short[key]: each for key, each in known.items()}
    of = f" of {names[0]}" if len(names) == 1 else ""
    top = max(value for values, _ in curves.values() for value in values) * unit.size
    told = of_labels(which)
    marks = {key: [value / unit.size for _, value in style.near(each, top)[0]] for key, each in known.items()}
    known_counts: dict[str, int] | None = (
        {} if tail else None
    )  # shares of time have no number of observations
    name = f"backlog{of} ({unit.name})"
    return _one_cdf(told, curves, name, "time", known_counts, linear=True, marks=marks)


def ping(runs: Runs, *, tail: bool = False) -> "Figure":
    """Draw the distribution of round-trip times of pings, with a line for each scheme and class of service.

    Parameters
    ----------
    runs
        Finished runs with a workload of kind `ping`.
    tail
        Whether to draw the share above each value on a logarithmic axis, which shows the slowest echoes.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> pings = {"kind": "ping", "senders": 1, "receivers": 0, "interval": "100us"}
    >>> run = sh.run(sh.example("incast"), {"workload.1": pings, "stop.at": "20ms"}, out=folder / "ping")
    >>> sh.figures.ping(run).axes[0].get_xlabel()
    'round-trip time (µs)'
    """
    import polars as pl

    found: dict[str, pl.Series] = {}
    which: dict[str, dict[str, Any]] = {}
    for name, members in groups(as_list(runs)).items():
        echoes = pl.concat([table(run, "pings") for run in members]).filter(pl.col("rtt_us").is_not_null())
        classes = echoes["class"].unique().sort().to_list()
        for number in classes:
            key = ", ".join(filter(None, [name, f"class {number}" if len(classes) > 1 else ""]))
            found[key] = echoes.filter(pl.col("class") == number)["rtt_us"].sort()
            which[key] = _labels(members[0]) | {"class": f"{number}"}
    if not found:
        raise ShallowsError("the runs have no answered ping", LONGER)
    return _time_cdf(of_labels(which), found, "round-trip time", "echoes", tail=tail)


def starvation(runs: Runs) -> "Figure":
    """Draw histograms of each flow's longest time between acknowledgements of new data.

    Schemes have one panel each, with the same bins; seeds are pooled.

    Parameters
    ----------
    runs
        Finished runs.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> run = sh.run(sh.example("incast"), out=folder / "starvation")
    >>> sh.figures.starvation(run).axes[-1].get_xlabel()
    'longest time without acknowledgement (µs)'
    """
    import numpy as np
    import polars as pl

    gaps = {}
    for name, members in groups(as_list(runs)).items():
        flows = pl.concat([run.flows for run in members]).filter(pl.col("counted") == 1)
        gaps[name] = flows["longest_ack_gap_us"].drop_nulls().to_numpy()
    together = np.concatenate(list(gaps.values()))
    if not len(together):
        raise ShallowsError("the runs have no flow that sent data", LONGER)
    unit = style.time_unit(together.tolist())
    low, high = together.min() / unit.size, together.max() / unit.size
    spans_decades = low > 0 and high > 10 * low
    bins = np.geomspace(low, high, GAP_BINS + 1) if spans_decades else np.linspace(0, high, GAP_BINS + 1)
    bins[-1] = np.nextafter(high, np.inf)
    with style.panels(len(gaps), 1, 0.8, sharex=True, sharey=True) as (figure, plots):
        for plot, (name, values) in zip(plots, gaps.items(), strict=True):
            _draw_histogram(plot, name, (values / unit.size).tolist(), bins.tolist())
        style.scale(plots[-1], "x", [low, high])
        plots[-1].set_xlabel(f"longest time without acknowledgement ({unit.name})")
    return figure


def shares(runs: Runs) -> "Figure":
    """Draw a histogram of traced flows by the number of packets acknowledged in the run's last interval.

    Narrow histograms mean fair sharing. Schemes have one panel each, with the same bins; seeds are pooled.
    The last bin includes all values above `MOST_SHARES` times the mean.

    Parameters
    ----------
    runs
        Finished runs with `measure.flow_traces` at one interval.

    Returns
    -------
    Figure
        A matplotlib figure, one column wide.

    Examples
    --------
    >>> import shallows as sh
    >>> long = {"workload.0": {"kind": "long-lived", "senders": "1..9", "receivers": 0}, "stop.at": "4ms"}
    >>> traced = long | {"measure.flow_traces": [{"workload": 0, "every": "1ms"}]}
    >>> run = sh.run(sh.example("incast"), traced, out=folder / "shares")
    >>> sh.figures.shares(run).axes[-1].get_xlabel()
    'packets in 1 ms'
    """
    import numpy as np

    from shallows.series.flow_measures import acked_packets

    runs = as_list(runs)
    every = {trace["every"] for run in runs for trace in run.scenario["measure"]["flow_traces"]}
    if len(every) != 1 or "event" in every:
        raise ShallowsError(
            "the figure needs flow traces at the same fixed interval in all runs",
            'set measure.flow_traces = [{ sample = 4, every = "1ms" }]',
        )
    (interval,) = every
    found = {
        name: np.concatenate([acked_packets(run, 1e6 * order(interval)).to_numpy() for run in members])
        for name, members in groups(runs).items()
    }
    together = np.concatenate(list(found.values()))
    if not together.any():
        raise ShallowsError(
            "no data was acknowledged in the last interval of the flow traces",
            "set a longer interval in measure.flow_traces",
        )
    most = MOST_SHARES * float(together.mean())
    bins = np.linspace(0, most, GAP_BINS + 1).tolist()
    with style.panels(len(found), 1, 0.8, sharex=True, sharey=True) as (figure, plots):
        for plot, (name, values) in zip(plots, found.items(), strict=True):
            _draw_histogram(plot, name, np.minimum(values, most).tolist(), bins)
        style.scale(plots[-1], "x", [most / 2, most])
        plots[-1].set_xlabel(f"packets in {time(round(1e12 * order(interval)))}")
    return figure


def _draw_histogram(plot: "Axes", name: str, values: Sequence[float], bins: Sequence[float]) -> None:
    weights = [100 / max(len(values), 1)] * len(values)
    plot.hist(values, bins, weights=weights, color="0.72", edgecolor="black", linewidth=0.5)
    plot.set_ylabel("flows (%)")
    style.name_panel(plot, name)


def _time_cdf(told: Lines, lines: "dict[str, pl.Series]", name: str, of: str, *, tail: bool) -> "Figure":
    """Draw the distribution of times in µs; the values of each line must be in ascending order."""
    unit = style.time_unit(value for values in lines.values() for value in values)
    curves = {line: _ranks(values / unit.size, tail=tail) for line, values in lines.items()}
    counts = {line: len(values) for line, values in lines.items()} if tail else None
    return _one_cdf(told, curves, f"{name} ({unit.name})", of, counts)


def _one_cdf(
    told: Lines,
    curves: dict[str, Curve],
    name: str,
    of: str,
    counts: Mapping[str, int] | None = None,
    *,
    linear: bool = False,
    marks: Mapping[str, Sequence[float]] | None = None,
) -> "Figure":
    """Draw a figure of one distribution; `marks` maps a curve to positions of dotted vertical lines."""
    with one_below_the_other(told, 1, 1.5) as (figure, (places,)):
        _draw_cdf(places, told, curves, counts, linear=linear)
        marked = {name: each for name, each in (marks or {}).items() if each}
        right = 1.03 * max((at for each in marked.values() for at in each), default=0)
        for place in places:
            for curve in place.names:
                for at in marked.get(curve, ()):
                    color = told.looks[curve]["color"]
                    place.plot.axvline(at, color=color, linewidth=0.9, linestyle=":", marker="", zorder=1.5)
            if marked:
                place.plot.set_xlim(right=max(place.plot.get_xlim()[1], right))
        if marked:
            style.add_note(figure, "Dotted: marking thresholds.")
        above = " above" if counts is not None else ""
        _label(places, name, f"share{above}" if told.is_split else f"share of {of}{above}")
        if counts:
            style.add_note(figure, PALE)
        told.finish(figure, _plots([places]), *_plots([places[:1]]))
    return figure


def _labels(run: Run) -> dict[str, Any]:
    return {"scenario": run.summary["name"]} | {a: v for a, v in labels(run).items() if a != "seed"}


def _label(places: Sequence[Place], across: str, up: str) -> None:
    """Label the axes of these panels: horizontal axes in the last row, vertical ones in the first column."""
    for place in places:
        if place.is_last:
            place.plot.set_xlabel(across)
        if place.is_first:
            place.plot.set_ylabel(up)


def _plots(places: Sequence[Sequence[Place]]) -> "list[Axes]":
    return [place.plot for row in places for place in row]


def _ranks(ordered: "pl.Series", *, tail: bool = False) -> Curve:
    """Return the empirical distribution of sorted values."""
    total = len(ordered)
    return _few(ordered.to_list(), [(rank + 1) / total for rank in range(total)], tail=tail)


def _few(values: Sequence[float], shares: Sequence[float], *, tail: bool = False) -> Curve:
    """Thin a distribution: keep the first point in each of many equal parts of the vertical axis.

    The axis shows shares at or below each value, or with `tail` shares above each value on a logarithmic
    scale. The last point before a rise of more than 1 / `POINTS` also stays, so that the curve rises at the
    right value.
    """
    import numpy as np

    if len(values) <= POINTS:
        return values, shares
    share = np.asarray(shares)
    part = np.floor(share * POINTS)
    if tail:
        # The parts have equal lengths on a logarithmic axis that shows the share above each value.
        part = np.floor(-np.log10(np.maximum(1 - share, 1e-9)) * POINTS / DECADES)
    enters = np.diff(part, prepend=-1) > 0
    is_step = np.diff(share, append=np.inf) > 1 / POINTS
    kept = np.flatnonzero(enters | is_step)
    return np.asarray(values)[kept].tolist(), share[kept].tolist()


def _draw_cdf(
    places: Sequence[Place],
    told: Lines,
    curves: dict[str, Curve],
    counts: Mapping[str, int] | None = None,
    *,
    linear: bool = False,
) -> None:
    """Draw distributions, or the share above each value if `counts` is given.

    `counts` is the number of observations of each line, if known. A line is pale where fewer than
    `percentiles.FEWEST_BEYOND` of its observations are larger.
    """
    index = {name: number for number, name in enumerate(curves)}
    is_tail = counts is not None
    for place in places:
        for name in [*place.behind, *place.names]:
            if name in curves:
                look = told.looks[name] | {"markevery": style.marks(index[name], 5), "label": name}
                values, shares = curves[name]
                # The curve starts at zero at the first value.
                at, below = [*values[:1], *values], [0.0, *shares]
                if name in place.behind:
                    place.plot.plot(at, _above(below, is_tail), drawstyle="steps-post", **BEHIND)
                    continue
                least = percentiles.FEWEST_BEYOND / counts[name] if counts and name in counts else 0.0
                firm = sum(1 - share >= least - 1e-9 for share in below) if is_tail else len(below)
                if firm < len(below):
                    pale = look | {"label": "_pale", "marker": "", "alpha": 0.35}
                    place.plot.plot(at, _above(below, is_tail), drawstyle="steps-post", **pale)
                place.plot.plot(at[:firm], _above(below[:firm], is_tail), drawstyle="steps-post", **look)
        drawn = [value for values, _ in curves.values() for value in values]
        if linear:
            place.plot.set_xlim(0, max(drawn) * 1.03 or 1)
        else:
            style.scale(place.plot, "x", drawn)
        if is_tail:
            rests = [1 - share for _, shares in curves.values() for share in shares if share < 1]
            style.scale(place.plot, "y", [1.0, *(rest for rest in rests if rest > 1e-9)])
            continue
        names = ["0", "", "0.5", "", "1"]
        place.plot.set(ylim=(0, 1.03), yticks=[0, 0.25, 0.5, 0.75, 1], yticklabels=names)


def _above(shares: Sequence[float], is_tail: bool) -> list[float]:
    """Return shares unchanged; with `is_tail`, shares of values above each point, and NaN instead of 0."""
    return [1 - share if share < 1 else math.nan for share in shares] if is_tail else [*shares]
