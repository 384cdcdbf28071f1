"""The report of one run."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.bounded import read_text
from shallows.errors import ShallowsError
from shallows.figures.style import Unit, size_unit, time_unit
from shallows.quantity import percent
from shallows.reports import chart as charts
from shallows.reports import setup, topology
from shallows.reports.chart import Axis, Chart, Level, Line
from shallows.reports.html import Block, Section
from shallows.reports.page import chart, render, table
from shallows.runs import breakdown_tables, tables
from shallows.runs.bins import bins
from shallows.runs.folder import write_whole
from shallows.runs.manifest import PAGE
from shallows.runs.network import network
from shallows.runs.results import Run, describe
from shallows.runs.settings import settings
from shallows.runs.summary import DAMAGED
from shallows.runs.table import Table
from shallows.series.completions import size_bins
from shallows.series.percentiles import FEWEST_BEYOND, RANK

if TYPE_CHECKING:
    from shallows.runs.steps import Series

Share = Callable[["Sequence[Series]"], charts.OverTime]
"""What lines over time get of a page."""

PORTS = 4
"""Ports and pools whose backlog is drawn."""

FLOWS = 4
"""Flows whose window is drawn."""

CLOSE = 3.0
"""A threshold is drawn if it is at most so many times the longest queue: else it would flatten that."""


ENOUGH = round(FEWEST_BEYOND / (1 - RANK))
"""Flows of which a 99th percentile can be told (docs/statistics.md)."""

TOO_FEW = (
    f"of fewer than {ENOUGH:,} the 99th percentile rests on fewer than {FEWEST_BEYOND}; "
    "run longer, or with more seeds"
)


def write_run(run: Run, folder: Path | None = None) -> Path:
    """Write `report.html` of one run, by default into its folder."""
    return write_whole((folder or run.path) / PAGE, page(run))


def page(run: Run) -> str:
    """The report of one run, as HTML."""
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
            Section("Results", [*map(table, _results(run)), *_observations(summary)]),
            Section("Charts", [chart(made) for made in _charts(run)]),
            again([run], [setup.command(run)], text),
        ],
    )


def set_up(run: Run, curves: list[dict[str, Any]] | None = None) -> Section:
    """The network, its marking curves (of a sweep, those of all its schemes), and every setting."""
    built = network(run.scenario["topology"])
    said = topology.describe(run.scenario["topology"], built)
    blocks = [Block("drawing", topology.draw(built), note=said)]
    blocks.append(table(tables.marking_curves(run.summary["marking_curves"] if curves is None else curves)))
    blocks += [Block("note", note) for note in run.summary["notes"]]
    title = f"Settings: {describe(run.labels)}" if run.labels else "Settings"
    return Section("Set-up", [*blocks, Block("facts", settings(run.scenario), title)])


def again(runs: list[Run], commands: list[str], text: str) -> Section:
    """How to get the same results, and what made these."""
    blocks = [
        Block("code", "\n".join(commands)),
        Block("facts", setup.made_by(runs)),
        Block("details", text, "The scenario file"),
    ]
    if len(runs) == 1:
        blocks.append(Block("note", tables.engine(runs[0].summary)))
        everything = json.dumps(runs[0].scenario, indent=2, ensure_ascii=False)
        blocks.append(Block("details", everything, "Every setting, with defaults"))
    return Section("To get this again", blocks)


def _observations(summary: Mapping[str, Any]) -> list[Block]:
    """What is as it should be and yet worth knowing."""
    return [Block("note", text) for text in summary.get("observations", [])]


def warnings(summary: Mapping[str, Any]) -> list[str]:
    """What a reader should know: what was not measured, what misleads, and percentiles of too few samples."""
    few = ", ".join(f"{count:,} {what}" for what, count in few_samples(summary).items())
    problems = [problem["text"] for problem in summary.get("problems", [])]
    return [*problems, *summary["warnings"], *([f"{few}: {TOO_FEW}"] if few else [])]


def few_samples(summary: Mapping[str, Any]) -> dict[str, int]:
    """Flows and queries, by their sizes and workloads, that are too few for a 99th percentile."""
    found = {}
    for what, groups in (("flows", summary["fct_us"]), ("queries", summary.get("queries") or {})):
        names = bins(summary) if what == "flows" else list(groups)
        few = {name: groups[name]["count"] for name in names if 0 < groups[name]["count"] < ENOUGH}
        # If even all of them together are too few, that says it for each of their kinds.
        for name in ["all"] if "all" in few else few:
            found[what if name == "all" else f"{name.replace('_', ' ')} {what}"] = few[name]
    return found


def _results(run: Run) -> list[Table]:
    summary = run.summary
    use = [breakdown_tables.breakdown(run, "port")]
    if "up" in summary["ports"]:
        use.append(breakdown_tables.breakdown(run, "uplinks"))
    asked = [tables.queries(summary), tables.markers(summary), tables.pings(summary), tables.health(summary)]
    measured = [tables.completion(summary), *breakdown_tables.breakdowns(run), tables.network(summary)]
    return [made for made in [*measured, tables.ports(summary), *use, *asked] if made]


def _charts(run: Run) -> list[Chart]:
    found = [_completion(run, "fct_us"), _completion(run, "slowdown"), _echoes(run), _queries(run)]
    return [made for made in [*found, *_over_time(run)] if made]


def _completion(run: Run, column: str) -> Chart | None:
    """Distributions of completion times or slowdowns, a line for each size of flows."""
    done = run.columns("flows").between("counted", above=0).between(column)
    sizes = {
        name: done.between("size_bytes", low, math.inf if high is None else high).ordered(column)
        for name, (low, high) in size_bins([run]).items()
    }
    chosen = {name.replace("_", " "): values for name, values in sizes.items() if values}
    if not chosen:
        return None
    of_time = column == "fct_us"
    unit = charts.time_unit_of(chosen.values()) if of_time else Unit("", 1.0)
    x = Axis(f"completion time ({unit.name})", unit.name, log=True) if of_time else Axis("slowdown", log=True)
    title = "Completion times" if of_time else "Slowdown: time over that of the flow alone"
    lines = _distributions(chosen, unit)
    return Chart(column, title, "cdf", x, Axis("share of flows"), lines, note=_cdf_note(len(done)))


def _distributions(drawn: Mapping[str, Sequence[float]], unit: Unit) -> list[Line]:
    """A line for each of these, whose values are in ascending order."""
    points = (charts.distribution(values) for values in drawn.values())
    return [
        Line(name, index, [(value / unit.size, share) for value, share in each])
        for index, (name, each) in enumerate(zip(drawn, points, strict=True))
    ]


def _cdf_note(count: int) -> str:
    if count <= charts.FINEST_CDF:
        return ""
    step = percent(charts.coarseness(charts.FINEST_CDF))
    return f"{count:,} values, drawn at exact ranks: between two points lie at most {step} of a line's."


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
    """Whether it has sampled or traced any, found out without reading a table."""
    return run.has("queues") or run.has("traces")


def _over_time(run: Run) -> list[Chart]:
    """Queues, the shared buffer, and windows; the lines of all of them share what a page holds."""
    ports, pool = _queues(run)
    flows = _windows(run)
    share = partial(charts.OverTime, share_of=len(ports) + len(pool) + len(flows))
    found = []
    if ports:
        found.append(_backlog("queues", "Queues over time", ports, levels(run, ports, "port"), share))
    if pool:
        found.append(_backlog("pool", "Shared buffer over time", pool, levels(run, pool, "pool"), share))
    if flows:
        found.append(_steps("windows", "Congestion windows", "window", flows, share))
    return found


def _queues(run: Run) -> "tuple[dict[str, Series], dict[str, Series]]":
    """Backlogs of the busiest ports, and of the fullest pool."""
    from shallows.series.backlogs import backlogs, busiest, fullest_pool

    if not has_queues(run):
        return {}, {}
    try:
        ports = backlogs(run, busiest([run], most=PORTS - 1))
    except ShallowsError:
        return {}, {}  # no port ever had a backlog
    return ports, fullest_pool(run, above=max(series.max() for series in ports.values()))


def _windows(run: Run) -> "dict[str, Series]":
    """Congestion windows of the first flows that were traced."""
    from shallows.series.flow_series import windows

    if run.flow_traces is None or run.flow_traces.is_empty():
        return {}
    return windows(run, most=FLOWS)


def _backlog(
    name: str, title: str, drawn: "dict[str, Series]", known: list[tuple[str, float]], share: Share
) -> Chart:
    """Backlogs with what they are measured against."""
    top = max(series.max() for series in drawn.values())
    window = charts.window(drawn.values())
    made = _steps(name, title, "backlog", drawn, share, window)
    size = size_unit([top]).size
    shown = [Level(called, value / size) for called, value in known if value <= CLOSE * top]
    first = "Shown at first is the time with almost all of the backlog: zoom out for the rest. "
    return replace(made, levels=shown, note=((first if window < 1 else "") + made.note).strip())


def _steps(
    name: str, title: str, what: str, drawn: "dict[str, Series]", share: Share, window: float = 1.0
) -> Chart:
    """Lines over time."""
    end = max(float(series.times[-1]) for series in drawn.values())
    time, size = time_unit([end * window]), size_unit([max(series.max() for series in drawn.values())])
    over_time = share([*drawn.values()])
    points = over_time.points(time.size, size.size)
    lines = [Line(line, index, each) for index, (line, each) in enumerate(zip(drawn, points, strict=True))]
    x, y = Axis(f"time ({time.name})", time.name), Axis(f"{what} ({size.name})", size.name)
    return Chart(name, title, "steps", x, y, lines, note=over_time.note, window=window, most=over_time.most)


def levels(run: Run, drawn: "dict[str, Series]", kind: str) -> list[tuple[str, float]]:
    """Thresholds of the markers at these ports or pools: where they begin, in bytes."""
    from shallows.runs.recorded import ports_of

    kinds = ports_of(run)
    mine = {kinds.get(port) for port in drawn} if kind == "port" else None
    scopes = {"pool"} if kind == "pool" else {"queue", "port"}
    found: dict[tuple[str, float], None] = {}
    for curve in run.summary["marking_curves"]:
        if curve["scope"] in scopes and (mine is None or curve["port"] in mine) and curve["can_fire"]:
            ends = {float(curve["kmin"]["bytes"]), float(curve["kmax"]["bytes"])}
            names = ["marks above"] if len(ends) == 1 else ["marks from", "marks all above"]
            found |= dict.fromkeys(zip(names, sorted(ends), strict=True))
    return list(found)
