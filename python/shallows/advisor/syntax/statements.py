"""A configuration as statements, each with the sections it stands in and its line."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from shallows.bounded import quoted
from shallows.errors import ShallowsError

MOST_LINES, LONGEST_LINE, DEEPEST = 1 << 18, 1 << 14, 64
"""Of a configuration: 2,000 ports of a hundred lines each, of some hundred characters, ten sections deep."""

MOST_STATEMENTS = MOST_LINES
"""That lines stand for, where lists, ranges and groups make several of one."""


@dataclass(frozen=True)
class Statement:
    """One thing that a configuration says."""

    line: int
    """Where it stands, from 1."""
    words: tuple[str, ...]
    """What it says, in words."""
    sections: tuple[str, ...] = ()
    """What it stands in, from outside, each as it is written."""

    @cached_property
    def text(self) -> str:
        """Its words as one."""
        return " ".join(self.words)

    @property
    def is_plain(self) -> bool:
        """Whether each word is one: no quotation makes one of several, or of none.

        >>> Statement(1, ("interface", "a b")).is_plain, Statement(1, ("interface", "a")).is_plain
        (False, True)
        """
        return all(len(word.split()) == 1 for word in self.words)

    def after(self, *start: str) -> tuple[str, ...] | None:
        """The words after these, with which it may start.

        >>> Statement(1, ("qos", "trust", "dscp")).after("qos", "trust")
        ('dscp',)
        """
        return self.words[len(start) :] if self.words[: len(start)] == start else None


def numbered(text: str, name: str) -> Iterator[tuple[int, str]]:
    """The lines of a text that say something, without blanks at their ends, and their numbers.

    Raises
    ------
    ShallowsError
        If there are too many, one is too long, or one holds a NUL, as no text does.
    """
    for number, line in enumerate(text.split("\n"), 1):
        if number > MOST_LINES:
            raise ShallowsError(
                f"{name} has more than {MOST_LINES:,} lines",
                "keep those of quality of service, and try again",
            )
        if len(line) > LONGEST_LINE:
            raise refusal(
                name, number, f"it has {len(line):,} characters, where {LONGEST_LINE:,} are the most"
            )
        if "\x00" in line:
            raise refusal(name, number, "it holds a NUL character, as no configuration does")
        if line.strip():
            yield number, line.rstrip()


def refusal(name: str, line: int, what: str, remedy: str = "mend that line, or remove it") -> ShallowsError:
    """What is wrong with a line.

    >>> print(refusal("leaf1.cfg", 7, "a brace is closed that none opens"))
    leaf1.cfg:7: a brace is closed that none opens
      mend that line, or remove it
    """
    return ShallowsError(f"{name}:{line}: {what}", remedy)


def too_many(name: str, line: int, what: str) -> ShallowsError:
    """More statements than any configuration has."""
    return refusal(
        name, line, f"{what} make more than {MOST_STATEMENTS:,} statements", "give one switch, and name fewer"
    )


def too_deep(name: str, line: int) -> ShallowsError:
    """Sections within sections, as no vendor has them."""
    return refusal(name, line, f"its sections are more than {DEEPEST} deep")


def spans(text: str) -> list[int] | None:
    """The numbers in a list of ranges; nothing if it is none, or one of more than 4,096.

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
    """Words as a message can hold them."""
    return quoted(" ".join(words))
