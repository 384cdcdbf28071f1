"""Tables of text, for the terminal and for reports."""

from dataclasses import dataclass, replace

NOTHING = "–"


@dataclass(frozen=True)
class Table:
    """A table of text. The first `names` columns are left-aligned names, the others right-aligned numbers."""

    title: str
    columns: list[str]
    rows: list[list[str]]
    names: int = 1
    note: str = ""

    def turned(self) -> "Table":
        """Return the table with its columns as rows; the first cell of each row names a column.

        Columns with the same value in all rows move to the note.

        >>> Table("", ["", "a", "b"], [["x", "1", "2"], ["y", "3", "3"]]).turned()
        Table(title='', columns=['', 'x'], rows=[['a', '1'], ['b', '2']], names=1, note='All have y: 3.')
        """
        names, *rows = zip(self.columns, *self.rows, strict=True)
        alike = {place for place in range(1, len(names)) if len({row[place] for row in rows}) == 1}
        kept = [place for place in range(len(names)) if place not in alike]
        said = "; ".join(f"{names[place].strip()}: {rows[0][place]}" for place in sorted(alike))
        return replace(
            self,
            columns=[names[place].strip() for place in kept],
            rows=[[row[place] for place in kept] for row in rows],
            names=1,
            note=" ".join(filter(None, [f"All have {said}." if said else "", self.note])),
        )
