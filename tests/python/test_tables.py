"""Tests of the tables of runs and sweeps: their columns, and the notation of numbers."""

from typing import Any

import pytest

import shallows as sh
from fake_runs import fake_run
from shallows.runs import points_table, tables
from shallows.runs.bins import bins
from shallows.runs.table import Table


def row_of(shown: Table | None, name: str) -> list[str]:
    """Return the cells of the row with this name, except for the name."""
    assert shown is not None
    (row,) = [row for row in shown.rows if row[0] == name]
    return row[1:]


# Marking curves.


def curve(low: float, high: float, **more: Any) -> dict[str, Any]:
    """Return a marking curve from `low` to `high` bytes, with packets of 1,000 bytes."""
    level = [
        {"bytes": each, "packets": each / 1e3, "us": each / 1e4, "bdp": each / 1e5} for each in (low, high)
    ]
    known: dict[str, Any] = {"rate_bps": 1e10, "kind": "red", "scope": "queue", "at": "enqueue", "pmax": 1.0}
    known |= {"kmin": level[0], "kmax": level[1], "limits": [], "ports": 3, "port": "up", "base_rtt_us": 8.25}
    return known | more


LIMITS = [
    {"busy_ports": busy, "limit_bytes": size, "can_fire": True} for busy, size in ((8, 50_000), (1, 90_000))
]


def three_curves() -> Table:
    """Return the table of a ramp with known limits, a step, and a ramp with ends in different units."""
    ramp = curve(30_000, 90_000, pmax=0.1, limits=LIMITS)
    return tables.marking_curves([ramp, curve(2_000_000, 2_000_000), curve(900, 2_000)])


def test_each_marking_curve_has_a_column() -> None:
    assert three_curves().columns == ["", *["3 × up"] * 3]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        # A range whose ends have the same prefix names it once.
        ("marks above", ["30–90 KB", "2 MB", "900 B–2 KB"]),
        ("  in packets", ["30–90", "2,000", "0.9–2"]),
        ("  probability up to", ["10 %", "100 %", "100 %"]),
        # Markers without limits have none.
        ("limit, 1 busy", ["90 KB", "–", "–"]),
        ("limit, 8 busy", ["50 KB", "–", "–"]),
    ],
)
def test_marking_curves_are_shown_with_their_ranges_probabilities_and_limits(
    name: str, cells: list[str]
) -> None:
    assert row_of(three_curves(), name) == cells


def test_limits_of_marking_curves_are_in_order_of_busy_ports() -> None:
    assert [row[0] for row in three_curves().rows[-3:]] == ["limit, 1 busy", "limit, 8 busy", "can mark"]


def test_the_note_on_marking_curves_has_the_base_round_trip_time() -> None:
    assert "8.25 µs" in three_curves().note


def test_a_probability_is_left_out_where_all_curves_mark_certainly() -> None:
    # Also of curves that can be read only once.
    certain = tables.marking_curves(iter([curve(1_000, 1_000)]))
    assert "  probability up to" not in [row[0] for row in certain.rows]


def test_without_marking_curves_the_table_is_empty() -> None:
    assert tables.marking_curves([]).rows == []


@pytest.mark.parametrize(
    ("scope", "able", "said"),
    [
        ("pool", (4, 8), "4 or 8 busy, not 1"),
        ("queue", (1, 4), "1 or 4 busy, not 8"),
        ("queue", (), "never"),
        ("pool", (1, 4, 8), "yes"),
    ],
)
def test_the_row_can_mark_names_the_numbers_of_busy_ports_with_and_without_marks(
    scope: str, able: tuple[int, ...], said: str
) -> None:
    limits = [{"busy_ports": n, "limit_bytes": 9, "can_fire": n in able} for n in (1, 4, 8)]
    shown = tables.marking_curves([curve(1_000, 1_000, scope=scope, limits=limits)])
    assert row_of(shown, "can mark") == [said]


# One run.


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["above_5000", "1000_to_5000", "0_to_1000", "all"],
            ["all", "0_to_1000", "1000_to_5000", "above_5000"],
        ),
        (["large", "medium", "all", "small"], ["all", "small", "medium", "large"]),
        # Edges that end with the same.
        (["above_2", "0_to_2", "all"], ["all", "0_to_2", "above_2"]),
    ],
)
def test_bins_are_in_the_order_of_their_sizes(names: list[str], expected: list[str]) -> None:
    assert bins({"fct_us": dict.fromkeys(names)}) == expected


