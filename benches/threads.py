"""Measure the speed-up of one run with more threads.

Every network runs the same flows on one thread and on more threads, in turns. The median of the ratios of
times is reported, so that changes of the machine's speed cancel out. The number of threads must not change
the results. Prints a table and writes `target/bench/threads.json`. Measures runs on two threads, and on four
and eight if there are enough cores.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import ours  # noqa: E402
from command import flow_list, options  # noqa: E402

# Keys of the summary that depend on the machine.
OF_THE_MACHINE = ("wall_s", "packet_hops_per_s", "peak_rss_mb")

Case = tuple[Path, dict[str, object]]


def cases(count: int) -> dict[str, Case]:
    """Return scenario and overrides of each case by name, with `count` flows or a fixed number of queries."""
    fabric = ours.SCENARIOS / "leaf-spine.toml"
    listed: dict[str, object] = {ours.TRACE_KEY: flow_list(count)}
    queries = ours.SCENARIOS / "partition-aggregate.toml"
    bcc = HERE.parent / "experiments" / "bcc" / "fig4.toml"
    return {
        "leaf-spine, 10 us": (fabric, listed),
        "leaf-spine, 1 us": (fabric, {**listed, "topology.uplink_delay": "1us"}),
        "BCC's Fig. 4, 80 %": (bcc, {"workload.0.flows": count, "workload.0.load": 0.8}),
        "partition-aggregate": (queries, {}),
    }


def results_of(summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary without the keys that depend on the machine."""
    engine = {key: value for key, value in summary["engine"].items() if key not in OF_THE_MACHINE}
    return {**summary, "engine": engine, "process_s": None}


def measure(repeats: int, count: int, threads: list[int]) -> dict[str, Any]:
    """Run each network `repeats` times on each number of threads; return cost and speed-ups by network."""
    found: dict[str, Any] = {}
    for name, (scenario, sets) in cases(count).items():
        times: dict[int, list[float]] = {number: [] for number in (1, *threads)}
        results = []
        for _ in range(repeats):
            for number, walls in times.items():
                summary = ours.run_shallows(scenario, sets, threads=number)
                walls.append(summary["engine"]["wall_s"])
                results.append(results_of(summary))
        if any(result != results[0] for result in results):
            raise AssertionError(f"{name}: results differ between runs")
        hops = results[0]["engine"]["packet_hops"]
        found[name] = {
            "packet_hops": hops,
            "ns_per_hop": statistics.median(times[1]) / hops * 1e9,
            "faster": {
                str(number): statistics.median(
                    one / many for one, many in zip(times[1], times[number], strict=True)
                )
                for number in threads
            },
        }
    return found


def print_table(found: dict[str, Any], threads: list[int]) -> None:
    """Print a row for each network."""
    heads = "".join(f"{f'x {number} threads':>13}" for number in threads)
    print(f"\n{'one run':<22}{'packet-hops':>13}{'ns/hop on 1':>13}{heads}")
    for name, row in found.items():
        gains = "".join(f"{row['faster'][str(number)]:>13.2f}" for number in threads)
        print(f"{name:<22}{row['packet_hops']:>13,}{row['ns_per_hop']:>13.0f}{gains}")


def main() -> int:
    """Parse the arguments, run the benchmark, and print the results."""
    arguments = options(__doc__, "threads", repeats=5)
    cores = len(os.sched_getaffinity(0))
    threads = [number for number in (2, 4, 8) if number <= max(cores, 2)]
    found = measure(arguments.repeats, arguments.count, threads)
    arguments.json.write_text(json.dumps({"cores": cores, "cases": found}, indent=2) + "\n", encoding="ascii")
    print_table(found, threads)
    return 0


if __name__ == "__main__":
    sys.exit(main())
