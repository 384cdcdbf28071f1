"""A table of text, for the terminal and for reports."""

from dataclasses import dataclass

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """A table of text. The first columns are names and set left, the others numbers and set right."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    names: int = 1
    note: str = ""
