"""Tables of a comparison for the terminal."""

from shallows.comparison.comparison import Comparison, Row
from shallows.comparison.ranking import Ranking, Standing
from shallows.comparison.verdicts import INCLUDES_ZERO
from shallows.quantity import digits, percent, signed
from shallows.runs.results import describe
from shallows.runs.table import NOTHING, Table
from shallows.series.metric import Metric


def verdicts(comparison: Comparison, *, everything: bool = False) -> list[Table]:
    """Build a table for each scheme and point: each metric with the interval of its change."""
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
    """Return the cells of a row: metric with unit, baseline's value, scheme's value, change and interval."""
    show = percent if Metric(row.metric).is_loss else digits
    change, low, high = changes(row)
    between = f"{low} to {high}" if row.has_interval else NOTHING
    return [named(row.metric), show(row.baseline_value), show(row.value), change, between]


def changes(row: Row) -> list[str]:
    """Format a change and its limits in percent, or as factors if it may be more than twofold."""
    return limits(row.metric, row.change, row.low, row.high)


def limits(name: str, change: float | None, low: float | None, high: float | None) -> list[str]:
    """Format a change and its limits as `changes` does, for a metric given by name."""
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
"""Number of ranked values that a terminal shows without `--all`."""


def rankings(comparison: Comparison, *, everything: bool = False) -> list[Table]:
    """Build tables of each point: all values in order, and the Pareto-optimal ones."""
    tables = []
    for ranking in comparison.rankings:
        tables.append(ranked(comparison, ranking, everything=everything))
        if len(ranking.metrics) > 1:
            tables.append(pareto_optimal(ranking))
    return tables


def ranked(comparison: Comparison, ranking: Ranking, *, everything: bool = False) -> Table:
    """Build a table of all values by the first metric, each versus the first one."""
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
    columns = ["", "place", "versus the first", named(metric), "change", interval]
    return Table(
        f"By {Metric(metric).title}" + _at(ranking),
        [*columns, *(["in all metrics"] if len(ranking.metrics) > 1 else [])],
        rows,
        names=3,
        note="; ".join(notes),
    )


def pareto_optimal(ranking: Ranking) -> Table:
    """Build a table of the Pareto-optimal values."""
    rows = [
        [each.place, _why(each), *(value_of(metric, each) for metric in ranking.metrics)]
        for each in ranking.kept
    ]
    dominated = sum(each.front == "dominated" for each in ranking.standings)
    note = f"{dominated} of {len(ranking.standings)} places are dominated: another is better in one of these "
    note += "metrics, and at least as good in the others"
    columns = ["place", "", *map(named, ranking.metrics)]
    return Table("Pareto-optimal" + _at(ranking), columns, rows, names=2, note=note)


def _why(standing: Standing) -> str:
    if standing.front == "Pareto-optimal":
        return "Pareto-optimal"
    first, *others = standing.open_with
    return f"cannot tell from {first}" + (f" and {len(others)} more" if others else "")


def _at(ranking: Ranking) -> str:
    return f", {describe(ranking.point)}" if ranking.point else ""


def named(metric: str) -> str:
    """Return the name of a metric with its unit."""
    return Metric(metric).title + unit_of(metric)


def unit_of(metric: str) -> str:
    """Return the unit of a metric, as shown after its name."""
    return " µs" if "_us." in metric else " Gb/s" if metric == "goodput_gbps" else ""


def value_of(metric: str, standing: Standing) -> str:
    """Format a metric's value."""
    show = percent if Metric(metric).is_loss else digits
    return show(standing.values[metric])


def change_of(metric: str, standing: Standing) -> tuple[str, str]:
    """Format the change versus the first value, and its interval."""
    if standing.verdict == "first" or standing.change is None:
        return NOTHING, NOTHING
    change, low, high = limits(metric, standing.change, standing.low, standing.high)
    return change, NOTHING if standing.low is standing.high is None else f"{low} to {high}"
