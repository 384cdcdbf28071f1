"""Charts of a sweep: assignment of its axes to the horizontal axis, to lines, and to the user's choices."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from shallows.comparison.intervals import over_seeds, said_of_bars
from shallows.errors import ShallowsError
from shallows.figures.lines import MOST_LOOKS
from shallows.figures.style import Unit, size_unit, time_unit
from shallows.figures.swept import Swept, across, is_numeric, values_on
from shallows.quantity import percent
from shallows.reports import chart as charts
from shallows.reports.chart import Axis, Chart, Level, Line
from shallows.reports.of_run import has_queues, near, title_of
from shallows.runs import percentiles
from shallows.runs.bins import bins, edges_of, titled
from shallows.runs.results import Run, axis_name
from shallows.series.inputs import labels

if TYPE_CHECKING:
    from shallows.runs.steps import Series
    from shallows.series.thresholds import Thresholds

Value = Callable[[Run], "float | None"]

At = tuple[tuple[str, str], ...]
"""Values that the user must choose to show a line: pairs of an axis's name and a value."""


@dataclass(frozen=True)
class Layout:
    """Assignment of a sweep's axes to the horizontal axis, the lines and the user's choices in charts."""

    runs: Sequence[Run]
    points: Sequence[Mapping[str, Any]]
    """Labels of all points, finished or not, so that colours do not change when more points finish."""
    across: str | None
    """Horizontal axis; None if no numeric axis varies, so that schemes are side by side."""
    lines: str | None
    """Axis with a line for each value; None if there is only one line."""
    chosen: Sequence[str]
    """Axes from which the reader chooses a value."""

    @classmethod
    def of(cls, runs: Sequence[Run], points: Sequence[Mapping[str, Any]] = ()) -> "Layout":
        """Assign a sweep's axes to the parts of a chart.

        Schemes become lines. The load, or else the numeric axis with the most values, becomes the horizontal
        axis.
        """
        points = points or [labels(run) for run in runs]
        axes = dict.fromkeys(axis for point in points for axis in point)
        varied = [axis for axis in axes if axis != "seed" and len(values_on(points, axis)) > 1]
        along = across(points)
        rest = [axis for axis in varied if axis != along]
        lines = "scheme" if "scheme" in rest else rest[0] if rest else None
        return cls(runs, points, along, lines, [axis for axis in rest if axis != lines])

    def line(self, run: Run) -> str:
        """Return the name of a run's line."""
        return self._called(labels(run))

    def _called(self, point: Mapping[str, Any]) -> str:
        if self.lines is None:
            return str(self.runs[0].summary["name"])
        value = point.get(self.lines, "as in the file")
        return str(value) if self.lines == "scheme" else f"{axis_name(self.lines)} {value}"

    def names(self) -> list[str]:
        """Return the names of all lines in the order of the sweep; the index of a name is its style."""
        return list(dict.fromkeys([*map(self._called, self.points), *map(self.line, self.runs)]))

    def shade(self, name: str) -> float | None:
        """Return the position of a line on the colour scale; None if there are enough styles for all lines.

        The scale is spread evenly over lines that are distinguished by text instead of a number.
        """
        values = values_on(self.points, self.lines) if self.lines else []
        if self.lines is None or len(values) <= MOST_LOOKS:
            return None
        if not is_numeric(values):
            names = self.names()
            return names.index(name) / (len(names) - 1)
        shades = self._swept(self.lines).shades(values)
        return {self._called({self.lines: value}): shades[str(value)] for value in values}.get(name)

    def at(self, run: Run, *, all_axes: bool = False) -> dict[str, str]:
        """Return a run's values on the axes of the user's choices; `all_axes` adds the horizontal axis."""
        axes = [*([self.across] if all_axes and self.across else []), *self.chosen]
        return {axis_name(axis): str(labels(run).get(axis)) for axis in axes}

    def place(self, run: Run) -> float:
        """Return the position of a run on the horizontal axis, in the unit of `axis`."""
        if self.across is None:
            return float(self.names().index(self.line(run)))
        return self._swept(self.across).place(labels(run)[self.across])

    def axis(self) -> Axis:
        """Return the horizontal axis."""
        if self.across is None:
            return Axis("", names=self.names())
        swept = self._swept(self.across)
        return Axis(swept.label, swept.unit.name, log=swept.is_wide)

    def _swept(self, axis: str) -> Swept:
        return Swept.of(axis, values_on(self.points, axis))


