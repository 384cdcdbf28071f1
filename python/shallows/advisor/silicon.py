"""What of a chip decides on advice: its memory, in how many parts, and which numbers it can be told."""

from collections.abc import Mapping
from dataclasses import dataclass

from shallows.advisor.chips import Chip, chip
from shallows.advisor.reading import Table
from shallows.errors import ShallowsError

ALPHAS = tuple(2.0**power for power in range(-7, 4))
"""1/128 to 8: what is chosen from where nothing is published."""

PROBABILITIES = tuple(percent / 100 for percent in range(1, 101))
"""Likewise."""

CELL = 256
"""Likewise, in bytes."""


@dataclass(frozen=True)
class Silicon:
    """A switching chip."""

    name: str
    memory: float
    """In bytes, all parts together."""
    parts: int
    """That share nothing with each other."""
    ports: int
    cell: int
    """Bytes in which memory is given out."""
    alphas: tuple[float, ...]
    probabilities: tuple[float, ...]
    marks: tuple[str, ...]
    at: str
    """Where a packet is marked: `enqueue` or `dequeue`."""
    source: str


KEYS = ("memory", "parts", "ports", "cell", "marks_at", "alphas", "probabilities")


def silicon_of(given: object, file: str, rate: float) -> Silicon:
    """A chip by its name, or as a table describes it, with ports of this rate.

    Raises
    ------
    ShallowsError
        If nobody knows it, or the table says what cannot be.
    """
    if isinstance(given, Mapping):
        return _described(Table(f"{file}: chip", given, KEYS))
    if not isinstance(given, str):
        raise ShallowsError(
            f"{file}: chip is neither a name nor a table", "`shallows chips` lists those that are known"
        )
    try:
        return _known(chip(given), rate)
    except ShallowsError as error:
        raise ShallowsError(
            f"{file}: {error.message}", f"{error.remedy}; or describe it: memory, parts, ports"
        ) from None


def _known(found: Chip, rate: float) -> Silicon:
    if found.memory is None:
        raise ShallowsError(
            f"the memory of {found.title} is not published", "describe the chip with what you know"
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
        found.memory.source,
    )


def _ports(found: Chip, rate: float) -> int:
    """Ports of this rate: as published, or as many as carry the same together."""
    same = [each.count for each in found.ports if each.rate == rate]
    if same or not found.ports:
        return same[0] if same else 32
    return max(1, int(found.ports[0].count * found.ports[0].rate // rate))


def _described(table: Table) -> Silicon:
    memory = table.quantity("memory", "bytes")
    if not 10_000 <= memory <= 1e12:
        raise table.wrong("memory", "a memory from 10KB to 1TB")
    return Silicon(
        "described",
        memory,
        table.whole("parts", 1, 64, 1),
        table.whole("ports", 1, 1024, 32),
        table.whole("cell", 1, 65_536, CELL),
        _numbers(table, "alphas", ALPHAS, 1024.0),
        _numbers(table, "probabilities", PROBABILITIES, 1.0),
        ("queue", "pool"),
        table.text("marks_at", "dequeue", ("enqueue", "dequeue")),
        "the fabric's file",
    )


def _numbers(table: Table, key: str, default: tuple[float, ...], most: float) -> tuple[float, ...]:
    given = table.content.get(key)
    if given is None:
        return default
    is_list = isinstance(given, list) and given and all(isinstance(each, int | float) for each in given)
    if not is_list or not all(0 < each <= most for each in given):
        raise table.wrong(key, f"a list of numbers above 0 and up to {most:g}")
    return tuple(sorted(float(each) for each in given))
