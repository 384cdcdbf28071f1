"""Triggers of htsim's connection matrices, in columns: half a million objects would take too much memory."""

from array import array
from bisect import bisect_left
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from shallows.foreign.columns import Columns
from shallows.foreign.shapes import Shape

if TYPE_CHECKING:
    from shallows.foreign.shapes import Numbers

KINDS = ("oneshot", "multishot", "barrier")


class Trigger(NamedTuple):
    """A trigger line."""

    line: int
    number: int
    kind: int
    """Index in `KINDS`."""
    times: int = 0
    """Number of firings before a barrier starts its flows; 0 for other kinds."""


class Triggers:
    """Triggers by number; for each, how many flows wait for it and how many flows fire it.

    Attributes
    ----------
    waiting, fired
        Number of flows that wait for each trigger, and of flows that fire it.
    last
        For each trigger, the index of the last flow that waits for it.

    Examples
    --------
    >>> triggers = Triggers()
    >>> triggers.add(Trigger(line=7, number=40, kind=0))
    >>> triggers.add(Trigger(line=8, number=9, kind=2, times=3))
    >>> triggers.close()
    >>> triggers.place(9), triggers[0].times, triggers.place(10)
    (0, 3, None)
    """

    def __init__(self) -> None:
        self._rows = Columns(Trigger, "IIbI")
        self._numbers = array("I")
        self.waiting = self.last = self.fired = self._numbers

    def add(self, trigger: Trigger) -> None:
        """Add the next trigger of the file."""
        self._rows.append(trigger)

    def extend(self, fields: Mapping[str, "Numbers"]) -> None:
        """Add triggers that were read as a block."""
        self._rows.extend(fields)

    def close(self) -> tuple[Trigger, Trigger] | None:
        """Sort all triggers by number; return the first two with the same number, or None."""
        import numpy as np

        order = np.argsort(np.asarray(self._rows.column("number")), kind="stable")
        self._rows = self._rows.reordered(order)
        self._numbers = self._rows.column("number")
        self.waiting, self.last, self.fired = (array("I", bytes(4 * len(order))) for _ in range(3))
        same = (place for place in range(1, len(order)) if self._numbers[place - 1] == self._numbers[place])
        pairs = ((self._rows[place - 1], self._rows[place]) for place in same)
        return min(pairs, key=lambda pair: pair[1].line, default=None)

    def place(self, number: int) -> int | None:
        """Return the index of the trigger with this number; None if there is none."""
        numbers = self._numbers
        place = number - numbers[0] if numbers else 0
        if not 0 <= place < len(numbers) or numbers[place] != number:  # the numbers are not consecutive
            place = bisect_left(numbers, number)
        return place if place < len(numbers) and numbers[place] == number else None

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Trigger:
        return self._rows[place]

    def column(self, name: str) -> "array[int]":
        """Return a field of all triggers, sorted by number."""
        return self._rows.column(name)


def shape(form: str) -> Shape | None:
    """Return the shape of trigger lines of one form; None if they must be read word by word.

    A form is a line with 0 in place of each number; the shape states the meaning of each number.

    >>> shape("trigger id 0 oneshot").constants
    {'kind': 0}
    """
    if form in {"trigger id 0 oneshot", "trigger id 0 multishot"}:
        return Shape(Trigger, ("number",), {"kind": KINDS.index(form.split()[-1])})
    if form == "trigger id 0 barrier count 0":
        return Shape(Trigger, ("number", "times"), {"kind": KINDS.index("barrier")})
    return None
