"""HTML page of an answer: the recommended setting, its effects, its reasons and its limits."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from shallows.advisor import advice_tables as tables
from shallows.advisor.answer import SCENARIO, Answer
from shallows.advisor.candidates import Candidate, Curve
from shallows.advisor.goals import AXES, value_text
from shallows.advisor.race import Objective
from shallows.advisor.recommendation import Beside, Recommendation, Standing
from shallows.advisor.rules import busy_share
from shallows.figures.style import Unit, size_unit, time_unit
from shallows.reports.chart import Axis, Chart, Line
from shallows.reports.html import Block, Section
from shallows.reports.page import chart, render, table
from shallows.runs.folder import write_whole
from shallows.runs.table import Table

PAGE = "advice.html"

GREY = 7
"""Colour number of dropped candidates. Remaining candidates without a colour of their own use `GREY - 1`."""

LIMITS = (1, 4, 8)
"""Numbers of busy ports for which a queue's limit is drawn."""

MOST_CURVES = 5


def write_advice(found: Answer, folder: Path) -> Path:
    """Write `advice.html` into a folder.

    Raises
    ------
    ShallowsError
        If the file cannot be written.
    """
    return write_whole(folder / PAGE, page(found))


def page(found: Answer) -> str:
    """Return the page of an answer as HTML."""
    recommendation = found.recommendation
    rules = Section("Rules", [table(tables.rules(found)), table(tables.contradictions(found))])
    assumed = Section("Assumptions", [Block("note", each) for each in found.assumptions])
    if recommendation is None or found.race is None:
        first = Section("Decision", [Block("text", f"{found.headline}."), Block("note", RULES_NOTE)])
        return _render(found, [first, rules, assumed])
    made = tables.numbers(found)
    watch = Section("On the real fabric", [Block("note", WATCH_NOTE), Block("facts", _watch(recommendation))])
    return _render(
        found,
        [
            Section("Decision", [Block("text", decision(found)), *_reasons(recommendation)]),
            Section(made.title, [*_rows(made), *_limits_note(found)]),
            Section("Frontier", [*map(chart, _frontiers(found, recommendation))]),
            Section("Configuration", _configuration(found)),
            Section("Before and after", _rows(tables.classes(found))),
            Section("Marking curves", [chart(_curves(found, recommendation))]),
            Section("Sensitivity", _rows(tables.robust(found))),
            Section("All settings", [*_rows(tables.decisions(found)), *_folded(found)]),
            rules,
            watch,
            assumed,
            Section("Reproduce", _again()),
        ],
    )


def _render(found: Answer, sections: Sequence[Section]) -> str:
    return render(
        title=found.fabric.name,
        kind="Advice",
        subtitle=f"{found.fabric.silicon.name} · {'; '.join(goal.text for goal in found.fabric.goals)}",
        sections=sections,
    )


RULES_NOTE = "Rules are not tested against this traffic: simulate the settings without --rules-only."


def decision(found: Answer) -> str:
    """Return the verdict in one paragraph."""
    recommendation = found.recommendation
    if recommendation is None:
        return ""
    chosen = recommendation.candidate
    parts = [f"{found.headline}."]
    for goal, state in recommendation.standing.bounds:
        parts.append(
            f"{goal.text}: it {state}." if state != "cannot tell" else f"{goal.text}: cannot tell yet."
        )
    before = found.today or next(
        each.candidate for each in recommendation.standings if each.candidate.origin == "default"
    )
    if before.name != chosen.name:
        parts.append(_beside(recommendation.of(before.name)))
    if any(each.flips for each in found.effects):
        flips = ", ".join(f"{each.what.name} {each.what.level}" for each in found.effects if each.flips)
        parts.append(f"It no longer holds with {flips}.")
    return " ".join(parts)


def _beside(other: Standing) -> str:
    """Describe the differences between another setting and the recommended one."""
    said = []
    for each in other.beside:
        if each.verdict == "cannot tell":
            continue
        said.append(
            f"{each.objective.text} {value_text(each.objective.metric, each.value)} ({each.verdict}, "
            f"{each.change_text})"
        )
    name = other.candidate.name
    if not said:
        return f"No metric shows a difference from {name} yet."
    return f"Instead, {name} has: {'; '.join(said)}."


def _reasons(recommendation: Recommendation) -> list[Block]:
    return [Block("note", each) for each in recommendation.reasons]


def _limits_note(found: Answer) -> list[Block]:
    cell = found.fabric.silicon.cell
    whys = [(f"why this {name}", why) for name, why in tables.reasons(found)]
    return [
        Block("facts", whys),
        Block("note", f"Thresholds are whole cells of {cell} bytes; probabilities and α are the chip's."),
    ]


