"""What single numbers decide, and where their edges are: each is worked out by hand."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import shallows as sh
from shallows.errors import ShallowsError
from shallows.reproduction import beside, findings, like
from shallows.reproduction.expected import Claim, Experiment
from shallows.reproduction.findings import Finding
from shallows.reproduction.judging import Check, Measured, judge
from shallows.runs import breakdown, tables
from shallows.runs.steps import Series
from shallows.series import completions, flow_series, inputs
from shallows.sweeps.points import Shard


def invented(**found: Any) -> sh.Run:
    """A run that never was and has these tables."""
    return cast(sh.Run, SimpleNamespace(**{"path": Path("by-hand")} | found))


def test_what_a_flow_acknowledged_last_has_no_row_and_comes_only_if_it_ended() -> None:
    flows = {
        "flow": [0, 1],
        "size_bytes": [900, 900],
        "arrival_us": [5.0, 6.0],
        "fct_sender_us": [20.0, None],
    }
    run = invented(flows=pl.DataFrame(flows, strict=False), summary={"simulated_s": 1e-4})
    rows = {"time_us": [10.0, 10.0], "flow": [0, 1], "value": [300.0, 400.0]}
    trace = pl.DataFrame(rows)
    assert flow_series.acked_bytes(run, 0, trace).rows() == [(10.0, 300.0), (25.0, 900.0)]
    assert flow_series.acked_bytes(run, 1, trace).rows() == [(10.0, 400.0)]
    assert flow_series.end_us(run) == pytest.approx(100.0)


def test_sizes_begin_at_nothing_and_the_last_has_no_end() -> None:
    def run(*bins: str) -> sh.Run:
        times: dict[str, Any] = {"all": {}, "small": {}, "medium": {}, "large": {}}
        return invented(summary={"fct_us": times}, scenario={"measure": {"bins": list(bins)}})

    found = {"small": (0, 100_000), "medium": (100_000, 10_000_000), "large": (10_000_000, None)}
    assert completions.size_bins([run("100KB", "10MB")] * 2) == found
    with pytest.raises(ShallowsError, match="different size bins"):
        completions.size_bins([run("100KB", "10MB"), run("1KB", "10MB")])


def test_percentiles_of_a_breakdown_are_the_smallest_values_that_so_many_do_not_exceed() -> None:
    def of(count: int) -> dict[str, Any]:
        times = [float(number) for number in range(count, 0, -1)]
        flows = {"class": [0] * count, "fct_us": times, "slowdown": [2 * each for each in times]}
        flows |= {name: [1] * count for name in ("counted", "timeouts", "retransmits")}
        flows["delivered_bytes"] = [1_000] * count
        run = invented(flows=pl.DataFrame(flows), summary={"simulated_s": 1e-6})
        (row,) = breakdown.by(cast(Any, run), "class").iter_rows(named=True)
        return row

    # Of three the second; of four the second as well; of 100 the 99th, of 101 the 100th.
    assert [of(count)["fct_p50_us"] for count in (1, 2, 3, 4)] == [1.0, 1.0, 2.0, 2.0]
    assert [of(count)["fct_p99_us"] for count in (1, 100, 101)] == [1.0, 99.0, 100.0]
    assert of(101)["slowdown_p99"] == 200.0
    # 3 · 1,000 bytes in a microsecond.
    assert (of(3)["fct_mean_us"], of(3)["goodput_gbps"], of(3)["timeouts"]) == (2.0, 24.0, 3)


def test_a_table_of_queries_has_a_row_for_each_workload() -> None:
    described = {"count": 1_200, "mean": 5.0, "p50": 4.0, "p95": 6.0, "p99": 7.0, "p999": 8.0}
    described |= {"with_timeout": 0.25, "quality": 0.5, "goodput_gbps": 3.0}
    shown = tables.queries({"queries": {"workload0": described, "workload2": described}})
    assert shown is not None
    assert [row[:3] for row in shown.rows] == [["workload 0", "1,200", "5"], ["workload 2", "1,200", "5"]]
    assert shown.rows[0][7:9] == ["25 %", "50 %"]
    assert (tables.queries({}), tables.queries({"queries": {}})) == (None, None)


def test_only_what_occurs_more_than_once_is_broken_down_unasked() -> None:
    def run(classes: list[int]) -> sh.Run:
        count = len(classes)
        flows = {
            "workload": [0] * count,
            "class": classes,
            "fct_us": [1.0] * count,
            "slowdown": [1.0] * count,
        }
        flows |= {name: [1] * count for name in ("counted", "timeouts", "retransmits", "delivered_bytes")}
        workload = {"workload": [{"kind": "incast"}]}
        made = SimpleNamespace(flows=pl.DataFrame(flows), summary={"simulated_s": 1e-6}, scenario=workload)
        made.by = lambda what: breakdown.by(cast(Any, made), what)
        return cast(sh.Run, made)

    assert tables.breakdowns(run([0, 0])) == []
    (only,) = tables.breakdowns(run([0, 1]))
    assert len(only.rows) == 2


def test_a_run_made_alone_is_told_by_what_was_changed() -> None:
    alone = invented(labels={}, environment={"overrides": ['scheme="a"', "load=0.5", "name=x y"]})
    assert inputs.labels(alone) == {"scheme": "a", "load": 0.5, "name": "x y"}
    assert inputs.labels(invented(labels={"load": 0.9}, environment={})) == {"load": 0.9}


def claim(**keys: Any) -> Claim:
    """What a paper could claim."""
    return Claim(**{"id": "c", "experiment": "x", "kind": "value", "metric": "m", "source": "§1"} | keys)


def test_numbers_are_shown_as_their_claims_write_them() -> None:
    def shown(value: float, **keys: Any) -> str:
        return findings.number(claim(**keys), Check(None, "", value, value, value, "holds"))

    assert shown(90_000.0, expected="100KB") == "90 KB"
    assert (shown(12.0, expected=1.0), shown(12.0, kind="ordering")) == ("12", "+12")
    assert shown(12.0, expected=1.0, change="difference") == "+12"
    assert (shown(math.inf, kind="crossing"), shown(math.inf, expected=1.0)) == ("never", "∞")


def test_what_a_document_is_made_from_names_the_experiments_of_its_claims_only() -> None:
    told = {name: SimpleNamespace(fingerprint=name * 3) for name in ("a", "b")}
    paper = cast(Any, SimpleNamespace(title="P", experiments=told))
    assert findings.made_from(paper, {"b"}) == "Made from: b bbb\n"
    checks = [Check(None, "1", 1.0, 1.0, 1.0, "holds")]
    found = [
        Finding(claim(), checks),
        Finding(claim(), [Check(None, "1", 2.0, 2.0, 2.0, "does not hold")]),
        Finding(claim(), checks),
    ]
    assert findings.document_of(paper, found, quick=False)["holding"] == 2


def test_an_average_asks_a_reduced_run_only_where_it_was() -> None:
    runs = [
        Measured({"load": load, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for load, values in {0.2: [1.0, 2.0, 3.0], 0.4: [3.0, 4.0, 5.0]}.items()
        for seed, value in enumerate(values)
    ]
    experiment = cast(Experiment, SimpleNamespace(axis="load", name="x"))
    asked = claim(kind="average", over=[0.2, 0.4, 0.9], expected=3.0, absolute=2.0)
    (check,) = judge(asked, experiment, runs, quick=True)
    assert check.ours == 3.0
    with pytest.raises(ShallowsError):
        judge(asked, experiment, runs, quick=False)


def test_an_ordering_holds_if_the_higher_is_higher_by_more_than_chance() -> None:
    def verdict(*higher: float) -> str:
        runs = [
            Measured({"scheme": scheme, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
            for scheme, values in {"a": (5.0,) * 3, "b": higher}.items()
            for seed, value in enumerate(values)
        ]
        asked = claim(kind="ordering", lower={"scheme": "a"}, higher={"scheme": "b"})
        (check,) = judge(asked, cast(Experiment, SimpleNamespace(axis=None, name="x")), runs, quick=False)
        return check.verdict

    # By 2, by -2 and by nothing, without chance; and by half of ±1/16, which reaches below zero and not to 1.
    assert [verdict(by, by, by) for by in (7.0, 3.0, 5.0)] == ["holds", "does not hold", "does not hold"]
    assert verdict(5.0625, 4.9375, 5.0) == "cannot tell"
    assert verdict(5.5, 5.4375, 5.5625) == "holds"


def test_a_number_may_be_off_by_a_billionth_and_says_how_it_is_meant() -> None:
    experiment = cast(Experiment, SimpleNamespace(axis=None, name="x"))

    def check(asked: Claim, **values: float) -> Check:
        runs = [
            Measured({"scheme": scheme, "seed": 1}, lambda _, value=value: value)  # type: ignore[misc]
            for scheme, value in values.items()
        ]
        return judge(asked, experiment, runs, quick=False)[0]

    million = claim(expected=1e6, where={"scheme": "a"})
    assert check(million, a=1e6 + 5e-4).verdict == "holds"
    assert check(million, a=1e6 + 2e-3).verdict == "does not hold"
    sides = {"where": {"scheme": "a"}, "versus": {"scheme": "b"}}
    half = check(claim(expected=0.5, change="relative", **sides), a=3.0, b=2.0)
    assert (half.paper, half.ours, half.verdict) == ("+50 %", 0.5, "holds")
    one = check(claim(expected=1.0, change="difference", **sides), a=3.0, b=2.0)
    assert (one.paper, one.ours, one.verdict) == ("+1", 1.0, "holds")
    assert check(million, a=1e6).paper == "1,000,000"


def test_what_is_normalised_is_over_the_run_of_its_seed() -> None:
    runs = [
        Measured({"scheme": scheme, "seed": seed}, lambda _, value=value: value)  # type: ignore[misc]
        for scheme, values in {"a": (2.0, 0.0), "b": (6.0, 9.0)}.items()
        for seed, value in enumerate(values)
    ]
    experiment = cast(Experiment, SimpleNamespace(axis=None, name="x", normalised={"scheme": "a"}))
    found = [run.value("m") for run in beside._normalised(runs, experiment)]
    assert found[:3:2] == [1.0, 3.0]
    assert [math.isnan(each) for each in found] == [False, True, False, True]


def test_lines_beside_a_paper_are_told_by_all_but_axis_and_seed() -> None:
    run = Measured({"scheme": "a", "load": 0.5, "seed": 1}, lambda _: 1.0)
    assert beside._line(run, "load") == "a"
    assert beside._line(Measured({"load": 0.5, "seed": 1}, lambda _: 1.0), "load") == "ours"


def test_an_experiment_like_another_has_its_values_and_claims_but_for_its_own() -> None:
    told: dict[str, Any] = {
        "a": {"base": "x.toml", "set": {"p": 1, "q": 2}, "axis": "load"},
        "b": {"like": "a", "set": {"q": 3}, "causes": {"a-one": "why"}},
        "c": {"like": "b"},
        "d": {"causes": {}},
    }
    assert like.completed("a", told) is told["a"]
    assert like.completed("b", told) == {"base": "x.toml", "set": {"p": 1, "q": 3}, "axis": "load"}
    with pytest.raises(ValueError, match=r"expected one of a, d$"):
        like.completed("c", told)
    with pytest.raises(ValueError, match="causes goes with like"):
        like.completed("d", told)
    listed = [
        {"id": "a-one", "experiment": "a", "cause": "theirs"},
        {"id": "two", "experiment": "a", "cause": "theirs"},
        {"id": "other", "experiment": "z"},
    ]
    assert like.claims("b", told["b"], listed) == [
        {"id": "b-one", "experiment": "b", "cause": "why"},
        {"id": "b-two", "experiment": "b"},
    ]
    with pytest.raises(ValueError, match="no claim"):
        like.claims("b", {"like": "a", "causes": {"nine": "why"}}, listed)


def test_a_step_that_is_known_from_before_begins_with_the_run() -> None:
    def read(*times: float, end: float = 10.0, before: float | None = None) -> list[list[float]]:
        frame = pl.DataFrame(
            {"time_us": list(times), "value": [1.0] * len(times)}, schema=["time_us", "value"]
        )
        made = Series.read(frame.cast(pl.Float64), "value", end, before)
        return [made.times.tolist(), made.values.tolist()]

    assert read(4.0) == [[4.0, 10.0], [1.0, 1.0]]
    assert read(4.0, before=7.0) == [[0.0, 4.0, 10.0], [7.0, 1.0, 1.0]]
    assert read(0.0, before=7.0) == [[0.0, 10.0], [1.0, 1.0]]
    assert read(before=7.0) == [[0.0, 10.0], [7.0, 7.0]]
    assert read(4.0, 10.0) == [[4.0, 10.0], [1.0, 1.0]]
    assert read(12.0) == [[12.0, 12.0], [1.0, 1.0]]


def test_the_deviation_over_time_is_that_of_values_weighed_by_how_long_they_were() -> None:
    # 2 for 3 µs and 6 for 1: the mean is 3, the squares 12 + 36 over 4 are 12, less 9 is 3.
    series = Series(np.array([0.0, 3.0, 4.0]), np.array([2.0, 6.0, 6.0]))
    assert series.std() == pytest.approx(math.sqrt(3))


def test_a_shard_is_every_nth_point_from_its_own_on() -> None:
    assert Shard.parse("2/3") == Shard(2, 3)
    points: Any = [*"abcdefg"]
    assert [*map(str, Shard(2, 3).of(points))] == ["b", "e"]
    for text in ("0/3", "4/3", "2/", "x/3", "2"):
        with pytest.raises(ShallowsError, match="is not a shard"):
            Shard.parse(text)
