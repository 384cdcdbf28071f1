"""Tests of killed sweeps: finished points are neither lost nor run again."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from shared import Shell, contents, results, wait_until

KILLS = 10

# A build with local changes to the engine reuses nothing; what is tested here is the reuse.
AS_COMMITTED = """
import sys
from shallows import about
build = {**about.build(), "dirty": False}
about.build = lambda: build
from shallows.cli import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_sweep_that_is_killed_ten_times_leaves_the_same_as_one_that_is_not(
    shell: Shell, many: Path, tmp_path: Path
) -> None:
    # Long enough that ten kills come before its end.
    many.write_text(many.read_text().replace("flows = 20", "flows = 20000"))
    draw = random.Random(20)  # noqa: S311
    out = tmp_path / "killed"
    command = [sys.executable, "-c", AS_COMMITTED, "sweep", str(many), "--jobs", "2", "--out", str(out)]
    made: dict[Path, int] = {}
    in_a_write = 0
    for number in range(KILLS):
        process = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        if number % 2:
            # In the middle of a write: some files of a run are there, and not the last.
            wait_until(lambda: bool(list(out.glob(".tiny-*.partial/counters.parquet"))), pause=0.001)
        else:
            before = len(made)
            wait_until(lambda before=before: len(list(out.glob("tiny-*"))) > before)  # type: ignore[misc]
            time.sleep(draw.uniform(0, 0.3))
        assert process.poll() is None, "it was through before it could be killed"
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        in_a_write += any(out.glob(".tiny-*.partial"))
        found = {path: path.stat().st_mtime_ns for path in out.glob("tiny-*/summary.json")}
        assert made.items() <= found.items()
        made = found
    assert in_a_write >= KILLS // 2
    assert 0 < len(made) < 54
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"54 runs, {len(made)} of them finished before" in done.stdout
    found = {path: path.stat().st_mtime_ns for path in out.glob("tiny-*/summary.json")}
    assert len(found) == 54
    assert made.items() <= found.items()
    assert not list(out.glob(".*"))

    whole = tmp_path / "whole"
    assert shell("sweep", many, "--out", whole).returncode == 0
    assert contents(out) == contents(whole)
    assert results(out) == results(whole)
    assert (out / "sweep.json").read_bytes() == (whole / "sweep.json").read_bytes()
