"""Series of a quantity that is constant between its changes: statistics over time, and reduction for drawing.

A mean over the rows of `traces.parquet` or `queues.parquet` would weight each value by the number of rows
that have it. `Series` weights each value by its duration.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shallows.errors import ShallowsError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

FINEST = 2**40
"""Maximum number of equal parts of a time axis; changes that are closer together share a part."""


MOST_WINDOWS = 10_000_000
"""Maximum number of rows of the frame that `Series.resampled` returns."""


@dataclass(frozen=True, eq=False)
class Series:
    """A quantity over time that keeps each value until its next change.

    Parameters
    ----------
    times
        Times of changes in µs, ascending; the first is the beginning of the series, the last its end.
    values
        Values from these times on, as many as `times`. The last value has no duration.

    Examples
    --------
    A queue that is empty for 10 µs, has 3000 bytes for 2 µs, and 1500 for 8 µs:

    >>> import numpy as np
    >>> import shallows as sh
    >>> queue = sh.Series(np.array([0, 10, 12, 20]), np.array([0, 3000, 1500, 1500]))
    >>> queue.mean(), queue.max(), queue.time_at(0)
    (900.0, 3000.0, 10.0)

    The backlog of a port of a run:

    >>> run = sh.run(sh.example("incast"), {"measure.sample_queues": "50us"}, out=folder / "series")
    >>> run.series("switch0->host0").max() == run.queues.filter(name="switch0->host0")["bytes"].max()
    True
    """

    times: "Numbers"
    values: "Numbers"

    @classmethod
    def read(cls, frame: "pl.DataFrame", value: str, end: float, before: float | None = None) -> "Series":
        """Read a series from two columns of a table: `time_us`, and the column that `value` names.

        Rows may be in any order. The last value holds until `end`, in µs. `before` is the value from the
        beginning of the run until the first row; without it, the series begins with the first row.
        """
        import numpy as np

        ordered = frame.sort("time_us", maintain_order=True)
        times, values = (ordered[name].cast(float).to_numpy() for name in ("time_us", value))
        if before is not None and (len(times) == 0 or times[0] > 0):
            times, values = np.append(0.0, times), np.append(before, values)
        if len(times) == 1 or times[-1] < end:
            times, values = np.append(times, max(end, times[-1])), np.append(values, values[-1])
        return cls(times, values)

    @property
    def length_us(self) -> float:
        """Length of the series in µs."""
        return float(self.times[-1] - self.times[0])

    def mean(self) -> float:
        """Return the mean over time.

        >>> import numpy as np
        >>> Series(np.array([0.0, 9.0, 10.0]), np.array([0.0, 50.0, 50.0])).mean()
        5.0
        """
        return float(self._areas()[-1] / self.length_us)

    def std(self) -> float:
        """Return the standard deviation over time."""
        return math.sqrt(max(Series(self.times, self.values**2).mean() - self.mean() ** 2, 0.0))

    def min(self) -> float:
        """Return the lowest value."""
        return float(self.values[:-1].min())

    def max(self) -> float:
        """Return the highest value."""
        return float(self.values[:-1].max())

    def quantile(self, share: float) -> float:
        """Return the quantile over time: the smallest value that bounds the series for `share` of the time.

        >>> import numpy as np
        >>> queue = Series(np.array([0.0, 9.0, 10.0]), np.array([0.0, 50.0, 50.0]))
        >>> queue.quantile(0.9), queue.quantile(0.99)
        (0.0, 50.0)
        """
        import numpy as np

        if not 0 <= share <= 1:
            raise ShallowsError(
                f"a quantile must be from 0 to 1, got {share}",
                "pass a share of the time, such as quantile(0.99)",
            )
        values, shares = self.distribution()
        return float(values[np.searchsorted(shares, share)])

    def share_above(self, limit: float) -> float:
        """Return the share of time for which the value was above `limit`."""
        values, shares = self.distribution()
        below = shares[values <= limit]
        return 1.0 - float(below[-1]) if below.size else 1.0

    def time_at(self, value: float) -> float:
        """Return the total time at this value, in µs; `time_at(0)` of a backlog is the time it was empty."""
        import numpy as np

        return float(np.diff(self.times)[self.values[:-1] == value].sum())

    def distribution(self) -> "tuple[Numbers, Numbers]":
        """Return the distinct values in ascending order, and for each the share of time at or below it."""
        import numpy as np

        held = np.diff(self.times)
        order = np.argsort(self.values[:-1], kind="stable")
        values, total = self.values[order], np.cumsum(held[order])
        last = np.append(np.diff(values) > 0, True)
        return values[last], total[last] / total[-1]

    def between(self, begin_us: float, end_us: float | None = None) -> "Series":
        """Return the part of the series from `begin_us` to `end_us`, by default to its end.

        >>> import numpy as np
        >>> whole = Series(np.array([0.0, 10.0, 20.0]), np.array([0.0, 50.0, 50.0]))
        >>> whole.between(5).mean(), whole.between(0, 11).time_at(50)
        (33.333333333333336, 1.0)
        """
        import numpy as np

        end = float(self.times[-1] if end_us is None else end_us)
        if not self.times[0] <= begin_us < end <= self.times[-1]:
            raise ShallowsError(
                f"a part must end after it begins, got {begin_us:g} to {end:g} µs"
                if begin_us >= end
                else f"a part must be within the series, got {begin_us:g} to {end:g} µs",
                f"choose times from {self.times[0]:g} to {self.times[-1]:g} µs",
            )
        ends = np.array([begin_us, end])
        inside = (self.times > begin_us) & (self.times < end)
        first, last = self.at(ends)
        return Series(
            np.concatenate([ends[:1], self.times[inside], ends[1:]]),
            np.concatenate([[first], self.values[inside], [last]]),
        )

    def at(self, times: "Numbers") -> "Numbers":
        """Return the values at these times."""
        import numpy as np

        return self.values[np.maximum(np.searchsorted(self.times, times, side="right") - 1, 0)]

    def resampled(self, every_us: float) -> "pl.DataFrame":
        """Return a frame with one row for each time window, so that column means are means over time.

        Parameters
        ----------
        every_us
            Length of a window in µs. The last window ends with the series and may be shorter.

        Returns
        -------
        DataFrame
            `time_us`: beginning of the window; `mean` over its time; `min` and `max`.

        Examples
        --------
        >>> import numpy as np
        >>> queue = Series(np.array([0.0, 10.0, 12.0, 20.0]), np.array([0.0, 3000.0, 1500.0, 1500.0]))
        >>> queue.resampled(every_us=5.0)["mean"].to_list()
        [0.0, 0.0, 2100.0, 1500.0]
        """
        import numpy as np
        import polars as pl

        if not 0 < every_us < math.inf:
            raise ShallowsError(
                f"a window must be finite and longer than 0 µs, got {every_us}",
                "pass a length in µs, such as 10",
            )
        if self.length_us / every_us > MOST_WINDOWS:
            raise ShallowsError(
                f"a series must have at most {MOST_WINDOWS:,} windows; {self.length_us:g} µs in windows of "
                f"{every_us:g} µs need more windows",
                "pass a longer window, or cut the series with `between`",
            )
        count = int(np.ceil(self.length_us / every_us * (1 - 1e-12)))
        edges = np.append(self.times[0] + every_us * np.arange(count), self.times[-1])
        mean, low, high = self._over(edges)
        return pl.DataFrame({"time_us": edges[:-1], "mean": mean, "min": low, "max": high})

    def parts(self, most: int) -> "Parts":
        """Reduce the series to at most `most` parts for drawing: one for each change, or intervals of time.

        Time is cut into intervals of equal length, as short as `most` permits. An interval with two or more
        changes is one part. Elsewhere, a new part begins only at a change, so idle times take few parts. The
        mean of each part is exact.
        """
        import numpy as np

        times, values = self.times[:-1], self.values[:-1]
        if len(values) > most:
            changed = np.append(True, np.diff(values) != 0)
            times, values = times[changed], values[changed]
        if len(values) <= most:
            return Parts(np.append(times, self.times[-1]), values, values, values, 0.0)
        changes, count = times[1:], most // 2
        edges = finer = self._edges(changes, count)
        while len(finer) <= most + 1 and count < FINEST:
            edges, count = finer, 2 * count
            finer = self._edges(changes, count)
        return Parts(edges, *self._over(edges), 2 * self.length_us / count)

    def _edges(self, changes: "Numbers", count: int) -> "Numbers":
        """Return the edges of parts: both ends of each interval with several changes, and single changes.

        The first and the last time are edges too.
        """
        import numpy as np

        begin, end, length = self.times[0], self.times[-1], self.length_us / count
        part = ((changes - begin) / length).astype(np.int64)
        # Correct for rounding of the ends, so that each change lies inside its part.
        part += changes >= begin + length * (part + 1)
        part -= changes < begin + length * part
        found, place, number = np.unique(part, return_inverse=True, return_counts=True)
        busy = found[number > 1]
        ends = begin + length * np.concatenate([busy, busy + 1])
        return np.unique(np.concatenate([[begin, end], changes[number[place] == 1], np.minimum(ends, end)]))

    def _over(self, edges: "Numbers") -> "tuple[Numbers, Numbers, Numbers]":
        """Return mean, lowest and highest value between neighbouring edges."""
        import numpy as np

        low = self.at(edges[:-1])
        high = low.copy()
        place = np.searchsorted(edges, self.times, side="right") - 1
        inside = (place >= 0) & (place < len(low))
        np.minimum.at(low, place[inside], self.values[inside])
        np.maximum.at(high, place[inside], self.values[inside])
        areas = np.interp(edges, self.times, self._areas())
        # If the value is constant in a part, the mean must equal it exactly, despite rounding.
        return np.clip(np.diff(areas) / np.diff(edges), low, high), low, high

    def _areas(self) -> "Numbers":
        """Return the integral of the series up to each of its times."""
        import numpy as np

        return np.append(0.0, np.cumsum(self.values[:-1] * np.diff(self.times)))

    def highest(self, edges: "Numbers") -> "Numbers":
        """Return the highest value between neighbouring edges."""
        return self._over(edges)[2]

    def settled(self, share: float) -> float:
        """Return the time at which the integral of the series reaches `share` of its total."""
        import numpy as np

        areas = self._areas()
        return float(self.times[np.searchsorted(areas, share * areas[-1])])


@dataclass(frozen=True, eq=False)
class Parts:
    """Consecutive parts of a series, with the mean over time, lowest and highest value of each."""

    edges: "Numbers"
    """Beginning of each part, and the end of the last one; one more than there are parts."""
    mean: "Numbers"
    low: "Numbers"
    high: "Numbers"
    longest_us: float
    """Upper bound in µs on the length of parts with several values; 0 if every part has only one value."""
