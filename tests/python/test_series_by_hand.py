"""Numbers of runs by name, over time and by port, on runs that never were: each is worked out by hand."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import polars as pl
import pytest

import shallows as sh
from shallows.runs import breakdown, pools, tables
from shallows.runs.ranks import nearest_rank
from shallows.runs.running import Source
from shallows.runs.steps import Series
from shallows.series import backlogs, completions, flow_series, ideal, port_measures
from shallows.series.measures import compute, measure

TCP = {"timestamps": False}
TOPOLOGY = {"mtu": 1500, "framing": 100}


def invented(end_us: float = 10_000.0, **found: Any) -> sh.Run:
    """A run that lasts so long and has these tables."""
    known = {
        "path": Path("by-hand"),
        "summary": {"simulated_s": end_us / 1e6, "datagram_gbps": 0.0},
        "scenario": {"tcp": TCP, "topology": TOPOLOGY, "measure": {"bins": ["100KB", "10MB"]}},
    }
    return cast(sh.Run, SimpleNamespace(**known | found))


def flows(**columns: list[Any]) -> pl.DataFrame:
    """Flows of which only what matters is said."""
    count = len(next(iter(columns.values())))
    usual: dict[str, Any] = {
        "workload": 0,
        "class": 0,
        "query": None,
        "source": 0,
        "destination": 1,
        "size_bytes": 1_000,
        "delivered_bytes": 1_000,
        "arrival_us": 0.0,
        "fct_us": 10.0,
        "fct_sender_us": 12.0,
        "ideal_us": 5.0,
        "timeouts": 0,
        "counted": 1,
    }
    filled = {name: [value] * count for name, value in usual.items()}
    return pl.DataFrame({"flow": [*range(count)]} | filled | columns, strict=False)


def traced(quantity: str, *rows: tuple[float, int, float]) -> pl.DataFrame:
    """A trace of flows: time, flow and value."""
    found = pl.DataFrame(list(rows), schema=["time_us", "flow", "value"], orient="row")
    return found.with_columns(quantity=pl.lit(quantity))


def test_flows_are_shared_out_over_the_links_of_a_leaf_together_and_each_direction_apart() -> None:
    # Two spines of 2.5 Gb/s are 5 Gb/s for a leaf: a packet of 12,800 bits takes 2.56 µs there, two at once
    # as long again. What goes the other way, or to a host that sends itself, disturbs nobody.
    topology = {"kind": "leaf-spine", "links": [], "leaves": 2, "spines": 2, "hosts_per_leaf": 2}
    topology |= {"rate": "10Gbps", "uplink_rate": "2.5Gbps"}
    at = [(0.0, 0, 2), (0.0, 1, 3), (100.0, 0, 2), (100.0, 3, 1), (200.0, 0, 1), (200.0, 1, 0)]
    run = invented(
        scenario={"tcp": TCP, "topology": TOPOLOGY | topology},
        flows=flows(
            arrival_us=[time for time, _, _ in at],
            source=[source for _, source, _ in at],
            destination=[destination for _, _, destination in at],
            size_bytes=[1_460] * 6,
            ideal_us=[10.0] * 6,
        ),
    )
    assert ideal.completion_us(run) == pytest.approx([12.56, 12.56, 10, 10, 10, 10])


def test_a_flow_between_two_steps_is_served_from_the_second_on() -> None:
    fluid = ideal.Fluid(
        np.array([0.0, 0.3]), np.array([5.0, 5.0]), np.array([[0], [1]]), np.array([10.0, 10.0])
    )
    assert ideal.schedule(fluid, step_s=1.0) == pytest.approx([0.5, 0.5])


def test_a_class_has_converged_when_the_last_two_milliseconds_have_its_share() -> None:
    # A quarter a millisecond until the 10th and one from then on: its share is 2 in 2 ms, and nine tenths of
    # that came first from the 10th to the 12th.
    acked = [(1e3 * ms, 0, min(ms, 10) / 4 + max(ms - 10, 0)) for ms in range(21)]
    run = invented(20_000.0, flows=flows(**{"class": [1]}), flow_traces=traced("acked_bytes", *acked))
    assert measure(run, "convergence_ms@class1") == 12


def test_a_flow_has_caught_up_with_four_fifths_of_the_mean_not_of_the_quickest() -> None:
    # 5 and 7 in each 5 ms: four fifths of 6 are 4.8.
    acked = [(5e3 * n, flow, each * n) for flow, each in enumerate((5.0, 7.0)) for n in range(3)]
    run = invented(flows=flows(arrival_us=[0.0, 0.0]), flow_traces=traced("acked_bytes", *acked))
    assert measure(run, "catch_up_ms@0") == 5


def test_what_was_acknowledged_last_is_in_full_segments_and_spread_over_all_flows() -> None:
    # Two and four segments of 1,460 bytes in the last millisecond: a mean of 3 and a variance of 1.
    acked = [(9_000.0, 0, 1_460.0), (9_500.0, 0, 3 * 1_460.0), (9_500.0, 1, 4 * 1_460.0)]
    run = invented(flows=flows(arrival_us=[0.0, 0.0]), flow_traces=traced("acked_bytes", *acked))
    found = {what: measure(run, f"acked_packets.{what}@1ms") for what in ("mean", "variance", "std", "max")}
    assert found == {"mean": 3, "variance": 1, "std": 1, "max": 4}
    assert [measure(run, f"acked_packets.{what}@1ms") for what in ("above_2", "below_4")] == [0.5, 0.5]


def test_numbers_that_count_full_segments_need_hosts_that_have_the_same() -> None:
    scenario = {"tcp": TCP, "topology": TOPOLOGY}
    group = {"name": "small", "mtu": 1500, "tcp": TCP}
    assert port_measures.payload(scenario | {"host": {"group": [group]}}) == 1460
    for other in ({"mtu": 600}, {"tcp": {"timestamps": True}}):
        with pytest.raises(sh.ShallowsError, match="full segments differ between groups of hosts"):
            port_measures.payload(scenario | {"host": {"group": [group | other]}})


def test_a_window_holds_until_the_next_one() -> None:
    rows = traced("cwnd_bytes", (10.0, 0, 1_000.0), (20.0, 0, 5_000.0), (30.0, 0, 2_000.0))
    run = invented(flows=flows(arrival_us=[0.0]), flow_traces=rows)
    found = [measure(run, f"cwnd_bytes.{what}@0") for what in ("min_15", "min_20", "at_15", "at_20")]
    assert found == [1_000, 2_000, 1_000, 5_000]


def test_only_counted_flows_starve_are_concurrent_and_have_times() -> None:
    # One before the warm-up, which had 900 µs of everything.
    run = invented(
        flows=flows(
            arrival_us=[500.0, 2_000.0, 2_100.0],
            counted=[0, 1, 1],
            fct_us=[900.0, 100.0, 300.0],
            ideal_us=[900.0, 50.0, 60.0],
            size_bytes=[1_000, 100_000, 100_001],
            longest_ack_gap_us=[900.0, 10.0, 20.0],
            longest_arrival_gap_us=[900.0, 30.0, 40.0],
        )
    )
    assert measure(run, "longest_ack_gap_us.max@0") == 20
    assert measure(run, "longest_arrival_gap_us.mean@0") == 35
    # A size at the edge is in the bin below it, and each flow counts the same: 8 and 2.667 Gb/s.
    assert (measure(run, "ideal_fct_us.small.p100"), measure(run, "ideal_fct_us.medium.p1")) == (50, 60)
    assert measure(run, "flow_gbps.all") == pytest.approx((100_000 * 8 / 100 + 100_001 * 8 / 300) / 2 / 1e3)
    # Of windows of 1 ms from the third on, the first that counts, one in eight has flows, two at once.
    assert [measure(run, f"concurrent.{word}@1ms") for word in ("p87", "p88")] == [0, 2]


def test_a_megabyte_is_not_yet_large_and_a_timeout_before_the_warm_up_is_one() -> None:
    run = invented(
        1_000.0,
        flows=flows(size_bytes=[1_000_000, 1_000_001], source=[0, 0], timeouts=[1, 0], counted=[1, 1]),
    )
    assert measure(run, "concurrent_large.p100@1ms") == 1
    before = invented(1_000.0, flows=flows(timeouts=[1, 0], counted=[0, 1]))
    assert measure(before, "with_timeout@0") == 0.5


COUNTERS = pl.DataFrame(
    {
        "port": ["s->a", "s->a", "s->b", "a->s"],
        "kind": ["to-host", "to-host", "to-host", "nic"],
        "queue": [0, 1, 0, 0],
        "rate_bps": [10**10, 10**10, 4 * 10**10, 10**10],
        "received": [3, 1, 5, 9],
        "sent": [3, 1, 4, 9],
        "sent_bytes": [9_000, 6_000, 40_000, 1_000],
        "marked": [1, 0, 2, 0],
        "dropped": [0, 0, 1, 0],
        "max_backlog_bytes": [3_000, 2_000, 4_000, 7_000],
    }
)


def test_ports_are_told_of_together_with_all_of_their_queues() -> None:
    # In 10 µs: 55,000 bytes on links of 10 and 40 Gb/s, 62,500 bytes; the second alone 40,000 of 50,000.
    run = invented(10.0, counters=COUNTERS)
    to_hosts, cards = breakdown.by(cast(breakdown.Measured, run), "port").rows(named=True)
    assert (to_hosts["ports"], to_hosts["sent_bytes"], to_hosts["max_backlog_bytes"]) == (2, 55_000, 4_000)
    assert (to_hosts["utilisation"], to_hosts["utilisation_max"]) == pytest.approx((0.88, 1.2))
    assert (cards["ports"], cards["utilisation"]) == (1, pytest.approx(0.08))
    # 15,000 bytes of both queues in 10 µs.
    assert measure(run, "sent_gbps@s->a") == pytest.approx(12)


def test_what_was_sent_again_is_what_is_more_than_the_data_with_their_headers() -> None:
    # 7,300 bytes of data are 7,500 on the wire, and 0.8 Gb/s of datagrams in 10 µs are 1,000: of the other
    # 14,000 of 15,000 bytes 6,500 are no news.
    summary = {"simulated_s": 1e-5, "datagram_gbps": 0.8}
    run = invented(summary=summary, counters=COUNTERS, flows=flows(delivered_bytes=[7_000, 300]))
    assert measure(run, "repeated_share@s->a") == pytest.approx(6_500 / 14_000, rel=1e-12)


def test_a_queue_peaks_when_it_leaves_its_highest_value_for_the_last_time() -> None:
    rows = [(0, 0), (10, 3_000), (12, 0), (15, 3_000), (18, 1_000)]
    queues = pl.DataFrame([(float(at), "port", "s->a", size) for at, size in rows],
                          schema=["time_us", "kind", "name", "bytes"], orient="row")  # fmt: skip
    scenario = {"switch": {"buffer": {"kind": "static-partition"}}, "measure": {"traces": []}}
    run = invented(20.0, counters=COUNTERS, queues=queues, traces=None, scenario=scenario)
    assert measure(run, "backlog_bytes.peak_us@s->a") == 18
    # From 11 µs on, the 0.011 ms of the name: 1 + 3 of 9 µs at 3,000 and 2 at 1,000.
    assert measure(run, "backlog_bytes.mean@s->a@0.011ms") == pytest.approx((4 * 3_000 + 2 * 1_000) / 9)


def test_the_busiest_port_is_one_of_a_switch_and_the_fullest_pool_too() -> None:
    trace = [
        (1.0, "a->s", None, "backlog_bytes", 9_000.0),
        (1.0, "s->a", 0, "backlog_bytes", 8_000.0),
        (1.0, "s->a", None, "backlog_bytes", 500.0),
        (1.0, "s->b", None, "backlog_bytes", 600.0),
        (1.0, "s->a", None, "pool_bytes", 700.0),
        (2.0, "s->b", None, "pool_bytes", 800.0),
        (3.0, "a->s", None, "pool_bytes", 9_000.0),
    ]
    columns = ["time_us", "port", "queue", "quantity", "value"]
    scenario = {
        "switch": {"buffer": {"kind": "static-partition"}},
        "measure": {"traces": [{"every": "event"}]},
    }
    run = invented(
        20.0,
        counters=COUNTERS,
        queues=None,
        traces=pl.DataFrame(trace, schema=columns, orient="row"),
        scenario=scenario,
    )
    # The card's queue is longer, and a queue of a port is no port.
    assert backlogs.busiest([run], most=2) == ["s->b", "s->a"]
    assert backlogs.busiest([run], most=1) == ["s->b"]
    assert [*backlogs.fullest_pool(run, above=600)] == ["s.pool1"]
    assert backlogs.fullest_pool(run, above=800) == {}


def test_a_pool_is_known_at_intervals_or_from_all_of_its_ports() -> None:
    shared = {"kind": "dynamic-threshold"}
    rows = [(1.0, "s->a", None, "pool_bytes", 700.0)]
    traces = pl.DataFrame(rows, schema=["time_us", "port", "queue", "quantity", "value"], orient="row")

    def known(*every: str) -> int:
        scenario = {"switch": {"buffer": shared}, "measure": {"traces": [{"every": each} for each in every]}}
        run = invented(counters=COUNTERS, queues=None, traces=traces, scenario=scenario)
        return pools.traced_pools(cast(pools.Recorded, run)).height

    # The other port of the pool had packets too, of which only an interval tells.
    assert (known("10us"), known("event"), known("10us", "event")) == (1, 0, 0)


def test_a_window_is_drawn_until_its_sender_is_done() -> None:
    run = invented(
        flows=flows(arrival_us=[100.0], fct_us=[50.0], fct_sender_us=[70.0]),
        flow_traces=traced("cwnd_bytes", (100.0, 0, 1_000.0)),
    )
    assert flow_series.windows(run)["flow 0"].times.tolist() == [100, 170]


def test_thresholds_are_counted_against_the_pool_of_a_port(tmp_path: Path) -> None:
    text = """
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
    source = Source(str(tmp_path / "x.toml"), text)
    # Four ports to a pool of 400 KB, at 10 Gb/s each; eight times 50 KB fill it.
    assert compute(source, "buffer.per_port_bytes") == 100_000
    assert compute(source, "buffer.per_port_per_gbps_bytes") == 10_000
    assert compute(source, "buffer.ports_at_threshold") == 8


