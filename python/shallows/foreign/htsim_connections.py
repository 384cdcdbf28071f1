"""Connection lines of htsim's matrices: usual lines are read in blocks, unusual lines word by word."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from shallows.bounded import quoted
from shallows.foreign.columns import Columns
from shallows.foreign.ignoring import Ignored, LeftOut, how_to_ignore
from shallows.foreign.reading import LATEST, Line
from shallows.foreign.shapes import Shape

if TYPE_CHECKING:
    from shallows.foreign.shapes import Numbers

KNOWN = ["start", "size", "id", "msg", "trigger", "send_done_trigger", "recv_done_trigger"]
LOST = {"prio": 1, "addon": 0}
"""Words of connection lines that scenarios have no counterpart for, with the number of their values."""
WHY = {
    "prio": "priorities of a receiver's pulls are not modelled",
    "addon": "bytes that are added to a running flow are not modelled",
    "failure": "failures of links and switches are not modelled",
}
"""Dictionary that maps words without a counterpart in scenarios to the reason."""
MOST_HOSTS = MOST_SIGNALS = 2**32 - 1
FIELDS = {
    "size": (0, 1 << 50),
    "start": (0, LATEST),
    "id": (1, 2**63 - 1),
    "trigger": (1, MOST_SIGNALS),
    "send_done_trigger": (1, MOST_SIGNALS),
    "recv_done_trigger": (1, MOST_SIGNALS),
}
"""Words that are followed by a number, with its smallest and largest value; ordered as in `Connection`."""
BOUNDS = {"source": (0, MOST_HOSTS), "destination": (0, MOST_HOSTS), **FIELDS}
"""Smallest and largest value of each number of a connection."""
NAMED = list(FIELDS)[2:]
"""Words of a connection line that are followed by the number of a flow or trigger."""
LARGEST_HTSIM = 2**31 - 1
FLOAT = struct.Struct("f")


class Connection(NamedTuple):
    """A connection line: one flow."""

    line: int
    source: int
    destination: int
    size: int
    """Size in bytes; 0 if unbounded."""
    start: int
    """Start in the file's unit, rounded down; 0 for flows that wait for a trigger."""
    is_message: bool = False
    id: int = 0
    """Number of the flow or connection; 0 means no number. In the fields of triggers, 0 means no trigger."""
    trigger: int = 0
    send_done_trigger: int = 0
    recv_done_trigger: int = 0


@dataclass
class Starts:
    """Statistics of exact start times, including the fractions that `Connection` omits."""

    latest: Decimal | int = 0
    inexact: int = 0
    """Number of starts that htsim misreads by 1 or more, because it reads them as 32-bit floats."""
    most_off: tuple[Decimal | int, int] = (0, 0)
    """Largest deviation of a start as a 32-bit float, and the number of its line."""

    def add(self, start: Decimal | int, line: int) -> None:
        """Include a start time in the statistics."""
        if start > self.latest:
            self.latest = start
        if start < 1 << 24:  # rounding is off by less than 1
            return
        (read,) = FLOAT.unpack(FLOAT.pack(start))
        gap: Decimal | int = abs(int(read) - start) if isinstance(start, int) else abs(Decimal(read) - start)
        if gap >= 1:
            self.inexact += 1
            self.most_off = max(self.most_off, (gap, line))

    def add_whole(self, starts: "Numbers", lines: "Numbers") -> None:
        """Add start times that are whole numbers to the statistics."""
        self.latest = max(self.latest, int(starts.max()))
        gaps = abs(
            starts.astype("d").astype("f").astype("q") - starts
        )  # rounds 64-bit floats, as `FLOAT` does
        if gaps.any():
            self.inexact += int((gaps > 0).sum())
            worst = gaps.max()
            self.most_off = max(self.most_off, (int(worst), int(lines[gaps == worst].max())))


class ConnectionReader:
    """Reader of connection lines; lines of a usual shape are read in blocks, others word by word."""

    def __init__(self, ignored: Ignored, left_out: LeftOut) -> None:
        self.rows = Columns(Connection, "IIIqqbqIII")
        self.starts = Starts()
        self.too_large = 0
        """Line of the first size that htsim cannot read; 0 if there is none."""
        self._ignored, self._left_out = ignored, left_out

    def add(self, fields: Mapping[str, "Numbers"]) -> None:
        """Add connections that were read as a block."""
        lines, sizes = fields["line"], fields["size"]
        starts = fields.get("start", 0 * lines)  # absent if all flows of the block wait for triggers
        self.rows.extend({**fields, "start": starts})
        self.starts.add_whole(starts, lines)
        if not self.too_large and (large := lines[sizes > LARGEST_HTSIM]).size:
            self.too_large = int(large[0])

    def read(self, line: Line) -> None:
        """Read a line word by word."""
        connection, start = _word_by_word(line, self._ignored, self._left_out)
        self.rows.append(connection)
        self.starts.add(start, line.number)
        if connection.size > LARGEST_HTSIM and not self.too_large:
            self.too_large = line.number


