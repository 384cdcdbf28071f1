"""Pauses of ports over time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from shallows.runs.results import Run
from shallows.series.flow_series import end_us
from shallows.series.inputs import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np


class Sender(NamedTuple):
    """A port, and one of its lossless classes."""

    port: str
    lossless: int


@dataclass(frozen=True)
class Pauses:
    """Pauses of one class at one port, in order of time. They do not overlap."""

    starts: "np.ndarray"
    """Starts in µs; `ends` are the ends."""
    ends: "np.ndarray"

    def until(self, times: "np.ndarray") -> "np.ndarray":
        """Return, for each of these times, the total time for which the port was paused until then, in µs."""
        import numpy as np

        before = np.concatenate([[0.0], np.cumsum(self.ends - self.starts)])
        begun = np.searchsorted(self.starts, times, side="right")
        # The last pause before a time may not have ended by then.
        last = np.maximum(begun - 1, 0)
        rest = np.where(begun > 0, np.maximum(self.ends[last] - times, 0), 0) if len(self.ends) else 0
        return before[begun] - rest

    def shares(self, edges: "np.ndarray") -> "np.ndarray":
        """Return, for each interval between two edges, the share of time for which the port was paused."""
        import numpy as np

        return np.diff(self.until(edges)) / np.diff(edges)

    def cover(self, times: "np.ndarray") -> "np.ndarray":
        """Return whether the port was paused at each of these times."""
        import numpy as np

        begun = np.searchsorted(self.starts, times, side="right")
        if not len(self.ends):
            return begun > 0
        return (begun > 0) & (self.ends[np.maximum(begun - 1, 0)] > times)


def pauses_of(run: Run) -> dict[Sender, Pauses]:
    """Return the pauses of each port and class that was paused in a run, in the order of the run's ports.

    A pause that lasts until the end of the run ends there.
    """
    import numpy as np
    import polars as pl

    rows = table(run, "pause_times").with_columns(pl.col("end_us").fill_null(end_us(run)))
    found = {}
    for (port, lossless), pauses_of_port in rows.group_by("port", "class", maintain_order=True):
        columns = (np.asarray(pauses_of_port[name]) for name in ("start_us", "end_us"))
        found[Sender(str(port), int(str(lossless)))] = Pauses(*columns)
    order = {(port, lossless): place for place, (port, lossless) in enumerate(_known(run))}
    return {sender: found[sender] for sender in sorted(found, key=lambda sender: order[sender])}


def _known(run: Run) -> "Sequence[tuple[str, int]]":
    """Return all ports and lossless classes of a run."""
    return table(run, "pauses").select("port", "class").rows()


def names(senders: "Sequence[Sender]") -> list[str]:
    """Return the names of ports, with their class if there are several classes."""
    if len({sender.lossless for sender in senders}) < 2:
        return [sender.port for sender in senders]
    return [f"{sender.port}, class {sender.lossless}" for sender in senders]
