"""Tests of values over time: reading from tables, and means, quantiles, parts and windows by time."""

import math

import numpy as np
import polars as pl
import pytest

from shallows.errors import ShallowsError
from shallows.runs.steps import Series


def steps(times: list[float], values: list[float]) -> Series:
    """Return a series in which each value holds until the next time; the last value has no duration."""
    return Series(np.array(times, float), np.array(values, float))


# Reading a table.


@pytest.mark.parametrize(
    ("times", "before", "expected"),
    [
        ([4.0], None, ([4.0, 10.0], [1.0, 1.0])),
        # What is known from before begins with the run, unless the table does too.
        ([4.0], 7.0, ([0.0, 4.0, 10.0], [7.0, 1.0, 1.0])),
        ([0.0], 7.0, ([0.0, 10.0], [1.0, 1.0])),
        ([], 7.0, ([0.0, 10.0], [7.0, 7.0])),
        # Rows at the end of the run, at 10 µs, and after it.
        ([4.0, 10.0], None, ([4.0, 10.0], [1.0, 1.0])),
        ([12.0], None, ([12.0, 12.0], [1.0, 1.0])),
    ],
)
def test_a_series_that_is_read_lasts_until_the_end_of_the_run(
    times: list[float], before: float | None, expected: tuple[list[float], list[float]]
) -> None:
    frame = pl.DataFrame(
        {"time_us": times, "value": [1.0] * len(times)}, schema={"time_us": pl.Float64, "value": pl.Float64}
    )
    made = Series.read(frame, "value", 10.0, before)
    assert (made.times.tolist(), made.values.tolist()) == expected


# Statistics. 30 for 2 µs, 10 for 4 and 20 for 4.
STEPS = steps([0, 2, 6, 10], [30, 10, 20, 20])

# 10 for 6 µs and 50 for 4; the 90 at its end has no duration.
ENDS_HIGH = steps([0, 6, 10], [10, 50, 90])


def test_a_series_has_extremes_and_a_length() -> None:
    assert (STEPS.min(), STEPS.max(), STEPS.length_us) == (10, 30, 10)


@pytest.mark.parametrize(("series", "mean"), [(STEPS, 18), (ENDS_HIGH, 26)])
def test_a_mean_is_weighed_by_time(series: Series, mean: float) -> None:
    assert series.mean() == mean


def test_the_last_value_holds_for_no_time_and_is_no_maximum() -> None:
    assert ENDS_HIGH.max() == 50


def test_a_value_holds_from_its_time_until_the_next() -> None:
    assert ENDS_HIGH.at(np.array([5.9, 6.0, 10.0])).tolist() == [10, 50, 90]


def test_a_deviation_is_weighed_by_time() -> None:
    # 2 for 3 µs and 6 for 1: the mean is 3, and the squares' (12 + 36) / 4 = 12, less 9.
    assert steps([0, 3, 4], [2, 6, 6]).std() == pytest.approx(math.sqrt(3))


@pytest.mark.parametrize("value", [0.7, 123.456])
def test_a_value_that_never_changes_has_no_deviation_however_its_square_is_rounded(value: float) -> None:
    # The mean of the squares comes out a little below the square of the mean.
    times = [0.0, 0.1, 0.7, 1.0]
    constant = steps(times, [value] * 4)
    assert steps(times, [value**2] * 4).mean() < constant.mean() ** 2
    assert constant.std() == 0


@pytest.mark.parametrize(
    ("series", "values", "shares"),
    [
        (STEPS, [10, 20, 30], [0.4, 0.8, 1.0]),
        # A value that occurs twice is one.
        (steps([0, 1, 3, 4], [5, 7, 5, 5]), [5, 7], [0.5, 1]),
    ],
)
def test_a_distribution_has_each_value_once_with_the_share_of_time_up_to_it(
    series: Series, values: list[float], shares: list[float]
) -> None:
    assert [found.tolist() for found in series.distribution()] == [values, shares]


@pytest.mark.parametrize(
    ("series", "share", "value"),
    [
        (STEPS, 0.0, 10),
        (STEPS, 0.4, 10),
        (STEPS, 0.41, 20),
        (STEPS, 0.8, 20),
        (STEPS, 1.0, 30),
        (ENDS_HIGH, 0.6, 10),
        (ENDS_HIGH, 0.61, 50),
        (ENDS_HIGH, 1.0, 50),
    ],
)
def test_a_quantile_is_the_smallest_value_that_holds_up_to_a_share_of_time(
    series: Series, share: float, value: float
) -> None:
    assert series.quantile(share) == value


@pytest.mark.parametrize("share", [-0.01, 1.01])
def test_a_quantile_outside_0_to_1_is_refused(share: float) -> None:
    with pytest.raises(ShallowsError, match="a quantile must be from 0 to 1"):
        STEPS.quantile(share)


@pytest.mark.parametrize(("value", "time_us"), [(10, 4), (20, 4), (30, 2), (40, 0)])
def test_the_time_at_a_value_is_in_microseconds(value: float, time_us: float) -> None:
    assert STEPS.time_at(value) == time_us


@pytest.mark.parametrize(
    ("series", "limit", "share"),
    [
        (STEPS, 5, 1),
        (STEPS, 10, 0.6),
        (STEPS, 25, 0.2),
        (STEPS, 30, 0),
        (ENDS_HIGH, 9, 1),
        (ENDS_HIGH, 10, 0.4),
        (ENDS_HIGH, 50, 0),
    ],
)
def test_a_share_of_time_above_a_limit_excludes_the_limit(series: Series, limit: float, share: float) -> None:
    assert series.share_above(limit) == pytest.approx(share)


