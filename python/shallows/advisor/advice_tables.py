"""Tables of an answer, for the terminal and for its page."""

import math
from collections.abc import Callable, Sequence

from shallows.advisor.answer import Answer
from shallows.advisor.candidates import Candidate, Curve, weights_text
from shallows.advisor.configured import differences
from shallows.advisor.goals import AXES, value_text
from shallows.advisor.lossless import Groups
from shallows.advisor.recommendation import Beside, Standing
from shallows.advisor.rules import alpha_text, seconds
from shallows.advisor.simulated import BINS
from shallows.advisor.simulated_groups import needed
from shallows.comparison.verdicts import LEGEND, SYMBOLS, Judgement
from shallows.quantity import digits, percent, signed
from shallows.runs.bins import defined
from shallows.runs.table import NOTHING, Table
from shallows.series.metric import Metric

AS_ABOVE = "as above"

COMBINED = "a combination of weights, α of priority groups and headroom that was simulated"
"""Reason shown in a table for those settings of lossless classes that differ between candidates."""


def rules(found: Answer) -> Table:
    """Tabulate the numbers that the rules of the literature give."""
    columns = ["number", "value", "formula", "with", "valid for", "source"]
    rows = [
        [each.name, each.text, each.formula, each.given, each.valid_for, each.source] for each in found.rules
    ]
    return Table("Values by rule", columns, rows, names=6)


def contradictions(found: Answer) -> Table:
    """Tabulate the contradictions between rules, with reasons."""
    columns = ["question", "values", "cause", "here"]
    rows = [[each.name, each.numbers, each.cause, each.applies] for each in found.contradictions]
    return Table("Contradictions between rules", columns, rows, names=4)


def numbers(found: Answer) -> Table:
    """Tabulate the recommended and the current settings."""
    assert found.recommendation is not None  # noqa: S101 — called when there is one
    chosen, today = found.recommendation.candidate, found.today
    head = "best so far" if found.undecided else "recommended"
    columns = ["setting", *(["today"] if today else []), head, "in BDP", "in time"]
    rows = []
    for name, mine, theirs, _ in _settings(found, chosen, today):
        rows.append([name, *([theirs[0]] if today else []), *mine])
    return Table("Best so far" if found.undecided else "Recommended settings", columns, rows)


def reasons(found: Answer) -> list[tuple[str, str]]:
    """Return pairs of a number in the recommendation and its reason."""
    assert found.recommendation is not None  # noqa: S101
    lines = _settings(found, found.recommendation.candidate, found.today)
    return [(name, reason) for name, _, _, reason in lines if reason != AS_ABOVE]


Said = tuple[str, str, str]
"""A number of a setting as three texts: in its own unit, in bandwidth-delay products, and as sending time."""


def _settings(found: Answer, chosen: Candidate, today: Candidate | None) -> list[tuple[str, Said, Said, str]]:
    lines: list[tuple[str, Said, Said, str]] = []
    names = [each.name for each in found.fabric.classes]
    if chosen.sojourn is not None:
        said = (seconds(chosen.sojourn), NOTHING, seconds(chosen.sojourn))
        lines.append(
            ("T of every queue", said, _of_curve(found, today.queues[0] if today else None), chosen.why)
        )
    elif chosen.follows is not None:
        alone = Curve(chosen.follows, chosen.follows)
        theirs = _of_curve(found, today.queues[0] if today else None)
        lines.append(("K of MQ-ECN", _of_curve(found, alone), theirs, chosen.why))
    else:
        for place, curve in enumerate(chosen.queues):
            label = "marking" if len(names) == 1 else f"marking of {names[place]}"
            theirs = _of_curve(found, today.queues[place] if today else None)
            lines.append((label, _of_curve(found, curve), theirs, chosen.why if place == 0 else AS_ABOVE))
    if chosen.pool or (today and today.pool):
        pool, theirs = _of_curve(found, chosen.pool), _of_curve(found, today.pool if today else None)
        lines.append(("marking of the pool", pool, theirs, chosen.why))
    if chosen.lossy:
        before = (alpha_text(today.alpha) if today else NOTHING, NOTHING, NOTHING)
        why = "as the fabric's file has it" if found.fabric.buffer.alpha is not None else "burst absorption"
        why = chosen.why if chosen is today else why
        lines.append(("α", (alpha_text(chosen.alpha), NOTHING, NOTHING), before, why))
    lines += _of_lossless(found, chosen, today)
    rto = seconds(found.fabric.rto)
    lines.append(("RTOmin of hosts", (rto, NOTHING, rto), (NOTHING, NOTHING, NOTHING), "as simulated"))
    return lines


