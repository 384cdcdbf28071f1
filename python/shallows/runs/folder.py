"""Run folders: complete or absent.

A run writes into a temporary folder beside its own, which takes its name when all is written and on the disk.
So a folder with a run's name is always a finished run, whatever was killed when.
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
"""Between two looks at a lease of another process."""

SOON_S = 0.02
"""Between two looks at a lease of what takes a moment to write."""

LONG_S = 3600.0
"""No text file takes so long to write."""


def run_name(name: str, content_hash: str, seed: int) -> str:
    """Name of a run's folder: what it is called, what it depends on, its seed.

    >>> run_name("web search, 40 %", "0123456789abcdef", 7)
    'web-search-40-0123456789ab-s7'
    """
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") or "run"
    return f"{plain[:80]}-{content_hash[:12]}-s{seed}"


def refuse_existing(folder: Path, content_hash: str, *, force: bool = False, verify: bool = False) -> None:
    """Raise if a run that is about to start may not have this folder; `force` lets it replace a run.

    One that is damaged may be replaced by the same run; `verify` looks for damage in what its files hold.
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
            f"{folder} already holds the finished run of exactly this scenario, seed and engine",
            f"see it with `shallows report {folder}`, or run again and replace it with --force",
        )
    raise ShallowsError(
        f"{folder} exists and holds something else",
        "name another folder with --out, or replace this one with --force",
    )


def _is_replaceable(folder: Path) -> bool:
    """Whether a run of ours is in this folder, or nothing."""
    return is_run(folder) or (folder.is_dir() and not any(folder.iterdir()))


def _foreign(folder: Path) -> ShallowsError:
    return ShallowsError(f"{folder} exists and is no run of ours", "name another folder with --out")


def check_writable(folder: Path) -> None:
    """Create a folder where there is none, and raise if files cannot be written into it."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise ShallowsError(
                f"{place} cannot be written: it is a file, not a folder", "name another place with --out"
            )
    probe = folder / f".{me().tag}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise failure(f"{folder} cannot be written", error, "name another place with --out") from None


def failure(what: str, error: OSError, remedy: str) -> ShallowsError:
    """The error of whoever could not write something, as `what` says."""
    # Errors of the engine, and of `shutil`, say their number in words only.
    said = re.search(r"\b(?:os error|Errno) ([0-9]+)\b", str(error))
    number = error.errno if error.errno is not None else int(said[1]) if said else None
    kind = NoSpaceError if number in {errno.ENOSPC, errno.EDQUOT} else ShallowsError
    return kind(f"{what}: {error.strerror or error}", remedy)


def write_whole(path: Path, text: str | Iterable[str]) -> Path:
    """Write a text, or its parts one by one, into a file that is complete and on the disk, or as it was."""
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
    """As `write_whole`, for what may be lost with the power.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    with _beside(path, text) as partial:
        partial.rename(path)


@contextlib.contextmanager
def _beside(path: Path, text: str | Iterable[str]) -> Iterator[Path]:
    """A file of this text that nobody else has, beside where it shall be; it goes if it is not renamed."""
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
    """Remove what killed processes have left of text files whose names match a pattern.

    Of other machines nobody can ask: what they have left goes after an hour, if the time of the file system
    is known.
    """
    for partial in folder.glob(f".{names}.*.partial"):
        with contextlib.suppress(OSError):
            owner = Process.of_tag(partial.name.removesuffix(".partial").rpartition(".")[2])
            is_old = now is not None and now - partial.stat().st_mtime > LONG_S
            if owner and (owner.is_gone() or is_old):
                partial.unlink()


def sync(path: Path) -> None:
    """Wait until a file, or what a folder lists, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RunFolder:
    """A folder that appears only when it is complete.

    Entering leases it, which also shows that the place can be written; leaving without `commit` removes what
    was written.

    Parameters
    ----------
    final
        Where the finished folder shall be.
    lease
        The right to write it; by default it is taken here.
    """

    def __init__(self, final: Path, lease: Lease | None = None) -> None:
        self.final, self._lease = final, lease

    def __enter__(self) -> Self:
        self.lease = self._lease or lease_or_wait(self.final)
        try:
            self.path = self.lease.path
            if os.path.lexists(self.final) and not _is_replaceable(self.final):
                raise _foreign(self.final)
        except BaseException:  # Ctrl-C among them
            self.lease.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.lease.release()

    def is_lost(self) -> bool:
        """Whether another process has taken it over, or it was removed."""
        return self.lease.is_lost()

    def commit(self) -> None:
        """Give the folder its name; an older run of that name goes, but not what users have put beside it.

        Raises
        ------
        OSError
            If that cannot be, such as when the lease is lost.
        ShallowsError
            If what is there is no run of ours, or what was written is not whole.
        """
        if problem := unfit(self.path):
            raise problem
        if replaces := os.path.lexists(self.final):
            if not _is_replaceable(self.final):
                raise _foreign(self.final)
            _copy_others(self.final, self.path)
        self._sync()
        # What another process writes now may have the same path.
        if self.is_lost():
            raise FileNotFoundError(errno.ENOENT, "another process has taken it over", str(self.path))
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
        with ThreadPoolExecutor() as pool:  # asked together, a disk writes them together
            list(pool.map(sync, [path for path in inside if path != self.path / leases.FILE]))
        sync(self.path)


def lease_or_wait(final: Path) -> Lease:
    """Lease a run's folder, once whoever has it proves to be dead.

    Raises
    ------
    ShallowsError
        If another process is writing it.
    """
    check_writable(final.parent)
    watch = Watch()
    try:
        while (lease := leases.take(final, watch)) is None:
            owner = leases.writer_of(final)
            if watch.lives(final) or (owner and owner.is_here()):
                raise ShallowsError(
                    f"{final} is being written by {owner or 'another process'}",
                    "wait for it, or name another folder with --out",
                )
            time.sleep(LOOK_S)
    except OSError as error:
        raise failure(f"{final.parent} cannot be written", error, "name another place with --out") from None
    return lease


def lease_soon(final: Path) -> Lease:
    """Lease what takes only a moment to write, once whoever writes it now is done.

    Raises
    ------
    ShallowsError
        If its folder cannot be written.
    """
    watch = Watch()
    try:
        while (lease := leases.take(final, watch)) is None:
            time.sleep(SOON_S)
    except OSError as error:
        raise failure(f"{final.parent} cannot be written", error, "name another place with --out") from None
    return lease


def _copy_others(old: Path, new: Path) -> None:
    """Copy what users have put beside a run: if this is killed, the old folder still has all of it."""
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
