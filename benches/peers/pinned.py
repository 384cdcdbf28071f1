"""Both simulators run on the same core, and what keeps them from it is said in one way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable


class MissingToolError(Exception):
    """Something that the benchmark needs is not there; the message says how to get it."""


def pinned(command: list[str]) -> list[str]:
    """Return the command bound to the first core that we may use, if `taskset` is there."""
    if not shutil.which("taskset"):
        return command
    return ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]


def status(bench: Callable[[], list[str]]) -> int:
    """Run a benchmark, and print what it found wrong, be it a missing tool or a failed command.

    Returns the exit status.
    """
    try:
        found = bench()
    except MissingToolError as missing:
        found = [str(missing)]
    except subprocess.CalledProcessError as failed:
        found = [
            f"{' '.join(map(str, failed.cmd))} failed with status {failed.returncode}: {failed.stderr or ''}"
        ]
    for line in found:
        print(f"bench: {line}", file=sys.stderr)
    return 1 if found else 0
