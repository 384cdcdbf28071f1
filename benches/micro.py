#!/usr/bin/env python3
"""Count instructions per operation of the hot paths and of every kind of port, with Callgrind.

Usage: benches/micro.py [--baseline FILE] [--json FILE] [--ports]

Each operation runs N and 2 N times under `valgrind --tool=callgrind`. The difference divided by N is the cost
of one operation, without start-up. Counts are repeatable for one binary, so two versions can be compared to
the instruction. With `--ports`, one packet through each kind of port is counted and timed, and compared with
a drop-tail port of one queue.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OPERATIONS = {
    "event-queue": "take and schedule one event, 1000 pending",
    "port": "one packet through a busy port, Dynamic Threshold",
    "ecn-port": "the same with an ECN threshold",
    "sender": "one segment sent, received and acknowledged",
    "connections": "one packet-hop of overload, almost each flow opening a persistent connection",
}
# One packet passes a port with eight flows, where four packets wait.
PORTS = {
    "disciplines": [
        "strict-priority",
        "wrr",
        "dwrr",
        "wfq",
        "wfq-self-clocked",
        "hcf",
        "hashed-drr",
        "sfq",
        "shaper",
    ],
    "markers": [
        "threshold",
        "red",
        "red-averaged",
        "red-classic",
        "mq-ecn",
        "ein",
        "ein-as-released",
        "tcn",
        "codel",
    ],
    "buffers": ["static-partition", "complete-sharing", "abm"],
}
# Baseline of each comparison: a DWRR port for mq-ecn, and a port of one queue for all others.
BASES = {"mq-ecn": "dwrr"}
COUNT = 100_000
# Packets of a timed run, which takes some tenths of a second.
TIMED = 3_000_000


def instructions(binary: Path, operation: str, count: int) -> int:
    """Return the number of instructions that `count` repetitions of an operation execute."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            "valgrind",
            "--tool=callgrind",
            f"--callgrind-out-file={scratch}/out",
            str(binary),
            operation,
            str(count),
        ]
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.search(r"Collected\s*:\s*(\d+)", result.stderr)
    if found is None:
        raise SystemExit(f"callgrind printed no count for {operation}:\n{result.stderr}")
    return int(found.group(1))


def per_operation(binary: Path, operation: str, count: int) -> float:
    """Return the number of instructions of one operation, without start-up."""
    return (instructions(binary, operation, 2 * count) - instructions(binary, operation, count)) / count


def growth(binary: Path, operation: str, count: int) -> float:
    """Return the growth of an operation's cost during a run; 1 if the cost is constant.

    The growth is the mean cost of operations 2 `count` to 4 `count`, divided by the mean cost of operations
    `count` to 2 `count`.
    """
    first, second, fourth = (instructions(binary, operation, factor * count) for factor in (1, 2, 4))
    return (fourth - second) / 2 / (second - first)


def nanoseconds(binary: Path, operation: str) -> float:
    """Return the time of one operation in ns, without start-up, from the fastest of three runs."""

    def least(count: int) -> float:
        times = []
        for _ in range(3):
            begin = time.perf_counter()
            subprocess.run([str(binary), operation, str(count)], capture_output=True, check=True)
            times.append(time.perf_counter() - begin)
        return min(times)

    return (least(TIMED) - least(0)) / TIMED * 1e9


def count_ports(binary: Path, count: int) -> dict[str, dict[str, float]]:
    """Count the instructions and measure the time of a packet at each kind of port; print and return both."""
    names = ["fifo", *(name for group in PORTS.values() for name in group)]
    found = {
        name: {"instructions": per_operation(binary, name, count), "ns": nanoseconds(binary, name)}
        for name in names
    }
    print(f"\n{'one packet through':20}{'instructions':>13}{'adds':>7}{'ns':>8}{'adds':>7}")
    for name, row in found.items():
        base = found[BASES.get(name, "fifo")]
        more, slower = (row[key] - base[key] for key in ("instructions", "ns"))
        print(f"{name:20}{row['instructions']:13.0f}{more:7.0f}{row['ns']:8.1f}{slower:7.1f}")
    print("added to a port of one queue that drops at its tail; mq-ecn to one of dwrr")
    return found


def main() -> int:
    """Count instructions, print the counts, and compare them with a baseline if one is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--baseline", type=Path, help="JSON of an earlier version to compare with")
    parser.add_argument(
        "--json", type=Path, default=ROOT / "target/bench/micro.json", help="where to write the counts"
    )
    parser.add_argument("--count", type=int, default=COUNT, help="repetitions N of each operation")
    parser.add_argument("--ports", action="store_true", help="every discipline, marker and buffer policy too")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("micro-benchmarks not run: valgrind is missing (apt-get install valgrind)", file=sys.stderr)
        return 0
    subprocess.run(
        [
            *("cargo", "build", "--release", "-q", "-p", "shallows-sim", "--example", "micro"),
            *(("--example", "ports") if options.ports else ()),
        ],
        cwd=ROOT,
        check=True,
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    binary = target / "release/examples/micro"
    before = json.loads(options.baseline.read_text()) if options.baseline else {}
    counts: dict[str, Any] = {}
    print(f"{'operation':12} {'instructions':>12} {'baseline':>10}  what")
    for operation, meaning in OPERATIONS.items():
        counts[operation] = per_operation(binary, operation, options.count)
        baseline = f"{before[operation]:10.1f}" if operation in before else f"{'':10}"
        print(f"{operation:12} {counts[operation]:12.1f} {baseline}  {meaning}")
    # The cost of a packet-hop must not depend on the number of open connections.
    counts["connections-growth"] = growth(binary, "connections", options.count)
    meaning = '"connections" later, beside earlier'
    print(f"{'growth':12} {counts['connections-growth']:12.3f} {'':10}  {meaning}")
    if options.ports:
        counts["ports"] = count_ports(binary.with_name("ports"), options.count)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(counts, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
