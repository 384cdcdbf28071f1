"""Rows of whole numbers in compact columns, because a million flows as objects take too much memory."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Row = TypeVar("Row", bound=NamedTuple)

TOGETHER = 128
"""Number of rows that are moved into columns together; few, so that they fit the processor's caches."""


class Columns(Generic[Row]):
    """Rows of a named tuple of whole numbers, stored as an array for each field.

    A field that has its default in every row takes no memory.

    Parameters
    ----------
    kind
        The named tuple.
    codes
        Type code of each field, as in `array`: `q` is signed 64 bits, `I` unsigned 32 bits.

    Examples
    --------
    >>> class Place(NamedTuple):
    ...     line: int
    ...     port: int = -1
    >>> places = Columns(Place, "Ii")
    >>> places.append(Place(7))
    >>> places.has("port"), places[0]
    (False, Place(line=7, port=-1))
    >>> places.append(Place(9, 80))
    >>> list(places.column("port"))
    [-1, 80]
    """

    def __init__(self, kind: type[Row], codes: str) -> None:
        self.kind = kind
        self._codes, self._defaults = codes, kind._field_defaults
        self._columns: list[array[int] | None] = [
            None if name in self._defaults else array(code)
            for name, code in zip(kind._fields, codes, strict=True)
        ]
        self._stored = 0
        self._latest: list[Row] = []
        """Latest rows, which are not in the columns yet."""

    def reordered(self, places: "NDArray[np.int64]") -> "Columns[Row]":
        """Return a copy that consists of the rows with these indices, in this order."""
        import numpy as np

        rows = Columns(self.kind, self._codes)
        used = [name for name in self.kind._fields if self.has(name)]
        rows.extend({name: np.asarray(self.column(name))[places] for name in used})
        return rows

    def append(self, row: Row) -> None:
        """Add a row at the end."""
        self._latest.append(row)
        if len(self._latest) == TOGETHER:
            self._store()

    def extend(self, fields: Mapping[str, "NDArray[np.integer[Any]]"]) -> None:
        """Add rows by their fields; a missing field has its default in every row."""
        self._store()
        count = len(next(iter(fields.values())))
        for place, (name, code) in enumerate(zip(self.kind._fields, self._codes, strict=True)):
            column, values = self._columns[place], fields.get(name)
            if column is None and values is not None and (values != self._defaults[name]).any():
                column = self._columns[place] = self._of_defaults(place)
            if column is not None and values is not None:
                column.frombytes(values.astype(code).tobytes())
            elif column is not None:
                column.extend(array(code, [self._defaults[name]]) * count)
        self._stored += count

    def _store(self) -> None:
        """Move the latest rows into the columns."""
        if self._latest:
            self._add(zip(*self._latest, strict=True))
            self._latest.clear()

    def _add(self, fields: Iterable[Sequence[int]]) -> None:
        count = 0
        for place, values in enumerate(fields):
            count = len(values)
            column = self._columns[place]
            if column is None and values.count(self._defaults[self.kind._fields[place]]) < count:
                column = self._columns[place] = self._of_defaults(place)
            if column is not None:
                column.extend(values)
        self._stored += count

    def _of_defaults(self, place: int) -> "array[int]":
        """Return a new column of a field, with the field's default in all stored rows."""
        return array(self._codes[place], [self._defaults[self.kind._fields[place]]]) * self._stored

    def has(self, name: str) -> bool:
        """Return whether any row has a value other than the default in a field."""
        self._store()
        return self._columns[self.kind._fields.index(name)] is not None

    def column(self, name: str) -> "array[int]":
        """Return the values of a field."""
        self._store()
        place = self.kind._fields.index(name)
        column = self._columns[place]
        return self._of_defaults(place) if column is None else column

    def take(self, places: Sequence[int]) -> Iterator[Row]:
        """Return the rows with these indices, in this order."""
        self._store()
        values = (
            repeat(self._defaults[name], len(places)) if column is None else map(column.__getitem__, places)
            for name, column in zip(self.kind._fields, self._columns, strict=True)
        )
        return map(self.kind._make, zip(*values, strict=True))

    def __len__(self) -> int:
        return self._stored + len(self._latest)

    def __getitem__(self, place: int) -> Row:
        return next(self.take([place]))

    def __iter__(self) -> Iterator[Row]:
        return self.take(range(len(self)))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Columns)
            and self.kind is other.kind
            and all(self.column(name) == other.column(name) for name in self.kind._fields)
        )

    __hash__ = None  # type: ignore[assignment]
