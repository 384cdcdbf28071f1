"""Tests of the drawing of a network: its links with their rates and delays, and its oversubscription."""

import re
from typing import Any

import pytest

from shallows.reports import topology
from shallows.reports.network import boxes
from shallows.runs.network import network

COMMON = {"rate": "10Gbps", "link_delay": "1us", "host_delay": "0ps", "mtu": 1500, "links": []}
FABRIC = COMMON | {
    "kind": "leaf-spine",
    "leaves": 1,
    "spines": 2,
    "hosts_per_leaf": 4,
    "uplink_rate": "20Gbps",
    "uplink_delay": "3us",
}
DUMBBELL = COMMON | {
    "kind": "dumbbell",
    "left": 3,
    "right": 2,
    "bottleneck_rate": "5Gbps",
    "bottleneck_delay": "7us",
}


@pytest.mark.parametrize(
    ("drawn", "expected"),
    [
        (
            FABRIC,
            [
                ("leaf0", "host0 – host3", "10 Gbps", "1 µs", 4),
                ("leaf0", "spine0", "20 Gbps", "3 µs", 1),
                ("leaf0", "spine1", "20 Gbps", "3 µs", 1),
            ],
        ),
        (
            DUMBBELL,
            [
                ("left", "host0 – host2", "10 Gbps", "1 µs", 3),
                ("left", "right", "5 Gbps", "7 µs", 1),
                ("right", "host3 – host4", "10 Gbps", "1 µs", 2),
            ],
        ),
    ],
    ids=["leaf-spine", "dumbbell"],
)
def test_a_link_of_the_drawing_has_its_rate_delay_and_number(
    drawn: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    links = [
        (*link.ends, link.rate, link.delay, count) for link, count in boxes(network(drawn)).links.items()
    ]
    assert sorted(links) == expected


def test_the_label_of_a_link_between_two_switches_of_a_row_is_not_cut_off() -> None:
    svg = topology.draw(network(DUMBBELL))
    baselines = [float(y) for y in re.findall(r'<text [^>]*y="([\d.]+)"', svg)]
    assert "5 Gbps" in svg
    # A letter of 12 pixels stands above its baseline.
    assert min(baselines) >= 12


@pytest.mark.parametrize(
    ("spines", "said"),
    # Four hosts of 10 Gbps over two uplinks of 20 Gbps, or one.
    [(2, ": not oversubscribed, 1 to 1."), (1, ": oversubscribed, 2 to 1.")],
)
def test_oversubscription_is_the_rate_of_hosts_over_that_of_uplinks(spines: int, said: str) -> None:
    fabric = FABRIC | {"spines": spines}
    assert said in topology.describe(fabric, network(fabric))
