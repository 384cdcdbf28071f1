"""The triggers of htsim's connection matrices, in little memory: half a million must not be objects."""

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
    """A line of a trigger."""

    line: int
    number: int
    kind: int
    """Its place in `KINDS`."""
    times: int = 0
    """How many times a barrier is fired before it starts its flows; 0 of other kinds."""


class Triggers:
    """Triggers, by their numbers, and how many flows wait for each and fire it.

    Attributes
    ----------
    waiting, fired
        Flows that wait for each trigger, and flows that fire it.
    last
        The place of the last flow that waits for it.

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
        """Add a trigger as it stands in the file."""
        self._rows.append(trigger)

    def extend(self, fields: Mapping[str, "Numbers"]) -> None:
        """Add triggers that were read together."""
        self._rows.extend(fields)

    def close(self) -> tuple[Trigger, Trigger] | None:
        """Put all triggers in the order of their numbers; returns the first two that have the same number."""
        import numpy as np

        order = np.argsort(np.asarray(self._rows.column("number")), kind="stable")
        self._rows = self._rows.reordered(order)
        self._numbers = self._rows.column("number")
        self.waiting, self.last, self.fired = (array("I", bytes(4 * len(order))) for _ in range(3))
        same = (place for place in range(1, len(order)) if self._numbers[place - 1] == self._numbers[place])
        pairs = ((self._rows[place - 1], self._rows[place]) for place in same)
        return min(pairs, key=lambda pair: pair[1].line, default=None)

    def place(self, number: int) -> int | None:
        """Where the trigger of a number stands; nothing if there is none."""
        numbers = self._numbers
        place = number - numbers[0] if numbers else 0
        if not 0 <= place < len(numbers) or numbers[place] != number:  # they are not numbered in a row
            place = bisect_left(numbers, number)
        return place if place < len(numbers) and numbers[place] == number else None

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, place: int) -> Trigger:
        return self._rows[place]

    def column(self, name: str) -> "array[int]":
        """A field of all triggers, in the order of their numbers."""
        return self._rows.column(name)


def shape(form: str) -> Shape | None:
    """What lines of this form have, if it is a usual one of triggers.

    >>> shape("trigger id 0 oneshot").constants
    {'kind': 0}
    """
    if form in {"trigger id 0 oneshot", "trigger id 0 multishot"}:
        return Shape(Trigger, ("number",), {"kind": KINDS.index(form.split()[-1])})
    if form == "trigger id 0 barrier count 0":
        return Shape(Trigger, ("number", "times"), {"kind": KINDS.index("barrier")})
    return None
