"""Tests of metrics by name, each for a run with known numbers."""

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shallows as sh
from fake_runs import fake_run
from shallows.errors import ShallowsError
from shallows.series.measures import measure
from shared import EXPERIMENTS

SLOPE = """
[stop]
at = "STOP"
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
[measure]
sample_queues = "1us"
[[workload]]
kind = "udp"
senders = "0..2"
receivers = "2..3"
pattern = { kind = "constant", rate = "5.5Gbps" }
stop = "2ms"
overload = true
"""


def test_backlogs_and_goodput_are_those_of_a_port_and_a_host(tmp_path: Path) -> None:
    # 1 Gbit/s more than the link for 2 ms of 4: a queue grows steadily to 250 KB, and is drained in 0.2 ms.
    (tmp_path / "steady.toml").write_text(SLOPE.replace("STOP", "4ms"))
    run = sh.run(tmp_path / "steady.toml", out=tmp_path / "run")
    port = "switch0->host2"
    # Half of 250 KB while it grows and drains, 2.2 ms of 4.
    assert measure(run, f"backlog_bytes.mean@{port}") == pytest.approx(125_000 * 2.2 / 4, rel=0.03)
    # Above 125 KB for half of these 2.2 ms.
    assert measure(run, f"backlog_bytes.above_125000@{port}") == pytest.approx(1.1 / 4, rel=0.03)
    assert measure(run, f"backlog_bytes.p9999@{port}") == pytest.approx(250_000, rel=0.03)
    assert measure(run, f"backlog_bytes.p40@{port}") == 0
    with pytest.raises(ShallowsError, match=r"unknown metric 'backlog_bytes\.median@"):
        measure(run, f"backlog_bytes.median@{port}")
    with pytest.raises(ShallowsError, match=r"has no metric 'fct_us\.tiny\.mean'"):
        measure(run, "fct_us.tiny.mean")
    with pytest.raises(
        ShallowsError, match=r"has no measured value of 'fct_us\.large\.mean'\n  run the scenario longer"
    ):
        measure(run, "fct_us.large.mean")  # these are datagrams alone


def test_a_percentile_is_in_percent_and_what_is_none_is_refused(tmp_path: Path) -> None:
    # 1 Gbit/s more than the link for all of 2 ms: the queue grows evenly to 250 KB, and is below p % of that
    # for p % of the time, but for two packets.
    (tmp_path / "slope.toml").write_text(SLOPE.replace("STOP", "2ms"))
    run = sh.run(tmp_path / "slope.toml", out=tmp_path / "run")

    def backlog(word: str) -> float:
        return measure(run, f"backlog_bytes.{word}@switch0->host2")

    for word, share in [("p5", 0.05), ("p05", 0.05), ("p50", 0.5), ("p62.5", 0.625), ("p99.9", 0.999)]:
        assert backlog(word) == pytest.approx(share * 250_000, abs=3_000), word
    assert backlog("p999") == backlog("p99.9")
    assert backlog("p9999") == backlog("p99.99")
    assert backlog("p100") == backlog("max") > backlog("p50")
    for word in ("p0", "p101", "p100.5", "p625", "p5.", "p.5", "p1000", "p9x"):
        with pytest.raises(ShallowsError, match=r"unknown metric '.*': 'p.*' is not a percentile\n  write p"):
            backlog(word)


