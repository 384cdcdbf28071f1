"""Switching chips: ports, memory and its partitions, and the numbers that each chip supports.

Each number has a source and a certainty; the table is in `chips.toml`. Unpublished numbers are `None`.
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
    """A fact with its certainty and source."""

    value: T
    certainty: Certainty
    source: str


@dataclass(frozen=True)
class Ports:
    """Ports of a chip that have the same rate: their count, and the rate in bit/s."""

    count: int
    rate: int
    certainty: Certainty
    source: str


@dataclass(frozen=True)
class Chip:
    """One chip: its memory and ports, and the values that its family supports in configurations."""

    name: str
    title: str
    family: str
    aliases: tuple[str, ...]
    platforms: tuple[str, ...]
    """Substrings of the names of systems with this chip."""

    ports: tuple[Ports, ...]
    cell: Sourced[int] | None
    """Size of a cell in bytes."""

    memory: Sourced[int] | None
    """Usable packet memory of all partitions together, in bytes."""

    parts: Sourced[int] | None
    """Number of partitions of the memory; each queue uses one partition."""

    nominal: Sourced[int] | None
    """Packet memory by data sheet, in bytes."""

    header: Sourced[int] | None
    """Bytes that the chip stores in addition to each packet."""

    longest_queue: Sourced[int] | None
    probabilities: Sourced[tuple[Fraction, ...]] | None
    """Supported maximum probabilities, from 0 to 1; None if unknown, and then any value is allowed."""

    alphas: Sourced[tuple[Fraction, ...]] | None
    compares: Sourced[str] | None
    """Backlog that is compared with a priority group's limit: `before` or `with` the arriving packet."""

    marks_at: Sourced[str]
    granularity: Sourced[str]
    """Granularity of WRED thresholds."""

    times: bool
    """Whether thresholds can be given as times."""

    @property
    def part(self) -> int | None:
        """Return the size in bytes of one memory partition, which limits every queue; None if unknown."""
        if self.memory is None:
            return None
        return self.memory.value // (self.parts.value if self.parts else 1)

    def legal_probability(self, probability: Fraction) -> Fraction:
        """Return the largest supported value that is at most `probability`; zero if all values are larger.

        >>> str(chip("tomahawk").legal_probability(Fraction(20, 100)))
        '1/10'
        """
        if self.probabilities is None:
            return probability
        return max((legal for legal in self.probabilities.value if legal <= probability), default=Fraction(0))

    def legal_alpha(self, alpha: Fraction) -> Fraction:
        """Return the largest supported value that is at most `alpha`; the smallest value if all are larger.

        >>> str(chip("tomahawk").legal_alpha(Fraction(3, 4)))
        '1/2'
        """
        if self.alphas is None:
            return alpha
        legal = [value for value in self.alphas.value if value <= alpha]
        return max(legal) if legal else min(self.alphas.value)

    def to_cells(self, count: int) -> int | None:
        """Return the number of whole cells in `count` bytes, rounded down; None without a known cell size.

        >>> chip("th3").to_cells(166_912)
        657
        """
        return None if self.cell is None else count // self.cell.value

    def whole_cells(self, count: int) -> int:
        """Round bytes down to whole cells; unchanged without a known cell size."""
        cells = self.to_cells(count)
        return count if cells is None or self.cell is None else cells * self.cell.value

    def occupancy(self, packet: int) -> int:
        """Return the memory that a packet and the chip's header occupy, in bytes, rounded up to whole cells.

        >>> chip("th2").occupancy(1518), chip("th2").occupancy(64)
        (1664, 208)
        """
        if self.cell is None:
            return packet
        header = self.header.value if self.header else 0
        return ceil((packet + header) / self.cell.value) * self.cell.value

    def document(self) -> dict[str, Any]:
        """Return the chip as a JSON document: each number with its certainty and source."""
        facts: dict[str, Sourced[Any] | None] = {
            "cell_bytes": self.cell,
            "memory_bytes": self.memory,
            "parts": self.parts,
            "nominal_bytes": self.nominal,
            "header_bytes": self.header,
            "longest_queue_bytes": self.longest_queue,
            "probabilities": self.probabilities,
            "alphas": self.alphas,
            "compares": self.compares,
            "marks_at": self.marks_at,
            "granularity": self.granularity,
        }
        return {
            "name": self.name,
            "title": self.title,
            "family": self.family,
            "aliases": list(self.aliases),
            "ports": [
                {
                    "count": each.count,
                    "rate_bps": each.rate,
                    "certainty": each.certainty,
                    "source": each.source,
                }
                for each in self.ports
            ],
            **{name: _fact_document(fact) for name, fact in facts.items()},
        }


def _fact_document(fact: Sourced[Any] | None) -> dict[str, Any] | None:
    if fact is None:
        return None
    value = [float(each) for each in fact.value] if isinstance(fact.value, tuple) else fact.value
    return {"value": value, "certainty": fact.certainty, "source": fact.source}


def chips() -> list[Chip]:
    """Return all chips of the catalogue.

    Examples
    --------
    >>> import shallows as sh
    >>> [each.name for each in sh.chips()][:2]
    ['trident-plus', 'trident2']
    >>> sh.chip("tomahawk").memory.value
    16777280
    """
    return list(catalogue())


def dynamic_limit(alpha: Fraction, memory: int, busy: int) -> int:
    """Return the limit in bytes of each of n = `busy` queues: αB/(1+nα) (Choudhury and Hahne 1998).

    >>> [dynamic_limit(Fraction(1), 10_900_000, busy) for busy in (1, 4)]
    [5450000, 2180000]
    """
    return int(alpha * memory / (1 + busy * alpha))


def chip(name: str) -> Chip:
    """Return the chip with this name or alias, ignoring case.

    Raises
    ------
    ShallowsError
        If the chip is unknown.
    """
    wanted = name.strip().lower()
    for found in catalogue():
        if wanted in (found.name, *found.aliases):
            return found
    names = [found.name for found in catalogue()]
    raise ShallowsError(f"unknown chip {name!r}", listed("the chips are", names))


def chip_of_platform(name: str) -> Chip | None:
    """Return the chip with a platform that a system's name contains; None unless exactly one chip matches."""
    wanted = name.lower()
    found = [each for each in catalogue() if any(part in wanted for part in each.platforms)]
    return found[0] if len(found) == 1 else None


@cache
def catalogue() -> tuple[Chip, ...]:
    """Return all chips, in the order of the table."""
    table = tomllib.loads((files("shallows.advisor") / "chips.toml").read_text(encoding="utf-8"))
    return tuple(
        _chip(name, entry, table["families"][entry["family"]]) for name, entry in table["chips"].items()
    )


@cache
def sources() -> Mapping[str, str]:
    """Return a dictionary that maps the first word of a source to its meaning."""
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
        compares=Sourced(*entry["compares"]) if "compares" in entry else None,
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
