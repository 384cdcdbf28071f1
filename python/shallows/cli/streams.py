"""Standard output and standard error, on which nothing that others named moves a terminal's cursor.

Names come from files, options and results. A terminal must not take them for commands, and JSON must keep
them: a control character is written as JSON escapes it, with its number.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_COMMANDS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tabs and line feeds, DEL, and C1: ECMA-48 §5
    r"\u2028\u2029"  # end lines
    r"\u202a-\u202e\u2066-\u2069"  # turn the order of letters: Unicode UAX 9, §2
    r"\ud800-\udfff]"  # bytes of a file's name that are no UTF-8 (PEP 383)
)


def escaped(text: str) -> str:
    r"""A text in which nothing commands a terminal.

    >>> escaped("\x1b[31mred\n")
    '\\u001b[31mred\n'
    """
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@contextmanager
def escaping() -> Iterator[None]:
    """Within, all that is printed is escaped; `below` gives the streams to what escapes by itself."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Escaping(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def below(stream: TextIO) -> TextIO:
    """The stream that is written to in the end."""
    return stream.stream if isinstance(stream, _Escaping) else stream


class _Escaping:
    """A stream that escapes what is written to it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(escaped(text))

    def writelines(self, lines: list[str]) -> None:
        self.stream.writelines(map(escaped, lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
