"""The engine of a sweep that uses this machine: a process for each point, one per core at a time.

A point that dies takes nothing with it.
"""

import os
from collections.abc import Callable, Generator, Mapping
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from shallows.child import Child
from shallows.points import Point
from shallows.running import Source, execute

LOOK_S = 0.5
"""Wall time between two looks at the running points."""


def run_here(points: Mapping[int, Point], jobs: int | None = None) -> Generator["State", None, None]:
    """Run points, at most `jobs` at a time; says again and again what runs and what has ended since.

    Closing the iterator ends what runs.
    """
    waiting = list(points)
    running: dict[int, _Worker] = {}
    try:
        while waiting or running:
            while waiting and len(running) < (jobs or cores()):
                index = waiting.pop(0)
                running[index] = _Worker(points[index])
            wait([worker.child.pipe for worker in running.values()], timeout=LOOK_S)
            ended = {index: worker.error for index, worker in running.items() if worker.has_ended()}
            running = {index: worker for index, worker in running.items() if index not in ended}
            yield {index: worker.progress for index, worker in running.items()}, ended
    finally:
        for worker in running.values():
            worker.child.stop()


State = tuple[dict[int, dict[str, Any]], dict[int, str | None]]
"""Progress of each point that runs, by its number; what went wrong, if anything, with each that ended."""


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Worker:
    """A process that runs one point."""

    def __init__(self, point: Point) -> None:
        self.progress: dict[str, Any] = {"fraction": 0.0, "packet_hops": 0}
        self.error: str | None = None
        self.child = Child(run_point, point.source, point.folder)

    def has_ended(self) -> bool:
        """Take in what the process has said since; says whether that was all."""
        try:
            for kind, content in self.child.receive():
                if kind == "progress":
                    self.progress = content
                else:
                    self.error = content
                    self.child.end()
                    return True
        except EOFError:
            self.error = f"its process ended with code {self.child.end()} (out of memory, or killed)"
            return True
        return False


def run_point(send: Callable[[tuple[str, Any]], None], source: Source, folder: Path) -> None:
    """Run one point and say how that goes, and last what went wrong, if anything."""
    try:
        execute(source, source.load(), folder, lambda progress: send(("progress", progress)))
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        send(("ended", str(error) or type(error).__name__))
    else:
        send(("ended", None))
