"""Lines of connections of htsim's matrices: many together, and word by word what is out of the usual."""

import struct
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from operator import itemgetter, sub
from typing import NamedTuple

from shallows.bounded import MOST_DIGITS, quoted
from shallows.foreign.columns import TOGETHER, Columns
from shallows.foreign.ignoring import Ignored, LeftOut, how_to_ignore
from shallows.foreign.reading import PS_PER_S, Line

KNOWN = ["start", "size", "id", "msg", "trigger", "send_done_trigger", "recv_done_trigger"]
LOST = {"prio": 1, "addon": 0}
"""Words of a connection without a counterpart, and how many values follow them."""
WHY = {
    "prio": "it orders the pulls of receivers, which are not modelled; size alone decides here",
    "addon": "it adds to a flow that runs already, which is not modelled",
    "failure": "links do not fail here",
}
"""Why words have no counterpart."""
MOST_HOSTS = MOST_SIGNALS = 2**32 - 1
LATEST = 86_400 * PS_PER_S
FIELDS = {
    "size": (0, 1 << 50),
    "start": (0, LATEST),
    "id": (1, 2**63 - 1),
    "trigger": (1, MOST_SIGNALS),
    "send_done_trigger": (1, MOST_SIGNALS),
    "recv_done_trigger": (1, MOST_SIGNALS),
}
"""Words with a number and the least and the largest, in the order of `Connection`."""
NAMED = list(FIELDS)[2:]
"""Those that name flows and triggers."""
LARGEST_HTSIM = 2**31 - 1
FLOAT = struct.Struct("f")


class Connection(NamedTuple):
    """A line of a flow."""

    line: int
    source: int
    destination: int
    size: int
    """In bytes; 0 if it never ends."""
    start: int
    """In the unit of the file, of which a part is cut off; of those that wait for a trigger, 0."""
    is_message: bool = False
    id: int = 0
    """0 is none, here and of triggers."""
    trigger: int = 0
    send_done_trigger: int = 0
    recv_done_trigger: int = 0


@dataclass
class Starts:
    """The starts of connections as they stand in the file, of which `Connection` has the whole part."""

    latest: Decimal | int = 0
    inexact: int = 0
    """How many are other numbers as 32-bit floats, as htsim reads them."""
    most_off: tuple[Decimal | int, int] = (0, 0)
    """How far the worst is off, and its line."""

    def add(self, start: Decimal | int, line: int) -> None:
        """Take in a start."""
        if start > self.latest:
            self.latest = start
        if start < 1 << 24:  # off by less than 1
            return
        (read,) = FLOAT.unpack(FLOAT.pack(start))
        gap: Decimal | int = abs(int(read) - start) if isinstance(start, int) else abs(Decimal(read) - start)
        if gap >= 1:
            self.inexact += 1
            self.most_off = max(self.most_off, (gap, line))

    def add_whole(self, starts: Sequence[int], lines: Sequence[int]) -> None:
        """Take in starts that are whole numbers."""
        self.latest = max(self.latest, max(starts))
        gaps = list(map(abs, map(sub, map(int, array("f", starts)), starts)))
        if any(gaps):
            self.inexact += len(gaps) - gaps.count(0)
            self.most_off = max(self.most_off, max(zip(gaps, lines, strict=True)))


class ConnectionReader:
    """Reads the lines of connections in their order.

    Nearly all have words with a number each. Such are gathered, and the texts of a column become numbers
    together, which takes half of the time. Where one of them is no number within its bounds, the gathered
    lines are read word by word, for the error or for what a matrix may have beside.
    """

    def __init__(self, ignored: Ignored, left_out: LeftOut) -> None:
        self.rows = Columns(Connection, "IIIqqbqIII")
        self.starts = Starts()
        self.too_large = 0
        """The line of the first size that htsim cannot read."""
        self._ignored, self._left_out = ignored, left_out
        self._gathered: list[tuple[Line, tuple[str, ...]]] = []

    def read(self, line: Line) -> None:
        """Read a line, now or with others."""
        texts = None if self._ignored.keys else _texts(line.words)
        if texts is None:
            self.finish()
            self._word_by_word(line)
            return
        self._gathered.append((line, texts))
        if len(self._gathered) == TOGETHER:
            self.finish()

    def finish(self) -> None:
        """Read what is gathered."""
        if not self._gathered:
            return
        lines, rows = zip(*self._gathered, strict=True)
        self._gathered.clear()
        columns = _columns(rows)
        if columns is None:
            for line in lines:
                self._word_by_word(line)
            return
        numbers = [line.number for line in lines]
        source, destination, size, start, *named = columns
        self.rows.extend([numbers, source, destination, size, start, [0] * len(numbers), *named])
        self.starts.add_whole(start, numbers)
        if max(size) > LARGEST_HTSIM and not self.too_large:
            self.too_large = next(
                line for line, one in zip(numbers, size, strict=True) if one > LARGEST_HTSIM
            )

    def _word_by_word(self, line: Line) -> None:
        connection, start = _word_by_word(line, self._ignored, self._left_out)
        self.rows.append(connection)
        self.starts.add(start, line.number)
        if connection.size > LARGEST_HTSIM and not self.too_large:
            self.too_large = line.number