def draw(runs: Sequence[Run], points: Sequence[Mapping[str, Any]] = ()) -> tuple[list[Chart], list[str]]:
    """Return all charts, and notes on averaged lines and omitted charts.

    `points` are the labels of all points of the sweep, including unfinished ones.
    """
    layout = Layout.of(runs, points)
    notes: list[str] = []
    along = metrics(layout, notes)
    details = [*_distributions(layout, notes), *_queues(layout, notes)]
    # Without a horizontal axis, distributions come first, because they show more than means.
    return (along + details if layout.across else details + along), notes


def metrics(layout: Layout, notes: list[str]) -> list[Chart]:
    """Return charts of the main metrics along the axis, with a line and intervals for each scheme."""
    found = []
    budget = charts.METRIC_POINTS
    seeds = Counter((layout.line(run), layout.place(run), *layout.at(run).items()) for run in layout.runs)
    notes.append(said_of_bars(seeds.values()))
    for metric in _metrics(layout.runs):
        made = _along(layout, metric)
        if made is None:
            if metric.count and any(map(metric.value, layout.runs)):
                notes.append(f"{metric.title} is not drawn: {percentiles.needed():,} are needed for a p99.")
            continue
        if made.size > budget:
            notes.append(
                f"{metric.title} is not drawn: the page would have too many points. The table has it."
            )
            continue
        budget -= made.size
        found.append(made)
    return found


@dataclass(frozen=True)
class _Metric:
    """A metric to draw along the axis."""

    name: str
    title: str
    unit: str
    """Unit of the values; `time` for values in µs that are shown in the most readable unit."""
    log: bool
    value: Value
    count: Value | None = None
    """Function that returns the number of observations in a run; None if the metric is not a p99."""


def _metrics(runs: Sequence[Run]) -> list[_Metric]:
    sizes = bins({"fct_us": dict.fromkeys(name for run in runs for name in run.summary["fct_us"])})
    found: list[_Metric] = []
    edges = edges_of(runs[0].scenario)
    several = [name for name in sizes if name != "all"]
    for name in several or ["all"]:
        for statistic, words in (("mean", "mean"), ("p99", "99th percentile")):
            called = titled(name, edges) if name != "all" else "flows"
            found.append(
                _Metric(
                    f"fct-{name}-{statistic}",
                    f"Completion time, {called}, {words}",
                    "time",
                    True,
                    _fct(name, statistic),
                    _fct(name, "count") if statistic == "p99" else None,
                )
            )
    if any(run.summary.get("queries") for run in runs):
        for statistic, words in (("mean", "mean"), ("p99", "99th percentile")):
            count = _query("count") if statistic == "p99" else None
            value = _query(statistic)
            found.append(_Metric(f"queries-{statistic}", f"Queries, {words}", "time", True, value, count))
    found.append(_Metric("goodput", "Goodput", "Gb/s", False, lambda run: float(run.summary["goodput_gbps"])))
    found.append(_Metric("loss", "Packets lost in switches", "%", True, _loss("switches")))
    if any(run.summary["loss_rate_in_nics"] for run in runs):
        found.append(_Metric("nic-loss", "Packets lost in hosts' NICs", "%", True, _loss("nics")))
    found.append(_Metric("timeouts", "Timeouts", "", True, lambda run: float(run.summary["timeouts"])))
    return found


def _loss(place: str) -> Value:
    return lambda run: 100 * float(run.summary[f"loss_rate_in_{place}"])


