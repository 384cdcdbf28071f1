"""Report of one run."""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.bounded import read_text
from shallows.errors import ShallowsError
from shallows.figures.style import CLOSE, Unit, size_unit, time_unit
from shallows.quantity import percent, size
from shallows.reports import chart as charts
from shallows.reports import pause_tree, setup, topology
from shallows.reports.chart import Axis, Chart, Level, Line
from shallows.reports.html import Block, Section
from shallows.reports.page import chart, render, table
from shallows.runs import breakdown_tables, percentiles, tables
from shallows.runs.bins import bins, edges_of, titled
from shallows.runs.folder import write_whole
from shallows.runs.manifest import PAGE
from shallows.runs.network import network
from shallows.runs.results import Run, describe
from shallows.runs.settings import settings
from shallows.runs.summary import DAMAGED
from shallows.runs.table import Table
from shallows.series.completions import size_bins

if TYPE_CHECKING:
    from shallows.runs.steps import Series

Share = Callable[["Sequence[Series]"], charts.OverTime]
"""Function that reduces the lines of a chart over time to the chart's share of a page's points."""

PORTS = 4
"""Maximum number of ports and pools whose backlog is drawn."""

FLOWS = 4
"""Maximum number of flows whose window, rate and α are drawn."""

MOST_CURVES = 4
"""Maximum number of marking curves side by side on a page."""

MORE = "Run longer, or with more seeds."
"""Remedy for too few observations for a percentile."""


def write_run(run: Run, folder: Path | None = None) -> Path:
    """Write `report.html` of one run, by default into its folder."""
    return write_whole((folder or run.path) / PAGE, page(run))


def page(run: Run) -> str:
    """Return the report of one run as HTML."""
    summary = run.summary
    text = read_text(run.path / "scenario.toml", remedy=DAMAGED)
    place = f"{describe(run.labels)} · " if run.labels else ""
    return render(
        title=str(summary["name"]),
        kind="Run",
        subtitle=f"{place}seed {summary['seed']} · {run.environment['hash'][:12]}",
        sections=[
            Section("Question", [Block("text", found)] if (found := setup.question(text)) else []),
            Section("Warnings", [Block("warning", each) for each in warnings(summary)]),
            set_up(run),
            Section(
                "Results", [*map(table, _results(run)), *pause_tree.blocks(run), *_observations(summary)]
            ),
            Section("Charts", [chart(made) for made in _charts(run)]),
            again([run], [setup.command(run)], text),
        ],
    )


def set_up(run: Run, known: Mapping[str, Any] | None = None) -> Section:
    """Return the section with the network and its settings.

    `known` has the marking curves, thresholds of pauses, and headroom, by default those of the run's summary.
    """
    known = run.summary if known is None else known
    built = network(run.scenario["topology"])
    said = topology.describe(run.scenario["topology"], built)
    blocks = [Block("drawing", topology.draw(built), note=said)]
    marks = tables.marking_curves(known["marking_curves"])
    # A table of many curves has them as rows and not as columns, as a page is higher than it is wide.
    for made in filter(None, [marks, *tables.lossless(known)]):
        blocks.append(table(made.turned() if len(made.columns) > MOST_CURVES + 1 else made))
    blocks += [Block("note", note) for note in run.summary["notes"]]
    title = f"Settings: {describe(run.labels)}" if run.labels else "Settings"
    return Section("Set-up", [*blocks, Block("facts", settings(run.scenario), title)])


def again(runs: list[Run], commands: list[str], text: str) -> Section:
    """Return the section with the commands that repeat the results, and with the origin of the results."""
    blocks = [
        Block("code", "\n".join(commands)),
        Block("facts", setup.made_by(runs)),
        Block("details", text, "The scenario file"),
    ]
    if len(runs) == 1:
        blocks.append(Block("note", tables.engine(runs[0].summary)))
        everything = json.dumps(runs[0].scenario, indent=2, ensure_ascii=False)
        blocks.append(Block("details", everything, "Every setting, with defaults"))
    return Section("Reproduce", blocks)


def _observations(summary: Mapping[str, Any]) -> list[Block]:
    """Return the observations of a run as notes."""
    return [Block("note", text) for text in summary.get("observations", [])]


def warnings(summary: Mapping[str, Any]) -> list[str]:
    """Return missing measurements, warnings, and percentiles with too few samples, as sentences."""
    few = ", ".join(f"{count:,} {what}" for what, count in few_samples([summary]).items())
    problems = [problem["text"] for problem in summary.get("problems", [])]
    said = [f"Too few for a p99, which needs {percentiles.needed():,}: {few}. {MORE}"] if few else []
    return [*problems, *summary["warnings"], *said]


