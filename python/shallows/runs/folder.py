"""Run folders, which are either complete or absent.

A run writes into a temporary folder in the same place, which is renamed when all files are on disk. A folder
with a run's name therefore always holds a finished run, even if a process was killed.
"""

import contextlib
import errno
import glob
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from shallows.errors import NoSpaceError, ShallowsError
from shallows.runs import leases
from shallows.runs.leases import Lease, Watch
from shallows.runs.manifest import is_run, is_run_of, others_in, unfit
from shallows.runs.process import Process, me

LOOK_S = 0.5
"""Time between two checks of another process's lease."""

SOON_S = 0.02
"""Time between two checks of a lease on a folder that takes only a moment to write."""

LONG_S = 3600.0
"""Age at which a partial text file is certainly abandoned."""


def run_name(name: str, content_hash: str, seed: int) -> str:
    """Return the name of a run's folder, made of the run's name, content hash and seed.

    >>> run_name("web search, 40 %", "0123456789abcdef", 7)
    'web-search-40-0123456789ab-s7'
    """
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") or "run"
    return f"{plain[:80]}-{content_hash[:12]}-s{seed}"


def refuse_existing(folder: Path, content_hash: str, *, force: bool = False, verify: bool = False) -> None:
    """Raise an error if a new run must not write this folder.

    With `force`, the new run may replace any run; without it, only a damaged copy of the same run. `verify`
    also detects damage by hashes of files.
    """
    if not (folder.exists() or folder.is_symlink()):
        return
    if not _is_replaceable(folder):
        raise _foreign(folder)
    if force:
        return
    if is_run_of(folder, content_hash):
        if unfit(folder, verify=verify):
            return
        raise ShallowsError(
            f"{folder} contains a finished run of the same scenario, seed and engine",
            f"show the run with `shallows report {folder}`, or replace it with --force",
        )
    raise ShallowsError(
        f"{folder} exists and is not a run of this scenario, seed and engine",
        "name another folder with --out, or replace this folder with --force",
    )


def _is_replaceable(folder: Path) -> bool:
    """Return whether this folder holds a run of Shallows, or is empty."""
    return is_run(folder) or (folder.is_dir() and not any(folder.iterdir()))


def _foreign(folder: Path) -> ShallowsError:
    return ShallowsError(f"{folder} exists and is not a run of Shallows", "name another folder with --out")


def check_writable(folder: Path) -> None:
    """Create a folder if it is missing; raise if files cannot be written into it."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise ShallowsError(f"{place} must be a folder, but is a file", "name another folder with --out")
    probe = folder / f".{me().tag}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise failure(f"{folder} cannot be written", error, "name another place with --out") from None


def failure(what: str, error: OSError, remedy: str) -> ShallowsError:
    """Return the error for a failed write; `what` begins the message."""
    # Errors of the engine and of `shutil` contain the error number only in their text.
    said = re.search(r"\b(?:os error|Errno) ([0-9]+)\b", str(error))
    number = error.errno if error.errno is not None else int(said[1]) if said else None
    kind = NoSpaceError if number in {errno.ENOSPC, errno.EDQUOT} else ShallowsError
    return kind(f"{what}: {error.strerror or error}", remedy)


def write_whole(path: Path, text: str | Iterable[str]) -> Path:
    """Write a text, or its parts, into a file atomically; the text is on disk when the function returns."""
    try:
        with _beside(path, text) as partial:
            sync(partial)
            partial.rename(path)
            sync(path.parent)
    except OSError as error:
        raise failure(
            f"{path} cannot be written", error, "free some space, or make its folder writable"
        ) from None
    return path


def write_note(path: Path, text: str) -> None:
    """Write a text into a file atomically, without waiting for the disk: a power failure may lose it.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    with _beside(path, text) as partial:
        partial.rename(path)


@contextlib.contextmanager
def _beside(path: Path, text: str | Iterable[str]) -> Iterator[Path]:
    """Write a text into a temporary file beside `path`; this file is removed unless it is renamed."""
    partial = path.with_name(f".{path.name}.{me().tag}.partial")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines([text] if isinstance(text, str) else text)
        remove_left(path.parent, glob.escape(path.name), now=partial.stat().st_mtime)
        yield partial
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def remove_left(folder: Path, names: str, now: float | None = None) -> None:
    """Remove partial text files that killed processes have left, if the names match a pattern.

    Whether a process on another machine has ended cannot be determined. Its files are therefore removed only
    if they are an hour old at the file system's time `now`; without `now`, they stay.
    """
    for partial in folder.glob(f".{names}.*.partial"):
        with contextlib.suppress(OSError):
            owner = Process.of_tag(partial.name.removesuffix(".partial").rpartition(".")[2])
            is_old = now is not None and now - partial.stat().st_mtime > LONG_S
            if owner and (owner.is_gone() or is_old):
                partial.unlink()