def test_what_flows_get_and_how_long_they_wait_is_told_over_flows(tmp_path: Path) -> None:
    # Twenty packets of 1460 bytes in each round trip of 102.5 us: 100 us, two links of 1.2 us, and two of
    # 32 ns for acknowledgements. The second flow begins in the middle of the last millisecond.
    text = """
[stop]
at = "5ms"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
link_delay = "1us"
host_delay = "24us"
[switch]
buffer = { kind = "complete-sharing", pool = "1MB" }
[host]
jitter = "off"
[tcp]
congestion = "reno"
initial_window = 20
max_window = 20
timestamps = false
delayed_ack = { segments = 1 }
[measure]
flow_traces = [{ sample = 2, every = "50us" }]
[[workload]]
kind = "long-lived"
senders = 0
receivers = 2
[[workload]]
kind = "long-lived"
senders = 1
receivers = 3
start = "4.5ms"
"""
    (tmp_path / "two.toml").write_text(text)
    run = sh.run(tmp_path / "two.toml", out=tmp_path / "run")
    # 1000 / 102.5 round trips, and 398 / 102.5 once the second has its first acknowledgements; up to a window
    # more or less.
    first, second = 20 * 1000 / 102.5, 20 * 398 / 102.5
    assert measure(run, "acked_packets.max@1ms") == pytest.approx(first, abs=20)
    assert measure(run, "acked_packets.mean@1ms") == pytest.approx((first + second) / 2, abs=20)
    deviation = measure(run, "acked_packets.std@1ms")
    assert deviation == pytest.approx((first - second) / 2, abs=20)
    assert measure(run, "acked_packets.variance@1ms") == pytest.approx(deviation**2)
    assert measure(run, "acked_packets.above_140@1ms") == measure(run, "acked_packets.below_140@1ms") == 0.5
    # A flow waits longest for its first acknowledgement; its data come for 24 us, the time of a window, and
    # then not for 79.
    assert measure(run, "longest_ack_gap_us.max@0") == pytest.approx(102.5, abs=0.1)
    assert measure(run, "longest_arrival_gap_us.above_100@1") == 0
    # 4.95 ms of 20 · 1500 bytes per round trip.
    port = "switch0->host2"
    assert measure(run, f"sent_gbps@{port}") == pytest.approx(20 * 12_000 / 102.5e3 * 4.95 / 5, rel=0.02)
    # Not all flows pass this port, and host 2 sends nothing but acknowledgements: neither has such a share.
    for other in (port, "host2->switch0"):
        with pytest.raises(ShallowsError, match="name a port that all flows pass"):
            measure(run, f"retransmitted_share@{other}")
    for wrong in ("acked_packets.median@1ms", "acked_packets.above_@1ms", "waits.mean@0"):
        with pytest.raises(ShallowsError, match="unknown metric"):
            measure(run, wrong)
    with pytest.raises(ShallowsError, match="has no flow of '2'"):
        measure(run, "longest_ack_gap_us.max@2")
    with pytest.raises(ShallowsError, match="has no port 'switch9'"):
        measure(run, "sent_gbps@switch9")


def test_a_fifo_is_hcf_with_one_bin_that_may_fill_the_buffer(tmp_path: Path) -> None:
    # As fig5.toml says: a packet joins the queue that the last of its bin joined, up to the last place.
    scenario = EXPERIMENTS / "hcf/fig3.toml"
    one = {"kind": "hcf", "limit": "20p", "bins": 1, "division": "dynamic"}
    fifo = sh.run(scenario, {"stop.at": "3s"}, out=tmp_path / "fifo")
    same = sh.run(scenario, {"stop.at": "3s", "switch.overrides.0.port": one}, out=tmp_path / "hcf")
    assert fifo.flows.equals(same.flows)
    assert fifo.flows["timeouts"].sum() > 0


TWO_CLASSES = """
stop.at = "100ms"
[topology]
kind = "star"
hosts = 3
rate = "1Gbps"
link_delay = "10us"
[host]
jitter = "off"
[switch]
port = { kind = "dwrr", queues = 2, quantum = ["1p", "3p"] }
buffer = { kind = "complete-sharing", pool = "1MB" }
markers = [{ kind = "threshold", k = "20p" }]
[tcp]
max_window = "64KB"
delayed_ack = { segments = 1 }
[measure]
flow_traces = [{ workload = 0 }]
[[workload]]
kind = "long-lived"
senders = 1
receivers = 0
class = 1
start = "10ms"
"""
OTHER_CLASS = """
[[workload]]
kind = "long-lived"
senders = 2
receivers = 0
class = 0
start = "10ms"
"""


