"""Bounded input: regular files of limited size, and numbers of limited length.

These functions read all external input. No file can block the process or exhaust its memory, and no number
takes minutes to parse. Input beyond a bound raises an error that names its place and a remedy.
"""

import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Iterator
from decimal import Context, Decimal
from pathlib import Path
from typing import IO, Any

from shallows.errors import ShallowsError

LARGEST_DOCUMENT = 1 << 26
"""Largest scenario, claims file or result document, in bytes. Real files are hundreds of times smaller."""

LARGEST_LIST = 1 << 28
"""Largest list of flows or links, in bytes: four million lines of 64 characters."""

LARGEST_INPUT = 1 << 30
"""Largest file that a scenario names, in bytes; the engine has the same limit."""

MOST_DIGITS = 40
"""Maximum number of digits of a number, and largest exponent of ten (128-bit numbers have 39 digits)."""

EXACT = Context(prec=4 * MOST_DIGITS)
"""Context for decimal arithmetic; the product of two numbers within the bounds is exact."""

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?", re.ASCII)


def read_bytes(path: str | Path, *, remedy: str, most: int = LARGEST_DOCUMENT) -> bytes:
    """Read a regular file.

    Parameters
    ----------
    path
        Path of the file.
    remedy
        Remedy in the error if the file cannot be read.
    most
        Largest size in bytes.

    Raises
    ------
    ShallowsError
        If `path` is not a regular file, or the file is too long or cannot be read.
    """
    try:
        with _open(path, remedy) as file:
            # Some kernel files have size 0 and never end, so the read itself is bounded.
            contents: bytes | None = file.read(most + 1)
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        raise _unreadable(path, error, remedy) from None
    if contents is None:
        raise ShallowsError(f"{path} cannot be read: the pipe is empty and has an open writer", remedy)
    if len(contents) > most:
        raise _too_large(path, most, remedy)
    return contents


def read_blocks(
    path: str | Path, *, remedy: str, longest: int, most: int = LARGEST_DOCUMENT
) -> Iterator[list[str]]:
    """Read the lines of a UTF-8 text file block by block, so that a long file takes little memory.

    Parameters
    ----------
    path
        Path of the file.
    remedy
        Remedy in the error if the file cannot be read.
    longest
        Longest line in bytes.
    most
        Largest size of the file in bytes.

    Yields
    ------
    list of str
        Lines without line ends.

    Raises
    ------
    ShallowsError
        As for `read_text`, and if a line is too long.
    """
    read, number, begun = 0, 1, b""
    try:
        with _open(path, remedy) as file:
            while contents := file.read(BLOCK):
                contents = begun + contents
                if read + len(contents) > most:
                    raise _too_large(path, most, remedy)
                end = contents.rfind(b"\n") + 1
                whole, begun = contents[:end], contents[end:]
                _refuse_long(path, whole, number, longest, remedy)
                yield _text(path, whole, read, remedy).splitlines()
                number += whole.count(b"\n")
                read += end
                _refuse_long(path, begun, number, longest, remedy)
        yield _text(path, begun, read, remedy).splitlines()
    except (OSError, ValueError) as error:
        raise _unreadable(path, error, remedy) from None


BLOCK = 1 << 16
"""Size in bytes of the blocks of `read_blocks`."""


def _refuse_long(path: str | Path, contents: bytes, number: int, longest: int, remedy: str) -> None:
    """Raise an error if a line has more than `longest` bytes; `number` is the first line's number."""
    if len(contents) <= longest:
        return
    for place, line in enumerate(contents.split(b"\n")):
        if len(line) > longest:
            raise ShallowsError(
                f"{path}:{number + place}: the line must have at most {longest} bytes, got {len(line)}",
                remedy,
            )


def _open(path: str | Path, remedy: str) -> IO[bytes]:
    _refuse_special(Path(path), remedy)
    # Non-blocking, because a FIFO may have replaced the file since the check.
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _unreadable(path: str | Path, error: Exception, remedy: str) -> ShallowsError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ShallowsError(f"{path} cannot be read: {reason}", remedy)


def _too_large(path: str | Path, most: int, remedy: str) -> ShallowsError:
    return ShallowsError(f"{path} cannot be read: the file must have at most {most >> 20} MiB", remedy)


def _text(path: str | Path, contents: bytes, place: int, remedy: str) -> str:
    """Decode bytes at the offset `place` of a file; remove a byte-order mark at the start of the file."""
    try:
        return contents.decode("utf-8-sig" if place == 0 else "utf-8")
    except UnicodeDecodeError as error:
        raise ShallowsError(
            f"{path} must be UTF-8 text; byte {place + error.start} is invalid", remedy
        ) from None


