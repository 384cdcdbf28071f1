"""Tests of percentiles by nearest rank."""

import numpy as np
import pytest

from shallows.runs.ranks import nearest_rank


@pytest.mark.parametrize(
    ("rank", "expected"),
    [(1e-9, 1), (0.1, 1), (0.1 + 4e-11, 1), (0.1 + 4e-10, 2), (0.9, 9), (1.0, 10)],
)
def test_a_rank_is_rounded_to_a_billionth_of_an_observation(rank: float, expected: float) -> None:
    # The values are 1 to 10: a rank of 0.1 + x is the observation 1 + 10x, which counts from 10⁻⁹ on.
    ten = [np.arange(1.0, 6.0), np.arange(6.0, 11.0)]
    assert nearest_rank(ten, rank) == expected
