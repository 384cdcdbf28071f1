"""Test of the law of zero loss: ten million random packets of lossless classes over every topology."""

from pathlib import Path

import pytest

import shallows as sh

TOPOLOGIES = {
    "star": """kind = "star"
rate = "100Gbps"
hosts = 12""",
    "dumbbell": """kind = "dumbbell"
rate = "40Gbps"
bottleneck_rate = "200Gbps"
link_delay = "2us"
left = 6
right = 6""",
    "leaf-spine": """kind = "leaf-spine"
rate = "100Gbps"
leaves = 3
spines = 2
hosts_per_leaf = 4""",
    "fat-tree": """kind = "fat-tree"
rate = "25Gbps"
aggregation_rate = "50Gbps"
k = 4
oversubscription = 1.5""",
    "graph": """kind = "graph"
rate = "100Gbps"
hosts = ["a{0..6}", "b{0..6}"]
switches = ["left", "right", "one", "two"]
links = [
    { between = ["a*", "left"] },
    { between = ["b*", "right"], rate = "50Gbps" },
    { between = ["left", "one"], delay = "3us" },
    { between = ["left", "two"], rate = "400Gbps" },
    { between = ["one", "right"], rate = "200Gbps" },
    { between = ["two", "right"] },
]""",
}

HOSTS = {
    "star": (12, 100),
    "dumbbell": (12, 40),
    "leaf-spine": (12, 100),
    "fat-tree": (24, 25),
    "graph": (12, 50),
}
"""Number of hosts, and the rate of the slowest host in Gb/s."""

SIZES = (1_500, 428, 64)
"""Sizes of datagrams, each of which is sent equally often."""

LOAD = 0.6
"""Share of a host's link that random datagrams use, in addition to bursts and TCP flows."""

PACKETS = 2_000_000


def scenario(topology: str) -> str:
    """Return a scenario with random datagrams between all hosts, random TCP flows, and bursts to host 0."""
    hosts, gbps = HOSTS[topology]
    per_us = LOAD * gbps * 1e3 / 8 / sum(SIZES)
    # A quarter more than needed, because paused NICs drop some.
    end_us = 1.25 * PACKETS / (hosts * per_us * len(SIZES))
    text = f"""
stop.at = "{end_us:.0f}us"
host.nic = {{ limit = "4MB", port = {{ kind = "dwrr", queues = 2, quantum = "1500B" }} }}
tcp = {{ congestion = "cubic" }}
[topology]
{TOPOLOGIES[topology]}
[switch]
buffer = {{ kind = "dynamic-threshold", pool = "3MB" }}
port = {{ kind = "dwrr", queues = 2, quantum = "1500B" }}
lossless = {{ classes = [0, 1], alpha = 0.03125 }}
[[workload]]
kind = "poisson"
load = 0.05
overload = true
flows = 500
sizes = {{ kind = "uniform", from = "1KB", to = "200KB" }}
[[workload]]
kind = "udp"
senders = "1..{hosts}"
receivers = 0
class = 1
overload = true
pattern = {{ kind = "on-off", rate = "{gbps / 4}Gbps", on = "30us", off = "170us" }}
"""
    for place, size in enumerate(SIZES):
        rate = 1e3 * per_us * size * 8 / (hosts - 1)
        text += f"""
[[workload]]
kind = "udp"
senders = "0..{hosts}"
receivers = "0..{hosts}"
class = {place % 2}
payload = "{size - 28}B"
overload = true
pattern = {{ kind = "poisson", rate = "{rate:.0f}Kbps" }}
"""
    return text


@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_computed_headroom_loses_none_of_two_million_random_packets(topology: str, tmp_path: Path) -> None:
    path = tmp_path / "random.toml"
    path.write_text(scenario(topology))
    run = sh.run(path, out=tmp_path / "run")
    packets = run.summary["packets"]
    assert packets["sent"] - packets["dropped_in_nics"] >= PACKETS
    assert packets["dropped_in_switches"] == 0
    for counts in run.summary["lossless"].values():
        assert counts["pauses"] > 50
        assert counts["dropped"] == 0
