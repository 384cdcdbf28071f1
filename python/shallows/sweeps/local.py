"""Engine of a sweep on this machine: one process per core, each running one point after another.

If fewer points run than there are cores, each point uses several threads. A crash of one point does not
affect the others.
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
"""Maximum number of measurements of a point with real TCP; the first valid one is kept."""

FRESH_S = 10.0
"""Age in s up to which a process runs further points. Starting a process takes as long as a small run, so
short runs share a process; after long runs, a new process frees the memory of the old one."""


def run_here(points: Mapping[int, Point], jobs: int | None = None) -> Generator["State", None, None]:
    """Run points, at most `jobs` at a time; yields running points and new outcomes periodically.

    Closing the iterator stops the running points.

    Raises
    ------
    ShallowsError
        If the disk has no space for a point (the error is raised after running points have ended), or the
        sweep's folder was removed.
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
    """Return the maximum number of threads of each point, so that all points together use each core once.

    >>> threads_of_each(points=100, jobs=cores()), threads_of_each(points=1, jobs=None) == cores()
    (1, True)
    """
    at_once = max(min(jobs or cores(), points), 1)
    return max(cores() // at_once, 1)


State = tuple[dict[int, dict[str, Any]], dict[int, Ended]]
"""Progress of each running point, and outcome of each newly ended point, both by the point's number."""


class _Worker:
    """A child process that runs one point after another."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.child, self.since = Child(), time.monotonic()

    def begin(self, source: Source, lease: Lease, threads: int) -> None:
        """Start a point."""
        if not self.child.lives:  # killed while idle
            self._start()
        self.progress: dict[str, Any] = {"fraction": 0.0, "packet_hops": 0}
        self.is_simulation = source.dilation is None
        self.child.give(run_point, source, lease, threads)

    def ended(self) -> Ended | None:
        """Read the process's messages; return the outcome of its point, or None while it runs."""
        try:
            for kind, content in self.child.receive():
                if kind == "progress":
                    self.progress = content
                else:
                    ended: Ended = content
                    return ended
        except EOFError:
            return Ended(f"the process exited with code {self.child.end()} (out of memory, or killed)")
        return None

    def may_go_on(self, ended: Ended) -> bool:
        """Return whether the process may run another point; false after a failure or a testbed run."""
        return not ended.error and self.is_simulation and time.monotonic() - self.since < FRESH_S


def run_point(
    send: Callable[[tuple[str, Any]], None], source: Source, lease: Lease, threads: int = 1
) -> None:
    """Run one point on at most `threads` threads; send its progress, then its outcome.

    A testbed run ignores `threads`.
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