def test_values_hold_from_their_time_until_the_next_and_the_last_for_none() -> None:
    # 10 for 6 µs and 50 for 4; the 90 at its end holds for no time.
    series = Series(np.array([0.0, 6.0, 10.0]), np.array([10.0, 50.0, 90.0]))
    assert (series.max(), series.mean()) == (50, 26)
    assert series.at(np.array([5.9, 6.0, 10.0])).tolist() == [10, 50, 90]
    assert [series.quantile(share) for share in (0.6, 0.61, 1.0)] == [10, 50, 50]
    assert [series.share_above(limit) for limit in (9, 10, 50)] == pytest.approx([1, 0.4, 0])
    # Of an area of 260 the first 60 have passed at 6 µs, and more at 10.
    assert [series.settled(share) for share in (60 / 260, 0.5)] == [6, 10]


SUMMARY: dict[str, Any] = {
    "fct_us": {
        "all": {"count": 9, "mean": 11.0, "p50": 12.0, "p95": 13.0, "p99": 14.0, "max": 15.0},
        "small": {"count": 3, "mean": 21.0, "p50": 22.0, "p95": 23.0, "p99": 24.0, "max": 25.0},
        "large": {"count": 3, "mean": 31.0, "p50": 32.0, "p95": 33.0, "p99": 34.0, "max": 35.0},
    },
    "slowdown": {"all": {"mean": 1.5, "p99": 2.5}},
    "flows": {"started": 20, "completed": 9, "endless": 4},
    "loss_rate": 0.5,
    "loss_rate_in_switches": 0.02,
    "loss_rate_in_cards": 0.01,
    "timeouts": 6,
    "retransmits": 8,
    "goodput_gbps": 9.0,
    "simulated_s": 0.25,
    "packets": {
        "sent": 100,
        "dropped_in_switches": 2,
        "dropped_in_cards": 1,
        "dropped_data_in_switches": 2,
        "dropped_data_in_cards": 0,
        "marked": 7,
    },
    "engine": {"packet_hops_per_s": 3_000_000.0},
}


