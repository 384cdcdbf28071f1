"""Leases on run folders: the right of one process to write a folder, for as long as it renews the lease.

A lease is the hidden folder `.NAME.NUMBER.partial`, into which the run is written. Creating a folder is
atomic on every file system, so exactly one process gets the next number. The process of the folder with the
highest number holds the lease. A file in the folder names this process, which updates the file's time every
few seconds. A lease has expired if its process has certainly ended, or if another process has seen no change
for a minute by its own clock; clocks of several machines are never compared. At the end, the folder is
renamed, which also releases the lease.
"""

import contextlib
import json
import os
import re
import shutil
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from shallows.runs.process import Process, me

RENEW_S = 5.0
"""Time between two renewals of a lease."""

EXPIRY_S = 60.0
"""Time without a change after which a lease has expired, by the clock of the watching process."""

FILE = ".lease.json"
"""File in a leased folder that names its process."""

LEFT = re.compile(r"\.(.+)\.([0-9]+)\.(partial|replaced)")
"""Pattern for a folder that is being written or was moved aside; groups: run's name, lease's number, kind."""


@dataclass(frozen=True)
class Lease:
    """The right to write one run's folder."""

    final: Path
    path: Path
    """Hidden folder that the run is written into."""
    content: str
    """Content of the lease's file; other content means that another process holds the lease."""

    @property
    def aside(self) -> Path:
        """Folder to which an older run is moved before the new run replaces it."""
        return self.path.with_suffix(".replaced")

    def is_lost(self) -> bool:
        """Return whether another process holds the lease, or the lease was released."""
        return _content(self.path) != self.content

    def release(self) -> None:
        """Release the lease and remove the files written so far."""
        _renewer.drop(self.path / FILE)
        if not self.is_lost():
            shutil.rmtree(self.path, ignore_errors=True)


class Watch:
    """Detector of expired leases.

    A lease has expired if its process has certainly ended, or if checks `EXPIRY_S` apart find no renewal.
    """

    def __init__(self) -> None:
        self.seen: dict[Path, tuple[object, float]] = {}
        self.renewed: set[Path] = set()

    def is_over(self, path: Path) -> bool:
        """Return whether the lease of this folder has expired."""
        if (owner := owner_of(path)) and owner.is_gone():
            return True
        now = time.monotonic()
        stamp = _stamp(path)
        last, since = self.seen.get(path, (None, now))
        if stamp != last:
            self.seen[path] = (stamp, now)
            if last is not None:
                self.renewed.add(path)
            return False
        return now - since >= EXPIRY_S

    def is_held(self, path: Path) -> bool:
        """Return whether this folder belongs to a lease that has not expired."""
        return path.suffix == ".partial" and not self.is_over(path)

    def lives(self, final: Path) -> bool:
        """Return whether a lease on this run's folder was renewed between two checks by this object."""
        return any(path in self.renewed for path in left_of(final.parent).get(final.name, []))


def take(final: Path, watch: Watch) -> Lease | None:
    """Lease a run's folder; return None if another process holds the lease.

    Removes the partial folders of killed processes, and restores a run that they had moved aside.

    Raises
    ------
    OSError
        If the parent folder does not exist or cannot be written.
    """
    number, other = max(_leases(final).items(), default=(0, None))
    if other and not watch.is_over(other):
        return None
    path = final.parent / f".{final.name}.{number + 1}.partial"
    try:
        path.mkdir()
    except FileExistsError:
        return None
    try:
        lease = Lease(final, path, json.dumps({"process": me().describe(), "token": os.urandom(8).hex()}))
        (path / FILE).write_text(lease.content, encoding="utf-8")
        leases = _leases(final)
        # Between the two checks, the lease may have been released and taken by another process.
        if max(leases) != number + 1 or (other and other in leases.values() and not watch.is_over(other)):
            shutil.rmtree(path, ignore_errors=True)
            return None
        _renewer.add(path / FILE)
        _tidy(final, path)
    except BaseException:  # including Ctrl-C
        _renewer.drop(path / FILE)
        shutil.rmtree(path, ignore_errors=True)
        raise
    return lease


def left_of(parent: Path) -> dict[str, list[Path]]:
    """Return a dict from each run's name to the hidden folders of its running and killed processes."""
    found: dict[str, list[Path]] = {}
    for entry in os.scandir(parent):
        # Files with such a name belong to `write_whole`.
        if (match := LEFT.fullmatch(entry.name)) and entry.is_dir(follow_symlinks=False):
            found.setdefault(match[1], []).append(Path(entry.path))
    return found


def writer_of(final: Path) -> Process | None:
    """Return the process that holds the lease on a run's folder; None if no lease is held now."""
    final = final.absolute()
    with contextlib.suppress(OSError, ValueError):
        owner = owner_of(max(_leases(final).items())[1])
        return owner if owner and not owner.is_gone() else None
    return None


def owner_of(path: Path) -> Process | None:
    """Return the process that a leased folder names; None if it names none."""
    try:
        return Process.parse(json.loads(_content(path) or "")["process"])
    except (ValueError, LookupError, TypeError):
        return None


def _content(path: Path) -> str | None:
    """Return the content of a lease's file; None if there is none."""
    try:
        return (path / FILE).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _leases(final: Path) -> dict[int, Path]:
    paths = left_of(final.parent).get(final.name, [])
    return {int(path.stem.rpartition(".")[2]): path for path in paths if path.suffix == ".partial"}


def _stamp(path: Path) -> object:
    """Return a value that changes when a lease is renewed."""
    # Reading the file first makes a network file system query its server rather than this machine's cache.
    content = _content(path)
    try:
        return content, (path / FILE if content is not None else path).stat().st_mtime_ns
    except OSError:
        return None


def _tidy(final: Path, mine: Path) -> None:
    """Remove other processes' partial folders of a run that this process has leased."""
    for path in sorted(left_of(final.parent).get(final.name, [])):
        if path.suffix == ".replaced" and not (final.exists() or final.is_symlink()):
            path.rename(final)
        elif path != mine:
            shutil.rmtree(path, ignore_errors=True)


class _Renewer:
    """Thread that renews the leases of this process while other threads work."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.files: set[Path] = set()
        self.thread: threading.Thread | None = None

    def add(self, file: Path) -> None:
        with self.lock:
            self.files.add(file)
            if self.thread is None or not self.thread.is_alive():  # a forked process has no such thread
                self.thread = threading.Thread(target=self._renew, name="leases", daemon=True)
                self.thread.start()

    def drop(self, file: Path) -> None:
        with self.lock:
            self.files.discard(file)

    def _renew(self) -> None:
        while True:
            time.sleep(RENEW_S)
            with self.lock:
                if not self.files:
                    self.thread = None
                    return
                files = sorted(self.files)
            for file in files:
                with contextlib.suppress(OSError):
                    os.utime(file)


_renewer = _Renewer()