def _fct(name: str, statistic: str) -> Value:
    def value(run: Run) -> float | None:
        times = run.summary["fct_us"].get(name) or {}
        found: float | None = times.get(statistic) if times.get("count") else None
        return found

    return value


def _query(statistic: str) -> Value:
    def value(run: Run) -> float | None:
        found: float | None = ((run.summary.get("queries") or {}).get("all") or {}).get(statistic)
        return found

    return value


def _along(layout: Layout, metric: _Metric) -> Chart | None:
    groups: dict[tuple[str, At], dict[float, list[float]]] = {}
    counts: Counter[tuple[str, At, float]] = Counter()
    for run in layout.runs:
        number = metric.value(run)
        if number is not None:
            key, place = (layout.line(run), tuple(layout.at(run).items())), layout.place(run)
            groups.setdefault(key, {}).setdefault(place, []).append(number)
            counts[*key, place] += int(metric.count(run) or 0) if metric.count else 0
    few = [each for each in counts if metric.count and not percentiles.suffices(counts[each])]
    for line, at, place in few:
        del groups[line, at][place]
    groups = {key: places for key, places in groups.items() if places}
    numbers = [number for line in groups.values() for seeds in line.values() for number in seeds]
    if not any(numbers):
        return None
    title = metric.title
    shown = time_unit(numbers) if metric.unit == "time" else Unit(metric.unit, 1)
    looks = layout.names()
    lines = []
    for (called, at), places in groups.items():
        seeds = {place: [number / shown.size for number in found] for place, found in sorted(places.items())}
        points = [(place, fmean(found)) for place, found in seeds.items()]
        intervals = {place: over_seeds(found) for place, found in seeds.items()}
        bars = [(place, each.low, each.high) for place, each in intervals.items() if each]
        lines.append(Line(called, looks.index(called), points, bars, dict(at), layout.shade(called)))
    y = Axis(
        f"{title.split(',')[0].lower()} ({shown.name})" if shown.name else title.lower(),
        shown.name,
        log=metric.log,
    )
    note = f"Not drawn: {_points(len(few))} of fewer than {percentiles.needed():,}." if few else ""
    return Chart(metric.name, title, "points", layout.axis(), y, lines, note=note)


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"


