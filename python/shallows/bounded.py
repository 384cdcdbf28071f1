"""Bounded input: regular files of limited size, and numbers of limited length.

Everything that is read from outside comes through here, so that no file hangs us or fills the memory, and no
number takes minutes. What exceeds a bound is a user's mistake like any other, with its place and a remedy.
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
"""Bytes of a scenario, of claims, or of a document of results: hundreds of times as long as the longest."""

LARGEST_LIST = 1 << 28
"""Bytes of a list of flows or links: four million lines of 64 characters."""

LARGEST_INPUT = 1 << 30
"""Bytes of a file that a scenario names, as the engine has it."""

MOST_DIGITS = 40
"""Most digits of a number and of its exponent; 2^128 has 39."""

EXACT = Context(prec=4 * MOST_DIGITS)
"""Arithmetic that rounds no product of two numbers within these bounds."""

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?", re.ASCII)


def read_bytes(path: str | Path, *, remedy: str, most: int = LARGEST_DOCUMENT) -> bytes:
    """A regular file.

    Parameters
    ----------
    path
        Its path.
    remedy
        What to do if it cannot be read.
    most
        How long it may be, in bytes.

    Raises
    ------
    ShallowsError
        If it is none, is too long, or cannot be read.
    """
    try:
        with _open(path, remedy) as file:
            # Some files of the kernel say that they are empty and never end.
            contents: bytes | None = file.read(most + 1)
    except (OSError, ValueError) as error:  # a path with a NUL is a ValueError
        raise _unreadable(path, error, remedy) from None
    if contents is None:
        raise ShallowsError(f"{path} cannot be read: nothing is in it yet, and a reader would wait", remedy)
    if len(contents) > most:
        raise _too_large(path, most, remedy)
    return contents


def read_blocks(
    path: str | Path, *, remedy: str, longest: int, most: int = LARGEST_DOCUMENT
) -> Iterator[list[str]]:
    """Read the lines of a text file in UTF-8 block by block, so that a long file takes little memory.

    Parameters
    ----------
    path
        Its path.
    remedy
        What to do if it cannot be read.
    longest
        How long a line may be, in bytes.
    most
        How long the file may be, in bytes.

    Yields
    ------
    list of str
        Lines without their ends.

    Raises
    ------
    ShallowsError
        As `read_text`, and if a line is too long.
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
"""Bytes of a file that `read_blocks` reads at once."""


def _refuse_long(path: str | Path, contents: bytes, number: int, longest: int, remedy: str) -> None:
    """Raise if one of these lines, of which the first has this number, is too long."""
    if len(contents) <= longest:
        return
    for place, line in enumerate(contents.split(b"\n")):
        if len(line) > longest:
            raise ShallowsError(f"{path}:{number + place}: more than {longest} characters", remedy)


def _open(path: str | Path, remedy: str) -> IO[bytes]:
    _refuse_special(Path(path), remedy)
    # Without waiting, should it have become a FIFO since.
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _unreadable(path: str | Path, error: Exception, remedy: str) -> ShallowsError:
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return ShallowsError(f"{path} cannot be read: {reason}", remedy)


def _too_large(path: str | Path, most: int, remedy: str) -> ShallowsError:
    return ShallowsError(f"{path} cannot be read: it is larger than {most >> 20} MiB", remedy)


def _text(path: str | Path, contents: bytes, place: int, remedy: str) -> str:
    """Decode bytes that begin at this place of a file; a byte-order mark at its start is left out."""
    try:
        return contents.decode("utf-8-sig" if place == 0 else "utf-8")
    except UnicodeDecodeError as error:
        raise ShallowsError(f"{path} is not UTF-8 text (byte {place + error.start})", remedy) from None


def _refuse_special(path: Path, remedy: str) -> None:
    mode = path.stat().st_mode
    if stat.S_ISREG(mode):
        return
    kinds = {
        stat.S_IFDIR: ("a folder", remedy),
        stat.S_IFIFO: ("a pipe", "write what comes out of it into a file, and name that"),
        stat.S_IFSOCK: ("a socket", remedy),
    }
    kind, remedy = kinds.get(stat.S_IFMT(mode), ("a device", remedy))
    raise ShallowsError(f"{path} cannot be read: it is {kind}, not a file", remedy)


