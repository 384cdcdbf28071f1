"""Lines of foreign text files: exact numbers, and errors with file and line."""

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
"""Latest start in picoseconds: a day."""

MOST_LINES, LONGEST_LINE = 1 << 22, 1 << 20
"""Largest number of lines, and longest line in bytes: one line may list 131,072 switches."""


class Line(NamedTuple):
    """A line that is neither empty nor a comment, split into words."""

    file: Path
    number: int
    words: list[str]

    def error(self, message: str, remedy: str) -> ShallowsError:
        """Return an error about this line."""
        return ShallowsError(f"{self.file}:{self.number}: {message}", remedy)

    def expect(self, count: int, form: str) -> None:
        """Raise an error unless the line has this many words."""
        if len(self.words) != count:
            raise self.error(
                f"the line must have {count} words, got {len(self.words)}", f"write the line as {form}"
            )

    def whole(self, name: str, text: str, least: int = 0, most: int = 2**63 - 1) -> int:
        """Parse a whole number within a range."""
        number = bounded.whole(text, least, most)
        if number is None:
            raise self.error(
                f"{name} must be a whole number from {least} to {most}, got {quoted(text)}",
                "correct the number",
            )
        return number

    def decimal(self, name: str, text: str) -> Decimal:
        """Parse a non-negative number exactly; digits and exponent are bounded by `MOST_DIGITS`."""
        try:
            number = bounded.decimal(text)
        except ValueError as error:
            raise self.error(f"{name} {quoted(text)} {error}", "write a number of at least 0") from None
        if number < 0:
            raise self.error(f"{name} must be at least 0, got {quoted(text)}", "correct the number")
        return number

    def picoseconds(self, name: str, text: str, unit_ps: int) -> int:
        """Parse a time in units of `unit_ps`; it must be a whole number of picoseconds."""
        time = EXACT.multiply(self.decimal(name, text), Decimal(unit_ps))
        if time != int(time):
            raise self.error(
                f"{name} must be a whole number of picoseconds, got {quoted(text)}",
                "round the time to picoseconds",
            )
        if time > LATEST:
            raise self.error(
                f"{name} must be at most a day (86400 s), got {quoted(text)}", "write a shorter time"
            )
        return int(time)

    def rate(self, text: str) -> int:
        """Parse a rate in ns-3's notation (`100Gbps`, `100Gb/s` or plain bit/s); return bits per second."""
        found = re.fullmatch(r"([0-9.eE+]+?)(?:([kKMGT]?)(b|B)(?:ps|/s))?", text)
        if found is None:
            raise self.error(
                f"{quoted(text)} is not a rate",
                "write a rate such as 100Gbps, or a number of bits per second",
            )
        power = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}[found[2] or ""]
        unit = 10**power * (8 if found[3] == "B" else 1)
        rate = EXACT.multiply(self.decimal("the rate", found[1]), Decimal(unit))
        if rate != int(rate) or not 10**6 <= rate <= 10**14:
            raise self.error(
                f"a rate must be whole bits per second, from 1 Mbps to 100 Tbps, got {quoted(text)}",
                "correct the rate",
            )
        return int(rate)

    def time(self, name: str, text: str) -> int:
        """Parse a time in ns-3's notation (`0.001ms`, `1us`, or plain seconds); return picoseconds."""
        found = re.fullmatch(r"([0-9.eE+-]+?)(s|ms|us|ns|ps)?", text)
        if found is None:
            raise self.error(
                f"{name} {quoted(text)} is not a time", "write a time such as 1us, 0.001ms or 1000ns"
            )
        units = {"s": 12, "ms": 9, "us": 6, "ns": 3, "ps": 0}
        return self.picoseconds(name, found[1], 10 ** units[found[2] or "s"])


class Block(NamedTuple):
    """Consecutive lines of a file."""

    file: Path
    number: int
    """Number of the first line."""
    texts: list[str]

    def lines(self, comment: str | None = None) -> Iterator[Line]:
        """Yield the lines that are neither empty nor comments."""
        for number, text in enumerate(self.texts, start=self.number):
            words = text.split()
            if words and not (comment and words[0].startswith(comment)):
                yield Line(self.file, number, words)

    def halves(self) -> tuple["Block", "Block"]:
        """Divide the block into two halves."""
        half = len(self.texts) // 2
        return self._replace(texts=self.texts[:half]), Block(self.file, self.number + half, self.texts[half:])


def read_blocks(path: Path) -> Iterator[Block]:
    """Read the lines of a text file block by block.

    Raises
    ------
    ShallowsError
        If the file cannot be read, is not UTF-8 text, or exceeds the bounds.
    """
    remedy = "divide the file, or name another file"
    number = 1
    for texts in bounded.read_blocks(path, remedy=remedy, longest=LONGEST_LINE, most=LARGEST_LIST):
        allowed = MOST_LINES + 1 - number
        yield Block(path, number, texts[:allowed])
        if len(texts) > allowed:
            raise ShallowsError(f"{path} must have at most {MOST_LINES} lines", remedy)
        number += len(texts)


def read_lines(path: Path, comment: str | None = None) -> Iterator[Line]:
    """Read the lines of a text file one by one, without empty lines and comments.

    Raises
    ------
    ShallowsError
        As for `read_blocks`.
    """
    for block in read_blocks(path):
        yield from block.lines(comment)
