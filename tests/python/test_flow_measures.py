"""Tests of metrics of flows by name: times, rates, fairness, convergence, windows and concurrency.

Runs are made by hand, or so small that their numbers are known.
"""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shallows as sh
from fake_runs import fake_run, flow_table, flow_trace
from shallows.series import flow_measures
from shallows.series.measures import measure

# Times and rates.


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The first flow has 1,460 bytes in 4.4 µs; the second is not complete.
        ("flow_gbps.all", 1_460 * 8 / 4_400),
        ("flow_gbps.small", 1_460 * 8 / 4_400),
        ("ideal_fct_us.all.p100", 4.4),
        ("fct_us.all.p99", 4.4),
    ],
)
def test_times_and_rates_are_of_complete_flows(cut_off: sh.Run, name: str, expected: float) -> None:
    assert measure(cut_off, name) == pytest.approx(expected)


def test_rates_of_a_run_without_a_complete_flow_after_its_warm_up_are_refused(
    cut_off: sh.Run, tmp_path: Path
) -> None:
    late = sh.run(cut_off.path / "scenario.toml", {"measure.warm_up": "10001ns"}, out=tmp_path / "late")
    with pytest.raises(sh.ShallowsError, match=r"no flow in size bin 'all' of .* completed"):
        measure(late, "flow_gbps.all")


SIZES = fake_run(
    flows=flow_table(
        size_bytes=[100_000, 100_001, 10_000_000, 10_000_001, 50, None],
        fct_us=[80.0, 100.0, 8_000.0, 9_000.0, None, 5.0],
        arrival_us=[3.0, 2.0, 1.0, 0.0, 4.0, 5.0],
        workload=[0, 0, 1, 1, 0, 0],
    )
)
"""Sizes of flows at the edges of bins (100 KB and 10 MB), of an unfinished flow and an unbounded one."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # A size at an edge is in the bin below it.
        ("small.max@0..2", 80),
        ("medium.max@0..2", 8_000),
        ("large.max@0..2", 9_000),
        ("all.max@0..2", 9_000),
        ("small.p100@0..2", 80),
        # Of 100 and 8,000 µs.
        ("medium.mean@0..2", 4_050),
        ("all.max@0", 100),
    ],
)
def test_completion_times_are_of_complete_flows_of_a_bin_and_of_workloads(name: str, expected: float) -> None:
    assert measure(SIZES, f"fct_us.{name}") == expected


def test_the_rate_of_a_bin_is_that_of_its_complete_flows() -> None:
    # 100,000 bytes in 80 µs.
    assert measure(SIZES, "flow_gbps.small") == pytest.approx(10, rel=1e-12)


def test_services_are_as_fair_as_the_mean_rates_of_their_flows() -> None:
    flows = flow_table(
        size_bytes=[1_000, 3_000, 4_000, 20_000_000],
        fct_us=[1.0, 1.0, 1.0, 1.0],
        **{"class": [0, 0, 1, 1]},
    )
    # Means of 2,000 and 4,000 bytes per µs: (2 + 4)² / (2 · (2² + 4²)).
    assert measure(fake_run(flows=flows), "jain_of_classes.small") == pytest.approx(36 / 40)


def test_times_of_a_bin_without_a_complete_flow_are_refused() -> None:
    with pytest.raises(sh.ShallowsError, match="no flow of '1' in size bin 'small'"):
        measure(SIZES, "fct_us.small.mean@1")


@pytest.mark.parametrize("name", ["tiny.mean@0", "small.median@0"])
def test_unknown_bins_and_statistics_of_times_are_refused(name: str) -> None:
    with pytest.raises(sh.ShallowsError, match="unknown metric"):
        measure(SIZES, f"fct_us.{name}")


WARM_UP = fake_run(
    flows=flow_table(
        arrival_us=[500.0, 2_000.0, 2_100.0],
        counted=[0, 1, 1],
        fct_us=[900.0, 100.0, 300.0],
        ideal_us=[900.0, 50.0, 60.0],
        size_bytes=[1_000, 100_000, 100_001],
        longest_ack_gap_us=[900.0, 10.0, 20.0],
        longest_arrival_gap_us=[900.0, 30.0, 40.0],
    )
)
"""A flow before the warm-up in which every value is 900 µs, and two flows after it."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("longest_ack_gap_us.max@0", 20),
        ("longest_arrival_gap_us.mean@0", 35),
        # A size at an edge, 100 KB, is in the bin below it.
        ("ideal_fct_us.small.p100", 50),
        ("ideal_fct_us.medium.p1", 60),
        # Each flow counts the same: 8 and 2.667 Gb/s.
        ("flow_gbps.all", (100_000 * 8 / 100 + 100_001 * 8 / 300) / 2 / 1e3),
        # Of eight windows of 1 ms from the third on, the first that counts, one has flows, two at once.
        ("concurrent.p87@1ms", 0),
        ("concurrent.p88@1ms", 2),
    ],
)
def test_flows_before_the_warm_up_are_in_no_measure_of_flows(name: str, expected: float) -> None:
    assert measure(WARM_UP, name) == pytest.approx(expected)


