"""Tests of the choice of the ports and pools with the longest queues."""

from typing import Any

import polars as pl
import pytest

from fake_runs import COUNTERS, fake_run
from shallows.series import backlogs

ROWS: list[tuple[Any, ...]] = [
    # The queue of the NIC is longer than those of the switch; a queue of a port does not count as a port.
    (1.0, "a->s", None, "backlog_bytes", 9_000.0),
    (1.0, "s->a", 0, "backlog_bytes", 8_000.0),
    (1.0, "s->a", None, "backlog_bytes", 500.0),
    (1.0, "s->b", None, "backlog_bytes", 600.0),
    (1.0, "s->a", None, "pool_bytes", 700.0),
    (2.0, "s->b", None, "pool_bytes", 800.0),
    (3.0, "a->s", None, "pool_bytes", 9_000.0),
]
TRACED = fake_run(
    20.0,
    counters=COUNTERS,
    queues=None,
    traces=pl.DataFrame(ROWS, schema=["time_us", "port", "queue", "quantity", "value"], orient="row"),
    scenario={
        "switch": {"buffer": {"kind": "static-partition"}},
        "measure": {"traces": [{"every": "event"}]},
    },
)


@pytest.mark.parametrize(("most", "ports"), [(2, ["s->b", "s->a"]), (1, ["s->b"])])
def test_the_busiest_ports_are_those_of_switches_with_the_highest_backlogs(
    most: int, ports: list[str]
) -> None:
    assert backlogs.busiest([TRACED], most=most) == ports


SHARED = {"switch": {"buffer": {"kind": "complete-sharing"}}, "measure": {"traces": [{"every": "1us"}]}}


def test_the_pool_beside_a_port_is_one_that_it_shares() -> None:
    # In a static partition, each port has a pool for itself.
    assert backlogs.pools_beside(TRACED, ["s->b"]) == []
    shared = fake_run(counters=COUNTERS, queues=None, traces=TRACED.traces, scenario=SHARED)
    assert backlogs.pools_beside(shared, ["s->b", "s->a"]) == ["s.pool0"]
    assert backlogs.pools_beside(shared, ["a->s"]) == []
