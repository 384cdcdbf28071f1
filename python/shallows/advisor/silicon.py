"""Properties of a chip that affect advice: memory, partitions, and supported numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from shallows.advisor.chips import Chip, Ports, Sourced, chip
from shallows.advisor.reading import Table
from shallows.errors import ShallowsError

T = TypeVar("T")

ALPHAS = tuple(2.0**power for power in range(-7, 4))
"""Default alphas, 1/128 to 8, where nothing is published."""

PROBABILITIES = tuple(percent / 100 for percent in range(1, 101))
"""Default probabilities where nothing is published."""

CELL = 256
"""Default cell size in bytes."""

PORTS = 32
"""Default number of ports."""


@dataclass(frozen=True)
class Silicon:
    """A switching chip."""

    name: str
    memory: float
    """Memory in bytes, all partitions together."""
    parts: int
    """Number of separate partitions."""
    ports: int
    cell: int
    """Size of a memory cell in bytes."""
    alphas: tuple[float, ...]
    probabilities: tuple[float, ...]
    marks: tuple[str, ...]
    at: str
    """Marking point: `enqueue` or `dequeue`."""
    compares: str | None
    """Value of `switch.lossless.compares`; None if it is unknown."""
    source: str


COMPARES = ("with", "before")
"""Values of `switch.lossless.compares` that a chip's table can have."""

KEYS = ("memory", "parts", "ports", "cell", "marks_at", "compares", "alphas", "probabilities")


def silicon_of(given: object, file: str, rate: float) -> Silicon:
    """Return the properties of a chip with ports of this rate; `given` is the chip's name or table.

    Raises
    ------
    ShallowsError
        If the chip is unknown, its table is invalid, or its memory is not published.
    """
    if isinstance(given, Mapping) and "memory" not in given:
        raise Table(f"{file}: chip", given, KEYS).need("memory", 'a size such as "16MB"')
    found = chip_of(given, file, rate)
    try:
        return _known(found, rate)
    except ShallowsError as error:
        raise ShallowsError(f"{file}: {error.message}", error.remedy) from None


def chip_of(given: object, file: str, rate: float | None) -> Chip:
    """Return the chip that a fabric's file names or describes, with ports of this rate.

    Raises
    ------
    ShallowsError
        If the chip is unknown, or its table is invalid.
    """
    if isinstance(given, Mapping):
        return _described(Table(f"{file}: chip", given, KEYS), rate)
    if not isinstance(given, str):
        raise ShallowsError(f"{file}: chip must be a name or a table", "`shallows chips` lists the names")
    try:
        return chip(given)
    except ShallowsError as error:
        raise ShallowsError(
            f"{file}: {error.message}", f"{error.remedy}; or describe the chip by memory, parts and ports"
        ) from None


def _known(found: Chip, rate: float) -> Silicon:
    if found.memory is None:
        raise ShallowsError(
            f"the memory of {found.title} is not published",
            "describe the chip as a table with the key memory",
        )
    alphas = tuple(float(each) for each in found.alphas.value if each > 0) if found.alphas else ALPHAS
    steps = found.probabilities
    probabilities = tuple(float(each) for each in steps.value if each > 0) if steps else PROBABILITIES
    return Silicon(
        found.title,
        float(found.memory.value),
        found.parts.value if found.parts else 1,
        _ports(found, rate),
        found.cell.value if found.cell else CELL,
        alphas,
        probabilities,
        ("queue", "pool"),
        "enqueue" if found.marks_at.value == "enqueue" else "dequeue",
        found.compares.value if found.compares else None,
        found.memory.source,
    )


def _ports(found: Chip, rate: float) -> int:
    """Return the number of ports of this rate: as published, or as many as the chip's total rate allows."""
    same = [each.count for each in found.ports if each.rate == rate]
    if same or not found.ports:
        return same[0] if same else PORTS
    return max(1, int(found.ports[0].count * found.ports[0].rate // rate))


def _described(table: Table, rate: float | None) -> Chip:
    def told(value: T) -> Sourced[T]:
        return Sourced(value, "published", "the fabric's file")

    has = table.content.keys()
    memory = table.quantity("memory", "bytes") if "memory" in has else None
    if memory is not None and not 10_000 <= memory <= 1e12:
        raise table.wrong("memory", "a size from 10KB to 1TB")
    alphas, probabilities = _numbers(table, "alphas", 1024), _numbers(table, "probabilities", 1)
    ports = table.whole("ports", 1, 1024, PORTS)
    return Chip(
        name="described",
        title="the fabric's chip",
        family="described",
        aliases=(),
        platforms=(),
        ports=(Ports(ports, int(rate), "published", "the fabric's file"),) if rate else (),
        cell=told(table.size("cell", 1, 65_536)) if "cell" in has else None,
        memory=None if memory is None else told(int(memory)),
        parts=told(table.whole("parts", 1, 64, 1)),
        nominal=None,
        header=None,
        longest_queue=None,
        probabilities=told(probabilities) if probabilities else None,
        alphas=told(alphas) if alphas else None,
        compares=told(table.text("compares", among=COMPARES)) if "compares" in has else None,
        marks_at=told(
            table.text("marks_at", among=("enqueue", "dequeue")) if "marks_at" in has else "unknown"
        ),
        granularity=told("unknown"),
        times=False,
    )


def _numbers(table: Table, key: str, most: int) -> tuple[Fraction, ...] | None:
    given = table.content.get(key)
    if given is None:
        return None
    is_list = isinstance(given, list) and given and all(isinstance(each, int | float) for each in given)
    if not is_list or not all(0 < each <= most for each in given):
        raise table.wrong(key, f"a list of numbers above 0 and at most {most}")
    return tuple(sorted(Fraction(str(each)) for each in given))
