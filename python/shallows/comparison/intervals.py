"""Confidence intervals for dependent observations.

The flows of one run share queues, so a thousand flows carry far less information than a thousand independent
observations. Runs with different seeds are independent, and long stretches of a run are nearly independent.
These functions take observations in such *groups* and measure the spread between groups only, never between
single flows. docs/statistics.md explains the formulas; evidence/interval-coverage.md shows their coverage.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from shallows.runs.ranks import nearest_rank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from shallows.runs.ranks import Groups


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence limits.

    A limit is infinite where the observations do not bound it.
    """

    estimate: float
    low: float
    high: float


def mean(groups: "Groups", confidence: float = 0.95) -> Interval:
    """Return the confidence interval of the mean over groups, which have equal weights.

    Parameters
    ----------
    groups
        At least two arrays, shape (n,) each, none empty.
    confidence
        Share of intervals that contain the true mean.
    """
    by_group = means(groups)
    estimate, half = float(by_group.mean()), _half_width(by_group, confidence)
    return Interval(estimate, estimate - half, estimate + half)


FEWEST_SEEDS = 3
"""Minimum number of seeds for an interval."""


def over_seeds(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """Return the interval of a mean over seeds, for the bars of figures and for claims.

    The result is None for fewer than three seeds, or if a value is not finite.

    >>> found = over_seeds([1.0, 2.0, 3.0])
    >>> round(found.low, 2), round(found.high, 2), over_seeds([1.0, 2.0])
    (-0.48, 4.48, None)
    """
    if len(values) < FEWEST_SEEDS or not all(map(math.isfinite, values)):
        return None
    import numpy as np

    return mean([np.array([value]) for value in values], confidence)


def said_of_bars(counts: Collection[int]) -> str:
    """Return the note that explains a figure's means and bars, given the number of seeds at each point.

    >>> said_of_bars([3, 3])
    'Means of 3 seeds; bars: 95 % intervals.'
    >>> said_of_bars([2, 5])
    'Means of 2 to 5 seeds; bars: 95 % intervals if there are at least 3 seeds.'
    >>> said_of_bars([2]), said_of_bars([1])
    ('Means of 2 seeds, too few for intervals: no bars.', 'One seed: no bars.')
    """
    fewest, most = min(counts), max(counts)
    if most == 1:
        return "One seed: no bars."
    seeds = f"Means of {most} seeds" if fewest == most else f"Means of {fewest} to {most} seeds"
    if most < FEWEST_SEEDS:
        return f"{seeds}, too few for intervals: no bars."
    if fewest < FEWEST_SEEDS:
        return f"{seeds}; bars: 95 % intervals if there are at least {FEWEST_SEEDS} seeds."
    return f"{seeds}; bars: 95 % intervals."


def percentile(groups: "Groups", rank: float = 0.99, confidence: float = 0.95) -> Interval:
    """Return the interval of the nearest-rank percentile of all groups together.

    A group of a hundred observations has no meaningful 99th percentile, but a known share of it lies above
    the percentile of all groups together. The spread of these shares bounds the rank of the true percentile
    (Woodruff, JASA 1952). The method also works if the distribution has a gap, as between flows with and
    without a timeout.

    Parameters
    ----------
    groups
        At least two arrays, shape (n,) each, none empty and of about the same length.
    rank
        Rank of the percentile, as a share.
    confidence
        Share of intervals that contain the true percentile.
    """
    import numpy as np

    estimate = nearest_rank(groups, rank)
    # Observations equal to the percentile also count as above it, up to the number that its rank requires.
    above, equal = (
        np.array([np.mean(test(group, estimate)) for group in groups]) for test in (np.greater, np.equal)
    )
    half = _half_width(above + equal * (1 - rank - above.mean()) / equal.mean(), confidence)
    low = nearest_rank(groups, rank - half) if rank > half else -math.inf
    high = nearest_rank(groups, rank + half) if rank + half < 1 else math.inf
    return Interval(estimate, low, high)


def mean_difference(baseline: "Groups", other: "Groups", confidence: float = 0.95) -> Interval:
    """Return the interval of the difference of means, `other` minus baseline; groups are paired."""
    differences = means(other) - means(baseline)
    estimate, half = float(differences.mean()), _half_width(differences, confidence)
    return Interval(estimate, estimate - half, estimate + half)


def mean_change(baseline: "Groups", other: "Groups", confidence: float = 0.95) -> Interval:
    """Return the interval of the relative change of means, `other` / baseline - 1; groups are paired.

    No observation may be negative; the baseline and `other` each need an observation above zero.
    """
    mine, theirs = means(other), means(baseline)
    # To first order, the logarithm of a ratio of means changes by the difference of relative deviations.
    deviations = mine / mine.mean() - theirs / theirs.mean()
    ratio, half = math.log(mine.mean() / theirs.mean()), _half_width(deviations, confidence)
    return _change(ratio, half, half)


def percentile_change(
    baseline: "Groups", other: "Groups", rank: float = 0.99, confidence: float = 0.95
) -> Interval:
    """Return the interval of the relative change of a percentile, `other` / baseline - 1; groups are paired.

    The result covers two intervals, because each is too narrow in some cases.

    (1) The interval of all ratios r that a test does not reject. The test multiplies the baseline's values
    by r, and takes the percentile of all values of both sides. If r is the true ratio, both sides have the
    same share of values above this percentile, except for the variation between pairs. This interval is too
    narrow if pairs agree closely and few values are near the percentile.

    (2) Student's interval of the ratios of the pairs. It is too narrow if groups are short or the
    distribution has a gap.

    All observations must be positive.
    """
    import numpy as np

    ratio = math.log(nearest_rank(other, rank) / nearest_rank(baseline, rank))
    own = [
        math.log(nearest_rank([mine], rank) / nearest_rank([theirs], rank))
        for theirs, mine in zip(baseline, other, strict=True)
    ]
    half = _half_width(np.array(own), confidence, around=ratio)
    tails = _Tails(baseline, other, rank, confidence)
    return _change(ratio, max(half, tails.reach(ratio, -1)), max(half, tails.reach(ratio, 1)))


class _Tails:
    """The largest values of the baseline and of `other`, which suffice to test the ratio of percentiles."""

    def __init__(self, baseline: "Groups", other: "Groups", rank: float, confidence: float) -> None:
        import numpy as np

        self.sizes = [np.array([group.size for group in side]) for side in (baseline, other)]
        self.above = math.floor(round((1 - rank) * sum(int(sizes.sum()) for sizes in self.sizes), 9))
        self.values, self.group = zip(
            *(_largest(side, self.above + 1) for side in (baseline, other)), strict=True
        )
        self.confidence = confidence

    def accepts(self, log_ratio: float) -> bool:
        """Return whether a ratio of percentiles, given by its logarithm, passes the test."""
        import numpy as np

        values = self.values[0] * math.exp(log_ratio), self.values[1]
        together = np.concatenate(values)
        threshold = np.partition(together, together.size - 1 - self.above)[together.size - 1 - self.above]
        theirs, mine = (
            np.bincount(group[side > threshold], minlength=sizes.size) / sizes
            for side, group, sizes in zip(values, self.group, self.sizes, strict=True)
        )
        differences = mine - theirs
        return abs(float(differences.mean())) <= _half_width(differences, self.confidence)

    def reach(self, log_ratio: float, direction: int) -> float:
        """Return how far accepted ratios extend from `log_ratio` in this direction, as a logarithm."""
        near, far = 0.0, PRECISION
        while self.accepts(log_ratio + direction * far):
            near, far = far, 2 * far
            if far > FARTHEST:
                return math.inf
        while far - near > PRECISION:
            middle = (near + far) / 2
            near, far = (middle, far) if self.accepts(log_ratio + direction * middle) else (near, middle)
        return far


PRECISION = 1e-5
"""Precision of the limits of a change of percentiles, as the logarithm of a ratio."""

FARTHEST = math.log(1e6)
"""Logarithm of the ratio beyond which a limit counts as infinite."""


def _largest(groups: "Groups", count: int) -> "tuple[NDArray[np.float64], NDArray[np.int64]]":
    """Return the largest values of all groups together, and the group of each."""
    import numpy as np

    values = np.concatenate(groups)
    group = np.repeat(np.arange(len(groups)), [group.size for group in groups])
    chosen = np.argpartition(values, -count)[-count:] if count < values.size else np.arange(values.size)
    return values[chosen], group[chosen]


def _change(log_ratio: float, down: float, up: float) -> Interval:
    # e^700 is near the largest double.
    high = math.expm1(log_ratio + up) if log_ratio + up < 700 else math.inf
    return Interval(math.expm1(log_ratio), math.expm1(log_ratio - down), high)


def means(groups: "Groups") -> "NDArray[np.float64]":
    """Return the mean of each group."""
    import numpy as np

    return np.array([group.mean() for group in groups])


def _half_width(values: "NDArray[np.float64]", confidence: float, around: float | None = None) -> float:
    """Return half the width of Student's interval for a mean of independent values.

    Deviations are measured from `around`, by default the mean.
    """
    centre = values.mean() if around is None else around
    deviation = math.sqrt(float(((values - centre) ** 2).sum()) / (values.size - 1))
    return student_t((1 + confidence) / 2, values.size - 1) * deviation / math.sqrt(values.size)


def is_dependent(stretches: "NDArray[np.float64]") -> bool:
    """Return whether consecutive values are significantly autocorrelated.

    The significance level is one in twenty; the first autocorrelation of n independent values has the
    standard deviation 1/sqrt(n).

    Parameters
    ----------
    stretches
        Values in order of time, shape (runs, batches).
    """
    centred = stretches - stretches.mean()
    total, successive = float((centred**2).sum()), float((centred[:, :-1] * centred[:, 1:]).sum())
    return total > 0 and successive / total > 1.645 / math.sqrt(stretches.size)


@cache
def student_t(probability: float, degrees: int) -> float:
    """Return the quantile of Student's t distribution, for probabilities above one half.

    >>> round(student_t(0.975, 4), 3), round(student_t(0.975, 9), 3), round(student_t(0.995, 1), 2)
    (2.776, 2.262, 63.66)
    """
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _two_sided(middle, degrees) < 2 * probability - 1 else (low, middle)
    return math.sqrt(degrees) * math.tan(low)


def _two_sided(angle: float, degrees: int) -> float:
    """Return P(|T| <= t) for tan(angle) = t / sqrt(degrees) (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    odd, square = degrees % 2, math.cos(angle) ** 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees > 1 else 0.0
    for factor in range(2 if odd else 1, degrees - 2, 2):
        term *= square * factor / (factor + 1)
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total
