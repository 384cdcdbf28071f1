"""Quantities that keep their value until they change: drawn with few points, and weighted by time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

SLICES = 400
"""Parts of a time axis: as many as a printed column can show."""


@dataclass(frozen=True)
class Steps:
    """Values over time (µs); each holds until the next, and nothing was there before the first."""

    times: "Numbers"
    values: "Numbers"

    @classmethod
    def read(cls, frame: "pl.DataFrame", value: str, end: float) -> "Steps":
        """From a table with `time_us`, in any order; the last value holds until the end of the run."""
        import numpy as np

        ordered = frame.sort("time_us", maintain_order=True)
        times, values = (ordered[name].cast(float).to_numpy() for name in ("time_us", value))
        if len(times) == 0:
            return cls(np.array([0.0, end]), np.zeros(2))
        head = [0.0] if times[0] > 0 else []
        tail = [values[-1]] if times[-1] < end else []
        return cls(
            np.concatenate([head, times, [end] * len(tail)]),
            np.concatenate([[0.0] * len(head), values, tail]),
        )

    def thinned(self) -> "Steps":
        """First, last, lowest and highest value of each slice: nothing that could be seen is lost."""
        import numpy as np

        times = self.times
        if len(times) <= 4 * SLICES:
            return self
        place = ((times - times[0]) / (times[-1] - times[0]) * SLICES).astype(int)
        return self._ends_of(np.minimum(place, SLICES - 1))

    def summarised(self, parts: int) -> "Steps":
        """The same of parts with equally many changes: finer where more happens, for a closer look."""
        import numpy as np

        count = len(self.times)
        return self if count <= 4 * parts else self._ends_of(np.arange(count) * parts // count)

    def _ends_of(self, place: "NDArray[np.int64]") -> "Steps":
        """First, last, lowest and highest value of each part, by the number of the part of each value."""
        import numpy as np

        first = np.flatnonzero(np.diff(place, prepend=-1))
        last = np.append(first[1:], len(place)) - 1
        by_value = np.lexsort((self.values, place))
        kept = np.unique(np.concatenate([first, last, by_value[first], by_value[last]]))
        return Steps(self.times[kept], self.values[kept])

    def settled(self, share: float) -> float:
        """The time by which so much of the area under it has passed."""
        import numpy as np

        area = np.cumsum(self.values[:-1] * np.diff(self.times))
        return float(self.times[1:][np.searchsorted(area, share * area[-1])]) if area.any() else 0.0

    def shares(self) -> "tuple[Numbers, Numbers]":
        """Values in order, and the share of time at which none was larger."""
        import numpy as np

        held = np.diff(self.times)
        order = np.argsort(self.values[:-1], kind="stable")
        values, total = self.values[order], np.cumsum(held[order])
        last = np.append(np.diff(values) > 0, True)
        return values[last], total[last] / total[-1]

    def after(self, begin: float) -> "Steps":
        """The same from a later time on."""
        import numpy as np

        later = self.times > begin
        head = self.at(np.array([begin]))
        return Steps(np.append(begin, self.times[later]), np.append(head, self.values[later]))

    def highest(self, edges: "Numbers") -> "Numbers":
        """The highest value between each two neighbouring edges."""
        import numpy as np

        at_edge = self.values[np.maximum(np.searchsorted(self.times, edges[:-1], side="right") - 1, 0)]
        tops = at_edge.copy()
        place = np.searchsorted(edges, self.times, side="right") - 1
        inside = (place >= 0) & (place < len(tops))
        np.maximum.at(tops, place[inside], self.values[inside])
        return tops

    def at(self, times: "Numbers") -> "Numbers":
        """The values that hold at these times."""
        import numpy as np

        return self.values[np.maximum(np.searchsorted(self.times, times, side="right") - 1, 0)]