def sync(path: Path) -> None:
    """Wait until a file, or a folder's list of files, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RunFolder:
    """A folder that appears only when it is complete.

    Entering takes a lease, and fails if the parent folder cannot be written. Leaving without `commit`
    removes the written files.

    Parameters
    ----------
    final
        Path of the finished folder.
    lease
        Lease on the folder, if the caller holds one.
    """

    def __init__(self, final: Path, lease: Lease | None = None) -> None:
        self.final, self._lease = final, lease

    def __enter__(self) -> Self:
        self.lease = self._lease or lease_or_wait(self.final)
        try:
            self.path = self.lease.path
            if os.path.lexists(self.final) and not _is_replaceable(self.final):
                raise _foreign(self.final)
        except BaseException:  # including Ctrl-C
            self.lease.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.lease.release()

    def is_lost(self) -> bool:
        """Return whether another process has taken over the folder, or the folder was removed."""
        return self.lease.is_lost()

    def commit(self) -> None:
        """Rename the folder to its final name. It replaces an older run, but keeps files that users added.

        Raises
        ------
        OSError
            If the folder cannot be renamed, or the lease is lost.
        ShallowsError
            If the existing folder is not a run, or the written folder is incomplete.
        """
        if problem := unfit(self.path):
            raise problem
        if replaces := os.path.lexists(self.final):
            if not _is_replaceable(self.final):
                raise _foreign(self.final)
            _copy_others(self.final, self.path)
        self._sync()
        # Another process that has taken the lease may be writing at the same path.
        if self.is_lost():
            raise FileNotFoundError(errno.ENOENT, "another process has taken over the folder", str(self.path))
        old = self.lease.aside
        if replaces:
            self.final.rename(old)
        try:
            self.path.rename(self.final)
        except OSError:
            if replaces:
                old.rename(self.final)
            raise
        sync(self.final.parent)
        (self.final / leases.FILE).unlink(missing_ok=True)
        _remove(old)

    def _sync(self) -> None:
        inside = [path for path in self.path.rglob("*") if not path.is_symlink()]
        with ThreadPoolExecutor() as pool:  # concurrent fsyncs let the disk combine the writes
            list(pool.map(sync, [path for path in inside if path != self.path / leases.FILE]))
        sync(self.path)


def lease_or_wait(final: Path) -> Lease:
    """Lease a run's folder; if the lease of another process may have expired, wait until this is certain.

    Raises
    ------
    ShallowsError
        If another process is writing the folder, or the folder cannot be written.
    """
    check_writable(final.parent)
    watch = Watch()
    try:
        while (lease := leases.take(final, watch)) is None:
            owner = leases.writer_of(final)
            if watch.lives(final) or (owner and owner.is_here()):
                raise ShallowsError(
                    f"{final} cannot be written: {owner or 'another process'} is writing it",
                    "wait for that process to exit, or name another folder with --out",
                )
            time.sleep(LOOK_S)
    except OSError as error:
        raise failure(f"{final.parent} cannot be written", error, "name another place with --out") from None
    return lease


def lease_soon(final: Path) -> Lease:
    """Lease a folder that takes only a moment to write; wait while another process writes it.

    Raises
    ------
    ShallowsError
        If the parent folder cannot be written.
    """
    watch = Watch()
    try:
        while (lease := leases.take(final, watch)) is None:
            time.sleep(SOON_S)
    except OSError as error:
        raise failure(f"{final.parent} cannot be written", error, "name another place with --out") from None
    return lease


def _copy_others(old: Path, new: Path) -> None:
    """Copy the files that users added to a run; the old folder stays complete if the process is killed."""
    for path in others_in(old, new):
        if path.name == leases.FILE:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, new / path.name, symlinks=True, dirs_exist_ok=True)
        else:
            shutil.copy2(path, new / path.name, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)
