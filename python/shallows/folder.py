"""Run folders: complete or absent.

A run writes into a temporary folder beside its own, which takes its name when all is written. So a folder
with a run's name is always a finished run, whatever was killed when.
"""

import contextlib
import os
import re
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shallows.bounded import parse_json, read_text
from shallows.errors import ShallowsError


def run_name(name: str, content_hash: str, seed: int) -> str:
    """Name of a run's folder: what it is called, what it depends on, its seed.

    >>> run_name("web search, 40 %", "0123456789abcdef", 7)
    'web-search-40-0123456789ab-s7'
    """
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") or "run"
    return f"{plain[:80]}-{content_hash[:12]}-s{seed}"


FORMAT = 1
"""Of run folders: grows when readers of this version could not read those of the one before."""


def finished_hash(folder: Path) -> str | None:
    """Content hash of the finished run in this folder; nothing if there is none."""
    found = _environment(folder).get("hash")
    return found if isinstance(found, str) else None


def holds(folder: Path, content_hash: str) -> bool:
    """Whether the finished run of this hash is in this folder, written as this version does."""
    environment = _environment(folder)
    return environment.get("hash") == content_hash and environment.get("format") == FORMAT


def check_format(folder: Path) -> None:
    """Raise if a finished run was written by a version whose folders are not like ours."""
    environment = _environment(folder)
    if environment.get("format") != FORMAT:
        raise ShallowsError(
            f"{folder} was written by another version of Shallows, {environment.get('version', 'unknown')}",
            "run its scenario again, or read it with that version",
        )


def _environment(folder: Path) -> dict[str, Any]:
    """What `env.json` of a finished run says; nothing if there is no such run."""
    try:
        environment = parse_json(read_text(folder / "env.json", remedy=""))
        present = (folder / "summary.json").is_file()
    except (OSError, ShallowsError, ValueError):
        return {}
    return environment if present and isinstance(environment, dict) else {}


def refuse_existing(folder: Path, content_hash: str, *, force: bool = False) -> None:
    """Raise if a run that is about to start may not have this folder; `force` lets it replace a run."""
    if not (folder.exists() or folder.is_symlink()):
        return
    if not _is_replaceable(folder):
        raise _foreign(folder)
    if force:
        return
    if finished_hash(folder) == content_hash:
        raise ShallowsError(
            f"{folder} already holds the finished run of exactly this scenario, seed and engine",
            f"see it with `shallows report {folder}`, or run again and replace it with --force",
        )
    raise ShallowsError(
        f"{folder} exists and holds something else",
        "name another folder with --out, or replace this one with --force",
    )


def _is_replaceable(folder: Path) -> bool:
    """Whether nothing but a finished run can be lost with this folder."""
    return finished_hash(folder) is not None or (folder.is_dir() and not any(folder.iterdir()))


def _foreign(folder: Path) -> ShallowsError:
    return ShallowsError(f"{folder} exists and is no run of ours", "name another folder with --out")


def check_writable(folder: Path) -> None:
    """Create a folder where there is none, and raise if files cannot be written into it."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise ShallowsError(
                f"{place} cannot be written: it is a file, not a folder", "name another place with --out"
            )
    probe = folder / f".{os.getpid()}.probe"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(folder: Path, error: OSError) -> ShallowsError:
    return ShallowsError(
        f"{folder} cannot be written: {error.strerror or error}", "name another place with --out"
    )


def write_whole(path: Path, text: str) -> Path:
    """Write a text file so that it is complete or as it was before."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    clean_up(path)
    try:
        partial.write_text(text, encoding="utf-8")
        partial.rename(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise ShallowsError(
            f"{path} cannot be written: {error.strerror or error}",
            "free some space, or make its folder writable",
        ) from None
    return path


class RunFolder:
    """A folder that appears only when it is complete.

    Entering creates the temporary folder, which also shows that the place can be written; leaving without
    `commit` removes it.

    Parameters
    ----------
    final
        Where the finished folder shall be.
    """

    def __init__(self, final: Path) -> None:
        self.final = final
        self.path = final.parent / f".{final.name}.{os.getpid()}.partial"

    def __enter__(self) -> Self:
        try:
            check_writable(self.final.parent)
            clean_up(self.final)
            if os.path.lexists(self.final) and not _is_replaceable(self.final):
                raise _foreign(self.final)
            self.path.mkdir()
        except OSError as error:
            raise _unwritable(self.final.parent, error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def commit(self) -> None:
        """Give the folder its name; an older run of that name goes, anything else stays and is an error."""
        old = self.path.with_suffix(".replaced")
        if replaces := self.final.exists():
            if not _is_replaceable(self.final):
                raise _foreign(self.final)
            self.final.rename(old)
        try:
            self.path.rename(self.final)
        except OSError:
            if replaces:
                old.rename(self.final)
            raise
        _remove(old)


LEFT = re.compile(r"\.(.+)\.([0-9]+)\.(partial|replaced)")
"""A folder that a process writes, or has moved aside: of what, by whom."""


def being_written(final: Path) -> int | None:
    """The process that is writing this folder, if one is."""
    final = final.absolute()
    with contextlib.suppress(OSError):
        for path in sorted(final.parent.iterdir()):
            found = LEFT.fullmatch(path.name)
            if found and found[1] == final.name and path.is_dir() and is_alive(int(found[2])):
                return int(found[2])
    return None


def clean_up(*finals: Path) -> None:
    """Remove what killed processes left of these, and bring back a run that they had moved aside.

    All are in one folder.
    """
    named = {final.name: final for final in finals}
    with contextlib.suppress(OSError):
        for path in sorted(finals[0].parent.iterdir()):
            found = LEFT.fullmatch(path.name)
            if not found or found[1] not in named or is_alive(int(found[2])):
                continue
            final = named[found[1]]
            if found[3] == "replaced" and not (final.exists() or final.is_symlink()):
                path.rename(final)
            else:
                _remove(path)


def _remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def is_alive(process: int) -> bool:
    """Whether another process than ours is there."""
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    # One that was killed is there until its parent has heard of it, and in containers some never ask.
    with contextlib.suppress(OSError, IndexError):
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True