def test_tables_put_each_number_under_its_name() -> None:
    run = invented(summary=SUMMARY, labels={"seed": 1})
    found = tables.points([run])
    assert found.columns == ["seed", *tables.RESULTS]
    assert found.rows == [["1", "11", "15", "24", "31", "2 %", "1 %", "6", "7", "3 M"]]
    # More was lost in switches than in cards.
    assert tables.losses_of_cards([run]) == []
    assert tables.losses_of_cards([invented(summary=SUMMARY | {"loss_rate_in_cards": 0.03})])
    first, *_ = tables.completion(SUMMARY).rows
    assert first == ["all", "9", "11", "12", "13", "14", "15", "1.5", "2.5"]
    told = dict(tables.network(SUMMARY).rows)
    assert (told["simulated time"], told["flows completed"]) == ("250 ms", "9 of 20")
    assert told["packets dropped in switches"] == "2 (2 %)"
    assert (told["timeouts"], told["retransmitted segments"]) == ("6", "8")


def test_a_pool_marks_from_so_many_busy_ports_on_and_a_queue_up_to_so_many() -> None:
    def told(scope: str, *able: int) -> str:
        level = {"bytes": 1_000, "packets": 1, "us": 1, "bdp": 1}
        limits = [{"busy_ports": n, "limit_bytes": 9, "can_fire": n in able} for n in (1, 4, 8)]
        curve = {
            "rate_bps": 1e10,
            "kind": "red",
            "scope": scope,
            "at": "enqueue",
            "kmin": level,
            "kmax": level,
        }
        curve |= {"pmax": 1, "limits": limits, "ports": 1, "port": "up", "base_rtt_us": 8}
        return tables.marking_curves([curve]).rows[-1][1]

    assert told("pool", 4, 8) == "from 4 busy"
    assert told("queue", 1, 4) == "up to 4 busy"
    assert (told("queue"), told("pool", 1, 4, 8)) == ("never", "yes")


