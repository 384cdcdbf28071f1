"""Status text of a running testbed network, as the testbed's switch writes it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from shallows.runs.standing import Watch

HEAD = "port                    backlog B         sent     marked    dropped\n"


def text(time_s: float, backlogs: dict[str, int], complaints: tuple[str, ...] = ()) -> str:
    """Return the status text of the switch, for ports with these backlogs."""
    said = "".join(f"! {each}\n" for each in complaints)
    ports = "".join(
        f"{name:<20} {backlog:>12} {7:>12} {1:>10} {0:>10}\n" for name, backlog in backlogs.items()
    )
    return f"{time_s:.6f} s: frames came to their hosts late by 9 us\n{said}{HEAD}{ports}"


@contextmanager
def watch(*texts: str) -> Iterator[Watch]:
    """Yield a watch that has read these status texts."""
    with os.fdopen(os.memfd_create("queues"), "w+b", buffering=0) as page:
        seen = Watch(page.fileno())
        for each in texts:
            os.ftruncate(page.fileno(), 0)
            os.pwrite(page.fileno(), each.encode(), 0)
            seen.look()
        yield seen
