"""Sharing of a sweep's points among processes that write into the same folder.

Each point is leased before it runs. Once a process has no points left to lease, it checks the points that
other processes have leased. If such a point's lease has expired, and the point is unfinished, this process
runs it.
"""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from shallows.errors import ClaimLostError, NoSpaceError, ShallowsError
from shallows.runs import leases
from shallows.runs.folder import failure
from shallows.runs.leases import Lease, Watch
from shallows.sweeps.points import Point

LOOK_S = 0.5
"""Wall time between two checks of points that other processes run."""

LOOKING = 0.1
"""Largest share of the wall time that checks of points of other processes may take."""


@dataclass(frozen=True)
class Ended:
    """Outcome of a point that has ended: its results are in its folder, or there is an error."""

    error: str | None = None
    """Reason for which the point has no results; None if it has results."""
    by_another: bool = False
    """Whether another process ran the point."""
    is_lost: bool = False
    """Whether another process took over the lease of the point."""
    is_full: bool = False
    """Whether the disk had no space for the point."""

    @classmethod
    def by(cls, error: Exception) -> Self:
        """Return the outcome of a point that ended with an error."""
        return cls(
            str(error) or type(error).__name__,
            is_lost=isinstance(error, ClaimLostError),
            is_full=isinstance(error, NoSpaceError),
        )


class Share:
    """Points of a sweep that this process runs now or still has to run.

    Parameters
    ----------
    points
        Unfinished points by number; all must belong to one folder.
    """

    def __init__(self, points: Mapping[int, Point]) -> None:
        self.points = points
        self.waiting = list(points)
        self.leases: dict[int, Lease] = {}
        """Leases of the points that run here, by number of the point."""
        self.full: str | None = None
        """Error of a point that had no space; no further point begins after this error."""
        self._ended: dict[int, Ended] = {}
        self._watch = Watch()
        self._next_look = 0.0

    @property
    def is_over(self) -> bool:
        """Whether no point waits or runs."""
        return not (self.waiting or self.leases)

    def begin(self) -> int | None:
        """Lease the next point that no other process runs, and return its number; None if there is none.

        Raises
        ------
        ShallowsError
            If the sweep's folder was removed or cannot be written.
        """
        start = time.monotonic()
        if not self.waiting or start < self._next_look:
            return None
        parent = self.points[self.waiting[0]].folder.parent
        try:
            for index, lease in self._lease(parent):
                self.waiting.remove(index)
                if not self.points[index].was_made_since():
                    self.leases[index] = lease
                    return index
                lease.release()
                self._ended[index] = Ended(by_another=True)
        except FileNotFoundError:
            raise ShallowsError(f"{parent} was removed during the sweep", "repeat the command") from None
        except OSError as error:
            problem = failure(f"{parent} cannot be written", error, "")
            if not isinstance(problem, NoSpaceError):
                raise problem from None
            self._stop(problem.message)
        end = time.monotonic()
        self._next_look = end + max(LOOK_S, (end - start) / LOOKING)
        return None

    def _lease(self, parent: Path) -> Iterable[tuple[int, Lease]]:
        """Yield number and lease of each waiting point that can be leased."""
        left = leases.left_of(parent)
        for index in [*self.waiting]:
            point = self.points[index]
            # The folder is listed once, and only points without a held lease are tried.
            if any(self._watch.is_held(path) for path in left.get(point.folder.name, [])):
                continue
            if lease := leases.take(point.folder, self._watch):
                yield index, lease

    def end(self, index: int, ended: Ended) -> None:
        """Release the lease of a point that this process ran, and record the point's outcome."""
        self.leases.pop(index).release()
        if ended.is_full:
            self._stop(str(ended.error))
        elif not ended.is_lost:
            self._ended[index] = ended
        elif not self.full:
            self.waiting.append(index)

    def news(self) -> dict[int, Ended]:
        """Return the points that ended since the last call."""
        news, self._ended = self._ended, {}
        return news

    def check_space(self) -> None:
        """Raise `NoSpaceError` if the disk had no space for a point."""
        if self.full:
            raise NoSpaceError(self.full)

    def close(self) -> None:
        """Release all leases."""
        for lease in self.leases.values():
            lease.release()

    def _stop(self, why: str) -> None:
        self.full = self.full or why.partition("\n")[0]
        self.waiting.clear()


def remove_left(points: Iterable[Point]) -> None:
    """Remove the partial folders that ended processes have left for these points."""
    named = {point.folder.name: point.folder for point in points}
    watch = Watch()
    for parent in {folder.parent for folder in named.values()}:
        try:
            for name in leases.left_of(parent).keys() & named.keys():
                if lease := leases.take(named[name], watch):
                    lease.release()
        except OSError:
            continue  # the next write into this folder raises the error
