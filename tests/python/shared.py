"""Scenarios and names that several test files use."""

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Callable
from glob import glob
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import shallows as sh
from not_run import needs
from shallows.reproduction import expected
from shallows.runs import formats, manifest, measuring
from shallows.runs.executing import execute
from shallows.runs.source import Source
from shallows.sweeps.points import plan

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
GALLERY = EXPERIMENTS / "gallery"
HPCC = EXPERIMENTS / "foreign" / "hpcc"

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

# Two senders share 100 Mb/s, which the testbed carries.
STAR = """
name = "star"
[stop]
at = "2s"
[topology]
kind = "star"
hosts = 3
rate = "100Mbps"
link_delay = "50us"
[switch]
buffer = { kind = "static-partition", per_port = "150KB" }
markers = [{ kind = "threshold", k = "30KB" }]
[tcp]
congestion = { kind = "reno", ecn = true }
rto = { min = "200ms" }
[measure]
sample_queues = "1ms"
[[workload]]
kind = "long-lived"
senders = "0..2"
receivers = "2..3"
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

# Links of 10 Gb/s and 1 µs: a segment of 1,460 bytes, 1,500 on the wire, takes 4.4 µs from host to host. The
# second flow is cut off 80 µs after its arrival.
CUT_OFF = """
stop.at = "100us"
host.jitter = "off"
[topology]
kind = "star"
hosts = 4
rate = "10Gbps"
framing = "0B"
[switch]
buffer = { kind = "static-partition", per_port = "100p" }
[tcp]
congestion = "reno"
timestamps = false
delayed_ack = { segments = 1 }
[measure]
warm_up = "10us"
bins = ["1460B", "10MB"]
[[workload]]
kind = "incast"
senders = 0
receivers = 1
size = "1460B"
start = "10us"
[[workload]]
kind = "incast"
senders = 2
receivers = 3
size = "100MB"
start = "20us"
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

# Eight points.
SWEEP = """
[sweep]
axes = { "workload.0.load" = [0.3, 0.6], seed = [1, 2] }
[[sweep.scheme]]
name = "dctcp"
set = {}
[[sweep.scheme]]
name = "reno"
set = { "tcp.congestion" = "reno", "switch.markers" = [] }
"""

# A CDF file and fifty-four points, of a few packets each.
SIZES = "1000 0.5\n20000 1\n"
TINY = (
    SMALL.replace('name = "small"', 'name = "tiny"')
    .replace("flows = 60", "flows = 20")
    .replace('"web-search"', '"../sizes.cdf"')
)
MANY = """
[sweep]
axes = { "workload.0.load" = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7], seed = [1, 2, 3] }
[[sweep.scheme]]
name = "dctcp"
set = {}
[[sweep.scheme]]
name = "low"
set = { "switch.markers.0.k" = "15KB" }
[[sweep.scheme]]
name = "reno"
set = { "tcp.congestion" = "reno", "switch.markers" = [] }
"""

HOSTILE = "</script><img src=x onerror=alert(1)>"
"""A name that runs a script on any page that does not escape it."""

Shell = Callable[..., "subprocess.CompletedProcess[str]"]

needs_testbed = pytest.mark.skipif(
    measuring.unable() is not None, reason=needs("root and the testbed", "make testbed")
)
NEEDS_BPF = needs(
    "DCTCP and ECN* in the kernel", "apt-get install clang libbpf-dev libelf-dev zlib1g-dev && make testbed"
)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the contents of those files of all points that are identical in every run."""
    return {
        f"{path.parent.name}/{path.name}": path.read_bytes()
        for path in folder.glob("*/*")
        if path.suffix in {".parquet", ".pcapng"} or path.name in {"resolved.json", "scenario.toml"}
    }


def results(folder: Path) -> dict[str, Any]:
    """Return the summary of each point without the keys that depend on the machine."""
    found = {}
    for path in folder.glob("*/summary.json"):
        summary = json.loads(path.read_text())
        for key in ["wall_s", "packet_hops_per_s", "peak_rss_mb"]:
            del summary["engine"][key]
        found[path.parent.name] = summary
    return found


def write_run(folder: Path, environment: dict[str, Any], summary: dict[str, Any]) -> None:
    """Write a folder with the documents of a finished run, without its tables."""
    known = {"hash": folder.name, "format": formats.FORMAT}
    (folder / "env.json").write_text(json.dumps(known | environment))
    (folder / "summary.json").write_text(json.dumps(summary))
    manifest.write_manifest(folder, folder.name)


def seal(folder: Path) -> None:
    """Write the manifest again, so that changed files count as the run's own."""
    known = json.loads((folder / manifest.MANIFEST).read_text())["hash"]
    (folder / manifest.MANIFEST).unlink()
    manifest.write_manifest(folder, known)


def wait_until(condition: Callable[[], bool], timeout: float = 30.0, pause: float = 0.02) -> None:
    """Wait until the condition is true; check it every `pause` seconds."""
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(pause)


def of_processes(pattern: str) -> list[Path]:
    """Return the files below `/proc/PID` that match `pattern`, for all processes; some may end meanwhile."""
    # `Path.glob` fails if a process ends meanwhile.
    return [Path(found) for found in glob(f"/proc/[0-9]*/{pattern}")]  # noqa: PTH207


def gallery_points(
    folder: Path, name: str, *overrides: tuple[str, str], keep: dict[str, list[Any]]
) -> list[sh.Run]:
    """Run the points of a gallery sweep that have the labels in `keep`, with overrides for shorter runs."""
    _, planned = plan(Source.read(GALLERY / f"{name}.toml", overrides), folder)
    chosen = [p for p in planned if all(p.source.labels[axis] in kept for axis, kept in keep.items())]
    return [execute(point.source, point.source.parse(), point.folder) for point in chosen]


def claimed(experiment: str, name: str) -> dict[int, float]:
    """Return the points of a claim whose positions are whole numbers."""
    (claim,) = (claim for claim in expected.read(EXPERIMENTS / experiment).claims if claim.id == name)
    return {int(place): value for place, value in claim.points}


def script(path: Path) -> ModuleType:
    """Return a script of an experiment as a module."""
    spec = importlib.util.spec_from_file_location(f"script_{path.parent.name}_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
