"""Where verdicts and orders change: at which counts and limits, and beside whom; each worked out by hand."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from shallows.comparison import comparison, comparison_tables, places
from shallows.comparison.comparison import Comparison, Row
from shallows.comparison.ranking import Ranking, Standing
from shallows.comparison.samples import Sample, Series
from shallows.comparison.verdicts import Metric
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
