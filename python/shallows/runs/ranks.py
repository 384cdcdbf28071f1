"""Percentiles of observations by nearest rank."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Groups = Sequence[NDArray[np.float64]]


def place_of(rank: float, count: int) -> int:
    """Return the index of a percentile among `count` values in ascending order.

    The percentile is the smallest value for which at least a share `rank` of all values is less than or equal
    to it.
    `rank` is above 0 and at most 1, and is interpreted as its decimal text: 0.99 of 100 values is exactly 99.

    >>> place_of(0.99, 100), place_of(0.5, 3)
    (98, 1)
    """
    # Rounding removes the floating-point error of computed ranks.
    return math.ceil(round(Fraction(repr(float(rank))) * count, 9)) - 1


def nearest_rank(groups: "Groups", rank: float) -> float:
    """Return the percentile of the values of all groups together; at least one group must have a value."""
    import numpy as np

    together = np.concatenate(groups)
    place = place_of(rank, together.size)
    return float(np.partition(together, place)[place])