def test_flows_are_served_from_the_next_step_on_and_share_until_one_ends() -> None:
    # Ten packets of 1,600 bytes on the wire take 12.8 µs alone at 10 Gb/s. The second flow arrives at 5 µs
    # and is served from the step at 10 µs on; the first has 2.8 µs left, which take 5.6. From the next step
    # on, at 20 µs, the second has 12.8 − 5 left for itself: 17.8 µs from when it was served first.
    topology = {"kind": "star", "links": [], "hosts": 3, "rate": "10Gbps"}
    run = invented(
        scenario={"tcp": TCP, "topology": TOPOLOGY | topology},
        flows=flows(
            arrival_us=[0.0, 5.0],
            source=[1, 2],
            destination=[0, 0],
            size_bytes=[14_600] * 2,
            ideal_us=[20.0, 30.0],
        ),
    )
    # Of the ideal time alone all but 12.8 µs are latency.
    assert ideal.completion_us(run) == pytest.approx([15.6 + 7.2, 17.8 + 17.2])


def test_a_flow_that_waits_for_nobody_begins_when_it_arrives() -> None:
    # 5 at 10 a second; the second comes when the first has gone, the third shares with it, the fourth ends
    # before them.
    fluid = ideal.Fluid(
        np.array([0.0, 2.0, 2.0, 2.1]),
        np.array([5.0, 5.0, 5.0, 0.5]),
        np.array([[0], [0], [0], [0]]),
        np.array([10.0]),
    )
    # Two at 5 a second until 2.1; three at 10/3 for 0.15 s; then 4 each at 5 a second for 0.8 s.
    assert ideal.schedule(fluid) == pytest.approx([0.5, 1.05, 1.05, 0.15])


