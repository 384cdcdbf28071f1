"""State of a running testbed network, read from the status text that its switch writes."""

import os
import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

EVERY_S = 0.2
"""Interval in seconds at which the testbed's switch writes its status text (`SHOW` in `carry.rs`)."""

KEPT = 300
"""Number of states that are kept: those of one minute of wall time."""

MOST_BYTES = 1 << 20
"""Largest status text in bytes; that of the testbed's largest network has a fiftieth of this size."""


@dataclass(frozen=True)
class Port:
    """A port: its backlog in bytes, and its packet counts since the start of the network."""

    name: str
    backlog: int
    sent: int
    marked: int
    dropped: int


@dataclass(frozen=True)
class State:
    """State of the network at one moment; times are in network time."""

    time_s: float
    health: str
    """Description of how many frames the switch sent late."""
    complaints: tuple[str, ...]
    """Reasons for which the run is invalid."""
    ports: tuple[Port, ...]
    """Ports that have carried packets."""


def parse(text: str) -> State | None:
    r"""Parse the status text; return None if it is empty or malformed.

    >>> page = "1.5 s: all in time\n! but one\nport backlog sent marked dropped\na->b 3000 7 1 0"
    >>> parse(page).ports
    (Port(name='a->b', backlog=3000, sent=7, marked=1, dropped=0),)
    """
    first, *rest = text.splitlines() or [""]
    found = re.fullmatch(r"(\d+\.\d+) s: (.*)", first)
    complaints = [line[2:] for line in rest if line.startswith("! ")]
    ports = [_port(line) for line in rest[len(complaints) + 1 :]]
    if not found or None in ports:
        return None
    return State(float(found[1]), found[2], tuple(complaints), tuple(filter(None, ports)))


def _port(line: str) -> Port | None:
    """Parse the line of a port; names may contain blanks."""
    found = re.fullmatch(r"(.*?) +(\d+) +(\d+) +(\d+) +(\d+)", line)
    return Port(found[1], *map(int, found.groups()[1:])) if found else None


def read(page: int) -> State | None:
    """Read the state from the file with this descriptor; None while the file is being written."""
    text = os.pread(page, MOST_BYTES, 0)
    first = text.split(b"\n", 1)[0]
    # The first byte is blank until the whole text is written (`sys/shell.rs`).
    if text.startswith(b" ") or os.pread(page, len(first), 0) != first:
        return None
    return parse(text.decode(errors="replace"))


class Watch:
    """States of the network during the last minute, in order of time."""

    def __init__(self, page: int) -> None:
        self.page = page
        self.states: deque[State] = deque(maxlen=KEPT)
        self.heard = time.monotonic()
        """Time of the last new state, by `time.monotonic`."""

    def look(self) -> None:
        """Read the current state, and append it if it is new."""
        state = read(self.page)
        if state and not (self.states and self.states[-1].time_s == state.time_s):
            self.states.append(state)
            self.heard = time.monotonic()

    @property
    def silent_s(self) -> float:
        """Time since the last new state, in seconds."""
        return time.monotonic() - self.heard


@contextmanager
def watching(page: int) -> Iterator[Watch]:
    """Read the state periodically in a thread while the context is open."""
    watch, ended = Watch(page), Event()

    def look() -> None:
        while not ended.wait(EVERY_S / 2):
            watch.look()

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()