def _distributions(layout: Layout, notes: list[str]) -> list[Chart]:
    """Return charts of completion times by size bin, with seeds pooled, for a point that the user chooses."""
    from shallows.series.completions import completed, size_bins, within

    groups: dict[tuple[str, At], list[Run]] = {}
    for run in layout.runs:
        groups.setdefault((layout.line(run), tuple(layout.at(run, all_axes=True).items())), []).append(run)
    try:
        bins = size_bins(layout.runs)
    except ShallowsError:
        return []
    most = min(charts.CDF_POINTS // (len(groups) * len(bins)), charts.FINEST_CDF)
    if most < charts.COARSEST_CDF:
        notes.append(
            f"Distributions of {len(groups)} points are not drawn: they would be too coarse. "
            "The page of a single point has them."
        )
        return []
    looks = layout.names()
    values: dict[str, list[tuple[str, At, list[charts.Point]]]] = {}
    for (line, at), members in groups.items():
        # Groups are read one at a time, because the tables of a whole sweep may not fit into memory.
        flows = completed([Run(run.path) for run in members])
        for name, bounds in bins.items():
            inside = within(flows, *bounds)["fct_us"]
            if len(inside):
                points = charts.distribution(inside.sort().to_numpy(), most)
                values.setdefault(name, []).append((line, at, points))
    step = percent(charts.coarseness(most))
    notes.append(
        f"Points of distributions are exact; at most {step} of a line's flows lie between two points."
    )
    found = []
    for name, drawn in values.items():
        ends = [end for _, _, points in drawn for end in (points[0][0], points[-1][0])]
        unit = time_unit(ends)
        lines = [
            Line(
                line,
                looks.index(line),
                [(value / unit.size, share) for value, share in points],
                at=dict(at),
                shade=layout.shade(line),
            )
            for line, at, points in drawn
        ]
        called = titled(name, edges_of(layout.runs[0].scenario))
        x = Axis(f"completion time ({unit.name})", unit.name, log=True)
        found.append(
            Chart(f"cdf-{name}", f"Completion times, {called}", "cdf", x, Axis("share of flows"), lines)
        )
    return found


def _queues(layout: Layout, notes: list[str]) -> list[Chart]:
    """Return charts of the backlog of the busiest port and its pool over time, at each point's first seed."""
    from shallows.series.backlogs import busiest, pools_beside

    first: dict[tuple[str, At], Run] = {}
    for run in layout.runs:
        if has_queues(run):
            first.setdefault((layout.line(run), tuple(layout.at(run, all_axes=True).items())), run)
    if not first:
        return []
    # A new `Run` frees its tables after use; the tables of a whole sweep may not fit into memory.
    try:
        ports = busiest((Run(run.path) for run in first.values()), most=1)
    except ShallowsError:
        return []  # no port ever had a backlog
    names = {"queues": ports, "pool": pools_beside(Run(next(iter(first.values())).path), ports)}
    drawn = {name: places for name, places in names.items() if places}
    share = len(first) * len(drawn)
    if charts.SERIES_POINTS // share < charts.COARSEST_SERIES:
        notes.append(
            f"Queues of {len(first)} points are not drawn: they would be too coarse. "
            "The page of a single point has them."
        )
        return []
    made: list[Chart] = []
    longest = 0.0
    for name, (place, *_) in drawn.items():
        chart, top = _over_time(layout, name, place, first, share)
        # If only one port of a pool was busy, the pool's chart would repeat the port's.
        if top > longest:
            made.append(chart)
        longest = max(longest, top)
    return made


def _over_time(
    layout: Layout, name: str, place: str, first: Mapping[tuple[str, At], Run], share: int
) -> tuple[Chart, float]:
    """Return a chart of the backlog of one port or pool in each run, and the largest backlog in bytes."""
    from shallows.series.backlogs import backlogs
    from shallows.series.thresholds import Thresholds, thresholds

    series: dict[tuple[str, At], Series] = {}
    known: dict[tuple[str, At], Thresholds] = {}
    for key, run in first.items():
        fresh = Run(run.path)
        with suppress(ShallowsError):  # a network without this port
            series[key] = backlogs(fresh, [place])[place]
            known[key] = thresholds(fresh, place)
    top = max(each.max() for each in series.values())
    end = max(float(each.times[-1]) for each in series.values())
    window = charts.window(series.values())
    time, size = time_unit([end * window]), size_unit([top])
    looks = layout.names()
    over_time = charts.OverTime([*series.values()], share)
    held = over_time.points(time.size, size.size)
    lines = [
        Line(line, looks.index(line), points, at=dict(at), shade=layout.shade(line))
        for (line, at), points in zip(series, held, strict=True)
    ]
    shown, above = near(_levels(known, looks), top, size)
    note = " ".join(filter(None, ["First seed only.", above, over_time.note]))
    x, y = Axis(f"time ({time.name})", time.name), Axis(f"backlog ({size.name})", size.name)
    title = title_of(name, [place])
    return Chart(name, title, "steps", x, y, lines, shown, note, window, over_time.most), top


def _levels(known: "Mapping[tuple[str, At], Thresholds]", looks: Sequence[str]) -> list[Level]:
    """Return the marking thresholds of all lines at each point, without repeating equal thresholds."""
    owners: dict[tuple[str, float, At], list[str]] = {}
    for (line, at), found in known.items():
        for called, value in found:
            owners.setdefault((called, value, at), []).append(line)
    lines_at = Counter(at for _, at in known)
    made = []
    for (called, value, at), of in owners.items():
        # A threshold of a single line has the colour of the line.
        look = looks.index(of[0]) if len(of) == 1 and len(looks) <= MOST_LOOKS else None
        is_plain = look is not None or len(of) == lines_at[at]
        made.append(Level(called if is_plain else f"{called} of {', '.join(of)}", value, dict(at), of, look))
    return made
