"""Tests of the tables of a comparison for the terminal: units, changes, reasons and omissions."""

from dataclasses import replace
from typing import Any

import pytest

from fake_samples import verdict_row
from shallows.comparison import comparison_tables, rows
from shallows.comparison.comparison import Comparison
from shallows.comparison.ranking import Ranking, Standing
from shallows.comparison.rows import Row
from shallows.runs.table import NOTHING


@pytest.mark.parametrize(
    ("metric", "change", "shown"),
    [
        ("fct_us.all.mean", (0.5, 0.25, 1.0), ["+50 %", "+25 %", "+100 %"]),
        # Where one of them is more than twofold, all are factors.
        ("fct_us.all.mean", (0.5, 0.25, 1.5), ["×1.5", "×1.25", "×2.5"]),
        ("loss_rate_in_switches", (0.01, None, 0.005), ["+1 points", "?", "+0.5 points"]),
        ("timeouts_per_flow", (0.01, -0.5, None), ["+0.01", "−0.5", "?"]),
    ],
)
def test_changes_are_written_as_percent_factors_or_points(
    metric: str, change: tuple[float | None, ...], shown: list[str]
) -> None:
    assert rows.limits(metric, *change) == shown


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("loss_rate_in_switches", ""),
        ("goodput_gbps", " Gb/s"),
        ("timeouts_per_flow", ""),
        ("fct_us.all.mean", " µs"),
    ],
)
def test_metrics_have_units(metric: str, unit: str) -> None:
    assert rows.unit_of(metric) == unit


def undecided(metric: str, reason: str) -> Row:
    """Return an undecided row with the values 0.01 and 0.02, and a change of +50 %."""
    return Row({}, "b", metric, "cannot tell", reason, 0.01, 0.02, 0.5, 0.25, 0.75, "3 seeds")


UNDECIDED = Comparison(
    "a",
    0.95,
    0.05,
    [
        undecided("loss_rate_in_switches", ""),
        undecided("goodput_gbps", "the interval contains 0"),
        undecided("timeouts_per_flow", "too few"),
    ],
)


def test_verdicts_have_their_reasons_as_footnotes_unless_the_interval_says_it() -> None:
    (shown,) = comparison_tables.verdicts(UNDECIDED, everything=True)
    assert [cells[1] for cells in shown.rows] == ["cannot tell", "cannot tell", "cannot tell [1]"]
    assert shown.note == "[1] too few"


def test_losses_are_shown_in_percent_and_points_and_rates_as_they_are() -> None:
    (shown,) = comparison_tables.verdicts(UNDECIDED, everything=True)
    assert shown.rows[0][2:5] == ["1 %", "2 %", "+50 points"]
    assert shown.rows[1][2:5] == ["0.01", "0.02", "+50 %"]


BY_LOAD = Comparison(
    "a",
    0.9,
    0.05,
    [
        *(replace(verdict_row(scheme=s), point={"load": load}) for load in (0.4, 0.5) for s in "bc"),
        verdict_row("fct_us.medium.p99"),
        replace(verdict_row(), reason="too few"),
    ],
)
"""Two schemes at two loads, and one without a load, in a main metric and in another metric."""


def test_verdicts_have_a_table_for_each_scheme_and_point() -> None:
    assert [table.title for table in comparison_tables.verdicts(BY_LOAD)] == [
        "b against a, load 0.4",
        "c against a, load 0.4",
        "b against a, load 0.5",
        "c against a, load 0.5",
        "b against a",
    ]


def test_a_table_of_verdicts_has_columns_called_after_both_schemes_and_the_confidence() -> None:
    first, *_ = comparison_tables.verdicts(BY_LOAD)
    assert (first.columns[2:], first.names) == (["a", "b", "change", "90 % interval"], 2)


@pytest.mark.parametrize(("everything", "rows"), [(False, [1, 1, 1, 1, 1]), (True, [1, 1, 1, 1, 2])])
def test_all_metrics_are_shown_only_when_asked_for(everything: bool, rows: list[int]) -> None:
    tables = comparison_tables.verdicts(BY_LOAD, everything=everything)
    assert [len(table.rows) for table in tables] == rows


def test_footnotes_are_numbered_table_by_table() -> None:
    last = comparison_tables.verdicts(BY_LOAD)[-1]
    assert (last.note, last.rows[0][1]) == ("[1] too few", "worse [1]")


def test_a_verdict_without_limits_has_no_interval() -> None:
    assert rows.verdict_cells(verdict_row(low=None))[-1] == NOTHING


GOODPUT, LOSS = "goodput_gbps", "loss_rate_in_switches"