def _configuration(found: Answer) -> list[Block]:
    """Return the change, its rollback, and the settings that the vendor's format lacks or rounds."""
    made = found.configured
    if made is None:
        return []
    return [
        Block("code", made.change),
        Block("details", made.rollback, "Rollback"),
        *_rows(tables.configuration(found)),
    ]


def _rows(made: Table) -> list[Block]:
    # The section's heading already shows the title.
    return [replace(table(made), title="")] if made.rows else []


def _folded(found: Answer) -> list[Block]:
    made = tables.dropped(found)
    if not made.rows:
        return []
    block = table(made)
    return [replace(block, kind="folded", title="Dropped settings, with reasons")]


def _frontiers(found: Answer, recommendation: Recommendation) -> list[Chart]:
    """Return charts of throughput and of loss versus the tail of completion times, at the highest load."""
    tail, throughput, loss = AXES
    objectives = [each.objective for each in recommendation.standing.beside]
    top = max(objective.load for objective in objectives)
    there = {objective.metric.name for objective in objectives if objective.load == top}
    made = []
    for other in (throughput, loss):
        if {tail.metric.name, other.metric.name} <= there:
            made.append(_frontier(found, recommendation, (Objective(tail, top), Objective(other, top))))
    return made


def _frontier(found: Answer, recommendation: Recommendation, shown: tuple[Objective, Objective]) -> Chart:
    across, up = shown
    standings = [each for each in recommendation.standings if None not in _values(each, across, up)]
    units = [_unit(objective, [_at(each, objective) for each in standings]) for objective in (across, up)]
    looks, groups = _looks(found, recommendation), {"left": "left in the race", "out": "dropped"}
    named = sorted(
        (each for each in standings if each.candidate.name in looks),
        key=lambda each: looks[each.candidate.name],
    )
    standing = "best so far" if found.undecided else "recommended"
    lines = []
    for each in named:
        name = each.candidate.name
        look, is_first = looks[name], each.candidate is recommendation.candidate
        lines.append(_dots(f"{name}, {standing}" if is_first else name, look, [each], shown, units))
    for state, name in groups.items():
        others = [each for each in standings if each not in named and each.kept is (state == "left")]
        if others:
            lines.append(_dots(name, GREY - (state == "left"), others, shown, units))
    axes = [
        Axis(f"{_said(objective)} ({unit.name})", unit.name, log=not objective.metric.is_loss)
        for objective, unit in zip((across, up), units, strict=True)
    ]
    title = f"{up.goal.said.capitalize()} against the tail, {up.load * 100:g} % load"
    note = f"Down and left is better.{_of_bars(lines)}"
    return Chart(f"frontier-{up.goal.said}", title, "points", axes[0], axes[1], lines, note=note)


def _looks(found: Answer, recommendation: Recommendation) -> dict[str, int]:
    """Return a colour number for each named setting; all charts use these numbers.

    The recommended and the current setting get colours first, then settings with curves, then all others.
    """
    first = [recommendation.candidate, *([found.today] if found.today else [])]
    drawn = [name for name, _ in _drawn(found, recommendation.candidate)]
    left = [each.candidate.name for each in recommendation.standings if each.kept]
    named = list(dict.fromkeys([*(each.name for each in first), *drawn, *left]))
    return {name: look for look, name in enumerate(named[: GREY - 1])}


def _dots(
    name: str, look: int, those: Sequence[Standing], objectives: Sequence[Objective], units: Sequence[Unit]
) -> Line:
    """Return a chart's `Line` with a point for each setting; bars show intervals of the vertical values."""
    points, bars = [], []
    for each in those:
        across, up = (_at(each, objective) for objective in objectives)
        place, height = (across.value or 0.0) / units[0].size, (up.value or 0.0) / units[1].size
        points.append((place, height))
        own = up.interval
        if own and math.isfinite(own.low) and math.isfinite(own.high):
            bars.append((place, max(0.0, own.low) / units[1].size, own.high / units[1].size))
    return Line(name, look, sorted(points), bars=bars, published=True)


def _of_bars(lines: Sequence[Line]) -> str:
    """Return a caption that explains and counts the interval bars; empty if there are none."""
    points, bars = sum(len(line.points) for line in lines), sum(len(line.bars) for line in lines)
    if not bars:
        return ""
    of = "" if bars == points else f", of {bars} of {points} settings"
    return f" Bars: 95 % intervals over seeds{of}."