def test_a_table_has_one_column_of_names_by_default() -> None:
    assert Table("title", [], []).names == 1


SUMMARY: dict[str, Any] = {
    "fct_us": {
        "all": {"count": 2_009, "mean": 11.0, "p50": 12.0, "p95": 13.0, "p99": 14.0, "max": 15.0},
        "small": {"count": 2_003, "mean": 21.0, "p50": 22.0, "p95": 23.0, "p99": 24.0, "max": 25.0},
        "large": {"count": 3, "mean": 31.0, "p50": 32.0, "p95": 33.0, "p99": 34.0, "max": 35.0},
    },
    "slowdown": {"all": {"mean": 1.5, "p99": 2.5}},
    "flows": {"started": 20, "completed": 9, "unbounded": 4},
    "loss_rate": 0.5,
    "loss_rate_in_switches": 0.02,
    "loss_rate_in_nics": 0.01,
    "timeouts": 6,
    "retransmits": 8,
    "goodput_gbps": 9.0,
    "simulated_s": 0.25,
    "packets": {
        "sent": 100,
        "dropped_in_switches": 2,
        "dropped_in_nics": 1,
        "dropped_data_in_switches": 2,
        "dropped_data_in_nics": 0,
        "marked": 7,
    },
    "engine": {"packet_hops_per_s": 3_000_000.0},
}


def test_completion_times_have_their_statistics_in_order() -> None:
    first, *_ = tables.completion(SUMMARY).rows
    assert first == ["all", "2,009", "11", "12", "13", "14", "15", "1.5", "2.5"]


@pytest.mark.parametrize(
    ("count", "cells", "note"),
    [
        # 20 observations lie above a p50 of 40, a p95 of 400, and a p99 of 2,000.
        (2_000, ["12", "13", "14", "15", "1.5", "2.5"], ""),
        (
            1_999,
            ["12", "13", "–", "15", "1.5", "–"],
            "a percentile is shown only if at least 20 observations lie above it: p99 needs 2,000",
        ),
        (
            39,
            ["–", "–", "–", "15", "1.5", "–"],
            "a percentile is shown only if at least 20 observations lie above it: "
            "p50 needs 40, p95 400, p99 2,000",
        ),
    ],
)
def test_percentiles_of_too_few_flows_are_absent_with_the_reason(
    count: int, cells: list[str], note: str
) -> None:
    times = SUMMARY["fct_us"]["all"] | {"count": count}
    shown = tables.completion(SUMMARY | {"fct_us": {"all": times}})
    assert (shown.rows[0][3:], shown.note) == (cells, note)


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("simulated time", "250 ms"),
        ("flows completed", "9 of 20"),
        ("packets dropped in switches", "2 (2 %)"),
        ("timeouts", "6"),
        ("retransmitted segments", "8"),
    ],
)
def test_the_network_is_told_of_in_numbers_with_units(name: str, cell: str) -> None:
    assert row_of(tables.network(SUMMARY), name) == [cell]


LOST_IN_SWITCHES: dict[str, Any] = SUMMARY | {
    "packets": {
        "sent": 1_000,
        "marked": 3,
        "dropped_in_switches": 10,
        "dropped_in_nics": 0,
        "dropped_data_in_switches": 8,
        "dropped_data_in_nics": 0,
    },
    "simulated_s": 0.9994,
    "goodput_gbps": 4.5,
    "loss_rate_in_switches": 0.01,
    "loss_rate_in_nics": 0.0,
}


@pytest.mark.parametrize(
    ("name", "cell"),
    [
        ("simulated time", "999 ms"),
        ("goodput", "4.5 Gb/s"),
        ("packets dropped in switches", "10 (1 %)"),
        ("packets dropped in hosts' NICs", "none"),
        ("  lost in switches, in NICs", "8, 0"),
    ],
)
def test_losses_are_told_of_where_they_were(name: str, cell: str) -> None:
    assert row_of(tables.network(LOST_IN_SWITCHES), name) == [cell]


def test_datagrams_follow_the_goodput_where_there_were_any() -> None:
    plain = tables.network(LOST_IN_SWITCHES)
    more = tables.network(LOST_IN_SWITCHES | {"datagram_gbps": 1.5})
    assert [row for row in more.rows if row not in plain.rows] == [["datagrams received", "1.5 Gb/s"]]
    assert [row[0] for row in more.rows[1:4]] == ["simulated time", "goodput", "datagrams received"]


def test_datagrams_are_left_out_where_there_were_none() -> None:
    none = tables.network(LOST_IN_SWITCHES | {"datagram_gbps": 0.0})
    assert none.rows == tables.network(LOST_IN_SWITCHES).rows


