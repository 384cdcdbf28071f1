"""Where verdicts and orders change: at which counts and limits, and beside whom; each worked out by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from shallows.comparison import comparison, comparison_tables, places, ranking, verdicts
from shallows.comparison.comparison import Comparison, Row
from shallows.comparison.intervals import Interval
from shallows.comparison.ranking import Race, Ranking, Standing
from shallows.comparison.samples import Sample, Series
from shallows.comparison.verdicts import Judgement, Metric, judge
from shallows.errors import ShallowsError
from shallows.runs.results import Run
from shallows.runs.tables import NOTHING

TIMES = Metric("fct_us.all.mean")
GOODPUT = Metric("goodput_gbps")


def sample(incomplete: int = 0, **series: Any) -> Sample:
    """Of times of all flows (`fct`), of other series, and of totals."""
    totals = {name: series.pop(name) for name in ("goodput_gbps",) if name in series}
    named = {"fct": "fct_us.all"}
    made = {
        named.get(name, name): Series(np.array(found, float), incomplete) for name, found in series.items()
    }
    return Sample(made, totals, ())


def constant(seeds: int, flows: int, factor: float = 2.0) -> list[tuple[Sample, Sample]]:
    """Pairs of runs whose flows all take 1 µs, and so many times as long."""
    return [(sample(fct=[1.0] * flows), sample(fct=[factor] * flows)) for _ in range(seeds)]


def test_five_seeds_stand_alone_and_fewer_are_cut_into_blocks_of_ten_flows() -> None:
    def groups(seeds: int, flows: int) -> str:
        found = judge(TIMES, constant(seeds, flows), 0.95)
        assert found.reason or found.verdict == "worse"
        return found.reason or found.groups

    # Of four seeds 20 blocks are five of each, for which 50 flows are needed; 10 are three, for which 30 are.
    assert (groups(5, 1), groups(4, 50)) == ("5 seeds", "20 blocks of 4 seeds")
    assert [groups(4, flows) for flows in (49, 30)] == ["12 blocks of 4 seeds"] * 2
    assert groups(4, 29) == "the runs are too short to be cut into blocks"
    # Of three, seven and four.
    assert [groups(3, flows) for flows in (70, 69, 40)] == [
        "21 blocks of 3 seeds",
        "12 blocks of 3 seeds",
        "12 blocks of 3 seeds",
    ]
    assert groups(3, 39) == "the runs are too short to be cut into blocks"
    assert (groups(2, 99), groups(1, 99)) == ("2 seeds: 3 are needed", "1 seed: 3 are needed")


def test_two_seeds_have_a_change_without_limits() -> None:
    found = judge(TIMES, constant(2, 5, 1.5), 0.95)
    assert (found.baseline_value, found.value) == (1.0, 1.5)
    assert found.change == Interval(0.5, -math.inf, math.inf)
    timeouts = [(sample(timeouts_per_flow=[0.25]), sample(timeouts_per_flow=[1.0]))] * 2
    assert judge(Metric("timeouts_per_flow"), timeouts, 0.95).change == Interval(0.75, -math.inf, math.inf)


def test_what_is_known_of_whole_runs_needs_five_of_them() -> None:
    def reason(seeds: int) -> str:
        found = judge(GOODPUT, [(sample(goodput_gbps=1.0), sample(goodput_gbps=2.0))] * seeds, 0.95)
        return found.reason or found.verdict

    assert reason(4) == "4 seeds: 5 are needed, as it is of whole runs"
    assert reason(5) == "better"


def test_what_has_no_flows_or_no_time_is_not_judged() -> None:
    some, none, nothing = sample(fct=[1.0]), sample(), sample(fct=[0.0])
    for pairs in ([], [(some, none)] * 5, [(none, some)] * 5, [(some, some)] * 4 + [(some, none)]):
        assert judge(TIMES, pairs, 0.95) == Judgement(reason="no such flows in some runs")
    for pairs in ([(some, nothing)] * 5, [(nothing, some)] * 5):
        assert judge(TIMES, pairs, 0.95).reason == "a value is zero"
    # A difference has no such trouble.
    timeouts = Metric("timeouts_per_flow")
    few = [(sample(timeouts_per_flow=[0.0]), sample(timeouts_per_flow=[0.0]))] * 5
    assert judge(timeouts, few, 0.95).reason == verdicts.SAME
    assert verdicts.estimate(TIMES, [some, none]) is None
    assert verdicts.estimate(TIMES, []) is None
    assert verdicts.estimate(TIMES, [some, sample(fct=[3.0])]) == 2.0


def test_an_interval_that_ends_at_zero_holds_it() -> None:
    def said(low: float, high: float, metric: Metric = TIMES, incomplete: Sequence[int] = (0, 0)) -> str:
        change = Interval((low + high) / 2, low, high)
        found = verdicts._decide(metric, Judgement(), change, list(incomplete))
        assert found.change == change
        return found.reason or found.verdict

    holds = verdicts.INCLUDES_ZERO
    assert [said(0.0, 0.0), said(0.0, 0.2), said(-0.2, 0.0), said(-0.1, 0.1)] == [verdicts.SAME, *[holds] * 3]
    assert (said(0.1, 0.2), said(-0.2, -0.1)) == ("worse", "better")
    assert (said(0.1, 0.2, GOODPUT), said(-0.2, -0.1, GOODPUT)) == ("better", "worse")
    # Of what is not complete only the side that would win matters.
    assert said(0.1, 0.2, incomplete=(0, 7)) == "worse"
    assert said(0.1, 0.2, incomplete=(7, 0)) == "7 of the baseline's flows are not complete"
    assert said(-0.2, -0.1, incomplete=(7, 0)) == "better"
    assert said(-0.2, -0.1, incomplete=(0, 7)) == "7 of its flows are not complete"


def test_unfinished_flows_matter_to_times_only() -> None:
    pairs = [(sample(3, timeouts_per_flow=[1.0]), sample(3, timeouts_per_flow=[0.0]))] * 5
    assert judge(Metric("timeouts_per_flow"), pairs, 0.95).verdict == "better"
    found = judge(TIMES, [(sample(3, fct=[2.0]), sample(2, fct=[1.0]))] * 5, 0.95)
    assert found.reason == "10 of its flows are not complete"
    found = judge(TIMES, [(sample(3, fct=[1.0]), sample(2, fct=[2.0]))] * 5, 0.95)
    assert found.reason == "15 of the baseline's flows are not complete"


def test_what_is_looked_at_first_is_a_tail_from_two_thousand_flows_on() -> None:
    known = [Metric(f"fct_us.{size}.{kind}") for size in ("small", "all") for kind in ("mean", "p99")]
    known += [Metric("query_us.all.mean"), GOODPUT]

    def names(**flows: int) -> list[str]:
        counts = {name.replace("_of_", ".").replace("us_", "us."): count for name, count in flows.items()}
        return [metric.name for metric in ranking.choose(None, known, counts)]

    assert names(fct_us_small=2_000, fct_us_all=1_999) == ["fct_us.small.p99", "fct_us.all.mean"]
    assert names(fct_us_small=1_999, fct_us_all=2_000) == ["fct_us.small.mean", "fct_us.all.p99"]
    # What has no flows, or is not in all runs, is not looked at; there is always a goodput.
    assert names(fct_us_small=0, fct_us_all=9) == ["fct_us.all.mean", "goodput_gbps"]
    assert names(fct_us_large=9, fct_us_all=9) == ["fct_us.all.mean", "goodput_gbps"]
    assert names() == ["goodput_gbps"]
    assert names(query_us_all=9, fct_us_small=9, fct_us_all=9) == ["query_us.all.mean", "fct_us.small.mean"]


def seeds(count: int = 5, **series: float) -> dict[int, Sample]:
    """A place whose runs are all alike."""
    return {
        seed: sample(**cast(Any, {name: [found] * 10 for name, found in series.items()}))
        for seed in range(count)
    }


def test_a_place_is_beaten_by_one_that_is_better_in_one_metric_and_the_same_in_the_other() -> None:
    metrics = [Metric("a.mean"), Metric("b.mean")]
    at = {
        "none": seeds(b=1.0),
        "slow": seeds(a=1.2, b=1.0),
        "good": seeds(a=1.0, b=1.0),
        "trades": seeds(a=0.8, b=1.2),
    }
    race = Race(at, metrics, 0.95)
    found = race.rank({"load": 0.5})
    assert [each.place for each in found.standings] == ["trades", "good", "slow", "none"]
    assert [each.front for each in found.standings] == ["not beaten", "not beaten", "beaten", "no value"]
    assert [each.beaten_by for each in found.standings] == [[], [], ["good"], []]
    assert [each.place for each in found.kept] == ["trades", "good"]
    first, second, _, last = found.standings
    assert (first.verdict, first.change, first.low, first.high) == ("first", 0.0, 0.0, 0.0)
    # 1.0 over 0.8 in each seed.
    assert (second.verdict, second.change, second.low, second.high) == (
        "worse",
        *[pytest.approx(0.25)] * 3,
    )
    assert (last.values, last.change, last.low, last.high) == ({"a.mean": None, "b.mean": 1.0}, *[None] * 3)
    assert last.reason == "no such flows in some runs"
    # Six pairs have an interval in b and three in a; beside the first two have.
    assert race.judged == 11
    alone = Race(at, metrics[:1], 0.95).rank({}).standings
    assert {(each.front, *each.beaten_by, *each.open_with) for each in alone} == {(None,)}


def test_more_goodput_comes_first_and_two_seeds_leave_everything_open() -> None:
    at = {
        place: {seed: sample(fct=[1.0], goodput_gbps=rate) for seed in range(2)}
        for place, rate in (("low", 1.0), ("high", 2.0))
    }
    race = Race(at, [GOODPUT, TIMES], 0.95)
    found = race.rank({}).standings
    assert [each.place for each in found] == ["high", "low"]
    assert [each.open_with for each in found] == [["low"], ["high"]]
    assert (found[1].change, found[1].low, found[1].high) == (-0.5, None, None)
    assert race.judged == 0
    apart = Race({"a": seeds(2, fct=1.0), "b": {9: sample(fct=[1.0])}}, [TIMES], 0.95)
    assert apart.judge(TIMES, "a", "b") == Judgement(reason="no common seed")


def test_who_is_beaten_is_not_what_others_cannot_be_told_from() -> None:
    # B is much worse than A in a and the same in b. C is better than A in a, and open in b: so it is with B,
    # but what beats B is told of.
    noise = [0.9, 1.1, 0.95, 1.2, 0.8]
    at = {"A": seeds(a=1.0, b=1.0), "B": seeds(a=2.0, b=1.0)}
    at["C"] = {seed: sample(a=[0.9] * 10, b=[by + 0.05] * 10) for seed, by in enumerate(noise)}
    found = {
        each.place: each for each in Race(at, [Metric("a.mean"), Metric("b.mean")], 0.95).rank({}).standings
    }
    assert [found[place].front for place in "ABC"] == ["cannot tell", "beaten", "cannot tell"]
    assert [found[place].open_with for place in "ABC"] == [["C"], [], ["A"]]


def row(metric: str = "fct_us.all.mean", scheme: str = "b", low: float | None = 0.1) -> Row:
    """A verdict with a lower limit, or without any."""
    return Row({}, scheme, metric, "worse", "", 1.0, 2.0, 1.0, low, None, "5 seeds")


def test_many_are_six_beside_the_baseline_and_seven_are_ranked() -> None:
    def of(count: int) -> Comparison:
        return Comparison("a", 0.95, 0.05, [row(scheme=f"b{number}") for number in range(count)])

    assert [of(count).is_large for count in (5, 6)] == [False, True]
    for count, ranked in ((6, False), (7, True)):
        found = comparison._Matched({str(number): {} for number in range(count)}, {})
        assert comparison._Comparer(found, "0", 0.95, 0.05, None).is_ranked is ranked
        assert comparison._Comparer(found, "0", 0.95, 0.05, ["goodput_gbps"]).is_ranked


def test_a_miss_by_chance_is_noted_from_half_a_miss_on() -> None:
    def notes(*rows: Row) -> list[str]:
        comparer = comparison._Comparer(comparison._Matched({"a": {}}, {}), "a", 0.95, 0.05, None)
        comparer._note_chance(list(rows))
        return [note.partition(";")[0] for note in comparer.notes]

    # One in twenty: of ten half a miss, of thirty one and a half.
    assert notes(*[row()] * 9, row(low=None)) == []
    assert notes(*[row()] * 10, row(low=None)) == ["of 10 intervals, about 1 miss the truth by chance"]
    assert notes(*[row()] * 30) == ["of 30 intervals, about 2 miss the truth by chance"]


def test_a_comparison_shows_the_tail_of_small_flows_or_else_of_all() -> None:
    def shown(*metrics: str) -> list[str]:
        return [each.metric for each in Comparison("a", 0.95, 0.05, [row(name) for name in metrics]).main()]

    tails = ("fct_us.all.p99", "fct_us.small.mean", "fct_us.medium.p99@0", "goodput_gbps")
    assert shown(*tails) == ["fct_us.all.p99", "fct_us.medium.p99@0", "goodput_gbps"]
    assert shown("fct_us.small.p99", *tails) == ["fct_us.small.p99", "fct_us.medium.p99@0", "goodput_gbps"]


def test_losses_in_cards_are_compared_only_where_there_are_some() -> None:
    def names(*losses: float) -> list[str]:
        totals = {"goodput_gbps": 1.0, "loss_rate_in_switches": 0.0}
        one, other = (
            Sample({"fct_us.all@0": Series(np.ones(1))}, totals | {"loss_rate_in_cards": loss}, ())
            for loss in losses
        )
        return [metric.name for metric in comparison._metrics([(one, other)])]

    usual = ["fct_us.all.mean@0", "fct_us.all.p99@0", "goodput_gbps", "loss_rate_in_switches"]
    assert names(0.0, 0.0) == [*usual, "timeouts_per_flow"]
    assert names(0.0, 0.1) == names(0.1, 0.0) == [*usual, "loss_rate_in_cards", "timeouts_per_flow"]


def test_what_differs_is_named_by_its_innermost_place() -> None:
    first = comparison._first_difference
    assert first("w", [{"a": 1}, {"a": 1, "b": 2}], [{"a": 1}, {"a": 1, "b": 3}]) == ("w.1.b", 2, 3)
    assert first("w", {"a": 1}, {"a": 1, "c": 4}) == ("w.c", None, 4)
    # Lists of different lengths, and what is not alike, differ as a whole.
    assert first("w", [1, 2], [1]) == ("w", [1, 2], [1])
    assert first("w", {"a": [1]}, {"a": {"b": 1}}) == ("w.a", [1], {"b": 1})
    assert [comparison._shown(each) for each in (None, [1, 2], "x")] == ["not set", "2 entries", "'x'"]
    assert (comparison._list(range(6)), comparison._list(range(7))) == (
        "0, 1, 2, 3, 4, 5",
        "0, 1, 2, 3, 4, 5, …",
    )
    assert comparison._list([""]) == "no axes"
    assert places._some([*"abcdefgh"]) == "a, b, c, d, e, f, g, h"
    assert places._some([*"abcdefghi"]) == "a, b, c, d, e, f, g, h, …"


def test_an_axis_is_meant_by_its_key_before_its_last_word() -> None:
    def runs(*labels: dict[str, Any]) -> list[Run]:
        return [cast(Run, SimpleNamespace(labels=each)) for each in labels]

    two = runs({"k": 1, "red.k": 2, "seed": 1, "tcp.initial_window": 5}, {"seed": 2, "red.pmax": 1})
    assert places.axes_of(two, ["k"]) == ["k"]
    assert places.axes_of(two, ["initial window", "k", "initial_window"]) == ["tcp.initial_window", "k"]
    with pytest.raises(ShallowsError, match="several axes are called k"):
        places.axes_of(runs({"a.k": 1, "b.k": 2}), ["k"])
    assert places.place_of(two[1], ["k", "red.pmax"]) == {"k": None, "red.pmax": 1}


def test_a_place_is_meant_by_all_of_its_values_or_by_some_with_their_axes() -> None:
    known = {"A": {"red.k_min": "30KB", "n": 1}, "B": {"red.k_min": "30KB", "n": 2}}
    asked = [
        "A",
        "30KB,2",
        "2, 30KB",
        "30KB",
        "n=2",
        "k_min=30KB, n = 1",
        "k min=30KB,n=2",
        "red.k_min=30KB,n=1",
    ]
    assert [places.find(each, known) for each in asked] == ["A", "B", None, None, "B", "A", "B", "A"]
    for several_or_none in ("k_min=30KB", "red.k_min=1", "k_min=30KB, 1", "min=30KB, n=1"):
        assert places.find(several_or_none, known) is None


def resolved(**scenario: Any) -> Run:
    """A run that was resolved to this."""
    return cast(Run, SimpleNamespace(path=Path("run"), scenario=scenario))


def test_where_there_is_one_scheme_axes_that_differ_are_proposed() -> None:
    labels = [{"k": 1, "n": 2, "scheme": "a", "seed": 1}, {"k": 3, "n": 2, "scheme": "a", "seed": 2}]
    runs = {seed: cast(Run, SimpleNamespace(labels=each)) for seed, each in enumerate(labels)}
    remedies = [
        comparison._Matched({"a": {"": {seed: runs[seed] for seed in chosen}}}, {}).remedy()
        for chosen in ((0, 1), (0,))
    ]
    assert remedies[0] == "compare the values of an axis with --by; there are: k"
    assert remedies[1].startswith("name the folders of two schemes")


def test_what_a_scenario_does_not_say_cannot_be_compared() -> None:
    refuse, whole = comparison._refuse_if_different, resolved(measure={"warm_up": "0ps"}, stop={})
    refuse((whole, whole), "measure.warm_up")
    for missing in (resolved(), resolved(measure={}), resolved(measure="warm_up")):
        for pair in ((whole, missing), (missing, whole)):
            with pytest.raises(ShallowsError, match=r"run/resolved\.json has no measure\.warm_up"):
                refuse(pair, "measure.warm_up")
    with pytest.raises(ShallowsError, match=r"run and run do not match: stop is \{\} and not set"):
        refuse((whole, resolved(stop=None)), "stop")


def test_a_table_of_verdicts_has_labels_of_points_as_columns() -> None:
    told = Comparison("a", 0.95, 0.05, [replace(row(), point={"load": 0.5})]).table
    names = [
        "load",
        "scheme",
        "metric",
        "verdict",
        "reason",
        "baseline_value",
        "value",
        "change",
        "low",
        "high",
    ]
    assert told.columns == [*names, "groups"]


def test_verdicts_have_a_table_for_each_scheme_and_point_of_what_is_looked_at_first() -> None:
    rows = [replace(row(scheme=scheme), point={"load": load}) for load in (0.4, 0.5) for scheme in "bc"]
    found = Comparison("a", 0.9, 0.05, [*rows, row("fct_us.medium.p99"), replace(row(), reason="too few")])
    tables = comparison_tables.verdicts(found)
    titles = [
        "b against a, load 0.4",
        "c against a, load 0.4",
        "b against a, load 0.5",
        "c against a, load 0.5",
    ]
    assert [table.title for table in tables] == [*titles, "b against a"]
    assert (tables[0].columns[2:], tables[0].names) == (["a", "b", "change", "90 % interval"], 2)
    assert [len(table.rows) for table in tables] == [1] * 5
    assert [len(table.rows) for table in comparison_tables.verdicts(found, everything=True)] == [1] * 4 + [2]
    assert (tables[-1].note, tables[-1].rows[0][1]) == ("[1] too few", "worse [1]")


def standing(place: str, front: Any, *open_with: str, **more: Any) -> Standing:
    """Of a goodput of 1 and a loss of 2 %."""
    values: dict[str, float | None] = {"goodput_gbps": 1.0, "loss_rate_in_switches": 0.02}
    told = {"change": 0.5, "low": 0.25, "high": None, "verdict": "worse", "reason": ""} | more
    return Standing(place, values, front=front, beaten_by=[], open_with=[*open_with], **told)


def test_places_that_are_left_say_from_whom_they_cannot_be_told() -> None:
    metrics = ["goodput_gbps", "loss_rate_in_switches"]
    found = Ranking(
        {"load": 0.5},
        metrics,
        [
            standing("a", "not beaten"),
            standing("b", "cannot tell", "c"),
            standing("c", "cannot tell", "b", "d", "e"),
            standing("d", "beaten"),
        ],
    )
    shown = comparison_tables.not_beaten(found)
    assert shown.title == "Not beaten, load 0.5"
    assert shown.columns == ["place", "", "goodput Gb/s", "loss in switches"]
    assert [row[1] for row in shown.rows] == [
        "not beaten",
        "cannot tell from c",
        "cannot tell from b and 2 more",
    ]
    assert shown.rows[0][2:] == ["1", "2 %"]
    assert shown.names == 2
    assert shown.note == (
        "1 of 4 places are beaten: another is better in one of these metrics, "
        "and at least as good in the others"
    )


def test_twenty_places_are_shown_and_the_others_counted() -> None:
    def of(count: int, metrics: int = 1) -> list[Any]:
        names = ["goodput_gbps", "loss_rate_in_switches"][:metrics]
        all_of_them = [standing(str(number), None) for number in range(count)]
        told = SimpleNamespace(confidence=0.95, rankings=[Ranking({}, names, all_of_them)])
        return comparison_tables.rankings(cast(Comparison, told))

    (twenty,), (more,) = of(20), of(23)
    assert (len(twenty.rows), twenty.note) == (20, "")
    assert (len(more.rows), more.note) == (20, "3 more: --all shows them")
    assert [row[0] for row in more.rows[:2]] == ["1", "2"]
    assert (more.names, more.rows[0][-2:]) == (3, ["+50 %", "+25 % to ?"])
    # With one metric nobody is beaten in all; with two there is a table of who is left.
    assert len(of(1, metrics=2)) == 2


def test_a_change_without_limits_has_no_interval() -> None:
    change_of = comparison_tables.change_of
    assert change_of("goodput_gbps", standing("a", None, low=None)) == ("+50 %", NOTHING)
    assert change_of("goodput_gbps", standing("a", None, low=None, high=1.0)) == ("+50 %", "? to +100 %")
    assert change_of("goodput_gbps", standing("a", None, verdict="first")) == (NOTHING, NOTHING)
    assert change_of("goodput_gbps", standing("a", None, change=None)) == (NOTHING, NOTHING)
    assert comparison_tables.verdict_cells(row(low=None))[-1] == NOTHING