def test_a_timeout_before_the_warm_up_counts() -> None:
    before = fake_run(1_000.0, flows=flow_table(timeouts=[1, 0], counted=[0, 1]))
    assert measure(before, "with_timeout@0") == 0.5


GAPS = fake_run(flows=flow_table(longest_ack_gap_us=[10.0, None, 30.0]), flow_traces=None)


@pytest.mark.parametrize(("name", "expected"), [("mean", 20), ("above_10", 0.5), ("below_30", 0.5)])
def test_gaps_are_of_flows_that_have_any(name: str, expected: float) -> None:
    assert measure(GAPS, f"longest_ack_gap_us.{name}@0") == expected


# Goodput and fairness.


def test_jains_index_of_a_flow_that_has_all_is_one_over_the_number_of_flows() -> None:
    run = fake_run(1e6, flows=flow_table(delivered_bytes=[0, 8, 0, 0]))
    assert measure(run, "jain@0") == pytest.approx(1 / 4)


def test_jains_index_of_flows_without_bytes_is_zero() -> None:
    assert measure(fake_run(10.0, flows=flow_table(delivered_bytes=[0, 0])), "jain@0") == 0


# 1,000 bytes in 10 and in 5 µs: 0.8 and 1.6 Gb/s.
TWO_RATES = fake_run(10.0, flows=flow_table(arrival_us=[0.0, 5.0]))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("flow_gbps@0", 1.2),
        # Jain's index is 2.4² / (2 · 3.2).
        ("jain@0", 0.9),
        # To a host, and of a class: all bytes over the whole time.
        ("goodput_gbps@1", 1.6),
        ("goodput_gbps@class0", 1.6),
    ],
)
def test_rates_of_flows_are_from_their_arrivals_to_the_end_and_of_hosts_over_the_whole_time(
    name: str, expected: float
) -> None:
    assert measure(TWO_RATES, name) == pytest.approx(expected, rel=1e-12)


TWO_HOSTS = fake_run(10.0, flows=flow_table(destination=[1, 2], delivered_bytes=[3_000, 1_000]))


def test_a_ratio_of_goodputs_is_that_of_two_hosts() -> None:
    assert measure(TWO_HOSTS, "goodput_ratio@1/2") == pytest.approx(3, rel=1e-12)


@pytest.mark.parametrize("host", ["3", "0"])
def test_the_goodput_of_a_host_without_flows_to_it_is_refused(host: str) -> None:
    with pytest.raises(sh.ShallowsError, match=f"host {host} receives no flow"):
        measure(TWO_HOSTS, f"goodput_gbps@{host}")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Per ms the flows get 1 and 1, then 3 and 0, then 1 and 3: indices of 1, 1/2 and 16/20. What comes 1
        # ns after a cut is of the next slice; what comes 1 ns before it, or with it, is of the one before.
        ("jain_over.1ms@0..0.003", (1 + 0.5 + 16 / 20) / 3),
        ("jain_over.1ms@0.001..0.003", (0.5 + 16 / 20) / 2),
    ],
)
def test_fairness_over_time_is_the_mean_of_slices_cut_where_they_end(name: str, expected: float) -> None:
    rows = [(1_000.0, 0, 1.0), (1_000.0, 1, 1.0), (1_999.999, 0, 4.0), (2_000.001, 0, 5.0), (3_000.0, 1, 4.0)]
    run = fake_run(flows=flow_table(arrival_us=[0.0, 0.0]), flow_traces=flow_trace("acked_bytes", *rows))
    assert measure(run, name) == pytest.approx(expected, rel=1e-9)


# Convergence.


# A quarter of a byte a millisecond until the 10th, and one from then on.
SLOW_START = [(1e3 * ms, 0, min(ms, 10) / 4 + max(ms - 10, 0)) for ms in range(21)]
CLASS_1: dict[str, list[Any]] = {"class": [1]}


def test_a_class_has_converged_when_the_last_two_milliseconds_have_its_share() -> None:
    # Its share is 2 in 2 ms, and nine tenths of that came first from the 10th to the 12th.
    trace = flow_trace("acked_bytes", *SLOW_START)
    run = fake_run(20_000.0, flows=flow_table(**CLASS_1), flow_traces=trace)
    assert measure(run, "convergence_ms@class1") == 12


