"""Tests of comparisons of runs: matching by scheme, point and seed, and notes."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import shallows as sh
from fake_runs import BINS, write_fake_run
from fake_samples import verdict_row
from shallows.comparison.comparison import Comparison

MEASURE = {"warm_up": "0ps", "fct": "receiver", "bins": BINS}


def write_scheme(
    folder: Path, name: str, seeds: Sequence[int] = range(5), *, load: float | None = None, **more: Any
) -> list[sh.Run]:
    """Write a run of a scheme for each seed, with flows that arrive at 0 and 9 µs."""
    labels = {} if load is None else {"load": load}
    flows = {"arrival_us": [0.0, 9.0]} | more.pop("flows", {})
    return [
        write_fake_run(folder / f"{name} {load} {seed}", flows, seed, labels=labels, **more) for seed in seeds
    ]


def compare_two(folder: Path, one: dict[str, Any], other: dict[str, Any]) -> Comparison:
    """Compare the schemes `a` and `b`, written with these arguments."""
    a, b = write_scheme(folder, "a", **one), write_scheme(folder, "b", **other)
    return sh.compare(a, b, names=["a", "b"], cool_down=0)


# Which runs are compared.


def test_common_seeds_are_compared(tmp_path: Path) -> None:
    def scheme(name: str, factor: float, seeds: Sequence[int]) -> list[sh.Run]:
        arrivals = np.linspace(0, 50, 20)
        return [
            write_fake_run(
                tmp_path / f"{name}{seed}",
                {"arrival_us": arrivals, "fct_us": factor * np.linspace(1.0 + seed, 2.0, 20)},
                seed,
            )
            for seed in seeds
        ]

    one, other = scheme("a", 1.0, range(1, 8)), scheme("b", 1.1, range(3, 10))
    found = sh.compare(one, other, names=["a", "b"], cool_down=0)
    (row,) = [each for each in found.rows if each.metric == "fct_us.all.mean"]
    # Seeds 3 to 7 have means of 3, 3.5, … and 5.
    assert row.groups == "5 seeds"
    assert (row.baseline_value, row.value) == pytest.approx((4.0, 4.4))


def test_seeds_of_one_scheme_only_are_noted(tmp_path: Path) -> None:
    notes = compare_two(tmp_path, {"seeds": (1, 2, 3)}, {"seeds": (2, 3, 4)}).notes
    assert notes[0] == "b: left out: seeds 1, 4, which only one side has"


def test_a_seed_that_is_twice_in_a_scheme_is_refused(tmp_path: Path) -> None:
    twice = write_scheme(tmp_path, "a", (1,)) + write_scheme(tmp_path, "again", (1,))
    with pytest.raises(sh.ShallowsError, match="have the same scheme, point and seed: a, seed 1"):
        sh.compare(twice, write_scheme(tmp_path, "b"), names=["a", "b"])


@pytest.mark.parametrize(
    ("mine", "theirs", "shown"),
    [
        ((1,), (2, 3, 4), "1 versus 2, 3, 4"),
        # Six are listed; of more than six, the first six.
        (range(6), range(10, 17), "0, 1, 2, 3, 4, 5 versus 10, 11, 12, 13, 14, 15 and 1 more"),
    ],
)
def test_schemes_without_a_common_seed_are_refused_with_their_seeds(
    tmp_path: Path, mine: Sequence[int], theirs: Sequence[int], shown: str
) -> None:
    with pytest.raises(sh.ShallowsError, match="a and b have no seed in common: ") as caught:
        compare_two(tmp_path, {"seeds": mine}, {"seeds": theirs})
    assert caught.value.message.endswith(shown)


def test_schemes_without_a_common_point_are_refused_with_their_points(tmp_path: Path) -> None:
    with pytest.raises(sh.ShallowsError, match=r"a and b have no point in common: no axes versus load 0\.5"):
        compare_two(tmp_path, {}, {"load": 0.5})


@pytest.mark.parametrize(("baseline", "scheme"), [("a", "b"), ("b", "a")])
def test_the_baseline_can_be_named(tmp_path: Path, baseline: str, scheme: str) -> None:
    a, b = write_scheme(tmp_path, "a", (1,)), write_scheme(tmp_path, "b", (1,))
    found = sh.compare(a, b, names=["a", "b"], baseline=baseline)
    assert (found.baseline, {row.scheme for row in found.rows}) == (baseline, {scheme})


def test_one_seed_has_changes_without_limits(tmp_path: Path) -> None:
    # The two are alike, and there were no losses.
    rows = compare_two(tmp_path, {"seeds": (1,)}, {"seeds": (1,)}).rows
    tails = [row for row in rows if row.metric.endswith(".p99")]
    assert {(row.change, row.low, row.high) for row in rows if row not in tails} == {(0.0, None, None)}
    # A p99 of too few flows has not even an estimate.
    assert {(row.value, row.change) for row in tails} == {(None, None)}


def test_a_baseline_that_is_no_scheme_is_refused(tmp_path: Path) -> None:
    a, b = write_scheme(tmp_path, "a", (1,)), write_scheme(tmp_path, "b", (1,))
    with pytest.raises(sh.ShallowsError, match="unknown scheme 'c'"):
        sh.compare(a, b, names=["a", "b"], baseline="c")


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"]])
def test_each_scheme_needs_a_name_of_its_own(tmp_path: Path, names: list[str]) -> None:
    a, b = write_scheme(tmp_path, "a", (1,)), write_scheme(tmp_path, "b", (1,))
    with pytest.raises(sh.ShallowsError, match="each of the 2 schemes must have its own name"):
        sh.compare(a, b, names=names)


def test_one_scheme_alone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(sh.ShallowsError, match="at least two schemes, got only a"):
        sh.compare(write_scheme(tmp_path, "a"), names=["a"])


def only_scheme(folder: Path, count: int) -> list[sh.Run]:
    """Write up to two runs of scheme `a` in a sweep; they differ in axis `k` and in the seed."""
    labels = [{"k": 1, "n": 2, "scheme": "a", "seed": 1}, {"k": 3, "n": 2, "scheme": "a", "seed": 2}]
    return [
        write_fake_run(
            folder / str(each["seed"]), {"arrival_us": [0.0]}, cast(int, each["seed"]), labels=each
        )
        for each in labels[:count]
    ]


def test_where_there_is_one_scheme_axes_that_differ_are_proposed(tmp_path: Path) -> None:
    with pytest.raises(sh.ShallowsError) as caught:
        sh.compare(only_scheme(tmp_path, 2))
    assert caught.value.remedy == "compare the values of an axis with --by; the axes are: k"


def test_where_there_is_one_run_folders_of_two_schemes_are_proposed(tmp_path: Path) -> None:
    with pytest.raises(sh.ShallowsError) as caught:
        sh.compare(only_scheme(tmp_path, 1))
    assert caught.value.remedy.startswith("name the folders of two schemes")


@pytest.mark.parametrize(
    "options", [{"confidence": 0.5}, {"confidence": 0.999}, {"cool_down": 0}, {"cool_down": 0.999}]
)
def test_confidence_from_one_half_and_a_cool_down_from_zero_on_are_accepted(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    a, b = write_scheme(tmp_path, "a", (1,)), write_scheme(tmp_path, "b", (1,))
    found = sh.compare(a, b, names=["a", "b"], **({"confidence": 0.9, "cool_down": 0.1} | options))
    # Mean and tail of times and of slowdowns, goodput, loss and timeouts.
    assert len(found.rows) == 7


@pytest.mark.parametrize(
    "options", [{"confidence": 0.499}, {"confidence": 1.0}, {"cool_down": -0.001}, {"cool_down": 1.0}]
)
def test_confidence_and_a_cool_down_beyond_their_limits_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(sh.ShallowsError, match="must be at least"):
        sh.compare([], [], names=["a", "b"], **({"confidence": 0.9, "cool_down": 0.1} | options))


# Runs that cannot be compared.


WITHOUT_WARM_UP: list[dict[str, Any]] = [{}, {"measure": {}}, {"measure": "warm_up"}]


@pytest.mark.parametrize("missing", WITHOUT_WARM_UP)
@pytest.mark.parametrize("is_baseline", [True, False])
def test_runs_whose_scenario_lacks_a_key_are_refused(
    tmp_path: Path, missing: dict[str, Any], is_baseline: bool
) -> None:
    sides: list[dict[str, Any]] = [{"seeds": (1,), "scenario": missing}, {"seeds": (1,)}]
    with pytest.raises(sh.ShallowsError, match=r"1/resolved\.json: measure\.warm_up is missing"):
        compare_two(tmp_path, *(sides if is_baseline else sides[::-1]))


@pytest.mark.parametrize(
    ("mine", "theirs", "message"),
    [
        # The innermost key with different values.
        ([{"a": 1}, {"a": 1, "b": 2}], [{"a": 1}, {"a": 1, "b": 3}], "workload.1.b, got 2 and 3"),
        ({"a": 1}, {"a": 1, "c": 4}, "workload.c, got not set and 4"),
        ({"a": "x"}, {}, "workload.a, got 'x' and not set"),
        # Lists of different lengths, and what is not alike, differ as a whole.
        ([1, 2], [1], "workload, got 2 entries and 1 entries"),
        ({"a": [1]}, {"a": {"b": 1}}, "workload.a, got 1 entries and {'b': 1}"),
    ],
)
def test_runs_of_different_workloads_are_refused_with_the_innermost_difference(
    tmp_path: Path, mine: Any, theirs: Any, message: str
) -> None:
    def side(workload: Any, start: float) -> dict[str, Any]:
        scenario = {"measure": MEASURE, "workload": workload, "stop": {}}
        return {"seeds": (1,), "scenario": scenario, "flows": {"arrival_us": [start, 9.0]}}

    with pytest.raises(sh.ShallowsError, match="must have the same ") as caught:
        compare_two(tmp_path, side(mine, 0.0), side(theirs, 1.0))
    assert caught.value.message.partition("must have the same ")[2] == message


def test_runs_that_stop_differently_are_refused(tmp_path: Path) -> None:
    scenario: dict[str, Any] = {"measure": MEASURE, "workload": [], "stop": None}
    theirs = {"seeds": (1,), "scenario": scenario, "flows": {"arrival_us": [1.0, 9.0]}}
    with pytest.raises(sh.ShallowsError, match=r"must have the same stop, got \{\} and not set"):
        compare_two(tmp_path, {"seeds": (1,)}, theirs)


# What is noted.


UNFINISHED = {"fct_us": [5.0, None]}


def test_runs_that_met_other_flows_are_noted(tmp_path: Path) -> None:
    a = write_scheme(tmp_path, "a", (2, 3))
    b = write_scheme(tmp_path, "b", (2,)) + write_scheme(
        tmp_path, "b", (3,), flows={"arrival_us": [1.0, 9.0]}
    )
    notes = sh.compare(a, b, names=["a", "b"], cool_down=0).notes
    assert notes[0].startswith("b: the flows differ from those of a although the workload is the same")
    assert notes[1].startswith(
        "1 of the 2 pairs of runs have the same flows at the same times; flows of the warm-up and "
    )
    assert "the last 0 % of the time" in notes[1]


def test_pairs_that_all_met_the_same_flows_are_noted(tmp_path: Path) -> None:
    note, sizes = compare_two(tmp_path, {"seeds": (1,)}, {"seeds": (1,)}).notes
    assert note.partition(" pairs")[0] == "all of the 1"
    assert sizes == "sizes of flows: small ≤ 100 KB < medium ≤ 10 MB < large"


def test_unfinished_flows_of_both_schemes_are_noted_once(tmp_path: Path) -> None:
    side = {"seeds": (2, 3), "flows": UNFINISHED}
    notes = compare_two(tmp_path, side, side).notes
    assert (
        notes[0] == "a and at 1 more: 2 flows are unfinished; their times until the end of the run are used"
    )


def test_a_note_on_one_scheme_names_it(tmp_path: Path) -> None:
    notes = compare_two(tmp_path, {"seeds": (2, 3), "flows": UNFINISHED}, {"seeds": (2, 3)}).notes
    assert notes[0] == "a: 2 flows are unfinished; their times until the end of the run are used"


def test_a_note_on_several_points_names_the_first_and_counts_the_others(tmp_path: Path) -> None:
    a, b = (
        [
            run
            for load in (0.4, 0.5, 0.6)
            for run in write_scheme(tmp_path, name, (1,), load=load, flows=flows)
        ]
        for name, flows in (("a", UNFINISHED), ("b", {}))
    )
    notes = sh.compare(a, b, names=["a", "b"], cool_down=0).notes
    expected = (
        "a at load 0.4 and at 2 more: 1 flows are unfinished; their times until the end of the run are used"
    )
    assert notes[0] == expected


def test_runs_of_two_builds_are_noted(tmp_path: Path) -> None:
    notes = compare_two(tmp_path, {"seeds": (1,)}, {"seeds": (1,), "source_hash": "x"}).notes
    assert notes[1:-1] == ["the runs come from 2 builds of the engine, which may cause differences"]


def chance_notes(comparison: Comparison) -> list[str]:
    """Return the notes on intervals that miss the true value by chance, up to the semicolon."""
    return [note.partition(";")[0] for note in comparison.notes if "by chance" in note]


@pytest.mark.parametrize(
    ("loads", "goodput", "expected"),
    [
        # Each pair has five intervals: of times, slowdowns, goodput, losses and timeouts. One in twenty
        # misses: half a miss in ten is noted, and less is not. A goodput of zero has no change.
        ((0.5,), 0.0, []),
        ((0.5,), 1.0, ["about 1 of 10 intervals miss the true value by chance"]),
        ((0.4, 0.5, 0.6), 1.0, ["about 2 of 30 intervals miss the true value by chance"]),
    ],
)
def test_intervals_that_miss_by_chance_are_noted_from_half_a_miss_on(
    tmp_path: Path, loads: tuple[float, ...], goodput: float, expected: list[str]
) -> None:
    a, b, c = (
        [
            run
            for load in loads
            for run in write_scheme(tmp_path, name, load=load, totals={"goodput_gbps": rate})
        ]
        for name, rate in (("a", 1.0), ("b", 1.0), ("c", goodput))
    )
    found = sh.compare(a, b, c, names=["a", "b", "c"], cool_down=0)
    assert chance_notes(found) == expected
    assert sum(row.has_interval for row in found.rows) == (9 if goodput == 0 else 10 * len(loads))


def test_misses_by_chance_follow_from_the_confidence(tmp_path: Path) -> None:
    a, b = write_scheme(tmp_path, "a"), write_scheme(tmp_path, "b")
    found = sh.compare(a, b, names=["a", "b"], cool_down=0, confidence=0.5)
    # One in two of five.
    assert chance_notes(found) == ["about 2 of 5 intervals miss the true value by chance"]


# What is shown.


@pytest.mark.parametrize(("count", "is_large"), [(5, False), (6, True)])
def test_a_comparison_with_six_schemes_beside_the_baseline_is_large(count: int, is_large: bool) -> None:
    rows = [verdict_row(scheme=f"b{number}") for number in range(count)]
    assert Comparison("a", 0.95, 0.05, rows).is_large is is_large


@pytest.mark.parametrize(
    ("count", "metrics", "is_ranked"),
    [(6, None, False), (7, None, True), (6, ["goodput_gbps"], True), (7, ["goodput_gbps"], True)],
)
def test_more_than_six_schemes_are_ranked_and_fewer_if_metrics_are_named(
    tmp_path: Path, count: int, metrics: list[str] | None, is_ranked: bool
) -> None:
    schemes = [write_scheme(tmp_path, str(number), (1,)) for number in range(count)]
    found = sh.compare(*schemes, names=[*map(str, range(count))], metrics=metrics)
    assert bool(found.rankings) is is_ranked


TAILS = ("fct_us.all.p99", "fct_us.small.mean", "fct_us.medium.p99@0", "goodput_gbps")


@pytest.mark.parametrize(
    ("metrics", "shown"),
    [
        (TAILS, ["fct_us.all.p99", "fct_us.medium.p99@0", "goodput_gbps"]),
        (("fct_us.small.p99", *TAILS), ["fct_us.small.p99", "fct_us.medium.p99@0", "goodput_gbps"]),
    ],
)
def test_the_tail_of_small_flows_is_shown_first_or_else_that_of_all(
    metrics: Sequence[str], shown: list[str]
) -> None:
    found = Comparison("a", 0.95, 0.05, [verdict_row(name) for name in metrics])
    assert [each.metric for each in found.main()] == shown


@pytest.mark.parametrize(
    ("mine", "theirs", "compared"),
    [(0.0, 0.0, []), (0.0, 0.1, ["loss_rate_in_nics"]), (0.1, 0.0, ["loss_rate_in_nics"])],
)
def test_losses_in_nics_are_compared_only_where_there_are_some(
    tmp_path: Path, mine: float, theirs: float, compared: list[str]
) -> None:
    sides = [{"seeds": (1,), "totals": {"loss_rate_in_nics": loss}} for loss in (mine, theirs)]
    usual = ["fct_us.all.mean", "fct_us.all.p99", "slowdown.all.mean", "slowdown.all.p99"]
    usual += ["goodput_gbps", "loss_rate_in_switches"]
    found = compare_two(tmp_path, *sides)
    assert [row.metric for row in found.rows] == [*usual, *compared, "timeouts_per_flow"]


def test_a_part_that_is_asked_for_has_metrics_of_its_own(tmp_path: Path) -> None:
    scenario = {"measure": MEASURE, "workload": [{"kind": "poisson", "class": 0}]}
    a, b = (write_scheme(tmp_path, name, (1,), scenario=scenario) for name in ("a", "b"))
    found = sh.compare(a, b, names=["a", "b"], metrics=["fct_us.all.mean@0"])
    names = [row.metric for row in found.rows if row.metric.startswith("fct_us.all")]
    assert names == ["fct_us.all.mean", "fct_us.all.p99", "fct_us.all.mean@0", "fct_us.all.p99@0"]


def test_the_table_of_a_comparison_has_labels_of_points_as_columns() -> None:
    found = Comparison("a", 0.95, 0.05, [replace(verdict_row(), point={"load": 0.5})]).table
    names = ["load", "scheme", "metric", "verdict", "reason", "baseline_value", "value"]
    assert found.columns == [*names, "change", "low", "high", "groups"]