def _refuse_special(path: Path, remedy: str) -> None:
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return
    kinds = {
        stat.S_IFDIR: ("a folder", remedy),
        stat.S_IFIFO: ("a pipe", "write the output of the pipe to a file, and name the file"),
        stat.S_IFSOCK: ("a socket", remedy),
    }
    kind, remedy = kinds.get(stat.S_IFMT(mode), ("a device", remedy))
    raise ShallowsError(f"{path} must be a file, but is {kind}", remedy)


def folder_of(path: str | Path) -> Path:
    """Return the path of a folder, which need not exist yet.

    Raises
    ------
    ShallowsError
        If the path is neither text nor a `Path`, has a control character, is not UTF-8, or is too long.
    """
    if not isinstance(path, str | Path):
        raise ShallowsError(
            f"a folder must be named by a string or a Path, got {path!r} ({type(path).__name__})",
            "pass the path of the folder",
        )
    text, folder = str(path), Path(path)
    if re.search(r"[\x00-\x1f\x7f-\x9f]", text):
        raise ShallowsError(
            f"the name of a folder must not have control characters, got {printable(text)!r}",
            "use letters, digits and - _ . /",
        )
    if re.search(r"[\ud800-\udfff]", text):  # PEP 383: bytes that are not UTF-8; the engine rejects them
        raise ShallowsError(
            f"the name of a folder must be UTF-8, got {text.encode(errors='replace').decode()!r}",
            "use letters, digits and - _ . /",
        )
    try:
        folder.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            shown = text if len(text) <= 60 else f"{text[:60]}…"
            raise ShallowsError(
                f"the name {shown} is too long for the system: {len(text):,} characters",
                "use a shorter name; most systems allow 255 characters",
            ) from None
    return folder


def is_folder(path: Path) -> bool:
    """Return whether a folder exists at this path; false for names that the system rejects."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Return whether a regular file exists at this path; false for names that the system rejects."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_text(path: str | Path, *, remedy: str, most: int = LARGEST_DOCUMENT) -> str:
    """Read the text of a regular file in UTF-8, without the byte-order mark that some editors write.

    Raises
    ------
    ShallowsError
        As for `read_bytes`, and if the file is not UTF-8.
    """
    return _text(path, read_bytes(path, remedy=remedy, most=most), 0, remedy)


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML document.

    Raises
    ------
    ValueError
        If the document is not valid TOML, has a number of thousands of digits, or is nested thousands of
        levels deep.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("lists or tables are nested too deeply") from None


def parse_json(text: str, of_object: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """Parse a JSON document; `of_object`, if given, converts each object.

    Raises
    ------
    ValueError
        If the document is not valid JSON.
    """
    try:
        return json.loads(text, object_hook=of_object)
    except RecursionError:
        raise ValueError("lists or objects are nested too deeply") from None


def whole(text: str, least: int = 0, most: int = 2**63 - 1) -> int | None:
    """Parse a whole number within a range, in digits only; return None for other text.

    >>> whole("0042"), whole("-1"), whole("9" * 5_000)
    (42, None, None)
    """
    # `int` rejects texts of thousands of digits, and is slow for long ones.
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        return None
    number = int(text)
    return number if least <= number <= most else None


def decimal(text: str) -> Decimal:
    """Parse a decimal number exactly.

    >>> decimal("1.50"), decimal("-2e3")
    (Decimal('1.50'), Decimal('-2E+3'))

    Raises
    ------
    ValueError
        If the text is not a number, or exceeds `MOST_DIGITS`; the message names the reason.
    """
    found = _DECIMAL.fullmatch(text)
    if found is None:
        raise ValueError("is not a number")
    digits, exponent = found[1], found[2] or "0"
    if len(digits) > MOST_DIGITS + 1 or len(exponent) > 4 or abs(int(exponent)) > MOST_DIGITS:
        raise ValueError(f"must have at most {MOST_DIGITS} digits and an exponent of at most {MOST_DIGITS}")
    return Decimal(text)


def quoted(text: str) -> str:
    """Quote a text for a message; cut it after 40 characters.

    >>> quoted("a" * 50)
    '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"'
    """
    return f'"{printable(text if len(text) <= 40 else text[:40] + "…")}"'


def printable(text: str) -> str:
    r"""Replace characters that move a terminal's cursor or change its colours.

    >>> printable("\x1b[31mred")
    '�[31mred'
    """
    return "".join(
        letter if letter.isprintable() or letter == "\t" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