def few_samples(seeds: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return a dictionary that maps each group with too few samples for a p99 to its number of samples.

    Groups are size bins of flows, and workloads of queries. Samples are added up over
    `seeds`, the summaries of runs that differ only in their seed.
    """
    found = {}
    for what, key in (("flows", "fct_us"), ("queries", "queries")):
        counts: Counter[str] = Counter()
        for summary in seeds:
            counts.update({name: of["count"] for name, of in (summary.get(key) or {}).items()})
        names = bins({"fct_us": counts}) if what == "flows" else list(counts)
        few = {
            name: counts[name] for name in names if counts[name] and not percentiles.suffices(counts[name])
        }
        # If all flows or all queries together are too few, the single bins or workloads are not listed.
        for name in ["all"] if "all" in few else few:
            found[what if name == "all" else f"{name.replace('_', ' ')} {what}"] = few[name]
    return found


def _results(run: Run) -> list[Table]:
    summary = run.summary
    use = [breakdown_tables.breakdown(run, "port")]
    if "up" in summary["ports"]:
        use.append(breakdown_tables.breakdown(run, "uplinks"))
    kinds = [
        tables.queries,
        tables.markers,
        tables.pauses,
        tables.queue_pairs,
        tables.congestion_controls,
        tables.pings,
        tables.health,
    ]
    asked = [table(summary) for table in kinds]
    measured = [
        tables.completion(summary, edges_of(run.scenario)),
        *breakdown_tables.breakdowns(run),
        tables.network(summary),
    ]
    return [made for made in [*measured, tables.ports(summary), *use, *asked] if made]


def _charts(run: Run) -> list[Chart]:
    found = [_completion(run, "fct_us"), _completion(run, "slowdown"), _echoes(run), _queries(run)]
    return [made for made in [*found, *_over_time(run)] if made]


def _completion(run: Run, column: str) -> Chart | None:
    """Return a chart of the distributions of completion times or slowdowns, with a line for each size bin."""
    done = run.columns("flows").between("counted", above=0).between(column)
    sizes = {
        name: done.between("size_bytes", low, math.inf if high is None else high).ordered(column)
        for name, (low, high) in size_bins([run]).items()
    }
    edges = edges_of(run.scenario)
    chosen = {titled(name, edges): values for name, values in sizes.items() if values}
    if not chosen:
        return None
    of_time = column == "fct_us"
    unit = charts.time_unit_of(chosen.values()) if of_time else Unit("", 1.0)
    x = Axis(f"completion time ({unit.name})", unit.name, log=True) if of_time else Axis("slowdown", log=True)
    title = "Completion times" if of_time else "Slowdown: time over that of the flow alone"
    lines = _distributions(chosen, unit)
    return Chart(column, title, "cdf", x, Axis("share of flows"), lines, note=_cdf_note(len(done)))


def _distributions(drawn: Mapping[str, Sequence[float]], unit: Unit) -> list[Line]:
    """Return a line for each distribution; values are in ascending order."""
    points = (charts.distribution(values) for values in drawn.values())
    return [
        Line(name, index, [(value / unit.size, share) for value, share in each])
        for index, (name, each) in enumerate(zip(drawn, points, strict=True))
    ]


def _cdf_note(count: int) -> str:
    if count <= charts.FINEST_CDF:
        return ""
    step = percent(charts.coarseness(charts.FINEST_CDF))
    return (
        f"{count:,} values. The points are exact; at most {step} of a line's values lie between two points."
    )


def _echoes(run: Run) -> Chart | None:
    if not run.has("pings"):
        return None
    back = run.columns("pings").between("rtt_us")
    values = {f"class {each}": times.ordered("rtt_us") for each, times in back.groups("class")}
    return _times("pings", "Round-trip times of pings", "round-trip time", "share of echoes", values)


def _queries(run: Run) -> Chart | None:
    if not run.has("queries"):
        return None
    done = run.columns("queries").between("counted", above=0).between("completion_us")
    values = {f"workload {each}": rows.ordered("completion_us") for each, rows in done.groups("workload")}
    return _times("queries", "Queries", "completion time", "share of queries", values)


def _times(
    name: str, title: str, what: str, share: str, values: Mapping[str, Sequence[float]]
) -> Chart | None:
    if not values:
        return None
    unit = charts.time_unit_of(values.values())
    note = _cdf_note(sum(map(len, values.values())))
    x = Axis(f"{what} ({unit.name})", unit.name, log=True)
    return Chart(name, title, "cdf", x, Axis(share), _distributions(values, unit), note=note)


def has_queues(run: Run) -> bool:
    """Return whether the run has samples or traces of ports, without reading a table."""
    return run.has("queues") or run.has("traces")


def _over_time(run: Run) -> list[Chart]:
    """Return charts of queues, the shared buffer, and windows, rates and α of flows over time."""
    ports, pools = _queues(run)
    flows, paced, alphas = (_traced(run, quantity) for quantity in ("cwnd_bytes", "rate_gbps", "alpha"))
    drawn_lines = sum(map(len, (ports, pools, flows, paced, alphas)))
    share = partial(charts.OverTime, share_of=drawn_lines)
    found = []
    for name, drawn in (("queues", ports), ("pool", pools)):
        if drawn:
            found.append(_backlog(name, title_of(name, [*drawn]), drawn, _levels(run, [*drawn]), share))
    if flows:
        found.append(_steps("windows", "Congestion windows", "window", flows, share))
    if paced:
        found.append(_steps("rates", "Rates of queue pairs", "rate", paced, share, of=Unit("Gb/s", 1)))
    if alphas:
        found.append(_steps("alphas", "α of congestion controls", "α", alphas, share, of=Unit("", 1)))
    return found


def title_of(name: str, ports: Sequence[str]) -> str:
    """Return the title of a chart of queues at ports; if `name` is `pool`, `ports` contains pools instead."""
    if name == "pool":
        return f"Shared buffer over time: {', '.join(ports)}"
    return f"Queue over time: {ports[0]}" if len(ports) == 1 else "Queues over time"


def _queues(run: Run) -> "tuple[dict[str, Series], dict[str, Series]]":
    """Return the backlogs of the busiest ports, and of the busiest port's pool."""
    from shallows.series.backlogs import backlogs, busiest, pools_beside

    if not has_queues(run):
        return {}, {}
    try:
        ports = busiest([run], most=PORTS - 1)
    except ShallowsError:
        return {}, {}  # no port ever had a backlog
    drawn, pools = backlogs(run, ports), pools_beside(run, ports[:1])
    beside = backlogs(run, pools) if pools else {}
    # If only one port of a pool was busy, the pool's chart would repeat the port's.
    longest = max(series.max() for series in drawn.values())
    return drawn, {name: series for name, series in beside.items() if series.max() > longest}


def _traced(run: Run, quantity: str) -> "dict[str, Series]":
    """Return a quantity of the first traced flows over time; empty if no flow has it."""
    from shallows.series.flow_series import over_time

    if run.flow_traces is None or quantity not in run.flow_traces["quantity"]:
        return {}
    return over_time(run, quantity, (), FLOWS)


def _backlog(
    name: str, title: str, drawn: "dict[str, Series]", known: Sequence[Level], share: Share
) -> Chart:
    """Return a chart of backlogs over time, with the marking thresholds `known` (in bytes) as lines."""
    top = max(series.max() for series in drawn.values())
    window = charts.window(drawn.values())
    made = _steps(name, title, "backlog", drawn, share, window)
    shown, above = near(known, top, size_unit([top]))
    first = (
        "Shown at first is the time with almost all of the backlog: zoom out for the rest."
        if window < 1
        else ""
    )
    return replace(made, levels=shown, note=" ".join(filter(None, [first, above, made.note])))


def near(known: Sequence[Level], top: float, unit: Unit) -> tuple[list[Level], str]:
    """Return the thresholds to draw, in this unit, and a sentence about thresholds far above `top` bytes."""
    named = [replace(level, name=f"{level.name} = {size(level.value)}") for level in known]
    shown = [replace(level, value=level.value / unit.size) for level in named if level.value <= CLOSE * top]
    far = dict.fromkeys(level.name for level in named if level.value > CLOSE * top)
    return shown, f"Far above, and not drawn: {', '.join(far)}." if far else ""


def _steps(
    name: str,
    title: str,
    what: str,
    drawn: "dict[str, Series]",
    share: Share,
    window: float = 1.0,
    of: Unit | None = None,
) -> Chart:
    """Return a chart of lines over time, in the unit `of` (default: bytes)."""
    end = max(float(series.times[-1]) for series in drawn.values())
    time = time_unit([end * window])
    of = of or size_unit([max(series.max() for series in drawn.values())])
    over_time = share([*drawn.values()])
    points = over_time.points(time.size, of.size)
    lines = [Line(line, index, each) for index, (line, each) in enumerate(zip(drawn, points, strict=True))]
    x, y = Axis(f"time ({time.name})", time.name), Axis(f"{what} ({of.name})" if of.name else what, of.name)
    return Chart(name, title, "steps", x, y, lines, note=over_time.note, window=window, most=over_time.most)


def _levels(run: Run, names: Sequence[str]) -> list[Level]:
    """Return the marking thresholds of ports or pools.

    A threshold of only some ports or pools is labelled with their names.
    """
    from shallows.series.thresholds import thresholds

    owners: dict[tuple[str, float], list[str]] = {}
    for name in names:
        for found in thresholds(run, name):
            owners.setdefault(found, []).append(name)
    return [
        Level(called if len(of) == len(names) else f"{called} of {', '.join(of)}", value, lines=of)
        for (called, value), of in owners.items()
    ]
