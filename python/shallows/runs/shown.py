"""Scenarios, runs and sweeps in notebooks: small HTML tables in which every name is escaped."""

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS, LONGEST = 20, 200
"""Maximum number of rows in a table and of characters in a cell. A last row counts the omitted rows."""


def facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return an HTML table of two columns: names and their values.

    >>> facts("Run <b>", [("seed", "1")])
    '<table><caption>Run &lt;b&gt;</caption><tbody><tr><th>seed</th><td>1</td></tr></tbody></table>'
    """
    return _table(
        title, "", [f"<tr><th>{_text(name)}</th><td>{_text(words)}</td></tr>" for name, words in rows]
    )


def grid(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table with a header and the first `MOST_ROWS` rows.

    >>> grid("Two", ["a"], [["1"], ["<i>"]])[-77:]
    '</thead><tbody><tr><td>1</td></tr><tr><td>&lt;i&gt;</td></tr></tbody></table>'
    """
    drawn = [f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in row)}</tr>" for row in rows[:MOST_ROWS]]
    if len(rows) > MOST_ROWS:
        drawn.append(f'<tr><td colspan="{len(columns)}">and {len(rows) - MOST_ROWS:,} more</td></tr>')
    header = "".join(f"<th>{_text(column)}</th>" for column in columns)
    return _table(title, f"<thead><tr>{header}</tr></thead>", drawn)


def text(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table as text, with aligned columns and the first `MOST_ROWS` rows.

    >>> print(text("Two", ["a", "longer"], [["1", "2"], ["333", "4"]]))
    Two
    a    longer
    1    2
    333  4
    """
    drawn = [list(map(_short, row)) for row in (columns, *rows[:MOST_ROWS])]
    widths = [max(map(len, cells)) for cells in zip(*drawn, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in drawn
    ]
    more = [f"and {len(rows) - MOST_ROWS:,} more"] if len(rows) > MOST_ROWS else []
    return "\n".join([title, *lines, *more])


def _table(title: str, header: str, rows: Sequence[str]) -> str:
    return f"<table><caption>{_text(title)}</caption>{header}<tbody>{''.join(rows)}</tbody></table>"


def _text(text: str) -> str:
    return escape(_short(text))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
