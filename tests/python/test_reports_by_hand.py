"""Numbers of reports and their charts, on runs that never were: each is worked out by hand."""

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import shallows as sh
from shallows import reports
from shallows.comparison.ranking import Ranking, Standing
from shallows.reports import chart, of_run, ranked, sweep_charts, topology
from shallows.reports.network import boxes
from shallows.runs.network import network
from shallows.runs.steps import Series

SCENARIO = {"measure": {"bins": ["100KB", "10MB"], "traces": []}}


def invented(**found: Any) -> sh.Run:
    """A run with these tables."""
    known = {"path": Path("by-hand"), "scenario": SCENARIO, "labels": {}, "pings": None, "queries": None}
    return cast(sh.Run, SimpleNamespace(**known | found))


def swept(seed: int, load: float, scheme: str = "a", **summary: Any) -> sh.Run:
    """A point of a sweep."""
    usual = {
        "name": "x",
        "fct_us": {name: {"count": 0} for name in ("all", "small", "medium", "large")},
        "goodput_gbps": 1.0,
        "loss_rate": 0.5,
        "loss_rate_in_switches": 0.0,
        "loss_rate_in_cards": 0.0,
        "timeouts": 0,
        "retransmits": 99,
    }
    labels = {"scheme": scheme, "workload.0.load": load, "seed": seed}
    return invented(path=Path(f"{scheme}{load}{seed}"), labels=labels, summary=usual | summary)


def test_metrics_are_means_over_seeds_in_the_unit_that_is_shown() -> None:
    # Times of 1,000, 2,000 and 3,000 µs: 2 ms, 4.3027/√3 = 2.484 to either side. An interval knows no sign.
    times = [
        {"small": {"count": 5, "mean": 1_000.0 * seed, "p99": 4_000.0 * seed}, "all": {"count": 9}}
        for seed in (1, 2, 3)
    ]
    runs = [
        swept(seed, load, fct_us=each, timeouts=seed, loss_rate_in_switches=0.01, loss_rate_in_cards=0.02)
        for load in (0.4, 0.6)
        for seed, each in enumerate(times, 1)
    ]
    notes: list[str] = []
    drawn = {each.name: each for each in sweep_charts.metrics(sweep_charts.Layout.of(runs), notes)}
    mean = drawn["fct-small-mean"]
    assert (mean.x.unit, mean.y.unit) == ("%", "ms")
    first, second = mean.lines[0].points
    assert (*first, *second) == pytest.approx((40, 2, 60, 2))
    assert mean.lines[0].bars[0] == pytest.approx((40, 2 - 2.48414, 2 + 2.48414), abs=1e-4)
    assert drawn["fct-small-p99"].lines[0].points[0][1] == 8.0
    found = {name: drawn[name].lines[0].points[0][1] for name in ("loss", "card-loss", "timeouts", "goodput")}
    assert found == {"loss": 1.0, "card-loss": 2.0, "timeouts": 2.0, "goodput": 1.0}
    assert notes == ["Means of 3 seeds; bars: 95 % intervals."]


def test_two_seeds_have_a_mean_and_no_bars() -> None:
    runs = [swept(seed, load, goodput_gbps=float(seed)) for load in (0.4, 0.6) for seed in (1, 2)]
    notes: list[str] = []
    drawn = {each.name: each for each in sweep_charts.metrics(sweep_charts.Layout.of(runs), notes)}
    assert [point[1] for point in drawn["goodput"].lines[0].points] == [1.5, 1.5]
    assert drawn["goodput"].lines[0].bars == []
    assert notes == ["Means of 2 seeds, too few for intervals: no bars."]


def test_an_axis_of_times_is_drawn_in_its_unit() -> None:
    runs = [swept(1, 0.4), swept(1, 0.4)]
    for run, delay in zip(runs, ("500us", "2ms"), strict=True):
        run.labels["topology.link_delay"] = delay
    layout = sweep_charts.Layout.of(runs)
    assert layout.axis().unit == "ms"
    assert [layout.place(run) for run in runs] == pytest.approx([0.5, 2])


def flows(**columns: list[Any]) -> pl.DataFrame:
    """Flows of which only what matters is said."""
    count = len(next(iter(columns.values())))
    usual = {"size_bytes": 1_000, "fct_us": 10.0, "slowdown": 2.0, "counted": 1}
    return pl.DataFrame({name: [value] * count for name, value in usual.items()} | columns, strict=False)


