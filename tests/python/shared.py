"""Scenarios and names that several test files use."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SHALLOWS = str(Path(sys.executable).with_name("shallows"))

# Four senders, one receiver, 10 Gb/s: some thousand packets, a hundredth of a second of work.
SMALL = """
name = "small"

[topology]
kind = "star"
hosts = 5
rate = "10Gbps"
link_delay = "10us"

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1.0, pool = "1MB", ports_per_pool = 5 }
markers = [{ kind = "threshold", scope = "queue", k = "65KB" }]

[tcp]
congestion = "dctcp"

[measure]
sample_queues = "50us"

[[workload]]
kind = "poisson"
load = 0.6
of = "receivers"
sizes = "web-search"
flows = 60
senders = "1..5"
receivers = "0..1"
"""

# Three queries to each of three workers, and a block from two.
QUERIES = """
name = "queries"

[topology]
kind = "graph"
hosts = ["client", "worker-{0..3}"]
switches = ["tor"]
rate = "10Gbps"
links = [{ between = ["client", "tor"] }, { between = ["worker-*", "tor"] }]

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1.0, pool = "1MB" }

[[workload]]
kind = "partition-aggregate"
clients = "client"
size = "2KB"
queries = 3
arrivals = { kind = "periodic", period = "1ms" }

[[workload]]
kind = "block-transfer"
clients = "client"
servers = "worker-0, worker-1"
block = "100KB"
"""

# Flows that never end: minutes of work.
ENDLESS = """
name = "endless"

[stop]
at = "1000s"

[topology]
kind = "star"
hosts = 3
rate = "10Gbps"
link_delay = "10us"

[switch]
buffer = { kind = "dynamic-threshold", alpha = 1.0, pool = "1MB", ports_per_pool = 3 }

[[workload]]
kind = "long-lived"
senders = "1..3"
receivers = "0..1"
"""

Shell = Callable[..., "subprocess.CompletedProcess[str]"]


def wait_until(condition: Callable[[], bool], timeout: float = 30.0) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
