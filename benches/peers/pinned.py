"""Both simulators run on the same core."""

from __future__ import annotations

import os
import shutil


class MissingToolError(Exception):
    """Something that the benchmark needs is not there; the message says how to get it."""


def pinned(command: list[str]) -> list[str]:
    """Return the command bound to the first core that we may use, if `taskset` is there."""
    if not shutil.which("taskset"):
        return command
    return ["taskset", "-c", str(min(os.sched_getaffinity(0))), *command]
