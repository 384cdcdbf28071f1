"""The percentile of observations, by nearest rank."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Groups = Sequence[NDArray[np.float64]]


def place_of(rank: float, count: int) -> int:
    """The place, from 0, of this percentile among so many values in ascending order.

    It is that of the smallest value that a share `rank` of them does not exceed. `rank` is above 0 and at
    most 1, and counts as the decimal number that it is written as: 0.99 of 100 values are 99.

    >>> place_of(0.99, 100), place_of(0.5, 3)
    (98, 1)
    """
    # Ranks that were computed may be a rounding error too high.
    return math.ceil(round(Fraction(repr(float(rank))) * count, 9)) - 1


def nearest_rank(groups: "Groups", rank: float) -> float:
    """The percentile of all groups together, which have a value or more; `place_of` explains `rank`."""
    import numpy as np

    together = np.concatenate(groups)
    place = place_of(rank, together.size)
    return float(np.partition(together, place)[place])
