"""Measure the time per packet-hop in large networks and long runs, on one thread.

Networks of 128 to 10,240 hosts run the same number of short flows at the same load, in turns, and the
smallest network runs increasing numbers of flows. The median ratio of each case to the first one is reported,
so that changes of the machine's speed cancel out. Prints tables and writes `target/bench/scale.json`.
Speed-ups with more cores are not measured; upper bounds are computed from the work of each partition in each
window (`crates/sim/examples/critical_path.rs`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import ours  # noqa: E402
from command import FOLDER  # noqa: E402

SCENARIO = ours.SCENARIOS / "scale.toml"
# Hosts per leaf by total number of hosts; the number of spines is the same.
HOSTS_PER_LEAF = {128: 16, 1_024: 32, 4_096: 64, 10_240: 64}
FLOWS = (1_000, 16_000, 128_000, 1_000_000)
COUNT = 100_000
LINKS_OF_A_PART = 1_024
CORES = (4, 8, 16, 64)

Sets = Mapping[str, object]


def network(hosts: int, flows: int) -> Sets:
    """Return the overrides for a network of this many hosts and flows."""
    per_leaf = HOSTS_PER_LEAF[hosts]
    return {
        "topology.leaves": hosts // per_leaf,
        "topology.hosts_per_leaf": per_leaf,
        "topology.spines": per_leaf,
        "workload.0.flows": flows,
    }


def measure(cases: Mapping[str, Sets], repeats: int) -> dict[str, Any]:
    """Run the cases in turns, `repeats` times; return each case's costs and ratios to the first case."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in cases}
    for _ in range(repeats):
        for name, sets in cases.items():
            runs[name].append(ours.run_shallows(SCENARIO, sets)["engine"])
    costs = {
        name: [engine["wall_s"] / engine["packet_hops"] for engine in engines]
        for name, engines in runs.items()
    }
    first = next(iter(costs.values()))
    return {
        name: {
            "packet_hops": engines[0]["packet_hops"],
            "ns_per_hop": statistics.median(costs[name]) * 1e9,
            "ratio": statistics.median(one / base for one, base in zip(costs[name], first, strict=True)),
            "peak_rss_mb": max(engine["peak_rss_mb"] for engine in engines),
        }
        for name, engines in runs.items()
    }


def speed_ups(sets: Sets) -> dict[str, float]:
    """Return an upper bound on the speed-up of a run, for each number of cores."""
    build = ("cargo", "build", "--release", "-q", "-p", "shallows-sim", "--example", "critical_path")
    subprocess.run(build, cwd=ours.ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ours.ROOT / "target"))
    settings = [f"{key}={value}" for key, value in sets.items()]
    cores = ",".join(map(str, CORES))
    command = [str(target / "release/examples/critical_path"), str(SCENARIO), str(LINKS_OF_A_PART), cores]
    done = subprocess.run([*command, *settings], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def print_table(what: str, found: Mapping[str, Any]) -> None:
    """Print a row for each case."""
    print(f"\n{what:<10}{'packet-hops':>13}{'ns/hop':>9}{'ratio':>8}{'peak MB':>9}")
    for name, row in found.items():
        print(
            f"{name:<10}{row['packet_hops']:>13,}{row['ns_per_hop']:>9.0f}{row['ratio']:>8.2f}"
            f"{row['peak_rss_mb']:>9.0f}"
        )


def main() -> int:
    """Parse the arguments, run the benchmark, and print the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3, help="runs of each; medians are taken (default: 3)")
    parser.add_argument("--json", type=Path, default=FOLDER / "scale.json", help="where the numbers go")
    parser.add_argument(
        "--tiny", action="store_true", help="see in seconds whether it works; measures nothing"
    )
    arguments = parser.parse_args()
    ours.require()
    hosts, flows, count = tuple(HOSTS_PER_LEAF), FLOWS, COUNT
    if arguments.tiny:
        hosts, flows, count = hosts[:2], (100, 400), 1_000
    found: dict[str, Any] = {
        "hosts": measure({str(number): network(number, count) for number in hosts}, arguments.repeats),
        "flows": measure({str(number): network(hosts[0], number) for number in flows}, arguments.repeats),
    }
    for what, rows in found.items():
        print_table(what, rows)
    if not arguments.tiny:
        found["speed_ups"] = {str(number): speed_ups(network(number, count)) for number in hosts}
        print(f"\n{'hosts':<10}" + "".join(f"{f'x {cores} cores':>12}" for cores in CORES) + "  at most")
        for name, row in found["speed_ups"].items():
            print(f"{name:<10}" + "".join(f"{row[str(cores)]:>12.1f}" for cores in CORES))
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())
