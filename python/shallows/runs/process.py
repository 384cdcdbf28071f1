"""Which process it is that writes something, told apart from those of other machines and containers."""

import contextlib
import hashlib
import os
import re
import socket
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True)
class Process:
    """A process, wherever it runs.

    Its number says little: another machine or container has the same numbers, and a number is given again.
    """

    host: str
    number: int
    space: str
    """Namespace of process numbers; in equal ones, a number denotes the same process."""
    started: str
    """When it began, in ticks since its machine did; empty where that cannot be asked."""

    @classmethod
    def parse(cls, document: Any) -> Self | None:
        """The process of this description; nothing if it describes none."""
        try:
            found = cls(**document)
        except TypeError:
            return None
        kinds = {"host": str, "number": int, "space": str, "started": str}
        return found if all(type(getattr(found, name)) is kind for name, kind in kinds.items()) else None

    @property
    def tag(self) -> str:
        """Short, for names of files: no other process has it."""
        return f"{self.space}-{self.number}-{self.started}"

    @classmethod
    def of_tag(cls, tag: str) -> Self | None:
        """The process that has this tag; nothing if it is none."""
        found = re.fullmatch(r"([0-9a-f]{16})-([0-9]+)-([0-9]*)", tag)
        return cls("", int(found[2]), found[1], found[3]) if found else None

    def describe(self) -> dict[str, Any]:
        """For a file; `parse` reads it."""
        return asdict(self)

    def is_here(self) -> bool:
        """Whether it is certain that it runs: in our space of numbers."""
        if self.space != me().space or not self.started:
            return False
        return _started(self.number) == self.started

    def is_gone(self) -> bool:
        """Whether it is certain that it has ended: it was in our space of numbers, and is not there now."""
        if self.space != me().space:
            return False
        try:
            os.kill(self.number, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except OSError:
            pass  # another user's
        return bool(self.started) and _started(self.number) != self.started

    def __str__(self) -> str:
        return f"process {self.number} on {self.host}"


def me() -> Process:
    """The one that asks."""
    return _describe(os.getpid())


@cache
def _describe(number: int) -> Process:
    return Process(socket.gethostname(), number, _space(), _started(number))


def _space() -> str:
    """A name for the numbers of processes that are seen from here: of this boot and this namespace."""
    said = [socket.gethostname()]
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        said = [boot, str(Path("/proc/self/ns/pid").readlink())]
    return hashlib.blake2b("\n".join(said).encode(), digest_size=8).hexdigest()


def _started(number: int) -> str:
    """When the process of this number began; empty if there is none, or /proc does not tell."""
    try:
        # In a namespace of its own, /proc may still be that of the machine.
        if str(Path("/proc/self").readlink()) != str(os.getpid()):
            return ""
        said = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *others = said.rpartition(")")[2].split()
    # One that was killed is there until its parent has heard of it, and in containers some never ask.
    return "" if state in {"Z", "X"} else others[18]