def test_what_a_link_has_left_goes_to_flows_that_nothing_else_limits() -> None:
    # Link 1 gives three flows 1 each, of which two cross link 0; its third has the rest of 10. One that names
    # its link twice crosses it once, and one on link 2 alone has all of it.
    links = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [2, 2]])
    found = ideal.shares(links, np.array([10.0, 3.0, 7.0]))
    assert found.tolist() == pytest.approx([1, 1, 1, 8, 7])


def test_slices_of_fairness_are_cut_where_they_end() -> None:
    # Per ms: 1 and 1, then 3 and 0, then 1 and 3: indices of 1, 1/2 and 16/20. What comes 1 ns after a cut
    # is of the next slice, and what comes 1 ns before it, or with it, of the one before.
    rows = [(1_000.0, 0, 1.0), (1_000.0, 1, 1.0), (1_999.999, 0, 4.0), (2_000.001, 0, 5.0), (3_000.0, 1, 4.0)]
    run = invented(flows=flows(arrival_us=[0.0, 0.0]), flow_traces=traced("acked_bytes", *rows))
    assert measure(run, "jain_over.1ms@0..0.003") == pytest.approx((1 + 0.5 + 16 / 20) / 3, rel=1e-9)
    assert measure(run, "jain_over.1ms@0.001..0.003") == pytest.approx((0.5 + 16 / 20) / 2, rel=1e-9)


