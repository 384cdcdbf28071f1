"""Tables of a comparison for the terminal."""

from shallows.comparison.comparison import Comparison
from shallows.comparison.ranking import Ranking, Standing
from shallows.comparison.rows import Row, limits, named, verdict_cells
from shallows.comparison.verdicts import INCLUDES_ZERO
from shallows.quantity import digits, percent
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


MOST_RANKED = 20
"""Maximum number of ranked values that a terminal shows without `--all`."""


def rankings(comparison: Comparison, *, everything: bool = False) -> list[Table]:
    """Build two tables for each point: all values ordered by the first metric, and Pareto-optimal values."""
    tables = []
    for ranking in comparison.rankings:
        tables.append(ranked(comparison, ranking, everything=everything))
        if len(ranking.metrics) > 1:
            tables.append(pareto_optimal(ranking))
    return tables


def ranked(comparison: Comparison, ranking: Ranking, *, everything: bool = False) -> Table:
    """Build a table of all values ordered by the first metric, each compared with the best one."""
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


def value_of(metric: str, standing: Standing) -> str:
    """Format a metric's value."""
    show = percent if Metric(metric).is_loss else digits
    return show(standing.values[metric])


def change_of(metric: str, standing: Standing) -> tuple[str, str]:
    """Format the change of a value relative to the value that ranks first, and the interval of the change."""
    if standing.verdict == "first" or standing.change is None:
        return NOTHING, NOTHING
    change, low, high = limits(metric, standing.change, standing.low, standing.high)
    return change, NOTHING if standing.low is standing.high is None else f"{low} to {high}"
