"""Identity of a process that writes a folder, unique across machines and containers."""

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
    """A process on any machine.

    A process number alone is ambiguous: machines and containers share numbers, and numbers are reused.
    """

    host: str
    number: int
    space: str
    """Namespace of process numbers: within one namespace, a number denotes one process."""
    started: str
    """Start time in clock ticks since boot; empty if unknown."""

    @classmethod
    def parse(cls, document: Any) -> Self | None:
        """Return the process that the result of `describe` identifies; None if the description is invalid."""
        try:
            found = cls(**document)
        except TypeError:
            return None
        kinds = {"host": str, "number": int, "space": str, "started": str}
        return found if all(type(getattr(found, name)) is kind for name, kind in kinds.items()) else None

    @property
    def tag(self) -> str:
        """Short name for files, unique to this process."""
        return f"{self.space}-{self.number}-{self.started}"

    @classmethod
    def of_tag(cls, tag: str) -> Self | None:
        """Return the process with this tag; None if the tag is invalid."""
        found = re.fullmatch(r"([0-9a-f]{16})-([0-9]+)-([0-9]*)", tag)
        return cls("", int(found[2]), found[1], found[3]) if found else None

    def describe(self) -> dict[str, Any]:
        """Return a description of the process that can be written as JSON; `parse` reads it."""
        return asdict(self)

    def is_here(self) -> bool:
        """Return whether the process certainly runs; false if it is in another namespace."""
        if self.space != me().space or not self.started:
            return False
        return _started(self.number) == self.started

    def is_gone(self) -> bool:
        """Return whether the process has certainly ended; false if it is in another namespace."""
        if self.space != me().space:
            return False
        try:
            os.kill(self.number, 0)
        except (ProcessLookupError, OverflowError):
            return True
        except OSError:
            pass  # the process belongs to another user
        return bool(self.started) and _started(self.number) != self.started

    def __str__(self) -> str:
        return f"process {self.number} on {self.host}"


def me() -> Process:
    """Return the current process."""
    return _describe(os.getpid())


@cache
def _describe(number: int) -> Process:
    return Process(socket.gethostname(), number, _space(), _started(number))


def _space() -> str:
    """Return a hash that identifies the boot and the PID namespace to which a process number belongs."""
    said = [socket.gethostname()]
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        said = [boot, str(Path("/proc/self/ns/pid").readlink())]
    return hashlib.blake2b("\n".join(said).encode(), digest_size=8).hexdigest()


def _started(number: int) -> str:
    """Return the start time of a process in ticks since boot; empty if it has ended or /proc is unusable."""
    try:
        # Even in a PID namespace, /proc may show the processes of the whole machine.
        if str(Path("/proc/self").readlink()) != str(os.getpid()):
            return ""
        said = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *others = said.rpartition(")")[2].split()
    # A killed process stays a zombie until its parent waits for it, but some parents in containers never
    # wait.
    return "" if state in {"Z", "X"} else others[18]