def test_goodput_of_flows_is_from_their_arrivals_to_the_end() -> None:
    # 1,000 bytes in 10 and in 5 µs: 0.8 and 1.6 Gb/s, whose index is 2.4² / (2 · 3.2).
    run = invented(10.0, flows=flows(arrival_us=[0.0, 5.0]))
    assert measure(run, "flow_gbps@0") == pytest.approx(1.2, rel=1e-12)
    assert measure(run, "jain@0") == pytest.approx(0.9, rel=1e-12)
    # To a host, and of a class, all bytes over the whole time.
    assert (
        measure(run, "goodput_gbps@1") == measure(run, "goodput_gbps@class0") == pytest.approx(1.6, rel=1e-12)
    )
    two = invented(10.0, flows=flows(destination=[1, 2], delivered_bytes=[3_000, 1_000]))
    assert measure(two, "goodput_ratio@1/2") == pytest.approx(3, rel=1e-12)
    for where in ("3", "0"):
        with pytest.raises(sh.ShallowsError, match=f"no flow to host {where}"):
            measure(two, f"goodput_gbps@{where}")
    nothing = invented(10.0, flows=flows(delivered_bytes=[0, 0]))
    assert measure(nothing, "jain@0") == 0


def test_a_class_that_gets_nothing_more_has_its_share_at_once_and_one_without_a_trace_none() -> None:
    late = flows(**cast(Any, {"class": [1], "arrival_us": [4_000.0]}))
    acked = traced("acked_bytes", (4_000.0, 0, 0.0), (5_000.0, 0, 9.0))
    assert measure(invented(20_000.0, flows=late, flow_traces=acked), "convergence_ms@class1") == 0
    with pytest.raises(sh.ShallowsError, match="no trace of class1"):
        measure(invented(flows=late, flow_traces=acked.with_columns(flow=pl.lit(7))), "convergence_ms@class1")


def test_a_flow_that_never_has_its_share_never_catches_up() -> None:
    acked = [(5e3 * n, flow, each * n) for flow, each in enumerate((1.0, 9.0)) for n in range(3)]
    run = invented(flows=flows(arrival_us=[0.0, 0.0]), flow_traces=traced("acked_bytes", *acked))
    # Four fifths of the mean of 1 and 9 are 4.
    assert measure(run, "catch_up_ms@1") == 5
    assert measure(run, "catch_up_ms@0") == float("inf")
    # From its own arrival on: 5 ms after 5 ms.
    later = [(5e3, 0, 0.0), (10e3, 0, 5.0), (5e3, 1, 5.0), (10e3, 1, 10.0), (15e3, 0, 10.0), (15e3, 1, 15.0)]
    run = invented(15_000.0, flows=flows(arrival_us=[5e3, 0.0]), flow_traces=traced("acked_bytes", *later))
    assert measure(run, "catch_up_ms@0") == 5


def test_gaps_are_of_flows_that_had_any_and_windows_of_flows_that_are_traced() -> None:
    run = invented(flows=flows(longest_ack_gap_us=[10.0, None, 30.0]), flow_traces=None)
    assert measure(run, "longest_ack_gap_us.mean@0") == 20
    assert [measure(run, f"longest_ack_gap_us.{what}@0") for what in ("above_10", "below_30")] == [0.5, 0.5]
    rows = traced("cwnd_bytes", (10.0, 0, 1_000.0), (20.0, 1, 500.0), (30.0, 0, 900.0), (40.0, 0, 2_000.0))
    run = invented(flows=flows(arrival_us=[0.0, 0.0]), flow_traces=rows)
    assert [measure(run, f"cwnd_bytes.{what}@0") for what in ("min_10", "min_40", "at_29", "at_30")] == [
        900,
        2_000,
        1_000,
        900,
    ]
    with pytest.raises(sh.ShallowsError, match="knows no window of flow 0 at 9 µs"):
        measure(run, "cwnd_bytes.at_9@0")
    for what in ("max_10", "min_", "min_x"):
        with pytest.raises(sh.ShallowsError, match="there is no metric"):
            measure(run, f"cwnd_bytes.{what}@0")


