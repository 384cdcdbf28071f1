"""The bound that no scheme attains: hand-worked schedules, and that a flow alone meets it."""

from pathlib import Path

import numpy as np
import pytest

import shallows as sh
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
    # Nobody is faster than alone.
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
    with pytest.raises(ShallowsError, match="no ideal of a dumbbell"):
        completion_us(run)
