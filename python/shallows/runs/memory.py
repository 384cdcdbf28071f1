"""Available memory, memory that a run needs, and memory that this process uses."""

import contextlib
import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError
from shallows.quantity import duration, size

if TYPE_CHECKING:
    from shallows._core import Experiment, Simulation

SCARCE_MB = 200.0
"""Limit of free memory, in MB. Below it, a run ends if its recorded data takes more than is free."""


@dataclass(frozen=True)
class Need:
    """Memory that a run needs."""

    bytes: float
    most: str = ""
    """Description of the largest part of the memory, with its size; empty if parts were not estimated."""
    remedy: str = ""
    """Change of the scenario that reduces the memory."""
    label: str = ""
    """Label of the run in its sweep; empty without a sweep."""


def need_of(experiment: "Experiment", label: str = "") -> Need:
    """Return a lower bound on the memory of a run, computed from its scenario."""
    needs = json.loads(experiment.footprint())
    most = needs[0]
    said = f"{most['what']} take {size(most['bytes'])}"
    return Need(sum(need["bytes"] for need in needs), said, most["remedy"], label)


def refuse_too_large(needs: Sequence[Need], at_once: int = 1) -> None:
    """Raise an error if the `at_once` largest runs together need more memory than is free.

    `plan`, `run` and `sweep` all apply this check before they build a run.

    Raises
    ------
    ShallowsError
        The message names what needs most of the memory; the remedy gives the number of runs that fits, or
        a change of the scenario.
    """
    together = sorted(needs, key=lambda need: need.bytes, reverse=True)[:at_once]
    needed, free = sum(need.bytes for need in together), available_mb() * 1e6
    if needed <= free:
        return
    largest = together[0]
    least = "at least " if largest.most else ""
    message = f"the run needs {least}{size(needed)} of memory; {size(free)} are free"
    if len(together) > 1:
        message = message.replace("the run needs", f"{len(together)} simultaneous points need", 1)
    if largest.label:
        message += f"; the largest point, {largest.label}, takes {size(largest.bytes)}"
    if largest.most:
        message += f"; {largest.most}"
    fits = int(free / largest.bytes)
    smaller = largest.remedy or "use fewer flows and samples"
    raise ShallowsError(
        message,
        f"run fewer points at a time: --jobs {fits}"
        if fits
        else f"{smaller}; or use a machine with more memory",
    )


def refuse_growth(simulation: "Simulation", simulated_s: float) -> None:
    """Raise an error if less than `SCARCE_MB` is free and the run's recorded data takes more than is free.

    Raises
    ------
    ShallowsError
        The message gives the size of the recorded data; the remedy suggests a change of the scenario.
    """
    free = available_mb()
    if free >= SCARCE_MB:
        return
    held = json.loads(simulation.held())
    recorded = sum(need["bytes"] for need in held)
    if recorded > free * 1e6:
        raise ShallowsError(
            f"the run was stopped after {duration(simulated_s)} of simulated time: "
            f"{size(free * 1e6)} of memory are free, and the run has recorded {size(recorded)}, "
            f"of which {held[0]['what']} take {size(held[0]['bytes'])}",
            f"the results of this run are lost; {held[0]['remedy']}; or use a machine with more memory",
        )


def available_mb() -> float:
    """Return the free memory that this process may use, within its control groups and `ulimit -v`."""
    meminfo = _numbers(Path("/proc/meminfo"))
    free = meminfo["MemAvailable"] * 1024 if "MemAvailable" in meminfo else float("inf")
    for folder in _control_groups():
        with contextlib.suppress(OSError, ValueError):
            limit, usage = _limit(folder)
            # The kernel can reclaim inactive page cache.
            statistics = _numbers(folder / "memory.stat")
            idle = statistics.get("total_inactive_file", statistics.get("inactive_file", 0))
            free = min(free, limit - usage + idle)
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most != resource.RLIM_INFINITY:
        mapped = _numbers(Path("/proc/self/status")).get("VmSize", 0) * 1024
        free = min(free, max(most - mapped, 0))
    return free / 1e6


def _limit(folder: Path) -> tuple[int, int]:
    """Return limit and usage of a control group, version 2 or 1, in bytes.

    Raises
    ------
    ValueError
        If there is no limit (`max`).
    """
    names = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
    limit, usage = names[0] if (folder / names[0][0]).exists() else names[1]
    return int((folder / limit).read_text()), int((folder / usage).read_text())


def _control_groups() -> list[Path]:
    """Return the folders of the process's control group and its parents, version 1 or 2."""
    found: list[Path] = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, kind, path = line.split(":", 2)
            if kind in {"", "memory"}:
                root = Path("/sys/fs/cgroup", kind)
                inside = root / path.lstrip("/")
                found += [inside, *(parent for parent in inside.parents if parent.is_relative_to(root))]
    return found


def _numbers(path: Path) -> dict[str, int]:
    """Parse a file whose lines consist of a name and a number; return {} if the file cannot be read."""
    try:
        lines = [line.replace(":", " ").split() for line in path.read_text().splitlines()]
    except OSError:
        return {}
    return {words[0]: int(words[1]) for words in lines if len(words) > 1 and words[1].isdecimal()}


def forget_peak() -> None:
    """Reset the peak of `peak_memory_mb` before another run of this process, if the system supports it."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # proc(5): resets VmHWM


def peak_memory_mb() -> float:
    """Return the peak memory of this process since its start, or since `forget_peak`."""
    try:
        # On Linux, getrusage also counts the memory between fork and exec, which is the parent's.
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    except (OSError, LookupError):
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # getrusage(2): KiB on Linux, bytes on macOS.
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
