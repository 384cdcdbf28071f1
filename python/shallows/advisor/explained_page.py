"""HTML page of an explained configuration."""

from collections.abc import Sequence
from dataclasses import replace

from shallows.advisor.explain import Explanation, alike, numbers
from shallows.advisor.finding import Finding
from shallows.advisor.resolved import Class, Resolved, microseconds
from shallows.figures.style import Unit, size_unit
from shallows.quantity import digits, rate
from shallows.reports.chart import Axis, Chart, Line, Point, looks
from shallows.reports.html import Block, Cell, Section
from shallows.reports.page import chart, render, table
from shallows.runs.table import Table

MOST_CURVES = 8
"""Maximum number of curves in a chart."""

MOST_ROWS = 1_000
"""Maximum number of rows of a table or list, so that browsers show the page quickly."""

ROOM = 1.25
"""Factor by which the axis exceeds the drawn data."""

VERDICTS = {"error": "worse", "warning": "cannot tell", "note": ""}
"""Dictionary that maps a finding's severity to the comparison verdict that has the same colour."""


def page(found: Explanation, files: Sequence[str]) -> str:
    """Return the page as HTML, with all text from files escaped."""
    switch, chip = found.resolved.switch, found.resolved.chip
    named = [switch.format, switch.platform, chip.title if chip else "chip not known"]
    return render(
        title=switch.name or "A switch's configuration",
        kind="Explained",
        subtitle=" · ".join(part for part in named if part),
        sections=[
            Section("Verdict", [Block("text", found.verdict)]),
            Section("Curves", [*_charts(found.resolved), *(table(_cut(each)) for each in found.tables)]),
            Section("Findings", _findings(found.findings)),
            Section("Coverage", _open(found)),
            Section("Sources", [Block("text", each) for each in found.sources]),
            Section("Files", [Block("code", "\n".join(files))]),
        ],
    )


def _cut(made: Table) -> Table:
    """Limit a table to the rows that a page can show."""
    return replace(
        made, rows=made.rows[:MOST_ROWS], note=" ".join(filter(None, (made.note, _more(made.rows))))
    )


def _more(rows: Sequence[object]) -> str:
    left = len(rows) - MOST_ROWS
    return f"And {left:,} more: `shallows explain --json` has all." if left > 0 else ""


def _charts(resolved: Resolved) -> list[Block]:
    """Return charts of curves over the backlog, with vertical lines at queue limits."""
    rows = [classes for classes in alike(resolved) if _drawn(classes[0])]
    if not rows:
        return []
    shown = rows[:MOST_CURVES]
    end = ROOM * max(each.kmax for classes in shown for each in classes[:1] if each.kmax is not None)
    unit = size_unit([end])
    lines = [Line(_name(classes), look, _points(classes[0], end)) for look, classes in enumerate(shown)]
    held = [replace(line, look=len(shown) + number) for number, line in enumerate(_held(shown, end))]
    notes = [
        "Vertical lines: the most that a queue may hold, or the backlog that pauses senders, by busy queues."
        if held
        else "",
        f"The table has {len(rows) - len(shown)} more curves." if len(rows) > len(shown) else "",
    ]
    return [
        chart(
            Chart(
                "marking",
                "Packets marked, by backlog",
                "points",
                Axis(f"backlog of a queue ({unit.name})", unit.name),
                Axis("marked (%)", "%"),
                [_in(line, unit) for line in (*lines, *held)],
                note=" ".join(filter(None, notes)),
            )
        )
    ]


def _in(line: Line, unit: Unit) -> Line:
    """Return a chart line with its backlogs converted from bytes to this unit."""
    return replace(line, points=[(x / unit.size, y) for x, y, *_ in line.points])


def _held(shown: Sequence[Sequence[Class]], end: float) -> list[Line]:
    """Return vertical lines at queue limits, at most one for each colour that no curve uses.

    If there are too many lines, limits for fewer than 4 busy queues are omitted, then limits for fewer than
    16 busy queues. If these are still too many, only the first lines are kept.
    """
    room = len(looks()) - len(shown)
    for fewest in (1, 4, 16):
        lines = [line for classes in shown for line in _limits(classes, end, fewest)]
        if len(lines) <= room:
            return lines
    return lines[: max(room, 0)]


def _limits(classes: Sequence[Class], end: float, fewest: int) -> list[Line]:
    """Return vertical lines at the dynamic limits of these queues, up to `end`, the end of the axis.

    A dynamic limit depends on the number of busy queues; limits for fewer than `fewest` busy queues get no
    line. The limits at which a priority group pauses its senders also get lines.
    """
    each = classes[0]
    told = [("may hold", each.limit), ("paused", each.group_limit)]
    return [
        Line(
            f"{words}, {count} busy: queue {numbers(classes)}",
            0,
            [(held, 0.0), (held, 100.0)],
        )
        for words, limit in told
        if limit and limit.dynamic
        for count, held in limit.at
        if held <= end and count >= fewest
    ]


def _drawn(each: Class) -> bool:
    return bool(each.curve and each.kmin is not None and each.kmax)


def _points(each: Class, end: float) -> list[Point]:
    assert each.curve is not None  # noqa: S101 - `_drawn` selects classes with a curve
    assert each.kmin is not None  # noqa: S101
    assert each.kmax is not None  # noqa: S101
    most = 100 * float(each.curve.probability or 0)
    return [(0.0, 0.0), (each.kmin, 0.0), (each.kmax, most), (each.kmax, 100.0), (end, 100.0)]


def _name(classes: Sequence[Class]) -> str:
    each = classes[0]
    wait = (
        f", from {digits(microseconds(each.kmin, each.rate))} µs at {rate(each.rate)}"
        if each.rate and each.kmin
        else ""
    )
    return f"queue {numbers(classes)}{wait}"


def _findings(findings: Sequence[Finding]) -> list[Block]:
    if not findings:
        return [Block("text", "Nothing was found wrong.")]
    rows = [
        [
            Cell(each.severity, verdict=VERDICTS[each.severity]),
            Cell(each.what, detail=each.code),
            Cell(each.why),
            Cell(each.fix),
            Cell(str(each.source), detail=each.citation),
        ]
        for each in findings[:MOST_ROWS]
    ]
    columns = ["", "what", "why", "to do", "where"]
    blocks = [Block("table", {"columns": columns, "rows": rows}, names=len(columns))]
    return [*blocks, *([Block("note", more)] if (more := _more(findings)) else [])]


def _open(found: Explanation) -> list[Block]:
    """Return blocks that list the assumed defaults, and the lines that were not understood."""
    switch = found.resolved.switch
    blocks = [
        Block(
            "text",
            f"{switch.understood:,} of {switch.understood + len(switch.unread):,} lines or values "
            "about queues were understood.",
        )
    ]
    for title, lines in (
        ("Platform defaults", [f"{each.what}: {each.value}" for each in switch.defaults]),
        ("Not understood", [f"{each}  {each.text}" for each in switch.unread]),
        ("Other settings", [f"{each.name} = {each.value}  {each.scope}" for each in switch.settings]),
    ):
        if lines:
            blocks.append(
                Block("details", "\n".join(filter(None, [*lines[:MOST_ROWS], _more(lines)])), title)
            )
    return blocks