def shape(form: str) -> Shape | None:
    """Return the shape of connection lines of one form; None if they must be read word by word.

    A form is a line with 0 in place of each number; the shape states the meaning of each number.

    >>> shape("0->0 id 0 start 0 size 0").names
    ('source', 'destination', 'id', 'start', 'size')
    """
    pair, *words = form.split() or [""]
    names = words[::2]
    if pair != "0->0" or set(words[1::2]) != {"0"} or len(words) % 2:
        return None
    if not set(names) <= {*FIELDS, "msg"} or len(set(names)) < len(names):
        return None
    if "size" not in names or ("start" in names) == ("trigger" in names):
        return None
    constants = {"is_message": 1} if "msg" in names else {}
    return Shape(
        Connection, ("source", "destination", *("" if name == "msg" else name for name in names)), constants
    )


def _word_by_word(line: Line, ignored: Ignored, left_out: LeftOut) -> tuple[Connection, Decimal | int]:
    """Return a connection, and its start as written in the file."""
    ends = line.words[0].split("->")
    if len(ends) != 2:
        raise line.error(f'"{line.words[0]}" is not a pair of hosts', "write a pair such as 0->1")
    values = _values(line, ignored, left_out)
    if "size" not in values:
        raise line.error("the flow's size is missing", "add `size BYTES`")
    if ("start" in values) == ("trigger" in values):
        raise line.error("a flow must have either start or trigger", "keep or add one of the two words")
    start = _start(line, values.get("start", "0"))
    if start > LATEST:
        raise line.error(
            f"start must be at most a day, got {values['start'][:40]}", "write an earlier start time"
        )
    size = line.whole("size", values["size"], *FIELDS["size"])
    named = [line.whole(name, values[name], *FIELDS[name]) if name in values else 0 for name in NAMED]
    source = line.whole("source", ends[0], 0, MOST_HOSTS)
    destination = line.whole("destination", ends[1], 0, MOST_HOSTS)
    # connection_matrix.cpp truncates starts to whole numbers of the unit
    return Connection(line.number, source, destination, size, int(start), "msg" in values, *named), start


def _start(line: Line, text: str) -> Decimal | int:
    """Parse a start exactly; `int` is faster for whole numbers, the usual case."""
    return (
        int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else line.decimal("start", text)
    )


def _values(line: Line, ignored: Ignored, left_out: LeftOut) -> dict[str, str]:
    """Return the words of a connection with their values, without words that are left out."""
    values: dict[str, str] = {}
    words = line.words[1:]
    while words:
        word = words.pop(0)
        if word in KNOWN:
            if word in values:
                raise line.error(f'the flow has "{word}" twice', "remove one of the two")
            # The number of a message is optional.
            alone = word == "msg" and not (words and words[0].isdecimal())
            value = "" if alone or not words else words.pop(0)
            if word in ignored.keys:
                leave_out(word, line, ignored, left_out)
            else:
                values[word] = value
        else:
            leave_out(word, line, ignored, left_out)
            del words[: LOST[word] if word in LOST else _until_known(words)]
    return values


def _until_known(words: list[str]) -> int:
    """Return the number of values after an unknown word: all words before the next known word are values."""
    return next((place for place, word in enumerate(words) if word in KNOWN or word in LOST), len(words))


def leave_out(word: str, line: Line, ignored: Ignored, left_out: LeftOut) -> None:
    """Record a word that is left out; raise an error unless the user has listed it in `ignored`."""
    if word in ignored:
        left_out.add(word, line.number)
    elif word in WHY:
        raise line.error(f"{word}: {WHY[word]}", f"remove {word}, or import without it: --ignore {word}")
    else:
        known = ", ".join([*KNOWN, *LOST])
        remedy = f"the words are: {known}; or import without it: {how_to_ignore(word)}"
        raise line.error(f"unknown word {quoted(word)}", remedy)
