"""Tests of the traces of shared pools."""

from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

import shallows as sh
from fake_runs import COUNTERS, fake_run
from shallows.errors import ShallowsError
from shallows.runs import pools
from shallows.series.backlogs import pools_beside

# Four hosts answer host 0 at once, and a trickle to host 1 goes through the same pool.
SCENARIO = """
name = "pools"
stop.at = "4ms"
[topology]
kind = "star"
hosts = 6
rate = "10Gbps"
link_delay = "5us"
[switch]
buffer = { kind = "dynamic-threshold", alpha = 2, pool = "1MB" }
[tcp]
congestion = "reno"
rto = { initial = "5ms", min = "5ms" }
[measure]
sample_queues = "1us"
traces = [{ ports = ["PORTS"]EVERY }]
[[workload]]
kind = "incast"
senders = "2..6"
receivers = 0
size = "300KB"
[[workload]]
kind = "udp"
senders = "2"
receivers = "1"
pattern = { kind = "constant", rate = "20Mbps" }
"""


def run(folder: Path, ports: str, every: str = "") -> sh.Run:
    (folder / "pools.toml").write_text(SCENARIO.replace("PORTS", ports).replace("EVERY", every))
    return sh.run(folder / "pools.toml", out=folder / f"run{len(list(folder.iterdir()))}")


def without_samples(found: sh.Run) -> sh.Run:
    found.__dict__["queues"] = None
    return found


def test_a_pool_of_which_all_ports_are_traced_is_what_it_held(tmp_path: Path) -> None:
    found = run(tmp_path, "switch0->*")
    sampled = sh.Series.read(found.queues.filter(name="switch0.pool0"), "bytes", 4_000.0, 0.0)  # type: ignore[union-attr]
    of = [
        found.series("switch0.pool0"),
        found.series("switch0->host0", "pool_bytes"),
        found.series("switch0->host1", "pool_bytes"),
    ]
    assert len({series.mean() for series in of}) == 1
    # Samples are a microsecond apart, in which a port of 10 Gb/s sends less than a packet.
    assert of[0].mean() == pytest.approx(sampled.mean(), rel=0.01)
    assert of[0].max() == sampled.max() or of[0].max() == pytest.approx(sampled.max(), abs=3_000)
    assert pools_beside(without_samples(found), ["switch0->host0"]) == ["switch0.pool0"]


def test_a_pool_of_which_some_ports_are_traced_is_not_drawn(tmp_path: Path) -> None:
    found = run(tmp_path, "switch0->host1")
    # Samples know the pool all the same.
    assert found.series("switch0->host1", "pool_bytes").mean() == found.series("switch0.pool0").mean()
    without_samples(found)
    assert pools_beside(found, ["switch0->host0"]) == []
    for quantity in ("pool_bytes", "buffer_threshold_bytes"):
        with pytest.raises(ShallowsError) as error:
            found.series("switch0->host1", quantity)
        assert error.value.message == (
            f"{quantity} of switch0->host1 depends on all ports of the pool; "
            "the trace has only changes of switch0->host1"
        )
        assert error.value.remedy.startswith("trace all ports of the switch")


def test_readings_at_intervals_are_what_the_pool_held_then(tmp_path: Path) -> None:
    found = without_samples(run(tmp_path, "switch0->host1", ', every = "1us"'))
    assert found.series("switch0->host1", "buffer_threshold_bytes", queue=0).min() > 0
    mean = found.series("switch0->host1", "pool_bytes").mean()
    exact = without_samples(run(tmp_path, "switch0->*")).series("switch0.pool0").mean()
    assert mean == pytest.approx(exact, rel=0.01)


def test_a_pool_has_no_queues(tmp_path: Path) -> None:
    found = run(tmp_path, "switch0->host0")
    with pytest.raises(ShallowsError, match=r"switch0.pool0 is a pool and has no queues"):
        found.series("switch0.pool0", queue=0)
    with pytest.raises(ShallowsError, match=r"has no port or pool 'switch9'"):
        found.series("switch9", queue=0)


def recorded(ports: list[str], buffer: dict[str, Any], *every: str) -> pools.Recorded:
    """Return a run with these ports and this buffer, traced at these intervals."""
    scenario = {"switch": {"buffer": buffer}, "measure": {"traces": [{"every": each} for each in every]}}
    counters = pl.DataFrame({"port": ports})
    return fake_run(scenario=scenario, counters=counters)


# Two queues each; three ports of one switch, and one of another.
PORTS = [port for port in ("a->x", "a->y", "a->z", "b->x") for _ in range(2)]


@pytest.mark.parametrize(
    ("buffer", "expected"),
    [
        # The third port of a switch begins another pool.
        (
            {"kind": "dynamic-threshold", "ports_per_pool": 2},
            {"a->x": "a.pool0", "a->y": "a.pool0", "a->z": "a.pool1", "b->x": "b.pool0"},
        ),
        (
            {"kind": "dynamic-threshold"},
            {"a->x": "a.pool0", "a->y": "a.pool0", "a->z": "a.pool0", "b->x": "b.pool0"},
        ),
        (
            {"kind": "complete-sharing"},
            {"a->x": "a.pool0", "a->y": "a.pool0", "a->z": "a.pool0", "b->x": "b.pool0"},
        ),
        (
            {"kind": "static-partition"},
            {"a->x": "a.pool0", "a->y": "a.pool1", "a->z": "a.pool2", "b->x": "b.pool0"},
        ),
    ],
    ids=["two ports to a pool", "a pool for each switch", "complete sharing", "static partition"],
)
def test_ports_share_the_pools_of_their_switch_in_their_order(
    buffer: dict[str, Any], expected: dict[str, str]
) -> None:
    assert pools.pool_of(recorded(PORTS, buffer)) == expected


@pytest.mark.parametrize("every", [["event"], ["10us", "event"]])
def test_a_pool_that_a_port_shares_with_others_cannot_be_read_from_its_changes(every: list[str]) -> None:
    run = recorded(["s->a", "s->b", "s->c"], {"kind": "dynamic-threshold", "ports_per_pool": 2}, *every)
    with pytest.raises(ShallowsError):
        pools.refuse_shared(run, "s->a", "pool_bytes")


@pytest.mark.parametrize(
    ("port", "quantity", "every"),
    [("s->c", "pool_bytes", "event"), ("s->a", "backlog_bytes", "event"), ("s->a", "pool_bytes", "10us")],
    ids=["alone in its pool", "its own backlog", "at intervals"],
)
def test_what_a_port_knows_by_itself_can_be_read(port: str, quantity: str, every: str) -> None:
    run = recorded(["s->a", "s->b", "s->c"], {"kind": "dynamic-threshold", "ports_per_pool": 2}, every)
    pools.refuse_shared(run, port, quantity)


@pytest.mark.parametrize(("every", "height"), [(["10us"], 1), (["event"], 0), (["10us", "event"], 0)])
def test_a_pool_is_known_from_one_of_its_ports_only_at_intervals(every: list[str], height: int) -> None:
    # The other port of the pool had packets too.
    rows = [(1.0, "s->a", None, "pool_bytes", 700.0)]
    traces = pl.DataFrame(rows, schema=["time_us", "port", "queue", "quantity", "value"], orient="row")
    scenario = {
        "switch": {"buffer": {"kind": "dynamic-threshold"}},
        "measure": {"traces": [{"every": each} for each in every]},
    }
    run = fake_run(counters=COUNTERS, queues=None, traces=traces, scenario=scenario)
    assert pools.traced_pools(cast(pools.Recorded, run)).height == height
