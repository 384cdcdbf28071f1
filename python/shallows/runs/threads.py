"""Number of threads of one run."""

import json
import os
from dataclasses import dataclass

from shallows import _core
from shallows.errors import ShallowsError


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Threads:
    """Number of threads of one run: exactly `most`, or the fastest number up to `most` if `adapts`."""

    most: int = 1
    adapts: bool = False


def threads_of(asked: int | str) -> Threads:
    """Parse a number of threads or `auto`.

    >>> threads_of(3) == threads_of("3") == Threads(3)
    True
    >>> threads_of("auto") == Threads(cores(), adapts=True)
    True

    Raises
    ------
    ShallowsError
        If `asked` is neither `auto` nor a number from 1 to 1024.
    """
    if asked == "auto":
        return Threads(cores(), adapts=True)
    text = str(asked)
    if isinstance(asked, bool) or not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise ShallowsError(f"threads must be from 1 to 1024 or auto, got {asked!r}", "correct the number")
    return Threads(int(text))


def division_in_words(experiment: _core.Experiment, threads: int) -> str:
    """Describe in words how a run is divided among threads."""
    division = json.loads(experiment.division(threads))
    if reason := division.get("undivided"):
        return f"on one thread: {reason}"
    if division["threads"] == 1:
        return "on one thread"
    most = division["threads"] * division["evenness"]
    return (
        f"on {division['threads']} threads where much happens at once, at most {most:.2g} times as fast; "
        f"they meet about every {division['window_us']:.3g} µs of simulated time"
    )
