"""Entries that an import leaves out at the user's request."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from shallows.bounded import printable


@dataclass(frozen=True)
class Ignored:
    """Entries to leave out: keys by name, or all entries that have no counterpart.

    >>> "prio" in Ignored(["prio"]), "prio" in Ignored(), "prio" in Ignored(unmodelled=True)
    (True, False, True)
    """

    keys: Sequence[str] = ()
    """Values of `--ignore`."""
    unmodelled: bool = False
    """Value of `--ignore-unmodelled`."""

    def __contains__(self, key: str) -> bool:
        return self.unmodelled or key in self.keys


NOTHING = Ignored()


def how_to_ignore(word: str) -> str:
    """Return the command-line option that leaves out a word of a file.

    >>> how_to_ignore("Queue_Up"), how_to_ignore("$(reboot)")
    ('--ignore Queue_Up', '--ignore-unmodelled')
    """
    return f"--ignore {word}" if re.fullmatch(r"[\w.-]{1,40}", word, re.ASCII) else "--ignore-unmodelled"


@dataclass
class LeftOut:
    """Words of a file that an import leaves out at the user's request.

    >>> left_out = LeftOut()
    >>> left_out.add("prio", 6)
    >>> left_out.add("prio", 7)
    >>> left_out.notes()
    ['left out on request: prio (lines 6, 7)']
    """

    lines: dict[str, "array[int]"] = field(default_factory=dict)
    """Line numbers of each word."""

    def add(self, word: str, line: int) -> None:
        """Add a line with this word."""
        self.lines.setdefault(word, array("I")).append(line)

    def notes(self, prefix: str = "") -> list[str]:
        """Return a note that lists all words; an empty list if there are none."""
        words = {word: word if len(word) <= 40 else f"{word[:40]}…" for word in self.lines}
        found = ", ".join(f"{printable(words[word])} ({listed(lines)})" for word, lines in self.lines.items())
        return [f"{prefix}left out on request: {found}"] if found else []


def listed(numbers: Sequence[int]) -> str:
    """Format line numbers, up to three of them.

    >>> listed([7]), listed([7, 8, 9]), listed([1, 2, 3, 5, 9])
    ('line 7', 'lines 7, 8, 9', 'lines 1, 2, 3 and 2 more')
    """
    shown = ", ".join(map(str, numbers[:3]))
    more = f" and {len(numbers) - 3} more" if len(numbers) > 3 else ""
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{more}"
