"""The engine of a sweep that uses this machine: processes, one per core, that run one point after another.

Where fewer run than there are cores, they share the cores as threads. A point that dies takes nothing with
it.
"""

import time
from collections.abc import Callable, Generator, Mapping
from multiprocessing.connection import wait
from typing import Any

from shallows.runs.child import Child
from shallows.runs.executing import execute
from shallows.runs.leases import Lease
from shallows.runs.measuring import measure
from shallows.runs.source import Source
from shallows.runs.threads import Threads, cores
from shallows.sweeps.points import Point
from shallows.sweeps.sharing import LOOK_S, Ended, Share

ATTEMPTS = 3
"""Most measurements of a point with real TCP; the first valid one is kept."""

FRESH_S = 10.0
"""So long a process takes further points: to start one takes as long as a small run does, and is nothing
beside a long one. A new process has none of the memory that the old one has come to hold."""


def run_here(points: Mapping[int, Point], jobs: int | None = None) -> Generator["State", None, None]:
    """Run points, at most `jobs` at a time; says again and again what runs and what has ended since.

    Closing the iterator ends what runs.

    Raises
    ------
    ShallowsError
        If there is no space for a point, once what runs has ended; if the folder of the sweep is gone.
    """
    share = Share(points)
    threads = threads_of_each(len(points), jobs)
    running: dict[int, _Worker] = {}
    idle: list[_Worker] = []
    try:
        while not share.is_over:
            while len(running) < (jobs or cores()) and (index := share.begin()) is not None:
                worker = running[index] = idle.pop() if idle else _Worker()
                worker.begin(points[index].source, share.leases[index], threads)
            wait([worker.child.pipe for worker in running.values()], timeout=LOOK_S)
            for index, worker in [*running.items()]:
                if ended := worker.ended():
                    del running[index]
                    share.end(index, ended)
                    if worker.may_go_on(ended):
                        idle.append(worker)
                    else:
                        worker.child.end()
            yield {index: worker.progress for index, worker in running.items()}, share.news()
        share.check_space()
    finally:
        for worker in [*running.values(), *idle]:
            worker.child.stop()
        share.close()


def threads_of_each(points: int, jobs: int | None) -> int:
    """On how many threads each point runs, at most: as many as there are cores, together.

    >>> threads_of_each(points=100, jobs=cores()), threads_of_each(points=1, jobs=None) == cores()
    (1, True)
    """
    at_once = max(min(jobs or cores(), points), 1)
    return max(cores() // at_once, 1)


State = tuple[dict[int, dict[str, Any]], dict[int, Ended]]
"""Progress of each point that runs, by its number; what became of each that ended."""


class _Worker:
    """A process that runs one point after another."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.child, self.since = Child(), time.monotonic()

    def begin(self, source: Source, lease: Lease, threads: int) -> None:
        """Run a point."""
        if not self.child.lives:  # killed while it had nothing to do
            self._start()
        self.progress: dict[str, Any] = {"fraction": 0.0, "packet_hops": 0}
        self.is_simulation = source.dilation is None
        self.child.give(run_point, source, lease, threads)

    def ended(self) -> Ended | None:
        """Take in what the process has said since; what became of its point, if that was all."""
        try:
            for kind, content in self.child.receive():
                if kind == "progress":
                    self.progress = content
                else:
                    ended: Ended = content
                    return ended
        except EOFError:
            return Ended(f"its process ended with code {self.child.end()} (out of memory, or killed)")
        return None

    def may_go_on(self, ended: Ended) -> bool:
        """Whether it may run a further point: not after a failure, nor when it has measured real TCP."""
        return not ended.error and self.is_simulation and time.monotonic() - self.since < FRESH_S


def run_point(
    send: Callable[[tuple[str, Any]], None], source: Source, lease: Lease, threads: int = 1
) -> None:
    """Run one point on up to so many threads and say how that goes, and last what became of it.

    One with real TCP has as many threads as it needs.
    """

    def tell(progress: dict[str, Any]) -> None:
        send(("progress", progress))

    try:
        if source.dilation is None:
            execute(source, source.parse(), lease.final, tell, lease, threads=Threads(threads, adapts=True))
        else:
            measure(source, source.parse(), lease.final, tell, source.dilation, lease, ATTEMPTS)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:
        send(("ended", Ended.by(error)))
    else:
        send(("ended", Ended()))
