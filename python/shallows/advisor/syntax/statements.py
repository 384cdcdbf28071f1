"""A configuration as statements, each with its sections and line."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from shallows.bounded import quoted
from shallows.errors import ShallowsError

MOST_LINES, LONGEST_LINE, DEEPEST = 1 << 18, 1 << 14, 64
"""Largest number of lines, longest line in characters, and deepest nesting. Real configurations have up to
2,000 ports with a hundred lines each, some hundred characters per line, and ten levels.
"""

MOST_STATEMENTS = MOST_LINES
"""Maximum number of statements after expansion of lists, ranges and groups."""


@dataclass(frozen=True)
class Statement:
    """One statement of a configuration."""

    line: int
    """Line number, from 1."""
    words: tuple[str, ...]
    """Words of the statement."""
    sections: tuple[str, ...] = ()
    """Enclosing sections, the outermost first, as written."""

    @cached_property
    def text(self) -> str:
        """Return the words of the statement as one text."""
        return " ".join(self.words)

    @property
    def is_plain(self) -> bool:
        """Return whether no word needs quotation marks.

        >>> Statement(1, ("interface", "a b")).is_plain, Statement(1, ("interface", "a")).is_plain
        (False, True)
        """
        return all(len(word.split()) == 1 for word in self.words)

    def after(self, *start: str) -> tuple[str, ...] | None:
        """Return the words after `start`; None if the statement does not start with them.

        >>> Statement(1, ("qos", "trust", "dscp")).after("qos", "trust")
        ('dscp',)
        """
        return self.words[len(start) :] if self.words[: len(start)] == start else None


def numbered(text: str, name: str) -> Iterator[tuple[int, str]]:
    """Yield each non-empty line of a text with its number; trailing blanks are removed.

    Raises
    ------
    ShallowsError
        If there are too many lines, or one is too long or contains a NUL.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if number > MOST_LINES:
            raise ShallowsError(
                f"{name} must have at most {MOST_LINES:,} lines",
                "keep the lines about quality of service, and repeat the command",
            )
        if len(line) > LONGEST_LINE:
            raise refusal(
                name, number, f"a line must have at most {LONGEST_LINE:,} characters, got {len(line):,}"
            )
        if "\x00" in line:
            raise refusal(name, number, "the line must not contain a NUL character")
        if line.strip():
            yield number, line.rstrip()


def refusal(name: str, line: int, what: str, remedy: str = "correct or remove the line") -> ShallowsError:
    """Return the error for a line.

    >>> print(refusal("leaf1.cfg", 7, "a closing brace has no opening brace"))
    leaf1.cfg:7: a closing brace has no opening brace
      correct or remove the line
    """
    return ShallowsError(f"{name}:{line}: {what}", remedy)


def too_many(name: str, line: int, what: str) -> ShallowsError:
    """Return the error for more statements than any configuration has."""
    return refusal(
        name,
        line,
        f"{what} must expand to at most {MOST_STATEMENTS:,} statements",
        "name the file of one switch, and shorten its lists",
    )


def too_deep(name: str, line: int) -> ShallowsError:
    """Return the error for sections that are nested too deeply."""
    return refusal(name, line, f"sections must be nested at most {DEEPEST} levels deep")


def spans(text: str) -> list[int] | None:
    """Expand a list of ranges of numbers; None if it is invalid or has more than 4,096 numbers.

    >>> spans("0-2,5"), spans("7"), spans("x"), spans("0-99999")
    ([0, 1, 2, 5], [7], None, None)
    """
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = [first, last if dash else first]
        if not all(end.isascii() and end.isdecimal() and len(end) < 6 for end in ends):
            return None
        low, high = map(int, ends)
        if not low <= high < low + 4096:
            return None
        found += range(low, high + 1)
        if len(found) > 4096:
            return None
    return found


def shown(words: tuple[str, ...]) -> str:
    """Format words for a message."""
    return quoted(" ".join(words))
