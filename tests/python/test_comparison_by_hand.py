"""What a comparison reads of runs, and what it makes of it, on numbers that are worked out by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import shallows as sh
from shallows.comparison import comparison_tables, intervals, places, ranking
from shallows.comparison.ranking import Race
from shallows.comparison.samples import Sample, Series
from shallows.comparison.verdicts import Metric, judge
from shared import write_run

FLOWS: dict[str, Any] = {
    "workload": 0,
    "class": 0,
    "query": None,
    "source": 0,
    "destination": 1,
    "size_bytes": 1_000,
    "arrival_us": 0.0,
    "fct_us": 5.0,
    "ideal_us": 5.0,
    "timeouts": 0,
    "counted": 1,
}
WHOLE = {name: pl.Int64 for name in FLOWS if not name.endswith("_us")}


def written(folder: Path, flows: dict[str, Any], seed: int = 1, **more: Any) -> sh.Run:
    """A run of 100 µs whose flows are these, and in all else alike."""
    folder.mkdir(parents=True)
    count = max(len(column) for column in flows.values())
    columns = {name: flows.get(name, [FLOWS[name]] * count) for name in FLOWS}
    schema = {name: WHOLE.get(name, pl.Float64) for name in FLOWS}
    pl.DataFrame(columns, schema=schema).write_parquet(folder / "flows.parquet")
    if queries := more.pop("queries", None):
        pl.DataFrame(queries).write_parquet(folder / "queries.parquet")
    measure = {"warm_up": "0ps", "fct": "receiver", "bins": ["100KB", "10MB"]}
    (folder / "resolved.json").write_text(json.dumps({"measure": measure, "workload": [], "stop": {}}))
    totals = {"goodput_gbps": 1.0, "loss_rate_in_switches": 0.0, "loss_rate_in_cards": 0.0}
    summary = {"fct_us": {"all": {}, "small": {}, "medium": {}, "large": {}}, "simulated_s": 1e-4}
    write_run(folder, {"seed": seed, "labels": {}} | more, summary | totals)
    return sh.Run(folder)


def test_metrics_of_a_part_are_called_by_it() -> None:
    names = [
        "fct_us.all.p99@0",
        "fct_us.all.p99@class1",
        "fct_us.all.p99@group=old",
        "fct_us.all.p99@to_group=old",
    ]
    assert [Metric(name).title for name in names] == [
        "FCT all p99, workload 0",
        "FCT all p99, class 1",
        "FCT all p99, group old",
        "FCT all p99, to group old",
    ]


def sample(incomplete: int = 0, totals: dict[str, float] | None = None, **series: Any) -> Sample:
    """Of these observations; `fct` is of completion times of all flows, `small` and `large` of theirs."""
    names = {"fct": "fct_us.all", "small": "fct_us.small", "slowdown": "slowdown.all"}
    made = {
        names.get(name, name): Series(np.array(values, float), incomplete) for name, values in series.items()
    }
    return Sample(made, totals or {}, ())


def pairs(theirs: Sequence[Any], mine: Sequence[Any], name: str = "fct") -> list[tuple[Sample, Sample]]:
    """A pair for each seed."""
    return [(sample(**{name: one}), sample(**{name: other})) for one, other in zip(theirs, mine, strict=True)]


def test_each_seed_counts_the_same_however_many_flows_it_has() -> None:
    # Means of 1 and 3, and of 2 and 4: 2 and 3, where all flows together have 2.5 on both sides.
    theirs, mine = [[1.0] * 10, [3.0] * 30], [[2.0] * 30, [4.0] * 10]
    found = judge(Metric("fct_us.all.mean"), pairs(theirs, mine), 0.95)
    assert (found.baseline_value, found.value) == (2.0, 3.0)
    change = intervals.mean_change([*map(np.array, theirs)], [*map(np.array, mine)])
    assert change.estimate == pytest.approx(0.5)


def test_timeouts_change_by_a_difference_and_losses_are_better_low() -> None:
    # 0 or 0.1, and 0.3 or 0.4 in a flow: 0.3 more in each of five pairs, where a ratio would have no value.
    theirs, mine = [[0, 0]] * 4 + [[0, 0.2]], [[0.3, 0.3]] * 4 + [[0.3, 0.5]]
    found = judge(Metric("timeouts_per_flow"), pairs(theirs, mine, "timeouts_per_flow"), 0.95)
    assert found.change is not None
    assert found.change.estimate == pytest.approx(0.3)
    assert found.verdict == "worse"
    for name, said in (("loss_rate_in_switches", "worse"), ("goodput_gbps", "better")):
        totals = [[sample(totals={name: share + seed / 1000}) for seed in range(5)] for share in (0.1, 0.2)]
        assert judge(Metric(name), [*zip(*totals, strict=True)], 0.95).verdict == said


def test_the_side_with_fewer_flows_decides_whether_a_percentile_can_be_told() -> None:
    many, few = [np.arange(1.0, 501.0)] * 5, [np.arange(1.0, 400.0)] * 5
    for sides in ((many, few), (few, many)):
        found = judge(Metric("fct_us.all.p99"), pairs(*sides), 0.95)
        assert found.reason == "1,995 flows: 2,000 are needed"


def test_runs_are_cut_into_stretches_of_time_that_do_not_foretell_the_next() -> None:
    # 20 blocks over three runs are seven of each: 210 flows are 30 in each of them.
    steady = [np.tile([1.0, 1.1, 0.9], 70)] * 3
    found = judge(Metric("fct_us.all.mean"), pairs(steady, [2 * run for run in steady]), 0.95)
    assert (found.groups, found.verdict) == ("21 blocks of 3 seeds", "worse")
    # Where a run is slow from its middle on, stretches resemble those before: of −1 −1 −1 0 1 1 1 the
    # first autocorrelation is 4/6, above 1.645/√21; of −1, −1, 1 and 1 it is 1/4, below 1.645/√12.
    flat, slow_later = [np.ones(210)] * 3, [np.repeat([1.0, 3.0], 105)] * 3
    found = judge(Metric("fct_us.all.mean"), pairs(flat, slow_later), 0.95)
    assert found.groups == "12 blocks of 3 seeds"
    # Where each run differs from the others throughout, it is 3/4.
    apart = [run * seed for run, seed in zip(steady, (1, 3, 9), strict=True)]
    found = judge(Metric("fct_us.all.mean"), pairs(steady, apart), 0.95)
    assert found.reason == "the runs are too short to be cut into blocks"


def test_of_a_percentile_only_what_is_above_it_must_be_independent() -> None:
    # In each stretch of 100 flows one is slow. The other 99 of one side take longer from stretch to stretch,
    # and are soon above the other side's percentile, but stay below their own, 170.
    theirs = [np.tile(np.arange(1.0, 101.0), 7)] * 3
    mine = [np.concatenate([[50.0 + 20 * block] * 99 + [1_000.0] for block in range(7)])] * 3
    found = judge(Metric("fct_us.all.p99"), pairs(theirs, mine), 0.95)
    assert (found.baseline_value, found.value) == (99.0, 170.0)
    assert found.groups == "21 blocks of 3 seeds"


def test_no_slowdown_is_better_while_flows_are_under_way() -> None:
    theirs = [sample(slowdown=[4.0 + seed / 10] * 10) for seed in range(5)]
    mine = [sample(incomplete=1, slowdown=[2.0 + seed / 10] * 10) for seed in range(5)]
    found = judge(Metric("slowdown.all.mean"), [*zip(theirs, mine, strict=True)], 0.95)
    assert found.reason == "5 of its flows are not complete"


def test_places_are_ranked_best_first_and_paired_by_seed() -> None:
    def seeds(order: Sequence[int], factor: float) -> dict[int, Sample]:
        # Seeds differ by far more than places do, whose ratio is the same in each of them.
        times = {seed: factor * 10.0**seed for seed in order}
        return {
            seed: sample(totals={"goodput_gbps": 1 / time}, fct=[time] * 10) for seed, time in times.items()
        }

    at = {"slow": seeds([1, 2, 3, 4, 5], 1.2), "quick": seeds([5, 4, 3, 2, 1], 1.0)}
    for name in ("fct_us.all.mean", "goodput_gbps"):
        first, second = Race(at, [Metric(name)], 0.95).rank({}).standings
        assert (first.place, second.place, second.verdict) == ("quick", "slow", "worse")
    assert second.change == pytest.approx(1 / 1.2 - 1)


def test_large_flows_are_weighed_by_their_mean_and_small_ones_by_their_tail() -> None:
    names = ["fct_us.small.mean", "fct_us.small.p99", "fct_us.large.mean", "fct_us.large.p99", "goodput_gbps"]
    enough = {"fct_us.small": 5_000, "fct_us.large": 5_000}
    chosen = ranking.choose(None, [Metric(name) for name in names], enough)
    assert [metric.name for metric in chosen] == ["fct_us.small.p99", "fct_us.large.mean"]


def test_a_tail_is_ranked_only_where_every_place_has_flows_enough(tmp_path: Path) -> None:
    # Seven places of which one has 1,990 flows, the others 2,010.
    def metric(*counts: int) -> str:
        places = [
            [
                written(
                    tmp_path / f"{sum(counts)}-{place}",
                    {"arrival_us": np.linspace(0, 50, count), "fct_us": np.linspace(1, 2, count)},
                )
            ]
            for place, count in enumerate(counts)
        ]
        return sh.compare(*places, names=[*map(str, range(7))], cool_down=0).rankings[0].metrics[0]

    assert metric(*[2_010] * 6, 1_990) == "fct_us.all.mean"
    assert metric(*[2_010] * 7) == "fct_us.all.p99"


def test_common_seeds_are_compared_and_misses_by_chance_are_counted(tmp_path: Path) -> None:
    def scheme(name: str, factor: float, seeds: Sequence[int]) -> list[sh.Run]:
        return [
            written(
                tmp_path / f"{name}{seed}",
                {"arrival_us": np.linspace(0, 50, 20), "fct_us": factor * np.linspace(1.0 + seed, 2.0, 20)},
                seed,
            )
            for seed in seeds
        ]

    found = sh.compare(
        scheme("a", 1.0, range(1, 8)),
        scheme("b", 1.1, range(3, 10)),
        names=["a", "b"],
        cool_down=0,
        confidence=0.5,
    )
    (row,) = [each for each in found.rows if each.metric == "fct_us.all.mean"]
    # Seeds 3 to 7 have means of 3, 3.5, … and 5.
    assert row.groups == "5 seeds"
    assert (row.baseline_value, row.value) == pytest.approx((4.0, 4.4))
    # Times, slowdowns, goodput, losses and timeouts have an interval each, of which one in two is wrong.
    judged = sum(each.has_interval for each in found.rows)
    assert judged == 5
    assert any(note.startswith("of 5 intervals, about 2 miss the truth by chance") for note in found.notes)


def test_changes_are_written_as_percent_factors_or_points() -> None:
    # Where one of them is more than twofold, all are factors.
    limits = comparison_tables.limits
    assert limits("fct_us.all.mean", 0.5, 0.25, 1.0) == ["+50 %", "+25 %", "+100 %"]
    assert limits("fct_us.all.mean", 0.5, 0.25, 1.5) == ["×1.5", "×1.25", "×2.5"]
    assert limits("loss_rate_in_switches", 0.01, None, 0.005) == ["+1 points", "?", "+0.5 points"]
    assert limits("timeouts_per_flow", 0.01, -0.5, None) == ["+0.01", "−0.5", "?"]


def test_a_place_is_found_by_what_it_measures() -> None:
    known = {"A": {"k": "30KB"}, "B": {"k": "30p"}}
    assert [places.find(text, known) for text in ("0.03MB", "30p", "30000", "30")] == ["A", "B", None, None]


def test_shares_of_confidence_and_of_a_cool_down_have_limits(tmp_path: Path) -> None:
    one, other = ([written(tmp_path / name, {"arrival_us": [0.0, 9.0]})] for name in ("a", "b"))

    def rows(**options: float) -> int:
        return len(
            sh.compare(
                one, other, names=["a", "b"], **cast(Any, {"confidence": 0.9, "cool_down": 0.1} | options)
            ).rows
        )

    assert rows(confidence=0.5) == rows(confidence=0.999) == rows(cool_down=0) == rows(cool_down=0.999) > 0
    for options in ({"confidence": 0.499}, {"confidence": 1.0}, {"cool_down": -0.001}, {"cool_down": 1.0}):
        with pytest.raises(sh.ShallowsError, match="is not in"):
            rows(**options)
    for baseline, scheme in (("a", "b"), ("b", "a")):
        found = sh.compare(one, other, names=["a", "b"], baseline=baseline)
        assert (found.baseline, {row.scheme for row in found.rows}) == (baseline, {scheme})
        # One seed has a change, without limits; there were no losses.
        assert {(row.change, row.low, row.high) for row in found.rows} == {(0.0, None, None)}
    with pytest.raises(sh.ShallowsError, match="there is one scheme only, a"):
        sh.compare(one, names=["a"])
    for names in (["a"], ["a", "a"], ["a", "b", "c"]):
        with pytest.raises(sh.ShallowsError, match="2 schemes are called"):
            sh.compare(one, other, names=names)
    with pytest.raises(sh.ShallowsError, match="there is no scheme 'c'"):
        sh.compare(one, other, names=["a", "b"], baseline="c")


def test_what_a_comparison_notes_is_of_its_runs(tmp_path: Path) -> None:
    def of(name: str, seed: int, start: float = 0.0, **environment: Any) -> sh.Run:
        flows = {"arrival_us": [start, 9.0], "fct_us": [5.0, None]}
        return written(tmp_path / f"{name}{seed}", flows, seed, **environment)

    mine = [of("a", 1), of("a", 2), of("a", 3)]
    theirs = [of("b", 2), of("b", 3, start=1.0, source_hash="x"), of("b", 4)]
    notes = sh.compare(mine, theirs, names=["a", "b"], cool_down=0).notes
    # Of seeds 2 and 3, of which the second met other flows.
    assert notes[0] == "b: seeds 1, 4 are not in both, and left out"
    assert notes[1].startswith("b: not the same flows as a's, though the workload is the same")
    assert notes[2] == "a and at 1 more: 2 flows are not complete; their time so far stands for them"
    assert notes[3].startswith("1 of the 2 pairs of runs met the same flows at the same times; left out: ")
    assert "the last 0 % of the time" in notes[3]
    assert notes[4:] == ["2 builds of the engine made these runs: a difference may be theirs"]
    alike = sh.compare(mine[1:2], theirs[:1], names=["a", "b"], cool_down=0).notes
    assert [note.partition(" pairs")[0] for note in alike[1:]] == ["all of the 1"]
    # A seed that is twice in one scheme, and one that is in none.
    with pytest.raises(sh.ShallowsError, match="are both a with seed 1"):
        sh.compare([mine[0], of("again", 1)], theirs, names=["a", "b"])
    with pytest.raises(sh.ShallowsError, match="have no seed in common: 1; 2, 3, 4"):
        sh.compare(mine[:1], theirs, names=["a", "b"])
