"""Fitting of tables into the width of a terminal without cutting cells.

If a table is too wide, its headings and names wrap. If its numbers still do not fit, its columns are divided
into blocks one below the other, and each block repeats the names. A table of text, or a table whose names
fill the width, is stacked: the console prints each row as lines `heading: cell`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from shallows.runs.table import Table

GAP = 2
"""Number of blanks between columns."""

LEAST_NAME = 12
"""Width below which a name is not wrapped further."""


@dataclass(frozen=True)
class Block:
    """Columns of a table that are printed side by side, each with its width."""

    columns: Sequence[int]
    widths: Sequence[int]


def blocks(table: Table, width: int) -> list[Block]:
    """Return the blocks of a table's columns; none if the table must be stacked."""
    indices = range(len(table.columns))
    natural = [_natural(table, index) for index in indices]
    if _sum(natural) <= width:
        return [Block([*indices], natural)]
    least = [_least(table, index) for index in indices]
    if _sum(least) <= width:
        return [Block([*indices], _between(least, natural, width))]
    names, numbers = [*indices[: table.names]], [*indices[table.names :]]
    room = width - sum(least[index] + GAP for index in names)
    if not numbers or room < width // 4 or max(least[index] for index in numbers) > room:
        return []
    found = []
    for chosen in _chunks(numbers, least, room):
        columns = [*names, *chosen]
        fit = _between([least[i] for i in columns], [natural[i] for i in columns], width)
        found.append(Block(columns, fit))
    return found


def _chunks(numbers: Sequence[int], least: Sequence[int], room: int) -> Iterator[list[int]]:
    chosen: list[int] = []
    for index in numbers:
        if chosen and _sum([least[i] for i in (*chosen, index)]) > room:
            yield chosen
            chosen = []
        chosen.append(index)
    yield chosen


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def _between(least: Sequence[int], natural: Sequence[int], width: int) -> list[int]:
    """Return column widths of at least `least` that fit `width`; spare width goes to the first columns."""
    widths, left = [], width - _sum(least)
    for low, high in zip(least, natural, strict=True):
        more = min(left, high - low)
        widths.append(low + more)
        left -= more
    return widths


def _natural(table: Table, index: int) -> int:
    """Return the width of a column without wrapping."""
    return max(map(cell_len, (table.columns[index], *_cells(table, index))), default=0)


def _least(table: Table, index: int) -> int:
    """Return the smallest width of a column: headings wrap between words, and so do cells with names."""
    cells = _cells(table, index)
    if index >= table.names:
        return max([*map(cell_len, cells), _longest_word(table.columns[index])])
    wanted = max(map(_longest_word, (table.columns[index], *cells)))
    return min(_natural(table, index), max(LEAST_NAME, wanted))


def _cells(table: Table, index: int) -> list[str]:
    return [row[index] for row in table.rows]


def _longest_word(text: str) -> int:
    return max(map(cell_len, text.split()), default=0)
