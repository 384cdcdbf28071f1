"""Tests of charts as numbers for the browser."""

import numpy as np
import pytest

from shallows.reports import chart
from shallows.runs.steps import Series


@pytest.mark.parametrize(("busy_until", "shown"), [(40, 0.44), (46, 1), (80, 1)])
def test_a_time_axis_is_cut_where_more_than_half_of_it_is_empty(busy_until: float, shown: float) -> None:
    # A tenth more than the busy part, unless that is half of the whole.
    backlog = Series(np.array([0.0, busy_until, 100.0]), np.array([10.0, 0.0, 0.0]))
    assert chart.window([backlog]) == pytest.approx(shown)
