"""Helpers for readers of switch configurations.

The helpers record which statements were understood, and group ports with equal settings.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from shallows.advisor.configuration import (
    Default,
    Maps,
    Marking,
    PortProfile,
    Queue,
    Scope,
    Setting,
    Source,
    Threshold,
)
from shallows.advisor.syntax.statements import Statement
from shallows.bounded import whole

LARGEST = 1 << 40
"""Largest threshold or rate in its unit: a terabyte, or a terabit per second."""

_PORT = re.compile(r"(.*?)([0-9]+)(?:-([0-9]+))?", re.ASCII | re.DOTALL)


@dataclass
class Findings:
    """Markings, settings and statements (understood or not), collected while a file is read."""

    file: str
    scope_of: Callable[[Statement], Scope] = lambda _: Scope()
    """Function that returns the ports and queue of a statement."""

    unread: list[Source] = field(default_factory=list)
    understood: int = 0
    markings: dict[str, Marking] = field(default_factory=dict)
    settings: dict[tuple[str, str], Setting] = field(default_factory=dict)
    defaults: list[Default] = field(default_factory=list)

    def source(self, statement: Statement) -> Source:
        """Return the position of a statement."""
        return Source(self.file, str(statement.line), statement.text[:200])

    def skip(self, statement: Statement, scope: Scope | None = None) -> None:
        """List a statement about queues as not understood."""
        scope = self.scope_of(statement) if scope is None else scope
        self.unread.append(replace(self.source(statement), scope=scope))

    def took(self, understood: object, statement: Statement) -> None:
        """Count a statement as understood if `understood` is true; otherwise list it as not understood."""
        if understood:
            self.understood += 1
        else:
            self.skip(statement)

    def setting(self, name: str, value: str, statement: Statement, scope: str = "") -> bool:
        """Store a setting for which the model has no field; a later value replaces an earlier one."""
        self.settings[name, scope] = Setting(name, value, scope, self.source(statement))
        return True

    def unset(self, name: str, scope: str = "") -> bool:
        """Remove a setting."""
        self.settings.pop((name, scope), None)
        return True

    def in_order(self) -> tuple[tuple[Marking, ...], tuple[Setting, ...]]:
        """Return markings and settings, ordered by name."""
        settings = sorted(self.settings.values(), key=lambda each: (each.name, each.scope))
        return tuple(self.markings[name] for name in sorted(self.markings)), tuple(settings)


def percent(text: str, least: int = 0) -> Fraction | None:
    """Parse an integer percentage; return it as a share.

    >>> percent("5"), percent("101")
    (Fraction(1, 20), None)
    """
    number = whole(text, least, 100)
    return None if number is None else Fraction(number, 100)


def alpha(text: str) -> Fraction | None:
    """Parse a factor such as `1/8` or `4`.

    >>> alpha("1/8"), alpha("8"), alpha("1/0")
    (Fraction(1, 8), Fraction(8, 1), None)
    """
    above, slash, below = text.partition("/")
    first, second = whole(above, 0, 1 << 10), whole(below, 1, 1 << 10) if slash else 1
    return None if first is None or second is None else Fraction(first, second)


def size(text: str, unit: str) -> Threshold | None:
    """Parse a threshold with its unit; `k` and `m` are 1000 and 1000² bytes.

    >>> size("150", "kbytes"), size("2", "milliseconds").unit
    (Threshold(amount=Fraction(150000, 1), unit='bytes'), 'ps')
    """
    number = whole(text, 0, LARGEST)
    if number is None:
        return None
    match unit:
        case "bytes" | "kbytes" | "mbytes":
            return Threshold(Fraction(number) * {"b": 1, "k": 1000, "m": 10**6}[unit[0]])
        case "segments" | "cells":
            return Threshold(Fraction(number), "cells")
        case "microseconds" | "milliseconds":
            return Threshold(Fraction(number) * (10**6 if unit == "microseconds" else 10**9), "ps")
    return None


def ports(text: str, most: int) -> list[str] | None:
    """Expand a list of ports with ranges; None if it has more than `most` ports.

    >>> ports("swp1-3,swp7", 9), ports("Ethernet1/1-2", 9), ports("lo", 9)
    (['swp1', 'swp2', 'swp3', 'swp7'], ['Ethernet1/1', 'Ethernet1/2'], ['lo'])
    >>> ports("swp1-10", 9)
    """
    names: list[str] = []
    for part in map(str.strip, text.split(",")):
        found = _PORT.fullmatch(part)
        first, last = (whole(found[2]), whole(found[3] or found[2])) if found else (None, None)
        if found and found[3] and first is not None and last is not None and first <= last:
            if last - first >= most - len(names):
                return None
            names += [f"{found[1]}{number}" for number in range(first, last + 1)]
        elif part:
            names.append(part)
    return names if len(names) <= most else None


def alike(profiles: Iterable[PortProfile]) -> tuple[PortProfile, ...]:
    """Merge the profiles of ports with equal settings; a merged profile takes the place of its first port."""
    numbers: dict[tuple[Queue, ...], int] = {}
    seen: dict[int, tuple[tuple[Queue, ...], int]] = {}
    found: dict[tuple[PortProfile, str | None, int], tuple[PortProfile, list[str]]] = {}
    for each in profiles:
        # Each shared tuple is hashed once; hashing 64 queues for every port would dominate the run time.
        _, number = seen.setdefault(id(each.queues), (each.queues, -1))
        if number < 0:
            number = numbers.setdefault(each.queues, len(numbers))
            seen[id(each.queues)] = (each.queues, number)
        key = (replace(each, ports=(), queues=()), each.name, number)
        found.setdefault(key, (each, []))[1].extend(each.ports)
    return tuple(replace(each, ports=tuple(names)) for each, names in found.values())


def lossless(queues: Iterable[Queue], pfc: Sequence[int], maps: Maps) -> tuple[Queue, ...]:
    """Sort queues by number, and set `lossless` of queues that a paused priority uses.

    A priority without a map uses the queue with the same number.
    """
    mapped = dict(maps.class_to_queue)
    paused = {mapped.get(priority, priority) for priority in pfc}
    return tuple(
        replace(queue, lossless=queue.number in paused)
        for queue in sorted(queues, key=lambda each: each.number)
    )
