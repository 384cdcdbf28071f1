"""Lines of a file that others wrote: exact numbers, and errors that name file and line."""

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from shallows import bounded
from shallows.bounded import EXACT, LARGEST_LIST, quoted
from shallows.errors import ShallowsError

PS_PER_S = 10**12
LATEST = 86_400 * PS_PER_S
"""The latest start in picoseconds: a day."""

MOST_LINES, LONGEST_LINE = 1 << 22, 1 << 20
"""Of a file, and characters of one: 131,072 switches stand in a line."""


class Line(NamedTuple):
    """A line that says something."""

    file: Path
    number: int
    words: list[str]

    def error(self, message: str, remedy: str) -> ShallowsError:
        """What is wrong with it."""
        return ShallowsError(f"{self.file}:{self.number}: {message}", remedy)

    def expect(self, count: int, form: str) -> None:
        """Raise unless it has so many words."""
        if len(self.words) != count:
            raise self.error(f"{len(self.words)} words where {count} are expected", f"write it as {form}")

    def whole(self, name: str, text: str, least: int = 0, most: int = 2**63 - 1) -> int:
        """A whole number in a range."""
        number = bounded.whole(text, least, most)
        if number is None:
            raise self.error(f"{name} {quoted(text)} is no such number", f"a whole number, {least} to {most}")
        return number

    def decimal(self, name: str, text: str) -> Decimal:
        """A number that is not negative, exactly as written; it and its exponent have at most 40 digits."""
        try:
            number = bounded.decimal(text)
        except ValueError as error:
            raise self.error(f"{name} {quoted(text)} {error}", "write one that is not negative") from None
        if number < 0:
            raise self.error(f"{name} {quoted(text)} is negative", "write one that is not")
        return number

    def picoseconds(self, name: str, text: str, unit_ps: int) -> int:
        """A time in units of so many picoseconds, which must come out even."""
        time = EXACT.multiply(self.decimal(name, text), Decimal(unit_ps))
        if time != int(time):
            raise self.error(f"{name} {quoted(text)} is no whole number of picoseconds", "round it")
        if time > LATEST:
            raise self.error(f"{name} {quoted(text)} is longer than a day", "times are up to 86400 s")
        return int(time)

    def rate(self, text: str) -> int:
        """Bits per second of a rate as ns-3 has it: `100Gbps`, `100Gb/s`, or bits per second alone."""
        found = re.fullmatch(r"([0-9.eE+]+?)(?:([kKMGT]?)(b|B)(?:ps|/s))?", text)
        if found is None:
            raise self.error(f"{quoted(text)} is no rate", "write it as 100Gbps, or in bits per second")
        power = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}[found[2] or ""]
        unit = 10**power * (8 if found[3] == "B" else 1)
        rate = EXACT.multiply(self.decimal("the rate", found[1]), Decimal(unit))
        if rate != int(rate) or not 10**6 <= rate <= 10**14:
            raise self.error(
                f"{quoted(text)} is out of range", "rates are whole bits per second, 1 Mbps to 100 Tbps"
            )
        return int(rate)

    def time(self, name: str, text: str) -> int:
        """Picoseconds of a time as ns-3 has it: `0.001ms`, `1us`, or seconds without a unit."""
        found = re.fullmatch(r"([0-9.eE+-]+?)(s|ms|us|ns|ps)?", text)
        if found is None:
            raise self.error(f"{name} {quoted(text)} is no time", "write it as 1us, 0.001ms or 1000ns")
        units = {"s": 12, "ms": 9, "us": 6, "ns": 3, "ps": 0}
        return self.picoseconds(name, found[1], 10 ** units[found[2] or "s"])


class Block(NamedTuple):
    """Lines of a file in a row."""

    file: Path
    number: int
    """Of the first line."""
    texts: list[str]

    def lines(self, comment: str | None = None) -> Iterator[Line]:
        """Yield the lines that are not empty."""
        for number, text in enumerate(self.texts, start=self.number):
            words = text.split()
            if words and not (comment and words[0].startswith(comment)):
                yield Line(self.file, number, words)

    def halves(self) -> tuple["Block", "Block"]:
        """Return both halves."""
        half = len(self.texts) // 2
        return self._replace(texts=self.texts[:half]), Block(self.file, self.number + half, self.texts[half:])


def read_blocks(path: Path) -> Iterator[Block]:
    """Read the lines of a text file block by block.

    Raises
    ------
    ShallowsError
        If there is no such text file, or it exceeds the bounds.
    """
    remedy = "divide it, or name another file"
    number = 1
    for texts in bounded.read_blocks(path, remedy=remedy, longest=LONGEST_LINE, most=LARGEST_LIST):
        allowed = MOST_LINES + 1 - number
        yield Block(path, number, texts[:allowed])
        if len(texts) > allowed:
            raise ShallowsError(f"{path} has more than {MOST_LINES} lines", remedy)
        number += len(texts)


def read_lines(path: Path, comment: str | None = None) -> Iterator[Line]:
    """Read the lines of a text file that are not empty, one by one.

    Raises
    ------
    ShallowsError
        As `read_blocks`.
    """
    for block in read_blocks(path):
        yield from block.lines(comment)
