"""Reading of a fabric's file key by key; errors name the place and the allowed values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shallows.bounded import parse_toml, read_text
from shallows.errors import ShallowsError, listed
from shallows.quantity import parse_quantity

REMEDY = "docs/advisor.md describes a fabric's file"

KEYS = ("name", "chip", "goal", "links", "buffer", "lossless", "traffic", "class", "simulated")
"""Keys that a fabric's file may have at its top level."""

_SAID = {
    "bytes": 'a size such as "3MB"',
    "seconds": 'a time such as "80us"',
    "bits per second": 'a rate such as "100Gbps"',
}

LARGEST = 1e18
"""Largest quantity of a fabric, in its base unit."""


def load(path: str | Path) -> dict[str, Any]:
    """Load a fabric's file.

    Raises
    ------
    ShallowsError
        If the file cannot be read, or is not TOML.
    """
    text = read_text(path, remedy=f"name a fabric's file, TOML in UTF-8; {REMEDY}")
    try:
        return parse_toml(text)
    except ValueError as error:
        raise ShallowsError(f"{path} is not valid TOML: {error}", REMEDY) from None


class Table:
    """One table, with its place in the file.

    Parameters
    ----------
    place
        The file and the table's key, for messages.
    content
        Content of the table.
    known
        Known keys; any other key is an error.
    """

    def __init__(self, place: str, content: object, known: Sequence[str]) -> None:
        self.place = place
        if not isinstance(content, Mapping):
            raise ShallowsError(f"{place} must be a table", REMEDY)
        self.content: Mapping[str, Any] = content
        if unknown := sorted(str(key) for key in content.keys() - {*known}):
            raise ShallowsError(f"{place}: unknown key {unknown[0]!r}", listed("the keys are", known))

    def wrong(self, key: str, expected: str) -> ShallowsError:
        """Return the error for an invalid value of a key."""
        return ShallowsError(f"{self.place}: {key} must be {expected}, got {self.content.get(key)!r}", REMEDY)

    def need(self, key: str, expected: str) -> ShallowsError:
        """Return the error for a missing key."""
        return ShallowsError(f"{self.place}: {key} is missing", f"give {expected}; {REMEDY}")

    def quantity(self, key: str, of: str, default: float | None = None) -> float:
        """Return a key's size, time or rate in the base unit; a missing key needs a `default`."""
        if key not in self.content:
            if default is None:
                raise self.need(key, _SAID[of])
            return default
        value = self.content[key]
        try:
            found = parse_quantity(value.replace("µ", "u") if isinstance(value, str) else value)
        except ValueError:
            raise self.wrong(key, _SAID[of]) from None
        if found.of != of or not 0 <= found.number <= LARGEST:
            raise self.wrong(key, _SAID[of])
        return float(found.number)

    def number(self, key: str, least: float, most: float, default: float | None = None) -> float:
        """Return a key's number, within limits."""
        if key not in self.content and default is not None:
            return default
        value = self.content.get(key)
        if value is None:
            raise self.need(key, f"a number from {least:g} to {most:g}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.wrong(key, f"a number from {least:g} to {most:g}")
        return float(value)

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """Return a key's integer, within limits."""
        number = self.number(key, least, most, default)
        if number != int(number):
            raise self.wrong(key, "a whole number")
        return int(number)

    def size(self, key: str, least: int, most: int) -> int:
        """Return a key's size in whole bytes, within limits, from a number or a size with its unit."""
        if isinstance(self.content.get(key), int):
            return self.whole(key, least, most)
        found = self.quantity(key, "bytes")
        if found != int(found) or not least <= found <= most:
            raise self.wrong(key, f"a size in whole bytes from {least:,} to {most:,}")
        return int(found)

    def text(self, key: str, default: str | None = None, among: Sequence[str] = ()) -> str:
        """Return a key's text; if `among` is given, the text must be one of its entries."""
        if key not in self.content and default is not None:
            return default
        value = self.content.get(key)
        if value is None:
            raise self.need(key, f"one of {', '.join(among)}" if among else "a string")
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "a string that is not empty")
        if among and value not in among:
            raise self.wrong(key, f"one of {', '.join(among)}")
        return value

    def flag(self, key: str) -> bool:
        """Return a key's boolean value; false if the key is missing."""
        value = self.content.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value