def standing(place: str, front: Any, *open_with: str, **more: Any) -> Standing:
    """Return a standing with a goodput of 1 Gb/s and a loss of 2 %; its change is +50 %, at least +25 %."""
    values: dict[str, float | None] = {GOODPUT: 1.0, LOSS: 0.02}
    told = {"change": 0.5, "low": 0.25, "high": None, "verdict": "worse", "reason": ""} | more
    return Standing(place, values, front=front, dominated_by=[], open_with=[*open_with], **told)


@pytest.mark.parametrize(
    ("standing", "shown"),
    [
        (standing("a", None, low=None), ("+50 %", NOTHING)),
        (standing("a", None, low=None, high=1.0), ("+50 %", "? to +100 %")),
        (standing("a", None, verdict="first"), (NOTHING, NOTHING)),
        (standing("a", None, change=None), (NOTHING, NOTHING)),
    ],
    ids=["no limit", "one limit", "first", "no change"],
)
def test_a_place_shows_its_change_and_interval_as_far_as_there_are_any(
    standing: Standing, shown: tuple[str, str]
) -> None:
    assert comparison_tables.change_of(GOODPUT, standing) == shown


def compared(*rankings: Ranking) -> Comparison:
    """Return a comparison with these rankings."""
    return Comparison("a", 0.95, 0.05, [], rankings=[*rankings])


THREE = [
    standing("a", "Pareto-optimal", verdict="first"),
    standing("b", "dominated", verdict="cannot tell", reason="too few"),
    standing("c", None, verdict="cannot tell", reason="too few"),
]


def test_a_ranking_in_two_metrics_says_which_places_others_beat() -> None:
    (shown, _) = comparison_tables.rankings(compared(Ranking({}, [GOODPUT, LOSS], THREE)))
    assert [row[-1] for row in shown.rows] == ["Pareto-optimal", "dominated", ""]
    assert shown.columns[-1] == "in all metrics"


def test_a_ranking_has_its_reasons_as_footnotes() -> None:
    (shown, _) = comparison_tables.rankings(compared(Ranking({}, [GOODPUT, LOSS], THREE)), everything=True)
    assert [row[2] for row in shown.rows] == ["first", "cannot tell [1]", "cannot tell [1]"]
    assert shown.note == "[1] too few"


def test_a_ranking_in_one_metric_ends_with_the_interval() -> None:
    (shown,) = comparison_tables.rankings(compared(Ranking({}, [GOODPUT], THREE)), everything=True)
    assert [len(row) for row in shown.rows] == [len(shown.columns)] * 3
    assert shown.columns[-1] == "95 % interval"


def of_places(count: int) -> Comparison:
    """Return a comparison with a ranking of this many places in one metric."""
    return compared(Ranking({}, [GOODPUT], [standing(str(number), None) for number in range(count)]))


@pytest.mark.parametrize(("count", "note"), [(20, ""), (23, "3 more: --all shows them")])
def test_twenty_places_are_shown_and_the_others_counted(count: int, note: str) -> None:
    (shown,) = comparison_tables.rankings(of_places(count))
    assert (len(shown.rows), shown.note) == (20, note)


def test_places_of_a_ranking_are_numbered_from_one_on() -> None:
    (shown,) = comparison_tables.rankings(of_places(23))
    assert [row[0] for row in shown.rows[:2]] == ["1", "2"]
    assert (shown.names, shown.rows[0][-2:]) == (3, ["+50 %", "+25 % to ?"])


LEFT = Ranking(
    {"load": 0.5},
    [GOODPUT, LOSS],
    [
        standing("a", "Pareto-optimal"),
        standing("b", "cannot tell", "c"),
        standing("c", "cannot tell", "b", "d", "e"),
        standing("d", "dominated"),
    ],
)


def test_places_that_are_left_say_from_whom_they_cannot_be_told() -> None:
    assert [row[1] for row in comparison_tables.pareto_optimal(LEFT).rows] == [
        "Pareto-optimal",
        "cannot tell from c",
        "cannot tell from b and 2 more",
    ]


def test_places_that_are_left_have_their_values_with_units() -> None:
    shown = comparison_tables.pareto_optimal(LEFT)
    assert shown.title == "Pareto-optimal, load 0.5"
    assert (shown.columns, shown.names) == (["place", "", "goodput Gb/s", "loss in switches"], 2)
    assert shown.rows[0][2:] == ["1", "2 %"]


def test_places_that_are_dominated_are_counted() -> None:
    assert comparison_tables.pareto_optimal(LEFT).note == (
        "1 of 4 places are dominated: another is better in one of these metrics, "
        "and at least as good in the others"
    )