def _of_lossless(
    found: Answer, chosen: Candidate, today: Candidate | None
) -> list[tuple[str, Said, Said, str]]:
    """Return table rows for the priority groups of lossless classes: limit, headroom and weights."""
    mine, theirs = chosen.groups, today.groups if today else None
    if mine is None:
        return []

    def line(name: str, show: Callable[[Groups], str], why: str) -> tuple[str, Said, Said, str]:
        before = show(theirs) if theirs else NOTHING
        return name, (show(mine), NOTHING, NOTHING), (before, NOTHING, NOTHING), why

    def own(groups: Groups) -> str:
        return f"{needed(found.fabric) if groups.headroom is None else groups.headroom:,} B"

    said = "bytes that can arrive after the decision to pause, in cells"
    given, kept = found.fabric.groups, "as configured" if found.switch else "as the fabric's file has it"
    limit = "α of priority groups" if mine.limit is None else "limit of priority groups"
    lines = [
        line(limit, _limit_text, kept if mine.alpha == given.alpha else COMBINED),
        line("headroom of a priority group", own, said if mine.headroom is None else kept),
    ]
    if mine.pool is not None or (theirs and theirs.pool is not None):
        lines.append(line("pool of headroom", _pool_text, kept if mine.pool == given.pool else COMBINED))
    if len(found.fabric.classes) > 1:
        before = weights_text([each.weight for each in found.fabric.classes])
        after = weights_text(chosen.weights) if chosen.weights else before
        why = COMBINED if chosen.weights else kept
        shown = before if today else NOTHING
        lines.append(("weighting", (after, NOTHING, NOTHING), (shown, NOTHING, NOTHING), why))
    return lines


def _limit_text(groups: Groups) -> str:
    return alpha_text(groups.alpha) if groups.limit is None else f"{groups.limit:,} B"


def _pool_text(groups: Groups) -> str:
    return "none" if groups.pool is None else f"{groups.pool:,} B"


def _of_curve(found: Answer, curve: Curve | None) -> Said:
    if curve is None:
        return "none", NOTHING, NOTHING
    ends = [curve.kmin] if curve.kmin == curve.kmax else [curve.kmin, curve.kmax]
    pipe, link = found.fabric.pipe, found.fabric.links.rate
    return (
        f"{' to '.join(f'{end:,} B' for end in ends)}"
        + ("" if len(ends) == 1 else f", {percent(curve.pmax)}"),
        " to ".join(digits(end / pipe, 2) for end in ends),
        " to ".join(seconds(end * 8 / link) for end in ends),
    )


def configuration(found: Answer) -> Table:
    """Tabulate settings that the format lacks or rounds, with the cost of rounding."""
    made, recommendation = found.configured, found.recommendation
    if made is None or recommendation is None:
        return Table("", [], [])
    rows = [["not in this format", text] for text in made.left_out]
    if made.rounded:
        rows.append(["becomes", differences(made.rounded, recommendation.candidate)])
    rows += [["where others are marked", made.others]] if made.others else []
    rows += [[f"costs in {objective.text}", ", ".join(_cost(judged))] for objective, judged in found.rounding]
    if not rows:
        rows.append(["all of it", "as recommended, and as simulated"])
    return Table(f"Configuration in {made.format}", ["", ""], rows, names=2)


def _cost(judged: Judgement) -> list[str]:
    return [*_change(judged), judged.verdict]


def decisions(found: Answer) -> Table:
    """Tabulate how every candidate setting compares with the recommended one in every measure."""
    assert found.recommendation is not None  # noqa: S101
    recommended = found.recommendation
    first = recommended.standing
    columns = ["setting", "left", "seeds", *(_head(beside) for beside in first.beside)]
    order = sorted(recommended.standings, key=_rank)
    rows = [_row(each, each is first) for each in order]
    judged = [one.judgement.change for each in recommended.standings for one in each.beside]
    known = any(each and math.isfinite(each.low) and math.isfinite(each.high) for each in judged)
    by = "by paired intervals that hold together with 95 %" if known else "too few seeds for intervals"
    note = f"Versus the first setting: {LEGEND}; {by}. Left: not dropped in the race. Sizes: {defined(BINS)}."
    if found.fabric.lossless:
        note += (
            " Pauses and time paused: sums over all ports and lossless classes. Invalid: packets of lossless "
            "classes were lost, or the headroom is smaller than what can arrive."
        )
    return Table("All settings", columns, rows, names=1, note=note)


def _rank(each: Standing) -> tuple[bool, bool]:
    return not each.kept, each.candidate.origin == "between"