def folder_of(path: str | Path) -> Path:
    """A folder to read or write, which need not exist yet.

    Raises
    ------
    ShallowsError
        If its name has a control character or is no UTF-8, or is longer than the system allows.
    """
    if not isinstance(path, str | Path):
        raise ShallowsError(
            f"{path!r} ({type(path).__name__}) names no folder", "name one by its path, as text or a Path"
        )
    text, folder = str(path), Path(path)
    if re.search(r"[\x00-\x1f\x7f-\x9f]", text):
        raise ShallowsError(
            f"{printable(text)!r} names no folder: it has a control character",
            "use letters, digits and - _ . /",
        )
    if re.search(r"[\ud800-\udfff]", text):  # PEP 383: a byte that is no UTF-8, which the engine cannot name
        raise ShallowsError(
            f"{text.encode(errors='replace').decode()!r} names no folder: it is not UTF-8",
            "use letters, digits and - _ . /",
        )
    try:
        folder.lstat()
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            shown = text if len(text) <= 60 else f"{text[:60]}…"
            raise ShallowsError(
                f"{shown} names no folder: the name has {len(text):,} characters",
                "use a name as short as the system allows, most often 255 characters",
            ) from None
    return folder


def is_folder(path: Path) -> bool:
    """Whether there is a folder; no name of any length or character is an error."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def is_file(path: Path) -> bool:
    """Whether there is a regular file; no name of any length or character is an error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_text(path: str | Path, *, remedy: str, most: int = LARGEST_DOCUMENT) -> str:
    """The text of a regular file in UTF-8, without the byte-order mark that some editors put before it.

    Raises
    ------
    ShallowsError
        As `read_bytes`, and if it is no such text.
    """
    return _text(path, read_bytes(path, remedy=remedy, most=most), 0, remedy)


def parse_toml(text: str) -> dict[str, Any]:
    """A TOML document.

    Raises
    ------
    ValueError
        If it is none. Python's own parser has other errors for numbers of thousands of digits, and for
        thousands of brackets.
    """
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its lists or tables are nested too deeply") from None


def parse_json(text: str, of_object: Callable[[dict[str, Any]], Any] | None = None) -> Any:
    """A JSON document, in which `of_object` makes what stands for each object.

    Raises
    ------
    ValueError
        If it is none.
    """
    try:
        return json.loads(text, object_hook=of_object)
    except RecursionError:
        raise ValueError("its lists or objects are nested too deeply") from None


def whole(text: str, least: int = 0, most: int = 2**63 - 1) -> int | None:
    """A whole number in a range, in digits alone; nothing if it is none.

    >>> whole("0042"), whole("-1"), whole("9" * 5_000)
    (42, None, None)
    """
    # As many digits as any limit has: Python refuses thousands, and takes long for them.
    if not (text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS):
        return None
    number = int(text)
    return number if least <= number <= most else None


def decimal(text: str) -> Decimal:
    """A number, exactly as written.

    >>> decimal("1.50"), decimal("-2e3")
    (Decimal('1.50'), Decimal('-2E+3'))

    Raises
    ------
    ValueError
        If it is none, or beyond the bounds; the message says which.
    """
    found = _DECIMAL.fullmatch(text)
    if found is None:
        raise ValueError("is no number")
    digits, exponent = found[1], found[2] or "0"
    if len(digits) > MOST_DIGITS + 1 or len(exponent) > 4 or abs(int(exponent)) > MOST_DIGITS:
        raise ValueError(f"has more than {MOST_DIGITS} digits, or an exponent beyond {MOST_DIGITS}")
    return Decimal(text)


def quoted(text: str) -> str:
    """As much of a text as a message can hold.

    >>> quoted("a" * 50)
    '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…"'
    """
    return f'"{printable(text if len(text) <= 40 else text[:40] + "…")}"'


def printable(text: str) -> str:
    r"""A text without what moves a terminal's cursor or changes its colours.

    >>> printable("\x1b[31mred")
    '�[31mred'
    """
    return "".join(
        letter if letter.isprintable() or letter == "\t" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
