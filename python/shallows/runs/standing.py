"""State of a testbed network that is up, read from the page that its switch writes."""

import os
import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread

EVERY_S = 0.2
"""So often the switch writes its page (`SHOW` in `carry.rs`)."""

KEPT = 300
"""States that are remembered: a minute of the machine's time."""

MOST_BYTES = 1 << 20
"""Largest page in bytes; the largest network of the testbed needs a fiftieth of it."""


@dataclass(frozen=True)
class Port:
    """A port: what waits there, and what it has done since the network stands."""

    name: str
    backlog: int
    sent: int
    marked: int
    dropped: int


@dataclass(frozen=True)
class State:
    """The network at some time of its own."""

    time_s: float
    health: str
    """How late frames were, in words."""
    complaints: tuple[str, ...]
    """Reasons for which the run is invalid."""
    ports: tuple[Port, ...]
    """Ports that have carried packets."""


def parse(text: str) -> State | None:
    r"""Parse a page; return None if it is empty or not a page.

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
    """A line of a page; names may have blanks, numbers have none."""
    found = re.fullmatch(r"(.*?) +(\d+) +(\d+) +(\d+) +(\d+)", line)
    return Port(found[1], *map(int, found.groups()[1:])) if found else None


def read(page: int) -> State | None:
    """The state on the page with this descriptor; nothing while it is being written."""
    text = os.pread(page, MOST_BYTES, 0)
    first = text.split(b"\n", 1)[0]
    # Its first byte is blank until all of it is there (`sys/shell.rs`).
    if text.startswith(b" ") or os.pread(page, len(first), 0) != first:
        return None
    return parse(text.decode(errors="replace"))


class Watch:
    """The states of the last minute, the last one last."""

    def __init__(self, page: int) -> None:
        self.page = page
        self.states: deque[State] = deque(maxlen=KEPT)
        self.heard = time.monotonic()
        """When the last one came."""

    def look(self) -> None:
        """Read the page; what is there already is no new state."""
        state = read(self.page)
        if state and not (self.states and self.states[-1].time_s == state.time_s):
            self.states.append(state)
            self.heard = time.monotonic()

    @property
    def silent_s(self) -> float:
        """For how long nothing has been heard."""
        return time.monotonic() - self.heard


@contextmanager
def watching(page: int) -> Iterator[Watch]:
    """Read a page again and again while something else is done."""
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
