"""Who writes a run's folder: claims, which last as long as they are renewed.

A claim is the hidden folder that the run is written into, `.NAME.NUMBER.partial`. To make a folder is atomic
on every file system, so of all that want the next number one gets it, and the highest number has the claim.
In it a file says which process that is; the file's time is set anew every few seconds. A claim is over if its
process has certainly ended, or if whoever watches has seen no change for a minute by a clock of its own:
clocks of several machines are never compared. Giving the folder its name, at the end, gives back the claim
in the same step.
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
"""Between two renewals of a claim."""

EXPIRY_S = 60.0
"""A claim that has not changed for so long, as the watcher's clock goes, is over."""

FILE = ".claim.json"
"""In a claimed folder: whose it is."""

LEFT = re.compile(r"\.(.+)\.([0-9]+)\.(partial|replaced)")
"""A folder that is being written, or an older one that makes room for it: of what, and the claim's number."""


@dataclass(frozen=True)
class Claim:
    """The right to write one run's folder."""

    final: Path
    path: Path
    """What is written until then."""
    content: str
    """Of the claim's file: another one at the same place is not ours."""

    @property
    def aside(self) -> Path:
        """Where a run goes that this one replaces."""
        return self.path.with_suffix(".replaced")

    def is_lost(self) -> bool:
        """Whether another process has taken it over, or it was given back."""
        return _content(self.path) != self.content

    def release(self) -> None:
        """Give it back, and remove what was written."""
        _renewer.drop(self.path / FILE)
        if not self.is_lost():
            shutil.rmtree(self.path, ignore_errors=True)


class Watch:
    """Tells which claims are over; it must look more than once to know of those of other machines."""

    def __init__(self) -> None:
        self.seen: dict[Path, tuple[object, float]] = {}
        self.renewed: set[Path] = set()

    def is_over(self, path: Path) -> bool:
        """Whether nobody writes this folder any longer."""
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
        """Whether this is a claim, and not over."""
        return path.suffix == ".partial" and not self.is_over(path)

    def lives(self, final: Path) -> bool:
        """Whether this run's folder has a claim, and it was seen to change."""
        return any(path in self.renewed for path in left_of(final.parent).get(final.name, []))


def take(final: Path, watch: Watch) -> Claim | None:
    """Claim a run's folder; nothing if another process has it.

    What killed processes have left of it goes, and a run that they had moved aside comes back.

    Raises
    ------
    OSError
        If its parent is not there, or nothing can be written into it.
    """
    number, other = max(_claims(final).items(), default=(0, None))
    if other and not watch.is_over(other):
        return None
    path = final.parent / f".{final.name}.{number + 1}.partial"
    try:
        path.mkdir()
    except FileExistsError:
        return None
    try:
        claim = Claim(final, path, json.dumps({"process": me().describe(), "token": os.urandom(8).hex()}))
        (path / FILE).write_text(claim.content, encoding="utf-8")
        claims = _claims(final)
        # Whoever had the claim before may have given it back and others taken it, between our two looks.
        if max(claims) != number + 1 or (other and other in claims.values() and not watch.is_over(other)):
            shutil.rmtree(path, ignore_errors=True)
            return None
        _renewer.add(path / FILE)
        _tidy(final, path)
    except BaseException:  # Ctrl-C among them
        _renewer.drop(path / FILE)
        shutil.rmtree(path, ignore_errors=True)
        raise
    return claim


def left_of(parent: Path) -> dict[str, list[Path]]:
    """What processes that write, or have been killed, have in a folder: by the name of the run's folder."""
    found: dict[str, list[Path]] = {}
    for entry in os.scandir(parent):
        # Files of that kind are `write_whole`'s.
        if (match := LEFT.fullmatch(entry.name)) and entry.is_dir(follow_symlinks=False):
            found.setdefault(match[1], []).append(Path(entry.path))
    return found


def writer_of(final: Path) -> Process | None:
    """The process that has the claim on a run's folder, if one has that is not certainly gone."""
    final = final.absolute()
    with contextlib.suppress(OSError, ValueError):
        owner = owner_of(max(_claims(final).items())[1])
        return owner if owner and not owner.is_gone() else None
    return None


def owner_of(path: Path) -> Process | None:
    """Whose a claimed folder is; nothing if it does not say."""
    try:
        return Process.parse(json.loads(_content(path) or "")["process"])
    except (ValueError, LookupError, TypeError):
        return None


def _content(path: Path) -> str | None:
    """What the file of a claim says; nothing if there is none."""
    try:
        return (path / FILE).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _claims(final: Path) -> dict[int, Path]:
    paths = left_of(final.parent).get(final.name, [])
    return {int(path.stem.rpartition(".")[2]): path for path in paths if path.suffix == ".partial"}


def _stamp(path: Path) -> object:
    """Something that changes when a claim is renewed."""
    # A file that is read is asked for at its server first, not in the cache of this machine.
    content = _content(path)
    try:
        return content, (path / FILE if content is not None else path).stat().st_mtime_ns
    except OSError:
        return None


def _tidy(final: Path, mine: Path) -> None:
    """Remove what others have left of a folder that is ours to write."""
    for path in sorted(left_of(final.parent).get(final.name, [])):
        if path.suffix == ".replaced" and not (final.exists() or final.is_symlink()):
            path.rename(final)
        elif path != mine:
            shutil.rmtree(path, ignore_errors=True)


class _Renewer:
    """A thread that renews the claims of this process, however long its work lets nothing else happen."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.files: set[Path] = set()
        self.thread: threading.Thread | None = None

    def add(self, file: Path) -> None:
        with self.lock:
            self.files.add(file)
            if self.thread is None or not self.thread.is_alive():  # a process that was forked has it not
                self.thread = threading.Thread(target=self._renew, name="claims", daemon=True)
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
