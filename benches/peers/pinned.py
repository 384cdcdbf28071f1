"""Pinning of both simulators to the same core, and reporting of errors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable


class MissingToolError(Exception):
    """Error for a missing requirement of a benchmark; the message gives the command that installs it."""


def pinned(command: list[str]) -> list[str]:
    """Return the command pinned to the first core of this process, if `taskset` is installed."""
    if not shutil.which("taskset"):
        return command
    return ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]


def status(bench: Callable[[], list[str]]) -> int:
    """Run a benchmark, print the problems that it returns or raises, and return the exit status."""
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
