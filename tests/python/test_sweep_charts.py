"""Tests of the charts of a sweep: means, intervals over seeds, axes, and the runs in each chart."""

from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import shallows as sh
from fake_runs import BINS, change_summary, fake_run, flow_table
from shallows.reports import sweep_charts
from shallows.reports.chart import Chart

SCENARIO: dict[str, Any] = {"measure": {"bins": BINS, "traces": []}}


def point(seed: int, load: float, scheme: str = "a", **summary: Any) -> sh.Run:
    """Return a run of a sweep, with these keys in its summary."""
    usual = {
        "name": "x",
        "fct_us": {name: {"count": 0} for name in ("all", "small", "medium", "large")},
        "goodput_gbps": 1.0,
        "loss_rate": 0.5,
        "loss_rate_in_switches": 0.0,
        "loss_rate_in_nics": 0.0,
        "timeouts": 0,
        "retransmits": 99,
    }
    return fake_run(
        path=Path(f"{scheme}{load}{seed}"),
        scenario=SCENARIO,
        labels={"scheme": scheme, "workload.0.load": load, "seed": seed},
        summary=usual | summary,
    )


def drawn(runs: list[sh.Run]) -> tuple[dict[str, Chart], list[str]]:
    """Return the charts of metrics by name, and their notes."""
    notes: list[str] = []
    found = sweep_charts.metrics(sweep_charts.Layout.of(runs), notes)
    return {each.name: each for each in found}, notes


@pytest.fixture
def three_seeds() -> list[sh.Run]:
    """Return runs at two loads; with seed n, small flows have a mean of n ms and a p99 of 4n ms."""
    times = [
        {"small": {"count": 700, "mean": 1_000.0 * seed, "p99": 4_000.0 * seed}, "all": {"count": 9}}
        for seed in (1, 2, 3)
    ]
    return [
        point(seed, load, fct_us=each, timeouts=seed, loss_rate_in_switches=0.01, loss_rate_in_nics=0.02)
        for load in (0.4, 0.6)
        for seed, each in enumerate(times, 1)
    ]


def test_a_metric_is_the_mean_over_seeds_with_its_95_percent_interval(three_seeds: list[sh.Run]) -> None:
    charts, notes = drawn(three_seeds)
    mean = charts["fct-small-mean"]
    assert (mean.x.unit, mean.y.unit) == ("%", "ms")
    first, second = mean.lines[0].points
    assert (*first, *second) == pytest.approx((40, 2, 60, 2))
    # 1, 2 and 3 ms: 2 ms, t(0.975, 2)/√3 = 4.3027/√3 = 2.484 to either side. An interval knows no sign.
    assert mean.lines[0].bars[0] == pytest.approx((40, 2 - 2.48414, 2 + 2.48414), abs=1e-4)
    assert charts["fct-small-p99"].lines[0].points[0][1] == 8.0
    assert notes == ["Means of 3 seeds; bars: 95 % intervals."]


def test_losses_are_drawn_in_percent_apart_for_switches_and_nics(three_seeds: list[sh.Run]) -> None:
    charts, _ = drawn(three_seeds)
    found = {name: charts[name].lines[0].points[0][1] for name in ("loss", "nic-loss", "timeouts", "goodput")}
    assert found == {"loss": 1.0, "nic-loss": 2.0, "timeouts": 2.0, "goodput": 1.0}


def test_two_seeds_have_a_mean_and_no_interval() -> None:
    charts, notes = drawn(
        [point(seed, load, goodput_gbps=float(seed)) for load in (0.4, 0.6) for seed in (1, 2)]
    )
    assert [at[1] for at in charts["goodput"].lines[0].points] == [1.5, 1.5]
    assert charts["goodput"].lines[0].bars == []
    assert notes == ["Means of 2 seeds, too few for intervals: no bars."]


def test_an_axis_of_times_has_their_unit() -> None:
    runs = [point(1, 0.4), point(1, 0.4)]
    for run, delay in zip(runs, ("500us", "2ms"), strict=True):
        run.labels["topology.link_delay"] = delay
    layout = sweep_charts.Layout.of(runs)
    assert layout.axis().unit == "ms"
    assert [layout.place(run) for run in runs] == pytest.approx([0.5, 2])


@pytest.fixture
def charts_of_two_seeds(monkeypatch: pytest.MonkeyPatch) -> dict[str, Chart]:
    """Charts at two loads; with seed n, the flow takes n ms, and the queue holds n KB from 1 to 10 µs."""
    runs = [point(seed, load) for load in (0.4, 0.6) for seed in (1, 2)]
    known = {run.path: run for run in runs}
    for run in runs:
        seed = cast(int, run.labels["seed"])
        vars(run).update(
            flows=flow_table(fct_us=[1_000.0 * seed]),
            counters=pl.DataFrame({"port": ["s->a"], "kind": ["to-host"]}),
            queues=pl.DataFrame(
                {"time_us": [1.0], "kind": ["port"], "name": ["s->a"], "bytes": [seed * 1_000]}
            ),
            traces=None,
            scenario=SCENARIO | {"switch": {"buffer": {"kind": "static-partition"}}},
        )
        change_summary(run, simulated_s=1e-5, marking_curves=[])
    monkeypatch.setattr(sweep_charts, "Run", lambda path: known[path])
    monkeypatch.setattr(sweep_charts, "has_queues", lambda _: True)
    return {each.name: each for each in sweep_charts.draw(runs)[0]}


def test_a_distribution_is_of_the_flows_of_all_seeds(charts_of_two_seeds: dict[str, Chart]) -> None:
    found = charts_of_two_seeds["cdf-small"]
    assert found.x.unit == "ms"
    assert found.lines[0].points == [(1.0, 0.5), (2.0, 1.0)]


def test_a_queue_over_time_is_of_the_first_seed(charts_of_two_seeds: dict[str, Chart]) -> None:
    # In µs and KB.
    assert charts_of_two_seeds["queues"].lines[0].points == [(0, 0), (1, 1), (10, 1)]