@pytest.mark.parametrize(
    ("series", "share", "time_us"),
    [
        # Of an area of 180, 60 have passed at 2 µs and 100 at 6.
        (STEPS, 60 / 180, 2),
        (STEPS, 61 / 180, 6),
        (STEPS, 100 / 180, 6),
        (STEPS, 1.0, 10),
        # Of 260, 60 have passed at 6 µs.
        (ENDS_HIGH, 60 / 260, 6),
        (ENDS_HIGH, 0.5, 10),
    ],
)
def test_a_series_has_settled_where_a_share_of_its_area_has_passed(
    series: Series, share: float, time_us: float
) -> None:
    assert series.settled(share) == time_us


# Parts of the time.


@pytest.mark.parametrize(
    ("limits", "times", "values"),
    [
        ((1.0, 6.0), [1, 2, 6], [30, 10, 20]),
        ((2.0,), [2, 6, 10], [10, 20, 20]),
        ((0.0, 10.0), [0, 2, 6, 10], [30, 10, 20, 20]),
    ],
)
def test_a_part_of_a_series_has_the_values_that_held_then(
    limits: tuple[float, ...], times: list[float], values: list[float]
) -> None:
    part = STEPS.between(*limits)
    assert (part.times.tolist(), part.values.tolist()) == (times, values)


@pytest.mark.parametrize(("begin", "end"), [(-0.1, 5.0), (5.0, 5.0), (6.0, 5.0), (5.0, 10.1)])
def test_a_part_that_is_empty_or_outside_of_the_series_is_refused(begin: float, end: float) -> None:
    with pytest.raises(ShallowsError, match="choose times from"):
        STEPS.between(begin, end)


LATE = steps([100, 102, 106, 110], [30, 10, 20, 20])


@pytest.mark.parametrize(
    ("every", "rows"),
    [
        # 30 for half of the first window, 10 for the rest and half of the second, 20 from there on.
        (4.0, [(100, 20, 10, 30), (104, 15, 10, 20), (108, 20, 20, 20)]),
        (10.0, [(100, 18, 10, 30)]),
        (99.0, [(100, 18, 10, 30)]),
    ],
)
def test_windows_begin_with_the_series_and_the_last_ends_with_it(
    every: float, rows: list[tuple[float, ...]]
) -> None:
    assert LATE.resampled(every).rows() == rows


def test_there_is_no_window_at_the_end_of_a_series() -> None:
    assert LATE.resampled(5.0)["time_us"].to_list() == [100, 105]


@pytest.mark.parametrize("every", [0.0, -1.0, float("inf"), float("nan")])
def test_a_window_without_a_finite_positive_length_is_refused(every: float) -> None:
    with pytest.raises(ShallowsError, match="a window must be finite"):
        LATE.resampled(every)


def test_more_than_ten_million_windows_are_refused() -> None:
    with pytest.raises(ShallowsError, match="at most 10,000,000 windows; 1e\\+07 µs in windows of 1 µs"):
        steps([0, 1e7, 1e7 + 1], [1, 1, 1]).resampled(1.0)


# Thinning to few parts.


def test_parts_are_all_changes_where_they_suffice() -> None:
    every = STEPS.parts(3)
    assert (every.edges.tolist(), every.longest_us) == ([0, 2, 6, 10], 0)
    assert every.mean.tolist() == every.low.tolist() == every.high.tolist() == [30, 10, 20]


@pytest.mark.parametrize(("most", "edges"), [(3, [0, 2, 6, 10]), (4, [0, 1, 2, 6, 10])])
def test_rows_that_repeat_a_value_are_left_out_first(most: int, edges: list[float]) -> None:
    assert steps([0, 1, 2, 6, 10], [30, 30, 10, 20, 20]).parts(most).edges.tolist() == edges


def test_the_highest_value_between_edges_is_that_which_holds_there() -> None:
    assert STEPS.highest(np.array([0.0, 2.0, 5.0, 10.0])).tolist() == [30, 10, 20]


def test_parts_are_as_short_as_their_number_allows() -> None:
    # 0 and 8 in turn for 1 µs each from 84 to 100 µs. Of 16 equal parts the last three hold the changes; with
    # the idle time before, these are four, and of 32 parts they would be more. Of 6.25 µs 2 are at 8, then 3
    # and 3.
    times = [0.0, *np.arange(84.0, 101.0).tolist()]
    parts = steps(times, [0.0, *[8.0, 0.0] * 8, 0.0]).parts(4)
    assert (parts.edges.tolist(), parts.longest_us) == ([0, 81.25, 87.5, 93.75, 100], 6.25)
    assert parts.mean.tolist() == pytest.approx([0, 16 / 6.25, 24 / 6.25, 24 / 6.25])
    assert (parts.low.tolist(), parts.high.tolist()) == ([0] * 4, [0, 8, 8, 8])


def test_parts_with_a_single_change_end_there() -> None:
    # Of eight parts the first and the fifth have one change each, and end there; the last has three. Of 16
    # parts one without any would follow the one with three.
    parts = steps([0, 10, 60, 90, 91, 92, 100], [1, 2, 3, 4, 5, 6, 6]).parts(4)
    assert (parts.edges.tolist(), parts.longest_us) == ([0, 10, 60, 87.5, 100], 12.5)
    assert parts.mean.tolist() == pytest.approx([1, 2, 3, (3 * 2.5 + 4 + 5 + 6 * 8) / 12.5])
    assert (parts.low.tolist(), parts.high.tolist()) == ([1, 2, 3, 3], [1, 2, 3, 6])
