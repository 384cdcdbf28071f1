"""Measure the cost of `--threads auto` while other work runs on the machine.

Every network runs in turns on one thread, with `auto`, and on one thread again, while each core also runs a
busy process. The median time with `auto` should be at most 1.05 times the median time of all runs on one
thread. The two series on one thread show the accuracy. The number of threads must not change the results.
Prints a table and writes `target/bench/beside.json`.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "peers"))

import ours  # noqa: E402
from command import options  # noqa: E402

from threads import Case, cases, results_of  # noqa: E402


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Run busy processes while the context is open."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure(case: Case, repeats: int) -> dict[str, float]:
    """Return two ratios of median wall times: `auto` to one thread, and one thread `again` to one thread."""
    times: dict[str, list[float]] = {"one": [], "auto": [], "again": []}
    results = []
    for _ in range(repeats):
        for name, walls in times.items():
            summary = ours.run_shallows(*case, threads="auto" if name == "auto" else 1, pin=False)
            walls.append(summary["engine"]["wall_s"])
            results.append(results_of(summary))
    if any(result != results[0] for result in results):
        raise AssertionError(f"{case[0].name}: results differ between runs")
    one, auto, again = (statistics.median(walls) for walls in times.values())
    return {"auto": auto / statistics.median(times["one"] + times["again"]), "again": again / one}


def main() -> int:
    """Parse the arguments, run the benchmark, and print the results."""
    arguments = options(__doc__, "beside", repeats=9)
    cores = len(os.sched_getaffinity(0))
    with busy(cores):
        found = {name: measure(case, arguments.repeats) for name, case in cases(arguments.count).items()}
    arguments.json.write_text(json.dumps({"cores": cores, "cases": found}, indent=2) + "\n", encoding="ascii")
    print(f"\n{f'beside {cores} busy processes':<26}{'auto over one thread':>22}{'one thread again':>18}")
    for name, ratios in found.items():
        print(f"{name:<26}{ratios['auto']:>22.2f}{ratios['again']:>18.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
