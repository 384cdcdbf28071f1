"""A fabric's file, read key by key; what is wrong is said with its place and what is allowed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shallows.bounded import parse_toml, read_text
from shallows.errors import ShallowsError, listed
from shallows.quantity import parse_quantity

REMEDY = "docs/advisor.md describes a fabric's file"

KEYS = ("name", "chip", "goal", "links", "buffer", "traffic", "class", "simulated")
"""Of the whole file."""

_SAID = {
    "bytes": 'a size such as "3MB"',
    "seconds": 'a time such as "80us"',
    "bits per second": 'a rate such as "100Gbps"',
}

LARGEST = 1e18
"""No quantity of a fabric is larger, in its base unit."""


def load(path: str | Path) -> dict[str, Any]:
    """What a fabric's file says.

    Raises
    ------
    ShallowsError
        If it cannot be read, or is no TOML.
    """
    text = read_text(path, remedy=f"name a fabric's file, TOML in UTF-8; {REMEDY}")
    try:
        return parse_toml(text)
    except ValueError as error:
        raise ShallowsError(f"{path} is no TOML, or ends too early: {error}", REMEDY) from None


class Table:
    """One table, and where it stands.

    Parameters
    ----------
    place
        The file and the table's key, for messages.
    content
        What stands there.
    known
        Its keys; any other is refused.
    """

    def __init__(self, place: str, content: object, known: Sequence[str]) -> None:
        self.place = place
        if not isinstance(content, Mapping):
            raise ShallowsError(f"{place} is not a table", REMEDY)
        self.content: Mapping[str, Any] = content
        if unknown := sorted(str(key) for key in content.keys() - {*known}):
            raise ShallowsError(f"{place}: unknown key {unknown[0]!r}", listed("the keys are", known))

    def wrong(self, key: str, expected: str) -> ShallowsError:
        """A mistake in the value of a key."""
        return ShallowsError(f"{self.place}: {key} = {self.content.get(key)!r} is not {expected}", REMEDY)

    def need(self, key: str, expected: str) -> ShallowsError:
        """A key that is missing."""
        return ShallowsError(f"{self.place}: {key} is missing", f"give {expected}; {REMEDY}")

    def quantity(self, key: str, of: str, default: float | None = None) -> float:
        """A size, time or rate in its base unit; `default` where there is none, and none is an error."""
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
        """A plain number within limits."""
        if key not in self.content and default is not None:
            return default
        value = self.content.get(key)
        if value is None:
            raise self.need(key, f"a number from {least:g} to {most:g}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise self.wrong(key, f"a number from {least:g} to {most:g}")
        return float(value)

    def whole(self, key: str, least: int, most: int, default: int | None = None) -> int:
        """A whole number within limits."""
        number = self.number(key, least, most, default)
        if number != int(number):
            raise self.wrong(key, "a whole number")
        return int(number)

    def size(self, key: str, least: int, most: int) -> int:
        """Whole bytes within limits: a number, or a size with its unit."""
        if isinstance(self.content.get(key), int):
            return self.whole(key, least, most)
        found = self.quantity(key, "bytes")
        if found != int(found) or not least <= found <= most:
            raise self.wrong(key, f"a size of {least:,} to {most:,} whole bytes")
        return int(found)

    def text(self, key: str, default: str | None = None, among: Sequence[str] = ()) -> str:
        """A text, perhaps one of some."""
        if key not in self.content and default is not None:
            return default
        value = self.content.get(key)
        if value is None:
            raise self.need(key, f"one of {', '.join(among)}" if among else "a text")
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(key, "a text")
        if among and value not in among:
            raise self.wrong(key, f"one of {', '.join(among)}")
        return value

    def flag(self, key: str) -> bool:
        """True or false; false where it is left out."""
        value = self.content.get(key, False)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value
