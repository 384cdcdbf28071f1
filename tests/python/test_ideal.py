"""Tests of ideal completion times: schedules computed by hand, and flows without competing traffic."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shallows as sh
from fake_runs import TCP, TOPOLOGY, fake_run, flow_table
from shallows.errors import ShallowsError
from shallows.series.ideal import Fluid, completion_us, schedule, shares
from shared import SMALL


def fluid(arrivals: list[float], bits: list[float], links: list[list[int]], capacities: list[float]) -> Fluid:
    return Fluid(np.array(arrivals), np.array(bits), np.array(links), np.array(capacities))


def test_the_least_share_is_given_first_and_what_it_leaves_to_the_others() -> None:
    # The link of 1 gives half to each of its two flows, which leaves 1.5 of the link of 2 to the third.
    assert shares(np.array([[0, 0], [0, 1], [1, 1]]), np.array([1.0, 2.0])).tolist() == [0.5, 0.5, 1.5]
    # Three links in a row, of which each waits for the one before: 1 of 2, then 2 of 3, then 4.
    chain = shares(np.array([[0, 0], [0, 1], [1, 2], [2, 2]]), np.array([2.0, 3.0, 6.0]))
    assert chain.tolist() == [1.0, 1.0, 2.0, 4.0]


def test_flows_share_from_when_they_arrive_until_one_ends() -> None:
    # 10 bits at 10 bit/s, and after half a second another 5 bits: both get 5 bit/s, and end a second later.
    times = schedule(fluid([0.0, 0.5], [10.0, 5.0], [[0], [0]], [10.0]))
    assert times == pytest.approx([1.5, 1.0])
    # Of 5 and 15 bits the one ends at 1 s, the other has 10 left and the link for itself.
    assert schedule(fluid([0.0, 0.0], [5.0, 15.0], [[0], [0]], [10.0])) == pytest.approx([1.0, 2.0])
    # Nothing is there between two flows, which a pause does not slow down.
    assert schedule(fluid([0.0, 9.0], [5.0, 5.0], [[0], [0]], [10.0])) == pytest.approx([0.5, 0.5])


def test_coarse_steps_change_little() -> None:
    random = np.random.default_rng(1)
    arrivals = np.sort(random.uniform(0, 10, 300))
    links = np.column_stack([random.integers(0, 5, 300), random.integers(5, 10, 300)])
    flows = Fluid(arrivals, random.uniform(1, 2, 300), links, np.full(10, 12.0))
    fine, coarse = schedule(flows), schedule(flows, step_s=0.001)
    assert coarse.mean() == pytest.approx(fine.mean(), rel=0.02)
    # No flow is faster than without other traffic.
    assert (fine >= flows.bits / 12.0 - 1e-9).all()


def test_what_no_flow_disturbs_takes_its_ideal_time(tmp_path: Path) -> None:
    text = """
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts_per_leaf = 2
rate = "10Gbps"
uplink_rate = "40Gbps"
link_delay = "10us"
[switch]
buffer = { kind = "complete-sharing", pool = "10MB" }
[[workload]]
kind = "incast"
senders = "1"
receivers = "0, 2"
size = "100KB"
period = "1ms"
repeats = 2
"""
    (tmp_path / "alone.toml").write_text(text)
    run = sh.run(tmp_path / "alone.toml", out=tmp_path / "run")
    # One host sends to a neighbour and across the spines at the same time: its link is shared, and each flow
    # takes as long as its bytes do twice. 100 KB in 70 segments are 103,640 bytes: 82.9 µs more than alone.
    alone = run.flows["ideal_us"].to_numpy()
    assert completion_us(run) - alone == pytest.approx(np.full(4, 103_640 * 8 / 1e4), rel=1e-6)


def test_topologies_without_a_bound_are_refused(tmp_path: Path) -> None:
    dumbbell = SMALL.replace('kind = "star"\nhosts = 5', 'kind = "dumbbell"\nleft = 4\nright = 1')
    dumbbell = dumbbell.replace('senders = "1..5"', 'senders = "0..4"').replace('"0..1"', '"4"')
    (tmp_path / "x.toml").write_text(dumbbell)
    run = sh.run(tmp_path / "x.toml", out=tmp_path / "run")
    with pytest.raises(ShallowsError, match=r"without topology.links, got a dumbbell"):
        completion_us(run)


def test_a_flow_between_two_steps_is_served_from_the_second_on() -> None:
    two = fluid([0.0, 0.3], [5.0, 5.0], [[0], [1]], [10.0, 10.0])
    assert schedule(two, step_s=1.0) == pytest.approx([0.5, 0.5])


def test_a_flow_that_waits_for_nobody_begins_when_it_arrives() -> None:
    # 5 at 10 a second; the second comes when the first has gone, the third shares with it, the fourth ends
    # before them. Two at 5 a second until 2.1; three at 10/3 for 0.15 s; then two at 5 a second for 0.8 s.
    four = fluid([0.0, 2.0, 2.0, 2.1], [5.0, 5.0, 5.0, 0.5], [[0], [0], [0], [0]], [10.0])
    assert schedule(four) == pytest.approx([0.5, 1.05, 1.05, 0.15])


def test_what_a_link_has_left_goes_to_flows_that_no_other_link_limits() -> None:
    # Link 1 gives three flows 1 each, two of which cross link 0; its third flow has the rest of 10. A flow
    # that names its link twice crosses it once, and one on link 2 alone has all of it.
    links = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [2, 2]])
    found = shares(links, np.array([10.0, 3.0, 7.0]))
    assert found.tolist() == pytest.approx([1, 1, 1, 8, 7])


def run_of(
    topology: dict[str, Any], *flows: tuple[float, int, int], size: int, ideal_us: list[float]
) -> sh.Run:
    """Return a run with this topology and these flows, each given by arrival, source and destination."""
    times, sources, destinations = map(list, zip(*flows, strict=True))
    return fake_run(
        scenario={"tcp": TCP, "topology": TOPOLOGY | {"links": []} | topology},
        flows=flow_table(
            arrival_us=times,
            source=sources,
            destination=destinations,
            size_bytes=[size] * len(flows),
            ideal_us=ideal_us,
        ),
    )


def leaf_spine(leaves: int) -> dict[str, Any]:
    """Return leaves with two hosts and two uplinks of 2.5 Gb/s: both send 12,800 bits in 2.56 µs."""
    rates = {"rate": "10Gbps", "uplink_rate": "2.5Gbps"}
    return {"kind": "leaf-spine", "leaves": leaves, "spines": 2, "hosts_per_leaf": 2} | rates


def test_flows_share_the_uplinks_of_a_leaf_together_and_each_direction_apart() -> None:
    # A packet of 12,800 bits takes 2.56 µs over both uplinks, and two at once take as long again. Flows that
    # go the other way, or to a host that sends itself, do not disturb each other.
    flows = [(0.0, 0, 2), (0.0, 1, 3), (100.0, 0, 2), (100.0, 3, 1), (200.0, 0, 1), (200.0, 1, 0)]
    run = run_of(leaf_spine(2), *flows, size=1_460, ideal_us=[10.0] * 6)
    assert completion_us(run) == pytest.approx([12.56, 12.56, 10, 10, 10, 10])


def test_flows_from_and_to_a_leaf_share_its_uplinks_whatever_the_other_leaf() -> None:
    # Two leave leaf 0 for the leaves 1 and 2; later two come from there to leaf 0; then one comes to leaf 0
    # while one leaves it; and then two leave leaf 1.
    flows = [(0.0, 0, 2), (0.0, 1, 4), (100.0, 2, 0), (100.0, 4, 1), (200.0, 2, 0), (200.0, 0, 4)]
    flows += [(300.0, 2, 0), (300.0, 3, 4)]
    run = run_of(leaf_spine(3), *flows, size=1_460, ideal_us=[10.0] * 8)
    assert completion_us(run) == pytest.approx([12.56] * 4 + [10] * 2 + [12.56] * 2)


@pytest.mark.parametrize("other", [{"kind": "graph"}, {"links": [{"between": [0, 1]}]}])
def test_topologies_whose_links_are_not_all_alike_have_no_ideal(other: dict[str, Any]) -> None:
    odd = run_of(leaf_spine(3) | other, (0.0, 0, 2), size=1_460, ideal_us=[10.0])
    with pytest.raises(ShallowsError, match="the ideal completion time is defined for a"):
        completion_us(odd)


def test_flows_of_a_run_are_served_from_the_next_step_on_and_share_until_one_ends() -> None:
    # Ten packets of 1,600 bytes on the wire take 12.8 µs alone at 10 Gb/s. The second flow arrives at 5 µs
    # and is served from the step at 10 µs on; the first has 2.8 µs left, which take 5.6. From the next step
    # on, at 20 µs, the second has 12.8 − 5 left for itself: 17.8 µs from when it was served first. All but
    # 12.8 µs of the ideal times of 20 and 30 µs are latency.
    star = {"kind": "star", "hosts": 3, "rate": "10Gbps"}
    run = run_of(star, (0.0, 1, 0), (5.0, 2, 0), size=14_600, ideal_us=[20.0, 30.0])
    assert completion_us(run) == pytest.approx([15.6 + 7.2, 17.8 + 17.2])
