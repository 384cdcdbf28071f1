"""Chips: ports, memory and how it is divided, and which numbers they can express.

Each number has its source and how certain it is; `chips.toml` is the table. What is not published is `None`.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import files
from math import ceil
from typing import Any, Generic, Literal, TypeVar

from shallows.errors import ShallowsError, listed
from shallows.quantity import parse_rate

T = TypeVar("T")

Certainty = Literal["exact", "published", "inferred", "recall"]


@dataclass(frozen=True)
class Sourced(Generic[T]):
    """A fact, how certain it is, and who says so."""

    value: T
    certainty: Certainty
    source: str


@dataclass(frozen=True)
class Ports:
    """How many ports of which rate in bit/s."""

    count: int
    rate: int
    certainty: Certainty
    source: str


@dataclass(frozen=True)
class Chip:
    """One chip, and what its family can express."""

    name: str
    title: str
    family: str
    aliases: tuple[str, ...]
    platforms: tuple[str, ...]
    """Parts of the names of systems that have it."""

    ports: tuple[Ports, ...]
    cell: Sourced[int] | None
    """Bytes."""

    memory: Sourced[int] | None
    """Bytes that packets can use, in all parts together."""

    parts: Sourced[int] | None
    """Into how many memories it is divided; a queue uses one of them."""

    nominal: Sourced[int] | None
    """Bytes, as data sheets say."""

    header: Sourced[int] | None
    """Bytes that the chip stores with each packet."""

    longest_queue: Sourced[int] | None
    probabilities: Sourced[tuple[Fraction, ...]] | None
    """Which probabilities at the maximum there are, from 0 to 1; any if nothing is known."""

    alphas: Sourced[tuple[Fraction, ...]] | None
    marks_at: Sourced[str]
    granularity: Sourced[str]
    """Of the thresholds of WRED."""

    times: bool
    """Whether thresholds may be times: the chip knows the rate of what it marks."""

    @property
    def part(self) -> int | None:
        """Bytes of one part of the memory: what a queue can use at most, as far as that is known."""
        if self.memory is None:
            return None
        return self.memory.value // (self.parts.value if self.parts else 1)

    def legal_probability(self, probability: Fraction) -> Fraction:
        """What the chip makes of a probability: the next one below that it has.

        >>> str(chip("tomahawk").legal_probability(Fraction(20, 100)))
        '1/10'
        """
        if self.probabilities is None:
            return probability
        return max((legal for legal in self.probabilities.value if legal <= probability), default=Fraction(0))

    def legal_alpha(self, alpha: Fraction) -> Fraction:
        """The next factor of the dynamic threshold at or below this one; the least if there is none.

        >>> str(chip("tomahawk").legal_alpha(Fraction(3, 4)))
        '1/2'
        """
        if self.alphas is None:
            return alpha
        legal = [value for value in self.alphas.value if value <= alpha]
        return max(legal) if legal else min(self.alphas.value)

    def to_cells(self, count: int) -> int | None:
        """Whole cells in so many bytes, rounded down; nothing if the size of a cell is not known.

        >>> chip("th3").to_cells(166_912)
        657
        """
        return None if self.cell is None else count // self.cell.value

    def whole_cells(self, count: int) -> int:
        """Bytes, rounded down to whole cells; as they are if the size of a cell is not known."""
        cells = self.to_cells(count)
        return count if cells is None or self.cell is None else cells * self.cell.value

    def occupancy(self, packet: int) -> int:
        """Bytes of memory that a packet of so many bytes takes: whole cells, with the chip's own header.

        >>> chip("th2").occupancy(1518), chip("th2").occupancy(64)
        (1664, 208)
        """
        if self.cell is None:
            return packet
        header = self.header.value if self.header else 0
        return ceil((packet + header) / self.cell.value) * self.cell.value


def dynamic_limit(alpha: Fraction, memory: int, busy: int) -> int:
    """Bytes that each of so many busy queues gets: αB/(1+nα) (Choudhury and Hahne 1998).

    >>> [dynamic_limit(Fraction(1), 10_900_000, busy) for busy in (1, 4)]
    [5450000, 2180000]
    """
    return int(alpha * memory / (1 + busy * alpha))


def chip(name: str) -> Chip:
    """The chip of that name or alias, in any case.

    Raises
    ------
    ShallowsError
        If there is none.
    """
    wanted = name.strip().lower()
    for found in catalogue():
        if wanted in (found.name, *found.aliases):
            return found
    names = [found.name for found in catalogue()]
    raise ShallowsError(f"there is no chip {name!r}", listed("`shallows chips` lists them", names))


def chip_of_platform(name: str) -> Chip | None:
    """The chip of a system that is called so; nothing if none or several could be meant."""
    wanted = name.lower()
    found = [each for each in catalogue() if any(part in wanted for part in each.platforms)]
    return found[0] if len(found) == 1 else None


@cache
def catalogue() -> tuple[Chip, ...]:
    """All chips, in the order of the table."""
    table = tomllib.loads((files("shallows.advisor") / "chips.toml").read_text(encoding="utf-8"))
    return tuple(
        _chip(name, entry, table["families"][entry["family"]]) for name, entry in table["chips"].items()
    )


@cache
def sources() -> Mapping[str, str]:
    """What the first word of a source stands for."""
    table = tomllib.loads((files("shallows.advisor") / "chips.toml").read_text(encoding="utf-8"))
    return dict(table["sources"])


def _chip(name: str, entry: Mapping[str, Any], family: Mapping[str, Any]) -> Chip:
    cell, cells = _sourced(entry, "cell"), _sourced(entry, "cells")
    memory = _sourced(entry, "memory")
    if cell and cells:
        memory = Sourced(cell.value * cells.value, cells.certainty, cells.source)
    return Chip(
        name=name,
        title=entry["title"],
        family=family["title"],
        aliases=tuple(entry["aliases"]),
        platforms=tuple(entry.get("platforms", ())),
        ports=tuple(
            Ports(count, int(parse_rate(rate)), *tail) for count, rate, *tail in entry.get("ports", ())
        ),
        cell=cell,
        memory=memory,
        parts=_sourced(entry, "parts"),
        nominal=_sourced(entry, "nominal"),
        header=_sourced(entry, "header"),
        longest_queue=_sourced(entry, "longest_queue"),
        probabilities=_fractions(family, "probabilities", 100),
        alphas=_fractions(family, "alphas", 1),
        marks_at=Sourced(*family["marks_at"]),
        granularity=Sourced(*family["granularity"]),
        times=family["times"],
    )


def _sourced(entry: Mapping[str, Any], key: str) -> Sourced[int] | None:
    return Sourced(*entry[key]) if key in entry else None


def _fractions(family: Mapping[str, Any], key: str, denominator: int) -> Sourced[tuple[Fraction, ...]] | None:
    if key not in family:
        return None
    values = tuple(Fraction(value) / denominator for value in family[key])
    return Sourced(values, *family[f"{key}_from"])
