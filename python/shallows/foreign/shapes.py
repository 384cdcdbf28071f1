"""Fast reading of lines that differ only in their numbers: a whole block is converted to columns."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from shallows.foreign.reading import Block

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

LARGEST = 2**63 - 1
"""Largest number that is read; a larger number gives this value, too."""
LONGEST = 20
"""Maximum number of digits of a number; lines with longer numbers are read one by one."""
FEWEST = 64
"""Minimum number of lines that are read as a block; shorter blocks are read line by line."""

_TO_ZEROS = str.maketrans("123456789", "0" * 9)
_TO_BLANKS = bytes(byte if byte in b"0123456789" else ord(" ") for byte in range(256))


class Shape(NamedTuple):
    """Meaning of each number in lines of the same shape.

    The form of a line is its text with every whole number replaced by 0: `0->0 id 0 start 0 size 0`.
    All lines of the same form have the same shape.
    """

    row: type[Any]
    """Named tuple of a line; its field `line` is the line number."""
    names: tuple[str, ...]
    """Field of each number, in order; "" skips a number."""
    constants: Mapping[str, int] = {}
    """Fields with the same value in all lines of the shape."""


def pieces(block: Block, together: Callable[[Block], bool]) -> Iterator[Block]:
    """Read a block with `together`, and yield the parts that must be read line by line.

    `together` reads a whole block and returns true, or returns false if it cannot. A block that it could not
    read is halved, and each half is tried. Parts with fewer than `FEWEST` lines are yielded without a try.
    """
    if len(block.texts) < FEWEST:
        yield block
    elif not together(block):
        for half in block.halves():
            yield from pieces(half, together)


def columns(
    block: Block, shape_of: Callable[[str], Shape | None], bounds: Mapping[str, tuple[int, int]]
) -> dict[type[Any], dict[str, "Numbers"]] | None:
    """Read the numbers of all lines of a block.

    Returns
    -------
    dict, optional
        Dictionary that maps the kind of row to the values of each field; lines without a field have the
        field's default. None if `shape_of` knows no shape for a line, or a number is out of bounds or has
        more than 20 digits.
    """
    import numpy as np

    text = "\n".join(block.texts)
    forms = _forms(text)
    shapes = _shapes(forms, shape_of)
    if not shapes:
        return None
    numbers = np.fromstring(text.encode().translate(_TO_BLANKS), dtype=np.int64, sep=" ")
    if numbers.max() == LARGEST:
        return None
    places = {form: place for place, form in enumerate(shapes)}
    codes = np.fromiter(map(places.__getitem__, forms), np.int64, len(forms))
    counts = np.array([len(shape.names) for shape in shapes.values()])[codes]
    firsts = np.cumsum(counts) - counts
    tables: dict[type[Any], dict[str, Numbers]] = {}
    for place, shape in enumerate(shapes.values()):
        lines = np.flatnonzero(codes == place)
        read = {name: numbers[firsts[lines] + at] for at, name in enumerate(shape.names) if name}
        if any(
            values.min() < bounds[name][0] or values.max() > bounds[name][1] for name, values in read.items()
        ):
            return None
        fields = tables.setdefault(shape.row, {"line": np.zeros(len(forms), np.int64)})
        for name, values in {"line": lines + block.number, **read, **shape.constants}.items():
            default = shape.row._field_defaults.get(name, 0)
            fields.setdefault(name, np.full(len(forms), default, np.int64))[lines] = values
    return {
        row: {name: values[fields["line"] > 0] for name, values in fields.items()}
        for row, fields in tables.items()
    }


def _forms(text: str) -> list[str]:
    """Return the form of each line, with 0 for each whole number; empty if a number has too many digits."""
    zeros = text.translate(_TO_ZEROS)
    if "0" * (LONGEST + 1) in zeros:
        return []
    while "00" in zeros:
        zeros = zeros.replace("00", "0")
    return zeros.split("\n")


def _shapes(forms: list[str], shape_of: Callable[[str], Shape | None]) -> dict[str, Shape]:
    """Return a dict from each form to its shape. If any form has no shape, the dict is empty."""
    shapes = {}
    for form in dict.fromkeys(forms):
        shape = shape_of(form)
        if shape is None:
            return {}
        shapes[form] = shape
    return shapes
