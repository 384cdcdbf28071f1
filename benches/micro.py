#!/usr/bin/env python3
"""Instructions per operation of the hot paths, counted by Callgrind.

Usage: benches/micro.py [--baseline FILE] [--json FILE]

Each operation runs N and 2 N times under `valgrind --tool=callgrind`; the difference over N is what one
costs, free of
start-up. Counts are repeatable for one binary, so two versions can be compared to the instruction.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OPERATIONS = {
    "event-queue": "take and schedule one event, 1000 pending",
    "port": "one packet through a busy port, Dynamic Threshold",
    "ecn-port": "the same with an ECN threshold",
    "sender": "one segment sent, received and acknowledged",
}
COUNT = 100_000


def instructions(binary: Path, operation: str, count: int) -> int:
    """Instructions that `count` repetitions execute."""
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


def main() -> int:
    """Count, print, and compare with a baseline if one is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--baseline", type=Path, help="JSON of an earlier version to compare with")
    parser.add_argument(
        "--json", type=Path, default=ROOT / "target/bench/micro.json", help="where to write the counts"
    )
    parser.add_argument("--count", type=int, default=COUNT, help="repetitions N of each operation")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("micro-benchmarks not run: valgrind is missing (apt-get install valgrind)", file=sys.stderr)
        return 0
    subprocess.run(
        ["cargo", "build", "--release", "-q", "-p", "shallows-sim", "--example", "micro"],
        cwd=ROOT,
        check=True,
    )
    binary = ROOT / "target/release/examples/micro"
    before = json.loads(options.baseline.read_text()) if options.baseline else {}
    counts = {}
    print(f"{'operation':12} {'instructions':>12} {'baseline':>10}  what")
    for operation, meaning in OPERATIONS.items():
        once = instructions(binary, operation, options.count)
        counts[operation] = (instructions(binary, operation, 2 * options.count) - once) / options.count
        baseline = f"{before[operation]:10.1f}" if operation in before else f"{'':10}"
        print(f"{operation:12} {counts[operation]:12.1f} {baseline}  {meaning}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(counts, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