def _values(each: Standing, *objectives: Objective) -> list[float | None]:
    return [_at(each, objective).value for objective in objectives]


def _said(objective: Objective) -> str:
    return "mean time of large flows" if objective.metric == AXES[1].metric else objective.goal.said


def _at(standing: Standing, objective: Objective) -> Beside:
    return next(
        each
        for each in standing.beside
        if (each.objective.metric, each.objective.load) == (objective.metric, objective.load)
    )


def _unit(objective: Objective, found: Sequence[Beside]) -> Unit:
    if objective.metric.is_loss:
        return Unit("%", 0.01)
    return time_unit([each.value or 0.0 for each in found])


def _curves(found: Answer, recommendation: Recommendation) -> Chart:
    """Return a chart of marking curves, with the limits of a queue for several numbers of busy ports."""
    buffer, chosen = found.fabric.buffer, recommendation.candidate
    alpha, held = chosen.alpha, "limit"
    if chosen.groups and not chosen.lossy:
        alpha, held = chosen.groups.alpha, "paused"
    limits = [
        (count, busy_share(buffer.pool, alpha, count) + buffer.reserved)
        for count in LIMITS
        if count <= buffer.ports
    ]
    end = 1.1 * max(limit for _, limit in limits)
    unit = size_unit([end])
    looks = _looks(found, recommendation)
    lines = [
        Line(name, looks[name], [(x / unit.size, 100 * y) for x, y in tables.curve_points(curve, end)])
        for name, curve in _drawn(found, chosen)
    ]
    free = [look for look in range(GREY + 1) if look not in {line.look for line in lines}]
    lines += [
        Line(f"{held}, {count} busy", look, [(limit / unit.size, 0.0), (limit / unit.size, 100.0)])
        for look, (count, limit) in zip(free, limits, strict=False)
    ]
    x, y = Axis(f"backlog of a queue ({unit.name})", unit.name), Axis("marked (%)", "%")
    note = "A curve that begins to the right of a limit never marks while so many ports are busy."
    return Chart("curves", "Packets marked, by backlog", "points", x, y, lines, note=note)


def _drawn(found: Answer, chosen: Candidate) -> list[tuple[str, Curve]]:
    """Return names and curves of the settings to draw: recommended, current and default settings."""
    named: dict[str, Curve] = {}
    for each in [chosen, *([found.today] if found.today else []), *_defaults(found)]:
        curve = next((one for one in each.queues if one), None)
        if curve:
            named.setdefault(each.name, curve)
    return list(named.items())[:MOST_CURVES]


def _defaults(found: Answer) -> list[Candidate]:
    race = found.race
    return [each for each in race.candidates if each.origin == "default"] if race else []


WATCH_NOTE = (
    "Change one switch first, at an hour of high load, and compare with one that was not changed. What the "
    "simulation expects is a range, not a promise: the order of two settings carries over better than "
    "their numbers."
)


def _watch(recommendation: Recommendation) -> list[tuple[str, str]]:
    """Return counters to monitor, with their expected values."""
    return [
        ("ECN-marked packets of each queue", "they grow at busy times, and long before drops do"),
        *(
            [("PFC frames of each priority, sent and received", _expected(recommendation, "pauses"))]
            if recommendation.candidate.groups
            else []
        ),
        ("WRED and tail drops of each queue", _expected(recommendation, "loss_rate_in_switches")),
        ("watermark of the pool", "it stays below the pool; above Kmax of the pool everything is marked"),
        ("hosts: nstat TcpExtTCPTimeouts, TcpRetransSegs", "they fall with drops; a timeout costs RTOmin"),
        (
            "hosts: ss -ti, ecn and ecnseen",
            "flows must be ECN-capable, or they are dropped where others are marked",
        ),
        (
            "a test",
            "two hosts send to a third for ten seconds: the link must be full, and the watermark of that "
            "queue "
            "close to K; then many small requests beside it, whose 99th percentile is compared with the page",
        ),
    ]


def _expected(recommendation: Recommendation, metric: str) -> str:
    said = [
        f"{value_text(each.objective.metric, each.value)} at {each.objective.load * 100:g} % load"
        for each in recommendation.standing.beside
        if each.objective.metric.name == metric
    ]
    return f"expected: {', '.join(said)}"


def _again() -> list[Block]:
    return [
        Block(
            "text",
            f"{SCENARIO}, next to this page, contains all simulations as a sweep. The runs are in runs/.",
        ),
        Block(
            "code",
            f"shallows sweep {SCENARIO} --out runs\nshallows compare runs --metrics "
            "fct_us.small.p99,fct_us.large.mean",
        ),
    ]