def test_times_and_rates_are_of_complete_flows_of_a_bin() -> None:
    run = invented(
        flows=flows(
            size_bytes=[100_000, 100_001, 10_000_000, 10_000_001, 50, None],
            fct_us=[80.0, 100.0, 8_000.0, 9_000.0, None, 5.0],
            arrival_us=[3.0, 2.0, 1.0, 0.0, 4.0, 5.0],
            workload=[0, 0, 1, 1, 0, 0],
        )
    )
    # A size at an edge is of the bin below; what has no end, or has not ended, of none.
    names = ("small.max", "medium.max", "large.max", "all.max", "small.p100", "medium.mean")
    assert [measure(run, f"fct_us.{name}@0..2") for name in names] == [80, 8_000, 9_000, 9_000, 80, 4_050]
    assert measure(run, "fct_us.all.max@0") == 100
    assert measure(run, "flow_gbps.small") == pytest.approx(10, rel=1e-12)
    with pytest.raises(sh.ShallowsError, match="no complete flow of 1 in 'small'"):
        measure(run, "fct_us.small.mean@1")
    for name in ("tiny.mean@0", "small.median@0"):
        with pytest.raises(sh.ShallowsError, match="there is no metric"):
            measure(run, f"fct_us.{name}")


def test_an_answer_and_its_request_are_one_and_a_window_is_met_by_what_ends_in_it() -> None:
    # Windows of 1 ms, of which the fifth is cut off. A query's two flows between hosts 0 and 1 are one until
    # 2.5 ms, and so in three windows; a flow from 1 to 2 that has not ended is in the last two.
    run = invented(
        4_500.0,
        flows=flows(
            query=[7, 7, None],
            source=[0, 1, 1],
            destination=[1, 0, 2],
            arrival_us=[100.0, 1_100.0, 2_100.0],
            fct_us=[900.0, 1_400.0, None],
        ),
    )
    # Host 0 has one in three windows, 1 has one in two, then two and one, and 2 one in two: of twelve three
    # are none, eight one and one two.
    shares = {"p25": 0, "p26": 1, "p91": 1, "p92": 2}
    assert {word: measure(run, f"concurrent.{word}@1ms") for word in shares} == shares
    large = invented(
        2_000.0,
        flows=flows(size_bytes=[1_000_001, 1_000_001, 9], arrival_us=[0.0, 10.0, 1_500.0], fct_us=[5.0] * 3),
    )
    # Where only windows with such a flow count, both hosts have two; else half have none.
    assert measure(large, "concurrent_large_busy.p1@1ms") == 2
    assert [measure(large, f"concurrent_large.{word}@1ms") for word in ("p50", "p51")] == [0, 2]


def test_backlogs_are_weighed_by_time_and_read_by_their_names() -> None:
    queues = pl.DataFrame(
        {"time_us": [0.0, 4.0, 6.0], "kind": ["port"] * 3, "name": ["s->a"] * 3, "bytes": [0, 3_000, 1_000]}
    )
    scenario = {"switch": {"buffer": {"kind": "static-partition"}}, "measure": {"traces": []}}
    run = invented(10.0, counters=COUNTERS, queues=queues, traces=None, scenario=scenario)
    # 3,000 for 2 µs and 1,000 for 4 of 10: the mean is 1,000, the squares' 2.2 million.
    found = {name: measure(run, f"backlog_bytes.{name}@s->a") for name in ("mean", "max", "p80", "p81")}
    assert found == {"mean": 1_000, "max": 3_000, "p80": 1_000, "p81": 3_000}
    assert measure(run, "backlog_bytes.std@s->a") == pytest.approx(1.2e6**0.5)
    limits = [measure(run, f"backlog_bytes.above_{limit}@s->a") for limit in (0, 999, 1_000, 3_000)]
    assert limits == pytest.approx([0.6, 0.6, 0.2, 0])
    assert measure(run, "backlog_bytes.mean@s->a@5us") == pytest.approx(7_000 / 5)
    for what in ("above_", "above_x", "median", "mean5"):
        with pytest.raises(sh.ShallowsError, match="there is no metric"):
            measure(run, f"backlog_bytes.{what}@s->a")


