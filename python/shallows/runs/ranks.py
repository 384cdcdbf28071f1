"""The percentile of observations, by nearest rank."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Groups = Sequence[NDArray[np.float64]]


def nearest_rank(groups: "Groups", rank: float) -> float:
    """Return the smallest value of all groups together that a share `rank` of them does not exceed.

    `rank` is above 0 and at most 1, and there is at least one value. The rank counts as the decimal number
    that it is written as: 0.99 of 100 values are 99.
    """
    import numpy as np

    together = np.concatenate(groups)
    # Ranks that were computed may be a rounding error too high.
    place = math.ceil(round(Fraction(repr(float(rank))) * together.size, 9)) - 1
    return float(np.partition(together, place)[place])
