"""Verdict on one metric of two schemes: better, worse or cannot tell."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from shallows.comparison import intervals
from shallows.comparison.intervals import FEWEST_SEEDS, Interval
from shallows.comparison.samples import Sample
from shallows.runs import percentiles
from shallows.runs.percentiles import RANK
from shallows.runs.ranks import nearest_rank
from shallows.series.metric import Metric

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shallows.runs.ranks import Groups

SEEDS_ALONE = 5
"""Minimum number of seeds for intervals over whole runs; with fewer, each run is divided into batches."""

BLOCKS = (20, 10)
"""Minimum number of batches of all seeds together (Schmeiser, Oper. Res. 1982: 10 to 30). The first number
applies unless that many batches are statistically dependent; then the second number applies.
"""

FEWEST_FLOWS = 10
"""Minimum number of flows in a batch; the means of smaller batches would vary too much."""

INCLUDES_ZERO = "the interval contains 0"
"""Reason of an undecided change whose interval contains zero."""

SAME = "the same in every run"
"""Reason of a change that is zero in every run."""

Verdict = Literal["better", "worse", "cannot tell"]

SYMBOLS: dict[Verdict, str] = {"better": "✓", "worse": "✗", "cannot tell": "○"}
"""Marks of verdicts. They suggest no direction, because "better" may be a decrease."""

LEGEND = ", ".join(f"{mark} {verdict}" for verdict, mark in SYMBOLS.items())
"""Legend of the marks, shown below a table."""

Pairs = Sequence[tuple[Sample, Sample]]
"""Pairs of samples, one for each seed: the baseline's and the other scheme's."""


@dataclass(frozen=True)
class Judgement:
    """A verdict with its interval and reason."""

    baseline_value: float | None = None
    value: float | None = None
    change: Interval | None = None
    """Interval of the relative change, from `intervals.mean_change` or a similar function; for metrics that
    are not relative, interval of the difference.
    """
    groups: str = ""
    verdict: Verdict = "cannot tell"
    reason: str = ""
    """Reason for the verdict "cannot tell"; otherwise empty."""


def judge(metric: Metric, pairs: Pairs, confidence: float, alone: int = SEEDS_ALONE) -> Judgement:
    """Judge whether one metric is better or worse than in the baseline.

    The verdict follows from the interval of the change. The interval is over seeds; with fewer than `alone`
    seeds, it is over batches of runs. The age of an unfinished flow is only a lower bound of its completion
    time, so a side with unfinished flows is never judged to be the better one.
    """
    theirs: Groups
    mine: Groups
    theirs, mine = ([_values(metric, pair[side]) for pair in pairs] for side in (0, 1))
    count = min(sum(group.size for group in side) for side in (theirs, mine))
    if not pairs or not all(group.size for group in (*theirs, *mine)):
        return Judgement(reason="some runs have no flows of this metric")
    known = Judgement(groups=_counted(len(pairs), "seed"))
    if metric.is_percentile and not percentiles.suffices(count):
        return replace(known, reason=percentiles.too_few(count))
    values = _estimate(metric, theirs), _estimate(metric, mine)
    known = replace(known, baseline_value=values[0], value=values[1])
    if (estimate := _plain_change(metric, *values)) is None:
        return replace(known, reason="a value is zero")
    known = replace(known, change=Interval(estimate, -math.inf, math.inf))
    if len(pairs) < FEWEST_SEEDS:
        return replace(known, reason=f"{_counted(len(pairs), 'seed')}: {FEWEST_SEEDS} are needed")
    if metric.is_total and len(pairs) < SEEDS_ALONE:
        return replace(known, reason=f"{len(pairs)} seeds: a metric of whole runs needs {SEEDS_ALONE}")
    if not metric.is_total and len(pairs) < alone:
        if (cut := _batches(metric, theirs, mine)) is None:
            return replace(known, reason="the runs are too short to be cut into batches")
        theirs, mine = cut
        known = replace(known, groups=f"{len(mine)} batches of {len(pairs)} seeds")
    incomplete = [sum(_incomplete(metric, pair[side]) for pair in pairs) for side in (0, 1)]
    return _decide(metric, known, _change(metric, theirs, mine, confidence), incomplete)


def estimate(metric: Metric, samples: Sequence[Sample]) -> float | None:
    """Return the value of a metric over all seeds together.

    The result is None if a run has no flows that the metric covers, or if all runs together have too few of
    them for a percentile.
    """
    groups = [_values(metric, sample) for sample in samples]
    if not groups or not all(group.size for group in groups):
        return None
    if metric.is_percentile and not percentiles.suffices(sum(group.size for group in groups)):
        return None
    return _estimate(metric, groups)


def is_measured(metric: Metric, sample: Sample) -> bool:
    """Return whether a run has data for the metric; a size bin without flows has no data."""
    return metric.name in sample.totals if metric.is_total else metric.series in sample.series


def _values(metric: Metric, sample: Sample) -> "NDArray[np.float64]":
    import numpy as np

    if not is_measured(metric, sample):
        return np.array([])
    return np.array([sample.totals[metric.name]]) if metric.is_total else sample.series[metric.series].values


def _incomplete(metric: Metric, sample: Sample) -> int:
    # Only completion times have lower bounds; counts of timeouts and totals do not.
    measured = metric.is_relative and not metric.is_total
    return sample.series[metric.series].incomplete if measured else 0


def _estimate(metric: Metric, groups: "Groups") -> float:
    return nearest_rank(groups, RANK) if metric.is_percentile else float(intervals.means(groups).mean())


def _plain_change(metric: Metric, theirs: float, mine: float) -> float | None:
    if not metric.is_relative:
        return mine - theirs
    return mine / theirs - 1 if min(mine, theirs) > 0 else None


def _change(metric: Metric, theirs: "Groups", mine: "Groups", confidence: float) -> Interval:
    if metric.is_percentile:
        return intervals.percentile_change(theirs, mine, RANK, confidence)
    by = intervals.mean_change if metric.is_relative else intervals.mean_difference
    return by(theirs, mine, confidence)


def _batches(metric: Metric, theirs: "Groups", mine: "Groups") -> "tuple[Groups, Groups] | None":
    """Divide runs into equal batches of consecutive flows.

    The result is None if no division gives batches that are both long enough and independent.
    """
    import numpy as np

    for wanted in BLOCKS:
        each = math.ceil(wanted / len(mine))
        cut = [[batch for run in side for batch in np.array_split(run, each)] for side in (theirs, mine)]
        long_enough = all(batch.size >= FEWEST_FLOWS for side in cut for batch in side)
        if long_enough and not _is_dependent(metric, cut[0], cut[1], each):
            return cut[0], cut[1]
    return None


def _is_dependent(metric: Metric, theirs: "Groups", mine: "Groups", each: int) -> bool:
    def deviations(side: "Groups") -> "NDArray[np.float64]":
        if metric.is_percentile:
            threshold = _estimate(metric, side)
            return intervals.means([(batch > threshold).astype(float) for batch in side])
        by_block = intervals.means(side)
        return by_block / by_block.mean() if metric.is_relative else by_block

    return intervals.is_dependent((deviations(mine) - deviations(theirs)).reshape(-1, each))


def _decide(metric: Metric, known: Judgement, change: Interval, incomplete: list[int]) -> Judgement:
    known = replace(known, change=change)
    if change.low == change.high == 0:
        return replace(known, reason=SAME)
    if change.low <= 0 <= change.high:
        return replace(known, reason=INCLUDES_ZERO)
    is_better = (change.low > 0) == metric.is_better_high
    if count := incomplete[1 if is_better else 0]:
        of = "" if is_better else " of the baseline"
        return replace(known, reason=f"{count:,} flows{of} are unfinished")
    return replace(known, verdict="better" if is_better else "worse")


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
