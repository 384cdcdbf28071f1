"""Reports: one HTML file that needs nothing else, for a run and for a sweep."""

import base64
import io
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows import figures, tables
from shallows.about import label
from shallows.errors import ShallowsError
from shallows.folder import write_whole
from shallows.quantity import digits, parse_size
from shallows.results import Run, describe
from shallows.svg import Line, chart

if TYPE_CHECKING:
    import polars as pl

CDF_POINTS = 200
SERIES_POINTS = 600
SERIES_LINES = 6


def write_run(run: Run, folder: Path) -> Path:
    """Write `report.html` of one run into a folder."""
    summary, environment = run.summary, run.environment
    shown = [
        tables.marking_curves(summary["marking_curves"]),
        tables.completion(summary),
        tables.network(summary),
    ]
    shown += [table for table in (tables.markers(summary), tables.pings(summary)) if table]
    asked = tables.queries(summary)
    shown += [asked] if asked else []
    charts = [("Completion times: share of flows that took no longer", _completion_chart(run))]
    charts += [("Queues over time", _queue_chart(run.queues))] if run.queues is not None else []
    page = _render(
        title=summary["name"],
        subtitle=f"seed {summary['seed']}, {environment['hash'][:12]}",
        facts=_describe_scenario(run.scenario),
        warnings=summary["warnings"],
        tables=shown,
        charts=[(title, drawn) for title, drawn in charts if drawn],
        notes=summary["notes"],
        engine=tables.engine(summary),
        commands=[_command("run", environment)],
        scenario=(run.path / "scenario.toml").read_text(encoding="utf-8"),
        resolved=json.dumps(run.scenario, indent=2, ensure_ascii=False),
    )
    return write_whole(folder / "report.html", page)


def write_sweep(runs: Sequence[Run], folder: Path, text: str = "") -> Path:
    """Write `report.html` of a sweep into a folder; `text` says in words what it shows."""
    first = runs[0]
    curves: dict[str, Run] = {}
    for run in runs:
        curves.setdefault(json.dumps(run.summary["marking_curves"]), run)
    shown = [tables.points(runs)]
    for run in curves.values():
        title = "Marking curves: " + (run.labels.get("scheme") or first.summary["name"])
        shown.append(tables.marking_curves(run.summary["marking_curves"], title))
    page = _render(
        title=first.summary["name"],
        subtitle=f"{len(runs)} runs",
        text=text,
        facts=_describe_scenario(first.scenario),
        warnings=_count_warnings(runs),
        tables=shown,
        charts=_sweep_charts(runs),
        links=[(describe(run.labels) or run.path.name, f"{run.path.name}/report.html") for run in runs],
        commands=[_command("sweep", first.environment)],
        scenario=(first.path / "scenario.toml").read_text(encoding="utf-8"),
    )
    return write_whole(folder / "report.html", page)


def _count_warnings(runs: Sequence[Run]) -> list[str]:
    counts = Counter(warning for run in runs for warning in run.summary["warnings"])
    return [f"{number} of {len(runs)} runs: {warning}" for warning, number in counts.most_common()]


def _sweep_charts(runs: Sequence[Run]) -> list[tuple[str, str]]:
    try:
        drawn = figures.fct(runs)
    except ShallowsError:
        return []  # nothing to put on a horizontal axis; the table says it all
    import matplotlib.pyplot as plt

    out = io.BytesIO()
    with plt.style.context(figures.STYLE):
        drawn.savefig(out, format="svg", metadata={"Date": None})
    # As an image, so that identifiers of several figures cannot collide, and nothing in it can run.
    data = base64.b64encode(out.getvalue()).decode()
    return [
        (
            "Completion times and loss",
            f'<img alt="Completion times and loss" src="data:image/svg+xml;base64,{data}">',
        )
    ]


def _completion_chart(run: Run) -> str:
    import polars as pl

    done = run.flows.filter((pl.col("counted") == 1) & pl.col("fct_us").is_not_null())
    edges = [0, *map(parse_size, run.scenario["measure"]["bins"]), None]
    names = tables.bins(run.summary)[1:]
    lines = []
    for name, low, high in zip(names, edges[:-1], edges[1:], strict=True):
        within = pl.col("size_bytes") > low
        within &= pl.col("size_bytes") <= high if high is not None else True
        lines.append(Line(name.replace("_", " "), _distribution(done.filter(within)["fct_us"])))
    return chart(lines, "flow completion time (µs)", "share of flows", log_x=True)


def _distribution(values: "pl.Series") -> list[tuple[float, float]]:
    """Points of the empirical distribution; all of them where they are few."""
    ordered = values.sort()
    total = len(ordered)
    ranks = sorted({round(i * (total - 1) / CDF_POINTS) for i in range(CDF_POINTS + 1)}) if total else []
    return [(ordered[rank], (rank + 1) / total) for rank in ranks]


def _queue_chart(queues: "pl.DataFrame") -> str:
    import polars as pl

    if queues.is_empty():
        return ""
    longest = (
        queues.group_by("name").agg(pl.col("bytes").max()).sort("bytes", "name", descending=[True, False])
    )
    lines = []
    for name in longest["name"].head(SERIES_LINES):
        one = queues.filter(pl.col("name") == name).sort("time_us")
        # The highest of each slice: a chart that drops peaks would hide what a shallow buffer suffers from.
        slice_us = max(float(one.select("time_us").max().item()) / SERIES_POINTS, 1e-6)
        tops = one.group_by((pl.col("time_us") // slice_us).alias("slice")).agg(
            pl.col("time_us").first(), pl.col("bytes").max()
        )
        points = [
            (time / 1e3, top / 1e3) for time, top in tops.sort("slice").select("time_us", "bytes").iter_rows()
        ]
        lines.append(Line(name, points))
    return chart(lines, "time (ms)", "backlog (KB)")


def _describe_scenario(scenario: dict[str, Any]) -> list[tuple[str, str]]:
    """The settings of each section in one line, as the scenario file would say them."""
    facts = []
    for section in sorted(scenario.keys() - {"name"}, key=_place):
        content = scenario[section]
        parts = content if isinstance(content, list) else [content]
        for number, part in enumerate(parts):
            name = f"{section} {number + 1}" if len(parts) > 1 else section
            facts.append((name, _in_words(part)))
    return [(name, words) for name, words in facts if words]


def _place(section: str) -> int:
    """Where a section stands: as a packet meets them."""
    order = ["topology", "switch", "host", "tcp", "workload", "measure", "stop", "seed"]
    return order.index(section) if section in order else len(order)


def _in_words(value: object) -> str:
    match value:
        case dict():
            inner = [
                f"{key} {_nested(item)}" for key, item in value.items() if item is not None and key != "kind"
            ]
            return ", ".join(([str(value["kind"])] if "kind" in value else []) + inner)
        case list():
            return ", ".join(map(_nested, value)) or "none"
        case float():
            return digits(value, 6)
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)


def _nested(value: object) -> str:
    return f"({_in_words(value)})" if isinstance(value, dict) else _in_words(value)


def _command(command: str, environment: dict[str, Any]) -> str:
    import shlex

    parts = ["shallows", command, environment["file"]]
    for override in environment["overrides"] if command == "run" else []:
        parts += ["--set", override]
    return shlex.join([*parts, *(["--seed", str(environment["seed"])] if command == "run" else [])])


def _render(**content: Any) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("shallows", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    empty: dict[str, Any] = {
        "text": "",
        "engine": "",
        "notes": [],
        "links": [],
        "resolved": "",
        "label": label(),
    }
    return environment.get_template("report.html.j2").render(empty | content)
