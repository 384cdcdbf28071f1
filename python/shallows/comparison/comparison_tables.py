"""A comparison as tables, for the terminal."""

from shallows.comparison.comparison import Comparison, Row
from shallows.comparison.ranking import Ranking, Standing
from shallows.comparison.verdicts import INCLUDES_ZERO
from shallows.quantity import digits, percent, signed
from shallows.runs.results import describe
from shallows.runs.table import NOTHING, Table
from shallows.series.metric import Metric


def verdicts(comparison: Comparison, *, everything: bool = False) -> list[Table]:
    """A table for each scheme and point: each metric with the interval of its change."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in comparison.rows if everything else comparison.main():
        groups.setdefault((row.scheme, describe(row.point)), []).append(row)
    interval = f"{percent(comparison.confidence)} interval"
    tables = []
    for (scheme, point), rows in groups.items():
        reasons = list(dict.fromkeys(row.reason for row in rows if row.reason not in {"", INCLUDES_ZERO}))
        tables.append(
            Table(
                f"{scheme} against {comparison.baseline}" + (f", {point}" if point else ""),
                ["", "verdict", comparison.baseline, scheme, "change", interval],
                [_verdict_row(row, reasons) for row in rows],
                names=2,
                note="; ".join(f"[{place}] {reason}" for place, reason in enumerate(reasons, 1)),
            )
        )
    return tables


def _verdict_row(row: Row, reasons: list[str]) -> list[str]:
    mark = f" [{reasons.index(row.reason) + 1}]" if row.reason in reasons else ""
    name, *numbers = verdict_cells(row)
    return [name, row.verdict + mark, *numbers]


def verdict_cells(row: Row) -> list[str]:
    """A metric with its unit, the baseline's value, the scheme's, the change, and its interval."""
    show = percent if Metric(row.metric).is_loss else digits
    change, low, high = changes(row)
    between = f"{low} to {high}" if row.has_interval else NOTHING
    return [named(row.metric), show(row.baseline_value), show(row.value), change, between]


def changes(row: Row) -> list[str]:
    """A change and its limits in one way: percent, or factors where it may be more than twofold."""
    return limits(row.metric, row.change, row.low, row.high)


def limits(name: str, change: float | None, low: float | None, high: float | None) -> list[str]:
    """Likewise, of a metric by its name."""
    metric, found = Metric(name), [change, low, high]
    if not metric.is_relative:
        points = metric.is_loss
        return [
            "?" if each is None else signed(100 * each if points else each) + (" points" if points else "")
            for each in found
        ]
    if any(each is not None and each > 1 for each in found):
        return ["?" if each is None else f"×{digits(1 + each, 4)}" for each in found]
    return ["?" if each is None else f"{signed(100 * each)} %" for each in found]


MOST_RANKED = 20
"""Places of a ranking that a terminal shows; more when all are asked for."""


def rankings(comparison: Comparison, *, everything: bool = False) -> list[Table]:
    """Of each point, all places in their order, and those that no other beats."""
    tables = []
    for ranking in comparison.rankings:
        tables.append(ranked(comparison, ranking, everything=everything))
        if len(ranking.metrics) > 1:
            tables.append(not_beaten(ranking))
    return tables


def ranked(comparison: Comparison, ranking: Ranking, *, everything: bool = False) -> Table:
    """All places by the first metric, each beside the one that is first."""
    metric = ranking.metrics[0]
    shown = ranking.standings if everything else ranking.standings[:MOST_RANKED]
    left = len(ranking.standings) - len(shown)
    reasons = list(dict.fromkeys(each.reason for each in shown if each.reason not in {"", INCLUDES_ZERO}))
    rows = []
    for number, each in enumerate(shown, 1):
        mark = f" [{reasons.index(each.reason) + 1}]" if each.reason in reasons else ""
        change, between = change_of(metric, each)
        cells = [each.place, each.verdict + mark, value_of(metric, each), change, between]
        rows.append([str(number), *cells, *([each.front or ""] if len(ranking.metrics) > 1 else [])])
    notes = [f"[{place}] {reason}" for place, reason in enumerate(reasons, 1)]
    notes += [f"{left} more: --all shows them"] if left else []
    interval = f"{percent(comparison.confidence)} interval"
    columns = ["", "place", "beside the first", named(metric), "change", interval]
    return Table(
        f"By {Metric(metric).title}" + _at(ranking),
        [*columns, *(["in all metrics"] if len(ranking.metrics) > 1 else [])],
        rows,
        names=3,
        note="; ".join(notes),
    )


def not_beaten(ranking: Ranking) -> Table:
    """The places that are left when those are gone that another beats."""
    rows = [
        [each.place, _why(each), *(value_of(metric, each) for metric in ranking.metrics)]
        for each in ranking.kept
    ]
    beaten = sum(each.front == "beaten" for each in ranking.standings)
    note = (
        f"{beaten} of {len(ranking.standings)} places are beaten: another is better in one of these metrics"
    )
    note += ", and at least as good in the others"
    columns = ["place", "", *map(named, ranking.metrics)]
    return Table("Not beaten" + _at(ranking), columns, rows, names=2, note=note)


def _why(standing: Standing) -> str:
    if standing.front == "not beaten":
        return "not beaten"
    first, *others = standing.open_with
    return f"cannot tell from {first}" + (f" and {len(others)} more" if others else "")


def _at(ranking: Ranking) -> str:
    return f", {describe(ranking.point)}" if ranking.point else ""


def named(metric: str) -> str:
    """A metric with its unit."""
    return Metric(metric).title + unit_of(metric)


def unit_of(metric: str) -> str:
    """The unit of a metric, as it stands behind its name."""
    return " µs" if "_us." in metric else " Gb/s" if metric == "goodput_gbps" else ""


def value_of(metric: str, standing: Standing) -> str:
    """The value of a metric at a place."""
    show = percent if Metric(metric).is_loss else digits
    return show(standing.values[metric])


def change_of(metric: str, standing: Standing) -> tuple[str, str]:
    """The change beside the place that is first, and its interval."""
    if standing.verdict == "first" or standing.change is None:
        return NOTHING, NOTHING
    change, low, high = limits(metric, standing.change, standing.low, standing.high)
    return change, NOTHING if standing.low is standing.high is None else f"{low} to {high}"