def test_only_what_counts_and_came_back_is_in_distributions() -> None:
    run = invented(
        flows=flows(fct_us=[9_000.0, 1_000.0, 2_000.0, None], counted=[0, 1, 1, 1]),
        summary={"fct_us": dict.fromkeys(("all", "small", "medium", "large"))},
        queries=pl.DataFrame(
            {"workload": [0] * 3, "completion_us": [70.0, 80.0, None], "counted": [0, 1, 1]}
        ),
        pings=pl.DataFrame({"class": [0, 0], "rtt_us": [60.0, None]}),
        traces=None,
        flow_traces=None,
    )
    drawn = {each.name: each for each in of_run._charts(run)}
    assert drawn["fct_us"].lines[0].points == [(1.0, 0.5), (2.0, 1.0)]
    assert (drawn["fct_us"].x.unit, drawn["queries"].x.unit) == ("ms", "µs")
    assert drawn["queries"].lines[0].points == [(80.0, 1.0)]
    assert drawn["pings"].lines[0].points == [(60.0, 1.0)]


def test_charts_of_points_are_of_the_first_seed_and_distributions_of_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs = [swept(seed, load) for load in (0.4, 0.6) for seed in (1, 2)]
    known = {run.path: run for run in runs}
    for run in runs:
        seed = run.labels["seed"]
        vars(run)["flows"] = flows(fct_us=[1_000.0 * seed])
        vars(run)["counters"] = pl.DataFrame({"port": ["s->a"], "kind": ["to-host"]})
        rows = {"time_us": [1.0], "kind": ["port"], "name": ["s->a"], "bytes": [seed * 1_000]}
        vars(run)["queues"] = pl.DataFrame(rows)
        vars(run)["traces"] = None
        run.summary.update(simulated_s=1e-5, marking_curves=[])
        vars(run)["scenario"] = SCENARIO | {"switch": {"buffer": {"kind": "static-partition"}}}
    monkeypatch.setattr(sweep_charts, "Run", lambda path: known[path])
    monkeypatch.setattr(sweep_charts, "has_queues", lambda _: True)
    drawn = {each.name: each for each in sweep_charts.draw(runs)[0]}
    assert drawn["cdf-small"].lines[0].points == [(1.0, 0.5), (2.0, 1.0)]
    assert drawn["cdf-small"].x.unit == "ms"
    # 1 KB from 1 to 10 µs, in µs and KB.
    assert drawn["queues"].lines[0].points == [(0, 0), (1, 1), (10, 1)]


def test_thresholds_are_drawn_in_bytes_where_they_are_and_not_far_above_what_was() -> None:
    def curve(scope: str, kmin: int, kmax: int, *, fires: bool = True) -> dict[str, Any]:
        ends = [{"bytes": size, "packets": size / 1_000} for size in (kmin, kmax)]
        return {"scope": scope, "port": "to-host", "can_fire": fires, "kmin": ends[0], "kmax": ends[1]}

    curves = [
        curve("queue", 5_000, 9_000),
        curve("port", 7_000, 7_000),
        curve("pool", 8_000, 8_000),
        curve("queue", 6_000, 6_000, fires=False),
    ]
    counters = pl.DataFrame({"port": ["s->a"], "kind": ["to-host"]})
    run = invented(summary={"marking_curves": curves}, counters=counters)
    drawn = {"s->a": Series(np.array([0.0, 10.0]), np.array([3_000.0, 3_000.0]))}
    known = [("marks from", 5_000), ("marks all above", 9_000), ("marks above", 7_000)]
    assert of_run.levels(run, drawn, "port") == known
    assert of_run.levels(run, drawn, "pool") == [("marks above", 8_000)]
    made = of_run._backlog(
        "queues", "Queues", drawn, [*known, ("far", 9_001.0)], lambda all_: chart.OverTime(all_, 1)
    )
    assert [(level.name, level.value) for level in made.levels] == [
        ("marks from", 5),
        ("marks all above", 9),
        ("marks above", 7),
    ]


def test_a_time_axis_is_cut_only_where_most_of_it_is_empty() -> None:
    def shown(busy: float) -> float:
        return chart.window([Series(np.array([0.0, busy, 100.0]), np.array([10.0, 0.0, 0.0]))])

    # A tenth more than what is busy, unless that is half of the whole.
    assert [shown(busy) for busy in (40, 46, 80)] == pytest.approx([0.44, 1, 1])


def test_a_percentile_of_two_thousand_flows_can_be_told() -> None:
    def few(*counts: int) -> dict[str, int]:
        named = dict(zip(("all", "small", "medium", "large"), counts, strict=True))
        return of_run.few_samples({"fct_us": {name: {"count": count} for name, count in named.items()}})

    assert few(6_000, 2_000, 1_999, 0) == {"medium flows": 1_999}
    assert few(1_999, 1_999, 0, 0) == {"flows": 1_999}
    assert few(2_000, 2_000, 0, 0) == {}