def test_goodput_is_that_of_a_class_and_its_convergence_that_of_its_flows(tmp_path: Path) -> None:
    (tmp_path / "alone.toml").write_text(TWO_CLASSES)
    (tmp_path / "both.toml").write_text(TWO_CLASSES + OTHER_CLASS)
    alone = sh.run(tmp_path / "alone.toml", out=tmp_path / "alone")
    # Ten segments are more than the 5 KB of 40 us: the link is full at once; the first is back after 64 us.
    # Nine tenths of 2 ms later, nine tenths of the link have been acknowledged over 2 ms.
    assert measure(alone, "convergence_ms@class1") == pytest.approx(0.064 + 1.8, abs=0.02)
    # 1,448 of 1,500 bytes, for 90 of 100 ms.
    assert measure(alone, "goodput_gbps@class1") == pytest.approx(0.9 * 1448 / 1500, rel=0.005)
    both = sh.run(tmp_path / "both.toml", out=tmp_path / "both")
    # Quanta of one and three packets.
    assert measure(both, "goodput_ratio@class1/class0") == pytest.approx(3, rel=0.02)
    assert measure(both, "goodput_ratio@0/class1") == pytest.approx(4 / 3, rel=0.01)
    with pytest.raises(ShallowsError, match="has no flow of 'class2'"):
        measure(both, "goodput_gbps@class2")
    with pytest.raises(ShallowsError, match="has no traces of the flows of 'class0'"):
        measure(both, "convergence_ms@class0")


def test_backlogs_may_be_those_after_a_time(tmp_path: Path) -> None:
    # 5.5 + 5.5 Gbit/s into 10: 125 KB/ms more for 2 ms; from 1 ms on 125 to 250 KB, evenly.
    text = SLOPE.replace("STOP", "2ms")
    (tmp_path / "slope.toml").write_text(text)
    run = sh.run(tmp_path / "slope.toml", out=tmp_path / "run")
    port = "switch0->host2"
    assert measure(run, f"backlog_bytes.mean@{port}@1ms") == pytest.approx(187_500, rel=0.02)
    # Of what is spread evenly over 125 KB the deviation is 125/√12.
    assert measure(run, f"backlog_bytes.std@{port}@1ms") == pytest.approx(125_000 / math.sqrt(12), rel=0.03)
    assert measure(run, f"backlog_bytes.std@{port}") == pytest.approx(250_000 / math.sqrt(12), rel=0.03)


FLOWS: dict[str, list[Any]] = {
    # Of 10 ms: two flows without end, a query of host 0 to host 1 and its answer, and a large late flow.
    "flow": [0, 1, 2, 3, 4],
    "workload": [0, 0, 1, 1, 2],
    "query": [None, None, 7, 7, None],
    "source": [0, 1, 0, 1, 2],
    "destination": [2, 2, 1, 0, 3],
    "size_bytes": [None, None, 100, 2_000, 2_000_000],
    "delivered_bytes": [1_000_000, 3_000_000, 100, 2_000, 2_000_000],
    "arrival_us": [0.0, 0.0, 500.0, 600.0, 8_000.0],
    "fct_us": [None, None, 50.0, 3_000.0, None],
    "timeouts": [1, 0, 0, 0, 0],
    "counted": [1, 1, 1, 1, 1],
}

TRACES: dict[str, list[Any]] = {
    # Flow 0 has 1 MB at 5 ms and no more; flow 1 begins at 5 ms, and has 0.3 MB at 6 ms and 3 MB at the end.
    "time_us": [0.0, 5_000.0, 5_000.0, 6_000.0, 10_000.0],
    "flow": [0, 0, 1, 1, 1],
    "quantity": ["acked_bytes"] * 5,
    "value": [0.0, 1e6, 0.0, 0.3e6, 3e6],
}


def by_hand() -> sh.Run:
    """A run made by hand."""
    tables = {"flows": pl.DataFrame(FLOWS), "flow_traces": pl.DataFrame(TRACES)}
    return fake_run(10_000.0, **tables)


def test_shares_of_flows_are_those_of_their_workloads() -> None:
    run = by_hand()
    # 1 and 3 MB in 10 ms: 0.8 and 2.4 Gbit/s; Jain's index is 3.2² / (2 · (0.8² + 2.4²)).
    assert measure(run, "flow_gbps@0") == pytest.approx(1.6)
    assert measure(run, "jain@0") == pytest.approx(0.8)
    # The large flow has its 2 MB in the 2 ms that are left: 8 Gbit/s.
    assert measure(run, "flow_gbps@0, 2") == pytest.approx((0.8 + 2.4 + 8.0) / 3)
    assert measure(run, "with_timeout@0..2") == pytest.approx(1 / 4)
    with pytest.raises(ShallowsError, match="no flow of '5'"):
        measure(run, "jain@5")