@pytest.mark.parametrize(
    ("markers", "rows"),
    [
        # Marked packets, those of incasts among them, and dropped ones.
        ({"red": (5, 0, 0)}, None),
        ({"red": (5_000, 1, 0)}, [["red", "5,000", "1", "0"]]),
        ({"red": (5, 0, 2)}, [["red", "5", "0", "2"]]),
        ({"red": (5, 0, 0), "codel": (6, 0, 0)}, [["red", "5", "0", "0"], ["codel", "6", "0", "0"]]),
    ],
)
def test_markers_are_shown_where_there_are_two_or_one_does_more_than_mark(
    markers: dict[str, tuple[int, int, int]], rows: list[list[str]] | None
) -> None:
    names = ("marked", "incast", "dropped")
    told = {key: dict(zip(names, counts, strict=True)) for key, counts in markers.items()}
    made = tables.markers({"markers": told})
    assert (made.rows if made else None) == rows


def port(**counts: float) -> dict[str, Any]:
    """Return the counters of a kind with four ports."""
    idle = {"dropped": 0, "dropped_data": 0, "marked": 0, "loss_rate": 0.0}
    return {"ports": 4, "received": 2_000} | idle | counts


LOST, MARKED, IDLE = port(dropped=20, dropped_data=10, loss_rate=0.01), port(marked=7), port()


@pytest.mark.parametrize("ports", [{"to-host": LOST, "up": IDLE}, {"to-host": IDLE, "nic": IDLE}])
def test_ports_are_not_told_apart_where_only_one_kind_in_a_switch_lost_or_marked(
    ports: dict[str, Any],
) -> None:
    assert tables.ports({"ports": ports}) is None


def test_ports_are_told_apart_where_two_kinds_lost_or_marked() -> None:
    shown = tables.ports({"ports": {"to-host": LOST, "up": MARKED}})
    assert shown is not None
    assert shown.rows == [
        ["switch to host", "4", "2,000", "20", "1 %", "10", "0"],
        ["leaf to spine, or edge to aggregation", "4", "2,000", "0", "0 %", "0", "7"],
    ]


def test_ports_of_nics_are_shown_where_they_lost_or_marked() -> None:
    nics = tables.ports({"ports": {"nic": MARKED}})
    assert nics is not None
    assert len(nics.rows) == 1


def test_pings_have_their_times_and_those_that_were_lost() -> None:
    times = {"count": 2_000, "mean": 1.0, "p50": 2.0, "p95": 3.0, "p99": 4.0, "max": 5.0, "lost": 6}
    shown = tables.pings({"ping_rtt_us": {"class1": times, "class2": {"count": 0, "lost": 9}}})
    assert row_of(shown, "class 1") == ["2,000", "1", "2", "3", "4", "5", "6"]
    assert row_of(shown, "class 2") == ["0", *["–"] * 5, "9"]


QUERIES = {"count": 21_200, "mean": 5.0, "p50": 4.0, "p95": 6.0, "p99": 7.0, "p999": 8.0}
QUERIES |= {"with_timeout": 0.25, "quality": 0.5, "goodput_gbps": 3.0}


def test_queries_have_a_row_for_each_workload() -> None:
    shown = tables.queries({"queries": {"workload0": QUERIES, "workload2": QUERIES}})
    assert shown is not None
    assert [row[:3] for row in shown.rows] == [["workload 0", "21,200", "5"], ["workload 2", "21,200", "5"]]


def test_queries_with_timeouts_and_the_quality_of_answers_are_in_percent() -> None:
    shown = tables.queries({"queries": {"workload0": QUERIES}})
    assert row_of(shown, "workload 0")[6:8] == ["25 %", "50 %"]


LATE = {"count": 1_000, "median_us": 2_000, "p99_us": 30, "worst_us": 44.44}
HEALTH: dict[str, Any] = dict.fromkeys(("lateness", "pickup", "writing"), LATE)
HEALTH |= {"bound_p99_us": 100, "bound_worst_us": 1_000, "overruns": 3, "refused": 4, "steal_percent": 0.5}


def test_the_health_of_a_testbed_has_lateness_and_its_bound() -> None:
    shown = tables.health({"health": HEALTH | {"valid": True, "dilation": 1}})
    assert shown is not None
    assert shown.rows == [
        ["frames handed over", "1,000", "2,000", "30", "44.4"],
        ["frames taken", "1,000", "2,000", "30", "44.4"],
        ["flows written", "1,000", "2,000", "30", "44.4"],
        ["bound", "", "", "100", "1,000"],
    ]