def test_a_rank_is_taken_to_a_billionth_of_an_observation() -> None:
    ten = [np.arange(1.0, 6.0), np.arange(6.0, 11.0)]
    ranks = (1e-9, 0.1, 0.1 + 4e-11, 0.1 + 4e-10, 0.9, 1.0)
    assert [nearest_rank(ten, rank) for rank in ranks] == [1, 1, 1, 2, 9, 10]


def test_flows_from_and_to_a_leaf_share_its_uplinks_whatever_the_other_leaf() -> None:
    # Two uplinks of 2.5 Gb/s: a packet of 12,800 bits takes 2.56 µs, of two each as long again. Two leave
    # leaf 0 for the leaves 1 and 2; later two come from there, and then two leave leaf 1.
    topology = {"kind": "leaf-spine", "links": [], "leaves": 3, "spines": 2, "hosts_per_leaf": 2}
    topology |= {"rate": "10Gbps", "uplink_rate": "2.5Gbps"}
    at = [(0.0, 0, 2), (0.0, 1, 4), (100.0, 2, 0), (100.0, 4, 1), (200.0, 2, 0), (200.0, 0, 4)]
    at += [(300.0, 2, 0), (300.0, 3, 4)]
    run = invented(
        scenario={"tcp": TCP, "topology": TOPOLOGY | topology},
        flows=flows(
            arrival_us=[time for time, _, _ in at],
            source=[source for _, source, _ in at],
            destination=[destination for _, _, destination in at],
            size_bytes=[1_460] * 8,
            ideal_us=[10.0] * 8,
        ),
    )
    assert ideal.completion_us(run) == pytest.approx([12.56] * 4 + [10] * 2 + [12.56] * 2)
    for other in ({"kind": "graph"}, {"links": [{"between": [0, 1]}]}):
        odd = invented(scenario={"tcp": TCP, "topology": TOPOLOGY | topology | other}, flows=run.flows)
        with pytest.raises(sh.ShallowsError, match="there is no ideal of a"):
            ideal.completion_us(odd)


def test_traces_hold_other_quantities_too_and_may_be_in_any_order() -> None:
    rows = [(9_500.0, 0, 3 * 1_460.0), (9_000.0, 0, 1_460.0), (9_500.0, 1, 4 * 1_460.0)]
    windows = traced("cwnd_bytes", (9_800.0, 0, 9e9), (8_000.0, 1, 9e9))
    trace = pl.concat([windows, traced("acked_bytes", *rows)])
    run = invented(flows=flows(arrival_us=[0.0, 0.0]), flow_traces=trace)
    assert [measure(run, f"acked_packets.{what}@1ms") for what in ("mean", "max")] == [3, 4]
    acked = [(1e3 * ms, 0, min(ms, 10) / 4 + max(ms - 10, 0)) for ms in range(21)]
    odd = traced("cwnd_bytes", *((1e3 * ms + 1, 0, 1e6 * ms) for ms in range(21)))
    trace = pl.concat([odd, traced("acked_bytes", *acked)])
    run = invented(20_000.0, flows=flows(**cast(Any, {"class": [1]})), flow_traces=trace)
    assert measure(run, "convergence_ms@class1") == 12
    assert measure(run, "catch_up_ms@0") == 5
    assert flow_series.windows(run, most=0) == {}
    assert [*flow_series.windows(run, [0], most=0)] == ["flow 0"]
    with pytest.raises(sh.ShallowsError, match="has no trace of flow 1"):
        flow_series.windows(run, [0, 1])


def test_sizes_are_above_one_edge_and_up_to_the_next() -> None:
    some = flows(size_bytes=[1, 10, 11, 20, 21])
    found = [
        completions.within(some, *edges)["size_bytes"].to_list() for edges in ((0, 10), (10, 20), (20, None))
    ]
    assert found == [[1, 10], [11, 20], [21]]
    half = flows(counted=[0, 1, 1], fct_us=[5.0, 6.0, None]).with_columns(slowdown=pl.lit(1.0))
    assert completions.completed([invented(flows=half)] * 2)["fct_us"].to_list() == [6, 6]
