"""What a comparison reads of runs, and what it makes of it, on numbers that are worked out by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import shallows as sh
from shallows.comparison import comparison_tables
from shallows.comparison.samples import Sample, Series
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
