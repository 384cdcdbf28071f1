"""Progress of a sweep, in files beside its points.

Each process that runs points writes one file, and removes it at the end unless a point failed. The files are
only for display: a point is finished if its folder is complete.
"""

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shallows.bounded import parse_json, read_text
from shallows.errors import ShallowsError
from shallows.runs.folder import remove_left, write_note
from shallows.runs.index import points_of
from shallows.runs.manifest import finished_hash
from shallows.runs.process import Process, me
from shallows.sweeps.estimate import time_left
from shallows.sweeps.points import Outcome, Point

EVERY_S = 1.0
"""Minimum time in s between two writes of a progress file."""

SILENT_S = 30.0
"""Time in s without a write of its file after which a process on another machine counts as ended."""

FILES = ".progress.*.json"


class Recorder:
    """Writer of this process's progress file while it runs points of a sweep."""

    def __init__(self, points: Sequence[Point]) -> None:
        self.points = points
        self.folder = points[0].folder.parent if points else Path()
        self.path = self.folder / f".progress.{me().tag}.json"
        self.started = time.time()
        self.written = 0.0
        self.running: Mapping[int, dict[str, Any]] = {}
        self.outcomes: Sequence[Outcome] = ()

    def __enter__(self) -> Self:
        for path in self.folder.glob(FILES) if self.points else []:
            with contextlib.suppress(ShallowsError, OSError):
                if not _is_running(_read(path)):
                    path.unlink()
        # Names of progress files contain a process, so no later write would clean up a partial file.
        remove_left(self.folder, FILES)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.running = {}
        if self.written and any(outcome.error for outcome in self.outcomes):
            self._write(ended=True)
        else:
            with contextlib.suppress(OSError):
                self.path.unlink(missing_ok=True)

    def update(self, running: Mapping[int, dict[str, Any]], outcomes: Sequence[Outcome]) -> None:
        """Record running points and outcomes; writes the file at most every `EVERY_S`."""
        self.running, self.outcomes = running, outcomes
        if time.monotonic() - self.written >= EVERY_S:
            self.written = time.monotonic()
            self._write()

    def _write(self, *, ended: bool = False) -> None:
        ran = [outcome.run for outcome in self.outcomes if outcome.run and not outcome.reused]
        hops = sum(run.summary["engine"]["packet_hops"] for run in ran)
        document = {
            "running": [
                {"folder": self.points[index].folder.name, "fraction": progress["fraction"]}
                for index, progress in self.running.items()
            ],
            "failed": [
                {"folder": outcome.point.folder.name, "error": outcome.error}
                for outcome in self.outcomes
                if outcome.error
            ],
            "ran": len(ran),
            "packet_hops": hops + sum(progress["packet_hops"] for progress in self.running.values()),
            "process": me().describe(),
            "points": [point.folder.name for point in self.points],
            "started": self.started,
            "updated": time.time(),
            "ended": ended,
        }
        # An error is ignored here: if the disk is full, the points themselves fail with an error.
        with contextlib.suppress(OSError):
            write_note(self.path, json.dumps(document) + "\n")


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep, over all processes that run it."""

    points: Mapping[str, dict[str, Any]]
    """Labels of each point by the name of its folder."""
    done: Sequence[str]
    running: Mapping[str, float]
    """Progress of each running point, from 0 to 1, by the name of its folder."""
    failed: Mapping[str, str]
    """Error of each failed point, by the name of its folder."""
    hops_per_s: float
    left_s: float | None
    """Remaining time at the present pace; None if no point runs."""


def read(folder: Path) -> Progress:
    """Read the progress of the sweep in this folder."""
    points = {path.name: labels for path, labels in points_of(folder)}
    done = [name for name in points if finished_hash(folder / name)]
    documents = []
    for path in folder.glob(FILES):
        with contextlib.suppress(ShallowsError):
            documents.append(_read(path))
    alive = [document for document in documents if _is_running(document)]
    running = {
        str(each["folder"]): float(each["fraction"])
        for document in alive
        for each in document["running"]
        if each["folder"] in points and each["folder"] not in done
    }
    failed = {
        str(each["folder"]): str(each["error"])
        for document in documents
        for each in document["failed"]
        if each["folder"] in points and each["folder"] not in done
    }
    pace = [_left_s(document, done) for document in alive]
    known = [left for left in pace if left is not None]
    return Progress(
        points,
        done,
        running,
        failed,
        sum(each["packet_hops"] / max(each["updated"] - each["started"], 1e-3) for each in alive),
        max(known) if known else None,
    )


def _left_s(document: dict[str, Any], done: Sequence[str]) -> float | None:
    """Return the remaining time of a process for its points, extrapolated from its work so far."""
    worked = document["ran"] + len(document["failed"]) + sum(each["fraction"] for each in document["running"])
    waiting = len({*document["points"]} - {*done} - {each["folder"] for each in document["failed"]})
    left = waiting - sum(each["fraction"] for each in document["running"])
    elapsed = document["updated"] - document["started"]
    return time_left(elapsed, worked, left)


def _read(path: Path) -> dict[str, Any]:
    try:
        document = parse_json(read_text(path, remedy="remove the file"))
    except ValueError as error:
        raise ShallowsError(f"{path} cannot be read: {error}", "remove the file") from None
    wanted = {"running", "failed", "ran", "packet_hops", "process", "points", "started", "updated"}
    if not (isinstance(document, dict) and document.keys() >= wanted):
        raise ShallowsError(f"{path} is not a progress file of Shallows", "remove the file")
    return document


def _is_running(document: dict[str, Any]) -> bool:
    if document.get("ended"):
        return False
    process = Process.parse(document["process"])
    if process is None or process.is_gone():
        return False
    return process.is_here() or bool(time.time() - document["updated"] < SILENT_S)