def test_a_class_that_gets_nothing_more_has_its_share_at_once() -> None:
    late = flow_table(**CLASS_1, arrival_us=[4_000.0])
    acked = flow_trace("acked_bytes", (4_000.0, 0, 0.0), (5_000.0, 0, 9.0))
    assert measure(fake_run(20_000.0, flows=late, flow_traces=acked), "convergence_ms@class1") == 0


def test_convergence_of_a_class_without_a_trace_is_refused() -> None:
    late = flow_table(**CLASS_1, arrival_us=[4_000.0])
    other = flow_trace("acked_bytes", (4_000.0, 7, 0.0), (5_000.0, 7, 9.0))
    with pytest.raises(sh.ShallowsError, match="no traces of the flows of 'class1'"):
        measure(fake_run(flows=late, flow_traces=other), "convergence_ms@class1")


def two_steady_flows(*per_5ms: float) -> sh.Run:
    """Return a run of flows that are acknowledged these numbers of bytes in each 5 ms."""
    acked = [(5e3 * n, flow, each * n) for flow, each in enumerate(per_5ms) for n in range(3)]
    return fake_run(flows=flow_table(arrival_us=[0.0, 0.0]), flow_traces=flow_trace("acked_bytes", *acked))


def test_a_flow_has_caught_up_with_four_fifths_of_the_mean_not_of_the_quickest() -> None:
    # Four fifths of the mean of 5 and 7 are 4.8.
    assert measure(two_steady_flows(5.0, 7.0), "catch_up_ms@0") == 5


@pytest.mark.parametrize(("flow", "expected"), [(1, 5), (0, float("inf"))])
def test_a_flow_below_four_fifths_of_the_mean_never_catches_up(flow: int, expected: float) -> None:
    # Four fifths of the mean of 1 and 9 are 4.
    assert measure(two_steady_flows(1.0, 9.0), f"catch_up_ms@{flow}") == expected


def test_catching_up_takes_time_from_the_arrival_of_the_flow_on() -> None:
    # The flow arrives at 5 ms, and has caught up at 10 ms.
    later = [(5e3, 0, 0.0), (10e3, 0, 5.0), (5e3, 1, 5.0), (10e3, 1, 10.0), (15e3, 0, 10.0), (15e3, 1, 15.0)]
    trace = flow_trace("acked_bytes", *later)
    run = fake_run(15_000.0, flows=flow_table(arrival_us=[5e3, 0.0]), flow_traces=trace)
    assert measure(run, "catch_up_ms@0") == 5


@pytest.mark.parametrize(("name", "expected"), [("convergence_ms@class1", 12), ("catch_up_ms@0", 5)])
def test_other_quantities_of_a_trace_do_not_change_convergence(name: str, expected: float) -> None:
    windows = flow_trace("cwnd_bytes", *((1e3 * ms + 1, 0, 1e6 * ms) for ms in range(21)))
    trace = pl.concat([windows, flow_trace("acked_bytes", *SLOW_START)])
    assert measure(fake_run(20_000.0, flows=flow_table(**CLASS_1), flow_traces=trace), name) == expected


# Segments that were acknowledged in the last millisecond.


# Two and four segments of 1,460 bytes in the last millisecond of ten: a mean of 3 and a variance of 1.
ACKED = [(9_000.0, 0, 1_460.0), (9_500.0, 0, 3 * 1_460.0), (9_500.0, 1, 4 * 1_460.0)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("mean", 3), ("variance", 1), ("std", 1), ("max", 4), ("above_2", 0.5), ("below_4", 0.5)],
)
def test_acknowledged_packets_are_full_segments_spread_over_all_flows(name: str, expected: float) -> None:
    trace = flow_trace("acked_bytes", *ACKED)
    run = fake_run(flows=flow_table(arrival_us=[0.0, 0.0]), flow_traces=trace)
    assert measure(run, f"acked_packets.{name}@1ms") == expected


@pytest.mark.parametrize(("name", "expected"), [("mean", 3), ("max", 4)])
def test_a_trace_may_be_in_any_order_and_hold_other_quantities(name: str, expected: float) -> None:
    windows = flow_trace("cwnd_bytes", (9_800.0, 0, 9e9), (8_000.0, 1, 9e9))
    first, second, third = ACKED
    trace = pl.concat([windows, flow_trace("acked_bytes", second, first, third)])
    run = fake_run(flows=flow_table(arrival_us=[0.0, 0.0]), flow_traces=trace)
    assert measure(run, f"acked_packets.{name}@1ms") == expected