def test_fairness_over_time_is_that_of_its_slices() -> None:
    # In the first half of the time only flow 0 is there, in the second only flow 1: half of 1 in each slice.
    assert measure(by_hand(), "jain_over.5ms@0..0.01") == pytest.approx(0.5)
    # Flow 1 has no more than its half before 10 ms.
    assert measure(by_hand(), "catch_up_ms@1") == 10
    assert measure(by_hand(), "catch_up_ms@0") == 5
    # Over all, 1 and 3 MB.
    assert measure(by_hand(), "jain_over.10ms@0..0.01") == pytest.approx(0.8)


def test_concurrent_flows_are_counted_by_host_and_window() -> None:
    run = by_hand()
    # Windows of 1 ms. Hosts 0 and 1 have the query in the first four, in the first of which request and
    # answer are one; hosts 2 and 3 the large flow in the last two: 12 of 40 windows have a flow.
    assert measure(run, "concurrent.p69@1ms") == 0
    assert measure(run, "concurrent.p71@1ms") == 1
    assert measure(run, "concurrent.p9999@1ms") == 1
    # Of the large one 4 of 40, and where there is one there is one.
    assert measure(run, "concurrent_large.p89@1ms") == 0
    assert measure(run, "concurrent_large.p91@1ms") == 1
    assert measure(run, "concurrent_large_busy.p01@1ms") == 1
    # 3 of 10 have a flow: the ninth tenth has, and its fifth per cent has not.
    assert (measure(run, "concurrent.p5@1ms"), measure(run, "concurrent.p100@1ms")) == (0, 1)
    with pytest.raises(ShallowsError, match="'p101' is not a percentile"):
        measure(run, "concurrent.p101@1ms")


def test_peaks_windows_and_throughputs_are_those_of_a_port_a_sender_and_a_bin(tmp_path: Path) -> None:
    # Two senders of 300 segments each, all in the first window, to a port whose buffer holds them.
    text = """
[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
link_delay = "10us"
[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }
[host]
jitter = "off"
[tcp]
congestion = "reno"
initial_window = 300
max_window = 300
[measure]
bins = ["1KB", "1MB"]
flow_traces = [{ workload = 0 }]
traces = [{ ports = ["switch0->host2"] }]
[[workload]]
kind = "incast"
senders = "0..2"
receivers = "2"
size = "434400B"
"""
    (tmp_path / "two.toml").write_text(text)
    run = sh.run(tmp_path / "two.toml", out=tmp_path / "run")
    port = "switch0->host2"
    # 2 · 300 packets of 1.2 µs each: half of them have left when the last two arrive, at 10 + 301 · 1.2 µs.
    assert measure(run, f"backlog_bytes.max@{port}") == pytest.approx(300 * 1_500, rel=0.01)
    assert measure(run, f"backlog_bytes.peak_us@{port}") == pytest.approx(371, abs=2)
    assert measure(run, "cwnd_bytes.at_300@0") == measure(run, "cwnd_bytes.min_50@1") == 300 * 1_448
    # Packet by packet in turn, both end with the 600th. So they do as a fluid.
    both = 434_400 * 8 / (20 + 601 * 1.2) / 1e3
    assert measure(run, "flow_gbps.medium") == pytest.approx(both, rel=0.01)
    assert measure(run, "ideal_flow_gbps.medium") == pytest.approx(both, rel=0.01)
    # Alone 300 packets: 20 + 301 · 1.2 µs.
    assert measure(run, "ideal_fct_us.medium.p99") == pytest.approx(20 + 301 * 1.2)
    for wrong in ("flow_gbps.tiny", "ideal_fct_us.medium", "cwnd_bytes.max_3@0"):
        with pytest.raises(ShallowsError, match=f"unknown metric '{wrong}'"):
            measure(run, wrong)
    with pytest.raises(ShallowsError, match="has no congestion window"):
        measure(run, "cwnd_bytes.at_3@9")
    with pytest.raises(ShallowsError, match="no flow in size bin"):
        measure(run, "flow_gbps.small")
