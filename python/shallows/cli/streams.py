"""Standard output and standard error with control characters escaped.

Names from files, options and results may contain terminal control sequences. Each control character is
written as a JSON escape with its number, so that terminals ignore it and JSON output keeps it.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_COMMANDS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 except tabs and line feeds, DEL, and C1: ECMA-48 §5
    r"\u2028\u2029"  # end lines
    r"\u202a-\u202e\u2066-\u2069"  # change the direction of text: Unicode UAX 9, §2
    r"\ud800-\udfff]"  # bytes of file names that are not UTF-8 (PEP 383)
)


def escaped(text: str) -> str:
    r"""Return a text with its control characters escaped.

    >>> escaped("\x1b[31mred\n")
    '\\u001b[31mred\n'
    """
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


@contextmanager
def escaping() -> Iterator[None]:
    """Escape all output to standard output and standard error while the context is open.

    Code that escapes its own output writes to the stream that `below` returns.
    """
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Escaping(stream)) for stream in streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams


def below(stream: TextIO) -> TextIO:
    """Return the stream to which an escaping stream writes."""
    return stream.stream if isinstance(stream, _Escaping) else stream


class _Escaping:
    """A stream that escapes control characters before writing to another stream."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        return self.stream.write(escaped(text))

    def writelines(self, lines: list[str]) -> None:
        self.stream.writelines(map(escaped, lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)
