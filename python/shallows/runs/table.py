"""A table of text, for the terminal and for reports."""

from dataclasses import dataclass, replace

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """A table of text. The first columns are names and set left, the others numbers and set right."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    names: int = 1
    note: str = ""

    def turned(self) -> "Table":
        """Return the table with its columns as rows; the first cell of each row names a column.

        >>> Table("", ["", "a", "b"], [["x", "1", "2"]]).turned().rows
        [['a', '1'], ['b', '2']]
        """
        names, *rows = zip(self.columns, *self.rows, strict=True)
        return replace(
            self, columns=[name.strip() for name in names], rows=[list(row) for row in rows], names=1
        )