COMMON = {"rate": "10Gbps", "link_delay": "1us", "host_delay": "0ps", "mtu": 1500, "links": []}
FABRIC = COMMON | {
    "kind": "leaf-spine",
    "leaves": 1,
    "spines": 2,
    "hosts_per_leaf": 4,
    "uplink_rate": "20Gbps",
    "uplink_delay": "3us",
}
DUMBBELL = COMMON | {
    "kind": "dumbbell",
    "left": 3,
    "right": 2,
    "bottleneck_rate": "5Gbps",
    "bottleneck_delay": "7us",
}


def test_links_of_a_drawing_have_their_rates_delays_and_numbers() -> None:
    def links(drawn: dict[str, Any]) -> list[tuple[Any, ...]]:
        found = boxes(network(drawn)).links.items()
        return [(*link.ends, link.rate, link.delay, count) for link, count in found]

    assert sorted(links(FABRIC)) == [
        ("leaf0", "host0 – host3", "10 Gbps", "1 µs", 4),
        ("leaf0", "spine0", "20 Gbps", "3 µs", 1),
        ("leaf0", "spine1", "20 Gbps", "3 µs", 1),
    ]
    assert sorted(links(DUMBBELL)) == [
        ("left", "host0 – host2", "10 Gbps", "1 µs", 3),
        ("left", "right", "5 Gbps", "7 µs", 1),
        ("right", "host3 – host4", "10 Gbps", "1 µs", 2),
    ]
    # Four times 10 over two times 20 Gbps: as much as comes can leave.
    one_spine = FABRIC | {"spines": 1}
    assert ": not oversubscribed, 1 to 1." in topology.describe(FABRIC, network(FABRIC))
    assert ": oversubscribed, 2 to 1." in topology.describe(one_spine, network(one_spine))


def data(page: Path) -> dict[str, Any]:
    """What the charts of a page are drawn from."""
    text = page.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return cast(dict[str, Any], json.loads(found[1]))


def test_a_claim_is_shown_at_the_place_that_decides_beside_seeds_and_paper(tmp_path: Path) -> None:
    def check(place: float, verdict: str, ours: str) -> dict[str, Any]:
        found = {"place": place, "paper": "100", "ours": 1.0, "interval": [0.0, 2.0], "verdict": verdict}
        return found | {"seeds": 3, "said": verdict, "shown": {"ours": ours, "interval": ""}}

    claim = {"id": "fig2", "source": "Fig. 2", "kind": "value", "metric": "m", "experiment": "x", "cause": ""}
    checks = [check(0.4, "holds", "17 of it"), check(0.6, "does not hold", "19 of it")]
    line = {"name": "K", "index": 0, "ours": [[0.4, 12.0, 11.0, 17.0]], "paper": [[0.4, 10.0]]}
    panel = {"title": "p99", "lines": [line]}
    document = {
        "paper": "A",
        "quick": False,
        "claims": [
            claim | {"verdict": "does not hold", "seeds": 3, "said": "does not hold", "checks": checks}
        ],
        "drawings": {"x": {"axis": "load", "is_wide": False, "seeds": [3], "panels": [panel]}},
        "figures": {"x": ["2"]},
        "command": "shallows reproduce a",
        "build": {"version": "1"},
    }
    (tmp_path / "claims.json").write_text(json.dumps(document))
    page = reports.write(tmp_path)
    table, _ = page.read_text(encoding="utf-8").split("Every claim at every place")
    assert "1 of 2" in table
    assert "19 of it" in table
    assert "17 of it" not in table
    ours, theirs = data(page)["charts"][0]["lines"]
    assert (ours["points"], ours["bars"], theirs["points"]) == ([[0.4, 12]], [[0.4, 11, 17]], [[0.4, 10]])


def test_places_are_drawn_in_the_unit_of_each_metric() -> None:
    def standing(place: str, time: float, loss: float) -> Standing:
        values: dict[str, float | None] = {"fct_us.all.mean": time, "loss_rate_in_switches": loss}
        return Standing(place, values, 0.0, 0.0, 0.0, "worse", "", "not beaten", [], [])

    at = [standing("A", 2_000.0, 0.01), standing("B", 3_000.0, 0.005)]
    drawn = ranked._chart([Ranking({}, ["fct_us.all.mean", "loss_rate_in_switches"], at)])
    assert drawn is not None
    assert (drawn.x.unit, drawn.y.unit) == ("ms", "%")
    assert [line.points for line in drawn.lines] == [[(2.0, 1.0)], [(3.0, 0.5)]]
