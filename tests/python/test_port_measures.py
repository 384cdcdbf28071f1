"""Tests of metrics of ports and buffers by name: rates, retransmitted bytes, backlogs and thresholds."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import shallows as sh
from fake_runs import COUNTERS, TCP, TOPOLOGY, fake_run, flow_table
from shallows.runs.source import Source
from shallows.series import port_measures
from shallows.series.measures import compute, measure

SCENARIO = {"tcp": TCP, "topology": TOPOLOGY}
GROUP = {"name": "small", "mtu": 1500, "tcp": TCP}


def test_full_segments_are_those_that_all_groups_of_hosts_have() -> None:
    # 1,500 bytes less 40 of headers.
    assert port_measures.payload(SCENARIO | {"host": {"group": [GROUP]}}) == 1460


@pytest.mark.parametrize("other", [{"mtu": 600}, {"tcp": {"timestamps": True}}])
def test_full_segments_that_differ_between_groups_of_hosts_are_refused(other: dict[str, Any]) -> None:
    with pytest.raises(sh.ShallowsError, match="the metric counts full segments"):
        port_measures.payload(SCENARIO | {"host": {"group": [GROUP | other]}})


def test_the_rate_of_a_port_is_that_of_all_its_queues() -> None:
    # 15,000 bytes of both queues in 10 µs.
    assert measure(fake_run(10.0, counters=COUNTERS), "sent_gbps@s->a") == pytest.approx(12)


def test_retransmitted_bytes_are_those_beyond_the_data_with_their_headers() -> None:
    # 7,300 bytes of data are 7,500 on the wire, and 0.8 Gb/s of datagrams in 10 µs are 1,000: 6,500 of the
    # other 14,000 of 15,000 bytes are retransmitted.
    summary = {"simulated_s": 1e-5, "datagram_gbps": 0.8}
    run = fake_run(summary=summary, counters=COUNTERS, flows=flow_table(delivered_bytes=[7_000, 300]))
    assert measure(run, "retransmitted_share@s->a") == pytest.approx(6_500 / 14_000, rel=1e-12)


def with_backlog(end_us: float, *rows: tuple[float, float]) -> sh.Run:
    """Return a run with these backlogs of the port to host `a`, as pairs of time in µs and bytes."""
    queues = pl.DataFrame(
        [(time, "port", "s->a", size) for time, size in rows],
        schema=["time_us", "kind", "name", "bytes"],
        orient="row",
    )
    scenario = {"switch": {"buffer": {"kind": "static-partition"}}, "measure": {"traces": []}}
    return fake_run(end_us, counters=COUNTERS, queues=queues, traces=None, scenario=scenario)


PEAKS = with_backlog(20.0, (0.0, 0.0), (10.0, 3_000.0), (12.0, 0.0), (15.0, 3_000.0), (18.0, 1_000.0))


def test_a_queue_peaks_when_it_leaves_its_highest_value_for_the_last_time() -> None:
    assert measure(PEAKS, "backlog_bytes.peak_us@s->a") == 18


def test_a_backlog_can_be_that_after_a_time_in_milliseconds() -> None:
    # From 11 µs on: 1 + 3 of 9 µs at 3,000 bytes and 2 at 1,000.
    found = measure(PEAKS, "backlog_bytes.mean@s->a@0.011ms")
    assert found == pytest.approx((4 * 3_000 + 2 * 1_000) / 9)


WEIGHED = with_backlog(10.0, (0.0, 0.0), (4.0, 3_000.0), (6.0, 1_000.0))
"""Run of 10 µs with a backlog of 3,000 bytes for 2 µs, and of 1,000 bytes for 4 µs."""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mean@s->a", 1_000),
        ("max@s->a", 3_000),
        ("p80@s->a", 1_000),
        ("p81@s->a", 3_000),
        # The mean of the squares is 2.2 million, less the square of the mean.
        ("std@s->a", 1.2e6**0.5),
        ("above_0@s->a", 0.6),
        ("above_999@s->a", 0.6),
        ("above_1000@s->a", 0.2),
        ("above_3000@s->a", 0),
        # From 5 µs on 3,000 bytes for one µs, and 1,000 for four.
        ("mean@s->a@5us", 7_000 / 5),
    ],
)
def test_statistics_of_backlogs_are_weighed_by_time(name: str, expected: float) -> None:
    assert measure(WEIGHED, f"backlog_bytes.{name}") == pytest.approx(expected)


@pytest.mark.parametrize("name", ["above_", "above_x", "median", "mean5"])
def test_unknown_statistics_of_backlogs_are_refused(name: str) -> None:
    with pytest.raises(sh.ShallowsError, match="unknown metric"):
        measure(WEIGHED, f"backlog_bytes.{name}@s->a")


POOLS = """
[topology]
kind = "star"
hosts = 8
rate = "10Gbps"
[switch]
buffer = { kind = "dynamic-threshold", alpha = 1.0, pool = "400KB", ports_per_pool = 4 }
markers = [{ kind = "red", kmin = "50KB", kmax = "100KB", pmax = 0.1 }]
[[workload]]
kind = "incast"
senders = "1"
receivers = "0"
size = "1KB"
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # Four ports share a pool of 400 KB, at 10 Gb/s each; eight times 50 KB fill it.
        ("buffer.per_port_bytes", 100_000),
        ("buffer.per_port_per_gbps_bytes", 10_000),
        ("buffer.ports_at_threshold", 8),
    ],
)
def test_thresholds_are_counted_against_the_pool_of_a_port(
    tmp_path: Path, name: str, expected: float
) -> None:
    assert compute(Source(str(tmp_path / "x.toml"), POOLS), name) == expected
