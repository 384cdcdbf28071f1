"""Verdicts of a comparison, and their cells in tables."""

from dataclasses import dataclass

from shallows.comparison.ranking import Labels
from shallows.comparison.verdicts import Verdict
from shallows.quantity import digits, percent, signed
from shallows.runs.table import NOTHING
from shallows.series.metric import Metric


@dataclass(frozen=True)
class Row:
    """One verdict: a scheme versus the baseline, in one metric, at one point of the sweep."""

    point: Labels
    scheme: str
    metric: str
    verdict: Verdict
    reason: str
    """Reason for the verdict "cannot tell"; otherwise empty."""
    baseline_value: float | None
    value: float | None
    change: float | None
    """Ratio to the baseline's value minus one; for losses and `timeouts_per_flow`, the difference."""
    low: float | None
    high: float | None
    """Upper limit of the change (`low` is the lower limit); null if the runs do not bound it."""
    groups: str
    """Groups whose spread gives the interval, such as `5 seeds` or `21 batches of 3 seeds`."""

    @property
    def has_interval(self) -> bool:
        """Return whether the change has at least one finite limit."""
        return self.low is not None or self.high is not None


def verdict_cells(row: Row) -> list[str]:
    """Return the cells of a row: metric with unit, baseline's value, scheme's value, change and interval."""
    show = percent if Metric(row.metric).is_loss else digits
    change, low, high = changes(row)
    between = f"{low} to {high}" if row.has_interval else NOTHING
    return [named(row.metric), show(row.baseline_value), show(row.value), change, between]


def changes(row: Row) -> list[str]:
    """Format a change and its limits in percent; as factors if the change may be more than twofold."""
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


def named(metric: str) -> str:
    """Return the name of a metric with its unit."""
    return Metric(metric).title + unit_of(metric)


def unit_of(metric: str) -> str:
    """Return the unit of a metric, as shown after its name."""
    return " µs" if "_us." in metric or metric == "paused_us" else " Gb/s" if metric == "goodput_gbps" else ""
