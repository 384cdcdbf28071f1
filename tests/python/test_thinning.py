"""Tests of figures of many values: they draw few points, and keep all peaks, steps and areas."""

from collections.abc import Sequence

import numpy as np
import polars as pl

import shallows as sh
from drawn import data
from fake_runs import fake_run
from shallows import figures
from shallows.figures import distributions, over_time
from shallows.runs.steps import Series

PORT = "s->a"


def queue_run(
    times: Sequence[float], backlog: Sequence[float], end_us: float, scheme: str = "", k: int | None = None
) -> sh.Run:
    """Return a run with one queue, which has these backlogs in bytes from these times in µs on."""
    at = {"bytes": k}
    curve = {"scope": "port", "port": "to-host", "can_fire": k is not None, "kmin": at, "kmax": at}
    return fake_run(
        end_us,
        summary={"name": "x", "simulated_s": end_us / 1e6, "marking_curves": [curve] if k else []},
        scenario={"switch": {"buffer": {"kind": "static-partition"}}},
        labels={"scheme": scheme} if scheme else {},
        environment={"overrides": []},
        counters=pl.DataFrame({"port": [PORT], "kind": ["to-host"]}),
        queues=pl.DataFrame({"time_us": times, "kind": "port", "name": PORT, "bytes": backlog}),
        traces=None,
    )


def test_a_distribution_of_many_values_is_drawn_within_a_400th_of_its_shares() -> None:
    # 2,001 backlogs, one of which holds half of the time: above it is nothing until a thousand times as much.
    backlog = np.array([*range(1001), *range(1_000_000, 1_001_000)], float)
    lasts = np.array([1.0] * 1000 + [2000.0] + [1.0] * 1000)
    shares = np.cumsum(lasts) / lasts.sum()
    run = queue_run((np.cumsum(lasts) - lasts).tolist(), backlog.tolist(), lasts.sum())
    (plot,) = figures.queue_cdf([run], [PORT]).axes
    assert plot.get_xlabel() == f"backlog of {PORT} (MB)"
    # The line rises from zero at its first value, which it has twice.
    places, heights = (values[1:] for values in data(plot.get_lines()[0]))
    assert len(places) <= 2 * distributions.POINTS
    assert (places[0], places[-1], heights[-1]) == (0, backlog[-1] / 1e6, 1)
    drawn = np.searchsorted(places, backlog / 1e6, side="right") - 1
    assert np.abs(np.array(heights)[drawn] - shares).max() <= 1 / distributions.POINTS


def test_a_distribution_of_as_many_values_as_can_be_seen_has_all_of_them() -> None:
    count = distributions.POINTS
    run = queue_run([*map(float, range(count))], [1_000.0 * (place + 1) for place in range(count)], count)
    (plot,) = figures.queue_cdf([run], [PORT]).axes
    places, heights = (values[1:] for values in data(plot.get_lines()[0]))
    assert len(places) == count
    np.testing.assert_allclose(heights, np.arange(1, count + 1) / count)


def test_a_line_of_many_changes_is_their_mean_in_a_band_up_to_the_highest() -> None:
    draw = np.random.default_rng(5)
    times = np.sort(draw.uniform(0, 1000, 20_000))
    backlog = draw.exponential(50, 20_000) * draw.integers(0, 2, 20_000)
    run = queue_run(times.tolist(), backlog.tolist(), 1000.0)
    busy = Series.read(run.queues, "bytes", 1000.0, 0.0)  # type: ignore[arg-type]
    (plot,) = figures.queue([run], [PORT]).axes
    assert plot.get_ylabel() == "backlog (B)"
    edges, mean = (np.array(values) for values in data(plot.get_lines()[0]))
    assert len(edges) <= 2 * over_time.PARTS + 1
    np.testing.assert_allclose(np.average(mean[:-1], weights=np.diff(edges)), busy.mean())
    bands = [np.asarray(path.vertices)[:, 1] for area in plot.collections for path in area.get_paths()]
    assert max(float(heights.max()) for heights in bands) == busy.max()


def test_a_line_of_few_changes_has_no_band() -> None:
    run = queue_run([float(time) for time in range(10)], [10.0, 0.0] * 5, 10.0)
    (plot,) = figures.queue([run], [PORT]).axes
    # The only area is the one below the line.
    assert len(plot.collections) == 1


def test_a_panel_has_only_the_thresholds_of_its_own_scheme() -> None:
    thresholds = {"none": None, **{f"scheme {k}": 100 * k for k in range(1, 13)}}
    runs = [queue_run([0.0, 1.0], [0.0, 2_000.0], 2.0, *each) for each in thresholds.items()]
    plots = figures.queue_cdf(runs, [PORT]).axes
    assert len(plots) == len(runs)
    for plot, name in zip(plots, sorted(thresholds), strict=True):
        dotted = [line for line in plot.get_lines() if line.get_linestyle() == ":"]
        k = thresholds[name]
        assert [data(line)[0][0] for line in dotted] == ([k / 1e3] if k else []), name
