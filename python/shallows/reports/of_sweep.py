"""Report of a sweep: verdicts, metrics along the axis, distributions and queues."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shallows.bounded import read_text
from shallows.comparison.comparing import compare
from shallows.comparison.rows import Row, changes, verdict_cells
from shallows.comparison.verdicts import INCLUDES_ZERO, LEGEND
from shallows.errors import ShallowsError
from shallows.quantity import percent
from shallows.reports import ranked, setup
from shallows.reports.html import Block, Cell, Section
from shallows.reports.of_run import MORE, again, few_samples, set_up
from shallows.reports.page import chart, render, table
from shallows.reports.sweep_charts import draw
from shallows.runs import percentiles, points_table
from shallows.runs.folder import write_whole
from shallows.runs.index import points_of
from shallows.runs.manifest import PAGE
from shallows.runs.results import Run, describe
from shallows.runs.summary import DAMAGED
from shallows.runs.table import NOTHING
from shallows.series.metric import Metric

if TYPE_CHECKING:
    from shallows.comparison.comparison import Comparison

MOST_COMPARED = 400
"""Maximum number of runs for which a report computes verdicts; larger sweeps would take minutes."""

MOST_OPEN = 40
"""Maximum number of rows of results in an open table; with more rows, the table is folded."""


def write_sweep(runs: Sequence[Run], folder: Path, text: str = "", missing: Sequence[str] = ()) -> Path:
    """Write `report.html` of a sweep into a folder.

    Parameters
    ----------
    runs
        Finished runs of the sweep.
    folder
        Folder of the page; links to runs are relative to it.
    text
        Result of the sweep in words.
    missing
        Descriptions of unfinished runs.
    """
    return write_whole(folder / PAGE, page(runs, folder, text, missing))


def page(runs: Sequence[Run], folder: Path, text: str = "", missing: Sequence[str] = ()) -> str:
    """Return the report of a sweep as HTML."""
    first = runs[0]
    scenario = read_text(first.path / "scenario.toml", remedy=DAMAGED)
    asked = [setup.question(scenario), text]
    drawn, notes = draw(runs, [labels for _, labels in points_of(folder)])
    commands = [setup.command(first, of_sweep=True), f"shallows report {folder}/*/   # a page for each point"]
    return render(
        title=str(first.summary["name"]),
        kind="Sweep",
        subtitle=f"{len(runs)} runs" + (f" of {len(runs) + len(missing)}" if missing else ""),
        sections=[
            Section("Question", [Block("text", each) for each in asked if each]),
            Section(
                "Warnings", [*_missing(missing), *(Block("warning", each) for each in count_warnings(runs))]
            ),
            _set_up(runs),
            Section("Verdicts", [*_verdicts(runs), *_ranking(runs)]),
            Section("Charts", [*(Block("note", each) for each in notes), *map(chart, drawn)]),
            Section("Results", _results(runs)),
            again(list(runs), commands, scenario),
        ],
    )


def _missing(points: Sequence[str]) -> list[Block]:
    if not points:
        return []
    return [Block("warning", f"{len(points)} points are not finished, and missing here: {_some(points)}")]


def count_warnings(runs: Sequence[Run]) -> list[str]:
    """Return each distinct problem and warning of the runs, with the number of runs that have it."""
    problems = Counter(problem["text"] for run in runs for problem in run.problems)
    warnings = Counter(warning for run in runs for warning in run.summary["warnings"])
    counts = [*problems.most_common(), *warnings.most_common()]
    found = [f"{number} of {len(runs)} runs: {warning}" for warning, number in counts]
    return [*_empty(runs), *found, *_few_samples(runs)]


def _few_samples(runs: Sequence[Run]) -> list[str]:
    """Return a warning about points with too few observations, over all their seeds, for a p99."""
    points: dict[tuple[tuple[str, str], ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        place = tuple((axis, str(value)) for axis, value in run.labels.items() if axis != "seed")
        points.setdefault(place, []).append(run.summary)
    few: dict[str, list[int]] = {}
    for seeds in points.values():
        for what, count in few_samples(seeds).items():
            few.setdefault(what, []).append(count)
    if not few:
        return []
    said = [
        f"{what} at {len(each)} of {len(points)} points (fewest {min(each):,})" for what, each in few.items()
    ]
    rule = f"Too few for a p99, which needs {percentiles.needed():,} in all seeds together"
    return [f"{rule}: {', '.join(said)}. {MORE}"]


def _empty(runs: Sequence[Run]) -> list[str]:
    named = [describe(run.labels) for run in runs if run.measured_nothing]
    return [f"{len(named)} of {len(runs)} points measured nothing: {_some(named)}"] if named else []


def _some(names: Sequence[str]) -> str:
    """Return the first eight names of a list, and the number of further names, as text."""
    return "; ".join(names[:8]) + (f"; and {len(names) - 8} more" if len(names) > 8 else "")


def _verdicts(runs: Sequence[Run]) -> list[Block]:
    """Return a table for each scheme versus the baseline, with metrics as rows and points as columns."""
    if len({run.labels.get("scheme") for run in runs}) < 2:
        return []
    if len(runs) > MOST_COMPARED:
        return [Block("note", f"{len(runs)} runs: `shallows compare` says which scheme is better where.")]
    try:
        found = compare(list(runs))
    except ShallowsError as error:
        return [Block("note", f"The schemes cannot be compared: {error.message}.")]
    return [*_tables(found), *ranked.blocks(found), *_notes(found)]


def _tables(found: "Comparison") -> list[Block]:
    intro = (
        f"Each scheme versus {found.baseline}: the change and its {percent(found.confidence)} interval. "
        f"{LEGEND}. Cannot tell does not mean equal: the interval bounds the difference that these runs "
        "could have missed."
    )
    blocks = [Block("note", intro)]
    for scheme in dict.fromkeys(row.scheme for row in found.rows):
        rows = [row for row in found.main() if row.scheme == scheme]
        if len({describe(row.point) for row in rows}) == 1:
            blocks += [_one_point(found, scheme, rows)]
        else:
            blocks += [_many_points(found, scheme, rows)]
    return blocks


def _notes(found: "Comparison") -> list[Block]:
    return [Block("note", note[0].upper() + note[1:] + ".") for note in found.notes]


def _ranking(runs: Sequence[Run]) -> list[Block]:
    """Return a ranking of all combinations of swept values; empty if only schemes vary."""
    axes = ranked.comparable_axes(runs)
    if axes in ([], ["scheme"]):
        return []
    if len(runs) > MOST_COMPARED:
        return [Block("note", f"{len(runs)} runs: `shallows compare --by` says which place is better.")]
    try:
        found = compare(list(runs), by=axes)
    except ShallowsError as error:
        return [Block("note", f"The places cannot be compared: {error.message}.")]
    if found.rankings:
        return [*ranked.blocks(found), *_notes(found)]
    # In a sweep with few places and no schemes, all places are compared with the first one.
    return [*_tables(found), *_notes(found)] if "scheme" not in axes else []


def _one_point(found: "Comparison", scheme: str, rows: "Sequence[Row]") -> Block:
    columns = ["", "verdict", found.baseline, scheme, "change", f"{percent(found.confidence)} interval"]
    reasons = list(dict.fromkeys(row.reason for row in rows if row.reason not in {"", INCLUDES_ZERO}))
    cells = []
    for row in rows:
        name, baseline, value, change, interval = verdict_cells(row)
        numbers = [Cell(text) for text in (baseline, value, change, interval)]
        mark = f" {_mark(row, reasons)}" if row.reason in reasons else ""
        cells.append([Cell(name), Cell(row.verdict + mark, row.verdict), *numbers])
    content = {"columns": columns, "rows": cells}
    title = f"{scheme} against {found.baseline}"
    return Block("table", content, title, _footnotes(reasons), names=2)


def _many_points(found: "Comparison", scheme: str, rows: "Sequence[Row]") -> Block:
    points = list(dict.fromkeys(describe(row.point) for row in rows))
    metrics = list(dict.fromkeys(row.metric for row in rows))
    there = {(row.metric, describe(row.point)): row for row in rows}
    reasons = list(dict.fromkeys(row.reason for row in rows if row.reason and not row.has_interval))
    cells = [
        [Cell(Metric(metric).title), *(_change(there.get((metric, point)), reasons) for point in points)]
        for metric in metrics
    ]
    content = {"columns": ["", *points], "rows": cells}
    return Block("table", content, f"{scheme} against {found.baseline}", _footnotes(reasons))


def _mark(row: "Row", reasons: Sequence[str]) -> str:
    return f"[{reasons.index(row.reason) + 1}]" if row.reason in reasons else NOTHING


def _footnotes(reasons: Sequence[str]) -> str:
    return "; ".join(f"[{place}] {reason}" for place, reason in enumerate(reasons, 1))


def _change(row: "Row | None", reasons: Sequence[str]) -> Cell:
    if row is None:
        return Cell(NOTHING)
    change, low, high = changes(row)
    _, baseline, value, *_ = verdict_cells(row)
    between = f"{low} to {high}" if row.has_interval else _mark(row, reasons)
    reason = f"; {row.reason}" if row.reason else ""
    title = f"{row.verdict}: {baseline} → {value}, {row.groups}{reason}"
    said = row.verdict if row.change is None else f"{row.verdict} {change}"
    return Cell(said, row.verdict, title, between)


def _results(runs: Sequence[Run]) -> list[Block]:
    links = [f"{run.path.name}/{PAGE}" if (run.path / PAGE).is_file() else "" for run in runs]
    whole = table(points_table.points(runs), links)
    if len(runs) <= MOST_OPEN:
        return [replace(whole, title="")]  # the section's heading is the title
    return [Block("folded", whole.content, f"All {len(runs)} runs", names=whole.names)]


def _set_up(runs: Sequence[Run]) -> Section:
    """Return the section with the first run's settings, all distinct marking curves, and the sweep's axes.

    Pause thresholds and headroom of lossless classes are shown for all runs too, not only for the first.
    """
    known = {}
    for key in ("marking_curves", "pause_thresholds", "headroom"):
        distinct: dict[str, dict[str, Any]] = {}
        for run in runs:
            where = f", {run.labels['scheme']}" if "scheme" in run.labels else ""
            for of_port in run.summary.get(key, []):
                # Marking curves that are equal for several loads or seeds share a column.
                distinct.setdefault(repr(of_port), of_port | {"port": f"{of_port['port']}{where}"})
        known[key] = list(distinct.values())
    section = set_up(runs[0], known)
    section.blocks.insert(1, Block("facts", _varied(runs)))
    return section


def _varied(runs: Sequence[Run]) -> list[tuple[str, str]]:
    """Return the axes of the sweep with their values."""
    axes = dict.fromkeys(axis for run in runs for axis in run.labels)
    return [
        (f"swept: {axis}", ", ".join(dict.fromkeys(str(run.labels.get(axis)) for run in runs)))
        for axis in axes
    ]