def _texts(words: list[str]) -> tuple[str, ...] | None:
    """The pair of hosts and `FIELDS` as a line has them, "" if it lacks one; nothing of another form."""
    form = _form(tuple(words[1::2]))
    if form is None or len(words) % 2 == 0:
        return None
    return form([*words, ""])


@lru_cache(maxsize=64)
def _form(names: tuple[str, ...]) -> Callable[[list[str]], tuple[str, ...]] | None:
    """What takes `_texts` from the words of a line with these names, after which there is a ""."""
    if not set(names) <= set(FIELDS) or len(set(names)) < len(names):
        return None
    if "size" not in names or ("start" in names) == ("trigger" in names):
        return None
    return itemgetter(0, *(2 + 2 * names.index(name) if name in names else -1 for name in FIELDS))


def _columns(rows: Sequence[tuple[str, ...]]) -> list[list[int]] | None:
    """The numbers of these texts by column, first of the two hosts; nothing if one is out of its bounds."""
    pairs, *others = zip(*rows, strict=True)
    ends = [pair.split("->") for pair in pairs]
    if any(len(pair) != 2 or not all(pair) for pair in ends):
        return None
    hosts = [(texts, (0, MOST_HOSTS)) for texts in zip(*ends, strict=True)]
    columns = [_numbers(*each) for each in [*hosts, *zip(others, FIELDS.values(), strict=True)]]
    return None if None in columns else [column for column in columns if column is not None]


def _numbers(texts: Sequence[str], bounds: tuple[int, int]) -> list[int] | None:
    """Whole numbers within bounds, and 0 of what is ""; nothing if one is not."""
    together = "".join(texts)
    if not together:
        return [0] * len(texts)
    lacking = texts.count("")
    if not (together.isdecimal() and together.isascii()):
        return None
    if max(map(len, texts)) > MOST_DIGITS:
        return None
    numbers = [int(text) if text else 0 for text in texts] if lacking else list(map(int, texts))
    least, most = bounds
    return numbers if max(numbers) <= most and (least == 0 or numbers.count(0) == lacking) else None


def _word_by_word(line: Line, ignored: Ignored, left_out: LeftOut) -> tuple[Connection, Decimal | int]:
    """A connection, and its start as it stands in the file."""
    ends = line.words[0].split("->")
    if len(ends) != 2:
        raise line.error(f'"{line.words[0]}" is no pair of hosts', "write it as 0->1")
    values = _values(line, ignored, left_out)
    if "size" not in values:
        raise line.error("no size", "add size BYTES")
    if ("start" in values) == ("trigger" in values):
        raise line.error("neither or both of start and trigger", "give one of them")
    start = _start(line, values.get("start", "0"))
    if start > LATEST:
        raise line.error(f"a start of {values['start'][:40]} is later than a day", "htsim ends long before")
    size = line.whole("size", values["size"], *FIELDS["size"])
    named = [line.whole(name, values[name], *FIELDS[name]) if name in values else 0 for name in NAMED]
    source = line.whole("source", ends[0], 0, MOST_HOSTS)
    destination = line.whole("destination", ends[1], 0, MOST_HOSTS)
    # connection_matrix.cpp: a whole number of the unit, of which a part is cut off
    return Connection(line.number, source, destination, size, int(start), "msg" in values, *named), start


def _start(line: Line, text: str) -> Decimal | int:
    """A start, exactly; most are whole, for which `int` is faster."""
    return (
        int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else line.decimal("start", text)
    )


def _values(line: Line, ignored: Ignored, left_out: LeftOut) -> dict[str, str]:
    """The words of a connection with their values, without those that are passed over."""
    values: dict[str, str] = {}
    words = line.words[1:]
    while words:
        word = words.pop(0)
        if word in KNOWN:
            if word in values:
                raise line.error(f'"{word}" is given twice', f"each once: {', '.join([*KNOWN, *LOST])}")
            # The number of a message may be left out.
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
    """How many words follow one that nobody knows, and are taken for its values."""
    return next((place for place, word in enumerate(words) if word in KNOWN or word in LOST), len(words))


def leave_out(word: str, line: Line, ignored: Ignored, left_out: LeftOut) -> None:
    """Note a word that is passed over, or raise if the user did not say so."""
    if word in ignored:
        left_out.add(word, line.number)
    elif word in WHY:
        raise line.error(f"{word}: {WHY[word]}", f"take it out, or do without it: --ignore {word}")
    else:
        known = ", ".join([*KNOWN, *LOST])
        raise line.error(
            f"{quoted(word)} is not known", f"each once: {known}; or do without: {how_to_ignore(word)}"
        )
