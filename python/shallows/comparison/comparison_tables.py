"""A comparison as tables, for the terminal."""

from shallows.comparison.comparison import Comparison, Row
from shallows.comparison.verdicts import INCLUDES_ZERO, Metric
from shallows.quantity import digits, percent, signed
from shallows.runs.results import describe
from shallows.runs.tables import NOTHING, Table


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
    unit = " µs" if "_us." in row.metric else " Gb/s" if row.metric == "goodput_gbps" else ""
    show = percent if Metric(row.metric).is_loss else digits
    change, low, high = changes(row)
    between = f"{low} to {high}" if row.has_interval else NOTHING
    return [Metric(row.metric).title + unit, show(row.baseline_value), show(row.value), change, between]


def changes(row: Row) -> list[str]:
    """A change and its limits in one way: percent, or factors where it may be more than twofold."""
    metric, found = Metric(row.metric), [row.change, row.low, row.high]
    if not metric.is_relative:
        points = metric.is_loss
        return [
            "?" if each is None else signed(100 * each if points else each) + (" points" if points else "")
            for each in found
        ]
    if any(each is not None and each > 1 for each in found):
        return ["?" if each is None else f"×{digits(1 + each, 4)}" for each in found]
    return ["?" if each is None else f"{signed(100 * each)} %" for each in found]
