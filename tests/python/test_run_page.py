"""Tests of the page of a run: the flows in its distributions, and the thresholds in its charts."""

import json
import re
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import shallows as sh
from fake_runs import change_summary, columns_of, fake_run, flow_table
from shallows.reports import of_run
from shallows.series.thresholds import thresholds
from shared import SMALL


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small run."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "small.toml").write_text(SMALL)
    return sh.run(folder / "small.toml", out=folder / "run").path


@pytest.fixture
def run(folder: Path) -> sh.Run:
    """A small run, in which tests may replace tables in memory."""
    return sh.Run(folder)


def hold(run: sh.Run, name: str, table: pl.DataFrame) -> None:
    """Replace a table of a run in memory."""
    columns, has = run.columns, run.has
    vars(run)["columns"] = lambda wanted: columns_of(table) if wanted == name else columns(wanted)
    vars(run)["has"] = lambda wanted: wanted == name or has(wanted)


def charts(run: sh.Run) -> dict[str, Any]:
    """Return the data of the charts in a run's page, by name."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', of_run.page(run), re.DOTALL
    )
    assert found
    return {each["name"]: each for each in cast(dict[str, Any], json.loads(found[1]))["charts"]}


def test_distributions_of_flows_count_finished_flows_after_the_warm_up(run: sh.Run) -> None:
    hold(run, "flows", flow_table(fct_us=[9_000.0, 1_000.0, 2_000.0, None], counted=[0, 1, 1, 1]))
    drawn = charts(run)["fct_us"]
    assert drawn["x"]["unit"] == "ms"
    assert drawn["lines"][0]["points"] == [[1.0, 0.5], [2.0, 1.0]]


def test_distributions_of_queries_count_finished_queries_after_the_warm_up(run: sh.Run) -> None:
    queries = {"workload": [0] * 3, "completion_us": [70.0, 80.0, None], "counted": [0, 1, 1]}
    hold(run, "queries", pl.DataFrame(queries))
    drawn = charts(run)["queries"]
    assert drawn["x"]["unit"] == "µs"
    assert drawn["lines"][0]["points"] == [[80.0, 1.0]]


def test_distributions_of_pings_count_those_with_a_reply(run: sh.Run) -> None:
    hold(run, "pings", pl.DataFrame({"class": [0, 0], "rtt_us": [60.0, None]}))
    assert charts(run)["pings"]["lines"][0]["points"] == [[60.0, 1.0]]


def test_thresholds_above_three_times_the_longest_queue_are_not_drawn(run: sh.Run) -> None:
    curve: dict[str, Any]
    (curve,) = run.summary["marking_curves"]

    def at(low: int, high: int) -> dict[str, Any]:
        return curve | {"kmin": curve["kmin"] | {"bytes": low}, "kmax": curve["kmax"] | {"bytes": high}}

    port = run.counters.filter(pl.col("kind") == curve["port"])["port"][0]
    vars(run)["queues"] = pl.DataFrame({"time_us": [1.0], "kind": ["port"], "name": [port], "bytes": [3_000]})
    change_summary(run, marking_curves=[at(5_000, 9_000), at(7_000, 7_000), at(9_001, 9_001)])
    # In KB, as the queue is.
    assert [(level["name"], level["value"]) for level in charts(run)["queues"]["levels"]] == [
        ("Kmin = 5 KB", 5),
        ("Kmax = 9 KB", 9),
        ("K = 7 KB", 7),
    ]


def test_thresholds_of_a_port_are_those_of_its_queues_and_its_own() -> None:
    def curve(scope: str, kmin: int, kmax: int, *, fires: bool = True) -> dict[str, Any]:
        ends = [{"bytes": size, "packets": size / 1_000} for size in (kmin, kmax)]
        return {"scope": scope, "port": "to-host", "can_fire": fires, "kmin": ends[0], "kmax": ends[1]}

    curves = [
        curve("queue", 5_000, 9_000),
        curve("port", 7_000, 7_000),
        curve("pool", 8_000, 8_000),
        curve("queue", 6_000, 6_000, fires=False),
    ]
    counters = pl.DataFrame({"port": ["s->a", "s->b"], "kind": ["to-host", "up"]})
    switch = {"buffer": {"kind": "complete-sharing"}, "port": {"queues": 1}}
    run = fake_run(summary={"marking_curves": curves}, counters=counters, scenario={"switch": switch})
    assert thresholds(run, "s->a") == [("Kmin", 5_000), ("Kmax", 9_000), ("K", 7_000)]
    assert thresholds(run, "s.pool0") == [("K", 8_000)]
    assert thresholds(run, "s->b") == []
    switch["port"] = {"queues": 2}
    assert thresholds(run, "s->a")[0] == ("Kmin of each queue", 5_000)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        # docs/statistics.md: 20 values above a 99th percentile take 2,000.
        ((6_000, 2_000, 1_999, 0), {"medium flows": 1_999}),
        ((1_999, 1_999, 0, 0), {"flows": 1_999}),
        ((2_000, 2_000, 0, 0), {}),
    ],
)
def test_fewer_than_2000_flows_are_too_few_for_a_99th_percentile(
    counts: tuple[int, ...], expected: dict[str, int]
) -> None:
    names = ("all", "small", "medium", "large")
    summary = {"fct_us": {name: {"count": count} for name, count in zip(names, counts, strict=True)}}
    assert of_run.few_samples([summary]) == expected


def test_seeds_together_have_enough_flows_for_a_99th_percentile() -> None:
    seeds = [{"fct_us": {"all": {"count": count}}} for count in (1_000, 999)]
    assert of_run.few_samples(seeds) == {"flows": 1_999}
    assert of_run.few_samples([*seeds, {"fct_us": {"all": {"count": 1}}}]) == {}