@pytest.mark.parametrize(
    ("first_us", "expected"),
    [
        # The last of 10 ms begins at 9,000 µs: a row up to a nanosecond later counts for before.
        (9_000.0005, 2.0),
        (9_000.005, 3.0),
    ],
)
def test_segments_acknowledged_within_a_nanosecond_after_the_cut_count_for_before(
    first_us: float, expected: float
) -> None:
    run = fake_run(
        flow_traces=flow_trace("acked_bytes", (first_us, 0, 1_460.0), (9_500.0, 0, 4_380.0)),
        scenario={"tcp": {"timestamps": False}, "topology": {"mtu": 1500, "framing": 0}},
    )
    assert flow_measures.acked_packets(run, 1_000.0).item() == expected


# Congestion windows.


@pytest.mark.parametrize(
    ("name", "expected"), [("min_15", 1_000), ("min_20", 2_000), ("at_15", 1_000), ("at_20", 5_000)]
)
def test_a_window_holds_until_the_next_one(name: str, expected: float) -> None:
    rows = flow_trace("cwnd_bytes", (10.0, 0, 1_000.0), (20.0, 0, 5_000.0), (30.0, 0, 2_000.0))
    run = fake_run(flows=flow_table(arrival_us=[0.0]), flow_traces=rows)
    assert measure(run, f"cwnd_bytes.{name}@0") == expected


TWO_WINDOWS = fake_run(
    flows=flow_table(arrival_us=[0.0, 0.0]),
    flow_traces=flow_trace(
        "cwnd_bytes", (10.0, 0, 1_000.0), (20.0, 1, 500.0), (30.0, 0, 900.0), (40.0, 0, 2_000.0)
    ),
)


@pytest.mark.parametrize(
    ("name", "expected"), [("min_10", 900), ("min_40", 2_000), ("at_29", 1_000), ("at_30", 900)]
)
def test_a_window_is_that_of_one_flow(name: str, expected: float) -> None:
    assert measure(TWO_WINDOWS, f"cwnd_bytes.{name}@0") == expected


def test_a_window_before_the_first_that_is_traced_is_refused() -> None:
    with pytest.raises(sh.ShallowsError, match="has no congestion window of flow 0 at 9 µs"):
        measure(TWO_WINDOWS, "cwnd_bytes.at_9@0")


@pytest.mark.parametrize("name", ["max_10", "min_", "min_x"])
def test_unknown_statistics_of_windows_are_refused(name: str) -> None:
    with pytest.raises(sh.ShallowsError, match="unknown metric"):
        measure(TWO_WINDOWS, f"cwnd_bytes.{name}@0")


# Concurrent flows.


@pytest.mark.parametrize(("name", "expected"), [("p25", 0), ("p26", 1), ("p91", 1), ("p92", 2)])
def test_concurrent_flows_are_pairs_of_hosts_in_each_window_that_they_meet(name: str, expected: int) -> None:
    # Windows of 1 ms, of which the fifth is cut off. The two flows of a query between hosts 0 and 1 are one
    # until 2.5 ms, and so in three windows; a flow from 1 to 2 that has not ended is in the last two. Host 0
    # has one in three windows, host 1 one in two, then two and one, and host 2 one in two: three of twelve
    # are none, eight are one and one is two.
    run = fake_run(
        4_500.0,
        flows=flow_table(
            query=[7, 7, None],
            source=[0, 1, 1],
            destination=[1, 0, 2],
            arrival_us=[100.0, 1_100.0, 2_100.0],
            fct_us=[900.0, 1_400.0, None],
        ),
    )
    assert measure(run, f"concurrent.{name}@1ms") == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Both hosts have two large flows in the window where there are any, and none in the other.
        ("concurrent_large_busy.p1", 2),
        ("concurrent_large.p50", 0),
        ("concurrent_large.p51", 2),
    ],
)
def test_windows_without_a_large_flow_can_be_left_out(name: str, expected: int) -> None:
    sizes = [1_000_001, 1_000_001, 9]
    flows = flow_table(size_bytes=sizes, arrival_us=[0.0, 10.0, 1_500.0], fct_us=[5.0] * 3)
    assert measure(fake_run(2_000.0, flows=flows), f"{name}@1ms") == expected


def test_a_flow_is_large_from_more_than_a_megabyte_on() -> None:
    flows = flow_table(size_bytes=[1_000_000, 1_000_001], source=[0, 0], timeouts=[1, 0])
    assert measure(fake_run(1_000.0, flows=flows), "concurrent_large.p100@1ms") == 1
