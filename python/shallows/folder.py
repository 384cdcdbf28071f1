"""Run folders: complete or absent.

A run writes into a temporary folder beside its own, which takes its name when all is written. So a folder
with a run's name is always a finished run, whatever was killed when.
"""

import json
import os
import re
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from shallows.errors import ShallowsError


def run_name(name: str, content_hash: str, seed: int) -> str:
    """Name of a run's folder: what it is called, what it depends on, its seed.

    >>> run_name("web search, 40 %", "0123456789abcdef", 7)
    'web-search-40-0123456789ab-s7'
    """
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", name).strip("-.") or "run"
    return f"{plain[:80]}-{content_hash[:12]}-s{seed}"


def finished_hash(folder: Path) -> str | None:
    """Content hash of the finished run in this folder; nothing if there is none."""
    try:
        environment: dict[str, Any] = json.loads((folder / "env.json").read_text(encoding="utf-8"))
        present = (folder / "summary.json").is_file()
    except (OSError, ValueError):
        return None
    found = environment.get("hash")
    return found if present and isinstance(found, str) else None


def refuse_existing(folder: Path, content_hash: str) -> None:
    """Raise if the folder of a run that is about to start exists already."""
    if not (folder.exists() or folder.is_symlink()):
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


def check_writable(folder: Path) -> None:
    """Create a folder where there is none, and raise if files cannot be written into it."""
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
            self._sweep_out()
            self.path.mkdir()
        except OSError as error:
            raise _unwritable(self.final.parent, error) from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    def commit(self) -> None:
        """Give the folder its name; an older one of that name goes."""
        old = self.path.with_suffix(".replaced")
        if self.final.exists():
            self.final.rename(old)
        self.path.rename(self.final)
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)

    def _sweep_out(self) -> None:
        # Left by processes that were killed; those that live still write theirs.
        for stale in self.final.parent.glob(f".{_escape(self.final.name)}.*.*"):
            owner = stale.name.rsplit(".", 2)[1]
            if not owner.isdecimal() or not _is_alive(int(owner)):
                shutil.rmtree(stale, ignore_errors=True)


def _escape(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _is_alive(process: int) -> bool:
    if process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