def test_a_testbed_that_kept_up_is_valid_with_what_it_lost() -> None:
    # Three overruns and four refused frames.
    shown = tables.health({"health": HEALTH | {"valid": True, "dilation": 1}})
    assert shown is not None
    assert shown.note == (
        "7 frames lost beside the model; 0.5 % of the processors' time went to others. Valid."
    )


def test_a_testbed_with_slow_time_says_whose_time_it_shows() -> None:
    slow = tables.health({"health": HEALTH | {"valid": False, "dilation": 2}})
    assert slow is not None
    assert slow.note.endswith("Not valid. Of the machine's time; the network's passes 2 times slower.")


@pytest.mark.parametrize(
    ("table", "summary"),
    [
        ("markers", {}),
        ("markers", {"markers": None}),
        ("pings", {}),
        ("pings", {"ping_rtt_us": {}}),
        ("queries", {}),
        ("queries", {"queries": {}}),
        ("health", {}),
    ],
)
def test_what_a_run_does_not_have_has_no_table(table: str, summary: dict[str, Any]) -> None:
    assert getattr(tables, table)(summary) is None


# Sweeps.


def test_points_have_a_column_for_each_result() -> None:
    found = points_table.points([fake_run(summary=SUMMARY, labels={"seed": 1})])
    assert found.columns == ["seed", *points_table.RESULTS]
    assert found.rows == [["1", "11", "15", "24", "31", "2 %", "1 %", "6", "7", "3 M"]]


def test_a_p99_of_too_few_small_flows_is_absent_from_a_sweeps_table() -> None:
    few = SUMMARY["fct_us"] | {"small": {"count": 1_999, "p99": 24.0}}
    found = points_table.points([fake_run(summary=SUMMARY | {"fct_us": few}, labels={"seed": 1})])
    assert "small p99 µs" not in found.columns
    assert found.note.endswith("at least 20 observations lie above it: p99 needs 2,000")


def finished(labels: dict[str, Any], **more: Any) -> sh.Run:
    """Return a run of a sweep with a short summary."""
    summary: dict[str, Any] = {
        "fct_us": {"all": {"mean": 11.0, "max": 15.0}},
        "flows": {"started": 9, "completed": 6, "unbounded": 3},
        "loss_rate_in_switches": 0.0,
        "loss_rate_in_nics": 0.0,
        "timeouts": 1_000,
        "engine": {"packet_hops_per_s": 3e6},
    }
    return fake_run(labels=labels, summary=summary | more)


def test_columns_in_which_no_run_has_anything_are_left_out() -> None:
    # No sizes, no losses in NICs, and no unfinished flows: unbounded flows do not count as unfinished.
    shown = points_table.points(
        [finished({"scheme": "a", "red.k_min": 1}), finished({"scheme": "b", "seed": 2})]
    )
    assert shown.columns == [
        "scheme",
        "k min",
        "seed",
        "mean µs",
        "max µs",
        "switch loss",
        "timeouts",
        "hops/s",
    ]
    assert shown.rows == [
        ["a", "1", "–", "11", "15", "0 %", "1,000", "3 M"],
        ["b", "–", "2", "11", "15", "0 %", "1,000", "3 M"],
    ]
    assert (shown.names, shown.note) == (3, "")


def test_columns_in_which_one_run_has_something_are_shown() -> None:
    unfinished = {"started": 9, "completed": 5, "unbounded": 3}
    some = points_table.points([finished({}, flows=unfinished), finished({}, loss_rate_in_nics=0.5)])
    assert some.columns[-4:] == ["NIC loss", "timeouts", "unfinished", "hops/s"]
    assert [row[-4::2] for row in some.rows] == [["–", "1"], ["50 %", "–"]]
    assert some.note.startswith("unfinished: flows that had not completed")


@pytest.mark.parametrize(
    ("in_nics", "expected"),
    [
        ((0.1, 0.2, 0.05), ["1 of 3 runs lost more packets in hosts' own NICs than in switches"]),
        ((0.1, 0.05), []),
    ],
)
def test_runs_that_lost_more_in_nics_than_in_switches_are_counted(
    in_nics: tuple[float, ...], expected: list[str]
) -> None:
    runs = [finished({}, loss_rate_in_nics=share, loss_rate_in_switches=0.1) for share in in_nics]
    assert points_table.losses_of_nics(runs) == expected
