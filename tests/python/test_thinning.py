"""What many points are drawn as."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from shallows.figures import distributions, over_time, style
from shallows.runs.steps import Series


def test_a_distribution_of_many_values_is_drawn_to_a_part_of_its_points() -> None:
    # 2,001 values, one of which has half of the mass: above it is nothing until a thousand times as much.
    values = [*range(1001), *range(1_000_000, 1_001_000)]
    masses = np.array([1.0] * 1000 + [2000.0] + [1.0] * 1000)
    shares = np.cumsum(masses) / masses.sum()
    places, heights = distributions._few(values, shares.tolist())
    assert len(places) <= 2 * distributions.POINTS
    assert (places[0], places[-1], heights[-1]) == (0, values[-1], 1)
    drawn = np.searchsorted(places, values, side="right") - 1
    assert np.abs(np.array(heights)[drawn] - shares).max() <= 1 / distributions.POINTS
    few = (values[: distributions.POINTS], shares[: distributions.POINTS].tolist())
    assert distributions._few(*few) == few


def test_a_line_over_time_of_many_changes_is_their_mean_in_a_band_of_all() -> None:
    draw = np.random.default_rng(5)
    times = np.sort(draw.uniform(0, 1000, 20_000))
    busy = Series(times, draw.exponential(50, 20_000) * draw.integers(0, 2, 20_000))
    _, plot = plt.subplots()
    unit = style.Unit("", 1)
    line = over_time._draw_parts(plot, busy, unit, unit)
    edges, mean = (np.asarray(values) for values in line.get_data())
    assert len(edges) <= 2 * over_time.PARTS + 1
    assert (mean[:-1] * np.diff(edges)).sum() == pytest.approx(busy.mean() * busy.length_us)
    highest = max(
        float(np.asarray(path.vertices)[:, 1].max()) for area in plot.collections for path in area.get_paths()
    )
    assert highest == busy.max()
    over_time._draw_parts(plot, busy.between(0.5 + times[0], 10), unit, unit)
    assert len(plot.collections) == 1
    plt.close()