def _head(beside: Beside) -> str:
    objective = beside.objective
    said = "mean large" if objective.metric == AXES[1].metric else objective.goal.said
    return f"{said.replace(' of small flows', ' small')}, {percent(objective.load)}"


def _row(each: Standing, is_first: bool) -> list[str]:
    cells = [
        value_text(beside.objective.metric, beside.value)
        + ("" if is_first else f" {SYMBOLS[beside.verdict]}")
        for beside in each.beside
    ]
    left = "invalid" if each.invalid else "yes" if each.kept else "no"
    return [each.candidate.name, left, str(each.seeds), *cells]


def classes(found: Answer) -> Table:
    """Tabulate, for each class, the recommendation versus the current setting or a vendor's default."""
    changes = [each.judgement.change for each in found.classes]
    known = any(each and (math.isfinite(each.low) or math.isfinite(each.high)) for each in changes)
    between = "95 % interval" if known else "no interval"
    name = "best so far" if found.undecided else "recommended"
    columns = ["class", "number", found.before, name, "change", between, "verdict"]
    rows = [
        [
            each.name,
            each.metric,
            value_text(Metric("fct_us.all.mean"), each.judgement.baseline_value),
            value_text(Metric("fct_us.all.mean"), each.judgement.value),
            *_change(each.judgement),
            each.judgement.verdict,
        ]
        for each in found.classes
    ]
    recommended = found.recommendation
    load = percent(recommended.decided_by.load) if recommended else ""
    return Table(f"Before and after, at {load} load", columns, rows, names=2, note=f"Sizes: {defined(BINS)}.")


def _change(judged: Judgement) -> list[str]:
    change = judged.change
    if change is None:
        return [NOTHING, judged.reason]
    if not (math.isfinite(change.low) or math.isfinite(change.high)):
        return [f"{signed(change.estimate * 100)} %", judged.reason]
    ends = [signed(end * 100) if math.isfinite(end) else "no limit" for end in (change.low, change.high)]
    return [f"{signed(change.estimate * 100)} %", f"{ends[0]} to {ends[1]} %"]


def robust(found: Answer) -> Table:
    """Tabulate the sensitivity analysis."""
    rows = [
        [f"{each.what.name} {each.what.level}", "flips" if each.flips else "holds", each.text]
        for each in found.effects
    ]
    return Table("Sensitivity", ["change", "", "then"], rows, names=3, note=_flips(found))


def _flips(found: Answer) -> str:
    """Return a sentence: the first amount of each change to the fabric at which another setting is better."""
    first: dict[str, str] = {}
    for each in found.effects:
        if each.flips:
            first.setdefault(each.what.name, each.what.level)
    if not found.effects:
        return ""
    if not first:
        return "The recommendation holds in all of these, as far as the runs can tell."
    return "It no longer holds from: " + ", ".join(f"{name} {level}" for name, level in first.items()) + "."


def dropped(found: Answer) -> Table:
    """Tabulate the dropped settings, each with the setting that beat it and the deciding interval."""
    race = found.race
    rows = [
        [each.name, each.by, str(each.seeds), _told(each.changes)] for each in (race.drops if race else [])
    ]
    note = "Of each number: by how much the winner differs, and the interval that says so."
    return Table("Dropped", ["setting", "worse than", "seeds", "because"], rows, names=2, note=note)


def _told(changes: Sequence[tuple[str, float, float, float]]) -> str:
    """Format the change whose interval has the lowest upper limit, together with that interval."""
    text, estimate, low, high = min(changes, key=lambda change: change[3])
    return f"{text} {signed(estimate * 100)} % ({signed(low * 100)} to {signed(high * 100)})"


def curve_points(curve: Curve, end: float) -> list[tuple[float, float]]:
    """Return the corners of a marking curve, cut off at the backlog `end`.

    >>> curve_points(Curve(100, 300, 0.5), 200.0)
    [(0.0, 0.0), (100, 0.0), (200.0, 0.25)]
    >>> curve_points(Curve(300, 300), 200.0)
    [(0.0, 0.0), (200.0, 0.0)]
    >>> curve_points(Curve(100, 100), 200.0)
    [(0.0, 0.0), (100, 0.0), (100, 1.0), (200.0, 1.0)]
    """
    low, high = curve.kmin, curve.kmax
    ramp = [] if low == high else [(high, curve.pmax)]
    points = [(0.0, 0.0), (low, 0.0), *ramp, (high, 1.0), (max(end, high), 1.0)]
    inside = [point for point in points if point[0] <= end]
    if len(inside) == len(points):
        return inside
    (x, y), (beyond, above) = inside[-1], points[len(inside)]
    return [*inside, (end, y + (above - y) * (end - x) / (beyond - x))]
