"""Measure the cost of `--threads auto` while other work runs on the machine.

Every network runs alternately on one thread and with `auto`, while each core also runs a busy process. The
median of the ratios of the two times should be at most 1.05. The number of threads must not change the
results. Prints a table and writes `target/bench/beside.json`.
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


def measure(case: Case, repeats: int) -> list[float]:
    """Return the wall time with `auto` divided by the wall time on one thread, for each pair of runs."""
    ratios = []
    for _ in range(repeats):
        one, auto = (ours.run_shallows(*case, threads=threads, pin=False) for threads in (1, "auto"))
        if results_of(one) != results_of(auto):
            raise AssertionError(f"{case[0].name}: results differ between runs")
        ratios.append(auto["engine"]["wall_s"] / one["engine"]["wall_s"])
    return ratios


def main() -> int:
    """Parse the arguments, run the benchmark, and print the results."""
    arguments = options(__doc__, "beside", repeats=5)
    cores = len(os.sched_getaffinity(0))
    with busy(cores):
        found = {name: measure(case, arguments.repeats) for name, case in cases(arguments.count).items()}
    arguments.json.write_text(json.dumps({"cores": cores, "cases": found}, indent=2) + "\n", encoding="ascii")
    print(f"\n{'beside ' + str(cores) + ' busy processes':<26}{'auto over one thread':>22}{'pairs':>18}")
    for name, ratios in found.items():
        pairs = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{name:<26}{statistics.median(ratios):>22.2f}{pairs:>18}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
